//! `reana-lock images`: references in files.

use std::path::Path;

use expect_test::{Expect, expect};
use reana_testkit::{Output, Sandbox};

use crate::harness::PROGRAM;

const VALUES: &str = "components:\n  reana_server:\n    imagePullPolicy: IfNotPresent\n    image: docker.io/reanahub/reana-server:latest\n  reana_ui:\n    imagePullPolicy: Always\n    image: reanahub/reana-ui\n  reana_db:\n    image: docker.io/library/postgres:12.13\n";

fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new(Path::new(PROGRAM));
    sandbox.file("values.yaml", VALUES);
    sandbox.file("templates/pod.yaml", "image: \"{{ .Values.image }}\"\nother: {image: a:1}\n");
    sandbox.file("Dockerfile", "FROM python:3.12 AS base\nFROM base\nCOPY --from=busybox /x /y\n");
    sandbox
}

#[track_caller]
fn check(output: Output, code: i32, expected: &Expect) {
    expected.assert_eq(&output.expect_code(code).to_string());
}

#[test]
fn references_that_move_are_found() {
    let sandbox = sandbox();
    let files = ["images", "lint", "values.yaml", "templates/pod.yaml", "Dockerfile"];
    check(
        sandbox.run(&files),
        1,
        &expect![[r#"
        exit 1
        --- stdout
        values.yaml:4:12: error: components.reana_server.image: docker.io/reanahub/reana-server:latest has the tag `latest`, a word and no version, which moves; nodes that have it keep what they have (imagePullPolicy)
        values.yaml:7:12: warning: components.reana_ui.image: reanahub/reana-ui has no tag, so that `latest` is meant, which moves; each start gets what it is by then
        Dockerfile:3:13: warning: COPY --from: busybox has no tag, so that `latest` is meant, which moves; each build gets what it is by then
        --- stderr
        note: templates/pod.yaml:1:9: image: `{{ .Values.image }}` is filled in later, and not looked at
        6 references, 3 of them can move
    "#]],
    );
    check(
        sandbox.run(&[&files[..], &["--format", "github", "-q"]].concat()),
        1,
        &expect![[r#"
        exit 1
        --- stdout
        ::error file=values.yaml,line=4,col=12::docker.io/reanahub/reana-server:latest has the tag `latest`, a word and no version, which moves; nodes that have it keep what they have (imagePullPolicy)
        ::warning file=values.yaml,line=7,col=12::reanahub/reana-ui has no tag, so that `latest` is meant, which moves; each start gets what it is by then
        ::warning file=Dockerfile,line=3,col=13::busybox has no tag, so that `latest` is meant, which moves; each build gets what it is by then
        --- stderr
    "#]],
    );
    let output = sandbox.run(&[&files[..], &["--format", "json"]].concat()).expect_code(1);
    let json: serde_json::Value = serde_json::from_str(&output.stdout).expect("JSON");
    assert_eq!(json["references"], 6);
    assert_eq!(json["findings"].as_array().map(Vec::len), Some(3));
    assert_eq!(json["findings"][0]["rule"], "word");
    assert_eq!(json["findings"][0]["pull_policy"], "IfNotPresent");
    assert_eq!(json["skipped"][0]["file"], "templates/pod.yaml");
    check(
        sandbox.run(&["images", "lint", "templates/pod.yaml"]),
        0,
        &expect![[r#"
        exit 0
        --- stdout
        --- stderr
        note: templates/pod.yaml:1:9: image: `{{ .Values.image }}` is filled in later, and not looked at
        1 reference, none moves
    "#]],
    );
}

#[test]
fn files_that_cannot_be_read() {
    let sandbox = sandbox();
    check(
        sandbox.run(&["images", "lint", "absent.yaml"]),
        2,
        &expect![[r#"
        exit 2
        --- stdout
        --- stderr
        error: [ROOT]/absent.yaml: there is no such file or folder
    "#]],
    );
    sandbox.file("notes.txt", "image: a");
    check(
        sandbox.run(&["images", "lint", "notes.txt"]),
        2,
        &expect![[r#"
        exit 2
        --- stdout
        --- stderr
        error: notes.txt: neither YAML nor a Dockerfile, as its name goes

        hint: names that are known end in .yaml or .yml, or are Dockerfile, Containerfile, NAME.Dockerfile
    "#]],
    );
    sandbox.file("template.yaml", "{{- if .Values.x }}\nimage: a\n{{- end }}\n");
    check(
        sandbox.run(&["images", "lint", "template.yaml"]),
        2,
        &expect![[r#"
        exit 2
        --- stdout
        --- stderr
        error: template.yaml:1:3: "-" is only valid inside a block

        hint: a chart's template is no YAML before it is rendered: `helm template`, then look
    "#]],
    );
    sandbox.file("latin.yaml", b"image: \xe4");
    check(
        sandbox.run(&["images", "lint", "latin.yaml"]),
        2,
        &expect![[r#"
        exit 2
        --- stdout
        --- stderr
        error: [ROOT]/latin.yaml: not UTF-8 text
    "#]],
    );
}

#[test]
fn one_tag_with_two_digests() {
    let sandbox = sandbox();
    let digest = |digit: &str| format!("sha256:{}", digit.repeat(64));
    let values = |one: &str, two: &str| {
        format!(
            "a: {{image: \"reanahub/reana-server:0.95.0{one}\"}}\nb:\n  image:\n    repository: reanahub/reana-ui\n    tag: 0.95.0{two}\nc: {{image: x:1}}\n"
        )
    };
    let at = |digit: &str| format!("@{}", digest(digit));
    sandbox.file("april.yaml", values(&at("a"), &at("b")));
    sandbox.file("may.yaml", values(&at("c"), &at("b")));
    check(
        sandbox.run(&["images", "diff", "april.yaml", "may.yaml"]),
        1,
        &expect![[r#"
        exit 1
        --- stdout
        reanahub/reana-server:0.95.0: aaaaaaaaaaaa -> cccccccccccc
        --- stderr
        note: 1 tag has no digest in one of the files, so that nothing can be said of them
        3 tags are in both files, 1 of them with different digests
    "#]],
    );
    check(
        sandbox.run(&["images", "diff", "april.yaml", "april.yaml"]),
        0,
        &expect![[r#"
        exit 0
        --- stdout
        --- stderr
        note: 1 tag has no digest in one of the files, so that nothing can be said of them
        3 tags are in both files, 0 of them with different digests
    "#]],
    );
    sandbox.file("plain.yaml", values("", ""));
    check(
        sandbox.run(&["images", "diff", "april.yaml", "plain.yaml"]),
        0,
        &expect![[r#"
        exit 0
        --- stdout
        --- stderr
        note: 3 tags have no digest in one of the files, so that nothing can be said of them
        3 tags are in both files, 0 of them with different digests
    "#]],
    );
    let words = ["images", "diff", "april.yaml", "may.yaml", "--format", "json"];
    let output = sandbox.run(&words).expect_code(1);
    let json: serde_json::Value = serde_json::from_str(&output.stdout).expect("JSON");
    assert_eq!(json["different"][0]["image"], "reanahub/reana-server:0.95.0");
    assert_eq!(json["different"][0]["new"][0], digest("c"));
    assert_eq!(json["compared"], 2);
}
