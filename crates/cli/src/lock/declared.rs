//! What the manifests of one lock declare together, for its targets.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use pep508_rs::MarkerTree;
use reana_lockfile::{Header, Newline};
use reana_manifest::{Extras, Problem, ProblemKind};
use reana_model::requirement::parse_specifiers_mended;
use reana_model::{ExtraName, Requirement, Target, Via};
use reana_resolver::{NamePolicy, Policy};

use super::pins::{Allowed, Sources};
use super::prepare::{Context, extras};
use super::targets::Choice;
use crate::doors::disk::{self, Project};
use crate::error::Failure;
use crate::paths;
use crate::settings::{self, FileIndexes};

/// What was read.
#[derive(Default)]
pub(crate) struct Read {
    /// What is wanted, in the manifests' order.
    pub(crate) roots: Vec<Requirement>,
    /// Limits.
    pub(crate) constraints: Vec<Requirement>,
    /// Replacements.
    pub(crate) overrides: Vec<Requirement>,
    /// What annotations call the files.
    pub(crate) sources: Sources,
    /// Indexes that requirements files name.
    pub(crate) indexes: FileIndexes,
    /// Whether a requirements file says `--pre`.
    pub(crate) pre: bool,
    /// `--no-binary` and `--only-binary` of the command line and the requirements files.
    pub(crate) no_binary: Vec<String>,
    /// See `no_binary`.
    pub(crate) only_binary: Vec<String>,
    /// How the first source with a line end ends its lines.
    pub(crate) newline: Option<Newline>,
    /// The extras that are locked.
    pub(crate) extras: Vec<ExtraName>,
    /// Whether all are.
    pub(crate) all_extras: bool,
    /// The dependency groups that are locked, as the header names them.
    pub(crate) groups: Vec<String>,
    /// The constraints files, relative to the lock.
    pub(crate) constraint_files: Vec<String>,
    /// The override files, relative to the lock.
    pub(crate) override_files: Vec<String>,
    /// The only files that requirements files allow of a package (`--hash`).
    pub(crate) allowed: Allowed,
    /// What the user should know.
    pub(crate) notes: Vec<String>,
}

impl Read {
    /// Adds the format controls of requirements files to those of the command line.
    pub(crate) fn add_format_controls(&self, policy: &mut Policy) -> Result<(), Failure> {
        add(&mut policy.no_binary, settings::name_policy("--no-binary", &self.no_binary)?);
        add(&mut policy.only_binary, settings::name_policy("--only-binary", &self.only_binary)?);
        Ok(())
    }
}

fn add(to: &mut NamePolicy, more: NamePolicy) {
    match (&mut *to, more) {
        (NamePolicy::All, _) => {}
        (_, NamePolicy::All) => *to = NamePolicy::All,
        (NamePolicy::Names(names), NamePolicy::Names(more)) => names.extend(more),
    }
}

/// Reads the sources, constraints and overrides of one lock.
pub(crate) fn read(
    context: &Context<'_>,
    named: &[String],
    header: Option<&Header>,
    choice: &Choice,
) -> Result<Read, Failure> {
    let mut read = Read::default();
    choose_extras(&mut read, context, header)?;
    read.groups = super::groups::wanted(context, header);
    let Some(first) = choice.targets.first() else { return Ok(read) };
    let mut known: BTreeSet<ExtraName> = BTreeSet::new();
    let mut has_project = false;
    for source in named {
        let path = paths::tidy(&context.unit.folder.join(source));
        if is_project_file(&path) {
            has_project = true;
            project(&mut read, &mut known, context, &path, choice)?;
        } else {
            super::requirements::source(&mut read, context, &path, first)?;
        }
    }
    if has_project {
        let unknown = read.extras.iter().filter(|extra| !known.contains(*extra));
        let notes: Vec<String> =
            unknown.map(|extra| format!("{}: there is no extra `{extra}`", context.unit.name)).collect();
        read.notes.extend(notes);
    } else if !context.args.resolve.extra.is_empty() {
        return Err(Failure::input("--extra has effect only with setup.py, setup.cfg and pyproject.toml"));
    }
    super::groups::read(&mut read, context)?;
    for path in constraint_files(context, header)? {
        read.constraint_files.push(paths::relative(&path, &context.lock_folder));
        super::requirements::constraints(&mut read, context, &path, first)?;
    }
    for file in &context.args.resolve.overrides {
        let path = paths::tidy(&context.env.cwd.join(file));
        read.override_files.push(paths::relative(&path, &context.lock_folder));
        super::requirements::overrides(&mut read, context, &path, first)?;
    }
    Ok(read)
}

fn is_project_file(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name == "setup.py" || name == "setup.cfg" || name == "pyproject.toml")
}

/// The command line over reana-lock.toml over the lock's header.
fn choose_extras(read: &mut Read, context: &Context<'_>, header: Option<&Header>) -> Result<(), Failure> {
    let (typed, settings) = (&context.args.resolve, &context.unit.settings);
    if typed.all_extras {
        read.all_extras = true;
    } else if !typed.extra.is_empty() {
        read.extras = extras(&typed.extra)?;
    } else if let Some(all) = settings.all_extras.filter(|all| *all) {
        read.all_extras = all;
    } else if let Some(named) = &settings.extras {
        read.extras = extras(named)?;
    } else if let Some(header) = header {
        read.all_extras = header.all_extras;
        read.extras.clone_from(&header.extras);
    }
    read.extras.sort();
    read.extras.dedup();
    Ok(())
}

/// Those of the command line, else of the lock's header (inside of the fleet only); and those of reana-lock.toml.
fn constraint_files(context: &Context<'_>, header: Option<&Header>) -> Result<Vec<PathBuf>, Failure> {
    let mut files: Vec<PathBuf> =
        context.unit.settings.constraints.iter().map(|file| paths::tidy(file)).collect();
    let typed = &context.args.resolve.constraint;
    if typed.is_empty() {
        for file in header.iter().flat_map(|header| &header.constraints) {
            let path = paths::tidy(&context.lock_folder.join(file));
            let real = disk::canonical(&path).map_err(|error| {
                Failure::from_disk(&error)
                    .hint("the old lock's header names it; give `-c` to name others, or mend the header")
            })?;
            if !real.starts_with(context.root) && !real.starts_with(&context.unit.folder) {
                return Err(Failure::input(format!(
                    "{}: the old lock's header names this constraints file, which is outside of {}",
                    path.display(),
                    context.root.display()
                ))
                .hint("if it is right, give it yourself: `-c FILE`"));
            }
            files.push(path);
        }
    }
    files.extend(typed.iter().map(|file| paths::tidy(&context.env.cwd.join(file))));
    let mut seen = BTreeSet::new();
    files.retain(|file| seen.insert(file.clone()));
    Ok(files)
}

/// A project: what it declares for each target, with the extras.
fn project(
    read: &mut Read,
    known: &mut BTreeSet<ExtraName>,
    context: &Context<'_>,
    path: &Path,
    choice: &Choice,
) -> Result<(), Failure> {
    let folder = path.parent().unwrap_or(Path::new("/"));
    let shown_file = context.shown(&paths::relative(path, &context.unit.folder));
    let shown = shown_file.rsplit_once('/').map_or("", |(folder, _)| folder);
    let project = Project::open(folder).map_err(|error| Failure::from_disk(&error))?;
    if disk::entry(path) == disk::Entry::Absent {
        return Err(Failure::input(format!("{shown_file}: there is no such file")));
    }
    let mut by_target: Vec<(Target, Vec<Requirement>)> = Vec::new();
    let mut name = String::new();
    for target in &choice.targets {
        let declared = match reana_manifest::read_project(&project, shown, target) {
            Ok(declared) => declared,
            // a pyproject.toml may be there for its groups alone
            Err(Problem { kind: ProblemKind::NoManifest { .. }, .. }) if !read.groups.is_empty() => {
                return Ok(());
            }
            Err(problem) => return Err(Failure::from_problems(&[problem])),
        };
        supports(&declared, target, choice)?;
        match &declared.name {
            Ok(Some(text)) => name.clone_from(&text.value),
            Ok(None) => {}
            Err(unknown) => read.notes.push(format!("{unknown}; annotations do without the project's name")),
        }
        let wanted = if read.all_extras { Extras::All } else { Extras::Named(read.extras.clone()) };
        let requirements =
            declared.requirements(&wanted).map_err(|problems| Failure::from_problems(&problems))?;
        known.extend(declared.extra_names());
        by_target.push((*target, requirements));
    }
    let file = paths::relative(path, &context.lock_folder);
    let via = Via::Project { name, file };
    for origin in
        by_target.iter().flat_map(|(_, requirements)| requirements).map(|requirement| &requirement.origin)
    {
        read.sources.insert(origin.file.clone(), via.clone());
    }
    if let Ok(text) = disk::read_text(path) {
        read.newline = read.newline.or(Newline::of(&text));
    }
    read.roots.extend(merge(by_target));
    Ok(())
}

/// The Python must be one that the project is for.
fn supports(declared: &reana_manifest::Declared, target: &Target, choice: &Choice) -> Result<(), Failure> {
    let Ok(Some(requires)) = &declared.python_requires else { return Ok(()) };
    let specifiers = parse_specifiers_mended(&requires.value)
        .map_err(|error| Failure::input(format!("{}: python_requires: {error}", requires.origin)))?;
    if specifiers.contains(&target.python.version()) {
        return Ok(());
    }
    Err(Failure::input(format!(
        "{}: python_requires is `{}`, and the lock is for Python {} ({})",
        requires.origin, requires.value, target.python, choice.because
    ))
    .hint("choose another Python with `--python-version`, or change python_requires"))
}

/// What several targets declare, once: what only some of them declare applies to them alone.
pub(crate) fn merge(by_target: Vec<(Target, Vec<Requirement>)>) -> Vec<Requirement> {
    let all: Vec<Target> = by_target.iter().map(|(target, _)| *target).collect();
    let mut merged: Vec<(Requirement, Vec<Target>)> = Vec::new();
    for (target, requirements) in by_target {
        for requirement in requirements {
            match merged
                .iter_mut()
                .find(|(known, targets)| *known == requirement && !targets.contains(&target))
            {
                Some((_, targets)) => targets.push(target),
                None => merged.push((requirement, vec![target])),
            }
        }
    }
    let only = |(mut requirement, targets): (Requirement, Vec<Target>)| {
        if targets.len() < all.len() {
            let mut any = MarkerTree::FALSE;
            targets.iter().for_each(|target| any.or(marker_of(target)));
            requirement.marker.and(any);
        }
        requirement
    };
    merged.into_iter().map(only).collect()
}

/// The marker that is true on this target and on none of another Python or platform.
fn marker_of(target: &Target) -> MarkerTree {
    let python = target.python;
    let text = format!(
        "python_full_version >= '{}.{}' and python_full_version < '{}.{}' and platform_machine == '{}'",
        python.major,
        python.minor,
        python.major,
        u16::from(python.minor) + 1,
        target.platform.machine()
    );
    text.parse().unwrap_or(MarkerTree::TRUE)
}
