//! What a journal says: one entry for each file that is written.

use std::path::{Component, Path, PathBuf};

use reana_model::Sha256;
use serde::{Deserialize, Serialize};

use super::JournalError;
use crate::doors::disk::{self, DiskError};

/// The version of the journal's format.
const FORMAT: u32 = 1;

/// A journal's content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Record {
    pub(super) files: Vec<Written>,
}

/// A file that is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Written {
    /// The file; absolute, without links.
    pub(super) target: PathBuf,
    /// What was there before; `None` where nothing was.
    pub(super) old: Option<Sha256>,
    /// What is to be there.
    pub(super) new: Sha256,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Wire {
    format: u32,
    files: Vec<WireFile>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct WireFile {
    path: String,
    old: Option<String>,
    new: String,
}

impl Record {
    /// The journal's bytes; paths in it are relative to the journal's folder.
    pub(super) fn to_bytes(&self, root: &Path) -> Result<Vec<u8>, DiskError> {
        let files = self.files.iter().map(|file| {
            let path = file.target.strip_prefix(root).unwrap_or(&file.target);
            let path = path.to_str().ok_or_else(|| DiskError::NotText { path: file.target.clone() })?;
            let old = file.old.map(|old| old.to_string());
            Ok(WireFile { path: path.to_owned(), old, new: file.new.to_string() })
        });
        let wire = Wire { format: FORMAT, files: files.collect::<Result<_, DiskError>>()? };
        let mut bytes = serde_json::to_vec_pretty(&wire).unwrap_or_default();
        bytes.push(b'\n');
        Ok(bytes)
    }

    /// Reads a journal. A path that leaves its folder, also through a link, is refused: the file may have
    /// come with a repository.
    pub(super) fn read(journal: &Path, root: &Path) -> Result<Self, JournalError> {
        let damaged =
            |reason: &str| JournalError::Damaged { path: journal.to_owned(), reason: reason.to_owned() };
        if disk::is_link(journal) {
            return Err(damaged("it is a link"));
        }
        let wire: Wire =
            serde_json::from_slice(&disk::read(journal)?).map_err(|error| damaged(&error.to_string()))?;
        if wire.format != FORMAT {
            return Err(damaged(&format!("its format is {}, and {FORMAT} is known here", wire.format)));
        }
        let hash = |text: &str| text.parse::<Sha256>().map_err(|error| damaged(&error.to_string()));
        let mut files = Vec::new();
        for file in &wire.files {
            let path = Path::new(&file.path);
            let stays = path.components().all(|part| matches!(part, Component::Normal(_)));
            let target = root.join(path);
            let (folder, name) = disk::folder_and_name(&target)?;
            // A folder that is gone since has nothing left in it to finish or to take back.
            let folder = match disk::canonical(&folder) {
                Ok(folder) => folder,
                Err(DiskError::Absent { .. }) => continue,
                Err(error) => return Err(error.into()),
            };
            if !stays || file.path.is_empty() || !folder.starts_with(root) {
                return Err(damaged(&format!("`{}` leads outside", file.path)));
            }
            let old = file.old.as_deref().map(hash).transpose()?;
            files.push(Written { target: folder.join(name), old, new: hash(&file.new)? });
        }
        Ok(Self { files })
    }
}

impl Written {
    /// Where the new content is before it replaces the old.
    pub(super) fn staged(&self) -> Result<PathBuf, DiskError> {
        self.beside("new")
    }

    /// Where the old content is while files are replaced.
    pub(super) fn kept(&self) -> Result<PathBuf, DiskError> {
        self.beside("old")
    }

    fn beside(&self, what: &str) -> Result<PathBuf, DiskError> {
        let (folder, name) = disk::folder_and_name(&self.target)?;
        Ok(folder.join(format!(".{name}.reana-lock-{what}")))
    }

    /// Gives the old content a second name.
    pub(super) fn keep(&self) -> Result<(), DiskError> {
        if self.old.is_some() { disk::link(&self.target, &self.kept()?) } else { Ok(()) }
    }

    /// Puts the new content in the old one's place.
    pub(super) fn replace(&self) -> Result<(), DiskError> {
        disk::rename(&self.staged()?, &self.target)?;
        let (folder, _) = disk::folder_and_name(&self.target)?;
        disk::sync_folder(&folder);
        Ok(())
    }
}
