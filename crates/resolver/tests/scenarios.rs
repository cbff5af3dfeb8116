//! Runs `fixtures/scenarios/*.toml`: each as it is written, and again with everything shuffled whose order
//! must not matter. `UPDATE_EXPECT=1` writes what came out into the files, to be read before it is believed.

#![expect(clippy::disallowed_methods, reason = "a test reads and blesses its fixtures")]

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;

use reana_model::{PackageName, Version};
use reana_resolver::{
    DirectAnswer, MemoryCatalog, MergedPin, MetadataAnswer, NamePolicy, Policy, Preference, Request,
    Resolution, ResolutionMode, SolveError, explain_why, solve,
};
use reana_testkit::scenario::{Expect, Scenario, WorldFile, requirements};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/scenarios")
}

fn names(names: &[String]) -> NamePolicy {
    if names.iter().any(|name| name == ":all:") {
        return NamePolicy::All;
    }
    NamePolicy::Names(names.iter().map(|name| PackageName::from_str(name).expect("a name")).collect())
}

fn request(scenario: &Scenario) -> Request {
    let read = |lines: &[String], file: &str| requirements(lines, file).expect("valid requirements");
    let preference = |text: &String| {
        let (name, version) = text.split_once("==").expect("name==version");
        Preference {
            name: PackageName::from_str(name).expect("a name"),
            version: Version::from_str(version).expect("a version"),
        }
    };
    let options = &scenario.options;
    let resolution = match options.resolution.as_str() {
        "" | "highest" => ResolutionMode::Highest,
        "lowest" => ResolutionMode::Lowest,
        "lowest-direct" => ResolutionMode::LowestDirect,
        other => panic!("no resolution mode: {other}"),
    };
    let policy = Policy {
        prereleases: options.prereleases,
        resolution,
        no_binary: names(&options.no_binary),
        only_binary: names(&options.only_binary),
        skip_unreadable: names(&options.skip_unreadable),
        max_decisions: options.max_decisions.unwrap_or(Policy::default().max_decisions),
    };
    Request {
        roots: read(&scenario.roots, "setup.py"),
        constraints: read(&scenario.constraints, "constraints.txt"),
        overrides: read(&scenario.overrides, "overrides.txt"),
        targets: scenario.targets().expect("targets"),
        preferences: scenario.preferences.iter().map(preference).collect(),
        policy,
        trace: false,
    }
}

fn catalog(scenario: &Scenario, reverse: bool) -> MemoryCatalog {
    let mut catalog = MemoryCatalog::default();
    for (name, files) in scenario.files().expect("files") {
        let answer = |file: WorldFile| {
            let answer = match (file.unreadable, file.invalid) {
                (Some(reason), _) => MetadataAnswer::Unreadable { reason },
                (None, Some(reason)) => MetadataAnswer::Invalid { reason },
                (None, None) => MetadataAnswer::Known(Arc::new(file.metadata)),
            };
            (file.file, answer)
        };
        let mut files: Vec<_> = files.into_iter().map(answer).collect();
        if reverse {
            // Between versions alone: within one, the page's order breaks ties.
            files.sort_by(|(a, _), (b, _)| b.name.version().cmp(a.name.version()));
        }
        catalog.insert(name, files);
    }
    for (url, place) in &scenario.direct {
        let metadata = Arc::new(place.metadata().expect("metadata"));
        let version = metadata.version.clone();
        catalog.insert_direct(url.clone(), DirectAnswer { version, metadata, sha256: None });
    }
    catalog
}

fn line(pin: &MergedPin) -> String {
    let extras: Vec<&str> = pin.extras.iter().map(AsRef::as_ref).collect();
    let extras = if extras.is_empty() { String::new() } else { format!("[{}]", extras.join(",")) };
    let marker = pin.marker.try_to_string().map(|marker| format!(" ; {marker}")).unwrap_or_default();
    let what = match (&pin.direct, &pin.arbitrary) {
        (Some(choice), _) => format!(" @ {}", choice.direct.url),
        (None, Some(text)) => format!("==={text}"),
        (None, None) => format!("=={}", pin.version),
    };
    format!("{}{extras}{what}{marker}", pin.name)
}

/// What came out, in the terms of the expectation.
fn outcome(scenario: &Scenario, catalog: &MemoryCatalog, request: &Request) -> (Expect, Option<Resolution>) {
    match solve(catalog, request) {
        Err(error) => {
            assert!(!matches!(error, SolveError::Limit { .. }) || request.policy.max_decisions < 100);
            (Expect { error: Some(error.to_string()), ..Expect::default() }, None)
        }
        Ok(resolution) => {
            let merged = resolution.merged();
            let file = |name: &String| {
                let name_of = PackageName::from_str(name).expect("a name");
                let chosen = resolution.solved.iter().find_map(|solved| solved.packages.get(&name_of));
                let file = chosen.and_then(|chosen| chosen.file.as_ref());
                (name.clone(), file.map(|file| file.name.file().to_owned()).unwrap_or_default())
            };
            let explain = scenario.expect.explain.clone();
            let why = explain.as_ref().map(|name| {
                let name = PackageName::from_str(name).expect("a name");
                let all = explain_why(catalog, request, &resolution, &name).expect("an explanation");
                all.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
            });
            let expect = Expect {
                pins: merged.iter().map(line).collect(),
                files: scenario.expect.files.keys().map(file).collect(),
                notes: resolution.notes.iter().map(ToString::to_string).collect(),
                explain,
                why,
                error: None,
            };
            (expect, Some(resolution))
        }
    }
}

fn render(expect: &Expect) -> String {
    let mut text = "[expect]\n".to_owned();
    let quote = |text: &str| format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""));
    let block = |text: &str| format!("'''\n{text}'''");
    let list = |key: &str, items: &[String]| {
        let items: Vec<String> = items.iter().map(|item| format!("    {},\n", quote(item))).collect();
        format!("{key} = [\n{}]\n", items.concat())
    };
    if !expect.pins.is_empty() {
        text.push_str(&list("pins", &expect.pins));
    }
    if !expect.notes.is_empty() {
        text.push_str(&list("notes", &expect.notes));
    }
    if let Some(name) = &expect.explain {
        writeln!(text, "explain = {}", quote(name)).expect("memory");
    }
    for (key, value) in [("why", &expect.why), ("error", &expect.error)] {
        if let Some(value) = value {
            writeln!(text, "{key} = {}", block(value)).expect("memory");
        }
    }
    if !expect.files.is_empty() {
        let files: Vec<String> =
            expect.files.iter().map(|(name, file)| format!("{name} = {}", quote(file))).collect();
        writeln!(text, "files = {{ {} }}", files.join(", ")).expect("memory");
    }
    text
}

fn shuffled(request: &Request) -> Request {
    let mut other = request.clone();
    other.constraints.reverse();
    other.preferences.reverse();
    other
}

#[test]
fn every_scenario_comes_out_as_it_says() {
    let mut paths: Vec<PathBuf> = std::fs::read_dir(folder())
        .expect("the scenarios' folder")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "toml"))
        .collect();
    paths.sort();
    let mut failures = Vec::new();
    let mut titles = BTreeSet::new();
    for path in &paths {
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        let text = std::fs::read_to_string(path).expect("a readable scenario");
        let scenario = Scenario::parse(&text).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!(titles.insert(scenario.title.clone()), "{name}: the title is used twice");
        let request = request(&scenario);
        let (found, first) = outcome(&scenario, &catalog(&scenario, false), &request);
        let (other, second) = outcome(&scenario, &catalog(&scenario, true), &shuffled(&request));
        assert_eq!(render(&found), render(&other), "{name}: depends on the order of its input");
        let solved = |resolution: Option<Resolution>| {
            resolution.map(|resolution| {
                let all = resolution.solved.into_iter();
                all.map(|solved| solved.packages).collect::<Vec<_>>()
            })
        };
        assert_eq!(solved(first), solved(second), "{name}: depends on the order of its input");
        if render(&found) == render(&scenario.expect) {
            continue;
        }
        if std::env::var_os("UPDATE_EXPECT").is_some() {
            let head = text.find("[expect]").map_or(text.as_str(), |at| &text[..at]);
            std::fs::write(path, format!("{head}{}", render(&found))).expect("a writable scenario");
        } else {
            failures.push(format!("{name}\n{}\ninstead of\n{}", render(&found), render(&scenario.expect)));
        }
    }
    assert!(failures.is_empty(), "{} differ:\n{}", failures.len(), failures.join("\n"));
    assert!(paths.len() >= 150, "{} scenarios", paths.len());
}
