//! `cargo xtask record --incident`: the pages in fixtures/incident, over which the incident is played again.
//!
//! What each of the two builds got is locked anew over the live index; of these packages the pages are kept, pruned to
//! the versions that were got. Of the shared packages, all releases of that series are kept, the later ones too: what
//! a moment hides must be there to be hidden.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use anyhow::{Context, Result, bail, ensure};
use jiff::Timestamp;
use reana_index::sdist::{self, SdistAnswer};
use reana_model::{DistName, Metadata, PackageName, Platform, Target, VersionSpecifiers};

use super::client::Client;
use super::closure::best_rank;
use super::page::{self, Page, PageFile, trim_metadata};
use crate::job::{Incident, Job, lock, read};
use crate::project::{build, root};

/// The packages that the incident is about, and the series whose releases are all kept.
const SHARED: [&str; 2] = ["reana-commons", "reana-db"];
const SERIES: &str = ">=0.7.0.dev0,<0.8.0";

/// Writes fixtures/incident anew. Nothing is touched before all answers are there.
pub(super) fn record(client: &Client) -> Result<()> {
    let incident: Incident = read("incident.json")?;
    let command = build()?;
    let mut got: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let mut moments: Vec<Timestamp> = Vec::new();
    for build in &incident.builds {
        let when = build.get("when").context("incident.json: a build without its time")?;
        let job = Job {
            install_requires: &incident.install_requires,
            python: &incident.python,
            cutoff: when,
            ..Job::default()
        };
        for (name, version) in lock(&command, &job)? {
            got.entry(name).or_default().insert(version);
        }
        moments.push(when.parse()?);
    }
    let last = moments.into_iter().max().context("incident.json: no builds")?;
    let target = Target { python: incident.python.parse()?, platform: Platform::LinuxAmd64 };
    let pages = got.iter().map(|(name, versions)| {
        println!("{name} {}", versions.iter().cloned().collect::<Vec<_>>().join(", "));
        page_of(name, versions, last, &target, client).with_context(|| name.clone())
    });
    let pages: Vec<Page> = pages.collect::<Result<_>>()?;
    let fixtures = root().join("fixtures");
    let folder = tempfile::tempdir_in(&fixtures)?;
    let bytes = page::write_all(folder.path(), &pages, &[])?;
    let place = fixtures.join("incident");
    if place.exists() {
        std::fs::remove_dir_all(&place)?;
    }
    std::fs::rename(folder.keep(), &place)?;
    println!("fixtures/incident: {} pages, {} KiB", pages.len(), bytes.div_ceil(1024));
    Ok(())
}

/// A page with the files of what was got, and the metadata of the file that each version was taken from.
fn page_of(
    name: &str,
    versions: &BTreeSet<String>,
    last: Timestamp,
    target: &Target,
    client: &Client,
) -> Result<Page> {
    let package: PackageName = name.parse()?;
    let series: VersionSpecifiers = SERIES.parse().map_err(|error| anyhow::anyhow!("{error}"))?;
    let (mut kept, mut listed) = (Vec::new(), BTreeSet::new());
    for file in client.page(name)? {
        let Ok(dist) = DistName::parse(&file.filename, &package) else { continue };
        let is_in_time = file.upload_time.is_some_and(|uploaded| uploaded < last);
        let was_got = is_in_time && versions.contains(&dist.version().to_string());
        if was_got || (SHARED.contains(&name) && series.contains(dist.version())) {
            listed.insert(dist.version().clone());
            kept.push((dist, file));
        }
    }
    let mut metadata = Vec::new();
    for version in versions {
        let files = kept.iter().filter(|(dist, _)| dist.version().to_string() == *version);
        let wheel = files.clone().filter_map(|(dist, file)| Some((best_rank(target, dist, file)?, file)));
        let text = match wheel.min_by_key(|(rank, _)| *rank) {
            Some((_, file)) => (file.filename.clone(), trim_metadata(&client.metadata(file)?)),
            None => {
                let sdist = files.clone().find(|(dist, _)| dist.wheel().is_none());
                let (dist, file) = sdist.with_context(|| format!("{version}: neither wheel nor sdist"))?;
                (file.filename.clone(), of_sdist(&package, dist, file, target, client)?)
            }
        };
        metadata.push(text);
    }
    metadata.sort();
    Ok(Page {
        name: name.to_owned(),
        versions: listed.iter().map(ToString::to_string).collect(),
        files: kept.into_iter().map(|(_, file)| file).collect(),
        metadata,
    })
}

/// What an sdist declares, in the form that a wheel of it would have.
fn of_sdist(
    package: &PackageName,
    dist: &DistName,
    file: &PageFile,
    target: &Target,
    client: &Client,
) -> Result<String> {
    let bytes = client.archive(file)?;
    match sdist::read(&bytes, &file.filename, package, dist.version(), target) {
        SdistAnswer::Known { metadata, .. } => as_text(&metadata),
        SdistAnswer::Unreadable { reason } | SdistAnswer::Invalid { reason } => {
            bail!("{}: {reason}", file.filename)
        }
    }
}

/// Metadata 2.2, which says for itself that nothing of it is decided later.
fn as_text(metadata: &Metadata) -> Result<String> {
    let Metadata { name, version, .. } = metadata;
    let mut text = format!("Metadata-Version: 2.2\nName: {name}\nVersion: {version}\n");
    if let Some(python) = &metadata.requires_python {
        writeln!(text, "Requires-Python: {python}")?;
    }
    for extra in &metadata.provides_extra {
        writeln!(text, "Provides-Extra: {extra}")?;
    }
    for requirement in &metadata.requires_dist {
        let specifiers = requirement.specifiers().context("a requirement that names an address")?;
        let extras: Vec<String> = requirement.extras.iter().map(ToString::to_string).collect();
        let extras = if extras.is_empty() { String::new() } else { format!("[{}]", extras.join(",")) };
        let marker = requirement.marker.try_to_string().map(|marker| format!("; {marker}"));
        writeln!(
            text,
            "Requires-Dist: {}{extras} {specifiers}{}",
            requirement.name,
            marker.unwrap_or_default()
        )?;
    }
    ensure!(text.lines().all(|line| line.contains(": ")), "a line break in metadata");
    Ok(text)
}
