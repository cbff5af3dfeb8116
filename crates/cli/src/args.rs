//! What the user typed, as clap reads it. What it means once settings, locks and disk are consulted is
//! decided in `settings.rs`.

mod check;
mod guard;
mod images;
mod references;
mod registry;
mod running;
mod verify;

use std::path::PathBuf;

use clap::{ArgAction, Args, Parser, Subcommand, ValueEnum};

pub(crate) use check::{CheckArgs, RefreshHashesArgs};
pub(crate) use guard::{GuardArgs, ImageArgs, LabelsArgs, RecordArgs};
pub(crate) use images::{BuildArgs, InputsArgs, TagArgs, TagStyle};
pub(crate) use references::{ImagesCommand, PinArgs, ReferencesArgs, ReferencesDiffArgs};
pub(crate) use registry::RegistryArgs;
pub(crate) use running::RunningArgs;
pub(crate) use verify::VerifyArgs;

/// Locks the Python dependencies of a fleet of container images, and keeps image tags honest.
#[derive(Debug, Parser)]
#[command(name = "reana-lock", version, max_term_width = 100, args_override_self = true)]
pub(crate) struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: Command,
    /// What holds for every command.
    #[command(flatten)]
    pub(crate) global: GlobalArgs,
}

/// Options that every command has.
#[derive(Debug, Args, Clone, Default)]
pub(crate) struct GlobalArgs {
    /// Say less: only warnings and errors; twice, only errors
    #[arg(short, long, global = true, action = ArgAction::Count)]
    pub(crate) quiet: u8,
    /// Say more: indexes, sources, what was read how
    #[arg(short, long, global = true, action = ArgAction::Count)]
    pub(crate) verbose: u8,
}

/// The commands. Each is one file of `commands/`.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Lock components, or requirements files, into hash-locked requirements.txt
    Compile(Box<CompileArgs>),
    /// Show what a manifest declares, read without running it
    Metadata(MetadataArgs),
    /// Tell what changed from one lock to another, or from one fleet's locks to another's
    Diff(DiffArgs),
    /// Tell who wants a package of a lock: from the manifests' lines to it
    Why(WhyArgs),
    /// Draw what the packages of a lock want, or who wants them
    Tree(TreeArgs),
    /// Show a fleet's repositories: who requires whom, and how each one stands
    Fleet(Box<FleetArgs>),
    /// Raise the minimums of shared packages in all repositories that require them
    Bump(Box<BumpArgs>),
    /// Print the image tag of what is checked out, as git describes it
    Tag(TagArgs),
    /// List what goes into an image's build, with one digest over it
    Inputs(Box<InputsArgs>),
    /// Tell which content runs: the digest of each job's and pod's image, as its node reports it
    Running(Box<RunningArgs>),
    /// Compare a lock with what pip says is installed in an image
    Verify(VerifyArgs),
    /// Look after references to images in files: which move, which stand for different content
    Images {
        /// What to do
        #[command(subcommand)]
        command: ImagesCommand,
    },
    /// Tell whether images may be built: refuse a build under a tag that stands for other inputs
    Guard(Box<GuardArgs>),
    /// Print the labels that an image is to be built with, as arguments for the build
    Labels(Box<LabelsArgs>),
    /// Record what a pushed image's tag stands for in the ledger, reana-images.toml
    Record(Box<RecordArgs>),
    /// Check that locks hold, and that images are built from them, for CI; write nothing
    ///
    /// Exit code 1 means findings of grade error; docs/findings.md explains each by its code.
    Check(Box<CheckArgs>),
    /// Add the hashes of files that were added to locked versions; pins stay as they are
    ///
    /// Nothing is written where a known hash is of no file that the index has any more.
    RefreshHashes(Box<RefreshHashesArgs>),
    /// Print the completion script of a shell
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Print the manual page (roff)
    Man,
    /// Write the generated documents into a folder
    #[command(hide = true)]
    Generate {
        /// The folder
        folder: PathBuf,
    },
}

/// How a command answers on stdout.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For people
    #[default]
    Text,
    /// For scripts
    Json,
    /// Annotations for GitHub's checks
    Github,
}

/// `reana-lock metadata`
#[derive(Debug, Args)]
pub(crate) struct MetadataArgs {
    /// A project's folder, or its setup.py, setup.cfg or pyproject.toml
    #[arg(default_value = ".")]
    pub(crate) path: PathBuf,
    /// The Python to read it for (`X.Y` or `X.Y.Z`)
    #[arg(long, value_name = "X.Y")]
    pub(crate) python_version: Option<String>,
    /// The platform to read it for
    #[arg(long, value_name = "PLATFORM")]
    pub(crate) platform: Option<String>,
    /// How to answer
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}

/// `reana-lock diff`
#[derive(Debug, Args)]
pub(crate) struct DiffArgs {
    /// The lock before, a component's folder, or a fleet's folder
    pub(crate) old: String,
    /// The lock after, or the folder; several locks are paired by component
    pub(crate) new: String,
    /// Exit 1 where anything is different
    #[arg(long)]
    pub(crate) exit_code: bool,
    /// How to answer
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}

/// `reana-lock why`
#[derive(Debug, Args)]
pub(crate) struct WhyArgs {
    /// The package
    pub(crate) name: String,
    /// A lock, a component's folder or name, or a fleet's folder
    #[arg(value_name = "LOCK|FOLDER")]
    pub(crate) lock: Option<String>,
    /// How to answer
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}

/// `reana-lock tree`
#[derive(Debug, Args)]
pub(crate) struct TreeArgs {
    /// A lock, a component's folder or name, or a fleet's folder
    #[arg(value_name = "LOCK|FOLDER")]
    pub(crate) lock: Option<String>,
    /// How many levels to draw
    #[arg(long, value_name = "N")]
    pub(crate) depth: Option<usize>,
    /// Draw who wants this package instead, up to the manifests
    #[arg(long, value_name = "NAME")]
    pub(crate) invert: Option<String>,
    /// How to answer
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}

/// `reana-lock fleet`
#[derive(Debug, Args)]
pub(crate) struct FleetArgs {
    /// The fleet's folder, or repositories of it; without any, the fleet around the current folder
    #[arg(value_name = "WHAT")]
    pub(crate) what: Vec<String>,
    /// How to answer
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
    /// Where packages come from
    #[command(flatten)]
    pub(crate) index: IndexArgs,
}

/// `reana-lock bump`
#[derive(Debug, Args)]
pub(crate) struct BumpArgs {
    /// The packages, in the fleet or not; without any, all that repositories of the fleet share
    ///
    /// Without a version, a package is raised to the newest one that all of the fleet can take together.
    #[arg(value_name = "PACKAGE[==VERSION]")]
    pub(crate) packages: Vec<String>,
    /// The fleet's folder
    #[arg(long, value_name = "DIR")]
    pub(crate) fleet: Option<PathBuf>,
    /// Raise to the versions in the fleet's own checkouts, which must be on the index
    #[arg(long)]
    pub(crate) from_checkout: bool,
    /// Show what would change, and write nothing
    #[arg(short = 'n', long)]
    pub(crate) dry_run: bool,
    /// Edit manifests that have uncommitted changes, too
    #[arg(long)]
    pub(crate) allow_dirty: bool,
    /// Make one commit in each repository, without running hooks or signing
    #[arg(long, conflicts_with = "dry_run")]
    pub(crate) commit: bool,
    /// Commit to the default branch, too
    #[arg(long, requires = "commit")]
    pub(crate) on_default_branch: bool,
    /// The commits' message; `{date}` stands for today's
    #[arg(long, value_name = "TEXT", requires = "commit")]
    pub(crate) message: Option<String>,
    /// How to answer
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
    /// Build this package (`:all:` for any) when its metadata can't be read otherwise: runs its code
    #[arg(long, value_name = "NAME")]
    pub(crate) allow_build: Vec<String>,
    /// Pass over versions of this package (`:all:` for any) whose metadata can't be read without a build
    #[arg(long, value_name = "NAME")]
    pub(crate) skip_unreadable: Vec<String>,
    /// Take the checkout in this folder as if it were released; only with --dry-run
    #[arg(long, value_name = "PATH", requires = "dry_run")]
    pub(crate) with_local: Vec<String>,
    /// Where packages come from
    #[command(flatten)]
    pub(crate) index: IndexArgs,
}

/// `reana-lock compile`
#[derive(Debug, Args, Default)]
pub(crate) struct CompileArgs {
    /// Folders, manifest files, or components' names (`reana-server`, `r-server`, `CLUSTER` for all)
    ///
    /// Manifest files in one call make one lock; folders and names are components, each with its own. A folder
    /// with a reana-lock.toml, or whose subfolders hold components, is a fleet. Without any: the current folder.
    #[arg(value_name = "WHAT")]
    pub(crate) what: Vec<String>,
    /// What comes out, and where to
    #[command(flatten)]
    pub(crate) output: OutputArgs,
    /// What is resolved
    #[command(flatten)]
    pub(crate) resolve: ResolveArgs,
    /// Where packages come from
    #[command(flatten)]
    pub(crate) index: IndexArgs,
}

impl CompileArgs {
    /// Whether what comes out is no lock for a release.
    pub(crate) fn is_preview(&self) -> bool {
        !self.output.with_local.is_empty()
    }
}

/// What comes out, and where to.
#[derive(Debug, Args, Default)]
#[command(next_help_heading = "Output")]
pub(crate) struct OutputArgs {
    /// Write the lock here (`-` is stdout)
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output_file: Option<String>,
    /// Lock what the lock's sdists need to be built into this file too, for pip's --build-constraint
    ///
    /// A bare name stands beside the lock, so that each lock of a fleet has its own.
    #[arg(long, value_name = "FILE")]
    pub(crate) build_requirements: Option<String>,
    /// Which kind of lock to write; by default as its name says, else requirements.txt
    #[arg(long, value_enum, value_name = "KIND")]
    pub(crate) output_format: Option<OutputFormat>,
    /// Show what would change, and write nothing
    #[arg(short = 'n', long)]
    pub(crate) dry_run: bool,
    /// Write nothing; check as `reana-lock check` does, with exit 1 when a lock is stale
    #[arg(long, conflicts_with = "dry_run")]
    pub(crate) check: bool,
    /// Take the checkout in this folder as if it were released, and show what would change
    ///
    /// Such a lock is a preview: it is written only where `-o` says, without hashes for the checkouts, and marked so
    /// that no check takes it for a lock.
    #[arg(long, value_name = "PATH", conflicts_with = "check")]
    pub(crate) with_local: Vec<String>,
    /// Say why this version of a package, and who holds it back, by file and line; write nothing
    #[arg(long, value_name = "NAME")]
    pub(crate) explain: Vec<String>,
    /// Write the solver's decisions here, one a line (`-` is stdout)
    #[arg(long, value_name = "FILE")]
    pub(crate) trace: Option<String>,
    /// How to answer on stdout
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
    /// How to say who wants a package
    #[arg(long, value_enum)]
    pub(crate) annotation_style: Option<AnnotationStyle>,
    /// Say who wants each package (default)
    #[arg(long, overrides_with = "no_annotate", hide = true)]
    pub(crate) annotate: bool,
    /// Don't say who wants each package
    #[arg(long)]
    pub(crate) no_annotate: bool,
    /// Write the header (default)
    #[arg(long, overrides_with = "no_header", hide = true)]
    pub(crate) header: bool,
    /// Don't write the header
    #[arg(long)]
    pub(crate) no_header: bool,
    /// Leave `[extras]` out of the lock
    #[arg(long, overrides_with = "no_strip_extras")]
    pub(crate) strip_extras: bool,
    /// Keep `[extras]` in the lock (default)
    #[arg(long, overrides_with = "strip_extras")]
    pub(crate) no_strip_extras: bool,
    /// Write hashes (default)
    #[arg(long, overrides_with = "no_generate_hashes")]
    pub(crate) generate_hashes: bool,
    /// Write no hashes
    #[arg(long, overrides_with = "generate_hashes")]
    pub(crate) no_generate_hashes: bool,
    /// Hashes of all files of a version, of those that the targets can install, or of none
    #[arg(long, value_enum)]
    pub(crate) hashes: Option<Hashes>,
    /// Pin setuptools and pip like the rest (default)
    #[arg(long, overrides_with = "no_allow_unsafe")]
    pub(crate) allow_unsafe: bool,
    /// Leave setuptools and pip out, as pip-compile does
    #[arg(long, overrides_with = "allow_unsafe")]
    pub(crate) no_allow_unsafe: bool,
    /// What counts as unsafe, instead of setuptools, pip and distribute
    #[arg(long, value_name = "NAME")]
    pub(crate) unsafe_package: Vec<String>,
    /// Leave this package out of the lock
    #[arg(long, value_name = "NAME")]
    pub(crate) no_emit_package: Vec<String>,
    /// Write the index's address into the lock
    #[arg(long, overrides_with = "no_emit_index_url")]
    pub(crate) emit_index_url: bool,
    /// Don't write the index's address into the lock (default)
    #[arg(long, overrides_with = "emit_index_url")]
    pub(crate) no_emit_index_url: bool,
}

/// What is resolved.
#[derive(Clone, Debug, Args, Default)]
#[command(next_help_heading = "Resolution")]
pub(crate) struct ResolveArgs {
    /// Move everything to the newest versions, whatever the old lock says
    #[arg(short = 'U', long)]
    pub(crate) upgrade: bool,
    /// Move this package alone (`name`, or `name==version`)
    #[arg(short = 'P', long, value_name = "NAME[==V]")]
    pub(crate) upgrade_package: Vec<String>,
    /// Limit versions by this requirements file, without adding packages
    #[arg(short, long, value_name = "FILE")]
    pub(crate) constraint: Vec<String>,
    /// Replace whatever anybody requires of the packages in this file
    #[arg(long = "override", value_name = "FILE")]
    pub(crate) overrides: Vec<String>,
    /// Lock these extras of the manifest too
    #[arg(long, value_name = "EXTRA", value_delimiter = ',')]
    pub(crate) extra: Vec<String>,
    /// Lock all extras of the manifest
    #[arg(long, conflicts_with = "extra")]
    pub(crate) all_extras: bool,
    /// Lock this dependency group too (PEP 735): of the component's pyproject.toml, or of FILE
    #[arg(long, value_name = "[FILE:]NAME")]
    pub(crate) group: Vec<String>,
    /// Accept pre-releases of all packages
    #[arg(long)]
    pub(crate) pre: bool,
    /// Which versions to prefer
    #[arg(long, value_enum)]
    pub(crate) resolution: Option<Resolution>,
    /// The Python to lock for (`X.Y` or `X.Y.Z`); repeat for several targets
    #[arg(long, value_name = "X.Y")]
    pub(crate) python_version: Vec<String>,
    /// The platform to lock for (`linux/amd64`, `linux/arm64`); repeat for several targets
    #[arg(long, value_name = "PLATFORM")]
    pub(crate) platform: Vec<String>,
    /// Don't use wheels of these packages (`:all:`, `:none:`)
    #[arg(long, value_name = "NAME")]
    pub(crate) no_binary: Vec<String>,
    /// Use only wheels of these packages (`:all:`, `:none:`)
    #[arg(long, value_name = "NAME")]
    pub(crate) only_binary: Vec<String>,
    /// Build this package (`:all:` for any) when its metadata can't be read otherwise: runs its code
    #[arg(long, value_name = "NAME", conflicts_with = "no_build")]
    pub(crate) allow_build: Vec<String>,
    /// Build nothing (default)
    #[arg(long)]
    pub(crate) no_build: bool,
    /// Pass over versions of this package (`:all:` for any) whose metadata can't be read without a build
    #[arg(long, value_name = "NAME")]
    pub(crate) skip_unreadable: Vec<String>,
}

/// Where packages come from.
#[derive(Clone, Debug, Args, Default)]
#[command(next_help_heading = "Index")]
pub(crate) struct IndexArgs {
    /// The package index
    #[arg(short, long, value_name = "URL")]
    pub(crate) index_url: Option<String>,
    /// Further indexes, asked before the main one; the first that knows a name owns it
    #[arg(long, value_name = "URL")]
    pub(crate) extra_index_url: Vec<String>,
    /// A folder or page with files
    #[arg(short, long, value_name = "PATH|URL")]
    pub(crate) find_links: Vec<String>,
    /// Ask no index, only --find-links
    #[arg(long)]
    pub(crate) no_index: bool,
    /// Where passwords come from that an index's address, the environment and netrc don't have
    ///
    /// `subprocess` runs `keyring get ADDRESS USER` for addresses with a user (`https://me@host/simple/`). The
    /// environment gives credentials as REANA_LOCK_INDEX_<NAME>_USERNAME and REANA_LOCK_INDEX_<NAME>_PASSWORD, where
    /// NAME is the index's (`name=https://...`) or its host, in capitals, with `_` for what is no letter or digit.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) keyring_provider: KeyringProvider,
    /// Don't see what was uploaded after this moment (`2026-11-30`, `2026-11-30T12:00:00Z`)
    #[arg(long, value_name = "TIME")]
    pub(crate) exclude_newer: Option<String>,
    /// What to do with files without an upload time under --exclude-newer
    #[arg(long, value_enum)]
    pub(crate) undated: Option<Undated>,
    /// Use only what the cache has
    #[arg(long, conflicts_with = "refresh")]
    pub(crate) offline: bool,
    /// Ask the index again, whatever the cache has
    #[arg(long)]
    pub(crate) refresh: bool,
    /// Neither read nor keep a cache
    #[arg(long)]
    pub(crate) no_cache: bool,
    /// Where the cache is
    #[arg(long, value_name = "DIR")]
    pub(crate) cache_dir: Option<PathBuf>,
    /// Read metadata only from whole files that a hash covers
    #[arg(long)]
    pub(crate) verify_metadata: bool,
    /// How many seconds to wait for the next bytes of an answer; for a whole page four times as long, for a whole
    /// file thirty times
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub(crate) timeout: Option<u64>,
}

/// Which kind of lock is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum OutputFormat {
    /// requirements.txt, as pip-compile writes it
    Requirements,
    /// pylock.toml (PEP 751)
    Pylock,
}

/// How to say who wants a package.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum AnnotationStyle {
    /// One line each
    Split,
    /// On the package's line
    Line,
}

/// Which files' hashes are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Hashes {
    /// Of all files of a version
    #[default]
    All,
    /// Of the files that the targets can install
    Target,
    /// None
    None,
}

/// Who is asked for passwords.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum KeyringProvider {
    /// Nobody
    #[default]
    Disabled,
    /// The `keyring` program
    Subprocess,
}

/// Which versions to prefer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Resolution {
    /// The newest
    #[default]
    Highest,
    /// The oldest
    Lowest,
    /// The oldest of what the manifests name, the newest of the rest
    LowestDirect,
}

/// What to do with files without an upload time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Undated {
    /// Stop
    #[default]
    Refuse,
    /// Take them as old enough
    Allow,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    #[test]
    fn definitions_are_consistent() {
        super::Cli::command().debug_assert();
    }
}
