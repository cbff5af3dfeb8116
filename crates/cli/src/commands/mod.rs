//! The commands, one file each: `compile` locks, `metadata` shows what a manifest declares, `why` and `tree`
//! tell who wants whom in a lock, `diff` what changed between two, `check` whether locks hold, `refresh_hashes` adds
//! new files' hashes, `tag` says what an image is called, `inputs` what goes into it, `generate` writes
//! what is made from the definitions (completions, manual page, documents).

pub(crate) mod bump;
pub(crate) mod check;
pub(crate) mod compile;
pub(crate) mod diff;
pub(crate) mod fleet;
pub(crate) mod generate;
pub(crate) mod guard;
pub(crate) mod inputs;
pub(crate) mod labels;
pub(crate) mod metadata;
pub(crate) mod record;
pub(crate) mod references;
pub(crate) mod refresh_hashes;
pub(crate) mod running;
pub(crate) mod tag;
pub(crate) mod tree;
pub(crate) mod verify;
pub(crate) mod why;
