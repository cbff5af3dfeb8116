//! `reana-lock check`: what is found of locks, each kind at least once, and that nothing is ever written.
//! (`compile_check` holds what `compile --check` says, which is the same.)

use std::collections::BTreeMap;

use expect_test::{Expect, expect};
use reana_testkit::{Output, Release, Reply, World};

use crate::harness::{Place, place, serve, served, sha256, small_world};

/// A place with a lock that is up to date.
fn ready() -> Place {
    let place = place(&small_world());
    place.file("requirements.in", "app\n");
    let _ = place.compile(&["-q"]).expect_code(0);
    place
}

/// Checks, and that the check leaves every file as it was.
#[track_caller]
fn check(place: &Place, args: &[&str]) -> Output {
    let before = files(place);
    let output = place.ask("check", args);
    assert_eq!(files(place), before, "a check writes nothing");
    output
}

fn files(place: &Place) -> BTreeMap<String, Vec<u8>> {
    crate::check_image::files(&place.path(""))
}

#[track_caller]
fn finds(place: &Place, args: &[&str], code: i32, expected: &Expect) {
    expected.assert_eq(&check(place, args).expect_code(code).stdout);
}

#[test]
fn a_lock_that_holds() {
    let place = ready();
    expect![[r#"
        exit 0
        --- stdout
        --- stderr
        requirements.txt: 3 pins for Python 3.12 on linux/amd64; unchanged
    "#]]
    .assert_eq(&check(&place, &[]).expect_code(0).to_string());
    assert_eq!(check(&place, &["-q"]).expect_code(0).to_string(), "exit 0\n--- stdout\n--- stderr\n");
    let text = place.sandbox.read("requirements.txt").replace('\n', "\r\n");
    place.file("requirements.txt", text);
    finds(&place, &[], 0, &expect![[""]]);
}

#[test]
fn stale_and_incomplete() {
    let place = ready();
    place.file("requirements.in", "app<2\n");
    finds(
        &place,
        &[],
        1,
        &expect![[r#"
        requirements.txt:7: error L001 stale: app 2.0 -> 1.0 (major): requirements.in:1 requires app<2
    "#]],
    );
    place.file("requirements.in", "app\n").file("requirements.txt", "app==2.0\nlib==2.0\n");
    finds(
        &place,
        &[],
        1,
        &expect![[r#"
        requirements.txt: error L002 incomplete: base 1.1 is new: lib 2.0 requires base>=1
        requirements.txt: note L007 other-tool: no header says what made this lock
        requirements.txt: warning H003 no-hashes: no pin has a hash, so pip checks none
    "#]],
    );
    place.file("requirements.txt", "");
    finds(
        &place,
        &[],
        1,
        &expect![[r#"
        requirements.txt: error L002 incomplete: app 2.0 is new: requirements.in:1 requires app
        requirements.txt: error L002 incomplete: base 1.1 is new: lib 2.0 requires base>=1
        requirements.txt: error L002 incomplete: lib 2.0 is new: app 2.0 requires lib>=2
        requirements.txt: note L007 other-tool: no header says what made this lock
    "#]],
    );
}

#[test]
fn edited_by_hand() {
    let place = ready();
    let lock = place.sandbox.read("requirements.txt");
    for (from, to) in [
        ("# via lib", "# via  lib"),
        ("lib==2.0 \\", "Lib==2.0 \\"),
        ("lib==2.0", "# mine\nlib==2.0"),
        ("    --hash", "   --hash"),
    ] {
        place.file("requirements.txt", lock.replacen(from, to, 1));
        let output = check(&place, &[]).expect_code(1);
        let line = lock.split(from).next().unwrap_or_default().matches('\n').count() + 1;
        assert!(output.stdout.contains("L003 hand-edited"), "{from}: {}", output.stdout);
        assert!(
            output.stdout.contains(&format!("requirements.txt:{line}: ")),
            "{from} {line}: {}",
            output.stdout
        );
    }
    // one CRLF too few
    place.file("requirements.txt", lock.replace('\n', "\r\n").replacen("\r\n", "\n", 11));
    finds(
        &place,
        &[],
        1,
        &expect![[r#"
        requirements.txt:7: error L003 hand-edited: this line is not what the lock's own pins would be written as
    "#]],
    );
}

#[test]
fn other_targets_and_options() {
    let place = ready();
    place.file("reana-lock.toml", "python = \"3.11\"\n");
    finds(
        &place,
        &[],
        1,
        &expect![[r#"
        requirements.txt:2: error L004 other-targets: made for Python 3.12, and Python 3.11 is in force
    "#]],
    );
    place.file("reana-lock.toml", "[lock]\nannotation-style = \"line\"\n");
    finds(
        &place,
        &[],
        1,
        &expect![[r#"
        requirements.txt:5: error L006 other-options: header, options or layout differ from this line on
    "#]],
    );
    place.file("reana-lock.toml", "\n");
    let lock = place.sandbox.read("requirements.txt");
    place.file("requirements.txt", lock.replacen("#\n", "#\n# mine\n", 1));
    finds(
        &place,
        &[],
        1,
        &expect![[r#"
        requirements.txt:2: error L006 other-options: header, options or layout differ from this line on
    "#]],
    );
}

#[test]
fn a_preview() {
    let place = ready();
    let lock = place.sandbox.read("requirements.txt");
    let mark = "# preview: solved with local checkouts, not for release\n";
    place.file("requirements.txt", lock.replacen("app==", &format!("{mark}app=="), 1));
    finds(
        &place,
        &[],
        1,
        &expect![[r#"
        requirements.txt:7: error L005 preview: solved with local checkouts: not to be released from
    "#]],
    );
}

#[test]
fn another_tools_lock() {
    let place = ready();
    let lock = "#\n# This file is autogenerated by pip-compile with Python 3.12\n# by the following command:\n#\n\
                #    pip-compile --annotation-style=line requirements.in\n#\n\
                app==2.0                  # via -r requirements.in\nbase==1.1                 # via lib\n\
                lib==2.0                  # via app\n";
    place.file("requirements.txt", lock);
    finds(
        &place,
        &[],
        0,
        &expect![[r#"
        requirements.txt: warning H003 no-hashes: no pin has a hash, so pip checks none
        requirements.txt:2: note L007 other-tool: made by pip-compile; its header and layout are not compared
    "#]],
    );
    // whether it has hashes is the fleet's choice
    place.file("reana-lock.toml", "[lock]\nhashes = \"none\"\n");
    finds(
        &place,
        &[],
        0,
        &expect![[r#"
        requirements.txt:2: note L007 other-tool: made by pip-compile; its header and layout are not compared
    "#]],
    );
    place.file("requirements.txt", lock.replace("base==1.1 ", "base==1.1   "));
    finds(
        &place,
        &[],
        1,
        &expect![[r#"
        requirements.txt:2: note L007 other-tool: made by pip-compile; its header and layout are not compared
        requirements.txt:8: error L003 hand-edited: this line is not what the lock's own pins would be written as
    "#]],
    );
}

#[test]
fn no_lock_and_lines_that_are_none() {
    let place = place(&small_world());
    place.file("requirements.in", "app\n");
    finds(
        &place,
        &[],
        1,
        &expect![[r#"
        requirements.txt: error L008 missing: there is no lock
    "#]],
    );
    place.file("requirements.txt", "app==2.0\n???\nlib>=2\napp==1.0\n");
    finds(
        &place,
        &[],
        1,
        &expect![[r#"
        requirements.txt: error L002 incomplete: base 1.1 is new: lib 2.0 requires base>=1
        requirements.txt: error L002 incomplete: lib 2.0 is new: app 2.0 requires lib>=2
        requirements.txt: note L007 other-tool: no header says what made this lock
        requirements.txt: warning H003 no-hashes: no pin has a hash, so pip checks none
        requirements.txt:2: error L009 unreadable: `???` is not a valid requirement (PEP 508): Expected package name starting with an alphanumeric character, found `?`
        requirements.txt:3: error L009 unreadable: `lib>=2` is no pin (`name==version`)
        requirements.txt:4: error L009 unreadable: app is pinned already in line 1
    "#]],
    );
}

#[test]
fn a_killed_run() {
    let place = ready();
    place.file(".reana-lock.journal", "{}");
    finds(
        &place,
        &[],
        1,
        &expect![[r#"
        .reana-lock.journal: error L010 unfinished: a killed run left it: the locks may be half old, half new
    "#]],
    );
}

fn two_files() -> World {
    World::new().release("app", Release::new("1.0", &[]).wheel("py3-none-any").sdist(&[]))
}

#[test]
fn hashes() {
    let wheel = World::new().release("app", Release::new("1.0", &[]).wheel("py3-none-any"));
    let mut place = place(&wheel);
    place.file("requirements.in", "app\n");
    let _ = place.compile(&["-q"]).expect_code(0);
    // a file that was added is good to know, and no more
    place.now(&two_files());
    finds(
        &place,
        &[],
        0,
        &expect![[r#"
        requirements.txt:7: note H002 file-added: app-1.0.tar.gz of app 1.0 is not in the lock
    "#]],
    );
    // a file that is gone, and one with other bytes under the same name
    let _ = place.compile(&["-q"]).expect_code(0);
    place.now(&wheel);
    finds(
        &place,
        &[],
        1,
        &expect![[r#"
        requirements.txt:7: error H001 hash-unknown: sha256:[app-1.0.tar.gz] is of no file that the index has of app 1.0
    "#]],
    );
    place.now(
        &World::new()
            .release("app", Release::new("1.0", &[]).extras(&["x"]).wheel("py3-none-any").sdist(&[])),
    );
    finds(
        &place,
        &[],
        1,
        &expect![[r#"
        requirements.txt:7: error H001 hash-unknown: sha256:[app-1.0.tar.gz] is of no file that the index has of app 1.0
        requirements.txt:7: error H001 hash-unknown: sha256:[app-1.0-py3-none-any.whl] is of no file that the index has of app 1.0
        requirements.txt:7: note H002 file-added: app-1.0-py3-none-any.whl, app-1.0.tar.gz of app 1.0 are not in the lock
    "#]],
    );
    place.now(&World::new().with("app", "1.1", &[]));
    finds(
        &place,
        &[],
        1,
        &expect![[r#"
        requirements.txt:7: error L001 stale: app 1.0 -> 1.1 (minor): no index lists it
        requirements.txt:7: error H005 not-offered: the index doesn't have app 1.0
    "#]],
    );
}

#[test]
fn a_pin_without_hash_among_others() {
    let place = ready();
    let lock = place.sandbox.read("requirements.txt");
    let start = lock.find("base==1.1").expect("a pin");
    let (before, from) = lock.split_at(start);
    let without = from.split_once('\n').and_then(|(_, rest)| rest.split_once('\n')).expect("a hash").1;
    place.file("requirements.txt", format!("{before}base==1.1\n{without}"));
    finds(
        &place,
        &[],
        1,
        &expect![[r#"
        requirements.txt:10: error L003 hand-edited: this line is not what the lock's own pins would be written as
        requirements.txt:10: warning H004 unhashed: base has no hash: pip refuses it
    "#]],
    );
}

#[test]
fn yanked() {
    let mut place = ready();
    let yanked = World::new()
        .with("app", "2.0", &["lib>=2"])
        .release("lib", Release::new("2.0", &["base>=1"]).yanked("breaks\nthings"))
        .with("base", "1.1", &[]);
    place.now(&yanked);
    finds(
        &place,
        &[],
        1,
        &expect![[r#"
        requirements.txt:13: error Y001 yanked: lib 2.0 is yanked (breaks things)
    "#]],
    );
    place.file("requirements.in", "app\nlib==2.0\n");
    let _ = place.compile(&["-q"]).expect_code(0);
    finds(
        &place,
        &[],
        0,
        &expect![[r#"
        requirements.txt:13: warning Y002 yanked-wanted: lib 2.0 is yanked (breaks things), and requirements.in:2 requires lib==2.0
    "#]],
    );
}

#[test]
fn offline_says_what_it_could_not_check() {
    let place = served(&small_world());
    place.file("requirements.in", "app\n");
    let _ = place.compile(&["-q"]).expect_code(0);
    finds(
        &place,
        &["--offline"],
        0,
        &expect![[r#"
        requirements.txt: note N001 not-checked: offline: hashes and yanks are judged by what the cache last saw of the index
    "#]],
    );
    finds(
        &place,
        &["--offline", "--no-cache"],
        4,
        &expect![[r#"
        requirements.txt: note N001 not-checked: whether the pins are what `compile` would give is not checked: no answer of the index
        requirements.txt: note N001 not-checked: hashes and yanks are not checked: no answer about app, base, lib
    "#]],
    );
    // what can be found is found, and counts for more
    place.file("requirements.in", "app<2\nmore\n");
    finds(
        &place,
        &["--offline", "--no-cache"],
        1,
        &expect![[r#"
        requirements.txt: error L002 incomplete: requirements.in:2 requires more, which is not pinned
        requirements.txt: note N001 not-checked: whether the pins are what `compile` would give is not checked: no answer of the index
        requirements.txt: note N001 not-checked: hashes and yanks are not checked: no answer about app, base, lib
        requirements.txt:7: error L001 stale: requirements.in:1 requires app<2, and 2.0 is pinned
    "#]],
    );
}

#[test]
fn an_index_that_changed_its_mind_or_is_down() {
    let place = served(&two_files());
    place.file("requirements.in", "app\n");
    let _ = place.compile(&["-q"]).expect_code(0);
    let server = place.server.as_ref().expect("a server");
    let page = two_files().page("app", "/files").expect("a page").to_string();
    let lock = place.sandbox.read("requirements.txt");
    let hash = lock.split("--hash=sha256:").nth(1).and_then(|rest| rest.get(..64)).expect("a hash");
    server.put("/simple/app/", Reply::json(page.replace(hash, &sha256(b"another"))));
    finds(
        &place,
        &["--refresh"],
        1,
        &expect![[r#"
        requirements.txt:7: error H001 hash-unknown: sha256:[app-1.0.tar.gz] is of no file that the index has of app 1.0
        requirements.txt:7: note H002 file-added: app-1.0.tar.gz of app 1.0 is not in the lock
    "#]],
    );
    server.put("/simple/app/", Reply::status(500));
    let output = check(&place, &["--refresh", "--timeout", "1"]).expect_code(4);
    expect![[r#"
        requirements.txt: note N001 not-checked: whether the pins are what `compile` would give is not checked: no answer of the index
        requirements.txt: note N001 not-checked: hashes and yanks are not checked: no answer about app
    "#]].assert_eq(&output.stdout);
    assert!(output.stderr.contains("error: "), "{}", output.stderr);
    // an index that refuses is no reason to pass
    server.put("/simple/app/", Reply::status(403));
    let _ = check(&place, &["--refresh"]).expect_code(4);
    serve(server, "", &two_files());
    let _ = check(&place, &["--refresh"]).expect_code(0);
}

#[test]
fn a_fleet_is_checked_whole() {
    let place = place(&small_world());
    for name in ["one", "two", "three"] {
        place
            .file(&format!("{name}/requirements.in"), "app\n")
            .file(&format!("{name}/Dockerfile"), "FROM python:3.12\nRUN pip install -r requirements.txt\n");
    }
    let _ = place.compile(&["-q", "one", "two"]).expect_code(0);
    place.file("two/requirements.in", "app<2\n");
    finds(
        &place,
        &[],
        1,
        &expect![[r#"
        three/requirements.txt: error L008 missing: there is no lock
        two/requirements.txt:7: error L001 stale: app 2.0 -> 1.0 (major): two/requirements.in:1 requires app<2
    "#]],
    );
    // one that can't be read doesn't hide the others
    place.file("one/requirements.in", "???\n");
    let output = check(&place, &[]).expect_code(1);
    assert!(output.stdout.contains("two/requirements.txt:7: error L001"), "{}", output.stdout);
    assert!(output.stderr.contains("one/requirements.in:1"), "{}", output.stderr);
    let _ = check(&place, &["one"]).expect_code(2);
    let _ = check(&place, &["nowhere/"]).expect_code(2);
}

#[test]
fn for_scripts_and_for_github() {
    let place = ready();
    place
        .file("requirements.in", "app<2\n")
        .file("Dockerfile", "FROM python:3.12\nRUN pip install -r requirements.txt 'x<1,>0'\n");
    finds(
        &place,
        &["--format", "github"],
        1,
        &expect![[r#"
        ::warning file=Dockerfile,line=2,title=D003 unpinned::`x<1,>0` is whatever version the index has on the day
        ::error file=requirements.txt,line=7,title=L001 stale::app 2.0 -> 1.0 (major): requirements.in:1 requires app<2
    "#]],
    );
    let output = check(&place, &["--format", "json", "-q"]).expect_code(1);
    let json: serde_json::Value = serde_json::from_str(&output.stdout).expect("JSON");
    assert_eq!((&json["exit"], &json["failures"]), (&1.into(), &serde_json::json!([])));
    expect![[r#"
        [
          {
            "code": "D003",
            "name": "unpinned",
            "grade": "warning",
            "file": "Dockerfile",
            "line": 2,
            "message": "`x<1,>0` is whatever version the index has on the day"
          },
          {
            "code": "L001",
            "name": "stale",
            "grade": "error",
            "file": "requirements.txt",
            "line": 7,
            "message": "app 2.0 -> 1.0 (major): requirements.in:1 requires app<2"
          }
        ]"#]]
    .assert_eq(&format!("{:#}", json["findings"]));
    place.file("requirements.in", "???\n");
    let output = check(&place, &["--format", "json", "-q"]).expect_code(2);
    let json: serde_json::Value = serde_json::from_str(&output.stdout).expect("JSON");
    assert_eq!((&json["exit"], &json["findings"]), (&2.into(), &serde_json::json!([])));
    assert_eq!(json["failures"][0]["exit"], 2);
}

#[test]
fn every_code_is_explained() {
    let place = place(&World::new());
    let _ = place.run(&["generate", "."]).expect_code(0);
    let page = place.sandbox.read("findings.md");
    for code in ["L001", "L010", "H001", "H005", "Y001", "Y002", "D001", "D008", "N001"] {
        assert!(page.contains(&format!("| {code} | ")), "{code}: {page}");
    }
}
