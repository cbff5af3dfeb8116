//! What changed between two locks.

use std::collections::{BTreeMap, BTreeSet};

use reana_model::{PinSource, Sha256, Version, Via};
use similar::TextDiff;

use crate::{Lock, LockedPin, marker_text};

/// A change of one package.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The package's name, or the path or URL of one without a name.
    pub name: String,
    /// What changed.
    pub kind: ChangeKind,
}

/// What can change of a package. Only the weightiest is told: the version outweighs all else.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChangeKind {
    /// It was not there before.
    Added {
        /// The version, or the URL.
        version: String,
    },
    /// It is no longer there.
    Removed {
        /// The version, or the URL.
        version: String,
    },
    /// It has another version.
    Moved {
        /// The version or URL before.
        from: String,
        /// The version or URL after.
        to: String,
        /// How far.
        step: Step,
    },
    /// The version is the same, and the marker another one.
    Marker {
        /// The marker before; empty where there was none.
        from: String,
        /// The marker after.
        to: String,
    },
    /// The version is the same, and the extras are others.
    Extras {
        /// Those that it has now besides, sorted.
        added: Vec<String>,
        /// Those that it has no longer, sorted.
        removed: Vec<String>,
    },
    /// Only the hashes changed (and the annotation, perhaps).
    HashesOnly {
        /// How many hashes are new.
        added: usize,
        /// How many are gone.
        removed: usize,
    },
    /// Only the annotation changed.
    Annotation,
}

/// How far apart two versions are: the first part that differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Step {
    /// The first number, or the epoch.
    Major,
    /// The second number.
    Minor,
    /// A number after that.
    Patch,
    /// What follows the numbers (pre-release, post-release, local version), or a URL.
    Other,
}

impl Step {
    /// The step between two versions.
    pub fn between(from: &Version, to: &Version) -> Self {
        let part = |version: &Version, at: usize| version.release().get(at).copied().unwrap_or_default();
        let length = from.release().len().max(to.release().len());
        if from.epoch() != to.epoch() || part(from, 0) != part(to, 0) {
            Self::Major
        } else if part(from, 1) != part(to, 1) {
            Self::Minor
        } else if (2..length).any(|at| part(from, at) != part(to, at)) {
            Self::Patch
        } else {
            Self::Other
        }
    }
}

struct Entry<'l> {
    version: Option<&'l Version>,
    shown: String,
    marker: String,
    extras: Vec<String>,
    hashes: &'l BTreeSet<Sha256>,
    via: &'l BTreeSet<Via>,
}

/// What changed from `old` to `new`, by name.
pub fn diff(old: &Lock, new: &Lock) -> Vec<Change> {
    let mut names: BTreeMap<String, (Vec<Entry<'_>>, Vec<Entry<'_>>)> = BTreeMap::new();
    for (name, entry) in entries(old) {
        names.entry(name).or_default().0.push(entry);
    }
    for (name, entry) in entries(new) {
        names.entry(name).or_default().1.push(entry);
    }
    let mut changes = Vec::new();
    for (name, (old, new)) in names {
        let kinds = pair(old, new).into_iter().filter_map(|pair| match pair {
            (Some(old), Some(new)) => changed(&old, &new),
            (Some(old), None) => Some(ChangeKind::Removed { version: old.shown }),
            (None, Some(new)) => Some(ChangeKind::Added { version: new.shown }),
            (None, None) => None,
        });
        changes.extend(kinds.map(|kind| Change { name: name.clone(), kind }));
    }
    changes
}

fn entries(lock: &Lock) -> impl Iterator<Item = (String, Entry<'_>)> {
    let named = lock.pins.iter().map(|pin| (pin.name.to_string(), entry(pin)));
    named.chain(lock.unnamed.iter().map(|pin| {
        let entry = Entry {
            version: None,
            shown: pin.text.clone(),
            marker: marker_text(&pin.marker).unwrap_or_default(),
            extras: Vec::new(),
            hashes: &pin.hashes,
            via: &pin.via,
        };
        (pin.text.clone(), entry)
    }))
}

fn entry(pin: &LockedPin) -> Entry<'_> {
    let shown = match (&pin.source, &pin.version) {
        (PinSource::Url(text) | PinSource::Verbatim(text), _) => text.clone(),
        (_, Some(version)) => version.to_string(),
        (_, None) => String::new(),
    };
    Entry {
        version: pin.version.as_ref(),
        shown,
        marker: marker_text(&pin.marker).unwrap_or_default(),
        extras: pin.extras.iter().map(ToString::to_string).collect(),
        hashes: &pin.hashes,
        via: &pin.via,
    }
}

/// Pairs what has the same marker, then the rest in order.
fn pair<'l>(old: Vec<Entry<'l>>, new: Vec<Entry<'l>>) -> Vec<(Option<Entry<'l>>, Option<Entry<'l>>)> {
    let mut by_marker: BTreeMap<String, Vec<Entry<'l>>> = BTreeMap::new();
    for entry in new.into_iter().rev() {
        by_marker.entry(entry.marker.clone()).or_default().push(entry);
    }
    let mut pairs = Vec::new();
    let mut unpaired = Vec::new();
    for entry in old {
        match by_marker.get_mut(&entry.marker).and_then(Vec::pop) {
            Some(other) => pairs.push((Some(entry), Some(other))),
            None => unpaired.push(entry),
        }
    }
    let mut rest = by_marker.into_values().flat_map(|entries| entries.into_iter().rev());
    pairs.extend(unpaired.into_iter().map(|entry| (Some(entry), rest.next())));
    pairs.extend(rest.map(|entry| (None, Some(entry))));
    pairs
}

fn changed(old: &Entry<'_>, new: &Entry<'_>) -> Option<ChangeKind> {
    if old.version != new.version || (old.version.is_none() && old.shown != new.shown) {
        let step = match (old.version, new.version) {
            (Some(old), Some(new)) => Step::between(old, new),
            _ => Step::Other,
        };
        return Some(ChangeKind::Moved { from: old.shown.clone(), to: new.shown.clone(), step });
    }
    if old.marker != new.marker {
        return Some(ChangeKind::Marker { from: old.marker.clone(), to: new.marker.clone() });
    }
    if old.extras != new.extras {
        let beyond = |these: &[String], those: &[String]| {
            these.iter().filter(|extra| !those.contains(extra)).cloned().collect()
        };
        let (added, removed) = (beyond(&new.extras, &old.extras), beyond(&old.extras, &new.extras));
        return Some(ChangeKind::Extras { added, removed });
    }
    if old.hashes != new.hashes {
        let added = new.hashes.difference(old.hashes).count();
        let removed = old.hashes.difference(new.hashes).count();
        return Some(ChangeKind::HashesOnly { added, removed });
    }
    (old.via != new.via).then_some(ChangeKind::Annotation)
}

/// The difference of two texts in unified form, with three lines around each change; empty if there is none.
pub fn unified(old: &str, new: &str, old_name: &str, new_name: &str) -> String {
    if old == new {
        return String::new();
    }
    let diff = TextDiff::from_lines(old, new);
    diff.unified_diff().context_radius(3).header(old_name, new_name).to_string()
}
