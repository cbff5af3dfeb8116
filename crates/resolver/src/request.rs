//! What is to be solved: requirements, targets and policy.

use std::collections::BTreeSet;

use reana_model::{PackageName, Requirement, Target, Version};

/// One thing to solve.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// What is wanted, in the user's order (the order decides between equally good solutions, as in pip).
    pub roots: Vec<Requirement>,
    /// Limits on versions that add no package.
    pub constraints: Vec<Requirement>,
    /// Requirements that replace all others on their names.
    pub overrides: Vec<Requirement>,
    /// What the lock must serve, in order: each later target prefers the earlier ones' pins.
    pub targets: Vec<Target>,
    /// Pins of the old lock that are to be kept where they fit. They admit their version even if it is a
    /// pre-release or yanked.
    pub preferences: Vec<Preference>,
    /// The rules.
    pub policy: Policy,
    /// Whether to record the solver's decisions ([`solve_traced`](crate::solve_traced)).
    pub trace: bool,
}

/// A pin that is kept where it fits.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Preference {
    /// The package.
    pub name: PackageName,
    /// The version that is tried first.
    pub version: Version,
}

/// Rules that hold for all packages or for named ones.
#[derive(Clone, Debug)]
pub struct Policy {
    /// Whether pre-releases are as good as final releases everywhere (`--pre`).
    pub prereleases: bool,
    /// Which end of the versions is tried first.
    pub resolution: ResolutionMode,
    /// Packages whose wheels are not to be used.
    pub no_binary: NamePolicy,
    /// Packages whose sdists are not to be used.
    pub only_binary: NamePolicy,
    /// Packages whose unreadable versions are passed over, with a note, rather than stopped at.
    pub skip_unreadable: NamePolicy,
    /// How many versions may be chosen, all attempts together, before the solve is given up.
    pub max_decisions: u64,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            prereleases: false,
            resolution: ResolutionMode::default(),
            no_binary: NamePolicy::default(),
            only_binary: NamePolicy::default(),
            skip_unreadable: NamePolicy::default(),
            max_decisions: 500_000,
        }
    }
}

/// Which versions are tried first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ResolutionMode {
    /// The newest ones.
    #[default]
    Highest,
    /// The oldest ones.
    Lowest,
    /// The oldest ones of what the user named, the newest of the rest.
    LowestDirect,
}

/// A rule for all packages or for some.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NamePolicy {
    /// All packages.
    All,
    /// These.
    Names(BTreeSet<PackageName>),
}

impl Default for NamePolicy {
    fn default() -> Self {
        Self::Names(BTreeSet::new())
    }
}

impl NamePolicy {
    /// Whether the rule holds for a package.
    pub fn applies(&self, name: &PackageName) -> bool {
        match self {
            Self::All => true,
            Self::Names(names) => names.contains(name),
        }
    }
}
