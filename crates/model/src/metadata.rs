//! Core metadata of one distribution (METADATA, PKG-INFO), as far as resolving needs it.

use crate::{ExtraName, PackageName, Requirement, Version, VersionSpecifiers};

/// How well a distribution's requirements are known, best first (DESIGN decision 5).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Grade {
    /// Read from METADATA that the index's hash covers.
    Wheel,
    /// Read from a wheel in part (range read), or from a side file that the index did not announce.
    WheelUnchecked,
    /// An sdist's PKG-INFO of metadata 2.2 or later, whose requirements are not dynamic.
    Static,
    /// An sdist's static pyproject.toml.
    Pyproject,
    /// An sdist's setup.py and setup.cfg, evaluated with nothing unknown; its egg-info agrees or is absent.
    Evaluated,
    /// The same, but the egg-info in the sdist says otherwise.
    EvaluatedDisagrees,
    /// An sdist's egg-info, where its setup.py leaves the requirements to a plug-in.
    EggInfo,
    /// Built with the user's leave.
    Built,
}

/// What a distribution says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Metadata {
    /// Its name.
    pub name: PackageName,
    /// Its version.
    pub version: Version,
    /// What it requires, with markers (`extra == "x"` included), in its own order.
    pub requires_dist: Vec<Requirement>,
    /// The Pythons it is for.
    pub requires_python: Option<VersionSpecifiers>,
    /// The extras it offers.
    pub provides_extra: Vec<ExtraName>,
    /// How well this is known.
    pub grade: Grade,
}
