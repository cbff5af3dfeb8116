//! What a running digest was built from: by the ledger, or by the labels on the image.

use std::collections::BTreeMap;

use super::known::{Child, Known};
use crate::{Digest, LABEL_REVISION, LABEL_SOURCE, LABEL_VERSION, Ledger, Record};

/// Packages that REANA's components share begin so.
const SHARED: &str = "reana-";

/// What an image was built from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trace {
    /// What tells it.
    pub source: TraceSource,
    /// The commit.
    pub commit: Option<String>,
    /// The tag that it was built for.
    pub version: Option<String>,
    /// Where the sources are.
    pub repository: Option<String>,
    /// The digest over all inputs.
    pub inputs: Option<Digest>,
    /// The pins of REANA's shared packages: `reana-db==0.7.0`.
    pub shared: Vec<String>,
}

/// What tells what an image was built from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TraceSource {
    /// The ledger.
    Ledger,
    /// The labels on the image.
    Labels,
}

impl TraceSource {
    /// The word for it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Ledger => "ledger",
            Self::Labels => "labels",
        }
    }
}

impl Trace {
    fn of(source: TraceSource, record: Record) -> Self {
        let shared = record.packages.into_iter().filter(|pin| pin.to_lowercase().starts_with(SHARED));
        Self {
            source,
            commit: record.commit,
            version: None,
            repository: None,
            inputs: Some(record.inputs),
            shared: shared.collect(),
        }
    }
}

/// What the ledger says of a digest, of an index, a manifest or a config.
#[must_use]
pub fn from_ledger(ledger: &Ledger, digest: &Digest) -> Option<Trace> {
    let (name, entry) = ledger.entries.iter().find(|(_, entry)| {
        entry.digest == *digest || entry.children.contains(digest) || entry.configs.contains(digest)
    })?;
    let version = name.rsplit_once(':').map(|(_, tag)| tag.to_owned());
    Some(Trace { version, ..Trace::of(TraceSource::Ledger, entry.record.clone()) })
}

/// What an image's labels say; nothing where they say neither commit nor inputs. Labels of another scheme, or damaged
/// ones, still tell the commit.
#[must_use]
pub fn from_labels(labels: &BTreeMap<String, String>) -> Option<Trace> {
    let text = |name: &str| labels.get(name).cloned().filter(|text| !text.is_empty());
    let (version, repository) = (text(LABEL_VERSION), text(LABEL_SOURCE));
    if let Ok(record) = Record::from_labels(labels) {
        return Some(Trace { version, repository, ..Trace::of(TraceSource::Labels, record) });
    }
    let commit = Some(text(LABEL_REVISION)?);
    Some(Trace { source: TraceSource::Labels, commit, version, repository, inputs: None, shared: Vec::new() })
}

/// Takes in which digests belong together by the ledger.
pub fn learn_ledger(known: &mut Known, ledger: &Ledger) {
    for entry in ledger.entries.values() {
        let is_index = entry.children.iter().any(|child| *child != entry.digest);
        let mut manifests = entry.children.iter().chain((!is_index).then_some(&entry.digest));
        // Which config is whose is only told where there is one of each.
        if let (Some(manifest), None, 1) = (manifests.next(), manifests.next(), entry.configs.len()) {
            known.add_manifest(manifest.clone(), entry.configs.first().cloned());
        }
        // A registry's word, which has platforms, goes before.
        if is_index && known.children(&entry.digest).is_none() {
            let child = |digest: &Digest| Child { digest: digest.clone(), platform: None };
            known.add_index(entry.digest.clone(), entry.children.iter().map(child).collect());
        }
    }
}
