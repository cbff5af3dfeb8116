//! The manifests of an sdist, read as those of a checkout are.

use reana_manifest::files::{FileError, Files};
use reana_manifest::{Declared, Text, Unknown, read_project};
use reana_model::requirement::parse_specifiers_mended;
use reana_model::{Target, VersionSpecifiers};

use crate::archive::unpack::Project;

use super::requires_txt::{Requires, conditional, extra_name};

/// What the evaluator made of the manifests.
pub(super) enum Evaluated {
    /// All that matters is known.
    Known {
        /// The requirements with their extras.
        requires: Requires,
        /// The Pythons that it is for.
        requires_python: Option<VersionSpecifiers>,
        /// Whether the target's Python was looked at.
        consulted_python: bool,
        /// Whether the target's platform was looked at.
        consulted_platform: bool,
    },
    /// Nothing but a plug-in of setuptools is unknown; the reason.
    PlugIn(String),
    /// Something else is unknown or wrong; the reason.
    Failed(String),
}

/// Evaluates the manifests of an unpacked sdist.
pub(super) fn evaluate(project: &Project, file_name: &str, target: &Target) -> Evaluated {
    of_files(project, file_name, target)
}

/// Reads pyproject.toml alone, which tells all.
pub(super) fn read_pyproject(project: &Project, file_name: &str, target: &Target) -> Evaluated {
    of_files(&Pyproject(project), file_name, target)
}

/// A project as if it had nothing but its pyproject.toml.
struct Pyproject<'a>(&'a Project);

impl Files for Pyproject<'_> {
    fn read(&self, path: &str) -> Result<Vec<u8>, FileError> {
        if path == "pyproject.toml" { self.0.read(path) } else { Err(FileError::Absent) }
    }

    fn exists(&self, path: &str) -> bool {
        path == "pyproject.toml" && self.0.exists(path)
    }

    fn list(&self, _folder: &str) -> Vec<String> {
        vec!["pyproject.toml".to_owned()]
    }
}

fn of_files(files: &dyn Files, file_name: &str, target: &Target) -> Evaluated {
    let declared = match read_project(files, file_name, target) {
        Ok(declared) => declared,
        Err(problem) => return Evaluated::Failed(problem.to_string()),
    };
    if let Some(unknown) = unknown_of(&declared) {
        let reason = unknown.to_string();
        return if unknown.plug_in { Evaluated::PlugIn(reason) } else { Evaluated::Failed(reason) };
    }
    match requires_of(&declared) {
        Err(reason) => Evaluated::Failed(reason),
        Ok(requires) => {
            let python = declared.python_requires.ok().flatten();
            Evaluated::Known {
                requires,
                // What can't be understood says nothing, as in pip.
                requires_python: python.and_then(|text| parse_specifiers_mended(&text.value).ok()),
                consulted_python: declared.consulted.python,
                consulted_platform: declared.consulted.platform,
            }
        }
    }
}

/// What is unknown of that which matters; something else than a plug-in first.
fn unknown_of(declared: &Declared) -> Option<&Unknown> {
    let unknown = [
        declared.install_requires.as_ref().err(),
        declared.extras_require.as_ref().err(),
        declared.python_requires.as_ref().err(),
    ];
    let unknown = unknown.into_iter().flatten();
    unknown.clone().find(|unknown| !unknown.plug_in).or_else(|| unknown.clone().next())
}

fn requires_of(declared: &Declared) -> Result<Requires, String> {
    let mut found = Requires::default();
    for text in declared.install_requires.iter().flatten() {
        found.requires_dist.push(requirement(text, &[])?);
    }
    for (key, list) in declared.extras_require.iter().flatten() {
        let (extra, marker) = key.split_once(':').unwrap_or((key, ""));
        let mut markers = Vec::new();
        if !marker.trim().is_empty() {
            markers.push(marker.trim().to_owned());
        }
        if !extra.trim().is_empty() {
            let extra = extra_name(extra).ok_or_else(|| format!("`{extra}` is not the name of an extra"))?;
            markers.push(format!("extra == '{extra}'"));
            if !found.extras.contains(&extra) {
                found.extras.push(extra);
            }
        }
        for text in list {
            found.requires_dist.push(requirement(text, &markers)?);
        }
    }
    Ok(found)
}

fn requirement(text: &Text, markers: &[String]) -> Result<reana_model::Requirement, String> {
    conditional(&text.value, markers, text.origin.clone())
        .map_err(|reason| format!("{}: {reason}", text.origin))
}
