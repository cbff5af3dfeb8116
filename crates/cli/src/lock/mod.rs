//! Making locks: what a component declares (`prepare`, with `declared`, `requirements`, `targets`, `command`), the catalog
//! that it is solved over (`catalog`, with `repositories` and `local`), the solution as text (`solve`, `pins`), and what is
//! said about it (`report`).

pub(crate) mod build_requirements;
pub(crate) mod catalog;
mod command;
mod declared;
mod format;
mod git_address;
mod groups;
pub(crate) mod local;
pub(crate) mod pins;
pub(crate) mod prepare;
mod pylock;
pub(crate) mod report;
pub(crate) mod repositories;
mod requirements;
pub(crate) mod scout;
pub(crate) mod solve;
mod status;
mod targets;
pub(crate) mod trace;
