//! The tools that are compared, and how each is called.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result};

use super::measure::{Call, Environment};
use super::server::Server;
use crate::project::{cargo, output, run};

/// A tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tool {
    /// This project's command, as a release build.
    ReanaLock,
    /// `uv pip compile`.
    Uv,
    /// `pip-compile`.
    PipCompile,
}

impl Tool {
    /// What it is called in tables.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::ReanaLock => "reana-lock",
            Self::Uv => "uv pip compile",
            Self::PipCompile => "pip-compile",
        }
    }
}

/// Where the programs are.
pub(crate) struct Tools {
    /// The release build.
    pub(crate) reana_lock: PathBuf,
    venv: PathBuf,
    python_version: String,
}

/// This project's command: the one that is named, else a release build.
pub(crate) fn reana_lock(bin: Option<&Path>) -> Result<PathBuf> {
    match bin {
        Some(bin) => bin.canonicalize().with_context(|| bin.display().to_string()),
        None => build_release(),
    }
}

impl Tools {
    /// Builds this project's command and, on the first run, installs the others.
    pub(crate) fn prepare(folder: &Path, bin: Option<&Path>, python_version: &str) -> Result<Self> {
        let reana_lock = reana_lock(bin)?;
        let venv = folder.join("tools");
        if !venv.join("bin/pip-compile").exists() {
            let python = crate::live::find_python(python_version);
            let python = python.with_context(|| format!("the bench needs Python {python_version}"))?;
            run(Command::new(python).args(["-m", "venv", "--clear"]).arg(&venv))?;
            let pip = ["-m", "pip", "install", "--quiet", "--upgrade", "pip", "uv", "pip-tools"];
            run(Command::new(venv.join("bin/python")).args(pip).env_remove("PIP_FIND_LINKS"))?;
        }
        Ok(Self { reana_lock, venv, python_version: python_version.to_owned() })
    }

    /// The Python that the tools are installed in.
    pub(crate) fn python(&self) -> PathBuf {
        self.venv.join("bin/python")
    }

    fn program(&self, tool: Tool) -> PathBuf {
        match tool {
            Tool::ReanaLock => self.reana_lock.clone(),
            Tool::Uv => self.venv.join("bin/uv"),
            Tool::PipCompile => self.venv.join("bin/pip-compile"),
        }
    }

    /// What they call their versions, and the Python's.
    pub(crate) fn versions(&self) -> Result<Vec<String>> {
        let programs = [Tool::ReanaLock, Tool::Uv, Tool::PipCompile].map(|tool| self.program(tool));
        let mut versions = Vec::new();
        for program in programs.iter().chain([&self.python(), &self.venv.join("bin/pip")]) {
            let said = output(Command::new(program).arg("--version"))?;
            versions.push(said.split(" from ").next().unwrap_or_default().trim().to_owned());
        }
        Ok(versions)
    }

    /// The environment for all: the machine's settings are no part of what is compared.
    pub(crate) fn environment(&self, home: &Path, server: &Server) -> Environment {
        let certificates = server.certificates.display().to_string();
        let bin = self.venv.join("bin");
        [
            ("PATH", format!("{}:/usr/local/bin:/usr/bin:/bin", bin.display())),
            ("HOME", home.display().to_string()),
            ("LANG", "C.UTF-8".to_owned()),
            ("SSL_CERT_FILE", certificates.clone()),
            ("PIP_CERT", certificates),
            ("PIP_CONFIG_FILE", "/dev/null".to_owned()),
            ("PIP_DISABLE_PIP_VERSION_CHECK", "1".to_owned()),
            ("UV_NO_CONFIG", "1".to_owned()),
            ("UV_PYTHON_DOWNLOADS", "never".to_owned()),
        ]
        .map(|(name, value)| (name.to_owned(), value))
        .into()
    }

    /// The calls that lock components' folders: one for all, or one each.
    pub(crate) fn calls(&self, tool: Tool, folders: &[PathBuf], cache: &Path, index: &str) -> Vec<Call> {
        let program = self.program(tool).display().to_string();
        let cache = cache.display();
        let words = |line: String| line.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let python_version = &self.python_version;
        if tool == Tool::ReanaLock {
            let mut argv = words(format!(
                "{program} compile --quiet --python-version={python_version} --cache-dir={cache} --index-url={index}"
            ));
            argv.extend(folders.iter().map(|folder| folder.display().to_string()));
            let cwd = folders.first().and_then(|folder| folder.parent()).unwrap_or(Path::new("/"));
            return vec![Call { argv, cwd: cwd.to_owned() }];
        }
        let rest = match tool {
            Tool::Uv => format!(
                "pip compile --quiet --generate-hashes --python-version={python_version} --python-platform=x86_64-manylinux_2_28 --python={} --cache-dir={cache} --default-index={index} --output-file=requirements.txt requirements.in",
                self.python().display(),
            ),
            _ => format!(
                "--quiet --generate-hashes --allow-unsafe --no-emit-index-url --cache-dir={cache}/tools --pip-args=--cache-dir={cache}/pip --index-url={index} --output-file=requirements.txt requirements.in"
            ),
        };
        let argv = words(format!("{program} {rest}"));
        folders.iter().map(|folder| Call { argv: argv.clone(), cwd: folder.clone() }).collect()
    }
}

/// Builds `reana-lock` as it is released and gives the executable's path.
fn build_release() -> Result<PathBuf> {
    let arguments = [
        "build",
        "--release",
        "--quiet",
        "--package=reana-lock",
        "--features=jemalloc",
        "--message-format=json",
    ];
    let messages = output(&mut cargo(arguments))?;
    let executable = |line: &str| {
        let message: serde_json::Value = serde_json::from_str(line).ok()?;
        Some(PathBuf::from(message["executable"].as_str()?))
    };
    messages.lines().find_map(executable).context("cargo built no executable of reana-lock")
}
