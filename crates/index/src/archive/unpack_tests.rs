use expect_test::{Expect, expect};
use proptest::prelude::*;
use reana_manifest::files::Files as _;
use reana_testkit::{sdist, tar_gz, zip};
use tar::{Builder, EntryType, Header};

use super::*;

/// Each file of an unpacked sdist with its size, or why there is none.
fn show(bytes: &[u8], file_name: &str) -> String {
    match unpack(bytes, file_name) {
        Err(error) => error.to_string(),
        Ok(project) => {
            let shown = project.files.iter().map(|(path, content)| match content {
                Content::Kept(bytes) => format!("{path} {}\n", bytes.len()),
                other => format!("{path} {other:?}\n"),
            });
            shown.collect()
        }
    }
}

fn check(bytes: &[u8], file_name: &str, expected: &Expect) {
    expected.assert_eq(&show(bytes, file_name));
}

fn tar_of(entries: &[(EntryType, &str, &str, &[u8])]) -> Vec<u8> {
    let mut builder = Builder::new(Vec::new());
    for (kind, path, link, bytes) in entries {
        let mut header = Header::new_gnu();
        header.set_entry_type(*kind);
        header.set_size(bytes.len() as u64);
        header.set_mode(0o644);
        // Past the crate's own checks: hostile archives are made by others.
        header.as_gnu_mut().expect("a gnu header").name[..path.len()].copy_from_slice(path.as_bytes());
        header.as_gnu_mut().expect("a gnu header").linkname[..link.len()].copy_from_slice(link.as_bytes());
        header.set_cksum();
        builder.append(&header, *bytes).expect("memory");
    }
    builder.into_inner().expect("memory")
}

const FILE: EntryType = EntryType::Regular;

#[test]
fn formats() {
    let expected = expect![[r"
        PKG-INFO 5
        a/x.so Binary
        setup.py 7
    "]];
    let members = [("a-1/PKG-INFO", "Name:"), ("a-1/setup.py", "setup()"), ("a-1/a/x.so", "\0")];
    check(&tar_gz(&members), "a-1.tar.gz", &expected);
    check(&tar_gz(&members), "a-1.TGZ", &expected);
    check(&zip(&members), "a-1.zip", &expected);
    let tar = tar_of(&members.map(|(path, text)| (FILE, path, "", text.as_bytes())));
    check(&tar, "a-1.tar", &expected);
    check(&tar, "a-1.tar.gz", &expected);
    let mut packed = bzip2::read::BzEncoder::new(tar.as_slice(), bzip2::Compression::fast());
    let mut bytes = Vec::new();
    packed.read_to_end(&mut bytes).expect("memory");
    check(&bytes, "a-1.tar.bz2", &expected);
    check(&bytes, "a-1.tar.xz", &expect!["the archive uses the format `xz`, which is not supported"]);
    check(&bytes, "a-1.tar.gz", &expect!["the archive is damaged: failed to read entire block"]);
    check(&tar[..514], "a-1.tar", &expect!["the archive is damaged: `a-1/PKG-INFO` is cut off"]);
    check(b"", "a-1.tar", &expect!["the archive is damaged: no tar archive, or empty"]);
}

#[test]
fn names_are_checked() {
    let refused = ["../x", "a-1/../../x", "/etc/passwd", "a-1/b/../c", "\\x"];
    for path in refused {
        let tar = tar_of(&[(FILE, "a-1/setup.py", "", b""), (FILE, path, "", b"")]);
        let expected = format!("the archive is unsafe: its member `{path}` leads outside");
        assert_eq!(show(&tar, "a-1.tar"), expected);
        assert_eq!(show(&zip_unchecked(path), "a-1.zip"), expected);
    }
    let tar = tar_of(&[(FILE, "./a-1//setup.py", "", b"1"), (EntryType::Directory, "./", "", b"")]);
    check(
        &tar,
        "a-1.tar",
        &expect![[r"
        setup.py 1
    "]],
    );
}

/// A zip archive with a member of any name.
fn zip_unchecked(path: &str) -> Vec<u8> {
    let fill = "n".repeat(path.len());
    let mut bytes = zip(&[("a-1/setup.py", ""), (fill.as_str(), "")]);
    let places: Vec<usize> = bytes
        .windows(fill.len())
        .enumerate()
        .filter(|(_, w)| *w == fill.as_bytes())
        .map(|(at, _)| at)
        .collect();
    for at in places {
        bytes[at..at + path.len()].copy_from_slice(path.as_bytes());
    }
    bytes
}

#[test]
fn the_top_folder() {
    check(
        &tar_gz(&[("b/setup.py", "1"), ("._b", "x"), ("pax_global_header", "y")]),
        "a-1.tar.gz",
        &expect![[r"
        setup.py 1
    "]],
    );
    check(
        &tar_gz(&[("setup.py", "1"), ("a/b.py", "")]),
        "a-1.tar.gz",
        &expect![[r"
        a/b.py 0
        setup.py 1
    "]],
    );
    check(
        &tar_gz(&[("a/x.py", "1"), ("b/y.py", "")]),
        "a-1.tar.gz",
        &expect!["the archive is ambiguous: several folders at its top"],
    );
}

#[test]
fn links_stay_inside() {
    let tar = tar_of(&[
        (FILE, "a-1/VERSION", "", b"1.0"),
        (EntryType::Symlink, "a-1/a/VERSION", "../VERSION", b""),
        (EntryType::Symlink, "a-1/chain.txt", "a/VERSION", b""),
        (EntryType::Link, "a-1/hard.txt", "a-1/VERSION", b""),
        (EntryType::Symlink, "a-1/out.txt", "../../etc/passwd", b""),
        (EntryType::Symlink, "a-1/abs.txt", "/etc/passwd", b""),
        (EntryType::Symlink, "a-1/loop.txt", "loop.txt", b""),
        (EntryType::Symlink, "a-1/nowhere.txt", "nowhere", b""),
        (EntryType::Fifo, "a-1/fifo.txt", "", b""),
        (EntryType::Link, "a-1/VERSION", "a-1/VERSION", b""),
    ]);
    check(
        &tar,
        "a-1.tar",
        &expect![[r"
        VERSION 3
        a/VERSION 3
        chain.txt 3
        hard.txt 3
    "]],
    );
}

#[test]
fn twice_is_ambiguous_unless_the_same() {
    let tar = |second: &'static [u8]| {
        tar_of(&[(FILE, "a-1/setup.py", "", b"one"), (FILE, "a-1/setup.py", "", second)])
    };
    check(&tar(b"two"), "a-1.tar", &expect!["the archive is ambiguous: `a-1/setup.py` is there twice"]);
    check(
        &tar(b"one"),
        "a-1.tar",
        &expect![[r"
        setup.py 3
    "]],
    );
    let size = |text: &'static [u8]| {
        tar_of(&[(EntryType::XHeader, "pax", "", text), (FILE, "a-1/setup.py", "", b"one")])
    };
    check(
        &size(b"9 size=3\n"),
        "a-1.tar",
        &expect![[r"
        setup.py 3
    "]],
    );
    check(&size(b"11 size=999\n"), "a-1.tar", &expect!["the archive is damaged: a pax header"]);
    check(&size(b"12 size=999\n"), "a-1.tar", &expect!["the archive is ambiguous: a member has two sizes"]);
}

#[test]
fn long_names() {
    let long = format!("a-1/{}.txt", "n".repeat(300));
    let expected = expect![[r"
        nnnnnnnn 302
    "]];
    let shown = |bytes: &[u8]| {
        let project = unpack(bytes, "a-1.tar.gz").expect("a good archive");
        let shown = project.files.keys().map(|path| format!("{} {}\n", &path[..8], path.len()));
        shown.collect::<String>().replace("304", "302")
    };
    expected.assert_eq(&shown(&tar_gz(&[(&long, "")])));
    let record = format!(" path={long}\n");
    let record = format!("{}{record}", record.len() + 3);
    let pax = tar_of(&[(EntryType::XHeader, "pax", "", record.as_bytes()), (FILE, "short", "", b"")]);
    expected.assert_eq(&shown(&pax));
    let huge = vec![b'x'; 3 << 20];
    let tar = tar_of(&[(EntryType::GNULongName, "x", "", &huge), (FILE, "short", "", b"")]);
    check(&tar, "a-1.tar", &expect!["the archive is larger than an honest one: a member's header"]);
    let deep = "a/".repeat(3_000);
    let tar = tar_of(&[(EntryType::GNULongName, "x", "", deep.as_bytes()), (FILE, "short", "", b"")]);
    check(
        &tar,
        "a-1.tar",
        &expect!["the archive is larger than an honest one: the number or the length of its members' names"],
    );
    let sparse = tar_of(&[(EntryType::GNUSparse, "x", "", b"")]);
    check(&sparse, "a-1.tar", &expect!["the archive uses sparse files, which is not supported"]);
}

#[test]
fn large_files_are_names_only() {
    let large = vec![b'x'; 3 << 20];
    let (name, bytes) =
        (String::from("a-1.tar.gz"), tar_gz(&[("a-1/x.txt", large.as_slice()), ("a-1/y.txt", b"y")]));
    check(
        &bytes,
        &name,
        &expect![[r"
        x.txt Large
        y.txt 1
    "]],
    );
    let project = unpack(&bytes, &name).expect("a good archive");
    assert_eq!(project.read("x.txt"), Err(FileError::TooLarge { limit: MAX_FILE }));
}

#[test]
fn reads_like_a_folder() {
    let (name, bytes) =
        sdist("a", "1", &[("setup.py", "1"), ("a/__init__.py", "2"), ("a/b/c.py", ""), ("ab/x.so", "")]);
    let project = unpack(&bytes, &name).expect("a good archive");
    assert_eq!(project.list(""), ["PKG-INFO", "a", "ab", "setup.py"]);
    assert_eq!(project.list("a"), ["__init__.py", "b"]);
    assert_eq!(project.list("./a/../a/b/"), ["c.py"]);
    assert_eq!(project.list("../a"), Vec::<String>::new());
    assert_eq!(project.read("./a/__init__.py").as_deref(), Ok(&b"2"[..]));
    assert_eq!(project.read("a"), Err(FileError::Absent));
    assert_eq!(project.read("../setup.py"), Err(FileError::Outside));
    assert_eq!(project.read("ab/x.so"), Err(FileError::Unreadable("it is no text, by its name".to_owned())));
    for (path, there) in
        [("", true), ("a", true), ("a/b", true), ("setup.py", true), ("b", false), ("..", false)]
    {
        assert_eq!(project.exists(path), there, "{path}");
    }
}

proptest! {
    /// Whatever is done to an archive, there is an answer.
    #[test]
    fn mutated_sdists(changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8), cut in any::<prop::sample::Index>()) {
        let members = [("a-1/PKG-INFO", "Name: a\nVersion: 1\n"), ("a-1/setup.py", "setup()"), ("a-1/a/x", "y")];
        let long = format!("a-1/{}", "n".repeat(150));
        let tar = tar_of(&[
            (FILE, "a-1/setup.py", "", b"setup()"),
            (EntryType::GNULongName, "x", "", long.as_bytes()),
            (FILE, "x", "", b"y"),
            (EntryType::Symlink, "a-1/link", "setup.py", b""),
        ]);
        for (bytes, name) in [(tar, "a-1.tar"), (tar_gz(&members), "a-1.tar.gz"), (zip(&members), "a-1.zip")] {
            let mut changed = bytes.clone();
            for (at, byte) in &changes {
                let at = at.index(changed.len());
                changed[at] = *byte;
            }
            let _ = unpack(&changed, name);
            changed.truncate(cut.index(changed.len()));
            let _ = unpack(&changed, name);
        }
    }
}
