//! What a command line is about: which components of which fleet, or which manifest files.

use std::path::{Path, PathBuf};

use reana_model::Origin;

use crate::config::{self, ComponentSettings, Config, ConfigError};
use crate::doors::disk::{self, DiskError, Entry};
use crate::paths;
use crate::ui::Ui;

pub(crate) mod census;
pub(crate) mod images;
mod names;
pub(crate) mod repositories;
mod sources;
mod survey;

#[cfg(test)]
mod tests;

pub(crate) use sources::sources;
use survey::{Candidate, survey};

/// The word that stands for every locked component of the fleet.
pub(crate) const CLUSTER: &str = "CLUSTER";

/// A lock's name where nothing says otherwise.
pub(crate) const DEFAULT_LOCK: &str = "requirements.txt";

/// What is to be locked.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Plan {
    /// The fleet's folder: where `reana-lock.toml` is, or whose subfolders hold the components. `None` for
    /// a component or files that belong to none.
    pub(crate) fleet_root: Option<PathBuf>,
    /// The fleet's settings; all at their defaults where there is no file.
    pub(crate) config: Config,
    /// What is locked, sorted by folder, each once. Files in one command line are one unit.
    pub(crate) units: Vec<Unit>,
    /// What the user may want to know about what was not taken.
    pub(crate) notes: Vec<Note>,
}

/// What makes one lock.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Unit {
    /// The folder's name, or as `reana-lock.toml` lists it.
    pub(crate) name: String,
    /// The folder, absolute and without links; sources and lock are in it.
    pub(crate) folder: PathBuf,
    /// The folder as the user sees it from where they stand: `reana-server`, `..`; empty for here.
    pub(crate) shown: String,
    /// A component, or files.
    pub(crate) kind: UnitKind,
    /// The lock's path; absolute. `None` where several files were named and none is the obvious one.
    pub(crate) lock: Option<PathBuf>,
    /// Why it is locked.
    pub(crate) because: Because,
    /// What `reana-lock.toml` says about it.
    pub(crate) settings: ComponentSettings,
}

/// A component, or files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum UnitKind {
    /// A component: its sources are found by [`sources`].
    Component,
    /// These manifests, as they were named and in that order, relative to the unit's folder or absolute.
    Files(Vec<PathBuf>),
}

/// Why something is locked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Because {
    /// It was named on the command line.
    Named,
    /// `reana-lock.toml` lists it, here.
    Listed(Origin),
    /// It has a lock.
    Lock,
    /// Its Dockerfile installs from the lock, here.
    Dockerfile(Origin),
}

/// What was not taken, or not looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Note {
    /// A folder with a manifest that is no locked component.
    NotLocked {
        /// The folder's name.
        name: String,
        /// Whether `reana-lock.toml` calls it a shared package.
        shared: bool,
    },
    /// A folder that is a link to somewhere outside of the fleet.
    LinkOutside {
        /// The link's name.
        name: String,
    },
    /// A folder in which nothing may be looked at, so that a component may be missed.
    Unreadable {
        /// Which one, and why.
        why: String,
    },
    /// A table of `reana-lock.toml` for a component that is not there.
    NoSuchComponent {
        /// The component's name.
        name: String,
        /// The table.
        place: Origin,
    },
    /// A `reana-lock.toml` above that somebody else owns, and that is not trusted for this.
    ForeignConfig {
        /// The file.
        path: PathBuf,
    },
}

/// Why there is nothing to lock, or not clearly.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FleetError {
    /// What was named is neither there nor a component's name.
    #[error("`{what}`: there is no such file or folder")]
    NoSuch {
        /// As it was named.
        what: String,
    },
    /// What was named is no file that could be read as a manifest.
    #[error("`{what}`: neither a folder nor a regular file")]
    NotAFile {
        /// As it was named.
        what: String,
    },
    /// What was named is no folder.
    #[error("`{what}`: not a folder, and images are built from folders")]
    NotAFolder {
        /// As it was named.
        what: String,
    },
    /// No component is called so.
    #[error("`{name}`: no such file or folder, and no component is called so{}", among(candidates))]
    UnknownName {
        /// As it was named.
        name: String,
        /// The names that there are.
        candidates: Vec<String>,
    },
    /// Several components may be meant.
    #[error("`{name}` may stand for {}", candidates.join(", "))]
    Ambiguous {
        /// As it was named.
        name: String,
        /// The names that it may stand for.
        candidates: Vec<String>,
    },
    /// Files are one lock, folders each their own: together they mean nothing.
    #[error("`{file}` is a file and `{other}` is not: files make one lock together, components one each")]
    Mixed {
        /// The first file.
        file: String,
        /// The first other one.
        other: String,
    },
    /// A folder without anything to lock.
    #[error("{}: nothing to lock: no manifest (setup.py, pyproject.toml, setup.cfg, requirements.in), and no folder with a locked component{}", folder.display(), but(seen))]
    NothingToLock {
        /// The folder.
        folder: PathBuf,
        /// Folders in it that have a manifest and no other sign of being locked.
        seen: Vec<String>,
    },
    /// A name was given where no fleet is.
    #[error("`{what}`: no fleet here: neither {} nor the folder above holds components", cwd.display())]
    NoFleet {
        /// As it was named.
        what: String,
        /// Where the run stands.
        cwd: PathBuf,
    },
    /// `reana-lock.toml` lists a folder that is not there or has no manifest.
    #[error("{place}: `{name}` is listed as a component, but {}", if *there { "it has no manifest" } else { "there is no such folder" })]
    Listed {
        /// As it is listed.
        name: String,
        /// Where.
        place: Origin,
        /// Whether there is a folder.
        there: bool,
    },
    /// What was named belongs to different fleets, whose settings may differ.
    #[error("{} and {} are settings of two fleets: one run is for one of them", first.display(), second.display())]
    TwoFleets {
        /// The one file.
        first: PathBuf,
        /// The other file.
        second: PathBuf,
    },
    /// A manifest that `reana-lock.toml` names is not there.
    #[error("{}: there is no `{source_file}`, which reana-lock.toml names as a source", folder.display())]
    SourceAbsent {
        /// The component's folder.
        folder: PathBuf,
        /// The manifest, as it is named.
        source_file: String,
    },
    /// A manifest that the old lock's header names is not there, and others of it are.
    #[error("{}: there is no `{source_file}` in it, which the old lock's header names as a source", folder.display())]
    HeaderSourceAbsent {
        /// The component's folder.
        folder: PathBuf,
        /// The manifest, as it is named.
        source_file: String,
    },
    /// `reana-lock.toml` is wrong.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The file system.
    #[error(transparent)]
    Disk(#[from] DiskError),
}

fn among(candidates: &[String]) -> String {
    if candidates.is_empty() { String::new() } else { format!(" (there are {})", candidates.join(", ")) }
}

fn but(seen: &[String]) -> String {
    if seen.is_empty() {
        return String::new();
    }
    format!(" (a manifest alone, without a lock or a Dockerfile that installs from one: {})", seen.join(", "))
}

impl Note {
    /// Says it: what may be missed to everybody, the rest to those who asked for more.
    pub(crate) fn tell(&self, ui: &Ui) {
        match self {
            Self::Unreadable { .. } => ui.warn(&self.to_string()),
            Self::NotLocked { .. }
            | Self::LinkOutside { .. }
            | Self::NoSuchComponent { .. }
            | Self::ForeignConfig { .. } => ui.detail(&self.to_string()),
        }
    }
}

impl std::fmt::Display for Note {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::NotLocked { name, shared: true } => write!(f, "{name} is a shared package, and not locked"),
            Self::NotLocked { name, shared: false } => write!(
                f,
                "{name} is not locked: it has a manifest, but neither a lock nor a Dockerfile that installs from one"
            ),
            Self::LinkOutside { name } => write!(f, "{name} is a link that leads outside, and not looked at"),
            Self::Unreadable { why } => write!(f, "{why}; if a component is in it, it is left out"),
            Self::NoSuchComponent { name, place } => {
                write!(f, "{place}: there is no component `{name}`, and what is said about it goes unused")
            }
            Self::ForeignConfig { path } => {
                write!(f, "{} belongs to another user, and is not trusted here", path.display())
            }
        }
    }
}

impl Plan {
    /// The folder that the journal of this plan's locks belongs in: the fleet's, else the one folder that
    /// holds all units.
    pub(crate) fn journal_folder(&self) -> PathBuf {
        let folders = self.units.iter().map(|unit| unit.folder.as_path());
        let folders = self.fleet_root.as_deref().into_iter().chain(folders);
        let common = folders.map(Path::to_path_buf).reduce(|common, folder| {
            let shared = common.components().zip(folder.components()).take_while(|(a, b)| a == b);
            shared.map(|(part, _)| part).collect()
        });
        common.unwrap_or_default()
    }
}

/// What a word of the command line stands for.
enum Named {
    Folder(PathBuf),
    File,
    Name(String),
    Cluster,
}

/// Finds what is to be locked. `what` is as typed; nothing means the folder that the run stands in.
pub(crate) fn discover(what: &[String], cwd: &Path) -> Result<Plan, FleetError> {
    let cwd = disk::canonical(cwd)?;
    let here = [".".to_owned()];
    let what = if what.is_empty() { &here } else { what };
    let named = what.iter().map(|what| classify(what, &cwd)).collect::<Result<Vec<_>, _>>()?;

    let file = named.iter().position(|named| matches!(named, Named::File));
    let other = named.iter().position(|named| !matches!(named, Named::File));
    if let (Some(file), Some(other)) = (file, other) {
        let word = |at: usize| what.get(at).cloned().unwrap_or_default();
        return Err(FleetError::Mixed { file: word(file), other: word(other) });
    }
    let mut search = Search { cwd, plan: Plan::default(), default_config: true };
    if file.is_some() {
        search.files(what)?;
        return Ok(search.plan);
    }
    for (named, what) in named.into_iter().zip(what) {
        match named {
            Named::Folder(folder) => search.folder(&folder)?,
            Named::Cluster => search.cluster(what)?,
            Named::Name(name) => search.name(&name)?,
            Named::File => {}
        }
    }
    let Plan { units, notes, .. } = &mut search.plan;
    units.sort_by(|a, b| a.folder.cmp(&b.folder));
    units.dedup_by(|a, b| a.folder == b.folder);
    let is_taken = |name: &str| units.iter().any(|unit| unit.name == name);
    notes.retain(|note| !matches!(note, Note::NotLocked { name, .. } if is_taken(name)));
    Ok(search.plan)
}

fn classify(what: &str, cwd: &Path) -> Result<Named, FleetError> {
    if what == CLUSTER {
        return Ok(Named::Cluster);
    }
    let path = cwd.join(what);
    match disk::entry(&path) {
        Entry::Folder => Ok(Named::Folder(disk::canonical(&path)?)),
        Entry::File => Ok(Named::File),
        Entry::Other => Err(FleetError::NotAFile { what: what.to_owned() }),
        Entry::Absent if names::is_name(what) => Ok(Named::Name(what.to_owned())),
        Entry::Absent => Err(FleetError::NoSuch { what: what.to_owned() }),
    }
}

struct Search {
    cwd: PathBuf,
    plan: Plan,
    /// Whether no settings were chosen yet.
    default_config: bool,
}

/// A folder with components in it.
struct Fleet {
    root: PathBuf,
    config: Config,
    candidates: Vec<Candidate>,
    notes: Vec<Note>,
}

impl Search {
    /// A folder: a fleet when `reana-lock.toml` in it lists components, a component when it has a manifest,
    /// else a fleet when its subfolders hold components.
    fn folder(&mut self, folder: &Path) -> Result<(), FleetError> {
        let own = Config::of_folder(folder)?;
        if own.components.is_empty()
            && let Some(candidate) = Candidate::at(folder, own_name(folder), &own)?
        {
            let config = if own.path.is_some() { Some(own) } else { self.config_above(folder)? };
            let root = config.as_ref().and_then(|config| config.folder().map(Path::to_path_buf));
            self.take_config(config.unwrap_or_default(), root)?;
            let because = candidate.because.clone().unwrap_or(Because::Named);
            self.take(candidate, because);
            return Ok(());
        }
        let (candidates, notes) = survey(folder, &own)?;
        if !candidates.iter().any(Candidate::is_locked) {
            let seen = candidates.into_iter().map(|candidate| candidate.name).collect();
            return Err(FleetError::NothingToLock { folder: folder.to_owned(), seen });
        }
        let config = if own.path.is_some() { Some(own) } else { self.config_above(folder)? };
        self.take_config(config.unwrap_or_default(), Some(folder.to_owned()))?;
        self.take_locked(candidates, notes);
        Ok(())
    }

    fn cluster(&mut self, what: &str) -> Result<(), FleetError> {
        let fleet = self.fleet(what, |candidates| candidates.iter().any(Candidate::is_locked))?;
        if !fleet.candidates.iter().any(Candidate::is_locked) {
            let seen = fleet.candidates.into_iter().map(|candidate| candidate.name).collect();
            return Err(FleetError::NothingToLock { folder: fleet.root, seen });
        }
        self.take_config(fleet.config, Some(fleet.root))?;
        self.take_locked(fleet.candidates, fleet.notes);
        Ok(())
    }

    fn name(&mut self, name: &str) -> Result<(), FleetError> {
        let find = |candidates: &[Candidate]| {
            let known: Vec<&str> = candidates.iter().map(|candidate| candidate.name.as_str()).collect();
            names::matches(name, &known)
        };
        let mut fleet = self.fleet(name, |candidates| !find(candidates).is_empty())?;
        let called = |at: &usize| fleet.candidates.get(*at).map(|candidate| candidate.name.clone());
        let at = match find(&fleet.candidates)[..] {
            [at] => at,
            [] => {
                let candidates = fleet.candidates.into_iter().map(|candidate| candidate.name).collect();
                return Err(FleetError::UnknownName { name: name.to_owned(), candidates });
            }
            ref several => {
                let candidates = several.iter().filter_map(called).collect();
                return Err(FleetError::Ambiguous { name: name.to_owned(), candidates });
            }
        };
        self.take_config(fleet.config, Some(fleet.root))?;
        self.take(fleet.candidates.swap_remove(at), Because::Named);
        Ok(())
    }

    /// The fleet that names are looked up in: the nearest folder upward with `reana-lock.toml`, else the
    /// current folder, else the one above; the first that has what is wanted, else the first that has any
    /// component.
    fn fleet(&mut self, what: &str, has_it: impl Fn(&[Candidate]) -> bool) -> Result<Fleet, FleetError> {
        let above = self.config_above(&self.cwd.clone())?;
        let root = above.as_ref().and_then(Config::folder).map(Path::to_path_buf);
        let folders = [root, Some(self.cwd.clone()), self.cwd.parent().map(Path::to_path_buf)];
        let mut first = None;
        for root in folders.into_iter().flatten() {
            let config = match &above {
                Some(above) if above.folder() == Some(&root) => above.clone(),
                _ => Config::of_folder(&root)?,
            };
            let (candidates, notes) = survey(&root, &config)?;
            let fleet = Fleet { root, config, candidates, notes };
            if has_it(&fleet.candidates) {
                return Ok(fleet);
            }
            if first.is_none() && !fleet.candidates.is_empty() {
                first = Some(fleet);
            }
        }
        first.ok_or_else(|| FleetError::NoFleet { what: what.to_owned(), cwd: self.cwd.clone() })
    }

    /// The settings of the nearest folder upward that has some. A file that neither the owner of `folder`
    /// nor root owns is not trusted: `/tmp` is above many folders, and anybody may write there.
    fn config_above(&mut self, folder: &Path) -> Result<Option<Config>, FleetError> {
        for above in folder.ancestors() {
            let path = above.join(config::FILE);
            if disk::entry(&path) != Entry::File {
                continue;
            }
            let owner = disk::owner(&path);
            if above == folder || owner == Some(0) || owner == disk::owner(folder) {
                return Ok(Some(Config::of_folder(above)?));
            }
            let note = Note::ForeignConfig { path };
            if !self.plan.notes.contains(&note) {
                self.plan.notes.push(note);
            }
        }
        Ok(None)
    }

    fn take_config(&mut self, config: Config, root: Option<PathBuf>) -> Result<(), FleetError> {
        if self.default_config {
            self.default_config = false;
            self.plan.fleet_root = root;
            self.plan.config = config;
            return Ok(());
        }
        let unset = || PathBuf::from("no file");
        if self.plan.config.path != config.path {
            let first = self.plan.config.path.clone().unwrap_or_else(unset);
            return Err(FleetError::TwoFleets { first, second: config.path.unwrap_or_else(unset) });
        }
        if self.plan.fleet_root != root {
            self.plan.fleet_root = None;
        }
        Ok(())
    }

    fn take_locked(&mut self, candidates: Vec<Candidate>, notes: Vec<Note>) {
        self.plan.notes.extend(notes);
        for name in self.plan.config.component.keys() {
            let is_it = |candidate: &Candidate| {
                candidate.name.rsplit('/').any(|part| part == name) || candidate.name == *name
            };
            if !candidates.iter().any(is_it) {
                let place = self.plan.config.place_of(&format!("component.{name}"));
                self.plan.notes.push(Note::NoSuchComponent { name: name.clone(), place });
            }
        }
        for candidate in candidates {
            match candidate.because.clone().filter(|_| candidate.is_locked()) {
                Some(because) => self.take(candidate, because),
                None => self
                    .plan
                    .notes
                    .push(Note::NotLocked { name: candidate.name, shared: candidate.is_shared }),
            }
        }
    }

    fn take(&mut self, candidate: Candidate, because: Because) {
        let settings = self.plan.config.for_component(&candidate.name);
        let lock = candidate.folder.join(settings.output.as_deref().unwrap_or(DEFAULT_LOCK));
        let shown = shown(&candidate.folder, &self.cwd);
        let Candidate { name, folder, .. } = candidate;
        let kind = UnitKind::Component;
        self.plan.units.push(Unit { name, folder, shown, kind, lock: Some(lock), because, settings });
    }

    /// Files: one unit, whose folder is that of the first one.
    fn files(&mut self, what: &[String]) -> Result<(), FleetError> {
        let Some(first) = what.first() else { return Ok(()) };
        let (folder, _) = disk::folder_and_name(&self.cwd.join(first))?;
        let folder = disk::canonical(&folder)?;
        let config = self.config_above(&folder)?;
        let root = config.as_ref().and_then(|config| config.folder().map(Path::to_path_buf));
        self.take_config(config.unwrap_or_default(), root)?;
        let mut files = Vec::new();
        for what in what {
            let (parent, name) = disk::folder_and_name(&self.cwd.join(what))?;
            let file = disk::canonical(&parent)?.join(name);
            let file = file.strip_prefix(&folder).map(Path::to_path_buf).unwrap_or(file);
            if !files.contains(&file) {
                files.push(file);
            }
        }
        let name = own_name(&folder);
        let lock = match &files[..] {
            [only] => lock_beside(only).map(|lock| folder.join(lock)),
            _ => None,
        };
        let settings = self.plan.config.for_component(&name);
        let shown = shown(&folder, &self.cwd);
        let kind = UnitKind::Files(files);
        self.plan.units.push(Unit { name, folder, shown, kind, lock, because: Because::Named, settings });
        Ok(())
    }
}

/// The lock of one manifest, by pip-compile's rule: `requirements.txt` for a project, else the name with
/// `.txt` for its last ending. `None` where that would be the manifest itself.
fn lock_beside(file: &Path) -> Option<PathBuf> {
    let name = file.file_name()?.to_str()?;
    let lock = match name {
        "setup.py" | "setup.cfg" | "pyproject.toml" => file.with_file_name(DEFAULT_LOCK),
        _ => file.with_extension("txt"),
    };
    (lock != file).then_some(lock)
}

fn own_name(folder: &Path) -> String {
    folder.file_name().map_or_else(|| "/".to_owned(), |name| name.to_string_lossy().into_owned())
}

/// A folder as the user sees it from where they stand; empty for here.
fn shown(folder: &Path, cwd: &Path) -> String {
    if folder == cwd { String::new() } else { paths::relative(folder, cwd) }
}
