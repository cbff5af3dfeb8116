//! `reana-lock compile`: locks components, or requirements files.

use std::num::NonZero;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use reana_model::{PackageName, Requirement};
use reana_resolver::Catalog as _;

use crate::args::{CompileArgs, Format};
use crate::bump::unfinished;
use crate::commands::check;
use crate::credentials;
use crate::doors::disk;
use crate::doors::env::Env;
use crate::error::Failure;
use crate::exit::Exit;
use crate::fleet::{self, Plan};
use crate::journal;
use crate::lock::catalog::{Builds, RunCatalog};
use crate::lock::local::Locals;
use crate::lock::prepare::{self, Prepared};
use crate::lock::report;
use crate::lock::repositories::Repositories;
use crate::lock::scout::Kept;
use crate::lock::solve::{self, Locked};
use crate::settings::{self, Places};
use crate::ui::Ui;

/// Locks what the arguments name.
pub(crate) fn run(args: &CompileArgs, ui: &Ui, env: &Env) -> Result<Exit, Failure> {
    let explain: Vec<PackageName> = settings::names("--explain", &args.output.explain)?.into_iter().collect();
    let plan = fleet::discover(&args.what, &env.cwd).map_err(|error| Failure::from_fleet(&error))?;
    check_usage(args, &plan)?;
    for note in &plan.notes {
        note.tell(ui);
    }
    mend(&plan, ui)?;
    if args.output.check && explain.is_empty() {
        return check::all(&plan, args, ui, env);
    }
    let held = journal::hold(&plan.journal_folder()).map_err(|error| Failure::from_journal(&error))?;
    let prepared = prepare::all(&plan, args, env)?;
    drop(held);
    for note in prepared.iter().flat_map(|prepared| &prepared.notes) {
        ui.note(note);
    }
    let jobs = jobs(prepared, args, &plan, env, ui)?;
    ui.start_progress();
    let results = solve_all(&jobs, &explain, ui);
    ui.end_progress();
    let traced = write_trace(args, jobs.iter(), ui, env);
    let locked = all_or_worst(&jobs, results, ui)?;
    traced?;
    if let Some(job) = jobs.first() {
        let names = locked.iter().flat_map(|(_, made)| made.pins.iter().map(|pin| &pin.name));
        job.catalog.locals.check_used(names).map_err(|error| Failure::from_local(&error))?;
    }
    let done = finish(args, &plan, &locked, ui);
    // The process ends here: giving back what it holds, piece by piece, would only take time.
    std::mem::forget(locked);
    std::mem::forget(jobs);
    done
}

/// What clap can't know: options that make no sense for several locks, or together.
pub(crate) fn check_usage(args: &CompileArgs, plan: &Plan) -> Result<(), Failure> {
    if args.output.output_file.is_some() && plan.units.len() > 1 {
        let names: Vec<&str> = plan.units.iter().map(|unit| unit.name.as_str()).collect();
        return Err(Failure::input(format!(
            "--output-file is for one lock, and there are {}: {}",
            names.len(),
            names.join(", ")
        )));
    }
    let without_name = plan.units.iter().any(|unit| unit.lock.is_none());
    if without_name && args.output.output_file.is_none() {
        return Err(Failure::input("--output-file is required if two or more input files are given"));
    }
    if args.output.trace.as_deref() == Some("-") && args.output.format == Format::Json {
        return Err(Failure::input("--trace - and --format json both want stdout: give --trace a file"));
    }
    let no_pip_names = args.output.format == Format::Github && !args.output.check;
    if no_pip_names {
        return Err(Failure::input("--format github is for --check"));
    }
    Ok(())
}

/// Finishes or takes back what a killed run left.
pub(crate) fn mend(plan: &Plan, ui: &Ui) -> Result<(), Failure> {
    let recovered =
        journal::recover(&plan.journal_folder()).map_err(|error| Failure::from_journal(&error))?;
    if let Some(recovered) = recovered {
        ui.warn(&recovered.to_string());
    }
    unfinished::told(&plan.journal_folder()).iter().for_each(|told| ui.warn(told));
    Ok(())
}

/// A lock to make, with the catalog that it is solved over.
pub(crate) struct Job {
    pub(crate) prepared: Prepared,
    pub(crate) catalog: Arc<RunCatalog>,
    /// The solver's decisions once it ended, if they are asked for.
    trace: Mutex<String>,
}

/// Gives every lock its catalog: one for all whose packages come from the same places.
pub(crate) fn jobs(
    prepared: Vec<Prepared>,
    args: &CompileArgs,
    plan: &Plan,
    env: &Env,
    ui: &Ui,
) -> Result<Vec<Job>, Failure> {
    let mut catalogs: Vec<(Places, Arc<RunCatalog>)> = Vec::new();
    let mut kept = Kept::new();
    for preference in prepared.iter().flat_map(|prepared| &prepared.request.preferences) {
        kept.entry(preference.name.clone()).or_default().insert(preference.version.clone());
    }
    let cache = settings::cache_folder(&args.index, env);
    let repositories = Arc::new(Repositories::new(cache, args.index.offline));
    let locals = locals(&prepared, args, env)?;
    let mut jobs = Vec::new();
    for mut prepared in prepared {
        locals.forget(&mut prepared.request.preferences);
        let request = &prepared.request;
        let direct = request.roots.iter().chain(&request.constraints).chain(&request.overrides);
        direct.filter_map(Requirement::direct).for_each(|direct| repositories.allow(&direct.url));
        let known = catalogs.iter().find(|(places, _)| *places == prepared.places);
        let catalog = if let Some((_, catalog)) = known {
            Arc::clone(catalog)
        } else {
            prepared.places.pip_notes().iter().for_each(|note| ui.note(note));
            ui.detail(&prepared.places.describe());
            for url in prepared.places.unprotected() {
                ui.warn(&format!(
                    "{url} is asked without TLS: whoever is on the way can alter files and hashes alike"
                ));
            }
            let mut settings = prepared.places.client(&args.index, &plan.config, env)?;
            let notes = credentials::fill(&mut settings, args.index.keyring_provider, env);
            notes.iter().for_each(|note| ui.note(note));
            let client = reana_index::Client::new(settings).map_err(|error| Failure::from_index(&error))?;
            let builds = Builds {
                allowed: settings::name_policy("--allow-build", &args.resolve.allow_build)?,
                path: env.path.clone().unwrap_or_default(),
                index_url: prepared.places.main_index().map(str::to_owned),
                done: Mutex::default(),
            };
            let catalog = RunCatalog::new(client, builds, kept.clone(), Arc::clone(&repositories));
            let catalog = Arc::new(catalog.with_locals(Arc::clone(&locals)));
            catalogs.push((prepared.places.clone(), Arc::clone(&catalog)));
            catalog
        };
        catalog.client().expect(&prepared.names());
        for (root, target) in prepared
            .request
            .roots
            .iter()
            .flat_map(|root| prepared.request.targets.iter().map(move |target| (root, target)))
        {
            if root.marker.evaluate(&target.marker_environment(), &[]) {
                catalog.expect_requirement(root, target);
            }
        }
        jobs.push(Job { prepared, catalog, trace: Mutex::default() });
    }
    Ok(jobs)
}

/// The checkouts that stand for releases.
fn locals(prepared: &[Prepared], args: &CompileArgs, env: &Env) -> Result<Arc<Locals>, Failure> {
    let target = prepared.first().and_then(|prepared| prepared.request.targets.first());
    let Some(target) = target else { return Ok(Arc::default()) };
    let locals = Locals::read(&args.output.with_local, &env.cwd, target);
    locals.map(Arc::new).map_err(|error| Failure::from_local(&error))
}

/// Solves all locks, a thread each up to twice the processors: they wait for the network most of the time.
pub(crate) fn solve_all(jobs: &[Job], explain: &[PackageName], ui: &Ui) -> Vec<Result<Locked, Failure>> {
    let threads = std::thread::available_parallelism().map_or(4, NonZero::get) * 2;
    let next = AtomicUsize::new(0);
    let done = AtomicUsize::new(0);
    let results: Vec<Mutex<Option<Result<Locked, Failure>>>> =
        jobs.iter().map(|_| Mutex::new(None)).collect();
    std::thread::scope(|scope| {
        for _ in 0..threads.clamp(1, 8).min(jobs.len()) {
            scope.spawn(|| {
                while let Some((job, slot)) = take(jobs, &results, &next) {
                    let mut trace = String::new();
                    let solved = solve::lock(&job.prepared, &job.catalog, explain, &mut trace);
                    *job.trace.lock().unwrap_or_else(PoisonError::into_inner) = trace;
                    *slot.lock().unwrap_or_else(PoisonError::into_inner) = Some(solved);
                    done.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        if ui.shows_progress() {
            show_progress(jobs, &done, ui);
        }
    });
    let lost = || Err(Failure::internal("a lock was not made"));
    results
        .into_iter()
        .map(|slot| slot.into_inner().unwrap_or_else(PoisonError::into_inner).unwrap_or_else(lost))
        .collect()
}

type Slot = Mutex<Option<Result<Locked, Failure>>>;

fn take<'j>(jobs: &'j [Job], results: &'j [Slot], next: &AtomicUsize) -> Option<(&'j Job, &'j Slot)> {
    let at = next.fetch_add(1, Ordering::Relaxed);
    jobs.get(at).zip(results.get(at))
}

fn show_progress(jobs: &[Job], done: &AtomicUsize, ui: &Ui) {
    loop {
        let finished = done.load(Ordering::Relaxed);
        if finished >= jobs.len() {
            return;
        }
        let fetched = jobs.first().map(|job| job.catalog.client().progress());
        let fetched = fetched.map_or(0, |progress| progress.requests_done);
        ui.progress(format!("locked {finished} of {}, {fetched} answers of the index", jobs.len()));
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// All locks, or the worst failure after the others were told: a fleet's locks are written all or none.
fn all_or_worst<'j>(
    jobs: &'j [Job],
    results: Vec<Result<Locked, Failure>>,
    ui: &Ui,
) -> Result<Vec<(&'j Prepared, Locked)>, Failure> {
    let mut locked = Vec::new();
    let mut failures = Vec::new();
    for (job, result) in jobs.iter().zip(results) {
        match result {
            Ok(made) => locked.push((&job.prepared, made)),
            Err(failure) => failures.push(failure),
        }
    }
    failures.sort_by_key(|failure| failure.exit);
    let Some(mut worst) = failures.pop() else { return Ok(locked) };
    for failure in failures {
        ui.error(&failure.message, &failure.hints);
    }
    if jobs.len() > 1 {
        worst = worst.hint("no lock was written: a fleet's locks are written all or none");
    }
    Err(worst)
}

/// Tells, and writes or shows.
fn finish(args: &CompileArgs, plan: &Plan, locked: &[(&Prepared, Locked)], ui: &Ui) -> Result<Exit, Failure> {
    let output = &args.output;
    for (prepared, made) in locked {
        tell_notes(prepared, made, locked.len() > 1, ui);
    }
    if output.format == Format::Json {
        let each =
            locked.iter().map(|(prepared, made)| report::json(prepared, made, &solve::stale(prepared, made)));
        let all = serde_json::json!({ "locks": each.collect::<Vec<_>>() });
        ui.data(&format!("{all:#}\n"));
    } else {
        locked.iter().for_each(|(prepared, made)| ui.data(&report::explanations(prepared, made)));
    }
    if !output.explain.is_empty() {
        return explained(args, locked);
    }
    let is_shown = output.dry_run || args.is_preview() && output.output_file.is_none();
    if is_shown {
        if output.format == Format::Text {
            locked.iter().for_each(|(prepared, made)| show_changes(prepared, made, ui));
        }
    } else {
        write(plan, locked, ui)?;
    }
    for (prepared, made) in locked {
        ui.say(&report::summary(prepared, made));
        if let Some(build) = &made.build {
            ui.say(&report::build_summary(made, build));
        }
    }
    if is_shown && !output.dry_run {
        ui.say("A preview with local checkouts: nothing is written without `-o FILE`.");
    } else if is_shown {
        ui.say("Dry run: nothing is written.");
    }
    Ok(Exit::Done)
}

/// What a run learned about one lock, with the component's name where there are several.
pub(crate) fn tell_notes(prepared: &Prepared, made: &Locked, several: bool, ui: &Ui) {
    let prefix = if several { format!("{}: ", prepared.name) } else { String::new() };
    made.notes.iter().for_each(|note| ui.note(&format!("{prefix}{note}")));
    made.details.iter().for_each(|detail| ui.detail(&format!("{prefix}{detail}")));
    ui.detail(&format!("{prefix}{}", report::grades(made)));
    made.warnings.iter().for_each(|warning| ui.warn(&format!("{prefix}{warning}")));
}

/// The solver's decisions, where they are asked for: also of a run that finds no solution or writes nothing else.
pub(crate) fn write_trace<'j>(
    args: &CompileArgs,
    jobs: impl Iterator<Item = &'j Job>,
    ui: &Ui,
    env: &Env,
) -> Result<(), Failure> {
    let Some(file) = &args.output.trace else { return Ok(()) };
    let of = |job: &Job| job.trace.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let text: String = jobs.map(of).collect();
    if file == "-" {
        ui.data(&text);
        return Ok(());
    }
    disk::write(&env.cwd.join(file), text.as_bytes()).map_err(|error| Failure::from_disk(&error))
}

/// What would be written, as a difference.
fn show_changes(prepared: &Prepared, made: &Locked, ui: &Ui) {
    let show = |old: Option<&str>, new: &str, shown: &str| {
        ui.data(&reana_lockfile::unified(old.unwrap_or_default(), new, shown, shown));
    };
    show(prepared.old_text.as_deref(), &made.text, &prepared.lock_shown);
    if let Some(build) = &made.build {
        show(build.file.old_text.as_deref(), &build.text, &build.file.shown);
    }
}

/// A question was asked, so nothing is written. A package that no lock has is an answer of its own kind.
fn explained(args: &CompileArgs, locked: &[(&Prepared, Locked)]) -> Result<Exit, Failure> {
    let is_told = |name: &str| {
        let name = PackageName::new(name.to_owned()).ok();
        locked.iter().flat_map(|(_, made)| &made.why).any(|why| Some(&why.name) == name.as_ref())
    };
    let missing: Vec<&str> =
        args.output.explain.iter().map(String::as_str).filter(|name| !is_told(name)).collect();
    if missing.is_empty() {
        Ok(Exit::Done)
    } else {
        Err(Failure::input(format!("nothing requires {}", missing.join(", "))))
    }
}

/// Writes all locks if any has changed: what another run wrote since the old ones were read is written over whole, and
/// not mixed with.
fn write(plan: &Plan, locked: &[(&Prepared, Locked)], ui: &Ui) -> Result<(), Failure> {
    let mut locks: Vec<(PathBuf, Vec<u8>)> = Vec::new();
    let mut is_changed = false;
    for (prepared, made) in locked {
        match &prepared.lock {
            None => ui.data(&made.text),
            Some(path) => {
                is_changed |= prepared.old_text.as_deref() != Some(made.text.as_str());
                locks.push((path.clone(), made.text.clone().into_bytes()));
            }
        }
        if let Some(build) = &made.build {
            is_changed |= build.file.old_text.as_deref() != Some(build.text.as_str());
            locks.push((build.file.path.clone(), build.text.clone().into_bytes()));
        }
    }
    if is_changed {
        journal::commit(&locks, &plan.journal_folder()).map_err(|error| Failure::from_journal(&error))?;
    }
    Ok(())
}
