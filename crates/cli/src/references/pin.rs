//! `images pin`: adds digests to references.

use std::collections::BTreeMap;

use reana_images::references::{Edit, Found, apply, pin};
use reana_images::{Digest, Reference};
use reana_registry::{Error, Scope};
use similar::TextDiff;

use super::{File, read, tell_skipped};
use crate::args::PinArgs;
use crate::doors::disk;
use crate::doors::env::Env;
use crate::error::Failure;
use crate::exit::Exit;
use crate::registry;
use crate::ui::Ui;

/// What registries said of each reference.
type Answers = BTreeMap<Reference, Result<Option<Digest>, Error>>;

/// Pins what can be pinned; what can't is told, and the rest is done all the same.
pub(crate) fn run(args: &PinArgs, ui: &Ui, env: &Env) -> Result<Exit, Failure> {
    let files: Vec<File> = args.files.iter().map(|name| read(name, env)).collect::<Result<_, _>>()?;
    files.iter().for_each(|file| tell_skipped(file, ui));
    let answers = ask(args, &files, ui, env)?;
    let (mut exit, mut pinned) = (Exit::Done, 0);
    for file in &files {
        let mut edits = Vec::new();
        for found in &file.references.found {
            match edit(found, &answers) {
                Ok(edit) => edits.extend(edit),
                Err((why, worst)) => {
                    let place = found.form.place();
                    let image = found.form.text();
                    ui.warn(&format!(
                        "{}:{}:{}: {image}: not pinned: {why}",
                        file.name, place.line, place.column
                    ));
                    exit = exit.max(worst);
                }
            }
        }
        let new = apply(&file.text, &edits);
        pinned += edits.len();
        if new == file.text {
            continue;
        }
        if args.write {
            disk::write(&env.cwd.join(&file.name), new.as_bytes())
                .map_err(|error| Failure::from_disk(&error))?;
        } else {
            let diff = TextDiff::from_lines(file.text.as_str(), new.as_str());
            ui.data(&diff.unified_diff().context_radius(1).header(&file.name, &file.name).to_string());
        }
    }
    let noun = if pinned == 1 { "reference" } else { "references" };
    ui.say(&match (args.write, pinned) {
        (_, 0) => "nothing to pin".to_owned(),
        (true, _) => format!("{pinned} {noun} pinned"),
        (false, _) => format!("{pinned} {noun} would be pinned; nothing was written (`--write` does)"),
    });
    Ok(exit)
}

/// What is asked for: the tag, `latest` where there is none.
fn asked(image: &Reference) -> Reference {
    let latest = || "latest".parse().ok();
    Reference { tag: image.tag.clone().or_else(latest), ..image.clone() }
}

fn ask(args: &PinArgs, files: &[File], ui: &Ui, env: &Env) -> Result<Answers, Failure> {
    let found = files.iter().flat_map(|file| &file.references.found);
    let mut wanted: Vec<Reference> =
        found.map(|found| asked(&found.image)).filter(|image| image.digest.is_none()).collect();
    wanted.sort();
    wanted.dedup();
    if wanted.is_empty() {
        return Ok(Answers::new());
    }
    let client = registry::here(&args.registry, ui, env)?;
    let answers = client.images(&wanted, Scope::Digest);
    let digest = |answer: Result<Option<reana_registry::Image>, Error>| Ok(answer?.map(|image| image.digest));
    Ok(wanted.into_iter().zip(answers.into_iter().map(digest)).collect())
}

/// The edit that pins a reference, `None` where it is pinned; else why not, and how bad that is.
fn edit(found: &Found, answers: &Answers) -> Result<Option<Edit>, (String, Exit)> {
    if found.image.digest.is_some() {
        return Ok(None);
    }
    match answers.get(&asked(&found.image)) {
        Some(Ok(Some(digest))) => {
            pin(found, digest).map(Some).map_err(|why| (why.to_string(), Exit::Wanting))
        }
        Some(Ok(None)) => Err(("its registry has no such image".to_owned(), Exit::Wanting)),
        Some(Err(error)) => {
            let hints = Failure::from_registry(error).hints;
            let text: Vec<String> = std::iter::once(error.kind.to_string()).chain(hints).collect();
            Err((text.join("; "), Exit::NoAnswer))
        }
        None => Ok(None),
    }
}
