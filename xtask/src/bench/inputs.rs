//! What is locked: the constraints of REANA's components, from fixtures/bench.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context as _, Result};
use serde::Deserialize;

/// fixtures/bench/components.json.
#[derive(Deserialize)]
pub(crate) struct Inputs {
    /// The state of the index: nothing that was uploaded later is seen.
    pub(crate) exclude_newer: jiff::Timestamp,
    /// The target's Python.
    pub(crate) python: String,
    /// Whose constraints they are.
    pub(crate) components: Vec<Component>,
}

/// One component's constraints.
#[derive(Deserialize)]
pub(crate) struct Component {
    /// What its repository is called.
    pub(crate) name: String,
    install_requires: Vec<String>,
    extras_require: BTreeMap<String, Vec<String>>,
    extras: Vec<String>,
}

impl Component {
    /// Writes its requirements.in, the same for all tools, with the extras that it locks.
    pub(crate) fn write(&self, folder: &Path) -> Result<()> {
        let extras = self.extras.iter().filter_map(|extra| self.extras_require.get(extra)).flatten();
        let lines: Vec<&str> = self.install_requires.iter().chain(extras).map(String::as_str).collect();
        std::fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
        std::fs::write(folder.join("requirements.in"), lines.join("\n") + "\n")?;
        Ok(())
    }
}
