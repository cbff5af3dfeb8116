//! Dependency groups (PEP 735) of one lock: `--group NAME`, `--group FILE:NAME`.

use std::path::{Path, PathBuf};

use reana_lockfile::Header;
use reana_model::Via;

use super::declared::Read;
use super::prepare::Context;
use crate::doors::disk;
use crate::error::Failure;
use crate::paths;

/// The one file that has groups.
const FILE: &str = "pyproject.toml";

/// The groups that are locked, as they were written: the command line's, else the old lock's.
pub(crate) fn wanted(context: &Context<'_>, header: Option<&Header>) -> Vec<String> {
    let typed = &context.args.resolve.group;
    let old = header.map(|header| header.groups.clone()).unwrap_or_default();
    if typed.is_empty() { old } else { typed.clone() }
}

/// Reads the groups that [`Read::groups`] names, and puts them there as the header is to name them.
pub(crate) fn read(read: &mut Read, context: &Context<'_>) -> Result<(), Failure> {
    let is_typed = !context.args.resolve.group.is_empty();
    let mut named = Vec::new();
    for given in std::mem::take(&mut read.groups) {
        let (file, group) = match given.rsplit_once(':') {
            None => (None, given.trim()),
            Some((file, group)) => (Some(file), group.trim()),
        };
        let path = path(context, file, is_typed)?;
        let text = disk::read_text(&path).map_err(|error| Failure::from_disk(&error))?;
        let shown = context.shown(&paths::relative(&path, &context.unit.folder));
        let groups = reana_manifest::read_groups(&text, &shown);
        let groups = groups.map_err(|problem| Failure::from_problems(&[problem]))?;
        let requirements = groups.requirements(group);
        let requirements = requirements.map_err(|problems| Failure::from_problems(&problems))?;
        let file = paths::relative(&path, &context.lock_folder);
        let via = Via::Project {
            name: groups.project.clone().unwrap_or_default(),
            file: format!("{file}:{group}"),
        };
        for requirement in requirements {
            read.sources.insert_line(requirement.origin.clone(), via.clone());
            if !read.roots.contains(&requirement) {
                read.roots.push(requirement);
            }
        }
        let is_own = path == context.unit.folder.join(FILE);
        named.push(if is_own { group.to_owned() } else { format!("{file}:{group}") });
    }
    named.sort();
    named.dedup();
    read.groups = named;
    Ok(())
}

/// The file of a group. What an old lock's header names is read only inside of the fleet.
fn path(context: &Context<'_>, file: Option<&str>, is_typed: bool) -> Result<PathBuf, Failure> {
    let Some(file) = file else { return Ok(context.unit.folder.join(FILE)) };
    if Path::new(file).file_name().is_none_or(|name| name != FILE) {
        return Err(Failure::input(format!("--group {file}: groups are in a file called {FILE}")));
    }
    if is_typed {
        return Ok(paths::tidy(&context.env.cwd.join(file)));
    }
    let path = paths::tidy(&context.lock_folder.join(file));
    let real = disk::canonical(&path).map_err(|error| {
        Failure::from_disk(&error).hint("the old lock's header names it; give `--group` to name others")
    })?;
    if real.starts_with(context.root) || real.starts_with(&context.unit.folder) {
        return Ok(path);
    }
    Err(Failure::input(format!(
        "{}: the old lock's header names this file, which is outside of {}",
        path.display(),
        context.root.display()
    ))
    .hint("if it is right, give it yourself: `--group FILE:NAME`"))
}
