//! The order of releases.

use std::collections::BTreeSet;

/// In which order repositories must be released.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReleaseOrder {
    /// Steps, first to last: those of one step don't require one another. Each is sorted by name.
    pub steps: Vec<Vec<String>>,
    /// Repositories that require one another in a circle, which no order satisfies; each sorted by name. They
    /// stand in one step together.
    pub cycles: Vec<Vec<String>>,
}

impl ReleaseOrder {
    /// Orders repositories by what each of them needs, given as positions in `names`.
    pub(crate) fn of(names: &[&str], needs: &[BTreeSet<usize>]) -> Self {
        let groups = Circles::of(needs);
        let mut order = Self::default();
        let mut step_of: Vec<usize> = vec![0; groups.members.len()];
        // Circles are found after all that they need.
        for (group, members) in groups.members.iter().enumerate() {
            let needed = members.iter().filter_map(|member| needs.get(*member)).flatten();
            let before = needed.filter_map(|need| groups.group_of.get(*need)).filter(|need| **need != group);
            let step = before.filter_map(|need| step_of.get(*need)).map(|step| step + 1).max().unwrap_or(0);
            if let Some(slot) = step_of.get_mut(group) {
                *slot = step;
            }
            if order.steps.len() <= step {
                order.steps.resize(step + 1, Vec::new());
            }
            let mut named: Vec<String> = members
                .iter()
                .filter_map(|member| names.get(*member))
                .map(|name| (*name).to_owned())
                .collect();
            named.sort();
            if let Some(slot) = order.steps.get_mut(step) {
                slot.extend(named.iter().cloned());
            }
            if named.len() > 1 {
                order.cycles.push(named);
            }
        }
        order.steps.iter_mut().for_each(|step| step.sort());
        order.cycles.sort();
        order
    }

    /// The repositories in order.
    pub fn flat(&self) -> impl Iterator<Item = &str> {
        self.steps.iter().flatten().map(String::as_str)
    }
}

/// Strongly connected components, by Tarjan's algorithm without recursion.
struct Circles {
    /// Those that are needed first.
    members: Vec<Vec<usize>>,
    group_of: Vec<usize>,
}

const UNSEEN: usize = usize::MAX;

impl Circles {
    fn of(needs: &[BTreeSet<usize>]) -> Self {
        let count = needs.len();
        let mut search = Search {
            needs,
            number: vec![UNSEEN; count],
            low: vec![UNSEEN; count],
            waiting: Vec::new(),
            next: 0,
            found: Self { members: Vec::new(), group_of: vec![UNSEEN; count] },
        };
        (0..count).for_each(|start| search.from(start));
        search.found
    }
}

struct Search<'n> {
    needs: &'n [BTreeSet<usize>],
    number: Vec<usize>,
    low: Vec<usize>,
    waiting: Vec<usize>,
    next: usize,
    found: Circles,
}

impl Search<'_> {
    fn at(list: &[usize], index: usize) -> usize {
        list.get(index).copied().unwrap_or(UNSEEN)
    }

    fn enter(&mut self, node: usize) {
        for list in [&mut self.number, &mut self.low] {
            if let Some(slot) = list.get_mut(node) {
                *slot = self.next;
            }
        }
        self.next += 1;
        self.waiting.push(node);
    }

    fn lower(&mut self, node: usize, to: usize) {
        if let Some(low) = self.low.get_mut(node) {
            *low = (*low).min(to);
        }
    }

    fn from(&mut self, start: usize) {
        if Self::at(&self.number, start) != UNSEEN {
            return;
        }
        let below = |node: usize| self.needs.get(node).into_iter().flatten().copied().collect::<Vec<_>>();
        let first = below(start);
        self.enter(start);
        let mut open = vec![(start, first.into_iter())];
        while let Some((node, rest)) = open.last_mut() {
            let node = *node;
            if let Some(need) = rest.next() {
                if Self::at(&self.number, need) == UNSEEN {
                    let more: Vec<usize> = self.needs.get(need).into_iter().flatten().copied().collect();
                    self.enter(need);
                    open.push((need, more.into_iter()));
                } else if Self::at(&self.found.group_of, need) == UNSEEN {
                    let number = Self::at(&self.number, need);
                    self.lower(node, number);
                }
                continue;
            }
            open.pop();
            let low = Self::at(&self.low, node);
            if let Some((above, _)) = open.last() {
                let above = *above;
                self.lower(above, low);
            }
            if low == Self::at(&self.number, node) {
                self.close(node);
            }
        }
    }

    fn close(&mut self, node: usize) {
        let group = self.found.members.len();
        let mut members = Vec::new();
        while let Some(member) = self.waiting.pop() {
            if let Some(slot) = self.found.group_of.get_mut(member) {
                *slot = group;
            }
            members.push(member);
            if member == node {
                break;
            }
        }
        self.found.members.push(members);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check(needs: &[&[usize]], steps: &str, cycles: &str) {
        let names: Vec<String> = (0..needs.len()).map(|at| at.to_string()).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let needs: Vec<BTreeSet<usize>> = needs.iter().map(|list| list.iter().copied().collect()).collect();
        let order = ReleaseOrder::of(&names, &needs);
        let shown =
            |lists: &[Vec<String>]| lists.iter().map(|list| list.join("+")).collect::<Vec<_>>().join(" ");
        assert_eq!((shown(&order.steps).as_str(), shown(&order.cycles).as_str()), (steps, cycles));
    }

    #[test]
    fn steps_and_cycles() {
        check(&[], "", "");
        check(&[&[1], &[], &[0, 1]], "1 0 2", "");
        check(&[&[1], &[0], &[0], &[]], "0+1+3 2", "0+1");
        check(&[&[1], &[2], &[0, 3], &[]], "3 0+1+2", "0+1+2");
    }

    proptest! {
        #[test]
        fn each_comes_after_what_it_needs(edges in prop::collection::vec((0_usize..12, 0_usize..12), 0..30)) {
            let names: Vec<String> = (0..12).map(|at| format!("{at:02}")).collect();
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            let mut needs = vec![BTreeSet::new(); 12];
            for (from, to) in edges.iter().filter(|(from, to)| from != to) {
                needs[*from].insert(*to);
            }
            let order = ReleaseOrder::of(&names, &needs);
            prop_assert_eq!(order.flat().count(), 12);
            let step = |node: usize| order.steps.iter().position(|step| step.iter().any(|it| it == names[node]));
            let in_circle = |a: usize, b: usize| order.cycles.iter().any(|all| {
                all.iter().any(|it| it == names[a]) && all.iter().any(|it| it == names[b])
            });
            for (from, list) in needs.iter().enumerate() {
                for to in list {
                    prop_assert!(step(from) > step(*to) || in_circle(from, *to));
                }
            }
        }
    }
}
