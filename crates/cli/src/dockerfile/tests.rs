//! Tests of what is read from Dockerfiles.

use super::*;

fn check(text: &str, expected: Option<(&str, u32)>) {
    let found = Dockerfile::parse(text).python();
    assert_eq!(found.as_ref().map(|found| (found.version.as_str(), found.line)), expected, "{text}");
}

#[test]
fn images_of_python() {
    check("FROM python:3.8-slim\n", Some(("3.8", 1)));
    check(
        "# c\n\nfrom --platform=$BUILDPLATFORM docker.io/library/python:3.12.4-slim AS x\n",
        Some(("3.12.4", 3)),
    );
    check("FROM python:3.12@sha256:0123\n", Some(("3.12", 1)));
    check("FROM python:3.14.0rc1-slim\n", Some(("3.14", 1)));
    check("FROM host.example:5000/python:3.11-alpine\n", Some(("3.11", 1)));
    check("FROM registry/ubi9/python-312:latest\n", Some(("3.12", 1)));
    check("FROM python:3\n", None);
    check("FROM python\n", None);
    check("FROM fedora:25\n", None);
    check("FROM\n", None);
    check("", None);
}

#[test]
fn distributions() {
    check("FROM docker.io/library/ubuntu:24.04\nRUN apt-get install -y python3\n", Some(("3.12", 1)));
    check("FROM ubuntu:focal-20240530\n", Some(("3.8", 1)));
    check("FROM debian:bookworm-slim\n", Some(("3.11", 1)));
    check("FROM debian:12.5\n", Some(("3.11", 1)));
    check("FROM debian:120\n", None);
}

#[test]
fn what_is_installed() {
    let run =
        "FROM ubuntu:20.04\nENV A=1\nRUN apt-get update -y && \\\n    apt-get install -y \\\n      # note\n";
    check(
        &format!("{run}      libpython3.9 \\\n      python3.9 python3.9-dev && \\\n pip list\n"),
        Some(("3.9", 7)),
    );
    check(&format!("{run}      libpython3.9 python3-pip\n"), Some(("3.9", 6)));
    check(&format!("{run}      python3-pip && apt-get remove python3.7-dev\n"), Some(("3.8", 1)));
    check("FROM ubuntu:24.04\nRUN sed -i s/a/b/ /usr/lib/python3.9/x\n", Some(("3.12", 1)));
    check("FROM x\nRUN [\"apt-get\", \"install\", \"python3.10\"]\n", Some(("3.10", 2)));
    check("FROM x\nRUN conda install -y python=3.9 numpy=1.2\n", Some(("3.9", 2)));
    check(
        "FROM x\nRUN --mount=type=cache,target=/c if true; then apk add python3.11=3.11.1; fi\n",
        Some(("3.11", 2)),
    );
    check(
        "FROM x\nRUN apt-get install python3.11 python3.12\nRUN python3.11 -m pip install y\n",
        Some(("3.11", 3)),
    );
    check("FROM x\nRUN <<EOF\napt-get update\napt-get install python3.13\nEOF\nRUN ls\n", Some(("3.13", 4)));
}

#[test]
fn variables_and_stages() {
    check("ARG V=3.11\nFROM python:${V}-slim\n", Some(("3.11", 2)));
    check("ARG V=3.11\nARG T=$V-slim\nFROM python:$T\n", Some(("3.11", 3)));
    check("FROM python:${V:-3.10}\n", Some(("3.10", 1)));
    check("FROM python:${V}\n", None);
    check("ARG V=3.9\nFROM ubuntu:22.04\nARG V\nRUN apt-get install python$V\n", Some(("3.9", 4)));
    check("ARG V=3.9\nFROM ubuntu:22.04\nRUN apt-get install python$V\n", Some(("3.10", 2)));
    check("FROM ubuntu:22.04\nENV V 3.9\nRUN apt-get install python$V\n", Some(("3.9", 3)));
    check("FROM python:3.8 AS build\nFROM python:3.12\nCOPY --from=build /x /x\n", Some(("3.12", 2)));
    check("FROM python:3.8 AS Base\nRUN ls\nFROM base\nRUN ls\n", Some(("3.8", 1)));
    check("FROM base AS base\n", None);
}

#[test]
fn installs_from_the_lock() {
    let check = |run: &str, expected: Option<u32>| {
        let text = format!("FROM x\nCOPY requirements.txt /code/\n{run}");
        assert_eq!(Dockerfile::parse(&text).installs_from("requirements.txt"), expected, "{run}");
    };
    check("RUN pip install --no-cache-dir -r /code/requirements.txt && \\\n ls\n", Some(3));
    check(
        "RUN a && \\\n    pip install 'setuptools<81' && \\\n    pip3 install -r requirements.txt\n",
        Some(5),
    );
    check("RUN uv pip install --requirement=requirements.txt\n", Some(3));
    check("RUN uv pip sync requirements.txt\n", Some(3));
    check("RUN python3.12 -m pip install -rrequirements.txt\n", Some(3));
    check("RUN pip install -r other.txt\n", None);
    check("RUN cat requirements.txt\n", None);
    check("RUN pip install -c requirements.txt .\n", None);
    check("# RUN pip install -r requirements.txt\n", None);
}

#[test]
fn variables_do_not_grow_without_bound() {
    let mut text = "FROM x\nARG A0=0123456789\n".to_owned();
    for n in 1..64 {
        text.push_str(&format!("ARG A{n}=$A{}$A{}\n", n - 1, n - 1));
    }
    text.push_str("RUN apt-get install python3.12 $A63\n");
    check(&text, Some(("3.12", 66)));
    text.push_str(&"RUN $A9 $A9 $A9 $A9\n".repeat(10_000));
    let size: usize = Dockerfile::parse(&text)
        .stages
        .iter()
        .flat_map(|stage| &stage.commands)
        .flat_map(|c| &c.words)
        .map(String::len)
        .sum();
    assert!(size < 2 * 1024 * 1024, "{size}");
}

proptest::proptest! {
    #[test]
    fn no_text_is_too_much(text in "(FROM|RUN|ARG|ENV|[ \\\\\n$\\{\\}:'\"<=&#a-z-]|\\PC){0,60}") {
        let file = Dockerfile::parse(&text);
        let _looked_at = (file.python(), file.installs_from("requirements.txt"));
    }
}
