//! From a solution to the pins of a lock: reasons as annotations say them, and the hashes.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use reana_index::Client;
use reana_model::requirement::Direct;
use reana_model::{DistFile, Origin, PackageName, Pin, PinSource, Sha256, Via};
use reana_resolver::{MergedPin, RequiredBy};

use super::catalog::{self, RunCatalog};
use crate::args::Hashes;
use crate::error::Failure;

/// What annotations call the places that requirements come from.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sources {
    files: BTreeMap<Arc<str>, Via>,
    lines: BTreeMap<Origin, BTreeSet<Via>>,
}

impl Sources {
    /// Names a file, by its name in origins.
    pub(crate) fn insert(&mut self, file: Arc<str>, via: Via) {
        self.files.insert(file, via);
    }

    /// Names a file, unless it has a name.
    pub(crate) fn insert_if_new(&mut self, file: Arc<str>, via: Via) {
        self.files.entry(file).or_insert(via);
    }

    /// Names a line of a file otherwise than the file: a group's, one name for each that has it.
    pub(crate) fn insert_line(&mut self, line: Origin, via: Via) {
        self.lines.entry(line).or_default().insert(via);
    }

    /// What a place is called; nothing, where annotations don't tell of it.
    pub(crate) fn of(&self, origin: &Origin) -> Vec<Via> {
        match self.lines.get(origin) {
            Some(named) => named.iter().cloned().collect(),
            None => self.files.get(&origin.file).cloned().into_iter().collect(),
        }
    }
}

/// The only files that requirements files allow of some packages (`--hash`).
pub(crate) type Allowed = BTreeMap<PackageName, BTreeSet<Sha256>>;

/// Turns the pins of a solution into those of a lock. Hashes that the index doesn't give are computed.
pub(crate) fn pins_of(
    merged: &[MergedPin],
    sources: &Sources,
    hashes: Hashes,
    allowed: &Allowed,
    catalog: &RunCatalog,
) -> Result<Vec<Pin>, Failure> {
    let client = catalog.client();
    for pin in merged.iter().filter(|_| hashes != Hashes::None) {
        files_of(pin, hashes).iter().for_each(|file| client.expect_sha256(&pin.name, file));
    }
    let mut pins = Vec::new();
    for merged in merged {
        let mut pin = pin_of(merged, sources, hashes, catalog)?;
        if let Some(allowed) = allowed.get(&pin.name).filter(|_| hashes != Hashes::None) {
            pin.hashes.retain(|hash| allowed.contains(hash));
            if pin.hashes.is_empty() {
                let what = format!(
                    "no file of {} {} has a hash that a `--hash` of the manifest allows",
                    pin.name, pin.version
                );
                return Err(Failure::no_solution(what)
                    .hint("pin the version that the hashes are of, or take them out"));
            }
        }
        pins.push(pin);
    }
    Ok(pins)
}

fn pin_of(
    merged: &MergedPin,
    sources: &Sources,
    hashes: Hashes,
    catalog: &RunCatalog,
) -> Result<Pin, Failure> {
    let repository = merged.direct.as_ref().and_then(|choice| repository(merged, &choice.direct, catalog));
    let named = || match (&merged.direct, &merged.arbitrary) {
        (Some(choice), _) if choice.direct.editable => {
            PinSource::Verbatim(format!("-e {}", choice.direct.given))
        }
        (Some(choice), _) if choice.direct.unnamed && !choice.direct.given.contains("://") => {
            PinSource::Verbatim(choice.direct.given.clone())
        }
        (Some(choice), _) => PinSource::Url(choice.direct.url.clone()),
        (None, Some(text)) => PinSource::Arbitrary(text.clone()),
        (None, None) => PinSource::Index,
    };
    let source = repository.unwrap_or_else(named);
    let via = merged.wanted_by.iter().flat_map(|reason| match &reason.by {
        RequiredBy::Root(origin) | RequiredBy::Constraint(origin) => sources.of(origin),
        RequiredBy::Package(name, _) if *name == merged.name => Vec::new(),
        RequiredBy::Package(name, _) => vec![Via::Package(name.clone())],
    });
    Ok(Pin {
        name: merged.name.clone(),
        extras: merged.extras.clone(),
        version: merged.version.clone(),
        source,
        marker: merged.marker.clone(),
        hashes: hashes_of(merged, hashes, catalog.client())?,
        via: via.collect(),
    })
}

/// The commit of a repository. One that is installed in place keeps its name in the address, for its line has no other.
fn repository(merged: &MergedPin, direct: &Direct, catalog: &RunCatalog) -> Option<PinSource> {
    let (address, commit) = catalog.pinned(&direct.url)?;
    let url = address.at(&commit);
    if !direct.editable {
        return Some(PinSource::Url(url));
    }
    let (place, fragment) = url.split_once('#').unwrap_or((url.as_str(), ""));
    let extras: Vec<String> = merged.extras.iter().map(ToString::to_string).collect();
    let extras = if extras.is_empty() { String::new() } else { format!("[{}]", extras.join(",")) };
    let rest = if fragment.is_empty() { String::new() } else { format!("&{fragment}") };
    Some(PinSource::Verbatim(format!("-e {place}#egg={}{extras}{rest}", merged.name)))
}

/// Refuses repositories where all pins have hashes: pip would refuse the lock.
pub(crate) fn refuse_repository(by: &str, name: &PackageName, direct: &Direct) -> Option<Failure> {
    if !catalog::is_repository(&direct.url) {
        return None;
    }
    let given = reana_lockfile::without_credentials(&direct.given);
    Some(
        Failure::input(format!(
            "{by}: `{given}` is a repository, which no hash can be of: pip installs none with `--require-hashes`"
        ))
        .hint("lock without hashes (`--no-generate-hashes`), or as a pylock, whose commit is a hash (`--output-format pylock`)")
        .hint(format!("or release {name}, or name an archive: `{name} @ https://…/archive.tar.gz`")),
    )
}

fn hashes_of(merged: &MergedPin, hashes: Hashes, client: &Client) -> Result<BTreeSet<Sha256>, Failure> {
    if let Some(choice) = &merged.direct {
        return Ok(if hashes == Hashes::None {
            BTreeSet::new()
        } else {
            choice.sha256.into_iter().collect()
        });
    }
    let hash = |file: &Arc<DistFile>| match file.sha256 {
        Some(hash) => Ok(hash),
        None => client.sha256(&merged.name, file).map_err(|error| Failure::from_index(&error)),
    };
    files_of(merged, hashes).iter().map(hash).collect()
}

/// The files whose hashes are written.
fn files_of(merged: &MergedPin, hashes: Hashes) -> &[Arc<DistFile>] {
    match hashes {
        Hashes::All => &merged.files,
        Hashes::Target => &merged.target_files,
        Hashes::None => &[],
    }
}
