//! Requirements that name archives and folders by their address.

use expect_test::expect;

use crate::harness::{place, sha256, small_world};

/// What a lock has of a project in a folder of an archive, and that of a folder of this machine.
#[test]
fn a_folder_of_an_archive() {
    let place = place(&small_world());
    let project = |name: &str, requires: &str| {
        format!(
            "[build-system]\nrequires = [\"base\"]\nbuild-backend = \"setuptools.build_meta\"\n\
             [project]\nname = \"{name}\"\nversion = \"1.0\"\ndependencies = [\"{requires}\"]\n"
        )
    };
    let own = project("own", "lib");
    let members = [("top/pyproject.toml", project("top", "app")), ("top/pkg/pyproject.toml", own.clone())];
    let members = members.each_ref().map(|(path, text)| (*path, text.as_str()));
    let archive = reana_testkit::zip(&members);
    place.file("a.zip", &archive).file("folder/pkg/pyproject.toml", &own);
    let url = |path: &str| format!("file://{}", place.path(path).display());
    place.file("requirements.in", format!("own @ {}#subdirectory=pkg\n", url("a.zip")));
    let _output = place.compile(&["--build-requirements", "build.txt"]).expect_code(0);
    let line =
        format!("own @ {}#subdirectory=pkg \\\n    --hash=sha256:{}\n", url("a.zip"), sha256(&archive));
    assert!(place.lock().contains(&line), "{}", place.lock());
    assert_eq!(place.pins("requirements.txt").first().map(String::as_str), Some("base==1.1"));
    assert_eq!(place.pins("requirements.txt").len(), 3, "lib and what it requires");
    assert_eq!(place.pins("build.txt"), ["base==1.1"]);
    let _fresh = place.compile(&["--build-requirements", "build.txt", "--check"]).expect_code(0);
    let _output = place.compile(&["-o", "pylock.toml"]).expect_code(0);
    let pylock = place.read("pylock.toml");
    assert!(pylock.contains("path = \"a.zip\"") && pylock.contains("subdirectory = \"pkg\""), "{pylock}");

    place.file("requirements.in", "./a.zip#subdirectory=pkg&egg=own\n");
    let _output = place.compile(&["-U"]).expect_code(0);
    place.file("requirements.in", format!("own @ {}#subdirectory=pkg\n", url("folder")));
    let _output = place.compile(&["-U", "--no-generate-hashes"]).expect_code(0);
    assert_eq!(place.pins("requirements.txt").len(), 3, "{}", place.lock());

    let mut all = String::new();
    for (requirement, code) in [
        ("./a.zip#subdirectory=pkg".to_owned(), 2),
        (format!("own @ {}#subdirectory=absent", url("a.zip")), 2),
        (format!("own @ {}#subdirectory=../a", url("a.zip")), 2),
        (format!("own @ {}#subdirectory=absent", url("folder")), 4),
        (format!("own @ {}#subdirectory=../folder/pkg", url("folder")), 2),
    ] {
        place.file("requirements.in", format!("{requirement}\n"));
        all += &place.refuses(&["--no-generate-hashes"], code);
    }
    expect![[r#"
        error: requirements.in:1: `./a.zip#subdirectory=pkg` doesn't say which package it is

        hint: write `NAME @ URL`
        error: work: own could not be looked up: `a.zip` can't be used: the archive has no folder `absent`
        error: work: own could not be looked up: `a.zip` can't be used: `#subdirectory=../a` does not name a folder inside of it
        error: work: own could not be looked up: [ROOT]/folder/absent: there is no such file or folder
        error: work: own could not be looked up: `[ROOT]/folder`: `#subdirectory=../folder/pkg` does not name a folder inside of it
    "#]].assert_eq(&all);
}
