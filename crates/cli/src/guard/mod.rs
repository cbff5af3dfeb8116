//! What the commands about tags share: each image with its tag, its inputs and what they are made from; and the
//! ledger.

pub(crate) mod ledger;
mod lock;

use std::collections::{BTreeMap, BTreeSet};

use reana_images::{Description, Digest, Record, Reference, Tag};
use reana_model::PackageName;

use crate::args::{ImageArgs, TagStyle};
use crate::commands::tag::{self, Facts};
use crate::config::Config;
use crate::doors::env::Env;
use crate::doors::git::describe;
use crate::error::Failure;
use crate::fleet::images::{self, Image};
use crate::inputs::{self, Gathered, Lookup, Question};
use crate::registry::{self, Clients};
use crate::ui::Ui;

/// How many images are looked at at once: git is waited for most of the time.
const AT_ONCE: usize = 8;

/// An image that could be built now.
pub(crate) struct Candidate {
    /// The repository.
    pub(crate) image: Image,
    /// What git says, where it says something.
    pub(crate) facts: Option<Facts>,
    /// Its name and tag, its inputs; or why these can't be had.
    pub(crate) outcome: Result<Built, Failure>,
    /// What the lock, the work tree or the tag have against it.
    pub(crate) refusals: Vec<Refusal>,
    /// What the component itself requires.
    pub(crate) direct: BTreeSet<PackageName>,
}

/// What would be built.
pub(crate) struct Built {
    /// The image's name with its tag.
    pub(crate) reference: Reference,
    /// The tag.
    pub(crate) tag: Tag,
    /// What goes into it.
    pub(crate) record: Record,
    /// What the user should know.
    pub(crate) notes: Vec<String>,
}

/// Why an image must not be built, whatever its tag stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refusal {
    /// Why.
    pub(crate) reason: String,
    /// The way out.
    pub(crate) advice: String,
}

/// All images that are meant, and the clients for their registries.
pub(crate) struct Candidates<'a> {
    /// Sorted by folder.
    pub(crate) all: Vec<Candidate>,
    /// Each image's is that of its settings.
    pub(crate) clients: Clients<'a>,
}

impl<'a> Candidates<'a> {
    /// Finds the images and gathers what goes into them.
    pub(crate) fn find(args: &'a ImageArgs, env: &'a Env, ui: &Ui) -> Result<Self, Failure> {
        let (images, notes) =
            images::images(&args.inputs.what, &env.cwd).map_err(|error| Failure::from_fleet(&error))?;
        notes.iter().for_each(|note| ui.detail(&note.to_string()));
        let cache =
            registry::cache_folder(args.inputs.index.no_cache, args.inputs.index.cache_dir.as_deref(), env);
        let clients = Clients::new(&args.inputs.registry, cache, env);
        let gathered = {
            let asked = |config: &Config, image: &Reference| clients.base_digest(config, image);
            let lookup: &Lookup<'_> = if args.inputs.index.offline { &inputs::unasked } else { &asked };
            let question = Question { args: &args.inputs.build, index: &args.inputs.index, lookup };
            inputs::inputs_of(&images, &question, env, ui)?
        };
        let mut all = Vec::new();
        let mut waiting = images.into_iter().zip(gathered).peekable();
        while waiting.peek().is_some() {
            let some: Vec<_> = waiting.by_ref().take(AT_ONCE).collect();
            std::thread::scope(|scope| {
                let threads: Vec<_> = some
                    .into_iter()
                    .map(|(image, gathered)| scope.spawn(move || Candidate::of(image, gathered, args, env)))
                    .collect();
                for thread in threads {
                    all.push(thread.join().map_err(|_| Failure::internal("an image was not looked at"))?);
                }
                Ok(())
            })?;
        }
        refuse_same_names(&mut all);
        Ok(Self { all, clients })
    }
}

impl Candidate {
    fn of(image: Image, gathered: Result<Gathered, Failure>, args: &ImageArgs, env: &Env) -> Self {
        let mut tagged = tag::tagged(&image, args.style);
        if let Some(tag) = &args.tag {
            tagged.outcome = tag.parse().map_err(|error| Failure::input(format!("--tag: {error}")));
        }
        let facts = tagged.facts;
        let mut refusals = Vec::new();
        if let (Err(failure), Ok(gathered)) = (&tagged.outcome, &gathered)
            && failure.exit == crate::exit::Exit::Wanting
        {
            // A release from a dirty tree: told as a refusal of what is there.
            let advice = failure.hints.join("; ");
            refusals.push(Refusal { reason: format!("{}: {}", gathered.name, failure.message), advice });
        }
        let is_release = args.style == TagStyle::Release
            || args.tag.is_some()
            || facts.as_ref().is_some_and(|facts| facts.description.is_exact());
        let mut direct = BTreeSet::new();
        if let Ok(gathered) = &gathered {
            if is_release {
                refusals.extend(release_refusals(&facts, gathered));
            }
            let (required, more) = lock::refusals(&image, gathered, args, env);
            direct = required;
            refusals.extend(more);
        }
        let commit = facts.as_ref().map(|facts| facts.commit.clone());
        let outcome = tagged.outcome.and_then(|tag| {
            let gathered = gathered?;
            let name = format!("{}{}:{tag}", image.config.image_prefix(), image.member.name);
            let reference = name.parse::<Reference>().map_err(|error| {
                Failure::input(format!("the image can't be called {name}: {error}"))
                    .hint("`prefix` under [images] in reana-lock.toml stands before the component's name")
            })?;
            gathered.digest()?;
            let record = Record::of(&gathered.inputs, commit);
            let mut notes = gathered.notes.clone();
            notes.extend(
                gathered
                    .unpinned
                    .iter()
                    .map(|place| format!("{}:{}: {}", gathered.dockerfile, place.line, place.what)),
            );
            Ok(Built { reference, tag, record, notes })
        });
        Self { image, facts, outcome, refusals, direct }
    }

    /// The component's name.
    pub(crate) fn name(&self) -> &str {
        &self.image.member.name
    }

    /// Whether tracked files have changes that no commit has.
    pub(crate) fn is_dirty(&self) -> bool {
        self.facts.as_ref().is_some_and(|facts| facts.description.is_dirty)
    }

    /// Where the sources are, without credentials.
    pub(crate) fn source(&self) -> Option<String> {
        describe::origin(&self.image.member.folder)
    }
}

/// Refuses images of one run that would be pushed under one tag: whichever came last would take it.
fn refuse_same_names(all: &mut [Candidate]) {
    let shown = |candidate: &Candidate| {
        let folder = &candidate.image.member.shown;
        if folder.is_empty() { ".".to_owned() } else { folder.clone() }
    };
    let mut by_name: BTreeMap<Reference, Vec<String>> = BTreeMap::new();
    for candidate in &*all {
        if let Ok(built) = &candidate.outcome {
            by_name.entry(built.reference.clone()).or_default().push(shown(candidate));
        }
    }
    for candidate in all {
        let Ok(built) = &candidate.outcome else { continue };
        let here = shown(candidate);
        let others = by_name.get(&built.reference).into_iter().flatten().filter(|folder| **folder != here);
        let others: Vec<&str> = others.map(String::as_str).collect();
        if !others.is_empty() {
            candidate.refusals.push(Refusal {
                reason: format!("{} would be pushed from {} as well", built.reference, others.join(", ")),
                advice:
                    "give them names of their own: folders that are called differently, or another `prefix` \
                         under [images] in each reana-lock.toml"
                        .to_owned(),
            });
        }
    }
}

/// What a release must not have.
fn release_refusals(facts: &Option<Facts>, gathered: &Gathered) -> Vec<Refusal> {
    let mut refusals = Vec::new();
    let dirty = facts.as_ref().map(|facts| &facts.description).filter(|it: &&Description| it.is_dirty);
    if let Some(description) = dirty {
        refusals.push(Refusal {
            reason: format!(
                "tracked files have uncommitted changes, and the tag of {} stands for a commit",
                description.tag
            ),
            advice: "commit the changes, or take them back".to_owned(),
        });
    }
    if !gathered.modules.is_empty() {
        refusals.push(Refusal {
            reason: format!(
                "it has local packages (modules/: {}), and a release has none",
                gathered.modules.join(", ")
            ),
            advice: "empty modules/, and require released versions".to_owned(),
        });
    }
    refusals
}

/// A digest's first digits, for people.
pub(crate) fn short(digest: &Digest) -> String {
    format!("sha256:{}", digest.short())
}
