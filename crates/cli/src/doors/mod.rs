//! The doors: the only modules that may touch the outside. Each says so at its top.

pub(crate) mod clock;
pub(crate) mod cluster;
pub(crate) mod disk;
pub(crate) mod docker;
pub(crate) mod env;
pub(crate) mod git;
pub(crate) mod keyring;
pub(crate) mod python;
pub(crate) mod tree;
