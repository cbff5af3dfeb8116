//! `compile --check`: exit 1 with the reasons when a lock is not what it would be now; nothing is ever written.

use expect_test::{Expect, expect};
use reana_testkit::{Output, Release, World};

use crate::harness::{Place, place, small_world};

/// A place with a lock that is up to date.
fn ready() -> Place {
    let place = place(&small_world());
    place.file("requirements.in", "app\n");
    let _ = place.compile(&[]).expect_code(0);
    let _ = check(&place, &[]).expect_code(0);
    place
}

/// Checks, and that the check writes nothing.
fn check(place: &Place, args: &[&str]) -> Output {
    let old = std::iter::once("requirements.txt").find(|path| place.sandbox.exists(path));
    let old = old.map(|path| place.sandbox.read(path));
    let output = place.compile(&[&["--check"], args].concat());
    let new = place.sandbox.exists("requirements.txt").then(|| place.sandbox.read("requirements.txt"));
    assert_eq!(old, new, "a check writes nothing");
    place.no_leftovers();
    output
}

fn is_stale(place: &Place, expected: &Expect) {
    expected.assert_eq(&check(place, &[]).expect_code(1).to_string());
}

#[test]
fn up_to_date() {
    let place = ready();
    expect![[r#"
        exit 0
        --- stdout
        --- stderr
        requirements.txt: 3 pins for Python 3.12 on linux/amd64; unchanged
    "#]]
    .assert_eq(&check(&place, &[]).expect_code(0).to_string());
    // a newer version makes no lock stale
    let mut place = place;
    place.now(&small_world().with("app", "3.0", &[]));
    let _ = check(&place, &[]).expect_code(0);
    expect![[r#"
        exit 1
        --- stdout
        requirements.txt:7: error L001 stale: app 2.0 -> 3.0 (major)
        requirements.txt:10: error L001 stale: base 1.1 is no longer required
        requirements.txt:13: error L001 stale: lib 2.0 is no longer required
        --- stderr
        3 errors found
    "#]]
    .assert_eq(&check(&place, &["-U"]).expect_code(1).to_string());
}

#[test]
fn changed_manifest() {
    let place = ready();
    place.file("requirements.in", "app<2\n");
    is_stale(
        &place,
        &expect![[r#"
            exit 1
            --- stdout
            requirements.txt:7: error L001 stale: app 2.0 -> 1.0 (major): requirements.in:1 requires app<2
            --- stderr
            note: app 2.0 could not be kept: requirements.in:1 requires app<2
            1 error found
        "#]],
    );
    place.file("requirements.in", "app\nbase\n");
    is_stale(
        &place,
        &expect![[r#"
            exit 1
            --- stdout
            requirements.txt:10: error L001 stale: base: other packages require it now (its `via`)
            --- stderr
            1 error found
        "#]],
    );
    place.file("requirements.in", "lib\n");
    is_stale(
        &place,
        &expect![[r#"
            exit 1
            --- stdout
            requirements.txt:7: error L001 stale: app 2.0 is no longer required
            requirements.txt:13: error L001 stale: lib: other packages require it now (its `via`)
            --- stderr
            2 errors found
        "#]],
    );
}

#[test]
fn a_file_uploaded_after_the_lock() {
    let world = |release: Release| World::new().release("app", release);
    let mut place = place(&world(Release::new("1.0", &[]).wheel("py3-none-any")));
    place.file("requirements.in", "app\n");
    let _ = place.compile(&[]).expect_code(0);
    place.now(&world(Release::new("1.0", &[]).wheel("py3-none-any").sdist(&[])));
    expect![[r#"
        exit 0
        --- stdout
        requirements.txt:7: note H002 file-added: app-1.0.tar.gz of app 1.0 is not in the lock
        --- stderr
        requirements.txt: 1 pin for Python 3.12 on linux/amd64; 1 with other hashes
        1 note found
    "#]]
    .assert_eq(&check(&place, &[]).expect_code(0).to_string());
    place.now(&world(Release::new("1.0", &["x"]).wheel("py3-none-any")).with("x", "1", &[]));
    is_stale(
        &place,
        &expect![[r#"
            exit 1
            --- stdout
            requirements.txt: error L002 incomplete: x 1 is new: app 1.0 requires x
            requirements.txt:7: error H001 hash-unknown: sha256:[app-1.0-py3-none-any.whl] is of no file that the index has of app 1.0
            requirements.txt:7: note H002 file-added: app-1.0-py3-none-any.whl of app 1.0 is not in the lock
            --- stderr
            2 errors, 1 note found
        "#]],
    );
}

#[test]
fn edited_by_hand() {
    let place = ready();
    let lock = place.sandbox.read("requirements.txt");
    place.file("requirements.txt", lock.replace("lib==2.0", "lib==1.5"));
    is_stale(
        &place,
        &expect![[r#"
            exit 1
            --- stdout
            requirements.txt:13: error L001 stale: lib 1.5 -> 2.0 (major): app 2.0 requires lib>=2
            requirements.txt:13: error H001 hash-unknown: sha256:[lib-2.0-py3-none-any.whl] is of no file that the index has of lib 1.5
            requirements.txt:13: note H002 file-added: lib-1.5-py3-none-any.whl of lib 1.5 is not in the lock
            --- stderr
            note: lib 1.5 could not be kept: app 2.0 requires lib>=2
            2 errors, 1 note found
        "#]],
    );
    place.file("requirements.txt", lock.replace("# via app", "# via me"));
    is_stale(
        &place,
        &expect![[r#"
            exit 1
            --- stdout
            requirements.txt:13: error L001 stale: lib: other packages require it now (its `via`)
            --- stderr
            1 error found
        "#]],
    );
    place.file("requirements.txt", format!("{lock}\n# my own comment\n"));
    is_stale(
        &place,
        &expect![[r#"
            exit 1
            --- stdout
            requirements.txt:17: error L003 hand-edited: this line is not what the lock's own pins would be written as
            --- stderr
            1 error found
        "#]],
    );
    place.file("requirements.txt", format!("{lock}extra==1.0\n"));
    is_stale(
        &place,
        &expect![[r#"
            exit 1
            --- stdout
            requirements.txt:13: error L003 hand-edited: this line is not what the lock's own pins would be written as
            requirements.txt:16: error L001 stale: extra 1.0 is no longer required
            requirements.txt:16: warning H004 unhashed: extra has no hash: pip refuses it
            requirements.txt:16: error H005 not-offered: the index doesn't have extra 1.0
            --- stderr
            3 errors, 1 warning found
        "#]],
    );
    place.file("requirements.txt", lock.lines().take(8).collect::<Vec<_>>().join("\n"));
    is_stale(
        &place,
        &expect![[r#"
            exit 1
            --- stdout
            requirements.txt: error L002 incomplete: base 1.1 is new: lib 2.0 requires base>=1
            requirements.txt: error L002 incomplete: lib 2.0 is new: app 2.0 requires lib>=2
            requirements.txt:7: error L001 stale: app: other packages require it now (its `via`)
            requirements.txt:8: error L003 hand-edited: this line is not what the lock's own pins would be written as
            --- stderr
            4 errors found
        "#]],
    );
}

#[test]
fn conflict_markers() {
    let place = ready();
    let lock = place.sandbox.read("requirements.txt");
    place.file("requirements.txt", format!("<<<<<<< HEAD\n{lock}=======\n{lock}>>>>>>> main\n"));
    is_stale(
        &place,
        &expect![[r#"
            exit 1
            --- stdout
            requirements.txt:1: error L009 unreadable: `<<<<<<< HEAD` is left over from a merge: resolve the conflict first
            requirements.txt:17: error L009 unreadable: `=======` is left over from a merge: resolve the conflict first
            requirements.txt:24: error L009 unreadable: app is pinned already in line 8
            requirements.txt:27: error L009 unreadable: base is pinned already in line 11
            requirements.txt:30: error L009 unreadable: lib is pinned already in line 14
            requirements.txt:33: error L009 unreadable: `>>>>>>> main` is left over from a merge: resolve the conflict first
            --- stderr
            note: requirements.txt:1: `<<<<<<< HEAD` is left over from a merge: resolve the conflict first; that line is not kept
            note: requirements.txt:17: `=======` is left over from a merge: resolve the conflict first; that line is not kept
            note: requirements.txt:24: app is pinned already in line 8; that line is not kept
            note: requirements.txt:27: base is pinned already in line 11; that line is not kept
            note: requirements.txt:30: lib is pinned already in line 14; that line is not kept
            note: requirements.txt:33: `>>>>>>> main` is left over from a merge: resolve the conflict first; that line is not kept
            6 errors found
        "#]],
    );
}

#[test]
fn no_lock() {
    let place = place(&small_world());
    place.file("requirements.in", "app\n");
    is_stale(
        &place,
        &expect![[r#"
            exit 1
            --- stdout
            requirements.txt: error L008 missing: there is no lock
            --- stderr
            1 error found
        "#]],
    );
}

#[test]
fn annotations_for_github() {
    let place = ready();
    assert_eq!(check(&place, &["--format", "github"]).expect_code(0).stdout, "");
    place.file("requirements.in", "app<2\nbase<1.1\n");
    expect![[r#"
        ::error file=requirements.txt,line=7,title=L001 stale::app 2.0 -> 1.0 (major): requirements.in:1 requires app<2
        ::error file=requirements.txt,line=10,title=L001 stale::base 1.1 -> 1.0 (minor): requirements.in:2 requires base<1.1
    "#]]
    .assert_eq(&check(&place, &["--format", "github"]).expect_code(1).stdout);
}

#[test]
fn json() {
    let place = ready();
    let reasons = |place: &Place, code: i32| {
        let output = check(place, &["--format", "json"]).expect_code(code);
        let json: serde_json::Value = serde_json::from_str(&output.stdout).expect("JSON");
        let lock = &json["locks"][0];
        format!("{} {}", lock["changed"], lock["stale"])
    };
    expect!["false []"].assert_eq(&reasons(&place, 0));
    place.file("requirements.in", "app<2\n");
    expect![[r#"true ["app 2.0 -> 1.0 (major): requirements.in:1 requires app<2"]"#]]
        .assert_eq(&reasons(&place, 1));
}

#[test]
fn a_check_that_cannot_be_made_is_no_finding() {
    let place = ready();
    place.file("requirements.in", "absent\n");
    let _ = check(&place, &[]).expect_code(3);
    place.file("requirements.in", "???\n");
    let _ = check(&place, &[]).expect_code(2);
}
