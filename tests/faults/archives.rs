//! Wheels and sdists that are bombs, reach outside, or lie about themselves.

use std::path::Path;

use reana_testkit::hostile::{Member, gzip, tar};
use reana_testkit::{Release, Reply, Wheel, World, zip};

use super::{heals, ready, refuses, server, watch};

const SETUP: &str =
    "from setuptools import setup\nsetup(name='foo', version='1.0', install_requires=['base'])\n";

fn good() -> World {
    World::new().with("base", "1.0", &[]).release("foo", Release::new("0.9", &["base"]))
}

/// A world in which foo 1.0 is one file of these bytes.
fn with(file: &str, bytes: Vec<u8>) -> World {
    good().release("foo", Release::new("1.0", &[]).raw(file, bytes))
}

/// foo 1.0 as an sdist of these members.
fn sdist(members: &[(&str, Member<'_>)]) -> World {
    with("foo-1.0.tar.gz", gzip(&tar(members), 1))
}

/// foo 1.0 as an sdist whose setup.py is fine, and that has further members.
fn with_setup(members: &[(&str, Member<'_>)]) -> World {
    let setup = ("foo-1.0/setup.py", Member::File(SETUP.as_bytes()));
    sdist(&[&[setup], members].concat())
}

/// foo 1.0 is passed over for what is said; required by its number, it can't be had. Then the index is healed.
#[track_caller]
fn passed_over(world: &World, said: &str) {
    let place = ready(world, "foo\n");
    let found = watch(&place, &["-U"]).with_code(0);
    assert!(found.contains("note: foo 1.0 was passed over: ") && found.contains(said), "{said}\n{found}");
    assert_eq!(place.pins("requirements.txt"), ["base==1.0", "foo==0.9"]);
    place.file("requirements.in", "foo==1.0\n").file("requirements.txt", super::OLD);
    let found = refuses(&place, &[], 3);
    assert!(found.contains(said), "{said}\n{found}");
    let healed = good().release("foo", Release::new("1.0", &["base"]));
    heals(&place, &healed, &["base==1.0", "foo==1.0"]);
}

#[test]
fn tar_bombs() {
    let zeros = vec![0; 1 << 20];
    // One member of a gibibyte; many members; a member that says it is huge.
    let mut bomb = tar(&[
        ("foo-1.0/PKG-INFO", Member::File(b"Name: foo\n")),
        ("foo-1.0/x.bin", Member::Claims(1 << 30)),
    ]);
    bomb.truncate(bomb.len() - 1024);
    let mut packed = gzip(&bomb, 1);
    packed.extend(gzip(&zeros, 100));
    passed_over(&with("foo-1.0.tar.gz", packed), "the archive is larger than an honest one");
    let many: Vec<String> = (0..60_000).map(|number| format!("foo-1.0/{number}.txt")).collect();
    let members: Vec<(&str, Member<'_>)> =
        many.iter().map(|path| (path.as_str(), Member::File(b""))).collect();
    let mut all = tar(&members);
    all.truncate(all.len() - 1024);
    passed_over(&with("foo-1.0.tar.gz", gzip(&all, 5)), "the archive is larger than an honest one");
    passed_over(&sdist(&[("foo-1.0/setup.py", Member::Claims(1 << 40))]), "the archive is damaged");
    // What is no archive inside of gzip.
    passed_over(&with("foo-1.0.tar.gz", gzip(&zeros, 100)), "the archive is ");
}

#[test]
fn zip_bombs() {
    let metadata = Wheel::new("foo", "1.0").metadata();
    let zeros = vec![b'a'; 64 << 20];
    let huge = [&metadata[..], &zeros[..]].concat();
    let wheel = zip(&[("foo-1.0.dist-info/METADATA", &huge), ("foo-1.0.dist-info/WHEEL", &metadata)]);
    passed_over(&with("foo-1.0-py3-none-any.whl", wheel), "the archive is larger than an honest one");
    let small = zip(&[("foo-1.0.dist-info/METADATA", &metadata)]);
    let lies = lying_about_size(&small, &metadata);
    passed_over(&with("foo-1.0-py3-none-any.whl", lies), "the archive is ");
    let members: Vec<(String, Vec<u8>)> =
        (0..80).map(|number| (format!("foo-1.0/{number}.txt"), vec![b'a'; 1 << 20])).collect();
    let mut members: Vec<(&str, &[u8])> =
        members.iter().map(|(path, bytes)| (path.as_str(), &bytes[..])).collect();
    members.push(("foo-1.0/setup.py", SETUP.as_bytes()));
    // What is too much to keep is left where it is; the rest says what is needed.
    let place = ready(&with("foo-1.0.zip", zip(&members)), "foo\n");
    watch(&place, &["-U"]).with_code(0);
    assert_eq!(place.pins("requirements.txt"), ["base==1.0", "foo==1.0"]);
}

/// A zip archive whose directory says that its member has one byte.
fn lying_about_size(archive: &[u8], metadata: &[u8]) -> Vec<u8> {
    let size = u32::try_from(metadata.len()).unwrap_or_default().to_le_bytes();
    let at = archive.windows(4).rposition(|bytes| bytes == size).expect("the size in the directory");
    let mut lying = archive.to_vec();
    lying[at..at + 4].copy_from_slice(&1_u32.to_le_bytes());
    lying
}

#[test]
fn members_that_lead_outside() {
    for path in ["../evil.py", "foo-1.0/../../evil.py", "foo-1.0/a/../../../evil.py"] {
        let world = with_setup(&[(path, Member::File(b"evil"))]);
        passed_over(&world, &format!("its member `{path}` leads outside"));
    }
    let world = with_setup(&[("/tmp/evil.py", Member::File(b"evil"))]);
    passed_over(&world, "its member `/tmp/evil.py` leads outside");
    let evil = zip(&[("foo-1.0/setup.py", SETUP), ("foo-1.0/../../evil.py", "evil")]);
    passed_over(&with("foo-1.0.zip", evil), "its member `foo-1.0/../../evil.py` leads outside");
    assert!(!Path::new("/tmp/evil.py").exists());
}

#[test]
fn links_that_lead_outside() {
    let outside = |member| sdist(&[("foo-1.0/setup.py", member), ("foo-1.0/x.py", Member::File(b"x = 1\n"))]);
    for target in ["/etc/passwd", "../../../../../etc/passwd", "/proc/self/environ", "nowhere", "setup.py"] {
        for member in [Member::Symlink(target), Member::HardLink(target)] {
            passed_over(&outside(member), "foo-1.0.tar.gz");
        }
    }
    // A link inside is what it leads to; devices are nothing.
    let inside = sdist(&[
        ("foo-1.0/real.py", Member::File(SETUP.as_bytes())),
        ("foo-1.0/setup.py", Member::Symlink("real.py")),
        ("foo-1.0/dev", Member::Device),
    ]);
    let place = ready(&inside, "foo\n");
    watch(&place, &["-U"]).with_code(0);
    assert_eq!(place.pins("requirements.txt"), ["base==1.0", "foo==1.0"]);
}

#[test]
fn a_setup_py_that_reads_what_is_not_its_own() {
    for path in ["/etc/passwd", "../../../etc/passwd", "link"] {
        let setup = format!(
            "from setuptools import setup\nsetup(name='foo', version='1.0', install_requires=open('{path}').read().split())\n"
        );
        let world = sdist(&[
            ("foo-1.0/link", Member::Symlink("/etc/passwd")),
            ("foo-1.0/setup.py", Member::File(setup.as_bytes())),
        ]);
        let place = ready(&world, "foo\n");
        let said = refuses(&place, &[], 4);
        assert!(said.contains("`--allow-build foo` builds it"), "{said}");
        assert!(said.contains("setup.py:2"), "{said}");
    }
}

#[test]
fn a_setup_py_that_never_ends() {
    for loop_ in [
        "while True:\n    pass\n",
        "x = 'a'\nwhile True:\n    x += x\n",
        "def f():\n    return f()\nf()\n",
        "x = [0] * 10 ** 9\n",
        "x = 'a' * 10 ** 10\n",
        "x = 10 ** 10 ** 10\n",
        "import re\nre.match('(a*)*b', 'a' * 5000)\n",
    ] {
        let setup = format!(
            "{loop_}from setuptools import setup\nsetup(name='foo', version='1.0', install_requires=[str(x)])\n"
        );
        let world = sdist(&[("foo-1.0/setup.py", Member::File(setup.as_bytes()))]);
        let said = refuses(&ready(&world, "foo\n"), &[], 4);
        assert!(said.contains("`--allow-build foo` builds it"), "{loop_}\n{said}");
    }
}

#[test]
fn damage_on_the_way_and_in_the_file() {
    let whole = gzip(&tar(&[("foo-1.0/setup.py", Member::File(SETUP.as_bytes()))]), 1);
    for cut in [1, 12, whole.len() / 4, whole.len() / 2] {
        let cut = whole.get(..cut).unwrap_or_default().to_vec();
        passed_over(&with("foo-1.0.tar.gz", cut), "the archive is damaged");
    }
    // The file is sound, and what comes of it is not.
    let world = with_setup(&[]);
    let place = ready(&world, "foo\n");
    server(&place).put("/files/foo-1.0.tar.gz", Reply::file(whole.clone()).cut(20));
    let said = refuses(&place, &[], 4);
    assert!(said.contains("the answer broke off: "), "{said}");
    heals(&place, &world, &["base==1.0", "foo==1.0"]);
}

#[test]
fn a_file_that_never_ends() {
    let world = with_setup(&[]);
    let place = ready(&world, "foo\n");
    server(&place)
        .put("/files/foo-1.0.tar.gz", Reply::file(vec![7; 1 << 16]).sent(reana_testkit::Manner::Endless));
    let said = refuses(&place, &[], 4);
    assert!(said.contains("http://[INDEX]/files/foo-1.0.tar.gz: larger than "), "{said}");
    heals(&place, &world, &["base==1.0", "foo==1.0"]);
}
