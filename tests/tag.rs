//! `reana-lock tag`: image tags of what git describes, or a refusal with its reason.
#![expect(clippy::disallowed_methods, reason = "tests make repositories and run git")]

use std::path::Path;
use std::process::Command;

use expect_test::expect;
use reana_images::{Tag, release_name};
use reana_testkit::Sandbox;
use serde_json::Value;

use crate::checkouts::{Checkouts, checkouts};
use crate::harness::PROGRAM;

/// One repository of the cases: its title, three answers of git, then what is right.
struct Case {
    title: String,
    cells: Vec<String>,
}

fn rows(text: &str) -> Vec<Case> {
    let rows = text.lines().map(|line| line.split('\t').map(str::to_owned));
    let case = |mut cells: Box<dyn Iterator<Item = String>>| Case {
        title: cells.next().expect("a title"),
        cells: cells.collect(),
    };
    rows.map(|cells| case(Box::new(cells.collect::<Vec<_>>().into_iter()))).collect()
}

/// Every repository of `fixtures/git/cases.sh`: git says what is recorded, and the tags are right.
#[test]
fn tags_of_all_kinds_of_repositories() {
    let folder = tempfile::tempdir().expect("a folder");
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/git");
    let output = Command::new("bash")
        .arg(format!("{root}/cases.sh"))
        .arg(folder.path())
        .env("PROGRAM", PROGRAM)
        .output()
        .expect("bash");
    let found = rows(&String::from_utf8_lossy(&output.stdout));
    let expected = std::fs::read_to_string(format!("{root}/cases.tsv")).expect("the table");
    let expected = rows(&expected);
    let expected = expected.get(2..).expect("rows");
    // Only root can give a repository to somebody else.
    let is_foreign = |case: &Case| case.title.starts_with("Repository owned by another user");
    let is_root = found.iter().any(is_foreign);
    let expected: Vec<&Case> = expected.iter().filter(|case| is_root || !is_foreign(case)).collect();
    let titles = |cases: &[&Case]| cases.iter().map(|case| case.title.clone()).collect::<Vec<_>>();
    assert_eq!(titles(&found.iter().collect::<Vec<_>>()), titles(&expected), "{output:?}");
    for (found, expected) in found.iter().zip(expected) {
        check(found, expected);
    }
}

fn check(found: &Case, expected: &Case) {
    let title = &expected.title;
    let [tags, nearest, long, describe, release, untracked] = &expected.cells[..] else {
        panic!("{title}: a row of the table")
    };
    let [git @ .., describe_code, describe_json, release_code, release_json] = &found.cells[..] else {
        panic!("{title}: a row")
    };
    assert_eq!(git, [tags.clone(), nearest.clone(), long.clone()], "{title}: git itself");
    let answer = |code: &str, json: &str| {
        let json: Value =
            serde_json::from_str(json).unwrap_or_else(|error| panic!("{title}: {error}: {json}"));
        let it = json["components"][0].clone();
        let tag = it["tag"].as_str().map_or_else(|| format!("!{code}"), str::to_owned);
        assert_eq!(tag.starts_with('!'), code != "0", "{title}: {it}");
        assert_eq!(it["error"].is_null(), code == "0", "{title}: {it}");
        (tag, it)
    };
    let (found_describe, facts) = answer(describe_code, describe_json);
    let (found_release, _) = answer(release_code, release_json);
    assert_eq!((&found_describe, &found_release), (describe, release), "{title}");
    let count = facts["untracked"].as_u64().map_or_else(|| "-".to_owned(), |count| count.to_string());
    assert_eq!(&count, untracked, "{title}: untracked");
    if let Some(description) = facts["description"].as_str().filter(|_| long != "-") {
        // The user's configuration may ask git for more digits, or the environment for another repository.
        let alike = description == long || long.starts_with(description) || title.starts_with("GIT_DIR");
        assert!(alike, "{title}: {description} is not {long}");
        assert_eq!(facts["dirty"], long.ends_with("-dirty"), "{title}");
    }
    refused_for_a_reason(title, &facts, &expected.cells);
}

/// A refusal is right only where git fails, the clone is shallow, the tree is dirty and a release is asked for, the
/// name is no image tag, or the repository is another one.
fn refused_for_a_reason(title: &str, facts: &Value, cells: &[String]) {
    let [tags, nearest, long, describe, release, _] = cells else { panic!("{title}") };
    let plain = |name: &str| name.strip_prefix('v').unwrap_or(name).parse::<Tag>().is_err();
    let always =
        tags == "-" || facts["shallow"] == true || title.starts_with("A folder with no .git of its own");
    if describe.starts_with('!') {
        assert!(always || plain(tags), "{title}: refused as {describe} without a reason");
    }
    if release.starts_with('!') {
        let name = release_name(nearest);
        assert!(
            always || long.ends_with("-dirty") || plain(&name),
            "{title}: refused as {release} without a reason"
        );
    }
}

fn commit(fleet: &Checkouts, name: &str) {
    fleet.git(name, &["commit", "-q", "--no-gpg-sign", "--allow-empty", "-m", "more"]);
}

#[test]
fn one_repository_and_a_fleet() {
    let fleet = checkouts();
    commit(&fleet, "reana-server");
    let tag = |folder: &str, args: &[&str]| fleet.place.run_in(folder, &[&["tag"], args].concat());
    let output = tag("fleet/reana-db", &[]).expect_code(0);
    assert_eq!((output.stdout.as_str(), output.stderr.as_str()), ("0.1.0\n", ""));
    let head = fleet.git("reana-server", &["rev-parse", "HEAD"]);
    let past = format!("0.1.0-1-g{}", head.get(..7).expect("digits"));
    assert_eq!(tag("fleet", &["r-server"]).expect_code(0).stdout, format!("{past}\n"));
    // A fleet stands for its images.
    let all = tag("fleet", &[]).expect_code(0).stdout;
    let expected = format!(
        "reana-dask-operator 0.1.0\nreana-job-controller 0.1.0\nreana-server {past}\nreana-workflow-controller 0.1.0\n\
         reana-workflow-engine-serial 0.1.0\n"
    );
    assert_eq!(all, expected);
    assert_eq!(tag("fleet/reana-db", &["CLUSTER"]).expect_code(0).stdout, expected);
    let output =
        tag("fleet", &["reana-db", "reana-server", "./reana-db", "--style", "release"]).expect_code(0);
    assert_eq!(output.stdout, "reana-db 0.1.0\nreana-server 0.1.0\n");
    expect![[r#"
        warning: reana-server: 1 commit past 0.1.0: the tag is that of an older commit
    "#]]
    .assert_eq(&output.stderr);
}

#[test]
fn what_the_tag_does_not_tell_is_said() {
    let fleet = checkouts();
    fleet.file("reana-db/new", "").file("reana-db/setup.py", "");
    fleet.git("reana-server", &["tag", "0.95.0a6"]);
    fleet.git("reana-server", &["tag", "-d", "0.1.0"]);
    let run = |args: &[&str]| fleet.place.run_in("fleet", &[&["tag"], args].concat());
    let output = run(&["reana-db"]).expect_code(0);
    assert_eq!(output.stdout, "0.1.0\n");
    expect![[r#"
        warning: tracked files have uncommitted changes, which the tag does not tell
        warning: 1 untracked file is there, which the tag does not tell and a build may take in
    "#]]
    .assert_eq(&output.stderr);
    fleet.file("reana-server/modules/reana-db/setup.py", "").file("reana-server/modules/.gitkeep", "");
    let output = run(&["reana-server", "--style=release"]).expect_code(0);
    expect![[r#"
        warning: 2 untracked files are there, which the tag does not tell and a build may take in
        warning: modules/ has reana-db: an image that is built from local packages must not have a release's tag
    "#]].assert_eq(&output.stderr);
    fleet.git("reana-server", &["add", "modules"]);
    fleet.git("reana-server", &["commit", "-q", "--no-gpg-sign", "-m", "modules"]);
    fleet.git("reana-server", &["tag", "-f", "0.95.0a6"]);
    // One that is refused takes nothing away from the others.
    let output = run(&["reana-db", "reana-server", "--style=release"]).expect_code(1);
    assert_eq!(output.stdout, "reana-server 0.95.0-alpha.6\n");
    expect![[r#"
        error: reana-db: [ROOT]/fleet/reana-db: tracked files have uncommitted changes, and a release tag stands for a commit

        hint: commit the changes, or take them back
        warning: reana-server: modules/ has reana-db: an image that is built from local packages must not have a release's tag
    "#]].assert_eq(&output.stderr);
    let output = run(&["reana-db", "reana-server", "--style=release", "--format=json"]).expect_code(1);
    let json: Value = serde_json::from_str(&output.stdout).expect("JSON");
    assert_eq!(json["components"][0]["tag"], Value::Null);
    assert_eq!(json["components"][0]["error"]["exit"], 1);
    assert_eq!(json["components"][1]["tag"], "0.95.0-alpha.6");
    assert_eq!(json["components"][1]["git_tag"], "0.95.0a6");
}

#[test]
fn refusals_say_what_mends_them() {
    let fleet = checkouts();
    commit(&fleet, "reana-db");
    let address = format!("file://{}", fleet.place.path("fleet/reana-db").display());
    fleet.git("reana-db", &["clone", "-q", "--depth=1", &address, "../shallow"]);
    fleet.git("reana-db", &["tag", "-d", "0.1.0"]);
    fleet.git("reana-server", &["tag", "a/b"]);
    fleet.git("reana-server", &["tag", "-d", "0.1.0"]);
    fleet.file("reana-server/inner/setup.py", "").file("plain/x", "");
    let run = |what: &str, code: i32| {
        let output = fleet.place.run_in("fleet", &["tag", what]).expect_code(code);
        assert_eq!(output.stdout, "");
        output.stderr
    };
    expect![[r#"
        error: [ROOT]/fleet/shallow: a shallow clone, whose history does not tell which tag is the nearest

        hint: `git -C [ROOT]/fleet/shallow fetch --unshallow --tags` fetches the rest (in CI: `fetch-depth: 0`)
    "#]].assert_eq(&run("shallow", 4));
    expect![[r#"
        error: [ROOT]/fleet/reana-db: no tag is in the commit's history

        hint: `git -C [ROOT]/fleet/reana-db fetch --tags` fetches the tags; a repository without any needs one (`git tag 0.1.0`)
    "#]].assert_eq(&run("reana-db", 4));
    expect![[r#"
        error: [ROOT]/fleet/reana-server: the git tag `a/b` gives no image tag: `a/b` is no image tag: up to 128 letters, digits, `_`, `.` and `-` are expected, the first of them no `.` or `-`

        hint: images can't be called so: tag the commit with another name
    "#]].assert_eq(&run("reana-server", 2));
    expect![[r#"
        error: [ROOT]/fleet/reana-server/inner: no git repository of its own (it is inside of [ROOT]/fleet/reana-server, which says nothing about it)

        hint: name the top of the repository; an unpacked archive has no history to make a tag from
    "#]].assert_eq(&run("reana-server/inner", 2));
    assert!(run("plain", 2).contains("plain: no git repository of its own\n"));
    assert!(run("nobody", 2).contains("`nobody`: no such file or folder"));
    assert!(run("plain/x", 2).contains("`plain/x`: not a folder"));
    // The command that is named mends it.
    fleet.git("reana-db", &["tag", "0.2.0"]);
    fleet.git("shallow", &["fetch", "-q", "--unshallow", "--tags"]);
    assert_eq!(fleet.place.run_in("fleet", &["tag", "shallow"]).expect_code(0).stdout, "0.2.0\n");
}

#[test]
fn no_git_is_no_answer() {
    let sandbox = Sandbox::new(Path::new(PROGRAM)).env("PATH", "/nowhere");
    let output = sandbox.run(&["tag"]).expect_code(4);
    assert!(output.stderr.contains("git could not be run"), "{}", output.stderr);
    assert_eq!(output.stdout, "");
}
