//! The attempts that make one solution.

use crate::{Catalog, Request, Resolution, SolveError};

/// Solves a request, target by target.
pub fn solve(_catalog: &dyn Catalog, request: &Request) -> Result<Resolution, SolveError> {
    Err(SolveError::Limit { decisions: request.policy.max_decisions })
}
