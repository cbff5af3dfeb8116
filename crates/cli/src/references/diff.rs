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

/// What a file says of each tag.
type Tags = BTreeMap<Reference, Said>;

/// What a file says of a tag.
#[derive(Default)]
struct Said {
    /// The digests that it is written with; none where only the tag is.
    digests: BTreeSet<Digest>,
    /// Digests that are of the same content: a ledger knows the images of an index.
    parts: BTreeSet<Digest>,
}

impl Said {
    fn differs(&self, other: &Self) -> bool {
        let is_same =
            |one: &Digest, two: &Digest| one == two || self.parts.contains(two) || other.parts.contains(one);
        let pairs = self.digests.iter().flat_map(|one| other.digests.iter().map(move |two| (one, two)));
        pairs.into_iter().any(|(one, two)| !is_same(one, two))
    }
}

/// Compares two files.
pub(crate) fn run(args: &ReferencesDiffArgs, ui: &Ui, env: &Env) -> Result<Exit, Failure> {
    if args.format == Format::Github {
        return Err(Failure::input("--format github is for `images lint`"));
    }
    let (old, new) = (tags(&args.old, ui, env)?, tags(&args.new, ui, env)?);
    let both: Vec<(&Reference, &Said, &Said)> =
        old.iter().filter_map(|(tag, digests)| Some((tag, digests, new.get(tag)?))).collect();
    let differ: Vec<_> = both.iter().filter(|(_, old, new)| old.differs(new)).collect();
    let unknown =
        both.iter().filter(|(_, old, new)| old.digests.is_empty() || new.digests.is_empty()).count();
    match args.format {
        Format::Json => {
            let one = |(tag, old, new): &&(&Reference, &Said, &Said)| {
                let texts = |said: &Said| said.digests.iter().map(ToString::to_string).collect::<Vec<_>>();
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
                let short =
                    |said: &Said| said.digests.iter().map(Digest::short).collect::<Vec<_>>().join(", ");
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
        "{} {} in both files, {} of them with different digests",
        both.len(),
        if both.len() == 1 { "tag is" } else { "tags are" },
        differ.len()
    ));
    Ok(if differ.is_empty() { Exit::Done } else { Exit::Wanting })
}

fn tags(name: &str, ui: &Ui, env: &Env) -> Result<Tags, Failure> {
    let mut tags = Tags::new();
    if name.ends_with(".toml") {
        for (image, entry) in crate::running::trace::read_ledger(&env.cwd.join(name), name)?.entries {
            if let Ok(image) = image.parse::<Reference>() {
                tags.insert(image, Said { digests: BTreeSet::from([entry.digest]), parts: entry.children });
            }
        }
        return Ok(tags);
    }
    let file: File = read(name, env)?;
    tell_skipped(&file, ui);
    for found in file.references.found {
        let Reference { registry, repository, tag, digest } = found.image;
        if tag.is_some() {
            tags.entry(Reference { registry, repository, tag, digest: None })
                .or_default()
                .digests
                .extend(digest);
        }
    }
    Ok(tags)
}
