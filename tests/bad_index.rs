//! Indexes that don't answer, or answer nonsense: right code, clear message, the old lock whole.

use std::net::TcpListener;

use expect_test::expect;
use reana_testkit::{Release, Reply, World};

use crate::harness::{Place, place, served, small_world};

/// A served place whose requirements.in asks for app.
fn ready() -> Place {
    let place = served(&small_world());
    place.file("requirements.in", "app\n");
    place
}

/// What is said when a page or file is answered so.
fn refuses(path: &str, reply: Reply, code: i32) -> String {
    let place = ready();
    if let Some(server) = &place.server {
        server.put(path, reply);
    }
    place.refuses(&["-U"], code)
}

#[test]
fn pages() {
    expect![[r#"
        error: work: lib could not be looked up: http://[INDEX]/simple/lib/: the server answered 500 (Internal Server Error)
    "#]].assert_eq(&refuses("/simple/lib/", Reply::status(500), 4));
    expect![[r#"
        error: work: lib could not be looked up: http://[INDEX]/simple/lib/: the server answered 401 (Unauthorized)

        hint: give credentials in netrc, in the index's URL, by REANA_LOCK_INDEX_<NAME>_USERNAME and _PASSWORD, or by `--keyring-provider subprocess`; an index that refuses is never passed over
    "#]].assert_eq(&refuses("/simple/lib/", Reply::status(401), 4));
    expect![[r#"
        error: work: lib could not be looked up: http://[INDEX]/simple/lib/: the server answered 403 (Forbidden)

        hint: give credentials in netrc, in the index's URL, by REANA_LOCK_INDEX_<NAME>_USERNAME and _PASSWORD, or by `--keyring-provider subprocess`; an index that refuses is never passed over
    "#]].assert_eq(&refuses("/simple/lib/", Reply::status(403), 4));
    expect![[r#"
        error: work: no index knows lib
          requirements.in:1 requires app
          app 1.0 requires lib>=1
          app 2.0 requires lib>=2

        hint: is the name spelled right, and is `--index-url` or `--extra-index-url` the index that has it?
    "#]]
    .assert_eq(&refuses("/simple/lib/", Reply::status(404), 3));
    let login = Reply::html("<!DOCTYPE html><html><body><form action='/login'>Log in</form></body></html>");
    expect![[r#"
        error: work: lib could not be looked up: http://[INDEX]/simple/lib/: answered text/html where an index page was expected: an HTML page without a link to any distribution

        hint: is this the address of an index (it often ends in `/simple/`)?
    "#]].assert_eq(&refuses("/simple/lib/", login, 4));
    expect![[r#"
        error: work: lib could not be looked up: http://[INDEX]/simple/lib/: answered application/vnd.pypi.simple.v1+json where an index page was expected: expected value at line 1 column 1

        hint: is this the address of an index (it often ends in `/simple/`)?
    "#]].assert_eq(&refuses("/simple/lib/", Reply::json("<html>not JSON</html>"), 4));
    expect![[r#"
        error: work: lib could not be looked up: http://[INDEX]/simple/lib/: answered application/vnd.pypi.simple.v1+json where an index page was expected: EOF while parsing a value at line 1 column 0

        hint: is this the address of an index (it often ends in `/simple/`)?
    "#]].assert_eq(&refuses("/simple/lib/", Reply::json(""), 4));
    expect![[r#"
        error: work: lib could not be looked up: http://[INDEX]/simple/lib/: answered text/plain where an index page was expected: neither JSON nor HTML

        hint: is this the address of an index (it often ends in `/simple/`)?
    "#]].assert_eq(&refuses("/simple/lib/", Reply::ok("text/plain", "hello"), 4));
    let page = r#"{"meta": {"api-version": "1.0"}, "name": "lib", "files": []}"#;
    expect![[r#"
        error: work: lib could not be looked up: http://[INDEX]/simple/lib/: the answer broke off: end of file before message length reached
    "#]].assert_eq(&refuses("/simple/lib/", Reply::json(page).cut(20), 4));
    let future = r#"{"meta": {"api-version": "2.0"}, "name": "lib", "files": []}"#;
    expect![[r#"
        error: work: lib could not be looked up: http://[INDEX]/simple/lib/: the index speaks version 2.0 of the simple API, which is not understood
    "#]].assert_eq(&refuses("/simple/lib/", Reply::json(future), 4));
}

#[test]
fn metadata_that_is_not_what_was_promised() {
    let path = "/files/lib-2.0-py3-none-any.whl.metadata";
    expect![[r#"
        error: work: lib could not be looked up: http://[INDEX]/files/lib-2.0-py3-none-any.whl.metadata: its sha256 is e3eda7538dd490b43b1625d773b7a54bb0c6164ae89c429b14c0dfbf4cf61481, but the index says bb4f1f07895081f81fc157999362c22d525f2ac2b9f012e1c1830b4e1cda5bb4

        hint: the file was altered on its way or at its place: don't use it before you know why
    "#]].assert_eq(&refuses(path, Reply::ok("text/plain", "Name: other\n"), 4));
}

#[test]
fn files_that_are_not_what_was_promised() {
    let sdist = Release::new("1.0", &[]).sdist(&[]);
    let place = served(&World::new().release("app", sdist));
    place.file("requirements.in", "app\n");
    let Some(server) = &place.server else { return };
    server.put("/files/app-1.0.tar.gz", Reply::file("other bytes"));
    expect![[r#"
        error: work: app could not be looked up: http://[INDEX]/files/app-1.0.tar.gz: its sha256 is a3ead5eedad5df82318c51685dbc1c147a36d1ff8584fc82de6b08d0bf63a795, but the index says [app-1.0.tar.gz]

        hint: the file was altered on its way or at its place: don't use it before you know why
    "#]].assert_eq(&place.refuses(&[], 4));
    server.put("/files/app-1.0.tar.gz", Reply::file(vec![7; 5000]).cut(100));
    expect![[r#"
        error: work: app could not be looked up: http://[INDEX]/files/app-1.0.tar.gz: the answer broke off: end of file before message length reached
    "#]].assert_eq(&place.refuses(&[], 4));
    server.put("/files/app-1.0.tar.gz", Reply::status(404));
    expect![[r#"
        error: work: app could not be looked up: http://[INDEX]/files/app-1.0.tar.gz: not found
    "#]]
    .assert_eq(&place.refuses(&[], 4));
}

#[test]
fn a_broken_archive() {
    let world = World::new()
        .release("app", Release::new("1.0", &[]))
        .release("app", Release::new("2.0", &[]).raw("app-2.0-py3-none-any.whl", "no zip at all"))
        .release("tool", Release::new("1.0", &[]).raw("tool-1.0.tar.gz", "no gzip at all"));
    let place = place(&world);
    place.file("requirements.in", "app\n");
    let output = place.compile(&[]);
    expect![[r#"
        note: app 2.0 was passed over: the metadata of app-2.0-py3-none-any.whl are invalid: the archive is damaged: no zip archive, or cut off
        requirements.txt: 1 pin for Python 3.12 on linux/amd64; new
    "#]].assert_eq(&output.stderr);
    place.file("requirements.in", "tool\n");
    let output = place.compile(&["-U"]);
    expect![[r#"
        error: work: no version of tool satisfies everything that is required of it:
          requirements.in:1 requires tool
          tool 1.0 can't be taken: the metadata of tool-1.0.tar.gz are invalid: the archive is damaged: failed to read entire block
    "#]].assert_eq(&output.stderr);
}

#[test]
fn nobody_listens() {
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
    let port = listener.local_addr().expect("its number").port();
    drop(listener);
    let place = ready();
    let url = format!("http://127.0.0.1:{port}/simple/");
    let said = place.refuses(&["--extra-index-url", &url], 4);
    let said = said.replace(&port.to_string(), "[PORT]");
    expect![[r#"
        error: work: app could not be looked up: http://127.0.0.1:[PORT]/simple/app/: no connection: Connection refused (os error 111)

        hint: is the network up, and is a proxy needed?
    "#]].assert_eq(&said);
}

#[test]
fn connections_that_are_reset() {
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
    let port = listener.local_addr().expect("its number").port();
    std::thread::spawn(move || listener.incoming().for_each(drop));
    let place = ready();
    let url = format!("http://127.0.0.1:{port}/simple/");
    let said = place.refuses(&["--extra-index-url", &url], 4);
    assert!(said.contains(&format!("{port}/simple/")), "{said}");
    assert!(said.starts_with("error: "), "{said}");
}

#[test]
fn a_hiccup_is_no_failure() {
    let place = ready();
    let Some(server) = &place.server else { return };
    let page = small_world().page("lib", "/files").unwrap_or_default().to_string();
    server.script("/simple/lib/", vec![Reply::status(503).with("Retry-After", "0"), Reply::json(page)]);
    let _ = place.compile(&[]).expect_code(0);
    assert_eq!(place.pins("requirements.txt"), ["app==2.0", "base==1.1", "lib==2.0"]);
}

#[test]
fn addresses_that_are_none() {
    let place = ready();
    for url in ["ftp://127.0.0.1/simple/", "http://", "nowhere/simple"] {
        let output = place.compile(&["-i", url]);
        assert_ne!(output.code, 0, "{url}");
        assert_ne!(output.code, 5, "{url}: {}", output.stderr);
    }
    expect![[r#"
        error: ftp://127.0.0.1/simple/: `ftp:` is neither http, https nor file
    "#]]
    .assert_eq(&place.refuses(&["--extra-index-url", "ftp://127.0.0.1/simple/"], 2));
    expect![[r#"
        error: work: app could not be looked up: [ROOT]/nowhere/simple: there is no such folder
    "#]]
    .assert_eq(&place.refuses(&["--extra-index-url", "nowhere/simple"], 4));
    expect![[r#"
        error: work: app could not be looked up: [ROOT]/nowhere: not found
    "#]]
    .assert_eq(&place.refuses(&["--find-links", "nowhere"], 4));
}

#[test]
fn credentials_never_show() {
    let place = ready();
    let Some(server) = &place.server else { return };
    server.put("/private/simple/app/", Reply::status(401));
    let url = server.url_with("me:secret", "/private/simple/");
    for args in [["--extra-index-url", &url, "-v"], ["--extra-index-url", &url, "--emit-index-url"]] {
        let said = place.refuses(&args, 4);
        assert!(said.contains("/private/simple/"), "{said}");
        assert!(!said.contains("secret"), "{said}");
    }
    server.put("/private/simple/app/", Reply::status(404));
    let output = place.compile(&["--extra-index-url", &url, "--emit-index-url", "-v"]).expect_code(0);
    assert!(!output.stderr.contains("secret"), "{}", output.stderr);
    assert!(
        !place.lock().contains("secret") && place.lock().contains("/private/simple/"),
        "{}",
        place.lock()
    );
}
