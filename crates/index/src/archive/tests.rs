use proptest::prelude::*;

use reana_testkit::{Wheel, tar_gz, wheel, zip};

use super::unpack::unpack;
use super::*;

fn check(bytes: &[u8], expected: Result<&str, &str>) {
    let found = metadata_from_wheel(bytes).map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    let found = found.map_err(|error| error.to_string());
    assert_eq!(found.as_deref().map_err(String::as_str), expected);
}

/// Asks as a client would, with `first` bytes of the end to begin with.
fn by_ranges(bytes: &[u8], first: usize) -> (Result<Vec<u8>, ArchiveError>, usize) {
    let mut start = bytes.len().saturating_sub(first);
    for asked in 1..10 {
        match metadata_from_tail(&bytes[start..], bytes.len() as u64) {
            Ok(TailAnswer::Metadata(metadata)) => return (Ok(metadata), asked),
            Ok(TailAnswer::Need { start: needed, end }) => {
                assert_eq!(end, start as u64);
                assert!(needed < end, "{needed} {end}");
                start = usize::try_from(needed).expect("a place in it");
            }
            Err(error) => return (Err(error), asked),
        }
    }
    panic!("no answer after many ranges");
}

#[test]
fn metadata_of_a_wheel() {
    let made = Wheel::new("a", "1").requires(["b"]);
    let text = String::from_utf8(made.metadata()).expect("text");
    check(&made.bytes(), Ok(&text));
    check(b"", Err("the archive is damaged: no zip archive, or cut off"));
    check(&vec![b'P'; 200_000], Err("the archive is damaged: no zip archive, or cut off"));
    check(&zip(&[("a/b", "c")]), Err("the archive has no .dist-info/METADATA"));
    check(
        &zip(&[("a-1.dist-info/METADATA", ""), ("b-1.dist-info/RECORD", "")]),
        Err("the archive is ambiguous: several .dist-info folders: a-1.dist-info, b-1.dist-info"),
    );
    check(&zip(&[("a-1.dist-info/METADATA", "x"), ("a/b-1.dist-info/METADATA", "y")]), Ok("x"));
    check(&zip(&[("x/a-1.dist-info/METADATA", "x")]), Err("the archive has no .dist-info/METADATA"));
}

#[test]
fn metadata_by_ranges() {
    let filling: Vec<u8> = (0..300_000_u32).flat_map(u32::to_le_bytes).collect();
    let made = Wheel::new("a", "1").requires(["b"]).file("a/data", filling);
    let bytes = made.bytes();
    for first in [0, 1, 21, 22, 100, 400, 5_000, 70_000, bytes.len()] {
        let (found, asked) = by_ranges(&bytes, first);
        assert_eq!(found, Ok(made.metadata()), "{first}");
        assert!(asked <= 4, "{first}: {asked}");
    }
    assert_eq!(by_ranges(&bytes, 10_000).1, 1);
}

/// Overwrites what stands at `at` bytes after the last `magic`.
fn patch(bytes: &mut [u8], magic: &[u8], at: usize, new: &[u8]) {
    let found = bytes.windows(magic.len()).rposition(|window| window == magic).expect("the magic");
    bytes[found + at..found + at + new.len()].copy_from_slice(new);
}

#[test]
fn lies_are_found() {
    let good = zip(&[("a-1.dist-info/METADATA", "Name: a\n".repeat(99))]);
    let lie = |magic: &[u8], at, new: &[u8]| {
        let mut bytes = good.clone();
        patch(&mut bytes, magic, at, new);
        metadata_from_wheel(&bytes).map_err(|error| error.to_string())
    };
    let damaged =
        "the archive is damaged: `a-1.dist-info/METADATA` does not have the size and checksum that it says";
    // Its size, one less and one more; its checksum.
    assert_eq!(lie(b"PK\x01\x02", 24, &791_u32.to_le_bytes()), Err(damaged.to_owned()));
    assert_eq!(lie(b"PK\x01\x02", 24, &793_u32.to_le_bytes()), Err(damaged.to_owned()));
    assert_eq!(lie(b"PK\x01\x02", 16, &[0; 4]), Err(damaged.to_owned()));
    let refused = [
        (lie(b"PK\x01\x02", 24, &0x7fff_ffff_u32.to_le_bytes()), "larger than an honest one"),
        (lie(b"PK\x01\x02", 8, &[1]), "encryption"),
        (lie(b"PK\x03\x04", 6, &[1]), "encryption"),
        (lie(b"PK\x01\x02", 46, b"b"), "two headers that differ"),
        (lie(b"PK\x03\x04", 30, b"b"), "two headers that differ"),
        (lie(b"PK\x01\x02", 46, b"\0"), "NUL"),
        (lie(b"PK\x01\x02", 20, &[0xff; 2]), "overlaps"),
        (lie(b"PK\x01\x02", 42, &[1]), "no member where one must be"),
        (lie(b"PK\x01\x02", 42, &[0xff; 2]), "points outside"),
        (lie(b"PK\x05\x06", 10, &[2]), "several disks"),
        (lie(b"PK\x05\x06", 8, &[2, 0, 2, 0]), "another number of members"),
        (lie(b"PK\x05\x06", 8, &[0, 0, 0, 0]), "another number of members"),
        (lie(b"PK\x05\x06", 16, &[0]), "not where it says"),
        (lie(b"PK\x05\x06", 20, &[9]), "bytes after its end"),
    ];
    for (at, (found, expected)) in refused.iter().enumerate() {
        let error = found.as_ref().expect_err("a lie");
        assert!(error.contains(expected), "{at}: {error}");
    }
    let mut longer = good.clone();
    longer.push(0);
    check(&longer, Err("the archive is ambiguous: there are bytes after its end"));
    let prepended = [b"#!/bin/sh\n", good.as_slice()].concat();
    check(&prepended, Err("the archive is ambiguous: its directory is not where it says"));
}

#[test]
fn metadata_twice_is_refused() {
    let mut bytes = zip(&[("a-1.dist-info/METADATA", "x"), ("a-1.dist-info/METADATO", "y")]);
    let at: Vec<usize> =
        bytes.windows(8).enumerate().filter(|(_, w)| w == b"METADATO").map(|(at, _)| at).collect();
    for at in at {
        bytes[at + 7] = b'A';
    }
    check(&bytes, Err("the archive is ambiguous: `a-1.dist-info/METADATA` is there twice"));
}

#[test]
fn a_bomb_is_not_unpacked() {
    let bomb = zip(&[("a-1.dist-info/METADATA", vec![b' '; 20 << 20])]);
    let found = metadata_from_wheel(&bomb).expect_err("a bomb");
    assert!(matches!(found, ArchiveError::Limit(_)), "{found}");
    // The same, said to be small.
    let mut lie = bomb.clone();
    patch(&mut lie, b"PK\x01\x02", 24, &9_u32.to_le_bytes());
    let found = metadata_from_wheel(&lie).expect_err("a bomb");
    assert!(matches!(found, ArchiveError::Damaged(_)), "{found}");
    let bomb = tar_gz(&[("a-1/setup.py", vec![b' '; 70 << 20])]);
    let found = unpack(&bomb, "a-1.tar.gz").expect_err("a bomb");
    assert!(matches!(found, ArchiveError::Limit(_)), "{found}");
}

proptest! {
    /// Whatever is done to an archive, there is an answer, and no METADATA that it doesn't hold.
    #[test]
    fn mutated_wheels(changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8), cut in 0_usize..60, first in 0_usize..700) {
        let (_, mut bytes) = wheel("a", "1", &["b"], &["x"], "py3-none-any");
        let expected = metadata_from_wheel(&bytes).expect("a good wheel");
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        bytes.truncate(bytes.len() - cut.saturating_sub(50));
        if let Ok(found) = metadata_from_wheel(&bytes) {
            prop_assert_eq!(&found, &expected);
        }
        let (by_ranges, _) = by_ranges(&bytes, first);
        prop_assert_eq!(by_ranges.ok(), metadata_from_wheel(&bytes).ok());
    }

    /// Any bytes at all have an answer.
    #[test]
    fn any_bytes(bytes in prop::collection::vec(any::<u8>(), 0..2_000), total in any::<u64>()) {
        prop_assert!(metadata_from_wheel(&bytes).is_err());
        let _ = metadata_from_tail(&bytes, total);
        for name in ["a.zip", "a.tar.gz", "a.tar.bz2", "a.tar", "a.tar.xz"] {
            let _ = unpack(&bytes, name);
        }
    }
}
