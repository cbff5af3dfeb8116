//! What a run says about the locks that it made.

use reana_lockfile::{Change, ChangeKind, Step};
use reana_model::{Grade, Pin, Target};
use reana_resolver::{Holder, Why};
use serde_json::json;

use super::build_requirements::{self, BuildLock};
use super::prepare::Prepared;
use super::solve::Locked;

/// A change of one package, as a line.
pub(crate) fn change(change: &Change) -> String {
    let name = &change.name;
    match &change.kind {
        ChangeKind::Added { version } => format!("{name} {version} is new"),
        ChangeKind::Removed { version } => format!("{name} {version} is no longer required"),
        ChangeKind::Moved { from, to, step } => format!("{name} {from} -> {to}{}", step_word(*step)),
        ChangeKind::Marker { from, to } => format!("{name}: marker `{from}` -> `{to}`"),
        ChangeKind::Extras => format!("{name}: other extras"),
        ChangeKind::HashesOnly { added, removed: 0 } => {
            format!("{name}: {} added since the lock was made", files(*added))
        }
        ChangeKind::HashesOnly { added: 0, removed } => {
            format!("{name}: {} no longer offered", files(*removed))
        }
        ChangeKind::HashesOnly { added, removed } => {
            format!("{name}: {} added and {} no longer offered", files(*added), files(*removed))
        }
        ChangeKind::Annotation => format!("{name}: required by others"),
    }
}

fn step_word(step: Step) -> &'static str {
    match step {
        Step::Major => " (major)",
        Step::Minor => " (minor)",
        Step::Patch => " (patch)",
        Step::Other => "",
    }
}

fn files(count: usize) -> String {
    if count == 1 { "1 file".to_owned() } else { format!("{count} files") }
}

/// One line for one lock: what it holds and how it changed.
pub(crate) fn summary(prepared: &Prepared, locked: &Locked) -> String {
    let count = locked.pins.len();
    let pins = if count == 1 { "1 pin".to_owned() } else { format!("{count} pins") };
    let shown = if prepared.lock.is_none() { "stdout" } else { &prepared.lock_shown };
    format!("{shown}: {pins} for {}; {}", targets(&prepared.request.targets), changed(prepared, locked))
}

/// One line for a lock of build requirements.
pub(crate) fn build_summary(locked: &Locked, build: &BuildLock) -> String {
    let counted = |count: usize, what: &str| {
        if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
    };
    let mut built = counted(locked.sdists.len(), "sdist");
    let more = build.built.saturating_sub(locked.sdists.len());
    if more > 0 {
        built.push_str(&format!(", and {more} of what these need"));
    }
    let changed = match &build.file.old_text {
        None => "new",
        Some(old) if *old == build.text => "unchanged",
        Some(_) => "changed",
    };
    format!("{}: {} to build {built}; {changed}", build.file.shown, counted(build.pins.len(), "pin"))
}

fn build_json(build: &BuildLock) -> serde_json::Value {
    json!({
        "file": build.file.shown,
        "changed": build.file.old_text.as_deref() != Some(build.text.as_str()),
        "stale": build_requirements::stale(build),
        "changes": build.changes.iter().map(change_json).collect::<Vec<_>>(),
        "pins": build.pins.iter().map(|pin| json!({
            "name": pin.name.to_string(),
            "version": pin.version.to_string(),
            "marker": reana_lockfile::marker_text(&pin.marker),
            "hashes": pin.hashes.iter().map(|hash| format!("sha256:{hash}")).collect::<Vec<_>>(),
            "via": pin.via.iter().map(ToString::to_string).collect::<Vec<_>>(),
        })).collect::<Vec<_>>(),
        "notes": build.notes,
    })
}

/// Targets in words: `Python 3.12 on linux/amd64, linux/arm64`.
fn targets(targets: &[Target]) -> String {
    let mut by_python: Vec<(String, Vec<String>)> = Vec::new();
    for target in targets {
        let (python, platform) = (target.python.short(), target.platform.to_string());
        match by_python.iter_mut().find(|(known, _)| *known == python) {
            Some((_, platforms)) => platforms.push(platform),
            None => by_python.push((python, vec![platform])),
        }
    }
    let each =
        by_python.iter().map(|(python, platforms)| format!("Python {python} on {}", platforms.join(", ")));
    each.collect::<Vec<_>>().join("; ")
}

fn changed(prepared: &Prepared, locked: &Locked) -> String {
    if prepared.old_text.is_none() {
        return "new".to_owned();
    }
    if prepared.old_text.as_deref() == Some(locked.text.as_str()) {
        return "unchanged".to_owned();
    }
    let count = |is: fn(&ChangeKind) -> bool| locked.changes.iter().filter(|change| is(&change.kind)).count();
    let counted = [
        (count(|kind| matches!(kind, ChangeKind::Added { .. })), "added"),
        (count(|kind| matches!(kind, ChangeKind::Moved { .. })), "moved"),
        (count(|kind| matches!(kind, ChangeKind::Removed { .. })), "removed"),
        (count(|kind| matches!(kind, ChangeKind::HashesOnly { .. })), "with other hashes"),
        (
            count(|kind| {
                matches!(kind, ChangeKind::Marker { .. } | ChangeKind::Extras | ChangeKind::Annotation)
            }),
            "otherwise",
        ),
    ];
    let parts: Vec<String> = counted
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| format!("{count} {what}"))
        .collect();
    if parts.is_empty() { "header or layout changed".to_owned() } else { parts.join(", ") }
}

/// Why packages stand where they stand, for people. Targets that agree are told together.
pub(crate) fn explanations(prepared: &Prepared, locked: &Locked) -> String {
    let mut told: Vec<(Why, Vec<Target>)> = Vec::new();
    for why in &locked.why {
        let same = |(known, _): &&mut (Why, Vec<Target>)| Why { target: why.target, ..known.clone() } == *why;
        match told.iter_mut().find(same) {
            Some((_, targets)) => targets.push(why.target),
            None => told.push((why.clone(), vec![why.target])),
        }
    }
    told.iter().map(|(why, targets)| explanation(prepared, why, targets)).collect()
}

fn explanation(prepared: &Prepared, why: &Why, on: &[Target]) -> String {
    let prefix = if prepared.name.is_empty() { String::new() } else { format!("{}: ", prepared.name) };
    let mut lines = vec![format!("{prefix}{} {}, for {}", why.name, why.version, targets(on))];
    lines.push("  required by:".to_owned());
    lines.extend(why.wanted_by.iter().map(|reason| format!("    {}: {}", reason.by, reason.text)));
    if why.newer.is_empty() {
        lines.push("  it is the newest version".to_owned());
    } else {
        lines.push("  newer versions, and what holds them back:".to_owned());
    }
    for run in why.newer.chunk_by(|a, b| a.by == b.by) {
        let versions = match run {
            [one] => one.version.to_string(),
            [newest, .., oldest] => format!("{} to {}", oldest.version, newest.version),
            [] => continue,
        };
        lines.extend(run.first().map(|newer| format!("    {versions}: {}", holder(&newer.by))));
    }
    lines.join("\n") + "\n"
}

fn holder(holder: &Holder) -> String {
    match holder {
        Holder::Requirements(reasons) => {
            let each: Vec<String> =
                reasons.iter().map(|reason| format!("{} requires {}", reason.by, reason.text)).collect();
            each.join("; ")
        }
        Holder::NoUsableFile(lacks) => format!("no usable file: {lacks}"),
        Holder::Yanked(reason) if reason.is_empty() => "yanked".to_owned(),
        Holder::Yanked(reason) => format!("yanked: {reason}"),
        Holder::Prerelease => "a pre-release, which nothing asks for".to_owned(),
        Holder::Metadata(reason) => reason.clone(),
        Holder::Kept => "the old lock's pin is kept (`-P` moves it)".to_owned(),
        Holder::OwnRequirement(reason, chosen) => {
            format!("{} requires {}, which excludes {chosen}", reason.by, reason.text)
        }
        Holder::Others => "what was chosen before leaves it no room".to_owned(),
    }
}

/// One lock as JSON.
pub(crate) fn json(prepared: &Prepared, locked: &Locked, stale: &[String]) -> serde_json::Value {
    json!({
        "name": prepared.name,
        "lock": prepared.lock_shown,
        "targets": prepared.request.targets.iter().map(|target| json!({
            "python": target.python.to_string(), "platform": target.platform.to_string(),
        })).collect::<Vec<_>>(),
        "changed": prepared.old_text.as_deref() != Some(locked.text.as_str()),
        "stale": stale,
        "changes": locked.changes.iter().map(change_json).collect::<Vec<_>>(),
        "pins": locked.pins.iter().zip(&locked.merged).map(|(pin, merged)| pin_json(pin, merged.grade)).collect::<Vec<_>>(),
        "sdists": locked.sdists.iter().map(|sdist| json!({
            "name": sdist.name.to_string(),
            "version": sdist.version.to_string(),
            "file": sdist.file(),
            "targets": sdist.targets.iter().map(ToString::to_string).collect::<Vec<_>>(),
        })).collect::<Vec<_>>(),
        "build_requirements": locked.build.as_ref().map(build_json),
        "explanations": locked.why.iter().map(why_json).collect::<Vec<_>>(),
        "notes": locked.notes,
        "warnings": locked.warnings,
    })
}

/// A change of one package as JSON.
pub(crate) fn change_json(change: &Change) -> serde_json::Value {
    let name = &change.name;
    match &change.kind {
        ChangeKind::Added { version } => json!({"name": name, "kind": "added", "version": version}),
        ChangeKind::Removed { version } => json!({"name": name, "kind": "removed", "version": version}),
        ChangeKind::Moved { from, to, step } => {
            let step = match step {
                Step::Major => "major",
                Step::Minor => "minor",
                Step::Patch => "patch",
                Step::Other => "other",
            };
            json!({"name": name, "kind": "moved", "from": from, "to": to, "step": step})
        }
        ChangeKind::Marker { from, to } => json!({"name": name, "kind": "marker", "from": from, "to": to}),
        ChangeKind::Extras => json!({"name": name, "kind": "extras"}),
        ChangeKind::HashesOnly { added, removed } => {
            json!({"name": name, "kind": "hashes", "added": added, "removed": removed})
        }
        ChangeKind::Annotation => json!({"name": name, "kind": "annotation"}),
    }
}

fn pin_json(pin: &Pin, grade: Grade) -> serde_json::Value {
    json!({
        "name": pin.name.to_string(),
        "version": pin.version.to_string(),
        "extras": pin.extras.iter().map(ToString::to_string).collect::<Vec<_>>(),
        "marker": reana_lockfile::marker_text(&pin.marker),
        "hashes": pin.hashes.iter().map(|hash| format!("sha256:{hash}")).collect::<Vec<_>>(),
        "grade": grade_word(grade),
        "via": pin.via.iter().map(ToString::to_string).collect::<Vec<_>>(),
    })
}

/// How a pin's requirements are known, in a word for scripts.
fn grade_word(grade: Grade) -> &'static str {
    match grade {
        Grade::Wheel => "wheel",
        Grade::WheelUnchecked => "wheel-unchecked",
        Grade::Static => "static",
        Grade::Pyproject => "pyproject",
        Grade::Evaluated => "evaluated",
        Grade::EvaluatedDisagrees => "evaluated-disagrees",
        Grade::EggInfo => "egg-info",
        Grade::Built => "built",
    }
}

/// The pins whose requirements were not read from files that a hash covers, for those who asked for more.
pub(crate) fn grades(locked: &Locked) -> String {
    let lines: Vec<String> = locked
        .merged
        .iter()
        .filter(|pin| pin.grade != Grade::Wheel)
        .map(|pin| format!("  {} {}: {}", pin.name, pin.version, grade_word(pin.grade)))
        .collect();
    if lines.is_empty() {
        "All requirements were read from wheels.".to_owned()
    } else {
        format!("Requirements read otherwise than from checked wheels:\n{}", lines.join("\n"))
    }
}

fn why_json(why: &Why) -> serde_json::Value {
    json!({
        "name": why.name.to_string(),
        "version": why.version.to_string(),
        "target": why.target.to_string(),
        "required_by": why.wanted_by.iter().map(|reason| json!({
            "by": reason.by.to_string(), "requirement": reason.text,
        })).collect::<Vec<_>>(),
        "newer": why.newer.iter().map(|newer| json!({
            "version": newer.version.to_string(), "held_back_by": holder(&newer.by),
        })).collect::<Vec<_>>(),
    })
}
