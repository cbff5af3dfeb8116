//! `reana-lock bump`: the newest that all can take, edits to the byte, all or nothing.

use expect_test::expect;

use crate::checkouts::{CONTROLLER, Checkouts, NAMES, OPERATOR, SERVER, checkouts};
use crate::harness::{pins, sha256};

#[test]
fn the_newest_that_all_can_take() {
    let fleet = checkouts();
    let output = fleet.run(&["bump"]).expect_code(0);
    assert_eq!(output.stdout, "");
    expect![[r#"
        reana-commons 0.95.0a25
          0.95.0a26 is held back by reana-server: reana-server/setup.py:15 requires yadage-schemas==0.10.6
        reana-db 0.95.0a13
        reana-dask-operator:
          reana-dask-operator/pyproject.toml:5: reana-commons ~= 0.95.0a20 -> reana-commons ~= 0.95.0a25
          reana-dask-operator/pyproject.toml:8: reana-db[tests]>=0.95.0a10 -> reana-db[tests]>=0.95.0a13
          lock: reana-commons 0.95.0a20 -> 0.95.0a25
          lock: reana-db 0.95.0a10 is no longer required
          lock: yadage-schemas 0.10.6 is no longer required
          lock: 1 other pin gets other hashes
        reana-db:
          reana-db/setup.py:2: reana-commons>=0.95.0a15,<0.96.0 -> reana-commons>=0.95.0a25,<0.96.0
        reana-job-controller:
          reana-job-controller/requirements.in:3: reana-commons[kubernetes]<0.96 -> reana-commons[kubernetes]>=0.95.0a25,<0.96
          reana-job-controller/requirements.in:2: reana-db -> reana-db>=0.95.0a13
          lock: alembic 1.1 is new
          lock: reana-commons 0.95.0a20 -> 0.95.0a25
          lock: reana-db 0.95.0a10 -> 0.95.0a13
          lock: yadage-schemas 0.10.6 is no longer required
          lock: 1 other pin gets other hashes
        reana-server:
          reana-server/setup.py:5: reana-commons[yadage,tests]>=0.95.0a21,<0.96.0 -> reana-commons[yadage,tests]>=0.95.0a25,<0.96.0
          reana-server/setup.py:12: reana-commons[yadage]>=0.95.0a21,<0.96.0 -> reana-commons[yadage]>=0.95.0a25,<0.96.0
          reana-server/setup.py:6: reana-db[tests] >= 0.95.0a10, <0.96.0 ; python_version >= "3.8" -> reana-db[tests] >= 0.95.0a13, <0.96.0 ; python_version >= "3.8"
          reana-server/setup.py:14: reana-db>=0.95.0a10,<0.96.0 -> reana-db>=0.95.0a13,<0.96.0
          lock: alembic 1.1 is new
          lock: reana-commons 0.95.0a20 -> 0.95.0a25
          lock: reana-commons-extra 0.2 is new
          lock: reana-db 0.95.0a10 -> 0.95.0a13
          lock: 2 other pins get other hashes
        reana-workflow-controller:
          reana-workflow-controller/setup.cfg:6: Reana_Commons [kubernetes] >=0.95.0a17,<0.96.0 -> Reana_Commons [kubernetes] >=0.95.0a25,<0.96.0
          reana-workflow-controller/setup.cfg:7: reana-db>=0.95.0a9 -> reana-db>=0.95.0a13
          lock: alembic 1.1 is new
          lock: reana-commons 0.95.0a20 -> 0.95.0a25
          lock: reana-db 0.95.0a10 -> 0.95.0a13
          lock: yadage-schemas 0.10.6 is no longer required
          lock: 1 other pin gets other hashes
        reana-workflow-engine-serial:
          reana-workflow-engine-serial/setup.py:2: reana-commons==0.95.0a20 -> reana-commons==0.95.0a25
          lock: reana-commons 0.95.0a20 -> 0.95.0a25
          lock: reana-db 0.95.0a10 is no longer required
          lock: yadage-schemas 0.10.6 is no longer required
          lock: 1 other pin gets other hashes
        Release in this order: reana-db, reana-workflow-engine-serial; then reana-dask-operator, reana-job-controller, reana-server, reana-workflow-controller.
    "#]].assert_eq(&output.stderr);
    edited_to_the_byte(&fleet);
    assert_eq!(
        pins(&fleet.read("reana-server/requirements.txt")),
        [
            "alembic==1.1",
            "click==8.0",
            "reana-commons[yadage]==0.95.0a25",
            "reana-commons-extra==0.2",
            "reana-db==0.95.0a13",
            "yadage-schemas==0.10.6"
        ]
    );
    assert!(!fleet.exists("fleet/reana-db/requirements.txt"));
    // What was written is what a run of compile would write, and a second bump finds nothing to do.
    let _ = fleet.run(&["compile", "--check"]).expect_code(0);
    let before = fleet.snapshot();
    let output = fleet.run(&["bump"]).expect_code(0);
    assert!(output.stderr.contains("Nothing is raised"), "{}", output.stderr);
    assert!(output.stderr.contains("0.95.0a26 is held back by reana-server"), "{}", output.stderr);
    assert_eq!(fleet.snapshot(), before);
}

fn edited_to_the_byte(fleet: &Checkouts) {
    let server = SERVER
        .replace("    \"reana-commons[yadage]>=0.95.0a21", "    \"reana-commons[yadage]>=0.95.0a25")
        .replace(
            "    \"reana-commons[yadage,tests]>=0.95.0a21",
            "    \"reana-commons[yadage,tests]>=0.95.0a25",
        )
        .replace(">= 0.95.0a10", ">= 0.95.0a13")
        .replace("\">=0.95.0a10\"", "\">=0.95.0a13\"");
    assert_eq!(fleet.read("reana-server/setup.py"), server);
    let controller = CONTROLLER.replace(">=0.95.0a17", ">=0.95.0a25").replace(">=0.95.0a9", ">=0.95.0a13");
    assert_eq!(fleet.read("reana-workflow-controller/setup.cfg"), controller);
    let operator = OPERATOR.replace("~= 0.95.0a20", "~= 0.95.0a25").replace(">=0.95.0a10", ">=0.95.0a13");
    assert_eq!(fleet.read("reana-dask-operator/pyproject.toml"), operator);
    assert_eq!(
        fleet.read("reana-job-controller/requirements.in"),
        "# the controller\nreana-db>=0.95.0a13  # newest\nreana-commons[kubernetes]>=0.95.0a25,<0.96\n"
    );
    assert!(fleet.read("reana-workflow-engine-serial/setup.py").contains("'reana-commons==0.95.0a25'"));
    assert!(fleet.read("reana-db/setup.py").contains("'reana-commons>=0.95.0a25,<0.96.0', 'alembic'"));
}

#[test]
fn a_dry_run_shows_all_and_writes_nothing() {
    let fleet = checkouts();
    let before = fleet.snapshot();
    let output = fleet.run(&["bump", "reana-db", "--dry-run"]).expect_code(0);
    assert_eq!(fleet.snapshot(), before);
    let files: Vec<&str> = output.stdout.lines().filter_map(|line| line.strip_prefix("+++ ")).collect();
    assert_eq!(
        files,
        [
            "reana-dask-operator/pyproject.toml",
            "reana-dask-operator/requirements.txt",
            "reana-job-controller/requirements.in",
            "reana-job-controller/requirements.txt",
            "reana-server/setup.py",
            "reana-server/requirements.txt",
            "reana-workflow-controller/setup.cfg",
            "reana-workflow-controller/requirements.txt"
        ]
    );
    for line in [
        "+    \"reana-db\" \">=0.95.0a13\" \",<0.96.0\",",
        "-reana-db  # newest",
        "+reana-db>=0.95.0a13  # newest",
    ] {
        assert!(output.stdout.lines().any(|it| it == line), "{line}\n{}", output.stdout);
    }
    fleet.place.no_leftovers();
}

/// Each row of the table in each kind of manifest, through the command.
#[test]
fn every_rule_in_every_manifest() {
    let world = ["1.0", "1.2", "1.2.3", "2.0", "2.3"]
        .iter()
        .fold(reana_testkit::World::new(), |world, version| world.with("dep", version, &[]));
    let place = crate::harness::place(&world);
    let index = place.path("index/simple").to_string_lossy().into_owned();
    let rows = [
        (">=1.0", "1.2", ">=1.2"),
        (">1.0", "1.2", ">=1.2"),
        ("~=1.0", "1.2.3", "~=1.2"),
        ("==1.0", "1.2", "==1.2"),
        ("==1.0.*", "1.2.3", "==1.2.*"),
        (">=1.0,<2", "1.2", ">=1.2,<2"),
        (">=1.0,<2", "2.3", ">=2.3,<3"),
        (">=1.0,<2.0.0", "2.3", ">=2.3,<3.0.0"),
        (">=1.0,<=1.2", "2.0", ">=2.0,<=2.0"),
        (">=1.0,!=1.1", "1.2", ">=1.2,!=1.1"),
        ("", "1.2", ">=1.2"),
        ("<2", "1.2", ">=1.2,<2"),
        (">=2.0", "1.2", ">=2.0"),
    ];
    for (before, to, after) in rows {
        let manifests = |bounds: &str| {
            [
                (
                    "py/setup.py",
                    format!(
                        "from setuptools import setup\nsetup(name='py', install_requires=['dep{bounds}'])\n"
                    ),
                ),
                (
                    "cfg/setup.cfg",
                    format!("[metadata]\nname = cfg\n[options]\ninstall_requires =\n  dep{bounds}\n"),
                ),
                (
                    "toml/pyproject.toml",
                    format!("[project]\nname='toml'\nversion='1'\ndependencies=[\"dep{bounds}\"]\n"),
                ),
                ("in/requirements.in", format!("dep{bounds}\n")),
            ]
        };
        for (path, text) in manifests(before) {
            place.file(&format!("fleet/{path}"), text);
            let lock = path.split('/').next().unwrap_or_default();
            place.file(&format!("fleet/{lock}/requirements.txt"), "dep==1.0\n");
        }
        let output =
            place.run_in("fleet", &["bump", &format!("dep=={to}"), "--index-url", &index]).expect_code(0);
        for (path, text) in manifests(after) {
            assert_eq!(place.read(&format!("fleet/{path}")), text, "{before} to {to}: {}", output.stderr);
        }
        if before != after {
            assert_eq!(place.pins("fleet/py/requirements.txt"), [format!("dep=={to}")], "{before}");
        }
    }
    place.file("fleet/in/requirements.in", "dep!=1.2\n");
    let output = place.run_in("fleet", &["bump", "dep==1.2", "--index-url", &index]);
    assert_ne!(output.code, 0, "{output}");
    assert_eq!(place.read("fleet/in/requirements.in"), "dep!=1.2\n");
}

#[test]
fn dependency_groups_are_raised_too() {
    let place =
        crate::harness::place(&reana_testkit::World::new().with("dep", "1.0", &[]).with("dep", "2.0", &[]));
    let index = place.path("index/simple").to_string_lossy().into_owned();
    let text =
        "[project]\nname = 'one'\nversion = '1'\n[dependency-groups]\ndev = [\"dep>=1.0\"] # dep>=1.0\n";
    place.file("fleet/one/pyproject.toml", text).file("fleet/two/requirements.in", "dep\n");
    place.file("fleet/two/requirements.txt", "dep==1.0\n");
    let _ = place.run_in("fleet", &["bump", "dep", "--index-url", &index]).expect_code(0);
    assert_eq!(place.read("fleet/one/pyproject.toml"), text.replace("[\"dep>=1.0", "[\"dep>=2.0"));
    assert_eq!(place.read("fleet/two/requirements.in"), "dep>=2.0\n");
    assert_eq!(place.pins("fleet/two/requirements.txt"), ["dep==2.0"]);
}

#[test]
fn a_bound_built_by_code_leaves_everything_untouched() {
    let fleet = checkouts();
    fleet.file(
        "reana-workflow-engine-serial/setup.py",
        "from setuptools import setup\nV = '0.95.0a20'\nsetup(name='reana-workflow-engine-serial', install_requires=[\n    f'reana-commons>={V}',\n])\n",
    );
    fleet.git("reana-workflow-engine-serial", &["commit", "-q", "--no-gpg-sign", "-a", "-m", "built"]);
    let before = fleet.snapshot();
    let output = fleet.run(&["bump"]).expect_code(2);
    expect![[r#"
        error: reana-workflow-engine-serial/setup.py:4: `reana-commons>=0.95.0a20` is built by code, and can't be edited safely

        hint: nothing was written anywhere; raise these by hand, or write them as plain text
    "#]].assert_eq(&output.stderr);
    assert_eq!(fleet.snapshot(), before);
    fleet.place.no_leftovers();
}

#[test]
fn uncommitted_changes_are_refused_unless_allowed() {
    let fleet = checkouts();
    let text = fleet.read("reana-db/setup.py");
    fleet.file("reana-db/setup.py", &format!("{text}# mine\n"));
    let before = fleet.snapshot();
    let output = fleet.run(&["bump", "reana-commons"]).expect_code(2);
    expect![[r#"
        error: reana-db/setup.py: it has uncommitted changes

        hint: commit or stash them first, or give `--allow-dirty`
    "#]]
    .assert_eq(&output.stderr);
    assert_eq!(fleet.snapshot(), before);
    let _ = fleet.run(&["bump", "reana-commons", "--allow-dirty"]).expect_code(0);
    assert_eq!(
        fleet.read("reana-db/setup.py"),
        format!("{}# mine\n", text.replace("0.95.0a15", "0.95.0a25"))
    );
    // What else is changed in the checkout is nobody's business.
    let fleet = checkouts();
    fleet.file("reana-db/notes.txt", "mine");
    fleet.file("reana-server/Dockerfile", "FROM python:3.12\nRUN pip install -r requirements.txt\n# mine\n");
    let _ = fleet.run(&["bump"]).expect_code(0);
}

#[test]
fn one_commit_for_each_repository() {
    let fleet = checkouts();
    fleet.git("reana-server", &["update-index", "--chmod=+x", "setup.py"]);
    fleet.git("reana-server", &["commit", "-q", "--no-gpg-sign", "-m", "mode"]);
    fleet.file("reana-server/staged.txt", "mine");
    fleet.git("reana-server", &["add", "staged.txt"]);
    fleet.git("reana-server", &["config", "core.fileMode", "false"]);
    fleet.hooks();
    let output = fleet.run(&["bump", "--commit"]).expect_code(0);
    assert!(output.stderr.contains("No hook was run and nothing was signed."), "{}", output.stderr);
    assert!(!fleet.exists("hooks-ran"));
    for name in NAMES.into_iter().filter(|name| *name != "reana-commons") {
        let log = fleet.git(name, &["-c", "core.hooksPath=/dev/null", "log", "-1", "--format=%s|%an|%G?"]);
        let (subject, rest) = log.trim().split_once('|').unwrap_or_default();
        assert!(subject.starts_with("chore(master): bump shared REANA packages as of 20"), "{subject}");
        assert_eq!(rest, "Nobody|N");
        let status = fleet.git(name, &["-c", "core.hooksPath=/dev/null", "status", "--porcelain"]);
        assert_eq!(status, if name == "reana-server" { "A  staged.txt\n" } else { "" }, "{name}");
    }
    let files = fleet.git("reana-server", &["show", "--raw", "--format=", "--abbrev=4"]);
    let modes: Vec<String> = files
        .lines()
        .map(|line| {
            let words: Vec<&str> = line.split_whitespace().collect();
            format!("{} {}", words[1], words[5])
        })
        .collect();
    assert_eq!(modes, ["100644 requirements.txt", "100755 setup.py"]);
    assert_eq!(fleet.git("reana-commons", &["rev-list", "--count", "HEAD"]), "1\n");
}

#[test]
fn default_branches_are_not_committed_to() {
    let fleet = checkouts();
    fleet.git("reana-db", &["checkout", "-q", "master"]);
    fleet.git("reana-server", &["checkout", "-q", "--detach"]);
    let before = fleet.snapshot();
    let output = fleet.run(&["bump", "--commit"]).expect_code(2);
    expect![[r#"
        error: reana-db: `master` is the default branch
        reana-server: no branch is checked out, so there is nothing to commit to

        hint: make a branch first, or give `--on-default-branch`
    "#]]
    .assert_eq(&output.stderr);
    assert_eq!(fleet.snapshot(), before);
    fleet.git("reana-server", &["checkout", "-q", "work"]);
    let _ =
        fleet.run(&["bump", "--commit", "--on-default-branch", "--message", "Raise ({date})"]).expect_code(0);
    assert!(fleet.git("reana-db", &["log", "-1", "--format=%s", "master"]).starts_with("Raise (20"));
    // The branch that `origin` calls its default is the default one, whatever its name.
    let fleet = checkouts();
    fleet.git("reana-db", &["update-ref", "refs/remotes/origin/work", "HEAD"]);
    fleet.git("reana-db", &["symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/work"]);
    let output = fleet.run(&["bump", "--commit"]).expect_code(2);
    assert!(output.stderr.contains("reana-db: `work` is the default branch"), "{}", output.stderr);
}

#[test]
fn a_branch_that_can_not_be_moved_takes_all_back() {
    let fleet = checkouts();
    let before = fleet.snapshot();
    // Another git holds the last repository's branch.
    fleet.file("reana-workflow-engine-serial/.git/refs/heads/work.lock", "");
    let output = fleet.run(&["bump", "--commit"]).expect_code(2);
    assert!(output.stderr.contains("nothing was changed: branches and files are as they were"), "{output}");
    assert_eq!(fleet.snapshot(), before);
    for name in NAMES {
        assert_eq!(fleet.git(name, &["status", "--porcelain"]), "", "{name}");
    }
    fleet.place.no_leftovers();
}

#[test]
fn what_others_were_about_to_change_is_not_committed() {
    let fleet = checkouts();
    let text = fleet.read("reana-db/setup.py");
    fleet.file("reana-db/setup.py", &format!("{text}# mine\n"));
    let before = fleet.snapshot();
    let output = fleet.run(&["bump", "--commit", "--allow-dirty"]).expect_code(2);
    assert!(output.stderr.contains("`--commit` would commit them as well"), "{output}");
    assert_eq!(fleet.snapshot(), before);
}

#[test]
fn a_run_that_was_killed_between_two_repositories_is_finished() {
    let fleet = checkouts();
    let db = fleet.read("reana-db/setup.py");
    let serial = fleet.read("reana-workflow-engine-serial/setup.py");
    let (db_new, serial_new) = (db.replace("a15", "a25"), serial.replace("a20", "a25"));
    fleet
        .file("reana-db/setup.py", &db_new)
        .file("reana-db/.setup.py.reana-lock-old", &db)
        .file("reana-workflow-engine-serial/.setup.py.reana-lock-new", &serial_new)
        .file("reana-workflow-engine-serial/.setup.py.reana-lock-old", &serial);
    let entry = |path: &str, old: &str, new: &str| {
        let (old, new) = (sha256(old.as_bytes()), sha256(new.as_bytes()));
        format!(r#"{{"path": "{path}", "old": "{old}", "new": "{new}"}}"#)
    };
    let files = [
        entry("reana-db/setup.py", &db, &db_new),
        entry("reana-workflow-engine-serial/setup.py", &serial, &serial_new),
    ];
    fleet.file(".reana-lock.journal", &format!(r#"{{"format": 1, "files": [{}]}}"#, files.join(", ")));
    let output = fleet.run(&["bump", "-n", "reana-commons"]).expect_code(0);
    assert!(
        output.stderr.contains("a run that was stopped had begun to write, which is finished now"),
        "{}",
        output.stderr
    );
    assert_eq!(fleet.read("reana-db/setup.py"), db_new);
    assert_eq!(fleet.read("reana-workflow-engine-serial/setup.py"), serial_new);
    assert!(!fleet.exists("fleet/.reana-lock.journal"));
}

#[test]
fn versions_from_the_checkouts() {
    let fleet = checkouts();
    let output = fleet.run(&["bump", "--from-checkout"]).expect_code(0);
    assert!(output.stderr.starts_with("reana-commons 0.95.0a25\nreana-db 0.95.0a13\n"), "{}", output.stderr);
    let fleet = checkouts();
    let text = fleet.read("reana-commons/setup.py").replace("0.95.0a25", "0.95.0a28");
    fleet.file("reana-commons/setup.py", &text);
    let before = fleet.snapshot();
    let output = fleet.run(&["bump", "--from-checkout"]).expect_code(2);
    expect![[r#"
        error: reana-commons 0.95.0a28 is not on the index

        hint: release reana-commons 0.95.0a28 from reana-commons first; the order of releases is: reana-commons; then reana-db, reana-workflow-engine-serial; then reana-dask-operator, reana-job-controller, reana-server, reana-workflow-controller
    "#]].assert_eq(&output.stderr);
    assert_eq!(fleet.snapshot(), before);
}

#[test]
fn versions_that_can_not_be_raised_to() {
    let fleet = checkouts();
    let before = fleet.snapshot();
    let check = |args: &[&str], code: i32, expected: &str| {
        let output = fleet.run(&[&["bump"], args].concat()).expect_code(code);
        assert!(output.stderr.contains(expected), "{args:?}: {}", output.stderr);
        assert_eq!(fleet.snapshot(), before);
    };
    check(&["reana-commons==0.95.0a27"], 2, "reana-commons 0.95.0a27 was yanked");
    check(&["reana-commons==0.95.0a99"], 2, "reana-commons 0.95.0a99 is not on the index");
    check(&["reana-commons==0.95.0a26"], 3, "reana-server: reana-commons 0.95.0a26 can't be taken");
    check(&["reana-commons==0.95.0a26"], 3, "reana-server/setup.py:15");
    check(&["nothing"], 2, "no repository of the fleet requires nothing");
    check(&["reana-db", "reana_db==1"], 2, "reana-db is named twice");
    check(&["reana-db=1"], 2, "neither a package nor `package==version`");
    check(&["reana-db==1+local"], 2, "a local version is on no index");
    check(&["--format", "github"], 2, "--format github");
}

#[test]
fn only_the_named_packages_move() {
    let fleet = checkouts();
    let output = fleet.run(&["bump", "reana-commons==0.95.0a21", "--format", "json"]).expect_code(0);
    let answer: serde_json::Value = serde_json::from_str(&output.stdout).expect("JSON");
    assert_eq!(answer["packages"][0]["version"], "0.95.0a21");
    assert_eq!(answer["written"], true);
    assert_eq!(
        pins(&fleet.read("reana-server/requirements.txt"))[..],
        [
            "click==8.0",
            "reana-commons[yadage]==0.95.0a21",
            "reana-commons-extra==0.2",
            "reana-db==0.95.0a10",
            "yadage-schemas==0.10.6",
        ]
    );
    // The server's minimum is there already; its lock was behind, and is made anew.
    assert_eq!(fleet.read("reana-server/setup.py"), SERVER);
}

#[test]
fn answers_for_scripts() {
    let fleet = checkouts();
    let output = fleet.run(&["bump", "-n", "--format", "json"]).expect_code(0);
    assert_eq!(output.stderr, "");
    let answer: serde_json::Value = serde_json::from_str(&output.stdout).expect("JSON");
    let held = &answer["packages"][0]["held_back"][0];
    assert_eq!(held["version"], "0.95.0a26");
    assert_eq!(held["repository"], "reana-server");
    assert_eq!(held["lines"][0]["file"], "reana-server/setup.py");
    assert_eq!(held["lines"][0]["line"], 15);
    assert_eq!(held["lines"][0]["requirement"], "yadage-schemas==0.10.6");
    assert_eq!(answer["packages"][1]["version"], "0.95.0a13");
    assert_eq!(answer["written"], false);
    assert_eq!(answer["release_order"][0][0], "reana-db");
    let server = &answer["repositories"][3];
    assert_eq!(server["name"], "reana-server");
    assert_eq!(server["new_in_lock"][0], "alembic");
    assert_eq!(server["raised"].as_array().map(Vec::len), Some(4));
}
