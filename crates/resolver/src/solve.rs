//! The attempts that make one solution, and what is read from it.

use std::collections::{BTreeMap, BTreeSet};

use pubgrub::{PubGrubError, SelectedDependencies, resolve};
use reana_model::{PackageName, Target, Version};

use crate::admission::{Unadmitted, unadmitted};
use crate::aged;
use crate::catalog::Catalog;
use crate::collect::collect;
use crate::error::SolveError;
use crate::exhaust::exhaust;
use crate::explain;
use crate::node::Node;
use crate::provider::{Learned, Provider};
use crate::ranges::Point;
use crate::request::Request;
use crate::resolution::{Note, Resolution, Solved, TraceStep};
use crate::shorten::shorten;
use crate::world::{Halt, World};

/// The versions decided for all nodes but the root.
pub(crate) type Decided = BTreeMap<NodeKey, Point>;

/// A node in the order of names, then extras.
pub(crate) type NodeKey = (PackageName, Vec<reana_model::ExtraName>);

/// One target's world after a successful search, with what explaining needs.
pub(crate) struct Outcome<'w, 'a> {
    pub(crate) provider: Provider<'w, 'a>,
    pub(crate) decided: Decided,
}

/// Solves a request, target by target: each later target tries the earlier ones' pins first.
pub fn solve(catalog: &dyn Catalog, request: &Request) -> Result<Resolution, SolveError> {
    solve_traced(catalog, request, &mut Vec::new())
}

/// The same, with the solver's decisions where the request asks for them: all that were taken, also where there is no
/// solution, the last attempt's for each target.
pub fn solve_traced(
    catalog: &dyn Catalog,
    request: &Request,
    trace: &mut Vec<(Target, Vec<TraceStep>)>,
) -> Result<Resolution, SolveError> {
    let mut earlier: BTreeMap<PackageName, Vec<Version>> = BTreeMap::new();
    let mut resolution = Resolution::default();
    let mut notes = BTreeSet::new();
    for target in &request.targets {
        let world = World::new(catalog, request, *target, &earlier);
        let found = search(&world);
        trace.push((*target, world.trace.take()));
        let outcome = found.map_err(|failure| shorten(catalog, request, *target, failure))?;
        let solved = collect(&outcome, &mut notes)?;
        notes.extend(world.notes.take());
        aged::note(&world, &solved, &mut notes);
        for (name, chosen) in &solved.packages {
            let versions = earlier.entry(name.clone()).or_default();
            if !versions.contains(&chosen.version) {
                versions.push(chosen.version.clone());
            }
        }
        resolution.solved.push(solved);
    }
    let chosen = |name: &PackageName, version: &Version| {
        let has = |solved: &Solved| solved.packages.get(name).is_some_and(|it| it.version == *version);
        resolution.solved.iter().any(has)
    };
    resolution.notes = notes
        .into_iter()
        .filter(|note| !matches!(note, Note::DroppedPreference { name, old, .. } if chosen(name, old)))
        .collect();
    Ok(resolution)
}

/// Searches until an attempt teaches nothing new.
pub(crate) fn search<'w, 'a>(world: &'w World<'a>) -> Result<Outcome<'w, 'a>, SolveError> {
    world.expect(world.roots().iter().filter_map(|demand| demand.node.name()));
    let mut learned = Learned::default();
    learned.admit_places(world);
    if let Some(failure) = explain::two_places(world) {
        return Err(failure);
    }
    loop {
        let provider = Provider::new(world, learned);
        match resolve(&provider, Node::Root, Provider::root_version()) {
            Ok(selected) => {
                let decided = needed(&provider, &selected).map_err(|halt| error(&provider, halt))?;
                let taught = admit_consented(&provider, &decided)
                    .and_then(|admitted| Ok(refuse_unadmitted(&provider, &decided)? | admitted));
                if !taught.map_err(|halt| error(&provider, halt))? {
                    return Ok(Outcome { provider, decided });
                }
            }
            Err(
                PubGrubError::ErrorChoosingVersion { source: Halt::Restart, .. }
                | PubGrubError::ErrorRetrievingDependencies { source: Halt::Restart, .. },
            ) => {}
            Err(PubGrubError::NoSolution(tree)) => {
                if !admit_seen(&provider) {
                    let failure = explain::no_solution(&provider, &tree);
                    let decisions = world.trace.take();
                    let found = last_resort(provider);
                    if found.is_none() {
                        // Those that the failure tells of.
                        world.trace.replace(decisions);
                    }
                    return found.ok_or(failure);
                }
            }
            Err(
                PubGrubError::ErrorChoosingVersion { source, .. }
                | PubGrubError::ErrorRetrievingDependencies { source, .. }
                | PubGrubError::ErrorInShouldCancel(source),
            ) => return Err(error(&provider, source)),
        }
        learned = provider.learned.into_inner();
    }
}

/// After a failure that may come of what was hidden: a search that hides nothing, and, where what it finds
/// isn't admitted, one that tries every choice. `None` where there is no solution, or none was found.
fn last_resort<'w, 'a>(failed: Provider<'w, 'a>) -> Option<Outcome<'w, 'a>> {
    let world = failed.world;
    let mut learned = failed.learned.into_inner();
    if learned.hidden.is_empty() && learned.hidden_yanked.is_empty() {
        return None;
    }
    learned.hides_nothing = true;
    loop {
        let provider = Provider::new(world, learned);
        match resolve(&provider, Node::Root, Provider::root_version()) {
            Ok(selected) => {
                let decided = needed(&provider, &selected).ok()?;
                if unadmitted(&provider, &decided).ok()?.is_empty() {
                    return Some(Outcome { provider, decided });
                }
                let decided = exhaust(&provider).ok()??;
                return Some(Outcome { provider, decided });
            }
            Err(
                PubGrubError::ErrorChoosingVersion { source: Halt::Restart, .. }
                | PubGrubError::ErrorRetrievingDependencies { source: Halt::Restart, .. },
            ) => learned = provider.learned.into_inner(),
            Err(_) => return None,
        }
    }
}

impl Learned {
    /// The places that the user's own requirements and the constraints name.
    fn admit_places(&mut self, world: &World<'_>) {
        for demand in world.roots().iter() {
            if let (Some(name), Some(place)) = (demand.node.name(), demand.place()) {
                self.places.entry(name.clone()).or_insert_with(|| place.clone());
            }
        }
        for (name, place) in world.limit_places() {
            self.places.entry(name).or_insert(place);
        }
    }
}

/// The decided nodes that the root needs, by the demands of decided nodes.
fn needed(
    provider: &Provider<'_, '_>,
    selected: &SelectedDependencies<Node, Point>,
) -> Result<Decided, Halt> {
    let mut decided = Decided::new();
    let mut open: Vec<Node> = provider.world.roots().iter().map(|demand| demand.node.clone()).collect();
    while let Some(node) = open.pop() {
        let (Some(name), Some(at)) = (node.name(), selected.get(&node)) else { continue };
        let key = (name.clone(), node.extras().to_vec());
        if decided.insert(key, at.clone()).is_none() {
            open.extend(provider.demands(&node, at)?.iter().map(|demand| demand.node.clone()));
        }
    }
    Ok(decided)
}

/// Admits the pre-releases of packages whose requirements in this solution name one, where that could change
/// the choice. Whether any were admitted that were not before.
fn admit_consented(provider: &Provider<'_, '_>, decided: &Decided) -> Result<bool, Halt> {
    let mut admitted = false;
    for (name, extras) in decided.keys() {
        if !extras.is_empty() || provider.learned.borrow().admitted.contains(name) {
            continue;
        }
        let consents = provider.search.borrow().incoming_all(name);
        if !consents.iter().any(|live| live.demand.kinds.consents) {
            continue;
        }
        if provider.newer_prerelease(name, decided)? {
            admitted |= provider.learned.borrow_mut().admit(name);
        }
    }
    Ok(admitted)
}

/// Refuses what was admitted since something seen asks for it, where nothing in this solution does. Whether
/// anything was.
fn refuse_unadmitted(provider: &Provider<'_, '_>, decided: &Decided) -> Result<bool, Halt> {
    let unadmitted = unadmitted(provider, decided)?;
    let mut learned = provider.learned.borrow_mut();
    let refused = unadmitted.iter().map(|unadmitted| match unadmitted {
        Unadmitted::Prerelease(name) => learned.refuse(name),
        Unadmitted::Yanked(name) => learned.refuse_yanked(name),
    });
    Ok(refused.fold(false, |any, new| any | new))
}

/// After a failure: admits what was hidden from the search although some version seen asks for it.
fn admit_seen(provider: &Provider<'_, '_>) -> bool {
    let mut learned = provider.learned.borrow_mut();
    let mut admitted = false;
    let seen = provider.world.seen_demands(|demand| demand.kinds.consents || demand.kinds.pinned);
    for demand in seen {
        let Some(name) = demand.node.name() else { continue };
        if demand.kinds.consents && learned.hidden.contains(name) {
            admitted |= learned.admit(name);
        }
        if demand.kinds.pinned && learned.hidden_yanked.contains(name) {
            admitted |= learned.admit_yanked(name);
        }
    }
    admitted
}

/// What ended a search, for the user.
pub(crate) fn error(provider: &Provider<'_, '_>, halt: Halt) -> SolveError {
    match halt {
        Halt::Restart => SolveError::Limit { decisions: provider.world.decisions.get() },
        Halt::Limit(decisions) => SolveError::Limit { decisions },
        Halt::Catalog { name, source } => SolveError::Catalog { name, source },
        Halt::Unreadable { name, version, file, reason } => {
            let lines = provider.search.borrow().chain(&name);
            SolveError::Unreadable { name, version, file, reason, lines }
        }
    }
}
