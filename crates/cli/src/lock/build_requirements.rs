//! What a lock's sdists need to be built, as a lock of its own for pip's `--build-constraint`.
//!
//! A lock's hashes cover what is installed. An sdist is built first, with setuptools and its like, which the
//! installer takes from the index as they are that day: code that runs, and that no hash covers.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use reana_index::BuildAnswer;
use reana_lockfile::{Change, Command, EmittedOptions, HeaderOut, Lock, LockContent};
use reana_manifest::read_build;
use reana_model::file::CoreMetadata;
use reana_model::{DistFile, DistName, Origin, PackageName, Pin, Requirement, Target, Version, Via, Yanked};
use reana_resolver::{Chosen, Preference, Request, Resolution, ResolutionMode};

use super::catalog::{self, RunCatalog};
use super::pins::{self, Sources};
use super::prepare::Prepared;
use super::{declared, solve};
use crate::doors::disk::{self, Project};
use crate::error::Failure;

/// What is built is built with what is built, and so on: deeper than this it is not followed.
const MOST_ROUNDS: usize = 10;

/// Older versions of setuptools ask for `wheel` when they build one.
const NEEDS_NO_WHEEL: [u64; 2] = [70, 1];

/// Where the lock of build requirements goes.
#[derive(Clone, Debug)]
pub(crate) struct BuildFile {
    /// The file.
    pub(crate) path: PathBuf,
    /// The file as the user sees it.
    pub(crate) shown: String,
    /// What was there.
    pub(crate) old_text: Option<String>,
}

/// A package of a lock that an installer would build.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Sdist {
    /// The package.
    pub(crate) name: PackageName,
    /// Its version.
    pub(crate) version: Version,
    /// What is built.
    from: Source,
    /// The targets that have no wheel of it.
    pub(crate) targets: Vec<Target>,
}

/// What is built.
#[derive(Clone, Debug, PartialEq)]
enum Source {
    /// An archive.
    Archive(Arc<DistFile>),
    /// A folder of this machine.
    Folder(PathBuf),
    /// Something that is not looked into.
    Other(String),
}

/// A lock of build requirements, as it would be written.
pub(crate) struct BuildLock {
    /// Where it goes.
    pub(crate) file: BuildFile,
    /// Its text.
    pub(crate) text: String,
    /// Its pins.
    pub(crate) pins: Vec<Pin>,
    /// How they differ from the old ones.
    pub(crate) changes: Vec<Change>,
    /// How many packages it serves the build of: the lock's own, and those that these need.
    pub(crate) built: usize,
    /// What the user should know.
    pub(crate) notes: Vec<String>,
}

impl Sdist {
    /// `name version`.
    pub(crate) fn shown(&self) -> String {
        format!("{} {}", self.name, self.version)
    }

    /// The file's or folder's name.
    pub(crate) fn file(&self) -> String {
        match &self.from {
            Source::Archive(file) => file.name.file().to_owned(),
            Source::Folder(folder) => folder.display().to_string(),
            Source::Other(url) => reana_lockfile::without_credentials(url),
        }
    }
}

/// The packages of a solution that an installer would build, by name.
pub(crate) fn sdists(resolution: &Resolution) -> Vec<Sdist> {
    let mut found: BTreeMap<(PackageName, String), Sdist> = BTreeMap::new();
    for solved in &resolution.solved {
        for (name, chosen) in &solved.packages {
            let Some(from) = source_of(chosen) else { continue };
            let sdist =
                Sdist { name: name.clone(), version: chosen.version.clone(), from, targets: Vec::new() };
            let known = found.entry((name.clone(), sdist.file())).or_insert(sdist);
            known.targets.push(solved.target);
        }
    }
    found.into_values().collect()
}

fn source_of(chosen: &Chosen) -> Option<Source> {
    let Some(choice) = &chosen.direct else {
        let file = chosen.file.as_ref()?;
        return file.name.wheel().is_none().then(|| Source::Archive(Arc::clone(file)));
    };
    let url = choice.direct.url.as_str();
    if let Some(Ok(folder)) = catalog::folder_of(url) {
        return Some(Source::Folder(folder));
    }
    let address = url.split(['#', '?']).next().unwrap_or(url);
    let file = address.rsplit('/').next().unwrap_or(address);
    if file.ends_with(".whl") {
        return None;
    }
    if catalog::is_repository(url) {
        return Some(Source::Other(url.to_owned()));
    }
    Some(Source::Archive(Arc::new(DistFile {
        name: DistName::Sdist { file: file.to_owned(), version: chosen.version.clone() },
        url: url.to_owned(),
        sha256: choice.sha256,
        size: None,
        requires_python: None,
        yanked: Yanked::No,
        uploaded: None,
        core_metadata: CoreMetadata::Absent,
    })))
}

/// What is said of a lock whose sdists are built with whatever the index has that day.
pub(crate) fn uncovered(sdists: &[Sdist]) -> Option<String> {
    let names: Vec<String> = sdists.iter().map(Sdist::shown).collect();
    let (are, them) = match names.len() {
        0 => return None,
        1 => ("1 sdist is".to_owned(), "it"),
        count => (format!("{count} sdists are"), "them"),
    };
    Some(format!(
        "{are} built at install time with requirements that no hash covers: {}; `--build-requirements FILE` \
         locks {them}",
        names.join(", ")
    ))
}

/// Locks what the sdists need to be built.
pub(crate) fn lock(
    prepared: &Prepared,
    file: &BuildFile,
    catalog: &RunCatalog,
    sdists: &[Sdist],
) -> Result<BuildLock, Failure> {
    let old = file.old_text.as_deref().map(|text| reana_lockfile::parse(text, file.shown.as_str()));
    let mut needs = Needs::default();
    needs.read(catalog, sdists)?;
    let mut resolution = Resolution::default();
    for round in 0..=MOST_ROUNDS {
        let request = needs.request(prepared, old.as_ref());
        resolution = reana_resolver::solve(catalog, &request).map_err(|error| failure(prepared, &error))?;
        if !needs.grow(catalog, &resolution)? {
            break;
        }
        if round == MOST_ROUNDS {
            needs
                .notes
                .push("what is needed to build what is needed to build is not followed to its end".into());
        }
    }
    let merged = resolution.merged();
    let none = pins::Allowed::new();
    let pins = pins::pins_of(&merged, &needs.sources, prepared.hashes, &none, catalog)?;
    let served: Vec<String> = sdists.iter().map(Sdist::shown).collect();
    let purpose = if served.is_empty() {
        "Nothing of the lock is built when it is installed.".to_owned()
    } else {
        format!("For pip's --build-constraint, to build {}.", served.join(", "))
    };
    let content = LockContent {
        header: Some(header(prepared, file)),
        preview: false,
        notes: vec![purpose],
        options: EmittedOptions::default(),
        pins: &pins,
    };
    let text = reana_lockfile::render(&content, &prepared.style);
    let new = reana_lockfile::parse(&text, file.shown.as_str());
    let nothing = reana_lockfile::parse("", file.shown.as_str());
    let changes = reana_lockfile::diff(old.as_ref().unwrap_or(&nothing), &new);
    let mut notes = needs.notes;
    notes.extend(solve::told(&resolution.notes).0);
    let warnings = reana_lockfile::warnings(&content, &prepared.style);
    notes.extend(warnings.iter().map(ToString::to_string));
    Ok(BuildLock { file: file.clone(), text, pins, changes, built: needs.built.len(), notes })
}

/// Whether the file is what it would be if it were made now, and if not, why not.
pub(crate) fn stale(build: &BuildLock) -> Vec<String> {
    solve::stale_reasons(build.file.old_text.as_deref(), &build.text, &build.changes, Vec::new())
}

fn failure(prepared: &Prepared, error: &reana_resolver::SolveError) -> Failure {
    let mut failure = Failure::from_solve(error);
    let name = if prepared.name.is_empty() { String::new() } else { format!("{}: ", prepared.name) };
    failure.message = format!("{name}what the sdists need to be built can't be locked: {}", failure.message);
    if matches!(error, reana_resolver::SolveError::NoSolution(_)) {
        return failure.hint(
            "each sdist is built in an environment of its own, but `--build-constraint` names one version of a \
             package for all of them: choose a version of one of the sdists that has a wheel, or that asks for less",
        );
    }
    failure
}

fn header(prepared: &Prepared, file: &BuildFile) -> HeaderOut {
    let mut header = prepared.header.clone();
    if let Command::Words { options, .. } = &mut header.command {
        let folder = prepared.lock.as_deref().and_then(Path::parent).unwrap_or(Path::new(""));
        let path = crate::paths::relative(&file.path, folder);
        options.push(("--build-requirements".to_owned(), Some(path)));
    }
    header
}

/// What is needed so far.
#[derive(Default)]
struct Needs {
    built: Vec<Sdist>,
    by_target: Vec<(Target, Vec<Requirement>)>,
    sources: Sources,
    /// The sdists that setuptools builds, by the place of its requirement.
    by_setuptools: Vec<(Origin, Vec<Target>)>,
    notes: Vec<String>,
}

impl Needs {
    /// Adds what these need.
    fn read(&mut self, catalog: &RunCatalog, sdists: &[Sdist]) -> Result<(), Failure> {
        for (sdist, target) in sdists.iter().flat_map(|sdist| sdist.targets.iter().map(move |it| (sdist, it)))
        {
            if let Source::Archive(file) = &sdist.from {
                catalog.client().expect_build_requirements(file, target);
            }
        }
        for sdist in sdists {
            for target in &sdist.targets {
                let answer = answer(catalog, sdist, target)?;
                self.add(sdist, *target, answer);
            }
            self.built.push(sdist.clone());
        }
        Ok(())
    }

    fn add(&mut self, sdist: &Sdist, target: Target, answer: BuildAnswer) {
        let mut note = |note: String| {
            if !self.notes.contains(&note) {
                self.notes.push(note);
            }
        };
        let needs = match answer {
            BuildAnswer::Known(needs) => needs,
            BuildAnswer::Unknown(reason) => {
                note(format!("what {} needs to be built is not known: {reason}", sdist.shown()));
                return;
            }
        };
        for reason in &needs.open {
            note(format!("what {} needs to be built is not all known: {reason}", sdist.shown()));
        }
        let via = Via::Project { name: sdist.name.to_string(), file: sdist.file() };
        for requirement in &needs.requires {
            self.sources.insert(requirement.origin.file.clone(), via.clone());
        }
        if needs.backend.starts_with("setuptools.") {
            let origin = needs.requires.first().map(|requirement| requirement.origin.clone());
            let origin = origin.unwrap_or_else(|| Origin::whole(sdist.file()));
            self.sources.insert(origin.file.clone(), via);
            self.by_setuptools.push((origin, vec![target]));
        }
        match self.by_target.iter_mut().find(|(known, _)| *known == target) {
            Some((_, requirements)) => requirements.extend(needs.requires),
            None => self.by_target.push((target, needs.requires)),
        }
    }

    /// Adds what the solution needs that was not asked for yet. Whether there was any.
    fn grow(&mut self, catalog: &RunCatalog, resolution: &Resolution) -> Result<bool, Failure> {
        let mut new = Vec::new();
        for mut sdist in sdists(resolution) {
            for known in self.built.iter().filter(|known| known.from == sdist.from) {
                sdist.targets.retain(|target| !known.targets.contains(target));
            }
            if !sdist.targets.is_empty() {
                new.push(sdist);
            }
        }
        self.read(catalog, &new)?;
        Ok(self.add_wheel(resolution) || !new.is_empty())
    }

    /// Adds `wheel` where a version of setuptools was chosen that asks for it.
    fn add_wheel(&mut self, resolution: &Resolution) -> bool {
        let without = Version::new(NEEDS_NO_WHEEL);
        let is_named = |package: &PackageName, name: &str| package.as_ref() == name;
        let mut grew = false;
        for solved in &resolution.solved {
            let mut packages = solved.packages.iter();
            let setuptools = packages.find(|(name, _)| is_named(name, "setuptools"));
            if setuptools.is_none_or(|(_, chosen)| chosen.version >= without) {
                continue;
            }
            let asking = self.by_setuptools.iter().find(|(_, targets)| targets.contains(&solved.target));
            let Some((origin, _)) = asking else { continue };
            let Ok(wheel) = Requirement::parse("wheel", origin.clone()) else { continue };
            let listed = self.by_target.iter_mut().find(|(target, _)| *target == solved.target);
            if let Some((_, requirements)) = listed
                && !requirements.iter().any(|it| is_named(&it.name, "wheel"))
            {
                requirements.push(wheel);
                grew = true;
            }
        }
        grew
    }

    fn request(&self, prepared: &Prepared, old: Option<&Lock>) -> Request {
        let all = prepared.request.targets.iter().map(|target| {
            let listed = self.by_target.iter().find(|(known, _)| known == target);
            (*target, listed.map(|(_, requirements)| requirements.clone()).unwrap_or_default())
        });
        let preference = |pin: &reana_lockfile::LockedPin| {
            Some(Preference { name: pin.name.clone(), version: pin.version.clone()? })
        };
        let kept = old.iter().flat_map(|old| &old.pins).filter(|pin| !prepared.moved.contains(&pin.name));
        let preferences = kept.filter(|_| !prepared.upgrade).filter_map(preference).collect();
        let mut policy = prepared.request.policy.clone();
        // The lowest versions are for those who test their own bounds. Nobody tests an sdist's.
        policy.resolution = ResolutionMode::Highest;
        Request {
            roots: declared::merge(all.collect()),
            constraints: prepared.request.constraints.clone(),
            overrides: prepared.request.overrides.clone(),
            targets: prepared.request.targets.clone(),
            preferences,
            policy,
            trace: false,
        }
    }
}

fn answer(catalog: &RunCatalog, sdist: &Sdist, target: &Target) -> Result<BuildAnswer, Failure> {
    match &sdist.from {
        Source::Archive(file) => {
            let answer = catalog.client().build_requirements(file, target);
            answer.map_err(|error| Failure::from_index(&error))
        }
        Source::Folder(folder) => {
            let shown = folder.display().to_string();
            let project = Project::open(folder).map_err(|error| Failure::from_disk(&error))?;
            Ok(match read_build(&project, &shown, target) {
                Ok(needs) => reana_index::sdist::build_answer(needs),
                Err(problem) => BuildAnswer::Unknown(problem.to_string()),
            })
        }
        Source::Other(_) => Ok(BuildAnswer::Unknown("it is a repository, which is not looked into".into())),
    }
}

/// Where the file goes: a bare name beside the lock, so that each lock of a fleet has its own; a path as the user
/// wrote it.
pub(crate) fn file_for(
    given: &str,
    cwd: &Path,
    lock: Option<&Path>,
    lock_folder: &Path,
) -> Result<BuildFile, Failure> {
    let folder = if given.contains('/') { cwd } else { lock_folder };
    let path = crate::paths::tidy(&folder.join(given));
    if lock == Some(path.as_path()) {
        return Err(Failure::input(format!("--build-requirements: {given} is the lock itself")));
    }
    let bytes = disk::read_if_there(&path).map_err(|error| Failure::from_disk(&error))?;
    let old_text = bytes.map(String::from_utf8).transpose();
    let old_text = old_text.map_err(|_| {
        Failure::input(format!("{}: not UTF-8 text; nothing is written over it", path.display()))
    })?;
    let shown = crate::paths::relative(&path, cwd);
    Ok(BuildFile { path, shown, old_text })
}
