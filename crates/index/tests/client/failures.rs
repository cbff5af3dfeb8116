//! What servers do wrong, and what is said of it.

use std::time::Duration;

use expect_test::{Expect, expect};
use reana_index::{Client, IndexSource, Limits, Settings, Timeouts};
use reana_testkit::{IndexServer, Reply};

use crate::{OneWheel, bare, client, folder, name, page, settings, sha256_key, show, target};

fn good() -> Reply {
    Reply::json(page(&[("a-1.0.tar.gz", "")]))
}

/// What is said when these answers come one after the other, and how many were had.
fn check(replies: Vec<Reply>, expected: &Expect) {
    let server = IndexServer::new();
    server.script("/simple/a/", replies);
    let said = bare(&server, &show(&client(settings(&server))));
    expected.assert_eq(&format!("{said}\n{} asked", server.take_log().len()));
}

#[test]
fn what_may_pass_is_tried_again() {
    for code in [408, 429, 500, 502, 503, 504] {
        check(
            vec![Reply::status(code), Reply::status(code), good()],
            &expect![[r#"
                1.0: a-1.0.tar.gz
                3 asked"#]],
        );
    }
    check(
        vec![good().cut(20), good()],
        &expect![[r#"
            1.0: a-1.0.tar.gz
            2 asked"#]],
    );
    check(
        vec![Reply::nothing(), good()],
        &expect![[r#"
            1.0: a-1.0.tar.gz
            2 asked"#]],
    );
    check(
        vec![Reply::nothing()],
        &expect![[r#"
            http://HOST/simple/a/: no connection: connection closed before message completed
            4 asked"#]],
    );
    check(
        vec![Reply::status(500)],
        &expect![[r#"
            http://HOST/simple/a/: the server answered 500 (Internal Server Error)
            4 asked"#]],
    );
    check(
        vec![good().cut(20)],
        &expect![[r#"
            http://HOST/simple/a/: the answer broke off: end of file before message length reached
            4 asked"#]],
    );
}

#[test]
fn what_stays_is_not_tried_again() {
    check(
        vec![Reply::status(403), good()],
        &expect![[r#"
            http://HOST/simple/a/: the server answered 403 (Forbidden)
            1 asked"#]],
    );
    check(
        vec![Reply::html("<html><h1>Please log in</h1><form></form></html>"), good()],
        &expect![[r#"
            http://HOST/simple/a/: answered text/html where an index page was expected: an HTML page without a link to any distribution
            1 asked"#]],
    );
    check(
        vec![Reply::json("<html>"), good()],
        &expect![[r#"
            http://HOST/simple/a/: answered application/vnd.pypi.simple.v1+json where an index page was expected: expected value at line 1 column 1
            1 asked"#]],
    );
    check(
        vec![Reply::ok("image/png", "x"), good()],
        &expect![[r#"
            http://HOST/simple/a/: answered image/png where an index page was expected: neither JSON nor HTML
            1 asked"#]],
    );
    check(
        vec![Reply::json(page(&[]).replace("1.1", "2.0")), good()],
        &expect![[r#"
            http://HOST/simple/a/: the index speaks version 2.0 of the simple API, which is not understood
            1 asked"#]],
    );
}

#[test]
fn retry_after_is_heeded_in_bounds() {
    let server = IndexServer::new();
    server.script("/simple/a/", vec![Reply::status(429).with("Retry-After", "3600"), good()]);
    let client = client(settings(&server));
    assert_eq!(show(&client), "1.0: a-1.0.tar.gz");
    assert_eq!(client.progress().retries, 1);
    assert_eq!(client.progress().requests_done, 2);
}

#[test]
fn waits_no_longer_than_told() {
    let server = IndexServer::new();
    server.put("/simple/a/", good().after(Duration::from_secs(5)));
    let timeouts = Timeouts { read: Duration::from_millis(50), ..Timeouts::default() };
    let said = show(&client(Settings { timeouts, attempts: 2, ..settings(&server) }));
    assert_eq!(bare(&server, &said), "http://HOST/simple/a/: no answer in time");
    assert_eq!(server.take_log().len(), 2);
}

#[test]
fn takes_no_more_than_told() {
    let server = IndexServer::new();
    server.put("/simple/a/", good());
    let limits = Limits { page: 20, ..Limits::default() };
    let said = show(&client(Settings { limits, ..settings(&server) }));
    assert_eq!(bare(&server, &said), "http://HOST/simple/a/: larger than the limit of 20 bytes");
    assert_eq!(server.take_log().len(), 1);
}

#[test]
fn nobody_there() {
    let url = IndexServer::new().url("/simple/");
    let server = IndexServer::new();
    let settings = Settings { indexes: vec![IndexSource::new(url)], ..settings(&server) };
    let said = show(&client(settings));
    assert!(said.contains("/simple/a/: no connection: "), "{said}");
}

#[test]
fn redirected_in_circles() {
    let server = IndexServer::new();
    server.put("/simple/a/", Reply::status(302).with("Location", "/simple/a/"));
    let said = bare(&server, &show(&client(settings(&server))));
    assert_eq!(said, "http://HOST/simple/a/: redirected too often");
}

#[test]
fn a_wheel_that_breaks_off() {
    let one = OneWheel::new(&sha256_key(&OneWheel::new("").wheel.bytes()));
    one.server.put(&one.path(), Reply::file(one.wheel.bytes()).cut(100));
    let client = client(Settings { verify_metadata: true, ..settings(&one.server) });
    let error = client.metadata(&name("a"), &one.dist_file(&client), &target()).expect_err("no wheel");
    assert_eq!(
        bare(&one.server, &error.to_string()),
        format!("http://HOST{}: the answer broke off: end of file before message length reached", one.path())
    );
}

#[test]
fn credentials_reach_their_server_and_no_message() {
    let (server, other) = (IndexServer::new(), IndexServer::new());
    server.put("/simple/a/", Reply::status(302).with("Location", &other.url("/simple/a/")));
    other.put("/simple/a/", Reply::status(401));
    let url = server.url_with("us%40er:s3cret%21", "/simple");
    let with = Settings { indexes: vec![IndexSource::new(url)], ..settings(&server) };
    let client = client(with);
    let said = show(&client);
    assert!(said.ends_with("/simple/a/: the server answered 401 (Unauthorized)"), "{said}");
    assert!(!format!("{said}{client:?}").contains("s3cret"), "{said}");
    let sent = |server: &IndexServer| server.seen()[0].headers.get("authorization").cloned();
    // us@er:s3cret!
    assert_eq!(sent(&server).as_deref(), Some("Basic dXNAZXI6czNjcmV0IQ=="));
    assert_eq!(sent(&other), None);
}

#[test]
fn credentials_of_a_distributions_address() {
    let server = IndexServer::new();
    let client = client(settings(&server));
    let url = server.url_with("user:s3cret", "/files/a-1.0.tar.gz");
    let error = client.direct(&url, None, &target()).expect_err("nothing").to_string();
    assert_eq!(bare(&server, &error), "http://****@HOST/files/a-1.0.tar.gz: not found");
    let sent = server.seen()[0].headers.get("authorization").cloned();
    // user:s3cret
    assert_eq!(sent.as_deref(), Some("Basic dXNlcjpzM2NyZXQ="));
}

#[test]
fn credentials_from_netrc() {
    let (server, folder) = (IndexServer::new(), folder());
    server.put("/simple/a/", good());
    let path = folder.path().join("netrc");
    std::fs::write(&path, "machine 127.0.0.1\nlogin user\npassword s3cret\n").expect("to write");
    assert_eq!(show(&client(Settings { netrc: Some(path), ..settings(&server) })), "1.0: a-1.0.tar.gz");
    let sent = server.seen()[0].headers.get("authorization").cloned();
    // user:s3cret
    assert_eq!(sent.as_deref(), Some("Basic dXNlcjpzM2NyZXQ="));
}

#[test]
fn settings_that_make_no_client() {
    let check = |settings: Settings, expected: &str| {
        let error = Client::new(settings).expect_err("no client").to_string();
        assert!(error.starts_with(expected), "{error}");
    };
    let plain = || Settings::new(crate::now);
    let index = |url: &str| Settings { indexes: vec![IndexSource::new(url)], ..plain() };
    check(
        index("ftp://user:s3cret@a.example/"),
        "ftp://****@a.example/: `ftp:` is neither http, https nor file",
    );
    check(Settings { netrc: Some("/nowhere/netrc".into()), ..plain() }, "netrc file /nowhere/netrc: ");
    check(
        Settings {
            extra_roots_pem: b"-----BEGIN CERTIFICATE-----\nx\n-----END CERTIFICATE-----\n".to_vec(),
            ..plain()
        },
        "certificates: ",
    );
    let file = tempfile::NamedTempFile::new().expect("a file");
    let cache = reana_index::CacheMode::Folder(file.path().join("cache"));
    check(Settings { cache, ..plain() }, "cache folder ");
}
