//! Writing a bump: all files of all repositories or none, and with `--commit` one commit for each repository,
//! all of them built before any branch moves.

use std::path::PathBuf;

use super::changes::Changed;
use super::unfinished;
use crate::args::BumpArgs;
use crate::doors::clock;
use crate::doors::git::{Commit, Git, GitError};
use crate::error::Failure;
use crate::fleet::census::Census;
use crate::journal::{self, JournalError};

/// The commit's message where none is given.
const MESSAGE: &str = "chore(master): bump shared REANA packages as of {date}";

/// A repository with the changes in it. Components that lie in one repository together share a commit.
struct Repository<'c, 'm> {
    git: Git,
    changed: Vec<&'c Changed<'m>>,
}

/// Refuses manifests with changes that nobody has committed, and what `--commit` may not do; before anything is
/// written.
pub(crate) fn check(args: &BumpArgs, changed: &[Changed<'_>]) -> Result<(), Failure> {
    let mut wrong = Vec::new();
    let mut hints: Vec<&str> = Vec::new();
    for it in changed {
        let name = &it.member.name;
        let Some(git) = Git::of(&it.member.folder).map_err(|error| no_git(args, &error))? else {
            if args.commit {
                wrong.push(format!("{name}: it is no git repository, and can't be committed to"));
            }
            continue;
        };
        // What is committed must not hold what somebody else was about to change.
        let is_looked_at =
            |is_manifest: bool| if args.commit { true } else { is_manifest && !args.allow_dirty };
        let files: Vec<PathBuf> = it
            .files
            .iter()
            .filter(|file| is_looked_at(file.is_manifest) && file.before.is_some())
            .map(|file| file.path.clone())
            .collect();
        for file in files {
            if git.changed(std::slice::from_ref(&file)).map_err(|error| from_git(&error))? {
                let shown = it.files.iter().find(|known| known.path == file).map_or("", |known| &known.shown);
                wrong.push(format!("{shown}: it has uncommitted changes"));
                hints.push(if args.commit {
                    "commit or stash them first: `--commit` would commit them as well"
                } else {
                    "commit or stash them first, or give `--allow-dirty`"
                });
            }
        }
        if args.commit {
            let state = git.state(&git.top).map_err(|error| from_git(&error))?;
            match state.branch {
                None => {
                    wrong.push(format!("{name}: no branch is checked out, so there is nothing to commit to"));
                }
                Some(branch) if !args.on_default_branch && git.is_default(&branch) => {
                    wrong.push(format!("{name}: `{branch}` is the default branch"));
                    hints.push("make a branch first, or give `--on-default-branch`");
                }
                Some(_) => {}
            }
        }
    }
    if wrong.is_empty() {
        return Ok(());
    }
    hints.sort_unstable();
    hints.dedup();
    let failure = Failure::input(wrong.join("\n"));
    Err(hints.into_iter().fold(failure, Failure::hint))
}

/// Writes everything, and commits it where that is wanted: the commits' repositories and names.
pub(crate) fn write(
    args: &BumpArgs,
    census: &Census,
    changed: &[Changed<'_>],
) -> Result<Vec<(String, String)>, Failure> {
    let commits = if args.commit { build(args, changed)? } else { Vec::new() };
    if !commits.is_empty() {
        unfinished::note(&census.root, &commits)?;
    }
    let files = changed.iter().flat_map(|it| &it.files);
    let new: Vec<(PathBuf, Vec<u8>)> =
        files.clone().map(|file| (file.path.clone(), file.after.clone().into_bytes())).collect();
    if let Err(error) = journal::commit(&new, &census.root) {
        if !commits.is_empty() && !matches!(error, JournalError::Stopped { .. }) {
            unfinished::forget(&census.root)?;
        }
        return Err(Failure::from_journal(&error));
    }
    for (at, (_, commit)) in commits.iter().enumerate() {
        let Err(error) = commit.take() else { continue };
        let mut failure = from_git(&error);
        let mut is_undone = true;
        for (_, earlier) in commits.iter().take(at) {
            is_undone &= earlier.take_back().is_ok();
        }
        let old =
            files.clone().filter_map(|file| Some((file.path.clone(), file.before.clone()?.into_bytes())));
        let old: Vec<(PathBuf, Vec<u8>)> = old.collect();
        is_undone &= old.len() == new.len() && journal::commit(&old, &census.root).is_ok();
        is_undone = is_undone && unfinished::forget(&census.root).is_ok();
        failure = failure.hint(if is_undone {
            "nothing was changed: branches and files are as they were"
        } else {
            "not all could be taken back: look at `git status` and `git log` in each repository"
        });
        return Err(failure);
    }
    let mut made = Vec::new();
    for (name, commit) in commits {
        commit.settle().map_err(|error| {
            from_git(&error).hint("the commits are made; `git add` the changed files to set the index right")
        })?;
        made.push((name, commit.built.new));
    }
    if !made.is_empty() {
        unfinished::forget(&census.root)?;
    }
    Ok(made)
}

/// Builds all commits; no branch has moved yet.
fn build(args: &BumpArgs, changed: &[Changed<'_>]) -> Result<Vec<(String, Commit)>, Failure> {
    let mut repositories: Vec<Repository<'_, '_>> = Vec::new();
    for it in changed {
        let git = Git::of(&it.member.folder).map_err(|error| from_git(&error))?;
        let Some(git) = git else { continue };
        match repositories.iter_mut().find(|known| known.git == git) {
            Some(known) => known.changed.push(it),
            None => repositories.push(Repository { git, changed: vec![it] }),
        }
    }
    let message = message(args);
    let mut commits = Vec::new();
    for Repository { git, changed } in repositories {
        let files = changed.iter().flat_map(|it| &it.files);
        let files: Vec<(PathBuf, Vec<u8>)> =
            files.map(|file| (file.path.clone(), file.after.clone().into_bytes())).collect();
        let commit = git.build(&files, &message).map_err(|error| from_git(&error))?;
        let names: Vec<&str> = changed.iter().map(|it| it.member.name.as_str()).collect();
        commits.push((names.join(", "), commit));
    }
    Ok(commits)
}

/// The message, with `{date}` put in.
fn message(args: &BumpArgs) -> String {
    let now = clock::now().to_string();
    let date = now.split('T').next().unwrap_or_default();
    let template = args.message.as_deref().unwrap_or(MESSAGE);
    format!("{}\n", template.replace("{date}", date).trim_end())
}

fn no_git(args: &BumpArgs, error: &GitError) -> Failure {
    let failure = from_git(error);
    if args.commit { failure } else { failure.hint("`--allow-dirty` does without git") }
}

/// Errors of git.
fn from_git(error: &GitError) -> Failure {
    Failure::input(error.to_string())
}
