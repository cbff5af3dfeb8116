//! The incident, from one end to the other: what must be impossible now.

use reana_testkit::registry::is_installed;
use reana_testkit::{Door, Registry, Release, World};
use serde_json::Value;

use crate::guard::{Fleet, LEDGER};

/// The index at the time of the incident: the shared packages of both builds, each uploaded on the day that its
/// version names, and what else the component requires.
fn index_of_the_time(builds: &[Value]) -> World {
    let mut world = World::new();
    for name in ["reana-commons", "reana-db"] {
        for build in builds {
            let version = build[name].as_str().expect("a version");
            let day = version
                .rsplit("dev")
                .next()
                .and_then(|day| Some((day.get(..4)?, day.get(4..6)?, day.get(6..)?)));
            let (year, month, day) = day.expect("a day");
            let uploaded = format!("{year}-{month}-{day}T12:00:00Z");
            world =
                world.release(name, Release::new(version, &[]).extras(&["kubernetes"]).uploaded(&uploaded));
        }
    }
    let others = "flask 1.1.2, flask-sqlalchemy 2.4.1, werkzeug 0.16.1, fs 2.4.11, gitpython 3.1.1, jsonpickle 1.4.1, \
        marshmallow 2.20.1, packaging 20.3, requests 2.20.0, sqlalchemy-utils 0.36.5, uwsgi-tools 1.1.1, uwsgi 2.0.18, \
        uwsgitop 0.11";
    for (name, version) in others.split(", ").filter_map(|other| other.split_once(' ')) {
        world = world.release(name, Release::new(version, &[]).uploaded("2020-04-01T00:00:00Z"));
    }
    world
}

/// The component at its commit, 36 after its tag.
fn component_of_the_time(facts: &Value, host: &str, world: &World) -> Fleet {
    let fleet = Fleet::at(host, world);
    let requires =
        facts["install_requires"].as_array().expect("requirements").iter().filter_map(Value::as_str);
    let requires: String = requires.map(|requirement| format!("    '{requirement}',\n")).collect();
    let setup = format!("from setuptools import setup\nsetup(name='app', install_requires=[\n{requires}])\n");
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
    let fleet = component_of_the_time(&facts, &registry.host(), &index_of_the_time(builds));
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
    let change = "reana-commons 0.7.0.dev20200417 -> 0.7.0.dev20200520, reana-db 0.7.0.dev20200427 -> 0.7.0.dev20200520";
    assert_eq!(
        output.stdout,
        format!(
            "app {tag} different: {change} under the unchanged tag {tag}\n  \
             raise the minimum (`reana-lock bump reana-commons reana-db`) and commit\n"
        )
    );
    // The labels alone say it as well.
    let ledger = fleet.ledger();
    fleet.forget();
    assert_eq!(fleet.run(&["guard", may]).expect_code(1).stdout, output.stdout);
    fleet.place.file(LEDGER, ledger);

    let index = fleet.place.path("index/simple").to_string_lossy().into_owned();
    let bump = ["bump", "reana-db", "reana-commons", "--index-url", &index, may];
    let _ = fleet.place.run(&bump).expect_code(0);
    assert!(fleet.place.sandbox.read("app/setup.py").contains("reana-db>=0.7.0.dev20200520,<0.8.0"));
    fleet.commit();
    let json = fleet.guard(&[may], 0);
    assert_eq!(json["verdict"], "new");
    let tag = json["images"][0]["tag"].as_str().expect("a tag");
    assert!(tag.starts_with("0.6.0-37-g"), "{tag}");
}
