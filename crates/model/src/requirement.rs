//! Dependency specifiers (PEP 508) with the place that they were written at.

use std::fmt;
use std::path::Path;
use std::str::FromStr;

use pep508_rs::{Pep508Url, VersionOrUrl};

use crate::{ExtraName, MarkerTree, Origin, PackageName, VersionSpecifiers};

/// One requirement: a name, and what is accepted under it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Requirement {
    /// The package.
    pub name: PackageName,
    /// Extras asked for, sorted, each once.
    pub extras: Vec<ExtraName>,
    /// Where it may come from, and which versions.
    pub source: Source,
    /// When it applies; true where always.
    pub marker: MarkerTree,
    /// Where it was written.
    pub origin: Origin,
    /// As it was written, for messages.
    pub text: String,
}

/// Where a requirement's package may come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// The indexes, in one of these versions (all, if empty).
    Index(VersionSpecifiers),
    /// One place alone.
    Direct(Direct),
}

/// A place that a requirement names instead of versions.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Direct {
    /// Absolute address (`https:`, `http:`, `file:`, `git+https:`), with its fragment if it had one.
    pub url: String,
    /// As it was written: `./wheels/x.whl`, `file:x.whl`, `https://...`.
    pub given: String,
    /// Whether it was given without a name (a bare path or URL), and is to be written back so.
    pub unnamed: bool,
    /// Whether it was given with `-e`.
    pub editable: bool,
}

/// Text that is no requirement.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not a valid requirement (PEP 508): {reason}")]
pub struct RequirementError {
    /// The text.
    pub text: String,
    /// What is wrong with it.
    pub reason: String,
}

impl Requirement {
    /// Reads a requirement as PEP 508 defines it.
    pub fn parse(text: &str, origin: Origin) -> Result<Self, RequirementError> {
        let refused =
            |reason: &str| RequirementError { text: text.trim().to_owned(), reason: first_line(reason) };
        check_bounds(text).map_err(refused)?;
        let parsed = pep508_rs::Requirement::<Address>::from_str(text)
            .map_err(|error| refused(&error.message.to_string()))?;
        let source = match parsed.version_or_url {
            None => Source::Index(VersionSpecifiers::empty()),
            Some(VersionOrUrl::VersionSpecifier(specifiers)) => Source::Index(specifiers),
            Some(VersionOrUrl::Url(url)) => {
                let Address { url, given } = url;
                Source::Direct(Direct { url, given, unnamed: false, editable: false })
            }
        };
        let mut extras = parsed.extras;
        extras.sort();
        extras.dedup();
        let text = text.trim().to_owned();
        Ok(Self { name: parsed.name, extras, source, marker: parsed.marker, origin, text })
    }

    /// Reads a requirement from metadata, whose authors were not always held to PEP 508: what is clear is
    /// mended (`>=3.6.*`, `>=1.0 <2`, `>= '1'`), the rest refused.
    pub fn parse_mended(text: &str, origin: Origin) -> Result<Self, RequirementError> {
        Self::parse(text, origin.clone()).or_else(|error| {
            let (head, marker) =
                text.split_once(';').map_or((text, None), |(head, marker)| (head, Some(marker)));
            let at = head.find(['<', '>', '=', '!', '~', '(']).unwrap_or(head.len());
            let (name, specifiers) = head.split_at(at);
            let specifiers = specifiers.trim().trim_start_matches('(').trim_end_matches(')');
            let marker = marker.map(|marker| format!("; {}", marker.trim())).unwrap_or_default();
            let mended = format!("{} {}{marker}", name.trim(), mend(specifiers));
            Self::parse(&mended, origin).map_err(|_| error)
        })
    }

    /// The versions that are accepted; none where the requirement names a place instead.
    pub fn specifiers(&self) -> Option<&VersionSpecifiers> {
        match &self.source {
            Source::Index(specifiers) => Some(specifiers),
            Source::Direct(_) => None,
        }
    }

    /// The place that it names, if it does.
    pub fn direct(&self) -> Option<&Direct> {
        match &self.source {
            Source::Index(_) => None,
            Source::Direct(direct) => Some(direct),
        }
    }
}

/// Reads a marker (PEP 508). One that is nested or branched beyond reason is refused, for its cost could be
/// without bound.
pub fn parse_marker(text: &str) -> Result<MarkerTree, RequirementError> {
    let refused =
        |reason: &str| RequirementError { text: text.trim().to_owned(), reason: first_line(reason) };
    check_marker_bounds(text).map_err(refused)?;
    MarkerTree::from_str(text).map_err(|error| refused(&error.message.to_string()))
}

/// The address behind `name @`, taken as it stands: the environment is not looked at.
#[derive(Debug)]
struct Address {
    url: String,
    given: String,
}

impl Pep508Url for Address {
    type Err = url::ParseError;

    fn parse_url(given: &str, _: Option<&Path>) -> Result<Self, url::ParseError> {
        let absolute = if given.starts_with('/') { format!("file://{given}") } else { given.to_owned() };
        let url = match url::Url::parse(&absolute) {
            Ok(url) => url.to_string(),
            // a variable in it may stand for what is missing
            Err(_) if given.contains("${") => given.to_owned(),
            Err(error) => return Err(error),
        };
        Ok(Self { url, given: given.to_owned() })
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.url)
    }
}

/// Refuses what the parser would panic on (a name that ends with punctuation) and what could cost too much.
fn check_bounds(text: &str) -> Result<(), &'static str> {
    let ends_well = |name: &str| !name.ends_with(['.', '-', '_']);
    let wrong = Err("a name must end with a letter or a digit");
    let text = text.trim_start();
    let end = text.find(|c: char| !(c.is_ascii_alphanumeric() || "._-".contains(c))).unwrap_or(text.len());
    let (name, rest) = text.split_at(end);
    if !ends_well(name) && name.starts_with(|c: char| c.is_ascii_alphanumeric()) {
        return wrong;
    }
    let rest = rest.trim_start();
    if let Some(list) = rest.strip_prefix('[') {
        let list = list.split(']').next().unwrap_or_default();
        if !list.split(|c: char| c == ',' || c.is_whitespace()).all(ends_well) {
            return wrong;
        }
    }
    rest.split_once(';').map_or(Ok(()), |(_, marker)| check_marker_bounds(marker))
}

fn check_marker_bounds(marker: &str) -> Result<(), &'static str> {
    const MOST_BYTES: usize = 4096;
    const MOST_NESTED: usize = 32;
    const MOST_TERMS: usize = 64;
    const MOST_IN: usize = 8;
    let words = |wanted: &str| {
        marker.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| *word == wanted).count()
    };
    // The parser counts characters where it cuts bytes; markers are ASCII (PEP 508).
    if !marker.is_ascii() {
        return Err("its marker is not ASCII");
    }
    if marker.len() > MOST_BYTES
        || marker.matches('(').count() > MOST_NESTED
        || words("and") + words("or") >= MOST_TERMS
        || words("in") > MOST_IN
    {
        return Err("its marker is longer or more nested than what is read");
    }
    Ok(())
}

/// Reads version specifiers (PEP 440) from metadata, mending what is clear.
pub fn parse_specifiers_mended(text: &str) -> Result<VersionSpecifiers, RequirementError> {
    VersionSpecifiers::from_str(text).or_else(|error| {
        VersionSpecifiers::from_str(&mend(text.trim().trim_start_matches('(').trim_end_matches(')')))
            .map_err(|_| RequirementError { text: text.to_owned(), reason: first_line(&error.to_string()) })
    })
}

/// Mends old-style specifiers: a comma between two of them, no `.*` after an ordering, no quotes, no `>dev`.
fn mend(specifiers: &str) -> String {
    let bare = specifiers.replace(['"', '\''], "");
    let mut parts: Vec<String> = Vec::new();
    for piece in bare.split(',') {
        let mut rest = piece.trim();
        while let Some(start) = rest.find(['<', '>', '=', '!', '~']) {
            let operator =
                rest[start..].find(|c| !"<>=!~".contains(c)).map_or(rest.len(), |length| start + length);
            let end = rest[operator..]
                .find(['<', '>', '=', '!', '~'])
                .map_or(rest.len(), |length| operator + length);
            let (operator, version) = (&rest[start..operator], rest[operator..end].trim());
            let version = match operator {
                "==" | "!=" | "===" => version,
                _ => version.trim_end_matches(".*"),
            };
            rest = &rest[end..];
            // `pytz>dev` of celery 4: every version was newer than such a word, before PEP 440.
            if matches!(operator, ">" | ">=") && version == "dev" {
                continue;
            }
            parts.push(format!("{operator}{version}"));
        }
        if !piece.trim().is_empty() && !piece.contains(['<', '>', '=', '!', '~']) {
            parts.push(piece.trim().to_owned());
        }
    }
    parts.join(",")
}

fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().to_owned()
}

impl fmt::Display for Requirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &str) {
        let found = match Requirement::parse_mended(text, Origin::new("METADATA", 1)) {
            Ok(requirement) => {
                let extras: Vec<String> = requirement.extras.iter().map(ToString::to_string).collect();
                let specifiers = requirement.specifiers().map(ToString::to_string).unwrap_or_default();
                let marker = requirement.marker.try_to_string().unwrap_or_default();
                format!("{} [{}] {specifiers} ; {marker}", requirement.name, extras.join(","))
            }
            Err(error) => error.to_string(),
        };
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn mends_what_is_clear() {
        check("Foo_Bar[b,A,b]>=1.0", "foo-bar [a,b] >=1.0 ; ");
        check("foo (>=1)", "foo [] >=1 ; ");
        check("foo>=3.6.*", "foo [] >=3.6 ; ");
        check("foo (>=1.0 <2)", "foo [] >=1.0, <2 ; ");
        check("foo>='1.0',; python_version<'3'", "foo [] >=1.0 ; python_full_version < '3'");
        check("foo==1.*; extra == 'Test_X'", "foo [] ==1.* ; extra == 'test-x'");
        check("foo!=1.0,", "foo [] !=1.0 ; ");
        check("pytz (>dev)", "pytz []  ; ");
        check("pytz>dev ; python_version>'3'", "pytz []  ; python_full_version >= '3.1'");
    }

    #[test]
    fn refuses_the_rest() {
        check(
            "-foo",
            "`-foo` is not a valid requirement (PEP 508): Expected package name starting with an alphanumeric character, found `-`",
        );
        check(
            "foo>=abc",
            "`foo>=abc` is not a valid requirement (PEP 508): expected version to start with a number, but no leading ASCII digits were found",
        );
        assert!(parse_specifiers_mended("nonsense").is_err());
    }

    #[test]
    fn refuses_what_its_parser_cannot_take() {
        check(
            "foo. ==1",
            "`foo. ==1` is not a valid requirement (PEP 508): a name must end with a letter or a digit",
        );
        check(
            "foo[a-]",
            "`foo[a-]` is not a valid requirement (PEP 508): a name must end with a letter or a digit",
        );
        check(
            "foo; os_name == 'a'é",
            "`foo; os_name == 'a'é` is not a valid requirement (PEP 508): its marker is not ASCII",
        );
        assert!(parse_marker("os_name == 'a' or'é'").is_err());
        let nested = format!("foo; {}os_name == 'a'{}", "(".repeat(5000), ")".repeat(5000));
        assert!(Requirement::parse(&nested, Origin::whole("x")).is_err());
        assert!(parse_marker(&nested["foo; ".len()..]).is_err());
        let branched: Vec<String> =
            (0..30).map(|n| format!("'a{n}' in os_name and 'b{n}' in sys_platform")).collect();
        assert!(parse_marker(&branched.join(" or ")).is_err());
    }

    #[test]
    fn addresses_are_taken_as_they_stand() {
        let check = |text: &str, url: &str, given: &str| {
            let read = Requirement::parse(text, Origin::whole("x")).expect("a requirement");
            let direct = read.direct().expect("an address");
            assert_eq!((&*direct.url, &*direct.given), (url, given), "{text}");
        };
        check("foo @ https://h/x.whl ; os_name == 'a'", "https://h/x.whl", "https://h/x.whl");
        check("foo@git+https://h/r@v1#egg=foo", "git+https://h/r@v1#egg=foo", "git+https://h/r@v1#egg=foo");
        check("foo @ https://${HOME}@h/x", "https://$%7BHOME%7D@h/x", "https://${HOME}@h/x");
        check("foo @ ${BASE}/x", "${BASE}/x", "${BASE}/x");
        check("foo @ /a/x.whl", "file:///a/x.whl", "/a/x.whl");
    }
}
