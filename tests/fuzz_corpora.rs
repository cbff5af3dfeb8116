//! What the fuzzers keep (`fuzz/corpus/`) is fed once in every test run: nothing may panic.
#![expect(clippy::disallowed_methods, reason = "tests read files")]

#[expect(unreachable_pub, reason = "elsewhere this file is a crate of its own")]
#[path = "../fuzz/src/lib.rs"]
mod feeds;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

/// The fewest inputs that a corpus has; one that was lost would prove nothing.
const FEWEST: usize = 8;

#[test]
fn every_input_of_every_corpus() {
    let corpora = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus");
    let mut broken = Vec::new();
    for (target, feed) in feeds::FEEDS {
        let folder = corpora.join(target);
        let entries =
            std::fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
        let mut inputs = 0;
        for entry in entries {
            let path = entry.expect("a file").path();
            let bytes = std::fs::read(&path).expect("its bytes");
            inputs += 1;
            if catch_unwind(AssertUnwindSafe(|| feed(&bytes))).is_err() {
                broken.push(path.display().to_string());
            }
        }
        assert!(inputs >= FEWEST, "{target}: {inputs} inputs");
    }
    assert!(broken.is_empty(), "these panic:\n{}", broken.join("\n"));
}

#[test]
fn every_target_has_its_file() {
    let targets = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/fuzz_targets");
    let mut files: Vec<String> = std::fs::read_dir(targets)
        .expect("the targets")
        .map(|entry| entry.expect("a file").file_name().to_string_lossy().into_owned())
        .collect();
    files.sort();
    let mut expected: Vec<String> = feeds::FEEDS.iter().map(|(name, _)| format!("{name}.rs")).collect();
    expected.sort();
    assert_eq!(files, expected);
}
