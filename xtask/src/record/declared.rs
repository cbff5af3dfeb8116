//! What the example fleet's own manifests declare, for the recorder.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};
use serde::Deserialize;

use crate::project::output;

/// What a manifest declares, as it is written there.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Declared {
    pub(crate) name: String,
    pub(crate) version: String,
    pub(crate) python_requires: String,
    pub(crate) install_requires: Vec<String>,
    pub(crate) extras_require: BTreeMap<String, Vec<String>>,
}

#[derive(Deserialize)]
struct Pyproject {
    project: Project,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Project {
    name: String,
    requires_python: String,
    dependencies: Vec<String>,
    #[serde(default)]
    optional_dependencies: BTreeMap<String, Vec<String>>,
}

/// What the fleet's components declare; the shared packages come with their releases.
pub(crate) fn of_components(fleet: &Path, shared: &[String]) -> Result<Vec<Declared>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(fleet)? {
        let entry = entry?;
        if entry.path().is_dir() && !shared.iter().any(|name| entry.file_name() == name.as_str()) {
            let declared = of_folder(&entry.path());
            found.push(declared.with_context(|| entry.path().display().to_string())?);
        }
    }
    found.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(found)
}

/// What the manifest in a folder declares: setup.py, else pyproject.toml.
pub(crate) fn of_folder(folder: &Path) -> Result<Declared> {
    if folder.join("setup.py").is_file() {
        let mut python = Command::new("python3");
        python.args(["-c", include_str!("declared.py")]).current_dir(folder);
        return Ok(serde_json::from_str(&output(&mut python)?)?);
    }
    let Pyproject { project } = toml::from_str(&std::fs::read_to_string(folder.join("pyproject.toml"))?)?;
    Ok(Declared {
        name: project.name,
        version: String::new(),
        python_requires: project.requires_python,
        install_requires: project.dependencies,
        extras_require: project.optional_dependencies,
    })
}

impl Declared {
    /// The requirements as metadata has them: those of an extra under a marker, as setuptools writes it.
    pub(crate) fn requires_dist(&self) -> Vec<String> {
        let mut all = self.install_requires.clone();
        for (extra, requirements) in &self.extras_require {
            for requirement in requirements {
                all.push(match requirement.split_once(';') {
                    None => format!("{requirement}; extra == \"{extra}\""),
                    Some((head, marker)) => {
                        format!("{}; ({}) and extra == \"{extra}\"", head.trim(), marker.trim())
                    }
                });
            }
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extras_become_markers() {
        let declared = Declared {
            name: "a".to_owned(),
            version: "1".to_owned(),
            python_requires: ">=3.8".to_owned(),
            install_requires: vec!["b>=1".to_owned()],
            extras_require: BTreeMap::from([(
                "x".to_owned(),
                vec!["c".to_owned(), "d ; python_version < '3.8'".to_owned()],
            )]),
        };
        let expected = ["b>=1", "c; extra == \"x\"", "d; (python_version < '3.8') and extra == \"x\""]
            .map(str::to_owned);
        assert_eq!(declared.requires_dist(), expected);
    }
}
