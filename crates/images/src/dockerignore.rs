//! `.dockerignore`: which files of a folder a build does not see, by the rules of Docker's own matcher.

use regex::Regex;

/// The patterns of one file, in its order.
#[derive(Clone, Debug, Default)]
pub struct Dockerignore {
    patterns: Vec<Pattern>,
}

/// A line that is no pattern, which stops a build.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{line}: `{text}` is no pattern")]
pub struct DockerignoreError {
    /// The line, from 1.
    pub line: u32,
    /// What stands there.
    pub text: String,
}

#[derive(Clone, Debug)]
struct Pattern {
    /// `!`: what it matches is seen after all.
    is_exception: bool,
    form: Form,
}

#[derive(Clone, Debug)]
enum Form {
    Expression(Regex),
    /// `**` and nothing else that is special: whatever ends so, inside of names too (`**.pyc`).
    Suffix(String),
}

impl Form {
    fn of(pattern: &str) -> Option<Self> {
        let expression = Regex::new(&expression(pattern)?).ok()?;
        match pattern.strip_prefix("**") {
            Some(rest) if !rest.contains(['*', '?', '[', ']', '\\']) => Some(Self::Suffix(rest.to_owned())),
            _ => Some(Self::Expression(expression)),
        }
    }

    fn matches(&self, path: &str) -> bool {
        match self {
            Self::Expression(regex) => regex.is_match(path),
            Self::Suffix(suffix) => path.ends_with(suffix.as_str()) || suffix.strip_prefix('/') == Some(path),
        }
    }
}

impl Dockerignore {
    /// Reads a file's text.
    ///
    /// # Errors
    /// A pattern can't be read.
    pub fn parse(text: &str) -> Result<Self, DockerignoreError> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let mut patterns = Vec::new();
        for (line, whole) in (1_u32..).zip(text.lines()) {
            let error = || DockerignoreError { line, text: whole.trim().to_owned() };
            if whole.starts_with('#') || whole.trim().is_empty() {
                continue;
            }
            let (is_exception, text) = match whole.trim().strip_prefix('!') {
                Some(rest) => (true, rest.trim()),
                None => (false, whole.trim()),
            };
            if text.is_empty() {
                return Err(error());
            }
            let cleaned = clean(text);
            let relative = match cleaned.strip_prefix('/') {
                Some(rest) if !rest.is_empty() => rest,
                _ => cleaned.as_str(),
            };
            let form = Form::of(relative).ok_or_else(error)?;
            patterns.push(Pattern { is_exception, form });
        }
        Ok(Self { patterns })
    }

    /// Whether the build does not see what is at this path: parts between slashes, relative to the context. The last
    /// pattern that matches it, or a folder that it is in, decides.
    #[must_use]
    pub fn hides(&self, path: &str) -> bool {
        let ends = path.match_indices('/').map(|(at, _)| at).chain([path.len()]);
        let all: Vec<&str> = ends.filter_map(|end| path.get(..end)).collect();
        self.patterns.iter().fold(false, |hidden, pattern| {
            let decides = pattern.is_exception == hidden && all.iter().any(|path| pattern.form.matches(path));
            if decides { !pattern.is_exception } else { hidden }
        })
    }

    /// Whether something in a hidden folder may be seen all the same, so that it must be looked into.
    #[must_use]
    pub fn has_exceptions(&self) -> bool {
        self.patterns.iter().any(|pattern| pattern.is_exception)
    }
}

/// A path without doubled slashes, `.` and what `..` takes back.
fn clean(path: &str) -> String {
    let is_rooted = path.starts_with('/');
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." if parts.last().is_some_and(|last| *last != "..") => {
                parts.pop();
            }
            ".." if is_rooted => {}
            part => parts.push(part),
        }
    }
    match (is_rooted, parts.is_empty()) {
        (true, _) => format!("/{}", parts.join("/")),
        (false, true) => ".".to_owned(),
        (false, false) => parts.join("/"),
    }
}

/// The regular expression of a pattern; `None` where it is none.
fn expression(pattern: &str) -> Option<String> {
    let mut found = String::from("^");
    let mut chars = pattern.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '*' if chars.next_if_eq(&'*').is_some() => {
                let _eaten = chars.next_if_eq(&'/');
                // At the end it takes all; before more, any number of whole folders.
                found.push_str(if chars.peek().is_none() { ".*" } else { "(.*/)?" });
            }
            '*' => found.push_str("[^/]*"),
            '?' => found.push_str("[^/]"),
            '[' => found.push_str(&class(&mut chars)?),
            '\\' => found.push_str(&regex::escape(&chars.next()?.to_string())),
            other => found.push_str(&regex::escape(&other.to_string())),
        }
    }
    found.push('$');
    Some(found)
}

/// What stands in brackets: `a-z]`, `^a]`, with `\` before what is meant as it is.
fn class(chars: &mut std::iter::Peekable<std::str::Chars<'_>>) -> Option<String> {
    let mut found = String::from("[");
    if chars.next_if_eq(&'^').is_some() {
        found.push('^');
    }
    let mut is_empty = true;
    loop {
        match chars.next()? {
            ']' if is_empty => return None,
            ']' => break,
            '-' => found.push('-'),
            '\\' => found.push_str(&regex::escape(&chars.next()?.to_string())),
            other => {
                let escaped = regex::escape(&other.to_string());
                found.push_str(&escaped);
            }
        }
        is_empty = false;
    }
    found.push(']');
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Which of these paths are hidden.
    fn check(text: &str, paths: &[&str], hidden: &[&str]) {
        let patterns = Dockerignore::parse(text).expect("patterns");
        let found: Vec<&str> = paths.iter().copied().filter(|path| patterns.hides(path)).collect();
        assert_eq!(found, hidden, "{text:?}");
    }

    #[test]
    fn names_and_folders() {
        let paths = ["a", "a/b", "a/b/c", "b", "b/a", "ab", ".a"];
        check("", &paths, &[]);
        check("a", &paths, &["a", "a/b", "a/b/c"]);
        check("/a/", &paths, &["a", "a/b", "a/b/c"]);
        check("./a/../b//a", &paths, &["b/a"]);
        check("  a/b  ", &paths, &["a/b", "a/b/c"]);
        check("\u{feff}a/b\r\n# b\n\n", &paths, &["a/b", "a/b/c"]);
        check(" # b", &paths, &[]);
        check("../a", &paths, &[]);
        check("/", &paths, &[]);
        check(".", &paths, &[]);
    }

    #[test]
    fn stars() {
        let paths = ["x.pyc", "d/x.pyc", "d/e/x.pyc", ".pyc", "d", "d/e", "dx/y"];
        check("*.pyc", &paths, &["x.pyc", ".pyc"]);
        check("*/*.pyc", &paths, &["d/x.pyc"]);
        check("**/*.pyc", &paths, &["x.pyc", "d/x.pyc", "d/e/x.pyc", ".pyc"]);
        check("**.pyc", &paths, &["x.pyc", "d/x.pyc", "d/e/x.pyc", ".pyc"]);
        check("**/x.pyc", &paths, &["x.pyc", "d/x.pyc", "d/e/x.pyc"]);
        check("d/**", &paths, &["d/x.pyc", "d/e/x.pyc", "d/e"]);
        check("d**", &paths, &["d/x.pyc", "d/e/x.pyc", "d", "d/e", "dx/y"]);
        check("d/**/x.pyc", &paths, &["d/x.pyc", "d/e/x.pyc"]);
        check("**/e/**", &paths, &["d/e/x.pyc"]);
        check("**", &paths, &paths);
        check("*", &paths, &paths);
        check("?", &paths, &["d/x.pyc", "d/e/x.pyc", "d", "d/e"]);
        check("d?", &paths, &["dx/y"]);
        check("[a-x].pyc", &paths, &["x.pyc"]);
        check("[^y].pyc", &paths, &["x.pyc"]);
        check("\\x.pyc", &paths, &["x.pyc"]);
        check("x+pyc", &paths, &[]);
    }

    #[test]
    fn the_last_match_wins() {
        let paths = ["a", "a/b", "a/b/c", "a/d", "e.md", "README.md"];
        check("*\n!a", &paths, &["e.md", "README.md"]);
        check("a\n!a/b\na/b/c", &paths, &["a", "a/b/c", "a/d"]);
        check("!a\na", &paths, &["a", "a/b", "a/b/c", "a/d"]);
        check("*.md\n! README*.md\n", &paths, &["e.md"]);
        check("*\n!/a/b/", &paths, &["a", "a/d", "e.md", "README.md"]);
        assert!(Dockerignore::parse("*\n!a").expect("patterns").has_exceptions());
        assert!(!Dockerignore::parse("*\n").expect("patterns").has_exceptions());
    }

    proptest::proptest! {
        #[test]
        fn any_text_and_path_are_answered(text in "[a-c*?!/\\\\\\[\\]^.\n#-]{0,40}", path in "[a-c/]{0,12}") {
            if let Ok(patterns) = Dockerignore::parse(&text) {
                // What is in a hidden folder is hidden, unless an exception says otherwise.
                let (hides, inside) = (patterns.hides(&path), patterns.hides(&format!("{path}/x")));
                proptest::prop_assert!(!hides || inside || patterns.has_exceptions());
            }
        }
    }

    #[test]
    fn what_is_no_pattern_is_refused_with_its_line() {
        for bad in ["!", "[a", "a[]b]", "a\\", "[z-a]"] {
            let error = Dockerignore::parse(&format!("ok\n{bad}\n")).expect_err("no pattern");
            assert_eq!(error, DockerignoreError { line: 2, text: bad.to_owned() });
        }
    }
}
