//! `why`: who wants a package of a lock, without the index.

use expect_test::{Expect, expect};
use reana_testkit::World;

use crate::harness::{Place, place, small_world};

/// A place with a lock of two manifests with a limit.
fn ready() -> Place {
    let place = place(&small_world());
    place
        .file("requirements.in", "base>=1\n")
        .file(
            "setup.py",
            "from setuptools import setup\nsetup(name='shop', install_requires=[\n    'app',\n])\n",
        )
        .file("limits.txt", "# limits\nbase<9\n");
    let _ = place
        .compile(&["-o", "requirements.txt", "-c", "limits.txt", "requirements.in", "setup.py"])
        .expect_code(0);
    place
}

fn check(place: &Place, args: &[&str], code: i32, expected: &Expect) {
    let args = [&["why"], args].concat();
    expected.assert_eq(&place.run(&args).expect_code(code).to_string());
}

#[test]
fn chains_start_at_the_manifests_lines() {
    let place = ready();
    check(
        &place,
        &["base"],
        0,
        &expect![[r#"
        exit 0
        --- stdout
        base 1.1
          requirements.in:1 requires base>=1
          setup.py:3 requires app: app 2.0 -> lib 2.0 -> base 1.1
          limited by limits.txt:2: base<9
        --- stderr
    "#]],
    );
    check(
        &place,
        &["APP", "requirements.txt"],
        0,
        &expect![[r#"
        exit 0
        --- stdout
        app 2.0
          setup.py:3 requires app
        --- stderr
    "#]],
    );
    check(
        &place,
        &["lib", "--format", "json"],
        0,
        &expect![[r#"
        exit 0
        --- stdout
        {
          "name": "lib",
          "locks": [
            {
              "component": "work",
              "lock": "requirements.txt",
              "pins": [
                {
                  "version": "2.0",
                  "extras": [],
                  "marker": null,
                  "line": 16
                }
              ],
              "chains": [
                {
                  "from": [
                    {
                      "manifest": "shop (setup.py)",
                      "lines": [
                        {
                          "file": "setup.py",
                          "line": 3,
                          "requirement": "app"
                        }
                      ]
                    }
                  ],
                  "packages": [
                    "app",
                    "lib"
                  ]
                }
              ],
              "dependents": [
                "app"
              ],
              "circular": [],
              "limits": []
            }
          ]
        }
        --- stderr
    "#]],
    );
}

#[test]
fn without_the_manifests() {
    let place = place(&World::new());
    place.file(
        "locks/requirements.txt",
        "a==1\n    # via -r gone.in\nb==2\n    # via\n    #   a\n    #   c\nc==1\n    # via b\n",
    );
    check(
        &place,
        &["b", "locks"],
        0,
        &expect![[r#"
        exit 0
        --- stdout
        b 2
          -r gone.in requires a: a 1 -> b 2
          c 1, which is there for b itself
        --- stderr
    "#]],
    );
    place.file("locks/requirements.txt", "a==1\n    # via -r bad.in\n").file("locks/bad.in", "a>=<1\n");
    check(
        &place,
        &["a", "locks"],
        0,
        &expect![[r#"
        exit 0
        --- stdout
        a 1
          -r bad.in requires a
        --- stderr
        note: locks/requirements.txt: told without the manifests' lines: locks/bad.in:1: `a>=<1` is not a valid requirement (PEP 508): no such comparison operator ">=<", must be one of ~= == != <= >= < > ===
    "#]],
    );
}

#[test]
fn pins_of_several_targets() {
    let place = place(&World::new());
    let lock = "\
        a==1 ; python_version < \"3.9\"\n    # via -r a.in\n\
        a==2 ; python_version >= \"3.9\"\n    # via -r a.in\n\
        b==1\n    # via a\n";
    place.file("requirements.txt", lock);
    check(
        &place,
        &["a", "requirements.txt"],
        0,
        &expect![[r#"
        exit 0
        --- stdout
        a 1 ; python_version < "3.9"
        a 2 ; python_version >= "3.9"
          -r a.in requires a
        --- stderr
    "#]],
    );
    check(
        &place,
        &["b", "requirements.txt"],
        0,
        &expect![[r#"
        exit 0
        --- stdout
        b 1
          -r a.in requires a: a 1|2 -> b 1
        --- stderr
    "#]],
    );
}

#[test]
fn what_cannot_be_told() {
    let place = ready();
    check(
        &place,
        &["nothing"],
        2,
        &expect![[r#"
        exit 2
        --- stdout
        --- stderr
        error: nothing is not in requirements.txt
    "#]],
    );
    check(
        &place,
        &["ap"],
        2,
        &expect![[r#"
        exit 2
        --- stdout
        --- stderr
        error: ap is not in requirements.txt

        hint: there is app
    "#]],
    );
    check(
        &place,
        &["app", "no-such-folder/x"],
        2,
        &expect![[r#"
        exit 2
        --- stdout
        --- stderr
        error: `no-such-folder/x`: there is no such file or folder
    "#]],
    );
    place.file("bare.txt", "app==1\nlib==2\n");
    check(
        &place,
        &["app", "bare.txt"],
        2,
        &expect![[r#"
        exit 2
        --- stdout
        --- stderr
        error: bare.txt: the lock doesn't say who wants its packages

        hint: compile it without `--no-annotate`
    "#]],
    );
    place.file("empty/requirements.in", "app\n");
    check(
        &place,
        &["app", "empty"],
        2,
        &expect![[r#"
        exit 2
        --- stdout
        --- stderr
        error: empty: there is no lock

        hint: `reana-lock compile` makes it
    "#]],
    );
}

#[test]
fn in_a_fleet() {
    let place = place(&small_world());
    place.file("fleet/one/requirements.in", "app\n").file("fleet/two/requirements.in", "base\n");
    for name in ["one", "two"] {
        let _ = place.compile(&[&format!("fleet/{name}/requirements.in")]).expect_code(0);
    }
    check(
        &place,
        &["base", "fleet"],
        0,
        &expect![[r#"
        exit 0
        --- stdout
        fleet/one/requirements.txt:
        base 1.1
          fleet/one/requirements.in:1 requires app: app 2.0 -> lib 2.0 -> base 1.1

        fleet/two/requirements.txt:
        base 1.1
          fleet/two/requirements.in:1 requires base
        --- stderr
    "#]],
    );
    check(
        &place,
        &["lib", "fleet"],
        0,
        &expect![[r#"
        exit 0
        --- stdout
        fleet/one/requirements.txt:
        lib 2.0
          fleet/one/requirements.in:1 requires app: app 2.0 -> lib 2.0
        --- stderr
    "#]],
    );
}

#[test]
fn the_lock_before_the_package() {
    let place = place(&small_world());
    place.file("one/requirements.in", "app\n").file("lib/setup.py", "");
    let _ = place.compile(&["one/requirements.in"]).expect_code(0);
    let output = place.run(&["why", "one", "lib"]).expect_code(2);
    expect![[r#"
        error: lib: there is no lock

        hint: `reana-lock compile` makes it

        hint: the package comes first: `reana-lock why lib one`
    "#]]
    .assert_eq(&output.stderr);
    let output = place.run(&["why", "lib", "nowhere"]).expect_code(2);
    assert!(!output.stderr.contains("comes first"), "{}", output.stderr);
}
