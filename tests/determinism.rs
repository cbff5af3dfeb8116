//! The same manifests, index and options give the same bytes: in any order, from anywhere, with any cache.

use reana_testkit::{Release, World};

use crate::harness::{Place, place, served};

/// A world with choices to make: many versions, extras, markers, shared dependencies.
fn world() -> World {
    let mut world = World::new();
    for major in 1..6 {
        for name in ["web", "api", "cli", "db"] {
            let requires = [
                format!("core>={major}.0"),
                "yaml".to_owned(),
                format!("x{name}<{major}.5; extra == 'fast'"),
            ];
            let requires: Vec<&str> = requires.iter().map(String::as_str).collect();
            let release = Release::new(&format!("{major}.0"), &requires).extras(&["fast"]);
            world = world.release(name, release.wheel("py3-none-any").sdist(&[]));
            world = world.with(&format!("x{name}"), &format!("{major}.2"), &["core<5"]);
        }
        world = world.with("core", &format!("{major}.0"), &[]).with("core", &format!("{major}.4"), &[]);
    }
    world.with("yaml", "1.0", &[]).with("yaml", "2.0", &["core"])
}

const REQUIREMENTS: [&str; 5] = ["web[fast]<5\n", "api\n", "cli[fast]\n", "db<4\n", "yaml>=1\n"];

fn ready() -> Place {
    let place = place(&world());
    place.file("requirements.in", REQUIREMENTS.concat());
    place
}

fn locked(place: &Place, folder: &str, args: &[&str], lock: &str) -> String {
    let _ = place.compile_in(folder, args).expect_code(0);
    place.sandbox.read(lock)
}

#[test]
fn in_any_order() {
    let place = ready();
    let first = locked(&place, "", &[], "requirements.txt");
    assert!(first.lines().count() > 30, "{first}");
    for turn in 1..REQUIREMENTS.len() {
        let mut lines = REQUIREMENTS;
        lines.rotate_left(turn);
        lines.swap(0, 2);
        place.file("requirements.in", lines.concat());
        assert_eq!(locked(&place, "", &["-U"], "requirements.txt"), first, "{lines:?}");
    }
}

#[test]
fn from_anywhere() {
    let place = place(&world());
    place.file("deep/down/web/requirements.in", REQUIREMENTS.concat()).file("other/.keep", "");
    place.file(
        "deep/down/web/setup.py",
        "from setuptools import setup\nsetup(name='web-app', install_requires=['api'])\n",
    );
    place.file("deep/down/web/limits.txt", "core<5\n").file("deep/down/web/.python-version", "3.11\n");
    let lock = "deep/down/web/requirements.txt";
    let first = locked(&place, "deep/down/web", &["-c", "limits.txt"], lock);
    let absolute = place.path("deep/down/web");
    let absolute = absolute.to_string_lossy();
    let elsewhere = [
        ("", "deep/down/web", "deep/down/web/limits.txt"),
        ("deep", "./down/web/", "down/web/../web/limits.txt"),
        ("other", "../deep/down/web", "../deep/down/web/limits.txt"),
        ("other", absolute.as_ref(), "../deep/down/web/limits.txt"),
        ("deep/down/web", ".", "limits.txt"),
    ];
    for (folder, what, limits) in elsewhere {
        let again = locked(&place, folder, &["-U", what, "-c", limits], lock);
        assert_eq!(again, first, "{what} from {folder}");
        place.file(lock, "");
        assert_eq!(locked(&place, folder, &[what, "-c", limits], lock), first, "{what} from {folder}");
    }
}

#[test]
fn files_from_anywhere() {
    let place = place(&world());
    place.file("deep/web/requirements.in", REQUIREMENTS.concat()).file("deep/web/.python-version", "3.12\n");
    let first = locked(&place, "deep/web", &["requirements.in", "-o", "out.txt"], "deep/web/out.txt");
    for (folder, file, out) in
        [("", "deep/web/requirements.in", "deep/web/out.txt"), ("deep", "web/requirements.in", "web/out.txt")]
    {
        place.file("deep/web/out.txt", "");
        assert_eq!(locked(&place, folder, &[file, "-o", out], "deep/web/out.txt"), first, "{file}");
    }
}

#[test]
fn with_any_cache() {
    let place = served(&world());
    place.file("requirements.in", REQUIREMENTS.concat());
    let first = locked(&place, "", &[], "requirements.txt");
    for args in [
        &["-U"][..],
        &["-U", "--offline"],
        &["-U", "--no-cache"],
        &["-U", "--refresh"],
        &["-U", "--cache-dir=c"],
    ] {
        assert_eq!(locked(&place, "", args, "requirements.txt"), first, "{args:?}");
    }
}

#[test]
fn twice() {
    let place = ready();
    let first = locked(&place, "", &[], "requirements.txt");
    let output = place.compile(&[]).expect_code(0);
    assert!(output.stderr.ends_with("unchanged\n"), "{}", output.stderr);
    assert_eq!(place.sandbox.read("requirements.txt"), first);
    let _ = place.compile(&["--check"]).expect_code(0);
    let _ = place.compile(&["--check", "-U"]).expect_code(0);
}

#[test]
fn a_lock_is_a_constraints_file() {
    let place = ready();
    let _ = place.compile(&["--strip-extras", "-P", "yaml==1.0"]).expect_code(0);
    let pins = place.pins("requirements.txt");
    assert!(pins.contains(&"yaml==1.0".to_owned()), "{pins:?}");
    place.file("other/requirements.in", "api\nyaml\n").file("other/.python-version", "3.12\n");
    let _ = place.compile(&["other", "-c", "requirements.txt"]).expect_code(0);
    let others = place.pins("other/requirements.txt");
    assert!(others.iter().all(|pin| pins.contains(pin)), "{others:?} {pins:?}");
    assert!(others.contains(&"yaml==1.0".to_owned()), "{others:?}");
}

#[test]
fn a_lock_is_a_requirements_file() {
    let place = ready();
    let _ = place.compile(&[]).expect_code(0);
    let _ = place.compile(&["requirements.txt", "-o", "again.txt"]).expect_code(0);
    assert_eq!(place.pins("again.txt"), place.pins("requirements.txt"));
    assert_eq!(place.hashed("again.txt"), place.hashed("requirements.txt"));
}

#[test]
fn many_runs_at_once_on_one_cache() {
    let place = served(&world());
    let names: Vec<String> = (0..6).map(|number| format!("web{number}")).collect();
    for name in &names {
        place.file(&format!("{name}/requirements.in"), REQUIREMENTS.concat());
        place.file(&format!("{name}/.python-version"), "3.12\n");
    }
    let runs: Vec<_> = names.iter().map(|name| place.command(&[name]).spawn().expect("a run")).collect();
    for run in runs {
        let output = run.wait_with_output().expect("its end");
        assert_eq!(output.status.code(), Some(0));
    }
    let first = place.sandbox.read("web0/requirements.txt");
    for name in &names {
        assert_eq!(place.sandbox.read(&format!("{name}/requirements.txt")), first);
    }
    let again = locked(&place, "", &["web0", "--offline", "-U"], "web0/requirements.txt");
    assert_eq!(again, first);
}
