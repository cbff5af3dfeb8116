//! Judging pins by what the index has of their versions. Pure.

use std::collections::{BTreeMap, BTreeSet};

use reana_lockfile::LockedPin;
use reana_model::{Requirement, Sha256, Version};

use super::finding::Code;

/// What the index has of one version.
#[derive(Clone, Debug, Default)]
pub(super) struct Offered {
    /// All files, by hash.
    pub(super) files: BTreeMap<Sha256, String>,
    /// The hashes that a lock would get now.
    pub(super) wanted: BTreeSet<Sha256>,
    /// Why it was withdrawn, where all its files were; may be empty.
    pub(super) yanked: Option<String>,
}

/// What is found of one pin, and the hashes that it lacks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Judged {
    /// Each with what is said.
    pub(super) found: Vec<(Code, String)>,
    /// The hashes of files that were added.
    pub(super) fresh: BTreeSet<Sha256>,
}

/// Judges a pin. `consent` is the line that asks for exactly this version.
pub(super) fn judge(
    pin: &LockedPin,
    version: &Version,
    offered: &Offered,
    consent: Option<&Requirement>,
) -> Judged {
    let mut judged = Judged::default();
    let shown = format!("{} {version}", pin.name);
    if offered.files.is_empty() {
        judged.found.push((Code::NotOffered, format!("the index doesn't have {shown}")));
        return judged;
    }
    if let Some(reason) = &offered.yanked {
        let reason = if reason.is_empty() { String::new() } else { format!(" ({reason})") };
        judged.found.push(match consent {
            None => (Code::Yanked, format!("{shown} is yanked{reason}")),
            Some(line) => (
                Code::YankedConsented,
                format!("{shown} is yanked{reason}, and {} requires {line}", line.origin),
            ),
        });
    }
    if pin.hashes.is_empty() {
        return judged;
    }
    for hash in pin.hashes.iter().filter(|hash| !offered.files.contains_key(hash)) {
        judged
            .found
            .push((Code::HashUnknown, format!("sha256:{hash} is of no file that the index has of {shown}")));
    }
    judged.fresh = offered.wanted.difference(&pin.hashes).copied().collect();
    let added: Vec<&str> =
        judged.fresh.iter().map(|hash| offered.files.get(hash).map_or("a file", String::as_str)).collect();
    if !added.is_empty() {
        let are = if added.len() == 1 { "is" } else { "are" };
        judged
            .found
            .push((Code::FileAdded, format!("{} of {shown} {are} not in the lock", added.join(", "))));
    }
    judged
}
