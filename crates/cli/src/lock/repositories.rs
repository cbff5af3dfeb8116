//! Repositories that requirements name: which commit a name stands for, what was fetched of it, and its files.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use reana_manifest::Files;
use reana_manifest::files::{FileError, normal_path};
use reana_model::Sha256;

use super::git_address::{AddressError, GitAddress};
use crate::doors::disk;
use crate::doors::git::remote::{Objects, RemoteError, TreeFile};

/// The repositories of one run. Each name is looked up once, so that all locks of a fleet get the same commit.
pub(crate) struct Repositories {
    /// Where what was fetched is kept; `None` keeps it for this run alone.
    cache: Option<PathBuf>,
    offline: bool,
    /// The local repositories that the user's own manifests name.
    own: Mutex<BTreeSet<String>>,
    done: Mutex<HashMap<(String, Option<String>), Slot>>,
}

type Slot = Arc<OnceLock<Result<Arc<Checkout>, Arc<RepositoryError>>>>;

/// Why a repository can't be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RepositoryError {
    /// Its address.
    #[error("`{shown}` can't be used: {error}")]
    Address {
        /// The address without credentials.
        shown: String,
        /// What is wrong with it.
        error: AddressError,
    },
    /// A package of an index names a folder of this machine.
    #[error("`{0}` is on this machine, and no manifest of yours names it")]
    NotOwn(String),
    /// Without the network it is not to be had.
    #[error("{what} of {url} is not in the cache")]
    Offline {
        /// The revision.
        what: String,
        /// The repository.
        url: String,
    },
    /// It has no such revision.
    #[error("{url} has no branch, tag or commit `{revision}`")]
    NoRevision {
        /// The repository.
        url: String,
        /// What was asked for.
        revision: String,
    },
    /// It has no commit at all.
    #[error("{0} has no default branch with a commit")]
    Empty(String),
    /// git gave no answer.
    #[error("{url} could not be read: {error}")]
    Remote {
        /// The repository.
        url: String,
        /// Why.
        error: RemoteError,
    },
}

/// A commit that was fetched.
pub(crate) struct Checkout {
    /// Its hash, all 40 digits.
    pub(crate) commit: String,
    objects: Objects,
    files: BTreeMap<String, TreeFile>,
    _temporary: Option<tempfile::TempDir>,
}

impl Repositories {
    /// Those of a run.
    pub(crate) fn new(cache: Option<PathBuf>, offline: bool) -> Self {
        Self { cache, offline, own: Mutex::default(), done: Mutex::default() }
    }

    /// A requirement of the user's own names this repository: it may be one of this machine.
    pub(crate) fn allow(&self, url: &str) {
        if let Ok(address) = GitAddress::parse(url) {
            self.own.lock().unwrap_or_else(PoisonError::into_inner).insert(address.remote.url);
        }
    }

    /// The commit that an address names, fetched.
    pub(crate) fn checkout(&self, url: &str) -> Result<(GitAddress, Arc<Checkout>), Arc<RepositoryError>> {
        let address = GitAddress::parse(url).map_err(|error| {
            Arc::new(RepositoryError::Address { shown: reana_lockfile::without_credentials(url), error })
        })?;
        let key = (address.remote.url.clone(), address.revision.clone());
        let slot = {
            let mut done = self.done.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(done.entry(key).or_default())
        };
        let checkout = slot.get_or_init(|| self.fetch(&address).map(Arc::new).map_err(Arc::new)).clone()?;
        Ok((address, checkout))
    }

    /// The address of the commit that was fetched for an address; `None` where none was.
    pub(crate) fn pinned(&self, url: &str) -> Option<(GitAddress, String)> {
        let address = GitAddress::parse(url).ok()?;
        let key = (address.remote.url.clone(), address.revision.clone());
        let slot = self.done.lock().unwrap_or_else(PoisonError::into_inner).get(&key).cloned()?;
        let commit = slot.get()?.as_ref().ok()?.commit.clone();
        Some((address, commit))
    }

    fn fetch(&self, address: &GitAddress) -> Result<Checkout, RepositoryError> {
        let url = &address.remote.url;
        let is_own = || self.own.lock().unwrap_or_else(PoisonError::into_inner).contains(url);
        if address.remote.protocols == "file" && !is_own() {
            return Err(RepositoryError::NotOwn(url.clone()));
        }
        let kept = self.cache.as_ref().map(|cache| Kept::of(cache, url));
        if let Some(kept) = &kept
            && let Some(commit) = address.commit().or_else(|| kept.known(address).filter(|_| self.offline))
            && let Some(found) = kept.open(&commit)
        {
            return Ok(found);
        }
        if self.offline {
            let what = match &address.revision {
                None => "the default branch".to_owned(),
                Some(revision) => format!("`{revision}`"),
            };
            return Err(RepositoryError::Offline { what, url: url.clone() });
        }
        online(address, kept.as_ref())
    }
}

/// What is kept of one repository: a folder for each commit, and what names stood for.
struct Kept {
    folder: PathBuf,
}

impl Kept {
    fn of(cache: &Path, url: &str) -> Self {
        Self { folder: cache.join("git-1").join(short_hash(url)) }
    }

    fn name_file(&self, address: &GitAddress) -> PathBuf {
        self.folder.join(format!("{}.name", short_hash(address.revision.as_deref().unwrap_or("HEAD"))))
    }

    /// The commit that a name stood for when it was last asked.
    fn known(&self, address: &GitAddress) -> Option<String> {
        let text = disk::read_text(&self.name_file(address)).ok()?;
        Some(text.trim().to_owned()).filter(|text| super::git_address::is_full(text))
    }

    fn open(&self, commit: &str) -> Option<Checkout> {
        let objects = Objects::open(&self.folder.join(commit))?;
        match files(&objects, commit) {
            Ok(files) => Some(Checkout { commit: commit.to_owned(), objects, files, _temporary: None }),
            Err(_) => {
                // Damaged: fetched anew, if it may be.
                let _removed = objects.remove();
                None
            }
        }
    }
}

/// Looks a revision up and fetches its commit.
fn online(address: &GitAddress, kept: Option<&Kept>) -> Result<Checkout, RepositoryError> {
    let remote = &address.remote;
    let failed = |error: RemoteError| RepositoryError::Remote { url: remote.url.clone(), error };
    let room = |error: std::io::Error| failed(RemoteError::Room(error));
    let place = kept.filter(|kept| disk::make_folder(&kept.folder).is_ok());
    let temporary = match place {
        Some(kept) => tempfile::Builder::new().prefix("new-").tempdir_in(&kept.folder).map_err(room)?,
        None => tempfile::tempdir().map_err(room)?,
    };
    let mut objects = Objects::create(&temporary.path().join("objects")).map_err(failed)?;
    let wanted = match address.commit() {
        Some(commit) => Some(commit),
        None => named(address, &remote.names(&objects).map_err(failed)?)?,
    };
    let absent = || RepositoryError::NoRevision {
        url: remote.url.clone(),
        revision: address.revision.clone().unwrap_or_default(),
    };
    let by_itself = wanted.as_deref().map(|id| remote.fetch(&objects, id));
    match by_itself {
        Some(Ok(())) => {}
        // The start of a hash, or a server that gives none but what it lists.
        Some(Err(error)) if !error.is_absence() => return Err(failed(error)),
        Some(Err(_)) | None => remote.fetch_all(&objects).map_err(failed)?,
    }
    let hash = wanted.as_deref().or(address.revision.as_deref()).unwrap_or_default();
    let commit = objects.commit(hash).map_err(failed)?.ok_or_else(absent)?;
    let files = files(&objects, &commit).map_err(failed)?;
    if let Some(kept) = place {
        objects = objects.settle(&kept.folder.join(&commit));
        if address.commit().is_none() {
            // Only what is asked for without the network misses it.
            let _written = disk::write(&kept.name_file(address), commit.as_bytes());
        }
    }
    Ok(Checkout { commit, objects, files, _temporary: Some(temporary) })
}

/// What a name stands for: a branch before a tag, as pip has it. `None` where it can only be the start of a hash.
fn named(address: &GitAddress, names: &[(String, String)]) -> Result<Option<String>, RepositoryError> {
    let find = |wanted: &str| names.iter().find(|(name, _)| name == wanted).map(|(_, id)| id.clone());
    let url = || address.remote.url.clone();
    let Some(revision) = &address.revision else {
        return find("HEAD").map(Some).ok_or_else(|| RepositoryError::Empty(url()));
    };
    let found = find(&format!("refs/heads/{revision}"))
        .or_else(|| find(&format!("refs/tags/{revision}^{{}}")))
        .or_else(|| find(&format!("refs/tags/{revision}")))
        .or_else(|| find(revision).filter(|_| revision.starts_with("refs/") || revision == "HEAD"));
    let may_be_hash =
        (4..40).contains(&revision.len()) && revision.bytes().all(|byte| byte.is_ascii_hexdigit());
    match found {
        Some(id) => Ok(Some(id)),
        None if may_be_hash => Ok(None),
        None => Err(RepositoryError::NoRevision { url: url(), revision: revision.clone() }),
    }
}

fn files(objects: &Objects, commit: &str) -> Result<BTreeMap<String, TreeFile>, RemoteError> {
    Ok(objects.files(commit)?.into_iter().map(|file| (file.path.clone(), file)).collect())
}

fn short_hash(text: &str) -> String {
    Sha256::of(text.as_bytes()).to_string().chars().take(32).collect()
}

/// The files of a folder of a commit. Links are followed within the repository.
pub(crate) struct Folder<'c> {
    /// The commit.
    pub(crate) checkout: &'c Checkout,
    /// The folder; empty for the top.
    pub(crate) folder: &'c str,
}

/// The most links that are followed to one file.
const MOST_LINKS: usize = 8;

/// The most files that are written for a build, and the most bytes of them together.
const MOST_FILES: usize = 20_000;
const MOST_BYTES: u64 = 1 << 30;

/// Whether a path of a commit may be written: it leads nowhere else, and is nothing that git would heed.
fn stays_inside(path: &str) -> bool {
    let is_plain = |part: &str| !["", ".", ".."].contains(&part) && !part.eq_ignore_ascii_case(".git");
    path.split('/').all(is_plain) && !path.contains(['\\', '\0'])
}

impl Checkout {
    /// Writes its files below an empty folder, for a build. What is a link to a file becomes a copy of it, so that
    /// nothing leads outside; other links and submodules are left out.
    ///
    /// # Errors
    /// A reason, where a path would lead outside, or the whole is too large.
    pub(crate) fn write_below(&self, root: &Path) -> Result<(), String> {
        let sizes = self.files.values().map(|file| file.size);
        if self.files.len() > MOST_FILES || sizes.fold(0, u64::saturating_add) > MOST_BYTES {
            return Err(format!("it has more than {MOST_FILES} files, or {MOST_BYTES} bytes"));
        }
        let top = Folder { checkout: self, folder: "" };
        for path in self.files.keys() {
            if !stays_inside(path) {
                return Err(format!("its file `{path}` would be written outside, or be taken for git's own"));
            }
            let Ok(file) = top.find(path) else { continue };
            let bytes = self.objects.bytes(file).map_err(|error| format!("`{path}`: {error}"))?;
            disk::write_new(&root.join(path), &bytes).map_err(|error| error.to_string())?;
        }
        Ok(())
    }
}

impl Folder<'_> {
    /// Whether there is such a folder at all.
    pub(crate) fn is_there(&self) -> bool {
        self.folder.is_empty() || self.exists("")
    }

    fn path(&self, path: &str) -> Option<String> {
        let path = normal_path(path)?;
        Some(match (self.folder, path.as_str()) {
            ("", path) => path.to_owned(),
            (folder, "") => folder.to_owned(),
            (folder, path) => format!("{folder}/{path}"),
        })
    }

    fn bytes(&self, file: &TreeFile) -> Result<Vec<u8>, FileError> {
        if file.size > disk::READ_LIMIT {
            return Err(FileError::TooLarge { limit: disk::READ_LIMIT });
        }
        self.checkout.objects.bytes(file).map_err(|error| FileError::Unreadable(error.to_string()))
    }

    fn find(&self, path: &str) -> Result<&TreeFile, FileError> {
        let mut path = self.path(path).ok_or(FileError::Outside)?;
        for _ in 0..MOST_LINKS {
            let file = self.checkout.files.get(&path).ok_or(FileError::Absent)?;
            if !file.is_link {
                return Ok(file);
            }
            let to = String::from_utf8_lossy(&self.bytes(file)?).into_owned();
            let above = path.rsplit_once('/').map_or("", |(above, _)| above);
            let joined = if above.is_empty() || to.starts_with('/') { to } else { format!("{above}/{to}") };
            path = normal_path(&joined).ok_or(FileError::Outside)?;
        }
        Err(FileError::Absent)
    }
}

impl Files for Folder<'_> {
    fn read(&self, path: &str) -> Result<Vec<u8>, FileError> {
        self.find(path).and_then(|file| self.bytes(file))
    }

    fn exists(&self, path: &str) -> bool {
        let Some(full) = self.path(path) else { return false };
        let below = format!("{full}/");
        let is_folder = || {
            let next = self.checkout.files.range(below.clone()..).next();
            full.is_empty() || next.is_some_and(|(path, _)| path.starts_with(&below))
        };
        is_folder() || self.find(path).is_ok()
    }

    fn list(&self, folder: &str) -> Vec<String> {
        let Some(full) = self.path(folder) else { return Vec::new() };
        let below = if full.is_empty() { full } else { format!("{full}/") };
        let paths = self.checkout.files.range(below.clone()..).map(|(path, _)| path.as_str());
        let within = paths.map_while(|path| path.strip_prefix(below.as_str()));
        let names: BTreeSet<&str> = within.filter_map(|path| path.split('/').next()).collect();
        names.into_iter().map(str::to_owned).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::stays_inside;

    #[test]
    fn paths_that_may_be_written() {
        for path in ["setup.py", "a/b.py", "..a/b..", ".gitignore", "a/.github/x"] {
            assert!(stays_inside(path), "{path}");
        }
        for path in [
            "",
            "/etc/x",
            "../x",
            "a/../x",
            "a/..",
            "./x",
            "a//b",
            ".git/config",
            "a/.GIT/hooks/x",
            "a\\..\\x",
        ] {
            assert!(!stays_inside(path), "{path}");
        }
    }
}
