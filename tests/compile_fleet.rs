//! Several components in one run: how they are named, found and written all or none.

use expect_test::{Expect, expect};

use crate::harness::{Place, place, small_world};

fn setup(name: &str, requires: &str) -> String {
    format!("from setuptools import setup\nsetup(name='{name}', install_requires=[{requires}])\n")
}

/// A folder of checkouts in REANA's shape: a server and a controller that are locked, a package that is not.
fn ready() -> Place {
    let place = place(&small_world());
    place.file("reana-server/setup.py", setup("reana-server", "'app'"));
    place
        .file("reana-server/Dockerfile", "FROM python:3.12\nCOPY . .\nRUN pip install -r requirements.txt\n");
    place.file("reana-job-controller/setup.py", setup("reana-job-controller", "'lib<2'"));
    place.file("reana-job-controller/requirements.txt", "lib==1.0\nbase==1.0\n");
    place.file("reana-commons/setup.py", setup("reana-commons", "'base'"));
    place.file("reana-ui/package.json", "{}");
    place
}

fn check(folder: &str, what: &[&str], code: i32, expected: &Expect) {
    let place = ready();
    let output = place.compile_in(folder, &[what, &["--python-version", "3.12"]].concat()).expect_code(code);
    assert_eq!(output.stdout, "");
    expected.assert_eq(&output.stderr);
    place.no_leftovers();
}

#[test]
fn a_folder_of_checkouts() {
    check(
        "",
        &[],
        0,
        &expect![[r#"
        reana-job-controller/requirements.txt: 2 pins for Python 3.12 on linux/amd64; 2 with other hashes
        reana-server/requirements.txt: 3 pins for Python 3.12 on linux/amd64; new
    "#]],
    );
    check(
        "",
        &["."],
        0,
        &expect![[r#"
        reana-job-controller/requirements.txt: 2 pins for Python 3.12 on linux/amd64; 2 with other hashes
        reana-server/requirements.txt: 3 pins for Python 3.12 on linux/amd64; new
    "#]],
    );
    check(
        "",
        &["CLUSTER", "-v"],
        0,
        &expect![[r#"
        reana-commons is not locked: it has a manifest, but neither a lock nor a Dockerfile that installs from one
        Using indexes:
          file://[ROOT]/index/simple
        reana-job-controller: All requirements were read from wheels.
        reana-server: All requirements were read from wheels.
        reana-job-controller/requirements.txt: 2 pins for Python 3.12 on linux/amd64; 2 with other hashes
        reana-server/requirements.txt: 3 pins for Python 3.12 on linux/amd64; new
    "#]],
    );
    check(
        "reana-server",
        &["CLUSTER"],
        0,
        &expect![[r#"
        ../reana-job-controller/requirements.txt: 2 pins for Python 3.12 on linux/amd64; 2 with other hashes
        requirements.txt: 3 pins for Python 3.12 on linux/amd64; new
    "#]],
    );
}

#[test]
fn names_as_reana_dev_has_them() {
    check(
        "",
        &["r-server"],
        0,
        &expect![[r#"
        reana-server/requirements.txt: 3 pins for Python 3.12 on linux/amd64; new
    "#]],
    );
    check(
        "",
        &["reana-server"],
        0,
        &expect![[r#"
        reana-server/requirements.txt: 3 pins for Python 3.12 on linux/amd64; new
    "#]],
    );
    check(
        "reana-server",
        &["r-j-controller"],
        0,
        &expect![[r#"
        ../reana-job-controller/requirements.txt: 2 pins for Python 3.12 on linux/amd64; 2 with other hashes
    "#]],
    );
    check(
        "reana-server",
        &["."],
        0,
        &expect![[r#"
        requirements.txt: 3 pins for Python 3.12 on linux/amd64; new
    "#]],
    );
    check(
        "reana-server",
        &["../reana-job-controller", "r-server", "."],
        0,
        &expect![[r#"
        ../reana-job-controller/requirements.txt: 2 pins for Python 3.12 on linux/amd64; 2 with other hashes
        requirements.txt: 3 pins for Python 3.12 on linux/amd64; new
    "#]],
    );
    check(
        "",
        &["r-commons"],
        0,
        &expect![[r#"
        reana-commons/requirements.txt: 1 pin for Python 3.12 on linux/amd64; new
    "#]],
    );
    check(
        "",
        &["r-nothing"],
        2,
        &expect![[r#"
        error: `r-nothing`: no such file or folder, and no component is called so (there are reana-commons, reana-job-controller, reana-server)
    "#]],
    );
    check(
        "",
        &["reana-ui"],
        2,
        &expect![[r#"
        error: [ROOT]/reana-ui: nothing to lock: no manifest (setup.py, pyproject.toml, setup.cfg, requirements.in), and no folder with a locked component
    "#]],
    );
    check(
        "",
        &["reana-server/setup.py", "reana-job-controller"],
        2,
        &expect![[r#"
        error: `reana-server/setup.py` is a file and `reana-job-controller` is not: files make one lock together, components one each
    "#]],
    );
}

#[test]
fn each_component_has_its_own_lock() {
    let place = ready();
    let _ = place.compile(&["--hashes", "none"]).expect_code(0);
    expect![[r#"
        #
        # This file is autogenerated by reana-lock with Python 3.12
        # by the following command:
        #
        #    reana-lock compile --no-generate-hashes --output-file=requirements.txt setup.py
        #
        app==2.0
            # via reana-server (setup.py)
        base==1.1
            # via lib
        lib==2.0
            # via app
    "#]]
    .assert_eq(&place.read("reana-server/requirements.txt"));
    expect![[r#"
        #
        # This file is autogenerated by reana-lock with Python 3.12
        # by the following command:
        #
        #    reana-lock compile --no-generate-hashes --output-file=requirements.txt setup.py
        #
        base==1.0
            # via lib
        lib==1.0
            # via reana-job-controller (setup.py)
    "#]]
    .assert_eq(&place.read("reana-job-controller/requirements.txt"));
    assert!(!place.sandbox.exists("reana-commons/requirements.txt"));
    place.no_leftovers();
}

#[test]
fn all_or_none() {
    let place = ready();
    place.file("reana-server/setup.py", setup("reana-server", "'app>=2', 'lib<2'"));
    let output = place.compile(&["-U"]).expect_code(3);
    assert_eq!(output.stdout, "");
    expect![[r#"
        note: reana-job-controller: nothing says which Python to lock for, so it is 3.12; `--python-version` or reana-lock.toml says it
        error: reana-server: no version of lib satisfies everything that is required of it:
          reana-server/setup.py:2 requires app>=2
          reana-server/setup.py:2 requires lib<2
          app 2.0 requires lib>=2
        To go on, loosen one of `app>=2` (reana-server/setup.py:2), `lib<2` (reana-server/setup.py:2).

        hint: no lock was written: a fleet's locks are written all or none
    "#]].assert_eq(&output.stderr);
    assert_eq!(place.read("reana-job-controller/requirements.txt"), "lib==1.0\nbase==1.0\n");
    assert!(!place.sandbox.exists("reana-server/requirements.txt"));
    place.no_leftovers();
}

#[test]
fn all_that_is_wrong_is_told_at_once() {
    let place = ready();
    place.file("reana-server/setup.py", setup("reana-server", "'app'] + open('x').read().split()"));
    place.file("reana-job-controller/setup.py", setup("reana-job-controller", "'app >> 1'"));
    let output = place.compile(&[]).expect_code(2);
    expect![[r#"
        error: reana-job-controller/setup.py:2: `app >> 1` is not a valid requirement (PEP 508): no such comparison operator ">>", must be one of ~= == != <= >= < > ===
        reana-server/setup.py:2: cannot evaluate `setup(name='reana-server', install_requires=['app'] + open('x').read().split()])`: syntax error: Expected `,`, found `]`

        hint: a setup.py is read, never run: write what it computes as plain values, or declare the project in pyproject.toml
    "#]].assert_eq(&output.stderr);
}

#[test]
fn the_worst_failure_decides() {
    let place = ready();
    place.file("reana-server/setup.py", setup("reana-server", "'absent'"));
    place.file("reana-job-controller/setup.py", setup("reana-job-controller", "'app>9'"));
    let output = place.compile(&[]).expect_code(3);
    expect![[r#"
        note: reana-job-controller: nothing says which Python to lock for, so it is 3.12; `--python-version` or reana-lock.toml says it
        error: reana-job-controller: no version of app satisfies everything that is required of it:
          reana-job-controller/setup.py:2 requires app>9
          the index has app 1.0 and 2.0
        To go on, loosen `app>9` (reana-job-controller/setup.py:2).
        error: reana-server: no index knows absent
          reana-server/setup.py:2 requires absent

        hint: is the name spelled right, and is `--index-url` or `--extra-index-url` the index that has it?

        hint: no lock was written: a fleet's locks are written all or none
    "#]].assert_eq(&output.stderr);
}

#[test]
fn one_output_for_several_locks_is_refused() {
    check(
        "",
        &["-o", "all.txt"],
        2,
        &expect![[r#"
        error: --output-file is for one lock, and there are 2: reana-job-controller, reana-server
    "#]],
    );
    check(
        "",
        &["-o", "-"],
        2,
        &expect![[r#"
        error: --output-file is for one lock, and there are 2: reana-job-controller, reana-server
    "#]],
    );
}

#[test]
fn settings_of_a_fleet() {
    let place = ready();
    let settings = "components = ['reana-server', 'reana-commons']\npython = '3.11'\n\n\
        [lock]\nannotation-style = 'line'\nhashes = 'none'\nconstraints = ['limits.txt']\n\n\
        [component.reana-commons]\npython = '3.9'\noutput = 'locks.txt'\n";
    place.file("reana-lock.toml", settings).file("limits.txt", "lib<2\n");
    let output = place.compile_in("reana-server", &["CLUSTER"]).expect_code(0);
    expect![[r#"
        ../reana-commons/locks.txt: 1 pin for Python 3.9 on linux/amd64; new
        ../reana-job-controller/requirements.txt: 2 pins for Python 3.11 on linux/amd64; 2 otherwise
        requirements.txt: 3 pins for Python 3.11 on linux/amd64; new
    "#]]
    .assert_eq(&output.stderr);
    expect![[r#"
        #
        # This file is autogenerated by reana-lock with Python 3.11
        # by the following command:
        #
        #    reana-lock compile --annotation-style=line --constraint=../limits.txt --no-generate-hashes --output-file=requirements.txt setup.py
        #
        app==1.0                  # via reana-server (setup.py)
        base==1.1                 # via lib
        lib==1.5                  # via -c ../limits.txt, app
    "#]].assert_eq(&place.read("reana-server/requirements.txt"));
    expect![[r#"
        #
        # This file is autogenerated by reana-lock with Python 3.9
        # by the following command:
        #
        #    reana-lock compile --annotation-style=line --constraint=../limits.txt --no-generate-hashes --output-file=locks.txt setup.py
        #
        base==1.1                 # via reana-commons (setup.py)
    "#]].assert_eq(&place.read("reana-commons/locks.txt"));
}

#[test]
fn a_component_that_is_listed_and_gone() {
    let place = ready();
    place.file("reana-lock.toml", "components = ['reana-server', 'reana-gone']\n");
    let output = place.compile(&[]).expect_code(2);
    expect![[r#"
        error: [ROOT]/reana-lock.toml:1: `reana-gone` is listed as a component, but there is no such folder
    "#]]
    .assert_eq(&output.stderr);
}

#[test]
fn a_fleet_in_json() {
    let place = ready();
    let output = place.compile(&["--format", "json", "-q"]).expect_code(0);
    let json: serde_json::Value = serde_json::from_str(&output.stdout).expect("JSON");
    let each = json["locks"].as_array().into_iter().flatten();
    let each: Vec<String> =
        each.map(|lock| format!("{} {} {}", lock["name"], lock["lock"], lock["changed"])).collect();
    expect![[r#"
        "reana-job-controller" "reana-job-controller/requirements.txt" true
        "reana-server" "reana-server/requirements.txt" true"#]]
    .assert_eq(&each.join("\n"));
    assert_eq!(output.stderr, "");
}

#[test]
fn a_check_of_a_fleet_names_each_stale_lock() {
    let place = ready();
    let _ = place.compile(&["r-j-controller"]).expect_code(0);
    let output = place.compile(&["--check"]).expect_code(1);
    expect![[r#"
        exit 1
        --- stdout
        reana-server/requirements.txt: error L008 missing: there is no lock
        --- stderr
        reana-job-controller/requirements.txt: 2 pins for Python 3.12 on linux/amd64; unchanged
        1 error found
    "#]]
    .assert_eq(&output.to_string());
    let output = place.compile(&["--check", "--format", "github"]).expect_code(1);
    expect![[r#"
        ::error file=reana-server/requirements.txt,title=L008 missing::there is no lock
    "#]]
    .assert_eq(&output.stdout);
}
