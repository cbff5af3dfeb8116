//! Wheels' METADATA out of bytes: a whole wheel, or no more than its end (for range reads). Pure.
//!
//! An archive comes from outside and may lie. Whatever it says of itself is checked against limits before
//! memory or time is spent on it, and what two readers could understand differently is refused.

mod directory;
pub(crate) mod unpack;

use std::collections::BTreeSet;

use self::directory::{Entry, Have, directory, member};

/// The largest METADATA that is read. The largest honest ones are long descriptions of some 1 MiB.
const MAX_METADATA: u64 = 16 << 20;

/// Why an archive could not be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ArchiveError {
    /// The bytes are no archive of their kind, or are cut off.
    #[error("the archive is damaged: {0}")]
    Damaged(String),
    /// The archive is sound, but uses something that is not read here.
    #[error("the archive uses {0}, which is not supported")]
    Unsupported(String),
    /// Reading on would cost more than any honest archive does.
    #[error("the archive is larger than an honest one: {0}")]
    Limit(String),
    /// The archive could be understood in more than one way.
    #[error("the archive is ambiguous: {0}")]
    Ambiguous(String),
    /// A member would be unpacked outside of the archive's folder.
    #[error("the archive is unsafe: its member `{0}` leads outside")]
    Outside(String),
    /// The file that was looked for is not in it.
    #[error("the archive has no {0}")]
    Absent(String),
}

impl ArchiveError {
    pub(crate) fn damaged(what: impl Into<String>) -> Self {
        Self::Damaged(what.into())
    }
}

/// What the end of a wheel gave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TailAnswer {
    /// The bytes of its METADATA.
    Metadata(Vec<u8>),
    /// More of the file is needed: the bytes from `start` on, up to `end`, where those given began.
    /// Ask again with all bytes from `start` to the end of the file.
    Need {
        /// The first byte that is needed, counted from the file's begin.
        start: u64,
        /// One past the last byte that is needed.
        end: u64,
    },
}

/// What a part of a file gave: an answer, or the place where the bytes for it begin.
pub(crate) enum Part<T> {
    Done(T),
    /// All bytes from here to the end of the file are needed.
    From(u64),
}

/// The METADATA of a whole wheel.
///
/// # Errors
/// When it is no wheel, is damaged, ambiguous or beyond the limits.
pub fn metadata_from_wheel(bytes: &[u8]) -> Result<Vec<u8>, ArchiveError> {
    match metadata_from_tail(bytes, bytes.len() as u64)? {
        TailAnswer::Metadata(metadata) => Ok(metadata),
        TailAnswer::Need { .. } => Err(ArchiveError::damaged("it points outside of itself")),
    }
}

/// The METADATA of a wheel of `total_size` bytes, of which `tail` holds the last ones. After at most three
/// answers of [`TailAnswer::Need`] there is another answer.
///
/// # Errors
/// As [`metadata_from_wheel`].
pub fn metadata_from_tail(tail: &[u8], total_size: u64) -> Result<TailAnswer, ArchiveError> {
    let have = Have::new(tail, total_size)?;
    let need = |start| Ok(TailAnswer::Need { start, end: have.start() });
    let entries = match directory(&have)? {
        Part::Done(entries) => entries,
        Part::From(start) => return need(start),
    };
    match member(&have, metadata_entry(&entries)?, MAX_METADATA)? {
        Part::Done(metadata) => Ok(TailAnswer::Metadata(metadata)),
        Part::From(start) => need(start),
    }
}

/// The one METADATA of a wheel. As for pip, a wheel with two `.dist-info` folders is none.
fn metadata_entry(entries: &[Entry]) -> Result<&Entry, ArchiveError> {
    let folders: BTreeSet<&str> = entries
        .iter()
        .filter_map(|entry| entry.name.split('/').next())
        .filter(|folder| folder.ends_with(".dist-info"))
        .collect();
    if folders.len() > 1 {
        let folders: Vec<&str> = folders.into_iter().collect();
        return Err(ArchiveError::Ambiguous(format!("several .dist-info folders: {}", folders.join(", "))));
    }
    let is_metadata =
        |entry: &&Entry| entry.name.strip_suffix("/METADATA").is_some_and(|folder| folders.contains(folder));
    let mut found = entries.iter().filter(is_metadata);
    match (found.next(), found.next()) {
        (Some(entry), None) => Ok(entry),
        (Some(entry), Some(_)) => Err(ArchiveError::Ambiguous(format!("`{}` is there twice", entry.name))),
        (None, _) => Err(ArchiveError::Absent(".dist-info/METADATA".to_owned())),
    }
}

#[cfg(test)]
mod tests;
