//! `tree`: what the packages of a lock want, or who wants them, without the index.

use expect_test::{Expect, expect};
use reana_testkit::World;

use crate::harness::{Place, place, small_world};

fn ready() -> Place {
    let place = place(&small_world());
    place.file("requirements.in", "app\nlib\n");
    let _ = place.compile(&[]).expect_code(0);
    place
}

fn check(place: &Place, args: &[&str], code: i32, expected: &Expect) {
    let args = [&["tree"], args].concat();
    expected.assert_eq(&place.run(&args).expect_code(code).to_string());
}

#[test]
fn from_the_manifests() {
    let place = ready();
    check(
        &place,
        &[],
        0,
        &expect![[r#"
        exit 0
        --- stdout
        -r requirements.in
        ├── app 2.0
        │   └── lib 2.0
        │       └── base 1.1
        └── lib 2.0 (*)
        --- stderr
        (*) is drawn above
    "#]],
    );
    check(
        &place,
        &["requirements.txt", "--depth", "1"],
        0,
        &expect![[r#"
        exit 0
        --- stdout
        -r requirements.in
        ├── app 2.0
        └── lib 2.0
        --- stderr
    "#]],
    );
}

#[test]
fn as_json() {
    let place = ready();
    check(
        &place,
        &["--format", "json", "--depth=1"],
        0,
        &expect![[r#"
        exit 0
        --- stdout
        {
          "locks": [
            {
              "component": "work",
              "lock": "requirements.txt",
              "roots": [
                {
                  "manifest": "-r requirements.in",
                  "packages": [
                    "app",
                    "lib"
                  ]
                }
              ],
              "packages": [
                {
                  "name": "app",
                  "pins": [
                    {
                      "version": "2.0",
                      "extras": [],
                      "marker": null,
                      "line": 7
                    }
                  ],
                  "manifests": [
                    "-r requirements.in"
                  ],
                  "dependencies": [
                    "lib"
                  ],
                  "dependents": []
                },
                {
                  "name": "lib",
                  "pins": [
                    {
                      "version": "2.0",
                      "extras": [],
                      "marker": null,
                      "line": 13
                    }
                  ],
                  "manifests": [
                    "-r requirements.in"
                  ],
                  "dependencies": [
                    "base"
                  ],
                  "dependents": [
                    "app"
                  ]
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
fn inverted() {
    let place = ready();
    check(
        &place,
        &["--invert", "base"],
        0,
        &expect![[r#"
        exit 0
        --- stdout
        base 1.1
        └── lib 2.0
            ├── -r requirements.in
            └── app 2.0
                └── -r requirements.in
        --- stderr
    "#]],
    );
    check(
        &place,
        &["--invert", "base", "--depth", "1"],
        0,
        &expect![[r#"
        exit 0
        --- stdout
        base 1.1
        └── lib 2.0
        --- stderr
    "#]],
    );
    check(
        &place,
        &["--invert", "none"],
        2,
        &expect![[r#"
        exit 2
        --- stdout
        --- stderr
        error: none is not in requirements.txt
    "#]],
    );
}

#[test]
fn circles_markers_and_what_nobody_wants() {
    let place = place(&World::new());
    let lock = "\
        a==1 ; python_version < \"3.9\"\n    # via -r a.in\n\
        b==1 ; python_version < \"3\"\n    # via\n    #   a\n    #   c\n\
        c==1\n    # via b\n\
        d==1\n\
        ./folder\n    # via -r a.in\n\
        e==1\n    # via setuptools\n";
    place.file("requirements.txt", lock);
    check(
        &place,
        &["requirements.txt"],
        0,
        &expect![[r#"
        exit 0
        --- stdout
        -r a.in
        ├── ./folder
        └── a 1 ; python_version < "3.9"
            └── b 1 ; python_version < "3"
                └── c 1
                    └── b 1 ; python_version < "3" (*)
        (the lock doesn't say who wants these)
        ├── d 1
        └── setuptools (not pinned)
            └── e 1
        --- stderr
        (*) is drawn above
    "#]],
    );
}

#[test]
fn without_annotations() {
    let place = place(&World::new());
    place.file("requirements.txt", "a==1\nb==2\n");
    check(
        &place,
        &["requirements.txt"],
        2,
        &expect![[r#"
        exit 2
        --- stdout
        --- stderr
        error: requirements.txt: the lock doesn't say who wants its packages

        hint: compile it without `--no-annotate`
    "#]],
    );
    place.file("requirements.txt", "");
    check(
        &place,
        &["requirements.txt"],
        0,
        &expect![[r#"
        exit 0
        --- stdout
        --- stderr
    "#]],
    );
}
