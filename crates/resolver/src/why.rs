//! Why a package stands where it stands: `--explain NAME`.

use std::collections::BTreeMap;
use std::fmt;
use std::rc::Rc;
use std::sync::Arc;

use reana_model::{Metadata, PackageName, Target, Version, Yanked};

use crate::node::{Demand, Node};
use crate::provider::Provider;
use crate::ranges::Point;
use crate::request::ResolutionMode;
use crate::resolution::{Chosen, Reason, RequiredBy, Resolution, Solved};
use crate::search::reason;
use crate::world::{Facts, Halt, World};
use crate::{Catalog, Request, SolveError};

impl fmt::Display for Why {
    /// Several lines: what is chosen, who requires it, and what holds newer versions back.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}, for {}", self.name, self.version, targets_in_words(&self.targets))?;
        f.write_str("\n  required by:")?;
        for reason in &self.wanted_by {
            let what = if matches!(reason.by, RequiredBy::Constraint(_)) { "only " } else { "" };
            write!(f, "\n    {}: {what}{}", reason.by, reason.text)?;
        }
        if self.newer.is_empty() {
            return f.write_str("\n  it is the newest version");
        }
        f.write_str("\n  newer versions, and what holds them back:")?;
        for run in self.newer.chunk_by(|a, b| a.by == b.by) {
            match run {
                [] => {}
                [one] => write!(f, "\n    {}: {}", one.version, one.by)?,
                [newest, .., oldest] => {
                    write!(f, "\n    {} to {}: {}", oldest.version, newest.version, newest.by)?;
                }
            }
        }
        Ok(())
    }
}

impl fmt::Display for Holder {
    /// In words that follow the version and a colon.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Requirements(reasons) => {
                let verb = |reason: &Reason| match reason.by {
                    RequiredBy::Constraint(_) => "allows only",
                    RequiredBy::Root(_) | RequiredBy::Package(..) => "requires",
                };
                let each =
                    reasons.iter().map(|reason| format!("{} {} {}", reason.by, verb(reason), reason.text));
                f.write_str(&each.collect::<Vec<_>>().join("; "))
            }
            Self::NoUsableFile(lacks) => write!(f, "it {lacks}"),
            Self::Yanked(reason) if reason.is_empty() => f.write_str("it is yanked"),
            Self::Yanked(reason) => write!(f, "it is yanked: {reason}"),
            Self::Prerelease => f.write_str("it is a pre-release, which nothing asks for"),
            Self::Metadata(why) => f.write_str(why),
            Self::Kept => f.write_str("the old lock's pin is kept"),
            Self::OwnRequirement(reason, chosen) => {
                write!(f, "{} requires {}, which excludes {chosen}", reason.by, reason.text)
            }
            Self::Lowest => f.write_str("the lowest version was asked for"),
            Self::Others => f.write_str("what it needs in turn does not fit the rest"),
        }
    }
}

/// Targets in words: `Python 3.12 on linux/amd64, linux/arm64`.
pub fn targets_in_words(targets: &[Target]) -> String {
    let mut by_python: Vec<(String, Vec<String>)> = Vec::new();
    for target in targets {
        let (python, platform) = (target.python.short(), target.platform.to_string());
        match by_python.iter_mut().find(|(known, _)| *known == python) {
            Some((_, platforms)) => platforms.push(platform),
            None => by_python.push((python, vec![platform])),
        }
    }
    let each =
        by_python.iter().map(|(python, platforms)| format!("Python {python} on {}", platforms.join(", ")));
    each.collect::<Vec<_>>().join("; ")
}

/// How many newer versions are looked at.
pub const MOST_NEWER: usize = 10;

/// Why one package was solved as it was, on the targets that agree about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Why {
    /// The targets.
    pub targets: Vec<Target>,
    /// The package.
    pub name: PackageName,
    /// The version chosen.
    pub version: Version,
    /// Who wants it.
    pub wanted_by: Vec<Reason>,
    /// Newer versions, newest first, and what holds each back.
    pub newer: Vec<HeldBack>,
}

/// A newer version that was not chosen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeldBack {
    /// The version.
    pub version: Version,
    /// What holds it back.
    pub by: Holder,
}

/// What holds a version back.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Holder {
    /// Requirements exclude it.
    Requirements(Vec<Reason>),
    /// It has no file for the target, or none that may be used.
    NoUsableFile(String),
    /// It was withdrawn; with the reason, which may be empty.
    Yanked(String),
    /// It is a pre-release that nothing admits.
    Prerelease,
    /// Its metadata are unreadable or invalid.
    Metadata(String),
    /// The old lock's pin was kept.
    Kept,
    /// One of its own requirements excludes what was chosen, `name version`.
    OwnRequirement(Reason, String),
    /// The lowest version was asked for.
    Lowest,
    /// Nothing by itself: the versions chosen before it left it no room.
    Others,
}

/// Explains a package of a request's solution, on every target that has it. Empty where none has it.
/// Looks at the newest versions that were not chosen, at most [`MOST_NEWER`] of them.
pub fn explain_why(
    catalog: &dyn Catalog,
    request: &Request,
    resolution: &Resolution,
    name: &PackageName,
) -> Result<Vec<Why>, SolveError> {
    let earlier = BTreeMap::new();
    let mut all: Vec<Why> = Vec::new();
    for solved in &resolution.solved {
        let Some(chosen) = solved.packages.get(name) else { continue };
        let world = World::new(catalog, request, solved.target, &earlier);
        let newer = match chosen.direct {
            Some(_) => Ok(Vec::new()),
            None => Explainer { world: &world, solved, name, chosen, may_fetch: true }.newer(),
        };
        let newer = newer.map_err(|halt| match halt {
            Halt::Catalog { name, source } => SolveError::Catalog { name, source },
            Halt::Restart | Halt::Limit(_) | Halt::Unreadable { .. } => {
                SolveError::Limit { decisions: world.decisions.get() }
            }
        })?;
        let (name, version, wanted_by) = (name.clone(), chosen.version.clone(), chosen.wanted_by.clone());
        let why = Why { targets: vec![solved.target], name, version, wanted_by, newer };
        let alike = |known: &&mut Why| Why { targets: why.targets.clone(), ..(**known).clone() } == why;
        match all.iter_mut().find(alike) {
            Some(known) => known.targets.push(solved.target),
            None => all.push(why),
        }
    }
    Ok(all)
}

/// What holds a package of a solution back from one newer version. Nothing is fetched for it: what a version
/// requires is only held against the solution where that is known already.
pub(crate) fn held_back(
    world: &World<'_>,
    solved: &Solved,
    (name, chosen): (&PackageName, &Chosen),
    newer: &Version,
) -> Result<Holder, Halt> {
    let explainer = Explainer { world, solved, name, chosen, may_fetch: false };
    let demands = explainer.demands()?;
    explainer.holder(&Point::on(newer.clone()), &demands)
}

struct Explainer<'w, 'a> {
    world: &'w World<'a>,
    solved: &'w Solved,
    name: &'w PackageName,
    chosen: &'w Chosen,
    may_fetch: bool,
}

impl Explainer<'_, '_> {
    fn newer(&self) -> Result<Vec<HeldBack>, Halt> {
        let candidates = self.world.candidates(self.name)?;
        let demands = self.demands()?;
        let newer = candidates.points().iter().rev();
        let newer = newer.take_while(|at| *at.version() > self.chosen.version).take(MOST_NEWER);
        newer
            .map(|at| Ok(HeldBack { version: at.version().clone(), by: self.holder(at, &demands)? }))
            .collect()
    }

    /// What the solution requires of the package.
    fn demands(&self) -> Result<Vec<(Reason, Rc<Demand>)>, Halt> {
        let mut found = Vec::new();
        let mut add = |node: &Node, at: &Point, demands: &[Rc<Demand>]| {
            for demand in demands.iter().filter(|demand| demand.node.name() == Some(self.name)) {
                found.extend(reason(node, at, demand).map(|reason| (reason, Rc::clone(demand))));
            }
        };
        add(&Node::Root, &Provider::root_version(), self.world.roots());
        for (name, chosen) in &self.solved.packages {
            let Some(metadata) = self.metadata(name, chosen)? else { continue };
            let at = Point::on(chosen.version.clone());
            for node in nodes(name, chosen) {
                add(&node, &at, &self.world.demands(&node, &at, &metadata));
            }
        }
        found.sort_by(|a, b| a.0.cmp(&b.0));
        found.dedup_by(|a, b| a.0 == b.0);
        Ok(found)
    }

    fn metadata(&self, name: &PackageName, chosen: &Chosen) -> Result<Option<Arc<Metadata>>, Halt> {
        if let Some(choice) = &chosen.direct {
            return Ok(Some(Arc::clone(&self.world.direct(&choice.direct, name)?.metadata)));
        }
        Ok(match self.world.facts(name, &chosen.version)?.as_ref() {
            Facts::Known { metadata, .. } => Some(Arc::clone(metadata)),
            Facts::Unavailable(_) | Facts::Unreadable { .. } => None,
        })
    }

    fn holder(&self, at: &Point, demands: &[(Reason, Rc<Demand>)]) -> Result<Holder, Halt> {
        let limits = self.world.limits(self.name).iter().filter(|limit| !limit.range.contains(at));
        let excluding = demands.iter().filter(|(_, demand)| !demand.range.contains(at));
        let mut reasons: Vec<Reason> = excluding.map(|(reason, _)| reason.clone()).collect();
        reasons.extend(limits.map(|limit| Reason {
            by: RequiredBy::Constraint(limit.requirement.origin.clone()),
            text: limit.requirement.text.clone(),
        }));
        if !reasons.is_empty() {
            return Ok(Holder::Requirements(reasons));
        }
        let candidates = self.world.candidates(self.name)?;
        let usable = candidates
            .position(at.version())
            .and_then(|position| candidates.usable(position, self.name, &self.world.rules()).cloned());
        let Some(usable) = usable.filter(|usable| !usable.files.is_empty()) else {
            let position = candidates.position(at.version()).unwrap_or_default();
            let lacks = candidates.usable(position, self.name, &self.world.rules());
            let words = lacks.map(|usable| usable.lacks.words(&self.solved.target)).unwrap_or_default();
            return Ok(Holder::NoUsableFile(words));
        };
        if usable.yanked {
            let files = candidates.files(candidates.position(at.version()).unwrap_or_default());
            let reason = files.iter().find_map(|file| match &file.yanked {
                Yanked::Yes(reason) => Some(reason.clone()),
                Yanked::No => None,
            });
            return Ok(Holder::Yanked(reason.unwrap_or_default()));
        }
        let admits = demands.iter().any(|(_, demand)| demand.kinds.consents)
            || self.world.limits(self.name).iter().any(|limit| limit.kinds.consents)
            || self.world.policy().prereleases
            || self.chosen.version.any_prerelease();
        if at.version().any_prerelease() && !admits {
            return Ok(Holder::Prerelease);
        }
        self.own(at)
    }

    /// What the version itself requires, held against the solution.
    fn own(&self, at: &Point) -> Result<Holder, Halt> {
        let kept = self.world.preferences(self.name).contains(&self.chosen.version);
        if !self.may_fetch && !self.world.knows_facts(self.name, at.version()) {
            return Ok(self.otherwise(kept));
        }
        let metadata = match self.world.facts(self.name, at.version())?.as_ref() {
            Facts::Known { metadata, .. } => Arc::clone(metadata),
            Facts::Unavailable(why) => return Ok(Holder::Metadata(why.clone())),
            Facts::Unreadable { file, reason } => {
                return Ok(Holder::Metadata(format!("{file} can't be read: {reason}")));
            }
        };
        for node in nodes(self.name, self.chosen) {
            for demand in self.world.demands(&node, at, &metadata).iter() {
                let Some(other) = demand.node.name() else { continue };
                let Some(has) = self.solved.packages.get(other) else { continue };
                if !demand.range.contains(&Point::on(has.version.clone()))
                    && let Some(reason) = reason(&node, at, demand)
                {
                    return Ok(Holder::OwnRequirement(reason, format!("{other} {}", has.version)));
                }
            }
        }
        Ok(self.otherwise(kept))
    }

    /// What holds a version back that everything else would let in.
    fn otherwise(&self, kept: bool) -> Holder {
        let is_lowest = match self.world.policy().resolution {
            ResolutionMode::Highest => false,
            ResolutionMode::Lowest => true,
            ResolutionMode::LowestDirect => self.world.is_root(self.name),
        };
        match (kept, is_lowest) {
            (true, _) => Holder::Kept,
            (false, true) => Holder::Lowest,
            (false, false) => Holder::Others,
        }
    }
}

/// The nodes that a chosen package stands for.
fn nodes(name: &PackageName, chosen: &Chosen) -> Vec<Node> {
    let mut nodes = vec![Node::Package(name.clone())];
    if !chosen.extras.is_empty() {
        nodes.push(Node::Extras(name.clone(), chosen.extras.iter().cloned().collect()));
    }
    nodes
}
