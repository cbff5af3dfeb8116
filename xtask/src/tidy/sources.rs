//! Rules about single Rust files.

use super::{File, Finding, Tree, check, holds};

/// Longest file, in lines, its tests included.
const MOST_LINES: usize = 600;

/// Names that admit anything, and so get everything.
const EMPTY_NAMES: [&str; 8] = ["common", "helper", "helpers", "misc", "shared", "tools", "util", "utils"];

/// What may not stand in code, and why. Written in two halves, so that this file keeps its own rule.
const BANNED: [(&str, &str, &str); 6] = [
    ("#[allow", "(", "say `#[expect(lint, reason = \"...\")]`: it notices when it is no longer needed"),
    ("#![allow", "(", "say `#![expect(lint, reason = \"...\")]`: it notices when it is no longer needed"),
    ("#[ig", "nore", "a test that is not run proves nothing: skip loudly at run time, or remove it"),
    ("should_", "panic", "check the message or the value: a panic elsewhere passes such a test"),
    ("to", "do!(", "what is committed is finished"),
    ("clippy::too_many", "_lines", "split the function: 80 lines are the most that is read at once"),
];

/// Modules that may touch the outside: the paths under which the lint against it may be lifted.
const DOORS: [&str; 8] = [
    "crates/cli/src/doors/",
    "crates/cli/src/main.rs",
    "crates/index/build.rs",
    "crates/index/src/",
    "crates/registry/src/",
    "crates/testkit/",
    "tests/",
    "xtask/src/main.rs",
];

/// Parts of these that are pure all the same.
const NO_DOORS: [&str; 1] = ["crates/index/src/wire"];

fn length(tree: &Tree) -> Vec<Finding> {
    let long = tree.rust().filter(|file| file.text.lines().count() > MOST_LINES);
    long.map(|file| {
        file.finding(
            0,
            format!("more than {MOST_LINES} lines: split it by what it knows; big tests go to tests/"),
        )
    })
    .collect()
}

fn module_docs(tree: &Tree) -> Vec<Finding> {
    // `tests.rs` and `x_tests.rs` say by their names what they are, and of what by their places.
    let bare = tree.rust().filter(|file| !file.path.ends_with("tests.rs"));
    let bare = bare.filter(|file| !file.text.trim_start().starts_with("//!"));
    bare.map(|file| file.finding(1, "start with `//!`: what is in here, for whoever opens it first"))
        .collect()
}

fn names(tree: &Tree) -> Vec<Finding> {
    let named = |file: &&File| {
        file.path.split('/').any(|part| EMPTY_NAMES.contains(&part.strip_suffix(".rs").unwrap_or(part)))
    };
    let named = tree.rust().filter(named);
    named
        .map(|file| file.finding(0, "name the module after what it holds: this name admits anything"))
        .collect()
}

fn banned(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.rust() {
        for (at, line) in file.text.lines().enumerate() {
            for (head, tail, why) in BANNED {
                if line.contains(&format!("{head}{tail}")) {
                    findings.push(file.finding(at + 1, format!("no `{head}{tail}`: {why}")));
                }
            }
        }
    }
    findings
}

fn doors(tree: &Tree) -> Vec<Finding> {
    let under = |file: &File, places: &[&str]| places.iter().any(|place| file.path.starts_with(place));
    let mut findings = Vec::new();
    for file in tree.rust() {
        if under(file, &DOORS) && !under(file, &NO_DOORS) {
            continue;
        }
        let rule = ["clippy::disallowed", "_methods"].concat();
        // Tests and examples may open files: they are no part of what must stay pure.
        let outside = ["/tests/", "/examples/"].iter().any(|folder| file.path.contains(folder));
        let is_test = outside || file.path.ends_with("tests.rs");
        for (at, line) in file.text.lines().enumerate() {
            if line.contains(&rule) && !is_test && !in_test_module(&file.text, at) {
                let what = "no door may be opened here: pure code is tested without a disk, clock or network";
                findings.push(file.finding(at + 1, what));
            }
        }
    }
    findings
}

/// Whether a line stands after the file's `#[cfg(test)]`.
fn in_test_module(text: &str, at: usize) -> bool {
    text.lines().take(at).any(|line| line.trim() == "#[cfg(test)]")
}

#[test]
fn no_file_is_too_long() {
    holds(length);
}

#[test]
fn every_file_says_what_it_is() {
    holds(module_docs);
}

#[test]
fn modules_have_names_that_say_something() {
    holds(names);
}

#[test]
fn code_has_nothing_banned() {
    holds(banned);
}

#[test]
fn doors_are_where_they_belong() {
    holds(doors);
}

#[test]
fn the_rules_find_bad_samples() {
    let long = format!("//! Long.\n{}", "\n".repeat(MOST_LINES));
    check(
        length,
        &[("crates/a/src/lib.rs", &long), ("crates/a/src/b.rs", "//! Short.\n")],
        &["crates/a/src/lib.rs"],
    );
    check(module_docs, &[("a.rs", "// no\n"), ("b.rs", "\n//! Yes.\n")], &["a.rs:1"]);
    check(
        names,
        &[("crates/a/src/utils.rs", ""), ("a/helpers/b.rs", ""), ("a/url.rs", "")],
        &["crates/a/src/utils.rs", "a/helpers/b.rs"],
    );
    for (head, tail, _) in BANNED {
        check(banned, &[("a.rs", &format!("//! A.\nx {head}{tail}"))], &["a.rs:2"]);
    }
    let door = ["#![expect(clippy::disallowed", "_methods, reason = \"x\")]"].concat();
    let tested = format!("//! A.\n#[cfg(test)]\nmod tests {{\n{door}\n}}");
    check(
        doors,
        &[
            ("crates/model/src/a.rs", &door),
            ("crates/model/src/b.rs", &tested),
            ("crates/index/src/wire/json.rs", &door),
            ("crates/index/src/cache.rs", &door),
            ("crates/cli/src/doors/disk.rs", &door),
        ],
        &["crates/model/src/a.rs:1", "crates/index/src/wire/json.rs:1"],
    );
}
