//! Failures in the user's terms: which lines of which manifests clash, over which package.
//!
//! PubGrub's proof is a tree of statements. Its leaves are the facts it rests on: what versions require, and
//! which ranges hold no version that could be taken. These are told, from the manifests downwards; what is
//! derived from them is left to the reader.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt;
use std::sync::Arc;

use pubgrub::{DerivationTree, External, Ranges};
use reana_model::{ExtraName, PackageName, Target, Version};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::error::SolveError;
use crate::leaves::{Absence, Need, Speaker, lines};
use crate::node::Node;
use crate::provider::Provider;
use crate::ranges::Point;
use crate::resolution::Reason;
use crate::search::reason;
use crate::solve::error;
use crate::world::{Halt, World};

/// PubGrub's proof that there is no solution.
pub(crate) type Tree = DerivationTree<Node, Ranges<Point>, String>;

/// How many statements are shown: these from the manifests downwards, and as many before the end.
const MOST_LINES: usize = 12;

/// Statements, one a line. Of many, those in the middle are left out.
pub(crate) fn told(lines: &[String]) -> String {
    let mut told = String::new();
    let left_out = lines.len().saturating_sub(2 * MOST_LINES);
    for (at, line) in lines.iter().enumerate() {
        if left_out < 2 || at < MOST_LINES || at >= MOST_LINES + left_out {
            told.push_str("\n  ");
            told.push_str(line);
        } else if at == MOST_LINES {
            told.push_str(&format!("\n  ({left_out} more steps)"));
        }
    }
    told
}

/// Why requirements can't be satisfied together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explanation {
    /// The target on which they can't, where the request has several.
    pub target: Option<Target>,
    /// The package over which they clash.
    pub clash: PackageName,
    /// One statement a line, from the manifests to the clash.
    pub lines: Vec<String>,
    /// The user's own lines that take part. Without any one of them the others don't clash.
    pub roots: Vec<Reason>,
    /// The user's own bounds among them and among the constraints.
    pub bounds: Vec<Reason>,
    /// What would make these lines go together, each by itself. Tried, not guessed.
    pub remedies: Vec<Remedy>,
}

/// One way out of a contradiction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Remedy {
    /// A bound of the user's, or a constraint, to be loosened.
    Loosen(Reason),
    /// Extras that bring the clash in.
    LeaveOut {
        /// The user's line that asks for them.
        line: Reason,
        /// The extras.
        extras: Vec<ExtraName>,
    },
    /// A pre-release that would fit.
    Admit {
        /// The package.
        name: PackageName,
        /// Its version.
        version: Version,
    },
}

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no version of {} satisfies everything that is required of it", self.clash)?;
        if let Some(target) = &self.target {
            write!(f, " for {target}")?;
        }
        f.write_str(":")?;
        f.write_str(&told(&self.lines))?;
        let ways = self.ways();
        if ways.is_empty() { Ok(()) } else { write!(f, "\nTo go on, {}.", ways.join(", or ")) }
    }
}

impl Explanation {
    /// What the user could do, in words.
    fn ways(&self) -> Vec<String> {
        let quoted = |reason: &Reason| format!("`{}` ({})", reason.text, reason.by);
        let one_of = |verb: &str, all: &[String]| match all {
            [] => None,
            [only] => Some(format!("{verb} {only}")),
            all => Some(format!("{verb} one of {}", all.join(", "))),
        };
        let mut loosen = Vec::new();
        let mut others = Vec::new();
        for remedy in &self.remedies {
            match remedy {
                Remedy::Loosen(reason) => loosen.push(quoted(reason)),
                Remedy::LeaveOut { line, extras } => {
                    let extras: Vec<String> = extras.iter().map(|extra| format!("`{extra}`")).collect();
                    let what = if extras.len() == 1 { "extra" } else { "extras" };
                    others.push(format!("leave the {what} {} out ({})", extras.join(" and "), line.by));
                }
                Remedy::Admit { name, version } => {
                    others.push(format!("admit pre-releases of {name}: {version} would do"));
                }
            }
        }
        if self.remedies.is_empty() {
            loosen.extend(self.bounds.iter().map(quoted));
        }
        let roots: Vec<String> = self.roots.iter().map(quoted).collect();
        let has_place = loosen.iter().any(|bound| bound.contains(" @ ") || bound.contains("://"));
        let first = match one_of(if has_place { "change" } else { "loosen" }, &loosen) {
            Some(loosen) => Some(loosen),
            None if roots.len() > 1 => one_of("change", &roots),
            None => None,
        };
        first.into_iter().chain(others).collect()
    }
}

/// The facts that a proof rests on, each once.
#[derive(Default)]
pub(crate) struct Leaves {
    pub(crate) needs: Vec<NeedLeaf>,
    seen: FxHashSet<NeedLeaf>,
    pub(crate) missing: Vec<(Node, Ranges<Point>)>,
    pub(crate) unavailable: Vec<(Node, Ranges<Point>, String)>,
}

impl Leaves {
    fn of(tree: &Tree) -> Self {
        let mut leaves = Self::default();
        let mut seen: FxHashSet<*const Tree> = FxHashSet::default();
        let mut open: Vec<&Tree> = vec![tree];
        while let Some(tree) = open.pop() {
            match tree {
                DerivationTree::Derived(derived) => {
                    for cause in [&derived.cause2, &derived.cause1] {
                        if seen.insert(Arc::as_ptr(cause)) {
                            open.push(cause);
                        }
                    }
                }
                DerivationTree::External(external) => leaves.add(external),
            }
        }
        leaves
    }

    fn add(&mut self, external: &External<Node, Ranges<Point>, String>) {
        match external {
            External::NotRoot(..) => {}
            External::NoVersions(node, range) => {
                let leaf = (node.clone(), range.clone());
                if !self.missing.contains(&leaf) {
                    self.missing.push(leaf);
                }
            }
            External::FromDependencyOf(by, versions, on, range) => {
                let leaf = (by.clone(), versions.clone(), on.clone(), range.clone());
                if self.seen.insert(leaf.clone()) {
                    self.needs.push(leaf);
                }
            }
            External::Custom(node, versions, why) => {
                let leaf = (node.clone(), versions.clone(), why.clone());
                if !self.unavailable.contains(&leaf) {
                    self.unavailable.push(leaf);
                }
            }
        }
    }
}

/// The user's own requirements that take one package from two places.
pub(crate) fn two_places(world: &World<'_>) -> Option<SolveError> {
    let placed: Vec<(&PackageName, Reason, &str)> = world
        .roots()
        .iter()
        .filter_map(|demand| {
            let reason = reason(&Node::Root, &Provider::root_version(), demand)?;
            Some((demand.node.name()?, reason, demand.place()?.url.as_str()))
        })
        .collect();
    let (first, second) = placed.iter().enumerate().find_map(|(at, first)| {
        let mut later = placed.iter().skip(at);
        later.find(|second| second.0 == first.0 && second.2 != first.2).map(|second| (first, second))
    })?;
    let line = |reason: &Reason| format!("{} requires {}", reason.by, reason.text);
    Some(SolveError::NoSolution(Box::new(Explanation {
        target: None,
        clash: first.0.clone(),
        remedies: Vec::new(),
        lines: vec![line(&first.1), line(&second.1)],
        roots: vec![first.1.clone(), second.1.clone()],
        bounds: vec![first.1.clone(), second.1.clone()],
    })))
}

/// What PubGrub found, as an error for the user.
pub(crate) fn no_solution(provider: &Provider<'_, '_>, tree: &Tree) -> SolveError {
    let leaves = Leaves::of(tree);
    match explain(provider, &leaves) {
        Ok(failure) => failure,
        Err(halt) => error(provider, halt),
    }
}

fn explain(provider: &Provider<'_, '_>, leaves: &Leaves) -> Result<SolveError, Halt> {
    let speaker = Speaker::new(provider);
    let mut needs: Vec<Need> = in_order(leaves).into_iter().map(|leaf| speaker.need(leaf)).collect();
    needs.sort_by_cached_key(|need| match need.by {
        Node::Root => (false, need.reasons.first().cloned()),
        Node::Package(_) | Node::Extras(..) => (true, None),
    });
    let mut absences = BTreeMap::new();
    for (node, range) in &leaves.missing {
        if let Some(name) = node.name() {
            let required = required(leaves, name);
            absences.insert(name.clone(), speaker.absence(name, range, &required)?);
        }
    }
    for (name, absence) in &absences {
        match absence {
            Absence::Unknown => {
                return Ok(SolveError::UnknownPackage { name: name.clone(), lines: chain(&needs, name) });
            }
            Absence::NoUsableFile(lacks, newest_usable) => {
                return Ok(SolveError::NoUsableFile {
                    name: name.clone(),
                    target: provider.world.target,
                    lacks: lacks.clone(),
                    newest_usable: newest_usable.clone(),
                    lines: chain(&needs, name),
                });
            }
            Absence::Lines(_) => {}
        }
    }
    let clash = clash(leaves, &absences);
    let mut lines = lines(&needs.iter().collect::<Vec<&Need>>(), &clash);
    for (node, versions, why) in &leaves.unavailable {
        lines.push(format!("{} can't be taken: {why}", speaker.versions(node, versions)));
    }
    for absence in absences.values() {
        if let Absence::Lines(more) = absence {
            lines.extend(more.iter().cloned());
        }
    }
    let bounds = bounds(&speaker, &needs, leaves);
    let own = needs.iter().filter(|need| need.by == Node::Root);
    let roots: BTreeSet<Reason> = own.flat_map(|need| need.reasons.iter().cloned()).collect();
    let roots = roots.into_iter().collect();
    Ok(SolveError::NoSolution(Box::new(Explanation {
        target: None,
        clash,
        lines,
        roots,
        bounds,
        remedies: Vec::new(),
    })))
}

/// The shortest way from the manifests to a package, and all that is required of it.
fn chain(needs: &[Need], name: &PackageName) -> Vec<String> {
    let mut came_by: FxHashMap<&PackageName, &Need> = FxHashMap::default();
    let mut open: VecDeque<Option<&PackageName>> = VecDeque::from([None]);
    while let Some(by) = open.pop_front() {
        for need in needs.iter().filter(|need| need.by.name() == by) {
            if let Some(on) = need.on.name().filter(|on| !came_by.contains_key(on)) {
                came_by.insert(on, need);
                open.push_back(Some(on));
            }
        }
    }
    let mut way: Vec<&Need> = Vec::new();
    let mut at = came_by.get(name).and_then(|need| need.by.name());
    while let Some(need) = at.and_then(|name| came_by.get(name)) {
        way.push(need);
        at = need.by.name();
    }
    way.reverse();
    let on_it = |need: &&Need| need.on.name() == Some(name) && need.by.name() != Some(name);
    way.extend(needs.iter().filter(on_it));
    lines(&way, name)
}

/// What the leaves require of a package.
fn required(leaves: &Leaves, name: &PackageName) -> Ranges<Point> {
    let on = leaves.needs.iter().filter(|(by, _, on, _)| on.name() == Some(name) && by.name() != Some(name));
    on.fold(Ranges::full(), |all: Ranges<Point>, (_, _, _, range)| all.intersection(range))
}

type NeedLeaf = (Node, Ranges<Point>, Node, Ranges<Point>);

/// From the manifests downwards.
fn in_order(leaves: &Leaves) -> Vec<&NeedLeaf> {
    let mut below: FxHashMap<&Node, Vec<&Node>> = FxHashMap::default();
    for (by, _, on, _) in &leaves.needs {
        below.entry(by).or_default().push(on);
    }
    let mut depth: FxHashMap<&Node, usize> = FxHashMap::default();
    depth.insert(&Node::Root, 0);
    let mut open: VecDeque<&Node> = VecDeque::from([&Node::Root]);
    while let Some(node) = open.pop_front() {
        let next = depth.get(node).map_or(0, |depth| depth + 1);
        for on in below.get(node).map_or(&[][..], Vec::as_slice) {
            if !depth.contains_key(on) {
                depth.insert(on, next);
                open.push_back(on);
            }
        }
    }
    let mut ordered: Vec<&NeedLeaf> = leaves.needs.iter().collect();
    ordered.sort_by_cached_key(|(by, versions, on, range)| {
        let depth = depth.get(by).copied().unwrap_or(usize::MAX);
        (depth, by.to_string(), on.to_string(), versions.to_string(), range.to_string())
    });
    ordered
}

/// The package to name: one of which demands exclude each other, else one that has no version left.
fn clash(leaves: &Leaves, absences: &BTreeMap<PackageName, Absence>) -> PackageName {
    let names: BTreeSet<&PackageName> = leaves.needs.iter().filter_map(|(_, _, on, _)| on.name()).collect();
    let demands = |name: &PackageName| -> Vec<&Ranges<Point>> {
        let on =
            leaves.needs.iter().filter(|(by, _, on, _)| on.name() == Some(name) && by.name() != Some(name));
        on.map(|(_, _, _, range)| range).collect()
    };
    let is_torn = |name: &&PackageName| {
        let demands = demands(name);
        demands.iter().enumerate().any(|(at, a)| demands.iter().skip(at).any(|b| a.is_disjoint(b)))
    };
    let told = absences.iter().find_map(|(name, absence)| match absence {
        Absence::Lines(lines) if !lines.is_empty() => Some(name),
        _ => None,
    });
    let named = || leaves.unavailable.iter().find_map(|(node, _, _)| node.name());
    let torn = names.iter().copied().find(is_torn).or(told).or_else(named);
    torn.or(absences.keys().next()).or(names.first().copied()).cloned().unwrap_or_else(unnamed)
}

/// A proof names at least one package; this stands where it doesn't.
fn unnamed() -> PackageName {
    #[expect(clippy::unwrap_used, reason = "a constant that is a valid name")]
    std::str::FromStr::from_str("unknown").unwrap()
}

/// The user's own bounds among the facts: those from above first; if there are none, any.
fn bounds(speaker: &Speaker<'_, '_, '_>, needs: &[Need], leaves: &Leaves) -> Vec<Reason> {
    let own = needs.iter().filter(|need| need.by == Node::Root);
    let mut tight: BTreeSet<Reason> = BTreeSet::new();
    let mut loose: BTreeSet<Reason> = BTreeSet::new();
    for (reason, kinds) in own.flat_map(|need| need.bounds.iter()) {
        if kinds.pinned || kinds.bounded {
            tight.insert(reason.clone());
        } else if kinds.unfree {
            loose.insert(reason.clone());
        }
    }
    for (node, _) in &leaves.missing {
        tight.extend(node.name().map(|name| speaker.limits(name)).unwrap_or_default());
    }
    let chosen = if tight.is_empty() { loose } else { tight };
    chosen.into_iter().collect()
}
