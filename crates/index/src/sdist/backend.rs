//! Who would build an sdist (PEP 517), and what pyproject.toml leaves to it (PEP 621).

use reana_manifest::files::Files as _;
use toml::{Table, Value};

use crate::archive::unpack::Project;

/// The build backend of an sdist.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Backend {
    /// None: there is neither setup.py nor pyproject.toml, so nothing could be built.
    None,
    /// setuptools: setup.py, setup.cfg and pyproject.toml tell what it would.
    Setuptools {
        /// Whether pyproject.toml has a `[project]` that leaves no requirement to it.
        told_all: bool,
    },
    /// Another one.
    Foreign {
        /// As pyproject.toml names it.
        name: String,
        /// Whether its PKG-INFO always has all that its wheels' METADATA has.
        writes_metadata: bool,
        /// Whether pyproject.toml has a `[project]` that leaves no requirement to it.
        told_all: bool,
    },
}

/// Backends whose PKG-INFO is what their METADATA will be.
const WRITERS: [&str; 7] = ["flit", "flit_core", "hatchling", "pdm", "poetry", "poetry_core", "uv_build"];

impl Backend {
    /// Reads the pyproject.toml, where there is one.
    ///
    /// # Errors
    /// A reason, where it is no TOML.
    pub(super) fn of(project: &Project) -> Result<Self, String> {
        let Some(bytes) = project.bytes("pyproject.toml") else {
            let has_setup = project.exists("setup.py");
            return Ok(if has_setup { Self::Setuptools { told_all: false } } else { Self::None });
        };
        let text = String::from_utf8_lossy(bytes);
        let table: Table = text.parse().map_err(|error: toml::de::Error| {
            format!("its pyproject.toml is no TOML: {}", error.message())
        })?;
        let told_all = is_told_all(&table);
        let build = table.get("build-system");
        let in_tree = build.and_then(|build| build.get("backend-path")).is_some();
        let name = build.and_then(|build| build.get("build-backend")).and_then(Value::as_str);
        let name = name.unwrap_or("setuptools.build_meta").trim();
        let package = name.split(['.', ':']).next().unwrap_or(name);
        if package == "setuptools" && !in_tree {
            return Ok(Self::Setuptools { told_all });
        }
        let writes_metadata = WRITERS.contains(&package) && !in_tree;
        Ok(Self::Foreign { name: name.to_owned(), writes_metadata, told_all })
    }

    /// Whether pyproject.toml leaves none of the requirements to the backend.
    pub(super) fn is_told_all(&self) -> bool {
        match self {
            Self::None => false,
            Self::Setuptools { told_all } | Self::Foreign { told_all, .. } => *told_all,
        }
    }
}

/// `[project]` is there, and what it does not name as dynamic is all there is (PEP 621).
fn is_told_all(pyproject: &Table) -> bool {
    let Some(project) = pyproject.get("project").and_then(Value::as_table) else { return false };
    let dynamic = project.get("dynamic").and_then(Value::as_array);
    let mut dynamic = dynamic.into_iter().flatten().filter_map(Value::as_str);
    project.contains_key("name")
        && !dynamic.any(|field| matches!(field, "dependencies" | "optional-dependencies" | "requires-python"))
}
