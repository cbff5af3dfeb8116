//! `*.egg-info/requires.txt`: what setuptools understood of the requirements when the sdist was made.
//!
//! One requirement a line, below headings: none for those of the package itself, `[extra]`, `[:marker]`,
//! `[extra:marker]`. It tells what held on the machine that made the sdist, under its Python.

use std::collections::HashSet;
use std::sync::Arc;

use reana_model::requirement::parse_marker;
use reana_model::{ExtraName, MarkerTree, Origin, Requirement, VersionSpecifier};

/// What a requires.txt, or old metadata, says.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub(super) struct Requires {
    /// The requirements, with `extra == "x"` in their markers.
    pub(super) requires_dist: Vec<Requirement>,
    /// The extras, in their order.
    pub(super) extras: Vec<ExtraName>,
}

/// Reads a requires.txt.
///
/// # Errors
/// A reason, where a line can't be understood.
pub(super) fn parse(text: &[u8], file: &str) -> Result<Requires, String> {
    let text = String::from_utf8_lossy(text);
    let file: Arc<str> = file.into();
    let mut found = Requires::default();
    let mut section = Vec::new();
    for (line, at) in text.lines().zip(1_u32..) {
        let origin = Origin::new(file.clone(), at);
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        if let Some(heading) = line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
            let (extra, marker) = heading.split_once(':').unwrap_or((heading, ""));
            section.clear();
            if !marker.trim().is_empty() {
                section.push(marker.trim().to_owned());
            }
            if !extra.trim().is_empty() {
                let extra = extra_name(extra).ok_or_else(|| format!("{origin}: `{extra}` is no extra"))?;
                section.push(format!("extra == '{extra}'"));
                if !found.extras.contains(&extra) {
                    found.extras.push(extra);
                }
            }
            continue;
        }
        let requirement =
            conditional(line, &section, origin.clone()).map_err(|reason| format!("{origin}: {reason}"))?;
        found.requires_dist.push(requirement);
    }
    Ok(found)
}

/// An extra's name, as setuptools makes one out of any text: what may not stand in a name becomes `-`.
pub(super) fn extra_name(text: &str) -> Option<ExtraName> {
    let name = text.trim();
    ExtraName::new(name.to_owned()).ok().or_else(|| {
        let safe: String = name
            .chars()
            .map(|c| if c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '_') { c } else { '-' })
            .collect();
        let safe = safe.trim_matches(['-', '.', '_']);
        ExtraName::new(safe.to_owned()).ok()
    })
}

/// A requirement that applies where all of the markers do, beside its own.
pub(super) fn conditional(text: &str, markers: &[String], origin: Origin) -> Result<Requirement, String> {
    let mut requirement = Requirement::parse_mended(text, origin).map_err(|error| error.to_string())?;
    for marker in markers {
        let tree = parse_marker(marker).map_err(|_| format!("`{marker}` is no marker (PEP 508)"))?;
        requirement.marker.and(tree);
    }
    if !markers.is_empty() {
        requirement.text = with_markers(&requirement.text, markers);
    }
    Ok(requirement)
}

/// A requirement's text with more markers.
pub(super) fn with_markers(text: &str, markers: &[String]) -> String {
    let (head, own) = match text.split_once(" ;").or_else(|| text.split_once(';')) {
        Some((head, own)) => (head.trim(), Some(own.trim().to_owned())),
        None => (text.trim(), None),
    };
    let all: Vec<String> = own.into_iter().chain(markers.iter().cloned()).collect();
    let joined = match &all[..] {
        [one] => one.clone(),
        _ => all.iter().map(|marker| grouped(marker)).collect::<Vec<_>>().join(" and "),
    };
    format!("{head} ; {joined}")
}

fn grouped(marker: &str) -> String {
    if marker.contains(" or ") { format!("({marker})") } else { marker.to_owned() }
}

/// Whether both say the same: the same requirements under the same markers, in any order and spelling.
pub(super) fn agrees(one: &[Requirement], other: &[Requirement]) -> bool {
    facts(one) == facts(other)
}

/// Sets of what is said, whatever the order and the spelling; versions and markers compare by meaning.
type Fact<'a> = (&'a str, &'a [ExtraName], Vec<&'a VersionSpecifier>, Option<&'a str>, &'a MarkerTree);

fn facts(requirements: &[Requirement]) -> HashSet<Fact<'_>> {
    requirements.iter().map(fact).collect()
}

fn fact(requirement: &Requirement) -> Fact<'_> {
    let mut specifiers: Vec<_> = requirement.specifiers().map_or(&[][..], |all| all).iter().collect();
    specifiers.sort();
    specifiers.dedup();
    let url = requirement.direct().map(|direct| direct.url.as_str());
    (requirement.name.as_ref(), requirement.extras.as_slice(), specifiers, url, &requirement.marker)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &[&str]) {
        let found = match parse(text.as_bytes(), "a.egg-info/requires.txt") {
            Ok(found) => found.requires_dist.into_iter().map(|one| one.text).collect(),
            Err(reason) => vec![reason],
        };
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn sections() {
        check(
            "a>=1\nb; os_name == 'nt' or os_name == 'posix'\n\n[:python_version < \"3\"]\nc\n\n[Test_X]\nd[e]\n\n\
             [y:sys_platform=='x' or os_name=='y']\nf\n",
            &[
                "a>=1",
                "b; os_name == 'nt' or os_name == 'posix'",
                "c ; python_version < \"3\"",
                "d[e] ; extra == 'test-x'",
                "f ; (sys_platform=='x' or os_name=='y') and extra == 'y'",
            ],
        );
        check(
            "[a b]\nc;os_name == 'nt' or os_name == 'x'",
            &["c ; (os_name == 'nt' or os_name == 'x') and extra == 'a-b'"],
        );
        check("[x:nonsense]\na", &["a.egg-info/requires.txt:2: `nonsense` is no marker (PEP 508)"]);
        check(
            "a b c",
            &[
                "a.egg-info/requires.txt:1: `a b c` is not a valid requirement (PEP 508): Expected one of `@`, `(`, `<`, `=`, `>`, `~`, `!`, `;`, found `b`",
            ],
        );
    }

    #[test]
    fn meaning_is_compared() {
        let read = |text: &str| parse(text.as_bytes(), "x").expect("requirements").requires_dist;
        let same = |one: &str, other: &str| agrees(&read(one), &read(other));
        assert!(same("a>=1.0,<2\nB_c", "b-c\na<2,>=1"));
        assert!(same("a; python_version<'3' and extra=='x'", "[x:python_version < \"3\"]\na"));
        assert!(!same("a>=1", "a>=1\nb"));
        assert!(!same("a", "a>=0"));
        assert!(!same("a", "a[x]"));
        assert!(!same("a", "[x]\na"));
    }
}
