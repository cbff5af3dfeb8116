//! The recorded indexes: small, whole, and true to their own hashes.

use super::{Finding, Tree, check, holds};
use crate::project::root;
use reana_model::Sha256;

/// The most that the recorded index may weigh, in bytes.
const MOST_BYTES: u64 = 15 * 1024 * 1024;

const INDEX: &str = "fixtures/index/";
const INCIDENT: &str = "fixtures/incident/";

fn size(tree: &Tree) -> Vec<Finding> {
    let is_recorded = |path: &str| path.starts_with(INDEX) || path.starts_with(INCIDENT);
    let bytes: u64 = tree.files.iter().filter(|file| is_recorded(&file.path)).map(|file| file.size).sum();
    let what = format!("{bytes} bytes, more than {MOST_BYTES}: every clone carries it; record less");
    let finding = Finding { path: INDEX.to_owned(), line: 0, what };
    (bytes > MOST_BYTES).then_some(finding).into_iter().collect()
}

/// Links that leave the recorded index, and side files that are missing or not as announced.
fn pages(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for page in &tree.files {
        let place =
            [INDEX, INCIDENT].into_iter().find(|place| page.path.starts_with(&format!("{place}simple/")));
        let Some(place) = place.filter(|_| page.path.ends_with(".json")) else { continue };
        let json: serde_json::Value = serde_json::from_str(&page.text).unwrap_or_default();
        let Some(files) = json["files"].as_array() else {
            findings.push(page.finding(0, "is no page of an index (PEP 691)"));
            continue;
        };
        for file in files {
            let name = file["filename"].as_str().unwrap_or_default();
            if file["url"] != format!("../../files/{name}") {
                findings
                    .push(page.finding(0, format!("{name}: links must be relative: the index is a folder")));
            }
            let announced = &file["core-metadata"]["sha256"];
            let beside = tree.text(&format!("{place}files/{name}.metadata"));
            let found = beside.map(|text| serde_json::Value::from(Sha256::of(text.as_bytes()).to_string()));
            if found.unwrap_or_default() != *announced {
                findings
                    .push(page.finding(0, format!("{name}: its METADATA is not as announced: record again")));
            }
        }
    }
    findings
}

#[test]
fn the_recorded_index_is_small() {
    holds(size);
}

#[test]
fn the_recorded_index_is_whole() {
    holds(pages);
}

#[test]
fn recorded_archives_have_their_hashes() {
    let files = root().join(INDEX).join("files");
    let tree = Tree::of_project();
    let mut checked = 0;
    for page in tree.files.iter().filter(|file| file.path.starts_with("fixtures/index/simple/harbour-")) {
        let json: serde_json::Value = serde_json::from_str(&page.text).expect("a page");
        for file in json["files"].as_array().expect("files") {
            let name = file["filename"].as_str().expect("a name");
            let bytes = std::fs::read(files.join(name)).expect("the archive is recorded too");
            assert_eq!(file["hashes"]["sha256"], Sha256::of(&bytes).to_string(), "{name}");
            checked += 1;
        }
    }
    assert!(checked > 0, "the shared packages' releases are recorded");
}

#[test]
fn the_rules_find_bad_samples() {
    let big = Tree {
        files: vec![super::File { path: format!("{INDEX}x"), text: String::new(), size: MOST_BYTES + 1 }],
    };
    assert_eq!(size(&big).len(), 1);
    let metadata = "Name: a\n";
    let page = |url: &str, hash: &str| {
        format!(r#"{{"files":[{{"filename":"a.whl","url":"{url}","core-metadata":{{"sha256":"{hash}"}}}}]}}"#)
    };
    let hash = Sha256::of(metadata.as_bytes()).to_string();
    let path = "fixtures/index/simple/a/index.json";
    let beside = ("fixtures/index/files/a.whl.metadata", metadata);
    check(pages, &[(path, &page("../../files/a.whl", &hash)), beside], &[]);
    check(pages, &[(path, &page("https://index.test/a.whl", &hash)), beside], &[path]);
    check(pages, &[(path, &page("../../files/a.whl", "0")), beside], &[path]);
    check(pages, &[(path, &page("../../files/a.whl", &hash))], &[path]);
    check(pages, &[(path, "<html>")], &[path]);
    let path = "fixtures/incident/simple/a/index.json";
    check(pages, &[(path, &page("../../files/a.whl", &hash)), beside], &[path]);
}
