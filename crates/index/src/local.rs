//! Folders as indexes, and `--find-links`. What stands on this machine is read anew each run.
#![expect(clippy::disallowed_methods, reason = "a door: local indexes and files are read here alone")]

use std::io::Read as _;
use std::path::{Path, PathBuf};

use reana_model::file::CoreMetadata;
use reana_model::{DistFile, DistName, PackageName, Sha256, Yanked};
use sha2::Digest as _;
use url::Url;

use crate::error::{Error, FetchError};
use crate::wire::{Format, Page, PageError};

/// Where something stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// On a server. Credentials are taken out.
    Web(Url),
    /// On this machine.
    Disk(PathBuf),
}

impl Place {
    /// Reads an address or a path, as users write them.
    pub(crate) fn parse(text: &str) -> Result<Self, Error> {
        let setup = |reason: String| Error::Setup { what: crate::auth::masked_text(text), reason };
        match Url::parse(text) {
            Ok(url) if matches!(url.scheme(), "http" | "https") => Ok(Self::Web(url)),
            Ok(url) if url.scheme() == "file" => url
                .to_file_path()
                .map(Self::Disk)
                .map_err(|()| setup("not a path on this machine".to_owned())),
            Ok(url) if text.contains("://") => {
                Err(setup(format!("`{}:` is neither http, https nor file", url.scheme())))
            }
            _ => std::path::absolute(text).map(Self::Disk).map_err(|error| setup(error.to_string())),
        }
    }
}

/// The path of a `file:` address.
pub(crate) fn path_of(url: &Url) -> Option<PathBuf> {
    if url.scheme() == "file" { url.to_file_path().ok() } else { None }
}

/// The page of a package in a folder in the simple layout; none where the folder does not know it.
pub(crate) fn read_page(root: &Path, package: &PackageName, limit: u64) -> Result<Option<Page>, Error> {
    if !root.is_dir() {
        return Err(error(root, FetchError::File { reason: "there is no such folder".to_owned() }));
    }
    let folder = root.join(package.to_string());
    if !folder.is_dir() {
        return Ok(None);
    }
    for (file, format) in [("index.json", Format::Json), ("index.html", Format::Html)] {
        let path = folder.join(file);
        if !path.is_file() {
            continue;
        }
        let body = read_file(&path, limit).map_err(|kind| error(&path, kind))?;
        let page = format.read(&body, &file_url(&path)?, package);
        return page.map(Some).map_err(|problem| error(&path, page_error(problem, "a file")));
    }
    let files = list_folder(&folder)?;
    Ok(Some(Page { files: files_of(&folder, &files, package)?, ..Page::default() }))
}

/// A page's error as a fetch's.
pub(crate) fn page_error(error: PageError, content_type: &str) -> FetchError {
    match error {
        PageError::ApiVersion(version) => FetchError::ApiVersion(version),
        PageError::NotAPage(reason) => {
            FetchError::NotAnIndexPage { content_type: content_type.to_owned(), reason }
        }
    }
}

/// The names of the files in a folder, sorted.
pub(crate) fn list_folder(folder: &Path) -> Result<Vec<String>, Error> {
    let failed = |problem: std::io::Error| error(folder, file_error(&problem));
    let mut names = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(failed)? {
        names.extend(entry.map_err(failed)?.file_name().into_string().ok());
    }
    names.sort_unstable();
    Ok(names)
}

/// The files of a package among those of a folder.
pub(crate) fn files_of(
    folder: &Path,
    names: &[String],
    package: &PackageName,
) -> Result<Vec<DistFile>, Error> {
    let mut files = Vec::new();
    for name in names.iter().filter_map(|name| DistName::parse(name, package).ok()) {
        let path = folder.join(name.file());
        let size = std::fs::metadata(&path).map(|it| it.len()).ok();
        let beside = folder.join(format!("{}.metadata", name.file()));
        let core_metadata = if beside.is_file() { CoreMetadata::Present } else { CoreMetadata::Absent };
        files.push(DistFile {
            name,
            url: file_url(&path)?.to_string(),
            sha256: None,
            size,
            requires_python: None,
            yanked: Yanked::No,
            uploaded: None,
            core_metadata,
        });
    }
    Ok(files)
}

/// A file, whole.
pub(crate) fn read_file(path: &Path, limit: u64) -> Result<Vec<u8>, FetchError> {
    let mut bytes = Vec::new();
    let file = std::fs::File::open(path).map_err(|error| file_error(&error))?;
    let read =
        file.take(limit.saturating_add(1)).read_to_end(&mut bytes).map_err(|error| file_error(&error))?;
    if read as u64 > limit { Err(FetchError::TooLarge { limit }) } else { Ok(bytes) }
}

/// The sha256 of a file.
pub(crate) fn hash_file(path: &Path) -> Result<Sha256, FetchError> {
    let mut file = std::fs::File::open(path).map_err(|error| file_error(&error))?;
    let mut hasher = sha2::Sha256::new();
    std::io::copy(&mut file, &mut hasher).map_err(|error| file_error(&error))?;
    Ok(Sha256(hasher.finalize().into()))
}

/// Whether a path is a folder.
pub(crate) fn is_folder(path: &Path) -> bool {
    path.is_dir()
}

/// The `file:` address of an absolute path.
pub(crate) fn file_url(path: &Path) -> Result<Url, Error> {
    Url::from_file_path(path)
        .map_err(|()| error(path, FetchError::Address { reason: "the path is not absolute".to_owned() }))
}

/// An error about a path.
pub(crate) fn error(path: &Path, kind: FetchError) -> Error {
    Error::Fetch { url: path.display().to_string(), kind }
}

fn file_error(error: &std::io::Error) -> FetchError {
    match error.kind() {
        std::io::ErrorKind::NotFound => FetchError::NotFound,
        _ => FetchError::File { reason: error.to_string() },
    }
}
