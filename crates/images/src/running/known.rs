//! What a registry or the ledger knows of digests: which is an index, which manifests are in it, whose config it is.

use std::collections::BTreeMap;

use super::cluster::Platform;
use crate::Digest;

/// What a digest is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum DigestKind {
    /// A list of manifests, one for each platform.
    Index,
    /// One image: its config and layers.
    Manifest,
    /// An image's configuration.
    Config,
    /// An index or a manifest; nobody who was asked knows which.
    Unknown,
}

impl DigestKind {
    /// The word for it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Index => "index",
            Self::Manifest => "manifest",
            Self::Config => "config",
            Self::Unknown => "unknown",
        }
    }
}

/// A manifest of an index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Child {
    /// Its digest.
    pub digest: Digest,
    /// What it is for.
    pub platform: Option<Platform>,
}

/// Facts about digests. They never change: a digest names its content.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Known {
    children: BTreeMap<Digest, Vec<Child>>,
    /// An index may have an outer one; manifests, too.
    parents: BTreeMap<Digest, Vec<Digest>>,
    configs: BTreeMap<Digest, Option<Digest>>,
    manifests: BTreeMap<Digest, Vec<Digest>>,
}

impl Known {
    /// An index with its manifests.
    pub fn add_index(&mut self, index: Digest, children: Vec<Child>) {
        for child in &children {
            let parents = self.parents.entry(child.digest.clone()).or_default();
            if !parents.contains(&index) {
                parents.push(index.clone());
            }
            self.configs.entry(child.digest.clone()).or_default();
        }
        self.children.insert(index, children);
    }

    /// A manifest, with its config where that is known.
    pub fn add_manifest(&mut self, manifest: Digest, config: Option<Digest>) {
        if let Some(config) = &config {
            let manifests = self.manifests.entry(config.clone()).or_default();
            if !manifests.contains(&manifest) {
                manifests.push(manifest.clone());
            }
        }
        let slot = self.configs.entry(manifest).or_default();
        *slot = config.or(slot.take());
    }

    /// What a digest is of.
    #[must_use]
    pub fn kind(&self, digest: &Digest) -> DigestKind {
        if self.children.contains_key(digest) {
            DigestKind::Index
        } else if self.configs.contains_key(digest) {
            DigestKind::Manifest
        } else if self.manifests.contains_key(digest) {
            DigestKind::Config
        } else {
            DigestKind::Unknown
        }
    }

    /// The manifests of an index.
    #[must_use]
    pub fn children(&self, index: &Digest) -> Option<&[Child]> {
        self.children.get(index).map(Vec::as_slice)
    }

    /// The config of a manifest.
    #[must_use]
    pub fn config(&self, manifest: &Digest) -> Option<&Digest> {
        self.configs.get(manifest)?.as_ref()
    }

    /// The indexes that a manifest is in.
    #[must_use]
    pub fn parents(&self, manifest: &Digest) -> &[Digest] {
        self.parents.get(manifest).map(Vec::as_slice).unwrap_or_default()
    }

    /// The manifests with a config.
    #[must_use]
    pub fn manifests(&self, config: &Digest) -> &[Digest] {
        self.manifests.get(config).map(Vec::as_slice).unwrap_or_default()
    }
}
