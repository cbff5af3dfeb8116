//! What `running` says: of pods and jobs, and of tags that stand for several contents.

pub(crate) mod drift;
pub(crate) mod pods;
pub(crate) mod registries;
pub(crate) mod trace;
