//! `reana-lock fleet`: who requires whom, and how each repository stands.
#![expect(clippy::disallowed_methods, reason = "tests make locks that are no text")]

use std::os::unix::fs::PermissionsExt as _;

use expect_test::{Expect, expect};

use crate::checkouts::{Checkouts, checkouts};

/// Without the days that a lock is old, which go on.
fn ageless(text: &str) -> String {
    let mut out = String::new();
    for line in text.lines() {
        let words: Vec<&str> = line
            .split("; ")
            .map(|word| {
                if word.starts_with("lock ") {
                    word.split_once(", ").map_or("lock", |(_, rest)| rest)
                } else {
                    word
                }
            })
            .collect();
        out.push_str(words.join("; ").trim_end());
        out.push('\n');
    }
    out
}

fn check(fleet: &Checkouts, args: &[&str], expected: &Expect) {
    let output = fleet.run(&[&["fleet"], args].concat()).expect_code(0);
    expected.assert_eq(&format!("{}{}", ageless(&output.stdout), output.stderr));
}

#[test]
fn a_fleet_of_checkouts() {
    let fleet = checkouts();
    fleet.file("reana-ui/Dockerfile", "FROM node\n");
    fleet.file("reana-server/setup.py", &format!("{}# more\n", crate::checkouts::SERVER));
    check(
        &fleet,
        &[],
        &expect![[r#"
            1   reana-commons                 shared package; 0.95.0a25; work, clean, 0.1.0
            1   reana-ui                      image; no git repository
            2   reana-db                      shared package; 0.95.0a13; work, clean, 0.1.0
                  reana-commons>=0.95.0a15,<0.96.0 (reana-db/setup.py:2)
            2   reana-workflow-engine-serial  locked, image; 1; work, clean, 0.1.0; 4 of 4 pins behind
                  reana-commons==0.95.0a20 (reana-workflow-engine-serial/setup.py:2)
            3   reana-dask-operator           locked, image; 1; work, clean, 0.1.0; 4 of 4 pins behind
                  reana-commons ~= 0.95.0a20 (reana-dask-operator/pyproject.toml:5)
                  reana-db[tests]>=0.95.0a10 (reana-dask-operator/pyproject.toml:8, for [tests])
            3   reana-job-controller          locked, image; work, clean, 0.1.0; 4 of 4 pins behind
                  reana-db (reana-job-controller/requirements.in:2)
                  reana-commons[kubernetes]<0.96 (reana-job-controller/requirements.in:3)
            3   reana-server                  locked, image; 0.95.0a6; work, dirty, 0.1.0; 4 of 4 pins behind
                  reana-commons[yadage]>=0.95.0a21,<0.96.0 (reana-server/setup.py:12)
                  reana-db>=0.95.0a10,<0.96.0 (reana-server/setup.py:14)
                  reana-commons[yadage,tests]>=0.95.0a21,<0.96.0 (reana-server/setup.py:5, for [tests])
                  reana-db[tests] >= 0.95.0a10, <0.96.0 ; python_version >= "3.8" (reana-server/setup.py:6, for [tests])
            3   reana-workflow-controller     locked, image; 1; work, clean, 0.1.0; 4 of 4 pins behind
                  Reana_Commons [kubernetes] >=0.95.0a17,<0.96.0 (reana-workflow-controller/setup.cfg:6)
                  reana-db>=0.95.0a9 (reana-workflow-controller/setup.cfg:7)
        "#]],
    );
}

#[test]
fn single_repositories() {
    let fleet = checkouts();
    check(
        &fleet,
        &["r-w-e-serial", "--offline"],
        &expect![[r#"
            2   reana-workflow-engine-serial  locked, image; 1; work, clean, 0.1.0; not known how many of 4 pins are behind
                  reana-commons==0.95.0a20 (reana-workflow-engine-serial/setup.py:2)
        "#]],
    );
    check(
        &fleet,
        &["reana-db"],
        &expect![[r#"
            2   reana-db  shared package; 0.95.0a13; work, clean, 0.1.0
                  reana-commons>=0.95.0a15,<0.96.0 (reana-db/setup.py:2)
        "#]],
    );
    let output = fleet.run(&["fleet", "nothing"]).expect_code(2);
    assert!(output.stderr.contains("no component is called so"), "{}", output.stderr);
}

#[test]
fn those_that_require_one_another() {
    let fleet = checkouts();
    let text = fleet.read("reana-commons/setup.py").replace("'click'", "'click', 'reana-db'");
    fleet.file("reana-commons/setup.py", &text);
    let output = fleet.run(&["fleet", "--offline"]).expect_code(0);
    expect![[r#"
        warning: reana-commons, reana-db require one another: no order of releases satisfies them all
    "#]]
    .assert_eq(&output.stderr);
}

#[test]
fn answers_for_scripts() {
    let fleet = checkouts();
    fleet.file("reana-lock.toml", "shared = ['reana-commons', 'reana-db']\n");
    let output = fleet.run(&["fleet", "--format", "json"]).expect_code(0);
    let answer: serde_json::Value = serde_json::from_str(&output.stdout).expect("JSON");
    assert_eq!(answer["order"][0], serde_json::json!(["reana-commons"]));
    assert_eq!(answer["shared"], serde_json::json!(["reana-commons", "reana-db"]));
    let server =
        answer["repositories"].as_array().and_then(|all| all.iter().find(|it| it["name"] == "reana-server"));
    let server = server.expect("the server");
    assert_eq!(server["lock"]["behind"], 4);
    assert_eq!(server["lock"]["committed"], "2026-01-02T03:04:05Z");
    assert_eq!(server["git"]["branch"], "work");
    assert_eq!(server["git"]["description"], "0.1.0");
    assert_eq!(
        server["requires"][0],
        serde_json::json!({
            "package": "reana-commons",
            "extras": ["yadage"],
            "bounds": ">=0.95.0a21, <0.96.0",
            "requirement": "reana-commons[yadage]>=0.95.0a21,<0.96.0",
            "for_extra": null,
            "file": "reana-server/setup.py",
            "line": 12,
        })
    );
}

#[test]
fn plain_folders_are_as_good() {
    let place = crate::harness::place(&crate::checkouts::world());
    place.file("fleet/one/setup.py", "from setuptools import setup\nsetup(name='one', version='1')\n");
    place.file("fleet/two/requirements.in", "one\n").file("fleet/two/requirements.txt", "one==1\n");
    let output = place.run_in("fleet", &["fleet", "--offline"]).expect_code(0);
    expect![[r#"
        1   one  shared package; 1; no git repository
        2   two  locked; no git repository; lock never committed, not known how many of 1 pins are behind
              one (two/requirements.in:1)
    "#]]
    .assert_eq(&output.stdout);
}

#[test]
fn a_package_that_is_checked_out_twice() {
    let fleet = checkouts();
    let text = fleet.read("reana-commons/setup.py");
    fleet.file("commons-fork/setup.py", &text.replace("0.95.0a25", "0.95.0a21"));
    let output = fleet.run(&["fleet", "--format", "json"]).expect_code(0);
    expect![[r#"
        warning: reana-commons is made by several repositories (commons-fork, reana-commons): commons-fork counts
    "#]]
    .assert_eq(&output.stderr);
    let output = fleet.run(&["bump", "-n", "--from-checkout"]).expect_code(2);
    expect![[r#"
        warning: reana-commons is made by several repositories (commons-fork, reana-commons): commons-fork counts
        error: --from-checkout: commons-fork and reana-commons both make reana-commons

        hint: name the version: `reana-lock bump reana-commons==VERSION`
    "#]]
    .assert_eq(&output.stderr);
    // Where both are at the same version, it doesn't matter which one counts.
    fleet.file("commons-fork/setup.py", &text);
    let output = fleet.run(&["bump", "-n", "--from-checkout", "reana-commons"]).expect_code(0);
    assert!(output.stderr.contains("\nreana-commons 0.95.0a25\n"), "{}", output.stderr);
}

#[test]
fn what_can_not_be_read_is_told() {
    let fleet = checkouts();
    let path = fleet.place.path("fleet/reana-server/requirements.txt");
    std::fs::write(path, b"# \xe9\nclick==8.0\n").expect("a lock");
    fleet.file("reana-db/.git/config", "[core]\n\trepositoryformatversion = 99\n");
    let output = fleet.run(&["fleet"]).expect_code(0);
    let mut lines = output.stderr.lines();
    let db = lines.next().unwrap_or_default();
    assert!(db.starts_with("warning: [ROOT]/fleet/reana-db: git rev-parse failed: "), "{}", output.stderr);
    assert!(db.contains("99"), "{db}");
    assert_eq!(lines.next(), Some("warning: [ROOT]/fleet/reana-server/requirements.txt: not UTF-8 text"));
    assert!(output.stdout.contains("reana-server                  locked, image"), "{}", output.stdout);
}

#[test]
fn odd_repositories() {
    let fleet = checkouts();
    let setup = "from setuptools import setup\nsetup(name='fresh', version='1', install_requires=['reana-commons>=0.95.0a20'])\n";
    fleet.file("fresh/setup.py", setup);
    fleet.git("fresh", &["init", "-q", "-b", "work"]);
    fleet.git("reana-db", &["checkout", "-q", "--detach"]);
    fleet.git("reana-server", &["worktree", "add", "-q", "../server-two", "-b", "two"]);
    std::os::unix::fs::symlink("reana-server", fleet.place.path("fleet/linked")).expect("a link");
    let output = fleet.run(&["fleet"]).expect_code(0);
    assert_eq!(output.stderr, "");
    let line = |name: &str| {
        let found = output.stdout.lines().find(|line| line.split_whitespace().nth(1) == Some(name));
        found.map(ageless).unwrap_or_default().trim().to_owned()
    };
    assert_eq!(line("fresh"), "2   fresh                         not locked; 1; work, clean, no commit");
    assert_eq!(
        line("reana-db"),
        "2   reana-db                      shared package; 0.95.0a13; no branch, clean, 0.1.0"
    );
    assert!(line("server-two").contains("; two, clean, 0.1.0"), "{}", output.stdout);
    assert_eq!(line("linked"), "", "the folder that it leads to is there by its own name");
    let before = fleet.snapshot();
    let output = fleet.run(&["bump", "reana-commons", "--commit"]).expect_code(2);
    expect![[r#"
        error: fresh/setup.py: it has uncommitted changes
        reana-db: no branch is checked out, so there is nothing to commit to

        hint: commit or stash them first: `--commit` would commit them as well
    "#]]
    .assert_eq(&output.stderr);
    assert_eq!(fleet.snapshot(), before);
    fleet.git("fresh", &["config", "user.name", "N"]);
    fleet.git("fresh", &["config", "user.email", "n@example.org"]);
    fleet.git("fresh", &["add", "setup.py"]);
    fleet.git("fresh", &["commit", "-qm", "all"]);
    fleet.git("reana-db", &["checkout", "-q", "work"]);
    let _ = fleet.run(&["bump", "reana-commons", "--commit"]).expect_code(0);
    for (name, branch) in [("reana-server", "work"), ("server-two", "two"), ("fresh", "work")] {
        assert!(
            fleet.git(name, &["log", "-1", "--format=%s", branch]).starts_with("chore(master): bump"),
            "{name}"
        );
        assert_eq!(fleet.git(name, &["status", "--porcelain"]), "", "{name}");
    }
}

#[test]
fn a_folder_that_can_not_be_looked_into() {
    let fleet = checkouts();
    let folder = fleet.place.path("fleet/reana-db");
    let mode =
        |mode| std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(mode)).expect("a mode");
    mode(0);
    if std::fs::read_dir(&folder).is_ok() {
        mode(0o755);
        return eprintln!("SKIPPED: this user may look into every folder");
    }
    let told = "warning: [ROOT]/fleet/reana-db: can't read: Permission denied (os error 13); if a component is in it, it is left out\n";
    for args in [&["fleet"][..], &["bump", "-n", "reana-commons"], &["compile", "-n"]] {
        let output = fleet.run(args).expect_code(0);
        assert!(output.stderr.starts_with(told), "{args:?}: {}", output.stderr);
    }
    mode(0o755);
}
