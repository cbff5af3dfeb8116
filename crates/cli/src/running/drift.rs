//! `running --drift`: tags that stand for different content on different nodes.

use std::collections::BTreeMap;

use reana_images::Reference;
use reana_images::running::{
    Cluster, DriftReport, DriftVerdict, Group, Now, Remedy, Sighting, Source, TagDrift, judge, learn_ledger,
};
use serde_json::{Value, json};

use super::pods::harmless;
use super::registries::{self, Answers};
use crate::args::{Format, RunningArgs};
use crate::doors::env::Env;
use crate::error::Failure;
use crate::exit::Exit;
use crate::ui::Ui;

/// So many pods of a node are named in text; JSON has all.
const PODS_SHOWN: usize = 5;

/// Node names, or numbers for them where names are not to be shown.
struct Nodes<'a> {
    numbers: BTreeMap<&'a str, usize>,
    shows_names: bool,
}

impl<'a> Nodes<'a> {
    fn of(cluster: &'a Cluster, shows_names: bool) -> Self {
        let names = cluster.nodes.iter().map(|node| node.name.as_str());
        let names: std::collections::BTreeSet<&str> =
            names.chain(cluster.pods.iter().filter_map(|pod| pod.node.as_deref())).collect();
        Self { numbers: names.into_iter().zip(1..).collect(), shows_names }
    }

    fn name(&self, node: &str) -> String {
        match self.numbers.get(node) {
            Some(number) if !self.shows_names => format!("node {number}"),
            _ => node.to_owned(),
        }
    }
}

/// Compares, and says what was found.
pub(crate) fn run(args: &RunningArgs, ui: &Ui, env: &Env, cluster: &Cluster) -> Result<Exit, Failure> {
    let mut answers =
        if args.offline { Answers::default() } else { registries::ask(args, ui, env, cluster)? };
    learn_ledger(&mut answers.known, &super::trace::ledger(args, env)?);
    let report = judge(cluster, &answers.known, &answers.now);
    let nodes = Nodes::of(cluster, args.nodes);
    match args.format {
        Format::Json => ui.data(&format!("{:#}\n", report_json(&report, &nodes))),
        Format::Text | Format::Github => {
            let told: Vec<&TagDrift> =
                report.tags.iter().filter(|tag| tag.verdict > DriftVerdict::Same).collect();
            let texts: Vec<String> = told.iter().map(|tag| tag_text(tag, &nodes)).collect();
            ui.data(&texts.join("\n"));
        }
    }
    summary(&report, ui);
    Ok(exit(&report))
}

/// Found wanting goes before unknown.
fn exit(report: &DriftReport) -> Exit {
    match report.worst() {
        DriftVerdict::Drift | DriftVerdict::Moved => Exit::Wanting,
        DriftVerdict::Unknown => Exit::NoAnswer,
        DriftVerdict::Same | DriftVerdict::Platforms if report.unanswered().next().is_some() => {
            Exit::NoAnswer
        }
        DriftVerdict::Same | DriftVerdict::Platforms => Exit::Done,
    }
}

fn summary(report: &DriftReport, ui: &Ui) {
    let count = |verdict: DriftVerdict| report.tags.iter().filter(|tag| tag.verdict == verdict).count();
    let mut parts = Vec::new();
    for (verdict, words) in [
        (DriftVerdict::Drift, "different content on nodes"),
        (DriftVerdict::Moved, "moved in the registry"),
        (DriftVerdict::Unknown, "not comparable"),
        (DriftVerdict::Platforms, "one index on several platforms"),
        (DriftVerdict::Same, "the same everywhere"),
    ] {
        let found = count(verdict);
        if found > 0 {
            parts.push(format!("{found} {words}"));
        }
    }
    let tags = report.tags.len();
    let noun = if tags == 1 { "tag" } else { "tags" };
    ui.say(&format!(
        "{tags} {noun}: {}",
        if parts.is_empty() { "nothing to compare".to_owned() } else { parts.join(", ") }
    ));
    for (image, why) in report.unanswered() {
        ui.warn(&format!("{image}: {why}"));
    }
}

fn tag_text(tag: &TagDrift, nodes: &Nodes<'_>) -> String {
    let what = match tag.verdict {
        DriftVerdict::Drift => "stands for different content",
        DriftVerdict::Moved => "stands for something else in the registry",
        DriftVerdict::Unknown => "stands for content that can't be compared",
        DriftVerdict::Platforms => "is one index, on nodes of several platforms",
        DriftVerdict::Same => "is the same everywhere",
    };
    let mut text = format!("{} {what}\n", harmless(&tag.image.to_string()));
    for group in &tag.groups {
        text.push_str(&format!("  {}{}\n", digests_text(group), currency(group.is_current)));
        for line in places(group, nodes) {
            text.push_str(&format!("    {}\n", harmless(&line)));
        }
    }
    match &tag.now {
        Now::Digest(digest) if !tag.groups.iter().any(|group| group.is_current == Some(true)) => {
            text.push_str(&format!("  the registry has {}\n", digest.short()));
        }
        Now::Absent => text.push_str("  the registry doesn't have it\n"),
        Now::NotAsked | Now::Digest(_) | Now::NoAnswer(_) => {}
    }
    for remedy in &tag.remedies {
        text.push_str(&format!("  {}\n", harmless(&remedy_text(remedy, nodes))));
    }
    text
}

fn currency(is_current: Option<bool>) -> &'static str {
    match is_current {
        Some(true) => " (what the registry has)",
        Some(false) => " (stale)",
        None => "",
    }
}

fn digests_text(group: &Group) -> String {
    let mut shown: Vec<String> = group.digests().iter().map(|digest| digest.short().to_owned()).collect();
    shown.extend(group.configs().iter().map(|config| format!("config {}", config.short())));
    if shown.is_empty() { "no digest: built there".to_owned() } else { shown.join(" = ") }
}

/// Where a content is, a line for each node: whether it is there under the tag, and the pods that run it.
fn places(group: &Group, nodes: &Nodes<'_>) -> Vec<String> {
    let mut by_node: BTreeMap<Option<&str>, Vec<&Sighting>> = BTreeMap::new();
    for sighting in &group.sightings {
        by_node.entry(sighting.node.as_deref()).or_default().push(sighting);
    }
    by_node.into_iter().map(|(node, seen)| place(node, &seen, nodes)).collect()
}

fn place(node: Option<&str>, seen: &[&Sighting], nodes: &Nodes<'_>) -> String {
    let mut line = node.map_or_else(|| "no node".to_owned(), |node| nodes.name(node));
    let platform = seen.first().and_then(|sighting| sighting.content.platform.as_ref());
    line.push_str(&platform.map(|platform| format!(" ({platform})")).unwrap_or_default());
    let mut pods: Vec<String> = Vec::new();
    for sighting in seen {
        match &sighting.source {
            Source::NodeImages => {}
            Source::Pod { namespace, name, .. } => {
                let pod = format!("{namespace}/{name}");
                if pods.last() != Some(&pod) {
                    pods.push(pod);
                }
            }
        }
    }
    line.push_str(match (seen.iter().any(|it| it.source == Source::NodeImages), pods.is_empty()) {
        (true, true) => ": has it",
        (true, false) => ": has it, and runs it in ",
        (false, _) => ": runs it in ",
    });
    let more = pods.len().saturating_sub(PODS_SHOWN);
    pods.truncate(PODS_SHOWN);
    line.push_str(&pods.join(", "));
    if more > 0 {
        line.push_str(&format!(" and {more} more"));
    }
    line
}

fn remedy_text(remedy: &Remedy, nodes: &Nodes<'_>) -> String {
    match remedy {
        Remedy::Remove { node, command: Some(command) } => format!("on {}: {command}", nodes.name(node)),
        Remedy::Remove { node, command: None } => {
            format!("on {}: remove the image (its runtime is not known)", nodes.name(node))
        }
        Remedy::Restart { namespace, name } => {
            format!("kubectl --namespace={namespace} delete pod {name} (its node has other content by now)")
        }
    }
}

fn report_json(report: &DriftReport, nodes: &Nodes<'_>) -> Value {
    json!({
        "verdict": report.worst().word(),
        "tags": report.tags.iter().map(|tag| tag_json(tag, nodes)).collect::<Vec<_>>(),
    })
}

fn tag_json(tag: &TagDrift, nodes: &Nodes<'_>) -> Value {
    let (now, digest, why) = match &tag.now {
        Now::NotAsked => ("not asked", None, None),
        Now::Digest(digest) => ("digest", Some(digest.to_string()), None),
        Now::Absent => ("absent", None, None),
        Now::NoAnswer(why) => ("no answer", None, Some(why)),
    };
    let group = |group: &Group| {
        json!({
            "digests": group.digests().iter().map(ToString::to_string).collect::<Vec<_>>(),
            "configs": group.configs().iter().map(ToString::to_string).collect::<Vec<_>>(),
            "current": group.is_current,
            "seen": group.sightings.iter().map(|sighting| sighting_json(sighting, nodes)).collect::<Vec<_>>(),
        })
    };
    let remedy = |remedy: &Remedy| match remedy {
        Remedy::Remove { node, command } => json!({ "node": nodes.name(node), "command": command }),
        Remedy::Restart { namespace, name } => json!({ "namespace": namespace, "restart": name }),
    };
    json!({
        "image": full_name(&tag.image),
        "verdict": tag.verdict.word(),
        "registry": { "answer": now, "digest": digest, "why": why },
        "contents": tag.groups.iter().map(group).collect::<Vec<_>>(),
        "remedies": tag.remedies.iter().map(remedy).collect::<Vec<_>>(),
    })
}

/// A reference with its registry, for scripts.
fn full_name(image: &Reference) -> String {
    let tag = image.tag.as_ref().map(|tag| format!(":{tag}")).unwrap_or_default();
    format!("{}/{}{tag}", image.registry, image.repository)
}

fn sighting_json(sighting: &Sighting, nodes: &Nodes<'_>) -> Value {
    let pod = match &sighting.source {
        Source::NodeImages => None,
        Source::Pod { namespace, name, container } => {
            Some(json!({ "namespace": namespace, "pod": name, "container": container }))
        }
    };
    json!({
        "node": sighting.node.as_deref().map(|node| nodes.name(node)),
        "platform": sighting.content.platform.as_ref().map(ToString::to_string),
        "pod": pod,
    })
}
