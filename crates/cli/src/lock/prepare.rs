//! From a unit of the plan to something that can be solved: the old lock, the manifests, the targets and the rules.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::str::FromStr as _;

use reana_lockfile::{EmittedOptions, Header, HeaderOut, Lock, Newline, Style};
use reana_model::{Origin, PackageName, PinSource, PythonVersion, Requirement, Source, Target};
use reana_resolver::{Preference, Request};

use super::build_requirements::{self, BuildFile};
use super::git_address::GitAddress;
use super::pins::{self, Allowed, Sources};
use super::targets::{self, Choice};
use super::{command, declared, format};
use crate::args::{CompileArgs, Hashes, OutputFormat};
use crate::config::Config;
use crate::doors::disk;
use crate::doors::env::Env;
use crate::error::Failure;
use crate::fleet::{self, Plan, Unit, UnitKind};
use crate::pip_config::PipConfig;
use crate::settings::{self, Places};

/// A lock that can be made.
pub(crate) struct Prepared {
    /// What the component is called in messages; empty for files.
    pub(crate) name: String,
    /// Where the lock goes; `None` is stdout.
    pub(crate) lock: Option<PathBuf>,
    /// The folder that its paths are relative to.
    pub(crate) lock_folder: PathBuf,
    /// Which kind of file it is.
    pub(crate) output_format: OutputFormat,
    /// The lock as the user sees it.
    pub(crate) lock_shown: String,
    /// What was there.
    pub(crate) old_text: Option<String>,
    /// The same, understood.
    pub(crate) old: Option<Lock>,
    /// What is to be solved.
    pub(crate) request: Request,
    /// The packages that `-P` names.
    pub(crate) moved: BTreeSet<PackageName>,
    /// What annotations call the files that requirements come from.
    pub(crate) sources: Sources,
    /// The only files that requirements files allow of some packages.
    pub(crate) allowed: Allowed,
    /// How the lock is written.
    pub(crate) style: Style,
    /// Which hashes are written.
    pub(crate) hashes: Hashes,
    /// The lock's header.
    pub(crate) header: HeaderOut,
    /// The options that the lock repeats.
    pub(crate) emitted: EmittedOptions,
    /// Where packages come from.
    pub(crate) places: Places,
    /// Where what the sdists need to be built goes, if it is to be locked.
    pub(crate) build: Option<BuildFile>,
    /// Whether old pins count for nothing.
    pub(crate) upgrade: bool,
    /// What the user should know.
    pub(crate) notes: Vec<String>,
}

impl Prepared {
    /// The packages that are needed for certain or were needed last time, to ask for at once.
    pub(crate) fn names(&self) -> Vec<PackageName> {
        let requirements = self.request.roots.iter().filter(|root| root.direct().is_none());
        let mut names: Vec<PackageName> = requirements.map(|root| root.name.clone()).collect();
        let old = self.old.iter().flat_map(|old| &old.pins).filter(|pin| pin.version.is_some());
        names.extend(old.map(|pin| pin.name.clone()));
        let mut seen = BTreeSet::new();
        names.retain(|name| seen.insert(name.clone()));
        names
    }
}

/// What one unit is prepared from.
pub(crate) struct Context<'a> {
    /// What the user typed.
    pub(crate) args: &'a CompileArgs,
    /// What the fleet says.
    pub(crate) config: &'a Config,
    /// The environment.
    pub(crate) env: &'a Env,
    /// The unit.
    pub(crate) unit: &'a Unit,
    /// The folder beyond which what a lock's header names is not read.
    pub(crate) root: &'a Path,
    /// The folder that the lock is in, and that its paths are relative to.
    pub(crate) lock_folder: PathBuf,
}

impl Context<'_> {
    /// A path of the unit as the user sees it.
    pub(crate) fn shown(&self, path: &str) -> String {
        if self.unit.shown.is_empty() { path.to_owned() } else { format!("{}/{path}", self.unit.shown) }
    }
}

/// Prepares each unit, or says why it can't be.
pub(crate) fn each(
    plan: &Plan,
    args: &CompileArgs,
    env: &Env,
) -> Result<Vec<Result<Prepared, Failure>>, Failure> {
    let pip = match plan.config.index.pip_config {
        Some(false) => PipConfig::default(),
        Some(true) | None => PipConfig::read(env)?,
    };
    Ok(plan.units.iter().map(|unit| one(plan, unit, args, env, &pip)).collect())
}

/// Prepares all units. All that is wrong with any of them is told at once.
pub(crate) fn all(plan: &Plan, args: &CompileArgs, env: &Env) -> Result<Vec<Prepared>, Failure> {
    let mut prepared = Vec::new();
    let mut failures: Vec<Failure> = Vec::new();
    for result in each(plan, args, env)? {
        match result {
            Ok(ready) => prepared.push(ready),
            Err(failure) => failures.push(failure),
        }
    }
    let mut failures = failures.into_iter();
    let Some(mut first) = failures.next() else { return Ok(prepared) };
    for failure in failures {
        first.message.push('\n');
        first.message.push_str(&failure.message);
        first.hints.extend(failure.hints);
    }
    first.hints.dedup();
    Err(first)
}

fn one(
    plan: &Plan,
    unit: &Unit,
    args: &CompileArgs,
    env: &Env,
    pip: &PipConfig,
) -> Result<Prepared, Failure> {
    let (lock, old_path) = lock_paths(unit, args, env)?;
    let lock_folder = lock.as_deref().and_then(Path::parent).unwrap_or(&unit.folder).to_path_buf();
    let root = plan.fleet_root.as_deref().unwrap_or(&unit.folder);
    let context = Context { args, config: &plan.config, env, unit, root, lock_folder };
    let lock_shown = match &lock {
        None => "-".to_owned(),
        Some(path) => crate::paths::relative(path, &env.cwd),
    };
    let old_text = match &old_path {
        None => None,
        Some(path) => read_old(path)?,
    };
    let output_format = format::of(args, lock.as_deref().or(old_path.as_deref()))?;
    if args.is_preview() && output_format == OutputFormat::Pylock {
        return Err(Failure::input("--with-local: a pylock.toml must have hashes, and a checkout has none")
            .hint("preview it as a requirements file: `-o FILE.txt`"));
    }
    let old = old_text.as_deref().map(|text| parse(output_format, text, &lock_shown));
    let mut notes = Vec::new();
    for problem in old.iter().flat_map(|old| &old.problems) {
        notes.push(format!("{problem}; that line is not kept"));
    }
    let header = old.as_ref().and_then(|old| old.header.as_ref());
    let named = source_names(&context, header)?;
    let choice = targets::choose(&context, header, &lock_shown)?;
    let mut read = declared::read(&context, &named, header, &choice)?;
    notes.append(&mut read.notes);
    notes.extend(choice.notes.clone());

    let newline = old_text.as_deref().and_then(Newline::of).or(read.newline).unwrap_or_default();
    let style = settings::style(args, context.config, header, newline)?;
    let hashes = settings::hashes(args, context.config);
    let (moved, mut moved_to) = moved(args)?;
    if hashes != Hashes::None && output_format == OutputFormat::Requirements {
        refuse_repositories(&read.roots, &choice.targets)?;
    }
    if let Some(old) = old.as_ref().filter(|_| !args.resolve.upgrade) {
        let all = [&mut read.roots, &mut read.constraints, &mut read.overrides].into_iter().flatten();
        all.filter(|wanted| !moved.contains(&wanted.name)).for_each(|wanted| keep_commit(wanted, old));
    }
    let mut constraints = std::mem::take(&mut read.constraints);
    constraints.append(&mut moved_to);
    let places = Places::of(&args.index, &read.indexes, context.config, pip, &env.cwd)?;
    let mut policy = settings::policy(args, context.config, read.pre)?;
    read.add_format_controls(&mut policy)?;
    let request = Request {
        roots: std::mem::take(&mut read.roots),
        constraints,
        overrides: std::mem::take(&mut read.overrides),
        targets: choice.targets.clone(),
        preferences: preferences(old.as_ref(), args, &moved),
        policy,
        trace: args.output.trace.is_some(),
    };
    let emit_index = args.output.emit_index_url && !args.output.no_emit_index_url;
    let emitted = places.emitted(&context.lock_folder, emit_index);
    let header = header_out(&context, &choice, &named, &read, &style, hashes);
    let build = build_file(&context, lock.as_deref(), plan.units.len() > 1)?;
    let name = if unit.kind == UnitKind::Component { unit.name.clone() } else { String::new() };
    let declared::Read { sources, allowed, .. } = read;
    Ok(Prepared {
        name,
        output_format,
        lock_folder: context.lock_folder.clone(),
        lock,
        lock_shown,
        old_text,
        old,
        request,
        moved,
        sources,
        allowed,
        style,
        hashes,
        header,
        emitted,
        places,
        build,
        upgrade: args.resolve.upgrade,
        notes,
    })
}

/// Where the lock of build requirements goes, if one is wanted.
fn build_file(
    context: &Context<'_>,
    lock: Option<&Path>,
    several: bool,
) -> Result<Option<BuildFile>, Failure> {
    let typed = context.args.output.build_requirements.as_ref();
    let Some(given) = typed.or(context.config.lock.build_requirements.as_ref()) else { return Ok(None) };
    if context.args.is_preview() {
        return Ok(None);
    }
    if several && given.contains('/') {
        return Err(Failure::input(format!(
            "--build-requirements: for several locks it takes a name, and {given} is a path"
        )));
    }
    build_requirements::file_for(given, &context.env.cwd, lock, &context.lock_folder).map(Some)
}

/// Where the lock goes, and where the old one is. On stdout, a component's old lock still counts: what is shown
/// is what would be written.
fn lock_paths(
    unit: &Unit,
    args: &CompileArgs,
    env: &Env,
) -> Result<(Option<PathBuf>, Option<PathBuf>), Failure> {
    match args.output.output_file.as_deref() {
        Some("-") if unit.kind == UnitKind::Component => Ok((None, format::default_lock(unit, args))),
        Some("-") => Ok((None, None)),
        Some(file) => {
            let path = crate::paths::tidy(&env.cwd.join(file));
            if let UnitKind::Files(files) = &unit.kind
                && files.iter().any(|source| crate::paths::tidy(&unit.folder.join(source)) == path)
            {
                return Err(Failure::input(format!(
                    "input and output filenames must not be matched: {file}"
                )));
            }
            if !args.is_preview() {
                return Ok((Some(path.clone()), Some(path)));
            }
            let own = format::default_lock(unit, args).filter(|_| unit.kind == UnitKind::Component);
            check_preview(&path, own.as_deref(), file)?;
            // what is shown is what a release would change of the component's lock
            Ok((Some(path.clone()), own.or(Some(path))))
        }
        None => {
            let lock = format::default_lock(unit, args);
            Ok((lock.clone(), lock))
        }
    }
}

/// A preview never takes the place of a lock.
fn check_preview(path: &Path, own: Option<&Path>, given: &str) -> Result<(), Failure> {
    let refuse = |why: &str| {
        let message = format!("--with-local: {given} {why}, and a preview is no lock for a release");
        Err(Failure::input(message)
            .hint("name another file with `-o`; without it, the changes are only shown"))
    };
    if own == Some(path) {
        return refuse("is the component's own lock");
    }
    match read_old(path)? {
        Some(text) if reana_lockfile::parse(&text, given).preview.is_none() => {
            refuse("is there already and is no preview")
        }
        _ => Ok(()),
    }
}

/// Reads a lock of a kind that is known, whatever it is called.
pub(crate) fn parse(format: OutputFormat, text: &str, shown: &str) -> Lock {
    match format {
        OutputFormat::Pylock => reana_lockfile::pylock::parse(text, shown),
        OutputFormat::Requirements => reana_lockfile::parse(text, shown),
    }
}

fn read_old(path: &Path) -> Result<Option<String>, Failure> {
    let bytes = disk::read_if_there(path).map_err(|error| Failure::from_disk(&error))?;
    let text = bytes.map(String::from_utf8).transpose();
    text.map_err(|_| {
        Failure::input(format!(
            "{}: the old lock is not UTF-8 text; nothing is written over it",
            path.display()
        ))
    })
}

/// The manifests, relative to the unit's folder or absolute.
fn source_names(context: &Context<'_>, header: Option<&Header>) -> Result<Vec<String>, Failure> {
    match &context.unit.kind {
        UnitKind::Files(files) => Ok(files.iter().map(|file| file.to_string_lossy().into_owned()).collect()),
        UnitKind::Component => {
            let old = header.map(|header| header.sources.clone()).unwrap_or_default();
            let unit = context.unit;
            let named = fleet::sources(&unit.folder, &unit.settings.sources, &old);
            named.map_err(|error| Failure::from_fleet(&error))
        }
    }
}

/// The packages that `-P` names, and the versions that it asks for as constraints.
fn moved(args: &CompileArgs) -> Result<(BTreeSet<PackageName>, Vec<Requirement>), Failure> {
    let mut names = BTreeSet::new();
    let mut constraints = Vec::new();
    for text in &args.resolve.upgrade_package {
        let requirement = Requirement::parse(text, Origin::whole("--upgrade-package"));
        let mut requirement =
            requirement.map_err(|error| Failure::input(format!("--upgrade-package: {error}")))?;
        requirement.extras.clear();
        names.insert(requirement.name.clone());
        if requirement.specifiers().is_some_and(|specifiers| !specifiers.is_empty()) {
            constraints.push(requirement);
        }
    }
    Ok((names, constraints))
}

/// The old pins that are kept where they fit.
fn preferences(old: Option<&Lock>, args: &CompileArgs, moved: &BTreeSet<PackageName>) -> Vec<Preference> {
    if args.resolve.upgrade {
        return Vec::new();
    }
    let pins = old.iter().flat_map(|old| &old.pins).filter(|pin| !moved.contains(&pin.name));
    let preference = |pin: &reana_lockfile::LockedPin| {
        Some(Preference { name: pin.name.clone(), version: pin.version.clone()? })
    };
    pins.filter_map(preference).collect()
}

/// Repositories can't be locked with hashes, so that they need not be asked.
fn refuse_repositories(roots: &[Requirement], targets: &[Target]) -> Result<(), Failure> {
    let applies = |root: &&Requirement| {
        targets.iter().any(|target| root.marker.evaluate(&target.marker_environment(), &[]))
    };
    let refused =
        |root: &Requirement| pins::refuse_repository(&root.origin.to_string(), &root.name, root.direct()?);
    roots.iter().filter(applies).find_map(refused).map_or(Ok(()), Err)
}

/// Takes the commit that the old lock has of a repository, if the same is asked of it as then.
fn keep_commit(wanted: &mut Requirement, old: &Lock) {
    let Source::Direct(direct) = &mut wanted.source else { return };
    let Ok(mut address) = GitAddress::parse(&direct.url) else { return };
    for pin in old.pins.iter().filter(|pin| pin.name == wanted.name) {
        let url = match &pin.source {
            PinSource::Url(url) => url.as_str(),
            PinSource::Verbatim(text) => text.trim_start_matches("-e").trim(),
            PinSource::Index | PinSource::Arbitrary(_) => continue,
        };
        if let Ok(locked) = GitAddress::parse(url) {
            address.keep(&locked);
        }
    }
    if address.commit().is_some() {
        direct.url = address.whole();
    }
}

fn header_out(
    context: &Context<'_>,
    choice: &Choice,
    named: &[String],
    read: &declared::Read,
    style: &Style,
    hashes: Hashes,
) -> HeaderOut {
    let mut pythons: Vec<PythonVersion> = Vec::new();
    for Target { python, .. } in &choice.targets {
        if !pythons.contains(python) {
            pythons.push(*python);
        }
    }
    let command = command::canonical(context, choice, named, read, style, hashes);
    HeaderOut { tool: "reana-lock".to_owned(), pythons, command }
}

/// Extras as options and settings give them.
pub(crate) fn extras(given: &[String]) -> Result<Vec<reana_model::ExtraName>, Failure> {
    let read = |extra: &String| reana_model::ExtraName::from_str(extra.trim());
    given
        .iter()
        .map(read)
        .collect::<Result<_, _>>()
        .map_err(|error| Failure::input(format!("--extra: {error}")))
}
