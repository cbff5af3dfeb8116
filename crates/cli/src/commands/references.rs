//! `reana-lock images`: looks after references to images in files.

use crate::args::ImagesCommand;
use crate::doors::env::Env;
use crate::error::Failure;
use crate::exit::Exit;
use crate::references::{diff, lint, pin};
use crate::ui::Ui;

/// Does what the subcommand says.
pub(crate) fn run(command: &ImagesCommand, ui: &Ui, env: &Env) -> Result<Exit, Failure> {
    match command {
        ImagesCommand::Lint(args) => lint::run(args, ui, env),
        ImagesCommand::Pin(args) => pin::run(args, ui, env),
        ImagesCommand::Diff(args) => diff::run(args, ui, env),
    }
}
