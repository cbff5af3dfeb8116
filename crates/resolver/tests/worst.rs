//! The solver's worst cases: they must end, soon, and rightly. A bound on decisions stands for time.

use std::collections::BTreeMap;
use std::str::FromStr;
use std::sync::Arc;

use reana_model::file::CoreMetadata;
use reana_model::{
    DistFile, DistName, Grade, Metadata, Origin, PackageName, Platform, Requirement, Target, Version, Yanked,
};
use reana_resolver::{
    Explanation, MemoryCatalog, MetadataAnswer, Policy, Request, Resolution, SolveError, solve,
};
use reana_testkit::worst::{self, Hard};

fn catalog(hard: &Hard) -> MemoryCatalog {
    let mut files: BTreeMap<PackageName, Vec<(DistFile, MetadataAnswer)>> = BTreeMap::new();
    for (name, version, requires) in &hard.releases {
        let package = PackageName::from_str(name).expect("a name");
        let text = format!("{}-{version}-py3-none-any.whl", name.replace('-', "_"));
        let read =
            |text: &String| Requirement::parse(text, Origin::whole("METADATA")).expect("a valid requirement");
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

fn run(hard: &Hard, max_decisions: u64) -> Result<Resolution, SolveError> {
    let target = Target { python: "3.12".parse().expect("a Python"), platform: Platform::LinuxAmd64 };
    let numbered = (1..).zip(&hard.roots);
    let root = |(line, text): (u32, &String)| {
        Requirement::parse(text, Origin::new("setup.py", line)).expect("a valid requirement")
    };
    let request = Request {
        roots: numbered.map(root).collect(),
        targets: vec![target],
        policy: Policy { max_decisions, ..Policy::default() },
        ..Request::default()
    };
    solve(&catalog(hard), &request)
}

fn clash(hard: &Hard, max_decisions: u64) -> Explanation {
    match run(hard, max_decisions) {
        Err(SolveError::NoSolution(explanation)) => *explanation,
        other => panic!("{}: {other:?}", hard.title),
    }
}

fn version(resolution: &Resolution, name: &str) -> String {
    let name = PackageName::from_str(name).expect("a name");
    let found = resolution.solved.first().and_then(|solved| solved.packages.get(&name));
    found.map(|chosen| chosen.version.to_string()).unwrap_or_default()
}

#[test]
fn a_hundred_packages_step_back_for_the_last() {
    let resolution = run(&worst::hundred_step_back(), 20_000).expect("a solution");
    assert_eq!(version(&resolution, "p00"), "1");
    assert_eq!(version(&resolution, "p99"), "1");
}

#[test]
fn a_hundred_packages_are_decided_anew() {
    let resolution = run(&worst::hundred_decided_anew(), 50_000).expect("a solution");
    // p99 keeps its newest; p98 steps back, asks for nothing then, and so on in turn.
    assert_eq!(version(&resolution, "p99"), "3");
    assert_eq!(version(&resolution, "p98"), "2");
}

#[test]
fn a_contradiction_among_many_versions_is_found() {
    let explanation = clash(&worst::contradiction_among_many(), 50_000);
    assert!(explanation.to_string().len() < 10_000, "{explanation}");
    assert!(!explanation.bounds.is_empty());
}

#[test]
fn a_contradiction_ten_levels_deep_is_told_from_both_ends() {
    let explanation = clash(&worst::contradiction_ten_deep(), 50_000);
    assert_eq!(explanation.clash.to_string(), "end");
    let roots: Vec<&str> = explanation.roots.iter().map(|root| root.text.as_str()).collect();
    assert_eq!(roots, ["l0-0", "end<2"], "one way down is enough: {explanation}");
    assert_eq!(explanation.lines.len(), 12, "one line a level: {explanation}");
    assert!(explanation.to_string().ends_with("To go on, loosen `end<2` (setup.py:3)."), "{explanation}");
}

#[test]
fn a_chain_of_a_thousand_is_followed() {
    let resolution = run(&worst::chain_of_a_thousand(), 5_000).expect("a solution");
    assert_eq!(version(&resolution, "p999"), "1");
}

#[test]
fn a_contradiction_at_the_end_of_a_long_chain_is_told() {
    let explanation = clash(&worst::long_chain_to_a_contradiction(), 200_000);
    assert_eq!(explanation.clash.to_string(), "end");
    assert_eq!(explanation.roots.len(), 2);
    let text = explanation.to_string();
    assert!(text.lines().count() < 30 && text.contains("p1499 1 requires end>=2"), "{text}");
}

#[test]
fn all_of_them_end() {
    for hard in worst::all() {
        let outcome = run(&hard, 200_000);
        assert!(!matches!(outcome, Err(SolveError::Limit { .. })), "{}", hard.title);
    }
}
