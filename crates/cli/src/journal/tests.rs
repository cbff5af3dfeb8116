//! The journal under a stop after every step, and under refusals of the file system.
#![expect(clippy::disallowed_methods, reason = "these tests set files up and look at them")]

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};

use proptest::prelude::*;

use super::*;

/// All files below a folder, with their content.
type World = BTreeMap<String, Vec<u8>>;

fn set_up(root: &Path, world: &World) {
    for (path, content) in world {
        let path = root.join(path);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(path, content).expect("a file");
    }
}

fn look(root: &Path) -> World {
    let mut world = World::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for name in disk::names(&folder).expect("names") {
            let path = folder.join(name);
            match disk::entry(&path) {
                disk::Entry::Folder => folders.push(path),
                _ => {
                    let name = path.strip_prefix(root).expect("below").to_string_lossy().into_owned();
                    world.insert(name, fs::read(&path).expect("a file"));
                }
            }
        }
    }
    world
}

fn world(files: &[(&str, &str)]) -> World {
    files.iter().map(|(path, text)| ((*path).to_owned(), text.as_bytes().to_vec())).collect()
}

fn changes(root: &Path, files: &World) -> Vec<(PathBuf, Vec<u8>)> {
    files.iter().map(|(path, content)| (root.join(path), content.clone())).collect()
}

/// Runs the first steps of a commit, and then nothing: the run was killed.
fn stop_after(steps: usize, changes: &[(PathBuf, Vec<u8>)], root: &Path) -> usize {
    let root = disk::canonical(root).expect("a folder");
    let commit = Commit::prepare(changes, &root).expect("prepared");
    let all = commit.steps();
    for step in all.iter().take(steps) {
        commit.run(*step).expect("done");
    }
    all.len()
}

fn old() -> World {
    world(&[
        ("a/requirements.txt", "old a"),
        ("a/setup.py", "mine"),
        ("c/requirements.txt", "old c"),
        ("b/x", ""),
    ])
}

fn new() -> World {
    world(&[
        ("a/requirements.txt", "new a"),
        ("b/requirements.txt", "new b"),
        ("c/requirements.txt", "new c"),
    ])
}

fn merged(old: &World, new: &World) -> World {
    old.iter().chain(new).map(|(path, content)| (path.clone(), content.clone())).collect()
}

#[test]
fn a_commit_writes_all_and_leaves_nothing_else() {
    let root = tempfile::tempdir().expect("a folder");
    set_up(root.path(), &old());
    commit(&changes(root.path(), &new()), root.path()).expect("written");
    assert_eq!(look(root.path()), merged(&old(), &new()));
    assert_eq!(recover(root.path()).expect("nothing to do"), None);
}

#[test]
fn a_stop_after_any_step_ends_all_old_or_all_new() {
    let mut outcomes = Vec::new();
    for stop in 0.. {
        let root = tempfile::tempdir().expect("a folder");
        set_up(root.path(), &old());
        let count = stop_after(stop, &changes(root.path(), &new()), root.path());
        let recovered = recover(root.path()).expect("recovered");
        let found = look(root.path());
        let outcome = recovered.map(|recovered| recovered.outcome);
        match outcome {
            Some(Outcome::RolledBack) => assert_eq!(found, old(), "{stop}"),
            Some(Outcome::Finished) => assert_eq!(found, merged(&old(), &new()), "{stop}"),
            None if stop < 2 => assert_eq!(found, old(), "{stop}"),
            None => assert_eq!(found, merged(&old(), &new()), "{stop}"),
        }
        outcomes.push(outcome);
        if stop > count {
            break;
        }
    }
    let ended = |outcome| outcomes.iter().filter(|found| **found == Some(outcome)).count();
    assert_eq!((ended(Outcome::RolledBack), ended(Outcome::Finished)), (3, 10));
}

#[test]
fn a_torn_new_content_is_never_taken() {
    for stop in 3..=8 {
        let root = tempfile::tempdir().expect("a folder");
        set_up(root.path(), &old());
        stop_after(stop, &changes(root.path(), &new()), root.path());
        fs::write(root.path().join("a/.requirements.txt.reana-lock-new"), "new").expect("torn");
        let recovered = recover(root.path()).expect("recovered").expect("something");
        assert_eq!((recovered.outcome, look(root.path())), (Outcome::RolledBack, old()), "{stop}");
    }
}

#[test]
fn what_somebody_changed_since_is_theirs() {
    for stop in 2..=14 {
        let root = tempfile::tempdir().expect("a folder");
        set_up(root.path(), &old());
        stop_after(stop, &changes(root.path(), &new()), root.path());
        fs::write(root.path().join("c/requirements.txt"), "theirs").expect("changed");
        let recovered = recover(root.path()).expect("recovered").expect("something");
        let all = if recovered.outcome == Outcome::Finished { merged(&old(), &new()) } else { old() };
        assert_eq!(look(root.path()), merged(&all, &world(&[("c/requirements.txt", "theirs")])), "{stop}");
        assert_eq!(recovered.changed_since.len(), 1, "{stop}");
    }
}

#[test]
fn an_unchanged_file_is_not_touched() {
    let root = tempfile::tempdir().expect("a folder");
    set_up(root.path(), &old());
    let root_path = disk::canonical(root.path()).expect("a folder");
    let same = changes(&root_path, &world(&[("a/requirements.txt", "old a")]));
    assert_eq!(Commit::prepare(&same, &root_path).expect("prepared").steps(), []);
}

/// The file system refuses one step, before or after it has done it in part or whole.
#[test]
fn a_refusal_at_any_step_ends_all_old_or_all_new() {
    let refused = || DiskError::NotAFile { path: "refused".into() };
    for at in 0..15 {
        for is_done in [false, true] {
            let root = tempfile::tempdir().expect("a folder");
            set_up(root.path(), &old());
            let real = disk::canonical(root.path()).expect("a folder");
            let changes = changes(root.path(), &new());
            let commit = Commit::prepare(&changes, &real).expect("prepared");
            let fails = commit.steps().get(at).copied().expect("a step");
            let result = commit.execute(|step| {
                if step == fails && !is_done {
                    return Err(refused());
                }
                commit.run(step)?;
                if step == fails { Err(refused()) } else { Ok(()) }
            });
            let expected = if at < 11 { old() } else { merged(&old(), &new()) };
            assert_eq!(look(root.path()), expected, "{fails:?} {is_done}");
            assert_eq!(result.is_err(), at < 11, "{fails:?} {is_done}");
        }
    }
}

#[test]
fn a_failing_step_takes_everything_back() {
    let root = tempfile::tempdir().expect("a folder");
    set_up(root.path(), &old());
    // A folder in the way of the second file's new content: neither root nor anybody can write there.
    fs::create_dir_all(root.path().join("b/.requirements.txt.reana-lock-new/x")).expect("a folder");
    let before = look(root.path());
    let error = commit(&changes(root.path(), &new()), root.path()).expect_err("refused");
    assert!(matches!(error, JournalError::Stopped { .. }), "{error}");
    fs::remove_dir_all(root.path().join("b/.requirements.txt.reana-lock-new")).expect("out of the way");
    assert_eq!(recover(root.path()).expect("recovered").expect("something").outcome, Outcome::RolledBack);
    assert_eq!(look(root.path()), before);
}

#[test]
fn a_link_is_followed_inside_and_refused_outside() {
    let outer = tempfile::tempdir().expect("a folder");
    let root = outer.path().join("fleet");
    set_up(&root, &world(&[("shared/lock.txt", "old"), ("a/setup.py", "")]));
    symlink("../shared/lock.txt", root.join("a/requirements.txt")).expect("a link");
    commit(&changes(&root, &world(&[("a/requirements.txt", "new")])), &root).expect("written");
    assert_eq!(fs::read(root.join("shared/lock.txt")).expect("a file"), b"new");
    assert!(disk::is_link(&root.join("a/requirements.txt")));

    set_up(outer.path(), &world(&[("other.txt", "other's")]));
    symlink("../../other.txt", root.join("a/out.txt")).expect("a link");
    let error = commit(&changes(&root, &world(&[("a/out.txt", "new")])), &root).expect_err("refused");
    assert!(matches!(error, JournalError::Outside { .. }), "{error}");
    assert_eq!(fs::read(outer.path().join("other.txt")).expect("a file"), b"other's");
    let twice =
        [(root.join("a/requirements.txt"), b"1".to_vec()), (root.join("shared/lock.txt"), b"2".to_vec())];
    assert!(matches!(commit(&twice, &root), Err(JournalError::Twice { .. })));
}

#[test]
fn a_journal_that_came_with_a_repository_touches_nothing_outside() {
    let outer = tempfile::tempdir().expect("a folder");
    let root = outer.path().join("fleet");
    let hash = Sha256::of(b"theirs");
    set_up(outer.path(), &world(&[("theirs", "theirs"), ("fleet/x", "")]));
    symlink("..", root.join("up")).expect("a link");
    for path in ["../theirs", "up/theirs", "/theirs", "", "."] {
        let text = format!(
            r#"{{"format":1,"files":[{{"path":"{path}","old":null,"new":"{hash}"}},{{"path":"x","old":null,"new":"{}"}}]}}"#,
            Sha256::of(b"1")
        );
        fs::write(root.join(FILE), text).expect("a journal");
        assert!(
            matches!(recover(&root), Err(JournalError::Damaged { .. } | JournalError::Disk(_))),
            "{path}"
        );
        assert_eq!(fs::read(outer.path().join("theirs")).expect("a file"), b"theirs");
    }
    for text in ["", "{}", r#"{"format":2,"files":[]}"#, "\0"] {
        fs::write(root.join(FILE), text).expect("a journal");
        assert!(matches!(recover(&root), Err(JournalError::Damaged { .. })), "{text}");
    }
}

#[test]
fn runs_at_once_write_one_after_the_other() {
    let root = tempfile::tempdir().expect("a folder");
    set_up(root.path(), &old());
    let whole = |run: usize| -> World {
        new().into_keys().map(|path| (path, format!("run {run}").into_bytes())).collect()
    };
    std::thread::scope(|scope| {
        for run in 0..8 {
            let root = root.path();
            scope.spawn(move || commit(&changes(root, &whole(run)), root).expect("written"));
        }
    });
    let found = look(root.path());
    assert!((0..8).any(|run| found == merged(&old(), &whole(run))), "{found:?}");
}

#[test]
fn a_run_that_does_not_end_is_told_of() {
    let root = tempfile::tempdir().expect("a folder");
    let held = lock_within(root.path(), 1).expect("free");
    assert!(held.is_some());
    assert!(matches!(lock_within(root.path(), 2), Err(JournalError::Busy { .. })));
    drop(held);
    assert!(lock_within(root.path(), 1).is_ok());
}

#[test]
fn the_folder_of_a_journal() {
    let outer = tempfile::tempdir().expect("a folder");
    set_up(outer.path(), &world(&[("fleet/a/x", ""), ("fleet/b/x", ""), ("else/x/x", ""), ("else/y/x", "")]));
    let check = |paths: &[&str], expected: &str| {
        let changes: Vec<(PathBuf, Vec<u8>)> =
            paths.iter().map(|path| (outer.path().join(path), Vec::new())).collect();
        let found = folder_for(&changes, &outer.path().join("fleet")).expect("a folder");
        assert_eq!(found, disk::canonical(&outer.path().join(expected)).expect("a folder"), "{paths:?}");
    };
    check(&["fleet/a/lock", "fleet/b/lock"], "fleet");
    check(&["fleet/a/lock"], "fleet");
    check(&["else/x/lock"], "else/x");
    check(&["else/x/lock", "else/y/lock"], "else");
    check(&["fleet/a/lock", "else/y/lock"], "");
    check(&[], "fleet");
    let elsewhere = [(outer.path().join("else/x/lock"), b"new".to_vec())];
    commit(&elsewhere, &outer.path().join("fleet")).expect("written");
    assert_eq!(fs::read(outer.path().join("else/x/lock")).expect("a file"), b"new");
}

#[test]
fn the_mode_is_kept() {
    let root = tempfile::tempdir().expect("a folder");
    set_up(root.path(), &old());
    let path = root.path().join("a/requirements.txt");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).expect("a mode");
    commit(&changes(root.path(), &new()), root.path()).expect("written");
    assert_eq!(fs::metadata(&path).expect("a file").permissions().mode() & 0o777, 0o640);
}

fn worlds() -> impl Strategy<Value = (World, World)> {
    let file = || ("[abc]/[rs]\\.txt", proptest::collection::vec(any::<u8>(), 0..4));
    let files = |count| proptest::collection::btree_map(file().0, file().1, count);
    (files(0..5), files(1..5))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Stopped anywhere, and then stopped again while recovering by nothing worse than not being asked,
    /// the files are all old or all new, and no other file is there.
    #[test]
    fn all_or_none((old, new) in worlds(), stop in 0_usize..30) {
        let root = tempfile::tempdir().expect("a folder");
        set_up(root.path(), &old);
        for path in new.keys() {
            fs::create_dir_all(root.path().join(path).parent().expect("a folder")).expect("a folder");
        }
        stop_after(stop, &changes(root.path(), &new), root.path());
        recover(root.path()).expect("recovered");
        let found = look(root.path());
        prop_assert!(found == old || found == merged(&old, &new), "{found:?}");
        commit(&changes(root.path(), &new), root.path()).expect("written");
        prop_assert_eq!(look(root.path()), merged(&old, &new));
    }
}
