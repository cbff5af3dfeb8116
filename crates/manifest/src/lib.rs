//! What a repository declares, read without running it. Pure.

mod attr;
mod build;
mod declared;
mod dynamic;
pub mod edit;
mod extras;
mod fact;
pub mod files;
mod flit;
mod groups;
pub mod ini;
mod poetry;
mod problem;
mod pyproject;
mod reading;
mod requirements_in;
mod setup_cfg;
pub mod setup_py;

pub use build::{BuildNeeds, read_build};
pub use declared::{Declared, read_project};
pub use extras::{Extras, Requirements};
pub use fact::{Fact, Unknown};
pub use files::{FileError, Files, MemoryFiles, normal_path};
pub use groups::{Groups, group_name, read_groups};
pub use problem::{Problem, ProblemKind};
pub use requirements_in::{
    Entry, Listed, OptionIn, RequirementsIn, Unnamed, Viewpoint, read_constraints, read_requirements,
};
pub use setup_py::{SetupCall, Text};
