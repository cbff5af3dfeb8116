//! Locks that are made for a check: a setup.py written for the purpose, compiled by the command over the default
//! index as of a moment.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};
use serde::Deserialize;

use crate::project::{output, root};

/// Pins of a lock: names (normalised, without extras) and versions.
pub(crate) type Pins = BTreeMap<String, String>;

/// What a manifest declares and when it is locked.
#[derive(Default)]
pub(crate) struct Job<'a> {
    /// `install_requires`.
    pub(crate) install_requires: &'a [String],
    /// `extras_require`, with a list each.
    pub(crate) extras_require: Option<&'a BTreeMap<String, Vec<String>>>,
    /// The lines of a requirements.in beside the setup.py.
    pub(crate) requirements_in: &'a [String],
    /// The lines of a constraints file.
    pub(crate) constraints: &'a [String],
    /// The extras that are locked.
    pub(crate) extras: &'a [String],
    /// The target's Python.
    pub(crate) python: &'a str,
    /// The state of the index.
    pub(crate) cutoff: &'a str,
}

/// One campaign of fixtures/replay/cases.json.
#[derive(Deserialize)]
pub(crate) struct Case {
    /// Whose lock.
    pub(crate) component: String,
    /// When it was committed.
    pub(crate) date: String,
    python: String,
    /// The state of the index.
    pub(crate) cutoff: String,
    extras: Vec<String>,
    /// What was declared.
    pub(crate) install_requires: Vec<String>,
    extras_require: BTreeMap<String, Vec<String>>,
    /// The lines of the requirements.in beside the setup.py, where there was one.
    pub(crate) requirements_in: Option<Vec<String>>,
    allow_yanked: Vec<String>,
    /// What pip-compile chose.
    pub(crate) expected: Pins,
}

impl Case {
    /// What is to be compiled.
    pub(crate) fn job(&self) -> Job<'_> {
        Job {
            install_requires: &self.install_requires,
            extras_require: Some(&self.extras_require),
            requirements_in: self.requirements_in.as_deref().unwrap_or_default(),
            constraints: &self.allow_yanked,
            extras: &self.extras,
            python: &self.python,
            cutoff: &self.cutoff,
        }
    }
}

/// fixtures/incident.json.
#[derive(Deserialize)]
pub(crate) struct Incident {
    /// The target's Python.
    pub(crate) python: String,
    /// What was declared.
    pub(crate) install_requires: Vec<String>,
    /// When each build was, and what it got of the shared packages.
    pub(crate) builds: Vec<BTreeMap<String, String>>,
}

/// Compiles a job and gives the pins.
pub(crate) fn lock(command: &Path, job: &Job<'_>) -> Result<Pins> {
    let folder = tempfile::tempdir()?;
    // A JSON string is a Python string, as long as it has no surrogates; requirement lines have none.
    let setup_py = format!(
        "from setuptools import setup\n\nsetup(\n    name=\"live\",\n    version=\"1.0\",\n    install_requires={},\n    extras_require={},\n)\n",
        serde_json::to_string(job.install_requires)?,
        serde_json::to_string(&job.extras_require.cloned().unwrap_or_default())?,
    );
    std::fs::write(folder.path().join("setup.py"), setup_py)?;
    let mut compile = Command::new(command);
    compile.current_dir(folder.path()).args([
        "compile",
        "setup.py",
        "--output-file=-",
        "--quiet",
        "--hashes=none",
    ]);
    if !job.requirements_in.is_empty() {
        std::fs::write(folder.path().join("requirements.in"), job.requirements_in.join("\n") + "\n")?;
        compile.arg("requirements.in");
    }
    if !job.constraints.is_empty() {
        std::fs::write(folder.path().join("constraints.txt"), job.constraints.join("\n") + "\n")?;
        compile.arg("--constraint=constraints.txt");
    }
    compile.arg(format!("--python-version={}", job.python)).arg(format!("--exclude-newer={}", job.cutoff));
    compile.args(job.extras.iter().map(|extra| format!("--extra={extra}")));
    let found = pins(&output(&mut compile)?);
    if found.is_empty() {
        bail!("the lock is empty");
    }
    Ok(found)
}

/// The pins of a lock, hashes and annotations left out.
pub(crate) fn pins(lock: &str) -> Pins {
    let pin = |line: &str| {
        let (name, rest) = line.split_once("==")?;
        let name = name.split('[').next()?;
        let version = rest.split([' ', ';', '\\']).next()?;
        name.starts_with(|first: char| first.is_ascii_alphanumeric())
            .then(|| (normalised(name), version.to_owned()))
    };
    lock.lines().filter_map(pin).collect()
}

/// A name as PEP 503 has it.
pub(crate) fn normalised(name: &str) -> String {
    name.trim().to_lowercase().replace(['_', '.'], "-")
}

/// A JSON file of the fixtures.
pub(crate) fn read<T: serde::de::DeserializeOwned>(name: &str) -> Result<T> {
    let path = root().join("fixtures").join(name);
    let text = std::fs::read_to_string(&path).with_context(|| path.display().to_string())?;
    serde_json::from_str(&text).with_context(|| path.display().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pins_are_read_from_both_styles() {
        let lock = "# header==1\nA_b[x,y]==1.0 \\\n    --hash=sha256:00\n    # via c\nc==2 ; python_version > \"3\"  # via d==1\n-e .\n";
        let expected =
            [("a-b", "1.0"), ("c", "2")].map(|(name, version)| (name.to_owned(), version.to_owned()));
        assert_eq!(pins(lock), Pins::from(expected));
    }
}
