//! What PubGrub asks: which package next, which version of it, and what that requires.

use std::cell::RefCell;
use std::cmp::Reverse;
use std::rc::Rc;

use pubgrub::{Dependencies, DependencyProvider, PackageResolutionStatistics, Ranges};
use reana_model::{PackageName, Version};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::node::{Demand, Node};
use crate::ranges::Point;
use crate::resolution::TraceStep;
use crate::search::Search;
use crate::select::Selection;
use crate::solve::Decided;
use crate::world::{Facts, Halt, World};

/// A package that took part in this many conflicts is decided before the rest.
const CONFLICTS_TO_PROMOTE: u32 = 5;

/// Attempts that learn something and start anew; what would be learned after them is left to PubGrub.
const MOST_RESTARTS: u32 = 400;

/// What one attempt learned for the next ones.
#[derive(Default)]
pub(crate) struct Learned {
    /// Packages whose pre-releases may be chosen.
    pub(crate) admitted: FxHashSet<PackageName>,
    /// Packages whose yanked versions may be chosen (they are pinned somewhere).
    pub(crate) admitted_yanked: FxHashSet<PackageName>,
    /// Packages whose pre-releases may be chosen only while something asks for them: they were chosen where in
    /// the end nothing did.
    pub(crate) refused: FxHashSet<PackageName>,
    /// Packages whose yanked versions may be chosen only while something pins them: they were chosen where in
    /// the end nothing did.
    pub(crate) refused_yanked: FxHashSet<PackageName>,
    /// Packages that come from one place.
    pub(crate) places: FxHashMap<PackageName, reana_model::requirement::Direct>,
    /// Packages of which the search was told that there are none, while pre-releases were hidden.
    pub(crate) hidden: FxHashSet<PackageName>,
    /// The same, while yanked versions were hidden.
    pub(crate) hidden_yanked: FxHashSet<PackageName>,
    /// Whether what would be hidden is taken where nothing else is left.
    pub(crate) hides_nothing: bool,
    /// The first is decided after the second.
    after: FxHashSet<(Node, Node)>,
    /// How long a node waits for others.
    waits: FxHashMap<Node, u32>,
    pub(crate) restarts: u32,
}

pub(crate) struct Provider<'w, 'a> {
    pub(crate) world: &'w World<'a>,
    pub(crate) learned: RefCell<Learned>,
    pub(crate) search: RefCell<Search>,
}

/// pip's order of decisions, the first to be decided least.
///
/// pip asks: packages that keep causing conflicts, direct places, exact pins, upper bounds, the user's order,
/// any specifier, the name. `waits` comes before: pip decides a package anew when a later one narrows it, which
/// PubGrub doesn't; it is made to wait for that later one instead.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Priority {
    waits: u32,
    is_calm: bool,
    is_indirect: bool,
    is_unpinned: bool,
    is_unbounded: bool,
    requested: u32,
    is_free: bool,
    name: Rc<str>,
}

impl Learned {
    /// Admits a package's pre-releases. Whether that is new.
    pub(crate) fn admit(&mut self, name: &PackageName) -> bool {
        !self.refused.contains(name) && self.admitted.insert(name.clone())
    }

    /// Takes that back for good. Whether it is new.
    pub(crate) fn refuse(&mut self, name: &PackageName) -> bool {
        self.admitted.remove(name);
        self.refused.insert(name.clone())
    }

    /// Admits a package's yanked versions. Whether that is new.
    pub(crate) fn admit_yanked(&mut self, name: &PackageName) -> bool {
        !self.refused_yanked.contains(name) && self.admitted_yanked.insert(name.clone())
    }

    /// Takes that back for good. Whether it is new.
    pub(crate) fn refuse_yanked(&mut self, name: &PackageName) -> bool {
        self.admitted_yanked.remove(name);
        self.refused_yanked.insert(name.clone())
    }
}

impl<'w, 'a> Provider<'w, 'a> {
    pub(crate) fn new(world: &'w World<'a>, learned: Learned) -> Self {
        world.trace.borrow_mut().clear();
        Self { world, learned: RefCell::new(learned), search: RefCell::default() }
    }

    /// The root's only version.
    pub(crate) fn root_version() -> Point {
        Point::on(Version::new([0]))
    }

    fn priority(&self, node: &Node, range: &Ranges<Point>, conflicts: u32) -> Priority {
        let search = self.search.borrow();
        // A demand of a decision already taken back may still be listed: it would not hold the range.
        let live = search.incoming(node).iter().filter(|live| range.subset_of(&live.demand.range));
        let mut priority = Priority {
            waits: self.learned.borrow().waits.get(node).copied().unwrap_or(0),
            is_calm: conflicts < CONFLICTS_TO_PROMOTE,
            is_indirect: true,
            is_unpinned: true,
            is_unbounded: true,
            requested: self.world.requested(node),
            is_free: true,
            name: node.to_string().into(),
        };
        for live in live {
            let kinds = live.demand.kinds;
            priority.is_indirect &= !kinds.direct;
            priority.is_unpinned &= !kinds.pinned;
            priority.is_unbounded &= !kinds.bounded;
            priority.is_free &= !kinds.unfree;
        }
        priority
    }

    fn choose(&self, node: &Node, range: &Ranges<Point>) -> Result<Option<Point>, Halt> {
        let taken = self.world.decisions.get() + 1;
        self.world.decisions.set(taken);
        if taken > self.world.policy().max_decisions {
            return Err(Halt::Limit(taken - 1));
        }
        let Some(name) = node.name() else {
            let root = Self::root_version();
            self.search.borrow_mut().push(node, &root, Rc::clone(self.world.roots()));
            return Ok(Some(root));
        };
        let chosen = self.selection().choose(node, name, range)?;
        self.record(node, chosen.as_ref());
        let Some(at) = chosen else { return Ok(None) };
        let demands = self.demands(node, &at)?;
        self.foresee(node, &demands)?;
        self.search.borrow_mut().push(node, &at, demands);
        Ok(Some(at))
    }

    pub(crate) fn selection(&self) -> Selection<'_, 'a> {
        Selection { world: self.world, search: &self.search, learned: &self.learned }
    }

    /// What a node at a version requires.
    pub(crate) fn demands(&self, node: &Node, at: &Point) -> Result<Rc<[Rc<Demand>]>, Halt> {
        let Some(name) = node.name() else { return Ok(Rc::clone(self.world.roots())) };
        let place = self.learned.borrow().places.get(name).cloned();
        if let Some(place) = place {
            let answer = self.world.direct(&place, name)?;
            return Ok(self.world.demands(node, at, &answer.metadata));
        }
        match self.world.facts(name, at.version())?.as_ref() {
            Facts::Known { metadata, .. } => Ok(self.world.demands(node, at, metadata)),
            Facts::Unavailable(_) | Facts::Unreadable { .. } => Ok(Rc::from([])),
        }
    }

    /// Looks at what a version about to be chosen requires, and starts anew where the search should have known
    /// it earlier.
    fn foresee(&self, node: &Node, demands: &[Rc<Demand>]) -> Result<(), Halt> {
        let mut anew = false;
        for demand in demands {
            let Some(name) = demand.node.name() else { continue };
            anew |= self.learn_place(name, demand) | self.learn_consent(name, demand);
            anew |= self.learn_order(node, name, demand)?;
        }
        let mut learned = self.learned.borrow_mut();
        if anew && learned.restarts < MOST_RESTARTS {
            learned.restarts += 1;
            return Err(Halt::Restart);
        }
        Ok(())
    }

    fn learn_place(&self, name: &PackageName, demand: &Demand) -> bool {
        let Some(place) = demand.place() else { return false };
        let mut learned = self.learned.borrow_mut();
        if learned.places.contains_key(name) {
            return false;
        }
        learned.places.insert(name.clone(), place.clone());
        true
    }

    fn learn_consent(&self, name: &PackageName, demand: &Demand) -> bool {
        let mut learned = self.learned.borrow_mut();
        let admits = demand.kinds.consents && learned.hidden.contains(name);
        let pins = demand.kinds.pinned && learned.hidden_yanked.contains(name);
        (admits && learned.admit(name)) | (pins && learned.admit_yanked(name))
    }

    /// pip decides a package anew when a later one excludes the version chosen but leaves it another one. Here
    /// the search starts anew and decides that package after the later one.
    fn learn_order(&self, node: &Node, name: &PackageName, demand: &Demand) -> Result<bool, Halt> {
        let scope = {
            let search = self.search.borrow();
            match search.decided(&demand.node) {
                Some(decided) if !demand.range.contains(decided) => search.scope(&demand.node),
                _ => return Ok(false),
            }
        };
        let pair = (demand.node.clone(), node.clone());
        if self.learned.borrow().after.contains(&pair) {
            return Ok(false);
        }
        let left = self.world.limited(name, &scope.intersection(&demand.range));
        if !self.selection().has_any(name, &left)? {
            return Ok(false);
        }
        let mut learned = self.learned.borrow_mut();
        let waits = learned.waits.get(node).copied().unwrap_or(0) + 1;
        let own = learned.waits.entry(demand.node.clone()).or_default();
        *own = (*own).max(waits);
        learned.after.insert(pair);
        Ok(true)
    }

    /// Whether a pre-release newer than the version decided would fit what is required of a package.
    pub(crate) fn newer_prerelease(&self, name: &PackageName, decided: &Decided) -> Result<bool, Halt> {
        let Some(at) = decided.get(&(name.clone(), Vec::new())) else { return Ok(false) };
        if self.learned.borrow().places.contains_key(name) {
            return Ok(false);
        }
        let selection = self.selection();
        let newer = selection.required(name).intersection(&Ranges::strictly_higher_than(at.clone()));
        selection.has_any(name, &newer)
    }

    fn record(&self, node: &Node, chosen: Option<&Point>) {
        if !self.world.request.trace {
            return;
        }
        let search = self.search.borrow();
        let reasons = node.name().map(|name| search.reasons(name)).unwrap_or_default();
        let reasons: Vec<String> =
            reasons.iter().map(|reason| format!("{} requires {}", reason.by, reason.text)).collect();
        self.world.trace.borrow_mut().push(TraceStep {
            what: node.to_string(),
            version: chosen.map(|at| at.version().clone()),
            because: reasons.join("; "),
        });
    }
}

impl DependencyProvider for Provider<'_, '_> {
    type P = Node;
    type V = Point;
    type VS = Ranges<Point>;
    type M = String;
    type Err = Halt;
    type Priority = Reverse<Priority>;

    fn prioritize(
        &self,
        node: &Node,
        range: &Ranges<Point>,
        statistics: &PackageResolutionStatistics,
    ) -> Reverse<Priority> {
        self.search.borrow_mut().reopen(node);
        Reverse(self.priority(node, range, statistics.conflict_count()))
    }

    fn choose_version(&self, node: &Node, range: &Ranges<Point>) -> Result<Option<Point>, Halt> {
        self.choose(node, range)
    }

    fn get_dependencies(
        &self,
        node: &Node,
        at: &Point,
    ) -> Result<Dependencies<Node, Ranges<Point>, String>, Halt> {
        let demands = self.demands(node, at)?;
        let learned = self.learned.borrow();
        for demand in demands.iter() {
            if demand.node == *node {
                return Ok(Dependencies::Unavailable("it requires another version of itself".to_owned()));
            }
            let (Some(name), Some(place)) = (demand.node.name(), demand.place()) else { continue };
            if let Some(other) = learned.places.get(name)
                && other.url != place.url
            {
                let why = format!("it takes {name} from {}, which is taken from {}", place.url, other.url);
                return Ok(Dependencies::Unavailable(why));
            }
        }
        let constraints = demands.iter().map(|demand| (demand.node.clone(), demand.range.clone()));
        Ok(Dependencies::Available(constraints.collect()))
    }
}
