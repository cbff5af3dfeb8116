//! The last resort: every choice is tried in turn, and whole solutions are judged.
//!
//! PubGrub learns from failures what can't go together. Whether a pre-release or a yanked version may be taken
//! depends on all the rest, and can't be learned so: a solution could be missed that needs one. Where a search
//! that hides nothing found that there may be such a solution, it is looked for here, within a bound.

use std::collections::BTreeMap;

use pubgrub::Ranges;
use reana_model::PackageName;

use crate::admission::unadmitted;
use crate::node::Node;
use crate::provider::Provider;
use crate::ranges::Point;
use crate::solve::Decided;
use crate::world::Halt;

/// How many choices are tried.
const MOST_CHOICES: u32 = 4_000;

/// A solution of which every version is admitted; `None` if there is none, or none was found within bounds.
pub(crate) fn exhaust(provider: &Provider<'_, '_>) -> Result<Option<Decided>, Halt> {
    Exhaust { provider, left: MOST_CHOICES }.search(&mut Pins::new())
}

type Pins = BTreeMap<PackageName, Point>;

struct Exhaust<'p, 'w, 'a> {
    provider: &'p Provider<'w, 'a>,
    left: u32,
}

/// What some pins lead to.
enum Reached {
    /// They contradict each other.
    Clash,
    /// This package is to be chosen next, within a range.
    Open(PackageName, Ranges<Point>),
    /// Nothing is open.
    All(Decided),
}

impl Exhaust<'_, '_, '_> {
    fn search(&mut self, pins: &mut Pins) -> Result<Option<Decided>, Halt> {
        let (name, range) = match self.reach(pins)? {
            Reached::Clash => return Ok(None),
            Reached::All(decided) => {
                return Ok(unadmitted(self.provider, &decided)?.is_empty().then_some(decided));
            }
            Reached::Open(name, range) => (name, range),
        };
        for at in self.provider.selection().choices(&name, &range)? {
            let Some(left) = self.left.checked_sub(1) else { return Ok(None) };
            self.left = left;
            pins.insert(name.clone(), at);
            if let Some(found) = self.search(pins)? {
                return Ok(Some(found));
            }
            pins.remove(&name);
        }
        Ok(None)
    }

    fn reach(&self, pins: &Pins) -> Result<Reached, Halt> {
        let world = self.provider.world;
        let mut decided = Decided::new();
        let mut ranges: BTreeMap<PackageName, Ranges<Point>> = BTreeMap::new();
        let mut open: Option<PackageName> = None;
        let mut todo = vec![(Node::Root, Provider::root_version())];
        while let Some((node, at)) = todo.pop() {
            for demand in self.provider.demands(&node, &at)?.iter() {
                let Some(name) = demand.node.name() else { continue };
                let elsewhere = demand.place().is_some_and(|place| {
                    let learned = self.provider.learned.borrow();
                    learned.places.get(name).is_some_and(|known| known.url != place.url)
                });
                let range =
                    ranges.entry(name.clone()).or_insert_with(|| world.limited(name, &Ranges::full()));
                *range = range.intersection(&demand.range);
                let Some(pin) = pins.get(name) else {
                    open = Some(open.map_or_else(|| name.clone(), |first| first.min(name.clone())));
                    continue;
                };
                if elsewhere || !range.contains(pin) {
                    return Ok(Reached::Clash);
                }
                let key = (name.clone(), demand.node.extras().to_vec());
                if decided.insert(key, pin.clone()).is_none() {
                    todo.push((demand.node.clone(), pin.clone()));
                }
            }
        }
        Ok(match open {
            Some(name) => {
                let range = ranges.remove(&name).unwrap_or_else(Ranges::full);
                Reached::Open(name, range)
            }
            None => Reached::All(decided),
        })
    }
}
