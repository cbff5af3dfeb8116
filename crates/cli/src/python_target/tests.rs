//! Tests of which Python is chosen.

use super::*;

fn python(text: &str) -> PythonVersion {
    text.parse().expect("a version")
}

fn choice(files: &[(&str, &str)], known: &Known) -> PythonChoice {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, text) in files {
        disk::write(&folder.path().join(name), text.as_bytes()).expect("written");
    }
    choose(folder.path(), "r", known)
}

fn check(files: &[(&str, &str)], known: &Known, expected: &str) {
    let found = choice(files, known);
    let place = found.place.map(|place| place.to_string()).unwrap_or_default();
    assert_eq!(format!("{} {:?} {place}", found.python.short(), found.reason), expected, "{files:?}");
}

#[test]
fn the_order_of_what_decides() {
    let files = [(".python-version", "# mine\n3.10.4\n"), ("Dockerfile", "FROM python:3.9\n")];
    let header = Known { header: Some((python("3.8"), Origin::new("lock", 2))), ..Known::default() };
    let config = Known { config: Some((python("3.11"), Origin::new("toml", 1))), ..header.clone() };
    let option = Known { option: Some(python("3.13")), ..config.clone() };
    check(&files, &option, "3.13 Option ");
    check(&files, &config, "3.11 Config toml:1");
    check(&files, &header, "3.8 Header lock:2");
    check(&files, &Known::default(), "3.10 PythonVersionFile r/.python-version:2");
    check(&files[1..], &Known::default(), "3.9 Dockerfile(\"FROM python:3.9\") r/Dockerfile:1");
    check(&[], &Known::default(), "3.12 Default ");
}

#[test]
fn what_is_of_no_use_is_told() {
    let files = [(".python-version", "pypy3.9\n"), ("Dockerfile", "FROM scratch\n")];
    let found = choice(&files, &Known::default());
    assert_eq!(found.reason, Reason::Default);
    let places: Vec<String> = found.passed_over.iter().map(|passed| passed.place.to_string()).collect();
    assert_eq!(places, ["r/.python-version:1", "r/Dockerfile"]);
}

#[test]
fn a_version_of_pyenv_s_may_name_an_environment() {
    check(
        &[(".python-version", "3.12.4/envs/reana\n")],
        &Known::default(),
        "3.12 PythonVersionFile r/.python-version:1",
    );
    check(
        &[(".python-version", "cpython-3.11\n")],
        &Known::default(),
        "3.11 PythonVersionFile r/.python-version:1",
    );
}
