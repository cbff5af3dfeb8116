//! `reana-lock record`: after a push, writes what the tag stands for into the ledger.

use std::collections::BTreeSet;

use reana_images::{Change, Entry, LabelError, Record};
use reana_registry::{Client, Error, Image, ManifestKind, NoAnswer, Scope};
use serde_json::{Value, json};

use crate::args::{Format, RecordArgs};
use crate::doors::env::Env;
use crate::error::Failure;
use crate::exit::Exit;
use crate::guard::{Built, Candidate, Candidates, ledger};
use crate::ui::Ui;

/// Records what the arguments name.
pub(crate) fn run(args: &RecordArgs, ui: &Ui, env: &Env) -> Result<Exit, Failure> {
    if args.image.inputs.format == Format::Github {
        return Err(Failure::input("--format github is for checks"));
    }
    if args.image.inputs.index.offline {
        return Err(Failure::input(
            "--offline: what was pushed is recorded as its registry tells it, which is not asked",
        ));
    }
    let candidates = Candidates::find(&args.image, env, ui)?;
    let mut exit = Exit::Done;
    let mut values = Vec::new();
    for candidate in &candidates.all {
        match one(candidate, &candidates, env) {
            Ok((built, entry, path)) => {
                ui.say(&format!("{}: {} is {} now", path, built.reference, entry.digest));
                values.push(as_json(candidate, built, &entry));
            }
            Err(failure) => {
                exit = exit.max(failure.exit);
                ui.error(&format!("{}: {}", candidate.name(), failure.message), &failure.hints);
            }
        }
    }
    if args.image.inputs.format == Format::Json {
        ui.data(&format!("{:#}\n", json!({ "images": values })));
    }
    Ok(exit)
}

fn one<'c>(
    candidate: &'c Candidate,
    candidates: &Candidates<'_>,
    env: &Env,
) -> Result<(&'c Built, Entry, String), Failure> {
    let built = candidate.outcome.as_ref().map_err(Clone::clone)?;
    let image = pushed(built, &*candidates.clients.of(&candidate.image.config)?)?;
    check_labels(&image, &built.record)?;
    let entry = entry(&image, &built.record);
    let root = &candidate.image.root;
    let path = ledger::update(root, &env.cwd, |ledger| {
        if let Some(old) = ledger.get(&built.reference).filter(|old| old.record.inputs != entry.record.inputs)
        {
            let change = Change::of(&old.record, &entry.record);
            return Err(wanting(format!(
                "{} is recorded already, for other inputs: {change}",
                built.reference
            ))
            .hint("a tag stands for one build: give this one another tag, by a commit"));
        }
        ledger.set(&built.reference, entry.clone());
        Ok(())
    })?;
    Ok((built, entry, ledger::shown(&path, &env.cwd)))
}

/// What the tag leads to, whole. It is asked for again at the end: what moves meanwhile is not recorded.
pub(crate) fn pushed(built: &Built, client: &Client) -> Result<Image, Failure> {
    let reference = &built.reference;
    let failed = |error: Error| Failure::from_registry(&error);
    let absent = || {
        wanting(format!("{reference}: the registry knows no such image"))
            .hint("push it first, then record it")
    };
    let image = client.image(reference, Scope::All).map_err(failed)?.ok_or_else(absent)?;
    if let Some(gone) = image.gone().next() {
        return Err(wanting(format!(
            "{reference}: it is not whole: {} is gone from the registry",
            gone.digest
        ))
        .hint("push it again"));
    }
    let again = client.manifest(reference).map_err(failed)?.ok_or_else(absent)?;
    if again.digest != image.digest {
        let kind = NoAnswer::Moved { before: image.digest, after: again.digest };
        return Err(failed(Error { image: Box::new(reference.clone()), kind })
            .hint("somebody else pushes this tag: find out who, then record it again"));
    }
    Ok(image)
}

/// Each image must say that it was built from what is here.
fn check_labels(image: &Image, now: &Record) -> Result<(), Failure> {
    let reference = &image.reference;
    for labels in image.all_labels() {
        match Record::from_labels(labels) {
            Ok(record) if record.inputs == now.inputs => {}
            Ok(record) => {
                let change = Change::of(&record, now);
                return Err(wanting(format!("{reference}: it was not built from what is here: {change}"))
                    .hint("record it in the checkout that it was built from"));
            }
            Err(LabelError::None) => {
                return Err(wanting(format!("{reference}: {}", LabelError::None)).hint(
                    "build it with `reana-lock labels`; `reana-lock guard --adopt` records an image as it is",
                ));
            }
            Err(error) => return Err(Failure::no_answer(format!("{reference}: {error}"))),
        }
    }
    Ok(())
}

/// What is recorded of an image.
pub(crate) fn entry(image: &Image, record: &Record) -> Entry {
    let children: BTreeSet<_> = match image.kind {
        ManifestKind::Index => image.children.iter().map(|child| child.digest.clone()).collect(),
        ManifestKind::Image => BTreeSet::new(),
    };
    Entry::new(image.digest.clone(), children, image.configs(), record.clone())
}

fn wanting(message: String) -> Failure {
    Failure { exit: Exit::Wanting, message, hints: Vec::new() }
}

fn as_json(candidate: &Candidate, built: &Built, entry: &Entry) -> Value {
    json!({
        "component": candidate.name(),
        "image": built.reference.to_string(),
        "tag": built.tag.as_str(),
        "digest": entry.digest.as_str(),
        "children": entry.children.iter().map(ToString::to_string).collect::<Vec<_>>(),
        "configs": entry.configs.iter().map(ToString::to_string).collect::<Vec<_>>(),
        "scheme": entry.scheme,
        "inputs": entry.record.inputs.as_str(),
        "commit": entry.record.commit,
    })
}
