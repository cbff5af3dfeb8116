//! `reana-lock guard`, `labels` and `record`, against a real registry.
#![expect(clippy::disallowed_methods, reason = "tests make repositories, run git and look at files")]

use std::collections::BTreeMap;
use std::fs;
use std::process::{Command, Stdio};
use std::time::Duration;

use expect_test::expect;
use reana_testkit::registry::is_installed;
use reana_testkit::{Door, IndexServer, Output, Registry, Reply, World};
use serde_json::Value;

use crate::harness::{Place, place};

pub(crate) const LEDGER: &str = "reana-images.toml";

/// A fleet with one component in a git repository, and the registry that its images are in.
pub(crate) struct Fleet {
    pub(crate) place: Place,
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

    pub(crate) fn git(&self, args: &[&str]) {
        git(&self.place, "app", args);
    }

    pub(crate) fn commit(&self) {
        self.git(&["add", "-A"]);
        self.git(&["commit", "-q", "--allow-empty", "-m", "more"]);
    }

    /// Runs the command in the fleet's folder, with the index. Snapshots have `[HOST]` for the registry.
    pub(crate) fn run(&self, args: &[&str]) -> Output {
        let Output { code, stdout, stderr } = self.run_as_it_is(args);
        let shown = |text: &str| text.replace(&self.host, "[HOST]");
        Output { code, stdout: shown(&stdout), stderr: shown(&stderr) }
    }

    fn run_as_it_is(&self, args: &[&str]) -> Output {
        let index = self.place.path("index/simple").to_string_lossy().into_owned();
        self.place.run(&[args, &["app", "--index-url", &index]].concat())
    }

    #[track_caller]
    pub(crate) fn guard(&self, args: &[&str], code: i32) -> Value {
        let output = self.run(&[&["guard", "--format=json"], args].concat()).expect_code(code);
        serde_json::from_str(&output.stdout).expect("JSON")
    }

    /// The verdict, after checking that the fleet's is the same, and what is said.
    #[track_caller]
    pub(crate) fn verdict(&self, args: &[&str], code: i32) -> (String, String) {
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
        self.labels_with(&[])
    }

    /// The same, with more arguments.
    pub(crate) fn labels_with(&self, args: &[&str]) -> BTreeMap<String, String> {
        let output = self.run_as_it_is(&[&["labels"], args].concat()).expect_code(0);
        let pairs = output.stdout.split_whitespace().filter_map(|word| word.strip_prefix("--label="));
        pairs.filter_map(|pair| pair.split_once('=')).map(|(a, b)| (a.to_owned(), b.to_owned())).collect()
    }

    pub(crate) fn ledger(&self) -> String {
        self.place.sandbox.read(LEDGER)
    }

    /// Removes the ledger.
    pub(crate) fn forget(&self) {
        fs::remove_file(self.place.path(LEDGER)).expect("removed");
    }

    pub(crate) fn has_ledger(&self) -> bool {
        self.place.sandbox.exists(LEDGER)
    }
}

/// Runs git in a folder.
fn git(place: &Place, folder: &str, args: &[&str]) {
    let identity =
        ["-c", "user.name=Nobody", "-c", "user.email=nobody@example.org", "-c", "init.defaultBranch=master"];
    let output = Command::new("git")
        .args(identity)
        .args(args)
        .current_dir(place.path(folder))
        .env_clear()
        .env("PATH", "/usr/local/bin:/usr/bin:/bin")
        .env("HOME", place.path("nowhere"))
        .output()
        .expect("git");
    assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
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

#[test]
fn a_preview_is_no_lock_to_build_from() {
    if !is_installed() {
        return;
    }
    let registry = Registry::start(Door::Open);
    let fleet = Fleet::at(&registry.host(), &World::new().with("lib", "1.0", &[]));
    let setup = "from setuptools import setup\nsetup(name='app', install_requires=['lib>=1'])\n";
    fleet.place.file("app/setup.py", setup);
    fleet.place.file("app/Dockerfile", "FROM scratch\nCOPY . /\nRUN pip install -r requirements.txt\n");
    fleet.place.file("lib/setup.py", "from setuptools import setup\nsetup(name='lib', version='1.1')\n");
    let _ = fleet.run(&["compile"]).expect_code(0);
    fleet.commit();
    fleet.git(&["tag", "2.0"]);
    assert_eq!(fleet.verdict(&["--style=release"], 0).0, "new, build");
    let preview = ["compile", "--with-local=../lib", "-o", "preview.txt"];
    let _ = fleet.place.run_in("app", &preview).expect_code(0);
    fs::rename(fleet.place.path("app/preview.txt"), fleet.place.path("app/requirements.txt"))
        .expect("renamed");
    fleet.commit();
    // Whatever the tag is: that of a release, or one that a description of the commit gives.
    fleet.git(&["tag", "3.0.0"]);
    for style in ["release", "describe"] {
        let output = fleet.run(&["guard", "--style", style]).expect_code(1);
        expect![[r#"
            app 3.0.0 refused: app/requirements.txt:7: the lock is a preview
              lock it without previewing: `reana-lock compile`
        "#]]
        .assert_eq(&output.stdout);
    }
    // A requirement that only the checkout satisfies changes nothing of that.
    fleet.place.file("app/setup.py", setup.replace(">=1", ">=1.1"));
    fleet.commit();
    let (word, why) = fleet.verdict(&[], 1);
    assert_eq!((word.as_str(), why.as_str()), ("refused", "app/requirements.txt:7: the lock is a preview"));
    assert_eq!(fleet.verdict(&["--tag=4.0"], 1).0, "refused");
}

#[test]
fn a_base_image_that_moved() {
    let Some((registry, fleet)) = ready() else { return };
    let base = format!("{}/base/python:3.12", fleet.host);
    let built = |with: &str| BTreeMap::from([("built".to_owned(), with.to_owned())]);
    let old = registry.push("base/python", "3.12", &built("in April"));
    fleet.place.file("app/Dockerfile", format!("FROM {base}\nCOPY . /\n"));
    fleet.commit();
    fleet.git(&["tag", "2.0"]);
    let _ = registry.push("reana/app", "2.0", &fleet.labels());
    assert_eq!(word(&fleet.verdict(&[], 0)), "same");
    let new = registry.push("base/python", "3.12", &built("in May"));
    assert_ne!(old, new);
    let twelve = |digest: &str| digest.trim_start_matches("sha256:").chars().take(12).collect::<String>();
    let output = fleet.run(&["guard"]).expect_code(1);
    assert_eq!(
        output.stdout,
        format!(
            "app 2.0 different: base image [HOST]/base/python:3.12 {} -> {} under the unchanged tag 2.0\n  \
             the base image moved: make a new commit, or pin it in the Dockerfile (`FROM [HOST]/base/python:3.12@{new}`) \
             and commit\n",
            twelve(&old),
            twelve(&new)
        )
    );
    // As advised.
    fleet.place.file("app/Dockerfile", format!("FROM {base}@{new}\nCOPY . /\n"));
    fleet.commit();
    assert_eq!(word(&fleet.verdict(&[], 0)), "new, build");
}

/// Two components with settings of their own, each for another registry: one behind TLS by an authority of its own and
/// a password, one without TLS. What the one's settings say does not count for the other.
#[test]
fn components_with_registries_of_their_own() {
    if !is_installed() {
        return;
    }
    let (locked, open) = (Registry::start(Door::Password), Registry::start(Door::Open));
    let place = place(&World::new());
    place.file("../home/.docker/config.json", locked.docker_config());
    let authority = locked.authority().to_string_lossy().into_owned();
    let ways = [
        ("closed", &locked, format!("registry-ca = '{authority}'")),
        ("plain", &open, format!("plain-http = ['{}']", open.host())),
    ];
    let labels = BTreeMap::from([("a".to_owned(), "label".to_owned())]);
    for (name, registry, how) in &ways {
        let host = registry.host();
        let base = registry.push("base", "1", &labels);
        place.file(&format!("{name}/Dockerfile"), format!("FROM {host}/base:1\n"));
        let settings = format!("[images]\nprefix = '{host}/reana/'\n{how}\n");
        place.file(&format!("{name}/reana-lock.toml"), settings);
        let output = place.run(&["inputs", name]).expect_code(0);
        assert!(output.stdout.contains(&base), "{output}");
        git(&place, name, &["init", "-q"]);
        git(&place, name, &["add", "-A"]);
        git(&place, name, &["commit", "-q", "-m", "first"]);
        git(&place, name, &["tag", "1.0"]);
    }
    for order in [["closed", "plain"], ["plain", "closed"]] {
        let _ = place.run(&[&["inputs"], &order[..]].concat()).expect_code(0);
        let output = place.run(&[&["guard"], &order[..]].concat()).expect_code(0);
        assert_eq!(output.stdout, "closed 1.0 new\nplain 1.0 new\n");
    }
    let output = place.run(&["labels", "closed", "plain", "--format=json"]).expect_code(0);
    let json: Value = serde_json::from_str(&output.stdout).expect("JSON");
    for ((_, registry, _), image) in ways.iter().zip(json["images"].as_array().expect("images")) {
        let name = image["component"].as_str().expect("a name");
        let labels = serde_json::from_value(image["labels"].clone()).expect("labels");
        let _ = registry.push(&format!("reana/{name}"), "1.0", &labels);
    }
    let _ = place.run(&["record", "closed", "plain"]).expect_code(0);
    let output = place.run(&["guard", "closed", "plain"]).expect_code(0);
    let there = "1.0 same: these inputs are there already: don't build or push";
    assert_eq!(output.stdout, format!("closed {there}\nplain {there}\n"));
    // The other's authority is not trusted.
    place.file("plain/reana-lock.toml", format!("[images]\nprefix = '{}/reana/'\n", locked.host()));
    git(&place, "plain", &["commit", "-q", "-a", "-m", "more"]);
    let output = place.run(&["guard", "closed", "plain"]).expect_code(4);
    assert!(
        output.stdout.contains("unknown: the certificate") || output.stdout.contains("--registry-ca"),
        "{output}"
    );
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

/// What the address of the sources has besides a host and a path is no label.
#[test]
fn sources_are_told_without_secrets() {
    let fleet = Fleet::at("127.0.0.1:9", &World::new());
    for (origin, told) in [
        ("https://me:s3cret@x.test/a/b.git", Some("https://x.test/a/b")),
        ("https://x.test/a/b.git?access_token=s3cret#x", Some("https://x.test/a/b")),
        ("git@x.test:a/b.git", Some("https://x.test/a/b")),
        ("https://x.test/a --build-arg=E=1", None),
        ("/home/me/s3cret", None),
    ] {
        fleet.git(&["config", "remote.origin.url", origin]);
        let labels = fleet.labels();
        let source = labels.get("org.opencontainers.image.source").map(String::as_str);
        assert_eq!(source, told, "{origin}");
        assert!(!labels.keys().any(|name| name.contains("build-arg")), "{labels:?}");
    }
}

/// Two folders of one name, in one run.
#[test]
fn one_tag_for_two_images_is_refused() {
    let Some((_registry, fleet)) = ready() else { return };
    let settings = fleet.place.sandbox.read("reana-lock.toml").replace("components = ['app']\n", "");
    for at in ["a", "b"] {
        let folder = format!("{at}/app");
        fleet.place.file(&format!("{at}/reana-lock.toml"), &settings);
        fleet.place.file(&format!("{folder}/Dockerfile"), "FROM scratch\n");
        fleet.place.file(&format!("{folder}/file"), at);
        git(&fleet.place, &folder, &["init", "-q"]);
        git(&fleet.place, &folder, &["add", "-A"]);
        git(&fleet.place, &folder, &["commit", "-q", "-m", "first"]);
        git(&fleet.place, &folder, &["tag", "1.0"]);
        let _ = fleet.place.run(&["guard", &folder]).expect_code(0);
    }
    let output = fleet.place.run(&["guard", "a/app", "b/app"]).expect_code(1);
    let host = &fleet.host;
    for (other, line) in ["b/app", "a/app"].into_iter().zip(output.stdout.lines().step_by(2)) {
        assert_eq!(
            line,
            format!("app 1.0 refused: {host}/reana/app:1.0 would be pushed from {other} as well")
        );
    }
    assert_eq!(output.stdout.matches("names of their own").count(), 2, "{output}");
}
