//! Library errors become words, hints and an exit code here, and only here.

use std::sync::Arc;

use reana_images::TagError;
use reana_index::{Error, FetchError};
use reana_manifest::{Problem, ProblemKind};
use reana_model::PackageName;
use reana_registry::NoAnswer;
use reana_resolver::SolveError;

use crate::doors::cluster::ClusterError;
use crate::doors::disk::DiskError;
use crate::doors::git::GitError;
use crate::doors::git::describe::DescribeError;
use crate::doors::git::remote::RemoteError;
use crate::exit::Exit;
use crate::fleet::FleetError;
use crate::journal::JournalError;
use crate::lock::catalog::FolderError;
use crate::lock::local::LocalError;
use crate::lock::repositories::RepositoryError;

/// Why a run failed, as the user reads it.
#[derive(Clone, Debug)]
pub(crate) struct Failure {
    /// The exit code.
    pub(crate) exit: Exit,
    /// What happened, where and why.
    pub(crate) message: String,
    /// What to do about it.
    pub(crate) hints: Vec<String>,
}

impl Failure {
    /// Wrong usage or bad input.
    pub(crate) fn input(message: impl Into<String>) -> Self {
        Self { exit: Exit::Input, message: message.into(), hints: Vec::new() }
    }

    /// An answer could not be had.
    pub(crate) fn no_answer(message: impl Into<String>) -> Self {
        Self { exit: Exit::NoAnswer, message: message.into(), hints: Vec::new() }
    }

    /// A fault of reana-lock itself.
    pub(crate) fn internal(message: impl Into<String>) -> Self {
        Self { exit: Exit::Internal, message: message.into(), hints: Vec::new() }
    }

    /// Adds what to do about it.
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }
}

impl Failure {
    /// The index client's errors.
    pub(crate) fn from_index(error: &reana_index::Error) -> Self {
        let message = error.to_string();
        match error {
            Error::Fetch { kind, .. } => Self { exit: exit_of(kind), message, hints: hint_of(kind) },
            Error::Undated { .. } => Self::no_answer(message)
                .hint("`--undated allow` takes files without an upload time as old enough"),
            Error::Unreadable { .. } => Self::no_answer(message)
                .hint("only a build can tell: name the package in `--allow-build NAME`, which runs its code"),
            Error::Invalid { .. } | Error::Setup { .. } => Self::input(message),
            Error::Damaged(_) => Self::no_answer(message).hint("run it again: what was lost is fetched anew"),
            Error::Internal(_) => Self::internal(message),
        }
    }

    /// The resolver's errors. A catalog's errors come back as what they were.
    pub(crate) fn from_solve(error: &SolveError) -> Self {
        let message = error.to_string();
        match error {
            SolveError::NoSolution(_) | SolveError::Limit { .. } => Self::no_solution(message),
            SolveError::UnknownPackage { .. } => Self::no_solution(message)
                .hint("is the name spelled right, and is `--index-url` or `--extra-index-url` the index that has it?"),
            SolveError::NoUsableFile { .. } => Self::no_solution(message)
                .hint("choose another target (`--python-version`, `--platform`), or loosen the bounds"),
            SolveError::Unreadable { name, .. } => Self::no_answer(message)
                .hint(format!(
                    "`--allow-build {name}` builds it, which runs its code; `--skip-unreadable {name}` passes over \
                     such versions"
                )),
            SolveError::Catalog { name, source } => Self::from_catalog(name, source.as_ref()),
        }
    }

    fn from_catalog(name: &PackageName, source: &(dyn std::error::Error + Send + Sync + 'static)) -> Self {
        let mut failure = if let Some(error) = source.downcast_ref::<Arc<Error>>() {
            Self::from_index(error)
        } else if let Some(error) = source.downcast_ref::<Arc<RepositoryError>>() {
            Self::from_repository(error)
        } else if let Some(error) = source.downcast_ref::<FolderError>() {
            let failure = Self::input(error.to_string());
            match error {
                FolderError::NeedsBuild { name, .. } => {
                    failure.hint(format!("`--allow-build {name}` builds it, which runs its code"))
                }
                _ => failure,
            }
        } else {
            Self::no_answer(source.to_string())
        };
        failure.message = format!("{name} could not be looked up: {}", failure.message);
        failure
    }

    /// Repositories that requirements name.
    fn from_repository(error: &RepositoryError) -> Self {
        let no_answer = Self::no_answer(error.to_string());
        match error {
            RepositoryError::Address { .. } => Self::input(error.to_string()),
            RepositoryError::NotOwn(_) => {
                Self::input(error.to_string()).hint("require it yourself, if it is to be trusted")
            }
            RepositoryError::Offline { .. } => {
                no_answer.hint("run once without `--offline`, so that the cache has it")
            }
            RepositoryError::NoRevision { .. } => {
                no_answer.hint("is the name spelled right, and was it pushed?")
            }
            RepositoryError::Empty(_) => no_answer.hint("name a branch, a tag or a commit: `…@NAME`"),
            RepositoryError::Remote { error: RemoteError::Program(_), .. } => {
                no_answer.hint("install git: repositories are read by it")
            }
            RepositoryError::Remote { error, .. } if error.is_refusal() => no_answer.hint(
                "nobody is asked for a password: give git a credential helper, or ssh a key in its agent",
            ),
            RepositoryError::Remote { .. } => {
                no_answer.hint("does `git ls-remote` of that address work here?")
            }
        }
    }

    /// Nothing satisfies everything.
    pub(crate) fn no_solution(message: String) -> Self {
        Self { exit: Exit::NoSolution, message, hints: Vec::new() }
    }
}

/// Bytes that are not what was promised, and addresses that are none, are bad input; the rest is no answer.
fn exit_of(kind: &FetchError) -> Exit {
    match kind {
        FetchError::Address { .. } => Exit::Input,
        FetchError::Hash { .. }
        | FetchError::Status { .. }
        | FetchError::Timeout
        | FetchError::Connect { .. }
        | FetchError::Truncated { .. }
        | FetchError::TooLarge { .. }
        | FetchError::NotAnIndexPage { .. }
        | FetchError::ApiVersion(_)
        | FetchError::Offline
        | FetchError::NotFound
        | FetchError::File { .. }
        | FetchError::Http { .. } => Exit::NoAnswer,
    }
}

fn hint_of(kind: &FetchError) -> Vec<String> {
    let hint = match kind {
        FetchError::Status { code: 401 | 403 } => {
            "give credentials in netrc, in the index's URL, by REANA_LOCK_INDEX_<NAME>_USERNAME and _PASSWORD, or by \
             `--keyring-provider subprocess`; an index that refuses is never passed over"
        }
        FetchError::Hash { .. } => {
            "the file was altered on its way or at its place: don't use it before you know why"
        }
        FetchError::Offline => "run once without `--offline`, so that the cache has it",
        FetchError::NotAnIndexPage { .. } => "is this the address of an index (it often ends in `/simple/`)?",
        FetchError::Connect { .. } | FetchError::Timeout => "is the network up, and is a proxy needed?",
        FetchError::Status { .. }
        | FetchError::Truncated { .. }
        | FetchError::TooLarge { .. }
        | FetchError::ApiVersion(_)
        | FetchError::NotFound
        | FetchError::Address { .. }
        | FetchError::File { .. }
        | FetchError::Http { .. } => return Vec::new(),
    };
    vec![hint.to_owned()]
}

impl Failure {
    /// Errors of finding what is to be locked.
    pub(crate) fn from_fleet(error: &FleetError) -> Self {
        let failure = Self::input(error.to_string());
        match error {
            FleetError::NothingToLock { seen, .. } if !seen.is_empty() => failure
                .hint("name the folder itself to lock it, or list it under `components` in reana-lock.toml"),
            FleetError::HeaderSourceAbsent { .. } => failure.hint(
                "name the manifests that count: `reana-lock compile FILE... -o requirements.txt`, or `sources` in \
                 reana-lock.toml",
            ),
            FleetError::TwoFleets { .. } => failure.hint("run once for each"),
            FleetError::NoSuch { .. }
            | FleetError::NotAFile { .. }
            | FleetError::NotAFolder { .. }
            | FleetError::UnknownName { .. }
            | FleetError::Ambiguous { .. }
            | FleetError::Mixed { .. }
            | FleetError::NothingToLock { .. }
            | FleetError::NoFleet { .. }
            | FleetError::Listed { .. }
            | FleetError::SourceAbsent { .. }
            | FleetError::Config(_)
            | FleetError::Disk(_) => failure,
        }
    }

    /// Checkouts that can't stand for releases.
    pub(crate) fn from_local(error: &LocalError) -> Self {
        let failure = Self::input(error.to_string());
        match error {
            LocalError::Manifest { .. } => failure.hint(
                "a checkout stands for a release whose name, version and requirements its manifest says",
            ),
            LocalError::Unused { .. } => failure.hint("leave it out, or name the components that require it"),
            LocalError::Disk(_) | LocalError::Twice { .. } => failure,
        }
    }

    /// Errors of the file system: what was named is not there, or may not be used.
    pub(crate) fn from_disk(error: &DiskError) -> Self {
        match error {
            DiskError::Changed { .. } => {
                Self::no_answer(error.to_string()).hint("run again when nothing writes there")
            }
            _ => Self::input(error.to_string()),
        }
    }

    /// git's own errors: it is not there, or a repository is not as it was expected.
    pub(crate) fn from_git(error: &GitError) -> Self {
        match error {
            GitError::Program(_) => Self::no_answer(error.to_string()).hint("install git"),
            GitError::Failed { .. } => Self::no_answer(error.to_string()),
            GitError::Detached { .. } | GitError::Unborn { .. } => Self::input(error.to_string()),
        }
    }

    /// Why there is no description of a commit.
    pub(crate) fn from_describe(error: &DescribeError) -> Self {
        let failure = Self::no_answer(error.to_string());
        match error {
            DescribeError::NoRepository { .. } => Self::input(error.to_string())
                .hint("name the top of the repository; an unpacked archive has no history to make a tag from"),
            DescribeError::Shallow { folder } => failure.hint(format!(
                "`git -C {} fetch --unshallow --tags` fetches the rest (in CI: `fetch-depth: 0`)",
                folder.display()
            )),
            DescribeError::Unborn { .. } => failure.hint("commit first"),
            DescribeError::NoTag { folder, has_tags: false } => failure.hint(format!(
                "`git -C {} fetch --tags` fetches the tags; a repository without any needs one (`git tag 0.1.0`)",
                folder.display()
            )),
            DescribeError::NoTag { has_tags: true, .. } => {
                failure.hint("the repository's tags are on other branches: is the right commit checked out?")
            }
            DescribeError::Untrusted { folder } => failure.hint(format!(
                "`git config --global --add safe.directory {}`, if you trust it",
                folder.display()
            )),
            DescribeError::Git(error) => Self::from_git(error),
        }
    }

    /// Why a description gives no image tag.
    pub(crate) fn from_tag(error: &TagError, folder: &str) -> Self {
        let message = format!("{folder}: {error}");
        match error {
            TagError::Name { .. } => {
                Self::input(message).hint("images can't be called so: tag the commit with another name")
            }
            TagError::Dirty => Self { exit: Exit::Wanting, message, hints: Vec::new() }
                .hint("commit the changes, or take them back"),
        }
    }

    /// A registry of images gave no answer.
    pub(crate) fn from_registry(error: &reana_registry::Error) -> Self {
        let failure = Self::no_answer(error.to_string());
        match &error.kind {
            NoAnswer::Refused { .. } => failure.hint(
                "`docker login HOST` (or podman's, skopeo's) stores credentials where they are looked for: \
                 $DOCKER_CONFIG/config.json, ~/.docker/config.json, and the helpers named there",
            ),
            NoAnswer::NoTls(_) => failure.hint("`--plain-http HOST` asks it without TLS, if that is right"),
            NoAnswer::Connect(reason) if reason.contains("certificate") => failure
                .hint("`--registry-ca FILE` trusts the certificates in a file, SSL_CERT_FILE does, too"),
            NoAnswer::Connect(_) | NoAnswer::Timeout => {
                failure.hint("is the registry up, its name right, and a proxy needed?")
            }
            NoAnswer::Altered { .. } => failure
                .hint("the image was altered on its way or at its place: don't use it before you know why"),
            NoAnswer::TooMany { .. } => {
                failure.hint("try again later, or log in: registries allow more then")
            }
            NoAnswer::UnknownChallenge(_)
            | NoAnswer::Credentials(_)
            | NoAnswer::UnprotectedTokens(_)
            | NoAnswer::Status { .. }
            | NoAnswer::NotARegistry(_)
            | NoAnswer::NotAManifest(_)
            | NoAnswer::NotAConfig { .. }
            | NoAnswer::Gone { .. }
            | NoAnswer::Moved { .. }
            | NoAnswer::TooLarge { .. }
            | NoAnswer::Http(_)
            | NoAnswer::Nothing => failure,
        }
    }

    /// Errors of writing several files together.
    pub(crate) fn from_journal(error: &JournalError) -> Self {
        let failure = Self::input(format!("the locks could not be written: {error}"));
        match error {
            JournalError::Disk(_) | JournalError::Outside { .. } | JournalError::Twice { .. } => {
                failure.hint("nothing was changed")
            }
            JournalError::Stopped { .. } => failure.hint("the next run takes back what was written"),
            JournalError::Busy { .. } => failure.hint("wait for the other run, then try again"),
            JournalError::Damaged { .. } => {
                failure.hint("look whether the locks are whole (`git diff`), then remove the journal")
            }
        }
    }

    /// What is wrong with manifests; notes among it are left out.
    pub(crate) fn from_problems(problems: &[Problem]) -> Self {
        let lines: Vec<String> =
            problems.iter().filter(|problem| !problem.is_note()).map(ToString::to_string).collect();
        let failure = Self::input(lines.join("\n"));
        let is_unknown = problems.iter().any(|problem| {
            matches!(problem.kind, ProblemKind::Unknown(_)) && problem.origin.file.ends_with(".py")
        });
        if is_unknown {
            return failure.hint(
                "a setup.py is read, never run: write what it computes as plain values, or declare the project in \
                 pyproject.toml",
            );
        }
        failure
    }
}

impl Failure {
    /// Errors of asking a cluster, or of reading what it said.
    pub(crate) fn from_cluster(error: &ClusterError) -> Self {
        let message = error.to_string();
        match error {
            ClusterError::NoProgram => Self::no_answer(message).hint(
                "install kubectl, or give `--input FILE` what `kubectl get pods -o json` said elsewhere",
            ),
            ClusterError::Forbidden { .. } => {
                Self::no_answer(message).hint("name a namespace that you may look into: `--namespace NAME`")
            }
            ClusterError::TooLarge => {
                Self::no_answer(message).hint("ask for less: `--namespace NAME`, `--selector LABELS`")
            }
            ClusterError::Timeout(_) => Self::no_answer(message)
                .hint("does `kubectl get pods` answer? `--timeout SECONDS` gives it longer"),
            ClusterError::Program(_) | ClusterError::Failed { .. } => Self::no_answer(message),
            ClusterError::File { .. } | ClusterError::FileTooLarge(_) => Self::input(message),
        }
    }
}
