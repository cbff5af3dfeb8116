//! `diff`: what changed from one lock to another.

use expect_test::{Expect, expect};
use reana_testkit::World;

use crate::harness::{Place, place, small_world};

const OLD: &str = "\
a==1.0
b==1.0
c==1.0.0 ; python_version < \"3.9\"
d[x]==1.0
e==1.0
f @ https://x.example/f-1.0.zip
";
const NEW: &str = "\
a==2.0
b==1.1
c==1.0.0 ; python_version < \"3.10\"
d==1.0
f @ https://x.example/f-1.1.zip
g==1.0
";

fn check(place: &Place, args: &[&str], code: i32, expected: &Expect) {
    let args = [&["diff"], args].concat();
    expected.assert_eq(&place.run(&args).expect_code(code).to_string());
}

#[test]
fn two_files() {
    let place = place(&World::new());
    place.file("old.txt", OLD).file("new.txt", NEW);
    check(
        &place,
        &["old.txt", "new.txt"],
        0,
        &expect![[r#"
            exit 0
            --- stdout
            old.txt -> new.txt: 1 added, 1 removed, 1 moved (major), 1 moved (minor), 1 moved, 1 with another marker, 1 with other extras
              a 1.0 -> 2.0 (major)
              b 1.0 -> 1.1 (minor)
              c: marker `python_version < "3.9"` -> `python_version < "3.10"`
              d: no longer with [x]
              e 1.0 is no longer required
              f https://x.example/f-1.0.zip -> https://x.example/f-1.1.zip
              g 1.0 is new
            --- stderr
        "#]],
    );
}

#[test]
fn exit_code_and_json() {
    let place = place(&World::new());
    place.file("old.txt", OLD).file("new.txt", NEW);
    check(
        &place,
        &["old.txt", "old.txt", "--exit-code"],
        0,
        &expect![[r#"
        exit 0
        --- stdout
        old.txt -> old.txt: the same packages
        --- stderr
    "#]],
    );
    check(
        &place,
        &["new.txt", "old.txt", "--exit-code", "--format=json"],
        1,
        &expect![[r#"
            exit 1
            --- stdout
            {
              "locks": [
                {
                  "component": "",
                  "old": "new.txt",
                  "new": "old.txt",
                  "different": true,
                  "changes": [
                    {
                      "name": "a",
                      "kind": "moved",
                      "from": "2.0",
                      "to": "1.0",
                      "step": "major"
                    },
                    {
                      "name": "b",
                      "kind": "moved",
                      "from": "1.1",
                      "to": "1.0",
                      "step": "minor"
                    },
                    {
                      "name": "c",
                      "kind": "marker",
                      "from": "python_version < \"3.10\"",
                      "to": "python_version < \"3.9\""
                    },
                    {
                      "name": "d",
                      "kind": "extras",
                      "added": [
                        "x"
                      ],
                      "removed": []
                    },
                    {
                      "name": "e",
                      "kind": "added",
                      "version": "1.0"
                    },
                    {
                      "name": "f",
                      "kind": "moved",
                      "from": "https://x.example/f-1.1.zip",
                      "to": "https://x.example/f-1.0.zip",
                      "step": "other"
                    },
                    {
                      "name": "g",
                      "kind": "removed",
                      "version": "1.0"
                    }
                  ]
                }
              ]
            }
            --- stderr
        "#]],
    );
}

#[test]
fn hashes_alone() {
    let place = place(&World::new());
    let hash = |digit: &str| format!("    --hash=sha256:{}", digit.repeat(64));
    place.file("old.txt", format!("a==1 \\\n{} \\\n{}\nb==1.0.0 # via a\n", hash("1"), hash("2")));
    place.file("new.txt", format!("a==1 \\\n{} \\\n{}\nb==1.0.0 # via c\n", hash("1"), hash("3")));
    check(
        &place,
        &["old.txt", "new.txt"],
        0,
        &expect![[r#"
            exit 0
            --- stdout
            old.txt -> new.txt: 1 with other hashes alone, 1 required by others
              a: 1 file added and 1 file no longer offered
              b: other packages require it now (its `via`)
            --- stderr
        "#]],
    );
}

#[test]
fn two_fleets_by_component() {
    let place = place(&small_world());
    for (folder, wish) in [("old/one", "app<2"), ("old/gone", "base"), ("new/one", "app"), ("new/two", "lib")]
    {
        place.file(&format!("{folder}/requirements.in"), format!("{wish}\n"));
        let _ = place.compile(&[&format!("{folder}/requirements.in")]).expect_code(0);
    }
    check(
        &place,
        &["old", "new", "--exit-code"],
        1,
        &expect![[r#"
        exit 1
        --- stdout
        old/gone/requirements.txt is gone: 1 removed
          base 1.1 is no longer required
        old/one/requirements.txt -> new/one/requirements.txt: 1 moved (major)
          app 1.0 -> 2.0 (major)
        new/two/requirements.txt is new: 2 added
          base 1.1 is new
          lib 2.0 is new
        --- stderr
    "#]],
    );
    check(
        &place,
        &["old/one", "new/one/requirements.txt"],
        0,
        &expect![[r#"
        exit 0
        --- stdout
        old/one/requirements.txt -> new/one/requirements.txt: 1 moved (major)
          app 1.0 -> 2.0 (major)
        --- stderr
    "#]],
    );
}

#[test]
fn what_cannot_be_compared() {
    let place = place(&World::new());
    place.file("old.txt", OLD).file("bad.txt", "a==1\nb>=2\n").file("binary.txt", [0xff, 0xfe, 0xfd]);
    check(
        &place,
        &["old.txt", "none.txt"],
        2,
        &expect![[r#"
        exit 2
        --- stdout
        --- stderr
        error: `none.txt`: there is no such file or folder
    "#]],
    );
    check(
        &place,
        &["old.txt", "bad.txt"],
        0,
        &expect![[r#"
        exit 0
        --- stdout
        old.txt -> bad.txt: 5 removed
          b 1.0 is no longer required
          c 1.0.0 is no longer required
          d 1.0 is no longer required
          e 1.0 is no longer required
          f https://x.example/f-1.0.zip is no longer required
        --- stderr
        warning: bad.txt:2: `b>=2` is no pin (`name==version`); that line is not compared
    "#]],
    );
    check(
        &place,
        &["old.txt", "binary.txt"],
        2,
        &expect![[r#"
        exit 2
        --- stdout
        --- stderr
        error: binary.txt: not UTF-8 text
    "#]],
    );
}
