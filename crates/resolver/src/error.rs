//! Why there is no solution, or none could be looked for.

use reana_model::{PackageName, Target, Version};

use crate::catalog::CatalogError;
use crate::explain::{Explanation, told};

/// Why a solve ended without a solution.
#[derive(Debug, thiserror::Error)]
pub enum SolveError {
    /// The requirements contradict each other.
    #[error("{0}")]
    NoSolution(Box<Explanation>),
    /// No index knows a package that is required.
    #[error("no index knows {name}{}", told(.lines))]
    UnknownPackage {
        /// The name that nobody knows.
        name: PackageName,
        /// Who wants it: statements from the manifests downwards.
        lines: Vec<String>,
    },
    /// Versions of a package fit the requirements, but none has a file for the target.
    #[error(
        "no allowed version of {name} has a file for {target}: {lacks}{}{}",
        told(.lines),
        newest(.name, .newest_usable.as_ref())
    )]
    NoUsableFile {
        /// The package.
        name: PackageName,
        /// The target.
        target: Target,
        /// What the newest version that fits lacks: `2.1 is for Python >=3.14`, `2.1 has only an sdist, ...`.
        lacks: String,
        /// The newest version of all that has one.
        newest_usable: Option<Version>,
        /// Who wants it: statements from the manifests downwards.
        lines: Vec<String>,
    },
    /// The solver would choose a version whose requirements can't be known without building it.
    #[error("the requirements of {name} {version} can't be read from {file}: {reason}{}", told(.lines))]
    Unreadable {
        /// The package.
        name: PackageName,
        /// Its version.
        version: Version,
        /// The file.
        file: String,
        /// Why not.
        reason: String,
        /// Who wants it: statements from the manifests downwards.
        lines: Vec<String>,
    },
    /// The catalog had no answer about a package that is needed.
    #[error("{name} could not be looked up")]
    Catalog {
        /// The package.
        name: PackageName,
        /// Why.
        source: CatalogError,
    },
    /// More decisions were taken than the policy allows.
    #[error("no solution was found in {decisions} decisions")]
    Limit {
        /// How many were taken.
        decisions: u64,
    },
}

fn newest(name: &PackageName, version: Option<&Version>) -> String {
    match version {
        Some(version) => format!("\nThe newest version that has one is {name} {version}."),
        None => format!("\nNo version of {name} has one at all."),
    }
}
