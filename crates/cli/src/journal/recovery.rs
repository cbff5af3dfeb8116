//! After a kill: finishing what a journal says, or taking it back.

use std::path::{Path, PathBuf};

use reana_model::Sha256;

use super::record::{Record, Written};
use super::{DRAFT, FILE, JournalError, lock_all};
use crate::doors::disk::{self, DiskError};

/// What was done about a journal that a killed run left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Recovered {
    /// How it ended.
    pub(crate) outcome: Outcome,
    /// The files of the journal, absolute.
    pub(crate) files: Vec<PathBuf>,
    /// Those of them that somebody changed since, and that were left as they are.
    pub(crate) changed_since: Vec<PathBuf>,
}

/// How a killed run's writing ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// All files have their new content.
    Finished,
    /// All files have their old content.
    RolledBack,
}

impl std::fmt::Display for Recovered {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let shown = |paths: &[PathBuf]| {
            paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(", ")
        };
        let done = match self.outcome {
            Outcome::Finished => "a run that was stopped had begun to write, which is finished now",
            Outcome::RolledBack => "a run that was stopped had begun to write, which is taken back now",
        };
        write!(f, "{done}: {}", shown(&self.files))?;
        if self.changed_since.is_empty() {
            return Ok(());
        }
        write!(f, " (changed since, and left alone: {})", shown(&self.changed_since))
    }
}

/// What a file holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Holds {
    Old,
    New,
    Other,
}

/// Whether a run left a journal here.
pub(super) fn is_needed(root: &Path) -> bool {
    is_there(&root.join(FILE))
}

/// Whether a run left the draft of a journal here, before which nothing was done.
pub(super) fn is_drafted(root: &Path) -> bool {
    is_there(&root.join(DRAFT))
}

fn is_there(path: &Path) -> bool {
    disk::entry(path) != disk::Entry::Absent || disk::is_link(path)
}

/// Finishes or takes back, as the state of the files demands. The root's lock is held.
pub(super) fn recover_locked(root: &Path) -> Result<Recovered, JournalError> {
    resolve(root, true)
}

/// Takes back what was done. The root's and the folders' locks are held.
pub(super) fn take_back(root: &Path) -> Result<Option<Recovered>, JournalError> {
    disk::remove(&root.join(DRAFT))?;
    if is_needed(root) { resolve(root, false).map(Some) } else { Ok(None) }
}

fn resolve(root: &Path, may_finish: bool) -> Result<Recovered, JournalError> {
    let journal = root.join(FILE);
    let record = Record::read(&journal, root)?;
    let mut folders: Vec<PathBuf> =
        record.files.iter().filter_map(|file| file.target.parent().map(Path::to_path_buf)).collect();
    folders.sort();
    folders.dedup();
    // Who takes back holds them already.
    let _folders = lock_all(folders.iter().filter(|folder| may_finish && *folder != root))?;

    let states = record.files.iter().map(State::of).collect::<Result<Vec<_>, _>>()?;
    let outcome = if may_finish { decide(&states) } else { Outcome::RolledBack };
    for (file, state) in record.files.iter().zip(&states) {
        match outcome {
            Outcome::Finished => finish(file, *state)?,
            Outcome::RolledBack => roll_back(file, *state)?,
        }
    }
    for folder in &folders {
        disk::sync_folder(folder);
    }
    disk::remove(&journal)?;
    let changed = record.files.iter().zip(&states).filter(|(_, state)| state.target == Holds::Other);
    let changed_since = changed.map(|(file, _)| file.target.clone()).collect();
    let files = record.files.into_iter().map(|file| file.target).collect();
    Ok(Recovered { outcome, files, changed_since })
}

/// What is found of one file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct State {
    target: Holds,
    /// Whether the new content is there beside, whole.
    staged_whole: bool,
    /// Whether anything is there beside that was to be the new content.
    staged: bool,
    /// Whether the old content is there beside, whole.
    kept: bool,
}

impl State {
    fn of(file: &Written) -> Result<Self, DiskError> {
        let target = hash_of(&file.target)?;
        let staged = hash_of(&file.staged()?)?;
        let holds = match target {
            target if target == Some(file.new) => Holds::New,
            target if target == file.old => Holds::Old,
            _ => Holds::Other,
        };
        let kept = file.old.is_some() && hash_of(&file.kept()?)? == file.old;
        Ok(Self { target: holds, staged_whole: staged == Some(file.new), staged: staged.is_some(), kept })
    }
}

/// The hash of a file; of one that can't be read as such, that of nothing, which no lock has.
fn hash_of(path: &Path) -> Result<Option<Sha256>, DiskError> {
    match disk::read_if_there(path) {
        Ok(bytes) => Ok(bytes.map(|bytes| Sha256::of(&bytes))),
        Err(DiskError::NotAFile { .. } | DiskError::TooLarge { .. }) => Ok(Some(Sha256([0; 32]))),
        Err(error) => Err(error),
    }
}

/// Finishing is right when every file has its new content or is ready for it, or when all had been replaced.
fn decide(states: &[State]) -> Outcome {
    let is_ready = |state: &State| match state.target {
        Holds::New => true,
        Holds::Old => state.staged_whole,
        Holds::Other => false,
    };
    let all_replaced = states.iter().all(|state| !state.staged && state.target != Holds::Old)
        && states.iter().any(|state| state.target == Holds::New);
    if states.iter().all(is_ready) || all_replaced { Outcome::Finished } else { Outcome::RolledBack }
}

fn finish(file: &Written, state: State) -> Result<(), DiskError> {
    match state.target {
        Holds::Old => file.replace()?,
        Holds::New | Holds::Other => disk::remove(&file.staged()?)?,
    }
    disk::remove(&file.kept()?)
}

fn roll_back(file: &Written, state: State) -> Result<(), DiskError> {
    match (state.target, file.old) {
        (Holds::New, Some(_)) if state.kept => disk::rename(&file.kept()?, &file.target)?,
        (Holds::New, None) => disk::remove(&file.target)?,
        (Holds::New | Holds::Old | Holds::Other, _) => {}
    }
    disk::remove(&file.staged()?)?;
    disk::remove(&file.kept()?)
}
