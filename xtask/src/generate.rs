//! `cargo xtask generate`: the pages in docs/ that follow from the command's own definitions.
//!
//! The command writes them itself (`reana-lock generate FOLDER`, hidden from its help); this compares or copies.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::project::{build, root, run};

/// Pages of docs/ that people write.
const BY_HAND: [&str; 1] = ["inputs-digest.md"];

/// Writes docs/, or with `check` fails where it differs from what the command would write now.
pub(crate) fn generate(check: bool) -> Result<()> {
    let fresh = tempfile::tempdir()?;
    run(Command::new(build()?).arg("generate").arg(fresh.path()))?;
    let (fresh, docs) = (contents(fresh.path())?, root().join("docs"));
    let mut old = contents(&docs)?;
    old.retain(|name, _| !BY_HAND.contains(&name.as_str()));
    ensure!(!fresh.is_empty(), "`reana-lock generate` wrote nothing");
    if check {
        let stale = differences(&old, &fresh);
        ensure!(
            stale.is_empty(),
            "run `cargo xtask generate`: not up to date in docs/: {}",
            stale.join(", ")
        );
        return Ok(());
    }
    for left_over in old.keys().filter(|name| !fresh.contains_key(*name)) {
        std::fs::remove_file(docs.join(left_over))?;
    }
    for (name, bytes) in fresh {
        let path = docs.join(name);
        std::fs::create_dir_all(path.parent().unwrap_or(&docs))?;
        std::fs::write(&path, bytes).with_context(|| format!("failed to write {}", path.display()))?;
    }
    Ok(())
}

/// The files below a folder by their paths in it; none where the folder isn't there.
fn contents(folder: &Path) -> Result<BTreeMap<String, Vec<u8>>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(next) = folders.pop() {
        if !next.is_dir() {
            continue;
        }
        for entry in std::fs::read_dir(&next)? {
            let path = entry?.path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let name = path.strip_prefix(folder)?.to_string_lossy().replace('\\', "/");
                found.insert(name, std::fs::read(&path)?);
            }
        }
    }
    Ok(found)
}

/// What is missing, left over or different. All else in docs/ is generated, so a page too many is an error too.
fn differences(old: &BTreeMap<String, Vec<u8>>, new: &BTreeMap<String, Vec<u8>>) -> Vec<String> {
    let names: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
    names.into_iter().filter(|name| old.get(*name) != new.get(*name)).cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(old: &[(&str, &str)], new: &[(&str, &str)], expected: &[&str]) {
        let folder = |files: &[(&str, &str)]| {
            files.iter().map(|(name, text)| ((*name).to_owned(), text.as_bytes().to_vec())).collect()
        };
        assert_eq!(differences(&folder(old), &folder(new)), expected);
    }

    #[test]
    fn pages_that_changed_are_named() {
        check(&[("a", "1"), ("b", "1")], &[("a", "1"), ("b", "2")], &["b"]);
        check(&[("old", "1")], &[("new", "1")], &["new", "old"]);
        check(&[("a", "1")], &[("a", "1")], &[]);
    }

    #[test]
    fn files_of_subfolders_count() {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::create_dir(folder.path().join("man")).expect("a subfolder");
        std::fs::write(folder.path().join("man/x.1"), "x").expect("a file");
        let found = contents(folder.path()).expect("a listing");
        assert_eq!(found.keys().collect::<Vec<_>>(), ["man/x.1"]);
        assert!(contents(&folder.path().join("none")).expect("no listing").is_empty());
    }
}
