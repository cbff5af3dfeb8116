//! Runs that were killed while they wrote: the next one finishes or takes back, says so, and loses nothing.
#![expect(clippy::disallowed_methods, reason = "tests look at files and run the command")]

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::time::Duration;

use expect_test::expect;

use crate::harness::{Place, place, sha256, small_world};

fn ready() -> Place {
    let place = place(&small_world());
    for name in ["one", "two"] {
        place
            .file(&format!("{name}/requirements.in"), "app\n")
            .file(&format!("{name}/.python-version"), "3.12");
        place.file(&format!("{name}/requirements.txt"), "app==1.0\n");
    }
    place
}

fn journal(files: &[(&str, &str, &str)]) -> String {
    let each: Vec<String> = files
        .iter()
        .map(|(path, old, new)| {
            let (old, new) = (sha256(old.as_bytes()), sha256(new.as_bytes()));
            format!(r#"{{"path": "{path}", "old": "{old}", "new": "{new}"}}"#)
        })
        .collect();
    format!(r#"{{"format": 1, "files": [{}]}}"#, each.join(", "))
}

fn leftovers(place: &Place) -> Vec<String> {
    let mut found = Vec::new();
    for folder in ["", "one", "two"] {
        let entries = fs::read_dir(place.path(folder)).expect("a folder").flatten();
        let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
        found.extend(names.filter(|name| name.contains("reana-lock")).map(|name| format!("{folder}/{name}")));
    }
    found
}

#[test]
fn what_was_all_staged_is_finished() {
    let place = ready();
    // killed after the first of two files was replaced
    place
        .file("one/requirements.txt", "app==2.0\n")
        .file("one/.requirements.txt.reana-lock-old", "app==1.0\n");
    place
        .file("two/.requirements.txt.reana-lock-new", "lib==2.0\n")
        .file("two/.requirements.txt.reana-lock-old", "app==1.0\n");
    let files = [
        ("one/requirements.txt", "app==1.0\n", "app==2.0\n"),
        ("two/requirements.txt", "app==1.0\n", "lib==2.0\n"),
    ];
    place.file(".reana-lock.journal", journal(&files));
    let output = place.compile(&["-n", "--hashes=none", "--no-header"]).expect_code(0);
    expect![[r#"
        warning: a run that was stopped had begun to write, which is finished now: [ROOT]/one/requirements.txt, [ROOT]/two/requirements.txt
        one/requirements.txt: 3 pins for Python 3.12 on linux/amd64; 2 added, 1 otherwise
        two/requirements.txt: 3 pins for Python 3.12 on linux/amd64; 2 added, 1 otherwise
        Dry run: nothing is written.
    "#]].assert_eq(&output.stderr);
    assert_eq!(
        (place.read("one/requirements.txt").as_str(), place.read("two/requirements.txt").as_str()),
        ("app==2.0\n", "lib==2.0\n")
    );
    assert_eq!(leftovers(&place), Vec::<String>::new());
}

#[test]
fn what_was_not_all_staged_is_taken_back() {
    let place = ready();
    place.file("one/.requirements.txt.reana-lock-new", "app==2.0\n");
    place.file("two/.requirements.txt.reana-lock-new", "lib=");
    let files = [
        ("one/requirements.txt", "app==1.0\n", "app==2.0\n"),
        ("two/requirements.txt", "app==1.0\n", "lib==2.0\n"),
    ];
    place.file(".reana-lock.journal", journal(&files));
    let output = place.compile(&["--check"]).expect_code(1);
    expect![[r#"
        warning: a run that was stopped had begun to write, which is taken back now: [ROOT]/one/requirements.txt, [ROOT]/two/requirements.txt
        4 errors, 2 warnings, 2 notes found
    "#]].assert_eq(&output.stderr);
    assert_eq!(
        (place.read("one/requirements.txt").as_str(), place.read("two/requirements.txt").as_str()),
        ("app==1.0\n", "app==1.0\n")
    );
    assert_eq!(leftovers(&place), Vec::<String>::new());
}

#[test]
fn a_journal_that_makes_no_sense() {
    let place = ready();
    for text in ["", "{}", "not JSON", r#"{"format": 99, "files": []}"#] {
        place.file(".reana-lock.journal", text);
        let output = place.compile(&[]).expect_code(2);
        assert!(output.stderr.starts_with("error: "), "{}", output.stderr);
        assert_eq!(place.read("one/requirements.txt"), "app==1.0\n");
    }
    place.file(".reana-lock.journal", journal(&[("../home/x", "", "")]));
    let output = place.compile(&[]).expect_code(2);
    expect![[r#"
        error: the locks could not be written: [ROOT]/.reana-lock.journal: not a journal of reana-lock: `../home/x` leads outside

        hint: look whether the locks are whole (`git diff`), then remove the journal
    "#]].assert_eq(&output.stderr);
}

#[test]
fn killed_at_any_moment() {
    let place = ready();
    let _ = place.compile(&["-U"]).expect_code(0);
    let (new, old) = (place.sandbox.read("one/requirements.txt"), "app==1.0\n");
    for moment in 0..12 {
        for name in ["one", "two"] {
            place.file(&format!("{name}/requirements.txt"), old);
        }
        let mut run = place.command(&["-U", "-q"]).spawn().expect("a run");
        std::thread::sleep(Duration::from_millis(moment * 7));
        let _ = run.kill();
        let _ = run.wait();
        for name in ["one", "two"] {
            let text = place.sandbox.read(&format!("{name}/requirements.txt"));
            assert!(text == old || text == new, "a lock is half written: {text}");
        }
        let _ = place.compile(&["-n"]).expect_code(0);
        let texts = ["one", "two"].map(|name| place.sandbox.read(&format!("{name}/requirements.txt")));
        assert_eq!(texts[0], texts[1], "all or none");
        assert!(leftovers(&place).iter().all(|name| !name.contains("journal")), "{:?}", leftovers(&place));
    }
}

#[test]
fn a_folder_that_cannot_be_written() {
    let place = ready();
    let Some(_mode) = Mode::set(&place, "two", 0o555) else {
        return eprintln!("SKIPPED: this user may do everything in folders, whatever their mode");
    };
    let output = place.compile(&["-U"]).expect_code(2);
    assert!(output.stderr.contains("two"), "{}", output.stderr);
    assert_eq!(place.read("one/requirements.txt"), "app==1.0\n");
    assert_eq!(leftovers(&place), Vec::<String>::new());
}

#[test]
fn a_folder_in_which_nothing_changes_need_not_be_writable() {
    for mode in [0o555, 0o311] {
        let place = ready();
        let _ = place.compile(&["-U"]).expect_code(0);
        let new = place.read("one/requirements.txt");
        place.file("one/requirements.txt", "app==1.0\n");
        let Some(_mode) = Mode::set(&place, "two", mode) else {
            return eprintln!("SKIPPED: this user may do everything in folders, whatever their mode");
        };
        let _ = place.compile(&["-U", "two", "one"]).expect_code(0);
        assert_eq!(place.read("one/requirements.txt"), new, "{mode:o}");
    }
}

/// A folder's mode, until dropped.
struct Mode(std::path::PathBuf);

impl Mode {
    /// None where this user may do everything, whatever the mode.
    fn set(place: &Place, folder: &str, mode: u32) -> Option<Self> {
        let path = place.path(folder);
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).expect("a mode");
        let mode = Self(path);
        if fs::write(mode.0.join("probe"), "").is_ok() && fs::read_dir(&mode.0).is_ok() {
            let _ = fs::remove_file(mode.0.join("probe"));
            return None;
        }
        let _ = fs::remove_file(mode.0.join("probe"));
        Some(mode)
    }
}

impl Drop for Mode {
    fn drop(&mut self) {
        let _ = fs::set_permissions(&self.0, fs::Permissions::from_mode(0o755));
    }
}
