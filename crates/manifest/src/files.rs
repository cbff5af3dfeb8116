//! The look-up through which manifests are read: nothing in this crate opens a path.

use std::collections::{BTreeMap, BTreeSet};

/// Read access to one project, the only thing that readers may look at. Paths are relative to the project's root, with `/`; whoever implements it refuses what leads outside.
pub trait Files {
    /// The file's bytes.
    ///
    /// # Errors
    /// When there is no such file, when it may not be read, or when it is too large.
    fn read(&self, path: &str) -> Result<Vec<u8>, FileError>;
    /// Whether a file or a folder is there.
    fn exists(&self, path: &str) -> bool;
    /// The sorted names in a folder; empty if there are none.
    fn list(&self, folder: &str) -> Vec<String>;
}

/// Why a file could not be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FileError {
    /// There is no such file.
    #[error("there is no such file")]
    Absent,
    /// The path leads outside of the project.
    #[error("the path leads outside of the project")]
    Outside,
    /// The file is larger than what is read.
    #[error("the file is larger than {limit} bytes")]
    TooLarge {
        /// The most bytes that are read.
        limit: u64,
    },
    /// It is there, but can't be read.
    #[error("the file can't be read: {0}")]
    Unreadable(String),
}

/// A project in memory: what tests and readers of archives use.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MemoryFiles(pub BTreeMap<String, Vec<u8>>);

impl MemoryFiles {
    /// A project of the given paths and texts.
    pub fn of<P: Into<String>, T: Into<Vec<u8>>>(files: impl IntoIterator<Item = (P, T)>) -> Self {
        Self(files.into_iter().map(|(path, text)| (path.into(), text.into())).collect())
    }
}

impl Files for MemoryFiles {
    fn read(&self, path: &str) -> Result<Vec<u8>, FileError> {
        let path = normal_path(path).ok_or(FileError::Outside)?;
        self.0.get(&path).cloned().ok_or(FileError::Absent)
    }

    fn exists(&self, path: &str) -> bool {
        normal_path(path).is_some_and(|path| {
            let folder = format!("{path}/");
            path.is_empty() || self.0.contains_key(&path) || self.0.keys().any(|key| key.starts_with(&folder))
        })
    }

    fn list(&self, folder: &str) -> Vec<String> {
        let Some(folder) = normal_path(folder) else { return Vec::new() };
        let prefix = if folder.is_empty() { folder } else { format!("{folder}/") };
        let names: BTreeSet<&str> = self
            .0
            .keys()
            .filter_map(|key| key.strip_prefix(&prefix))
            .filter_map(|rest| rest.split('/').next())
            .collect();
        names.into_iter().map(str::to_owned).collect()
    }
}

/// The path without `.`, `..` and doubled slashes; `None` when it is absolute or leads outside. The root is the empty path.
pub fn normal_path(path: &str) -> Option<String> {
    if path.starts_with('/') || path.starts_with('\\') {
        return None;
    }
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            name => parts.push(name),
        }
    }
    Some(parts.join("/"))
}
