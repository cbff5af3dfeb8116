//! `reana-lock check`: what is found of Dockerfiles, through the command. (The reader's own tests have odder ones.)
#![expect(clippy::disallowed_methods, reason = "tests look at files")]

use std::collections::BTreeMap;
use std::path::Path;

use expect_test::{Expect, expect};

use crate::harness::{place, small_world};

/// All files below a folder, by their paths.
pub(crate) fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            found.extend(files(&path));
        } else {
            found.insert(path.to_string_lossy().into_owned(), std::fs::read(&path).expect("a file"));
        }
    }
    found
}

#[track_caller]
fn check(dockerfile: &str, code: i32, expected: &Expect) {
    let place = place(&small_world());
    place.file("requirements.in", "app\n");
    let _ = place.compile(&["-q"]).expect_code(0);
    place.file("Dockerfile", dockerfile);
    expected.assert_eq(&place.ask("check", &[]).expect_code(code).stdout);
}

#[test]
fn as_reana_builds_its_images() {
    check(
        "FROM docker.io/library/ubuntu:24.04\nENV PIP_BREAK_SYSTEM_PACKAGES=true\nCOPY requirements.txt /code/\n\
         RUN apt-get update -y && \\\n    apt-get install -y \\\n      python3-pip \\\n      python3.12 && \\\n\
         \x20   pip install --no-cache-dir --upgrade 'setuptools<81' && \\\n\
         \x20   pip install --no-cache-dir -r /code/requirements.txt && \\\n    apt-get clean\n\
         WORKDIR /code\nCOPY . /code\nARG DEBUG=0\n\
         RUN if [ \"${DEBUG}\" -gt 0 ]; then pip install -e \".[debug]\"; else pip install .; fi;\n\
         RUN if test -e modules/reana-commons; then \\\n\
         \x20     if [ \"${DEBUG}\" -gt 0 ]; then \\\n\
         \x20       pip install -e \"modules/reana-commons[kubernetes]\" --upgrade; \\\n      else \\\n\
         \x20       pip install \"modules/reana-commons[kubernetes]\" --upgrade; \\\n      fi \\\n    fi\n\
         RUN pip check\n",
        0,
        &expect![[r#"
            Dockerfile:8: warning D003 unpinned: `setuptools<81` is whatever version the index has on the day
            Dockerfile:14: warning D002 pulls-in-more: installs `.`, `.[debug]` without --no-deps, with whatever the lock lacks; the lock has no extra debug
            Dockerfile:17: note D007 local-package: installs `modules/reana-commons[kubernetes]` in place of what the lock pins
        "#]],
    );
}

#[test]
fn not_from_the_lock() {
    check(
        "FROM python:3.12\nCOPY . /code\nRUN pip install /code\n",
        1,
        &expect![[r#"
        Dockerfile: error D001 not-from-lock: no command installs from requirements.txt with pip or uv
        Dockerfile:3: warning D002 pulls-in-more: installs `/code` without --no-deps, with whatever the lock lacks
    "#]],
    );
    check(
        "FROM python:3.12\nRUN cat requirements.txt | xargs pip install\n",
        1,
        &expect![[r#"
        Dockerfile: error D001 not-from-lock: no command installs from requirements.txt with pip or uv
    "#]],
    );
}

#[test]
fn hashes_that_are_not_checked() {
    check(
        "FROM python:3.12\nRUN uv pip install --no-verify-hashes -r requirements.txt\n",
        1,
        &expect![[r#"
        Dockerfile:2: error D005 hashes-ignored: --no-verify-hashes: the lock's hashes are not checked
    "#]],
    );
}

#[test]
fn what_else_is_installed() {
    check(
        "FROM python:3.11-slim\nRUN pip install --upgrade pip\nRUN pip install -r requirements.txt\n\
         RUN pip install app==1.0 uvloop==0.21.0 'lib>=1' git+https://h.example/x@main -r dev.txt\n",
        0,
        &expect![[r#"
            Dockerfile:1: warning D006 other-python: the image has Python 3.11 (FROM python:3.11-slim), and the lock is for 3.12
            Dockerfile:2: warning D004 pip-upgrade: `pip` is whatever version the index has on the day
            Dockerfile:4: warning D003 unpinned: `dev.txt` is not the lock: what it names is not pinned by it
            Dockerfile:4: warning D003 unpinned: `lib>=1` is whatever version the index has on the day (the lock pins 2.0)
            Dockerfile:4: warning D003 unpinned: `git+https://h.example/x@main` may be something else another day
            Dockerfile:4: warning D008 beside-lock: installs app 1.0, and the lock pins 2.0
            Dockerfile:4: warning D008 beside-lock: installs uvloop 0.21.0, which the lock doesn't have
        "#]],
    );
}

#[test]
fn as_it_should_be() {
    check(
        "FROM python:3.12 AS build\r\nRUN pip install -r requirements.txt\r\nCOPY . /code\r\n\
         RUN pip install --no-deps --no-build-isolation /code && pip install lib==2.0\r\n",
        0,
        &expect![[""]],
    );
}

#[test]
fn a_file_that_is_no_text_is_passed_over() {
    let place = place(&small_world());
    place.file("requirements.in", "app\n");
    let _ = place.compile(&["-q"]).expect_code(0);
    place.file("Dockerfile", b"FROM \xff\xfe\n");
    assert_eq!(place.ask("check", &[]).expect_code(0).stdout, "");
}
