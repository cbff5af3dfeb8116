//! What people here do more than once: `cargo xtask test`, `live`, `replay`, `record`, `generate`, `tidy`.
#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "a developer's tool: it runs programs, reads and writes files, and speaks"
)]

mod bench;
mod generate;
mod job;
mod kube;
mod live;
mod project;
mod record;
mod replay;
mod suite;
#[cfg(test)]
mod tidy;

use anyhow::Result;
use clap::{Parser, Subcommand};

#[derive(Parser)]
#[command(bin_name = "cargo xtask", about = "What people here do more than once", max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Check everything that needs no network: format, lints, tests, generated pages, licences
    Test,
    /// Check against the live index, with a real pip where there is one
    Live,
    /// Check the house rules alone
    Tidy,
    /// Make REANA's own locks since 2021 again, over the live index as of their moments
    Replay(replay::Options),
    /// Write the recorded index of the example fleet anew, from the live one
    Record(record::Options),
    /// Measure speed and memory beside uv and pip-compile, over one local index
    Bench(bench::Options),
    /// Check `running` over a real Kubernetes API, which is built (minutes, as root, on Debian) and started for it
    Kube(kube::Options),
    /// Write the command's reference, man page, completions and schema into docs/
    Generate {
        /// Change nothing; fail where a page is not up to date
        #[arg(long)]
        check: bool,
    },
}

fn main() -> Result<()> {
    match Cli::parse().task {
        Task::Test => suite::test(),
        Task::Live => live::live(),
        Task::Tidy => suite::tidy(),
        Task::Replay(options) => replay::replay(&options),
        Task::Record(options) => record::record(&options),
        Task::Bench(options) => bench::bench(&options),
        Task::Kube(options) => kube::kube(&options),
        Task::Generate { check } => generate::generate(check),
    }
}
