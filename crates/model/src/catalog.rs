//! What an index knows about one package: its versions, and the files of each.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::{DistFile, Version};

/// The versions of one package that a run may choose from, with their files.
///
/// What a run must not see (`--exclude-newer`, files whose names could not be read) is left out already.
/// Files are handed out per version, so that an implementation may read them lazily.
pub trait Listing: Send + Sync {
    /// All versions that have at least one file, ascending, each once.
    fn versions(&self) -> &[Version];

    /// The files of `versions()[index]`, in the index's order. Panics never: an `index` out of range gives none.
    fn files(&self, index: usize) -> &[Arc<DistFile>];

    /// Whether the index knows the package's name at all (it may know it and have no usable file).
    fn known(&self) -> bool;

    /// The files of a version, if it is listed.
    fn files_of(&self, version: &Version) -> &[Arc<DistFile>] {
        self.versions().binary_search(version).map_or(&[], |index| self.files(index))
    }
}

/// A listing held in memory: for tests, folders and small indexes.
#[derive(Clone, Debug, Default)]
pub struct MemoryListing {
    versions: Vec<Version>,
    files: Vec<Vec<Arc<DistFile>>>,
    known: bool,
}

impl MemoryListing {
    /// A name that no index knows.
    pub fn unknown() -> Self {
        Self::default()
    }

    /// A known name with these files, in their given order within a version.
    pub fn new(files: impl IntoIterator<Item = DistFile>) -> Self {
        let mut releases: BTreeMap<Version, Vec<Arc<DistFile>>> = BTreeMap::new();
        for file in files {
            releases.entry(file.name.version().clone()).or_default().push(Arc::new(file));
        }
        let (versions, files) = releases.into_iter().unzip();
        Self { versions, files, known: true }
    }
}

impl Listing for MemoryListing {
    fn versions(&self) -> &[Version] {
        &self.versions
    }

    fn files(&self, index: usize) -> &[Arc<DistFile>] {
        self.files.get(index).map_or(&[], Vec::as_slice)
    }

    fn known(&self) -> bool {
        self.known
    }
}
