//! The door to a whole folder: what is in it, with the hash of each file. Files are read in pieces; links are not
//! followed, and what is neither file, folder nor link is named and not opened.
#![expect(clippy::disallowed_methods, reason = "this is a door to the file system")]

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{self, File, Metadata};
use std::io::{self, Read as _};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use reana_model::Sha256;
use sha2::Digest as _;

use super::disk::DiskError;

/// How many bytes of a file are in memory at once.
const PIECE: usize = 128 * 1024;

/// The same of a small file.
const SMALLEST_PIECE: usize = 4096;

/// How often a file that is being written is read anew.
const TRIES: usize = 3;

/// What is at a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// A regular file.
    File {
        /// Its owner may execute it.
        is_executable: bool,
        /// Its bytes' hash.
        sha256: Sha256,
    },
    /// A symbolic link: where it points to.
    Link(Vec<u8>),
    /// A pipe, a socket, a device.
    Other(&'static str),
}

/// Whether something is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Look {
    /// It counts.
    Take,
    /// It doesn't; of a folder, what is in it may.
    Pass,
    /// It doesn't, nor does anything in it.
    Prune,
}

/// Everything in a folder that `look` takes, by path: bytes, parts between slashes.
pub(crate) fn read(root: &Path, look: &dyn Fn(&[u8]) -> Look) -> Result<BTreeMap<Vec<u8>, Found>, DiskError> {
    let mut found = BTreeMap::new();
    let mut folders: Vec<Vec<u8>> = vec![Vec::new()];
    while let Some(folder) = folders.pop() {
        let here = root.join(PathBuf::from(OsString::from_vec(folder.clone())));
        let entries = fs::read_dir(&here).map_err(|error| DiskError::of(&here, "read", error))?;
        let mut names = Vec::new();
        for entry in entries {
            names.push(entry.map_err(|error| DiskError::of(&here, "read", error))?.file_name());
        }
        names.sort_unstable();
        for name in names {
            let mut path = folder.clone();
            if !path.is_empty() {
                path.push(b'/');
            }
            path.extend_from_slice(name.as_bytes());
            let looked = look(&path);
            if looked == Look::Prune {
                continue;
            }
            let file = here.join(&name);
            let metadata = fs::symlink_metadata(&file).map_err(|error| gone(&file, error))?;
            if metadata.is_dir() {
                folders.push(path);
            } else if looked == Look::Take {
                found.insert(path, one(&file, &metadata)?);
            }
        }
    }
    Ok(found)
}

/// A file's hash.
pub(crate) fn hash(file: &Path) -> Result<Sha256, DiskError> {
    let metadata = fs::metadata(file).map_err(|error| DiskError::of(file, "read", error))?;
    match one(file, &metadata)? {
        Found::File { sha256, .. } => Ok(sha256),
        Found::Link(_) | Found::Other(_) => Err(DiskError::NotAFile { path: file.to_owned() }),
    }
}

fn one(file: &Path, metadata: &Metadata) -> Result<Found, DiskError> {
    let kind = metadata.file_type();
    if kind.is_symlink() {
        let target = fs::read_link(file).map_err(|error| gone(file, error))?;
        return Ok(Found::Link(target.into_os_string().into_vec()));
    }
    if kind.is_file() {
        let sha256 = hash_steady(file)?;
        return Ok(Found::File { is_executable: metadata.mode() & 0o100 != 0, sha256 });
    }
    Ok(Found::Other(if kind.is_fifo() {
        "pipe"
    } else if kind.is_socket() {
        "socket"
    } else {
        "device"
    }))
}

/// Hashes a file that nobody writes meanwhile; one that somebody does is read anew a few times.
fn hash_steady(file: &Path) -> Result<Sha256, DiskError> {
    for _ in 0..TRIES {
        let opened = File::open(file).map_err(|error| gone(file, error))?;
        let state =
            |metadata: &Metadata| (metadata.len(), metadata.mtime(), metadata.mtime_nsec(), metadata.ino());
        let before = opened.metadata().map_err(|error| gone(file, error))?;
        if !before.is_file() {
            return Err(DiskError::NotAFile { path: file.to_owned() });
        }
        let (sha256, length) = hash_all(&opened, before.len()).map_err(|error| gone(file, error))?;
        let after = fs::metadata(file).map_err(|error| gone(file, error))?;
        if state(&before) == state(&after) && length == before.len() {
            return Ok(sha256);
        }
    }
    Err(DiskError::Changed { path: file.to_owned() })
}

fn hash_all(mut file: &File, expected: u64) -> io::Result<(Sha256, u64)> {
    let mut hasher = sha2::Sha256::new();
    let mut piece = vec![0; usize::try_from(expected).unwrap_or(PIECE).clamp(SMALLEST_PIECE, PIECE)];
    let mut length: u64 = 0;
    loop {
        match file.read(&mut piece) {
            Ok(0) => return Ok((Sha256(hasher.finalize().into()), length)),
            Ok(count) => {
                hasher.update(piece.get(..count).unwrap_or_default());
                length = length.saturating_add(count.try_into().unwrap_or(u64::MAX));
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// What was listed a moment ago and is not there any more has changed.
fn gone(file: &Path, error: io::Error) -> DiskError {
    match DiskError::of(file, "read", error) {
        DiskError::Absent { path } => DiskError::Changed { path },
        error => error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_not_what_it_says_has_changed() {
        // The kernel makes it up while it is read: more bytes come than the file is long.
        let error = hash(Path::new("/proc/self/status")).expect_err("no steady file");
        assert!(matches!(error, DiskError::Changed { .. }), "{error}");
    }

    #[test]
    fn a_file_is_hashed_whole() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("big");
        let bytes: Vec<u8> = (0_u8..=250).cycle().take(3 * PIECE + 7).collect();
        fs::write(&file, &bytes).expect("a file");
        assert_eq!(hash(&file).expect("a hash"), Sha256::of(&bytes));
        let found = read(folder.path(), &|_| Look::Take).expect("a folder");
        let expected = Found::File { is_executable: false, sha256: Sha256::of(&bytes) };
        assert_eq!(found, BTreeMap::from([(b"big".to_vec(), expected)]));
    }

    #[test]
    fn what_is_pruned_is_not_looked_into() {
        let folder = tempfile::tempdir().expect("a folder");
        fs::create_dir_all(folder.path().join("a/b")).expect("a folder");
        fs::write(folder.path().join("a/b/c"), "").expect("a file");
        let paths = |on_a: Look| -> Vec<Vec<u8>> {
            let look = |path: &[u8]| if path == b"a" { on_a } else { Look::Take };
            read(folder.path(), &look).expect("a folder").into_keys().collect()
        };
        assert_eq!(paths(Look::Pass), [b"a/b/c".to_vec()]);
        assert!(paths(Look::Prune).is_empty());
    }
}
