//! `reana-lock images`: references in files.

use std::path::Path;

use expect_test::{Expect, expect};
use reana_testkit::{IndexServer, Output, Reply, Sandbox};

use crate::harness::{PROGRAM, sha256};

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

/// A registry with one tag of an image without layers; gives the image's name and its digest.
fn registry(server: &IndexServer) -> (String, String) {
    let config = r#"{"architecture":"amd64","os":"linux","config":{}}"#;
    let manifest = manifest(config);
    server.handle(|_| Some(absent()));
    let digest = format!("sha256:{}", sha256(manifest.as_bytes()));
    let reply = Reply::ok("application/vnd.oci.image.manifest.v1+json", manifest);
    server.put("/v2/reana/app/manifests/1.0", reply.clone());
    server.put("/v2/reana/app/manifests/latest", reply.clone());
    server.put(&format!("/v2/reana/app/manifests/{digest}"), reply);
    server.put(&format!("/v2/reana/app/blobs/sha256:{}", sha256(config.as_bytes())), Reply::file(config));
    (format!("{}/reana/app", server.host()), digest)
}

/// How registries say that they have no such image.
pub(crate) fn absent() -> Reply {
    let body = r#"{"errors":[{"code":"MANIFEST_UNKNOWN","message":"manifest unknown"}]}"#;
    Reply { status: 404, ..Reply::ok("application/json", body) }
}

/// An OCI manifest of an image with this configuration.
pub(crate) fn manifest(config: &str) -> String {
    format!(
        r#"{{"schemaVersion":2,"mediaType":"application/vnd.oci.image.manifest.v1+json","config":{{"mediaType":"application/vnd.oci.image.config.v1+json","digest":"sha256:{}","size":{}}},"layers":[]}}"#,
        sha256(config.as_bytes()),
        config.len()
    )
}

#[test]
fn references_are_pinned_and_all_else_is_kept() {
    let sandbox = Sandbox::new(Path::new(PROGRAM));
    let server = IndexServer::new();
    let (name, digest) = registry(&server);
    let host = &*server.host();
    let values = |pin: &str, key: &str| {
        format!(
            "# values\r\na:\r\n  image:   \"{name}:1.0{pin}\"   # kept\r\nb: {{image: {{repository: {name}, tag: '1.0', digest: '{key}'}}}}\nc:\n  image: {name}{pin}\n"
        )
    };
    sandbox.file("values.yaml", values("", ""));
    let shown = |output: Output| {
        let text = output.to_string().replace(&digest, "DIGEST").replace(&name, "NAME");
        text.replace('\r', "").replace(&server.host(), "HOST")
    };
    expect![[r#"
        exit 0
        --- stdout
        --- values.yaml
        +++ values.yaml
        @@ -2,5 +2,5 @@
         a:
        -  image:   "NAME:1.0"   # kept
        -b: {image: {repository: NAME, tag: '1.0', digest: ''}}
        +  image:   "NAME:1.0@DIGEST"   # kept
        +b: {image: {repository: NAME, tag: '1.0', digest: 'DIGEST'}}
         c:
        -  image: NAME
        +  image: NAME@DIGEST
        --- stderr
        3 references would be pinned; nothing was written (`--write` does)
    "#]]
    .assert_eq(&shown(sandbox.run(&["images", "pin", "--plain-http", host, "values.yaml"]).expect_code(0)));
    assert_eq!(sandbox.read("values.yaml"), values("", ""), "nothing is written unasked");
    expect![[r#"
        exit 0
        --- stdout
        --- stderr
        3 references pinned
    "#]]
    .assert_eq(&shown(
        sandbox.run(&["images", "pin", "--plain-http", host, "--write", "values.yaml"]).expect_code(0),
    ));
    assert_eq!(sandbox.read("values.yaml"), values(&format!("@{digest}"), &digest));
    expect![[r#"
        exit 0
        --- stdout
        --- stderr
        nothing to pin
    "#]]
    .assert_eq(&shown(
        sandbox.run(&["images", "pin", "--plain-http", host, "--write", "values.yaml"]).expect_code(0),
    ));
    // What can't be pinned is told, and the rest is pinned.
    server.put("/v2/reana/secret/manifests/1", Reply::status(403));
    sandbox.file("more.yaml", format!("a: {{image: '{host}/reana/gone:1'}}\nb: {{image: '{name}:1.0'}}\nc: {{image: '{host}/reana/secret:1'}}\n"));
    expect![[r#"
        exit 4
        --- stdout
        --- stderr
        warning: more.yaml:1:13: HOST/reana/gone:1: not pinned: its registry has no such image
        warning: more.yaml:3:13: HOST/reana/secret:1: not pinned: the registry refuses (403): ; `docker login HOST` (or podman's, skopeo's) stores credentials where they are looked for: $DOCKER_CONFIG/config.json, ~/.docker/config.json, and the helpers named there
        1 reference pinned
    "#]].assert_eq(&shown(
        sandbox.run(&["images", "pin", "--plain-http", host, "--write", "more.yaml"]).expect_code(4),
    ));
    assert!(sandbox.read("more.yaml").contains(&format!("b: {{image: '{name}:1.0@{digest}'}}")));
}

#[test]
fn ledgers_are_compared_with_values() {
    let sandbox = Sandbox::new(Path::new(PROGRAM));
    let digest = |digit: &str| format!("sha256:{}", digit.repeat(64));
    sandbox.file("reana-images.toml", ledger(&digest("a"), &digest("b"), "reana-db==0.7.0"));
    let values = |digit: &str| format!("a: {{image: 'reanahub/reana-server:0.95.0@{}'}}\n", digest(digit));
    sandbox.file("index.yaml", values("a")).file("child.yaml", values("b")).file("other.yaml", values("c"));
    for (file, code) in [("index.yaml", 0), ("child.yaml", 0), ("other.yaml", 1)] {
        let output = sandbox.run(&["images", "diff", "reana-images.toml", file]).expect_code(code);
        assert!(output.stderr.contains("1 tag is in both files"), "{output}");
    }
    sandbox.file("broken.toml", "[x]\n");
    check(
        sandbox.run(&["images", "diff", "broken.toml", "index.yaml"]),
        2,
        &expect![[r#"
        exit 2
        --- stdout
        --- stderr
        error: broken.toml:1: missing field `digest`
    "#]],
    );
}

/// A ledger that knows one image.
pub(crate) fn ledger(index: &str, child: &str, package: &str) -> String {
    format!(
        "[\"docker.io/reanahub/reana-server:0.95.0\"]\ndigest = \"{index}\"\nchildren = [\"{child}\"]\nconfigs = []\nscheme = 1\ninputs = \"sha256:{}\"\nparts = {{}}\ncommit = \"b702986\"\nbases = []\npackages = [\"click==8.1\", \"{package}\"]\n",
        "e".repeat(64)
    )
}
