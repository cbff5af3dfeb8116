//! The ledger, `reana-images.toml`: which inputs and which images each tag stands for. One table for each, sorted by
//! name, so that two branches that record different images rarely clash.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::str::FromStr;

use serde::Deserialize;

use crate::{Digest, Record, Reference, SCHEME};

/// The file's name; it stands beside reana-lock.toml.
pub const LEDGER_FILE: &str = "reana-images.toml";

const HEAD: &str = "# Which inputs and which images each tag stands for. `reana-lock record` writes it.\n";

/// What one tag stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// What the tag led to: an index or an image.
    pub digest: Digest,
    /// The images of the index.
    pub children: BTreeSet<Digest>,
    /// The configurations of the images.
    pub configs: BTreeSet<Digest>,
    /// The scheme of the inputs digest: one that isn't [`SCHEME`] can't be compared.
    pub scheme: u32,
    /// What it was built from.
    pub record: Record,
}

/// The ledger.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ledger {
    /// By the image's whole name and tag, `docker.io/reanahub/reana-server:0.95.0`.
    pub entries: BTreeMap<String, Entry>,
}

/// What is wrong with a ledger's text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct LedgerError {
    /// The line, from 1.
    pub line: u32,
    /// Why it can't be used.
    pub reason: String,
}

#[derive(Deserialize)]
#[serde(transparent)]
struct Text<T: FromStr>(#[serde(deserialize_with = "from_text")] T)
where
    T::Err: std::fmt::Display;

fn from_text<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: serde::Deserializer<'de>,
    T: FromStr,
    T::Err: std::fmt::Display,
{
    let text = String::deserialize(deserializer)?;
    text.parse().map_err(serde::de::Error::custom)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table of what an image's tag stands for")]
struct RawEntry {
    digest: Text<Digest>,
    children: Vec<Text<Digest>>,
    configs: Vec<Text<Digest>>,
    scheme: u32,
    inputs: Text<Digest>,
    parts: BTreeMap<String, String>,
    #[serde(default)]
    commit: Option<String>,
    bases: BTreeSet<String>,
    packages: BTreeSet<String>,
}

/// The name of an image's table: with its registry, and without a digest.
#[must_use]
pub fn ledger_name(image: &Reference) -> String {
    let tag: String = image.tag.iter().map(|tag| format!(":{tag}")).collect();
    format!("{}/{}{tag}", image.registry, image.repository)
}

impl Ledger {
    /// Understands a ledger's text.
    ///
    /// # Errors
    /// It is no TOML, an entry lacks something, or says it in a way that is not known.
    pub fn parse(text: &str) -> Result<Self, LedgerError> {
        let raw: BTreeMap<String, RawEntry> = toml::from_str(text).map_err(|error| {
            let byte = error.span().map_or(0, |span| span.start);
            let before = text.bytes().take(byte).filter(|byte| *byte == b'\n').count();
            let line = u32::try_from(before + 1).unwrap_or(u32::MAX);
            LedgerError { line, reason: error.message().lines().next().unwrap_or_default().to_owned() }
        })?;
        let mut entries = BTreeMap::new();
        for (name, raw) in raw {
            let known = name.parse::<Reference>().ok().filter(|it| it.tag.is_some() && it.digest.is_none());
            if known.as_ref().map(ledger_name).as_deref() != Some(name.as_str()) {
                let line = text.lines().position(|line| line.contains(&name)).map_or(1, |at| at + 1);
                let line = u32::try_from(line).unwrap_or(u32::MAX);
                let reason = format!("`{name}` is not the whole name of an image with its tag");
                return Err(LedgerError { line, reason });
            }
            let digests = |list: Vec<Text<Digest>>| list.into_iter().map(|text| text.0).collect();
            let record = Record {
                inputs: raw.inputs.0,
                parts: raw.parts,
                bases: raw.bases,
                packages: raw.packages,
                commit: raw.commit,
            };
            let entry = Entry {
                digest: raw.digest.0,
                children: digests(raw.children),
                configs: digests(raw.configs),
                scheme: raw.scheme,
                record,
            };
            entries.insert(name, entry);
        }
        Ok(Self { entries })
    }

    /// What a tag stands for, if it was recorded.
    #[must_use]
    pub fn get(&self, image: &Reference) -> Option<&Entry> {
        self.entries.get(&ledger_name(image))
    }

    /// Records what a tag stands for, instead of what was recorded for it.
    pub fn set(&mut self, image: &Reference, entry: Entry) {
        self.entries.insert(ledger_name(image), entry);
    }

    /// The file's text: the same for the same entries.
    #[must_use]
    pub fn render(&self) -> String {
        let mut text = HEAD.to_owned();
        for (name, entry) in &self.entries {
            entry.render(name, &mut text);
        }
        text
    }
}

impl Entry {
    /// What was pushed, and built from what. Its scheme is the present one.
    #[must_use]
    pub fn new(
        digest: Digest,
        children: impl IntoIterator<Item = Digest>,
        configs: impl IntoIterator<Item = Digest>,
        record: Record,
    ) -> Self {
        let (children, configs) = (children.into_iter().collect(), configs.into_iter().collect());
        Self { digest, children, configs, scheme: SCHEME, record }
    }

    fn render(&self, name: &str, text: &mut String) {
        let Self { digest, children, configs, scheme, record } = self;
        let digests = |set: &BTreeSet<Digest>| set.iter().map(ToString::to_string).collect::<Vec<_>>();
        let parts = record.parts.iter().map(|(kind, part)| format!("{} = {}", quoted(kind), quoted(part)));
        let parts = parts.collect::<Vec<_>>().join(", ");
        let _infallible = write!(text, "\n[{}]\ndigest = {}\n", quoted(name), quoted(digest.as_str()));
        list(text, "children", digests(children));
        list(text, "configs", digests(configs));
        let _infallible = write!(text, "scheme = {scheme}\ninputs = {}\n", quoted(record.inputs.as_str()));
        let _infallible = writeln!(text, "parts = {{ {parts} }}");
        if let Some(commit) = &record.commit {
            let _infallible = writeln!(text, "commit = {}", quoted(commit));
        }
        list(text, "bases", record.bases.iter().cloned());
        // The last: a file that ends before it is known to be cut off.
        list(text, "packages", record.packages.iter().cloned());
    }
}

fn list(text: &mut String, key: &str, words: impl IntoIterator<Item = String>) {
    let words: Vec<String> = words.into_iter().map(|word| format!("    {},\n", quoted(&word))).collect();
    let lines = if words.is_empty() { String::new() } else { format!("\n{}", words.concat()) };
    let _infallible = writeln!(text, "{key} = [{lines}]");
}

/// A basic string, which is good for a key, too.
fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            c if c.is_control() => {
                let _infallible = write!(quoted, "\\u{:04x}", u32::from(c));
            }
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use proptest::prelude::*;

    use super::*;

    fn sample(packages: &[&str]) -> Entry {
        let record = Record {
            inputs: Digest::of(b"inputs"),
            parts: [("file".to_owned(), "0123456789ab".to_owned())].into(),
            bases: [format!("python:3.12@{}", Digest::of(b"base"))].into(),
            packages: packages.iter().map(|&name| name.to_owned()).collect(),
            commit: Some("b702986".to_owned()),
        };
        Entry::new(Digest::of(b"index"), [Digest::of(b"child")], [Digest::of(b"config")], record)
    }

    #[test]
    fn as_it_is_written() {
        let mut ledger = Ledger::default();
        ledger.set(&"reanahub/reana-server:0.95.0".parse().expect("a name"), sample(&["b==2", "a==1"]));
        ledger.set(&"localhost:5000/a:1".parse().expect("a name"), sample(&[]));
        let text = ledger.render();
        assert_eq!(Ledger::parse(&text).as_ref(), Ok(&ledger));
        expect![[r##"
            # Which inputs and which images each tag stands for. `reana-lock record` writes it.

            ["docker.io/reanahub/reana-server:0.95.0"]
            digest = "sha256:1bc04b5291c26a46d918139138b992d2de976d6851d0893b0476b85bfbdfc6e6"
            children = [
                "sha256:ddc9e669194254cef019a29d3619a2c16592e5d52e1a81e98b01bd52319149a3",
            ]
            configs = [
                "sha256:b79606fb3afea5bd1609ed40b622142f1c98125abcfe89a76a661b0e8e343910",
            ]
            scheme = 1
            inputs = "sha256:32381523e63197c929b67f793a8098bed0ae3a6fa902634fdbcc6fa4567f3346"
            parts = { "file" = "0123456789ab" }
            commit = "b702986"
            bases = [
                "python:3.12@sha256:cae662172fd450bb0cd710a769079c05bfc5d8e35efa6576edc7d0377afdd4a2",
            ]
            packages = [
                "a==1",
                "b==2",
            ]

            ["localhost:5000/a:1"]
            digest = "sha256:1bc04b5291c26a46d918139138b992d2de976d6851d0893b0476b85bfbdfc6e6"
            children = [
                "sha256:ddc9e669194254cef019a29d3619a2c16592e5d52e1a81e98b01bd52319149a3",
            ]
            configs = [
                "sha256:b79606fb3afea5bd1609ed40b622142f1c98125abcfe89a76a661b0e8e343910",
            ]
            scheme = 1
            inputs = "sha256:32381523e63197c929b67f793a8098bed0ae3a6fa902634fdbcc6fa4567f3346"
            parts = { "file" = "0123456789ab" }
            commit = "b702986"
            bases = [
                "python:3.12@sha256:cae662172fd450bb0cd710a769079c05bfc5d8e35efa6576edc7d0377afdd4a2",
            ]
            packages = []
        "##]]
        .assert_eq(&text);
    }

    fn check_refused(text: &str, expected: &Expect) {
        let error = Ledger::parse(text).expect_err("no ledger");
        expected.assert_eq(&format!("{}: {error}", error.line));
    }

    #[test]
    fn damaged_ledgers_are_refused() {
        let mut ledger = Ledger::default();
        ledger.set(&"reanahub/reana-server:0.95.0".parse().expect("a name"), sample(&["a==1"]));
        let text = ledger.render();
        let short = text.replace("docker.io/reanahub/reana-server:0.95.0", "reana-server");
        check_refused(&short, &expect!["3: `reana-server` is not the whole name of an image with its tag"]);
        check_refused(
            &text.replace("children", "kids"),
            &expect![
                "5: unknown field `kids`, expected one of `digest`, `children`, `configs`, `scheme`, `inputs`, `parts`, `commit`, `bases`, `packages`"
            ],
        );
        check_refused(
            &text.replace("inputs = \"sha256:", "inputs = \"sha256:x"),
            &expect![
                "12: `sha256:x32381523e63197c929b67f793a8098bed0ae3a6fa902634fdbcc6fa4567f3346` is no digest: `sha256:` and 64 hexadecimal digits are expected"
            ],
        );
        check_refused(&format!("{text}{text}"), &expect!["23: duplicate key"]);
        check_refused(
            "x = 1\n",
            &expect!["1: invalid type: integer `1`, expected a table of what an image's tag stands for"],
        );
        check_refused(&format!("<<<<<<< HEAD\n{text}"), &expect!["1: key with no value, expected `=`"]);
    }

    #[test]
    fn a_ledger_that_was_cut_off_within_an_entry_is_refused() {
        let mut ledger = Ledger::default();
        ledger.set(&"reanahub/reana-server:0.95.0".parse().expect("a name"), sample(&["a==1"]));
        let text = ledger.render();
        let start = text.find('[').expect("a table");
        for end in start + 1..text.len() - 1 {
            assert!(Ledger::parse(&text[..end]).is_err(), "{}", &text[..end]);
        }
    }

    proptest! {
        #[test]
        fn whatever_is_recorded_comes_back(words in proptest::collection::btree_set("\\PC{0,9}", 0..9)) {
            let mut entry = sample(&[]);
            entry.record.packages.clone_from(&words);
            entry.record.parts = words.iter().map(|word| (word.clone(), word.clone())).collect();
            entry.record.bases = words;
            let mut ledger = Ledger::default();
            ledger.set(&"a/b:c".parse().expect("a name"), entry);
            prop_assert_eq!(Ledger::parse(&ledger.render()), Ok(ledger));
        }
    }
}
