//! What pages say, wherever they stand.

use std::io::Write as _;

use expect_test::{Expect, expect};
use reana_index::{IndexSource, Settings, Skipped};
use reana_testkit::{IndexServer, Reply};

use crate::{bare, client, folder, name, page, settings, show, show_answer};

fn check(reply: Reply, expected: &Expect) {
    let server = IndexServer::new();
    server.put("/simple/a/", reply);
    expected.assert_eq(&show(&client(settings(&server))));
}

#[test]
fn both_formats() {
    check(
        Reply::json(page(&[
            ("a-1.0.tar.gz", ""),
            ("a-2.0-py3-none-any.whl", ""),
            ("a-1-py3-none-any.whl", ""),
        ])),
        &expect![[r#"
            1.0: a-1.0.tar.gz a-1-py3-none-any.whl
            2.0: a-2.0-py3-none-any.whl"#]],
    );
    check(
        Reply::html(r#"<a href="../../files/a-1.0.tar.gz">a-1.0.tar.gz</a>"#),
        &expect!["1.0: a-1.0.tar.gz"],
    );
    check(Reply::ok("text/plain", page(&[("a-1.0.tar.gz", "")])), &expect!["1.0: a-1.0.tar.gz"]);
    check(Reply::json(page(&[])), &expect![""]);
    check(Reply::status(404), &expect!["unknown"]);
}

#[test]
fn asks_for_json_and_takes_html() {
    let server = IndexServer::new();
    show(&client(settings(&server)));
    let seen = server.seen();
    let accept = seen[0].headers.get("accept").map(String::as_str);
    assert_eq!(
        accept,
        Some(
            "application/vnd.pypi.simple.v1+json, application/vnd.pypi.simple.v1+html;q=0.2, text/html;q=0.01"
        )
    );
    assert_eq!(seen[0].headers.get("accept-encoding").map(String::as_str), Some("gzip,br"));
}

#[test]
fn compressed_pages() {
    let server = IndexServer::new();
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(page(&[("a-1.0.tar.gz", "")]).as_bytes()).expect("to compress");
    let body = encoder.finish().expect("to compress");
    server.put("/simple/a/", Reply::json(body).with("Content-Encoding", "gzip"));
    assert_eq!(show(&client(settings(&server))), "1.0: a-1.0.tar.gz");
}

#[test]
fn links_are_relative_to_where_the_page_was_found() {
    let server = IndexServer::new();
    server.put("/simple/a/", Reply::status(302).with("Location", "/mirror/simple/a/"));
    server.put("/mirror/simple/a/", Reply::html(r#"<a href="../../a-1.0.tar.gz">x</a>"#));
    let client = client(settings(&server));
    let listing = client.listing(&name("a")).expect("a page");
    assert_eq!(listing.files(0)[0].url, server.url("/mirror/a-1.0.tar.gz"));
    assert!(listing.files(1).is_empty());
}

#[test]
fn what_is_no_distribution_is_skipped_and_counted() {
    let server = IndexServer::new();
    server.put("/simple/a/", Reply::json(page(&[("a-1.0.tar.gz", ""), ("a-1.exe", ""), ("a-x.zip", "")])));
    let client = client(settings(&server));
    assert_eq!(show(&client), "1.0: a-1.0.tar.gz");
    assert_eq!(client.skipped().get(&name("a")), Some(&Skipped { names: 2, metadata: 0 }));
}

#[test]
fn what_an_index_says_of_a_project() {
    let server = IndexServer::new();
    let status = r#""project-status": {"status": "archived", "reason": "done"}, "files""#;
    server.put("/simple/a/", Reply::json(page(&[]).replace(r#""files""#, status)));
    let client = client(settings(&server));
    assert_eq!(show(&client), "");
    let statuses = client.project_statuses();
    let said = statuses.get(&name("a")).map(|it| (it.status.as_str(), it.reason.as_str()));
    assert_eq!(said, Some(("archived", "done")));
}

#[test]
fn many_threads_fetch_a_page_once() {
    let server = IndexServer::new();
    server.put("/simple/a/", Reply::json(page(&[("a-1.0.tar.gz", "")])));
    let client = client(settings(&server));
    client.expect(&[name("a"), name("b"), name("a")]);
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| assert_eq!(show(&client), "1.0: a-1.0.tar.gz"));
        }
    });
    assert_eq!(show_answer(client.listing(&name("b"))), "unknown");
    assert_eq!(server.take_log(), ["200 /simple/a/", "404 /simple/b/"]);
}

#[test]
fn the_first_index_that_knows_a_name_owns_it() {
    let (first, second) = (IndexServer::new(), IndexServer::new());
    let both = || Settings {
        indexes: vec![IndexSource::new(first.url("/simple/")), IndexSource::new(second.url("/simple/"))],
        ..settings(&first)
    };
    second.put("/simple/a/", Reply::json(page(&[("a-2.0.tar.gz", "")])));
    assert_eq!(show(&client(both())), "2.0: a-2.0.tar.gz");
    first.put("/simple/a/", Reply::json(page(&[("a-1.0.tar.gz", "")])));
    assert_eq!(show(&client(both())), "1.0: a-1.0.tar.gz");
    let _ = second.take_log();
    for code in [401, 403, 500] {
        first.put("/simple/a/", Reply::status(code));
        let said = bare(&first, &show(&client(both())));
        assert!(said.starts_with(&format!("http://HOST/simple/a/: the server answered {code} (")), "{said}");
    }
    let mut bound = both();
    bound.bindings.insert(name("a"), IndexSource::new(second.url("/simple")));
    assert_eq!(second.take_log(), Vec::<String>::new());
    assert_eq!(show(&client(bound)), "2.0: a-2.0.tar.gz");
}

#[test]
fn upload_times_limit_what_is_seen() {
    let server = IndexServer::new();
    let at = |time: &str| format!(r#", "upload-time": "{time}""#);
    server.put(
        "/simple/a/",
        Reply::json(page(&[
            ("a-1.0.tar.gz", &at("2020-05-01T00:00:00Z")),
            ("a-1.0-py3-none-any.whl", &at("2020-05-02T00:00:00.000001Z")),
            ("a-2.0.tar.gz", &at("2020-05-02T00:00:00Z")),
            ("a-3.0.tar.gz", &at("2020-05-03T00:00:00Z")),
        ])),
    );
    let until = Some("2020-05-02T00:00:00Z".parse().expect("a time"));
    let limited = || Settings { exclude_newer: until, ..settings(&server) };
    assert_eq!(show(&client(limited())), "1.0: a-1.0.tar.gz\n2.0: a-2.0.tar.gz");
    server.put(
        "/simple/a/",
        Reply::json(page(&[
            ("a-1.0.tar.gz", ""),
            ("a-2.0.tar.gz", &at("2020-05-03T00:00:00Z")),
            ("a-2.0-py3-none-any.whl", ""),
        ])),
    );
    assert_eq!(show(&client(limited())), "the index does not say when `a-1.0.tar.gz` was uploaded");
    let allowed = Settings { undated_allow: true, ..limited() };
    assert_eq!(show(&client(allowed)), "1.0: a-1.0.tar.gz\n2.0: a-2.0-py3-none-any.whl");
}

#[test]
fn folders_are_indexes() {
    let root = folder();
    let write = |path: &str, text: &str| {
        let path = root.path().join(path);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("to make a folder");
        std::fs::write(path, text).expect("to write");
    };
    let at = |url: String| {
        let settings =
            Settings { indexes: vec![IndexSource::new(url)], offline: true, ..Settings::new(crate::now) };
        client(settings)
    };
    let path = root.path().join("simple").display().to_string();
    write("simple/a/index.html", r#"<a href="../../files/a-1.0.tar.gz#sha256=x">a</a>"#);
    assert_eq!(show(&at(path.clone())), "1.0: a-1.0.tar.gz");
    write(
        "simple/a/index.json",
        &page(&[]).replace("[]", r#"[{"filename": "a-2.0.zip", "url": "../../f/a-2.0.zip"}]"#),
    );
    let client = at(format!("file://{path}/"));
    assert_eq!(show(&client), "2.0: a-2.0.zip");
    let listing = client.listing(&name("a")).expect("a page");
    assert_eq!(listing.files(0)[0].url, format!("file://{}/f/a-2.0.zip", root.path().display()));
    assert_eq!(show_answer(client.listing(&name("b"))), "unknown");
    write("simple/c/c-1.tar.gz", "");
    assert_eq!(show_answer(client.listing(&name("c"))), "1: c-1.tar.gz");
    let said = show(&at(format!("{path}/nowhere")));
    assert!(said.ends_with("/simple/nowhere: there is no such folder"), "{said}");
    write("simple/a/index.json", "{");
    let said = show(&at(path));
    assert!(said.contains("answered a file where an index page was expected: EOF while parsing"), "{said}");
}

#[test]
fn links_are_taken_beside_an_index() {
    let (server, links) = (IndexServer::new(), folder());
    server.put("/simple/a/", Reply::json(page(&[("a-1.0.tar.gz", "")])));
    server.put(
        "/links.html",
        Reply::html(r#"<a href="A-3.0.zip">x</a> <a href="b-1.zip">x</a> <a href="/about">x</a>"#),
    );
    std::fs::write(links.path().join("a-1.0-py3-none-any.whl"), "").expect("to write");
    std::fs::write(links.path().join("README"), "").expect("to write");
    let settings = Settings {
        find_links: vec![links.path().display().to_string(), server.url("/links.html")],
        ..settings(&server)
    };
    let client = client(settings.clone());
    assert_eq!(show(&client), "1.0: a-1.0-py3-none-any.whl a-1.0.tar.gz\n3.0: A-3.0.zip");
    assert_eq!(show_answer(client.listing(&name("b"))), "1: b-1.zip");
    assert_eq!(show_answer(client.listing(&name("c"))), "unknown");
    let asked = server.take_log().iter().filter(|line| line.ends_with("links.html")).count();
    assert_eq!(asked, 1);
    let limited = Settings { exclude_newer: Some(crate::now()), ..settings };
    let said = show(&crate::client(limited));
    assert_eq!(said, "the index does not say when `a-1.0-py3-none-any.whl` was uploaded");
}
