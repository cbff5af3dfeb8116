//! The incident, from one end to the other, over the pages of its time: what must be impossible now.
#![expect(clippy::disallowed_methods, reason = "tests read fixtures")]

use std::fs;
use std::path::Path;

use reana_testkit::registry::is_installed;
use reana_testkit::{Door, Registry, World, tar_gz};
use serde_json::Value;

use crate::guard::{Fleet, LEDGER};
use crate::harness::{names_in, sha256};

const RECORDED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/incident");

/// Puts the recorded pages into the fleet's index. Sdists are not kept: where one was taken, another stands for it that
/// says the same of itself, and whose hash the page has instead.
fn serve_recorded(fleet: &Fleet) {
    let recorded = Path::new(RECORDED);
    for name in names_in(&recorded.join("files")) {
        let text = fs::read_to_string(recorded.join("files").join(&name)).expect("metadata");
        fleet.place.file(&format!("index/files/{name}"), text);
    }
    for name in names_in(&recorded.join("simple")) {
        let page =
            fs::read_to_string(recorded.join("simple").join(&name).join("index.json")).expect("a page");
        let mut page: Value = serde_json::from_str(&page).expect("JSON");
        for file in page["files"].as_array_mut().expect("files") {
            let name = file["filename"].as_str().expect("a name").to_owned();
            let Some(folder) = name.strip_suffix(".tar.gz") else { continue };
            let Ok(said) = fs::read_to_string(recorded.join(format!("files/{name}.metadata"))) else {
                continue;
            };
            let bytes = tar_gz(&[(format!("{folder}/PKG-INFO"), said)]);
            file["hashes"]["sha256"] = sha256(&bytes).into();
            file["size"] = bytes.len().into();
            fleet.place.file(&format!("index/files/{name}"), bytes);
        }
        fleet.place.file(&format!("index/simple/{name}/index.json"), page.to_string());
    }
}

/// The component at its commit, 36 after its tag.
fn component_of_the_time(facts: &Value, host: &str) -> Fleet {
    let fleet = Fleet::at(host, &World::new());
    serve_recorded(&fleet);
    let requires =
        facts["install_requires"].as_array().expect("requirements").iter().filter_map(Value::as_str);
    let requires: String = requires.map(|requirement| format!("    '{requirement}',\n")).collect();
    let setup = format!("from setuptools import setup\nsetup(name='app', install_requires=[\n{requires}])\n");
    let settings = fleet.place.sandbox.read("reana-lock.toml");
    let python = facts["python"].as_str().expect("a Python");
    fleet.place.file("reana-lock.toml", settings.replace("3.12", python));
    fleet.place.file("app/setup.py", setup);
    fleet.place.file("app/Dockerfile", "FROM scratch\nCOPY . /code\nRUN pip install /code\n");
    fleet.git(&["tag", "-d", "1.0"]);
    fleet.commit();
    fleet.git(&["tag", "v0.6.0"]);
    (0..36).for_each(|_| fleet.git(&["commit", "-q", "--allow-empty", "-m", "more"]));
    fleet
}

/// One commit, built twice (fixtures/incident.json): April and May have different shared packages.
#[test]
fn the_incident() {
    if !is_installed() {
        return;
    }
    let facts: Value = serde_json::from_str(include_str!("../fixtures/incident.json")).expect("JSON");
    let builds = facts["builds"].as_array().expect("builds");
    let registry = Registry::start(Door::Open);
    let fleet = component_of_the_time(&facts, &registry.host());
    let moments: Vec<String> = builds
        .iter()
        .map(|build| format!("--exclude-newer={}", build["when"].as_str().expect("a time")))
        .collect();
    let [april, may] = [&moments[0], &moments[1]].map(String::as_str);

    let json = fleet.guard(&[april], 0);
    assert_eq!(json["verdict"], "new");
    let tag = json["images"][0]["tag"].as_str().expect("a tag").to_owned();
    assert!(tag.starts_with("0.6.0-36-g"), "{tag}");
    let _ = registry.push("reana/app", &tag, &fleet.labels_with(&[april]));
    let _ = fleet.run(&["record", april]).expect_code(0);
    assert_eq!(fleet.verdict(&[april], 0).0, "same");

    let output = fleet.run(&["guard", may]).expect_code(1);
    let first = output.stdout.lines().next().expect("a verdict");
    assert!(first.starts_with(&format!("app {tag} different: ")), "{first}");
    assert!(first.ends_with(&format!(" under the unchanged tag {tag}")), "{first}");
    for name in ["reana-commons", "reana-db"] {
        let [old, new] = [0, 1].map(|at| builds[at][name].as_str().expect("a version"));
        assert!(first.contains(&format!("{name} {old} -> {new}")), "{first}");
    }
    // What the component itself requires is told before what that brought along.
    assert!(first.find("reana-db") < first.find("appdirs"), "{first}");
    // The labels alone say it as well.
    let ledger = fleet.ledger();
    fleet.forget();
    assert_eq!(fleet.run(&["guard", may]).expect_code(1).stdout, output.stdout);
    fleet.place.file(LEDGER, ledger);

    let index = fleet.place.path("index/simple").to_string_lossy().into_owned();
    // As advised, to the word.
    let advised = output.stdout.split('`').nth(1).and_then(|command| command.strip_prefix("reana-lock "));
    let mut bump: Vec<&str> = advised.expect("a way out").split(' ').collect();
    bump.extend(["--index-url", &index, may]);
    let _ = fleet.place.run(&bump).expect_code(0);
    assert!(fleet.place.sandbox.read("app/setup.py").contains("reana-db>=0.7.0.dev20200520,<0.8.0"));
    fleet.commit();
    let json = fleet.guard(&[may], 0);
    assert_eq!(json["verdict"], "new");
    let tag = json["images"][0]["tag"].as_str().expect("a tag");
    assert!(tag.starts_with("0.6.0-37-g"), "{tag}");
}
