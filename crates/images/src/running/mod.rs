//! What runs: pods and nodes as Kubernetes describes them, which digest each container really got, and tags that
//! stand for different content on different nodes.
//!
//! What is true of the fields (Kubernetes API v1), as seen on nodes with containerd and with docker:
//!
//! - What was asked for is `spec.containers[].image`. `status.image`, and the repository in `imageID`, may be those
//!   of another tag or repository with the same content.
//! - `imageID` names an index, one of its manifests, or a config; it is empty until the image is there. Of several
//!   digests of one content the runtime shows any: only content is compared, never texts.
//! - `status.images[].names` of a node ties together the digests and tags of one content.

mod cluster;
mod drift;
mod image_id;
mod known;
mod read;
mod selector;
mod sighting;
mod trace;

#[cfg(test)]
mod tests;

pub use cluster::{Cluster, Container, Node, NodeImage, Platform, Pod, Role, Runtime, State, Work, WorkKind};
pub use drift::{DriftReport, DriftVerdict, Group, Now, Question, Remedy, TagDrift, judge, questions};
pub use image_id::ImageId;
pub use known::{Child, DigestKind, Known};
pub use read::ReadError;
pub use selector::{Selector, SelectorError};
pub use sighting::{Content, Sighting, Source};
pub use trace::{Trace, TraceSource, from_labels, from_ledger, learn_ledger};
