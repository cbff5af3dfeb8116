//! Local checkouts that stand for releases (`--with-local`): each is the only candidate of its name, as if it were
//! on the index.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use reana_model::file::CoreMetadata;
use reana_model::metadata::Metadata;
use reana_model::{DistFile, DistName, MemoryListing, PackageName, Target, Version, Yanked};
use reana_resolver::{CatalogError, MergedPin, Preference, SolveError};

use super::catalog::folder_metadata;
use crate::doors::disk::{DiskError, Project};

/// The checkouts by their packages.
#[derive(Debug, Default)]
pub(crate) struct Locals {
    all: BTreeMap<PackageName, Local>,
}

/// One checkout.
#[derive(Debug)]
struct Local {
    /// The folder as the user gave it.
    given: String,
    folder: PathBuf,
    file: DistFile,
}

/// Why a checkout can't stand for a release.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LocalError {
    /// It can't be read.
    #[error("--with-local: {0}")]
    Disk(#[from] DiskError),
    /// What it declares can't be known.
    #[error("--with-local {given}: {why}")]
    Manifest {
        /// The folder.
        given: String,
        /// What is not known, and where.
        why: String,
    },
    /// Two folders hold the same package.
    #[error("--with-local: {first} and {second} both hold {name}")]
    Twice {
        /// The package.
        name: PackageName,
        /// The folder that was given first.
        first: String,
        /// The other.
        second: String,
    },
    /// Nothing requires what it holds.
    #[error("--with-local {given}: nothing requires {name}")]
    Unused {
        /// The folder.
        given: String,
        /// The package.
        name: PackageName,
    },
}

impl Locals {
    /// Reads the checkouts in these folders, for a target.
    ///
    /// # Errors
    /// Where one is none, or doesn't say its name, its version and what it requires.
    pub(crate) fn read(folders: &[String], cwd: &Path, target: &Target) -> Result<Self, LocalError> {
        let mut all: BTreeMap<PackageName, Local> = BTreeMap::new();
        for given in folders {
            let fail = |why: String| LocalError::Manifest { given: given.clone(), why };
            let folder = cwd.join(given);
            let version = version(&folder, given, target)?;
            let metadata =
                folder_metadata(&folder, given, target).map_err(|error| fail(error.to_string()))?;
            let name = metadata.name;
            let stem = name.to_string().replace('-', "_");
            let file = DistName::parse(&format!("{stem}-{version}-py3-none-any.whl"), &name)
                .map_err(|error| fail(error.to_string()))?;
            let file = DistFile {
                name: file,
                url: String::new(),
                sha256: None,
                size: None,
                requires_python: metadata.requires_python,
                yanked: Yanked::No,
                uploaded: None,
                core_metadata: CoreMetadata::Absent,
            };
            let local = Local { given: given.clone(), folder, file };
            if let Some(first) = all.insert(name.clone(), local) {
                return Err(LocalError::Twice { name, first: first.given, second: given.clone() });
            }
        }
        Ok(Self { all })
    }

    /// What the index would say of a package, if it is one of these.
    pub(crate) fn listing(&self, name: &PackageName) -> Option<Arc<MemoryListing>> {
        let local = self.all.get(name)?;
        Some(Arc::new(MemoryListing::new([local.file.clone()])))
    }

    /// What a package says of itself, if it is one of these.
    pub(crate) fn metadata(
        &self,
        name: &PackageName,
        target: &Target,
    ) -> Option<Result<Arc<Metadata>, CatalogError>> {
        let local = self.all.get(name)?;
        let read = folder_metadata(&local.folder, &local.given, target);
        let version = local.file.name.version().clone();
        Some(read.map(|metadata| Arc::new(Metadata { version, ..metadata })))
    }

    /// Takes out what old locks say of these packages: they have one version alone.
    pub(crate) fn forget(&self, preferences: &mut Vec<Preference>) {
        preferences.retain(|preference| !self.all.contains_key(&preference.name));
    }

    /// Takes out the files that stand for checkouts, which have no hash. Tells what lines of the lock they are, for its
    /// head; none where the lock has none of them.
    pub(crate) fn mark(&self, merged: &mut [MergedPin]) -> Vec<String> {
        let mut notes = Vec::new();
        for pin in merged.iter_mut().filter(|pin| pin.direct.is_none()) {
            let Some(local) = self.all.get(&pin.name) else { continue };
            pin.files.clear();
            pin.target_files.clear();
            notes.push(format!(
                "{}=={} is a local checkout, not released: {}",
                pin.name, pin.version, local.given
            ));
        }
        notes
    }

    /// What a contradiction leaves unsaid where one of these takes part: that no release of it counts.
    pub(crate) fn hints(&self, error: &SolveError) -> Vec<String> {
        let SolveError::NoSolution(explanation) = error else { return Vec::new() };
        let takes_part = |name: &PackageName| {
            let of_index = format!("the index has {name} ");
            *name == explanation.clash || explanation.lines.iter().any(|line| line.starts_with(&of_index))
        };
        let taking_part = self.all.iter().filter(|(name, _)| takes_part(name));
        let hint = |(name, local): (&PackageName, &Local)| {
            let (given, version) = (&local.given, local.file.name.version());
            format!(
                "`--with-local {given}` takes {name} {version} alone, whatever the index has: is that checkout up to date?"
            )
        };
        taking_part.map(hint).collect()
    }

    /// Every checkout must be required: these names are.
    pub(crate) fn check_used<'p>(
        &self,
        names: impl Iterator<Item = &'p PackageName>,
    ) -> Result<(), LocalError> {
        let mut unused: BTreeMap<&PackageName, &Local> = self.all.iter().collect();
        names.for_each(|name| {
            unused.remove(name);
        });
        match unused.into_iter().next() {
            None => Ok(()),
            Some((name, local)) => Err(LocalError::Unused { given: local.given.clone(), name: name.clone() }),
        }
    }
}

/// The version that a checkout's manifest says; one that is left to a tool stands for no release.
fn version(folder: &Path, given: &str, target: &Target) -> Result<Version, LocalError> {
    let fail = |why: String| LocalError::Manifest { given: given.to_owned(), why };
    let project = Project::open(folder)?;
    let declared =
        reana_manifest::read_project(&project, given, target).map_err(|error| fail(error.to_string()))?;
    let text = declared.version.map_err(|unknown| fail(unknown.to_string()))?;
    let text = text.ok_or_else(|| fail("the manifest doesn't say the version".to_owned()))?;
    text.value.parse().map_err(|error| fail(format!("{}: `{}`: {error}", text.origin, text.value)))
}
