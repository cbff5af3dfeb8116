//! Locks that are there already: found by what the command line names, read, and never solved.

use std::path::{Path, PathBuf};

use reana_lockfile::Lock;
use reana_model::{Requirement, Via};

use crate::args::CompileArgs;
use crate::doors::disk;
use crate::doors::env::Env;
use crate::error::Failure;
use crate::fleet::{self, FleetError, UnitKind};
use crate::lock::prepare::{self, Prepared};
use crate::paths;

/// The names that a folder's lock has where nothing else says so.
const NAMES: [&str; 2] = [fleet::DEFAULT_LOCK, "pylock.toml"];

/// A lock that was read.
pub(crate) struct Written {
    /// The component's name; empty for a lock that was named as a file.
    pub(crate) name: String,
    /// The lock's path.
    pub(crate) path: PathBuf,
    /// The lock as the user sees it.
    pub(crate) shown: String,
    /// What it says.
    pub(crate) lock: Lock,
}

/// The locks that a word of the command line stands for: a lock's file, a component's folder or name, a fleet.
/// At least one.
pub(crate) fn find(what: &str, env: &Env) -> Result<Vec<Written>, Failure> {
    let path = env.cwd.join(what);
    if disk::entry(&path) == disk::Entry::File {
        return Ok(vec![read(String::new(), &path, env)?]);
    }
    let plan = match fleet::discover(&[what.to_owned()], &env.cwd) {
        Ok(plan) => plan,
        Err(error @ FleetError::NothingToLock { .. }) => {
            // a lock without its manifest tells as much as another one
            let Some(lock) = lock_in(&path) else { return Err(Failure::from_fleet(&error)) };
            return Ok(vec![read(String::new(), &lock, env)?]);
        }
        Err(error) => return Err(Failure::from_fleet(&error)),
    };
    let mut found = Vec::new();
    for unit in &plan.units {
        let is_there = |path: &PathBuf| disk::entry(path) == disk::Entry::File;
        let lock = unit.lock.clone().filter(is_there).or_else(|| lock_in(&unit.folder));
        if let Some(lock) = lock {
            found.push(read(unit.name.clone(), &lock, env)?);
        }
    }
    if found.is_empty() {
        return Err(Failure::input(format!("{what}: there is no lock")).hint("`reana-lock compile` makes it"));
    }
    Ok(found)
}

fn lock_in(folder: &Path) -> Option<PathBuf> {
    let paths = NAMES.iter().map(|name| folder.join(name));
    paths.into_iter().find(|path| disk::entry(path) == disk::Entry::File)
}

fn read(name: String, path: &Path, env: &Env) -> Result<Written, Failure> {
    let path = disk::canonical(path).map_err(|error| Failure::from_disk(&error))?;
    let shown = paths::relative(&path, &disk::canonical(&env.cwd).unwrap_or_else(|_| env.cwd.clone()));
    let bytes = disk::read(&path).map_err(|error| Failure::from_disk(&error))?;
    let text = String::from_utf8(bytes).map_err(|_| Failure::input(format!("{shown}: not UTF-8 text")))?;
    let lock = reana_lockfile::parse(&text, shown.as_str());
    Ok(Written { name, path, shown, lock })
}

/// What the manifests of a lock say, by what its annotations call them.
#[derive(Default)]
pub(crate) struct Manifests {
    /// What is wanted.
    pub(crate) wanted: Vec<(Via, Requirement)>,
    /// Limits.
    pub(crate) limits: Vec<(Via, Requirement)>,
}

/// Reads the manifests that a lock names, if they are there.
///
/// # Errors
/// Where they can't be read any more; a lock is explained without them as well.
pub(crate) fn manifests(written: &Written, env: &Env) -> Result<Manifests, Failure> {
    let folder = written.path.parent().unwrap_or(Path::new("/"));
    let sources: Vec<String> = sources(&written.lock)
        .iter()
        .map(|source| folder.join(source))
        .filter(|path| disk::entry(path) == disk::Entry::File)
        .map(|path| path.to_string_lossy().into_owned())
        .collect();
    if sources.is_empty() {
        return Ok(Manifests::default());
    }
    let mut plan = fleet::discover(&sources, &env.cwd).map_err(|error| Failure::from_fleet(&error))?;
    plan.units.retain(|unit| matches!(unit.kind, UnitKind::Files(_)));
    let mut args = CompileArgs::default();
    args.output.output_file = Some(written.path.to_string_lossy().into_owned());
    let mut manifests = Manifests::default();
    for prepared in prepare::all(&plan, &args, env)? {
        let Prepared { request, sources, .. } = prepared;
        let named = |requirement: Requirement| {
            let via = sources.of(&requirement.origin).into_iter();
            via.map(move |via| (via, requirement.clone())).collect::<Vec<_>>()
        };
        manifests.wanted.extend(request.roots.into_iter().flat_map(named));
        manifests.limits.extend(request.constraints.into_iter().flat_map(named));
    }
    Ok(manifests)
}

/// A lock with what its manifests say of who wants what, where the lock has no place for that (PEP 751).
pub(crate) fn explained(written: &Written, manifests: &Manifests) -> Lock {
    let mut lock = written.lock.clone();
    if is_pylock(written) {
        for pin in &mut lock.pins {
            let own = manifests.wanted.iter().filter(|(_, requirement)| requirement.name == pin.name);
            pin.via.extend(own.map(|(via, _)| via.clone()));
        }
    }
    lock
}

/// Whether a lock is a `pylock.toml`, which knows less of reasons than a requirements file.
pub(crate) fn is_pylock(written: &Written) -> bool {
    reana_lockfile::pylock::is_file_name(&written.shown)
}

/// The manifests as a lock names them: in its header, else in its annotations.
fn sources(lock: &Lock) -> Vec<String> {
    let named: Vec<String> = lock.header.iter().flat_map(|header| header.sources.clone()).collect();
    if !named.is_empty() {
        return named;
    }
    let via = lock.pins.iter().flat_map(|pin| &pin.via).chain(lock.unnamed.iter().flat_map(|pin| &pin.via));
    let mut files: Vec<String> = via
        .filter_map(|via| match via {
            Via::Requirements(file) | Via::Project { file, .. } => Some(file.clone()),
            Via::Constraints(_) | Via::Package(_) => None,
        })
        .collect();
    files.sort();
    files.dedup();
    files
}
