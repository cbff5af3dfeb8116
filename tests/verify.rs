//! `verify`: a lock beside what `pip list` and `pip inspect` printed in an image.
#![expect(clippy::disallowed_methods, reason = "a test gives the command a stdin")]

use std::io::Write as _;
use std::process::{Command, Stdio};

use expect_test::{Expect, expect};
use reana_testkit::World;

use crate::harness::{PROGRAM, Place, place, small_world};

/// A component `web` whose lock pins app 2.0, lib 2.0 and base 1.1, each without hashes for short lines.
fn ready() -> Place {
    let place = place(&small_world());
    place.file("setup.py", "from setuptools import setup\nsetup(name='Web_App', install_requires=['app'])\n");
    let _ = place.compile(&["--no-generate-hashes", "setup.py"]).expect_code(0);
    place
}

fn check(place: &Place, args: &[&str], code: i32, expected: &Expect) {
    let args = [&["verify"], args].concat();
    expected.assert_eq(&place.run(&args).expect_code(code).to_string());
}

/// What `pip list --format json` prints.
fn list(packages: &[(&str, &str)]) -> String {
    let each: Vec<String> = packages
        .iter()
        .map(|(name, version)| format!(r#"{{"name": "{name}", "version": "{version}"}}"#))
        .collect();
    format!("[{}]\n", each.join(", "))
}

/// What `pip inspect` prints, of packages with what stands beside their metadata.
fn inspect(python: &str, packages: &[(&str, &str, &str)]) -> String {
    let each: Vec<String> = packages
        .iter()
        .map(|(name, version, more)| {
            format!(
                r#"{{"metadata": {{"metadata_version": "2.1", "name": "{name}", "version": "{version}"}}, "installer": "pip", "requested": true{more}}}"#
            )
        })
        .collect();
    format!(
        r#"{{"version": "1", "pip_version": "24.0", "installed": [{}], "environment": {{"implementation_name": "cpython", "implementation_version": "{python}.4", "os_name": "posix", "platform_machine": "x86_64", "platform_release": "6.1", "platform_system": "Linux", "platform_version": "any", "python_full_version": "{python}.4", "platform_python_implementation": "CPython", "python_version": "{python}", "sys_platform": "linux"}}}}"#,
        each.join(", ")
    )
}

#[test]
fn an_image_as_its_lock_says() {
    let place = ready();
    let right = [("App", "2.0"), ("base", "1.1.0"), ("lib", "2.0"), ("pip", "24.0"), ("web-app", "0.1")];
    place.file("list.json", list(&right));
    check(
        &place,
        &["--installed", "list.json"],
        0,
        &expect![[r#"
        exit 0
        --- stdout
        --- stderr
        requirements.txt: 3 pins for Python 3.12; all are installed as they are pinned, and nothing else is
    "#]],
    );
    check(
        &place,
        &["--installed", "list.json", "requirements.txt", "-v", "--format=json"],
        0,
        &expect![[r#"
            exit 0
            --- stdout
            {
              "lock": "requirements.txt",
              "installed": "list.json",
              "said_by": "pip list",
              "python": "3.12",
              "matches": true,
              "compared": {
                "pins": 3,
                "findings": [],
                "tools": [
                  {
                    "name": "pip",
                    "version": "24.0"
                  }
                ],
                "own": [
                  {
                    "name": "web-app",
                    "version": "0.1"
                  }
                ]
              },
              "notes": []
            }
            --- stderr
        "#]],
    );
}

#[test]
fn all_that_differs() {
    let place = ready();
    place.file("list.json", list(&[("app", "1.0"), ("base", "1.1"), ("evil", "6.6"), ("setuptools", "80")]));
    check(
        &place,
        &["--installed=list.json", "-v"],
        1,
        &expect![[r#"
        exit 1
        --- stdout
        requirements.txt:7: app 2.0 is pinned, and 1.0 is installed
        requirements.txt: evil 6.6 is installed, and not pinned
        requirements.txt:11: lib 2.0 is not installed
        --- stderr
        setuptools 80 installs packages and is not pinned
        requirements.txt: 3 pins for Python 3.12; 3 differences
    "#]],
    );
    check(
        &place,
        &["--installed=list.json", "--format=json"],
        1,
        &expect![[r#"
        exit 1
        --- stdout
        {
          "lock": "requirements.txt",
          "installed": "list.json",
          "said_by": "pip list",
          "python": "3.12",
          "matches": false,
          "compared": {
            "pins": 3,
            "findings": [
              {
                "kind": "version",
                "name": "app",
                "line": 7,
                "pinned": "2.0",
                "installed": "1.0"
              },
              {
                "kind": "extra",
                "name": "evil",
                "line": null,
                "pinned": null,
                "installed": "6.6"
              },
              {
                "kind": "missing",
                "name": "lib",
                "line": 11,
                "pinned": "2.0",
                "installed": null
              }
            ],
            "tools": [
              {
                "name": "setuptools",
                "version": "80"
              }
            ],
            "own": []
          },
          "notes": []
        }
        --- stderr
    "#]],
    );
}

#[test]
fn what_inspect_tells_besides() {
    let place = ready();
    let folder = r#", "direct_url": {"url": "file:///code/lib", "dir_info": {"editable": true}}"#;
    let own = r#", "direct_url": {"url": "file:///code", "dir_info": {}}"#;
    place.file(
        "inspect.json",
        inspect(
            "3.12",
            &[("app", "2.0", ""), ("base", "1.1", ""), ("lib", "2.0", folder), ("web_app", "1", own)],
        ),
    );
    check(
        &place,
        &["--installed=inspect.json", "-v"],
        1,
        &expect![[r#"
        exit 1
        --- stdout
        requirements.txt:11: lib 2.0 is pinned, and it was installed from file:///code/lib
        --- stderr
        web-app 1 is the component's own
        requirements.txt: 3 pins for Python 3.12; 1 difference
    "#]],
    );
}

#[test]
fn markers_are_read_for_the_image() {
    let place = place(&World::new());
    place.file(
        "requirements.txt",
        "app==1.0 ; python_version >= \"3.10\"\napp==0.9 ; python_version < \"3.10\"\n",
    );
    place.file("new.json", inspect("3.12", &[("app", "1.0", "")]));
    place.file("old.json", inspect("3.8", &[("app", "0.9", "")]));
    for file in ["new.json", "old.json"] {
        let _ = place.run(&["verify", "--installed", file, "requirements.txt"]).expect_code(0);
    }
    check(
        &place,
        &["--installed=old.json", "requirements.txt", "--python-version=3.11"],
        1,
        &expect![[r#"
            exit 1
            --- stdout
            requirements.txt:1: app 1.0 is pinned, and 0.9 is installed
            --- stderr
            requirements.txt: 1 pin for Python 3.11; 1 difference
        "#]],
    );
}

#[test]
fn a_list_for_one_of_several_pythons() {
    let place = place(&small_world());
    place.file("requirements.in", "app; python_version < '3.10'\nlib\n");
    let _ = place.compile(&["--python-version=3.12", "--python-version=3.8"]).expect_code(0);
    place.file("list.json", list(&[("base", "1.1"), ("lib", "2.0")]));
    check(
        &place,
        &["--installed=list.json"],
        2,
        &expect![[r#"
        exit 2
        --- stdout
        --- stderr
        error: requirements.txt: the lock's pins differ for Python 3.12 on linux/amd64, linux/arm64; Python 3.8 on linux/amd64, linux/arm64, and `pip list` doesn't say which of these the image is

        hint: give `--python-version` and `--platform`, or what `pip inspect` prints
    "#]],
    );
    let _ = place.run(&["verify", "--installed=list.json", "--python-version=3.12"]).expect_code(0);
    let _ = place.run(&["verify", "--installed=list.json", "--python-version=3.8"]).expect_code(1);
}

#[test]
fn lines_without_a_name() {
    let place = place(&World::new());
    place.file("lib/setup.py", "from setuptools import setup\nsetup(name='lib', version='1')\n");
    place.file("requirements.txt", "-e ./lib\n./gone\n");
    place.file("list.json", r#"[{"name": "lib", "version": "1", "editable_project_location": "/code/lib"}]"#);
    check(
        &place,
        &["--installed=list.json"],
        0,
        &expect![[r#"
            exit 0
            --- stdout
            --- stderr
            note: requirements.txt:2: `./gone` is not compared: it doesn't say which package it is
            requirements.txt: 1 pin for Python 3.12; what could be compared is installed as it is pinned
        "#]],
    );
    place.file("list.json", "[]");
    check(
        &place,
        &["--installed=list.json"],
        1,
        &expect![[r#"
        exit 1
        --- stdout
        requirements.txt:1: lib is not installed
        --- stderr
        note: requirements.txt:2: `./gone` is not compared: it doesn't say which package it is
        requirements.txt: 1 pin for Python 3.12; 1 difference
    "#]],
    );
}

#[test]
fn what_is_no_output_of_pip() {
    let place = ready();
    let cases = [
        ("{", &expect!["error: bad.json: not JSON: EOF while parsing an object at line 1 column 1"]),
        (
            "{\"packages\": []}",
            &expect![
                "error: bad.json: neither a list of packages (`pip list --format json`) nor a report (`pip inspect`)"
            ],
        ),
        (
            "[{\"name\": \"app\"}]",
            &expect!["error: bad.json: not as `pip list --format json` prints it: missing field `version`"],
        ),
        (
            "{\"version\": \"2\", \"installed\": []}",
            &expect![
                "error: bad.json: a report of `pip inspect` in version 2 of its format; version 1 is known here"
            ],
        ),
        (
            "{\"version\": \"1\", \"installed\": [{\"metadata\": {}}]}",
            &expect!["error: bad.json: not as `pip inspect` prints it: missing field `name`"],
        ),
        ("[{\"name\": \"-x\", \"version\": \"1\"}]", &expect!["error: bad.json: `-x` is no package's name"]),
        (
            "{\"version\": \"1\", \"installed\": [], \"environment\": {\"os_name\": \"posix\"}}",
            &expect!["error: bad.json: the environment has no `implementation_name`"],
        ),
    ];
    for (text, expected) in cases {
        place.file("bad.json", text);
        let output = place.run(&["verify", "--installed=bad.json"]).expect_code(2);
        assert_eq!(output.stdout, "", "{text}");
        expected.assert_eq(output.stderr.lines().next().unwrap_or_default());
    }
    check(
        &place,
        &["--installed=none.json"],
        2,
        &expect![[r#"
        exit 2
        --- stdout
        --- stderr
        error: [ROOT]/none.json: there is no such file or folder
    "#]],
    );
}

#[test]
fn locks_that_nothing_can_be_compared_with() {
    let place = ready();
    place.file("list.json", "[]").file("bad.txt", "app>=1\n");
    check(
        &place,
        &["--installed=list.json", "bad.txt"],
        2,
        &expect![[r#"
        exit 2
        --- stdout
        --- stderr
        error: bad.txt:1: `app>=1` is no pin (`name==version`)

        hint: nothing can be compared with a damaged lock: `reana-lock compile` makes it anew
    "#]],
    );
    place.file("fleet/one/requirements.in", "").file("fleet/one/requirements.txt", "base==1.1\n");
    place.file("fleet/two/requirements.in", "").file("fleet/two/requirements.txt", "base==1.1\n");
    check(
        &place,
        &["--installed=list.json", "fleet"],
        2,
        &expect![[r#"
            exit 2
            --- stdout
            --- stderr
            error: fleet: an image has one lock, and there are fleet/one/requirements.txt, fleet/two/requirements.txt

            hint: name the lock, or its component
        "#]],
    );
}

#[test]
fn by_stdin() {
    let place = ready();
    let mut child = Command::new(PROGRAM)
        .args(["verify", "--installed", "-"])
        .current_dir(place.path(""))
        .env_clear()
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command");
    let text = list(&[("app", "2.0"), ("base", "1.1")]);
    child.stdin.take().expect("stdin").write_all(text.as_bytes()).expect("read");
    let output = child.wait_with_output().expect("an end");
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(String::from_utf8_lossy(&output.stdout), "requirements.txt:11: lib 2.0 is not installed\n");
}
