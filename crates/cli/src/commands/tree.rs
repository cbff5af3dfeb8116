//! `reana-lock tree`: what a lock's packages want, or who wants them, from the lock's annotations alone.

use std::collections::BTreeSet;

use reana_lockfile::{Direction, Graph, GraphNode, TreeLine};
use reana_model::PackageName;
use serde_json::{Value, json};

use super::why::shown;
use crate::args::{Format, TreeArgs};
use crate::doors::env::Env;
use crate::error::Failure;
use crate::exit::Exit;
use crate::ui::Ui;
use crate::written::{self, Manifests, Written};

/// Draws the trees of the locks that the arguments name.
pub(crate) fn run(args: &TreeArgs, ui: &Ui, env: &Env) -> Result<Exit, Failure> {
    if args.format == Format::Github {
        return Err(Failure::input("--format github is for `compile --check`"));
    }
    let invert = args.invert.clone().map(PackageName::new).transpose();
    let invert = invert.map_err(|error| Failure::input(error.to_string()))?.map(|name| name.to_string());
    let locks = written::find(args.lock.as_deref().unwrap_or("."), env)?;
    let mut trees = Vec::new();
    for written in &locks {
        let manifests = if written::is_pylock(written) {
            written::manifests(written, env)
        } else {
            Ok(Manifests::default())
        };
        let graph = Graph::of(&written::explained(written, &manifests.unwrap_or_default()));
        if !graph.is_annotated() && !written.lock.pins.is_empty() {
            let message = format!("{}: the lock doesn't say who wants its packages", written.shown);
            return Err(Failure::input(message).hint("compile it without `--no-annotate`"));
        }
        if invert.as_deref().is_none_or(|name| graph.get(name).is_some()) {
            trees.push((written, graph));
        }
    }
    if let (Some(name), true) = (&invert, trees.is_empty()) {
        let shown: Vec<&str> = locks.iter().map(|written| written.shown.as_str()).collect();
        return Err(Failure::input(format!("{name} is not in {}", shown.join(", "))));
    }
    if args.format == Format::Json {
        let each: Vec<Value> = trees
            .iter()
            .map(|(written, graph)| lock_json(written, graph, invert.as_deref(), args.depth))
            .collect();
        ui.data(&format!("{:#}\n", json!({ "locks": each })));
        return Ok(Exit::Done);
    }
    let draw = |(written, graph): &(&Written, Graph)| {
        let heading = if locks.len() > 1 { format!("{}:\n", written.shown) } else { String::new() };
        let lines = lines(graph, invert.as_deref(), args.depth);
        heading + &lines.iter().map(|line| text(graph, line)).collect::<String>()
    };
    ui.data(&trees.iter().map(draw).collect::<Vec<_>>().join("\n"));
    if trees
        .iter()
        .any(|(_, graph)| lines(graph, invert.as_deref(), args.depth).iter().any(|line| line.is_repeated))
    {
        ui.say("(*) is drawn above");
    }
    Ok(Exit::Done)
}

fn lines(graph: &Graph, invert: Option<&str>, depth: Option<usize>) -> Vec<TreeLine> {
    let mut shown = BTreeSet::new();
    if let Some(name) = invert {
        return graph.tree(name, Direction::Dependents, depth, &mut shown);
    }
    let tree = |(manifest, packages): (Option<reana_model::Via>, Vec<String>)| {
        let label = manifest
            .map_or_else(|| "(the lock doesn't say who wants these)".to_owned(), |via| via.to_string());
        graph.tree_of(&label, packages, depth, &mut shown)
    };
    graph.roots().into_iter().flat_map(tree).collect()
}

fn text(graph: &Graph, line: &TreeLine) -> String {
    let mut text = line.prefix.clone();
    if !line.is_package {
        return text + &line.name + "\n";
    }
    text.push_str(&shown(graph, &line.name));
    let node = graph.get(&line.name);
    match node.map(|node| node.pins.as_slice()) {
        Some([only]) => {
            text.push_str(&only.marker.as_ref().map(|marker| format!(" ; {marker}")).unwrap_or_default());
        }
        Some([]) => text.push_str(" (not pinned)"),
        _ => {}
    }
    if line.is_repeated {
        text.push_str(" (*)");
    }
    text + "\n"
}

/// A lock's packages with their edges: flat, for scripts to walk. With `invert`, those that lead to the package.
fn lock_json(written: &Written, graph: &Graph, invert: Option<&str>, depth: Option<usize>) -> Value {
    let reached: BTreeSet<String> = lines(graph, invert, depth)
        .into_iter()
        .filter(|line| line.is_package)
        .map(|line| line.name)
        .collect();
    let package = |(name, node): (&str, &GraphNode)| {
        json!({
            "name": name,
            "pins": pins_json(node),
            "manifests": node.manifests.iter().map(ToString::to_string).collect::<Vec<_>>(),
            "dependencies": node.dependencies,
            "dependents": node.dependents,
        })
    };
    let packages = graph.nodes().filter(|(name, _)| reached.contains(*name));
    json!({
        "component": written.name,
        "lock": written.shown,
        "roots": graph.roots().into_iter().map(|(manifest, packages)| json!({
            "manifest": manifest.map(|via| via.to_string()), "packages": packages,
        })).collect::<Vec<_>>(),
        "packages": packages.map(package).collect::<Vec<_>>(),
    })
}

/// A package's pins.
pub(crate) fn pins_json(node: &GraphNode) -> Value {
    let pin = |pin: &reana_lockfile::GraphPin| json!({ "version": pin.version, "extras": pin.extras, "marker": pin.marker, "line": pin.line });
    node.pins.iter().map(pin).collect()
}
