//! Who wants whom, as a lock's annotations say: chains from the manifests to a package, and trees.
//!
//! The annotations know names alone: with several targets, an edge may hold for some of them only. Time and
//! memory grow with the number of annotations, not with the number of paths.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use reana_model::{PinSource, Via};

use crate::{Lock, marker_text};

/// How deep a tree is drawn at most, whatever is asked for: an annotation may be made to go on for ever.
const DEEPEST: usize = 100;

/// The packages of a lock and their edges, by name (a path or URL without a name stands for itself).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Graph {
    nodes: BTreeMap<String, GraphNode>,
}

/// One package of a lock.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GraphNode {
    /// Its pins, in the lock's order; none where an annotation names what the lock does not pin.
    pub pins: Vec<GraphPin>,
    /// The manifests that want it.
    pub manifests: BTreeSet<Via>,
    /// The constraints files that limit it.
    pub limits: BTreeSet<Via>,
    /// The packages that want it.
    pub dependents: BTreeSet<String>,
    /// The packages that it wants.
    pub dependencies: BTreeSet<String>,
}

/// One pin of a package.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GraphPin {
    /// Its version, or the URL or path that decides it.
    pub version: String,
    /// Its extras.
    pub extras: Vec<String>,
    /// When it is to be installed; `None` where always.
    pub marker: Option<String>,
    /// Its line in the lock, counted from 1.
    pub line: u32,
}

/// A way from a manifest to a package.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chain {
    /// The manifests that want the first package; none where the lock does not say who wants it.
    pub from: BTreeSet<Via>,
    /// The packages on the way, the one that was asked for at the end.
    pub packages: Vec<String>,
}

/// Why a package is in a lock.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reasons {
    /// The shortest chain over each direct dependent, shortest first; the manifests' own wish before all.
    pub chains: Vec<Chain>,
    /// Direct dependents that are there only because of the package itself.
    pub circular: Vec<String>,
}

/// Which way a tree grows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From a package to what it wants.
    Dependencies,
    /// From a package to what wants it, and on to the manifests.
    Dependents,
}

/// A line of a tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TreeLine {
    /// What is drawn before the name: `│   └── `; empty for a root.
    pub prefix: String,
    /// A package's name, or a manifest as annotations call it.
    pub name: String,
    /// Whether it is a package.
    pub is_package: bool,
    /// Whether what is below it was shown before.
    pub is_repeated: bool,
}

impl Graph {
    /// The graph of a lock.
    pub fn of(lock: &Lock) -> Self {
        let mut graph = Self::default();
        for pin in &lock.pins {
            let version = match (&pin.source, &pin.version) {
                (PinSource::Url(text) | PinSource::Verbatim(text), _) => text.clone(),
                (_, version) => version.as_ref().map(ToString::to_string).unwrap_or_default(),
            };
            let extras = pin.extras.iter().map(ToString::to_string).collect();
            let shown = GraphPin { version, extras, marker: marker_text(&pin.marker), line: pin.line };
            graph.add(pin.name.as_ref(), shown, &pin.via);
        }
        for pin in &lock.unnamed {
            let marker = marker_text(&pin.marker);
            let shown = GraphPin { version: pin.text.clone(), extras: Vec::new(), marker, line: pin.line };
            graph.add(&pin.text, shown, &pin.via);
        }
        graph
    }

    fn add(&mut self, name: &str, pin: GraphPin, via: &BTreeSet<Via>) {
        let node = self.nodes.entry(name.to_owned()).or_default();
        node.pins.push(pin);
        let mut wanted_by = Vec::new();
        for via in via {
            match via {
                Via::Requirements(_) | Via::Project { .. } => node.manifests.insert(via.clone()),
                Via::Constraints(_) => node.limits.insert(via.clone()),
                Via::Package(by) if by.as_ref() == name => false,
                Via::Package(by) => {
                    wanted_by.push(by.to_string());
                    node.dependents.insert(by.to_string())
                }
            };
        }
        for by in wanted_by {
            self.nodes.entry(by).or_default().dependencies.insert(name.to_owned());
        }
    }

    /// A package.
    pub fn get(&self, name: &str) -> Option<&GraphNode> {
        self.nodes.get(name)
    }

    /// All packages, by name.
    pub fn nodes(&self) -> impl Iterator<Item = (&str, &GraphNode)> {
        self.nodes.iter().map(|(name, node)| (name.as_str(), node))
    }

    /// Whether any annotation says who wants a package.
    pub fn is_annotated(&self) -> bool {
        self.nodes.values().any(|node| !node.manifests.is_empty() || !node.dependents.is_empty())
    }

    /// Where trees start: the manifests with what they want themselves, then (under `None`) the packages of
    /// which the lock does not say who wants them.
    pub fn roots(&self) -> Vec<(Option<Via>, Vec<String>)> {
        let mut by_manifest: BTreeMap<&Via, Vec<String>> = BTreeMap::new();
        let mut unexplained = Vec::new();
        for (name, node) in &self.nodes {
            for manifest in &node.manifests {
                by_manifest.entry(manifest).or_default().push(name.clone());
            }
            if node.manifests.is_empty() && node.dependents.is_empty() {
                unexplained.push(name.clone());
            }
        }
        let mut roots: Vec<_> =
            by_manifest.into_iter().map(|(manifest, names)| (Some(manifest.clone()), names)).collect();
        if !unexplained.is_empty() {
            roots.push((None, unexplained));
        }
        roots
    }

    /// Why a package is in the lock; `None` where it is not.
    pub fn reasons(&self, name: &str) -> Option<Reasons> {
        let (name, node) = self.nodes.get_key_value(name)?;
        let before = self.ways_around(name);
        let mut reasons = Reasons::default();
        if !node.manifests.is_empty() || node.dependents.is_empty() {
            reasons.chains.push(Chain { from: node.manifests.clone(), packages: vec![name.clone()] });
        }
        for dependent in &node.dependents {
            if !before.contains_key(dependent.as_str()) {
                reasons.circular.push(dependent.clone());
                continue;
            }
            let mut packages = vec![name.clone(), dependent.clone()];
            let mut at = dependent.as_str();
            while let Some(Some(previous)) = before.get(at) {
                packages.push((*previous).to_owned());
                at = previous;
            }
            packages.reverse();
            let from = self.nodes.get(at).map(|node| node.manifests.clone()).unwrap_or_default();
            reasons.chains.push(Chain { from, packages });
        }
        reasons.chains.sort_by(|a, b| (a.packages.len(), &a.packages).cmp(&(b.packages.len(), &b.packages)));
        Some(reasons)
    }

    /// What can be reached from the manifests without passing `avoided`, with the package before it on a
    /// shortest way; `None` for what starts one.
    fn ways_around<'g>(&'g self, avoided: &str) -> BTreeMap<&'g str, Option<&'g str>> {
        let mut before: BTreeMap<&str, Option<&str>> = BTreeMap::new();
        let wanted = |node: &GraphNode| !node.manifests.is_empty();
        let unexplained = |node: &GraphNode| node.manifests.is_empty() && node.dependents.is_empty();
        let starts: [&dyn Fn(&GraphNode) -> bool; 2] = [&wanted, &unexplained];
        for is_start in starts {
            let mut queue = VecDeque::new();
            for (name, _) in self.nodes.iter().filter(|(name, node)| *name != avoided && is_start(node)) {
                if !before.contains_key(name.as_str()) {
                    before.insert(name, None);
                    queue.push_back(name.as_str());
                }
            }
            while let Some(at) = queue.pop_front() {
                for next in self.nodes.get(at).iter().flat_map(|node| &node.dependencies) {
                    if next != avoided && !before.contains_key(next.as_str()) {
                        before.insert(next, Some(at));
                        queue.push_back(next);
                    }
                }
            }
        }
        before
    }

    /// The tree from a package on, `depth` levels below it. `shown` are the packages whose branches were drawn
    /// already, in this tree or an earlier one: they are not drawn again.
    pub fn tree(
        &self,
        name: &str,
        direction: Direction,
        depth: Option<usize>,
        shown: &mut BTreeSet<String>,
    ) -> Vec<TreeLine> {
        let deepest = deepest(depth);
        let mut root = self.line(String::new(), name, direction, shown);
        root.is_repeated &= deepest > 0;
        let open = self.branches(&root, direction, deepest, "", shown);
        self.draw(root, open, direction, deepest, shown)
    }

    /// The tree of a manifest, or of anything else that has a name and wants packages.
    pub fn tree_of(
        &self,
        label: &str,
        packages: Vec<String>,
        depth: Option<usize>,
        shown: &mut BTreeSet<String>,
    ) -> Vec<TreeLine> {
        let deepest = deepest(depth);
        let name = label.to_owned();
        let root = TreeLine { prefix: String::new(), name, is_package: false, is_repeated: false };
        let left: VecDeque<(String, bool)> = packages.into_iter().map(|name| (name, true)).collect();
        let open = if deepest > 0 { vec![Branch { left, indent: String::new() }] } else { Vec::new() };
        self.draw(root, open, Direction::Dependencies, deepest, shown)
    }

    fn draw(
        &self,
        root: TreeLine,
        mut open: Vec<Branch>,
        direction: Direction,
        deepest: usize,
        shown: &mut BTreeSet<String>,
    ) -> Vec<TreeLine> {
        let mut lines = vec![root];
        while let Some(branch) = open.last_mut() {
            let Some((name, is_package)) = branch.left.pop_front() else {
                open.pop();
                continue;
            };
            let (joint, indent) =
                if branch.left.is_empty() { ("└── ", "    ") } else { ("├── ", "│   ") };
            let prefix = format!("{}{joint}", branch.indent);
            let below = format!("{}{indent}", branch.indent);
            let mut line = if is_package {
                self.line(prefix, &name, direction, shown)
            } else {
                TreeLine { prefix, name, is_package, is_repeated: false }
            };
            let room = deepest.saturating_sub(open.len());
            line.is_repeated &= room > 0;
            open.append(&mut self.branches(&line, direction, room, &below, shown));
            lines.push(line);
        }
        lines
    }

    fn line(&self, prefix: String, name: &str, direction: Direction, shown: &BTreeSet<String>) -> TreeLine {
        let has_branches = self.nodes.get(name).is_some_and(|node| match direction {
            Direction::Dependencies => !node.dependencies.is_empty(),
            Direction::Dependents => !node.dependents.is_empty() || !node.manifests.is_empty(),
        });
        let is_repeated = has_branches && shown.contains(name);
        TreeLine { prefix, name: name.to_owned(), is_package: true, is_repeated }
    }

    /// What is to be drawn below a line: one branch, or none.
    fn branches(
        &self,
        line: &TreeLine,
        direction: Direction,
        room: usize,
        indent: &str,
        shown: &mut BTreeSet<String>,
    ) -> Vec<Branch> {
        if !line.is_package || line.is_repeated || room == 0 {
            return Vec::new();
        }
        let Some(node) = self.nodes.get(&line.name) else { return Vec::new() };
        shown.insert(line.name.clone());
        let package = |name: &String| (name.clone(), true);
        let left: VecDeque<(String, bool)> = match direction {
            Direction::Dependencies => node.dependencies.iter().map(package).collect(),
            Direction::Dependents => {
                let manifests = node.manifests.iter().map(|via| (via.to_string(), false));
                manifests.chain(node.dependents.iter().map(package)).collect()
            }
        };
        vec![Branch { left, indent: indent.to_owned() }]
    }
}

fn deepest(depth: Option<usize>) -> usize {
    depth.unwrap_or(DEEPEST).min(DEEPEST)
}

/// What is still to be drawn at one place of a tree.
struct Branch {
    left: VecDeque<(String, bool)>,
    indent: String,
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    const LOCK: &str = "\
app==2.0
    # via -r requirements.in
base==1.0
    # via
    #   -c limits.txt
    #   -r requirements.in
    #   app
    #   lib
    #   loop
lib==1.0 ; python_version < \"3.9\"
    # via app
lib==2.0 ; python_version >= \"3.9\"
    # via app
loop==1
    # via base
lost==3
";

    fn graph(text: &str) -> Graph {
        Graph::of(&crate::parse(text, "requirements.txt"))
    }

    fn why(text: &str, name: &str, expected: &Expect) {
        let reasons = graph(text).reasons(name).expect("a package of the lock");
        let chain = |chain: &Chain| {
            let from: Vec<String> = chain.from.iter().map(ToString::to_string).collect();
            format!("{}: {}\n", from.join(", "), chain.packages.join(" > "))
        };
        let chains: String = reasons.chains.iter().map(chain).collect();
        expected.assert_eq(&format!("{chains}circular {:?}\n", reasons.circular));
    }

    fn tree(text: &str, name: &str, direction: Direction, depth: Option<usize>, expected: &Expect) {
        let mut shown = BTreeSet::new();
        let lines = graph(text).tree(name, direction, depth, &mut shown);
        let line = |line: &TreeLine| {
            format!("{}{}{}\n", line.prefix, line.name, if line.is_repeated { " (*)" } else { "" })
        };
        expected.assert_eq(&lines.iter().map(line).collect::<String>());
    }

    #[test]
    fn chains_are_shortest_first_and_one_a_dependent() {
        why(
            LOCK,
            "base",
            &expect![[r#"
                -r requirements.in: base
                -r requirements.in: app > base
                -r requirements.in: app > lib > base
                circular ["loop"]
            "#]],
        );
        why(
            LOCK,
            "loop",
            &expect![[r#"
                -r requirements.in: base > loop
                circular []
            "#]],
        );
        why(
            LOCK,
            "lost",
            &expect![[r#"
                : lost
                circular []
            "#]],
        );
        assert_eq!(graph(LOCK).reasons("none"), None);
    }

    #[test]
    fn a_dependent_that_is_not_pinned_is_told() {
        why(
            "a==1\n    # via setuptools\n",
            "a",
            &expect![[r#"
                : setuptools > a
                circular []
            "#]],
        );
    }

    #[test]
    fn trees_draw_each_branch_once() {
        tree(
            LOCK,
            "app",
            Direction::Dependencies,
            None,
            &expect![[r#"
                app
                ├── base
                │   └── loop
                │       └── base (*)
                └── lib
                    └── base (*)
            "#]],
        );
        tree(
            LOCK,
            "app",
            Direction::Dependencies,
            Some(1),
            &expect![[r#"
                app
                ├── base
                └── lib
            "#]],
        );
        tree(
            LOCK,
            "lib",
            Direction::Dependents,
            None,
            &expect![[r#"
                lib
                └── app
                    └── -r requirements.in
            "#]],
        );
        tree(LOCK, "lost", Direction::Dependencies, Some(0), &expect![["lost\n"]]);
    }

    #[test]
    fn a_manifest_has_a_tree() {
        let graph = graph(LOCK);
        let mut shown = BTreeSet::new();
        let lines = graph.tree_of("x.in", vec!["app".to_owned(), "lib".to_owned()], Some(2), &mut shown);
        let drawn: Vec<String> = lines.iter().map(|line| format!("{}{}", line.prefix, line.name)).collect();
        assert_eq!(drawn, ["x.in", "├── app", "│   ├── base", "│   └── lib", "└── lib", "    └── base"]);
    }

    #[test]
    fn a_long_chain_has_an_end() {
        let pins = (1..5000).map(|at| format!("a{at}==1\n    # via a{}\n", at - 1));
        let text: String = std::iter::once("a0==1\n    # via -r x.in\n".to_owned()).chain(pins).collect();
        let graph = graph(&text);
        assert_eq!(graph.tree("a0", Direction::Dependencies, None, &mut BTreeSet::new()).len(), DEEPEST + 1);
        let reasons = graph.reasons("a4999").expect("a package of the lock");
        assert_eq!(reasons.chains.iter().map(|chain| chain.packages.len()).collect::<Vec<_>>(), [5000]);
    }

    #[test]
    fn roots_are_the_manifests() {
        let roots = graph(LOCK).roots();
        let shown: Vec<String> = roots
            .iter()
            .map(|(via, names)| {
                format!("{}: {}", via.as_ref().map(ToString::to_string).unwrap_or_default(), names.join(" "))
            })
            .collect();
        assert_eq!(shown, ["-r requirements.in: app base", ": lost"]);
    }
}
