//! One file of a release, as an index page lists it (PEP 503, 691, 700, 592, 658/714).

use crate::{DistName, Sha256, VersionSpecifiers};

/// Whether a file was withdrawn by its maintainers (PEP 592).
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub enum Yanked {
    /// Offered as usual.
    #[default]
    No,
    /// Withdrawn; the reason may be empty.
    Yes(String),
}

impl Yanked {
    /// Whether the file was withdrawn.
    pub fn is_yanked(&self) -> bool {
        matches!(self, Self::Yes(_))
    }
}

/// A wheel or an sdist that an index, a folder or a links page offers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DistFile {
    /// The file's name, taken apart.
    pub name: DistName,
    /// Absolute address (`https:`, `http:` or `file:`), without fragment.
    pub url: String,
    /// sha256 as the index gives it; `None` where it gives none, or only another hash.
    pub sha256: Option<Sha256>,
    /// Size in bytes, where the index says.
    pub size: Option<u64>,
    /// The Pythons that the file is for; `None` where nothing is said or it could not be understood.
    pub requires_python: Option<VersionSpecifiers>,
    /// Whether the file was withdrawn.
    pub yanked: Yanked,
    /// When it was uploaded (PEP 700), where the index says.
    pub uploaded: Option<jiff::Timestamp>,
    /// Whether the index says that the file's METADATA stands beside it (PEP 658, 714), with its hash.
    pub core_metadata: CoreMetadata,
}

/// What the index says about a METADATA file beside a wheel (PEP 658, 714).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum CoreMetadata {
    /// Nothing is announced.
    #[default]
    Absent,
    /// It is there, without a hash.
    Present,
    /// It is there, with this hash.
    Hashed(Sha256),
}
