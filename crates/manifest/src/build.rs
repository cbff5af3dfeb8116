//! What a project needs to be built (PEP 517, 518): what an installer puts into the build's environment.

use reana_model::{Origin, Target};

use crate::pyproject::{self, PyProject};
use crate::reading::Reading;
use crate::setup_py::{self, Consulted};
use crate::{Files, Problem, ProblemKind, Text, Unknown, setup_cfg};

/// What a build needs where nothing says it: pip's default for projects without `[build-system]`, and `wheel`,
/// which older versions of pip added and older versions of setuptools ask for.
const DEFAULT: [&str; 2] = ["setuptools>=40.8.0", "wheel"];

/// Backends that ask for nothing beside `build-system.requires`, or whose further needs are read here.
const MODEST: [&str; 8] =
    ["flit_core", "flit", "poetry", "poetry_core", "hatchling", "pdm", "uv_build", "setuptools"];

/// What a project needs to be built.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BuildNeeds {
    /// The build backend, as an import path: `setuptools.build_meta`.
    pub backend: String,
    /// What it requires (PEP 508): `build-system.requires` or the default, then what the backend is known to ask
    /// for (`setup_requires`, the dependencies of hatchling's hooks).
    pub requires: Vec<Text>,
    /// Why there may be more, which only a build would tell.
    pub open: Vec<Unknown>,
    /// What of the target was looked at.
    pub consulted: Consulted,
}

/// Reads what the build of a project needs, for a target. `prefix` is the project's folder as messages are to
/// call it.
///
/// # Errors
/// When a manifest can't be read or is malformed, or `[build-system]` has no `requires` (PEP 518).
pub fn read_build(files: &dyn Files, prefix: &str, target: &Target) -> Result<BuildNeeds, Problem> {
    let mut reading = Reading::new(files, prefix);
    let pyproject = pyproject::read(&mut reading)?;
    let mut needs = declared(&reading, pyproject.as_ref())?;
    let package = needs.backend.split(['.', ':']).next().unwrap_or_default().to_owned();
    let in_tree = pyproject.as_ref().and_then(|pyproject| pyproject.backend_path.clone());
    match (package.as_str(), in_tree) {
        ("setuptools", None) => setup_requires(&mut reading, target, &mut needs)?,
        ("hatchling", None) => {
            needs
                .requires
                .extend(pyproject.map(|pyproject| pyproject.hatch_dependencies).unwrap_or_default());
        }
        (package, None) if MODEST.contains(&package) => {}
        (_, place) => {
            let origin = place.unwrap_or_else(|| Origin::whole(reading.shown("pyproject.toml")));
            // A backend of the project's own is mostly one that wraps setuptools.
            if reading.files.exists("setup.py") {
                setup_requires(&mut reading, target, &mut needs)?;
            }
            needs.open.push(Unknown {
                origin,
                expression: format!("build-backend = \"{}\"", needs.backend),
                reason: format!("`{}` may ask for more when it builds", needs.backend),
                plug_in: true,
            });
        }
    }
    Ok(needs)
}

fn declared(reading: &Reading<'_>, pyproject: Option<&PyProject>) -> Result<BuildNeeds, Problem> {
    let build = pyproject.and_then(|pyproject| pyproject.build.clone());
    let backend = pyproject.and_then(|pyproject| pyproject.backend.clone());
    let backend = backend.map_or_else(|| "setuptools.build_meta:__legacy__".to_owned(), |text| text.value);
    let requires = match build {
        Some((origin, None)) => {
            let kind = ProblemKind::WrongType { key: "build-system.requires".to_owned(), expected: "given" };
            return Err(Problem::new(origin, kind));
        }
        Some((_, Some(requires))) => requires,
        None => {
            let file = if reading.files.exists("setup.py") { "setup.py" } else { "pyproject.toml" };
            let origin = Origin::whole(reading.shown(file));
            let text = |value: &str| Text { value: value.to_owned(), origin: origin.clone() };
            DEFAULT.into_iter().map(text).collect()
        }
    };
    Ok(BuildNeeds { backend, requires, open: Vec::new(), consulted: Consulted::default() })
}

/// What setup.py and setup.cfg say that setuptools must have before it builds.
fn setup_requires(reading: &mut Reading<'_>, target: &Target, needs: &mut BuildNeeds) -> Result<(), Problem> {
    let in_cfg = setup_cfg::setup_requires(reading)?;
    // Evaluated only where it says something of it: evaluating costs, and may find nothing else than doubts.
    let says = reading.files.read("setup.py").is_ok_and(|bytes| {
        let word = b"setup_requires";
        bytes.windows(word.len()).any(|window| window == word)
    });
    let mut found = in_cfg;
    if says {
        let shown = reading.shown("setup.py");
        let call = setup_py::evaluate(reading.files, "setup.py", &shown, target);
        let in_call = call.and_then(|call| {
            needs.consulted = call.consulted;
            call.setup_requires
        });
        found = match in_call {
            Ok(Some(list)) if !list.is_empty() => Ok(Some(list)),
            Ok(_) => found,
            Err(unknown) => Err(unknown),
        };
    }
    match found {
        Ok(list) => needs.requires.extend(list.unwrap_or_default()),
        Err(unknown) => needs.open.push(unknown),
    }
    Ok(())
}
