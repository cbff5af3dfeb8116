//! Requirements files of one lock: sources, constraints and overrides.

use std::path::Path;

use reana_lockfile::Newline;
use reana_manifest::files::FileError;
use reana_manifest::{Entry, Files, Listed, RequirementsIn, Unnamed, Viewpoint};
use reana_model::requirements_file::FileOption;
use reana_model::{PackageName, Requirement, Source, Target, Via};

use super::catalog;
use super::declared::Read;
use super::prepare::Context;
use crate::config::Location;
use crate::doors::disk::{self, DiskError};
use crate::error::Failure;
use crate::paths;

/// Requirements files may include others anywhere, as pip has it: whoever writes one is trusted as far as pip
/// would trust them. (A setup.py is not: it sees its own project alone.)
struct Anywhere<'a> {
    root: &'a Path,
}

impl Files for Anywhere<'_> {
    fn read(&self, path: &str) -> Result<Vec<u8>, FileError> {
        disk::read(&self.root.join(path)).map_err(|error| match error {
            DiskError::Absent { .. } => FileError::Absent,
            DiskError::TooLarge { .. } => FileError::TooLarge { limit: disk::READ_LIMIT },
            other => FileError::Unreadable(other.to_string()),
        })
    }

    fn exists(&self, path: &str) -> bool {
        disk::entry(&self.root.join(path)) != disk::Entry::Absent
    }

    fn list(&self, folder: &str) -> Vec<String> {
        disk::names(&self.root.join(folder)).unwrap_or_default()
    }
}

/// Reads a requirements file that is a source of the lock.
pub(crate) fn source(
    read: &mut Read,
    context: &Context<'_>,
    path: &Path,
    target: &Target,
) -> Result<(), Failure> {
    let found = found(read, context, path, reana_manifest::read_requirements)?;
    if let Ok(text) = disk::read_text(path) {
        read.newline = read.newline.or(Newline::of(&text));
    }
    for listed in found.requirements {
        let requirement = requirement(read, listed, target)?;
        let file = Via::Requirements(relative_to_lock(context, &requirement.origin.file));
        read.sources.insert(requirement.origin.file.clone(), file);
        read.roots.push(requirement);
    }
    add_constraints(read, context, found.constraints, target)?;
    options(read, context, &found.options);
    Ok(())
}

/// Reads a constraints file.
pub(crate) fn constraints(
    read: &mut Read,
    context: &Context<'_>,
    path: &Path,
    target: &Target,
) -> Result<(), Failure> {
    let found = found(read, context, path, reana_manifest::read_constraints)?;
    add_constraints(read, context, found.constraints, target)?;
    add_constraints(read, context, found.requirements, target)
}

/// Reads a file of overrides.
pub(crate) fn overrides(
    read: &mut Read,
    context: &Context<'_>,
    path: &Path,
    target: &Target,
) -> Result<(), Failure> {
    let found = found(read, context, path, reana_manifest::read_requirements)?;
    for listed in found.requirements {
        let requirement = requirement(read, listed, target)?;
        read.overrides.push(requirement);
    }
    Ok(())
}

fn add_constraints(
    read: &mut Read,
    context: &Context<'_>,
    listed: Vec<Listed>,
    target: &Target,
) -> Result<(), Failure> {
    for listed in listed {
        let constraint = requirement(read, listed, target)?;
        let file = Via::Constraints(relative_to_lock(context, &constraint.origin.file));
        read.sources.insert_if_new(constraint.origin.file.clone(), file);
        read.constraints.push(constraint);
    }
    Ok(())
}

type Reader = fn(&Viewpoint<'_>, &str) -> RequirementsIn;

fn found(
    read: &mut Read,
    context: &Context<'_>,
    path: &Path,
    reader: Reader,
) -> Result<RequirementsIn, Failure> {
    let cwd = context.env.cwd.as_path();
    let root = cwd.to_string_lossy();
    // Relative paths in the lines mean the same from wherever the run is started: they start at the lock.
    let folder = match paths::relative(&context.lock_folder, cwd) {
        here if here == "." => String::new(),
        folder => folder,
    };
    let shown = |path: &str| path.to_owned();
    let viewpoint = Viewpoint { files: &Anywhere { root: cwd }, root: &root, folder: &folder, shown: &shown };
    let found = reader(&viewpoint, &paths::relative(path, cwd));
    read.notes.extend(found.notes.iter().map(ToString::to_string));
    if found.problems.is_empty() { Ok(found) } else { Err(Failure::from_problems(&found.problems)) }
}

fn relative_to_lock(context: &Context<'_>, shown: &str) -> String {
    paths::relative(&paths::tidy(&context.env.cwd.join(shown)), &context.lock_folder)
}

/// A requirement with its name, which for a path or URL is found at its place.
fn requirement(read: &mut Read, listed: Listed, target: &Target) -> Result<Requirement, Failure> {
    let requirement = match listed.entry {
        Entry::Named(requirement) => requirement,
        Entry::Unnamed(unnamed) => named(unnamed, target)?,
    };
    if !listed.hashes.is_empty() {
        let allowed = read.allowed.entry(requirement.name.clone()).or_default();
        allowed.extend(listed.hashes);
    }
    Ok(requirement)
}

fn named(unnamed: Unnamed, target: &Target) -> Result<Requirement, Failure> {
    let Unnamed { direct, extras, marker, origin } = unnamed;
    let fail = |why: String| Failure::input(format!("{origin}: {why}"));
    let name = if let Some(folder) = catalog::folder_of(&direct.url) {
        let folder = folder.map_err(|error| fail(error.to_string()))?;
        let metadata = catalog::folder_metadata(&folder, &direct.given, target);
        metadata.map_err(|error| fail(error.to_string()))?.name
    } else if is_absent(&direct.url) {
        return Err(fail(format!("`{}`: there is no such file or folder", direct.given)));
    } else {
        let name = name_in(&direct.url);
        name.ok_or_else(|| {
            fail(format!("`{}` doesn't say which package it is", direct.given)).hint("write `NAME @ URL`")
        })?
    };
    let text = if direct.editable { format!("-e {}", direct.given) } else { direct.given.clone() };
    Ok(Requirement { name, extras, source: Source::Direct(direct), marker, origin, text })
}

/// Whether an address is that of a local file or folder which is not there.
fn is_absent(url: &str) -> bool {
    let local = url::Url::parse(url).ok().filter(|url| url.scheme() == "file");
    let path = local.and_then(|url| url.to_file_path().ok());
    path.is_some_and(|path| disk::entry(&path) == disk::Entry::Absent)
}

/// The package's name in `#egg=` or in an archive's file name.
fn name_in(url: &str) -> Option<PackageName> {
    if let Some(egg) = reana_model::requirements_file::fragment_value(url, "egg") {
        return PackageName::new(egg.split('[').next().unwrap_or_default().to_owned()).ok();
    }
    let path = url.split(['#', '?']).next().unwrap_or(url);
    let file = path.rsplit('/').next().unwrap_or(path);
    let name_of = |end: usize| file.get(..end).and_then(|name| PackageName::new(name.to_owned()).ok());
    if file.ends_with(".whl") {
        return name_of(file.find('-')?);
    }
    // The name of an archive is not that of a folder in it.
    if reana_index::subdirectory(url).is_ok_and(|folder| !folder.is_empty()) {
        return None;
    }
    let is_file_of = |name: &PackageName| reana_model::DistName::parse(file, name).is_ok();
    file.match_indices('-').filter_map(|(at, _)| name_of(at)).find(is_file_of)
}

/// Options of requirements files. What belongs to the network of whoever runs pip (`--trusted-host`) is passed over.
fn options(read: &mut Read, context: &Context<'_>, options: &[reana_manifest::OptionIn]) {
    let place = |value: &str| Location::new(value, &context.lock_folder);
    for option in options {
        let value = option.value.as_str();
        match option.option {
            FileOption::IndexUrl => {
                read.indexes.index = Some(place(value));
                read.indexes.extra.clear();
            }
            FileOption::ExtraIndexUrl => read.indexes.extra.push(place(value)),
            FileOption::FindLinks => read.indexes.find_links.push(place(value)),
            FileOption::NoIndex => read.indexes.no_index = true,
            FileOption::Pre => read.pre = true,
            FileOption::NoBinary => read.no_binary.push(value.to_owned()),
            FileOption::OnlyBinary => read.only_binary.push(value.to_owned()),
            FileOption::TrustedHost | FileOption::PreferBinary | FileOption::UseFeature => {
                read.notes.push(format!("{}: `{}` has no effect here", option.origin, option.option));
            }
            FileOption::RequireHashes | FileOption::Requirement | FileOption::Constraint => {}
        }
    }
}
