//! What a solve found.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use reana_model::requirement::Direct;
use reana_model::{DistFile, ExtraName, Grade, MarkerTree, Origin, PackageName, Sha256, Target, Version};

use crate::why::Holder;

/// A solution for each target.
#[derive(Clone, Debug, Default)]
pub struct Resolution {
    /// In the request's order.
    pub solved: Vec<Solved>,
    /// What the user should know, each once.
    pub notes: Vec<Note>,
}

/// The solution for one target.
#[derive(Clone, Debug)]
pub struct Solved {
    /// The target.
    pub target: Target,
    /// What is to be installed on it.
    pub packages: BTreeMap<PackageName, Chosen>,
}

/// One package of a solution.
#[derive(Clone, Debug, PartialEq)]
pub struct Chosen {
    /// Its version.
    pub version: Version,
    /// All extras that somebody asked for.
    pub extras: BTreeSet<ExtraName>,
    /// The place it comes from, where that is no index.
    pub direct: Option<DirectChoice>,
    /// The version as a direct requirement asked for it with `===`.
    pub arbitrary: Option<String>,
    /// The file that an installer would take on this target; `None` for a direct requirement.
    pub file: Option<Arc<DistFile>>,
    /// All files of the version that may be installed on this target, best first; yanked ones left out
    /// where others are not.
    pub usable: Vec<Arc<DistFile>>,
    /// All files of the version on any target; yanked ones left out where others are not.
    pub files: Vec<Arc<DistFile>>,
    /// How well its requirements are known.
    pub grade: Grade,
    /// Who wants it, sorted.
    pub wanted_by: Vec<Reason>,
    /// Why the version was withdrawn, if it was (the reason may be empty).
    pub yanked: Option<String>,
    /// When it is to be installed: the markers of the direct requirements, or true where something else
    /// wants it as well.
    pub marker: MarkerTree,
}

/// A URL or path that was chosen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DirectChoice {
    /// The place.
    pub direct: Direct,
    /// sha256 of the archive; `None` for a folder or a repository.
    pub sha256: Option<Sha256>,
}

/// One requirement, and whose it is.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Reason {
    /// Whose.
    pub by: RequiredBy,
    /// The requirement as it was written.
    pub text: String,
}

/// Who requires something.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum RequiredBy {
    /// A line of a manifest.
    Root(Origin),
    /// A line of a constraints file.
    Constraint(Origin),
    /// A package.
    Package(PackageName, Version),
}

impl fmt::Display for RequiredBy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Root(origin) | Self::Constraint(origin) => write!(f, "{origin}"),
            Self::Package(name, version) => write!(f, "{name} {version}"),
        }
    }
}

/// One decision of the solver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceStep {
    /// What was decided: a package, or a package with extras.
    pub what: String,
    /// The version chosen; `None` where none was left.
    pub version: Option<Version>,
    /// What the solver knew when it took up this package.
    pub because: String,
}

/// Something that a user should know about a solution. Its `Display` is a whole sentence without a full stop.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, thiserror::Error)]
pub enum Note {
    /// A withdrawn version was taken, since it was asked for exactly or was locked.
    #[error("{name} {version} is yanked{}", reason_of(.reason))]
    Yanked {
        /// The package.
        name: PackageName,
        /// Its version.
        version: Version,
        /// The reason its maintainers gave; may be empty.
        reason: String,
    },
    /// An old pin could not be kept.
    #[error("{name} {old} could not be kept: {why}")]
    DroppedPreference {
        /// The package.
        name: PackageName,
        /// The old pin.
        old: Version,
        /// Why: another requirement excludes it, it is gone, or it fits no target.
        why: String,
    },
    /// A pre-release was taken although nothing asked for pre-releases: no final release fits.
    #[error("{name} {version} is a pre-release: no final release satisfies all requirements")]
    OnlyPrerelease {
        /// The package.
        name: PackageName,
        /// Its version.
        version: Version,
    },
    /// The newest version that fits the requirements has no file for the target.
    #[error("{name} {version} was passed over for {target}: it {why}")]
    NoUsableFile {
        /// The package.
        name: PackageName,
        /// The version passed over.
        version: Version,
        /// The target.
        target: Target,
        /// What it lacks: `is for Python >=3.13`.
        why: String,
    },
    /// A version's metadata are unreadable or invalid and it was passed over.
    #[error("{name} {version} was passed over: {why}")]
    PassedOver {
        /// The package.
        name: PackageName,
        /// The version passed over.
        version: Version,
        /// What is wrong with it.
        why: String,
    },
    /// A version does not offer an extra that was asked for.
    #[error("{name} {version} has no extra `{extra}`")]
    UnknownExtra {
        /// The package.
        name: PackageName,
        /// Its version.
        version: Version,
        /// The extra.
        extra: ExtraName,
    },
    /// A constraint asks for extras, which constraints can't.
    #[error("extras in a constraint are ignored: `{text}` ({origin})")]
    ConstraintExtras {
        /// The constraint.
        text: String,
        /// Where it stands.
        origin: Origin,
    },
    /// A package of an index requires another one from a URL.
    #[error("{by} {version} takes {name} from {url}")]
    UrlDependency {
        /// The package that is required so.
        name: PackageName,
        /// Where from.
        url: String,
        /// Who requires it.
        by: PackageName,
        /// Its version.
        version: Version,
    },
    /// A version was taken that is years older than the newest one.
    #[error("{name} {version} is {years} years older than {newest}; {by}")]
    Aged {
        /// The package.
        name: PackageName,
        /// Its version.
        version: Version,
        /// The newest final release.
        newest: Version,
        /// How many full years lie between their first files.
        years: i64,
        /// What holds the newest release back.
        by: Holder,
    },
}

fn reason_of(reason: &str) -> String {
    if reason.is_empty() { String::new() } else { format!(": {reason}") }
}
