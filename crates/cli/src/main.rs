//! reana-lock: locks the Python dependencies of a fleet of container images, and keeps image tags honest.

mod args;
mod bump;
mod check;
mod commands;
mod config;
mod credentials;
mod dockerfile;
mod doors;
mod error;
mod exit;
mod fleet;
mod guard;
mod inputs;
mod journal;
mod lock;
mod paths;
mod pip_config;
mod python_target;
mod references;
mod registry;
mod running;
mod schemas;
mod settings;
mod ui;
mod verify;
mod written;

use std::panic::AssertUnwindSafe;
use std::process::ExitCode;

use clap::Parser as _;

use crate::args::{Cli, Command};
use crate::exit::Exit;
use crate::ui::Ui;

/// A warm run allocates a lot, on several threads, in a tenth of a second: the system's allocator spends a third of
/// that in the kernel. How it is set up is in `.cargo/config.toml`.
#[cfg(feature = "jemalloc")]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            let asked_for = error.exit_code() == 0;
            let _closed = error.print();
            return if asked_for { Exit::Done } else { Exit::Input }.into();
        }
    };
    let env = doors::env::Env::read();
    let ui = Ui::new(cli.global.quiet, cli.global.verbose, env.stderr_is_terminal && !env.is_ci);
    std::panic::catch_unwind(AssertUnwindSafe(|| run(cli.command, &ui, &env)))
        .unwrap_or(Exit::Internal)
        .into()
}

fn run(command: Command, ui: &Ui, env: &doors::env::Env) -> Exit {
    let outcome = match command {
        Command::Compile(args) => commands::compile::run(&args, ui, env),
        Command::Metadata(args) => commands::metadata::run(&args, ui, env),
        Command::Diff(args) => commands::diff::run(&args, ui, env),
        Command::Why(args) => commands::why::run(&args, ui, env),
        Command::Tree(args) => commands::tree::run(&args, ui, env),
        Command::Fleet(args) => commands::fleet::run(&args, ui, env),
        Command::Bump(args) => commands::bump::run(&args, ui, env),
        Command::Tag(args) => commands::tag::run(&args, ui, env),
        Command::Inputs(args) => commands::inputs::run(&args, ui, env),
        Command::Images { command } => commands::references::run(&command, ui, env),
        Command::Running(args) => commands::running::run(&args, ui, env),
        Command::Verify(args) => commands::verify::run(&args, ui, env),
        Command::Guard(args) => commands::guard::run(&args, ui, env),
        Command::Labels(args) => commands::labels::run(&args, ui, env),
        Command::Record(args) => commands::record::run(&args, ui, env),
        Command::Check(args) => commands::check::run(&args, ui, env),
        Command::RefreshHashes(args) => commands::refresh_hashes::run(&args, ui, env),
        Command::Completions { shell } => commands::generate::completions(shell, ui),
        Command::Man => commands::generate::man(ui),
        Command::Generate { folder } => commands::generate::all(&folder, ui),
    };
    ui.end_progress();
    let exit = outcome.unwrap_or_else(|failure| {
        ui.error(&failure.message, &failure.hints);
        failure.exit
    });
    match ui.lost_data() {
        Some(error) => {
            ui.error(&format!("stdout could not be written: {error}"), &[]);
            exit.max(Exit::Input)
        }
        None => exit,
    }
}
