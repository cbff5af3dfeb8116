//! What a bump says: which versions, who holds newer ones back, what changes where, in which order to release.

use std::fmt::Write as _;

use reana_fleet::{Fleet, Held};
use reana_lockfile::{Change, ChangeKind};
use reana_model::Version;
use serde_json::{Value, json};

use super::changes::Changed;
use super::search::Found;
use crate::lock::report::change;

/// One line for each package, with what is in the way of newer versions.
pub(crate) fn found(all: &[Found]) -> String {
    let mut text = String::new();
    for found in all {
        let _ = match &found.version {
            Some(version) => writeln!(text, "{} {version}", found.package),
            None => writeln!(text, "{}: there is nothing newer that all can take", found.package),
        };
        for (versions, held) in by_holder(&found.held) {
            let _ = writeln!(text, "  {versions} is held back by {}: {}", held.repository, lines(held));
        }
    }
    text
}

/// Versions that the same lines hold back, together: `1.2`, `1.2 to 1.5`.
fn by_holder(held: &[Held]) -> Vec<(String, &Held)> {
    let mut runs: Vec<(Vec<&Version>, &Held)> = Vec::new();
    for held in held {
        let same = |(_, known): &&mut (Vec<&Version>, &Held)| {
            known.repository == held.repository && known.lines == held.lines && !held.lines.is_empty()
        };
        match runs.iter_mut().find(same) {
            Some((versions, _)) => versions.push(&held.version),
            None => runs.push((vec![&held.version], held)),
        }
    }
    let shown = |versions: &[&Version]| match versions {
        [newest, .., oldest] => format!("{oldest} to {newest}"),
        [one] => one.to_string(),
        [] => String::new(),
    };
    runs.into_iter().map(|(versions, held)| (shown(&versions), held)).collect()
}

fn lines(held: &Held) -> String {
    if held.lines.is_empty() {
        return held.why.lines().map(str::trim).collect::<Vec<_>>().join(" ");
    }
    let each: Vec<String> =
        held.lines.iter().map(|(origin, text)| format!("{origin} requires {text}")).collect();
    each.join(", ")
}

/// What changes in each repository.
pub(crate) fn changed(all: &[Changed<'_>]) -> String {
    let mut text = String::new();
    for it in all {
        let _ = writeln!(text, "{}:", it.member.name);
        for raised in &it.raised {
            let _ = writeln!(text, "  {}: {} -> {}", raised.origin, raised.before, raised.after);
        }
        let Some(locked) = &it.lock else { continue };
        let told = locked
            .changes
            .iter()
            .filter(|change| !matches!(change.kind, ChangeKind::Annotation | ChangeKind::HashesOnly { .. }));
        for line in told.map(change) {
            let _ = writeln!(text, "  lock: {line}");
        }
        let is_hashes = |change: &&Change| matches!(change.kind, ChangeKind::HashesOnly { .. });
        match locked.changes.iter().filter(is_hashes).count() {
            0 => {}
            1 => text.push_str("  lock: 1 other pin gets other hashes\n"),
            count => {
                let _ = writeln!(text, "  lock: {count} other pins get other hashes");
            }
        }
    }
    text
}

/// In which order what changed is to be released.
pub(crate) fn order(fleet: &Fleet, all: &[Changed<'_>]) -> Vec<Vec<String>> {
    let is_changed = |name: &String| all.iter().any(|it| it.member.name == *name);
    let steps = fleet.release_order().steps;
    let steps = steps.into_iter().map(|step| step.into_iter().filter(is_changed).collect::<Vec<_>>());
    steps.filter(|step| !step.is_empty()).collect()
}

/// All of it, for scripts.
pub(crate) fn json(
    fleet: &Fleet,
    all: &[Found],
    changes: &[Changed<'_>],
    commits: &[(String, String)],
    is_written: bool,
) -> Value {
    let packages = all.iter().map(|found| {
        json!({
            "package": found.package.to_string(),
            "version": found.version.as_ref().map(ToString::to_string),
            "held_back": found.held.iter().map(held_json).collect::<Vec<_>>(),
        })
    });
    let repositories = changes.iter().map(|it| {
        json!({
            "name": it.member.name,
            "files": it.files.iter().map(|file| file.shown.clone()).collect::<Vec<_>>(),
            "raised": it.raised.iter().map(|raised| json!({
                "file": raised.origin.file, "line": raised.origin.line,
                "before": raised.before, "after": raised.after,
            })).collect::<Vec<_>>(),
            "lock_changes": it.lock.as_ref().map(|locked| locked.changes.iter().map(change).collect::<Vec<_>>()),
            "new_in_lock": it.lock.as_ref().map(|locked| {
                let new = locked.changes.iter().filter(|change| matches!(change.kind, ChangeKind::Added { .. }));
                new.map(|change| change.name.clone()).collect::<Vec<_>>()
            }),
            "commit": commits.iter().find(|(names, _)| names.split(", ").any(|name| name == it.member.name)).map(|(_, commit)| commit),
        })
    });
    json!({
        "packages": packages.collect::<Vec<_>>(),
        "repositories": repositories.collect::<Vec<_>>(),
        "release_order": order(fleet, changes),
        "written": is_written,
    })
}

fn held_json(held: &Held) -> Value {
    json!({
        "version": held.version.to_string(),
        "repository": held.repository,
        "lines": held.lines.iter().map(|(origin, text)| json!({
            "file": origin.file, "line": origin.line, "requirement": text,
        })).collect::<Vec<_>>(),
        "why": held.why,
    })
}
