//! The shortest explanation: the user's lines that take part in a clash, and none that doesn't matter.
//!
//! A proof may use more than it needs. Each line of the manifests that it rests on is left out in turn; where
//! the rest still clashes, it goes without that line.

use std::collections::BTreeMap;

use reana_model::{ExtraName, Requirement, Source, Target, VersionSpecifiers};

use crate::catalog::Catalog;
use crate::error::SolveError;
use crate::explain::{Explanation, Remedy};
use crate::request::{Policy, Request};
use crate::resolution::{Reason, RequiredBy};
use crate::solve::search;
use crate::world::World;

/// More lines than this are told as they are.
const MOST_ROOTS: usize = 40;

/// Decisions that one attempt to leave a line out may take.
const MOST_DECISIONS: u64 = 20_000;

/// Makes a failure say no more than it must, and looks for what would help.
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
    kept.sort_by(|a, b| (&a.origin, &a.text).cmp(&(&b.origin, &b.text)));
    let probe = Probe { catalog, request, target };
    let mut shortest = failure;
    let mut at = if (2..=MOST_ROOTS).contains(&kept.len()) { 0 } else { kept.len() };
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
    if let SolveError::NoSolution(explanation) = &mut shortest {
        explanation.target = (request.targets.len() > 1).then_some(target);
        if kept.len() <= MOST_ROOTS {
            explanation.remedies = probe.remedies(&kept, explanation);
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
    /// The request with these lines alone.
    fn of(&self, roots: &[Requirement]) -> Request {
        let max_decisions = MOST_DECISIONS.min(self.request.policy.max_decisions);
        Request {
            roots: roots.to_vec(),
            policy: Policy { max_decisions, ..self.request.policy.clone() },
            trace: false,
            ..self.request.clone()
        }
    }

    /// The clash of these lines alone, if they clash.
    fn clash(&self, roots: &[Requirement]) -> Option<SolveError> {
        let request = self.of(roots);
        let world = World::new(self.catalog, &request, self.target, &BTreeMap::new());
        match search(&world) {
            Err(clash @ SolveError::NoSolution(_)) => Some(clash),
            Ok(_) | Err(_) => None,
        }
    }

    /// Each change of one line that makes the lines go together.
    fn remedies(&self, kept: &[Requirement], explanation: &Explanation) -> Vec<Remedy> {
        let mut remedies = Vec::new();
        for (at, root) in kept.iter().enumerate() {
            let line = Reason { by: RequiredBy::Root(root.origin.clone()), text: root.text.clone() };
            let with = |changed: Requirement| {
                let mut roots = kept.to_vec();
                if let Some(root) = roots.get_mut(at) {
                    *root = changed;
                }
                self.of(&roots)
            };
            if root.specifiers().is_some_and(|specifiers| !specifiers.is_empty()) {
                let source = Source::Index(VersionSpecifiers::empty());
                if self.solves(&with(Requirement { source, ..root.clone() })) {
                    remedies.push(Remedy::Loosen(line.clone()));
                }
            }
            let without = |left_out: &[ExtraName]| {
                let mut extras = root.extras.clone();
                extras.retain(|extra| !left_out.contains(extra));
                self.solves(&with(Requirement { extras, ..root.clone() }))
            };
            let each = root.extras.iter().map(std::slice::from_ref).filter(|extra| without(extra));
            let mut ways: Vec<&[ExtraName]> = each.collect();
            if ways.is_empty() && root.extras.len() > 1 && without(&root.extras) {
                ways.push(&root.extras);
            }
            remedies.extend(
                ways.into_iter()
                    .map(|extras| Remedy::LeaveOut { line: line.clone(), extras: extras.to_vec() }),
            );
        }
        let limits = explanation.bounds.iter().filter(|it| matches!(it.by, RequiredBy::Constraint(_)));
        for limit in limits {
            let mut request = self.of(kept);
            request.constraints.retain(|constraint| {
                (&constraint.text, RequiredBy::Constraint(constraint.origin.clone()))
                    != (&limit.text, limit.by.clone())
            });
            if self.solves(&request) {
                remedies.push(Remedy::Loosen(limit.clone()));
            }
        }
        remedies.extend(self.prerelease(kept));
        remedies
    }

    fn solves(&self, request: &Request) -> bool {
        search(&World::new(self.catalog, request, self.target, &BTreeMap::new())).is_ok()
    }

    /// The pre-release that makes the lines go together, if one alone does.
    fn prerelease(&self, kept: &[Requirement]) -> Option<Remedy> {
        if self.request.policy.prereleases {
            return None;
        }
        let mut request = self.of(kept);
        request.policy.prereleases = true;
        let world = World::new(self.catalog, &request, self.target, &BTreeMap::new());
        let outcome = search(&world).ok()?;
        let mut taken = outcome
            .decided
            .iter()
            .filter(|((_, extras), at)| extras.is_empty() && at.version().any_prerelease());
        match (taken.next(), taken.next()) {
            (Some(((name, _), at)), None) => {
                Some(Remedy::Admit { name: name.clone(), version: at.version().clone() })
            }
            _ => None,
        }
    }
}
