//! Failures in the user's terms.

use std::fmt;

use reana_model::PackageName;

/// Why requirements can't be satisfied together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explanation {
    /// The package over which they clash.
    pub clash: PackageName,
    /// One statement a line, from the manifests to the clash.
    pub lines: Vec<String>,
    /// Which bounds could be loosened, with their places.
    pub hint: Option<String>,
}

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no version of {} satisfies everything that is required of it:", self.clash)?;
        self.lines.iter().try_for_each(|line| write!(f, "\n  {line}"))?;
        match &self.hint {
            Some(hint) => write!(f, "\n{hint}"),
            None => Ok(()),
        }
    }
}
