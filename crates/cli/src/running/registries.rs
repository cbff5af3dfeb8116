//! What registries say of the tags that run: which content each has now, and what the digests on nodes are.

use std::collections::{BTreeMap, BTreeSet};

use reana_images::running::{Child, Cluster, DigestKind, Known, Now, Platform, questions};
use reana_images::{Digest, Reference};
use reana_registry::{ChildState, Image, Manifest, ManifestKind, Scope};

use crate::args::RunningArgs;
use crate::doors::env::Env;
use crate::error::Failure;
use crate::registry;
use crate::ui::Ui;

/// About so many tags registries are asked in one run; of the others it is said that they weren't.
const MOST_TAGS: usize = 200;

/// So many digests of a tag are looked up that its registry has no more under the tag.
const MOST_DIGESTS: usize = 4;

/// What registries said.
#[derive(Default)]
pub(crate) struct Answers {
    /// Of digests.
    pub(crate) known: Known,
    /// Of tags.
    pub(crate) now: BTreeMap<Reference, Now>,
}

/// Asks about the tags that nodes disagree about, and those that pods run.
pub(crate) fn ask(args: &RunningArgs, ui: &Ui, env: &Env, cluster: &Cluster) -> Result<Answers, Failure> {
    let mut questions = questions(cluster);
    let left = questions.len().saturating_sub(MOST_TAGS);
    if left > 0 {
        questions.truncate(MOST_TAGS);
        ui.warn(&format!("registries are asked about {MOST_TAGS} tags; about {left} more they were not"));
    }
    let mut answers = Answers::default();
    if questions.is_empty() {
        return Ok(answers);
    }
    let client = registry::here(&args.registry, ui, env)?;
    ui.start_progress();
    ui.progress(format!("asking registries about {} tags", questions.len()));
    let tags: Vec<Reference> = questions.iter().map(|question| question.image.clone()).collect();
    for (tag, answer) in tags.iter().zip(client.images(&tags, Scope::Labels)) {
        let now = match answer {
            Ok(Some(image)) => {
                learn_image(&mut answers.known, &image);
                Now::Digest(image.digest)
            }
            Ok(None) => Now::Absent,
            Err(error) => Now::NoAnswer(error.to_string()),
        };
        answers.now.insert(tag.clone(), now);
    }
    let mut asked = BTreeSet::new();
    for question in &questions {
        let is_unknown = |digest: &&Digest| answers.known.kind(digest) == DigestKind::Unknown;
        let unknown: Vec<&Digest> = question.digests.iter().filter(is_unknown).collect();
        for digest in unknown.into_iter().take(MOST_DIGESTS) {
            let old = Reference { tag: None, digest: Some(digest.clone()), ..question.image.clone() };
            // Old content may be gone, or not be shown to us: then its digest is all that is known of it.
            if asked.insert(old.clone())
                && let Ok(Some(manifest)) = client.manifest(&old)
            {
                learn_manifest(&mut answers.known, manifest);
            }
        }
    }
    ui.end_progress();
    Ok(answers)
}

/// Takes in what an image is made of.
pub(crate) fn learn_image(known: &mut Known, image: &Image) {
    for child in &image.children {
        if let ChildState::There { config, .. } = &child.state {
            known.add_manifest(child.digest.clone(), Some(config.clone()));
        }
    }
    if image.kind == ManifestKind::Index {
        let child = |child: &reana_registry::Child| Child {
            digest: child.digest.clone(),
            platform: child.platform.as_deref().and_then(platform),
        };
        known.add_index(image.digest.clone(), image.children.iter().map(child).collect());
    }
}

fn learn_manifest(known: &mut Known, manifest: Manifest) {
    match manifest.kind {
        ManifestKind::Image => known.add_manifest(manifest.digest, manifest.config),
        ManifestKind::Index => {
            let children = manifest.children.into_iter().map(|child| Child {
                platform: child.platform.as_deref().and_then(platform),
                digest: child.digest,
            });
            known.add_index(manifest.digest, children.collect());
        }
    }
}

/// `linux/arm64/v8` as nodes tell it: without the variant.
fn platform(text: &str) -> Option<Platform> {
    let mut parts = text.split('/').map(str::to_owned);
    Some(Platform { os: parts.next()?, architecture: parts.next()? })
}
