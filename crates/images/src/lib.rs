//! Images: references to them, tags from git descriptions, the digest over what goes into a build, the ledger of
//! which tag stands for what, the verdicts, and what runs where. Pure: what was read goes in, judgements come out.

mod dockerignore;
mod inputs;
mod reference;
pub mod references;
pub mod running;
mod tag;

pub use dockerignore::{Dockerignore, DockerignoreError};
pub use inputs::{FileInput, Inputs, PackageInput, Quoted, SCHEME};
pub use reference::{DEFAULT_REGISTRY, Digest, DigestError, Reference, ReferenceError, Tag};
pub use tag::{Description, DescriptionError, Style, TagError, release_name};
