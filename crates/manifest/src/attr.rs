//! `attr: package.module.NAME`: the value of a name in one of the project's modules, if it is a literal.

use indexmap::IndexMap;
use reana_model::Origin;

use crate::reading::Reading;
use crate::{Fact, Text, Unknown};

/// Reads a string that a module assigns to a name, as setuptools does without running the module. What is no
/// plain string is unknown.
pub(crate) fn read(
    reading: &mut Reading<'_>,
    attribute: &str,
    package_dir: &IndexMap<String, String>,
    origin: &Origin,
) -> Fact<Text> {
    let unknown = |origin: &Origin, reason: String| Unknown {
        origin: origin.clone(),
        expression: format!("attr: {attribute}"),
        reason,
        plug_in: false,
    };
    let (module, name) = attribute.rsplit_once('.').unwrap_or(("__init__", attribute));
    for path in candidates(module, package_dir) {
        let Some(text) = reading.text(&path).map_err(|problem| unknown(origin, problem.to_string()))? else {
            continue;
        };
        return match first_assignment(&text, name) {
            Some((line, Some(value))) => Ok(Text { value, origin: Origin::new(reading.shown(&path), line) }),
            Some((line, None)) => {
                let place = Origin::new(reading.shown(&path), line);
                Err(unknown(&place, format!("`{name}` is not a plain string")))
            }
            None => {
                Err(unknown(&Origin::whole(reading.shown(&path)), format!("`{name}` is not assigned there")))
            }
        };
    }
    Err(unknown(origin, format!("there is no module `{module}`")))
}

/// The files that may hold a module, by setuptools' rules; `src/` last, where it looks without being told.
fn candidates(module: &str, package_dir: &IndexMap<String, String>) -> Vec<String> {
    let parts: Vec<&str> = module.split('.').collect();
    let join = |parent: &str, rest: &[&str]| {
        let mut path: Vec<&str> = parent.split('/').filter(|part| !part.is_empty()).collect();
        path.extend(rest);
        path.join("/")
    };
    let mapped = (1..=parts.len()).rev().find_map(|length| {
        let (package, rest) = parts.split_at_checked(length)?;
        package_dir.get(&package.join(".")).map(|parent| join(parent, rest))
    });
    let root = package_dir.get("").map_or("", String::as_str);
    let mut starts = vec![mapped.unwrap_or_else(|| join(root, &parts))];
    if package_dir.is_empty() {
        starts.push(join("src", &parts));
    }
    starts.iter().flat_map(|start| [format!("{start}.py"), format!("{start}/__init__.py")]).collect()
}

/// The line of a module's first assignment to a name, and the string if it is one.
fn first_assignment(text: &str, name: &str) -> Option<(u32, Option<String>)> {
    let mut quotes = 0_usize;
    for (number, line) in (1..).zip(text.lines()) {
        let inside_string = quotes % 2 == 1;
        quotes += line.matches("\"\"\"").count() + line.matches("'''").count();
        let Some(rest) = line.strip_prefix(name).filter(|_| !inside_string) else { continue };
        let rest = rest.trim_start();
        let rest = match rest.strip_prefix(':') {
            Some(annotated) => annotated.split_once('=').map_or("", |(_, value)| value),
            None => match rest.strip_prefix('=') {
                Some(value) if !value.starts_with('=') => value,
                _ => continue,
            },
        };
        return Some((number, plain_string(rest.trim())));
    }
    None
}

/// The content of a string literal without escapes, prefix or anything but a comment behind it.
fn plain_string(text: &str) -> Option<String> {
    let quote = text.chars().next().filter(|c| matches!(c, '"' | '\''))?;
    let (value, rest) = text.get(1..)?.split_once(quote)?;
    let rest = rest.trim();
    let plain = !value.contains('\\') && (rest.is_empty() || rest.starts_with('#')) && !value.is_empty();
    plain.then(|| value.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::MemoryFiles;

    fn check(files: &[(&str, &str)], package_dir: &[(&str, &str)], attribute: &str, expected: &str) {
        let files = MemoryFiles::of(files.iter().map(|(path, text)| (*path, *text)));
        let dirs = package_dir.iter().map(|(name, path)| ((*name).to_owned(), (*path).to_owned())).collect();
        let found = match read(&mut Reading::new(&files, ""), attribute, &dirs, &Origin::new("setup.cfg", 3))
        {
            Ok(text) => format!("{} {}", text.origin, text.value),
            Err(unknown) => unknown.to_string(),
        };
        assert_eq!(found, expected);
    }

    #[test]
    fn literals_are_read_and_nothing_else() {
        let init =
            "\"\"\"Doc\n__version__ = 'no'\n\"\"\"\nx = 1\n__version__ = '1.2'  # yes\n__version__ = '2'\n";
        check(&[("foo/__init__.py", init)], &[], "foo.__version__", "foo/__init__.py:5 1.2");
        check(&[("src/foo/v.py", "V: str = \"1\"\n")], &[], "foo.v.V", "src/foo/v.py:1 1");
        check(&[("lib/foo.py", "V='1'\n")], &[("", "lib")], "foo.V", "lib/foo.py:1 1");
        check(&[("x/y.py", "V='1'\n")], &[("foo", "x")], "foo.y.V", "x/y.py:1 1");
        check(
            &[("foo.py", "\nV = f'1.{x}'\n")],
            &[],
            "foo.V",
            "foo.py:2: cannot evaluate `attr: foo.V`: `V` is not a plain string",
        );
        check(
            &[("foo.py", "V == 1\n")],
            &[],
            "foo.V",
            "foo.py: cannot evaluate `attr: foo.V`: `V` is not assigned there",
        );
        check(&[], &[], "foo.V", "setup.cfg:3: cannot evaluate `attr: foo.V`: there is no module `foo`");
    }
}
