//! Which manifests a component is locked from.

use std::path::Path;

use reana_manifest::files::Files as _;

use super::FleetError;
use crate::doors::disk::{self, Entry, Project};

/// The manifests, relative to the component's folder: those that `reana-lock.toml` names; else those of the
/// old lock's header; else, also where none of the header's is there any more, [`default_sources`], which may be none.
/// A header of which one manifest is left and another one gone is an error: what that one asked for would be lost.
pub(crate) fn sources(folder: &Path, named: &[String], header: &[String]) -> Result<Vec<String>, FleetError> {
    let project = Project::open(folder)?;
    if let Some(absent) = named.iter().find(|source| !project.exists(source)) {
        return Err(FleetError::SourceAbsent { folder: folder.to_owned(), source_file: absent.clone() });
    }
    if !named.is_empty() {
        return Ok(named.to_vec());
    }
    let (there, gone): (Vec<String>, Vec<String>) =
        header.iter().cloned().partition(|source| project.exists(source));
    match (there.is_empty(), gone.into_iter().next()) {
        (true, _) => default_sources(folder),
        (false, None) => Ok(there),
        (false, Some(gone)) => {
            Err(FleetError::HeaderSourceAbsent { folder: folder.to_owned(), source_file: gone })
        }
    }
}

/// The manifests of a folder where nothing names them: `requirements.in`, and the project in the first of
/// `setup.py`, `pyproject.toml`, `setup.cfg` that declares one. REANA compiled both together where it had
/// both.
pub(super) fn default_sources(folder: &Path) -> Result<Vec<String>, FleetError> {
    let is_file = |name: &str| {
        disk::entry(&folder.join(name)) != Entry::Absent && disk::entry(&folder.join(name)) != Entry::Folder
    };
    let declares = |name: &str, is_one: &dyn Fn(&str) -> bool| match disk::read(&folder.join(name)) {
        Ok(bytes) => is_one(&String::from_utf8_lossy(&bytes)),
        // What can't be read may declare one: better to hear why than to hear that nothing is there.
        Err(disk::DiskError::Absent { .. }) => false,
        Err(_) => is_file(name),
    };
    let mut sources = Vec::new();
    if is_file("requirements.in") {
        sources.push("requirements.in".to_owned());
    }
    let project = if is_file("setup.py") {
        Some("setup.py")
    } else if declares("pyproject.toml", &is_project) {
        Some("pyproject.toml")
    } else if declares("setup.cfg", &|text| {
        text.lines().any(|line| matches!(line.trim(), "[metadata]" | "[options]"))
    }) {
        Some("setup.cfg")
    } else {
        None
    };
    sources.extend(project.map(str::to_owned));
    Ok(sources)
}

/// A pyproject.toml with settings of tools alone is no manifest; one that is no TOML may be one.
fn is_project(text: &str) -> bool {
    let Ok(table) = text.trim_start_matches('\u{feff}').parse::<toml::Table>() else { return true };
    let tool = table.get("tool").and_then(toml::Value::as_table);
    table.contains_key("project") || tool.is_some_and(|tool| tool.contains_key("poetry"))
}
