//! What git says of a commit that an image is built from, and of files that no commit has.

use std::path::{Path, PathBuf};

use super::{Git, GitError, run};

/// A repository's answer about the commit that is checked out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Described {
    /// As `git describe --tags --long --dirty` has it, with as few digits of the commit as git needs, at least seven.
    pub(crate) description: String,
    /// The commit, whole.
    pub(crate) commit: String,
    /// Files that are neither tracked nor ignored.
    pub(crate) untracked: usize,
}

/// Why there is no description.
#[derive(Debug, thiserror::Error)]
pub(crate) enum DescribeError {
    /// The folder is no repository's top.
    #[error("{}: no git repository of its own{}", folder.display(), outer.as_ref().map_or_else(String::new, |outer| format!(" (it is inside of {}, which says nothing about it)", outer.display())))]
    NoRepository {
        /// The folder.
        folder: PathBuf,
        /// The repository that it is in.
        outer: Option<PathBuf>,
    },
    /// History was cut off: distances are guesses, and tags may be missing.
    #[error("{}: a shallow clone, whose history does not tell which tag is the nearest", folder.display())]
    Shallow {
        /// The folder.
        folder: PathBuf,
    },
    /// Nothing to describe.
    #[error("{}: there is no commit yet", folder.display())]
    Unborn {
        /// The folder.
        folder: PathBuf,
    },
    /// No tag leads to the commit.
    #[error("{}: no tag is in the commit's history", folder.display())]
    NoTag {
        /// The folder.
        folder: PathBuf,
        /// Whether the repository has tags elsewhere.
        has_tags: bool,
    },
    /// git refuses a repository of another user.
    #[error("{}: git does not trust a repository that belongs to another user", folder.display())]
    Untrusted {
        /// The folder.
        folder: PathBuf,
    },
    /// git gave no answer.
    #[error(transparent)]
    Git(#[from] GitError),
}

/// Describes the commit that is checked out in a folder, which must be the top of a repository (or of one of its
/// further work trees, or a bare one): what is around it describes something else.
pub(crate) fn describe(folder: &Path) -> Result<Described, DescribeError> {
    let git = own(folder)?;
    if git.is_shallow {
        return Err(DescribeError::Shallow { folder: folder.to_owned() });
    }
    let commit = git.line(&["rev-parse", "--verify", "--quiet", "HEAD^{commit}"]);
    let commit = commit.map_err(|_| DescribeError::Unborn { folder: folder.to_owned() })?;
    let mut words = vec!["describe", "--tags", "--long", "--abbrev=7"];
    let has_work_tree = git.has_work_tree()?;
    if has_work_tree {
        words.push("--dirty");
    }
    let description = match git.line(&words) {
        Ok(description) => description,
        Err(GitError::Failed { said, .. })
            if ["No names found", "No tags can describe", "No annotated tags"]
                .iter()
                .any(|words| said.contains(words)) =>
        {
            let has_tags = git.line(&["tag", "--list"]).is_ok_and(|tags| !tags.is_empty());
            return Err(DescribeError::NoTag { folder: folder.to_owned(), has_tags });
        }
        Err(error) => return Err(error.into()),
    };
    let untracked = if has_work_tree { git.others(Others::Untracked)?.len() } else { 0 };
    Ok(Described { description, commit, untracked })
}

/// The repository whose top a folder is.
pub(crate) fn own(folder: &Path) -> Result<Git, DescribeError> {
    let words =
        ["rev-parse", "--is-bare-repository", "--is-shallow-repository", "--absolute-git-dir", "--show-cdup"];
    let output = run(folder, &words, &[], &[])?;
    let said = output.said.lines().next().unwrap_or_default().trim();
    let no_repository = |outer| DescribeError::NoRepository { folder: folder.to_owned(), outer };
    if !output.success {
        if said.contains("dubious ownership") {
            return Err(DescribeError::Untrusted { folder: folder.to_owned() });
        }
        // A `.git` that leads nowhere (one work tree of several, copied alone) is told in git's own words.
        if said.contains("not a git repository (or any") {
            return Err(no_repository(None));
        }
        return Err(super::failed(folder, "rev-parse", &output.said).into());
    }
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let mut lines = text.lines();
    let mut line = || lines.next().unwrap_or_default().to_owned();
    let (is_bare, is_shallow, git_dir, up) = (line() == "true", line() == "true", line(), line());
    let real = |path: &Path| std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let top = if is_bare { real(Path::new(&git_dir)) } else { real(&folder.join(&up)) };
    if top != real(folder) {
        return Err(no_repository(Some(top)));
    }
    Ok(Git { top, is_shallow })
}

/// Where a repository was cloned from, as people visit it: without credentials, and `git@host:path` as an address.
pub(crate) fn origin(folder: &Path) -> Option<String> {
    let text = own(folder).ok()?.line(&["config", "--get", "remote.origin.url"]).ok()?;
    // What stands behind the path may be a token, and labels are for everybody.
    let text = text.trim().split(['?', '#']).next()?;
    if let Some((scheme, rest)) = text.split_once("://") {
        let scheme = if scheme == "ssh" || scheme == "git" { "https" } else { scheme };
        let (host, path) = rest.split_once('/')?;
        let host = host.rsplit('@').next()?;
        let is_web = matches!(scheme, "http" | "https");
        return (is_web && !text.contains(char::is_whitespace))
            .then(|| format!("{scheme}://{host}/{}", path.trim_end_matches(".git")));
    }
    let (host, path) = text.split_once(':')?;
    let host = host.rsplit('@').next()?;
    let is_host = host.contains('.') && !text.contains(char::is_whitespace) && !host.contains('/');
    is_host.then(|| format!("https://{host}/{}", path.trim_end_matches(".git")))
}

/// Which files that no commit has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Others {
    /// Neither tracked nor ignored.
    Untracked,
    /// Ignored.
    Ignored,
}

impl Git {
    fn has_work_tree(&self) -> Result<bool, GitError> {
        Ok(self.line(&["rev-parse", "--is-inside-work-tree"])? == "true")
    }

    /// Files that git does not track, relative to the top.
    pub(crate) fn others(&self, which: Others) -> Result<Vec<Vec<u8>>, GitError> {
        let mut words = vec!["ls-files", "-z", "--others", "--exclude-standard"];
        if which == Others::Ignored {
            words.push("--ignored");
        }
        Ok(records(&self.ask(&words)?).map(<[u8]>::to_vec).collect())
    }

    /// The submodules that the index has: path and commit.
    pub(crate) fn submodules(&self) -> Result<Vec<(Vec<u8>, String)>, GitError> {
        let bytes = self.ask(&["ls-files", "-z", "--stage"])?;
        let submodule = |record: &[u8]| {
            let tab = record.iter().position(|byte| *byte == b'\t')?;
            let (head, path) = record.split_at_checked(tab)?;
            let head = std::str::from_utf8(head).ok()?;
            let commit = head.strip_prefix("160000 ")?.split(' ').next()?;
            Some((path.get(1..)?.to_vec(), commit.to_owned()))
        };
        Ok(records(&bytes).filter_map(submodule).collect())
    }
}

fn records(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    bytes.split(|byte| *byte == 0).filter(|record| !record.is_empty())
}
