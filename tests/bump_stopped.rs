//! Runs of `bump --commit` that were killed: what they had left is told, and finished.
#![expect(clippy::disallowed_methods, reason = "tests put a git in the way that kills its caller")]

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

use expect_test::expect;

use crate::checkouts::{Checkouts, NAMES, checkouts};
use crate::harness::PROGRAM;

/// Runs `bump --commit` with a git that kills its caller where this many branches have moved.
fn stopped_after(moved: usize, fleet: &Checkouts) {
    let folder = fleet.place.path("bin");
    let count = fleet.place.path("moved").to_string_lossy().into_owned();
    let script = format!(
        "#!/bin/sh\nPATH=/usr/local/bin:/usr/bin:/bin\ncase \" $* \" in *' update-ref '*)\n\
         if [ \"$(cat '{count}' | wc -l)\" -ge {moved} ]; then kill -9 $PPID; exit 1; fi\n\
         echo moved >> '{count}';; esac\nexec git \"$@\"\n"
    );
    fleet.place.file("moved", "").file("bin/git", script);
    fs::set_permissions(folder.join("git"), fs::Permissions::from_mode(0o755)).expect("a program");
    let index = fleet.place.path("index/simple").to_string_lossy().into_owned();
    let status = Command::new(PROGRAM)
        .args(["-q", "bump", "--commit", "--index-url", &index])
        .current_dir(fleet.place.path("fleet"))
        .env_clear()
        .env("HOME", fleet.place.path("nowhere"))
        .env("XDG_CACHE_HOME", fleet.place.path("cache"))
        .env("PIP_CONFIG_FILE", "/dev/null")
        .env("PATH", format!("{}:/usr/local/bin:/usr/bin:/bin", folder.display()))
        .status()
        .expect("a run");
    assert_eq!(status.code(), None, "it was killed");
}

fn dirty(fleet: &Checkouts) -> Vec<&'static str> {
    let is_dirty = |name: &&str| !fleet.git(name, &["status", "--porcelain"]).is_empty();
    NAMES.into_iter().filter(is_dirty).collect()
}

#[test]
fn commits_that_were_left_are_told_and_made() {
    let fleet = checkouts();
    stopped_after(2, &fleet);
    let left = [
        "reana-dask-operator",
        "reana-db",
        "reana-job-controller",
        "reana-server",
        "reana-workflow-controller",
        "reana-workflow-engine-serial",
    ];
    assert_eq!(dirty(&fleet), left, "the first two branches moved, and no index was told");

    let output = fleet.run(&["bump", "-n"]).expect_code(0);
    expect![[r#"
        warning: a run of `bump --commit` was stopped: what it wrote is not committed in reana-job-controller, reana-server, reana-workflow-controller, reana-workflow-engine-serial; `reana-lock bump --commit` commits it
    "#]]
    .assert_eq(&format!("{}\n", output.stderr.lines().next().unwrap_or_default()));
    assert_eq!(dirty(&fleet), left[2..], "the index of what was committed is set right");
    let output = fleet.run(&["compile", "-n"]).expect_code(0);
    expect![[r#"
        warning: a run of `bump --commit` was stopped, and may not have committed what it wrote in reana-dask-operator, reana-db, reana-job-controller, reana-server, reana-workflow-controller, reana-workflow-engine-serial; `reana-lock bump --commit` commits what is left
    "#]]
    .assert_eq(&format!("{}\n", output.stderr.lines().next().unwrap_or_default()));

    let output = fleet.run(&["bump", "--commit"]).expect_code(0);
    for name in &left[2..] {
        let commit = fleet.git(name, &["rev-parse", "HEAD"]);
        let told = format!("{name}: committed {}, which a run that was stopped had left\n", &commit[..10]);
        assert!(output.stderr.contains(&told), "{told}{}", output.stderr);
    }
    assert!(output.stderr.contains("Nothing is raised"), "{}", output.stderr);
    assert_eq!(dirty(&fleet), [""; 0]);
    for name in left {
        assert_eq!(fleet.git(name, &["rev-list", "--count", "HEAD"]), "2\n", "{name}");
    }
    assert!(!fleet.exists("fleet/.reana-lock.commits"));
    let output = fleet.run(&["bump", "-n"]).expect_code(0);
    assert!(!output.stderr.contains("stopped"), "{}", output.stderr);
}

#[test]
fn what_was_taken_back_or_committed_by_hand_is_left_alone() {
    let fleet = checkouts();
    stopped_after(0, &fleet);
    for name in NAMES.into_iter().take(3) {
        fleet.git(name, &["commit", "-qa", "--allow-empty", "--no-gpg-sign", "-m", "by hand"]);
    }
    for name in NAMES.into_iter().skip(3) {
        fleet.git(name, &["checkout", "-q", "."]);
    }
    let before = fleet.snapshot();
    let output = fleet.run(&["bump", "-n"]).expect_code(0);
    assert!(!output.stderr.contains("stopped"), "{}", output.stderr);
    assert_eq!(fleet.snapshot(), before);
    assert!(!fleet.exists("fleet/.reana-lock.commits"), "there is nothing left to do");
}

#[test]
fn a_note_that_makes_no_sense() {
    let fleet = checkouts();
    let before = fleet.snapshot();
    fleet.file(".reana-lock.commits", r#"{"format": 2, "repositories": []}"#);
    let output = fleet.run(&["bump", "--commit"]).expect_code(2);
    expect![[r#"
        error: [ROOT]/fleet/.reana-lock.commits: not a note of `reana-lock bump --commit`: its format is 2, and 1 is known here

        hint: look at `git status` in each repository, then remove the file
    "#]].assert_eq(&output.stderr);
    // A note may have come with a checkout: it moves no branch but to a child of where it is.
    let head = fleet.git("reana-db", &["rev-parse", "HEAD"]);
    let commit = |new: &str| {
        format!(
            r#"{{"format": 1, "repositories": [{{"name": "reana-db", "commit": {{"branch": "work", "old": "{}", "new": "{new}", "files": []}}}}]}}"#,
            head.trim()
        )
    };
    for new in ["--help", "", "0000000000000000000000000000000000000000"] {
        fleet.file(".reana-lock.commits", &commit(new));
        let _ = fleet.run(&["bump", "-n"]).expect_code(0);
        assert_eq!(fleet.snapshot(), before, "{new}");
        assert!(!fleet.exists("fleet/.reana-lock.commits"));
    }
}
