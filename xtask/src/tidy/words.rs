//! Rules about the text of all files.

use super::{Finding, Tree, check, holds};
use crate::project::default_index;

/// Where the one default address of an index stands.
const SETTINGS: &str = "crates/cli/src/settings.rs";

/// Folders of the machine that something was written on, in two halves (this file is looked at, too).
const FOLDERS: [(&str, &str); 3] = [("/ro", "ot/"), ("/wo", "rk/main"), ("/wo", "rk/shared")];

/// Other hosts of registries, besides the default index's own, in two halves.
const HOSTS: [(&str, &str); 3] = [("pythonhosted", ".org"), ("test.pypi", ".org"), ("static.crates", ".io")];

/// Marks of something unfinished, in two halves.
const UNFINISHED: [(&str, &str); 3] = [("TO", "DO"), ("FIX", "ME"), ("XX", "X")];

/// Finds lines with one of these; files that were taken from elsewhere as facts are left out.
fn lines_with(tree: &Tree, needles: &[String], skip: &str, why: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.files.iter().filter(|file| file.path != skip && file.path != "Cargo.lock") {
        for (at, line) in file.text.lines().enumerate() {
            if let Some(needle) = needles.iter().find(|needle| line.contains(needle.as_str())) {
                findings.push(file.finding(at + 1, format!("`{needle}`: {why}")));
            }
        }
    }
    findings
}

fn joined(halves: &[(&str, &str)]) -> Vec<String> {
    halves.iter().map(|(head, tail)| format!("{head}{tail}")).collect()
}

fn folders(tree: &Tree) -> Vec<Finding> {
    lines_with(tree, &joined(&FOLDERS), "", "a path of one machine says nothing on another")
}

fn unfinished(tree: &Tree) -> Vec<Finding> {
    lines_with(
        tree,
        &joined(&UNFINISHED),
        "",
        "what is committed is finished; what is wished for is an issue",
    )
}

fn hosts(tree: &Tree) -> Vec<Finding> {
    let mut needles = joined(&HOSTS);
    needles.extend(default_index().ok().and_then(|address| host(&address)));
    let why = format!("no registry is named but the default index in {SETTINGS}: tests go to loopback");
    lines_with(tree, &needles, SETTINGS, &why)
}

fn host(address: &str) -> Option<String> {
    let (_, rest) = address.split_once("://")?;
    rest.split(['/', ':']).next().map(str::to_owned)
}

#[test]
fn no_folder_of_a_machine_is_named() {
    holds(folders);
}

#[test]
fn nothing_is_unfinished() {
    holds(unfinished);
}

#[test]
fn no_registry_is_named() {
    holds(hosts);
}

#[test]
fn the_rules_find_bad_samples() {
    let [folder, ..] = &joined(&FOLDERS)[..] else { panic!("folders") };
    check(folders, &[("README.md", &format!("fine\n{folder}x"))], &["README.md:2"]);
    let [mark, ..] = &joined(&UNFINISHED)[..] else { panic!("marks") };
    check(unfinished, &[("a.rs", &format!("// {mark}: more")), ("b.rs", "// done")], &["a.rs:1"]);
    let [files, ..] = &joined(&HOSTS)[..] else { panic!("hosts") };
    check(hosts, &[("a.toml", &format!("https://files.{files}/x")), (SETTINGS, files)], &["a.toml:1"]);
    assert_eq!(host("https://index.test/simple").as_deref(), Some("index.test"));
}
