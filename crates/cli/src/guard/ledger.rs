//! The ledger on disk. It is read whole, and written under a lock beside itself and renamed, so that two runs lose
//! nothing and a killed one leaves what was there.

use std::path::{Path, PathBuf};
use std::time::Duration;

use reana_images::{LEDGER_FILE, Ledger};

use crate::doors::disk::{self, DiskError, Locking};
use crate::error::Failure;
use crate::paths;

/// How often a ledger that another run has is tried for, and how long is waited between.
const ATTEMPTS: u32 = 200;
const PAUSE: Duration = Duration::from_millis(50);

/// Reads the ledger of a fleet; an empty one where there is none.
pub(crate) fn read(root: &Path, cwd: &Path) -> Result<Ledger, Failure> {
    let path = root.join(LEDGER_FILE);
    let text = match disk::read_text(&path) {
        Ok(text) => text,
        Err(DiskError::Absent { .. }) => return Ok(Ledger::default()),
        Err(error) => return Err(Failure::from_disk(&error)),
    };
    Ledger::parse(&text).map_err(|error| {
        Failure::input(format!("{}:{}: {error}", shown(&path, cwd), error.line)).hint(format!(
            "nothing was changed; take the last good one from git (`git checkout {LEDGER_FILE}`), or mend the line"
        ))
    })
}

/// Changes the ledger of a fleet, under its lock. What another run wrote meanwhile is seen and kept.
pub(crate) fn update(
    root: &Path,
    cwd: &Path,
    change: impl FnOnce(&mut Ledger) -> Result<(), Failure>,
) -> Result<PathBuf, Failure> {
    let _lock = lock(root)?;
    let mut ledger = read(root, cwd)?;
    let before = ledger.clone();
    change(&mut ledger)?;
    let path = root.join(LEDGER_FILE);
    if ledger != before {
        disk::write(&path, ledger.render().as_bytes()).map_err(|error| Failure::from_disk(&error))?;
    }
    Ok(path)
}

fn lock(root: &Path) -> Result<Option<disk::FolderLock>, Failure> {
    for _ in 0..ATTEMPTS {
        match disk::try_lock(root).map_err(|error| Failure::from_disk(&error))? {
            Locking::Got(lock) => return Ok(lock),
            Locking::Busy => std::thread::sleep(PAUSE),
        }
    }
    Err(Failure::input(format!("{}: another run of reana-lock is writing here", root.display()))
        .hint("wait for the other run, then try again"))
}

/// The ledger's path as the user sees it.
pub(crate) fn shown(path: &Path, cwd: &Path) -> String {
    paths::relative(path, cwd)
}
