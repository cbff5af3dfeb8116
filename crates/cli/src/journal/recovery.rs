//! After a kill: finishing what a journal says, or taking it back.

use std::collections::BTreeSet;
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
    let record = Record::read(&root.join(FILE), root)?;
    let _folders = lock_all(folders(&record, root).iter().filter(|folder| *folder != root))?;
    let states = states(&record)?;
    let outcome = decide(&states);
    settle(&record, &states, outcome, root)?;
    let changed = record.files.iter().zip(&states).filter(|(_, state)| state.target == Holds::Other);
    let changed_since = changed.map(|(file, _)| file.target.clone()).collect();
    let files = record.files.into_iter().map(|file| file.target).collect();
    Ok(Recovered { outcome, files, changed_since })
}

/// Ends a commit whose step failed. The root's and the folders' locks are held.
pub(super) fn resolve_as(root: &Path, outcome: Outcome) -> Result<(), JournalError> {
    disk::remove(&root.join(DRAFT))?;
    if !is_needed(root) {
        return Ok(());
    }
    let record = Record::read(&root.join(FILE), root)?;
    settle(&record, &states(&record)?, outcome, root)
}

fn settle(record: &Record, states: &[State], outcome: Outcome, root: &Path) -> Result<(), JournalError> {
    for (file, state) in record.files.iter().zip(states) {
        match outcome {
            Outcome::Finished => finish(file, *state)?,
            Outcome::RolledBack => roll_back(file, *state)?,
        }
    }
    for folder in folders(record, root) {
        disk::sync_folder(&folder);
    }
    disk::remove(&root.join(FILE))?;
    Ok(())
}

fn states(record: &Record) -> Result<Vec<State>, DiskError> {
    record.files.iter().map(State::of).collect()
}

fn folders(record: &Record, root: &Path) -> BTreeSet<PathBuf> {
    let folders = record.files.iter().filter_map(|file| file.target.parent());
    folders.chain([root]).map(Path::to_path_buf).collect()
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
    /// Whether there was an old content.
    had_old: bool,
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
        let (staged_whole, staged) = (staged == Some(file.new), staged.is_some());
        Ok(Self { target: holds, staged_whole, staged, kept, had_old: file.old.is_some() })
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

/// Finishing is right when every file has its new content or is ready for it, or when all had been replaced
/// and some have been changed since.
fn decide(states: &[State]) -> Outcome {
    let is_ready = |state: &State| match state.target {
        Holds::New => true,
        Holds::Old => state.staged_whole,
        Holds::Other => false,
    };
    let any_new = states.iter().any(|state| state.target == Holds::New);
    let none_staged = !states.iter().any(|state| state.staged);
    // Old contents are forgotten only after the last file was replaced.
    let some_forgotten =
        states.iter().any(|state| state.target == Holds::New && state.had_old && !state.kept);
    let none_old = !states.iter().any(|state| state.target == Holds::Old);
    let all_replaced = none_staged && any_new && (none_old || some_forgotten);
    if states.iter().all(is_ready) || all_replaced { Outcome::Finished } else { Outcome::RolledBack }
}

fn finish(file: &Written, state: State) -> Result<(), DiskError> {
    match state.target {
        Holds::Old if state.staged_whole => file.replace()?,
        Holds::Old | Holds::New | Holds::Other => disk::remove(&file.staged()?)?,
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
