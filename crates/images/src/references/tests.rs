use std::fmt::Write as _;

use expect_test::{Expect, expect};
use proptest::prelude::{any, proptest};

use super::*;
use crate::Digest;

/// References with their places and what they are, then what was passed over, then the text with all of them pinned.
#[track_caller]
fn check(kind: FileKind, text: &str, expected: &Expect) {
    let mut shown = String::new();
    match find(kind, text) {
        Ok(References { found, skipped }) => {
            let mut edits = Vec::new();
            for found in &found {
                let place = found.form.place();
                let why = moves(&found.image);
                let _ = write!(shown, "{}:{} {} {}", place.line, place.column, found.path, found.form.text());
                let _ = write!(shown, " {:?} {why:?}", found.policy);
                match pin(found, &Digest::of(b"")) {
                    Ok(edit) => edits.push(edit),
                    Err(error) => drop(write!(shown, " not pinned: {error}")),
                }
                shown.push('\n');
            }
            for skipped in &skipped {
                let _ = writeln!(
                    shown,
                    "{}:{} {} {:?}",
                    skipped.line, skipped.column, skipped.text, skipped.reason
                );
            }
            let pinned = apply(text, &edits).replace(Digest::of(b"").as_str(), "DIGEST");
            let old: Vec<&str> = text.split('\n').collect();
            let changed = pinned.split('\n').zip(old).filter(|(new, old)| new != old);
            for (new, _) in changed {
                let _ = writeln!(shown, "> {new:?}");
            }
        }
        Err(error) => drop(writeln!(shown, "{error}")),
    }
    expected.assert_eq(&shown);
}

#[test]
fn helm_values() {
    check(
        FileKind::Yaml,
        "components:\n  reana_server:\n    imagePullPolicy: IfNotPresent\n    image: docker.io/reanahub/reana-server:latest # why\n    environment:\n      IMAGE: x\n\
         pgbouncer: {image: \"bitnami/pgbouncer:1.24.1\", enabled: false}\n\
         traefik:\r\n  image:\r\n    registry: ghcr.io\r\n    repository: traefik/traefik\r\n    tag: 3.1 # ä\r\n    pullPolicy: Always\r\n\
         dask:\n  worker:\n    image: {name: ghcr.io/dask/dask, tag: 'main'}\n\
         postgres: {image: {repository: bitnami/postgresql, tag: '16', digest: \"\"}}\n\
         opensearch: {image: {repository: opensearch}}\n\
         dask_image: ä/x\ndefaultImage: busybox\nempty: {image: ''}\ngit: {repository: 'https://example.org/x', tag: main}\n",
        &expect![[r#"
            4:12 components.reana_server.image docker.io/reanahub/reana-server:latest Keeps Some(Word("latest"))
            7:21 pgbouncer.image bitnami/pgbouncer:1.24.1 Unsaid None
            12:10 traefik.image ghcr.io/traefik/traefik:3.1 Always None
            16:44 dask.worker.image ghcr.io/dask/dask:main Unsaid Some(Word("main"))
            17:58 postgres.image bitnami/postgresql:16 Unsaid None
            18:34 opensearch.image opensearch Unsaid Some(NoTag) not pinned: it has neither a tag nor a `digest` key here: the chart chooses the tag; set one first
            20:15 defaultImage busybox Unsaid Some(NoTag)
            19:13 ä/x NoReference("`ä/x` is no image name: lower-case letters and digits, parted by `.`, `_`, `-` and `/`, are expected")
            > "    image: docker.io/reanahub/reana-server:latest@DIGEST # why"
            > "pgbouncer: {image: \"bitnami/pgbouncer:1.24.1@DIGEST\", enabled: false}"
            > "    tag: 3.1@DIGEST # ä\r"
            > "    image: {name: ghcr.io/dask/dask, tag: 'main@DIGEST'}"
            > "postgres: {image: {repository: bitnami/postgresql, tag: '16', digest: \"DIGEST\"}}"
            > "defaultImage: busybox@DIGEST"
        "#]],
    );
}

#[test]
fn kubernetes_objects() {
    check(
        FileKind::Yaml,
        "kind: Pod\nspec:\n  initContainers:\n  - image: busybox\n    imagePullPolicy: Always\n  containers:\n  - name: a\n    image: &a >-\n      python:dev\n    imagePullPolicy: Never\n\
         \n---\nkind: Deployment\nspec: {template: {spec: {containers: [{image: *a}, {image: python@sha256:x}, {image: \"p\\u0079thon\"}]}}}\n---\n\
         x: &b a/b:edge\ny: {image: *b}\nz: {image: *b}\nt: {image: \"{{ .Values.image }}:1\"}\n? {image: k:latest}\n: 1\n",
        &expect![[r#"
            4:12 spec.initContainers[0].image busybox Always Some(NoTag)
            8:12 spec.containers[0].image python:dev Keeps Some(Word("dev")) not pinned: it is written as a block or with escapes: write it plainly, or in quotes
            8:12 spec.template.spec.containers[0].image python:dev Unsaid Some(Word("dev")) not pinned: it is written as a block or with escapes: write it plainly, or in quotes
            14:87 spec.template.spec.containers[2].image python Unsaid Some(NoTag) not pinned: it is written as a block or with escapes: write it plainly, or in quotes
            16:4 y.image a/b:edge Unsaid Some(Word("edge"))
            16:4 z.image a/b:edge Unsaid Some(Word("edge"))
            20:11 image k:latest Unsaid Some(Word("latest"))
            14:60 python@sha256:x NoReference("`sha256:x` is no digest: `sha256:` and 64 hexadecimal digits are expected")
            19:13 {{ .Values.image }}:1 Template
            > "  - image: busybox@DIGEST"
            > "x: &b a/b:edge@DIGEST"
            > "? {image: k:latest@DIGEST}"
        "#]],
    );
}

#[test]
fn reana_yaml() {
    check(
        FileKind::Yaml,
        "workflow:\n  type: serial\n  specification:\n    steps:\n      - name: a\n        environment: 'docker.io/library/python:2.7-slim'\n        commands: [x]\n      - environment: reanahub/env\n\
         environment: no\nother: {environment: none}\n",
        &expect![[r#"
            6:23 workflow.specification.steps[0].environment docker.io/library/python:2.7-slim Unsaid None
            8:22 workflow.specification.steps[1].environment reanahub/env Unsaid Some(NoTag)
            > "        environment: 'docker.io/library/python:2.7-slim@DIGEST'"
            > "      - environment: reanahub/env@DIGEST"
        "#]],
    );
}

#[test]
fn dockerfiles() {
    check(
        FileKind::Dockerfile,
        "# syntax=docker/dockerfile:1\nARG BASE=\"python:latest\" X=1\nARG TAG\nFROM --platform=linux/amd64 ${BASE} AS build\nRUN <<EOF\nFROM nothing\nEOF\nRUN a \\\n  FROM no\nfrom build\n\
         FROM ubuntu:$TAG\nFROM scratch\r\nFROM debian:bookworm-slim as Last\r\nCOPY --from=last /a /b\nCOPY --from=0 /a /b\nCOPY --chown=1 --from=ghcr.io/astral-sh/uv:0.5 /uv /bin/\nARG BASE=x:latest\nFROM ${BASE}\nFROM UPPER/x\n",
        &expect![[r#"
            2:11 FROM python:latest Build Some(Word("latest"))
            13:6 FROM debian:bookworm-slim Build Some(Word("bookworm-slim"))
            16:23 COPY --from ghcr.io/astral-sh/uv:0.5 Build None
            19:6 FROM UPPER/x Build Some(NoTag)
            11:6 ubuntu:$TAG Template
            > "ARG BASE=\"python:latest@DIGEST\" X=1"
            > "FROM debian:bookworm-slim@DIGEST as Last\r"
            > "COPY --chown=1 --from=ghcr.io/astral-sh/uv:0.5@DIGEST /uv /bin/"
            > "FROM UPPER/x@DIGEST"
        "#]],
    );
}

/// What hides no instruction from builders hides none from us: a byte order mark, a shell's backtick, words that begin
/// no here-document.
#[test]
fn odd_dockerfiles() {
    check(
        FileKind::Dockerfile,
        "\u{feff}FROM a:latest\nRUN echo `date`\nFROM b:latest\nRUN echo \"<<EOF\" $((1<<2)) x<<y <<<z\nFROM c:latest\n\
         RUN <<A cat <<-'B C'\nFROM x\n\tA\nFROM x\nA\nFROM x\n\tB C\nFROM d:latest\n",
        &expect![[r#"
            1:6 FROM a:latest Build Some(Word("latest"))
            3:6 FROM b:latest Build Some(Word("latest"))
            5:6 FROM c:latest Build Some(Word("latest"))
            13:6 FROM d:latest Build Some(Word("latest"))
            > "\u{feff}FROM a:latest@DIGEST"
            > "FROM b:latest@DIGEST"
            > "FROM c:latest@DIGEST"
            > "FROM d:latest@DIGEST"
        "#]],
    );
    check(
        FileKind::Dockerfile,
        "FROM \\\n  # why\n\n  a:latest \\\n  AS b\nRUN <<A cat \\\n  x\nFROM y\nA\nARG X \\\n  Y=z\nCOPY \\\n  --from=c:latest a b\nFROM B\nFROM d:latest \\",
        &expect![[r#"
            4:3 FROM a:latest Build Some(Word("latest"))
            13:10 COPY --from c:latest Build Some(Word("latest"))
            15:6 FROM d:latest Build Some(Word("latest"))
            > "  a:latest@DIGEST \\"
            > "  --from=c:latest@DIGEST a b"
            > "FROM d:latest@DIGEST \\"
        "#]],
    );
    check(
        FileKind::Dockerfile,
        "# escape=`\nFROM a:latest\nRUN b `\n  FROM c\nRUN d \\\nFROM e:latest\n",
        &expect![[r#"
            2:6 FROM a:latest Build Some(Word("latest"))
            6:6 FROM e:latest Build Some(Word("latest"))
            > "FROM a:latest@DIGEST"
            > "FROM e:latest@DIGEST"
        "#]],
    );
}

#[test]
fn what_is_no_yaml() {
    check(
        FileKind::Yaml,
        "a: [1\nb: 2\n",
        &expect![[r#"
        2:2: illegal placement of ':' indicator
    "#]],
    );
    check(
        FileKind::Yaml,
        "{{- if .Values.x }}\nimage: a\n{{- end }}\n",
        &expect![[r#"
        1:3: "-" is only valid inside a block
    "#]],
    );
    check(
        FileKind::Yaml,
        &"[".repeat(100_000),
        &expect![[r#"
        1:256: recursion limit exceeded
    "#]],
    );
    check(FileKind::Yaml, "", &expect![[""]]);
}

/// An alias costs what it is, whatever it would stand for.
#[test]
fn aliases_are_not_expanded() {
    let mut bomb = String::from("a0: &a0 {image: b:latest}\n");
    for at in 1..60 {
        let _ = writeln!(bomb, "a{at}: &a{at} [{}]", vec![format!("*a{}", at - 1); 9].join(", "));
    }
    let references = find(FileKind::Yaml, &bomb).expect("YAML");
    assert_eq!(references.found.len(), 1);
}

#[test]
fn kinds_of_files() {
    for (name, kind) in [
        ("a/values.yaml", Some(FileKind::Yaml)),
        ("reana.yml", Some(FileKind::Yaml)),
        ("Dockerfile", Some(FileKind::Dockerfile)),
        ("x/Dockerfile.dev", Some(FileKind::Dockerfile)),
        ("dev.Dockerfile", Some(FileKind::Dockerfile)),
        ("Containerfile", Some(FileKind::Dockerfile)),
        ("Dockerfiles", None),
        ("a.json", None),
    ] {
        assert_eq!(FileKind::of(name), kind, "{name}");
    }
}

#[test]
fn versions_and_words() {
    let is_moving = |tag: &str| moves(&format!("a:{tag}").parse().expect("a reference")).is_some();
    for tag in [
        "1",
        "v1.2",
        "3.12-slim",
        "0.6.0-36-gb702986",
        "notebook-7.2.2",
        "20240101",
        "sha-0a1b2c3",
        "jammy-20240101",
        "b702986",
    ] {
        assert!(!is_moving(tag), "{tag}");
    }
    for tag in ["latest", "master", "main", "stable", "bookworm-slim", "py3", "dev", "deadbeef"] {
        assert!(is_moving(tag), "{tag}");
    }
}

proptest! {
    /// Whatever the text: no panic, and what is pinned is the old text with digests put in.
    #[test]
    fn pins_only_add(text in "(?s).{0,200}", lines in proptest::collection::vec("[ -]{0,4}(image|tag|repository|FROM|x): ?[a-z\"'&*{}:/.|>ä]{0,12}", 0..12), is_yaml in any::<bool>()) {
        let kind = if is_yaml { FileKind::Yaml } else { FileKind::Dockerfile };
        for text in [text, lines.join("\n")] {
            let Ok(references) = find(kind, &text) else { continue };
            let edits: Vec<Edit> = references.found.iter().filter_map(|found| pin(found, &Digest::of(b"")).ok()).collect();
            let pinned = apply(&text, &edits);
            assert_eq!(pinned.replace(&format!("@{}", Digest::of(b"")), "").replace(Digest::of(b"").as_str(), ""), text);
        }
    }
}
