//! Raising the minimum of a package in manifests: only the bytes of its bounds change.
//!
//! Each reader of a format finds the *slots* of a file: the texts that are requirements, with where each of
//! their bytes stands. A slot whose text names the package is taken apart and its bounds are raised. What the
//! manifest declares (as evaluated) must all be found among the slots; what is not was built by code, and is
//! refused with its line. *Right or refused, never wrong.*

mod cfg;
mod lex;
mod lines;
mod project;
mod python;
mod rules;
mod slot;
mod toml;

#[cfg(test)]
mod tests;

use std::ops::Range;
use std::str::FromStr as _;

use reana_model::{Origin, PackageName, Requirement, Version, VersionSpecifiers};

pub use project::{FileChange, Raise, raise_project};
use slot::{Notation, Slot};

use crate::poetry;

/// The kinds of files that are edited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// setup.py
    Python,
    /// setup.cfg
    Cfg,
    /// pyproject.toml
    Toml,
    /// requirements.in, and what it includes
    Lines,
}

impl Format {
    /// The format of a file, by its name.
    pub fn of(path: &str) -> Self {
        match path.rsplit('/').next().unwrap_or(path) {
            "setup.cfg" => Self::Cfg,
            "pyproject.toml" => Self::Toml,
            name if name.ends_with(".py") => Self::Python,
            _ => Self::Lines,
        }
    }
}

/// One requirement that changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// Where it stands.
    pub origin: Origin,
    /// The requirement before.
    pub before: String,
    /// The requirement after.
    pub after: String,
    /// The bytes of the file that change, and what they become; in the file's order.
    pub edits: Vec<(Range<usize>, String)>,
}

/// A requirement whose bound can't be raised safely.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{origin}: {kind}")]
pub struct Refusal {
    /// Where it stands.
    pub origin: Origin,
    /// Why not.
    pub kind: RefusalKind,
}

/// Why a bound can't be raised.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RefusalKind {
    /// The requirement excludes the very version.
    #[error("`{0}` excludes the version that is wanted")]
    Excluded(String),
    /// The requirement names a place instead of versions.
    #[error("it names a place, not versions, so there is no bound to raise")]
    Direct,
    /// The requirement is no literal text of the file.
    #[error("`{0}` is built by code, and can't be edited safely")]
    Built(String),
    /// The bound is written with escapes, or in parts.
    #[error("`{0}` is written with escapes or in parts inside of its bound, and can't be edited safely")]
    Escaped(String),
    /// A bare name stands more than once in its line, and only one of them may be the requirement.
    #[error("`{0}` stands more than once in this line, and may not be a requirement everywhere")]
    Ambiguous(String),
    /// The bound is not one of PEP 440.
    #[error("`{0}` is not understood as a bound (PEP 440)")]
    NotUnderstood(String),
    /// Poetry's `*` takes any version.
    #[error("`{text}` takes any version, so there is no bound to raise: write `>={to}`")]
    Any {
        /// The requirement.
        text: String,
        /// The version that is wanted.
        to: Version,
    },
    /// The bound is in poetry's notation, and of a kind that can't be raised.
    #[error("`{0}` can't be raised as it is: write it with `^`, `>=` or one exact version")]
    Poetry(String),
    /// What is wanted is a local version (`1.0+x`), which no bound may name.
    #[error("{0} is a local version, which no bound may name")]
    Local(Version),
    /// The file can't be read or understood, or its requirements can't be known.
    #[error("{0}")]
    Unreadable(String),
}

/// A requirement's text with its minimum raised; `None` where it is as high already.
///
/// # Errors
/// When the bound can't be raised.
pub fn raise_text(text: &str, to: &Version) -> Result<Option<String>, RefusalKind> {
    if to.is_local() {
        return Err(RefusalKind::Local(to.clone()));
    }
    let parts = lex::parts(text).ok_or_else(|| RefusalKind::NotUnderstood(text.to_owned()))?;
    let pieces = rules::raise(text, &parts, to)?;
    Ok((!pieces.is_empty()).then(|| replaced(text, &pieces)))
}

/// Raises a package's minimum at every occurrence in one file. `declared` are the requirements that the file is
/// known to declare: each must be found.
///
/// # Errors
/// All that can't be raised.
pub fn raise_file(
    format: Format,
    text: &str,
    shown: &str,
    declared: &[(u32, String)],
    raise: &Raise,
) -> Result<Vec<Change>, Vec<Refusal>> {
    let Raise { package, to } = raise;
    let refuse = |line: u32, kind: RefusalKind| Refusal { origin: Origin::new(shown, line), kind };
    if to.is_local() {
        return Err(vec![refuse(0, RefusalKind::Local(to.clone()))]);
    }
    let slots = match format {
        Format::Python => python::slots(text),
        Format::Cfg => cfg::slots(text),
        Format::Toml => toml::slots(text),
        Format::Lines => Ok(lines::slots(text)),
    };
    let slots = slots.map_err(|(line, why)| vec![refuse(line, RefusalKind::Unreadable(why))])?;
    let mut changes = Vec::new();
    let mut refusals = Vec::new();
    let is_about = |text: &str| lex::name_of(text).as_ref() == Some(package);
    for (line, value) in declared.iter().filter(|(_, value)| is_about(value)) {
        if !slots.iter().any(|slot| slot.is(*line, value)) {
            refusals.push(refuse(*line, RefusalKind::Built(value.clone())));
        }
    }
    for slot in slots.iter().filter(|slot| is_about(&slot.value)) {
        let is_declared = declared.iter().any(|(line, value)| slot.is(*line, value));
        match one(slot, is_declared, shown, raise) {
            Ok(change) => changes.extend(change),
            // What is refused as a whole is not refused again for its parts.
            Err(_) if refusals.iter().any(|known| known.origin.line == slot.line) => {}
            Err(kind) => refusals.push(refuse(slot.line, kind)),
        }
    }
    for slot in slots.iter().filter(|slot| !slot.is_sure && lex::is_bare(&slot.value, package)) {
        let is_declared = declared.iter().any(|(line, value)| slot.is(*line, value));
        let same = slots.iter().filter(|other| other.line == slot.line && other.value == slot.value).count();
        if is_declared && same > 1 {
            refusals.push(refuse(slot.line, RefusalKind::Ambiguous(slot.value.clone())));
        }
    }
    refusals.dedup();
    if refusals.is_empty() { Ok(changes) } else { Err(refusals) }
}

fn one(slot: &Slot, is_declared: bool, shown: &str, raise: &Raise) -> Result<Option<Change>, RefusalKind> {
    let Raise { package, to } = raise;
    let begins = lex::begins_as(&slot.value, package);
    if slot.is_partial {
        return if begins { Err(RefusalKind::Built(slot.value.clone())) } else { Ok(None) };
    }
    let is_poetry = slot.notation == Notation::Poetry;
    if is_poetry && slot.value.ends_with(" *") {
        return Err(RefusalKind::Any { text: slot.value.clone(), to: to.clone() });
    }
    let parts = match lex::parts_in(&slot.value, slot.notation) {
        Some(parts) if parts.name == *package => parts,
        _ if is_poetry => return Err(RefusalKind::Poetry(slot.value.clone())),
        _ if begins || slot.is_sure || is_declared => {
            return Err(RefusalKind::NotUnderstood(slot.value.clone()));
        }
        _ => return Ok(None),
    };
    // A bare name in a setup.py may be anything: the project's own name, a module's.
    if !slot.is_sure && !is_declared && !begins {
        return Ok(None);
    }
    let pieces = rules::raise(&slot.value, &parts, to).map_err(|kind| match kind {
        RefusalKind::NotUnderstood(_) if is_poetry => RefusalKind::Poetry(slot.value.clone()),
        kind => kind,
    })?;
    if pieces.is_empty() {
        return Ok(None);
    }
    let after = replaced(&slot.value, &pieces);
    match slot.notation {
        Notation::Standard => check(&slot.value, &after)?,
        Notation::Poetry => check_poetry(&slot.value, &after, &parts)?,
    }
    let mut edits = Vec::new();
    for (range, new) in pieces {
        let range = slot.place(&range).ok_or_else(|| RefusalKind::Escaped(slot.value.clone()))?;
        edits.push((range, new));
    }
    Ok(Some(Change { origin: Origin::new(shown, slot.line), before: slot.value.clone(), after, edits }))
}

/// What is written must be read back as the same requirement, but for its versions.
fn check(before: &str, after: &str) -> Result<(), RefusalKind> {
    let read = |text: &str| Requirement::parse_mended(text, Origin::whole(""));
    let same = match (read(before), read(after)) {
        (Ok(before), Ok(after)) => {
            before.name == after.name && before.extras == after.extras && before.marker == after.marker
        }
        _ => false,
    };
    if same { Ok(()) } else { Err(RefusalKind::NotUnderstood(before.to_owned())) }
}

/// The same for bounds in poetry's notation.
fn check_poetry(before: &str, after: &str, parts: &lex::Parts) -> Result<(), RefusalKind> {
    let bounds = after.get(parts.head..).and_then(poetry::specifiers);
    let is_read = bounds.is_some_and(|bounds| VersionSpecifiers::from_str(&bounds).is_ok());
    if is_read { Ok(()) } else { Err(RefusalKind::Poetry(before.to_owned())) }
}

/// The text with pieces replaced, which stand in the text's order and don't overlap.
fn replaced(text: &str, pieces: &[(Range<usize>, String)]) -> String {
    let mut out = String::with_capacity(text.len() + 16);
    let mut at = 0;
    for (range, new) in pieces {
        out.push_str(text.get(at..range.start).unwrap_or_default());
        out.push_str(new);
        at = range.end;
    }
    out.push_str(text.get(at..).unwrap_or_default());
    out
}

/// The file's text with all changes made.
pub fn apply(text: &str, changes: &[Change]) -> String {
    let mut edits: Vec<(Range<usize>, String)> =
        changes.iter().flat_map(|change| change.edits.iter().cloned()).collect();
    edits.sort_by_key(|(range, _)| (range.start, range.end));
    // One literal may be found in two ways.
    edits.dedup();
    replaced(text, &edits)
}

/// Whether a text names the package anywhere, in any spelling: where what a file declares can't be known, it
/// may be about it.
fn mentions(text: &str, package: &PackageName) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    text.split(|c| !is_part(c))
        .any(|word| lex::name_of(word.trim_matches(['-', '_', '.'])).as_ref() == Some(package))
}
