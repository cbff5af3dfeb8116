//! `reana-lock verify`: whether what is installed in an image is what its lock says.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use pep508_rs::{MarkerEnvironment, MarkerEnvironmentBuilder};
use reana_model::{PackageName, Platform, PythonVersion, Target};
use serde::Serialize;

use crate::args::{Format, VerifyArgs};
use crate::doors::disk::{self, Project};
use crate::doors::env::Env;
use crate::error::Failure;
use crate::exit::Exit;
use crate::python_target::{self, Known};
use crate::ui::Ui;
use crate::verify::compare::{Compared, Finding, Kind, Own, compare};
use crate::verify::installed::{self, Installed, SaidBy};
use crate::written::{self, Written};

/// All that is told, for scripts.
#[derive(Serialize, schemars::JsonSchema)]
pub(crate) struct Report<'r> {
    /// The lock's path.
    lock: &'r str,
    /// What pip printed: the file, or `-`.
    installed: &'r str,
    /// Which of pip's commands printed it.
    said_by: &'static str,
    /// The Python that markers were read for.
    python: String,
    /// Whether the image is what the lock says.
    matches: bool,
    /// What was found.
    compared: &'r Compared,
    /// What could not be compared.
    notes: &'r [String],
}

/// Compares the lock that the arguments name with what pip printed.
pub(crate) fn run(args: &VerifyArgs, ui: &Ui, env: &Env) -> Result<Exit, Failure> {
    if args.format == Format::Github {
        return Err(Failure::input("--format github is for `compile --check`"));
    }
    let written = only_lock(args.lock.as_deref().unwrap_or("."), env)?;
    let installed = read(&args.installed, env)?;
    let targets = targets(args, &written)?;
    let Some(first) = targets.first() else { return Err(Failure::internal("no target")) };
    let (own, notes) = own(&written, first);
    let mut answers: Vec<(MarkerEnvironment, Compared)> = Vec::new();
    for environment in environments(args, &installed, &targets)? {
        let compared = compare(&written.lock, &installed.packages, &environment, &own);
        answers.push((environment, compared));
    }
    let same = |(_, one): &(MarkerEnvironment, Compared), (_, other): &(MarkerEnvironment, Compared)| {
        serde_json::to_value(one).ok() == serde_json::to_value(other).ok()
    };
    let mut answers = answers.into_iter();
    let Some(answer) = answers.next() else { return Err(Failure::internal("no environment")) };
    if answers.any(|other| !same(&answer, &other)) {
        return Err(Failure::input(format!(
            "{}: the lock's pins differ for {}, and `pip list` doesn't say which of these the image is",
            written.shown,
            reana_resolver::targets_in_words(&targets)
        ))
        .hint("give `--python-version` and `--platform`, or what `pip inspect` prints"));
    }
    let (environment, compared) = answer;
    let matches = compared.findings.is_empty();
    let report = Report {
        lock: &written.shown,
        installed: &args.installed,
        said_by: match installed.said_by {
            SaidBy::List => "pip list",
            SaidBy::Inspect => "pip inspect",
        },
        python: environment.python_version().to_string(),
        matches,
        compared: &compared,
        notes: &notes,
    };
    if args.format == Format::Json {
        let json = serde_json::to_value(&report).map_err(|error| Failure::internal(error.to_string()))?;
        ui.data(&format!("{json:#}\n"));
    } else {
        tell(&report, ui);
    }
    Ok(if matches { Exit::Done } else { Exit::Wanting })
}

/// The one lock that is meant, which must be readable to its end: what isn't understood can't be compared.
fn only_lock(what: &str, env: &Env) -> Result<Written, Failure> {
    let mut found = written::find(what, env)?;
    if found.len() > 1 {
        let shown: Vec<&str> = found.iter().map(|written| written.shown.as_str()).collect();
        return Err(Failure::input(format!(
            "{what}: an image has one lock, and there are {}",
            shown.join(", ")
        ))
        .hint("name the lock, or its component"));
    }
    let Some(written) = found.pop() else { return Err(Failure::internal("no lock")) };
    if !written.lock.problems.is_empty() {
        let problems: Vec<String> = written.lock.problems.iter().map(ToString::to_string).collect();
        return Err(Failure::input(problems.join("\n"))
            .hint("nothing can be compared with a damaged lock: `reana-lock compile` makes it anew"));
    }
    Ok(written)
}

fn read(file: &str, env: &Env) -> Result<Installed, Failure> {
    let (shown, bytes) =
        if file == "-" { ("stdin", disk::read_stdin()) } else { (file, disk::read(&env.cwd.join(file))) };
    let bytes = bytes.map_err(|error| Failure::from_disk(&error))?;
    let text = String::from_utf8(bytes).map_err(|_| Failure::input(format!("{shown}: not UTF-8 text")))?;
    installed::read(&text).map_err(|error| {
        Failure::input(format!("{shown}: {error}")).hint(
            "run `pip inspect` in the image and give what it prints, alone: warnings of pip go to stderr",
        )
    })
}

/// The targets that the lock is for, as far as it says it. At least one.
fn targets(args: &VerifyArgs, written: &Written) -> Result<Vec<Target>, Failure> {
    let option = args.python_version.as_deref().map(str::parse::<PythonVersion>).transpose();
    let option = option.map_err(|error| Failure::input(format!("--python-version: {error}")))?;
    let platform = args.platform.as_deref().map(str::parse::<Platform>).transpose();
    let platform = platform.map_err(|error| Failure::input(format!("--platform: {error}")))?;
    let mut pythons: Vec<PythonVersion> =
        written.lock.header.iter().flat_map(|header| header.pythons.clone()).collect();
    if option.is_some() || pythons.is_empty() {
        let folder = written.path.parent().unwrap_or(Path::new("/"));
        let known = Known { option, ..Known::default() };
        pythons = vec![python_target::choose(folder, "", &known).python];
    }
    let both = [Platform::LinuxAmd64, Platform::LinuxArm64];
    let platforms = platform.map_or(both.to_vec(), |platform| vec![platform]);
    let each = |python: PythonVersion| platforms.iter().map(move |&platform| Target { python, platform });
    Ok(pythons.into_iter().flat_map(each).collect())
}

/// What markers may see: what pip says, unless the arguments say otherwise; else all that the lock is for.
fn environments(
    args: &VerifyArgs,
    installed: &Installed,
    targets: &[Target],
) -> Result<Vec<MarkerEnvironment>, Failure> {
    let is_given = args.python_version.is_some() || args.platform.is_some();
    let Some(said) = installed.environment.as_ref().filter(|_| !is_given) else {
        return Ok(targets.iter().map(Target::marker_environment).collect());
    };
    let value = |key: &str| said.get(key).map(String::as_str);
    let missing = |key: &str| Failure::input(format!("{}: the environment has no `{key}`", args.installed));
    let required = |key: &'static str| value(key).ok_or_else(|| missing(key));
    let environment = MarkerEnvironment::try_from(MarkerEnvironmentBuilder {
        implementation_name: required("implementation_name")?,
        implementation_version: required("implementation_version")?,
        os_name: required("os_name")?,
        platform_machine: required("platform_machine")?,
        platform_python_implementation: required("platform_python_implementation")?,
        platform_release: value("platform_release").unwrap_or_default(),
        platform_system: required("platform_system")?,
        platform_version: value("platform_version").unwrap_or_default(),
        python_full_version: required("python_full_version")?,
        python_version: required("python_version")?,
        sys_platform: required("sys_platform")?,
    });
    let environment =
        environment.map_err(|error| Failure::input(format!("{}: environment: {error}", args.installed)))?;
    Ok(vec![environment])
}

/// The component's own package, and the packages of lines without a name, as manifests beside the lock say them.
fn own(written: &Written, target: &Target) -> (Own, Vec<String>) {
    let folder = written.path.parent().unwrap_or(Path::new("/"));
    let names: BTreeSet<PackageName> = project_name(folder, target).into_iter().collect();
    let (mut unnamed, mut notes) = (BTreeMap::new(), Vec::new());
    for pin in &written.lock.unnamed {
        let path = pin.text.trim_start_matches("-e").trim();
        match project_name(&folder.join(path), target) {
            Some(name) => {
                unnamed.insert(name, pin.line);
            }
            None => notes.push(format!(
                "{}:{}: `{}` is not compared: it doesn't say which package it is",
                written.shown, pin.line, pin.text
            )),
        }
    }
    (Own { names, unnamed }, notes)
}

fn project_name(folder: &Path, target: &Target) -> Option<PackageName> {
    let project = Project::open(folder).ok()?;
    let declared = reana_manifest::read_project(&project, "", target).ok()?;
    PackageName::new(declared.name.ok()??.value).ok()
}

fn tell(report: &Report<'_>, ui: &Ui) {
    report.notes.iter().for_each(|note| ui.note(note));
    for finding in &report.compared.findings {
        ui.data(&format!("{}\n", line(report.lock, finding)));
    }
    let Compared { pins, findings, tools, own } = report.compared;
    for (unpinned, what) in [(tools, "installs packages and is not pinned"), (own, "is the component's own")]
    {
        for package in unpinned {
            ui.detail(&format!("{} {} {what}", package.name, package.version));
        }
    }
    let pins = if *pins == 1 { "1 pin".to_owned() } else { format!("{pins} pins") };
    let outcome = match findings.len() {
        0 if report.notes.is_empty() => {
            "all are installed as they are pinned, and nothing else is".to_owned()
        }
        0 => "what could be compared is installed as it is pinned".to_owned(),
        1 => "1 difference".to_owned(),
        count => format!("{count} differences"),
    };
    ui.say(&format!("{}: {pins} for Python {}; {outcome}", report.lock, report.python));
}

fn line(lock: &str, finding: &Finding) -> String {
    let Finding { kind, name, line, pinned, installed } = finding;
    let place = line.map_or_else(|| lock.to_owned(), |line| format!("{lock}:{line}"));
    let pinned = pinned.as_deref().map(|pinned| format!(" {pinned}")).unwrap_or_default();
    let installed = installed.as_deref().unwrap_or_default();
    let what = match kind {
        Kind::Missing => format!("{name}{pinned} is not installed"),
        Kind::Version => format!("{name}{pinned} is pinned, and {installed} is installed"),
        Kind::Source => format!("{name}{pinned} is pinned, and it was installed from {installed}"),
        Kind::Hash => format!("{name}: the lock has not the hash of what was installed, {installed}"),
        Kind::Twice => format!("{name} is installed twice; the second one is {installed}"),
        Kind::Extra => format!("{name} {installed} is installed, and not pinned"),
    };
    format!("{place}: {what}")
}
