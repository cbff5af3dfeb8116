//! Versions of Python that targets name.

use std::fmt;
use std::str::FromStr;

use crate::Version;

/// A CPython release: `3.12.13`. Given as `X.Y`, it stands for its newest known patch release.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PythonVersion {
    /// `3` of `3.12.13`.
    pub major: u8,
    /// `12` of `3.12.13`.
    pub minor: u8,
    /// `13` of `3.12.13`.
    pub patch: u8,
}

/// Text that names no Python version.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a Python version (`3.12` or `3.12.4`)")]
pub struct PythonVersionError(pub String);

/// Newest patch releases known when this was written, by minor version of Python 3.
const NEWEST_PATCH: [(u8, u8); 11] =
    [(5, 10), (6, 15), (7, 17), (8, 20), (9, 25), (10, 22), (11, 18), (12, 16), (13, 18), (14, 10), (15, 2)];

/// The newest known patch release of Python `major.minor`; 0 where none is known.
pub fn newest_patch(major: u8, minor: u8) -> u8 {
    match (major, minor) {
        (2, 7) => 18,
        (3, _) => NEWEST_PATCH.iter().find(|(known, _)| *known == minor).map_or(0, |(_, patch)| *patch),
        _ => 0,
    }
}

impl PythonVersion {
    /// The newest known patch release of `major.minor`.
    pub fn newest(major: u8, minor: u8) -> Self {
        Self { major, minor, patch: newest_patch(major, minor) }
    }

    /// `3.12`: what a lock's header and `python_version` say.
    pub fn short(self) -> String {
        format!("{}.{}", self.major, self.minor)
    }

    /// As a version that specifiers can be asked about.
    pub fn version(self) -> Version {
        Version::new([u64::from(self.major), u64::from(self.minor), u64::from(self.patch)])
    }
}

impl FromStr for PythonVersion {
    type Err = PythonVersionError;

    fn from_str(text: &str) -> Result<Self, PythonVersionError> {
        let error = || PythonVersionError(text.to_owned());
        let parts: Result<Vec<u8>, _> = text.trim().split('.').map(str::parse).collect();
        let version = match parts.map_err(|_| error())?[..] {
            [major, minor] => Self::newest(major, minor),
            [major, minor, patch] => Self { major, minor, patch },
            _ => return Err(error()),
        };
        if matches!(version.major, 2 | 3) { Ok(version) } else { Err(error()) }
    }
}

impl fmt::Display for PythonVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.patch)
    }
}
