//! What is known of one build: its inputs digest, and enough of its inputs to say in words how another one differs.
//! It is put on images as labels and into the ledger. docs/inputs-digest.md has the labels' form.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::{Digest, Inputs, SCHEME};

/// The commit that an image is built from (OCI image specification, annotations).
pub const LABEL_REVISION: &str = "org.opencontainers.image.revision";
/// The version, which is the tag.
pub const LABEL_VERSION: &str = "org.opencontainers.image.version";
/// Where the sources are.
pub const LABEL_SOURCE: &str = "org.opencontainers.image.source";
/// The scheme of the inputs digest.
pub const LABEL_SCHEME: &str = "io.reana.lock.scheme";
/// The inputs digest.
pub const LABEL_INPUTS: &str = "io.reana.lock.inputs";
/// Digests of the kinds of inputs.
pub const LABEL_PARTS: &str = "io.reana.lock.parts";
/// The base images, with commas between.
pub const LABEL_BASES: &str = "io.reana.lock.bases";
/// The packages, one a line, by raw DEFLATE (RFC 1951) and base64 (RFC 4648).
pub const LABEL_PACKAGES: &str = "io.reana.lock.packages";

/// The most that a list of packages may be, in bytes.
const LONGEST_LIST: u64 = 1 << 20;

/// How many digits of the digests of parts are kept: they only say whether something is different.
const PART_DIGITS: usize = 12;

/// What is known of one build.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// The digest of all inputs, by [`SCHEME`].
    pub inputs: Digest,
    /// The first digits of a digest over the inputs of each kind (`file`, `arg`, ...), by kind.
    pub parts: BTreeMap<String, String>,
    /// The base images: name and tag, `@`, digest.
    pub bases: BTreeSet<String>,
    /// What is installed, as a lock pins it, without hashes.
    pub packages: BTreeSet<String>,
    /// The commit, where there is one.
    pub commit: Option<String>,
}

/// Why labels say nothing that can be compared.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LabelError {
    /// There are none of ours.
    #[error("it has no labels of reana-lock")]
    None,
    /// They are of another scheme.
    #[error("its inputs digest is of scheme `{0}`, and this reana-lock knows scheme {SCHEME} alone")]
    Scheme(String),
    /// One is not what it should be.
    #[error("its label {0} can't be understood")]
    Damaged(&'static str),
}

impl Record {
    /// The record of a build that is about to be.
    #[must_use]
    pub fn of(inputs: &Inputs, commit: Option<String>) -> Self {
        let mut kinds: BTreeMap<String, String> = BTreeMap::new();
        for line in inputs.lines() {
            let kind = line.split('\t').next().unwrap_or_default().to_owned();
            let lines = kinds.entry(kind).or_default();
            lines.push_str(&line);
            lines.push('\n');
        }
        let part = |lines: &String| Digest::of(lines.as_bytes()).hex().chars().take(PART_DIGITS).collect();
        let packages = inputs.packages.iter().map(|package| {
            let marker = Some(package.marker.as_str()).filter(|marker| !marker.is_empty());
            let marker: String = marker.map(|marker| format!(" ; {marker}")).into_iter().collect();
            format!("{}{marker}", package.pin)
        });
        Self {
            inputs: inputs.digest(),
            parts: kinds.iter().map(|(kind, lines)| (kind.clone(), part(lines))).collect(),
            bases: inputs.bases.iter().map(|(base, digest)| format!("{base}@{digest}")).collect(),
            packages: packages.collect(),
            commit,
        }
    }

    /// The labels for the image, in their order. `version` is the tag, `source` where the sources are.
    #[must_use]
    pub fn labels(&self, version: &str, source: Option<&str>) -> Vec<(&'static str, String)> {
        let mut labels = Vec::new();
        labels.extend(self.commit.clone().map(|commit| (LABEL_REVISION, commit)));
        labels.push((LABEL_VERSION, version.to_owned()));
        labels.extend(source.map(|source| (LABEL_SOURCE, source.to_owned())));
        labels.push((LABEL_SCHEME, SCHEME.to_string()));
        labels.push((LABEL_INPUTS, self.inputs.to_string()));
        labels.push((LABEL_PARTS, self.parts_text()));
        labels.push((LABEL_BASES, joined(&self.bases, ",")));
        labels.push((LABEL_PACKAGES, packed(&joined(&self.packages, "\n"))));
        labels
    }

    /// What an image's labels say of its build.
    ///
    /// # Errors
    /// Nothing that can be compared.
    pub fn from_labels(labels: &BTreeMap<String, String>) -> Result<Self, LabelError> {
        let scheme = match (labels.get(LABEL_SCHEME), labels.get(LABEL_INPUTS)) {
            (None, None) => return Err(LabelError::None),
            (None, Some(_)) => return Err(LabelError::Damaged(LABEL_SCHEME)),
            (Some(scheme), _) => scheme.trim(),
        };
        if scheme != SCHEME.to_string() {
            return Err(LabelError::Scheme(scheme.chars().filter(|c| !c.is_control()).take(40).collect()));
        }
        let inputs = labels.get(LABEL_INPUTS).and_then(|text| text.parse().ok());
        let packages = labels.get(LABEL_PACKAGES).map_or(Some(String::new()), |text| unpacked(text));
        let packages = packages.ok_or(LabelError::Damaged(LABEL_PACKAGES))?;
        let text = |name| labels.get(name).map(String::as_str).unwrap_or_default();
        let set = |list: &str, separator: char| {
            let words = list.split(separator).map(str::trim).filter(|word| !word.is_empty());
            words.map(str::to_owned).collect::<BTreeSet<_>>()
        };
        let parts = set(text(LABEL_PARTS), ',');
        let parts = parts.iter().filter_map(|part| part.split_once('='));
        Ok(Self {
            inputs: inputs.ok_or(LabelError::Damaged(LABEL_INPUTS))?,
            parts: parts.map(|(kind, digest)| (kind.to_owned(), digest.to_owned())).collect(),
            bases: set(text(LABEL_BASES), ','),
            packages: set(&packages, '\n'),
            commit: labels.get(LABEL_REVISION).cloned().filter(|commit| !commit.is_empty()),
        })
    }

    /// `arg=0123456789ab,file=...`
    #[must_use]
    pub fn parts_text(&self) -> String {
        self.parts.iter().map(|(kind, digest)| format!("{kind}={digest}")).collect::<Vec<_>>().join(",")
    }
}

fn joined(words: &BTreeSet<String>, separator: &str) -> String {
    words.iter().map(String::as_str).collect::<Vec<_>>().join(separator)
}

/// Compresses a list: raw DEFLATE, then base64.
fn packed(text: &str) -> String {
    let level = flate2::Compression::best();
    let mut encoder = flate2::read::DeflateEncoder::new(text.as_bytes(), level);
    let mut bytes = Vec::new();
    // Reading from memory doesn't fail.
    let _infallible = encoder.read_to_end(&mut bytes);
    STANDARD.encode(bytes)
}

fn unpacked(text: &str) -> Option<String> {
    let bytes = STANDARD.decode(text.trim()).ok()?;
    let mut list = String::new();
    let mut decoder = flate2::read::DeflateDecoder::new(bytes.as_slice()).take(LONGEST_LIST + 1);
    let length = decoder.read_to_string(&mut list).ok()?;
    (u64::try_from(length).ok()? <= LONGEST_LIST).then_some(list)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check(labels: &[(&str, &str)], expected: &LabelError) {
        let labels = labels.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        assert_eq!(Record::from_labels(&labels.collect()).as_ref(), Err(expected));
    }

    #[test]
    fn labels_that_say_nothing() {
        let digest = Digest::of(b"").to_string();
        check(&[], &LabelError::None);
        check(&[(LABEL_VERSION, "1.0"), (LABEL_REVISION, "abc")], &LabelError::None);
        check(&[(LABEL_SCHEME, "2")], &LabelError::Scheme("2".to_owned()));
        check(&[(LABEL_SCHEME, "1")], &LabelError::Damaged(LABEL_INPUTS));
        check(&[(LABEL_INPUTS, &digest)], &LabelError::Damaged(LABEL_SCHEME));
        check(&[(LABEL_SCHEME, "1"), (LABEL_INPUTS, "sha256:1")], &LabelError::Damaged(LABEL_INPUTS));
        let bad = [(LABEL_SCHEME, "1"), (LABEL_INPUTS, &digest), (LABEL_PACKAGES, "!")];
        check(&bad, &LabelError::Damaged(LABEL_PACKAGES));
        let bomb = packed(&"x".repeat(2 << 20));
        let bomb = [(LABEL_SCHEME, "1"), (LABEL_INPUTS, &digest), (LABEL_PACKAGES, &bomb)];
        check(&bomb, &LabelError::Damaged(LABEL_PACKAGES));
    }

    proptest! {
        /// Labels say all that the record says.
        #[test]
        fn labels_come_back(names in proptest::collection::btree_set("[a-z]{1,8}==[0-9.]{1,5}( ; x < '1')?", 0..20)) {
            let record = Record {
                inputs: Digest::of(b"x"),
                parts: [("file".to_owned(), "0123".to_owned()), ("package".to_owned(), "4567".to_owned())].into(),
                bases: [format!("python:3.12@{}", Digest::of(b"y"))].into(),
                packages: names,
                commit: Some("abc".to_owned()),
            };
            let labels = record.labels("1.0", Some("https://h.test/r"));
            let labels = labels.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
            prop_assert_eq!(Record::from_labels(&labels), Ok(record));
        }
    }
}
