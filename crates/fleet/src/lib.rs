//! The fleet as a graph: which repositories there are, which require the packages of which, in what order they
//! must be released, and what a bump changes. Pure: what was read from manifests goes in, plans come out.

pub mod bump;
pub mod graph;
pub mod order;

pub use bump::{BumpPlan, Held, RepositoryFiles, candidates, names_prerelease, plan};
pub use graph::{Edge, Fleet, Repository, Requires};
pub use order::ReleaseOrder;
