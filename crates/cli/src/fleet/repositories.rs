//! The fleet's graph, from what the repositories' manifests declare.

use std::path::Path;

use reana_fleet::{Fleet, Repository, Requires};
use reana_manifest::{Declared, Entry as Listed, Files, Problem, ProblemKind, Text, Viewpoint};
use reana_model::{ExtraName, PackageName, Requirement};

use super::census::{Census, Member};
use crate::doors::disk::Project;

/// Reads what all repositories declare. What can't be read is told in notes, and is as if it weren't there.
pub(crate) fn graph(census: &Census) -> (Fleet, Vec<String>) {
    let mut notes = Vec::new();
    let read = census.members.iter().map(|member| repository(census, member, &mut notes)).collect();
    notes.dedup();
    let fleet = Fleet::new(read);
    for package in fleet.made_twice() {
        let makers = fleet.all_makers(package);
        let names: Vec<&str> = makers.iter().map(|maker| maker.name.as_str()).collect();
        let first = names.first().copied().unwrap_or_default();
        notes.push(format!(
            "{package} is made by several repositories ({}): {first} counts",
            names.join(", ")
        ));
    }
    (fleet, notes)
}

fn repository(census: &Census, member: &Member, notes: &mut Vec<String>) -> Repository {
    let mut repository = Repository {
        name: member.name.clone(),
        is_locked: member.is_locked(),
        is_image: member.is_image,
        is_named_shared: member.is_named_shared,
        ..Repository::default()
    };
    let Ok(project) = Project::open(&member.folder) else { return repository };
    if member.has_manifest {
        match reana_manifest::read_project(&project, &member.shown, &member.target(&census.config)) {
            Ok(declared) => add_declared(&mut repository, &declared, notes),
            Err(Problem { kind: ProblemKind::NoManifest { .. }, .. }) => {}
            Err(problem) => notes.push(problem.to_string()),
        }
    }
    add_groups(&mut repository, &project, member, notes);
    for source in sources(census, member, &project) {
        add_listed(&mut repository, &project, member, &source);
    }
    // An extra that takes in another one says the same in the same place.
    let mut seen: Vec<(String, reana_model::Origin)> = Vec::new();
    repository.requires.retain(|requires| {
        let key = (requires.requirement.text.clone(), requires.requirement.origin.clone());
        let is_new = !seen.contains(&key);
        if is_new {
            seen.push(key);
        }
        is_new
    });
    repository
}

/// The requirements files that are manifests of a repository, relative to its folder.
pub(crate) fn sources(census: &Census, member: &Member, project: &Project) -> Vec<String> {
    let mut sources = census.config.for_component(&member.name).sources;
    sources.retain(|source| {
        let name = Path::new(source).file_name().and_then(|name| name.to_str()).unwrap_or_default();
        !matches!(name, "setup.py" | "setup.cfg" | "pyproject.toml")
    });
    let default = "requirements.in".to_owned();
    if sources.is_empty() && project.exists(&default) {
        sources.push(default);
    }
    sources
}

fn add_declared(repository: &mut Repository, declared: &Declared, notes: &mut Vec<String>) {
    let text = |fact: &reana_manifest::Fact<Option<Text>>| fact.clone().ok().flatten().map(|text| text.value);
    repository.package = text(&declared.name).and_then(|name| PackageName::new(name).ok());
    repository.version = text(&declared.version).and_then(|version| version.parse().ok());
    match &declared.install_requires {
        Ok(list) => add(repository, None, list),
        Err(unknown) => notes.push(unknown.to_string()),
    }
    match &declared.extras_require {
        Ok(extras) => {
            for (key, list) in extras {
                let extra = key.split(':').next().and_then(|name| name.trim().parse::<ExtraName>().ok());
                add(repository, extra.as_ref(), list);
            }
        }
        Err(unknown) => notes.push(unknown.to_string()),
    }
}

fn add(repository: &mut Repository, extra: Option<&ExtraName>, list: &[Text]) {
    let parsed =
        list.iter().filter_map(|text| Requirement::parse_mended(&text.value, text.origin.clone()).ok());
    let requires = parsed.map(|requirement| Requires { requirement, extra: extra.cloned() });
    repository.requires.extend(requires);
}

/// Dependency groups (PEP 735): they ask for packages as extras do.
fn add_groups(repository: &mut Repository, project: &Project, member: &Member, notes: &mut Vec<String>) {
    let Ok(bytes) = project.read("pyproject.toml") else { return };
    let text = String::from_utf8_lossy(&bytes);
    let groups = match reana_manifest::read_groups(&text, &member.path_shown("pyproject.toml")) {
        Ok(groups) => groups,
        Err(problem) => return notes.push(problem.to_string()),
    };
    for name in groups.names() {
        match groups.requirements(name) {
            Ok(found) => repository.requires.extend(
                found.into_iter().map(|requirement| Requires { requirement, extra: name.parse().ok() }),
            ),
            Err(problems) => notes.extend(problems.iter().map(ToString::to_string)),
        }
    }
}

fn add_listed(repository: &mut Repository, project: &Project, member: &Member, source: &str) {
    let shown = |path: &str| member.path_shown(path);
    let root = member.folder.to_string_lossy();
    let viewpoint = Viewpoint { files: project, root: &root, folder: "", shown: &shown };
    let read = reana_manifest::read_requirements(&viewpoint, source);
    let named = read.requirements.into_iter().filter_map(|listed| match listed.entry {
        Listed::Named(requirement) => Some(Requires { requirement, extra: None }),
        Listed::Unnamed(_) => None,
    });
    repository.requires.extend(named);
}
