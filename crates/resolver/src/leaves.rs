//! The facts of a proof in words.

use std::collections::BTreeSet;

use pubgrub::Ranges;
use reana_model::PackageName;
use rustc_hash::FxHashMap;

use crate::node::{Kinds, Node};
use crate::provider::Provider;
use crate::ranges::Point;
use crate::resolution::{Reason, RequiredBy};
use crate::search::reason;
use crate::world::{DemandList, Facts, Halt};

/// How many versions of one package are spoken of one by one.
const MOST_VERSIONS: usize = 3;

/// Puts facts into words.
pub(crate) struct Speaker<'p, 'w, 'a> {
    provider: &'p Provider<'w, 'a>,
    seen: FxHashMap<Node, Vec<(Point, DemandList)>>,
}

/// What one node requires of another, in words.
pub(crate) struct Need {
    pub(crate) by: Node,
    pub(crate) on: Node,
    pub(crate) lines: Vec<String>,
    /// Whose requirements they are.
    pub(crate) reasons: Vec<Reason>,
    /// The requirements with their kinds.
    pub(crate) bounds: Vec<(Reason, Kinds)>,
}

/// Why there is no version of a package in a range.
pub(crate) enum Absence {
    /// No index knows the package.
    Unknown,
    /// There are versions, but no file of them fits.
    NoUsableFile(String),
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
            lines: Vec::new(),
            reasons: Vec::new(),
            bounds: Vec::new(),
        };
        let mut texts: BTreeSet<String> = BTreeSet::new();
        let mut points: Vec<Point> = Vec::new();
        for (at, demands) in self.seen.get(by).map_or(&[][..], Vec::as_slice) {
            if !versions.contains(at) {
                continue;
            }
            for demand in demands.iter().filter(|demand| demand.node == *on && demand.range == *range) {
                let Some(reason) = reason(by, at, demand) else { continue };
                texts.insert(reason.text.clone());
                if *by == Node::Root {
                    need.lines.push(format!("{} requires {}", reason.by, reason.text));
                }
                need.bounds.push((reason.clone(), demand.kinds));
                need.reasons.push(reason);
                points.push(at.clone());
            }
        }
        points.dedup();
        if *by != Node::Root && !texts.is_empty() {
            let texts: Vec<String> = texts.into_iter().collect();
            let verb = if points.len() == 1 { "requires" } else { "require" };
            let who = span(&by.to_string(), &points);
            need.lines.push(format!("{who} {verb} {}", texts.join(", ")));
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
            let origin = origin.map(|origin| format!("{origin} takes it from ")).unwrap_or_default();
            return Ok(Absence::Lines(vec![format!("{origin}{}, which is {name} {version}", place.given)]));
        }
        let candidates = world.candidates(name)?;
        if !candidates.known() {
            return Ok(Absence::Unknown);
        }
        let mut lines = Vec::new();
        for limit in self.limits(name) {
            lines.push(format!("{} limits it to {}", limit.by, limit.text));
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
        let mut lacks = Vec::new();
        for at in left.iter().rev() {
            match self.status(name, at)? {
                Status::NoFile(words) => lacks.push(words),
                Status::Other(words) => lines.push(format!("{name} {} {words}", at.version())),
            }
        }
        if lacks.len() == left.len() {
            let words = lacks.into_iter().next().unwrap_or_default();
            let newest = left.last().map(|at| at.version().to_string()).unwrap_or_default();
            return Ok(Absence::NoUsableFile(format!("{newest} {words}")));
        }
        let more = lines.len().saturating_sub(MOST_VERSIONS);
        lines.truncate(MOST_VERSIONS);
        if more > 0 {
            lines.push(format!("and {more} more versions of {name}"));
        }
        Ok(Absence::Lines(lines))
    }

    fn status(&self, name: &PackageName, at: &Point) -> Result<Status, Halt> {
        let world = self.provider.world;
        let candidates = world.candidates(name)?;
        let usable = candidates
            .position(at.version())
            .and_then(|position| candidates.usable(position, name, &world.rules()));
        let Some(usable) = usable.filter(|usable| !usable.files.is_empty()) else {
            let words = usable.map(|usable| usable.lacks.words(&world.target)).unwrap_or_default();
            return Ok(Status::NoFile(words));
        };
        if usable.yanked {
            return Ok(Status::Other("is yanked, and nothing pins it".to_owned()));
        }
        if let Facts::Unavailable(why) = world.facts(name, at.version())?.as_ref() {
            return Ok(Status::Other(format!("can't be taken: {why}")));
        }
        let words = if at.version().any_prerelease() {
            "is a pre-release, and nothing admits those"
        } else {
            "is ruled out by what it requires"
        };
        Ok(Status::Other(words.to_owned()))
    }
}

enum Status {
    NoFile(String),
    Other(String),
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
