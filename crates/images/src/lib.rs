//! Images: references to them, tags from git descriptions, the digest over what goes into a build, the ledger of
//! which tag stands for what, the verdicts, and what runs where. Pure: what was read goes in, judgements come out.

mod reference;

pub use reference::{DEFAULT_REGISTRY, Digest, DigestError, Reference, ReferenceError, Tag};
