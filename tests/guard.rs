//! `reana-lock guard`, `labels` and `record`, against a real registry; and the incident, from one end to the other.
#![expect(clippy::disallowed_methods, reason = "tests make repositories, run git and look at files")]

use std::collections::BTreeMap;
use std::fs;
use std::process::{Command, Stdio};
use std::time::Duration;

use expect_test::expect;
use reana_testkit::registry::is_installed;
use reana_testkit::{Door, IndexServer, Output, Registry, Release, Reply, World};
use serde_json::Value;

use crate::harness::{Place, place};

const LEDGER: &str = "reana-images.toml";

/// A fleet with one component in a git repository, and the registry that its images are in.
pub(crate) struct Fleet {
    place: Place,
    host: String,
}

impl Fleet {
    /// Its images are in the registry of this name.
    pub(crate) fn at(host: &str, world: &World) -> Self {
        let place = place(world);
        let settings = format!(
            "components = ['app']\npython = '3.12'\n[images]\nprefix = '{host}/reana/'\nplain-http = ['{host}']\n"
        );
        place.file("reana-lock.toml", settings);
        place.file("app/Dockerfile", "FROM scratch\nCOPY . /\n");
        place.file("app/run.sh", "#!/bin/sh\n");
        let fleet = Self { place, host: host.to_owned() };
        fleet.git(&["init", "-q"]);
        fleet.commit();
        fleet.git(&["tag", "1.0"]);
        fleet
    }

    fn git(&self, args: &[&str]) {
        let identity = [
            "-c",
            "user.name=Nobody",
            "-c",
            "user.email=nobody@example.org",
            "-c",
            "init.defaultBranch=master",
        ];
        let output = Command::new("git")
            .args(identity)
            .args(args)
            .current_dir(self.place.path("app"))
            .env_clear()
            .env("PATH", "/usr/local/bin:/usr/bin:/bin")
            .env("HOME", self.place.path("nowhere"))
            .output()
            .expect("git");
        assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
    }

    fn commit(&self) {
        self.git(&["add", "-A"]);
        self.git(&["commit", "-q", "--allow-empty", "-m", "more"]);
    }

    /// Runs the command in the fleet's folder, with the index. Snapshots have `[HOST]` for the registry.
    pub(crate) fn run(&self, args: &[&str]) -> Output {
        let index = self.place.path("index/simple").to_string_lossy().into_owned();
        let Output { code, stdout, stderr } =
            self.place.run(&[args, &["app", "--index-url", &index]].concat());
        let shown = |text: &str| text.replace(&self.host, "[HOST]");
        Output { code, stdout: shown(&stdout), stderr: shown(&stderr) }
    }

    #[track_caller]
    fn guard(&self, args: &[&str], code: i32) -> Value {
        let output = self.run(&[&["guard", "--format=json"], args].concat()).expect_code(code);
        serde_json::from_str(&output.stdout).expect("JSON")
    }

    /// The verdict, after checking that the fleet's is the same, and what is said.
    #[track_caller]
    fn verdict(&self, args: &[&str], code: i32) -> (String, String) {
        let json = self.guard(args, code);
        let image = &json["images"][0];
        assert_eq!(json["verdict"], image["verdict"], "{json:#}");
        assert_eq!(json["build"], image["build"], "{json:#}");
        let reasons = image["reasons"].as_array().into_iter().flatten().filter_map(Value::as_str);
        let build = if json["build"] == true { ", build" } else { "" };
        let word = format!("{}{build}", image["verdict"].as_str().unwrap_or_default());
        (word, reasons.collect::<Vec<_>>().join("; "))
    }

    /// The labels for a build of what is here.
    pub(crate) fn labels(&self) -> BTreeMap<String, String> {
        let output = self.run(&["labels"]).expect_code(0);
        let pairs = output.stdout.split_whitespace().filter_map(|word| word.strip_prefix("--label="));
        pairs.filter_map(|pair| pair.split_once('=')).map(|(a, b)| (a.to_owned(), b.to_owned())).collect()
    }

    fn ledger(&self) -> String {
        self.place.sandbox.read(LEDGER)
    }

    /// Removes the ledger.
    pub(crate) fn forget(&self) {
        fs::remove_file(self.place.path(LEDGER)).expect("removed");
    }

    fn has_ledger(&self) -> bool {
        self.place.sandbox.exists(LEDGER)
    }
}

/// A registry and a fleet whose images are in it; nothing where there is no registry to test with.
fn ready() -> Option<(Registry, Fleet)> {
    is_installed().then(|| {
        let registry = Registry::start(Door::Open);
        let fleet = Fleet::at(&registry.host(), &World::new());
        (registry, fleet)
    })
}

fn word(verdict: &(String, String)) -> &str {
    &verdict.0
}

#[test]
fn a_build_from_new_to_same() {
    let Some((registry, fleet)) = ready() else { return };
    assert_eq!(fleet.verdict(&[], 0), ("new, build".to_owned(), String::new()));
    let output = fleet.run(&["record"]).expect_code(1);
    expect![[r#"
        error: app: [HOST]/reana/app:1.0: the registry knows no such image

        hint: push it first, then record it
    "#]]
    .assert_eq(&output.stderr);
    let labels = fleet.labels();
    assert_eq!(labels["org.opencontainers.image.version"], "1.0");
    assert_eq!(labels["org.opencontainers.image.revision"].len(), 40);
    let (index, children) = registry.push_index("reana/app", "1.0", &labels);
    // By the labels alone, then by the ledger too, then, where the registry was emptied, by the ledger alone.
    assert_eq!(word(&fleet.verdict(&[], 0)), "same");
    let output = fleet.run(&["record"]).expect_code(0);
    assert_eq!(output.stderr, format!("reana-images.toml: [HOST]/reana/app:1.0 is {index} now\n"));
    let ledger = fleet.ledger();
    for digest in children.iter().chain([&index, &labels["io.reana.lock.inputs"]]) {
        assert!(ledger.contains(digest.as_str()), "{digest}: {ledger}");
    }
    assert_eq!(word(&fleet.verdict(&[], 0)), "same");
    assert_eq!(word(&fleet.verdict(&["--allow-rebuild"], 0)), "same, build");
    registry.delete("reana/app", &index);
    assert_eq!(word(&fleet.verdict(&[], 0)), "same");
    let output = fleet.run(&["guard"]).expect_code(0);
    assert_eq!(output.stdout, "app 1.0 same: these inputs are there already: don't build or push\n");
    // Recording changes no inputs, and recording again nothing at all.
    let _ = registry.push_index("reana/app", "1.0", &labels);
    let _ = fleet.run(&["record"]).expect_code(0);
    assert_eq!(fleet.ledger(), ledger);
}

#[test]
fn other_inputs_under_the_same_tag() {
    let Some((registry, fleet)) = ready() else { return };
    let labels = fleet.labels();
    let digest = registry.push("reana/app", "1.0", &labels);
    fleet.place.file("app/run.sh", "#!/bin/bash\n");
    fleet.git(&["commit", "-q", "-a", "-m", "more"]);
    fleet.git(&["tag", "-f", "1.0"]);
    let output = fleet.run(&["guard"]).expect_code(1);
    expect![[r#"
        app 1.0 different: files of the build under the unchanged tag 1.0
          commit what is different, so that the commit has a tag of its own
    "#]]
    .assert_eq(&output.stdout);
    let output = fleet.run(&["guard", "--format=github"]).expect_code(1);
    assert!(
        output.stdout.starts_with("::error file=app/Dockerfile,title=app 1.0 different::files"),
        "{output}"
    );
    let output = fleet.run(&["record"]).expect_code(1);
    assert!(output.stderr.contains("it was not built from what is here: files of the build"), "{output}");
    assert!(!fleet.has_ledger());
    // An untagged commit has a tag of its own.
    fleet.commit();
    assert_eq!(word(&fleet.verdict(&[], 0)), "new, build");
    // The ledger and the registry disagree.
    fleet.git(&["checkout", "-q", "HEAD~2"]);
    fleet.git(&["tag", "-f", "1.0"]);
    let _ = fleet.run(&["record"]).expect_code(0);
    let mut moved = labels;
    moved.insert("io.reana.lock.inputs".to_owned(), digest);
    let _ = registry.push("reana/app", "1.0", &moved);
    let (word, why) = fleet.verdict(&[], 1);
    assert_eq!(word, "different");
    assert!(why.contains("the tag was moved"), "{why}");
}

#[test]
fn images_without_labels_and_with_labels_of_tomorrow() {
    let Some((registry, fleet)) = ready() else { return };
    let bare = BTreeMap::from([("maintainer".to_owned(), "somebody".to_owned())]);
    let _ = registry.push("reana/app", "1.0", &bare);
    let (word, why) = fleet.verdict(&[], 4);
    assert_eq!(word, "unknown");
    assert!(why.ends_with("but it has no labels of reana-lock"), "{why}");
    assert!(fleet.run(&["record"]).expect_code(1).stderr.contains("guard --adopt"));
    // Not from a tree that has something else.
    fleet.place.file("app/run.sh", "#!/bin/dash\n");
    assert_eq!(fleet.verdict(&["--adopt", "--tag=1.0"], 1).0, "refused");
    assert!(!fleet.has_ledger());
    fleet.git(&["checkout", "-q", "."]);
    assert_eq!(fleet.verdict(&["--adopt"], 0).0, "same");
    assert_eq!(fleet.verdict(&[], 0).0, "same");
    let ledger = fleet.ledger();
    let mut labels = fleet.labels();
    labels.insert("io.reana.lock.scheme".to_owned(), "2".to_owned());
    let _ = registry.push("reana/app", "1.0", &labels);
    let (word, why) = fleet.verdict(&["--adopt"], 4);
    assert_eq!(word, "unknown");
    assert!(why.contains("is of scheme `2`, and this reana-lock knows scheme 1 alone"), "{why}");
    assert_eq!(fleet.ledger(), ledger);
}

#[test]
fn what_must_not_be_released() {
    let Some((_registry, fleet)) = ready() else { return };
    fleet.place.file("app/run.sh", "changed\n");
    let output = fleet.run(&["guard"]).expect_code(1);
    expect![[r#"
        app 1.0 refused: tracked files have uncommitted changes, and the tag of 1.0 stands for a commit
          commit the changes, or take them back
    "#]]
    .assert_eq(&output.stdout);
    assert_eq!(fleet.verdict(&["--style=release"], 1).0, "refused");
    fleet.place.file("app/modules/reana-commons/setup.py", "");
    fleet.commit();
    assert_eq!(fleet.verdict(&[], 0).0, "new, build");
    let (word, why) = fleet.verdict(&["--style=release"], 1);
    assert_eq!(word, "refused");
    assert!(why.contains("local packages (modules/: reana-commons)"), "{why}");
}

#[test]
fn locks_that_must_not_be_built_from() {
    if !is_installed() {
        return;
    }
    let registry = Registry::start(Door::Open);
    let fleet = Fleet::at(&registry.host(), &World::new().with("lib", "1.0", &[]).with("lib", "2.0", &[]));
    let setup = |bound: &str| {
        format!("from setuptools import setup\nsetup(name='app', install_requires=['lib{bound}'])\n")
    };
    fleet.place.file("app/setup.py", setup("<2"));
    fleet.place.file("app/Dockerfile", "FROM scratch\nCOPY . /\nRUN pip install -r requirements.txt\n");
    let _ = fleet.run(&["compile"]).expect_code(0);
    fleet.commit();
    assert_eq!(fleet.verdict(&[], 0).0, "new, build");
    fleet.place.file("app/setup.py", setup(">=2"));
    fleet.commit();
    let output = fleet.run(&["guard"]).expect_code(1);
    assert!(
        output
            .stdout
            .contains("app/requirements.txt is stale: it pins lib==1.0, and app/setup.py:2 requires lib>=2"),
        "{output}"
    );
    let _ = fleet.run(&["compile"]).expect_code(0);
    fleet.commit();
    assert_eq!(fleet.verdict(&[], 0).0, "new, build");
}

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
    let output = fleet.run(&["labels", april]).expect_code(0);
    let pairs =
        output.stdout.split_whitespace().filter_map(|word| word.strip_prefix("--label=")?.split_once('='));
    let labels = pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
    let _ = registry.push("reana/app", &tag, &labels);
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

#[test]
fn a_registry_without_an_answer_is_unknown() {
    let server = IndexServer::new();
    let fleet = Fleet::at(&server.host(), &World::new());
    let path = "/v2/reana/app/manifests/1.0";
    for (reply, why) in [
        (Reply::status(500), "status 500"),
        (Reply::status(403), "refuses (403)"),
        (Reply::status(404), "no registry"),
        (Reply::status(429).with("Retry-After", "999"), "left alone for 999 s"),
    ] {
        server.put(path, reply);
        let (word, reasons) = fleet.verdict(&[], 4);
        assert_eq!(word, "unknown");
        assert!(reasons.contains(why), "{reasons}");
        let _ = fleet.run(&["record"]).expect_code(4);
    }
    assert!(!fleet.has_ledger());
}

/// A manifest and what it names, on a scripted server; its path and the answer.
pub(crate) fn scripted(server: &IndexServer, labels: &BTreeMap<String, String>, variant: &str) -> Reply {
    let config = serde_json::json!({ "config": { "Labels": labels }, "variant": variant }).to_string();
    let digest = reana_testkit::registry::digest(config.as_bytes());
    server.put(&format!("/v2/reana/app/blobs/{digest}"), Reply::ok("application/json", config));
    let manifest = serde_json::json!({ "schemaVersion": 2, "config": { "digest": digest } }).to_string();
    Reply::ok("application/json", manifest)
}

#[test]
fn a_tag_that_moves_between_two_reads_is_not_recorded() {
    let server = IndexServer::new();
    let fleet = Fleet::at(&server.host(), &World::new());
    let labels = fleet.labels();
    let (first, second) = (scripted(&server, &labels, "a"), scripted(&server, &labels, "b"));
    server.script("/v2/reana/app/manifests/1.0", vec![first, second]);
    let output = fleet.run(&["record"]).expect_code(4);
    assert!(output.stderr.contains("its tag moved while it was looked at"), "{output}");
    assert!(!fleet.has_ledger());
    let _ = fleet.run(&["record"]).expect_code(0);
    assert!(fleet.has_ledger());
}

#[test]
fn a_child_that_is_gone() {
    let Some((registry, fleet)) = ready() else { return };
    let (_, children) = registry.push_index("reana/app", "1.0", &fleet.labels());
    registry.delete("reana/app", &children[1]);
    assert_eq!(fleet.verdict(&[], 0).0, "same");
    let output = fleet.run(&["record"]).expect_code(1);
    assert!(output.stderr.contains(&format!("it is not whole: {} is gone", children[1])), "{output}");
    registry.delete("reana/app", &children[0]);
    // What was read before is kept for good; a machine that hasn't read it can't know what the tag stands for.
    let (word, why) = fleet.verdict(&["--no-cache"], 4);
    assert_eq!(word, "unknown");
    assert!(why.contains("is gone from the registry"), "{why}");
}

#[test]
fn damaged_ledgers_are_refused_and_kept() {
    let Some((registry, fleet)) = ready() else { return };
    let _ = registry.push("reana/app", "1.0", &fleet.labels());
    let _ = fleet.run(&["record"]).expect_code(0);
    let whole = fleet.ledger();
    let half = whole.get(..whole.len() / 2).expect("a half").to_owned();
    fleet.place.file(LEDGER, &half);
    for command in ["guard", "record"] {
        let output = fleet.run(&[command]).expect_code(2);
        assert!(
            output.stderr.contains("reana-images.toml:") && output.stderr.contains("nothing was changed"),
            "{output}"
        );
        assert_eq!(fleet.ledger(), half);
    }
}

#[test]
fn a_killed_record_leaves_the_ledger_whole() {
    let server = IndexServer::new();
    let fleet = Fleet::at(&server.host(), &World::new());
    let old = "# Which inputs and which images each tag stands for. `reana-lock record` writes it.\n";
    fleet.place.file(LEDGER, old);
    let slow = scripted(&server, &fleet.labels(), "a").after(Duration::from_secs(20));
    server.put("/v2/reana/app/manifests/1.0", slow);
    let mut command = fleet.place.command(&[]);
    let mut fresh = Command::new(command.get_program());
    fresh.args(["record", "app"]).current_dir(fleet.place.path("")).env_clear();
    for (name, value) in command.env("X", "1").get_envs() {
        fresh.env(name, value.unwrap_or_default());
    }
    let mut child = fresh.stdin(Stdio::null()).stderr(Stdio::null()).spawn().expect("a run");
    while !server.seen().iter().any(|seen| seen.path.ends_with("/manifests/1.0")) {
        std::thread::sleep(Duration::from_millis(10));
    }
    child.kill().expect("killed");
    let _ended = child.wait();
    assert_eq!(fleet.ledger(), old);
    fleet.place.no_leftovers();
    server.put("/v2/reana/app/manifests/1.0", scripted(&server, &fleet.labels(), "a"));
    let _ = fleet.run(&["record"]).expect_code(0);
    assert!(fleet.ledger().contains("/reana/app:1.0\"]"), "{}", fleet.ledger());
}

#[test]
fn two_records_at_once_lose_nothing() {
    let server = IndexServer::new();
    let fleet = Fleet::at(&server.host(), &World::new());
    let tags: Vec<String> = (0..6).map(|at| format!("1.{at}")).collect();
    let labels = fleet.labels();
    for tag in &tags {
        server.put(&format!("/v2/reana/app/manifests/{tag}"), scripted(&server, &labels, tag));
    }
    std::thread::scope(|scope| {
        for tag in &tags {
            scope.spawn(|| fleet.run(&["record", "--tag", tag]).expect_code(0));
        }
    });
    for tag in &tags {
        assert!(fleet.ledger().contains(&format!("/reana/app:{tag}\"]")), "{tag}: {}", fleet.ledger());
    }
}

#[test]
fn four_requests_at_most_and_one_when_warm() {
    let Some((registry, fleet)) = ready() else { return };
    let _ = registry.push_index("reana/app", "1.0", &fleet.labels());
    let proxy = IndexServer::new();
    let upstream = registry.host();
    proxy.handle(move |path| {
        let (status, kind, body) = reana_testkit::registry::get(&upstream, path);
        Some(Reply { status, ..Reply::ok(&kind, body) })
    });
    let settings = fleet.place.sandbox.read("reana-lock.toml").replace(&fleet.host, &proxy.host());
    fleet.place.file("reana-lock.toml", settings);
    assert_eq!(word(&fleet.verdict(&[], 0)), "same");
    assert_eq!(proxy.take_log().len(), 4);
    assert_eq!(word(&fleet.verdict(&[], 0)), "same");
    assert_eq!(proxy.take_log(), ["200 /v2/reana/app/manifests/1.0"]);
}
