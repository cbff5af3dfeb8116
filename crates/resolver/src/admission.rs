//! Whether a solution may hold the pre-releases and the yanked versions that it holds.
//!
//! Both are judged by the whole solution: a pre-release needs a requirement that names one, or that no final
//! release satisfies all requirements together; a yanked version needs a requirement that pins it. So they are
//! no property of a version, which is what PubGrub learns about. The search hides them and admits them as it
//! goes; here is judged what came out.

use std::rc::Rc;

use pubgrub::Ranges;
use reana_model::PackageName;

use crate::node::{Demand, Node};
use crate::provider::Provider;
use crate::ranges::Point;
use crate::select::View;
use crate::solve::Decided;
use crate::world::Halt;

/// A version in a solution that nothing in it admits.
pub(crate) enum Unadmitted {
    /// A pre-release of this package.
    Prerelease(PackageName),
    /// A yanked version of it.
    Yanked(PackageName),
}

/// What nothing in the solution admits.
pub(crate) fn unadmitted(provider: &Provider<'_, '_>, decided: &Decided) -> Result<Vec<Unadmitted>, Halt> {
    let mut found = Vec::new();
    for ((name, extras), at) in decided {
        if !extras.is_empty() || provider.learned.borrow().places.contains_key(name) {
            continue;
        }
        let is_yanked = provider.world.is_yanked(name, at)?;
        let is_prerelease = at.version().any_prerelease() && !provider.world.policy().prereleases;
        let is_kept = provider.world.preferences(name).contains(at.version());
        if is_kept || !(is_yanked || is_prerelease) {
            continue;
        }
        let demands = demands_on(provider, decided, name)?;
        let limits = provider.world.limits(name);
        let pinned =
            demands.iter().any(|demand| demand.kinds.pinned) || limits.iter().any(|limit| limit.kinds.pinned);
        if is_yanked && !pinned {
            found.push(Unadmitted::Yanked(name.clone()));
        }
        let consents = demands.iter().any(|demand| demand.kinds.consents)
            || limits.iter().any(|limit| limit.kinds.consents);
        if is_prerelease && !consents {
            let all = demands
                .iter()
                .fold(Ranges::full(), |range: Ranges<Point>, demand| range.intersection(&demand.range));
            let left = provider.world.limited(name, &all);
            let finals = View { prereleases: false, yanked: pinned };
            if provider.selection().first(name, &left, finals)?.is_some() {
                found.push(Unadmitted::Prerelease(name.clone()));
            }
        }
    }
    Ok(found)
}

/// What the nodes of a solution demand of a package.
fn demands_on(
    provider: &Provider<'_, '_>,
    decided: &Decided,
    name: &PackageName,
) -> Result<Vec<Rc<Demand>>, Halt> {
    let is_on = |demand: &&Rc<Demand>| demand.node.name() == Some(name);
    let mut all: Vec<Rc<Demand>> = provider.world.roots().iter().filter(is_on).cloned().collect();
    // What a package says of itself admits nothing.
    for ((by, extras), at) in decided.iter().filter(|((by, _), _)| by != name) {
        let node = Node::of(by, extras);
        all.extend(provider.demands(&node, at)?.iter().filter(is_on).cloned());
    }
    all.retain(|demand| demand.requirement.is_some());
    Ok(all)
}
