//! The catalog that the resolver sees: the index client, the folders that requirements name, and the builds that
//! the user allowed. One catalog serves all components of a run.

use std::collections::HashMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use reana_index::Client;
use reana_manifest::{Extras, Files};
use reana_model::file::CoreMetadata;
use reana_model::metadata::{Grade, Metadata};
use reana_model::requirement::{Direct, parse_specifiers_mended};
use reana_model::requirements_file::fragment_value;
use reana_model::{
    DistFile, DistName, Listing, Origin, PackageName, Requirement, Sha256, Target, Version, Yanked,
};
use reana_resolver::{Catalog, CatalogError, DirectAnswer, MetadataAnswer, NamePolicy};

use super::git_address::GitAddress;
use super::local::Locals;
use super::repositories::{Folder, Repositories, RepositoryError};
use super::scout::{Kept, Scouts};
use crate::doors::disk::Project;
use crate::doors::python::{self, BuildError, BuiltMetadata};

/// The catalog of one run.
pub(crate) struct RunCatalog {
    client: Arc<Client>,
    scouts: Scouts,
    builds: Builds,
    /// Checkouts that stand for releases.
    pub(crate) locals: Arc<Locals>,
    repositories: Arc<Repositories>,
}

/// Which sdists may be built, with what.
pub(crate) struct Builds {
    /// The packages that the user named.
    pub(crate) allowed: NamePolicy,
    /// The value of PATH, to find a Python of the target's version in.
    pub(crate) path: OsString,
    /// Where build requirements come from; `None` leaves it to pip.
    pub(crate) index_url: Option<String>,
    /// What was built, by file name or address and Python: a build is slow, and several components may need the same.
    pub(crate) done: Mutex<HashMap<(String, Target), Built>>,
}

/// What a build gave, or why it gave nothing.
type Built = Result<Arc<Metadata>, String>;

/// Why a folder that is required can't be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FolderError {
    /// Its manifest can't be read.
    #[error("{0}")]
    Manifest(String),
    /// It is another package than the one asked for.
    #[error("{folder} holds {found}, not {wanted}")]
    OtherName {
        /// The folder.
        folder: String,
        /// What it holds.
        found: String,
        /// What was asked for.
        wanted: PackageName,
    },
    /// Its `#subdirectory=` leads outside.
    #[error("`{0}`: {1}")]
    Subdirectory(String, String),
    /// The manifest of a repository can't be read; a build may tell.
    #[error("{reason}")]
    NeedsBuild {
        /// The package.
        name: PackageName,
        /// What can't be read.
        reason: String,
    },
    /// A repository has no such folder.
    #[error("{0} has no folder `{1}`")]
    NoFolder(String, String),
}

impl RunCatalog {
    /// A catalog over a client. `kept` is what old locks pin, as a hint for fetching ahead.
    pub(crate) fn new(client: Client, builds: Builds, kept: Kept, repositories: Arc<Repositories>) -> Self {
        let client = Arc::new(client);
        Self {
            scouts: Scouts::new(Arc::clone(&client), kept),
            client,
            builds,
            locals: Arc::default(),
            repositories,
        }
    }

    /// The same with checkouts that stand for releases.
    pub(crate) fn with_locals(mut self, locals: Arc<Locals>) -> Self {
        self.locals = locals;
        self
    }

    /// The repository that an address names and the commit that was taken of it; `None` where it names none.
    pub(crate) fn pinned(&self, url: &str) -> Option<(GitAddress, String)> {
        is_repository(url).then(|| self.repositories.pinned(url)).flatten()
    }

    fn repository(
        &self,
        direct: &Direct,
        name: &PackageName,
        target: &Target,
    ) -> Result<Arc<Metadata>, CatalogError> {
        let shared = |error: Arc<RepositoryError>| Box::new(error) as CatalogError;
        let (address, checkout) = self.repositories.checkout(&direct.url).map_err(shared)?;
        let shown = address.at(checkout.commit.get(..12).unwrap_or_default());
        let shown = shown.split('#').next().unwrap_or_default();
        let folder = Folder { checkout: &checkout, folder: &address.subdirectory };
        if !folder.is_there() {
            return Err(Box::new(FolderError::NoFolder(shown.to_owned(), address.subdirectory.clone())));
        }
        let below = if address.subdirectory.is_empty() {
            String::new()
        } else {
            format!("/{}", address.subdirectory)
        };
        let reason = match project_metadata(&folder, &format!("{shown}{below}"), target) {
            Ok(metadata) => return Ok(Arc::new(metadata)),
            Err(error) => error.to_string(),
        };
        if !self.builds.allowed.applies(name) {
            return Err(Box::new(FolderError::NeedsBuild { name: name.clone(), reason }));
        }
        self.build_once(&address.at(&checkout.commit), target, || {
            let room = tempfile::tempdir().map_err(BuildError::Io)?;
            checkout.write_below(room.path())?;
            self.build_at(&room.path().join(&address.subdirectory), &format!("{shown}{below}"), target)
        })
    }

    /// The client, for hashes and progress.
    pub(crate) fn client(&self) -> &Client {
        &self.client
    }

    fn build(&self, file: &DistFile, target: &Target) -> Result<Arc<Metadata>, CatalogError> {
        self.build_once(file.name.file(), target, || self.build_now(file, target))
    }

    fn build_once(
        &self,
        what: &str,
        target: &Target,
        build: impl FnOnce() -> Result<Arc<Metadata>, CatalogError>,
    ) -> Result<Arc<Metadata>, CatalogError> {
        let key = (what.to_owned(), *target);
        // Held during the build: a second component that needs the same waits for it.
        let mut done = self.builds.done.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = done.get(&key) {
            return known.clone().map_err(CatalogError::from);
        }
        let built = build().map_err(|error| error.to_string());
        done.insert(key, built.clone());
        built.map_err(CatalogError::from)
    }

    fn build_now(&self, file: &DistFile, target: &Target) -> Result<Arc<Metadata>, CatalogError> {
        let bytes = self.client.download(file)?;
        let folder = tempfile::tempdir().map_err(BuildError::Io)?;
        let archive = folder.path().join(file.name.file());
        crate::doors::disk::write(&archive, &bytes)?;
        self.build_at(&archive, file.name.file(), target)
    }

    /// An archive that was named by its address, or the project in a folder of it.
    fn built_archive(
        &self,
        url: &str,
        name: &PackageName,
        target: &Target,
    ) -> Result<DirectAnswer, CatalogError> {
        let (address, _) = url.split_once('#').unwrap_or((url, ""));
        let file = address.split('?').next().and_then(|path| path.rsplit('/').next()).unwrap_or_default();
        let given = fragment_value(url, "sha256").map(str::parse::<Sha256>).transpose()?;
        let bytes = self.client.download(&DistFile {
            name: DistName::Sdist { file: file.to_owned(), version: Version::new([0]) },
            url: address.to_owned(),
            sha256: given,
            size: None,
            requires_python: None,
            yanked: Yanked::No,
            uploaded: None,
            core_metadata: CoreMetadata::Absent,
        })?;
        let sha256 = Sha256::of(&bytes);
        let folder = reana_index::subdirectory(url)?;
        let metadata = self.build_once(&format!("{sha256}/{folder}"), target, || {
            let room = tempfile::tempdir().map_err(BuildError::Io)?;
            let archive = room.path().join(file);
            crate::doors::disk::write_new(&archive, &bytes)?;
            let place = match folder.as_str() {
                "" => archive,
                folder => format!("file://{}#subdirectory={folder}", archive.display()).into(),
            };
            self.build_at(&place, file, target)
        })?;
        if metadata.name != *name {
            let (folder, found) = (reana_lockfile::without_credentials(url), metadata.name.to_string());
            return Err(Box::new(FolderError::OtherName { folder, found, wanted: name.clone() }));
        }
        Ok(DirectAnswer { version: metadata.version.clone(), metadata, sha256: Some(sha256) })
    }

    fn build_at(
        &self,
        place: &std::path::Path,
        shown: &str,
        target: &Target,
    ) -> Result<Arc<Metadata>, CatalogError> {
        let index = self.builds.index_url.as_deref();
        let built = python::build_metadata(target.python, &self.builds.path, place, index)?;
        Ok(Arc::new(metadata_of(&built, shown)?))
    }
}

/// Turns what a build said into metadata.
fn metadata_of(built: &BuiltMetadata, file: &str) -> Result<Metadata, CatalogError> {
    let origin = Origin::whole(file);
    let requires: Result<Vec<Requirement>, _> =
        built.requires_dist.iter().map(|text| Requirement::parse_mended(text, origin.clone())).collect();
    Ok(Metadata {
        name: PackageName::new(built.name.clone())?,
        version: built.version.parse::<Version>()?,
        requires_dist: requires?,
        requires_python: built.requires_python.as_deref().map(parse_specifiers_mended).transpose()?,
        provides_extra: built.provides_extra.iter().filter_map(|extra| extra.parse().ok()).collect(),
        grade: Grade::Built,
    })
}

impl Catalog for RunCatalog {
    fn listing(&self, name: &PackageName) -> Result<Arc<dyn Listing>, CatalogError> {
        if let Some(local) = self.locals.listing(name) {
            return Ok(local);
        }
        Ok(self.client.listing(name)?)
    }

    fn metadata(
        &self,
        name: &PackageName,
        file: &DistFile,
        target: &Target,
    ) -> Result<MetadataAnswer, CatalogError> {
        if let Some(local) = self.locals.metadata(name, target) {
            return Ok(MetadataAnswer::Known(local?));
        }
        Ok(match self.client.metadata(name, file, target)? {
            reana_index::MetadataAnswer::Known(metadata) => MetadataAnswer::Known(metadata),
            reana_index::MetadataAnswer::Invalid { reason } => MetadataAnswer::Invalid { reason },
            reana_index::MetadataAnswer::Unreadable { reason } if !self.builds.allowed.applies(name) => {
                MetadataAnswer::Unreadable { reason }
            }
            reana_index::MetadataAnswer::Unreadable { .. } => {
                MetadataAnswer::Known(self.build(file, target)?)
            }
        })
    }

    fn direct(
        &self,
        direct: &Direct,
        name: &PackageName,
        target: &Target,
    ) -> Result<DirectAnswer, CatalogError> {
        let local = if is_repository(&direct.url) {
            Some(self.repository(direct, name, target)?)
        } else {
            let folder = folder_of(&direct.url).transpose()?;
            folder.map(|folder| folder_metadata(&folder, &direct.given, target).map(Arc::new)).transpose()?
        };
        if let Some(metadata) = local {
            if metadata.name != *name {
                let found = metadata.name.to_string();
                let (folder, wanted) = (reana_lockfile::without_credentials(&direct.given), name.clone());
                return Err(Box::new(FolderError::OtherName { folder, found, wanted }));
            }
            return Ok(DirectAnswer { version: metadata.version.clone(), metadata, sha256: None });
        }
        let answer = match self.client.direct(&direct.url, Some(name), target) {
            Err(error)
                if matches!(*error, reana_index::Error::Unreadable { .. })
                    && self.builds.allowed.applies(name) =>
            {
                return self.built_archive(&direct.url, name, target);
            }
            answer => answer?,
        };
        Ok(DirectAnswer { version: answer.version, metadata: answer.metadata, sha256: answer.sha256 })
    }

    fn expect(&self, names: &[PackageName]) {
        self.client.expect(names);
    }

    fn expect_requirement(&self, requirement: &Requirement, target: &Target) {
        self.scouts.follow(requirement, target);
    }
}

/// Whether an address is that of a version-control repository (`git+https:`).
pub(crate) fn is_repository(url: &str) -> bool {
    url.split_once(':').is_some_and(|(scheme, _)| scheme.contains('+') || scheme == "git" || scheme == "ssh")
}

/// The folder of the project that a `file:` address leads to, if it leads to a folder: that of its `#subdirectory=`,
/// where it has one.
pub(crate) fn folder_of(url: &str) -> Option<Result<PathBuf, FolderError>> {
    let parsed = url::Url::parse(url).ok().filter(|parsed| parsed.scheme() == "file")?;
    let path = parsed.to_file_path().ok()?;
    if !matches!(crate::doors::disk::entry(&path), crate::doors::disk::Entry::Folder) {
        return None;
    }
    let below = reana_index::subdirectory(url);
    Some(match below {
        Ok(below) if below.is_empty() => Ok(path),
        Ok(below) => Ok(path.join(below)),
        Err(reason) => Err(FolderError::Subdirectory(path.display().to_string(), reason)),
    })
}

/// What the project in a folder says of itself.
pub(crate) fn folder_metadata(
    folder: &std::path::Path,
    given: &str,
    target: &Target,
) -> Result<Metadata, CatalogError> {
    project_metadata(&Project::open(folder)?, given, target)
}

fn project_metadata(files: &dyn Files, given: &str, target: &Target) -> Result<Metadata, CatalogError> {
    let fail = |problem: String| Box::new(FolderError::Manifest(problem)) as CatalogError;
    let declared =
        reana_manifest::read_project(files, given, target).map_err(|error| fail(error.to_string()))?;
    let name = declared.name.clone().map_err(|unknown| fail(unknown.to_string()))?;
    let name = name.ok_or_else(|| fail(format!("{given}: the manifest names no package")))?;
    let version = declared.version.clone().ok().flatten();
    // A version that the manifest leaves to a tool decides nothing here: there is one candidate alone.
    let version = version.and_then(|text| text.value.parse().ok()).unwrap_or_else(|| Version::new([0_u64]));
    let requires = declared.requirements(&Extras::None);
    let mut requires_dist = requires.map_err(|problems| fail(joined(&problems)))?;
    let extras = declared.extras_require.clone().map_err(|unknown| fail(unknown.to_string()))?;
    let mut provides_extra = Vec::new();
    for key in extras.keys() {
        let bare = key.split(':').next().unwrap_or_default().trim();
        let Ok(extra) = bare.parse::<reana_model::ExtraName>() else { continue };
        let with = declared.requirements(&Extras::Named(vec![extra.clone()]));
        let with = with.map_err(|problems| fail(joined(&problems)))?;
        let only = pep508_rs::MarkerTree::expression(pep508_rs::MarkerExpression::Extra {
            operator: pep508_rs::ExtraOperator::Equal,
            name: pep508_rs::MarkerValueExtra::Extra(extra.clone()),
        });
        for mut requirement in with {
            if !requires_dist.contains(&requirement) {
                requirement.marker.and(only.clone());
                requires_dist.push(requirement);
            }
        }
        provides_extra.push(extra);
    }
    let requires_python = declared.python_requires.clone().ok().flatten();
    let requires_python = requires_python.map(|text| parse_specifiers_mended(&text.value)).transpose()?;
    let name = PackageName::new(name.value)?;
    Ok(Metadata { name, version, requires_dist, requires_python, provides_extra, grade: Grade::Evaluated })
}

fn joined<T: std::fmt::Display>(problems: &[T]) -> String {
    problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}
