//! Which packages, versions and metadata locking the example fleet may ask for.
//!
//! Breadth first: a requirement asks for the newest versions that it accepts, each of these for what its metadata
//! requires, until nothing new is asked for. That is more than any one lock needs, and all that the newest
//! solution and a few steps back from it need.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use anyhow::{Context, Result, ensure};
use jiff::Timestamp;
use reana_model::{
    DistName, ExtraName, Origin, PackageName, Requirement, Target, Version, VersionSpecifiers,
};

use super::client::Client;
use super::declared::Declared;
use super::page::{Page, PageFile, trim_metadata};
use super::release::Release;

/// How many versions a requirement asks for, per target.
const NEWEST: usize = 3;

/// More packages than this are a mistake in the fleet, not a fixture.
const MOST_PACKAGES: usize = 150;

/// What is known before the index is asked.
pub(crate) struct World<'a> {
    pub(crate) releases: &'a [Release],
    pub(crate) targets: Vec<Target>,
    pub(crate) exclude_newer: Timestamp,
}

/// A public package while it is being followed.
struct Package {
    files: Vec<(DistName, PageFile)>,
    /// The versions asked for, with the metadata of one of their wheels.
    asked: BTreeMap<Version, String>,
    metadata: Vec<(String, String)>,
}

/// What a requirement asks for; each is followed once.
type Wish = (PackageName, String, Vec<ExtraName>);

/// Requirements to follow, those under extras included.
pub(crate) struct Wishes {
    pub(crate) requirements: Vec<String>,
    pub(crate) extras: Vec<String>,
}

impl Wishes {
    /// All that a manifest declares.
    pub(crate) fn of(declared: &Declared) -> Self {
        let extras = declared.extras_require.keys().cloned().collect();
        Self { requirements: declared.requires_dist(), extras }
    }
}

/// Follows the fleet's wishes, and those of the releases, through the index.
pub(crate) fn follow(world: &World<'_>, mut wishes: Vec<Wishes>, client: &Client) -> Result<Vec<Page>> {
    let own: BTreeSet<&str> = world.releases.iter().map(|release| release.declared.name.as_str()).collect();
    wishes.extend(world.releases.iter().map(|release| Wishes::of(&release.declared)));
    let mut queue = VecDeque::new();
    for wish in &wishes {
        let extras: Vec<ExtraName> =
            wish.extras.iter().map(|extra| extra.parse()).collect::<Result<_, _>>()?;
        for text in &wish.requirements {
            queue.extend(world.live(Requirement::parse(text, Origin::whole("fleet"))?, &extras));
        }
    }
    let (mut seen, mut packages) = (BTreeSet::<Wish>::new(), BTreeMap::<PackageName, Package>::new());
    while let Some(requirement) = queue.pop_front() {
        let specifiers = requirement.specifiers().cloned().unwrap_or_else(VersionSpecifiers::empty);
        let wish = (requirement.name.clone(), specifiers.to_string(), requirement.extras.clone());
        if own.contains(requirement.name.as_ref()) || !seen.insert(wish) {
            continue;
        }
        if !packages.contains_key(&requirement.name) {
            ensure!(packages.len() < MOST_PACKAGES, "more than {MOST_PACKAGES} packages are in reach");
            println!("{}", requirement.name);
            packages.insert(requirement.name.clone(), world.listed(&requirement.name, client)?);
        }
        let Some(package) = packages.get_mut(&requirement.name) else { continue };
        for version in world.newest(package, &specifiers) {
            let metadata = world.ask(package, &version, client)?;
            for text in requires_dist(&metadata) {
                let found = Requirement::parse_mended(&text, Origin::whole(requirement.name.to_string()))?;
                queue.extend(world.live(found, &requirement.extras));
            }
        }
    }
    Ok(packages.into_iter().map(|(name, package)| package.into_page(&name)).collect())
}

impl World<'_> {
    /// The requirement, if it applies to a target, without extras or with one of these.
    fn live(&self, requirement: Requirement, extras: &[ExtraName]) -> Option<Requirement> {
        let lives = self.targets.iter().any(|target| {
            let environment = target.marker_environment();
            requirement.marker.evaluate(&environment, &[])
                || extras
                    .iter()
                    .any(|extra| requirement.marker.evaluate(&environment, std::slice::from_ref(extra)))
        });
        lives.then_some(requirement)
    }

    /// A package's files that were there at the fleet's moment and have names that can be read.
    fn listed(&self, name: &PackageName, client: &Client) -> Result<Package> {
        let files = client.page(name.as_ref())?.into_iter().filter_map(|file| {
            let in_time = file.upload_time.is_some_and(|uploaded| uploaded < self.exclude_newer);
            let dist = DistName::parse(&file.filename, name).ok()?;
            in_time.then_some((dist, file))
        });
        Ok(Package { files: files.collect(), asked: BTreeMap::new(), metadata: Vec::new() })
    }

    /// The newest versions that a requirement accepts and that have a wheel for a target, for every target.
    fn newest(&self, package: &Package, specifiers: &VersionSpecifiers) -> BTreeSet<Version> {
        let admits_pre = specifiers.iter().any(reana_model::VersionSpecifier::any_prerelease);
        let mut chosen = BTreeSet::new();
        for target in &self.targets {
            let usable = package.files.iter().filter(|(dist, file)| {
                let version = dist.version();
                best_rank(target, dist, file).is_some()
                    && specifiers.contains(version)
                    && (admits_pre || !version.any_prerelease())
                    && !file.is_yanked()
            });
            let versions: BTreeSet<Version> = usable.map(|(dist, _)| dist.version().clone()).collect();
            chosen.extend(versions.into_iter().rev().take(NEWEST));
        }
        chosen
    }

    /// The metadata of a version, for all of its targets' best wheels; given back is one of them.
    fn ask(&self, package: &mut Package, version: &Version, client: &Client) -> Result<String> {
        if let Some(known) = package.asked.get(version) {
            return Ok(known.clone());
        }
        for target in &self.targets {
            let wheels = package.files.iter().filter(|(dist, _)| dist.version() == version);
            let ranked = wheels.filter_map(|(dist, file)| Some((best_rank(target, dist, file)?, file)));
            let Some((_, wheel)) = ranked.min_by_key(|(rank, _)| *rank) else { continue };
            if package.metadata.iter().all(|(name, _)| *name != wheel.filename) {
                let text = trim_metadata(&client.metadata(wheel)?);
                package.metadata.push((wheel.filename.clone(), text));
            }
        }
        let (_, text) = package.metadata.last().context("a chosen version has a wheel")?;
        package.asked.insert(version.clone(), text.clone());
        Ok(text.clone())
    }
}

impl Package {
    /// Its page, pruned to the versions whose metadata is recorded; of these, all files.
    fn into_page(self, name: &PackageName) -> Page {
        let files = self.files.into_iter().filter(|(dist, _)| self.asked.contains_key(dist.version()));
        let mut metadata = self.metadata;
        metadata.sort();
        Page {
            name: name.to_string(),
            versions: self.asked.keys().map(ToString::to_string).collect(),
            files: files.map(|(_, file)| file).collect(),
            metadata,
        }
    }
}

/// How well a file fits a target, if it is a wheel that does.
pub(super) fn best_rank(target: &Target, dist: &DistName, file: &PageFile) -> Option<u32> {
    let python: Option<VersionSpecifiers> =
        file.requires_python.as_deref().and_then(|text| text.parse().ok());
    let fits = python.is_none_or(|python| python.contains(&target.python.version()));
    dist.wheel().filter(|_| fits).and_then(|wheel| target.tags().rank(wheel))
}

fn requires_dist(metadata: &str) -> Vec<String> {
    let field = |line: &str| {
        let (key, value) = line.split_once(':')?;
        key.eq_ignore_ascii_case("requires-dist").then(|| value.trim().to_owned())
    };
    metadata.lines().filter_map(field).collect()
}
