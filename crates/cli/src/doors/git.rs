//! The door to git, by its own program. What a repository's configuration could make it run is switched off
//! (hooks, pagers, monitors), it asks nothing, and it takes no lock for reading. Commits are built from objects:
//! no branch moves until all of them are there.
#![expect(clippy::disallowed_methods, reason = "git is a program that is run")]

use std::ffi::{OsStr, OsString};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde::{Deserialize, Serialize};

pub(crate) mod describe;
pub(crate) mod remote;

/// Variables that git needs to know whose it is. All others, `GIT_DIR` above all, are kept from it.
const KEPT: [&str; 17] = [
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SUDO_UID",
    "EMAIL",
    "XDG_CONFIG_HOME",
    "GIT_CONFIG_GLOBAL",
    "GIT_CONFIG_SYSTEM",
    "GIT_CONFIG_NOSYSTEM",
    "GIT_CEILING_DIRECTORIES",
    "GIT_AUTHOR_NAME",
    "GIT_AUTHOR_EMAIL",
    "GIT_AUTHOR_DATE",
    "GIT_COMMITTER_NAME",
    "GIT_COMMITTER_EMAIL",
    "GIT_COMMITTER_DATE",
];

/// What variables start with that are the user's own configuration (`safe.directory` in CI). OPTIONS go before it.
const CONFIGURING: [&str; 3] = ["GIT_CONFIG_COUNT", "GIT_CONFIG_KEY_", "GIT_CONFIG_VALUE_"];

const OPTIONS: [&str; 14] = [
    "--no-pager",
    "--literal-pathspecs",
    "-c",
    "core.hooksPath=/dev/null",
    "-c",
    "core.fsmonitor=false",
    "-c",
    "core.quotePath=false",
    "-c",
    "core.pager=cat",
    "-c",
    "gc.auto=0",
    "-c",
    "maintenance.auto=false",
];

/// Why git gave no answer.
#[derive(Debug, thiserror::Error)]
pub(crate) enum GitError {
    /// There is no such program, or it could not be started.
    #[error("git could not be run: {0}")]
    Program(std::io::Error),
    /// It failed.
    #[error("{}: git {what} failed: {said}", folder.display())]
    Failed {
        /// The repository.
        folder: PathBuf,
        /// Its command.
        what: String,
        /// What it said.
        said: String,
    },
    /// The head is no branch, so that there is nothing that a commit could move.
    #[error("{}: no branch is checked out", folder.display())]
    Detached {
        /// The repository.
        folder: PathBuf,
    },
    /// There is no commit yet.
    #[error("{}: there is no commit yet", folder.display())]
    Unborn {
        /// The repository.
        folder: PathBuf,
    },
}

/// A repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Git {
    /// The top of its work tree; absolute and without links.
    pub(crate) top: PathBuf,
    /// Its history was cut off, so that descriptions may lack their tag.
    pub(crate) is_shallow: bool,
}

/// How a repository stands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct State {
    /// The branch that is checked out; `None` where none is.
    pub(crate) branch: Option<String>,
    /// The commit that is checked out; `None` where there is none yet.
    pub(crate) head: Option<String>,
    /// Tracked files have uncommitted changes.
    pub(crate) is_dirty: bool,
}

/// A commit that was built for a branch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Commit {
    git: Git,
    /// What it is.
    pub(crate) built: Built,
}

/// A commit that was built from objects.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Built {
    /// The branch that it is for.
    branch: String,
    /// Where that branch was.
    old: String,
    /// Its name.
    pub(crate) new: String,
    /// Path, mode and blob of each file.
    files: Vec<(String, String, String)>,
}

/// What came of a commit that was built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    /// The branch has it.
    Taken,
    /// The branch is where it was, and the files are as the commit has them.
    Left,
    /// Somebody went on in another way.
    Overtaken,
}

impl Git {
    /// The repository that a folder is in; `None` where it is in none.
    pub(crate) fn of(folder: &Path) -> Result<Option<Self>, GitError> {
        let words = ["rev-parse", "--show-toplevel", "--is-shallow-repository"];
        let output = run(folder, &words, &[], &[])?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let mut lines = text.lines();
        match (output.success, lines.next()) {
            (true, Some(top)) if !top.is_empty() => {
                let top = std::fs::canonicalize(top).unwrap_or_else(|_| PathBuf::from(top));
                Ok(Some(Self { top, is_shallow: lines.next() == Some("true") }))
            }
            (false, _) if !output.said.contains("not a git repository") => {
                Err(failed(folder, "rev-parse", &output.said))
            }
            _ => Ok(None),
        }
    }

    fn ask(&self, words: &[&str]) -> Result<Vec<u8>, GitError> {
        self.ask_with(words, &[], &[])
    }

    fn ask_with(
        &self,
        words: &[&str],
        input: &[u8],
        variables: &[(&str, &OsStr)],
    ) -> Result<Vec<u8>, GitError> {
        let output = run(&self.top, words, input, variables)?;
        if output.success {
            return Ok(output.stdout);
        }
        Err(failed(&self.top, words.first().copied().unwrap_or_default(), &output.said))
    }

    fn line(&self, words: &[&str]) -> Result<String, GitError> {
        self.ask(words).map(|bytes| String::from_utf8_lossy(&bytes).trim_end().to_owned())
    }

    /// How the repository stands, looking at a folder of it alone.
    pub(crate) fn state(&self, folder: &Path) -> Result<State, GitError> {
        let path = folder.to_string_lossy();
        let words = [
            "status",
            "--porcelain=v2",
            "--branch",
            "-z",
            "--untracked-files=no",
            "--ignore-submodules=all",
            "--",
            &path,
        ];
        let bytes = self.ask(&words)?;
        let text = String::from_utf8_lossy(&bytes);
        let mut state = State::default();
        for record in text.split('\0').filter(|record| !record.is_empty()) {
            match record.strip_prefix("# ") {
                None => state.is_dirty = true,
                Some(header) => match header.split_once(' ') {
                    Some(("branch.oid", oid)) if oid != "(initial)" => state.head = Some(oid.to_owned()),
                    Some(("branch.head", name)) if name != "(detached)" => {
                        state.branch = Some(name.to_owned());
                    }
                    _ => {}
                },
            }
        }
        Ok(state)
    }

    /// Which of these files, absolute, have changes that no commit has (new files that are not tracked included).
    pub(crate) fn changed(&self, files: &[PathBuf]) -> Result<bool, GitError> {
        let paths: Vec<String> = files.iter().map(|file| file.to_string_lossy().into_owned()).collect();
        let mut words = vec!["status", "--porcelain=v1", "-z", "--untracked-files=all", "--"];
        words.extend(paths.iter().map(String::as_str));
        Ok(!self.ask(&words)?.is_empty())
    }

    /// The nearest tag and how far it is (`0.6.0-36-gb702986`), else the commit; `None` where there is no commit.
    pub(crate) fn description(&self) -> Option<String> {
        self.line(&["describe", "--tags", "--always", "--abbrev=7"]).ok().filter(|text| !text.is_empty())
    }

    /// When a file was last committed, in seconds since 1970.
    pub(crate) fn committed(&self, file: &Path) -> Option<i64> {
        let path = file.to_string_lossy();
        self.line(&["log", "-1", "--format=%ct", "--", &path]).ok()?.parse().ok()
    }

    /// Whether a branch is the default one: that of `origin`, else `master` or `main`.
    pub(crate) fn is_default(&self, branch: &str) -> bool {
        let origin = self.line(&["symbolic-ref", "--quiet", "--short", "refs/remotes/origin/HEAD"]);
        match origin.ok().as_deref().and_then(|name| name.strip_prefix("origin/")) {
            Some(default) => branch == default,
            None => matches!(branch, "master" | "main"),
        }
    }

    /// Builds a commit on the branch that is checked out, with these files (absolute) changed and nothing else:
    /// what is staged or changed otherwise stays as it is. No hook runs, and nothing is signed.
    pub(crate) fn build(&self, files: &[(PathBuf, Vec<u8>)], message: &str) -> Result<Commit, GitError> {
        let state = self.state(&self.top)?;
        let branch = state.branch.ok_or_else(|| GitError::Detached { folder: self.top.clone() })?;
        let old = state.head.ok_or_else(|| GitError::Unborn { folder: self.top.clone() })?;
        let scratch = tempfile::tempdir().map_err(GitError::Program)?;
        let index = scratch.path().join("index");
        let own: [(&str, &OsStr); 1] = [("GIT_INDEX_FILE", index.as_os_str())];
        self.ask_with(&["read-tree", &old], &[], &own)?;
        let mut written = Vec::new();
        for (file, bytes) in files {
            let path = file.strip_prefix(&self.top).unwrap_or(file).to_string_lossy().into_owned();
            let blob = self.ask_with(&["hash-object", "-w", "--stdin", "--path", &path], bytes, &[])?;
            let blob = String::from_utf8_lossy(&blob).trim().to_owned();
            let entry = self.line(&["ls-tree", &old, "--", &path])?;
            let mode = entry.split(' ').next().filter(|mode| mode.starts_with("100")).unwrap_or("100644");
            let info = format!("{mode},{blob},{path}");
            self.ask_with(&["update-index", "--add", "--cacheinfo", &info], &[], &own)?;
            written.push((path, mode.to_owned(), blob));
        }
        let tree = self.ask_with(&["write-tree"], &[], &own)?;
        let tree = String::from_utf8_lossy(&tree).trim().to_owned();
        let words = ["commit-tree", "--no-gpg-sign", &tree, "-p", &old, "-F", "-"];
        let new = self.ask_with(&words, message.as_bytes(), &[])?;
        let new = String::from_utf8_lossy(&new).trim().to_owned();
        Ok(Commit { git: self.clone(), built: Built { branch, old, new, files: written } })
    }
}

impl Commit {
    /// One that an earlier run built.
    pub(crate) fn again(git: Git, built: Built) -> Self {
        Self { git, built }
    }

    /// What came of it.
    pub(crate) fn standing(&self) -> Result<Standing, GitError> {
        let Built { branch, old, new, files } = &self.built;
        let is_name = |name: &String| !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_hexdigit());
        let state = self.git.state(&self.git.top)?;
        if !is_name(old) || !is_name(new) || state.branch.as_ref() != Some(branch) {
            return Ok(Standing::Overtaken);
        }
        if state.head.as_ref() == Some(new) {
            return Ok(Standing::Taken);
        }
        let line = self.line(&["rev-list", "--parents", "--max-count=1", new]);
        if state.head.as_ref() != Some(old) || line != Some(format!("{new} {old}")) {
            return Ok(Standing::Overtaken);
        }
        let is_written = |(path, _, blob): &(String, String, String)| {
            self.line(&["hash-object", "--", path]).as_ref() == Some(blob)
        };
        Ok(if files.iter().all(is_written) { Standing::Left } else { Standing::Overtaken })
    }

    /// git's answer, where it has one.
    fn line(&self, words: &[&str]) -> Option<String> {
        self.git.line(words).ok()
    }

    /// Moves the branch to the commit, if it still is where it was.
    pub(crate) fn take(&self) -> Result<(), GitError> {
        self.update(&self.built.new, &self.built.old)
    }

    /// Moves the branch back.
    pub(crate) fn take_back(&self) -> Result<(), GitError> {
        self.update(&self.built.old, &self.built.new)
    }

    fn update(&self, to: &str, from: &str) -> Result<(), GitError> {
        let name = format!("refs/heads/{}", self.built.branch);
        let words = ["update-ref", "--create-reflog", "-m", "reana-lock bump", &name, to, from];
        self.git.ask(&words).map(|_| ())
    }

    /// Tells the index that the files are as the commit has them.
    pub(crate) fn settle(&self) -> Result<(), GitError> {
        for (path, mode, blob) in &self.built.files {
            let info = format!("{mode},{blob},{path}");
            self.git.ask(&["update-index", "--add", "--cacheinfo", &info])?;
        }
        Ok(())
    }
}

struct Output {
    success: bool,
    stdout: Vec<u8>,
    said: String,
}

fn failed(folder: &Path, what: &str, said: &str) -> GitError {
    let said = said.lines().next().unwrap_or_default().trim().to_owned();
    GitError::Failed { folder: folder.to_owned(), what: what.to_owned(), said }
}

/// git, with its options and an environment that holds nothing but what was chosen for it.
fn program(first: &[&OsStr], also_kept: &[&str]) -> Command {
    let mut command = Command::new("git");
    let is_kept = |name: &OsString| {
        let name = name.to_string_lossy();
        KEPT.iter().chain(also_kept).any(|kept| *kept == name)
            || CONFIGURING.iter().any(|start| name.starts_with(start))
    };
    let kept: Vec<(OsString, OsString)> = std::env::vars_os().filter(|(name, _)| is_kept(name)).collect();
    command
        .args(first)
        .args(OPTIONS)
        .env_clear()
        .envs(kept)
        .env("GIT_OPTIONAL_LOCKS", "0")
        .env("GIT_TERMINAL_PROMPT", "0")
        .env("GIT_NO_LAZY_FETCH", "1")
        .env("GIT_EDITOR", ":")
        .env("LC_ALL", "C");
    command
}

fn run(
    folder: &Path,
    words: &[&str],
    input: &[u8],
    variables: &[(&str, &OsStr)],
) -> Result<Output, GitError> {
    let mut command = program(&[OsStr::new("-C"), folder.as_os_str()], &[]);
    command
        .args(words)
        .envs(variables.iter().copied())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().map_err(GitError::Program)?;
    if let Some(mut stdin) = child.stdin.take() {
        // One that doesn't listen says in its own words why.
        let _closed = stdin.write_all(input);
    }
    let output = child.wait_with_output().map_err(GitError::Program)?;
    Ok(Output {
        success: output.status.success(),
        stdout: output.stdout,
        said: String::from_utf8_lossy(&output.stderr).into_owned(),
    })
}
