//! Credentials: where they come from, and that they never show.
#![expect(clippy::disallowed_methods, reason = "tests look into every file that a run leaves")]

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use reana_testkit::{IndexServer, Output, Reply, World};

use crate::harness::{PROGRAM, Place, serve, served};
use reana_testkit::Sandbox;

const SECRET: &str = "s3cr3t-p@ss";
/// `me:s3cr3t-p@ss`
const BASIC: &str = "Basic bWU6czNjcjN0LXBAc3M=";

/// A server whose own index is at `/own`, and a sandbox with these variables.
fn place(variables: &[(&str, &str)]) -> Place {
    let mut place = served(&World::new());
    let mut sandbox = Sandbox::new(Path::new(PROGRAM));
    for (name, value) in variables {
        sandbox = sandbox.env(name, value);
    }
    sandbox.file(".python-version", "3.12\n").file("requirements.in", "inner\n");
    place.sandbox = sandbox;
    if let Some(server) = &place.server {
        serve(server, "/own", &World::new().with("inner", "1.0", &[]));
    }
    place
}

/// What the own index was sent last.
fn sent(place: &Place) -> Option<String> {
    let seen = place.server.as_ref().map(IndexServer::seen).unwrap_or_default();
    let last = seen.into_iter().rfind(|seen| seen.path == "/own/simple/inner/");
    last.and_then(|seen| seen.headers.get("authorization").cloned())
}

fn own(place: &Place) -> String {
    place.server.as_ref().map(|server| server.url("/own/simple/")).unwrap_or_default()
}

fn with_user(place: &Place) -> String {
    own(place).replacen("://", "://me@", 1)
}

/// No output and no file of the sandbox has the secret, in any form.
#[track_caller]
fn nothing_shows(place: &Place, output: &Output) {
    let forms = [SECRET.to_owned(), "s3cr3t-p%40ss".to_owned(), BASIC.replace("Basic ", "")];
    let is_told = |bytes: &[u8]| {
        forms.iter().any(|form| bytes.windows(form.len()).any(|window| window == form.as_bytes()))
    };
    assert!(!is_told(output.stdout.as_bytes()) && !is_told(output.stderr.as_bytes()), "{output}");
    let root = place.sandbox.path().parent().map(Path::to_path_buf).unwrap_or_default();
    let mut folders = vec![root];
    let mut files = 0;
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("a folder").flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            files += 1;
            let may_hold = path.ends_with("bin/keyring") || path.ends_with("pip.conf");
            let bytes = fs::read(&path).expect("a file");
            assert!(may_hold || !is_told(&bytes), "{} holds the secret", path.display());
        }
    }
    assert!(files > 2, "the sandbox has files");
}

/// Runs that succeed and that fail, as talkative as can be, with a lock that names its index.
#[track_caller]
fn is_sent_and_hidden(place: &Place, args: &[&str]) {
    let mut all = vec!["compile", "-v", "-v", "--emit-index-url"];
    all.extend(args);
    let output = place.run(&all).expect_code(0);
    assert_eq!(sent(place).as_deref(), Some(BASIC), "{output}");
    nothing_shows(place, &output);
    if let Some(server) = &place.server {
        for reply in [Reply::status(401), Reply::ok("text/plain", "no page")] {
            server.put("/own/simple/inner/", reply);
            let output = place.run(&[&all[..], &["--refresh", "-U"]].concat());
            assert!(matches!(output.code, 2..=4), "{output}");
            nothing_shows(place, &output);
        }
    }
}

#[test]
fn in_the_address() {
    let place = place(&[]);
    let url = place.server.as_ref().map(|server| server.url_with("me:s3cr3t-p%40ss", "/own/simple/"));
    is_sent_and_hidden(&place, &["--index-url", &url.unwrap_or_default()]);
}

#[test]
fn in_the_environment_by_host() {
    let place = place(&[
        ("REANA_LOCK_INDEX_127_0_0_1_USERNAME", "me"),
        ("REANA_LOCK_INDEX_127_0_0_1_PASSWORD", SECRET),
    ]);
    is_sent_and_hidden(&place, &["--index-url", &own(&place)]);
}

#[test]
fn in_the_environment_by_name() {
    let place =
        place(&[("REANA_LOCK_INDEX_MY_OWN_USERNAME", "me"), ("REANA_LOCK_INDEX_MY_OWN_PASSWORD", SECRET)]);
    is_sent_and_hidden(&place, &["--index-url", &format!("my-own={}", own(&place))]);
}

#[test]
fn of_a_further_index_and_of_settings() {
    let place = place(&[("REANA_LOCK_INDEX_OWN_USERNAME", "me"), ("REANA_LOCK_INDEX_OWN_PASSWORD", SECRET)]);
    let text = format!("[index]\nextra = ['own={}']\nurl = '{0}'\n", own(&place));
    place.file("reana-lock.toml", text);
    is_sent_and_hidden(&place, &["requirements.in"]);
}

#[test]
fn in_pips_configuration() {
    let place = place(&[("PIP_CONFIG_FILE", "pip.conf")]);
    let url = place.server.as_ref().map(|server| server.url_with("me:s3cr3t-p%40ss", "/own/simple/"));
    place.file("pip.conf", format!("[global]\nindex-url = {}\n", url.unwrap_or_default()));
    is_sent_and_hidden(&place, &[]);
}

/// A `keyring` that answers as this shell script does.
fn keyring(place: &Place, script: &str) {
    let path = place.path("bin/keyring");
    place.file("bin/keyring", format!("#!/bin/sh\n{script}\n"));
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("a program");
}

fn with_keyring(script: &str) -> Place {
    // The sandbox's path is known only when it is there, so the program is found from where the run starts.
    let place = place(&[("PATH", "bin:/usr/bin:/bin")]);
    keyring(&place, script);
    place
}

#[test]
fn in_a_keyring() {
    let place = with_keyring(&format!(
        "case \"$*\" in 'get http://127.0.0.1:'*'/own/simple/ me') echo '{SECRET}';; *) exit 1;; esac"
    ));
    is_sent_and_hidden(&place, &["--index-url", &with_user(&place), "--keyring-provider", "subprocess"]);
    // by the host, as keyrings have it that people filled by hand
    let place = with_keyring(&format!("case \"$2\" in 127.0.0.1:*) echo '{SECRET}';; *) exit 1;; esac"));
    is_sent_and_hidden(&place, &["--index-url", &with_user(&place), "--keyring-provider=subprocess"]);
}

#[test]
fn a_keyring_is_asked_only_if_the_user_says_so() {
    let place = with_keyring("touch asked; echo no; exit 0");
    let _ = place.run(&["compile", "--index-url", &with_user(&place)]).expect_code(0);
    assert!(!place.sandbox.exists("asked"));
    let _ = place
        .run(&["compile", "--index-url", &own(&place), "--keyring-provider", "subprocess"])
        .expect_code(0);
    assert!(!place.sandbox.exists("asked"), "without a user there is nothing to ask");
}

#[test]
fn a_keyring_that_has_nothing() {
    let place = with_keyring("exit 1");
    let args = ["compile", "--keyring-provider", "subprocess", "--index-url"];
    let output = place.run(&[&args[..], &[&with_user(&place)]].concat()).expect_code(0);
    assert!(output.stderr.contains("note: keyring has no password of me for http://"), "{output}");
    let place = self::place(&[]);
    let output = place.run(&[&args[..], &[&with_user(&place)]].concat()).expect_code(0);
    assert!(output.stderr.contains("there is no `keyring` on PATH"), "{output}");
}
