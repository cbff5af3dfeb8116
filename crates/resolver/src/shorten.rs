//! The shortest explanation: the user's lines that take part in a clash, and none that doesn't matter.
//!
//! A proof may use more than it needs. Each line of the manifests that it rests on is left out in turn; where
//! the rest still clashes, it goes without that line.

use std::collections::BTreeMap;

use reana_model::{Requirement, Target};

use crate::catalog::Catalog;
use crate::error::SolveError;
use crate::request::{Policy, Request};
use crate::resolution::RequiredBy;
use crate::solve::search;
use crate::world::World;

/// More lines than this are told as they are.
const MOST_ROOTS: usize = 40;

/// Decisions that one attempt to leave a line out may take.
const MOST_DECISIONS: u64 = 20_000;

/// Makes a failure say no more than it must.
pub(crate) fn shorten(
    catalog: &dyn Catalog,
    request: &Request,
    target: Target,
    failure: SolveError,
) -> SolveError {
    let SolveError::NoSolution(explanation) = &failure else { return failure };
    let is_told = |root: &Requirement| {
        explanation
            .roots
            .iter()
            .any(|reason| reason.text == root.text && reason.by == RequiredBy::Root(root.origin.clone()))
    };
    let mut kept: Vec<Requirement> = request.roots.iter().filter(|root| is_told(root)).cloned().collect();
    if !(2..=MOST_ROOTS).contains(&kept.len()) {
        return failure;
    }
    let probe = Probe { catalog, request, target };
    let mut shortest = failure;
    let mut at = 0;
    while at < kept.len() {
        let mut fewer = kept.clone();
        fewer.remove(at);
        match probe.clash(&fewer) {
            Some(clash) => {
                kept = fewer;
                shortest = clash;
            }
            None => at += 1,
        }
    }
    shortest
}

struct Probe<'a> {
    catalog: &'a dyn Catalog,
    request: &'a Request,
    target: Target,
}

impl Probe<'_> {
    /// The clash of these lines alone, if they clash.
    fn clash(&self, roots: &[Requirement]) -> Option<SolveError> {
        let max_decisions = MOST_DECISIONS.min(self.request.policy.max_decisions);
        let request = Request {
            roots: roots.to_vec(),
            policy: Policy { max_decisions, ..self.request.policy.clone() },
            trace: false,
            ..self.request.clone()
        };
        let world = World::new(self.catalog, &request, self.target, &BTreeMap::new());
        match search(&world) {
            Err(clash @ SolveError::NoSolution(_)) => Some(clash),
            Ok(_) | Err(_) => None,
        }
    }
}
