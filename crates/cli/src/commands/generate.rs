//! What is made from the definitions of arguments and settings: completions, the manual page, the command
//! reference, the JSON schemas of reana-lock.toml and of what commands answer.

use std::path::Path;

use clap::{Command, CommandFactory as _};

use crate::args::Cli;
use crate::doors::disk;
use crate::error::Failure;
use crate::exit::Exit;
use crate::ui::Ui;

/// Prints a shell's completion script.
#[expect(clippy::unnecessary_wraps, reason = "commands share one signature")]
pub(crate) fn completions(shell: clap_complete::Shell, ui: &Ui) -> Result<Exit, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "reana-lock", &mut script);
    ui.data(&String::from_utf8_lossy(&script));
    Ok(Exit::Done)
}

/// Prints the manual page: the command itself, then each of its commands.
pub(crate) fn man(ui: &Ui) -> Result<Exit, Failure> {
    ui.data(&String::from_utf8_lossy(&manual_page()?));
    Ok(Exit::Done)
}

/// Writes all generated documents into a folder.
pub(crate) fn all(folder: &Path, _ui: &Ui) -> Result<Exit, Failure> {
    let schema = serde_json::to_string_pretty(&crate::config::schema())
        .map_err(|error| Failure::internal(format!("failed to write the schema: {error}")))?;
    let mut documents = vec![
        ("commands.md".to_owned(), reference()),
        ("findings.md".to_owned(), crate::check::finding::page()),
        ("reana-lock.1".to_owned(), String::from_utf8_lossy(&manual_page()?).into_owned()),
        ("reana-lock.schema.json".to_owned(), schema + "\n"),
    ];
    let answers = crate::schemas::all();
    documents.extend(
        answers.map(|(command, schema)| (format!("schemas/{command}.json"), format!("{schema:#}\n"))),
    );
    disk::make_folder(&folder.join("schemas")).map_err(|error| Failure::from_disk(&error))?;
    for (name, text) in documents {
        let path = folder.join(name);
        disk::write(&path, text.as_bytes())
            .map_err(|error| Failure::input(format!("failed to write {}: {error}", path.display())))?;
    }
    Ok(Exit::Done)
}

/// The manual page: the command itself, then each of its commands.
fn manual_page() -> Result<Vec<u8>, Failure> {
    let internal =
        |error: std::io::Error| Failure::internal(format!("failed to write the manual page: {error}"));
    let command = fixed();
    let mut page = Vec::new();
    clap_mangen::Man::new(command.clone()).render(&mut page).map_err(internal)?;
    for subcommand in shown(&command) {
        let man = clap_mangen::Man::new(subcommand.clone());
        man.render_synopsis_section(&mut page).map_err(internal)?;
        man.render_description_section(&mut page).map_err(internal)?;
        man.render_options_section(&mut page).map_err(internal)?;
    }
    Ok(page)
}

/// The reference of all commands, as their `--help` says it.
fn reference() -> String {
    let mut text =
        "# Commands\n\nMade from the command's own definitions by `cargo xtask generate`.\n".to_owned();
    for subcommand in shown(&fixed()) {
        text.push_str(&format!("\n## reana-lock {}\n\n```text\n", subcommand.get_name()));
        for line in subcommand.clone().render_long_help().to_string().lines() {
            text.push_str(line.trim_end());
            text.push('\n');
        }
        text.push_str("```\n");
    }
    text
}

/// The definitions with a fixed width, so that documents are the same everywhere.
fn fixed() -> Command {
    let mut command = Cli::command().disable_help_subcommand(true).term_width(100);
    command.build();
    command
}

fn shown(command: &Command) -> impl Iterator<Item = &Command> {
    command.get_subcommands().filter(|subcommand| !subcommand.is_hide_set())
}
