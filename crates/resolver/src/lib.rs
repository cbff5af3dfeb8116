//! From requirements and a catalog to pins. Pure.
//!
//! [`solve`] takes a [`Request`] and a [`Catalog`] and gives a [`Resolution`], or a [`SolveError`] that says
//! in the user's terms what stands in the way. The search is PubGrub's; versions are tried newest first and
//! packages are decided in pip's order (`priority`), so that the outcome is the one pip would have come to.

pub mod catalog;
pub mod error;
pub mod explain;
pub mod merged;
pub mod ranges;
pub mod request;
pub mod resolution;
pub mod why;

mod admission;
mod aged;
mod candidates;
mod collect;
mod exhaust;
mod lacks;
mod leaves;
mod node;
mod provider;
mod search;
mod select;
mod shorten;
mod solve;
mod world;

pub use catalog::{Catalog, CatalogError, DirectAnswer, MemoryCatalog, MetadataAnswer};
pub use error::SolveError;
pub use explain::{Explanation, Remedy};
pub use merged::MergedPin;
pub use request::{NamePolicy, Policy, Preference, Request, ResolutionMode};
pub use resolution::{Chosen, DirectChoice, Note, Reason, RequiredBy, Resolution, Solved, TraceStep};
pub use solve::{solve, solve_traced};
pub use why::{HeldBack, Holder, Why, explain_why, targets_in_words};
