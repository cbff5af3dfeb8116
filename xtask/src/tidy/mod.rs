//! The house rules that the compiler and clippy do not know, as one test each.
//!
//! A rule looks at a [`Tree`] and gives its findings, with the reason in each; its own test shows it a bad sample.
//! Functions' lengths are clippy's business (`too_many_lines`, clippy.toml).

mod architecture;
mod fixtures;
mod sources;
mod words;

use std::fmt;

use crate::project::{output, root};

/// The files that are, or would be, committed: path and text. Files that aren't UTF-8 have no text.
struct Tree {
    files: Vec<File>,
}

struct File {
    path: String,
    text: String,
    size: u64,
}

/// One breach of a rule.
#[derive(Debug, PartialEq, Eq)]
struct Finding {
    path: String,
    /// 0 where the whole file is meant.
    line: usize,
    what: String,
}

impl Tree {
    /// What git tracks here, and what it would add.
    fn of_project() -> Self {
        let mut git = std::process::Command::new("git");
        git.current_dir(root()).args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"]);
        let listed = output(&mut git).expect("git lists the project's files");
        let mut paths: Vec<&str> = listed.split('\0').filter(|path| !path.is_empty()).collect();
        paths.sort_unstable();
        paths.dedup();
        // A file that was deleted and is still in git's index is not there to be read.
        let files = paths.into_iter().filter_map(|path| {
            let bytes = std::fs::read(root().join(path)).ok()?;
            let size = bytes.len() as u64;
            Some(File { path: path.to_owned(), text: String::from_utf8(bytes).unwrap_or_default(), size })
        });
        Self { files: files.collect() }
    }

    /// A made-up tree, to show a rule what it must find.
    fn sample(files: &[(&str, &str)]) -> Self {
        let file = |(path, text): &(&str, &str)| File {
            path: (*path).to_owned(),
            text: (*text).to_owned(),
            size: text.len() as u64,
        };
        Self { files: files.iter().map(file).collect() }
    }

    /// Rust files of the project's own; fixtures are somebody else's or bad on purpose.
    fn rust(&self) -> impl Iterator<Item = &File> {
        self.files.iter().filter(|file| file.path.ends_with(".rs") && !file.path.starts_with("fixtures/"))
    }

    fn text(&self, path: &str) -> Option<&str> {
        self.files.iter().find(|file| file.path == path).map(|file| file.text.as_str())
    }
}

impl File {
    fn finding(&self, line: usize, what: impl Into<String>) -> Finding {
        Finding { path: self.path.clone(), line, what: what.into() }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, line, what } = self;
        if *line == 0 { write!(f, "{path}: {what}") } else { write!(f, "{path}:{line}: {what}") }
    }
}

/// Holds the project to a rule.
fn holds(rule: fn(&Tree) -> Vec<Finding>) {
    let tree = Tree::of_project();
    assert!(tree.files.len() > 20, "the project's files were not found");
    let findings: Vec<String> = rule(&tree).iter().map(ToString::to_string).collect();
    assert!(findings.is_empty(), "\n{}\n", findings.join("\n"));
}

/// Shows a rule a sample; expected are `path:line` (or `path`), in order.
fn check(rule: fn(&Tree) -> Vec<Finding>, files: &[(&str, &str)], expected: &[&str]) {
    let place = |finding: &Finding| match finding.line {
        0 => finding.path.clone(),
        line => format!("{}:{line}", finding.path),
    };
    let found: Vec<String> = rule(&Tree::sample(files)).iter().map(place).collect();
    assert_eq!(found, expected);
}
