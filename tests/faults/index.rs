//! Servers that fail, stall, lie, redirect or never end.

use std::time::Duration;

use expect_test::expect;
use reana_testkit::hostile::gzip;
use reana_testkit::{IndexServer, Manner, Release, Reply, World};

use super::{heals, ready, refuses, server, watch};
use crate::harness::{Place, small_world};

const PINS: [&str; 3] = ["app==2.0", "base==1.1", "lib==2.0"];
const PAGE: &str = "/simple/lib/";
const METADATA: &str = "/files/lib-2.0-py3-none-any.whl.metadata";
const WHEEL: &str = "/files/lib-2.0-py3-none-any.whl";

fn small() -> Place {
    ready(&small_world(), "app\n")
}

/// The small world with lib's wheels alone, without METADATA beside them.
fn bare_world() -> World {
    let lib = |version, requires: &[&str]| Release::new(version, requires).without_core_metadata();
    World::new()
        .with("app", "2.0", &["lib>=2"])
        .with("base", "1.1", &[])
        .release("lib", lib("2.0", &["base>=1"]))
        .release("lib", lib("1.0", &["base"]))
}

/// The page of lib in the small world.
fn page() -> String {
    small_world().page("lib", "/files").unwrap_or_default().to_string()
}

/// What is said when a path is answered so; the server is healed then, and all is well.
#[track_caller]
fn check(path: &str, reply: Reply, said: &str) {
    let place = small();
    server(&place).put(path, reply);
    let found = refuses(&place, &["--timeout", "1"], 4);
    assert!(found.contains(said), "expected: {said}\nfound: {found}");
    assert!(found.contains(&format!("http://[INDEX]{path}: ")), "{found}");
    assert!(found.starts_with("error: work: lib could not be looked up: "), "{found}");
    heals(&place, &small_world(), &PINS);
}

#[test]
fn answers_that_are_failures() {
    for (code, said) in [
        (500, "the server answered 500 (Internal Server Error)"),
        (502, "the server answered 502 (Bad Gateway)"),
        (410, "the server answered 410 (Gone)"),
        (418, "the server answered 418 (I'm a teapot)"),
    ] {
        check(PAGE, Reply::status(code), said);
    }
    check(METADATA, Reply::status(503), "the server answered 503 (Service Unavailable)");
    check(PAGE, Reply::nothing(), "no connection: ");
    check(METADATA, Reply::nothing(), "no connection: ");
}

#[test]
fn a_server_that_asks_to_be_left_alone() {
    let place = small();
    let busy = || Reply::status(429).with("Retry-After", "1");
    server(&place).script(PAGE, vec![busy(), busy(), Reply::json(page())]);
    server(&place).script(
        METADATA,
        vec![
            Reply::status(503).with("Retry-After", "0"),
            Reply::ok(
                "text/plain",
                small_world().files("lib").pop().and_then(|it| it.metadata).unwrap_or_default(),
            ),
        ],
    );
    let said = watch(&place, &["-U"]).with_code(0);
    assert!(!said.contains("error"), "{said}");
    assert_eq!(place.pins("requirements.txt"), PINS);
    let asked = server(&place).take_log();
    assert_eq!(asked.iter().filter(|line| line.ends_with(PAGE)).count(), 3, "{asked:?}");
    // An hour is not waited.
    check(
        PAGE,
        Reply::status(429).with("Retry-After", "3600"),
        "the server answered 429 (Too Many Requests)",
    );
}

#[test]
fn answers_that_come_too_late() {
    let late = Duration::from_secs(4);
    check(PAGE, Reply::json(page()).after(late), "no answer in time");
    check(METADATA, Reply::ok("text/plain", "Name: lib\n").after(late), "no answer in time");
}

#[test]
fn answers_that_come_too_slowly() {
    // Each byte comes in time; the whole does not.
    let slowly = Manner::Trickle(Duration::from_millis(100));
    check(PAGE, Reply::json(page()).sent(slowly), "no answer in time");
}

#[test]
fn a_slow_answer_is_no_failure() {
    let place = small();
    server(&place).put(PAGE, Reply::json(page()).sent(Manner::Trickle(Duration::from_micros(100))));
    watch(&place, &["-U"]).with_code(0);
    assert_eq!(place.pins("requirements.txt"), PINS);
}

#[test]
fn answers_that_break_off() {
    check(PAGE, Reply::json(page()).cut(200), "the answer broke off: ");
    check(
        METADATA,
        Reply::ok("text/plain", "Metadata-Version: 2.1\nName: lib\nVersion: 2.0\n").cut(30),
        "the answer broke off: ",
    );
    // A page that is cut where no length was promised is no JSON; half of a gzipped one is no gzip.
    let half = page().get(..200).unwrap_or_default().to_owned();
    check(PAGE, Reply::json(half), "EOF while parsing");
    let mut packed = gzip(page().as_bytes(), 1);
    packed.truncate(packed.len() / 2);
    check(PAGE, Reply::json(packed).with("Content-Encoding", "gzip"), "the answer broke off: ");
    check(PAGE, Reply::json("no gzip").with("Content-Encoding", "gzip"), "the answer broke off: ");
}

#[test]
fn lengths_that_are_wrong() {
    check(PAGE, Reply::json(page()).sent(Manner::Claiming(100_000)), "the answer broke off: ");
    check(PAGE, Reply::json(page()).sent(Manner::Claiming(100)), "EOF while parsing");
    check(PAGE, Reply::json(page()).sent(Manner::Claiming(1 << 50)), "larger than the limit of");
    check(METADATA, Reply::ok("text/plain", "x").sent(Manner::Claiming(1 << 50)), "larger than the limit of");
}

#[test]
fn sizes_that_a_page_gets_wrong() {
    for size in [0, 1, 1_u64 << 60] {
        let place = ready(&bare_world(), "app\n");
        let mut page = bare_world().page("lib", "/files").unwrap_or_default();
        for file in page["files"].as_array_mut().into_iter().flatten() {
            file["size"] = size.into();
        }
        server(&place).put(PAGE, Reply::json(page.to_string()));
        // The size is a hint; the hash is what counts.
        watch(&place, &["-U"]).with_code(0);
        assert_eq!(place.pins("requirements.txt"), PINS);
    }
}

#[test]
fn other_bytes_than_promised() {
    let metadata = "Metadata-Version: 2.1\nName: lib\nVersion: 2.0\nRequires-Dist: evil\n";
    check(METADATA, Reply::ok("text/plain", metadata), "but the index says");
    // What a wheel's end says is not covered by its hash: asked for whole, it is.
    let place = ready(&bare_world(), "app\n");
    let evil = Release::new("2.0", &["evil"]).without_core_metadata();
    let evil = World::new().release("lib", evil).files("lib").pop().expect("a wheel");
    server(&place).put(WHEEL, Reply::file(evil.bytes));
    let said = refuses(&place, &["--verify-metadata"], 4);
    assert!(said.contains(&format!("http://[INDEX]{WHEEL}: its sha256 is ")), "{said}");
    heals(&place, &bare_world(), &PINS);
}

#[test]
fn pages_that_are_none() {
    let login = "<!DOCTYPE html><html><body><form action='/login'>Log in</form></body></html>";
    check(PAGE, Reply::html(login), "an HTML page without a link to any distribution");
    check(PAGE, Reply::json(login), "expected value at line 1 column 1");
    check(
        PAGE,
        Reply::ok("application/pdf", "%PDF-1.4"),
        "answered application/pdf where an index page was expected",
    );
    let deep = format!("{{\"x\": {}", "[".repeat(200_000));
    check(PAGE, Reply::json(deep), "EOF while parsing a list");
    check(PAGE, Reply::json(r#"{"files": {"a": 1}}"#), "invalid type: map");
}

const MANY: &str =
    "{\"files\": [\n{\"filename\": \"lib-2.0-py3-none-any.whl\", \"url\": \"l\", \"hashes\": {}},\n";

#[test]
fn answers_that_never_end() {
    check(PAGE, Reply::json(MANY).sent(Manner::Endless), "larger than the limit of");
    check(
        PAGE,
        Reply::html("<html>\n<a href='lib-2.0.tar.gz'>l</a>\n").sent(Manner::Endless),
        "larger than the limit of",
    );
    check(
        METADATA,
        Reply::ok("text/plain", "Name: lib\nX: y\n").sent(Manner::Endless),
        "larger than the limit of",
    );
}

#[test]
fn a_page_that_is_a_bomb() {
    let zeros = vec![b' '; 1 << 20];
    let packed = gzip(&zeros, 100);
    check(PAGE, Reply::json(packed).with("Content-Encoding", "gzip"), "larger than the limit of");
}

#[test]
fn a_page_with_more_files_than_any() {
    let (head, file) = MANY.split_once('\n').expect("two lines");
    let many = format!("{head}{}{}]}}", file.repeat(600_000), file.trim_end().trim_end_matches(','));
    check(PAGE, Reply::json(many), "more files than");
    let many = format!("<html>{}</html>", "<a href='lib-2.0.tar.gz'>l</a>".repeat(1_000_000));
    check(PAGE, Reply::html(many), "more files than");
}

#[test]
fn many_answers_that_never_end() {
    let place = small();
    let names: Vec<String> = (0..40).map(|number| format!("lib{number}")).collect();
    for name in &names {
        server(&place).put(&format!("/simple/{name}/"), Reply::json(MANY).sent(Manner::Endless));
    }
    place.file("requirements.in", names.join("\n"));
    let said = refuses(&place, &[], 4);
    assert!(said.contains("larger than the limit of"), "{said}");
}

#[test]
fn redirects_to_elsewhere() {
    let (place, other) = (small(), IndexServer::new());
    server(&place).put("/private/simple/lib/", Reply::status(302).with("Location", &other.url("/else/")));
    for name in ["app", "base"] {
        server(&place).put(&format!("/private/simple/{name}/"), Reply::status(404));
    }
    other.put("/else/", Reply::status(403));
    let private = server(&place).url_with("me:s3cret", "/private/simple/");
    let said = refuses(&place, &["--extra-index-url", &private], 4);
    assert!(said.contains("the server answered 403 (Forbidden)"), "{said}");
    assert!(!said.contains("s3cret"), "{said}");
    let authorized = |server: &IndexServer| {
        let seen = server.seen();
        let sent = seen.iter().filter(|seen| seen.headers.contains_key("authorization"));
        sent.map(|seen| seen.path.clone()).collect::<Vec<_>>()
    };
    assert!(authorized(server(&place)).contains(&"/private/simple/lib/".to_owned()));
    assert_eq!(other.seen().len(), 1);
    assert_eq!(authorized(&other), [""; 0], "credentials went elsewhere");
    // What is found there counts; links on it are relative to where it is.
    other.put("/else/", Reply::json(page().replace("/files/", "/there/")));
    let metadata = small_world().files("lib").pop().and_then(|file| file.metadata).unwrap_or_default();
    other.put("/there/lib-2.0-py3-none-any.whl.metadata", Reply::ok("text/plain", metadata));
    watch(&place, &["-U", "--extra-index-url", &private]).with_code(0);
    assert_eq!(place.pins("requirements.txt"), PINS);
    assert_eq!(authorized(&other), [""; 0], "credentials went elsewhere");
}

#[test]
fn redirects_that_lead_nowhere() {
    check(PAGE, Reply::status(302).with("Location", PAGE), "redirected too often");
    for place in ["file:///etc/passwd", "ftp://127.0.0.1/", "javascript:alert(1)", "http://", ""] {
        check(PAGE, Reply::status(301).with("Location", place), "");
    }
    check(PAGE, Reply::status(302), "the server answered 302 (Found)");
}

#[test]
fn a_page_that_changes_between_two_reads() {
    // lib 2.0 is uploaded anew, with other bytes and requirements, after its page was read.
    let anew = World::new()
        .with("app", "2.0", &["lib>=2"])
        .with("lib", "2.0", &["base<1.1"])
        .with("base", "1.0", &[])
        .with("base", "1.1", &[]);
    let place = small();
    let metadata = anew.files("lib").pop().and_then(|file| file.metadata).unwrap_or_default();
    server(&place).put(METADATA, Reply::ok("text/plain", metadata));
    let said = refuses(&place, &[], 4);
    assert!(said.contains("but the index says"), "{said}");
    heals(&place, &anew, &["app==2.0", "base==1.0", "lib==2.0"]);
    // The other way round: what was learnt of the old file is not taken for the new one.
    heals(&place, &small_world(), &PINS);
    heals(&place, &anew, &["app==2.0", "base==1.0", "lib==2.0"]);
}

#[test]
fn a_page_that_loses_a_version() {
    let place = small();
    heals(&place, &small_world(), &PINS);
    let less =
        World::new().with("app", "1.0", &["lib>=1"]).with("lib", "1.5", &["base"]).with("base", "1.1", &[]);
    let now = ["app==1.0", "base==1.1", "lib==1.5"];
    heals(&place, &less, &now);
}

#[test]
fn a_connection_that_goes_quiet() {
    expect![[r#"
        error: work: lib could not be looked up: http://[INDEX]/simple/lib/: no answer in time

        hint: is the network up, and is a proxy needed?
    "#]]
    .assert_eq(&{
        let place = small();
        // More is promised than ever comes, and the connection stays open.
        server(&place).put(PAGE, Reply::json(page()).sent(Manner::Stalls));
        refuses(&place, &["--timeout", "1"], 4)
    });
}
