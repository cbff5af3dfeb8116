//! What `images` says of references in files.

pub(crate) mod diff;
pub(crate) mod lint;
pub(crate) mod pin;

use reana_images::references::{FileKind, References, SkipReason, Skipped, find};

use crate::doors::disk;
use crate::doors::env::Env;
use crate::error::Failure;
use crate::ui::Ui;

/// A file with its references.
pub(crate) struct File {
    /// As the user named it.
    pub(crate) name: String,
    /// What is in it.
    pub(crate) text: String,
    /// Its references.
    pub(crate) references: References,
}

/// Reads a file and finds its references.
pub(crate) fn read(name: &str, env: &Env) -> Result<File, Failure> {
    let Some(kind) = FileKind::of(name) else {
        return Err(Failure::input(format!("{name}: neither YAML nor a Dockerfile, as its name goes")).hint(
            "names that are known end in .yaml or .yml, or are Dockerfile, Containerfile, NAME.Dockerfile",
        ));
    };
    let text = disk::read_text(&env.cwd.join(name)).map_err(|error| Failure::from_disk(&error))?;
    let references = find(kind, &text).map_err(|error| {
        let failure = Failure::input(format!("{name}:{error}"));
        if text.contains("{{") {
            return failure
                .hint("a chart's template is no YAML before it is rendered: `helm template`, then look");
        }
        failure
    })?;
    Ok(File { name: name.to_owned(), text, references })
}

/// Tells of what could not be looked at.
pub(crate) fn tell_skipped(file: &File, ui: &Ui) {
    for Skipped { text, path, line, column, reason } in &file.references.skipped {
        let why = match reason {
            SkipReason::Template => format!("`{text}` is filled in later, and not looked at"),
            SkipReason::NoReference(why) => why.clone(),
        };
        let note = format!("{}:{line}:{column}: {path}: {why}", file.name);
        ui.note(&crate::running::pods::harmless(&note));
    }
}
