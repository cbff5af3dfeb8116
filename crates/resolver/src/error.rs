//! Why there is no solution, or none could be looked for.

use reana_model::{PackageName, Target, Version};

use crate::catalog::CatalogError;
use crate::explain::Explanation;
use crate::resolution::Reason;

/// Why a solve ended without a solution.
#[derive(Debug, thiserror::Error)]
pub enum SolveError {
    /// The requirements contradict each other.
    #[error("{0}")]
    NoSolution(Box<Explanation>),
    /// No index knows a package that is required.
    #[error("no index knows {name}{}", wanted(.wanted_by))]
    UnknownPackage {
        /// The name that nobody knows.
        name: PackageName,
        /// Who wants it.
        wanted_by: Vec<Reason>,
    },
    /// Versions of a package fit the requirements, but none has a file for the target.
    #[error("{name} has no file for {target}: {lacks}{}", wanted(.wanted_by))]
    NoUsableFile {
        /// The package.
        name: PackageName,
        /// The target.
        target: Target,
        /// What the newest version that fits lacks: `2.1 is for Python >=3.14`, `2.1 has only an sdist, ...`.
        lacks: String,
        /// Who wants it.
        wanted_by: Vec<Reason>,
    },
    /// The solver would choose a version whose requirements can't be known without building it.
    #[error("the requirements of {name} {version} can't be read from {file}: {reason}{}", wanted(.wanted_by))]
    Unreadable {
        /// The package.
        name: PackageName,
        /// Its version.
        version: Version,
        /// The file.
        file: String,
        /// Why not.
        reason: String,
        /// Who wants it.
        wanted_by: Vec<Reason>,
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

fn wanted(by: &[Reason]) -> String {
    if by.is_empty() {
        return String::new();
    }
    let lines: Vec<String> =
        by.iter().map(|reason| format!("\n  {} requires {}", reason.by, reason.text)).collect();
    lines.concat()
}
