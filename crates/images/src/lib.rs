//! Images: references to them, tags from git descriptions, the digest over what goes into a build, the ledger of
//! which tag stands for what, the verdicts, and what runs where. Pure: what was read goes in, judgements come out.

mod dockerignore;
mod inputs;
mod ledger;
mod record;
mod reference;
pub mod references;
pub mod running;
mod tag;
mod verdict;

pub use dockerignore::{Dockerignore, DockerignoreError};
pub use inputs::{FileInput, Inputs, PackageInput, Quoted, SCHEME};
pub use ledger::{Entry, LEDGER_FILE, Ledger, LedgerError, ledger_name};
pub use record::{
    LABEL_BASES, LABEL_INPUTS, LABEL_PACKAGES, LABEL_PARTS, LABEL_REVISION, LABEL_SCHEME, LABEL_SOURCE,
    LABEL_VERSION, LabelError, Record,
};
pub use reference::{DEFAULT_REGISTRY, Digest, DigestError, Reference, ReferenceError, Tag};
pub use tag::{Description, DescriptionError, Style, TagError, release_name};
pub use verdict::{Change, Different, Seen, Unknown, Verdict, judge};
