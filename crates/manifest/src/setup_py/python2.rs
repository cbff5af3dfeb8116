//! Python 2's statements in old files, put into words that Python 3's grammar has, line for line.

use std::sync::LazyLock;

use regex::Regex;

#[expect(clippy::expect_used, reason = "the patterns are constants, and tested")]
fn pattern(text: &str) -> Regex {
    Regex::new(text).expect("a valid pattern")
}

static PRINT: LazyLock<Regex> = LazyLock::new(|| {
    pattern(r"^(\s*(?:(?:if|elif|else|for|while|try|except)\b[^#'\x22]*:\s*)?)print(?:[ \t]+(.*)|)$")
});
static PRINT_TO: LazyLock<Regex> = LazyLock::new(|| pattern(r"^>>\s*[\w.]+\s*,?\s*"));
static EXCEPT: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"^(\s*except\s+(?:[\w.]+|\([\w.,\s]+\)))\s*,\s*(\w+)\s*:"));
static RAISE: LazyLock<Regex> = LazyLock::new(|| pattern(r#"^(\s*raise\s+[\w.]+)\s*,\s*(["'].*["'])\s*$"#));
static EXEC: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"^(\s*)exec\s+([\w.()'\x22/, ]+?)(?:\s+in\s+([\w.]+))?\s*$"));
static OCTAL: LazyLock<Regex> = LazyLock::new(|| pattern(r"\b0([0-7]+)\b"));

/// The source with what Python 3 doesn't know written as it does, if there is any such thing. Whoever parses the
/// result judges it: what isn't mended stays an error.
pub(super) fn mend(text: &str) -> Option<String> {
    let mended: Vec<String> = text.split('\n').map(mend_line).collect();
    let mended = mended.join("\n");
    (mended != text).then_some(mended)
}

fn mend_line(line: &str) -> String {
    if let Some(found) = PRINT.captures(line) {
        let before = found.get(1).map_or("", |part| part.as_str());
        let printed = found.get(2).map_or("", |part| part.as_str()).trim();
        if !printed.starts_with('=') && !printed.starts_with('.') {
            let printed = PRINT_TO.replace(printed, "");
            let printed = printed.trim_end_matches(',');
            // What goes on in the next line stays open.
            let is_open =
                printed.ends_with('\\') || printed.matches('(').count() > printed.matches(')').count();
            if !is_open && !printed.contains("\"\"\"") && !printed.contains('#') {
                return format!("{before}print({printed})");
            }
        }
    }
    if let Some(found) = EXCEPT.captures(line) {
        let end = found.get(0).map_or(0, |whole| whole.end());
        let rest = line.get(end..).unwrap_or_default();
        return format!("{} as {}:{rest}", &found[1], &found[2]);
    }
    if RAISE.is_match(line) {
        return RAISE.replace(line, "$1($2)").into_owned();
    }
    if let Some(found) = EXEC.captures(line) {
        let namespace = found.get(3).map_or(String::new(), |name| format!(", {}", name.as_str()));
        return format!("{}exec({}{namespace})", &found[1], &found[2]);
    }
    if line.contains("chmod") || line.contains("makedirs") || line.contains("umask") {
        return OCTAL.replace_all(line, "0o$1").into_owned();
    }
    line.to_owned()
}

#[cfg(test)]
mod tests {
    use super::mend;

    fn check(text: &str, expected: &str) {
        assert_eq!(mend(text).as_deref().unwrap_or(text), expected);
    }

    #[test]
    fn statements_of_python_2() {
        check("print 'x'", "print('x')");
        check("    print", "    print()");
        check("print >>sys.stderr, 'x %s' % y", "print('x %s' % y)");
        check("if x: print 'y'", "if x: print('y')");
        check("except IOError, e:", "except IOError as e:");
        check("    except (A, B), e:  # why", "    except (A, B) as e:  # why");
        check("raise ValueError, 'no'", "raise ValueError('no')");
        check("exec code in ns", "exec(code, ns)");
        check("os.chmod(path, 0755)", "os.chmod(path, 0o755)");
        check("printer = 1", "printer = 1");
        check("print('x')", "print('x')");
    }
}
