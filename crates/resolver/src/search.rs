//! The state of one attempt, followed from outside of PubGrub: which decisions stand, and what they require.
//!
//! PubGrub tells of its decisions, but not when it takes them back. That can be seen: a decision that was taken
//! back, with all that came after it, leaves its package open again, and PubGrub asks for the priority of what
//! is open before it decides the next thing. The first decision of those taken back always stays required (it
//! was required when it was taken), so it is always asked about.

use std::rc::Rc;

use pubgrub::Ranges;
use reana_model::{ExtraName, PackageName};
use rustc_hash::FxHashMap;

use crate::node::{Demand, Node};
use crate::ranges::Point;
use crate::resolution::{Reason, RequiredBy};

/// One decision that stands.
pub(crate) struct Decision {
    pub(crate) node: Node,
    pub(crate) at: Point,
    pub(crate) demands: Rc<[Rc<Demand>]>,
}

/// All decisions that stand, in their order.
#[derive(Default)]
pub(crate) struct Search {
    decisions: Vec<Decision>,
    position: FxHashMap<Node, usize>,
    incoming: FxHashMap<Node, Vec<Live>>,
    /// The nodes of each package that were ever demanded.
    nodes: FxHashMap<PackageName, Vec<Node>>,
}

/// A demand of a decision that stands.
#[derive(Clone)]
pub(crate) struct Live {
    by: usize,
    pub(crate) demand: Rc<Demand>,
}

impl Search {
    /// Adds a decision.
    pub(crate) fn push(&mut self, node: &Node, at: &Point, demands: Rc<[Rc<Demand>]>) {
        self.reopen(node);
        let by = self.decisions.len();
        for demand in demands.iter() {
            let live = Live { by, demand: Rc::clone(demand) };
            if let Some(incoming) = self.incoming.get_mut(&demand.node) {
                incoming.push(live);
                continue;
            }
            self.incoming.insert(demand.node.clone(), vec![live]);
            if let Some(name) = demand.node.name() {
                self.nodes.entry(name.clone()).or_default().push(demand.node.clone());
            }
        }
        self.position.insert(node.clone(), by);
        self.decisions.push(Decision { node: node.clone(), at: at.clone(), demands });
    }

    /// A node is open: if it was decided, that decision and all later ones have been taken back.
    pub(crate) fn reopen(&mut self, node: &Node) {
        let Some(&from) = self.position.get(node) else { return };
        for decision in self.decisions.drain(from..) {
            self.position.remove(&decision.node);
            for demand in decision.demands.iter() {
                if let Some(live) = self.incoming.get_mut(&demand.node) {
                    live.retain(|live| live.by < from);
                }
            }
        }
    }

    /// The version decided for a node.
    pub(crate) fn decided(&self, node: &Node) -> Option<&Point> {
        let decision = self.decisions.get(*self.position.get(node)?)?;
        Some(&decision.at)
    }

    /// What is demanded of a node.
    pub(crate) fn incoming(&self, node: &Node) -> &[Live] {
        self.incoming.get(node).map_or(&[], Vec::as_slice)
    }

    /// What is demanded of a package and of it with extras, in the order of the decisions behind it.
    pub(crate) fn incoming_all(&self, name: &PackageName) -> Vec<Live> {
        let nodes = self.nodes.get(name).map_or(&[][..], Vec::as_slice);
        let mut all: Vec<Live> = nodes.iter().flat_map(|node| self.incoming(node).iter().cloned()).collect();
        all.sort_by(|a, b| {
            let key =
                |live: &Live| live.demand.requirement.as_ref().map(|r| (r.text.clone(), r.origin.clone()));
            a.by.cmp(&b.by).then_with(|| key(a).cmp(&key(b)))
        });
        all
    }

    /// The package whose demand it is; `None` for the user's.
    pub(crate) fn owner(&self, live: &Live) -> Option<&PackageName> {
        self.decisions.get(live.by).and_then(|decision| decision.node.name())
    }

    /// The versions of a node that its demands leave.
    pub(crate) fn scope(&self, node: &Node) -> Ranges<Point> {
        let all = self.incoming(node).iter();
        all.fold(Ranges::full(), |range, live| range.intersection(&live.demand.range))
    }

    /// Who wants a package, of the decisions that stand.
    pub(crate) fn reasons(&self, name: &PackageName) -> Vec<Reason> {
        let mut reasons: Vec<Reason> =
            self.incoming_all(name).iter().filter_map(|live| self.reason(live)).collect();
        reasons.sort();
        reasons.dedup();
        reasons
    }

    /// How the manifests lead to a package, and all that is required of it, in words.
    pub(crate) fn chain(&self, name: &PackageName) -> Vec<String> {
        let say = |reason: &Reason| format!("{} requires {}", reason.by, reason.text);
        let mut lines: Vec<String> = self.reasons(name).iter().map(say).collect();
        let mut seen = vec![name.clone()];
        let mut at = name.clone();
        // Each step goes to an earlier decision, or to one not seen yet.
        while let Some(owner) = self.incoming_all(&at).first().and_then(|live| self.owner(live).cloned()) {
            if seen.contains(&owner) {
                break;
            }
            let by = self.incoming_all(&owner).first().and_then(|live| self.reason(live));
            lines.insert(0, by.as_ref().map(say).unwrap_or_default());
            seen.push(owner.clone());
            at = owner;
        }
        lines.retain(|line| !line.is_empty());
        lines
    }

    /// A demand in words: whose it is, and its text.
    pub(crate) fn reason(&self, live: &Live) -> Option<Reason> {
        let decision = self.decisions.get(live.by)?;
        reason(&decision.node, &decision.at, &live.demand)
    }
}

/// A demand in words; `None` for a tie and for what a package says of itself.
pub(crate) fn reason(by: &Node, at: &Point, demand: &Demand) -> Option<Reason> {
    let requirement = demand.requirement.as_ref()?;
    let (by, text) = match by {
        Node::Root => (RequiredBy::Root(requirement.origin.clone()), requirement.text.clone()),
        Node::Package(name) | Node::Extras(name, _) if demand.node.name() == Some(name) => return None,
        Node::Package(name) | Node::Extras(name, _) => (
            RequiredBy::Package(name.clone(), at.version().clone()),
            with_extra(&requirement.text, by.extras()),
        ),
    };
    Some(Reason { by, text })
}

/// A package's requirement, with the extra that brings it in rather than its marker: ``c<2 (extra `x`)``.
fn with_extra(text: &str, asked: &[ExtraName]) -> String {
    let Some((head, marker)) = text.rsplit_once(';').filter(|(_, marker)| marker.contains("extra")) else {
        return text.to_owned();
    };
    let named = |quote: char| move |extra: &&ExtraName| marker.contains(&format!("{quote}{extra}{quote}"));
    let extra = asked.iter().find(named('"')).or_else(|| asked.iter().find(named('\'')));
    let extra = extra.map(|extra| format!(" (extra `{extra}`)")).unwrap_or_default();
    format!("{}{extra}", head.trim_end())
}
