//! `cargo xtask record`: the recorded index in fixtures/index; with `--incident`, the one in fixtures/incident.
//!
//! It holds what locking the example fleet asks an index for, and no more: the shared packages' releases, built
//! here from fixtures/fleet, and for every public package in reach its newest versions, with the metadata of
//! the wheels that fit the fleet's targets. fixtures/README.md says what is left out.

mod archive;
mod client;
mod closure;
mod declared;
mod incident;
mod page;
mod release;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::{Context, Result};
use jiff::Timestamp;
use reana_model::{PythonVersion, Target};
use serde::Deserialize;

use crate::project::{default_index, root};
use client::Client;
use closure::Wishes;
use declared::Declared;
use page::Page;

/// How it is called.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// The index to record from [default: the one that reana-lock asks by default]
    #[arg(long, value_name = "URL")]
    index_url: Option<String>,
    /// Write fixtures/incident instead: what the two builds of fixtures/incident.json got
    #[arg(long)]
    incident: bool,
}

/// The part of fixtures/fleet/reana-lock.toml that decides what is recorded.
#[derive(Deserialize)]
struct FleetFile {
    shared: Vec<String>,
    targets: Vec<TargetEntry>,
    index: IndexEntry,
    lock: LockEntry,
    component: BTreeMap<String, ComponentEntry>,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct IndexEntry {
    exclude_newer: Timestamp,
}

#[derive(Deserialize)]
struct LockEntry {
    constraints: Vec<String>,
}

#[derive(Deserialize)]
struct ComponentEntry {
    #[serde(default)]
    targets: Vec<TargetEntry>,
}

#[derive(Deserialize)]
struct TargetEntry {
    python: String,
    platform: String,
}

impl FleetFile {
    fn read(folder: &Path) -> Result<Self> {
        let path = folder.join("reana-lock.toml");
        let text = std::fs::read_to_string(&path).with_context(|| path.display().to_string())?;
        toml::from_str(&text).with_context(|| path.display().to_string())
    }

    /// All targets of the fleet, each once.
    fn targets(&self) -> Result<Vec<Target>> {
        let entries =
            self.targets.iter().chain(self.component.values().flat_map(|component| &component.targets));
        let mut targets = BTreeSet::new();
        for entry in entries {
            let python: PythonVersion = entry.python.parse()?;
            targets.insert(Target { python, platform: entry.platform.parse()? });
        }
        Ok(targets.into_iter().collect())
    }

    /// What the fleet itself asks for: its manifests' requirements, with all extras, and its constraints, whose
    /// versions a lock falls back to.
    fn wishes(&self, folder: &Path, manifests: &[Declared]) -> Result<Vec<Wishes>> {
        let mut wishes: Vec<Wishes> = manifests.iter().map(Wishes::of).collect();
        for file in &self.lock.constraints {
            let text = std::fs::read_to_string(folder.join(file)).with_context(|| file.clone())?;
            let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
            wishes.push(Wishes { requirements: lines.map(str::to_owned).collect(), extras: Vec::new() });
        }
        Ok(wishes)
    }
}

/// Writes fixtures/index, or fixtures/incident, anew. Nothing is touched before all answers are there.
pub(crate) fn record(options: &Options) -> Result<()> {
    let url = options.index_url.clone().map_or_else(default_index, Ok)?;
    let client = Client::new(&url)?;
    if options.incident {
        return incident::record(&client);
    }
    let fixtures = root().join("fixtures");
    let fleet = fixtures.join("fleet");
    let settings = FleetFile::read(&fleet)?;
    let releases = release::build_all(&fixtures.join("releases.toml"), &fleet)?;
    let manifests = declared::of_components(&fleet, &settings.shared)?;
    let world = closure::World {
        releases: &releases,
        targets: settings.targets()?,
        exclude_newer: settings.index.exclude_newer,
    };
    let wishes = settings.wishes(&fleet, &manifests)?;
    let mut pages: Vec<Page> = closure::follow(&world, wishes, &client)?;
    pages.extend(release::pages(&releases));
    let folder = tempfile::tempdir_in(&fixtures)?;
    let bytes = page::write_all(folder.path(), &pages, &releases)?;
    let index = fixtures.join("index");
    if index.exists() {
        std::fs::remove_dir_all(&index)?;
    }
    std::fs::rename(folder.keep(), &index)?;
    println!("fixtures/index: {} pages, {} KiB", pages.len(), bytes.div_ceil(1024));
    Ok(())
}
