//! Raising the minimums of shared packages in all repositories of a fleet:
//! what is wanted (`wanted`), the version that all can take (`search`), what changes (`changes`), and how it is
//! written, all or none (`write`), also after a stop (`unfinished`).

pub(crate) mod changes;
pub(crate) mod report;
pub(crate) mod search;
pub(crate) mod unfinished;
pub(crate) mod wanted;
pub(crate) mod write;
