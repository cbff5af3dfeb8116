//! `pylock.toml` (PEP 751): the standard's lock, which names files by address, size and hash.
//!
//! What is written is a lock for one use: the extras and groups are decided when it is made, so that the keys
//! for choosing them when installing are left out. The header stands in comments, as in requirements.txt.

mod read;
mod write;

use reana_model::{MarkerTree, PackageName, Sha256, Version};

pub use read::parse;
pub use write::render;

use crate::HeaderOut;

/// What a `pylock.toml` is to say.
#[derive(Clone, Debug, Default)]
pub struct Pylock {
    /// The header, in comments.
    pub header: Option<HeaderOut>,
    /// Whether it was solved with local checkouts.
    pub preview: bool,
    /// The environments that it is for, one marker each.
    pub environments: Vec<MarkerTree>,
    /// The Pythons that it is for (PEP 440).
    pub requires_python: Option<String>,
    /// The packages, in any order.
    pub packages: Vec<Package>,
}

/// A package of a `pylock.toml`.
#[derive(Clone, Debug)]
pub struct Package {
    /// Its name.
    pub name: PackageName,
    /// Its version; none for a folder, whose version may change.
    pub version: Option<Version>,
    /// When it is to be installed.
    pub marker: MarkerTree,
    /// The Pythons that the version is for, where its files agree.
    pub requires_python: Option<String>,
    /// What it wants of the lock. The version stands there where the lock has several of that name.
    pub dependencies: Vec<(PackageName, Option<Version>)>,
    /// The index that the files are on.
    pub index: Option<String>,
    /// Where it comes from.
    pub source: Source,
}

/// Where a package comes from.
#[derive(Clone, Debug)]
pub enum Source {
    /// Files of an index or a folder: wheels, and at most one sdist.
    Files {
        /// The sdist.
        sdist: Option<File>,
        /// The wheels, in any order.
        wheels: Vec<File>,
    },
    /// An archive that was named by its address.
    Archive {
        /// Where.
        place: Place,
        /// Its hash.
        sha256: Sha256,
        /// The project's folder in it.
        subdirectory: Option<String>,
    },
    /// A folder.
    Directory {
        /// Relative to the lock.
        path: String,
        /// Whether it is to be installed in place.
        editable: bool,
        /// The project's folder in it.
        subdirectory: Option<String>,
    },
    /// A repository.
    Vcs {
        /// `git`, `hg`, `svn`, `bzr`.
        kind: String,
        /// Where.
        place: Place,
        /// What was asked for: a branch or a tag.
        requested_revision: Option<String>,
        /// What it stood for.
        commit: String,
        /// The project's folder in it.
        subdirectory: Option<String>,
    },
}

/// A wheel or an sdist.
#[derive(Clone, Debug)]
pub struct File {
    /// Its name.
    pub name: String,
    /// Where it is.
    pub place: Place,
    /// When it was uploaded, in UTC: an RFC 3339 date and time.
    pub uploaded: Option<String>,
    /// In bytes.
    pub size: Option<u64>,
    /// Its hash.
    pub sha256: Sha256,
}

/// Where something is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// An address. Credentials in it are not written.
    Url(String),
    /// A path, relative to the lock, with `/`.
    Path(String),
}

/// Whether a path's last part is a name that PEP 751 allows: `pylock.toml`, `pylock.NAME.toml`.
pub fn is_file_name(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    let Some(rest) = name.strip_prefix("pylock.").and_then(|rest| rest.strip_suffix("toml")) else {
        return false;
    };
    rest.is_empty()
        || rest.strip_suffix('.').is_some_and(|middle| !middle.is_empty() && !middle.contains('.'))
}

#[cfg(test)]
mod tests;
