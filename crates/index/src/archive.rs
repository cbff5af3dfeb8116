//! Wheels' METADATA out of bytes: a whole wheel, or no more than its end (for range reads). Pure.
//!
//! An archive comes from outside and may lie. Whatever it says of itself is checked against limits before
//! memory or time is spent on it, and what two readers could understand differently is refused.

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
    #[error("the archive exceeds a limit: {0}")]
    Limit(String),
    /// The archive could be read in more than one way.
    #[error("the archive is ambiguous: {0}")]
    Ambiguous(String),
    /// The file that was looked for is not in it.
    #[error("the archive has no {0}")]
    Absent(String),
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

/// The METADATA of a whole wheel.
///
/// # Errors
/// When it is no wheel, is damaged, ambiguous or beyond the limits.
pub fn metadata_from_wheel(bytes: &[u8]) -> Result<Vec<u8>, ArchiveError> {
    match metadata_from_tail(bytes, bytes.len() as u64)? {
        TailAnswer::Metadata(metadata) => Ok(metadata),
        TailAnswer::Need { .. } => Err(ArchiveError::Damaged("it points outside of itself".to_owned())),
    }
}

/// The METADATA of a wheel of `total_size` bytes, of which `tail` holds the last ones.
///
/// # Errors
/// As [`metadata_from_wheel`].
pub fn metadata_from_tail(tail: &[u8], total_size: u64) -> Result<TailAnswer, ArchiveError> {
    let _ = (tail, total_size);
    Err(ArchiveError::Unsupported("anything".to_owned()))
}
