//! The door to the file system: bounded reads, whole writes, and the view of one project.
#![expect(clippy::disallowed_methods, reason = "this is the door to the file system")]

use std::fs::{self, File, Metadata, Permissions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use reana_manifest::files::{FileError, Files, normal_path};

#[cfg(test)]
mod tests;

/// The most bytes that are read of one file.
pub(crate) const READ_LIMIT: u64 = 10 * 1024 * 1024;

/// The most names that are looked at in one folder.
const LIST_LIMIT: usize = 100_000;

/// Why the file system did not do what was asked.
#[derive(Debug, thiserror::Error)]
pub(crate) enum DiskError {
    /// Nothing is there.
    #[error("{}: there is no such file or folder", path.display())]
    Absent {
        /// The path.
        path: PathBuf,
    },
    /// Something is there, but no regular file (a folder, a pipe, a device).
    #[error("{}: not a regular file", path.display())]
    NotAFile {
        /// The path.
        path: PathBuf,
    },
    /// The file is larger than what is read.
    #[error("{}: larger than {READ_LIMIT} bytes", path.display())]
    TooLarge {
        /// The path.
        path: PathBuf,
    },
    /// The file is not UTF-8.
    #[error("{}: not UTF-8 text", path.display())]
    NotText {
        /// The path.
        path: PathBuf,
    },
    /// It is being written.
    #[error("{}: it changed while it was read", path.display())]
    Changed {
        /// The path.
        path: PathBuf,
    },
    /// The system refuses.
    #[error("{}: can't {action}: {source}", path.display())]
    Refused {
        /// The path.
        path: PathBuf,
        /// What was tried: `read`, `write`.
        action: &'static str,
        /// The system's reason.
        source: io::Error,
    },
}

impl DiskError {
    /// The system's error, met at a path.
    pub(super) fn of(path: &Path, action: &'static str, source: io::Error) -> Self {
        let path = path.to_owned();
        match source.kind() {
            io::ErrorKind::NotFound => Self::Absent { path },
            // A file stands where the path wants a folder, so nothing can be there.
            io::ErrorKind::NotADirectory if action == "read" => Self::Absent { path },
            _ => Self::Refused { path, action, source },
        }
    }
}

/// What stands at a path, links followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Entry {
    /// Nothing, or nothing that may be looked at.
    Absent,
    /// A regular file.
    File,
    /// A folder.
    Folder,
    /// A pipe, a device, a socket.
    Other,
}

/// What stands at a path, links followed.
pub(crate) fn entry(path: &Path) -> Entry {
    fs::metadata(path).map_or(Entry::Absent, |metadata| entry_of(&metadata))
}

fn entry_of(metadata: &Metadata) -> Entry {
    if metadata.is_file() {
        Entry::File
    } else if metadata.is_dir() {
        Entry::Folder
    } else {
        Entry::Other
    }
}

/// Whether the path itself is a symbolic link.
pub(crate) fn is_link(path: &Path) -> bool {
    path.is_symlink()
}

/// The number of the user who owns what is at a path.
pub(crate) fn owner(path: &Path) -> Option<u32> {
    fs::metadata(path).ok().map(|metadata| metadata.uid())
}

/// The absolute path without links; what is named must exist.
pub(crate) fn canonical(path: &Path) -> Result<PathBuf, DiskError> {
    fs::canonicalize(path).map_err(|source| DiskError::of(path, "read", source))
}

/// A file's bytes, at most [`READ_LIMIT`]. Only regular files are opened: a pipe would wait for ever,
/// a device never end.
pub(crate) fn read(path: &Path) -> Result<Vec<u8>, DiskError> {
    read_limited(path, READ_LIMIT)
}

fn read_limited(path: &Path, limit: u64) -> Result<Vec<u8>, DiskError> {
    let refused = |source| DiskError::of(path, "read", source);
    let check = |metadata: &Metadata| match entry_of(metadata) {
        Entry::File => Ok(()),
        Entry::Absent | Entry::Folder | Entry::Other => Err(DiskError::NotAFile { path: path.to_owned() }),
    };
    check(&fs::metadata(path).map_err(refused)?)?;
    let file = File::open(path).map_err(refused)?;
    // Asked again of what was really opened, which another process may have put there since.
    check(&file.metadata().map_err(refused)?)?;
    let mut bytes = Vec::new();
    file.take(limit.saturating_add(1)).read_to_end(&mut bytes).map_err(refused)?;
    if u64::try_from(bytes.len()).is_ok_and(|length| length <= limit) {
        Ok(bytes)
    } else {
        Err(DiskError::TooLarge { path: path.to_owned() })
    }
}

/// What comes by stdin, at most [`READ_LIMIT`].
pub(crate) fn read_stdin() -> Result<Vec<u8>, DiskError> {
    let path = PathBuf::from("stdin");
    let mut bytes = Vec::new();
    let read = io::stdin().take(READ_LIMIT.saturating_add(1)).read_to_end(&mut bytes);
    read.map_err(|source| DiskError::of(&path, "read", source))?;
    if u64::try_from(bytes.len()).is_ok_and(|length| length <= READ_LIMIT) {
        Ok(bytes)
    } else {
        Err(DiskError::TooLarge { path })
    }
}

/// A file's bytes, or `None` where there is none.
pub(crate) fn read_if_there(path: &Path) -> Result<Option<Vec<u8>>, DiskError> {
    match read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(DiskError::Absent { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

/// A file's text, which must be UTF-8.
pub(crate) fn read_text(path: &Path) -> Result<String, DiskError> {
    String::from_utf8(read(path)?).map_err(|_| DiskError::NotText { path: path.to_owned() })
}

/// The sorted names in a folder. Names that are not UTF-8 are left out.
pub(crate) fn names(folder: &Path) -> Result<Vec<String>, DiskError> {
    let entries = fs::read_dir(folder).map_err(|source| DiskError::of(folder, "read", source))?;
    let mut names: Vec<String> =
        entries.take(LIST_LIMIT).flatten().filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.sort_unstable();
    Ok(names)
}

/// Makes a folder and those above it.
pub(crate) fn make_folder(folder: &Path) -> Result<(), DiskError> {
    fs::create_dir_all(folder).map_err(|error| DiskError::of(folder, "write", error))
}

/// Writes a file whole or not at all: beside, and renamed. The mode of what was there is kept, a link is
/// followed, and what is no regular file (`/dev/stdout`, a pipe) is written to as it stands.
pub(crate) fn write(path: &Path, bytes: &[u8]) -> Result<(), DiskError> {
    let refused = |source| DiskError::of(path, "write", source);
    let target = if is_link(path) { canonical(path)? } else { path.to_owned() };
    match entry(&target) {
        Entry::Folder => return Err(DiskError::NotAFile { path: path.to_owned() }),
        Entry::Other => return fs::write(&target, bytes).map_err(refused),
        Entry::Absent | Entry::File => {}
    }
    let (folder, name) = folder_and_name(&target)?;
    let mut beside = tempfile::Builder::new()
        .prefix(&format!(".{name}."))
        .suffix(".reana-lock-new")
        .permissions(Permissions::from_mode(0o666))
        .tempfile_in(&folder)
        .map_err(refused)?;
    beside.write_all(bytes).map_err(refused)?;
    keep_mode(&target, beside.as_file()).map_err(refused)?;
    beside.as_file().sync_all().map_err(refused)?;
    beside.persist(&target).map_err(|error| refused(error.error))?;
    sync_folder(&folder);
    Ok(())
}

/// Writes a file that isn't there yet, with the folders above it. Nothing that stands there is written over or followed.
pub(crate) fn write_new(path: &Path, bytes: &[u8]) -> Result<(), DiskError> {
    path.parent().map_or(Ok(()), make_folder)?;
    let written = File::create_new(path).and_then(|mut file| file.write_all(bytes));
    written.map_err(|error| DiskError::of(path, "write", error))
}

/// The folder that a file is in, and the file's name.
pub(crate) fn folder_and_name(path: &Path) -> Result<(PathBuf, String), DiskError> {
    let name = path.file_name().and_then(|name| name.to_str());
    let name = name.ok_or_else(|| DiskError::NotAFile { path: path.to_owned() })?;
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    Ok((folder.to_owned(), name.to_owned()))
}

fn keep_mode(old: &Path, new: &File) -> io::Result<()> {
    match fs::metadata(old) {
        Ok(metadata) => new.set_permissions(Permissions::from_mode(metadata.permissions().mode() & 0o777)),
        Err(_) => Ok(()),
    }
}

/// Makes a folder's names lasting. Some file systems can't, and then nothing better is to be had.
pub(crate) fn sync_folder(folder: &Path) {
    let _ = File::open(folder).and_then(|folder| folder.sync_all());
}

/// Writes a new file with the mode of `like`, if that is there. What stood at `path` is replaced.
pub(crate) fn stage(path: &Path, bytes: &[u8], like: &Path) -> Result<(), DiskError> {
    let refused = |source| DiskError::of(path, "write", source);
    remove(path)?;
    let mut file = File::create_new(path).map_err(refused)?;
    file.write_all(bytes).map_err(refused)?;
    keep_mode(like, &file).map_err(refused)?;
    file.sync_all().map_err(refused)
}

/// Gives a file a second name, or where the file system has no such thing, copies it.
pub(crate) fn link(from: &Path, to: &Path) -> Result<(), DiskError> {
    remove(to)?;
    if fs::hard_link(from, to).is_ok() {
        return Ok(());
    }
    let bytes = read(from)?;
    stage(to, &bytes, from)
}

/// Renames a file over another one, in one step.
pub(crate) fn rename(from: &Path, to: &Path) -> Result<(), DiskError> {
    fs::rename(from, to).map_err(|source| DiskError::of(to, "replace", source))
}

/// Removes a file, if it is there.
pub(crate) fn remove(path: &Path) -> Result<(), DiskError> {
    // Asked first: a read-only file system refuses to remove even what is not there.
    if fs::symlink_metadata(path).is_err_and(|error| error.kind() == io::ErrorKind::NotFound) {
        return Ok(());
    }
    match fs::remove_file(path) {
        Err(source) if source.kind() != io::ErrorKind::NotFound => Err(DiskError::of(path, "remove", source)),
        Ok(()) | Err(_) => Ok(()),
    }
}

/// A lock on a folder against other runs, held until dropped. The kernel lets go of it when a run is
/// killed, and it leaves no file behind.
#[derive(Debug)]
pub(crate) struct FolderLock {
    _folder: File,
}

/// What came of trying to lock a folder.
#[derive(Debug)]
pub(crate) enum Locking {
    /// It is ours, or `None` where the file system knows no locks on folders (some network ones).
    Got(Option<FolderLock>),
    /// Another run has it.
    Busy,
}

/// Tries to lock a folder, without waiting.
pub(crate) fn try_lock(folder: &Path) -> Result<Locking, DiskError> {
    let file = File::open(folder).map_err(|source| DiskError::of(folder, "read", source))?;
    match file.try_lock() {
        Ok(()) => Ok(Locking::Got(Some(FolderLock { _folder: file }))),
        Err(fs::TryLockError::WouldBlock) => Ok(Locking::Busy),
        Err(fs::TryLockError::Error(_)) => Ok(Locking::Got(None)),
    }
}

/// One project, through which its manifests are read and beyond which nothing is, not through a link either.
#[derive(Clone, Debug)]
pub(crate) struct Project {
    root: PathBuf,
}

impl Project {
    /// The project in this folder.
    pub(crate) fn open(folder: &Path) -> Result<Self, DiskError> {
        Ok(Self { root: canonical(folder)? })
    }

    /// Where a path of the project really leads.
    fn inside(&self, path: &str) -> Result<PathBuf, FileError> {
        let path = normal_path(path).ok_or(FileError::Outside)?;
        let real = fs::canonicalize(self.root.join(path)).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => FileError::Absent,
            _ => FileError::Unreadable(error.to_string()),
        })?;
        if real.starts_with(&self.root) { Ok(real) } else { Err(FileError::Outside) }
    }
}

impl Files for Project {
    fn read(&self, path: &str) -> Result<Vec<u8>, FileError> {
        let real = self.inside(path)?;
        read(&real).map_err(|error| match error {
            DiskError::Absent { .. } => FileError::Absent,
            DiskError::TooLarge { .. } => FileError::TooLarge { limit: READ_LIMIT },
            DiskError::NotAFile { .. } => FileError::Unreadable("not a regular file".to_owned()),
            DiskError::NotText { .. } => FileError::Unreadable("not UTF-8 text".to_owned()),
            DiskError::Changed { .. } => FileError::Unreadable("it changed while it was read".to_owned()),
            DiskError::Refused { source, .. } => FileError::Unreadable(source.to_string()),
        })
    }

    fn exists(&self, path: &str) -> bool {
        self.inside(path).is_ok()
    }

    fn list(&self, folder: &str) -> Vec<String> {
        self.inside(folder).ok().and_then(|real| names(&real).ok()).unwrap_or_default()
    }
}
