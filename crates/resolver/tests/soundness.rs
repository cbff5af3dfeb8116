//! Small random worlds, held against a solver that tries everything: a solution is found if and only if one
//! exists, and it satisfies everything.

use std::str::FromStr;
use std::sync::Arc;

use proptest::prelude::*;
use reana_model::file::CoreMetadata;
use reana_model::{
    DistFile, DistName, ExtraName, Grade, Metadata, Origin, PackageName, Platform, Requirement, Target,
    Version, Yanked,
};
use reana_resolver::{MemoryCatalog, MetadataAnswer, Preference, Request, Resolution, SolveError, solve};

/// `(package, operator, version, extra)`: a requirement on one of four packages.
#[derive(Clone, Debug)]
struct Need {
    on: usize,
    bound: Option<(&'static str, u64)>,
    extra: bool,
}

#[derive(Clone, Debug)]
struct Release {
    needs: Vec<Need>,
    extra_needs: Vec<Need>,
    yanked: bool,
}

/// Four packages with up to three versions, and what is wanted of them.
#[derive(Clone, Debug)]
struct World {
    packages: Vec<Vec<Release>>,
    roots: Vec<Need>,
    constraints: Vec<Need>,
}

const NAMES: [&str; 4] = ["a", "b", "c", "d"];

impl Need {
    fn text(&self) -> String {
        let extra = if self.extra { "[x]" } else { "" };
        let bound = self.bound.map(|(operator, version)| format!("{operator}{version}")).unwrap_or_default();
        format!("{}{extra}{bound}", NAMES[self.on])
    }

    fn accepts(&self, version: u64) -> bool {
        match self.bound {
            None => true,
            Some(("==", bound)) => version == bound,
            Some(("!=", bound)) => version != bound,
            Some((">=", bound)) => version >= bound,
            Some(("<", bound)) => version < bound,
            Some(other) => panic!("{other:?}"),
        }
    }
}

fn need() -> impl Strategy<Value = Need> {
    let bound = prop::option::of((prop::sample::select(vec!["==", "!=", ">=", "<"]), 1_u64..4));
    (0_usize..4, bound, prop::bool::weighted(0.2)).prop_map(|(on, bound, extra)| Need { on, bound, extra })
}

fn world() -> impl Strategy<Value = World> {
    let needs = || prop::collection::vec(need(), 0..3);
    let release = (needs(), needs(), prop::bool::weighted(0.15))
        .prop_map(|(needs, extra_needs, yanked)| Release { needs, extra_needs, yanked });
    let packages = prop::collection::vec(prop::collection::vec(release, 0..4), 4);
    (packages, prop::collection::vec(need(), 1..4), prop::collection::vec(need(), 0..2))
        .prop_map(|(packages, roots, constraints)| World { packages, roots, constraints })
}

type Pins = [Option<u64>; 4];

impl World {
    fn release(&self, package: usize, version: u64) -> Option<&Release> {
        self.packages.get(package)?.get(usize::try_from(version).ok()?.checked_sub(1)?)
    }

    /// Everything that is required, if these pins are installed, with extras as far as they are asked for.
    fn required(&self, pins: &Pins) -> Vec<&Need> {
        let mut extras = [false; 4];
        loop {
            let mut all: Vec<&Need> = self.roots.iter().collect();
            for (package, pin) in pins.iter().enumerate() {
                let Some(release) = pin.and_then(|version| self.release(package, version)) else { continue };
                all.extend(&release.needs);
                if extras[package] {
                    all.extend(&release.extra_needs);
                }
            }
            let mut grown = extras;
            for need in &all {
                grown[need.on] |= need.extra;
            }
            if grown == extras {
                return all;
            }
            extras = grown;
        }
    }

    /// Whether the pins satisfy everything, and nothing yanked stands unpinned.
    fn holds(&self, pins: &Pins) -> bool {
        let required = self.required(pins);
        let is_met = required.iter().all(|need| pins[need.on].is_some_and(|version| need.accepts(version)));
        let is_limited =
            self.constraints.iter().all(|limit| pins[limit.on].is_none_or(|version| limit.accepts(version)));
        let is_offered = pins.iter().enumerate().all(|(package, pin)| {
            pin.is_none_or(|version| {
                self.release(package, version).is_some_and(|release| {
                    let mut all = required.iter().copied().chain(&self.constraints);
                    let pinned = all
                        .any(|need| need.on == package && need.bound.is_some_and(|(kind, _)| kind == "=="));
                    !release.yanked || pinned
                })
            })
        });
        is_met && is_limited && is_offered
    }

    fn solutions(&self) -> Vec<Pins> {
        let choices = |package: usize| {
            let versions = u64::try_from(self.packages[package].len()).expect("few");
            std::iter::once(None).chain((1..=versions).map(Some)).collect::<Vec<Option<u64>>>()
        };
        let mut found = Vec::new();
        for a in choices(0) {
            for b in choices(1) {
                for c in choices(2) {
                    for d in choices(3) {
                        let pins = [a, b, c, d];
                        if self.holds(&pins) {
                            found.push(pins);
                        }
                    }
                }
            }
        }
        found
    }

    fn catalog(&self) -> MemoryCatalog {
        let mut catalog = MemoryCatalog::default();
        for (name, releases) in NAMES.iter().zip(&self.packages) {
            let package = PackageName::from_str(name).expect("a name");
            let numbered = (1_u64..).zip(releases);
            let files = numbered.map(|(version, release)| file(&package, version, release)).collect();
            catalog.insert(package, files);
        }
        catalog
    }

    fn request(&self) -> Request {
        let read = |needs: &[Need], file: &str| -> Vec<Requirement> {
            let numbered = (1..).zip(needs);
            let parse = |(line, need): (u32, &Need)| {
                Requirement::parse(&need.text(), Origin::new(file, line)).expect("a valid requirement")
            };
            numbered.map(parse).collect()
        };
        let target = Target { python: "3.12".parse().expect("a Python"), platform: Platform::LinuxAmd64 };
        Request {
            roots: read(&self.roots, "setup.py"),
            constraints: read(&self.constraints, "constraints.txt"),
            targets: vec![target],
            ..Request::default()
        }
    }
}

fn file(package: &PackageName, version: u64, release: &Release) -> (DistFile, MetadataAnswer) {
    let parse = |text: String| Requirement::parse(&text, Origin::whole("METADATA")).expect("valid");
    let extras = release.extra_needs.iter().map(|need| parse(format!("{}; extra == 'x'", need.text())));
    let metadata = Metadata {
        name: package.clone(),
        version: Version::new([version]),
        requires_dist: release.needs.iter().map(|need| parse(need.text())).chain(extras).collect(),
        requires_python: None,
        provides_extra: vec![ExtraName::from_str("x").expect("an extra")],
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

fn pins(resolution: &Resolution) -> Pins {
    NAMES.map(|name| {
        let name = PackageName::from_str(name).expect("a name");
        let chosen = resolution.solved.first()?.packages.get(&name)?;
        chosen.version.release().first().copied()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]

    #[test]
    fn a_solution_is_found_if_and_only_if_there_is_one(world in world()) {
        let solutions = world.solutions();
        match solve(&world.catalog(), &world.request()) {
            Ok(resolution) => {
                let pins = pins(&resolution);
                prop_assert!(solutions.contains(&pins), "{pins:?} is none of {solutions:?}");
            }
            Err(SolveError::Limit { decisions }) => prop_assert!(false, "given up after {decisions}"),
            Err(error) => {
                // Whether a yanked version may be taken depends on who else is there; the search may then
                // miss a solution, never take a wrong one.
                let is_plain = world.packages.iter().flatten().all(|release| !release.yanked);
                prop_assert!(solutions.is_empty() || !is_plain, "{error}\nbut {solutions:?}");
                prop_assert!(!error.to_string().is_empty());
            }
        }
    }

    #[test]
    fn a_satisfied_lock_stays_as_it_is(world in world()) {
        let mut request = world.request();
        let catalog = world.catalog();
        if let Ok(first) = solve(&catalog, &request) {
            request.preferences = first.solved[0].packages.iter()
                .map(|(name, chosen)| Preference { name: name.clone(), version: chosen.version.clone() })
                .collect();
            let again = solve(&catalog, &request).expect("what was solved can be kept");
            prop_assert_eq!(pins(&first), pins(&again));
        }
    }
}
