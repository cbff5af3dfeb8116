//! Which Python a component is locked for, and why (DESIGN decision 2).

use std::path::Path;

use reana_model::{Origin, PythonVersion};

use crate::dockerfile::Dockerfile;
use crate::doors::disk::{self, DiskError};

#[cfg(test)]
mod tests;

/// The Python where nothing says which.
pub(crate) const DEFAULT: (u8, u8) = (3, 12);

/// A Python, and what made it so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PythonChoice {
    /// The Python.
    pub(crate) python: PythonVersion,
    /// What made it so.
    pub(crate) reason: Reason,
    /// Where that stands, if in a file.
    pub(crate) place: Option<Origin>,
    /// What was looked at before and could not be used, and why.
    pub(crate) passed_over: Vec<PassedOver>,
}

/// What decides about the Python, in this order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Reason {
    /// The command line.
    Option,
    /// `reana-lock.toml`.
    Config,
    /// The old lock's header.
    Header,
    /// `.python-version`.
    PythonVersionFile,
    /// The Dockerfile, with what in it says so.
    Dockerfile(String),
    /// Nothing, so that it is [`DEFAULT`].
    Default,
}

/// A place that could have said which Python, and did not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PassedOver {
    /// The file.
    pub(crate) place: Origin,
    /// Why it was of no use.
    pub(crate) why: String,
}

/// What is known besides the component's own files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Known {
    /// `--python-version`.
    pub(crate) option: Option<PythonVersion>,
    /// `reana-lock.toml`, and where in it.
    pub(crate) config: Option<(PythonVersion, Origin)>,
    /// The old lock's header, and where that is.
    pub(crate) header: Option<(PythonVersion, Origin)>,
}

/// The Python for the component in this folder. `shown` is how the folder is called in messages (`""`
/// for the one that the run stands in).
pub(crate) fn choose(folder: &Path, shown: &str, known: &Known) -> PythonChoice {
    let choice = |python, reason, place| PythonChoice { python, reason, place, passed_over: Vec::new() };
    if let Some(python) = known.option {
        return choice(python, Reason::Option, None);
    }
    if let Some((python, place)) = known.config.clone() {
        return choice(python, Reason::Config, Some(place));
    }
    if let Some((python, place)) = known.header.clone() {
        return choice(python, Reason::Header, Some(place));
    }
    let mut passed_over = Vec::new();
    for look in [python_version_file, dockerfile] {
        match look(folder, shown) {
            Ok(Some(found)) => return PythonChoice { passed_over, ..found },
            Ok(None) => {}
            Err(why) => passed_over.push(why),
        }
    }
    let python = PythonVersion::newest(DEFAULT.0, DEFAULT.1);
    PythonChoice { python, reason: Reason::Default, place: None, passed_over }
}

type Look = Result<Option<PythonChoice>, PassedOver>;

fn found(python: PythonVersion, reason: Reason, place: Origin) -> Look {
    Ok(Some(PythonChoice { python, reason, place: Some(place), passed_over: Vec::new() }))
}

/// pyenv's and uv's file: one version a line, of which the first is meant.
fn python_version_file(folder: &Path, shown: &str) -> Look {
    let file = ".python-version";
    let Some(text) = text(folder, shown, file)? else { return Ok(None) };
    let mut lines = (1..).zip(text.lines()).map(|(number, line)| (number, line.trim()));
    let Some((number, line)) = lines.find(|(_, line)| !line.is_empty() && !line.starts_with('#')) else {
        return Ok(None);
    };
    let place = Origin::new(name(shown, file), number);
    let version = line.strip_prefix("cpython-").or_else(|| line.strip_prefix("cpython@")).unwrap_or(line);
    match version.split('/').next().unwrap_or_default().parse() {
        Ok(python) => found(python, Reason::PythonVersionFile, place),
        // The name of an environment of pyenv's, or another implementation.
        Err(error) => Err(PassedOver { place, why: error.to_string() }),
    }
}

fn dockerfile(folder: &Path, shown: &str) -> Look {
    let file = "Dockerfile";
    let Some(text) = text(folder, shown, file)? else { return Ok(None) };
    match Dockerfile::parse(&text).python() {
        Some(python) => {
            let place = Origin::new(name(shown, file), python.line);
            match python.version.parse() {
                Ok(version) => found(version, Reason::Dockerfile(python.what), place),
                Err(error) => Err(PassedOver { place, why: error.to_string() }),
            }
        }
        None => {
            let why = "it names no Python that is known here".to_owned();
            Err(PassedOver { place: Origin::whole(name(shown, file)), why })
        }
    }
}

fn text(folder: &Path, shown: &str, file: &str) -> Result<Option<String>, PassedOver> {
    match disk::read_text(&folder.join(file)) {
        Ok(text) => Ok(Some(text)),
        Err(DiskError::Absent { .. }) => Ok(None),
        Err(error) => Err(PassedOver { place: Origin::whole(name(shown, file)), why: error.to_string() }),
    }
}

fn name(shown: &str, file: &str) -> String {
    if shown.is_empty() { file.to_owned() } else { format!("{shown}/{file}") }
}
