//! The request and the catalog as one target sees them. What was asked once is kept for all attempts.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::sync::Arc;

use pubgrub::Ranges;
use reana_model::requirement::Direct;
use reana_model::{ExtraName, Metadata, PackageName, Requirement, Tags, Target, Version};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::candidates::{Candidates, Rules};
use crate::catalog::{Catalog, CatalogError, DirectAnswer, MetadataAnswer};
use crate::node::{Demand, Kinds, Node};
use crate::provider::Provider;
use crate::ranges::Point;
use crate::request::{Policy, Request};
use crate::resolution::{Note, TraceStep};

/// What ends an attempt early.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Halt {
    /// Something was learned that the search must know from its start.
    #[error("to be started anew")]
    Restart,
    /// The catalog had no answer.
    #[error("{name} could not be looked up")]
    Catalog { name: PackageName, source: CatalogError },
    /// The version to be chosen is unreadable.
    #[error("{name} {version} is unreadable")]
    Unreadable { name: PackageName, version: Version, file: String, reason: String },
    /// Too many decisions.
    #[error("too many decisions")]
    Limit(u64),
}

/// What is known of one version's requirements.
#[derive(Clone)]
pub(crate) enum Facts {
    /// They are known, from the file at this position (`None`: from a URL or path).
    Known { metadata: Arc<Metadata>, file: Option<usize> },
    /// The version can't be chosen.
    Unavailable(String),
    /// They would need a build.
    Unreadable { file: String, reason: String },
}

/// A constraint on a package.
pub(crate) struct Limit {
    pub(crate) range: Ranges<Point>,
    pub(crate) kinds: Kinds,
    pub(crate) requirement: Rc<Requirement>,
}

/// What one version demands.
pub(crate) type DemandList = Rc<[Rc<Demand>]>;

pub(crate) struct World<'a> {
    catalog: &'a dyn Catalog,
    pub(crate) request: &'a Request,
    pub(crate) target: Target,
    tags: Tags,
    environment: pep508_rs::MarkerEnvironment,
    candidates: RefCell<FxHashMap<PackageName, Rc<Candidates>>>,
    facts: RefCell<FxHashMap<(PackageName, Version), Rc<Facts>>>,
    demands: RefCell<FxHashMap<(Node, Version), DemandList>>,
    direct: RefCell<FxHashMap<String, Rc<DirectAnswer>>>,
    limits: FxHashMap<PackageName, Vec<Limit>>,
    overrides: FxHashMap<PackageName, Vec<Rc<Requirement>>>,
    preferences: FxHashMap<PackageName, Vec<Version>>,
    roots: DemandList,
    order: FxHashMap<Node, u32>,
    expected: RefCell<FxHashSet<PackageName>>,
    pub(crate) notes: RefCell<BTreeSet<Note>>,
    pub(crate) decisions: Cell<u64>,
    /// The decisions of the attempt that runs, or ran last, if the request asks for them.
    pub(crate) trace: RefCell<Vec<TraceStep>>,
}

impl<'a> World<'a> {
    /// The world of one target. `earlier` are the pins of the targets solved before.
    pub(crate) fn new(
        catalog: &'a dyn Catalog,
        request: &'a Request,
        target: Target,
        earlier: &BTreeMap<PackageName, Vec<Version>>,
    ) -> Self {
        let mut preferences: FxHashMap<PackageName, Vec<Version>> =
            earlier.iter().map(|(name, versions)| (name.clone(), versions.clone())).collect();
        let mut sorted = request.preferences.clone();
        sorted.sort_by(|a, b| b.cmp(a));
        for preference in sorted {
            preferences.entry(preference.name).or_default().push(preference.version);
        }
        let mut world = Self {
            catalog,
            request,
            target,
            tags: target.tags(),
            environment: target.marker_environment(),
            candidates: RefCell::default(),
            facts: RefCell::default(),
            demands: RefCell::default(),
            direct: RefCell::default(),
            limits: FxHashMap::default(),
            overrides: FxHashMap::default(),
            preferences,
            roots: Rc::from([]),
            order: FxHashMap::default(),
            expected: RefCell::default(),
            notes: RefCell::default(),
            decisions: Cell::new(0),
            trace: RefCell::default(),
        };
        world.read_limits();
        world.read_roots();
        world
    }

    fn read_limits(&mut self) {
        let mut constraints: Vec<&Requirement> = self.request.constraints.iter().collect();
        constraints.sort_by(|a, b| (&a.origin, &a.text).cmp(&(&b.origin, &b.text)));
        for constraint in constraints {
            if !self.applies(constraint, &[]) {
                continue;
            }
            if !constraint.extras.is_empty() {
                let (text, origin) = (constraint.text.clone(), constraint.origin.clone());
                self.notes.borrow_mut().insert(Note::ConstraintExtras { text, origin });
            }
            let plain = Rc::new(Requirement { extras: Vec::new(), ..constraint.clone() });
            for demand in Demand::of(&plain) {
                let Demand { range, kinds, .. } = demand;
                let limit = Limit { range, kinds, requirement: Rc::clone(&plain) };
                self.limits.entry(plain.name.clone()).or_default().push(limit);
            }
        }
        for replacement in &self.request.overrides {
            let replacement = Rc::new(replacement.clone());
            self.overrides.entry(replacement.name.clone()).or_default().push(replacement);
        }
    }

    fn read_roots(&mut self) {
        let mut roots = Vec::new();
        for (index, root) in self.request.roots.iter().enumerate() {
            if !self.applies(root, &[]) {
                continue;
            }
            for requirement in self.replaced(root) {
                let demands = Demand::of(&requirement);
                if let Some(first) = demands.first() {
                    let position = u32::try_from(index).unwrap_or(u32::MAX - 1);
                    self.order.entry(first.node.clone()).or_insert(position);
                }
                roots.extend(demands.into_iter().map(Rc::new));
            }
        }
        self.roots = roots.into();
    }

    /// Whether a requirement applies on the target, with these extras of its owner.
    fn applies(&self, requirement: &Requirement, extras: &[ExtraName]) -> bool {
        requirement.marker.evaluate(&self.environment, extras)
    }

    /// The requirement, or what overrides it (with the extras of both).
    fn replaced(&self, requirement: &Requirement) -> Vec<Rc<Requirement>> {
        let Some(overrides) = self.overrides.get(&requirement.name) else {
            return vec![Rc::new(requirement.clone())];
        };
        let applying = overrides.iter().filter(|replacement| self.applies(replacement, &[]));
        applying
            .map(|replacement| {
                let mut replacement = replacement.as_ref().clone();
                replacement.extras.extend(requirement.extras.iter().cloned());
                replacement.extras.sort();
                replacement.extras.dedup();
                Rc::new(replacement)
            })
            .collect()
    }

    /// What the user wants.
    pub(crate) fn roots(&self) -> &DemandList {
        &self.roots
    }

    /// The place of a node in the user's order.
    pub(crate) fn requested(&self, node: &Node) -> u32 {
        self.order.get(node).copied().unwrap_or(u32::MAX)
    }

    /// Whether the user names a package.
    pub(crate) fn is_root(&self, name: &PackageName) -> bool {
        self.roots.iter().any(|demand| demand.node.name() == Some(name))
    }

    /// The constraints on a package.
    pub(crate) fn limits(&self, name: &PackageName) -> &[Limit] {
        self.limits.get(name).map_or(&[], Vec::as_slice)
    }

    /// The versions of a package that the constraints allow.
    pub(crate) fn limited(&self, name: &PackageName, range: &Ranges<Point>) -> Ranges<Point> {
        self.limits(name).iter().fold(range.clone(), |range, limit| range.intersection(&limit.range))
    }

    /// The places that constraints name.
    pub(crate) fn limit_places(&self) -> Vec<(PackageName, Direct)> {
        let all = self.limits.iter().flat_map(|(name, limits)| limits.iter().map(move |limit| (name, limit)));
        let mut places: Vec<(PackageName, Direct)> = all
            .filter_map(|(name, limit)| Some((name.clone(), limit.requirement.direct()?.clone())))
            .collect();
        places.sort_by(|a, b| (&a.0, &a.1.url).cmp(&(&b.0, &b.1.url)));
        places
    }

    /// The pins to be tried first, best first.
    pub(crate) fn preferences(&self, name: &PackageName) -> &[Version] {
        self.preferences.get(name).map_or(&[], Vec::as_slice)
    }

    /// The rules by which files are judged.
    pub(crate) fn rules(&self) -> Rules<'_> {
        Rules { target: &self.target, tags: &self.tags, policy: self.policy() }
    }

    /// The policy.
    pub(crate) fn policy(&self) -> &Policy {
        &self.request.policy
    }

    /// Says that these packages will be asked for.
    pub(crate) fn expect<'n>(&self, names: impl Iterator<Item = &'n PackageName>) {
        let mut expected = self.expected.borrow_mut();
        let new: Vec<PackageName> = names.filter(|name| expected.insert((*name).clone())).cloned().collect();
        if !new.is_empty() {
            self.catalog.expect(&new);
        }
    }

    /// The versions of a package.
    pub(crate) fn candidates(&self, name: &PackageName) -> Result<Rc<Candidates>, Halt> {
        if let Some(known) = self.candidates.borrow().get(name) {
            return Ok(Rc::clone(known));
        }
        let listing = self.catalog.listing(name);
        let listing = listing.map_err(|source| Halt::Catalog { name: name.clone(), source })?;
        let candidates = Rc::new(Candidates::new(listing));
        self.candidates.borrow_mut().insert(name.clone(), Rc::clone(&candidates));
        Ok(candidates)
    }

    /// Whether all files of a version that could be used were withdrawn.
    pub(crate) fn is_yanked(&self, name: &PackageName, at: &Point) -> Result<bool, Halt> {
        let candidates = self.candidates(name)?;
        let usable = candidates
            .position(at.version())
            .and_then(|position| candidates.usable(position, name, &self.rules()));
        Ok(usable.is_some_and(|usable| usable.yanked))
    }

    /// What a URL or path holds.
    pub(crate) fn direct(&self, direct: &Direct, name: &PackageName) -> Result<Rc<DirectAnswer>, Halt> {
        if let Some(known) = self.direct.borrow().get(&direct.url) {
            return Ok(Rc::clone(known));
        }
        let answer = self.catalog.direct(direct, name, &self.target);
        let answer = Rc::new(answer.map_err(|source| Halt::Catalog { name: name.clone(), source })?);
        self.direct.borrow_mut().insert(direct.url.clone(), Rc::clone(&answer));
        Ok(answer)
    }

    /// What is known of a version that an index lists.
    pub(crate) fn facts(&self, name: &PackageName, version: &Version) -> Result<Rc<Facts>, Halt> {
        let key = (name.clone(), version.clone());
        if let Some(known) = self.facts.borrow().get(&key) {
            return Ok(Rc::clone(known));
        }
        let facts = Rc::new(self.find_facts(name, version)?);
        self.facts.borrow_mut().insert(key, Rc::clone(&facts));
        Ok(facts)
    }

    /// Whether a version's requirements were looked up already.
    pub(crate) fn knows_facts(&self, name: &PackageName, version: &Version) -> bool {
        self.facts.borrow().contains_key(&(name.clone(), version.clone()))
    }

    fn find_facts(&self, name: &PackageName, version: &Version) -> Result<Facts, Halt> {
        let candidates = self.candidates(name)?;
        let rules = self.rules();
        let missing = || Facts::Unavailable("it has no file that could be used".to_owned());
        let Some(position) = candidates.position(version) else { return Ok(missing()) };
        let Some(usable) = candidates.usable(position, name, &rules) else { return Ok(missing()) };
        let mut failure = missing();
        for &index in &usable.files {
            let Some(file) = candidates.files(position).get(index) else { continue };
            let answer = self.catalog.metadata(name, file, &self.target);
            match answer.map_err(|source| Halt::Catalog { name: name.clone(), source })? {
                MetadataAnswer::Known(metadata) => {
                    let python = metadata.requires_python.as_ref();
                    if let Some(python) = python.filter(|python| !rules.python_fits(python)) {
                        failure = Facts::Unavailable(format!("it is for Python {python}"));
                        continue;
                    }
                    return Ok(Facts::Known { metadata, file: Some(index) });
                }
                MetadataAnswer::Invalid { reason } => {
                    let why = format!("the metadata of {} are invalid: {reason}", file.name.file());
                    self.note_passed_over(name, version, why.clone());
                    failure = Facts::Unavailable(why);
                }
                MetadataAnswer::Unreadable { reason } => {
                    let file = file.name.file().to_owned();
                    if !self.policy().skip_unreadable.applies(name) {
                        return Ok(Facts::Unreadable { file, reason });
                    }
                    let why = format!("the requirements of {file} can't be read: {reason}");
                    self.note_passed_over(name, version, why.clone());
                    failure = Facts::Unavailable(why);
                }
            }
        }
        Ok(failure)
    }

    fn note_passed_over(&self, name: &PackageName, version: &Version, why: String) {
        let note = Note::PassedOver { name: name.clone(), version: version.clone(), why };
        self.notes.borrow_mut().insert(note);
    }

    /// What a node at a version requires. `metadata` is that version's.
    pub(crate) fn demands(&self, node: &Node, at: &Point, metadata: &Metadata) -> DemandList {
        let key = (node.clone(), at.version().clone());
        if let Some(known) = self.demands.borrow().get(&key) {
            return Rc::clone(known);
        }
        let demands: DemandList = self.read_demands(node, at, metadata).into();
        self.expect(demands.iter().filter_map(|demand| demand.node.name()));
        for demand in demands.iter() {
            if let Some(requirement) = &demand.requirement {
                self.catalog.expect_requirement(requirement, &self.target);
            }
        }
        self.demands.borrow_mut().insert(key, Rc::clone(&demands));
        demands
    }

    fn read_demands(&self, node: &Node, at: &Point, metadata: &Metadata) -> Vec<Rc<Demand>> {
        let mut demands = Vec::new();
        let extras = node.extras();
        if let Node::Extras(name, _) = node {
            demands.push(Rc::new(Demand::tie(name, at)));
        }
        for requirement in &metadata.requires_dist {
            let applies = if extras.is_empty() {
                self.applies(requirement, &[])
            } else {
                self.applies(requirement, extras) && !self.applies(requirement, &[])
            };
            if applies {
                let replaced = self.replaced(requirement);
                demands.extend(replaced.iter().flat_map(Demand::of).map(Rc::new));
            }
        }
        // A package that requires itself says nothing where the version fits.
        demands.retain(|demand| demand.node != *node || !demand.range.contains(at));
        demands
    }

    /// What the versions of each node seen so far demand, by version.
    pub(crate) fn demands_seen(&self) -> FxHashMap<Node, Vec<(Point, DemandList)>> {
        let mut all: FxHashMap<Node, Vec<(Point, DemandList)>> = FxHashMap::default();
        all.insert(Node::Root, vec![(Provider::root_version(), Rc::clone(&self.roots))]);
        for ((node, version), demands) in self.demands.borrow().iter() {
            let of_node = all.entry(node.clone()).or_default();
            of_node.push((Point::on(version.clone()), Rc::clone(demands)));
        }
        for of_node in all.values_mut() {
            of_node.sort_by(|a, b| a.0.cmp(&b.0));
        }
        all
    }

    /// Everything that any version seen so far demands of a package.
    pub(crate) fn seen_demands(&self, keep: impl Fn(&Demand) -> bool) -> Vec<Rc<Demand>> {
        let seen = self.demands.borrow();
        let all = seen.values().flat_map(|demands| demands.iter());
        all.filter(|demand| keep(demand)).cloned().collect()
    }
}
