//! One lock: solved over the catalog, written as text, compared with what was there.

use std::collections::{BTreeMap, BTreeSet};

use reana_lockfile::{Change, Lock, LockContent};
use reana_model::{PackageName, Pin};
use reana_resolver::{MergedPin, Note, RequiredBy, SolveError, Why};

use super::build_requirements::{self, BuildLock, Sdist};
use super::catalog::RunCatalog;
use super::prepare::{self, Prepared};
use super::{pins, pylock, status, trace};
use crate::args::{Hashes, OutputFormat};
use crate::error::Failure;

/// A lock as it would be written, and what the run learned on the way.
pub(crate) struct Locked {
    /// The lock's text.
    pub(crate) text: String,
    /// Its pins.
    pub(crate) pins: Vec<Pin>,
    /// How its pins differ from the old lock's.
    pub(crate) changes: Vec<Change>,
    /// Why old pins were not kept, by package.
    pub(crate) dropped: BTreeMap<String, String>,
    /// The same, as the solution has them: with how well each one's requirements are known.
    pub(crate) merged: Vec<MergedPin>,
    /// Answers to `--explain`.
    pub(crate) why: Vec<Why>,
    /// The packages that an installer would build.
    pub(crate) sdists: Vec<Sdist>,
    /// What they need for that, if it is to be locked.
    pub(crate) build: Option<BuildLock>,
    /// What the user should know.
    pub(crate) notes: Vec<String>,
    /// The same at length, for those who asked for more.
    pub(crate) details: Vec<String>,
    /// What pip will refuse.
    pub(crate) warnings: Vec<String>,
}

/// Makes one lock. `trace` gets the solver's decisions, if they are asked for, also where there is none.
pub(crate) fn lock(
    prepared: &Prepared,
    catalog: &RunCatalog,
    explain: &[PackageName],
    trace: &mut String,
) -> Result<Locked, Failure> {
    let mut decisions = Vec::new();
    let solved = reana_resolver::solve_traced(catalog, &prepared.request, &mut decisions);
    *trace = trace::text(prepared, &decisions);
    catalog.client().sound().map_err(|error| Failure::from_index(&error))?;
    let resolution = solved.map_err(|error| {
        let hints = catalog.locals.hints(&error);
        hints.into_iter().fold(failure(prepared, &error), Failure::hint)
    })?;
    let mut merged = resolution.merged();
    if prepared.hashes != Hashes::None && prepared.output_format == OutputFormat::Requirements {
        refuse_repositories(&merged)?;
    }
    let local = catalog.locals.mark(&mut merged);
    let pins = pins::pins_of(&merged, &prepared.sources, prepared.hashes, &prepared.allowed, catalog)?;
    let content = LockContent {
        header: Some(prepared.header.clone()),
        preview: !local.is_empty(),
        notes: local,
        options: prepared.emitted.clone(),
        pins: &pins,
    };
    let (text, warnings) = match prepared.output_format {
        OutputFormat::Pylock => (pylock::text(prepared, &merged, &pins, catalog)?, Vec::new()),
        OutputFormat::Requirements => (
            reana_lockfile::render(&content, &prepared.style),
            reana_lockfile::warnings(&content, &prepared.style).iter().map(ToString::to_string).collect(),
        ),
    };
    let changes = changes(prepared, &text);
    let (mut notes, details) = told(&resolution.notes);
    notes.extend(absent(prepared, &pins));
    notes.extend(status::notes(&pins, &catalog.client().project_statuses()));
    let dropped = dropped(&resolution.notes);
    let mut sdists = build_requirements::sdists(&resolution);
    sdists.retain(|sdist| !prepared.style.no_emit.contains(&sdist.name));
    let build =
        prepared.build.as_ref().map(|file| build_requirements::lock(prepared, file, catalog, &sdists));
    let build = build.transpose()?;
    match &build {
        Some(build) => notes.extend(build.notes.iter().cloned()),
        None if prepared.hashes == Hashes::None => {}
        None => notes.extend(build_requirements::uncovered(&sdists)),
    }
    let mut why = Vec::new();
    for name in explain {
        let found = reana_resolver::explain_why(catalog, &prepared.request, &resolution, name);
        why.extend(found.map_err(|error| failure(prepared, &error))?);
    }
    Ok(Locked { text, pins, changes, dropped, merged, why, notes, details, warnings, sdists, build })
}

/// How a lock's text differs from the old one, as far as both are understood.
fn changes(prepared: &Prepared, text: &str) -> Vec<Change> {
    if prepared.old_text.as_deref() == Some(text) {
        return Vec::new();
    }
    let new = prepare::parse(prepared.output_format, text, &prepared.lock_shown);
    let nothing = reana_lockfile::parse("", prepared.lock_shown.as_str());
    reana_lockfile::diff(prepared.old.as_ref().unwrap_or(&nothing), &new)
}

/// Repositories that packages require by themselves; what the manifests name was refused before.
fn refuse_repositories(merged: &[MergedPin]) -> Result<(), Failure> {
    for pin in merged {
        let Some(choice) = &pin.direct else { continue };
        let by = pin.wanted_by.iter().find_map(|reason| match &reason.by {
            RequiredBy::Package(name, version) => Some(format!("{name} {version}")),
            RequiredBy::Root(_) | RequiredBy::Constraint(_) => None,
        });
        let by = by.unwrap_or_default();
        if let Some(failure) = pins::refuse_repository(&by, &pin.name, &choice.direct) {
            return Err(failure);
        }
    }
    Ok(())
}

fn dropped(notes: &[Note]) -> BTreeMap<String, String> {
    let each = notes.iter().filter_map(|note| match note {
        Note::DroppedPreference { name, why, .. } => Some((name.to_string(), why.clone())),
        _ => None,
    });
    each.collect()
}

/// More passed-over versions, or pins that are years behind, than this are told by their number.
const MOST_ALIKE: usize = 3;

/// Notes for everybody, and those that only few want to read one by one: an older Python is passed over by many.
pub(crate) fn told(notes: &[Note]) -> (Vec<String>, Vec<String>) {
    let (mut told, mut details) = (Vec::new(), Vec::new());
    let passed = notes.iter().filter(|note| matches!(note, Note::NoUsableFile { .. }));
    let aged = notes.iter().filter(|note| matches!(note, Note::Aged { .. }));
    let (passed, aged): (Vec<&Note>, Vec<&Note>) = (passed.collect(), aged.collect());
    let others = notes.iter().filter(|note| !passed.contains(note) && !aged.contains(note));
    told.extend(others.map(ToString::to_string));
    let mut by_target: BTreeMap<String, BTreeSet<&PackageName>> = BTreeMap::new();
    for note in &passed {
        if let Note::NoUsableFile { name, target, .. } = note {
            by_target.entry(target.to_string()).or_default().insert(name);
        }
    }
    let counted = by_target.iter().map(|(target, names)| {
        let count = names.len();
        format!("{count} packages have newer versions with no file for {target} (`-v` names them)")
    });
    let behind = format!("{} packages are years behind their newest version (`-v` names them)", aged.len());
    for (alike, counted) in [(passed, counted.collect()), (aged, vec![behind])] {
        let each = alike.iter().map(ToString::to_string);
        if alike.len() <= MOST_ALIKE {
            told.extend(each);
        } else {
            told.extend::<Vec<String>>(counted);
            details.extend(each);
        }
    }
    (told, details)
}

/// A failure, with the component that it befell.
fn failure(prepared: &Prepared, error: &SolveError) -> Failure {
    let mut failure = Failure::from_solve(error);
    if !prepared.name.is_empty() {
        failure.message = format!("{}: {}", prepared.name, failure.message);
    }
    failure
}

/// Packages that were to be moved and that nothing requires.
fn absent(prepared: &Prepared, pins: &[Pin]) -> Vec<String> {
    let there: BTreeSet<&PackageName> = pins.iter().map(|pin| &pin.name).collect();
    let absent = prepared.moved.iter().filter(|name| !there.contains(name));
    absent.map(|name| format!("nothing requires {name}, so `-P {name}` changes nothing")).collect()
}

/// Whether a lock is what it would be if it were made now, and if not, why not.
pub(crate) fn stale(prepared: &Prepared, locked: &Locked) -> Vec<String> {
    let problems = prepared.old.iter().flat_map(|old: &Lock| &old.problems);
    let problems = problems.map(ToString::to_string).collect();
    stale_reasons(prepared.old_text.as_deref(), &locked.text, &locked.changes, problems)
}

/// The same of any file that this command writes.
pub(crate) fn stale_reasons(
    old: Option<&str>,
    new: &str,
    changes: &[Change],
    problems: Vec<String>,
) -> Vec<String> {
    match old {
        None => vec!["there is no lock".to_owned()],
        Some(old) if old == new => Vec::new(),
        Some(_) if changes.is_empty() && problems.is_empty() => {
            vec!["header, options or layout differ".to_owned()]
        }
        Some(_) => changes.iter().map(super::report::change).chain(problems).collect(),
    }
}
