//! The vocabulary of reana-lock: names, requirements and where they come from, files of the index,
//! targets, pins. Pure: text and values in, values out; no path is opened and no clock is read.
//!
//! Everything that two crates of the same level have to say to each other is said in these types.

pub mod catalog;
pub mod file;
pub mod filename;
pub mod hash;
pub mod metadata;
pub mod origin;
pub mod pin;
pub mod python;
pub mod requirement;
pub mod requirements_file;
pub mod tags;
pub mod target;

pub use catalog::{Listing, MemoryListing};
pub use file::{DistFile, Yanked};
pub use filename::{DistName, FileNameError, WheelName};
pub use hash::Sha256;
pub use metadata::{Grade, Metadata};
pub use origin::Origin;
pub use pep440_rs::{Operator, Version, VersionSpecifier, VersionSpecifiers};
pub use pep508_rs::{ExtraName, MarkerTree, PackageName};
pub use pin::{Pin, PinSource, Via};
pub use python::{PythonVersion, newest_patch};
pub use requirement::{Requirement, RequirementError, Source};
pub use tags::Tags;
pub use target::{Platform, Target};
