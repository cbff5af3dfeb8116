//! The files of a build's context, and what git knows of them.

use std::collections::BTreeSet;

use reana_images::{Dockerignore, FileInput, Quoted};

use super::Gathered;
use crate::doors::disk::{self, DiskError, Entry};
use crate::doors::git::describe::{self, DescribeError, Others};
use crate::doors::tree::{self, Found, Look};
use crate::error::Failure;
use crate::fleet::census::Member;

/// The ledger. Recording a build must not change what was recorded.
const LEDGER: &[u8] = b"reana-images.toml";

/// The folder that locally built shared packages are copied into.
const MODULES: &str = "modules";

/// The text of a repository's Dockerfile.
pub(super) fn dockerfile(member: &Member) -> Result<String, Failure> {
    let path = member.folder.join("Dockerfile");
    match disk::read_text(&path) {
        Ok(text) => Ok(text),
        Err(DiskError::Absent { .. }) => Err(Failure::input(format!(
            "{}: no image is built from it: there is no Dockerfile",
            if member.shown.is_empty() { &member.name } else { &member.shown }
        ))),
        Err(error) => Err(Failure::from_disk(&error)),
    }
}

/// Reads what the build sees of the work tree.
pub(super) fn fill(member: &Member, gathered: &mut Gathered) -> Result<(), Failure> {
    let disk = |error| Failure::from_disk(&error);
    let patterns = patterns(member)?;
    let look = |path: &[u8]| look(&patterns, path);
    let found = tree::read(&member.folder, &look).map_err(disk)?;
    gathered.inputs.dockerfile = Some(tree::hash(&member.folder.join("Dockerfile")).map_err(disk)?);
    for (path, found) in found {
        let input = match found {
            Found::File { is_executable, sha256 } => FileInput::File { is_executable, sha256 },
            Found::Link(target) => FileInput::Link(target),
            Found::Other(kind) => {
                let path = Quoted(&path);
                gathered.notes.push(format!(
                    "{path} is a {kind}, which does not count: what comes out of it can't be known"
                ));
                continue;
            }
        };
        gathered.inputs.files.insert(path, input);
    }
    fill_from_git(member, gathered, &look)?;
    gathered.modules = modules(gathered);
    Ok(())
}

/// The patterns of `Dockerfile.dockerignore`, else of `.dockerignore`.
fn patterns(member: &Member) -> Result<Dockerignore, Failure> {
    for name in ["Dockerfile.dockerignore", ".dockerignore"] {
        let read =
            disk::read_if_there(&member.folder.join(name)).map_err(|error| Failure::from_disk(&error))?;
        let Some(bytes) = read else { continue };
        let shown = member.path_shown(name);
        return Dockerignore::parse(&String::from_utf8_lossy(&bytes)).map_err(|error| {
            Failure::input(format!("{shown}:{error}")).hint("a builder refuses it, too: mend the pattern")
        });
    }
    Ok(Dockerignore::default())
}

fn look(patterns: &Dockerignore, path: &[u8]) -> Look {
    if path.rsplit(|byte| *byte == b'/').next() == Some(b".git") || path == LEDGER {
        return Look::Prune;
    }
    match patterns.hides(&String::from_utf8_lossy(path)) {
        false => Look::Take,
        true if patterns.has_exceptions() => Look::Pass,
        true => Look::Prune,
    }
}

/// Submodules, and which of the files git ignores or does not track. A folder without a repository of its own has
/// none of these.
fn fill_from_git(
    member: &Member,
    gathered: &mut Gathered,
    look: &dyn Fn(&[u8]) -> Look,
) -> Result<(), Failure> {
    // Nobody needs git for a plain folder.
    if disk::entry(&member.folder.join(".git")) == Entry::Absent {
        return Ok(());
    }
    let git = match describe::own(&member.folder) {
        Ok(git) => git,
        Err(DescribeError::NoRepository { .. }) => return Ok(()),
        Err(error) => return Err(Failure::from_describe(&error)),
    };
    let failed = |error| Failure::from_git(&error);
    let submodules = git.submodules().map_err(failed)?;
    let is_seen = |path: &[u8]| look(path) == Look::Take;
    gathered.inputs.submodules = submodules.into_iter().filter(|(path, _)| is_seen(path)).collect();
    let counts = |paths: Vec<Vec<u8>>| -> Vec<Vec<u8>> {
        paths.into_iter().filter(|path| gathered.inputs.files.contains_key(path)).collect()
    };
    let ignored = counts(git.others(Others::Ignored).map_err(failed)?);
    let untracked = counts(git.others(Others::Untracked).map_err(failed)?);
    (gathered.ignored, gathered.untracked) = (ignored, untracked);
    Ok(())
}

/// What is in `modules/`, if the build sees any of it.
fn modules(gathered: &Gathered) -> Vec<String> {
    let prefix = format!("{MODULES}/");
    let paths = gathered.inputs.files.keys().chain(gathered.inputs.submodules.keys());
    let inside = paths.filter_map(|path| path.strip_prefix(prefix.as_bytes()));
    let first = inside.filter_map(|path| path.split(|byte| *byte == b'/').next());
    // An empty folder is kept in a repository by such a file.
    let kept = first.filter(|name| !name.starts_with(b"."));
    kept.map(|name| Quoted(name).to_string()).collect::<BTreeSet<_>>().into_iter().collect()
}
