//! Which repositories a command about images is about: folders and names as they are typed.

use std::path::{Path, PathBuf};

use super::census::{self, Census, Member};
use super::survey::Candidate;
use super::{CLUSTER, FleetError, Note, Plan, Search, own_name, shown};
use crate::config::Config;
use crate::doors::disk::{self, Entry};

/// A repository, with the settings that hold for it.
#[derive(Clone, Debug)]
pub(crate) struct Image {
    /// The repository.
    pub(crate) member: Member,
    /// The fleet's settings.
    pub(crate) config: Config,
    /// The fleet's folder; the repository's own where it is in none.
    pub(crate) root: PathBuf,
}

/// Finds what is meant, sorted by folder, each once. A folder with a Dockerfile or a manifest is a repository; one
/// whose subfolders hold images is a fleet, which stands for these; any other one is a repository too.
pub(crate) fn images(what: &[String], cwd: &Path) -> Result<(Vec<Image>, Vec<Note>), FleetError> {
    let cwd = disk::canonical(cwd)?;
    let here = [".".to_owned()];
    let (mut found, mut notes) = (Vec::new(), Vec::new());
    let mut names: Vec<String> = Vec::new();
    for word in if what.is_empty() { &here } else { what } {
        let path = cwd.join(word);
        match disk::entry(&path) {
            _ if word == CLUSTER => take_fleet(census::census(None, &cwd)?, &mut found, &mut notes),
            Entry::Folder => of_folder(&disk::canonical(&path)?, &cwd, &mut found, &mut notes)?,
            Entry::File | Entry::Other => return Err(FleetError::NotAFolder { what: word.clone() }),
            Entry::Absent if super::names::is_name(word) => names.push(word.clone()),
            Entry::Absent => return Err(FleetError::NoSuch { what: word.clone() }),
        }
    }
    if !names.is_empty() {
        let census = census::census(None, &cwd)?;
        let image = |member: &&Member| Image {
            member: (*member).clone(),
            config: census.config.clone(),
            root: census.root.clone(),
        };
        found.extend(census.named(&names)?.iter().map(image));
    }
    found.sort_by(|a, b| a.member.folder.cmp(&b.member.folder));
    found.dedup_by(|a, b| a.member.folder == b.member.folder);
    notes.dedup();
    Ok((found, notes))
}

/// The settings that hold in a folder: its own, else those of the nearest folder above that has some.
pub(crate) fn settings_of(folder: &Path) -> Result<(Config, Vec<Note>), FleetError> {
    let folder = disk::canonical(folder)?;
    let mut search = Search { cwd: folder.clone(), plan: Plan::default(), default_config: true };
    let config = search.config_above(&folder)?.unwrap_or_default();
    Ok((config, search.plan.notes))
}

fn take_fleet(census: Census, found: &mut Vec<Image>, notes: &mut Vec<Note>) {
    let Census { root, config, members, notes: more } = census;
    notes.extend(more);
    let images = members.into_iter().filter(|member| member.is_image);
    found.extend(images.map(|member| Image { member, config: config.clone(), root: root.clone() }));
}

fn of_folder(
    folder: &Path,
    cwd: &Path,
    found: &mut Vec<Image>,
    notes: &mut Vec<Note>,
) -> Result<(), FleetError> {
    let own = Config::of_folder(folder)?;
    let mut search = Search { cwd: cwd.to_owned(), plan: Plan::default(), default_config: true };
    let config = if own.path.is_some() { own } else { search.config_above(folder)?.unwrap_or_default() };
    let listed = config.folder() == Some(folder) && !config.components.is_empty();
    let candidate = Candidate::at(folder, own_name(folder), &config)?;
    let is_image = disk::entry(&folder.join("Dockerfile")) == Entry::File;
    if listed || (candidate.is_none() && !is_image) {
        let census = census::census(Some(folder), cwd)?;
        if census.members.iter().any(|member| member.is_image) {
            take_fleet(census, found, notes);
            return Ok(());
        }
    }
    notes.append(&mut search.plan.notes);
    let root = config.folder().unwrap_or(folder).to_path_buf();
    let member = match candidate {
        Some(candidate) => Member::of(candidate, cwd),
        None => Member {
            name: own_name(folder),
            shown: shown(folder, cwd),
            folder: folder.to_owned(),
            because: None,
            is_named_shared: false,
            is_image,
            has_manifest: false,
        },
    };
    found.push(Image { member, config, root });
    Ok(())
}
