//! Archives as nobody honest makes them.

use std::io::Write as _;

use flate2::Compression;
use flate2::write::GzEncoder;

/// What a member of a tar archive is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Member<'a> {
    /// A file with these bytes.
    File(&'a [u8]),
    /// A symbolic link to there.
    Symlink(&'a str),
    /// A hard link to there.
    HardLink(&'a str),
    /// A device.
    Device,
    /// A file that says that it has so many bytes, and has none.
    Claims(u64),
}

/// A tar archive of these members, whose paths are taken as they are: absolute, or with `..` in them.
pub fn tar(members: &[(&str, Member<'_>)]) -> Vec<u8> {
    let mut archive = Vec::new();
    for (path, member) in members {
        let mut header = tar::Header::new_ustar();
        let name = &mut header.as_old_mut().name;
        for (to, from) in name.iter_mut().zip(path.bytes()) {
            *to = from;
        }
        let (kind, bytes, size) = match member {
            Member::File(bytes) => (tar::EntryType::Regular, *bytes, bytes.len() as u64),
            Member::Symlink(_) => (tar::EntryType::Symlink, &[][..], 0),
            Member::HardLink(_) => (tar::EntryType::Link, &[][..], 0),
            Member::Device => (tar::EntryType::Block, &[][..], 0),
            Member::Claims(size) => (tar::EntryType::Regular, &[][..], *size),
        };
        if let Member::Symlink(target) | Member::HardLink(target) = member {
            for (to, from) in header.as_old_mut().linkname.iter_mut().zip(target.bytes()) {
                *to = from;
            }
        }
        header.set_entry_type(kind);
        header.set_size(size);
        header.set_mode(0o644);
        header.set_cksum();
        archive.extend_from_slice(header.as_bytes());
        archive.extend_from_slice(bytes);
        archive.resize(archive.len().next_multiple_of(512), 0);
    }
    archive.resize(archive.len() + 1024, 0);
    archive
}

/// A gzip stream of these bytes, so many times.
pub fn gzip(bytes: &[u8], times: usize) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    for _ in 0..times {
        encoder.write_all(bytes).expect("memory takes what is written");
    }
    encoder.finish().expect("a complete stream")
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use super::*;

    #[test]
    fn what_is_made_can_be_read() {
        let archive =
            tar(&[("../a", Member::File(b"text")), ("b", Member::Symlink("/c")), ("d", Member::Device)]);
        let packed = gzip(&archive, 1);
        let mut reader = tar::Archive::new(flate2::read::GzDecoder::new(&packed[..]));
        let entries = reader.entries().expect("entries").map(|entry| {
            let mut entry = entry.expect("an entry");
            let mut text = String::new();
            entry.read_to_string(&mut text).expect("text");
            let link = entry.link_name_bytes().map(|link| String::from_utf8_lossy(&link).into_owned());
            (String::from_utf8_lossy(&entry.path_bytes()).into_owned(), text, link)
        });
        let expected = [("../a", "text", None), ("b", "", Some("/c")), ("d", "", None)];
        let expected =
            expected.map(|(path, text, link)| (path.to_owned(), text.to_owned(), link.map(str::to_owned)));
        assert_eq!(entries.collect::<Vec<_>>(), expected);
    }
}
