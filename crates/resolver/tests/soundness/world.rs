//! Small random worlds, and a solver that tries everything: the oracle. It knows the documented rules alone:
//! what is required is met; a pre-release stands where something asks for one or no final release fits; a
//! yanked version stands where something pins it; what was locked may stay.

use std::str::FromStr;
use std::sync::Arc;

use proptest::prelude::*;
use reana_model::file::CoreMetadata;
use reana_model::{
    DistFile, DistName, ExtraName, Grade, Metadata, Origin, PackageName, Platform, Requirement, Target,
    Version, Yanked,
};
use reana_resolver::{MemoryCatalog, MetadataAnswer, Preference, Request, Solved};

pub(crate) const NAMES: [&str; 4] = ["a", "b", "c", "d"];

/// A version: `rank` 2n is the final release n, 2n-1 its release candidate.
pub(crate) type Rank = u64;

/// The ranks of each package's versions in a solution.
pub(crate) type Pins = [Option<Rank>; 4];

/// A requirement on one of four packages.
#[derive(Clone, Debug)]
pub(crate) struct Need {
    pub(crate) on: usize,
    bound: Option<(&'static str, Rank)>,
    extras: [bool; 2],
    pub(crate) marker: Option<&'static str>,
}

#[derive(Clone, Debug)]
pub(crate) struct Release {
    rank: Rank,
    needs: Vec<Need>,
    extra_needs: Vec<(usize, Need)>,
    pub(crate) yanked: bool,
}

/// Four packages with up to three versions, and what is wanted of them.
#[derive(Clone, Debug)]
pub(crate) struct World {
    pub(crate) packages: Vec<Vec<Release>>,
    pub(crate) roots: Vec<Need>,
    pub(crate) constraints: Vec<Need>,
}

const EXTRAS: [&str; 2] = ["x", "y"];
const MARKERS: [&str; 3] =
    ["python_version < '3.10'", "platform_machine == 'x86_64'", "sys_platform == 'win32'"];

/// The targets of these worlds.
pub(crate) fn targets() -> [Target; 2] {
    let target = |python: &str, platform| Target { python: python.parse().expect("a Python"), platform };
    [target("3.12", Platform::LinuxAmd64), target("3.9", Platform::LinuxArm64)]
}

pub(crate) fn version(rank: Rank) -> String {
    if rank.is_multiple_of(2) { (rank / 2).to_string() } else { format!("{}rc1", rank.div_ceil(2)) }
}

fn is_prerelease(rank: Rank) -> bool {
    rank % 2 == 1
}

impl Need {
    fn text(&self, extra: Option<usize>) -> String {
        let asked: Vec<&str> =
            EXTRAS.iter().zip(self.extras).filter(|(_, asked)| *asked).map(|(extra, _)| *extra).collect();
        let asked = if asked.is_empty() { String::new() } else { format!("[{}]", asked.join(",")) };
        let bound = self.bound.map(|(operator, rank)| format!("{operator}{}", version(rank)));
        let extra = extra.map(|extra| format!("extra == '{}'", EXTRAS[extra]));
        let markers: Vec<String> = self.marker.map(str::to_owned).into_iter().chain(extra).collect();
        let marker = if markers.is_empty() { String::new() } else { format!("; {}", markers.join(" and ")) };
        format!("{}{asked}{}{marker}", NAMES[self.on], bound.unwrap_or_default())
    }

    fn accepts(&self, rank: Rank) -> bool {
        match self.bound {
            None => true,
            Some(("==" | "===", bound)) => rank == bound,
            Some(("!=", bound)) => rank != bound,
            Some((">=", bound)) => rank >= bound,
            // `<2` leaves 2rc1 out, `<2rc1` has no such rule.
            Some(("<", bound)) if is_prerelease(bound) => rank < bound,
            Some(("<", bound)) => rank < bound && rank + 1 != bound,
            Some(other) => panic!("{other:?}"),
        }
    }

    fn pins(&self) -> bool {
        matches!(self.bound, Some(("==" | "===", _)))
    }

    fn consents(&self) -> bool {
        self.bound.is_some_and(|(operator, rank)| operator != "!=" && is_prerelease(rank))
    }

    fn applies(&self, target: &Target) -> bool {
        match self.marker {
            None => true,
            Some(marker) if marker == MARKERS[0] => target.python.minor < 10,
            Some(marker) if marker == MARKERS[1] => target.platform == Platform::LinuxAmd64,
            Some(_) => false,
        }
    }
}

fn need(ranks: &'static [Rank]) -> impl Strategy<Value = Need> {
    let operators = prop::sample::select(vec!["==", "===", "!=", ">=", "<"]);
    let bound = prop::option::of((operators, prop::sample::select(ranks)));
    let extras = [prop::bool::weighted(0.2), prop::bool::weighted(0.1)];
    let marker = prop::option::weighted(0.2, prop::sample::select(MARKERS.to_vec()));
    (0_usize..4, bound, extras, marker).prop_map(|(on, bound, extras, marker)| Need {
        on,
        bound,
        extras,
        marker,
    })
}

/// Worlds with versions of these ranks, ascending.
pub(crate) fn world(ranks: &'static [Rank], yanked: f64) -> impl Strategy<Value = World> {
    let needs = move || prop::collection::vec(need(ranks), 0..3);
    let extra_needs = prop::collection::vec((0_usize..2, need(ranks)), 0..3);
    let release = (needs(), extra_needs, prop::bool::weighted(yanked));
    let package = (prop::collection::vec(release, 0..4), prop::sample::subsequence(ranks.to_vec(), 0..4));
    let package = package.prop_map(|(releases, ranks)| {
        let ranked = ranks.into_iter().zip(releases);
        let release = |(rank, (needs, extra_needs, yanked))| Release { rank, needs, extra_needs, yanked };
        ranked.map(release).collect()
    });
    let wanted = prop::collection::vec(need(ranks), 1..4);
    let constraints = prop::collection::vec(need(ranks), 0..2);
    (prop::collection::vec(package, 4), wanted, constraints)
        .prop_map(|(packages, roots, constraints)| World { packages, roots, constraints })
}

/// The world's index, with its files in either order.
pub(crate) fn catalog(world: &World, reverse: bool) -> MemoryCatalog {
    let mut catalog = MemoryCatalog::default();
    for (name, releases) in NAMES.iter().zip(&world.packages) {
        let package = PackageName::from_str(name).expect("a name");
        let mut files: Vec<_> = releases.iter().map(|release| file(&package, release)).collect();
        if reverse {
            files.reverse();
        }
        catalog.insert(package, files);
    }
    catalog
}

impl World {
    fn release(&self, package: usize, rank: Rank) -> Option<&Release> {
        self.packages.get(package)?.iter().find(|release| release.rank == rank)
    }

    /// Everything that is required, if these pins are installed, with extras as far as they are asked for; and
    /// whether it may admit something: what a package says of itself doesn't.
    fn required(&self, pins: &Pins, target: &Target) -> Vec<(&Need, bool)> {
        let mut extras = [[false; 2]; 4];
        loop {
            let mut all: Vec<(&Need, bool)> = self.roots.iter().map(|need| (need, true)).collect();
            for (package, pin) in pins.iter().enumerate() {
                let Some(release) = pin.and_then(|rank| self.release(package, rank)) else { continue };
                let admits = |need: &Need| need.on != package;
                all.extend(release.needs.iter().map(|need| (need, admits(need))));
                let asked = release.extra_needs.iter().filter(|(extra, _)| extras[package][*extra]);
                all.extend(asked.map(|(_, need)| (need, admits(need))));
            }
            all.retain(|(need, _)| need.applies(target));
            let mut grown = extras;
            for (need, _) in &all {
                for (asked, more) in grown[need.on].iter_mut().zip(need.extras) {
                    *asked |= more;
                }
            }
            if grown == extras {
                return all;
            }
            extras = grown;
        }
    }

    /// Whether the pins satisfy everything and hold nothing that isn't admitted.
    fn holds(&self, pins: &Pins, target: &Target, kept: &[Pins]) -> bool {
        let required = self.required(pins, target);
        let is_met = required.iter().all(|(need, _)| pins[need.on].is_some_and(|rank| need.accepts(rank)));
        is_met
            && pins.iter().enumerate().all(|(package, pin)| {
                let Some(rank) = *pin else { return true };
                let Some(release) = self.release(package, rank) else { return false };
                let limits = self.constraints.iter().filter(|limit| limit.applies(target));
                let limits = limits.map(|limit| (limit, true));
                let all: Vec<(&Need, bool)> =
                    required.iter().copied().chain(limits).filter(|(need, _)| need.on == package).collect();
                let pinned = all.iter().any(|(need, admits)| *admits && need.pins());
                let asked = all.iter().any(|(need, admits)| *admits && need.consents());
                let fits = |rank: Rank| all.iter().all(|(need, _)| need.accepts(rank));
                let others_accept =
                    |rank: Rank| all.iter().all(|(need, admits)| !admits || need.accepts(rank));
                let has_final = self.packages[package].iter().any(|other| {
                    !is_prerelease(other.rank) && others_accept(other.rank) && (!other.yanked || pinned)
                });
                let is_kept = kept.iter().any(|kept| kept[package] == Some(rank));
                fits(rank)
                    && (is_kept || !release.yanked || pinned)
                    && (is_kept || !is_prerelease(rank) || asked || !has_final)
            })
    }

    /// All solutions on a target, where these pins may be kept.
    pub(crate) fn solutions(&self, target: &Target, kept: &[Pins]) -> Vec<Pins> {
        let choices = |package: usize| {
            let ranks = self.packages[package].iter().map(|release| Some(release.rank));
            std::iter::once(None).chain(ranks).collect::<Vec<Option<Rank>>>()
        };
        let mut found = Vec::new();
        for a in choices(0) {
            for b in choices(1) {
                for c in choices(2) {
                    for d in choices(3) {
                        let pins = [a, b, c, d];
                        if self.is_needed(&pins, target) && self.holds(&pins, target, kept) {
                            found.push(pins);
                        }
                    }
                }
            }
        }
        found
    }

    /// Whether the roots lead to every pin: what nobody needs may not admit anything.
    fn is_needed(&self, pins: &Pins, target: &Target) -> bool {
        let mut reached: Pins = [None; 4];
        loop {
            let mut grown = reached;
            for (need, _) in self.required(&reached, target) {
                grown[need.on] = pins[need.on];
            }
            if grown == reached {
                return reached == *pins;
            }
            reached = grown;
        }
    }

    pub(crate) fn request(&self) -> Request {
        let read = |needs: &[Need], file: &str| -> Vec<Requirement> {
            let numbered = (1..).zip(needs);
            let parse = |(line, need): (u32, &Need)| {
                Requirement::parse(&need.text(None), Origin::new(file, line)).expect("a valid requirement")
            };
            numbered.map(parse).collect()
        };
        Request {
            roots: read(&self.roots, "setup.py"),
            constraints: read(&self.constraints, "constraints.txt"),
            targets: vec![targets()[0]],
            ..Request::default()
        }
    }
}

fn file(package: &PackageName, release: &Release) -> (DistFile, MetadataAnswer) {
    let parse = |text: String| Requirement::parse(&text, Origin::whole("METADATA")).expect("valid");
    let extras = release.extra_needs.iter().map(|(extra, need)| parse(need.text(Some(*extra))));
    let version = version(release.rank);
    let metadata = Metadata {
        name: package.clone(),
        version: Version::from_str(&version).expect("a version"),
        requires_dist: release.needs.iter().map(|need| parse(need.text(None))).chain(extras).collect(),
        requires_python: None,
        provides_extra: EXTRAS.map(|extra| ExtraName::from_str(extra).expect("an extra")).to_vec(),
        grade: Grade::Wheel,
    };
    let file = DistFile {
        name: DistName::parse(&format!("{package}-{version}-py3-none-any.whl"), package).expect("a file"),
        url: String::new(),
        sha256: None,
        size: None,
        requires_python: None,
        yanked: if release.yanked { Yanked::Yes(String::new()) } else { Yanked::No },
        uploaded: None,
        core_metadata: CoreMetadata::Absent,
    };
    (file, MetadataAnswer::Known(Arc::new(metadata)))
}

/// What a solution pins.
pub(crate) fn pins(solved: &Solved) -> Pins {
    NAMES.map(|name| {
        let name = PackageName::from_str(name).expect("a name");
        let chosen = solved.packages.get(&name)?;
        let number = chosen.version.release().first().copied()?;
        Some(2 * number - u64::from(chosen.version.any_prerelease()))
    })
}

/// Pins of an old lock.
pub(crate) fn preferences(pins: &Pins) -> Vec<Preference> {
    let pinned = NAMES.iter().zip(pins);
    let preference = |(name, rank): (&&str, &Option<Rank>)| {
        let version = Version::from_str(&version((*rank)?)).expect("a version");
        Some(Preference { name: PackageName::from_str(name).expect("a name"), version })
    };
    pinned.filter_map(preference).collect()
}
