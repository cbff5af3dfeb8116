//! What a run of `bump --commit` that was stopped has left: files that are written, and commits that no branch has yet.
//!
//! Commits can't be made all in one step. So what is to be committed is noted beside the fleet's journal before the
//! first file is written, and the note goes when the last branch has moved. A later `bump --commit` makes what is left.

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::doors::disk::{self, DiskError};
use crate::doors::git::{Built, Commit, Git, GitError, Standing};
use crate::error::Failure;
use crate::fleet::census::Census;

/// The note's name, in the fleet's folder.
const FILE: &str = ".reana-lock.commits";

/// The version of the note's format.
const FORMAT: u32 = 1;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Note {
    format: u32,
    repositories: Vec<Noted>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Noted {
    /// The components in the repository, as messages name them: `a, b`.
    name: String,
    commit: Built,
}

/// Notes what is to be committed.
pub(super) fn note(root: &Path, commits: &[(String, Commit)]) -> Result<(), Failure> {
    let noted =
        |(name, commit): &(String, Commit)| Noted { name: name.clone(), commit: commit.built.clone() };
    let note = Note { format: FORMAT, repositories: commits.iter().map(noted).collect() };
    let mut bytes = serde_json::to_vec_pretty(&note).unwrap_or_default();
    bytes.push(b'\n');
    disk::write(&root.join(FILE), &bytes).map_err(|error| from_disk(&error).hint("nothing was changed"))
}

/// Takes the note away.
pub(super) fn forget(root: &Path) -> Result<(), Failure> {
    disk::remove(&root.join(FILE)).map_err(|error| from_disk(&error))
}

/// What a run that does not commit says of a note in the fleet's folder.
pub(crate) fn told(root: &Path) -> Option<String> {
    let note = read(root).ok()??;
    let names: Vec<&str> = note.repositories.iter().map(|noted| noted.name.as_str()).collect();
    Some(format!(
        "a run of `bump --commit` was stopped, and may not have committed what it wrote in {}; \
         `reana-lock bump --commit` commits what is left",
        names.join(", ")
    ))
}

/// What a run of `bump` that does not commit says of commits that are left.
pub(crate) fn told_of(left: &[(String, Commit)]) -> String {
    let names: Vec<&str> = left.iter().map(|(name, _)| name.as_str()).collect();
    format!(
        "a run of `bump --commit` was stopped: what it wrote is not committed in {}; \
         `reana-lock bump --commit` commits it",
        names.join(", ")
    )
}

/// The commits that are left, with the components' names. Where nothing is left to do, the note goes.
pub(crate) fn left(census: &Census) -> Result<Vec<(String, Commit)>, Failure> {
    let Some(note) = read(&census.root)? else { return Ok(Vec::new()) };
    let mut left = Vec::new();
    for Noted { name, commit } in note.repositories {
        let first = name.split(", ").next().unwrap_or_default();
        let Some(member) = census.members.iter().find(|member| member.name == first) else { continue };
        let Some(git) = Git::of(&member.folder).map_err(|error| from_git(&error))? else { continue };
        let commit = Commit::again(git, commit);
        match commit.standing().map_err(|error| from_git(&error))? {
            Standing::Left => left.push((name, commit)),
            // The run may have been stopped between the branch and the index.
            Standing::Taken => commit.settle().map_err(|error| from_git(&error))?,
            Standing::Overtaken => {}
        }
    }
    if left.is_empty() {
        forget(&census.root)?;
    }
    Ok(left)
}

/// Makes the commits that are left: the repositories and the commits' names.
pub(crate) fn finish(root: &Path, left: &[(String, Commit)]) -> Result<Vec<(String, String)>, Failure> {
    let mut made = Vec::new();
    for (name, commit) in left {
        let done = commit.take().and_then(|()| commit.settle());
        done.map_err(|error| from_git(&error).hint("run it again to commit what is left"))?;
        made.push((name.clone(), commit.built.new.clone()));
    }
    forget(root)?;
    Ok(made)
}

fn read(root: &Path) -> Result<Option<Note>, Failure> {
    let path = root.join(FILE);
    let Some(bytes) = disk::read_if_there(&path).map_err(|error| from_disk(&error))? else { return Ok(None) };
    let damaged = |reason: &str| {
        Failure::input(format!("{}: not a note of `reana-lock bump --commit`: {reason}", path.display()))
            .hint("look at `git status` in each repository, then remove the file")
    };
    let note: Note = serde_json::from_slice(&bytes).map_err(|error| damaged(&error.to_string()))?;
    if note.format == FORMAT {
        Ok(Some(note))
    } else {
        Err(damaged(&format!("its format is {}, and {FORMAT} is known here", note.format)))
    }
}

fn from_disk(error: &DiskError) -> Failure {
    Failure::from_disk(error)
}

fn from_git(error: &GitError) -> Failure {
    Failure::input(error.to_string())
}
