//! The solver's worst cases: they must end, soon, and rightly. A bound on decisions stands for time.

use std::str::FromStr;
use std::sync::Arc;

use reana_model::file::CoreMetadata;
use reana_model::{
    DistFile, DistName, Grade, Metadata, Origin, PackageName, Platform, Requirement, Target, Version, Yanked,
};
use reana_resolver::{MemoryCatalog, MetadataAnswer, Policy, Request, Resolution, SolveError, solve};

#[derive(Default)]
struct World {
    releases: Vec<(String, u32, Vec<String>)>,
}

impl World {
    fn add(&mut self, name: &str, version: u32, requires: &[String]) {
        self.releases.push((name.to_owned(), version, requires.to_vec()));
    }

    fn catalog(&self) -> MemoryCatalog {
        let mut files: std::collections::BTreeMap<PackageName, Vec<(DistFile, MetadataAnswer)>> =
            std::collections::BTreeMap::new();
        for (name, version, requires) in &self.releases {
            let package = PackageName::from_str(name).expect("a name");
            let text = format!("{name}-{version}-py3-none-any.whl");
            let read = |text: &String| {
                Requirement::parse(text, Origin::whole("METADATA")).expect("a valid requirement")
            };
            let metadata = Metadata {
                name: package.clone(),
                version: Version::new([u64::from(*version)]),
                requires_dist: requires.iter().map(read).collect(),
                requires_python: None,
                provides_extra: Vec::new(),
                grade: Grade::Wheel,
            };
            let file = DistFile {
                name: DistName::parse(&text, &package).expect("a file name"),
                url: String::new(),
                sha256: None,
                size: None,
                requires_python: None,
                yanked: Yanked::No,
                uploaded: None,
                core_metadata: CoreMetadata::Absent,
            };
            files.entry(package).or_default().push((file, MetadataAnswer::Known(Arc::new(metadata))));
        }
        let mut catalog = MemoryCatalog::default();
        for (name, files) in files {
            catalog.insert(name, files);
        }
        catalog
    }

    fn solve(&self, roots: &[String], max_decisions: u64) -> Result<Resolution, SolveError> {
        let target = Target { python: "3.12".parse().expect("a Python"), platform: Platform::LinuxAmd64 };
        let numbered = (1..).zip(roots);
        let root = |(line, text): (u32, &String)| {
            Requirement::parse(text, Origin::new("setup.py", line)).expect("a valid requirement")
        };
        let request = Request {
            roots: numbered.map(root).collect(),
            targets: vec![target],
            policy: Policy { max_decisions, ..Policy::default() },
            ..Request::default()
        };
        solve(&self.catalog(), &request)
    }
}

fn version(resolution: &Resolution, name: &str) -> String {
    let name = PackageName::from_str(name).expect("a name");
    let found = resolution.solved.first().and_then(|solved| solved.packages.get(&name));
    found.map(|chosen| chosen.version.to_string()).unwrap_or_default()
}

#[test]
fn a_hundred_packages_step_back_for_the_last() {
    let mut world = World::default();
    let mut roots = Vec::new();
    for package in 0..100 {
        let name = format!("p{package:02}");
        for version in 1..=10 {
            world.add(&name, version, &[format!("core=={version}")]);
        }
        roots.push(name);
    }
    for version in 1..=10 {
        world.add("core", version, &[]);
    }
    roots.push("zuser".to_owned());
    world.add("zuser", 1, &["core<2".to_owned()]);
    let resolution = world.solve(&roots, 20_000).expect("a solution");
    assert_eq!(version(&resolution, "p00"), "1");
    assert_eq!(version(&resolution, "p99"), "1");
}

#[test]
fn a_hundred_packages_are_decided_anew() {
    // Each package bounds the one before it: every choice is too new once the next one is seen.
    let mut world = World::default();
    let mut roots = Vec::new();
    for package in 0..100 {
        let name = format!("p{package:02}");
        world.add(&name, 1, &[]);
        world.add(&name, 2, &[]);
        let before: Vec<String> =
            (package > 0).then(|| format!("p{:02}<3", package - 1)).into_iter().collect();
        world.add(&name, 3, &before);
        roots.push(name);
    }
    let resolution = world.solve(&roots, 50_000).expect("a solution");
    // p99 keeps its newest; p98 steps back, asks for nothing then, and so on in turn.
    assert_eq!(version(&resolution, "p99"), "3");
    assert_eq!(version(&resolution, "p98"), "2");
}

#[test]
fn a_contradiction_among_many_versions_is_found() {
    let mut world = World::default();
    let mut roots = Vec::new();
    for package in 0..20 {
        let name = format!("p{package:02}");
        for version in 1..=50 {
            let next = format!("p{:02}=={version}", (package + 1) % 20);
            world.add(&name, version, &[next, format!("q{}>={version}", package % 3)]);
        }
        roots.push(name);
    }
    for q in 0..3 {
        for version in 1..=50 {
            world.add(&format!("q{q}"), version, &[]);
        }
    }
    roots.push("q0<10".to_owned());
    roots.push("q1>=20".to_owned());
    roots.push("p05>20".to_owned());
    match world.solve(&roots, 50_000) {
        Err(SolveError::NoSolution(explanation)) => {
            assert!(explanation.to_string().len() < 10_000, "{explanation}");
            assert!(!explanation.bounds.is_empty());
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_chain_of_a_thousand_is_followed() {
    let mut world = World::default();
    for link in 0..1000 {
        let next = if link == 999 { Vec::new() } else { vec![format!("p{}", link + 1)] };
        world.add(&format!("p{link}"), 1, &next);
    }
    let resolution = world.solve(&["p0".to_owned()], 5_000).expect("a solution");
    assert_eq!(version(&resolution, "p999"), "1");
}

#[test]
fn a_contradiction_at_the_end_of_a_long_chain_is_told() {
    let mut world = World::default();
    for link in 0..1500 {
        let next = if link == 1499 { "end>=2".to_owned() } else { format!("p{}", link + 1) };
        world.add(&format!("p{link}"), 1, &[next]);
    }
    world.add("end", 1, &[]);
    world.add("end", 2, &[]);
    match world.solve(&["p0".to_owned(), "end<2".to_owned()], 200_000) {
        Err(SolveError::NoSolution(explanation)) => {
            assert_eq!(explanation.clash.to_string(), "end");
            assert_eq!(explanation.roots.len(), 2);
        }
        other => panic!("{other:?}"),
    }
}
