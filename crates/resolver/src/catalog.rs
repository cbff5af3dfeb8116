//! What the solver may ask about the world. The command answers from indexes; tests from memory.

use std::collections::BTreeMap;
use std::sync::Arc;

use reana_model::requirement::Direct;
use reana_model::{
    DistFile, Listing, MemoryListing, Metadata, PackageName, Requirement, Sha256, Target, Version,
};

/// Why a question had no answer: a network that failed, an index that answered nonsense.
pub type CatalogError = Box<dyn std::error::Error + Send + Sync>;

/// What is known of one file's requirements.
#[derive(Clone, Debug)]
pub enum MetadataAnswer {
    /// They are known.
    Known(Arc<Metadata>),
    /// They can't be known without building the file (DESIGN decision 5). The solver stops where it would
    /// choose such a version, unless [`Policy::skip_unreadable`](crate::Policy) names the package.
    Unreadable {
        /// Why, with its place: `setup.py:12: ...`.
        reason: String,
    },
    /// They are nonsense (a version that is none, another package's name). The file is passed over, with a note.
    Invalid {
        /// What is wrong with them.
        reason: String,
    },
}

/// What a URL or path turned out to be.
#[derive(Clone, Debug)]
pub struct DirectAnswer {
    /// Its version.
    pub version: Version,
    /// What it says of itself.
    pub metadata: Arc<Metadata>,
    /// sha256 of the archive; `None` for a folder or a repository.
    pub sha256: Option<Sha256>,
}

/// What the solver may choose from. Its calls may block; they are answered the same all through one solve.
pub trait Catalog: Send + Sync {
    /// The versions of a package. A name that no index knows is a listing whose `known()` is false, no error.
    fn listing(&self, name: &PackageName) -> Result<Arc<dyn Listing>, CatalogError>;

    /// What one listed file requires on a target.
    fn metadata(
        &self,
        name: &PackageName,
        file: &DistFile,
        target: &Target,
    ) -> Result<MetadataAnswer, CatalogError>;

    /// What a URL or path holds.
    fn direct(
        &self,
        direct: &Direct,
        name: &PackageName,
        target: &Target,
    ) -> Result<DirectAnswer, CatalogError>;

    /// These packages' listings will be asked for soon.
    fn expect(&self, _names: &[PackageName]) {}

    /// A version of this requirement's package that it accepts will likely be chosen soon, mostly the newest
    /// one: its metadata are worth fetching as soon as the listing is there. Asked on the solver's thread.
    fn expect_requirement(&self, _requirement: &Requirement, _target: &Target) {}
}

/// A catalog held in memory.
#[derive(Clone, Default)]
pub struct MemoryCatalog {
    listings: BTreeMap<PackageName, Arc<MemoryListing>>,
    metadata: BTreeMap<String, MetadataAnswer>,
    direct: BTreeMap<String, DirectAnswer>,
    failing: BTreeMap<PackageName, String>,
}

/// A question to a [`MemoryCatalog`] that it has no answer to.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MemoryCatalogError {
    /// The file's metadata were never given.
    #[error("the catalog has no metadata of {0}")]
    Metadata(String),
    /// The address was never given.
    #[error("the catalog has nothing at {0}")]
    Direct(String),
    /// The listing was set to fail.
    #[error("{0}")]
    Listing(String),
}

impl MemoryCatalog {
    /// Sets a package's files, with what each of them requires.
    pub fn insert(&mut self, name: PackageName, files: Vec<(DistFile, MetadataAnswer)>) {
        for (file, answer) in &files {
            self.metadata.insert(file.name.file().to_owned(), answer.clone());
        }
        let listing = MemoryListing::new(files.into_iter().map(|(file, _)| file));
        self.listings.insert(name, Arc::new(listing));
    }

    /// Sets what stands at an address.
    pub fn insert_direct(&mut self, url: String, answer: DirectAnswer) {
        self.direct.insert(url, answer);
    }

    /// Makes a package's listing fail.
    pub fn insert_failing(&mut self, name: PackageName, message: String) {
        self.failing.insert(name, message);
    }
}

impl Catalog for MemoryCatalog {
    fn listing(&self, name: &PackageName) -> Result<Arc<dyn Listing>, CatalogError> {
        if let Some(message) = self.failing.get(name) {
            return Err(Box::new(MemoryCatalogError::Listing(message.clone())));
        }
        Ok(match self.listings.get(name) {
            Some(listing) => Arc::clone(listing) as Arc<dyn Listing>,
            None => Arc::new(MemoryListing::unknown()),
        })
    }

    fn metadata(
        &self,
        _name: &PackageName,
        file: &DistFile,
        _target: &Target,
    ) -> Result<MetadataAnswer, CatalogError> {
        let file = file.name.file();
        let answer = self.metadata.get(file).cloned();
        answer.ok_or_else(|| Box::new(MemoryCatalogError::Metadata(file.to_owned())) as CatalogError)
    }

    fn direct(
        &self,
        direct: &Direct,
        _name: &PackageName,
        _target: &Target,
    ) -> Result<DirectAnswer, CatalogError> {
        let answer = self.direct.get(&direct.url).cloned();
        answer.ok_or_else(|| Box::new(MemoryCatalogError::Direct(direct.url.clone())) as CatalogError)
    }
}
