//! Distributions that are named by their address instead of a version.

use std::sync::Arc;

use reana_manifest::files::normal_path;
use reana_manifest::read_project;
use reana_model::file::CoreMetadata;
use reana_model::{DistFile, DistName, Grade, Metadata, PackageName, Sha256, Target, Version, Yanked};

use crate::archive::ArchiveError;
use crate::archive::unpack::{Project, unpack_folder};
use crate::engine::{Engine, blocking};
use crate::error::Error;
use crate::metadata::{MetadataAnswer, Then, address_of, answer_of, from_wheel, understand};
use crate::sdist::SdistAnswer;
use crate::stored;
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
    /// The wheel or sdist at an address, which may carry `#sha256=` (checked), `#egg=` (its name) and
    /// `#subdirectory=` (the project's folder).
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
        // A wheel is no project; pip passes over the folder.
        let folder = if is_wheel(&file_name) { Ok(String::new()) } else { subdirectory(&text) };
        let folder = folder.map_err(invalid)?;
        let egg = fragment_value(&fragment, "egg").and_then(|egg| egg.split('[').next());
        let name = name.or(egg.and_then(|egg| PackageName::new(egg.to_owned()).ok()));
        let sha256 = match fragment_value(&fragment, "sha256") {
            Some(text) => text.parse::<Sha256>().map_err(|error| invalid(error.to_string()))?,
            None => self.sha256_of(&url, url.as_str(), Then::Read).await?,
        };
        let dist_name = match name.clone().or_else(|| name_in(&file_name)).filter(|_| folder.is_empty()) {
            Some(package) => match DistName::parse(&file_name, &package) {
                Ok(dist_name) => Some((package, dist_name)),
                Err(error) if is_wheel(&file_name) => return Err(invalid(error.to_string())),
                // The archive of a repository, say: what is in it tells what it is.
                Err(_) => None,
            },
            // What is in a folder of it isn't what its name says.
            None if !folder.is_empty() => None,
            None if is_wheel(&file_name) => {
                return Err(invalid("its name does not say which package it is".to_owned()));
            }
            None => None,
        };
        let (package, dist_name) = match dist_name {
            Some((package, dist_name)) => (Some(package), dist_name),
            None => (name, DistName::Sdist { file: file_name.clone(), version: Version::new([0]) }),
        };
        let is_told = dist_name.version() != &Version::new([0]);
        let file = dist_file(dist_name, &url, sha256);
        let answer = match package {
            Some(package) if is_wheel(&file_name) => self.direct_wheel(&package, &file, sha256).await?,
            Some(package) if is_told => self.clone().metadata(package, file, target).await?,
            package => self.direct_archive(package, &file, sha256, folder, target).await?,
        };
        match answer {
            MetadataAnswer::Known(metadata) => Ok(Direct {
                name: metadata.name.clone(),
                version: metadata.version.clone(),
                metadata,
                sha256: Some(sha256),
            }),
            MetadataAnswer::Unreadable { reason } => Err(Error::Unreadable { file: file_name, reason }),
            MetadataAnswer::Invalid { reason } => Err(Error::Invalid { file: file_name, reason }),
        }
    }

    /// An archive whose name does not say what is in it, or not what is in that folder of it.
    async fn direct_archive(
        self: &Arc<Self>,
        package: Option<PackageName>,
        file: &DistFile,
        sha256: Sha256,
        folder: String,
        target: Target,
    ) -> Result<MetadataAnswer, Error> {
        let (engine, file_name) = (self.clone(), file.name.file().to_owned());
        let key = stored::archive_key(sha256, &folder);
        let shown = if folder.is_empty() { file_name.clone() } else { format!("{file_name}/{folder}") };
        let (kept_key, kept_shown) = (key.clone(), shown.clone());
        let kept = blocking(move || Ok(stored::read(&engine.cache, &kept_key, target, &kept_shown))).await?;
        let answer = match kept {
            Some(answer) => {
                self.notes().bodies.remove(&sha256);
                answer
            }
            None => {
                let (bytes, _) = self.archive(&address_of(&file.url)?, file).await?;
                let engine = self.clone();
                blocking(move || {
                    let answer = match unpack_folder(&bytes, &file_name, &folder) {
                        Ok(project) => read_told(project, &shown, target),
                        // No build finds what isn't there.
                        Err(error @ ArchiveError::Absent(_)) => {
                            SdistAnswer::Invalid { reason: error.to_string() }
                        }
                        Err(error) => SdistAnswer::Unreadable { reason: error.to_string() },
                    };
                    stored::write(&engine.cache, &key, target, &answer);
                    Ok(answer)
                })
                .await?
            }
        };
        Ok(match (answer_of(answer), package) {
            (MetadataAnswer::Known(metadata), Some(package)) if metadata.name != package => {
                let reason = format!("it is {}, not {package}", metadata.name);
                MetadataAnswer::Invalid { reason }
            }
            (answer, _) => answer,
        })
    }

    /// Read whole and checked: nobody but the address vouches for it.
    async fn direct_wheel(
        self: &Arc<Self>,
        name: &PackageName,
        file: &DistFile,
        sha256: Sha256,
    ) -> Result<MetadataAnswer, Error> {
        let engine = self.clone();
        let kept = blocking(move || Ok(engine.kept_metadata(sha256))).await?;
        if let Some(found) = kept.filter(|found| found.grade == Grade::Wheel) {
            self.notes().bodies.remove(&sha256);
            return Ok(understand(name, file.name.version(), file.name.file(), &found));
        }
        let (bytes, _) = self.archive(&address_of(&file.url)?, file).await?;
        let (engine, name, file) = (self.clone(), name.clone(), file.name.clone());
        blocking(move || {
            Ok(match from_wheel(&bytes) {
                Ok(found) => {
                    engine.keep_metadata(sha256, &found);
                    understand(&name, file.version(), file.file(), &found)
                }
                Err(reason) => MetadataAnswer::Invalid { reason },
            })
        })
        .await
    }
}

/// The project's folder in the archive (or folder) at an address, by its `#subdirectory=`; empty for the top. As pip
/// has it, nothing of it is percent-decoded.
///
/// # Errors
/// A reason, where it leads outside.
pub fn subdirectory(address: &str) -> Result<String, String> {
    let (_, fragment) = address.split_once('#').unwrap_or_default();
    let folder = fragment_value(fragment, "subdirectory").unwrap_or_default();
    let is_upwards = folder.split(['/', '\\']).any(|part| part == "..");
    let inside = normal_path(folder).filter(|_| !is_upwards);
    inside.ok_or_else(|| format!("`#subdirectory={folder}` does not name a folder inside of it"))
}

fn is_wheel(file: &str) -> bool {
    file.ends_with(".whl")
}

fn dist_file(name: DistName, url: &url::Url, sha256: Sha256) -> DistFile {
    DistFile {
        name,
        url: url.to_string(),
        sha256: Some(sha256),
        size: None,
        requires_python: None,
        yanked: Yanked::No,
        uploaded: None,
        core_metadata: CoreMetadata::Absent,
    }
}

/// Reads what the inside of an archive says that it is.
fn read_told(project: Project, shown: &str, target: Target) -> SdistAnswer {
    match told(&project, shown, target) {
        Ok((name, version)) => crate::sdist::read_unpacked(project, shown, &name, &version, &target),
        Err(reason) => SdistAnswer::Unreadable { reason },
    }
}

/// What the inside of an archive says that it is: its PKG-INFO, else its manifests.
fn told(project: &Project, file: &str, target: Target) -> Result<(PackageName, Version), String> {
    let fields = project.bytes("PKG-INFO").and_then(|text| parse_core(text).ok());
    let (name, version) = match fields {
        Some(fields) => (fields.name, fields.version),
        None => {
            let declared = read_project(project, file, &target).map_err(|problem| problem.to_string())?;
            let name = declared.name.map_err(|unknown| unknown.to_string())?;
            let version = declared.version.map_err(|unknown| unknown.to_string())?;
            match (name, version) {
                (Some(name), Some(version)) => (name.value, version.value),
                (None, _) => return Err("it does not say its name".to_owned()),
                (_, None) => return Err("it does not say its version".to_owned()),
            }
        }
    };
    let package = PackageName::new(name.clone()).map_err(|_| format!("`{name}` is not a package name"))?;
    let version = version.parse().map_err(|_| format!("`{version}` is not a version (PEP 440)"))?;
    Ok((package, version))
}

/// The package that a file's name starts with.
fn name_in(file: &str) -> Option<PackageName> {
    let mut ends = file.match_indices('-').map(|(at, _)| at);
    // A wheel's name has no dash in it; an sdist's may, and ends where a version begins.
    let end = if is_wheel(file) {
        ends.next()?
    } else {
        ends.find(|at| file.as_bytes().get(at + 1).is_some_and(u8::is_ascii_digit))?
    };
    PackageName::new(file.get(..end)?.to_owned()).ok()
}
