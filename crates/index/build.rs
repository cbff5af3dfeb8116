//! Gives the reading of sdists a version that follows from its sources, so that what an older reading concluded is
//! never taken from the cache, and nobody has to remember to raise a number.

#![expect(clippy::disallowed_methods, reason = "a build script reads sources")]

use std::fs;
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

fn main() {
    let here = PathBuf::from(std::env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default());
    let mut digest = Sha256::new();
    for folder in ["src/sdist", "src/wire", "../manifest/src", "../model/src"] {
        println!("cargo::rerun-if-changed={folder}");
        add(&here.join(folder), &mut digest);
    }
    let digest = digest.finalize();
    let version: String = digest.iter().take(6).map(|byte| format!("{byte:02x}")).collect();
    println!("cargo::rustc-env=REANA_LOCK_EVALUATOR={version}");
}

fn add(folder: &Path, digest: &mut Sha256) {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    paths.sort();
    for path in paths {
        if path.is_dir() {
            add(&path, digest);
        } else if let Ok(bytes) = fs::read(&path) {
            digest.update(path.file_name().unwrap_or_default().as_encoded_bytes());
            digest.update(&bytes);
        }
    }
}
