//! What digests name, kept for good: in a folder that many processes may share, or for one run.
#![expect(clippy::disallowed_methods, reason = "a door: the cache folder is read and written here alone")]

use std::collections::HashMap;
use std::fs::File;
use std::io::{Read as _, Write as _};
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use reana_images::Digest;

/// Content by digest.
#[derive(Debug)]
pub(crate) struct Store {
    folder: Option<PathBuf>,
    memory: Mutex<HashMap<Digest, Vec<u8>>>,
}

impl Store {
    /// A folder that can't be made is as good as none.
    pub(crate) fn new(folder: Option<PathBuf>) -> Self {
        let folder = folder.map(|folder| folder.join("v1").join("images"));
        let folder = folder.filter(|folder| std::fs::create_dir_all(folder).is_ok());
        Self { folder, memory: Mutex::default() }
    }

    /// The content, checked against its digest: what was damaged is as good as absent.
    pub(crate) fn get(&self, digest: &Digest, limit: usize) -> Option<Vec<u8>> {
        let kept = self.memory.lock().unwrap_or_else(PoisonError::into_inner).get(digest).cloned();
        if kept.is_some() {
            return kept;
        }
        let path = self.folder.as_ref()?.join(digest.hex());
        let mut bytes = Vec::new();
        let limit = u64::try_from(limit).unwrap_or(u64::MAX);
        File::open(path).ok()?.take(limit).read_to_end(&mut bytes).ok()?;
        (Digest::of(&bytes) == *digest).then_some(bytes)
    }

    /// Keeps content whose digest was checked. Where it can't be written, the next run asks again.
    pub(crate) fn put(&self, digest: &Digest, bytes: &[u8]) {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner).insert(digest.clone(), bytes.to_vec());
        let Some(folder) = &self.folder else { return };
        let write = || -> std::io::Result<()> {
            let mut beside = tempfile::NamedTempFile::new_in(folder)?;
            beside.write_all(bytes)?;
            beside.persist(folder.join(digest.hex())).map_err(|error| error.error)?;
            Ok(())
        };
        let _unwritten = write();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_damaged_is_absent() {
        let folder = tempfile::tempdir().expect("a folder");
        let digest = Digest::of(b"content");
        Store::new(Some(folder.path().to_owned())).put(&digest, b"content");
        let get = || Store::new(Some(folder.path().to_owned())).get(&digest, 100);
        assert_eq!(get().as_deref(), Some(b"content".as_slice()));
        std::fs::write(folder.path().join("v1/images").join(digest.hex()), b"Content").expect("written");
        assert_eq!(get(), None);
    }
}
