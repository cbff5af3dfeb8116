//! sdists and wheels whose bytes follow from their contents alone.
//!
//! Nothing is compressed: a compressor's output changes with its version, and the archives' hashes are in the
//! fleet's locks.

use std::io::{Cursor, Write};

use anyhow::Result;
use flate2::{Compression, GzBuilder};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, DateTime, ZipWriter};

/// Files by their paths in the archive, in the order that they are to have there.
pub(crate) type Files = Vec<(String, Vec<u8>)>;

/// A `.tar.gz` of these files; `modified` is the time stamp of each, in seconds since 1970.
pub(crate) fn tar_gz(files: &Files, modified: u64) -> Result<Vec<u8>> {
    let gz = GzBuilder::new().mtime(0).write(Vec::new(), Compression::none());
    let mut tar = tar::Builder::new(gz);
    for (path, bytes) in files {
        let mut header = tar::Header::new_ustar();
        header.set_size(bytes.len() as u64);
        header.set_mode(0o644);
        header.set_mtime(modified);
        tar.append_data(&mut header, path, bytes.as_slice())?;
    }
    Ok(tar.into_inner()?.finish()?)
}

/// A zip (so: a wheel) of these files.
pub(crate) fn zip(files: &Files) -> Result<Vec<u8>> {
    let options = SimpleFileOptions::default()
        .compression_method(CompressionMethod::Stored)
        .last_modified_time(DateTime::default())
        .unix_permissions(0o644);
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    for (path, bytes) in files {
        zip.start_file(path.as_str(), options)?;
        zip.write_all(bytes)?;
    }
    Ok(zip.finish()?.into_inner())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;

    fn files() -> Files {
        vec![("a-1/PKG-INFO".to_owned(), b"Name: a\n".to_vec()), ("a-1/setup.py".to_owned(), vec![0; 5000])]
    }

    #[test]
    fn an_sdist_gives_back_its_files() {
        let bytes = tar_gz(&files(), 1_700_000_000).expect("an archive");
        let mut archive = tar::Archive::new(flate2::read::GzDecoder::new(bytes.as_slice()));
        let mut found = Files::new();
        for entry in archive.entries().expect("entries") {
            let mut entry = entry.expect("an entry");
            let path = entry.path().expect("a path").to_string_lossy().into_owned();
            let mut contents = Vec::new();
            entry.read_to_end(&mut contents).expect("contents");
            found.push((path, contents));
        }
        assert_eq!(found, files());
    }

    #[test]
    fn a_wheel_gives_back_its_files() {
        let bytes = zip(&files()).expect("an archive");
        let mut archive = zip::ZipArchive::new(Cursor::new(bytes)).expect("a zip");
        let mut text = String::new();
        archive.by_name("a-1/PKG-INFO").expect("a member").read_to_string(&mut text).expect("text");
        assert_eq!((archive.len(), text.as_str()), (2, "Name: a\n"));
    }

    #[test]
    fn the_same_files_give_the_same_bytes() {
        let sum = |bytes: Vec<u8>| reana_model::Sha256::of(&bytes).to_string();
        let (sdist, wheel) = (tar_gz(&files(), 0).expect("an sdist"), zip(&files()).expect("a wheel"));
        // Written down: a library that writes other bytes would change the hashes in the fleet's locks.
        assert_eq!(sum(sdist), "bacd151f0b8ebcd75098a7c3bc8026253d22054bf3eb664a3367857556a808c5");
        assert_eq!(sum(wheel), "486d2889cb007b22e268f50acb0114a82e0c2b8654acd24405b0ffd4e12ac6f9");
    }
}
