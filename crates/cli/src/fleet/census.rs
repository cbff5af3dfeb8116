//! All repositories of a fleet: the locked ones, the shared packages, and images without a manifest.

use std::path::{Path, PathBuf};

use reana_model::{PythonVersion, Target};

use super::survey::{Candidate, survey};
use super::{Because, DEFAULT_LOCK, FleetError, Note, Plan, Search, Unit, UnitKind, names, shown};
use crate::config::{Config, DEFAULT_PLATFORM};
use crate::doors::disk::{self, Entry};
use crate::python_target::{self, Known};

/// A fleet with all its repositories.
#[derive(Clone, Debug)]
pub(crate) struct Census {
    /// The fleet's folder; absolute and without links.
    pub(crate) root: PathBuf,
    /// Its settings.
    pub(crate) config: Config,
    /// The repositories, sorted by name.
    pub(crate) members: Vec<Member>,
    /// What was not looked at.
    pub(crate) notes: Vec<Note>,
}

/// One repository.
#[derive(Clone, Debug)]
pub(crate) struct Member {
    /// The folder's name, or as `reana-lock.toml` lists it.
    pub(crate) name: String,
    /// The folder, absolute and without links.
    pub(crate) folder: PathBuf,
    /// The folder as the user sees it from where they stand; empty for here.
    pub(crate) shown: String,
    /// Why it is locked, if it is.
    pub(crate) because: Option<Because>,
    /// `reana-lock.toml` calls it a shared package.
    pub(crate) is_named_shared: bool,
    /// It has a Dockerfile.
    pub(crate) is_image: bool,
    /// It has a manifest.
    pub(crate) has_manifest: bool,
}

/// Finds a fleet: in this folder, else where `CLUSTER` would be looked for.
pub(crate) fn census(folder: Option<&Path>, cwd: &Path) -> Result<Census, FleetError> {
    let cwd = disk::canonical(cwd)?;
    let mut search = Search { cwd: cwd.clone(), plan: Plan::default(), default_config: true };
    let (root, config, candidates, mut notes) = match folder {
        Some(folder) => {
            let root = disk::canonical(&cwd.join(folder))?;
            let own = Config::of_folder(&root)?;
            let config =
                if own.path.is_some() { own } else { search.config_above(&root)?.unwrap_or_default() };
            let (candidates, notes) = survey(&root, &config)?;
            (root, config, candidates, notes)
        }
        None => {
            let fleet = search.fleet(".", |candidates| candidates.iter().any(Candidate::is_locked))?;
            (fleet.root, fleet.config, fleet.candidates, fleet.notes)
        }
    };
    notes.append(&mut search.plan.notes);
    let mut members: Vec<Member> =
        candidates.into_iter().map(|candidate| Member::of(candidate, &cwd)).collect();
    for name in disk::names(&root)? {
        let folder = root.join(&name);
        let is_known = members.iter().any(|member| member.folder == folder);
        if is_known || name.starts_with('.') || disk::is_link(&folder) || !has_dockerfile(&folder) {
            continue;
        }
        members.push(Member {
            shown: shown(&folder, &cwd),
            name,
            folder,
            because: None,
            is_named_shared: false,
            is_image: true,
            has_manifest: false,
        });
    }
    members.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(Census { root, config, members, notes })
}

fn has_dockerfile(folder: &Path) -> bool {
    disk::entry(&folder.join("Dockerfile")) == Entry::File
}

impl Member {
    pub(super) fn of(candidate: Candidate, cwd: &Path) -> Self {
        let because = candidate.because.clone().filter(|_| candidate.is_locked());
        let Candidate { name, folder, is_shared, .. } = candidate;
        Self {
            shown: shown(&folder, cwd),
            is_image: has_dockerfile(&folder),
            name,
            folder,
            because,
            is_named_shared: is_shared,
            has_manifest: true,
        }
    }

    /// Whether it is locked.
    pub(crate) fn is_locked(&self) -> bool {
        self.because.is_some()
    }

    /// A path of the repository as the user sees it.
    pub(crate) fn path_shown(&self, path: &str) -> String {
        if self.shown.is_empty() { path.to_owned() } else { format!("{}/{path}", self.shown) }
    }

    /// The lock's path, whether it is there or not.
    pub(crate) fn lock(&self, config: &Config) -> PathBuf {
        let output = config.for_component(&self.name).output;
        self.folder.join(output.as_deref().unwrap_or(DEFAULT_LOCK))
    }

    /// The target that its manifests are read for, where one is enough.
    pub(crate) fn target(&self, config: &Config) -> Target {
        let settings = config.for_component(&self.name);
        if let Some(target) = settings.targets.first() {
            return *target;
        }
        let known = Known { option: None, config: settings.python, header: None };
        let python: PythonVersion = python_target::choose(&self.folder, &self.shown, &known).python;
        Target { python, platform: DEFAULT_PLATFORM }
    }

    /// The repository as something to be solved.
    pub(crate) fn unit(&self, config: &Config) -> Unit {
        Unit {
            name: self.name.clone(),
            folder: self.folder.clone(),
            shown: self.shown.clone(),
            kind: UnitKind::Component,
            lock: Some(self.lock(config)),
            because: self.because.clone().unwrap_or(Because::Named),
            settings: config.for_component(&self.name),
        }
    }
}

impl Census {
    /// The repositories that words name as users write them (`r-server`); all, if there are none.
    pub(crate) fn named(&self, words: &[String]) -> Result<Vec<&Member>, FleetError> {
        let known: Vec<&str> = self.members.iter().map(|member| member.name.as_str()).collect();
        if words.is_empty() {
            return Ok(self.members.iter().collect());
        }
        let mut found: Vec<&Member> = Vec::new();
        for word in words {
            let called = |at: &usize| self.members.get(*at);
            let candidates =
                |list: &[usize]| list.iter().filter_map(called).map(|member| member.name.clone()).collect();
            match names::matches(word, &known)[..] {
                [at] => found.extend(called(&at)),
                [] => {
                    let candidates = known.iter().map(|name| (*name).to_owned()).collect();
                    return Err(FleetError::UnknownName { name: word.clone(), candidates });
                }
                ref several => {
                    let candidates = candidates(several);
                    return Err(FleetError::Ambiguous { name: word.clone(), candidates });
                }
            }
        }
        found.sort_by(|a, b| a.name.cmp(&b.name));
        found.dedup_by(|a, b| a.name == b.name);
        Ok(found)
    }
}
