//! `images diff`: one tag that stands for different digests in two deployments.

use std::collections::{BTreeMap, BTreeSet};

use reana_images::{Digest, Reference};
use serde_json::json;

use super::{File, read, tell_skipped};
use crate::args::{Format, ReferencesDiffArgs};
use crate::doors::env::Env;
use crate::error::Failure;
use crate::exit::Exit;
use crate::ui::Ui;

/// The digests of each tag; none where only the tag is written.
type Tags = BTreeMap<Reference, BTreeSet<Digest>>;

/// Compares two files.
pub(crate) fn run(args: &ReferencesDiffArgs, ui: &Ui, env: &Env) -> Result<Exit, Failure> {
    if args.format == Format::Github {
        return Err(Failure::input("--format github is for `images lint`"));
    }
    let (old, new) = (tags(&args.old, ui, env)?, tags(&args.new, ui, env)?);
    let both: Vec<(&Reference, &BTreeSet<Digest>, &BTreeSet<Digest>)> =
        old.iter().filter_map(|(tag, digests)| Some((tag, digests, new.get(tag)?))).collect();
    // A tag may be written with several digests in one file already.
    let differ: Vec<_> = both
        .iter()
        .filter(|(_, old, new)| !old.is_empty() && !new.is_empty() && old.union(new).count() > 1)
        .collect();
    let unknown = both.iter().filter(|(_, old, new)| old.is_empty() || new.is_empty()).count();
    match args.format {
        Format::Json => {
            let one = |(tag, old, new): &&(&Reference, &BTreeSet<Digest>, &BTreeSet<Digest>)| {
                let texts =
                    |digests: &BTreeSet<Digest>| digests.iter().map(ToString::to_string).collect::<Vec<_>>();
                json!({ "image": tag.to_string(), "old": texts(old), "new": texts(new) })
            };
            let differ: Vec<_> = differ.iter().map(one).collect();
            ui.data(&format!(
                "{:#}\n",
                json!({ "compared": both.len() - unknown, "without_digest": unknown, "different": differ })
            ));
        }
        Format::Text | Format::Github => {
            for (tag, old, new) in &differ {
                let short = |digests: &BTreeSet<Digest>| {
                    digests.iter().map(Digest::short).collect::<Vec<_>>().join(", ")
                };
                ui.data(&format!("{tag}: {} -> {}\n", short(old), short(new)));
            }
        }
    }
    if unknown > 0 {
        let noun = if unknown == 1 { "tag has" } else { "tags have" };
        ui.note(&format!(
            "{unknown} {noun} no digest in one of the files, so that nothing can be said of them"
        ));
    }
    ui.say(&format!(
        "{} tags are in both files, {} of them with different digests",
        both.len(),
        differ.len()
    ));
    Ok(if differ.is_empty() { Exit::Done } else { Exit::Wanting })
}

fn tags(name: &str, ui: &Ui, env: &Env) -> Result<Tags, Failure> {
    let file: File = read(name, env)?;
    tell_skipped(&file, ui);
    let mut tags = Tags::new();
    for found in file.references.found {
        let Reference { registry, repository, tag, digest } = found.image;
        if tag.is_some() {
            tags.entry(Reference { registry, repository, tag, digest: None }).or_default().extend(digest);
        }
    }
    Ok(tags)
}
