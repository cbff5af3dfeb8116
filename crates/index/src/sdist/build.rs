//! What an sdist needs to be built, as an installer would ask for it (PEP 517, 518).

use reana_manifest::{BuildNeeds, Unknown, read_build};
use reana_model::{Requirement, Target};

use crate::archive::unpack::unpack_folder;

/// What the build of an sdist needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BuildRequirements {
    /// The build backend, as an import path.
    pub backend: String,
    /// What it requires, with the places in the sdist: `foo-1.0.tar.gz/pyproject.toml:3`.
    pub requires: Vec<Requirement>,
    /// Why there may be more, which only a build would tell; empty where that is all.
    pub open: Vec<String>,
}

/// What was read of an sdist's build.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BuildAnswer {
    /// What it needs.
    Known(BuildRequirements),
    /// It can't be told; the reason.
    Unknown(String),
}

/// Reads what the build of the project in a folder of an archive (its top, where empty) needs, for a target.
pub fn read_build_requirements(bytes: &[u8], file_name: &str, folder: &str, target: &Target) -> BuildAnswer {
    read(bytes, file_name, folder, target).unwrap_or_else(BuildAnswer::Unknown)
}

fn read(bytes: &[u8], file_name: &str, folder: &str, target: &Target) -> Result<BuildAnswer, String> {
    let project = unpack_folder(bytes, file_name, folder).map_err(|error| error.to_string())?;
    let shown = if folder.is_empty() { file_name.to_owned() } else { format!("{file_name}/{folder}") };
    let needs = read_build(&project, &shown, target).map_err(|problem| problem.to_string())?;
    Ok(build_answer(needs))
}

/// What a project's manifests say of its build, with its requirements understood.
pub fn build_answer(needs: BuildNeeds) -> BuildAnswer {
    let told = |unknown: &Unknown| match unknown.plug_in {
        true => format!("{}: {}", unknown.origin, unknown.reason),
        false => unknown.to_string(),
    };
    let mut open: Vec<String> = needs.open.iter().map(told).collect();
    let mut requires = Vec::new();
    for text in needs.requires {
        match Requirement::parse_mended(&text.value, text.origin.clone()) {
            Ok(requirement) if !requires.contains(&requirement) => requires.push(requirement),
            Ok(_) => {}
            Err(error) => open.push(format!("{}: {error}", text.origin)),
        }
    }
    BuildAnswer::Known(BuildRequirements { backend: needs.backend, requires, open })
}
