//! Where the parts of a requirement stand in its text.

use std::ops::Range;

use reana_model::PackageName;

use super::slot::Notation;

/// A requirement's text, taken apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Parts {
    pub(super) name: PackageName,
    /// Where the name and the extras end.
    pub(super) head: usize,
    /// It names a place (`name @ url`) instead of versions.
    pub(super) is_direct: bool,
    pub(super) bounds: Vec<Bound>,
}

/// One version specifier.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Bound {
    pub(super) operator: Range<usize>,
    pub(super) version: Range<usize>,
}

/// Takes a requirement apart: as PEP 508 has it, and with the spaces and missing commas of old metadata.
pub(super) fn parts(text: &str) -> Option<Parts> {
    parts_in(text, Notation::Standard)
}

/// The same for bounds in another notation.
pub(super) fn parts_in(text: &str, notation: Notation) -> Option<Parts> {
    let mut cursor = Cursor { text, at: 0 };
    cursor.spaces();
    let name = cursor.name()?;
    let mut head = cursor.at;
    cursor.spaces();
    if cursor.eat('[') {
        let length = cursor.rest().find(']')?;
        cursor.at += length + 1;
        head = cursor.at;
        cursor.spaces();
    }
    let mut parts = Parts { name, head, is_direct: cursor.rest().starts_with('@'), bounds: Vec::new() };
    if parts.is_direct {
        return Some(parts);
    }
    let in_brackets = cursor.eat('(');
    loop {
        cursor.run(|c| c == ',' || c.is_whitespace());
        let operator = cursor.run(is_operator);
        let is_exact =
            notation == Notation::Poetry && cursor.rest().starts_with(|c: char| c.is_ascii_digit());
        if operator.is_empty() && !is_exact {
            break;
        }
        let sign = text.get(operator.clone()).unwrap_or_default();
        let is_known = match notation {
            Notation::Standard => false,
            Notation::Poetry => ["", "=", "^", "~"].contains(&sign),
        };
        if !is_known && !["==", "===", ">=", "<=", "<", ">", "!=", "~="].contains(&sign) {
            return None;
        }
        cursor.spaces();
        let version = cursor.run(|c| c.is_ascii_alphanumeric() || ".*+!_-".contains(c));
        if version.is_empty() {
            return None;
        }
        parts.bounds.push(Bound { operator, version });
    }
    if in_brackets && !cursor.eat(')') {
        return None;
    }
    cursor.spaces();
    let rest = cursor.rest();
    (rest.is_empty() || rest.starts_with(';')).then_some(parts)
}

/// Whether a text begins as a requirement of a package would: with its name, and extras or a bound after it.
/// (`name=module:function` is an entry point.)
pub(super) fn begins_as(text: &str, package: &PackageName) -> bool {
    let mut cursor = Cursor { text, at: 0 };
    cursor.spaces();
    if cursor.name().as_ref() != Some(package) {
        return false;
    }
    cursor.spaces();
    let rest = cursor.rest();
    rest.starts_with(['[', '<', '>', '(', '@'])
        || ["==", "!=", "~="].iter().any(|sign| rest.starts_with(sign))
}

/// Whether a text is a package's name and nothing else.
pub(super) fn is_bare(text: &str, package: &PackageName) -> bool {
    let mut cursor = Cursor { text, at: 0 };
    cursor.spaces();
    cursor.name().as_ref() == Some(package) && cursor.rest().trim().is_empty()
}

/// The package that a text names first.
pub(super) fn name_of(text: &str) -> Option<PackageName> {
    let mut cursor = Cursor { text, at: 0 };
    cursor.spaces();
    cursor.name()
}

fn is_operator(c: char) -> bool {
    "<>=!~^".contains(c)
}

struct Cursor<'t> {
    text: &'t str,
    at: usize,
}

impl<'t> Cursor<'t> {
    fn rest(&self) -> &'t str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn run(&mut self, is: impl Fn(char) -> bool) -> Range<usize> {
        let start = self.at;
        self.at += self.rest().find(|c| !is(c)).unwrap_or(self.rest().len());
        start..self.at
    }

    fn spaces(&mut self) {
        self.run(char::is_whitespace);
    }

    fn eat(&mut self, sign: char) -> bool {
        let is_there = self.rest().starts_with(sign);
        if is_there {
            self.at += sign.len_utf8();
        }
        is_there
    }

    fn name(&mut self) -> Option<PackageName> {
        let range = self.run(|c| c.is_ascii_alphanumeric() || "._-".contains(c));
        let name = self.text.get(range)?;
        // Names that end with punctuation are refused by the grammar, and panicked on by its parser.
        let is_whole = name.starts_with(|c: char| c.is_ascii_alphanumeric())
            && name.ends_with(|c: char| c.is_ascii_alphanumeric());
        if is_whole { PackageName::new(name.to_owned()).ok() } else { None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &str) {
        let found = parts(text).map(|parts| {
            let at = |range: &Range<usize>| text.get(range.clone()).unwrap_or_default();
            let bounds: Vec<String> =
                parts.bounds.iter().map(|it| format!("{}_{}", at(&it.operator), at(&it.version))).collect();
            format!("{}|{}|{}", parts.name, text.get(..parts.head).unwrap_or_default(), bounds.join(" "))
        });
        assert_eq!(found.unwrap_or_else(|| "-".to_owned()), expected, "{text}");
    }

    #[test]
    fn parts_of_requirements() {
        check("a", "a|a|");
        check(" A_b [x, y] >= 1.0 , <2 ; os_name == 'a'", "a-b| A_b [x, y]|>=_1.0 <_2");
        check("a(>=1.0 <2)", "a|a|>=_1.0 <_2");
        check("a==1.*;b", "a|a|==_1.*");
        check("a @ https://x", "a|a|");
        check("a=b:c", "-");
        check("a>=", "-");
        check("a>=%(v)s", "-");
        check("a.>=1", "-");
        check("a>=1 # x", "-");
        check("", "-");
    }

    #[test]
    fn beginnings() {
        let name: PackageName = "reana-db".parse().expect("a name");
        for yes in ["reana-db>=", "Reana_DB[x", "reana.db ==1", "reana-db @ x", "reana-db ~=1"] {
            assert!(begins_as(yes, &name), "{yes}");
        }
        for no in ["reana-db", "reana-db=x:y", "reana-db-extra>=1", "reana-dbx>=1", "x reana-db>=1"] {
            assert!(!begins_as(no, &name), "{no}");
        }
    }
}
