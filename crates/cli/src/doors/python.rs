//! The door to Python: builds the metadata of an sdist with pip, in isolation, when the user said so.
//! This runs the package's code.

#![expect(clippy::disallowed_methods, reason = "a build is a program that is run")]

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use reana_model::PythonVersion;

/// What a build said of a distribution: core metadata fields, as pip's installation report gives them.
#[derive(Debug, serde::Deserialize)]
pub(crate) struct BuiltMetadata {
    /// The distribution's name.
    pub(crate) name: String,
    /// Its version.
    pub(crate) version: String,
    /// Its requirements.
    #[serde(default)]
    pub(crate) requires_dist: Vec<String>,
    /// The Pythons that it is for.
    #[serde(default)]
    pub(crate) requires_python: Option<String>,
    /// Its extras.
    #[serde(default)]
    pub(crate) provides_extra: Vec<String>,
}

#[derive(serde::Deserialize)]
struct Report {
    install: Vec<Installed>,
}

#[derive(serde::Deserialize)]
struct Installed {
    metadata: BuiltMetadata,
}

/// Why a build gave nothing.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BuildError {
    /// No Python of the target's version.
    #[error("no python{0} was found on PATH to build with")]
    NoPython(String),
    /// The program could not be started or its files not be handled.
    #[error("the build could not be run: {0}")]
    Io(#[from] std::io::Error),
    /// It failed; the end of what it said.
    #[error("the build failed:\n{0}")]
    Failed(String),
    /// It succeeded, and its report makes no sense (pip before 22.2 writes none).
    #[error("pip's report could not be read: {0}")]
    Report(String),
}

/// Where a Python of this version is on `path` (the value of PATH).
pub(crate) fn find(python: PythonVersion, path: &std::ffi::OsStr) -> Option<PathBuf> {
    let name = format!("python{}", python.short());
    std::env::split_paths(path).map(|folder| folder.join(&name)).find(|candidate| works(candidate, python))
}

/// Whether the program is really that Python (version managers leave shims that only print an error).
fn works(program: &Path, python: PythonVersion) -> bool {
    let asked = Command::new(program)
        .args(["-I", "-c", "import sys; print('%d.%d' % sys.version_info[:2])"])
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output();
    asked.is_ok_and(|output| String::from_utf8_lossy(&output.stdout).trim() == python.short())
}

/// Builds the metadata of the sdist or project folder at `place`, its build requirements coming from `index_url` if given.
/// Its home is a folder of its own, so that no configuration or credential of the user reaches the code.
pub(crate) fn build_metadata(
    python: PythonVersion,
    path: &std::ffi::OsStr,
    place: &Path,
    index_url: Option<&str>,
) -> Result<BuiltMetadata, BuildError> {
    let program = find(python, path).ok_or_else(|| BuildError::NoPython(python.short()))?;
    let home = tempfile::tempdir()?;
    let report = home.path().join("report.json");
    let mut command = Command::new(program);
    command
        .args(["-I", "-m", "pip", "--disable-pip-version-check", "--no-input", "install"])
        .args(["--dry-run", "--no-deps", "--ignore-installed", "--no-binary", ":all:", "--quiet", "--report"])
        .arg(&report)
        .stdin(Stdio::null())
        .env_clear()
        .env("PATH", path)
        .env("HOME", home.path())
        .env("TMPDIR", home.path());
    for name in [
        "SSL_CERT_FILE",
        "PIP_CERT",
        "HTTP_PROXY",
        "HTTPS_PROXY",
        "NO_PROXY",
        "http_proxy",
        "https_proxy",
        "no_proxy",
    ] {
        if let Some(value) = std::env::var_os(name) {
            command.env(name, value);
        }
    }
    if let Some(url) = index_url {
        command.args(["--index-url", url]);
    }
    let output = command.arg(place).output()?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        let lines: Vec<&str> = said.lines().filter(|line| !line.trim().is_empty()).collect();
        return Err(BuildError::Failed(lines[lines.len().saturating_sub(15)..].join("\n")));
    }
    let text = std::fs::read(&report)?;
    let report: Report =
        serde_json::from_slice(&text).map_err(|error| BuildError::Report(error.to_string()))?;
    let installed = report.install.into_iter().next();
    installed
        .map(|installed| installed.metadata)
        .ok_or_else(|| BuildError::Report("it names no package".to_owned()))
}
