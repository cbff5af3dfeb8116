//! A `pylock.toml` of live packages, read by the reference reader (`packaging.pylock`) and by pip.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::{Outcome, find_python};
use crate::project::output;

/// The Python that the lock is for, and that reads it.
const PYTHON: &str = "3.12";

/// The first pip that installs from a pylock, and the first `packaging` that reads one.
const READERS: [&str; 2] = ["pip>=26.1", "packaging>=26.1"];

/// Prints `name version` of each package that an installer would choose on this machine.
const READ: &str = "\
import sys, tomllib
from packaging.pylock import Pylock
with open(sys.argv[1], 'rb') as file:
    lock = Pylock.from_dict(tomllib.load(file))
lock.validate()
for package, chosen in lock.select():
    print(package.name, package.version, chosen.filename)
";

/// Wheels with many files, an sdist without wheels (docopt), and an old zip beside a tar.gz are among them.
const WANTED: &str = "requests\nPyYAML\ndocopt\nSQLAlchemy<2\n";

/// Locks, reads and installs for show.
pub(super) fn is_taken(command: &Path) -> Result<Outcome> {
    let Some(python) = find_python(PYTHON) else {
        let why = format!("no Python {PYTHON} with pip is installed here");
        ensure!(std::env::var_os("CI").is_none(), "{why}, and CI must check this");
        return Ok(Outcome::Skipped(why));
    };
    let folder = tempfile::tempdir()?;
    std::fs::write(folder.path().join("requirements.in"), WANTED)?;
    let mut compile = Command::new(command);
    compile.current_dir(folder.path()).args([
        "compile",
        "requirements.in",
        "--output-file=pylock.toml",
        "--quiet",
    ]);
    compile.arg(format!("--python-version={PYTHON}"));
    output(&mut compile)?;
    let lock = folder.path().join("pylock.toml");
    let text = std::fs::read_to_string(&lock)?;
    let locked = text.matches("[[packages]]").count();
    ensure!(locked > 4, "the lock has {locked} packages");

    let venv = folder.path().join("venv");
    output(Command::new(python).args(["-m", "venv"]).arg(&venv))?;
    let python = venv.join("bin/python");
    let mut pip = Command::new(&python);
    output(pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]).args(READERS))?;
    let chosen = output(Command::new(&python).args(["-c", READ]).arg(&lock))?;
    ensure!(chosen.lines().count() == locked, "packaging chose other packages:\n{chosen}");
    ensure!(
        chosen.contains(".tar.gz") && chosen.contains(".whl"),
        "no wheel or no sdist was chosen:\n{chosen}"
    );

    let mut pip = Command::new(&python);
    pip.args(["-m", "pip", "install", "--dry-run", "--ignore-installed", "--quiet", "--report", "-", "-r"]);
    let report: serde_json::Value = serde_json::from_str(&output(pip.arg(&lock))?).context("pip's report")?;
    let installs = report["install"].as_array().context("pip's report has no list")?.len();
    ensure!(installs == locked, "pip would install {installs} of {locked} packages");
    let version = output(Command::new(&python).args(["-m", "pip", "--version"]))?;
    let version = version.split_whitespace().nth(1).unwrap_or_default().to_owned();
    Ok(Outcome::Passed(format!("packaging and pip {version} take all {locked} packages")))
}
