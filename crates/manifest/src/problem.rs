//! What can be wrong with what a repository declares.

use std::fmt;

use reana_model::requirements_file::FileProblemKind;
use reana_model::{ExtraName, Origin, RequirementError};

use crate::{FileError, Unknown};

/// Something that is wrong in a manifest, or that its author should know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Where.
    pub origin: Origin,
    /// What.
    pub kind: ProblemKind,
}

const OWN_TABLE: &str =
    "; poetry's or flit's own table counts where `build-backend` in `[build-system]` is theirs";

/// The kinds of problems.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProblemKind {
    /// None of the files that declare a project is there.
    #[error("no setup.py, setup.cfg or pyproject.toml that declares a project{}", if *has_own_table { OWN_TABLE } else { "" })]
    NoManifest {
        /// Whether pyproject.toml has a table of poetry's or flit's own, which doesn't count without their backend.
        has_own_table: bool,
    },
    /// A file can't be read.
    #[error("{0}")]
    File(FileError),
    /// A file is not UTF-8.
    #[error("the file is not valid UTF-8 text")]
    NotText,
    /// pyproject.toml is not TOML.
    #[error("not valid TOML: {0}")]
    Toml(String),
    /// setup.cfg is not what Python's configparser reads.
    #[error("not a valid configuration file: {0}")]
    Ini(String),
    /// A key has a value of the wrong type.
    #[error("`{key}` must be {expected}")]
    WrongType {
        /// The key.
        key: String,
        /// The type that it must have.
        expected: &'static str,
    },
    /// Something can't be known without running the project's code.
    #[error(transparent)]
    Unknown(Unknown),
    /// A requirement that is none.
    #[error(transparent)]
    Requirement(RequirementError),
    /// A requirement that is not written as PEP 508 wants it, but whose meaning is clear.
    #[error("`{written}` is read as `{read}`: it is not a valid requirement (PEP 508)")]
    Mended {
        /// As it stands there.
        written: String,
        /// As it is understood.
        read: String,
    },
    /// A key of extras_require whose marker is none.
    #[error("`{0}` is not a marker (PEP 508)")]
    Marker(String),
    /// A key of extras_require that is no name.
    #[error("`{0}` is not the name of an extra")]
    ExtraName(String),
    /// Extras that unfold to more than what is read.
    #[error("the extras of the project include one another too often")]
    TooManyExtras,
    /// An extra that was asked for is not declared.
    #[error("there is no extra `{0}`")]
    UnknownExtra(ExtraName),
    /// A dependency group that is not there (PEP 735).
    #[error("there is no dependency group `{name}`{}", among(known))]
    UnknownGroup {
        /// The group.
        name: String,
        /// Those that are there.
        known: Vec<String>,
    },
    /// Two dependency groups whose names mean the same.
    #[error("the dependency group `{0}` is there twice")]
    GroupTwice(String),
    /// Dependency groups that include one another.
    #[error("dependency groups include one another: {0}")]
    GroupCircle(String),
    /// Dependency groups that include one another too deep.
    #[error("dependency groups include one another deeper than what is read")]
    GroupsTooDeep,
    /// A requirements file is not understood.
    #[error(transparent)]
    RequirementsFile(FileProblemKind),
    /// A file that a requirements file includes can't be read.
    #[error("`{path}` is not included: {error}")]
    Included {
        /// The file, as it is shown.
        path: String,
        /// Why.
        error: FileError,
    },
    /// Something worth knowing that changes nothing.
    #[error("{0}")]
    Note(String),
    /// A requirements file includes itself.
    #[error("`{0}` includes itself")]
    Cycle(String),
    /// A requirements file includes an address of the network.
    #[error("`{0}` is an address; only files are included")]
    UrlInclude(String),
    /// Requirements files include one another too deep, or are too many.
    #[error("too many requirements files include one another")]
    TooManyIncludes,
    /// A constraint without a name, or an editable one.
    #[error("`{0}` can't be a constraint, which needs a name")]
    UnnamedConstraint(String),
    /// A constraint with extras, which limit nothing.
    #[error("the extras of the constraint `{0}` are not looked at")]
    ConstraintExtras(String),
}

fn among(known: &[String]) -> String {
    if known.is_empty() { String::new() } else { format!(" (there are {})", known.join(", ")) }
}

impl Problem {
    /// A problem at a place.
    pub fn new(origin: Origin, kind: ProblemKind) -> Self {
        Self { origin, kind }
    }

    /// Whether it is only a note: what is declared is understood nevertheless.
    pub fn is_note(&self) -> bool {
        matches!(
            self.kind,
            ProblemKind::Mended { .. }
                | ProblemKind::UnknownExtra(_)
                | ProblemKind::Note(_)
                | ProblemKind::ConstraintExtras(_)
                | ProblemKind::RequirementsFile(FileProblemKind::Variable(_))
        )
    }
}

impl From<Unknown> for Problem {
    fn from(unknown: Unknown) -> Self {
        Self { origin: unknown.origin.clone(), kind: ProblemKind::Unknown(unknown) }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            // which tells its place itself
            ProblemKind::Unknown(unknown) => unknown.fmt(f),
            kind => write!(f, "{}: {kind}", self.origin),
        }
    }
}

impl std::error::Error for Problem {}
