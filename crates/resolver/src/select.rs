//! Which version of a package is taken, of those that the search leaves.

use std::cell::RefCell;
use std::rc::Rc;

use pubgrub::Ranges;
use reana_model::{PackageName, Version};

use crate::candidates::Candidates;
use crate::node::{Kinds, Node};
use crate::provider::Learned;
use crate::ranges::Point;
use crate::request::ResolutionMode;
use crate::search::Search;
use crate::world::{Facts, Halt, World};

/// The choice of versions, in the light of the decisions that stand.
pub(crate) struct Selection<'s, 'a> {
    pub(crate) world: &'s World<'a>,
    pub(crate) search: &'s RefCell<Search>,
    pub(crate) learned: &'s RefCell<Learned>,
}

/// Which versions are looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct View {
    pub(crate) prereleases: bool,
    pub(crate) yanked: bool,
}

impl Selection<'_, '_> {
    /// The version of a node to try next within a range; `None` if there is none.
    pub(crate) fn choose(
        &self,
        node: &Node,
        name: &PackageName,
        range: &Ranges<Point>,
    ) -> Result<Option<Point>, Halt> {
        let place = self.learned.borrow().places.get(name).cloned();
        if let Some(place) = place {
            let at = Point::on(self.world.direct(&place, name)?.version.clone());
            return Ok(self.world.limited(name, range).contains(&at).then_some(at));
        }
        let within = self.world.limited(name, range);
        let base = Node::Package(name.clone());
        let mut scope = within.clone();
        if *node != base {
            let search = self.search.borrow();
            if let Some(at) = search.decided(&base).filter(|at| within.contains(at)) {
                return Ok(Some(at.clone()));
            }
            scope = scope.intersection(&search.scope(&base));
        }
        if let Some(kept) = self.preferred(name, &scope)? {
            return Ok(Some(kept));
        }
        let view = self.view(name);
        if scope != within
            && let Some(found) = self.first(name, &scope, view)?
        {
            return Ok(Some(found));
        }
        if let Some(found) = self.first(name, &within, view)? {
            return Ok(Some(found));
        }
        self.hidden(name, &within, view)
    }

    /// What may be looked at: pre-releases where something asks for them, yanked versions where something
    /// pins.
    fn view(&self, name: &PackageName) -> View {
        let learned = self.learned.borrow();
        let search = self.search.borrow();
        let live = search.incoming_all(name);
        let limits = self.world.limits(name);
        let any = |of: fn(&Kinds) -> bool| {
            live.iter().any(|live| of(&live.demand.kinds) && search.owner(live) != Some(name))
                || limits.iter().any(|limit| of(&limit.kinds))
        };
        View {
            prereleases: self.world.policy().prereleases
                || learned.admitted.contains(name)
                || any(|kinds| kinds.consents),
            yanked: any(|kinds| kinds.pinned),
        }
    }

    fn preferred(&self, name: &PackageName, scope: &Ranges<Point>) -> Result<Option<Point>, Halt> {
        for version in self.world.preferences(name) {
            let at = Point::on(version.clone());
            if scope.contains(&at)
                && let Some(found) = self.first(name, &Ranges::singleton(at), View::ALL)?
            {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    /// Nothing was found among what may be looked at. Pre-releases are taken where the requirements leave no
    /// final release; else it is remembered that something was hidden.
    fn hidden(&self, name: &PackageName, within: &Ranges<Point>, view: View) -> Result<Option<Point>, Halt> {
        let hides_nothing = self.learned.borrow().hides_nothing;
        if !view.prereleases
            && let Some(found) = self.first(name, within, View { prereleases: true, ..view })?
        {
            let wanted = self.required(name);
            if hides_nothing || self.first(name, &wanted, view)?.is_none() {
                return Ok(Some(found));
            }
            self.learned.borrow_mut().hidden.insert(name.clone());
        }
        if !view.yanked
            && let Some(found) = self.first(name, within, View { yanked: true, ..view })?
        {
            if hides_nothing || self.learned.borrow().admitted_yanked.contains(name) {
                return Ok(Some(found));
            }
            self.learned.borrow_mut().hidden_yanked.insert(name.clone());
        }
        if view == View::NONE
            && let Some(found) = self.first(name, within, View::ALL)?
        {
            let mut learned = self.learned.borrow_mut();
            if hides_nothing {
                return Ok(Some(found));
            }
            learned.hidden.insert(name.clone());
            learned.hidden_yanked.insert(name.clone());
        }
        Ok(None)
    }

    /// The versions that everything required so far leaves, without what the search has ruled out by itself.
    pub(crate) fn required(&self, name: &PackageName) -> Ranges<Point> {
        let all = self.search.borrow().incoming_all(name);
        let range = all
            .iter()
            .fold(Ranges::full(), |range: Ranges<Point>, live| range.intersection(&live.demand.range));
        self.world.limited(name, &range)
    }

    /// Whether anything could be chosen within a range.
    pub(crate) fn has_any(&self, name: &PackageName, range: &Ranges<Point>) -> Result<bool, Halt> {
        let place = self.learned.borrow().places.get(name).cloned();
        if let Some(place) = place {
            let at = Point::on(self.world.direct(&place, name)?.version.clone());
            return Ok(range.contains(&at));
        }
        Ok(self.first(name, range, View { yanked: false, ..View::ALL })?.is_some())
    }

    /// The first version within a range that can be chosen.
    pub(crate) fn first(
        &self,
        name: &PackageName,
        range: &Ranges<Point>,
        view: View,
    ) -> Result<Option<Point>, Halt> {
        if range.is_empty() {
            return Ok(None);
        }
        let candidates = self.world.candidates(name)?;
        let lowest = match self.world.policy().resolution {
            ResolutionMode::Highest => false,
            ResolutionMode::Lowest => true,
            ResolutionMode::LowestDirect => self.world.is_root(name),
        };
        let points = candidates.points();
        let mut positions = (0..points.len()).rev();
        let mut rising = 0..points.len();
        let order: &mut dyn Iterator<Item = usize> = if lowest { &mut rising } else { &mut positions };
        for position in order {
            let Some(at) = points.get(position).filter(|at| range.contains(at)) else { continue };
            if self.is_choice(name, &candidates, position, at.version(), view)? {
                return Ok(Some(at.clone()));
            }
        }
        Ok(None)
    }

    /// All versions within a range that could be chosen if nothing were hidden: final ones that are not
    /// yanked first, newest first.
    pub(crate) fn choices(&self, name: &PackageName, range: &Ranges<Point>) -> Result<Vec<Point>, Halt> {
        let place = self.learned.borrow().places.get(name).cloned();
        if let Some(place) = place {
            let at = Point::on(self.world.direct(&place, name)?.version.clone());
            return Ok(if range.contains(&at) { vec![at] } else { Vec::new() });
        }
        let candidates = self.world.candidates(name)?;
        let mut plain = Vec::new();
        let mut hidden = Vec::new();
        for (position, at) in candidates.points().iter().enumerate().rev() {
            if !range.contains(at) {
                continue;
            }
            if self.is_choice(name, &candidates, position, at.version(), View::NONE)? {
                plain.push(at.clone());
            } else if self.is_choice(name, &candidates, position, at.version(), View::ALL)? {
                hidden.push(at.clone());
            }
        }
        plain.extend(hidden);
        Ok(plain)
    }

    fn is_choice(
        &self,
        name: &PackageName,
        candidates: &Rc<Candidates>,
        position: usize,
        version: &Version,
        view: View,
    ) -> Result<bool, Halt> {
        if version.any_prerelease() && !view.prereleases {
            return Ok(false);
        }
        let rules = self.world.rules();
        let Some(usable) = candidates.usable(position, name, &rules) else { return Ok(false) };
        if usable.files.is_empty() || (usable.yanked && !view.yanked) {
            return Ok(false);
        }
        match self.world.facts(name, version)?.as_ref() {
            Facts::Known { .. } => Ok(true),
            Facts::Unavailable(_) => Ok(false),
            Facts::Unreadable { file, reason } => Err(Halt::Unreadable {
                name: name.clone(),
                version: version.clone(),
                file: file.clone(),
                reason: reason.clone(),
            }),
        }
    }
}

impl View {
    const ALL: Self = Self { prereleases: true, yanked: true };
    const NONE: Self = Self { prereleases: false, yanked: false };
}
