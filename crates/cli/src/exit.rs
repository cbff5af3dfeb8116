//! The exit codes, which scripts rely on. ARCHITECTURE.md publishes the table.

use std::process::ExitCode;

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Exit {
    /// Done.
    Done = 0,
    /// Checked and found wanting: a stale lock.
    Wanting = 1,
    /// Wrong usage or bad input.
    Input = 2,
    /// No solution.
    NoSolution = 3,
    /// An answer could not be had: network, index.
    NoAnswer = 4,
    /// A fault of reana-lock itself.
    Internal = 5,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}
