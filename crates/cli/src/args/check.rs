//! The arguments of `check` and `refresh-hashes`.

use clap::Args;

use super::{CompileArgs, Format, IndexArgs, OutputArgs, ResolveArgs};

/// `reana-lock check`
#[derive(Clone, Debug, Args)]
pub(crate) struct CheckArgs {
    /// Folders, manifest files, or components' names, as for `compile`; without any, the current folder
    #[arg(value_name = "WHAT")]
    pub(crate) what: Vec<String>,
    /// The lock, where it has another name than `compile` gives it
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output_file: Option<String>,
    /// How to answer on stdout
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
    /// What is resolved
    #[command(flatten)]
    pub(crate) resolve: ResolveArgs,
    /// Where packages come from
    #[command(flatten)]
    pub(crate) index: IndexArgs,
}

impl From<CheckArgs> for CompileArgs {
    /// As `compile --check` is told the same.
    fn from(args: CheckArgs) -> Self {
        let CheckArgs { what, output_file, format, resolve, index } = args;
        let output = OutputArgs { output_file, format, check: true, ..OutputArgs::default() };
        Self { what, output, resolve, index }
    }
}

/// `reana-lock refresh-hashes`
#[derive(Clone, Debug, Args)]
pub(crate) struct RefreshHashesArgs {
    /// Show what would change, and write nothing
    #[arg(short = 'n', long)]
    pub(crate) dry_run: bool,
    /// The locks; last, since it ends under a heading of its own
    #[command(flatten)]
    pub(crate) check: CheckArgs,
}
