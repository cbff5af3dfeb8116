//! A pin: what a lock says of one package.

use std::collections::BTreeSet;

use crate::{ExtraName, MarkerTree, PackageName, Sha256, Version};

/// One package of a lock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pin {
    /// The package.
    pub name: PackageName,
    /// All extras that somebody asked for.
    pub extras: BTreeSet<ExtraName>,
    /// Its version.
    pub version: Version,
    /// Where it comes from.
    pub source: PinSource,
    /// When it is to be installed; true where always.
    pub marker: MarkerTree,
    /// The files that may be installed.
    pub hashes: BTreeSet<Sha256>,
    /// Who wants it.
    pub via: BTreeSet<Via>,
}

/// Where a pinned package comes from, which decides how its line is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PinSource {
    /// An index: `name==version`.
    Index,
    /// An index, asked for by arbitrary equality (PEP 440): `name===text`.
    Arbitrary(String),
    /// A URL or file, asked for by name: `name @ url`.
    Url(String),
    /// A path or URL without a name, or an editable one: written as it was given (`./x`, `-e ./x`).
    Verbatim(String),
}

/// Who wants a package, as an annotation says it (`# via ...`). Sorted as pip-compile sorts: as strings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Via {
    /// `-r FILE`: a line of a requirements file.
    Requirements(String),
    /// `-c FILE`: a constraints file that names the package.
    Constraints(String),
    /// `project (setup.py)`: a manifest.
    Project {
        /// The project's name; empty when it has none.
        name: String,
        /// The manifest's path, relative to the lock.
        file: String,
    },
    /// Another package.
    Package(PackageName),
}

impl std::fmt::Display for Via {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Requirements(file) => write!(f, "-r {file}"),
            Self::Constraints(file) => write!(f, "-c {file}"),
            Self::Project { name, file } if name.is_empty() => write!(f, "({file})"),
            Self::Project { name, file } => write!(f, "{name} ({file})"),
            Self::Package(name) => write!(f, "{name}"),
        }
    }
}

impl Ord for Via {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.to_string().cmp(&other.to_string())
    }
}

impl PartialOrd for Via {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
