//! `running --trace`: what each running image was built from.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use reana_images::running::{
    Cluster, Container, ImageId, Known, Trace, from_labels, from_ledger, learn_ledger,
};
use reana_images::{Digest, LEDGER_FILE, Ledger, Reference};
use reana_registry::Scope;
use serde_json::{Value, json};

use super::registries::learn_image;
use crate::args::RunningArgs;
use crate::doors::disk::{self, DiskError};
use crate::doors::env::Env;
use crate::error::Failure;
use crate::registry;
use crate::ui::Ui;

/// So many images registries are asked about in one run.
const MOST_IMAGES: usize = 200;

/// What was found.
#[derive(Default)]
pub(crate) struct Traced {
    traces: BTreeMap<Digest, Trace>,
    /// What the digests are of.
    pub(crate) known: Known,
    /// A registry gave no answer, so that something may be missing.
    pub(crate) is_unanswered: bool,
}

/// The ledger that is meant; without one that is named, an empty one is as good.
pub(crate) fn ledger(args: &RunningArgs, env: &Env) -> Result<Ledger, Failure> {
    match &args.ledger {
        Some(path) => read_ledger(&env.cwd.join(path), &path.to_string_lossy()),
        None => {
            let path = env.cwd.join(LEDGER_FILE);
            match disk::read_text(&path) {
                Err(DiskError::Absent { .. }) => Ok(Ledger::default()),
                Err(error) => Err(Failure::from_disk(&error)),
                Ok(text) => parse(&text, LEDGER_FILE),
            }
        }
    }
}

/// Reads a ledger.
pub(crate) fn read_ledger(path: &Path, shown: &str) -> Result<Ledger, Failure> {
    parse(&disk::read_text(path).map_err(|error| Failure::from_disk(&error))?, shown)
}

fn parse(text: &str, shown: &str) -> Result<Ledger, Failure> {
    Ledger::parse(text).map_err(|error| Failure::input(format!("{shown}:{}: {error}", error.line)))
}

/// Looks all running digests up: in the ledger, then, for the others, on the images in their registries.
pub(crate) fn trace(args: &RunningArgs, ui: &Ui, env: &Env, cluster: &Cluster) -> Result<Traced, Failure> {
    let ledger = ledger(args, env)?;
    let mut traced = Traced::default();
    let mut wanted: BTreeSet<Reference> = BTreeSet::new();
    for container in cluster.pods.iter().flat_map(|pod| &pod.containers) {
        let Some(digest) = container.id.digest() else { continue };
        if let Some(trace) = from_ledger(&ledger, digest) {
            traced.traces.insert(digest.clone(), trace);
        } else if let (ImageId::Named { .. }, Some(asked)) = (&container.id, container.asked()) {
            wanted.insert(Reference { tag: None, digest: Some(digest.clone()), ..asked });
        }
    }
    if !args.offline && !wanted.is_empty() {
        ask(args, ui, env, wanted, &mut traced)?;
    }
    learn_ledger(&mut traced.known, &ledger);
    Ok(traced)
}

fn ask(
    args: &RunningArgs,
    ui: &Ui,
    env: &Env,
    wanted: BTreeSet<Reference>,
    traced: &mut Traced,
) -> Result<(), Failure> {
    let left = wanted.len().saturating_sub(MOST_IMAGES);
    if left > 0 {
        ui.warn(&format!("registries are asked about {MOST_IMAGES} images; about {left} more they were not"));
    }
    let wanted: Vec<Reference> = wanted.into_iter().take(MOST_IMAGES).collect();
    let client = registry::here(&args.registry, ui, env)?;
    for (image, answer) in wanted.iter().zip(client.images(&wanted, Scope::Labels)) {
        match answer {
            Ok(Some(found)) => {
                learn_image(&mut traced.known, &found);
                if let Some(trace) = found.labels().and_then(from_labels) {
                    traced.traces.insert(found.digest, trace);
                }
            }
            Ok(None) => ui.detail(&format!("{image}: its registry has no such image")),
            Err(error) => {
                traced.is_unanswered = true;
                ui.warn(&Failure::from_registry(&error).message);
            }
        }
    }
    Ok(())
}

impl Traced {
    fn of(&self, container: &Container) -> Option<&Trace> {
        self.traces.get(container.id.digest()?)
    }

    /// Lines below a container's image.
    pub(crate) fn lines(&self, container: &Container) -> Vec<(&'static str, String)> {
        let Some(trace) = self.of(container) else {
            let is_there = container.id.digest().is_some();
            return is_there.then(|| ("Built from", "not known".to_owned())).into_iter().collect();
        };
        let mut built = trace.commit.clone().unwrap_or_else(|| "no commit".to_owned());
        built.push_str(&trace.version.as_ref().map(|version| format!(" ({version})")).unwrap_or_default());
        built.push_str(&trace.repository.as_ref().map(|url| format!(" of {url}")).unwrap_or_default());
        built.push_str(&format!(", by the {}", trace.source.word()));
        let mut lines = vec![("Built from", built)];
        lines.extend(trace.inputs.as_ref().map(|inputs| ("Inputs", inputs.short().to_owned())));
        if !trace.shared.is_empty() {
            lines.push(("Packages", trace.shared.join(", ")));
        }
        lines
    }

    /// For scripts; null where nothing is known.
    pub(crate) fn json(&self, container: &Container) -> Value {
        let trace = |trace: &Trace| {
            json!({
                "told_by": trace.source.word(),
                "commit": trace.commit,
                "version": trace.version,
                "source": trace.repository,
                "inputs": trace.inputs.as_ref().map(ToString::to_string),
                "packages": trace.shared,
            })
        };
        self.of(container).map_or(Value::Null, trace)
    }
}
