//! `reana-lock why`: who wants a package of a lock, from the lock's annotations alone.

use reana_lockfile::{Chain, Graph, GraphNode, Reasons};
use reana_model::{PackageName, Requirement, Via};
use serde_json::{Value, json};

use crate::args::{Format, WhyArgs};
use crate::doors::env::Env;
use crate::error::Failure;
use crate::exit::Exit;
use crate::ui::Ui;
use crate::written::{self, Manifests, Written};

/// What is told about one lock.
struct Told<'w> {
    written: &'w Written,
    graph: Graph,
    reasons: Reasons,
    manifests: Manifests,
}

/// Tells why a package is in the locks that the arguments name.
pub(crate) fn run(args: &WhyArgs, ui: &Ui, env: &Env) -> Result<Exit, Failure> {
    if args.format == Format::Github {
        return Err(Failure::input("--format github is for `compile --check`"));
    }
    let name = PackageName::new(args.name.clone()).map_err(|error| Failure::input(error.to_string()))?;
    let name = name.to_string();
    let what = args.lock.as_deref().unwrap_or(".");
    let locks = written::find(what, env).map_err(|failure| {
        let is_turned = args.lock.is_some() && written::find(&args.name, env).is_ok();
        if !is_turned {
            return failure;
        }
        failure.hint(format!("the package comes first: `reana-lock why {what} {}`", args.name))
    })?;
    let mut told = Vec::new();
    for written in &locks {
        if Graph::of(&written.lock).get(&name).is_none() {
            continue;
        }
        let manifests = written::manifests(written, env).unwrap_or_else(|failure| {
            ui.note(&format!("{}: told without the manifests' lines: {}", written.shown, failure.message));
            Manifests::default()
        });
        let graph = Graph::of(&written::explained(written, &manifests));
        let Some(reasons) = graph.reasons(&name) else { continue };
        if !graph.is_annotated() {
            return Err(Failure::input(format!(
                "{}: the lock doesn't say who wants its packages",
                written.shown
            ))
            .hint("compile it without `--no-annotate`"));
        }
        told.push(Told { written, graph, reasons, manifests });
    }
    if told.is_empty() {
        return Err(absent(&name, &locks));
    }
    if args.format == Format::Json {
        let each: Vec<Value> = told.iter().map(|told| told.json(&name)).collect();
        ui.data(&format!("{:#}\n", json!({ "name": name, "locks": each })));
    } else {
        let each: Vec<String> = told.iter().map(|told| told.text(&name, locks.len() > 1)).collect();
        ui.data(&each.join("\n"));
    }
    Ok(Exit::Done)
}

/// A package that no lock has, with the names that it may have been meant to be.
fn absent(name: &str, locks: &[Written]) -> Failure {
    let shown: Vec<&str> = locks.iter().map(|written| written.shown.as_str()).collect();
    let failure = Failure::input(format!("{name} is not in {}", shown.join(", ")));
    let mut near: Vec<String> = locks
        .iter()
        .flat_map(|written| &written.lock.pins)
        .map(|pin| pin.name.to_string())
        .filter(|other| other.contains(name) || name.contains(other.as_str()))
        .collect();
    near.sort();
    near.dedup();
    near.truncate(5);
    if near.is_empty() { failure } else { failure.hint(format!("there is {}", near.join(", "))) }
}

impl Told<'_> {
    fn text(&self, name: &str, is_one_of_several: bool) -> String {
        let mut out = String::new();
        if is_one_of_several {
            out.push_str(&format!("{}:\n", self.written.shown));
        }
        let Some(node) = self.graph.get(name) else { return out };
        for pin in &node.pins {
            let extras =
                if pin.extras.is_empty() { String::new() } else { format!("[{}]", pin.extras.join(",")) };
            let marker = pin.marker.as_ref().map(|marker| format!(" ; {marker}")).unwrap_or_default();
            out.push_str(&format!("{name}{extras} {}{marker}\n", pin.version));
        }
        if node.pins.is_empty() {
            out.push_str(&format!("{name} (not pinned)\n"));
        }
        for chain in &self.reasons.chains {
            for start in self.starts(chain) {
                out.push_str(&format!("  {start}{}\n", self.way(chain)));
            }
        }
        for by in &self.reasons.circular {
            out.push_str(&format!("  {}, which is there for {name} itself\n", shown(&self.graph, by)));
        }
        for limit in &node.limits {
            let lines = lines(&self.manifests.limits, limit, name);
            for place in places(limit, &lines) {
                out.push_str(&format!("  limited by {place}\n"));
            }
        }
        out
    }

    /// Where a chain starts: lines of manifests, where they could be read.
    fn starts(&self, chain: &Chain) -> Vec<String> {
        let first = chain.packages.first().map(String::as_str).unwrap_or_default();
        if chain.from.is_empty() {
            return vec!["the lock doesn't say who wants ".to_owned() + first];
        }
        let start = |via: &Via| {
            let lines = lines(&self.manifests.wanted, via, first);
            let place =
                |requirement: &&Requirement| format!("{} requires {}", requirement.origin, requirement.text);
            if lines.is_empty() {
                vec![format!("{via} requires {first}")]
            } else {
                lines.iter().map(place).collect()
            }
        };
        chain.from.iter().flat_map(start).collect()
    }

    /// The packages of a chain, where it has more than one.
    fn way(&self, chain: &Chain) -> String {
        if chain.packages.len() < 2 {
            return String::new();
        }
        let packages: Vec<String> = chain.packages.iter().map(|name| shown(&self.graph, name)).collect();
        format!(": {}", packages.join(" -> "))
    }

    fn json(&self, name: &str) -> Value {
        let empty = GraphNode::default();
        let node = self.graph.get(name).unwrap_or(&empty);
        let start = |via: &Via, package: &str| {
            let lines = lines(&self.manifests.wanted, via, package);
            json!({ "manifest": via.to_string(), "lines": lines_json(&lines) })
        };
        let chain = |chain: &Chain| {
            let first = chain.packages.first().map(String::as_str).unwrap_or_default();
            let from: Vec<Value> = chain.from.iter().map(|via| start(via, first)).collect();
            json!({ "from": from, "packages": chain.packages })
        };
        let limit = |via: &Via| json!({ "constraints": via.to_string(), "lines": lines_json(&lines(&self.manifests.limits, via, name)) });
        json!({
            "component": self.written.name,
            "lock": self.written.shown,
            "pins": super::tree::pins_json(node),
            "chains": self.reasons.chains.iter().map(chain).collect::<Vec<_>>(),
            "dependents": node.dependents,
            "circular": self.reasons.circular,
            "limits": node.limits.iter().map(limit).collect::<Vec<_>>(),
        })
    }
}

/// A package with its versions: one, unless targets differ.
pub(crate) fn shown(graph: &Graph, name: &str) -> String {
    let mut versions: Vec<&str> = Vec::new();
    for pin in graph.get(name).iter().flat_map(|node| &node.pins) {
        if !versions.contains(&pin.version.as_str()) && pin.version != name {
            versions.push(&pin.version);
        }
    }
    if versions.is_empty() { name.to_owned() } else { format!("{name} {}", versions.join("|")) }
}

/// The lines of one manifest about one package.
fn lines<'m>(all: &'m [(Via, Requirement)], via: &Via, name: &str) -> Vec<&'m Requirement> {
    let about = |requirement: &Requirement| {
        requirement.name.as_ref() == name || requirement.direct().is_some_and(|direct| direct.given == name)
    };
    let lines = all.iter().filter(|(by, requirement)| by == via && about(requirement));
    lines.map(|(_, requirement)| requirement).collect()
}

fn places(via: &Via, lines: &[&Requirement]) -> Vec<String> {
    if lines.is_empty() {
        return vec![via.to_string()];
    }
    lines.iter().map(|requirement| format!("{}: {}", requirement.origin, requirement.text)).collect()
}

fn lines_json(lines: &[&Requirement]) -> Vec<Value> {
    let line = |requirement: &&Requirement| {
        json!({
            "file": requirement.origin.file.as_ref(),
            "line": requirement.origin.line,
            "requirement": requirement.text,
        })
    };
    lines.iter().map(line).collect()
}
