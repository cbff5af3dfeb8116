//! Metadata of wheels, hashes, and distributions named by their address.

use expect_test::{Expect, expect};
use reana_index::{Client, MetadataAnswer, Settings, Skipped};
use reana_model::{DistFile, Sha256};
use reana_testkit::{IndexServer, Reply, Wheel};

use crate::{OneWheel, bare, cached, client, folder, name, page, settings, sha256_key, show, target};

fn metadata(client: &Client, file: &DistFile) -> String {
    match client.metadata(&name("a"), file, &target()) {
        Ok(MetadataAnswer::Known(metadata)) => {
            let requires: Vec<&str> = metadata.requires_dist.iter().map(|it| it.text.as_str()).collect();
            format!("{:?} {}", metadata.grade, requires.join(", "))
        }
        Ok(MetadataAnswer::Unreadable { reason }) => format!("unreadable: {reason}"),
        Ok(MetadataAnswer::Invalid { reason }) => format!("invalid: {reason}"),
        Err(error) => error.to_string(),
    }
}

/// What is said of the one wheel, and what was asked for it.
fn check(one: &OneWheel, settings: Settings, expected: &Expect) {
    let client = client(settings);
    let file = one.dist_file(&client);
    let said = bare(&one.server, &metadata(&client, &file));
    let log = one.server.take_log().join("\n");
    expected.assert_eq(&format!("{said}\n{log}\n"));
}

fn wheel_sha256() -> String {
    sha256_key(&OneWheel::new("").wheel.bytes())
}

#[test]
fn beside_the_wheel() {
    let hash = Sha256::of(&OneWheel::new("").wheel.metadata());
    let one = OneWheel::new(&format!(r#"{}, "core-metadata": {{"sha256": "{hash}"}}"#, wheel_sha256()));
    one.server.put(&one.beside(), Reply::ok("text/plain", one.wheel.metadata()));
    check(
        &one,
        settings(&one.server),
        &expect![[r#"
            Wheel b>=1
            200 /files/a-1.0-py3-none-any.whl.metadata
        "#]],
    );
    // Another file than the index vouches for is no reason to look elsewhere.
    one.server.put(&one.beside(), Reply::ok("text/plain", "Name: a\nVersion: 1.0\n"));
    let client = client(settings(&one.server));
    let said = metadata(&client, &one.dist_file(&client));
    assert!(
        said.contains("its sha256 is ") && said.ends_with(&format!("but the index says {hash}")),
        "{said}"
    );
}

#[test]
fn beside_the_wheel_without_being_announced() {
    let one = OneWheel::new(&wheel_sha256());
    one.server.put(&one.beside(), Reply::ok("text/plain", one.wheel.metadata()));
    check(
        &one,
        settings(&one.server),
        &expect![[r#"
            WheelUnchecked b>=1
            200 /files/a-1.0-py3-none-any.whl.metadata
        "#]],
    );
    // Announced, but not there.
    let lie = OneWheel::new(&format!(r#"{}, "core-metadata": true"#, wheel_sha256()));
    check(
        &lie,
        settings(&lie.server),
        &expect![[r#"
            WheelUnchecked b>=1
            206 /files/a-1.0-py3-none-any.whl
            404 /files/a-1.0-py3-none-any.whl.metadata
        "#]],
    );
    // A server that answers anything to everything.
    one.server.put(&one.beside(), Reply::html("<html>hello</html>"));
    check(
        &one,
        settings(&one.server),
        &expect![[r#"
            WheelUnchecked b>=1
            200 /files/a-1.0-py3-none-any.whl.metadata
            206 /files/a-1.0-py3-none-any.whl
        "#]],
    );
}

#[test]
fn the_wheels_end() {
    let one = OneWheel::new(&wheel_sha256());
    check(
        &one,
        settings(&one.server),
        &expect![[r#"
            WheelUnchecked b>=1
            206 /files/a-1.0-py3-none-any.whl
            404 /files/a-1.0-py3-none-any.whl.metadata
        "#]],
    );
    let asked = one.server.seen();
    assert!(asked.is_empty());
}

#[test]
fn more_of_the_wheels_end() {
    // So many members that their directory is longer than what is asked for first.
    let mut wheel = Wheel::new("a", "1.0").requires(["b>=2"]);
    for number in 0..2000 {
        wheel = wheel.file(&format!("a/a_rather_long_name_of_a_module_{number}.py"), "");
    }
    let one = OneWheel::new(&sha256_key(&wheel.bytes()));
    one.server.put(&one.path(), Reply::file(wheel.bytes()));
    let client = client(settings(&one.server));
    let file = one.dist_file(&client);
    assert_eq!(metadata(&client, &file), "WheelUnchecked b>=2");
    let log = one.server.take_log();
    assert!(log.len() > 2 && log.iter().all(|line| !line.starts_with("200")), "{log:?}");
}

#[test]
fn the_whole_wheel() {
    let one = OneWheel::new(&wheel_sha256());
    one.server.put(&one.path(), Reply::file(one.wheel.bytes()).whole_only());
    let expected = expect![[r#"
        Wheel b>=1
        200 /files/a-1.0-py3-none-any.whl
        404 /files/a-1.0-py3-none-any.whl.metadata
    "#]];
    check(&one, settings(&one.server), &expected);
    for refusal in [403, 416, 501] {
        let whole = Reply::file(one.wheel.bytes()).whole_only();
        one.server.script(&one.path(), vec![Reply::status(refusal), whole]);
        let client = client(settings(&one.server));
        assert_eq!(metadata(&client, &one.dist_file(&client)), "Wheel b>=1", "{refusal}");
    }
}

#[test]
fn only_checked_metadata_when_asked() {
    let one = OneWheel::new(&wheel_sha256());
    one.server.put(&one.beside(), Reply::ok("text/plain", one.wheel.metadata()));
    let cache = folder();
    let strict = |verify_metadata| Settings { verify_metadata, ..cached(settings(&one.server), &cache) };
    let unchecked = expect![[r#"
        WheelUnchecked b>=1
        200 /files/a-1.0-py3-none-any.whl.metadata
    "#]];
    check(&one, strict(false), &unchecked);
    let checked = expect![[r#"
        Wheel b>=1
        200 /files/a-1.0-py3-none-any.whl
    "#]];
    check(&one, strict(true), &checked);
    check(
        &one,
        strict(false),
        &expect![[r#"
        Wheel b>=1

    "#]],
    );
}

#[test]
fn a_wrong_hash_is_an_error() {
    let one = OneWheel::new(&sha256_key(b"other"));
    let strict = Settings { verify_metadata: true, ..settings(&one.server) };
    let (expected, found) = (Sha256::of(b"other"), Sha256::of(&one.wheel.bytes()));
    let client = client(strict);
    let said = bare(&one.server, &metadata(&client, &one.dist_file(&client)));
    assert_eq!(
        said,
        format!("http://HOST{}: its sha256 is {found}, but the index says {expected}", one.path())
    );
}

#[test]
fn metadata_that_cant_be_understood_is_counted() {
    let one = OneWheel::new(r#", "hashes": {}, "core-metadata": true"#);
    one.server.put(&one.beside(), Reply::ok("text/plain", "Name: a\nVersion: 1.0\nRequires-Dist: b>=abc\n"));
    let client = client(settings(&one.server));
    let said = metadata(&client, &one.dist_file(&client));
    assert!(said.starts_with("invalid: `b>=abc` is not a valid requirement"), "{said}");
    assert_eq!(client.skipped().get(&name("a")), Some(&Skipped { names: 0, metadata: 1 }));
    one.server.put(&one.beside(), Reply::ok("text/plain", "Name: b\nVersion: 1.0\n"));
    let client = crate::client(settings(&one.server));
    assert_eq!(metadata(&client, &one.dist_file(&client)), "invalid: it says that it is b 1.0, not a 1.0");
}

#[test]
fn a_hash_that_no_index_gives_is_computed_once() {
    let one = OneWheel::new(r#", "hashes": {"md5": "0123"}"#);
    let cache = folder();
    let expected = Sha256::of(&one.wheel.bytes());
    one.server.put(&one.path(), Reply::file(one.wheel.bytes()).with_etag());
    for log in [["200 "], ["304 "], ["304 "]] {
        let client = client(cached(settings(&one.server), &cache));
        let file = one.dist_file(&client);
        assert_eq!(file.sha256, None);
        for _ in 0..2 {
            assert_eq!(client.sha256(&name("a"), &file).expect("a hash"), expected);
        }
        assert_eq!(one.server.take_log(), log.map(|status| format!("{status}{}", one.path())));
    }
    let client = client(Settings { offline: true, ..cached(settings(&one.server), &cache) });
    assert_eq!(client.sha256(&name("a"), &one.dist_file(&client)).expect("a hash"), expected);
}

#[test]
fn distributions_by_address() {
    let one = OneWheel::new("");
    let sha256 = Sha256::of(&one.wheel.bytes());
    let client = client(settings(&one.server));
    let direct = |fragment: &str, package: Option<&str>| {
        let url = one.server.url(&format!("{}{fragment}", one.path()));
        match client.direct(&url, package.map(name).as_ref(), &target()) {
            Ok(direct) => {
                assert_eq!(direct.sha256, Some(sha256));
                format!("{} {} {:?}", direct.name, direct.version, direct.metadata.grade)
            }
            Err(error) => bare(&one.server, &error.to_string()),
        }
    };
    assert_eq!(direct("", None), "a 1.0 Wheel");
    assert_eq!(direct(&format!("#sha256={sha256}"), Some("a")), "a 1.0 Wheel");
    assert_eq!(direct("#egg=a", None), "a 1.0 Wheel");
    assert_eq!(
        direct("", Some("b")),
        "`a-1.0-py3-none-any.whl` can't be used: `a-1.0-py3-none-any.whl` is not a file of b"
    );
    assert_eq!(
        direct("#sha256=12", None),
        "`a-1.0-py3-none-any.whl` can't be used: `12` is not a sha256 (64 hex digits)"
    );
    let other = Sha256::of(b"");
    assert!(direct(&format!("#sha256={other}"), None).ends_with(&format!("but the index says {other}")));
    let absent = client.direct(&one.server.url("/a-9.tar.gz"), None, &target()).expect_err("nothing");
    assert_eq!(bare(&one.server, &absent.to_string()), "http://HOST/a-9.tar.gz: not found");
}

#[test]
fn what_an_address_gave_is_kept() {
    let (one, cache) = (OneWheel::new(""), folder());
    let archive = reana_testkit::tar_gz(&[
        ("a-v2/PKG-INFO", "Metadata-Version: 2.2\nName: a\nVersion: 2.0\n"),
        ("a-v2/setup.py", ""),
    ]);
    one.server.put("/v2.tar.gz", Reply::file(archive).with_etag());
    one.server.put(&one.path(), Reply::file(one.wheel.bytes()).with_etag());
    for (offline, asked) in [(false, "200"), (false, "304"), (true, "")] {
        let client = client(Settings { offline, ..cached(settings(&one.server), &cache) });
        for path in ["/v2.tar.gz".to_owned(), one.path()] {
            client.direct(&one.server.url(&path), None, &target()).expect("a distribution");
            let log = one.server.take_log();
            assert_eq!(log, if offline { vec![] } else { vec![format!("{asked} {path}")] });
        }
    }
}

#[test]
fn archives_by_address() {
    let server = IndexServer::new();
    let client = client(settings(&server));
    let archive = reana_testkit::tar_gz(&[(
        "a-v2/pyproject.toml",
        "[build-system]\nrequires = [\"setuptools\"]\n[project]\nname = \"a\"\nversion = \"2.0\"\ndependencies = [\"b\"]\n",
    )]);
    let sha256 = Sha256::of(&archive);
    server.put("/archive/v2.tar.gz", Reply::file(archive));
    let direct = |fragment: &str, package: Option<&str>| {
        let url = server.url(&format!("/archive/v2.tar.gz{fragment}"));
        match client.direct(&url, package.map(name).as_ref(), &target()) {
            Ok(direct) => {
                format!("{} {} {:?}", direct.name, direct.version, direct.metadata.requires_dist.len())
            }
            Err(error) => bare(&server, &error.to_string()),
        }
    };
    assert_eq!(direct("", None), "a 2.0 1");
    assert_eq!(server.take_log(), ["200 /archive/v2.tar.gz"]);
    assert_eq!(direct(&format!("#egg=a&sha256={sha256}"), Some("a")), "a 2.0 1");
    assert_eq!(direct("", Some("b")), "`v2.tar.gz` can't be used: it is a, not b");
}

/// As pip reads them: the folder is counted from below the archive's one folder, if there is but one.
#[test]
fn a_folder_of_an_archive() {
    let (server, cache) = (IndexServer::new(), folder());
    let project = |name: &str, requires: &str| {
        format!(
            "[build-system]\nrequires = [\"setuptools\"]\n[project]\nname = \"{name}\"\nversion = \"2.0\"\ndependencies = [\"{requires}\"]\n"
        )
    };
    let (own, deep, top) = (project("own", "b"), project("deep", "c"), project("top", "d"));
    let setup = "from setuptools import setup\nsetup(name='odd', version=unknown())\n";
    let one = [
        ("a-v2/pyproject.toml", top.as_str()),
        ("a-v2/pkg/pyproject.toml", &own),
        ("a-v2/pkg/p%20q/x/pyproject.toml", &deep),
        ("a-v2/odd/setup.py", setup),
    ];
    let two = [("pkg/pyproject.toml", own.as_str()), ("README", ""), ("docs/x.md", "")];
    server.put("/a-2.0.tar.gz", Reply::file(reana_testkit::tar_gz(&one)).with_etag());
    server.put("/v2.zip", Reply::file(reana_testkit::zip(&one)).with_etag());
    server.put("/two.zip", Reply::file(reana_testkit::zip(&two)).with_etag());
    let wheel = Wheel::new("w", "1.0").requires(["e"]);
    server.put(&format!("/{}", wheel.file_name()), Reply::file(wheel.bytes()).with_etag());
    let ask = |client: &Client, path: &str, package: Option<&str>| match client.direct(
        &server.url(path),
        package.map(name).as_ref(),
        &target(),
    ) {
        Ok(direct) => {
            let requires = direct.metadata.requires_dist.iter().map(|it| it.name.to_string());
            format!("{} {} {}", direct.name, direct.version, requires.collect::<Vec<_>>().join(" "))
        }
        Err(error) => bare(&server, &error.to_string()),
    };
    let mut all = Vec::new();
    for offline in [false, true] {
        let client = client(Settings { offline, ..cached(settings(&server), &cache) });
        let ask = |path: &str, package: Option<&str>| ask(&client, path, package);
        assert_eq!(ask("/a-2.0.tar.gz", Some("top")), "top 2.0 d");
        for archive in ["/a-2.0.tar.gz", "/v2.zip"] {
            let of = |fragment: &str, package: Option<&str>| ask(&format!("{archive}{fragment}"), package);
            assert_eq!(of("#subdirectory=pkg", Some("own")), "own 2.0 b");
            assert_eq!(of("#egg=own&subdirectory=./pkg//", None), "own 2.0 b");
            assert_eq!(of("#subdirectory=pkg/p%20q/x", Some("deep")), "deep 2.0 c");
        }
        assert_eq!(ask("/v2.zip#subdirectory=", Some("top")), "top 2.0 d");
        assert_eq!(ask("/two.zip#subdirectory=pkg", Some("own")), "own 2.0 b");
        assert_eq!(ask(&format!("/{}#subdirectory=x", wheel.file_name()), Some("w")), "w 1.0 e");
        let mut refused = String::new();
        for (folder, package) in [
            ("pkg", "top"),
            ("absent", "own"),
            ("pkg/pyproject.toml", "own"),
            ("pkg/p%20q", "own"),
            ("odd", "odd"),
            ("..", "own"),
            ("pkg/../pkg", "own"),
            ("/pkg", "own"),
        ] {
            refused += &ask(&format!("/v2.zip#subdirectory={folder}"), Some(package));
            refused.push('\n');
        }
        all.push(refused);
    }
    assert_eq!(all[0], all[1]);
    expect![[r#"
        `v2.zip` can't be used: it is own, not top
        `v2.zip` can't be used: the archive has no folder `absent`
        `v2.zip` can't be used: the archive has no folder `pkg/pyproject.toml`
        the requirements of `v2.zip` can't be read: v2.zip/pkg/p%20q/: no setup.py, setup.cfg or pyproject.toml that declares a project
        the requirements of `v2.zip` can't be read: v2.zip/odd/setup.py:2: cannot evaluate `unknown`: it raises NameError: name 'unknown' is not defined
        `v2.zip` can't be used: `#subdirectory=..` does not name a folder inside of it
        `v2.zip` can't be used: `#subdirectory=pkg/../pkg` does not name a folder inside of it
        `v2.zip` can't be used: `#subdirectory=/pkg` does not name a folder inside of it
    "#]]
    .assert_eq(&all[0]);
}

#[test]
fn files_on_this_machine() {
    let links = folder();
    let wheel = Wheel::new("a", "1.0").requires(["b"]);
    let path = links.path().join(wheel.file_name());
    std::fs::write(&path, wheel.bytes()).expect("to write");
    let settings =
        Settings { find_links: vec![links.path().display().to_string()], ..Settings::new(crate::now) };
    let first = client(settings.clone());
    let file = first.listing(&name("a")).expect("a listing").files(0)[0].as_ref().clone();
    assert_eq!(metadata(&first, &file), "Wheel b");
    assert_eq!(first.sha256(&name("a"), &file).expect("a hash"), Sha256::of(&wheel.bytes()));
    let url = format!("file://{}", path.display());
    let direct = first.direct(&url, None, &target()).expect("a wheel");
    assert_eq!((direct.name, direct.sha256), (name("a"), Some(Sha256::of(&wheel.bytes()))));
    std::fs::write(links.path().join(format!("{}.metadata", wheel.file_name())), wheel.metadata())
        .expect("to write");
    let second = client(settings.clone());
    let file = second.listing(&name("a")).expect("a listing").files(0)[0].as_ref().clone();
    assert_eq!(metadata(&second, &file), "WheelUnchecked b");
    let third = client(Settings { verify_metadata: true, ..settings });
    assert_eq!(metadata(&third, &file), "Wheel b");
    std::fs::write(&path, "no wheel").expect("to write");
    let said =
        metadata(&client(Settings::new(crate::now)), &DistFile { core_metadata: Default::default(), ..file });
    assert!(said.starts_with("invalid: the archive is damaged"), "{said}");
}

#[test]
fn an_sdist_is_read_and_remembered() {
    let (server, cache) = (IndexServer::new(), folder());
    let (file, bytes) = reana_testkit::sdist(
        "a",
        "1.0",
        &[(
            "PKG-INFO",
            "Metadata-Version: 2.2\nName: a\nVersion: 1.0\nRequires-Dist: b; extra == 'x'\nProvides-Extra: x\n",
        )],
    );
    let listed = page(&[(&file, &sha256_key(&bytes))]).replacen(r#""hashes": {}, "#, "", 1);
    server.put("/simple/a/", Reply::json(listed));
    server.put(&format!("/files/{file}"), Reply::file(bytes));
    let two_targets = client(settings(&server));
    let listed = two_targets.listing(&name("a")).expect("a page").files(0)[0].as_ref().clone();
    let arm = reana_model::Target { platform: reana_model::Platform::LinuxArm64, ..target() };
    two_targets.expect_metadata(&name("a"), &listed, &target());
    two_targets.expect_metadata(&name("a"), &listed, &arm);
    two_targets.metadata(&name("a"), &listed, &target()).expect("an answer");
    two_targets.metadata(&name("a"), &listed, &arm).expect("an answer");
    assert_eq!(server.take_log(), [format!("200 /files/{file}"), "200 /simple/a/".to_owned()]);
    let run = |offline| {
        let client = client(Settings { offline, ..cached(settings(&server), &cache) });
        show(&client);
        let file = client.listing(&name("a")).expect("a page").files(0)[0].as_ref().clone();
        metadata(&client, &file)
    };
    let first = run(false);
    assert_eq!(first, "Static b; extra == 'x'");
    assert_eq!(server.take_log(), [format!("200 /files/{file}"), "200 /simple/a/".to_owned()]);
    assert_eq!(run(true), first);
    assert_eq!(server.take_log(), Vec::<String>::new());
}
