//! `reana-lock inputs`: what counts, what doesn't, and what can't be known.
#![expect(clippy::disallowed_methods, reason = "tests change files and their modes")]

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::Command;

use expect_test::expect;
use reana_testkit::{Release, Sandbox, World};
use serde_json::Value;

use crate::checkouts::checkouts;
use crate::harness::{PROGRAM, Place, place, sha256};

/// A digest that a Dockerfile may give.
const PINNED: &str = "sha256:1111111111111111111111111111111111111111111111111111111111111111";

/// The shared packages as an April and a May had them.
fn world(versions: &[&str]) -> World {
    versions.iter().fold(World::new(), |world, version| world.release("reana-db", Release::new(version, &[])))
}

fn component(place: &Place) {
    place
        .file("app/Dockerfile", format!("FROM python:3.12@{PINNED}\nCOPY . /code\nRUN pip install /code\n"))
        .file(
            "app/setup.py",
            "from setuptools import setup\nsetup(name='app', install_requires=['reana-db>=0.7.0.dev1'])\n",
        )
        .file("app/run.sh", "#!/bin/sh\n")
        .file("app/.dockerignore", "*.pyc\n");
}

/// An image without packages, whose base has its digest.
fn image() -> Place {
    let place = place(&World::new());
    place.file("app/Dockerfile", format!("FROM alpine:3@{PINNED}\n")).file("app/a", "a");
    place
}

fn run(place: &Place, args: &[&str]) -> reana_testkit::Output {
    let index = place.path("index/simple").to_string_lossy().into_owned();
    place.run_in("app", &[&["inputs", "--index-url", &index], args].concat())
}

#[track_caller]
fn json(place: &Place, args: &[&str]) -> Value {
    let output = run(place, &[&["--format=json"], args].concat()).expect_code(0);
    serde_json::from_str::<Value>(&output.stdout).expect("JSON")["components"][0].clone()
}

#[track_caller]
fn digest(place: &Place, args: &[&str]) -> String {
    json(place, args)["digest"].as_str().expect("a digest").to_owned()
}

fn lines(json: &Value) -> Vec<&str> {
    json["lines"].as_array().expect("lines").iter().filter_map(Value::as_str).collect()
}

#[test]
fn the_list_and_its_digest() {
    let place = place(&world(&["0.7.0.dev20200427"]));
    component(&place);
    let output = run(&place, &["--build-arg=DEBUG=0", "--platform=linux/amd64"]).expect_code(0);
    expect![[r#"
        app sha256:7122608f7e6796586fb7540ac905a9acb07b0b59044b2bd8a3541ebcdbdc0996
          arg	DEBUG	0
          base	docker.io/library/python:3.12	sha256:1111111111111111111111111111111111111111111111111111111111111111
          dockerfile	6be56766b3f0a50f18cade60b406881b95b6f0e859ee4d715b5c501c9a95275b
          file	.dockerignore	-	094c25031dcfe5c288666671bc2012866293b3797ea53c796af798bda4c32f01
          file	Dockerfile	-	6be56766b3f0a50f18cade60b406881b95b6f0e859ee4d715b5c501c9a95275b
          file	run.sh	-	a8076d3d28d21e02012b20eaf7dbf75409a6277134439025f282e368e3305abf
          file	setup.py	-	306f3440264245fde1caac850809a6210e8b7ef47ada83c4f6b6be9436817327
          package	reana-db==0.7.0.dev20200427		[reana_db-0.7.0.dev20200427-py3-none-any.whl]
          platform	linux/amd64
    "#]].assert_eq(&output.stdout);
    // Anybody can compute it from what is printed.
    let index = place.path("index/simple").to_string_lossy().into_owned();
    let args = ["inputs", "--index-url", &index, "--build-arg=DEBUG=0", "--platform=linux/amd64"];
    let output = place.sandbox.run_in("app", &args).expect_code(0);
    let text: String = output.stdout.lines().skip(1).map(|line| format!("{}\n", line.trim_start())).collect();
    let list = format!("reana-lock-inputs\t1\n{text}");
    let first = output.stdout.lines().next().expect("a line");
    assert_eq!(first, format!("app sha256:{}", sha256(list.as_bytes())));
}

/// The incident: the same commit, the same files, another index.
#[test]
fn what_a_resolve_gives_now_counts_where_no_lock_pins_it() {
    let mut place = place(&world(&["0.7.0.dev20200427"]));
    component(&place);
    let april = json(&place, &[]);
    assert_eq!(april["packages"], serde_json::json!(["reana-db==0.7.0.dev20200427"]));
    assert_eq!(april["packages_from"], "resolve");
    assert_eq!(digest(&place, &[]), april["digest"]);
    place.now(&world(&["0.7.0.dev20200427", "0.7.0.dev20200520"]));
    let may = json(&place, &[]);
    assert_eq!(may["packages"], serde_json::json!(["reana-db==0.7.0.dev20200520"]));
    assert_ne!(april["digest"], may["digest"]);
    // Nothing else changed.
    let (before, after) = (lines(&april), lines(&may));
    let new: Vec<&&str> = after.iter().filter(|line| !before.contains(line)).collect();
    assert!(
        matches!(new[..], [line] if line.starts_with("package\treana-db==0.7.0.dev20200520\t")),
        "{new:?}"
    );
}

#[test]
fn a_hashed_lock_that_is_installed_from_pins_the_set() {
    let mut place = place(&world(&["1.0"]));
    component(&place);
    place.file("app/Dockerfile", format!("FROM python:3.12@{PINNED}\nRUN pip install -r requirements.txt\n"));
    let index = place.path("index/simple").to_string_lossy().into_owned();
    let _ = place.run_in("app", &["compile", "--index-url", &index]).expect_code(0);
    let before = json(&place, &[]);
    assert_eq!((&before["packages_from"], &before["packages"][0]), (&"lock".into(), &"reana-db==1.0".into()));
    place.now(&world(&["1.0", "2.0"]));
    assert_eq!(digest(&place, &["--offline"]), before["digest"]);
    // Without hashes the pins are kept where they still fit, but a resolve says so.
    place.file("app/requirements.txt", "reana-db==1.0\n");
    let after = json(&place, &[]);
    assert_eq!(
        (&after["packages_from"], &after["packages"][0]),
        (&"resolve".into(), &"reana-db==1.0".into())
    );
    let what = after["unpinned"][0]["what"].as_str().expect("a warning");
    assert_eq!(what, "requirements.txt has pins without hashes: what is installed is resolved now");
    // A lock that the build doesn't install from pins nothing.
    place.file("app/Dockerfile", format!("FROM python:3.12@{PINNED}\nRUN pip install .\n"));
    assert_eq!(json(&place, &[])["packages"][0], "reana-db==2.0");
}

#[test]
fn an_index_that_does_not_answer_is_no_answer() {
    let place = place(&world(&["1.0"]));
    component(&place);
    let output = place.run_in("app", &["inputs", "--index-url=http://127.0.0.1:9/simple/"]).expect_code(4);
    assert_eq!(output.stdout, "app unknown\n");
    assert!(output.stderr.contains("reana-db could not be looked up"), "{}", output.stderr);
}

#[test]
fn each_change_is_another_digest() {
    let place = image();
    let mut seen = vec![digest(&place, &[])];
    let mut changed = |what: &str, args: &[&str]| {
        let now = digest(&place, args);
        assert!(!seen.contains(&now), "{what}");
        seen.push(now);
    };
    changed("an argument", &["--build-arg=A=1"]);
    changed("another value", &["--build-arg=A=2"]);
    changed("a platform", &["--platform=linux/arm64"]);
    let path = |name: &str| place.path("app").join(name);
    place.file("app/b", "");
    changed("a file", &[]);
    fs::set_permissions(path("b"), fs::Permissions::from_mode(0o744)).expect("a mode");
    changed("its mode", &[]);
    fs::remove_file(path("b")).expect("removed");
    symlink("a", path("b")).expect("a link");
    changed("a link", &[]);
    fs::remove_file(path("b")).expect("removed");
    symlink("/nowhere", path("b")).expect("a link");
    changed("its target", &[]);
    place.file("app/Dockerfile", format!("FROM alpine:3@{PINNED}\n\n"));
    changed("the Dockerfile", &[]);
    place.file("app/.dockerignore", "Dockerfile\n.dockerignore\n");
    changed("what is seen", &[]);
    place.file("app/Dockerfile", format!("FROM alpine:3@{PINNED}\n\n\n"));
    changed("a Dockerfile that is not seen", &[]);
}

#[test]
fn what_does_not_count() {
    let place = image();
    place.file("app/.dockerignore", "*.log\nout\n!keep.log\n");
    let before = digest(&place, &[]);
    place
        .file("app/x.log", "x")
        .file("app/out/y", "y")
        .file("app/.git/z", "")
        .file("app/reana-images.toml", "")
        .file("app/deep/.git", "gitdir: nowhere\n");
    fs::create_dir(place.path("app/empty")).expect("a folder");
    fs::set_permissions(place.path("app/a"), fs::Permissions::from_mode(0o600)).expect("a mode");
    fs::remove_dir_all(place.path("app/.git")).expect("removed");
    assert_eq!(digest(&place, &[]), before);
    assert_eq!(digest(&place, &["--build-arg", "HTTPS_PROXY=http://me:secret@proxy.test"]), before);
    assert_eq!(digest(&place, &["--build-arg", "NOT_SET_ANYWHERE"]), before);
    assert_eq!(digest(&place, &["--platform=a,b"]), digest(&place, &["--platform=b", "--platform=a"]));
    // From another folder, by another name.
    let elsewhere = place.run_in("", &["inputs", "app"]).expect_code(0);
    assert!(elsewhere.stdout.starts_with(&format!("app {before}\n")), "{}", elsewhere.stdout);
    place.file("app/keep.log", "x");
    assert_ne!(digest(&place, &[]), before);
}

#[test]
fn odd_files_neither_hang_nor_vanish() {
    use std::os::unix::ffi::OsStrExt as _;
    let place = image();
    let odd = std::ffi::OsStr::from_bytes(b"a\xff\n");
    fs::write(place.path("app").join(odd), "x").expect("a file");
    symlink(".", place.path("app/loop")).expect("a link");
    let _socket = UnixListener::bind(place.path("app/s")).expect("a socket");
    assert!(Command::new("mkfifo").arg(place.path("app/p")).status().expect("mkfifo").success());
    let output = run(&place, &[]).expect_code(0);
    let list: Vec<&str> =
        output.stdout.lines().map(|line| line.split("\t-\t").next().unwrap_or_default()).collect();
    assert!(list.contains(&"  file\ta\\xff\\x0a") && list.contains(&"  link\tloop\t."), "{list:?}");
    expect![[r#"
        warning: app: p is a pipe, which does not count: what comes out of it can't be known
        warning: app: s is a socket, which does not count: what comes out of it can't be known
    "#]]
    .assert_eq(&output.stderr);
}

#[test]
fn a_base_without_a_digest_is_unknown() {
    let place = image();
    place.file(
        "app/Dockerfile",
        "ARG TAG=3\nFROM alpine:$TAG AS one\nFROM scratch AS two\nFROM one\nCOPY --from=two / /\nCOPY --from=0 / /\n\
         COPY --from=tools.test/uv:1 /uv /\nRUN --mount=type=bind,from=busybox,target=/b true\n",
    );
    let output = run(&place, &["--offline", "--build-arg=TAG=4"]).expect_code(4);
    assert!(output.stdout.starts_with("app unknown\n  arg\tTAG\t4\n"), "{}", output.stdout);
    expect![[r#"
        error: app: no inputs digest: Dockerfile:2: alpine:4: not pinned: unknown; Dockerfile:7: tools.test/uv:1: not pinned: unknown; Dockerfile:8: busybox: not pinned: unknown

        hint: write the digest into the Dockerfile (`FROM name:tag@sha256:...`), or give it by `--base IMAGE=DIGEST`
    "#]].assert_eq(&output.stderr.replace("its registry is not asked (--offline)", "unknown"));
    let given = |image: &str| format!("--base={image}={PINNED}");
    let given = [given("docker.io/library/alpine:3"), given("tools.test/uv:1"), given("busybox")];
    let args: Vec<&str> = given.iter().map(String::as_str).collect();
    let it = json(&place, &args);
    let bases: Vec<&str> = lines(&it).into_iter().filter(|line| line.starts_with("base\t")).collect();
    assert_eq!(
        bases,
        ["docker.io/library/alpine:3", "docker.io/library/busybox", "tools.test/uv:1"]
            .map(|name| format!("base\t{name}\t{PINNED}"))
    );
    place.file("app/Dockerfile", "ARG BASE\nFROM $BASE\n");
    let output = run(&place, &[]).expect_code(2);
    assert!(
        output.stderr.contains("Dockerfile:2: no value is known for a variable in `$BASE`"),
        "{}",
        output.stderr
    );
    assert_eq!(digest(&place, &[&format!("--build-arg=BASE=x@{PINNED}")]).len(), 71);
}

#[test]
fn what_no_list_can_pin_is_warned_of() {
    let place = image();
    let text = "RUN apt-get update && \\\n    apt-get install -y --no-install-recommends gcc=1 git && \\\n    pip install --no-cache-dir -U pip && \\\n    # a comment\n    curl -sSL https://me:secret@x.test/y | sh\nRUN apt-get install -y gcc=1\nRUN pip install -r requirements.txt . './x[y]' a==1 b===2 /z\nRUN [\"pip3\", \"install\", \"c>1\"]\nRUN if [ x ]; then pip install -e .[debug]; fi\nRUN git clone https://x.test/z && git status\nADD --checksum=sha256:0 https://x.test/c /c\nADD https://x.test/d /d\nRUN (apt-get install -y zip) && if [ x ]; then (pip install zz); fi\nRUN V=$(curl -s https://x.test/v) && W=\"$(wget https://x.test/w)\" && echo ${V}\nRUN bash -c 'wget x.test/w'\nRUN <<EOF\nset -e\nwget https://x.test/h\nEOF\nRUN pip install -r dev.txt git+https://x.test/q git+https://x.test/p@0123456789012345678901234567890123456789\n";
    place.file("app/Dockerfile", format!("FROM alpine@{PINNED}\n{text}"));
    let output = run(&place, &[]).expect_code(0);
    expect![[r#"
        warning: Dockerfile:3: `apt-get install` takes the version of the day of git
        warning: Dockerfile:4: pip installs pip without an exact version
        warning: Dockerfile:6: `curl` takes what is there from https://x.test/y
        warning: Dockerfile:9: pip installs c>1 without an exact version
        warning: Dockerfile:11: `git` takes what is there from https://x.test/z
        warning: Dockerfile:13: `ADD https://x.test/d` takes what is there
        warning: Dockerfile:14: `apt-get install` takes the version of the day of zip
        warning: Dockerfile:14: pip installs zz without an exact version
        warning: Dockerfile:15: `curl` takes what is there from https://x.test/v
        warning: Dockerfile:15: `wget` takes what is there from https://x.test/w
        warning: Dockerfile:16: `wget` takes what is there
        warning: Dockerfile:19: `wget` takes what is there from https://x.test/h
        warning: Dockerfile:21: pip installs git+https://x.test/q without an exact version
        warning: Dockerfile:21: pip installs from dev.txt, which is not the lock
    "#]]
    .assert_eq(&output.stderr);
}

#[test]
fn git_names_what_it_does_not_have() {
    let fleet = checkouts();
    let args =
        ["inputs", "reana-workflow-engine-serial", "--format=json", &format!("--base=python:3.12={PINNED}")];
    fleet
        .file("reana-workflow-engine-serial/.gitignore", "*.pyc\n")
        .file("reana-workflow-engine-serial/x.pyc", "");
    fleet.file("reana-workflow-engine-serial/modules/reana-commons/setup.py", "");
    fleet.file("reana-workflow-engine-serial/modules/.gitkeep", "");
    let output = fleet.run(&args).expect_code(0);
    let json: Value = serde_json::from_str(&output.stdout).expect("JSON");
    let it = &json["components"][0];
    assert_eq!(it["ignored"], serde_json::json!(["x.pyc"]));
    let untracked = [".gitignore", "modules/.gitkeep", "modules/reana-commons/setup.py"];
    assert_eq!(it["untracked"], serde_json::json!(untracked));
    assert_eq!(it["modules"], serde_json::json!(["reana-commons"]));
    expect![[r#"
        warning: reana-workflow-engine-serial/Dockerfile:3: reana-workflow-engine-serial/requirements.txt has pins without hashes: what is installed is resolved now
        note: reana-workflow-engine-serial: 1 file is counted that git ignores: x.pyc
        note: reana-workflow-engine-serial: 3 files are counted that git does not track: .gitignore, modules/.gitkeep, modules/reana-commons/setup.py
        note: reana-workflow-engine-serial: built with local packages (modules/: reana-commons): no image for a release
    "#]].assert_eq(&output.stderr);
}

#[test]
fn submodules_count_by_their_commits() {
    let fleet = checkouts();
    let name = "reana-workflow-engine-serial";
    let base = format!("--base=python:3.12={PINNED}");
    let list = || {
        let output = fleet.run(&["inputs", name, "--format=json", &base]).expect_code(0);
        let json: Value = serde_json::from_str(&output.stdout).expect("JSON");
        let it = json["components"][0].clone();
        lines(&it)
            .into_iter()
            .filter(|line| line.starts_with("submodule"))
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    assert!(list().is_empty());
    fleet.git(
        name,
        &["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", "../reana-commons", "sub"],
    );
    let head = fleet.git("reana-commons", &["rev-parse", "HEAD"]);
    assert_eq!(list(), [format!("submodule\tsub\t{}", head.trim())]);
    fleet.file(&format!("{name}/.dockerignore"), "sub\n");
    assert!(list().is_empty());
}

#[test]
fn a_fleet_at_once() {
    let fleet = checkouts();
    fleet.file("reana-ui/Dockerfile", "FROM scratch\n");
    let base = format!("--base=python:3.12={PINNED}");
    let output = fleet.run(&["inputs", &base]).expect_code(0);
    let heads: Vec<&str> = output.stdout.lines().filter(|line| !line.starts_with(' ')).collect();
    let names: Vec<&str> = heads.iter().filter_map(|head| head.split(" sha256:").next()).collect();
    let images = [
        "reana-dask-operator",
        "reana-job-controller",
        "reana-server",
        "reana-ui",
        "reana-workflow-controller",
        "reana-workflow-engine-serial",
    ];
    assert_eq!(names, images);
    // One that can't be told takes nothing away from the others.
    fleet.file("reana-ui/Dockerfile", "FROM node\n");
    let again = fleet.run(&["inputs", &base, "--offline"]).expect_code(4);
    let known = again.stdout.lines().filter(|line| heads.contains(line)).count();
    assert_eq!(known, images.len() - 1);
    assert!(again.stdout.contains("reana-ui unknown\n"), "{}", again.stdout);
}

#[test]
fn what_makes_no_sense_is_refused() {
    let place = image();
    let refused = |args: &[&str], what: &str| {
        let output = run(&place, args).expect_code(2);
        assert!(output.stderr.contains(what), "{}", output.stderr);
    };
    refused(&["--build-arg==x"], "--build-arg: `=x` is no NAME=VALUE");
    refused(&["--platform="], "--platform: an empty name is no platform");
    refused(&["--base=x"], "--base: `x`: IMAGE=DIGEST is expected");
    refused(&["--base=x=sha256:1"], "`sha256:1` is no digest");
    refused(&["--base=X=sha256:1"], "--base: `X=sha256:1`");
    refused(&["--format=github"], "--format github is for");
    place.file("app/.dockerignore", "x\n[\n");
    refused(&[], ".dockerignore:2: `[` is no pattern");
    fs::remove_file(place.path("app/.dockerignore")).expect("removed");
    place.file("app/Dockerfile", "FROM a//b\n");
    refused(&[], "Dockerfile:1: `a//b` is no image name");
    fs::remove_file(place.path("app/Dockerfile")).expect("removed");
    refused(&[], "app: no image is built from it: there is no Dockerfile");
}

#[test]
fn a_plain_folder_needs_no_git() {
    let sandbox = Sandbox::new(Path::new(PROGRAM)).env("PATH", "/nowhere");
    sandbox.file("Dockerfile", "FROM scratch\n");
    let output = sandbox.run(&["inputs", "--offline"]).expect_code(0);
    assert_eq!(output.stderr, "");
    sandbox.file(".git/HEAD", "");
    let output = sandbox.run(&["inputs", "--offline"]).expect_code(4);
    assert!(output.stderr.contains("git could not be run"), "{}", output.stderr);
}

#[test]
fn a_dockerfile_that_is_made_to_be_slow() {
    let place = image();
    let words = "$(x ".repeat(20_000);
    let doubled: String = (0..60).map(|at| format!("ENV V{}=$V{at}$V{at}\n", at + 1)).collect();
    let text = format!("FROM alpine@{PINNED}\nENV V0=xx\n{doubled}RUN {words}\nRUN curl $V60\n");
    place.file("app/Dockerfile", text);
    let output = run(&place, &[]).expect_code(0);
    assert!(output.stderr.ends_with("`curl` takes what is there\n"), "{}", output.stderr);
}

/// The base images that a Dockerfile has, as written, without asking anybody.
#[track_caller]
fn check_bases(dockerfile: &str, args: &[&str], expected: &[&str]) {
    let place = place(&World::new());
    place.file("app/Dockerfile", dockerfile);
    let output = run(&place, &[&["--offline", "--format=json"], args].concat());
    assert!([0, 4].contains(&output.code), "{dockerfile}: {output}");
    let json: Value = serde_json::from_str(&output.stdout).expect("JSON");
    let bases = json["components"][0]["bases"].as_array().expect("bases").iter();
    let bases: Vec<&str> = bases.filter_map(|base| base["image"].as_str()).collect();
    assert_eq!(bases, expected, "{dockerfile}");
}

#[test]
fn odd_ways_to_name_a_base() {
    check_bases("\u{feff}FROM a\nRUN b\n", &[], &["a"]);
    check_bases("\u{feff}ARG V=3.12\r\nFROM python:${V}\r\n", &[], &["python:3.12"]);
    check_bases("FROM \"a:1\" AS b\nFROM b\nFROM 'c'\n", &[], &["a:1", "c"]);
    check_bases("FROM \\\n  # why\n\n  a:1 \\\n  AS b\nFROM B\n", &[], &["a:1"]);
    // What begins no here-document hides nothing.
    for line in [
        "RUN echo \"<<EOF\"",
        "RUN echo $((1<<2))",
        "RUN cat <<<word",
        "LABEL a=<<EOF",
        "RUN x<<EOF",
        "RUN echo `date`",
    ] {
        check_bases(&format!("FROM a\n{line}\nFROM b\n"), &[], &["a", "b"]);
    }
    check_bases("FROM a\nRUN <<A cat <<-'B C'\nFROM x\nA\nFROM y\n\tB C\nFROM b\n", &[], &["a", "b"]);
    check_bases("FROM a\nRUN <<A\nFROM x\n\tA\nFROM y\nA\nFROM b\n", &[], &["a", "b"]);
    // Variables.
    check_bases("ARG Y\nFROM ${X:-a${Y:-b}c}\n", &[], &["abc"]);
    check_bases("ARG Y\nFROM ${X:-a${Y:-b}c}\n", &["--build-arg=Y=d"], &["adc"]);
    check_bases("ARG X=\nFROM a${X-b}${X:-c}${X+d}${X:+e}\n", &[], &["acd"]);
    check_bases("ARG X=b\nFROM a${X:?why}\n", &[], &["ab"]);
    check_bases("FROM a:${TARGETARCH:-amd64}\n", &["--platform=linux/arm64"], &["a:arm64"]);
}

#[test]
fn what_names_no_base_is_refused() {
    for (dockerfile, why) in [
        ("ARG X=v1\nFROM a:${X#v}\n", "Dockerfile:2: no value is known for a variable in `a:${X#v}`"),
        ("ARG X=v1\nFROM a:${X/v/w}\n", "no value is known for a variable"),
        ("FROM a:${X:?why}\n", "no value is known for a variable"),
        ("FROM a:${TARGETARCH:-amd64}\n", "no value is known for a variable in `a:${TARGETARCH:-amd64}`"),
        ("", "Dockerfile: no image can be built from it: it has no FROM"),
        ("ARG A\n# FROM a\nRUN b\n", "it has no FROM"),
        ("FROM\n", "it has no FROM"),
    ] {
        let place = place(&World::new());
        place.file("app/Dockerfile", dockerfile);
        let output = run(&place, &["--offline"]).expect_code(2);
        assert!(output.stderr.contains(why), "{dockerfile}: {output}");
    }
}

#[test]
fn odd_ways_to_fetch() {
    let check = |line: &str, expected: &[&str]| {
        let place = place(&World::new());
        place.file("app/Dockerfile", format!("FROM scratch\n{line}\n"));
        let json = json(&place, &[]);
        let unpinned = json["unpinned"].as_array().expect("a list").iter();
        let unpinned: Vec<&str> = unpinned.filter_map(|place| place["what"].as_str()).collect();
        assert_eq!(unpinned, expected, "{line}");
    };
    check("RUN pip install a # not b", &["pip installs a without an exact version"]);
    check("RUN pip install a==1 # not b", &[]);
    check("RUN python3 -mpip install a", &["pip installs a without an exact version"]);
    check("ADD [\"https://x.test/a\", \"/\"]", &["`ADD https://x.test/a` takes what is there"]);
    check("ADD [\"a\", \"/\"]", &[]);
}
