//! `cargo xtask live`: what only the live index and a real pip can tell. Every check goes through the command.

mod pylock;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

use crate::job::{Case, Incident, Job, lock, normalised, pins, read};
use crate::project::{build, output, root};

/// How a check ended, if it did not fail.
enum Outcome {
    Passed(String),
    Skipped(String),
}

/// Runs all checks, also after one has failed, and ends with their count.
pub(crate) fn live() -> Result<()> {
    let command = build()?;
    let mut checks: Vec<(String, Result<Outcome>)> = Vec::new();
    for component in ["harbour-server", "harbour-controller", "harbour-engine-serial"] {
        checks.push((format!("pip takes the lock of {component}"), pip_takes(component)));
    }
    checks.push(("packaging and pip take a pylock".to_owned(), pylock::is_taken(&command)));
    let incident: Incident = read("incident.json")?;
    for build in &incident.builds {
        let when = build.get("when").context("incident.json: a build without its time")?;
        checks.push((format!("the incident at {when}"), incident_at(&command, &incident, build, when)));
    }
    let cases: Vec<Case> = read("replay/cases.json")?;
    let newest = cases.iter().filter(|case| case.requirements_in.is_none());
    let newest = newest.max_by_key(|case| &case.cutoff).context("there is no replay case")?;
    checks.push((format!("{} as of {}", newest.component, newest.cutoff), replay(&command, newest)));
    conclude(checks)
}

/// Says how each check ended; a failed one fails the run.
fn conclude(checks: Vec<(String, Result<Outcome>)>) -> Result<()> {
    let (mut passed, mut failed, mut skipped) = (0, 0, 0);
    println!();
    for (name, outcome) in checks {
        match outcome {
            Ok(Outcome::Passed(note)) => {
                passed += 1;
                println!("ok      {name}: {note}");
            }
            Ok(Outcome::Skipped(why)) => {
                skipped += 1;
                println!("SKIPPED {name}: {why}");
            }
            Err(error) => {
                failed += 1;
                println!("FAILED  {name}: {error:#}");
            }
        }
    }
    println!("\nlive: {passed} passed, {failed} failed, {skipped} skipped");
    ensure!(failed == 0, "{failed} checks against the live index failed");
    Ok(())
}

/// `pip install --dry-run` of a component's lock, by a Python of the lock's version.
fn pip_takes(component: &str) -> Result<Outcome> {
    let lock = root().join("fixtures/fleet").join(component).join("requirements.txt");
    let text = std::fs::read_to_string(&lock).with_context(|| lock.display().to_string())?;
    let version = text.lines().find_map(|line| line.split_once(" with Python ")).map(|(_, version)| version);
    let version = version.context("the lock's header names no Python")?;
    let pins = pins(&text);
    ensure!(!pins.is_empty(), "the lock is empty");
    let Some(python) = find_python(version) else {
        let why = format!("no Python {version} with pip is installed here");
        ensure!(std::env::var_os("CI").is_none(), "{why}, and CI must check this");
        return Ok(Outcome::Skipped(why));
    };
    let mut pip = Command::new(python);
    pip.args(["-m", "pip", "install", "--dry-run", "--ignore-installed", "--require-hashes", "--quiet"]);
    pip.arg("--find-links").arg(root().join("fixtures/index/files")).arg("-r").arg(&lock);
    pip.args(["--report", "-"]);
    // What a machine offers its own users besides the index is no part of the check.
    pip.env_remove("PIP_FIND_LINKS").env("PIP_DISABLE_PIP_VERSION_CHECK", "1");
    let report: serde_json::Value = serde_json::from_str(&output(&mut pip)?).context("pip's report")?;
    let installs = report["install"].as_array().context("pip's report has no list")?.len();
    Ok(Outcome::Passed(format!("Python {version} would install {installs} of {} pins", pins.len())))
}

/// A Python `X.Y` that runs: from PATH, else from where pyenv keeps its versions.
pub(crate) fn find_python(version: &str) -> Option<PathBuf> {
    let mut candidates = vec![PathBuf::from(format!("python{version}"))];
    let home = std::env::var_os("PYENV_ROOT").map(PathBuf::from);
    let home = home.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".pyenv")));
    let versions = home.and_then(|home| std::fs::read_dir(home.join("versions")).ok());
    for entry in versions.into_iter().flatten().flatten() {
        if entry.file_name().to_string_lossy().starts_with(&format!("{version}.")) {
            candidates.push(entry.path().join("bin/python3"));
        }
    }
    candidates.into_iter().find(|python| {
        let mut command = Command::new(python);
        command.args(["-m", "pip", "--version"]).stdout(Stdio::null()).stderr(Stdio::null());
        command.status().is_ok_and(|status| status.success())
    })
}

fn incident_at(
    command: &Path,
    incident: &Incident,
    build: &BTreeMap<String, String>,
    when: &str,
) -> Result<Outcome> {
    let found = lock(
        command,
        &Job {
            install_requires: &incident.install_requires,
            python: &incident.python,
            cutoff: when,
            ..Job::default()
        },
    )?;
    let mut said = Vec::new();
    for (name, version) in build.iter().filter(|(name, _)| *name != "when") {
        ensure!(found.get(name) == Some(version), "{name} is {:?} and not {version}", found.get(name));
        said.push(format!("{name} {version}"));
    }
    Ok(Outcome::Passed(said.join(", ")))
}

/// Locks what a REANA component declared; all that it required by itself must be pinned.
fn replay(command: &Path, case: &Case) -> Result<Outcome> {
    let found = lock(command, &case.job())?;
    for requirement in &case.install_requires {
        let name =
            normalised(requirement.split(['[', '<', '>', '=', '!', '~', ';', ' ']).next().unwrap_or(""));
        ensure!(found.contains_key(&name) || requirement.contains(';'), "{requirement} has no pin");
    }
    let equal = case.expected.iter().filter(|(name, version)| found.get(*name) == Some(version)).count();
    Ok(Outcome::Passed(format!("{equal} of {} pins are those that were committed", case.expected.len())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_failed_check_fails_the_run() {
        let passed = || ("a".to_owned(), Ok(Outcome::Passed(String::new())));
        let skipped = || ("b".to_owned(), Ok(Outcome::Skipped(String::new())));
        let failed = || ("c".to_owned(), Err(anyhow::anyhow!("no")));
        assert!(conclude(vec![passed(), skipped()]).is_ok());
        assert!(conclude(vec![failed(), passed()]).is_err());
    }
}
