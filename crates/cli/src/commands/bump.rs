//! `reana-lock bump`: raises the minimums of shared packages in all repositories that require them.

use std::collections::BTreeSet;

use reana_fleet::Fleet;
use reana_manifest::edit::Raise;

use crate::args::{BumpArgs, CompileArgs, Format, IndexArgs, OutputArgs, ResolveArgs};
use crate::bump::changes::{self, Changed};
use crate::bump::search::{Found, Search};
use crate::bump::{report, unfinished, wanted, write};
use crate::commands::compile::{self, Job};
use crate::doors::env::Env;
use crate::error::Failure;
use crate::exit::Exit;
use crate::fleet::Plan;
use crate::fleet::census::{self, Census};
use crate::fleet::repositories;
use crate::journal;
use crate::lock::prepare;
use crate::ui::Ui;

/// Raises what the arguments name.
pub(crate) fn run(args: &BumpArgs, ui: &Ui, env: &Env) -> Result<Exit, Failure> {
    if args.format == Format::Github {
        return Err(Failure::input("--format github is for `compile --check`"));
    }
    let census =
        census::census(args.fleet.as_deref(), &env.cwd).map_err(|error| Failure::from_fleet(&error))?;
    census.notes.iter().for_each(|note| note.tell(ui));
    let recovered = journal::recover(&census.root).map_err(|error| Failure::from_journal(&error))?;
    recovered.iter().for_each(|recovered| ui.warn(&recovered.to_string()));
    finish(args, &census, ui)?;
    let (fleet, notes) = repositories::graph(&census);
    notes.iter().for_each(|note| ui.warn(note));
    let wanted = wanted::wanted(args, &fleet)?;
    let packages: Vec<_> = wanted.iter().map(|wanted| wanted.package.clone()).collect();
    let mut jobs = jobs(args, &census, &fleet, &packages, ui, env)?;
    ui.start_progress();
    ui.progress("looking for versions that all can take".to_owned());
    let found = Search { fleet: &fleet, jobs: &jobs }.all(&wanted)?;
    ui.end_progress();
    let raises = raises(&found);
    let plan = changes::edits(&census, &raises)?;
    let changed = changes::changes(&census, plan, &mut jobs, &raises)?;
    match write::check(args, &changed) {
        Err(failure) if args.dry_run => ui.warn(&failure.message),
        checked => checked?,
    }
    let commits = if args.dry_run { Vec::new() } else { write::write(args, &census, &changed)? };
    tell(args, &fleet, &found, &changed, &commits, ui);
    Ok(Exit::Done)
}

/// Makes the commits that a run which was stopped has left, or says that they are to be made.
fn finish(args: &BumpArgs, census: &Census, ui: &Ui) -> Result<(), Failure> {
    let left = unfinished::left(census)?;
    if left.is_empty() {
        return Ok(());
    }
    if !args.commit || args.dry_run {
        ui.warn(&unfinished::told_of(&left));
        return Ok(());
    }
    for (name, commit) in unfinished::finish(&census.root, &left)? {
        let short = commit.get(..10).unwrap_or(&commit);
        ui.say(&format!("{name}: committed {short}, which a run that was stopped had left"));
    }
    Ok(())
}

fn raises(found: &[Found]) -> Vec<Raise> {
    let raise = |found: &Found| Some(Raise { package: found.package.clone(), to: found.version.clone()? });
    found.iter().filter_map(raise).collect()
}

/// What is to be solved: the locked components and the other repositories that require any of the packages.
fn jobs(
    args: &BumpArgs,
    census: &Census,
    fleet: &Fleet,
    packages: &[reana_model::PackageName],
    ui: &Ui,
    env: &Env,
) -> Result<Vec<Job>, Failure> {
    let requirers = packages.iter().flat_map(|package| fleet.requirers(package));
    let requirers: BTreeSet<&str> = requirers.map(|(repository, _)| repository.name.as_str()).collect();
    let compile = compile_args(args);
    let mut prepared = Vec::new();
    let mut plan =
        Plan { fleet_root: Some(census.root.clone()), config: census.config.clone(), ..Plan::default() };
    for member in census.members.iter().filter(|member| requirers.contains(member.name.as_str())) {
        plan.units = vec![member.unit(&census.config)];
        match prepare::all(&plan, &compile, env) {
            Ok(ready) => prepared.extend(ready),
            Err(failure) if member.is_locked() => return Err(failure),
            Err(failure) => ui.warn(&format!(
                "{}: whether it can take a version is not checked: {}",
                member.name, failure.message
            )),
        }
    }
    for note in prepared.iter().flat_map(|prepared| &prepared.notes) {
        ui.detail(note);
    }
    let jobs = compile::jobs(prepared, &compile, &plan, env, ui)?;
    if let Some(job) = jobs.first() {
        let names = jobs.iter().flat_map(|job| job.prepared.request.roots.iter().map(|root| &root.name));
        job.catalog.locals.check_used(names).map_err(|error| Failure::from_local(&error))?;
    }
    Ok(jobs)
}

/// What `compile` would be called with.
fn compile_args(args: &BumpArgs) -> CompileArgs {
    let BumpArgs { allow_build, skip_unreadable, with_local, index, .. } = args;
    let IndexArgs { .. } = index;
    CompileArgs {
        resolve: ResolveArgs {
            allow_build: allow_build.clone(),
            skip_unreadable: skip_unreadable.clone(),
            ..ResolveArgs::default()
        },
        output: OutputArgs { with_local: with_local.clone(), ..OutputArgs::default() },
        index: index.clone(),
        ..CompileArgs::default()
    }
}

fn tell(
    args: &BumpArgs,
    fleet: &Fleet,
    found: &[Found],
    changed: &[Changed<'_>],
    commits: &[(String, String)],
    ui: &Ui,
) {
    let is_written = !args.dry_run && !changed.is_empty();
    if args.format == Format::Json {
        ui.data(&format!("{:#}\n", report::json(fleet, found, changed, commits, is_written)));
        return;
    }
    if args.dry_run {
        for file in changed.iter().flat_map(|it| &it.files) {
            let before = file.before.as_deref().unwrap_or_default();
            ui.data(&reana_lockfile::unified(before, &file.after, &file.shown, &file.shown));
        }
    }
    ui.say(report::found(found).trim_end());
    if changed.is_empty() {
        ui.say("Nothing is raised: all minimums are there already.");
        return;
    }
    ui.say(report::changed(changed).trim_end());
    let order = report::order(fleet, changed);
    let steps: Vec<String> = order.iter().map(|step| step.join(", ")).collect();
    ui.say(&format!("Release in this order: {}.", steps.join("; then ")));
    for (name, commit) in commits {
        let short = commit.get(..10).unwrap_or(commit);
        ui.say(&format!("{name}: committed {short}"));
    }
    if !commits.is_empty() {
        ui.say("No hook was run and nothing was signed.");
    }
    if args.dry_run {
        ui.say("Dry run: nothing is written.");
    }
}
