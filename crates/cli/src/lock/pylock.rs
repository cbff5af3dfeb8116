//! From a solution to a `pylock.toml` (PEP 751): files with their places, sizes and hashes.

use std::collections::BTreeMap;

use reana_lockfile::UnsafePackages;
use reana_lockfile::pylock::{File, Package, Place, Pylock, Source, render};
use reana_model::requirements_file::fragment_value;
use reana_model::{MarkerTree, PackageName, Pin, Target, Version};
use reana_resolver::{MergedPin, RequiredBy};
use url::Url;

use super::catalog::RunCatalog;
use super::git_address::GitAddress;
use super::prepare::Prepared;
use crate::args::Hashes;
use crate::error::Failure;
use crate::paths;

/// The text of a lock.
pub(crate) fn text(
    prepared: &Prepared,
    merged: &[MergedPin],
    pins: &[Pin],
    catalog: &RunCatalog,
) -> Result<String, Failure> {
    if prepared.hashes == Hashes::None {
        return Err(Failure::input("a pylock always has hashes: take `--no-generate-hashes` away"));
    }
    let style = &prepared.style;
    let is_left_out = |name: &PackageName| {
        style.no_emit.contains(name)
            || (style.unsafe_handling == UnsafePackages::LeftOut && style.unsafe_packages.contains(name))
    };
    let dependencies = dependencies(merged);
    let mut packages = Vec::new();
    for (merged, pin) in merged.iter().zip(pins).filter(|(merged, _)| !is_left_out(&merged.name)) {
        let key = (merged.name.clone(), merged.version.clone());
        let mut wanted = dependencies.get(&key).cloned().unwrap_or_default();
        wanted.retain(|(name, _)| !is_left_out(name));
        packages.push(package(prepared, merged, pin, wanted, catalog)?);
    }
    let targets = &prepared.request.targets;
    let oldest = targets.iter().map(|target| (target.python.major, target.python.minor)).min();
    let lock = Pylock {
        header: style.header.then(|| prepared.header.clone()),
        preview: false,
        environments: targets.iter().map(environment).collect(),
        requires_python: oldest.map(|(major, minor)| format!(">={major}.{minor}")),
        packages,
    };
    let text = render(&lock);
    Ok(match style.newline {
        reana_lockfile::Newline::Lf => text,
        reana_lockfile::Newline::Crlf => text.replace('\n', "\r\n"),
    })
}

/// The marker of one target.
fn environment(target: &Target) -> MarkerTree {
    let text = format!(
        "python_version == '{}' and implementation_name == 'cpython' and sys_platform == 'linux' and platform_machine == '{}'",
        target.python.short(),
        target.platform.machine()
    );
    text.parse().unwrap_or(MarkerTree::TRUE)
}

type Key = (PackageName, Version);

/// What each package wants of the lock, told with its version where the lock has several.
fn dependencies(merged: &[MergedPin]) -> BTreeMap<Key, Vec<(PackageName, Option<Version>)>> {
    let mut wanted: BTreeMap<Key, Vec<(PackageName, Option<Version>)>> = BTreeMap::new();
    for pin in merged {
        let is_one_of_several =
            merged.iter().any(|other| other.name == pin.name && other.version != pin.version);
        let version = is_one_of_several.then(|| pin.version.clone());
        for reason in &pin.wanted_by {
            if let RequiredBy::Package(name, by) = &reason.by
                && *name != pin.name
            {
                let list = wanted.entry((name.clone(), by.clone())).or_default();
                list.push((pin.name.clone(), version.clone()));
            }
        }
    }
    wanted
}

fn package(
    prepared: &Prepared,
    merged: &MergedPin,
    pin: &Pin,
    dependencies: Vec<(PackageName, Option<Version>)>,
    catalog: &RunCatalog,
) -> Result<Package, Failure> {
    let source = match &merged.direct {
        Some(choice) => match catalog.pinned(&choice.direct.url) {
            Some((address, commit)) => repository(&address, commit),
            None => direct(prepared, merged, &choice.direct.url, choice.direct.editable)?,
        },
        None => files(prepared, merged, pin, catalog.client())?,
    };
    let is_folder = matches!(source, Source::Directory { .. });
    let mut pythons: Vec<String> = merged
        .files
        .iter()
        .map(|file| file.requires_python.as_ref().map(ToString::to_string).unwrap_or_default())
        .collect();
    pythons.sort();
    pythons.dedup();
    let requires_python = match &pythons[..] {
        [only] if !only.is_empty() => Some(only.clone()),
        _ => None,
    };
    let index = matches!(source, Source::Files { .. }).then(|| prepared.places.only_index()).flatten();
    Ok(Package {
        name: merged.name.clone(),
        version: (!is_folder).then(|| merged.version.clone()),
        marker: merged.marker.clone(),
        requires_python,
        dependencies,
        index,
        source,
    })
}

/// The files whose hashes the pin has. Of several sdists the format takes one.
fn files(
    prepared: &Prepared,
    merged: &MergedPin,
    pin: &Pin,
    client: &reana_index::Client,
) -> Result<Source, Failure> {
    let all = if prepared.hashes == Hashes::Target { &merged.target_files } else { &merged.files };
    let (mut wheels, mut sdists) = (Vec::new(), Vec::new());
    for file in all {
        let sha256 = client.sha256(&merged.name, file).map_err(|error| Failure::from_index(&error))?;
        if !pin.hashes.contains(&sha256) {
            continue;
        }
        let listed = File {
            name: file.name.file().to_owned(),
            place: place(prepared, &file.url),
            uploaded: file.uploaded.map(|time| time.to_string()),
            size: file.size,
            sha256,
        };
        if file.name.wheel().is_some() { wheels.push(listed) } else { sdists.push(listed) }
    }
    sdists.retain(|sdist| rank(&sdist.name).is_some());
    sdists.sort_by_key(|sdist| rank(&sdist.name));
    let sdist = sdists.into_iter().next();
    if wheels.is_empty() && sdist.is_none() {
        let names: Vec<&str> = all.iter().map(|file| file.name.file()).collect();
        return Err(Failure::input(format!(
            "{} {}: a pylock can't name what it has: {}",
            merged.name,
            merged.version,
            names.join(", ")
        )));
    }
    Ok(Source::Files { sdist, wheels })
}

/// The kinds of sdists that installers of pylocks know, best first.
fn rank(name: &str) -> Option<usize> {
    [".tar.gz", ".zip"].iter().position(|ending| name.ends_with(ending))
}

/// What was named by its address or path.
fn direct(prepared: &Prepared, merged: &MergedPin, url: &str, editable: bool) -> Result<Source, Failure> {
    let subdirectory = fragment_value(url, "subdirectory").map(str::to_owned);
    let address = url.split('#').next().unwrap_or(url);
    if super::catalog::folder_of(address).is_some() {
        let path = match place(prepared, address) {
            Place::Path(path) | Place::Url(path) => path,
        };
        return Ok(Source::Directory { path, editable, subdirectory });
    }
    let sha256 =
        merged.direct.as_ref().and_then(|choice| choice.sha256).ok_or_else(|| {
            Failure::input(format!("{}: a pylock needs the hash of {address}", merged.name))
        })?;
    Ok(Source::Archive { place: place(prepared, address), sha256, subdirectory })
}

fn repository(address: &GitAddress, commit: String) -> Source {
    Source::Vcs {
        kind: "git".to_owned(),
        place: Place::Url(address.remote.url.clone()),
        requested_revision: address.asked().map(str::to_owned),
        commit,
        subdirectory: Some(address.subdirectory.clone()).filter(|folder| !folder.is_empty()),
    }
}

/// A local file by its path from the lock, anything else by its address.
fn place(prepared: &Prepared, url: &str) -> Place {
    let path =
        Url::parse(url).ok().filter(|url| url.scheme() == "file").and_then(|url| url.to_file_path().ok());
    match path {
        Some(path) => Place::Path(paths::relative(&path, &prepared.lock_folder)),
        None => Place::Url(url.to_owned()),
    }
}
