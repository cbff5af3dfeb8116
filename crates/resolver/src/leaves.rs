//! The facts of a proof in words.

use std::collections::BTreeSet;

use pubgrub::Ranges;
use reana_model::{PackageName, Version};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::node::{Kinds, Node};
use crate::provider::Provider;
use crate::ranges::Point;
use crate::resolution::{Reason, RequiredBy};
use crate::search::reason;
use crate::world::{DemandList, Facts, Halt};

/// How many different reasons against versions of one package are told.
const MOST_GROUPS: usize = 4;

/// Puts facts into words.
pub(crate) struct Speaker<'p, 'w, 'a> {
    provider: &'p Provider<'w, 'a>,
    seen: FxHashMap<Node, Vec<(Point, DemandList)>>,
}

/// What one node requires of another, by the versions of which it was seen.
pub(crate) struct Need {
    pub(crate) by: Node,
    pub(crate) on: Node,
    texts: BTreeSet<String>,
    points: Vec<Point>,
    /// Whose requirements they are.
    pub(crate) reasons: Vec<Reason>,
    /// The requirements with their kinds.
    pub(crate) bounds: Vec<(Reason, Kinds)>,
}

/// From how many different bounds on a package in between they are told together.
const MANY_BOUNDS: usize = 3;

/// Needs in words: one line for each of the user's, one for the versions of a package that say the same. On the
/// way to the clash, versions whose bounds differ are told in one line, too.
pub(crate) fn lines(needs: &[&Need], clash: &PackageName) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut told: FxHashSet<(&Node, &Node, Option<&BTreeSet<String>>)> = FxHashSet::default();
    for need in needs {
        if need.by == Node::Root {
            lines.extend(need.reasons.iter().map(|reason| format!("{} requires {}", reason.by, reason.text)));
            continue;
        }
        let siblings = needs.iter().filter(|other| (&other.by, &other.on) == (&need.by, &need.on));
        let siblings: Vec<&Need> = siblings.copied().collect();
        let different: BTreeSet<&BTreeSet<String>> = siblings.iter().map(|other| &other.texts).collect();
        let together = need.on.name() != Some(clash) && different.len() >= MANY_BOUNDS;
        let alike = |other: &&Need| together || other.texts == need.texts;
        if need.texts.is_empty() || !told.insert((&need.by, &need.on, (!together).then_some(&need.texts))) {
            continue;
        }
        let mut points: Vec<(&Point, &BTreeSet<String>)> = Vec::new();
        for other in siblings.into_iter().filter(alike) {
            points.extend(other.points.iter().map(|point| (point, &other.texts)));
        }
        points.sort();
        let joined = |texts: &BTreeSet<String>| texts.iter().cloned().collect::<Vec<_>>().join(", ");
        let what = match (&points[..], together) {
            ([first, .., last], true) => format!("{} up to {}", joined(first.1), joined(last.1)),
            _ => joined(&need.texts),
        };
        let mut points: Vec<Point> = points.into_iter().map(|(point, _)| point.clone()).collect();
        points.dedup();
        let verb = if points.len() == 1 { "requires" } else { "require" };
        lines.push(format!("{} {verb} {what}", span(&need.by.to_string(), &points)));
    }
    let mut told = FxHashSet::default();
    lines.retain(|line| told.insert(line.clone()));
    lines
}

/// Why there is no version of a package in a range.
pub(crate) enum Absence {
    /// No index knows the package.
    Unknown,
    /// There are versions, but no file of them fits: what the newest lacks, and the newest version with one.
    NoUsableFile(String, Option<Version>),
    /// As these lines say.
    Lines(Vec<String>),
}

impl<'p, 'w, 'a> Speaker<'p, 'w, 'a> {
    pub(crate) fn new(provider: &'p Provider<'w, 'a>) -> Self {
        Self { provider, seen: provider.world.demands_seen() }
    }

    /// What one node requires of another: the requirement texts, by version.
    pub(crate) fn need(&self, leaf: &(Node, Ranges<Point>, Node, Ranges<Point>)) -> Need {
        let (by, versions, on, range) = leaf;
        let mut need = Need {
            by: by.clone(),
            on: on.clone(),
            texts: BTreeSet::new(),
            points: Vec::new(),
            reasons: Vec::new(),
            bounds: Vec::new(),
        };
        for (at, demands) in self.seen.get(by).map_or(&[][..], Vec::as_slice) {
            if !versions.contains(at) {
                continue;
            }
            for demand in demands.iter().filter(|demand| demand.node == *on && demand.range == *range) {
                let Some(reason) = reason(by, at, demand) else { continue };
                need.texts.insert(reason.text.clone());
                need.bounds.push((reason.clone(), demand.kinds));
                need.reasons.push(reason);
                need.points.push(at.clone());
            }
        }
        need
    }

    /// The versions of a node in a range, in words.
    pub(crate) fn versions(&self, node: &Node, range: &Ranges<Point>) -> String {
        let all = node.name().and_then(|name| self.provider.world.candidates(name).ok());
        let points: Vec<Point> = all
            .map(|all| all.points().iter().filter(|at| range.contains(at)).cloned().collect())
            .unwrap_or_default();
        span(&node.to_string(), &points)
    }

    /// The constraints on a package.
    pub(crate) fn limits(&self, name: &PackageName) -> Vec<Reason> {
        let limits = self.provider.world.limits(name).iter();
        let reason = |limit: &crate::world::Limit| Reason {
            by: RequiredBy::Constraint(limit.requirement.origin.clone()),
            text: limit.requirement.text.clone(),
        };
        limits.map(reason).collect()
    }

    /// Why a range holds no version of a package that could be taken. `required` is what the facts of the
    /// proof leave, without what the search ruled out.
    pub(crate) fn absence(
        &self,
        name: &PackageName,
        range: &Ranges<Point>,
        required: &Ranges<Point>,
    ) -> Result<Absence, Halt> {
        let world = self.provider.world;
        let place = self.provider.learned.borrow().places.get(name).cloned();
        if let Some(place) = place {
            let version = world.direct(&place, name)?.version.clone();
            let named = world.roots().iter().find(|demand| demand.place() == Some(&place));
            let origin = named.and_then(|demand| demand.requirement.as_ref()).map(|named| &named.origin);
            let origin = origin.map(|origin| format!("{origin} takes {name} from ")).unwrap_or_default();
            return Ok(Absence::Lines(vec![format!("{origin}{}, which is version {version}", place.given)]));
        }
        let candidates = world.candidates(name)?;
        if !candidates.known() {
            return Ok(Absence::Unknown);
        }
        let mut lines = Vec::new();
        for limit in self.limits(name) {
            lines.push(format!("{} allows only {}", limit.by, limit.text));
        }
        let limited = world.limited(name, range);
        let listed = |range: &Ranges<Point>| -> Vec<Point> {
            candidates.points().iter().filter(|at| range.contains(at)).cloned().collect()
        };
        let left = listed(&limited);
        if left.is_empty() {
            if !required.is_empty() && listed(required).is_empty() {
                lines.push(format!("the index has {}", span(name.as_ref(), candidates.points())));
            }
            return Ok(Absence::Lines(lines));
        }
        let mut groups: Vec<(Status, Vec<Point>)> = Vec::new();
        for at in &left {
            let Some(status) = self.status(name, at)? else { continue };
            match groups.iter_mut().find(|(known, _)| *known == status) {
                Some((_, points)) => points.push(at.clone()),
                None => groups.push((status, vec![at.clone()])),
            }
        }
        let lacking = groups.iter().filter(|(status, _)| status.no_file).map(|(_, points)| points.len());
        if lacking.sum::<usize>() == left.len() {
            let newest = left.last().map(|at| at.version().to_string()).unwrap_or_default();
            let words = groups.iter().find(|(_, points)| points.last() == left.last());
            let words = words.map(|(status, _)| status.one.as_str()).unwrap_or_default();
            return Ok(Absence::NoUsableFile(format!("{newest} {words}"), self.newest_usable(name)?));
        }
        groups.reverse();
        for (status, points) in groups.iter().take(MOST_GROUPS) {
            let words = if points.len() == 1 { &status.one } else { &status.many };
            lines.push(format!("{} {words}", span(name.as_ref(), points)));
        }
        Ok(Absence::Lines(lines))
    }

    /// The newest final version that has a file for the target.
    fn newest_usable(&self, name: &PackageName) -> Result<Option<Version>, Halt> {
        let world = self.provider.world;
        let candidates = world.candidates(name)?;
        let is_usable = |position: usize| {
            let usable = candidates.usable(position, name, &world.rules());
            usable.is_some_and(|usable| !usable.files.is_empty() && !usable.yanked)
        };
        let mut newest = candidates.versions().iter().enumerate().rev();
        let found = newest.find(|(position, version)| !version.any_prerelease() && is_usable(*position));
        Ok(found.map(|(_, version)| version.clone()))
    }

    /// Why a version can't be taken; `None` where only what it requires stands in the way.
    fn status(&self, name: &PackageName, at: &Point) -> Result<Option<Status>, Halt> {
        let world = self.provider.world;
        let candidates = world.candidates(name)?;
        let usable = candidates
            .position(at.version())
            .and_then(|position| candidates.usable(position, name, &world.rules()));
        let Some(usable) = usable.filter(|usable| !usable.files.is_empty()) else {
            let words = usable.map(|usable| usable.lacks.words(&world.target)).unwrap_or_default();
            return Ok(Some(Status::new(words, true)));
        };
        if usable.yanked {
            return Ok(Some(Status {
                one: "is yanked, and nothing pins it".to_owned(),
                many: "are yanked, and nothing pins them".to_owned(),
                no_file: false,
            }));
        }
        if let Facts::Unavailable(why) = world.facts(name, at.version())?.as_ref() {
            return Ok(Some(Status::new(format!("can't be taken: {why}"), false)));
        }
        Ok(at.version().any_prerelease().then(|| Status {
            one: "is a pre-release, which nothing asks for".to_owned(),
            many: "are pre-releases, which nothing asks for".to_owned(),
            no_file: false,
        }))
    }
}

/// Why one version, or several, can't be taken.
#[derive(PartialEq, Eq)]
struct Status {
    one: String,
    many: String,
    /// For want of a file.
    no_file: bool,
}

impl Status {
    fn new(one: String, no_file: bool) -> Self {
        let many = match one.split_once(' ') {
            Some(("is", rest)) => format!("are {rest}"),
            Some(("has", rest)) => format!("have {rest}"),
            _ => one.clone(),
        };
        Self { one, many, no_file }
    }
}

/// `name 1.0`, `name 1.0 and 1.1`, `name 1.0 to 2.0 (7 versions)`.
pub(crate) fn span(name: &str, points: &[Point]) -> String {
    match points {
        [] => format!("no version of {name}"),
        [only] => format!("{name} {}", only.version()),
        [first, last] => format!("{name} {} and {}", first.version(), last.version()),
        [first, .., last] => {
            format!("{name} {} to {} ({} versions)", first.version(), last.version(), points.len())
        }
    }
}
