//! Which targets a lock is for.

use reana_lockfile::Header;
use reana_model::{Origin, Platform, PythonVersion, Target};

use super::prepare::Context;
use crate::config::DEFAULT_PLATFORM;
use crate::error::Failure;
use crate::python_target::{self, Known, Reason};

/// The targets, and what made them so.
pub(crate) struct Choice {
    /// In order of importance.
    pub(crate) targets: Vec<Target>,
    /// What decided about the Python, for messages: `--python-version`, `Dockerfile:3`.
    pub(crate) because: String,
    /// What the user should know.
    pub(crate) notes: Vec<String>,
}

/// Chooses: the command line, reana-lock.toml, the lock's header, `.python-version`, the Dockerfile, the default.
pub(crate) fn choose(
    context: &Context<'_>,
    header: Option<&Header>,
    lock_shown: &str,
) -> Result<Choice, Failure> {
    let typed = &context.args.resolve;
    let pythons = typed.python_version.iter().map(|text| text.parse::<PythonVersion>());
    let pythons: Vec<PythonVersion> = pythons
        .collect::<Result<_, _>>()
        .map_err(|error| Failure::input(format!("--python-version: {error}")))?;
    let platforms = typed.platform.iter().map(|text| text.parse::<Platform>());
    let platforms: Vec<Platform> = platforms
        .collect::<Result<_, _>>()
        .map_err(|error| Failure::input(format!("--platform: {error}")))?;
    let settings = &context.unit.settings;
    if pythons.is_empty() && !settings.targets.is_empty() {
        let targets = settings
            .targets
            .iter()
            .filter(|target| platforms.is_empty() || platforms.contains(&target.platform));
        let targets: Vec<Target> = targets.copied().collect();
        if targets.is_empty() {
            return Err(Failure::input("--platform: reana-lock.toml has no target on this platform").hint(
                "give `--python-version` as well, to lock for another target than those in reana-lock.toml",
            ));
        }
        return Ok(Choice { targets, because: "reana-lock.toml".to_owned(), notes: Vec::new() });
    }
    let (pythons, because, notes) = if pythons.is_empty() {
        found(context, header, lock_shown)
    } else {
        (pythons, "--python-version".to_owned(), Vec::new())
    };
    let platforms = if platforms.is_empty() { vec![DEFAULT_PLATFORM] } else { platforms };
    let mut targets = Vec::new();
    for &python in &pythons {
        for &platform in &platforms {
            let target = Target { python, platform };
            if !targets.contains(&target) {
                targets.push(target);
            }
        }
    }
    Ok(Choice { targets, because, notes })
}

fn found(
    context: &Context<'_>,
    header: Option<&Header>,
    lock_shown: &str,
) -> (Vec<PythonVersion>, String, Vec<String>) {
    let unit = context.unit;
    let config = unit.settings.python.clone();
    let in_header = header.map(|header| header.pythons.clone()).unwrap_or_default();
    if config.is_none() && in_header.len() > 1 {
        return (in_header, lock_shown.to_owned(), Vec::new());
    }
    let in_header = in_header.first().map(|&python| (python, Origin::whole(lock_shown)));
    let choice =
        python_target::choose(&unit.folder, &unit.shown, &Known { option: None, config, header: in_header });
    let mut notes: Vec<String> = Vec::new();
    if choice.reason == Reason::Default {
        let why = choice.passed_over.iter().map(|passed| format!(" ({}: {})", passed.place, passed.why));
        let why: String = why.collect();
        notes.push(format!(
            "{}: nothing says which Python to lock for, so it is {}{why}; `--python-version` or reana-lock.toml says it",
            unit.name,
            choice.python.short()
        ));
    }
    let because = choice.place.map_or_else(|| "the default".to_owned(), |place| place.to_string());
    (vec![choice.python], because, notes)
}
