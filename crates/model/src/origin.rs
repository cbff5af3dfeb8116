//! Where a fact was read: `file:line`, as messages and annotations show it.

use std::fmt;
use std::sync::Arc;

/// A place in a file. Shown as `setup.py:42`, or the file alone where lines mean nothing.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Origin {
    /// The file as the user knows it: relative to where they stand or as they wrote it, with `/`.
    pub file: Arc<str>,
    /// The line, counted from 1; 0 where a line means nothing (the command line, a lock's pin).
    pub line: u32,
}

impl Origin {
    /// A line of a file.
    pub fn new(file: impl Into<Arc<str>>, line: u32) -> Self {
        Self { file: file.into(), line }
    }

    /// A whole file, or a source without lines such as `--upgrade-package`.
    pub fn whole(file: impl Into<Arc<str>>) -> Self {
        Self::new(file, 0)
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => write!(f, "{}", self.file),
            line => write!(f, "{}:{line}", self.file),
        }
    }
}
