//! Registries: a real one, open, behind TLS and a password, behind a token server; and one that fails as scripted.
//! What is asked is the digest of a base image, by `reana-lock inputs`.
#![expect(clippy::disallowed_methods, reason = "tests change files and their modes")]

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use reana_testkit::registry::{digest, is_installed};
use reana_testkit::{Door, IndexServer, Output, Registry, Reply, World};

use crate::harness::{Place, place};

/// A component on a base image of this registry.
fn on_base(base: &str) -> Place {
    let place = place(&World::new());
    place.file("app/Dockerfile", format!("FROM {base}\n"));
    place
}

fn inputs(place: &Place, args: &[&str]) -> Output {
    place.run_in("app", &[&["inputs"], args].concat())
}

#[track_caller]
fn finds(place: &Place, args: &[&str], digest: &str) {
    let output = inputs(place, args).expect_code(0);
    assert!(output.stdout.contains(&format!("\t{digest}\n")), "{output}");
}

#[track_caller]
fn has_no_answer(place: &Place, args: &[&str], why: &str) {
    let output = inputs(place, args).expect_code(4);
    assert!(output.stderr.contains(why), "{output}");
    assert!(!output.to_string().contains("s3cret"), "{output}");
}

fn labels() -> BTreeMap<String, String> {
    [("org.opencontainers.image.version".to_owned(), "1.0".to_owned())].into()
}

#[test]
fn an_open_registry() {
    if !is_installed() {
        return;
    }
    let registry = Registry::start(Door::Open);
    let host = registry.host();
    let image = registry.push("reana/app", "1.0", &labels());
    let (index, _) = registry.push_index("reana/app", "2.0", &labels());
    finds(&on_base(&format!("{host}/reana/app:1.0")), &[], &image);
    finds(&on_base(&format!("{host}/reana/app:2.0")), &[], &index);
    has_no_answer(&on_base(&format!("{host}/reana/app:3.0")), &[], "its registry knows no such image");
    has_no_answer(&on_base(&format!("{host}/reana/other:1.0")), &[], "its registry knows no such image");
    // A manifest of the same length that is not the one that was pushed, under the old digest.
    let file = registry.blob_file(&image);
    let text = fs::read_to_string(&file).expect("a manifest");
    fs::write(&file, text.replace("\"schemaVersion\":2", "\"schemaVersion\": ").replace(": ,", ":2,"))
        .expect("written");
    let altered = fs::read(&file).expect("a manifest");
    if digest(&altered) == image {
        fs::write(&file, text.replace("layer.v1.tar", "layer.v2.tar")).expect("written");
    }
    has_no_answer(&on_base(&format!("{host}/reana/app:1.0")), &[], "altered: ");
}

#[test]
fn tls_and_a_password() {
    if !is_installed() {
        return;
    }
    let registry = Registry::start(Door::Password);
    let image = registry.push("reana/app", "1.0", &labels());
    let place = on_base(&format!("{}/reana/app:1.0", registry.host()));
    has_no_answer(&place, &[], "`--registry-ca FILE` trusts");
    let authority = registry.authority().to_string_lossy().into_owned();
    let ca = ["--registry-ca", authority.as_str()];
    has_no_answer(&place, &ca, "the registry refuses (401): UNAUTHORIZED authentication required");
    place.file("../home/.docker/config.json", registry.docker_config());
    finds(&place, &ca, &image);
    place.file("reana-lock.toml", format!("components = ['app']\n[images]\nregistry-ca = '{authority}'\n"));
    finds(&place, &[], &image);
    place.file("../home/.docker/config.json", registry.docker_config().replace("Y2U6", "Y2U7"));
    has_no_answer(&place, &ca, "is not base64 of `user:password`");
    place.file("../home/.docker/config.json", "{\n\"auths\": \"s3cret\"}");
    has_no_answer(&place, &ca, "config.json: line 2: not what docker's config.json looks like");
}

#[test]
fn credentials_of_a_helper() {
    if !is_installed() {
        return;
    }
    let registry = Registry::start(Door::Password);
    let host = registry.host();
    let image = registry.push("reana/app", "1.0", &labels());
    let place = on_base(&format!("{host}/reana/app:1.0"));
    let authority = registry.authority().to_string_lossy().into_owned();
    let ca = ["--registry-ca", authority.as_str()];
    place.file("../home/.docker/config.json", format!("{{\"credHelpers\": {{\"{host}\": \"own\"}}}}"));
    let sandbox_path = place.path("bin").to_string_lossy().into_owned();
    let run = |script: Option<&str>| {
        if let Some(script) = script {
            place.file("bin/docker-credential-own", format!("#!/bin/sh\n{script}\n"));
            let file = place.path("bin/docker-credential-own");
            fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).expect("a program");
        }
        let mut command = place.command(&[]);
        let output = reset(&mut command, &place, &sandbox_path, &ca);
        assert!(!output.contains("s3cret"), "{output}");
        output
    };
    assert!(run(None).contains("there is no `docker-credential-own` on PATH"));
    let knows =
        "read server; echo \"$1 $server\" > asked; echo '{\"Username\": \"alice\", \"Secret\": \"s3cret\"}'";
    assert!(run(Some(knows)).contains(&image));
    assert_eq!(place.sandbox.read("app/asked"), format!("get {host}\n"));
    assert!(
        run(Some("echo 'credentials not found in native keychain'; exit 1"))
            .contains("no credentials are known")
    );
    assert!(run(Some("echo s3cret; exit 1")).contains("`docker-credential-own` failed"));
    assert!(run(Some("echo s3cret")).contains("answers with no credentials"));
}

/// Runs `inputs` with another PATH; what it says.
fn reset(command: &mut std::process::Command, place: &Place, path: &str, args: &[&str]) -> String {
    let program = command.get_program().to_owned();
    let mut fresh = std::process::Command::new(program);
    fresh.args(["inputs"]).args(args).current_dir(place.path("app")).env_clear();
    for (name, value) in command.get_envs() {
        if let Some(value) = value {
            fresh.env(name, value);
        }
    }
    let output = fresh.env("PATH", format!("{path}:/usr/local/bin:/usr/bin:/bin")).output().expect("a run");
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

#[test]
fn tokens() {
    if !is_installed() {
        return;
    }
    let registry = Registry::start(Door::Token("reana/app", 300));
    let image = registry.push("reana/app", "1.0", &labels());
    let place = on_base(&format!("{}/reana/app:1.0", registry.host()));
    has_no_answer(&place, &[], "the registry refuses (401): UNAUTHORIZED authentication required");
    place.file("../home/.docker/config.json", registry.docker_config());
    finds(&place, &[], &image);
    // A repository that the token isn't for.
    let other = on_base(&format!("{}/reana/other:1.0", registry.host()));
    other.file("../home/.docker/config.json", registry.docker_config());
    has_no_answer(&other, &[], "the registry refuses (401)");
    let wrong = r#"{"auths": {"HOST": {"username": "alice", "password": "wrong"}}}"#;
    place.file("../home/.docker/config.json", wrong.replace("HOST", &registry.host()));
    has_no_answer(&place, &[], "its token server says");
}

#[test]
fn expired_tokens() {
    if !is_installed() {
        return;
    }
    let registry = Registry::start(Door::Token("reana/app", -500));
    let _ = registry.push("reana/app", "1.0", &labels());
    let place = on_base(&format!("{}/reana/app:1.0", registry.host()));
    place.file("../home/.docker/config.json", registry.docker_config());
    has_no_answer(&place, &[], "the registry refuses (401)");
}

const PATH: &str = "/v2/reana/app/manifests/1.0";

/// A scripted registry, and a component on its image. It is asked without TLS from the start.
fn scripted(replies: Vec<Reply>) -> (IndexServer, Place, String) {
    let server = IndexServer::new();
    server.script(PATH, replies);
    let place = on_base(&format!("{}/reana/app:1.0", server.host()));
    let plain = format!("--plain-http={}", server.host());
    (server, place, plain)
}

fn check_fault(reply: Reply, why: &str) {
    let (_server, place, plain) = scripted(vec![reply]);
    has_no_answer(&place, &[&plain], why);
}

fn with_body(status: u16, body: &str) -> Reply {
    Reply { status, ..Reply::ok("application/json", body) }
}

#[test]
fn what_is_no_answer() {
    check_fault(
        with_body(401, "{}").with("WWW-Authenticate", "Negotiate"),
        "in a way that is not known here: `Negotiate`",
    );
    check_fault(
        with_body(401, "{}").with("WWW-Authenticate", "Basic realm=x"),
        "no credentials are known for it",
    );
    check_fault(
        with_body(403, r#"{"errors":[{"code":"DENIED","message":"no"}]}"#),
        "the registry refuses (403): DENIED no",
    );
    check_fault(with_body(500, "boom"), "status 500: boom");
    check_fault(with_body(404, "404 page not found\n"), "what answers is no registry");
    check_fault(with_body(404, "<html>"), "what answers is no registry");
    check_fault(
        with_body(429, "").with("Retry-After", "3600"),
        "(429); it wants to be left alone for 3600 s",
    );
    check_fault(with_body(200, "<html>"), "no manifest that is known here");
    check_fault(with_body(200, r#"{"schemaVersion":1,"name":"x"}"#), "schema version 1");
    check_fault(with_body(200, &"x".repeat(5 << 20)), "the registry sends more than 4194304 bytes");
    let announced = format!("sha256:{}", "0".repeat(64));
    let manifest = format!(r#"{{"schemaVersion":2,"config":{{"digest":"{announced}"}}}}"#);
    check_fault(with_body(200, &manifest).with("Docker-Content-Digest", &announced), "altered: ");
    check_fault(Reply::ok("application/json", manifest).cut(20), "the answer broke off");
}

#[test]
fn what_passes_is_tried_again() {
    let manifest = format!(r#"{{"schemaVersion":2,"config":{{"digest":"sha256:{}"}}}}"#, "0".repeat(64));
    let busy = || with_body(429, "").with("Retry-After", "0");
    let good = Reply::ok("application/json", manifest.clone());
    let (server, place, plain) = scripted(vec![busy(), with_body(503, ""), good.clone()]);
    finds(&place, &[&plain], &digest(manifest.as_bytes()));
    let seen = server.seen();
    assert_eq!(seen.iter().map(|it| it.status).collect::<Vec<_>>(), [429, 503, 200]);
    let accepted = &seen[0].headers["accept"];
    for kind in
        ["oci.image.index.v1", "manifest.list.v2", "oci.image.manifest.v1", "distribution.manifest.v2"]
    {
        assert!(accepted.contains(kind), "{accepted}");
    }
    // One that speaks no TLS is asked without, on this machine.
    let (_server, place, _) = scripted(vec![good]);
    finds(&place, &[], &digest(manifest.as_bytes()));
}

#[test]
fn credentials_stay_where_they_belong() {
    let (server, place, plain) = scripted(vec![]);
    let other = IndexServer::new();
    let manifest = format!(r#"{{"schemaVersion":2,"config":{{"digest":"sha256:{}"}}}}"#, "0".repeat(64));
    other.put("/elsewhere", Reply::ok("application/json", manifest.clone()));
    let away = Reply::status(307).with("Location", &other.url("/elsewhere"));
    server.script(PATH, vec![with_body(401, "").with("WWW-Authenticate", "Basic realm=x"), away]);
    let auth = r#"{"auths": {"HOST": {"username": "alice", "password": "s3cret"}}}"#;
    place.file("../home/.docker/config.json", auth.replace("HOST", &server.host()));
    finds(&place, &[&plain], &digest(manifest.as_bytes()));
    let authorized = |server: &IndexServer| -> Vec<bool> {
        server.seen().iter().map(|seen| seen.headers.contains_key("authorization")).collect()
    };
    assert_eq!((authorized(&server), authorized(&other)), (vec![false, true], vec![false]));
}

#[test]
fn a_registry_that_is_down() {
    let server = IndexServer::new();
    let place = on_base(&format!("{}/reana/app:1.0", server.host()));
    drop(server);
    has_no_answer(&place, &[], "there is no connection to the registry");
    has_no_answer(&place, &["--offline"], "its registry is not asked (--offline)");
}

/// What is in no repository is asked by the settings of the folder that the run is in, or of one above.
#[test]
fn settings_above_hold_for_references_and_running_images() {
    if !is_installed() {
        return;
    }
    let registry = Registry::start(Door::Password);
    let image = registry.push("reana/app", "1.0", &labels());
    let name = format!("{}/reana/app:1.0", registry.host());
    let place = place(&World::new());
    place.file("../home/.docker/config.json", registry.docker_config());
    place.file("app/values.yaml", format!("image: {name}\n"));
    let old = format!("sha256:{}", "0".repeat(64));
    let pods = serde_json::json!({ "kind": "Pod", "metadata": { "name": "p", "namespace": "n" }, "spec": {
        "nodeName": "a", "containers": [{ "name": "c", "image": name }] }, "status": { "containerStatuses": [{
        "name": "c", "image": name, "imageID": format!("{}/reana/app@{old}", registry.host()) }] } });
    place.file("app/pods.json", pods.to_string());
    let pin = ["images", "pin", "values.yaml"];
    let output = place.run_in("app", &pin).expect_code(4);
    assert!(output.stderr.contains("`--registry-ca FILE` trusts"), "{output}");
    let authority = registry.authority().to_string_lossy().into_owned();
    place.file("reana-lock.toml", format!("[images]\nregistry-ca = '{authority}'\n"));
    let output = place.run_in("app", &pin).expect_code(0);
    assert!(output.stdout.contains(&format!("+image: {name}@{image}\n")), "{output}");
    let output = place.run_in("app", &["running", "--drift", "--input=pods.json"]).expect_code(1);
    assert!(output.stdout.contains("stands for something else in the registry"), "{output}");
}

#[test]
fn settings_that_can_not_be_meant() {
    let place = place(&World::new());
    place.file("app/Dockerfile", "FROM 127.0.0.1:9/a:1\n").file("app/none.pem", "none\n");
    let refused = |args: &[&str], why: &str| {
        let output = inputs(&place, args);
        assert!(output.to_string().contains(why), "{output}");
    };
    refused(&["--registry-ca=none.pem"], "app/none.pem: it holds no certificate (PEM)");
    refused(
        &["--plain-http=http://x"],
        "--plain-http: `http://x` is no registry: `host` or `host:port` is expected",
    );
    place.file("app/reana-lock.toml", "[images]\nplain-http = ['x/y']\n");
    refused(&[], "reana-lock.toml:2: `x/y` is no registry");
}

/// Nobody is asked with `--offline`: the ledger may still say no.
#[test]
fn guard_and_record_without_the_network() {
    let server = IndexServer::new();
    let fleet = crate::guard::Fleet::at(&server.host(), &World::new());
    let (word, why) = fleet.verdict(&["--offline"], 4);
    assert_eq!((word.as_str(), why.as_str()), ("unknown", "its registry is not asked (--offline)"));
    let output = fleet.run(&["record", "--offline"]).expect_code(2);
    assert!(output.stderr.contains("which is not asked"), "{output}");
    assert_eq!(server.seen().len(), 0);
}
