//! A lock against its own pins: whether it is what they would be written as, or a hand has been at it; and the same
//! lock with more hashes.

use std::collections::{BTreeMap, BTreeSet};

use reana_model::{MarkerTree, Pin, PinSource, Sha256, Version};

use crate::render::{UNHASHED, UNSAFE};
use crate::{
    AnnotationStyle, EmittedOptions, Lock, LockContent, LockedPin, Newline, Style, UnsafePackages,
    default_unsafe_packages, render,
};

/// More hashes for pins, by the pins' lines.
pub type MoreHashes = BTreeMap<u32, BTreeSet<Sha256>>;

/// A requirements file that is not what its own pins would be written as, in any style: the first such line, from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {0} is not as this command or pip-compile writes it")]
pub struct Edited(pub u32);

/// Whether a requirements file is what its own pins would be written as, in one of the styles that pip-compile and
/// this command know. What stands above the first pin is not looked at. A lock with problems, without pins, or with a
/// path that has no name (which decides its place) is not judged.
///
/// # Errors
/// The first line that would be another one.
pub fn own_rendering(text: &str, lock: &Lock) -> Result<(), Edited> {
    matching(text, lock).map(drop)
}

/// The lock with more hashes; all else stays, byte for byte. `None` where it can't be judged, as above.
///
/// # Errors
/// Where a hand has been at it.
pub fn with_hashes(text: &str, lock: &Lock, more: &MoreHashes) -> Result<Option<String>, Edited> {
    let Some(style) = matching(text, lock)? else { return Ok(None) };
    Ok(Some(head(text, lock).to_owned() + &body(&pins(lock, more), &style)))
}

/// The first line in which two texts differ, from 1.
pub fn first_difference(old: &str, new: &str) -> Option<u32> {
    if old == new {
        return None;
    }
    let same = old.split('\n').zip(new.split('\n')).take_while(|(old, new)| old == new).count();
    let last = old.lines().count().max(1);
    u32::try_from((same + 1).min(last)).ok()
}

/// What stands above a requirements file's first pin: the header, options, comments.
pub fn head<'t>(text: &'t str, lock: &Lock) -> &'t str {
    let Some(first) = lock.pins.iter().map(|pin| pin.line).min() else { return text };
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let mut end = usize::try_from(first).unwrap_or(usize::MAX).saturating_sub(1).min(lines.len());
    let before = |end: usize| end.checked_sub(1).and_then(|at| lines.get(at)).map(|line| line.trim_end());
    // these belong to the pin below them
    while before(end).is_some_and(|line| UNHASHED.lines().any(|own| own == line)) {
        end -= 1;
    }
    if before(end).is_some_and(|line| line == UNSAFE.trim_end()) {
        end -= 1;
        end -= usize::from(before(end) == Some(""));
    }
    let length = lines.iter().take(end).map(|line| line.len()).sum();
    text.get(..length).unwrap_or(text)
}

/// The style in which the pins give the text; `None` where that is not judged.
fn matching(text: &str, lock: &Lock) -> Result<Option<Style>, Edited> {
    if lock.pins.is_empty() || !lock.unnamed.is_empty() || !lock.problems.is_empty() {
        return Ok(None);
    }
    let head = head(text, lock);
    let own = text.get(head.len()..).unwrap_or_default();
    let pins = pins(lock, &MoreHashes::new());
    let mut furthest = 0;
    for style in styles(lock) {
        match first_difference(own, &body(&pins, &style)) {
            None => return Ok(Some(style)),
            Some(line) => furthest = furthest.max(line),
        }
    }
    let above = u32::try_from(head.matches('\n').count()).unwrap_or(u32::MAX);
    Err(Edited(above.saturating_add(furthest)))
}

/// The styles that a lock may have been written in.
fn styles(lock: &Lock) -> Vec<Style> {
    let left_out: BTreeSet<_> = lock.left_out.iter().cloned().collect();
    let known = default_unsafe_packages();
    let both = left_out.iter().cloned().partition(|name| known.contains(name));
    let (unsafe_packages, no_emit): (BTreeSet<_>, BTreeSet<_>) = both;
    let plain = Style { header: false, newline: lock.newline.unwrap_or(Newline::Lf), ..Style::default() };
    let ways = if left_out.is_empty() {
        vec![plain.clone(), Style { unsafe_handling: UnsafePackages::AtEnd, ..plain }]
    } else {
        let apart = UnsafePackages::LeftOut;
        vec![
            Style { unsafe_handling: apart, unsafe_packages: left_out.clone(), ..plain.clone() },
            Style { no_emit: left_out, ..plain.clone() },
            Style { unsafe_handling: apart, unsafe_packages, no_emit, ..plain },
        ]
    };
    let annotations = [Some(AnnotationStyle::Split), Some(AnnotationStyle::Line), None];
    let each =
        ways.into_iter().flat_map(|way| annotations.map(|annotation| Style { annotation, ..way.clone() }));
    each.collect()
}

fn body(pins: &[Pin], style: &Style) -> String {
    let options = EmittedOptions::default();
    render(&LockContent { header: None, preview: false, notes: Vec::new(), options, pins }, style)
}

/// The pins as they would be written; those that are left out are there by name.
fn pins(lock: &Lock, more: &MoreHashes) -> Vec<Pin> {
    let pinned = lock.pins.iter().map(|pin| {
        let LockedPin { name, extras, version, source, marker, hashes, via, line } = pin.clone();
        let version = version.unwrap_or_else(|| Version::new([0_u64]));
        let added = more.get(&line).into_iter().flatten().copied();
        Pin { name, extras, version, source, marker, hashes: hashes.into_iter().chain(added).collect(), via }
    });
    let left_out = lock.left_out.iter().map(|name| Pin {
        name: name.clone(),
        extras: BTreeSet::new(),
        version: Version::new([0_u64]),
        source: PinSource::Index,
        marker: MarkerTree::TRUE,
        hashes: BTreeSet::new(),
        via: BTreeSet::new(),
    });
    pinned.chain(left_out).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse;

    #[track_caller]
    fn check(text: &str, expected: Option<u32>) {
        let found = own_rendering(text, &parse(text, "requirements.txt")).err().map(|edited| edited.0);
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn locks_in_any_style_are_their_own() {
        check("a==1\n    # via b\nb==2\n", None);
        check("a==1                      # via b\nb==2\n", None);
        check("# h\n\n-i https://x.example/\n\na==1\nb==2\n", None);
        check("a==1\r\n    # via b\r\nb==2\r\n", None);
        check(
            "a==1\n\n# The following packages are considered to be unsafe in a requirements file:\n# setuptools\n",
            None,
        );
        check(
            "# h\n\n# The following packages are considered to be unsafe in a requirements file:\npip==1\n",
            None,
        );
        check("a==1\n\n# The following packages were excluded from the output:\n# b\n", None);
        check("", None);
    }

    #[test]
    fn a_hand_shows_in_its_line() {
        check("# h\na==1\n# mine\nb==2\n", Some(3));
        check("b==1\na==2\n", Some(1));
        check("a==1\nb == 2\n", Some(2));
        check("a==1\nb==2", Some(2));
        check("a==1\r\nb==2\n", Some(2));
        check("a==1\nb==2\n\n", Some(3));
    }

    #[test]
    fn hashes_are_added_and_nothing_else() {
        let (one, two) = (Sha256([1; 32]), Sha256([2; 32]));
        let text = format!("# mine\r\n#\r\na==1 \\\r\n    --hash=sha256:{two}\r\n    # via b\r\n");
        let lock = parse(&text, "requirements.txt");
        let more = MoreHashes::from([(3, [one].into())]);
        let expected = text.replace("1 \\\r\n", &format!("1 \\\r\n    --hash=sha256:{one} \\\r\n"));
        assert_eq!(with_hashes(&text, &lock, &more), Ok(Some(expected)));
        let text = text.replace("via b", "via  b");
        assert_eq!(with_hashes(&text, &parse(&text, "requirements.txt"), &more), Err(Edited(5)));
    }
}
