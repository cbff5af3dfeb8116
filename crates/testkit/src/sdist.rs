//! Sdists made in memory.

use std::io::Write as _;

use flate2::Compression;
use flate2::write::GzEncoder;

use crate::world::escape;

/// The name and the bytes of an sdist of these files. A PKG-INFO of metadata 1.2 is added where none is given,
/// as setuptools did before it wrote requirements there.
pub fn sdist(name: &str, version: &str, files: &[(&str, &str)]) -> (String, Vec<u8>) {
    let folder = format!("{}-{version}", escape(name));
    let mut members: Vec<(String, Vec<u8>)> =
        files.iter().map(|(path, text)| (format!("{folder}/{path}"), text.as_bytes().to_vec())).collect();
    if !files.iter().any(|(path, _)| *path == "PKG-INFO") {
        let pkg_info = format!("Metadata-Version: 1.2\nName: {name}\nVersion: {version}\n");
        members.insert(0, (format!("{folder}/PKG-INFO"), pkg_info.into_bytes()));
    }
    (format!("{folder}.tar.gz"), tar_gz(&members))
}

/// A gzipped tar archive of these files, in this order.
pub fn tar_gz<P: AsRef<str>, B: AsRef<[u8]>>(members: &[(P, B)]) -> Vec<u8> {
    let mut builder = tar::Builder::new(Vec::new());
    for (path, bytes) in members {
        let bytes = bytes.as_ref();
        let mut header = tar::Header::new_gnu();
        header.set_size(bytes.len() as u64);
        header.set_mode(0o644);
        header.set_mtime(0);
        header.set_entry_type(tar::EntryType::Regular);
        builder.append_data(&mut header, path.as_ref(), bytes).expect("a member's name");
    }
    let tar = builder.into_inner().expect("memory takes what is written");
    // `GzEncoder` writes no time, no name and the system "unknown": the same bytes everywhere.
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(&tar).expect("memory takes what is written");
    encoder.finish().expect("a complete stream")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_bytes_each_time() {
        let make = || sdist("Foo-Bar", "1.0", &[("setup.py", "setup()")]);
        assert_eq!(make(), make());
        assert_eq!(make().0, "foo_bar-1.0.tar.gz");
    }
}
