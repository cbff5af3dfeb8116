//! `--allow-build`: nothing is built unasked, and what is asked for is built by a Python found on PATH.
#![expect(clippy::disallowed_methods, reason = "a Python is looked for")]

use std::process::Command;

use expect_test::expect;
use reana_testkit::{Release, World};

use crate::harness::{Place, place};

pub(crate) const PYPROJECT: &str =
    "[build-system]\nrequires = []\nbuild-backend = 'own_backend'\nbackend-path = ['.']\n";

/// A backend that needs nothing, leaves a trace where it ran, and says what only running it tells.
pub(crate) const BACKEND: &str = r#"
import os

def prepare_metadata_for_build_wheel(folder, config_settings=None):
    name = "app-2.0.dist-info"
    os.mkdir(os.path.join(folder, name))
    with open(os.path.join(folder, name, "METADATA"), "w") as out:
        out.write("Metadata-Version: 2.1\nName: app\nVersion: 2.0\nRequires-Dist: lib" + "<" + "2\n")
    return name
"#;

fn ready() -> Place {
    let world = World::new()
        .release("app", Release::new("1.0", &[]))
        .release(
            "app",
            Release::new("2.0", &[]).sdist(&[("pyproject.toml", PYPROJECT), ("own_backend.py", BACKEND)]),
        )
        .with("lib", "1.0", &[])
        .with("lib", "2.0", &[]);
    let place = place(&world);
    place.file("requirements.in", "app\n");
    place
}

/// A Python with pip that can report (22.2), as the command would find it in the sandbox.
pub(crate) fn python() -> Option<String> {
    let versions = ["3.13", "3.12", "3.11", "3.10", "3.9"];
    let found = versions.into_iter().find(|version| {
        let asked = Command::new(format!("python{version}"))
            .args([
                "-I",
                "-c",
                "import pip; v = pip.__version__.split('.'); assert (int(v[0]), int(v[1])) >= (22, 2)",
            ])
            .env_clear()
            .env("PATH", "/usr/local/bin:/usr/bin:/bin")
            .output();
        asked.is_ok_and(|output| output.status.success())
    });
    found.map(str::to_owned)
}

#[test]
fn nothing_is_built_unasked() {
    let place = ready();
    let said = place.refuses(&[], 4);
    expect![[r#"
        error: work: the requirements of app 2.0 can't be read from app-2.0.tar.gz: its build backend `own_backend` tells only when it builds
          requirements.in:1 requires app

        hint: `--allow-build app` builds it, which runs its code; `--skip-unreadable app` passes over such versions
    "#]].assert_eq(&said);
    let said = place.refuses(&["--no-build"], 4);
    assert!(said.contains("--allow-build app"), "{said}");
    let said = place.refuses(&["--allow-build", "lib"], 4);
    assert!(said.contains("--allow-build app"), "{said}");
    let output = place.compile(&["--allow-build", "app", "--no-build"]).expect_code(2);
    assert!(output.stderr.contains("cannot be used with"), "{}", output.stderr);
}

#[test]
fn what_is_asked_for_is_built() {
    let Some(python) = python() else {
        eprintln!("SKIPPED: no Python with a pip of 22.2 or later on PATH, so nothing can be built here");
        return;
    };
    for name in ["app", ":all:"] {
        let place = ready();
        let args = ["--allow-build", name, "--python-version", &python, "--format", "json"];
        let output = place.compile(&args).expect_code(0);
        assert_eq!(place.pins("requirements.txt"), ["app==2.0", "lib==1.0"], "{}", output.stderr);
        let json: serde_json::Value = serde_json::from_str(&output.stdout).expect("JSON");
        assert_eq!(json["locks"][0]["pins"][0]["grade"], "built");
        assert!(!place.lock().contains("allow-build"), "leave to run code is not kept: {}", place.lock());
    }
}

#[test]
fn a_python_that_is_not_here() {
    let place = ready();
    let said = place.refuses(&["--allow-build", "app", "--python-version", "3.5"], 4);
    expect![[r#"
        error: work: app could not be looked up: no python3.5 was found on PATH to build with
    "#]]
    .assert_eq(&said);
}

#[test]
fn a_build_that_fails() {
    let Some(python) = python() else {
        eprintln!("SKIPPED: no Python with a pip of 22.2 or later on PATH, so nothing can be built here");
        return;
    };
    let broken = "raise SystemExit('no luck today')\n";
    let release =
        Release::new("2.0", &[]).sdist(&[("pyproject.toml", PYPROJECT), ("own_backend.py", broken)]);
    let place = place(&World::new().release("app", release));
    place.file("requirements.in", "app\n");
    let said = place.refuses(&["--allow-build", "app", "--python-version", &python], 4);
    assert!(said.contains("no luck today") && said.contains("app"), "{said}");
}

#[test]
fn archives_by_address() {
    let Some(python) = python() else {
        eprintln!("SKIPPED: no Python with a pip of 22.2 or later on PATH, so nothing can be built here");
        return;
    };
    let place = ready();
    let members = ["x/pyproject.toml", "x/own_backend.py", "x/p/pyproject.toml", "x/p/own_backend.py"];
    let archive = reana_testkit::zip(&members.map(|path| {
        let text = if path.ends_with(".py") { BACKEND } else { PYPROJECT };
        (path, text)
    }));
    place.file("a.zip", &archive);
    for (fragment, name) in [("", "app"), ("#subdirectory=p", "app"), ("#subdirectory=p", "lib")] {
        let url = format!("file://{}{fragment}", place.path("a.zip").display());
        place.file("requirements.in", format!("{name} @ {url}\n")).file("requirements.txt", "");
        let said = place.refuses(&[], 4);
        assert!(said.contains("--allow-build"), "{said}");
        let args = ["--allow-build", name, "--python-version", &python];
        if name == "lib" {
            let said = place.refuses(&args, 2);
            assert!(said.contains("holds app, not lib"), "{said}");
        } else {
            let _output = place.compile(&args).expect_code(0);
            assert_eq!(place.pins("requirements.txt").last().map(String::as_str), Some("lib==1.0"));
            assert!(place.lock().contains(&crate::harness::sha256(&archive)), "{}", place.lock());
        }
    }
}
