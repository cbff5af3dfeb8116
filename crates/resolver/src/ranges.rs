//! Version specifiers (PEP 440) as sets of intervals, which is what PubGrub computes with.
//!
//! A version is a [`Point`] on a line. Two kinds of places between versions are needed besides: the one after
//! `V` and all its local versions (`==V` and `<=V` take `V+local` in), and the one after all post-releases of
//! `V` (`>V` leaves them out). The conversion of `pep440_rs` has neither, and its `contains` differs from
//! PEP 440 and from pip for some pre-releases (`<1.0a5` loses `1.0a1`), so both are left aside here.

use std::cmp::Ordering;
use std::fmt;
use std::ops::Bound;

use pubgrub::Ranges;
use reana_model::{Operator, Version, VersionSpecifier, VersionSpecifiers};

/// A version, or the place right after it and its local versions.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Point {
    version: Version,
    after_locals: bool,
}

impl Point {
    /// A version itself.
    pub fn on(version: Version) -> Self {
        Self { version, after_locals: false }
    }

    /// The place after a public version and all its local versions.
    fn after_locals(version: Version) -> Self {
        Self { version, after_locals: true }
    }

    /// The version that the point is at.
    pub fn version(&self) -> &Version {
        &self.version
    }
}

impl Ord for Point {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self.after_locals, other.after_locals) {
            (false, false) | (true, true) => self.version.cmp(&other.version),
            (true, false) => cmp_edge(&self.version, &other.version),
            (false, true) => cmp_edge(&other.version, &self.version).reverse(),
        }
    }
}

/// Compares the place after `edge`'s local versions with a version.
fn cmp_edge(edge: &Version, version: &Version) -> Ordering {
    let order =
        if version.is_local() { edge.cmp(&version.clone().without_local()) } else { edge.cmp(version) };
    order.then(Ordering::Greater)
}

impl PartialOrd for Point {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl fmt::Display for Point {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.version, if self.after_locals { "+*" } else { "" })
    }
}

/// The versions that satisfy all of these specifiers. Whether pre-releases may be *chosen* is another
/// question: see [`consents`].
pub fn of_all(specifiers: &VersionSpecifiers) -> Ranges<Point> {
    specifiers.iter().fold(Ranges::full(), |ranges, specifier| ranges.intersection(&of(specifier)))
}

/// The versions that satisfy a specifier.
///
/// `===` compares versions as PEP 440 orders them, not letter by letter: `===1.0` takes `1.0.0`, too.
pub fn of(specifier: &VersionSpecifier) -> Ranges<Point> {
    let version = specifier.version().clone();
    match specifier.operator() {
        Operator::Equal => equal(version),
        Operator::NotEqual => equal(version).complement(),
        Operator::ExactEqual => Ranges::singleton(Point::on(version)),
        Operator::EqualStar => prefix(&version, version.release()),
        Operator::NotEqualStar => prefix(&version, version.release()).complement(),
        Operator::TildeEqual => {
            let release = version.release();
            let kept = release.get(..release.len().saturating_sub(1)).unwrap_or_default();
            let family = prefix(&version, kept);
            family.intersection(&Ranges::higher_than(Point::on(version)))
        }
        Operator::GreaterThanEqual => Ranges::higher_than(Point::on(version)),
        Operator::LessThanEqual => Ranges::lower_than(Point::after_locals(version.without_local())),
        Operator::GreaterThan => greater(version),
        Operator::LessThan => less(version),
    }
}

fn equal(version: Version) -> Ranges<Point> {
    if version.is_local() {
        return Ranges::singleton(Point::on(version));
    }
    let end = Point::after_locals(version.clone());
    Ranges::from_range_bounds(Point::on(version)..=end)
}

/// A version's release alone, in its epoch.
fn base(version: &Version) -> Version {
    version.only_release().with_epoch(version.epoch())
}

/// `>V` excludes the post-releases and the local builds of V's release, unless `V` is a post-release itself.
///
/// packaging excludes those of every pre-release in between as well (`>1a1` refuses `1a2.post1` and `1a2+x`),
/// and local builds of later post-releases (`>1.post1` refuses `1.post2+x`). That is no finite set of intervals,
/// and such versions are taken here; nobody makes them.
fn greater(version: Version) -> Ranges<Point> {
    let version = version.without_local();
    let base = base(&version);
    if version > base {
        return Ranges::strictly_higher_than(Point::after_locals(version));
    }
    let end = if version.is_post() { base.clone() } else { base.clone().with_max(Some(0)) };
    let later = Ranges::strictly_higher_than(Point::after_locals(end));
    if version == base {
        return later;
    }
    let after = if version.is_dev() || version.is_post() { version } else { version.with_max(Some(0)) };
    let (after, until) = (Point::after_locals(after), Point::on(base));
    later.union(&Ranges::from_range_bounds((Bound::Excluded(after), Bound::Included(until))))
}

/// Pre-releases of post-releases are told apart for this many of them.
const MOST_POSTS: u64 = 64;

/// `<V` excludes all pre-releases of V's release, unless `V` is a pre-release itself.
fn less(version: Version) -> Ranges<Point> {
    if version.any_prerelease() {
        return Ranges::strictly_lower_than(Point::on(version));
    }
    let version = version.without_local();
    let base = base(&version);
    let first = |version: Version| Point::on(version.with_dev(Some(0)));
    let below = Ranges::strictly_lower_than(first(base.clone()));
    let Some(post) = version.post() else { return below };
    let mut ranges = below;
    let mut from = base.clone();
    for next in 0..=post.min(MOST_POSTS) {
        let next = base.clone().with_post(Some(next));
        ranges = ranges.union(&Ranges::from_range_bounds(Point::on(from)..first(next.clone())));
        from = next;
    }
    if post > MOST_POSTS {
        ranges = ranges.union(&Ranges::from_range_bounds(Point::on(from)..first(version)));
    }
    ranges
}

/// All versions whose release begins with these numbers, in the epoch of `version`.
fn prefix(version: &Version, release: &[u64]) -> Ranges<Point> {
    let first = |release: &[u64]| {
        Point::on(Version::new(release.iter().copied()).with_epoch(version.epoch()).with_dev(Some(0)))
    };
    if release.is_empty() {
        return Ranges::full();
    }
    let mut next = release.to_vec();
    let bumped = next.last_mut().and_then(|last| {
        *last = last.checked_add(1)?;
        Some(())
    });
    match bumped {
        Some(()) => Ranges::from_range_bounds(first(release)..first(&next)),
        None => Ranges::higher_than(first(release)),
    }
}

/// Whether the specifiers name a pre-release and so admit pre-releases of the package (PEP 440, as pip reads
/// it): every operator but `!=`.
pub fn consents(specifiers: &VersionSpecifiers) -> bool {
    specifiers.iter().any(|specifier| {
        !matches!(specifier.operator(), Operator::NotEqual | Operator::NotEqualStar)
            && specifier.version().any_prerelease()
    })
}

/// Whether the specifiers ask for exactly one version: `==` without a wildcard, or `===`.
pub fn pins(specifiers: &VersionSpecifiers) -> bool {
    specifiers.iter().any(|specifier| matches!(specifier.operator(), Operator::Equal | Operator::ExactEqual))
}

/// Whether the specifier is one of arbitrary equality (`===`).
pub fn is_arbitrary(specifier: &VersionSpecifier) -> bool {
    specifier.operator() == &Operator::ExactEqual
}

/// Whether the specifiers bound the versions from above in the way that pip's order of decisions counts:
/// `<`, `<=`, `~=`, `==X.*`.
pub fn bounds_above(specifiers: &VersionSpecifiers) -> bool {
    specifiers.iter().any(|specifier| {
        matches!(
            specifier.operator(),
            Operator::LessThan | Operator::LessThanEqual | Operator::TildeEqual | Operator::EqualStar
        )
    })
}
