//! What a lock has against a build: it is a preview, or does not satisfy what the manifests require now.

use std::collections::BTreeSet;

use reana_lockfile::Lock;
use reana_model::PackageName;

use super::Refusal;
use crate::args::{CompileArgs, ImageArgs, OutputArgs, ResolveArgs};
use crate::doors::env::Env;
use crate::fleet::Plan;
use crate::fleet::images::Image;
use crate::inputs::{Gathered, PackagesFrom};
use crate::lock::prepare;

/// What the component itself requires, and why its lock must not be built from. The index is not asked: what a new
/// resolve would give doesn't count here, only what the manifests say.
pub(super) fn refusals(
    image: &Image,
    gathered: &Gathered,
    args: &ImageArgs,
    env: &Env,
) -> (BTreeSet<PackageName>, Vec<Refusal>) {
    if !image.member.has_manifest {
        return (BTreeSet::new(), Vec::new());
    }
    let plan = Plan {
        fleet_root: Some(image.root.clone()),
        config: image.config.clone(),
        units: vec![image.member.unit(&image.config)],
        notes: Vec::new(),
    };
    let build = &args.inputs.build;
    let compile = CompileArgs {
        what: Vec::new(),
        output: OutputArgs::default(),
        resolve: ResolveArgs {
            extra: build.extra.clone(),
            python_version: build.python_version.clone(),
            platform: build.platform.clone(),
            ..ResolveArgs::default()
        },
        index: args.inputs.index.clone(),
    };
    // What can't be prepared was told when the inputs were gathered, or is none of the lock's business.
    let Ok(Some(prepared)) = prepare::all(&plan, &compile, env).map(|mut all| all.pop()) else {
        return (BTreeSet::new(), Vec::new());
    };
    let roots = &prepared.request.roots;
    let direct = roots.iter().map(|root| root.name.clone()).collect();
    let Some(lock) = prepared.old.as_ref().filter(|_| gathered.packages_from == PackagesFrom::Lock) else {
        return (direct, Vec::new());
    };
    let mut refusals = Vec::new();
    if let Some(line) = lock.preview {
        refusals.push(Refusal {
            reason: format!("{}:{line}: the lock is a preview", prepared.lock_shown),
            advice: "lock it without previewing: `reana-lock compile`".to_owned(),
        });
    }
    let targets = &prepared.request.targets;
    let wanted = roots
        .iter()
        .filter(|root| targets.iter().any(|target| root.marker.evaluate(&target.marker_environment(), &[])));
    for root in wanted {
        if let Some(found) = unsatisfied(lock, root) {
            refusals.push(Refusal {
                reason: format!(
                    "{} is stale: {found}, and {} requires {}",
                    prepared.lock_shown, root.origin, root.text
                ),
                advice: "lock it anew: `reana-lock compile`, and commit".to_owned(),
            });
        }
    }
    (direct, refusals)
}

/// What the lock has instead of what is required.
fn unsatisfied(lock: &Lock, root: &reana_model::Requirement) -> Option<String> {
    if lock.left_out.contains(&root.name) {
        return None;
    }
    let pins: Vec<_> = lock.pins.iter().filter(|pin| pin.name == root.name).collect();
    if pins.is_empty() {
        return Some(format!("it doesn't pin {}", root.name));
    }
    let specifiers = root.specifiers()?;
    let versions = pins.iter().filter_map(|pin| pin.version.as_ref());
    let bad = versions.into_iter().find(|version| !specifiers.contains(version))?;
    Some(format!("it pins {}=={bad}", root.name))
}
