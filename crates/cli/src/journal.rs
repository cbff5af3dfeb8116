//! A fleet's locks are written all or none (DESIGN, decision 7).
//!
//! A commit is a list of steps, each of which the file system does whole or not at all:
//!
//! 1. the journal is written, beside and renamed: which files, the sha256 of their old and of their new content;
//! 2. each new content is written beside its file;
//! 3. each old content gets a second name beside its file;
//! 4. each new content is renamed over its file;
//! 5. the second names are removed, and then the journal.
//!
//! A run that is killed leaves the journal. The next one finishes what it says if every new content is whole,
//! else it takes back what was done. Files that somebody changed since are theirs and are not touched.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use reana_model::Sha256;

use crate::doors::disk::{self, DiskError, FolderLock, Locking};

mod record;
mod recovery;

#[cfg(test)]
mod tests;

use record::{Record, Written};
use recovery::Outcome;
pub(crate) use recovery::Recovered;

/// The journal's name, in the fleet's folder.
pub(crate) const FILE: &str = ".reana-lock.journal";

/// What the journal is called while it is written.
const DRAFT: &str = ".reana-lock.journal-new";

/// How often another run's lock is asked for, and how long is waited between: half a minute in all.
const LOCK_ATTEMPTS: u32 = 300;
const LOCK_PAUSE: Duration = Duration::from_millis(100);

/// Why locks were not written. Those that were there are whole, unless [`JournalError::Stopped`] says so.
#[derive(Debug, thiserror::Error)]
pub(crate) enum JournalError {
    /// The file system refused; what had been done was taken back.
    #[error(transparent)]
    Disk(#[from] DiskError),
    /// The file system refused, and then did not even let what had been done be taken back. The journal is
    /// left, and the next run tries again.
    #[error("{cause}; and taking back what was written failed as well: {undoing}")]
    Stopped {
        /// What failed first.
        cause: DiskError,
        /// What failed then.
        undoing: Box<JournalError>,
    },
    /// A file, or what it is a link to, is not in the folder that the journal is for.
    #[error("{} leads outside of {}", path.display(), root.display())]
    Outside {
        /// The file.
        path: PathBuf,
        /// The journal's folder.
        root: PathBuf,
    },
    /// Two different contents are for one file, directly or through a link.
    #[error("{} would be written twice, with different content", path.display())]
    Twice {
        /// The file.
        path: PathBuf,
    },
    /// Another run is writing, and did not end in time.
    #[error("{}: another run is writing here", folder.display())]
    Busy {
        /// The folder that it holds.
        folder: PathBuf,
    },
    /// The journal that a run left can't be understood.
    #[error("{}: not a journal of reana-lock: {reason}", path.display())]
    Damaged {
        /// The journal.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
}

/// One step of a commit; the number is that of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Draft,
    Announce,
    Stage(usize),
    Keep(usize),
    Replace(usize),
    Forget(usize),
    Close,
}

/// A commit that is under way.
struct Commit<'a> {
    root: PathBuf,
    draft: PathBuf,
    journal: PathBuf,
    files: Vec<Change<'a>>,
}

struct Change<'a> {
    written: Written,
    content: &'a [u8],
}

/// Writes all these files, or none of them. Files that have their content already are not touched, nor are their
/// folders.
/// The journal goes into `folder` if all files are in it or below, else into the folder that holds them all.
pub(crate) fn commit(changes: &[(PathBuf, Vec<u8>)], folder: &Path) -> Result<(), JournalError> {
    if changes.is_empty() {
        return Ok(());
    }
    let root = folder_for(changes, folder)?;
    let _root = lock(&root)?;
    if recovery::is_needed(&root) {
        recovery::recover_locked(&root)?;
    }
    // A folder in which nothing changes is not locked: it may be one that can't be. Whoever writes there meanwhile
    // writes after this run.
    let folders = Commit::prepare(changes, &root)?.folders();
    let _folders = lock_all(folders.iter().filter(|folder| **folder != root))?;
    let mut commit = Commit::prepare(changes, &root)?;
    commit.files.retain(|file| file.written.target.parent().is_some_and(|folder| folders.contains(folder)));
    commit.execute(|step| commit.run(step))
}

/// The folder for the journal of these changes, without links: the wanted one if it holds them all, else the
/// one that does.
fn folder_for(changes: &[(PathBuf, Vec<u8>)], wanted: &Path) -> Result<PathBuf, JournalError> {
    let wanted = disk::canonical(wanted)?;
    let mut holding: Option<PathBuf> = None;
    for (path, _) in changes {
        let folder = disk::canonical(&disk::folder_and_name(path)?.0)?;
        holding = Some(match holding {
            None => folder,
            Some(holding) => {
                let shared = holding.components().zip(folder.components()).take_while(|(a, b)| a == b);
                shared.map(|(part, _)| part).collect()
            }
        });
    }
    Ok(holding.filter(|holding| !holding.starts_with(&wanted)).unwrap_or(wanted))
}

/// Finishes or takes back what a killed run left in this folder; `None` where there is nothing to do.
/// To be called when a run starts.
pub(crate) fn recover(folder: &Path) -> Result<Option<Recovered>, JournalError> {
    if !recovery::is_needed(folder) && !recovery::is_drafted(folder) {
        return Ok(None);
    }
    let root = disk::canonical(folder)?;
    let _root = lock(&root)?;
    disk::remove(&root.join(DRAFT))?;
    // Asked again: the run that had the lock may have been the one that wrote the journal.
    if recovery::is_needed(&root) { recovery::recover_locked(&root).map(Some) } else { Ok(None) }
}

/// Keeps other runs from writing below this folder until the answer is dropped, so that what is read there is of one
/// run. A folder that can't be locked is read as it is.
///
/// # Errors
/// Where another run goes on writing.
pub(crate) fn hold(folder: &Path) -> Result<Option<FolderLock>, JournalError> {
    match disk::canonical(folder).map_err(JournalError::from).and_then(|root| lock(&root)) {
        Err(error @ JournalError::Busy { .. }) => Err(error),
        held => Ok(held.ok().flatten()),
    }
}

/// Whether a killed run left its journal in this folder.
pub(crate) fn is_left(folder: &Path) -> bool {
    recovery::is_needed(folder)
}

fn lock(folder: &Path) -> Result<Option<FolderLock>, JournalError> {
    lock_within(folder, LOCK_ATTEMPTS)
}

fn lock_within(folder: &Path, attempts: u32) -> Result<Option<FolderLock>, JournalError> {
    for attempt in 1..=attempts {
        match disk::try_lock(folder)? {
            Locking::Got(lock) => return Ok(lock),
            Locking::Busy if attempt < attempts => std::thread::sleep(LOCK_PAUSE),
            Locking::Busy => {}
        }
    }
    Err(JournalError::Busy { folder: folder.to_owned() })
}

/// Locks folders in their order, so that no two runs wait for each other.
fn lock_all<'a>(folders: impl Iterator<Item = &'a PathBuf>) -> Result<Vec<FolderLock>, JournalError> {
    let mut locks = Vec::new();
    for folder in folders {
        locks.extend(lock(folder)?);
    }
    Ok(locks)
}

/// Where a file really is: its folder without links, and what it is a link to if it is one.
fn real_path(path: &Path, root: &Path) -> Result<PathBuf, JournalError> {
    let real = if disk::is_link(path) {
        disk::canonical(path)?
    } else {
        let (folder, name) = disk::folder_and_name(path)?;
        disk::canonical(&folder)?.join(name)
    };
    if real.starts_with(root) {
        Ok(real)
    } else {
        Err(JournalError::Outside { path: path.to_owned(), root: root.to_owned() })
    }
}

impl<'a> Commit<'a> {
    fn prepare(changes: &'a [(PathBuf, Vec<u8>)], root: &Path) -> Result<Self, JournalError> {
        let mut files: Vec<Change<'a>> = Vec::new();
        for (path, content) in changes {
            let target = real_path(path, root)?;
            let old = disk::read_if_there(&target)?.map(|old| Sha256::of(&old));
            let written = Written { target, old, new: Sha256::of(content) };
            match files.iter().find(|file| file.written.target == written.target) {
                Some(same) if same.written.new == written.new => {}
                Some(_) => return Err(JournalError::Twice { path: path.clone() }),
                None => files.push(Change { written, content }),
            }
        }
        files.retain(|file| file.written.old != Some(file.written.new));
        Ok(Self { root: root.to_owned(), draft: root.join(DRAFT), journal: root.join(FILE), files })
    }

    /// The folders of the files that change.
    fn folders(&self) -> BTreeSet<PathBuf> {
        self.files.iter().filter_map(|file| file.written.target.parent().map(Path::to_path_buf)).collect()
    }

    fn steps(&self) -> Vec<Step> {
        if self.files.is_empty() {
            return Vec::new();
        }
        let each = |step: fn(usize) -> Step| (0..self.files.len()).map(step);
        let mut steps = vec![Step::Draft, Step::Announce];
        steps.extend(each(Step::Stage));
        steps.extend(each(Step::Keep));
        steps.extend(each(Step::Replace));
        steps.extend(each(Step::Forget));
        steps.push(Step::Close);
        steps
    }

    /// Does all steps, or ends as if none had been begun: until the last file is replaced, what was done is
    /// taken back. After that only names are left to remove, and whoever can't now may do so later.
    fn execute(&self, run: impl Fn(Step) -> Result<(), DiskError>) -> Result<(), JournalError> {
        for step in self.steps() {
            let Err(cause) = run(step) else { continue };
            let (wanted, done) = match step {
                Step::Draft | Step::Announce | Step::Stage(_) | Step::Keep(_) | Step::Replace(_) => {
                    (Outcome::RolledBack, Err(JournalError::from(cause)))
                }
                Step::Forget(_) | Step::Close => (Outcome::Finished, Ok(())),
            };
            return match (recovery::resolve_as(&self.root, wanted), done) {
                (Ok(()), done) => done,
                (Err(undoing), Err(JournalError::Disk(cause))) => {
                    Err(JournalError::Stopped { cause, undoing: Box::new(undoing) })
                }
                (Err(unfinished), _) => Err(unfinished),
            };
        }
        Ok(())
    }

    fn run(&self, step: Step) -> Result<(), DiskError> {
        let file = |at: usize| self.files.get(at);
        match step {
            Step::Draft => {
                let files = self.files.iter().map(|file| file.written.clone()).collect();
                disk::stage(&self.draft, &Record { files }.to_bytes(&self.root)?, &self.draft)
            }
            Step::Announce => {
                disk::rename(&self.draft, &self.journal)?;
                disk::sync_folder(&self.root);
                Ok(())
            }
            Step::Stage(at) => file(at).map_or(Ok(()), |file| {
                disk::stage(&file.written.staged()?, file.content, &file.written.target)
            }),
            Step::Keep(at) => file(at).map_or(Ok(()), |file| file.written.keep()),
            Step::Replace(at) => file(at).map_or(Ok(()), |file| file.written.replace()),
            Step::Forget(at) => file(at).map_or(Ok(()), |file| disk::remove(&file.written.kept()?)),
            Step::Close => disk::remove(&self.journal),
        }
    }
}
