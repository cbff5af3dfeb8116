//! Locks: the `requirements.txt` or `pylock.toml` that comes out. Parse, header, render, diff, graph. Pure.
//!
//! The format is pip-compile's, so that pip installs from it and today's scripts can read it. Its goals here:
//! the same content gives the same bytes, in any order of input; a change of one package changes that
//! package's lines alone; and what is written can be read back whole.

mod diff;
mod graph;
mod header;
mod marker;
mod own;
mod parse;
pub mod pylock;
mod render;
mod style;

pub use diff::{Change, ChangeKind, Step, diff, unified};
pub use graph::{Chain, Direction, Graph, GraphNode, GraphPin, Reasons, TreeLine};
pub use header::{Command, Header, HeaderOut, PREVIEW_MARK, shell_quote};
pub use marker::marker_text;
pub use own::{Edited, MoreHashes, first_difference, head, own_rendering, with_hashes};
pub use parse::{Lock, LockProblem, LockProblemKind, LockedPin, UnnamedPin, parse};
pub use render::{EmittedOptions, LockContent, LockWarning, render, warnings, without_credentials};
pub use style::{AnnotationStyle, Newline, Style, UnsafePackages, default_unsafe_packages};
