//! What a run says about the locks that it made.

use reana_lockfile::{Change, ChangeKind, Step};
use reana_model::{Grade, Pin, Target};
use reana_resolver::{Why, targets_in_words};
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
        ChangeKind::Extras { added, removed } => {
            let list = |what: &str, extras: &[String]| format!("{what} [{}]", extras.join(","));
            match (&added[..], &removed[..]) {
                (added, []) => format!("{name}: {}", list("also with", added)),
                ([], removed) => format!("{name}: {}", list("no longer with", removed)),
                (added, removed) => {
                    format!("{name}: {}, {}", list("also with", added), list("no longer with", removed))
                }
            }
        }
        ChangeKind::HashesOnly { added, removed: 0 } => {
            format!("{name}: {} added since the lock was made", files(*added))
        }
        ChangeKind::HashesOnly { added: 0, removed } => {
            format!("{name}: {} no longer offered", files(*removed))
        }
        ChangeKind::HashesOnly { added, removed } => {
            format!("{name}: {} added and {} no longer offered", files(*added), files(*removed))
        }
        ChangeKind::Annotation => format!("{name}: other packages require it now (its `via`)"),
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
    format!(
        "{shown}: {pins} for {}; {}",
        targets_in_words(&prepared.request.targets),
        changed(prepared, locked)
    )
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
                matches!(kind, ChangeKind::Marker { .. } | ChangeKind::Extras { .. } | ChangeKind::Annotation)
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

/// Why packages stand where they stand, for people.
pub(crate) fn explanations(prepared: &Prepared, locked: &Locked) -> String {
    let prefix = if prepared.name.is_empty() { String::new() } else { format!("{}: ", prepared.name) };
    locked.why.iter().map(|why| format!("{prefix}{why}\n")).collect()
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
        "explanations": locked.why.iter()
            .flat_map(|why| why.targets.iter().map(|target| why_json(why, target))).collect::<Vec<_>>(),
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
        ChangeKind::Extras { added, removed } => {
            json!({"name": name, "kind": "extras", "added": added, "removed": removed})
        }
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

fn why_json(why: &Why, target: &Target) -> serde_json::Value {
    json!({
        "name": why.name.to_string(),
        "version": why.version.to_string(),
        "target": target.to_string(),
        "required_by": why.wanted_by.iter().map(|reason| json!({
            "by": reason.by.to_string(), "requirement": reason.text,
        })).collect::<Vec<_>>(),
        "newer": why.newer.iter().map(|newer| json!({
            "version": newer.version.to_string(), "held_back_by": newer.by.to_string(),
        })).collect::<Vec<_>>(),
    })
}
