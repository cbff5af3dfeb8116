//! `cargo xtask replay`: REANA's own locks since 2021, made again from the constraints they came from, against
//! the live index as of their moments. Prints what differs from what pip-compile chose.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, bail};
use serde::Deserialize;

/// Left out by pip-compile as unsafe, or macOS only (some of the locks were made on a Mac).
const ASIDE: [&str; 5] = ["setuptools", "pip", "wheel", "distribute", "appnope"];

/// Options of `cargo xtask replay`.
#[derive(clap::Args)]
pub(crate) struct ReplayArgs {
    /// Only the cases whose `component@date` contains this
    #[arg(long)]
    only: Option<String>,
    /// Write the differences here as JSON
    #[arg(long)]
    json: Option<PathBuf>,
    /// The reana-lock to run; default: target/release/reana-lock
    #[arg(long)]
    bin: Option<PathBuf>,
}

/// One campaign of fixtures/replay/cases.json.
#[derive(Deserialize)]
struct Case {
    component: String,
    date: String,
    python: String,
    cutoff: String,
    extras: Vec<String>,
    install_requires: Vec<String>,
    extras_require: BTreeMap<String, Vec<String>>,
    requirements_in: Option<Vec<String>>,
    allow_yanked: Vec<String>,
    expected: BTreeMap<String, String>,
}

/// What came out of one case.
#[derive(serde::Serialize)]
struct Outcome {
    case: String,
    exact: bool,
    /// Package, expected version, found version; empty where absent.
    differences: Vec<(String, String, String)>,
    error: Option<String>,
}

/// Runs the cases one after the other and prints the differences and the number of exact ones.
pub(crate) fn run(args: &ReplayArgs, root: &Path) -> anyhow::Result<()> {
    let cases = root.join("fixtures/replay/cases.json");
    let cases: Vec<Case> = serde_json::from_slice(&std::fs::read(&cases).context("failed to read the cases")?)?;
    let bin = args.bin.clone().unwrap_or_else(|| root.join("target/release/reana-lock"));
    let mut outcomes = Vec::new();
    for case in &cases {
        let id = format!("{}@{}", case.component, case.date.get(..10).unwrap_or(&case.date));
        if args.only.as_ref().is_some_and(|only| !id.contains(only)) {
            continue;
        }
        let outcome = replay(&bin, case, id)?;
        print!("{}", describe(&outcome));
        outcomes.push(outcome);
    }
    let exact = outcomes.iter().filter(|outcome| outcome.exact).count();
    println!("{exact} of {} exact", outcomes.len());
    if let Some(file) = &args.json {
        std::fs::write(file, serde_json::to_vec_pretty(&outcomes)?)?;
    }
    if outcomes.is_empty() {
        bail!("no case matches");
    }
    Ok(())
}

fn replay(bin: &Path, case: &Case, id: String) -> anyhow::Result<Outcome> {
    let folder = tempfile::tempdir()?;
    std::fs::write(folder.path().join("setup.py"), setup_py(case)?)?;
    let mut command = Command::new(bin);
    command.current_dir(folder.path()).args(["compile", "setup.py"]);
    if let Some(lines) = &case.requirements_in {
        std::fs::write(folder.path().join("requirements.in"), lines.join("\n") + "\n")?;
        command.arg("requirements.in");
    }
    if !case.allow_yanked.is_empty() {
        std::fs::write(folder.path().join("yanked.txt"), case.allow_yanked.join("\n") + "\n")?;
        command.args(["-c", "yanked.txt"]);
    }
    command.args(["--python-version", &case.python, "--exclude-newer", &case.cutoff, "-o", "-"]);
    command.args(["--no-header", "--no-annotate", "--hashes", "none", "--strip-extras"]);
    command.args(case.extras.iter().flat_map(|extra| ["--extra", extra]));
    let output = command.output().with_context(|| format!("failed to run {}", bin.display()))?;
    if !output.status.success() {
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        return Ok(Outcome { case: id, exact: false, differences: Vec::new(), error: Some(error) });
    }
    let found = pins(&String::from_utf8_lossy(&output.stdout));
    let differences = compare(&case.expected, &found);
    Ok(Outcome { case: id, exact: differences.is_empty(), differences, error: None })
}

/// The case's declarations as a setup.py in REANA's shape.
fn setup_py(case: &Case) -> anyhow::Result<String> {
    // A JSON string is a Python string, as long as it has no surrogates; requirement lines have none.
    Ok(format!(
        "from setuptools import setup\n\nextras_require = {}\n\ninstall_requires = {}\n\nsetup(\n    name={:?},\n    version=\"0\",\n    \
         extras_require=extras_require,\n    install_requires=install_requires,\n)\n",
        serde_json::to_string_pretty(&case.extras_require)?,
        serde_json::to_string_pretty(&case.install_requires)?,
        case.component,
    ))
}

fn pins(lock: &str) -> BTreeMap<String, String> {
    let requirements = lock.lines().filter_map(|line| line.split(" ;").next()?.split_once("=="));
    requirements.map(|(name, version)| (name.trim().to_owned(), version.trim().to_owned())).collect()
}

fn compare(expected: &BTreeMap<String, String>, found: &BTreeMap<String, String>) -> Vec<(String, String, String)> {
    let names: BTreeSet<&String> = expected.keys().chain(found.keys()).collect();
    let version = |pins: &BTreeMap<String, String>, name: &str| pins.get(name).cloned().unwrap_or_default();
    names
        .into_iter()
        .filter(|name| !ASIDE.contains(&name.as_str()))
        .map(|name| (name.clone(), version(expected, name), version(found, name)))
        .filter(|(_, expected, found)| expected != found)
        .collect()
}

fn describe(outcome: &Outcome) -> String {
    let mut text = String::new();
    let verdict = if outcome.exact { "exact" } else { "differs" };
    let _infallible = writeln!(text, "{:<50} {verdict}", outcome.case);
    for (name, expected, found) in &outcome.differences {
        let show = |version: &String| if version.is_empty() { "-".to_owned() } else { version.clone() };
        let _infallible = writeln!(text, "    {name}: expected {}, found {}", show(expected), show(found));
    }
    for line in outcome.error.iter().flat_map(|error| error.lines()) {
        let _infallible = writeln!(text, "    {line}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compares_without_what_stands_aside() {
        let expected = pins("a==1.0\nb==2.0 ; python_version < \"4\"\nsetuptools==80\n");
        let found = pins("a==1.0\nc==3\nsetuptools==79\n");
        let difference = |name: &str, expected: &str, found: &str| (name.to_owned(), expected.to_owned(), found.to_owned());
        assert_eq!(compare(&expected, &found), [difference("b", "2.0", ""), difference("c", "", "3")]);
    }
}
