//! The options of `compile` about where packages come from.

use expect_test::expect;
use reana_testkit::{IndexServer, Output, Reply, Sandbox, World};

use crate::harness::{PROGRAM, Place, place, serve, served, small_world};

#[test]
fn the_first_index_that_knows_a_name_owns_it() {
    let place = served(&small_world().with("inner", "9.0", &[]));
    let own = World::new().with("inner", "1.0", &["base"]).with("base", "0.5", &[]);
    let Some(server) = &place.server else { return };
    serve(server, "/own", &own);
    place.file("requirements.in", "app>=2\ninner\n");
    let _ = place.compile(&["--extra-index-url", &server.url("/own/simple/")]).expect_code(3);
    place.file("requirements.in", "inner\n");
    let _ = place.compile(&["--extra-index-url", &server.url("/own/simple/")]).expect_code(0);
    // the main index has newer ones of both, and isn't asked for them
    assert_eq!(place.pins("requirements.txt"), ["base==0.5", "inner==1.0"]);
}

#[test]
fn an_index_that_refuses_is_no_index_that_does_not_know() {
    let place = served(&small_world());
    let Some(server) = &place.server else { return };
    server.put("/own/simple/app/", Reply::status(403));
    place.file("requirements.in", "app\n");
    let said = place.refuses(&["--extra-index-url", &server.url("/own/simple/")], 4);
    assert!(said.contains("403"), "{said}");
}

#[test]
fn credentials_come_from_the_url_or_netrc() {
    let place = served(&small_world());
    let Some(server) = &place.server else { return };
    serve(server, "/own", &World::new().with("inner", "1.0", &[]));
    place.file("requirements.in", "inner\n");
    let asked = |place: &Place| {
        let seen = place.server.as_ref().map(IndexServer::seen).unwrap_or_default();
        let last = seen.into_iter().rfind(|seen| seen.path == "/own/simple/inner/");
        last.and_then(|seen| seen.headers.get("authorization").cloned())
    };
    let _ = place.compile(&["--extra-index-url", &server.url("/own/simple/")]).expect_code(0);
    assert_eq!(asked(&place), None);
    let url = server.url_with("me:secret", "/own/simple/");
    let _ = place.compile(&["--extra-index-url", &url, "--refresh"]).expect_code(0);
    assert_eq!(asked(&place).as_deref(), Some("Basic bWU6c2VjcmV0"));
    place.file("../home/.netrc", "machine 127.0.0.1 login you password word\n");
    let _ = place.compile(&["--extra-index-url", &server.url("/own/simple/"), "--refresh"]).expect_code(0);
    assert_eq!(asked(&place).as_deref(), Some("Basic eW91OndvcmQ="));
}

#[test]
fn found_links() {
    let place = place(&World::new().with("app", "1.0", &[]));
    place.sandbox.world("more", &World::new().with("app", "2.0", &["local"]).with("local", "1.0", &[]));
    place.file("requirements.in", "app\n");
    let _ = place.compile(&["-f", "more/files"]).expect_code(0);
    assert_eq!(place.pins("requirements.txt"), ["app==2.0", "local==1.0"]);
    let _ = place.compile(&["-U", "--find-links", "more/files", "--no-index"]).expect_code(0);
    assert_eq!(place.pins("requirements.txt"), ["app==2.0", "local==1.0"]);
    place.file("requirements.in", "app<2\n");
    let said = place.refuses(&["--no-index", "-f", "more/files"], 3);
    expect![[r#"
        error: work: no version of app satisfies everything that is required of it:
          requirements.in:1 requires app<2
          the index has app 2.0
        To go on, loosen `app<2` (requirements.in:1).
    "#]]
    .assert_eq(&said);
    place.file("requirements.in", "app\n");
    let said = place.refuses(&["--no-index"], 3);
    expect![[r#"
        error: work: no index knows app
          requirements.in:1 requires app

        hint: is the name spelled right, and is `--index-url` or `--extra-index-url` the index that has it?
    "#]]
    .assert_eq(&said);
}

#[test]
fn options_of_a_requirements_file() {
    let place = served(&World::new());
    let Some(server) = &place.server else { return };
    serve(server, "/own", &World::new().with("app", "1.0", &[]).with("app", "2.0", &[]));
    let index = server.url("/own/simple/");
    let compile = |text: String| {
        place.file("requirements.in", text);
        place.run(&["compile"]).expect_code(0).stderr
    };
    expect![[r#"
        requirements.txt: 1 pin for Python 3.12 on linux/amd64; new
    "#]]
    .assert_eq(&compile(format!("-i {index}\napp\n")));
    expect![[r#"
        note: requirements.in:2: `--trusted-host` has no effect here
        note: app 2.0 could not be kept: requirements.in:3 requires app<2
        requirements.txt: 1 pin for Python 3.12 on linux/amd64; 1 moved
    "#]]
    .assert_eq(&compile(format!("--index-url={index}\n--trusted-host example\napp<2\n")));
    assert!(!place.lock().contains("index"), "{}", place.lock());
}

/// The requests of one run, sorted.
fn asked(place: &Place, args: &[&str]) -> (Output, Vec<String>) {
    let output = place.compile(args);
    (output, place.server.as_ref().map(IndexServer::take_log).unwrap_or_default())
}

#[test]
fn cache() {
    let place = served(&small_world());
    place.file("requirements.in", "app\n");
    let (output, cold) = asked(&place, &[]);
    let _ = output.expect_code(0);
    assert!(cold.contains(&"200 /simple/app/".to_owned()), "{cold:?}");
    assert!(cold.contains(&"200 /files/app-2.0-py3-none-any.whl.metadata".to_owned()), "{cold:?}");
    // pages without Cache-Control are asked for again, and not sent again
    let (output, warm) = asked(&place, &[]);
    let _ = output.expect_code(0);
    assert!(warm.iter().all(|line| line.starts_with("304 /simple/")), "{warm:?}");
    let (output, none) = asked(&place, &["--offline"]);
    let _ = output.expect_code(0);
    assert_eq!(none, Vec::<String>::new());
    let (output, fresh) = asked(&place, &["--no-cache"]);
    let _ = output.expect_code(0);
    assert!(fresh.contains(&"200 /simple/app/".to_owned()), "{fresh:?}");
    let (output, other) = asked(&place, &["--cache-dir", "own"]);
    let _ = output.expect_code(0);
    assert_eq!(other.len(), cold.len());
    assert!(place.sandbox.exists("own") && place.sandbox.exists("../cache/reana-lock"));
}

#[test]
fn fresh_pages_are_not_asked_for() {
    let place = served(&World::new());
    let Some(server) = &place.server else { return };
    let page = |versions: &[&str]| {
        let world = versions.iter().fold(World::new(), |world, version| world.with("app", version, &[]));
        serve(server, "", &world);
        let page = world.page("app", "/files").unwrap_or_default().to_string();
        server.put("/simple/app/", Reply::json(page).with("Cache-Control", "max-age=600"));
    };
    page(&["1.0"]);
    place.file("requirements.in", "app\n");
    let _ = asked(&place, &[]).0.expect_code(0);
    page(&["1.0", "2.0"]);
    let (output, log) = asked(&place, &["-U"]);
    let _ = output.expect_code(0);
    assert_eq!((log, place.pins("requirements.txt")), (Vec::new(), vec!["app==1.0".to_owned()]));
    let _ = asked(&place, &["-U", "--refresh"]).0.expect_code(0);
    assert_eq!(place.pins("requirements.txt"), ["app==2.0"]);
}

#[test]
fn offline_with_an_empty_cache() {
    let place = served(&small_world());
    place.file("requirements.in", "app\n");
    let said = place.refuses(&["--offline"], 4);
    expect![[r#"
        error: work: app could not be looked up: http://[INDEX]/simple/app/: not in the cache, and offline

        hint: run once without `--offline`, so that the cache has it
    "#]]
    .assert_eq(&said);
    assert_eq!(asked(&place, &["--offline"]).1, Vec::<String>::new());
    let output = place.compile(&["--offline", "--refresh"]).expect_code(2);
    assert!(output.stderr.contains("cannot be used with"), "{}", output.stderr);
}

#[test]
fn the_example_fleet_is_locked_offline() {
    let sandbox = Sandbox::new(std::path::Path::new(PROGRAM));
    let fixtures = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/fleet");
    let output = sandbox.run(&["compile", "--offline", "--check", "-q", fixtures]).expect_code(0);
    assert_eq!((output.stdout.as_str(), output.stderr.as_str()), ("", ""));
}
