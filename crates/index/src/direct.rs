//! Distributions that are named by their address instead of a version.

use std::sync::Arc;

use reana_model::file::CoreMetadata;
use reana_model::{DistFile, DistName, Grade, Metadata, PackageName, Sha256, Target, Version, Yanked};

use crate::engine::{Engine, blocking};
use crate::error::Error;
use crate::metadata::{MetadataAnswer, address_of};
use crate::wire::{fragment_value, last_segment, parse_core, percent_decoded};

/// A distribution that was named by its address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Direct {
    /// Its name.
    pub name: PackageName,
    /// Its version.
    pub version: Version,
    /// What it requires.
    pub metadata: Arc<Metadata>,
    /// Its sha256.
    pub sha256: Option<Sha256>,
}

impl Engine {
    /// The wheel or sdist at an address, which may carry `#sha256=` (checked) and `#egg=` (its name).
    pub(crate) async fn direct(
        self: Arc<Self>,
        text: String,
        name: Option<PackageName>,
        target: Target,
    ) -> Result<Direct, Error> {
        let mut url = address_of(&text)?;
        let fragment = percent_decoded(url.fragment().unwrap_or_default());
        url.set_fragment(None);
        let file_name = last_segment(url.path());
        let invalid = |reason: String| Error::Invalid { file: file_name.clone(), reason };
        if fragment_value(&fragment, "subdirectory").is_some() {
            let reason = "only archives with the project at their top are read".to_owned();
            return Err(Error::Unreadable { file: file_name, reason });
        }
        let egg = fragment_value(&fragment, "egg").and_then(|egg| egg.split('[').next());
        let egg = egg.and_then(|egg| PackageName::new(egg.to_owned()).ok());
        let Some(name) = name.or(egg).or_else(|| name_in(&file_name)) else {
            return Err(invalid("its name does not say which package it is".to_owned()));
        };
        let sha256 = match fragment_value(&fragment, "sha256") {
            Some(text) => Some(text.parse::<Sha256>().map_err(|error| invalid(error.to_string()))?),
            None => None,
        };
        let dist_name = match DistName::parse(&file_name, &name) {
            Ok(dist_name) => dist_name,
            // An archive of a repository, say: what is in it tells its version.
            Err(error) if file_name.ends_with(".whl") => return Err(invalid(error.to_string())),
            Err(_) => DistName::Sdist { file: file_name.clone(), version: Version::new([0]) },
        };
        let mut file = DistFile {
            name: dist_name,
            url: url.to_string(),
            sha256,
            size: None,
            requires_python: None,
            yanked: Yanked::No,
            uploaded: None,
            core_metadata: CoreMetadata::Absent,
        };
        if file.sha256.is_none() {
            file.sha256 = Some(self.sha256_of(&url, &file.url).await?);
        }
        let sha256 = file.sha256;
        let answer = if file.name.wheel().is_some() {
            self.direct_wheel(&name, &file).await?
        } else {
            self.clone().metadata(name, file, target).await?
        };
        match answer {
            MetadataAnswer::Known(metadata) => Ok(Direct {
                name: metadata.name.clone(),
                version: metadata.version.clone(),
                metadata,
                sha256,
            }),
            MetadataAnswer::Unreadable { reason } => Err(Error::Unreadable { file: file_name, reason }),
            MetadataAnswer::Invalid { reason } => Err(Error::Invalid { file: file_name, reason }),
        }
    }

    /// Read whole and checked: nobody but the address vouches for it.
    async fn direct_wheel(
        self: &Arc<Self>,
        name: &PackageName,
        file: &DistFile,
    ) -> Result<MetadataAnswer, Error> {
        let (bytes, _) = self.archive(&address_of(&file.url)?, file).await?;
        let (name, file) = (name.clone(), file.name.clone());
        blocking(move || {
            let text = match crate::archive::metadata_from_wheel(&bytes) {
                Ok(text) => text,
                Err(error) => return Ok(MetadataAnswer::Invalid { reason: error.to_string() }),
            };
            let fields = parse_core(&text);
            let metadata = fields
                .and_then(|fields| fields.to_metadata_of(&name, file.version(), file.file(), Grade::Wheel));
            Ok(match metadata {
                Ok(metadata) => MetadataAnswer::Known(Arc::new(metadata)),
                Err(error) => MetadataAnswer::Invalid { reason: error.to_string() },
            })
        })
        .await
    }
}

/// The package that a file's name starts with.
fn name_in(file: &str) -> Option<PackageName> {
    let mut ends = file.match_indices('-').map(|(at, _)| at);
    // A wheel's name has no dash in it; an sdist's may, and ends where a version begins.
    let end = if file.ends_with(".whl") {
        ends.next()?
    } else {
        ends.find(|at| file.as_bytes().get(at + 1).is_some_and(u8::is_ascii_digit))?
    };
    PackageName::new(file.get(..end)?.to_owned()).ok()
}
