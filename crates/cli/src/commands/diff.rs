//! `reana-lock diff`: what changed from one lock to another, or from the locks of one fleet to those of another.

use std::collections::BTreeMap;

use reana_lockfile::{Change, ChangeKind, Lock, Step};
use serde_json::{Value, json};

use crate::args::{DiffArgs, Format};
use crate::doors::env::Env;
use crate::error::Failure;
use crate::exit::Exit;
use crate::lock::report;
use crate::ui::Ui;
use crate::written::{self, Written};

/// Two locks of one component; one of them may be missing.
struct Pair {
    name: String,
    old: Option<Written>,
    new: Option<Written>,
    changes: Vec<Change>,
}

/// Compares the locks that the arguments name.
pub(crate) fn run(args: &DiffArgs, ui: &Ui, env: &Env) -> Result<Exit, Failure> {
    if args.format == Format::Github {
        return Err(Failure::input("--format github is for `compile --check`"));
    }
    let pairs = pair(written::find(&args.old, env)?, written::find(&args.new, env)?);
    for written in pairs.iter().flat_map(|pair| pair.old.iter().chain(&pair.new)) {
        for problem in &written.lock.problems {
            ui.warn(&format!("{problem}; that line is not compared"));
        }
    }
    if args.format == Format::Json {
        let each: Vec<Value> = pairs.iter().map(Pair::json).collect();
        ui.data(&format!("{:#}\n", json!({ "locks": each })));
    } else {
        pairs.iter().for_each(|pair| ui.data(&pair.text()));
    }
    let is_different = pairs.iter().any(Pair::is_different);
    Ok(if args.exit_code && is_different { Exit::Wanting } else { Exit::Done })
}

/// One lock each is a pair whatever it is called; several are paired by component.
fn pair(mut old: Vec<Written>, mut new: Vec<Written>) -> Vec<Pair> {
    let mut by_name: BTreeMap<String, (Option<Written>, Option<Written>)> = BTreeMap::new();
    if let ([_], [only]) = (&old[..], &new[..]) {
        by_name.insert(only.name.clone(), (old.pop(), new.pop()));
    }
    for written in old {
        let name = written.name.clone();
        by_name.entry(name).or_default().0 = Some(written);
    }
    for written in new {
        let name = written.name.clone();
        by_name.entry(name).or_default().1 = Some(written);
    }
    let nothing = reana_lockfile::parse("", "");
    let lock = |written: &Option<Written>| written.as_ref().map_or(nothing.clone(), |one| one.lock.clone());
    by_name
        .into_iter()
        .map(|(name, (old, new))| {
            let (before, after): (Lock, Lock) = (lock(&old), lock(&new));
            let mut changes = reana_lockfile::diff(&before, &after);
            if old.as_ref().map(written::is_pylock) != new.as_ref().map(written::is_pylock) {
                // the one form has no place for what the other one says
                changes.retain(|change| {
                    !matches!(change.kind, ChangeKind::Annotation | ChangeKind::Extras { .. })
                });
            }
            Pair { name, changes, old, new }
        })
        .collect()
}

impl Pair {
    /// A lock that is on one side alone is a difference, even if it is empty.
    fn is_different(&self) -> bool {
        !self.changes.is_empty() || self.old.is_none() || self.new.is_none()
    }

    fn text(&self) -> String {
        let what = match (&self.old, &self.new) {
            (Some(old), Some(new)) => format!("{} -> {}", old.shown, new.shown),
            (Some(old), None) => format!("{} is gone", old.shown),
            (None, Some(new)) => format!("{} is new", new.shown),
            (None, None) => self.name.clone(),
        };
        let mut text = format!("{what}: {}\n", summary(&self.changes));
        for change in &self.changes {
            text.push_str(&format!("  {}\n", report::change(change)));
        }
        text
    }

    fn json(&self) -> Value {
        json!({
            "component": self.name,
            "old": self.old.as_ref().map(|written| &written.shown),
            "new": self.new.as_ref().map(|written| &written.shown),
            "different": self.is_different(),
            "changes": self.changes.iter().map(report::change_json).collect::<Vec<_>>(),
        })
    }
}

/// How many packages changed in which way.
fn summary(changes: &[Change]) -> String {
    let count = |is: &dyn Fn(&ChangeKind) -> bool| changes.iter().filter(|change| is(&change.kind)).count();
    let moved =
        |wanted: Step| count(&|kind| matches!(kind, ChangeKind::Moved { step, .. } if *step == wanted));
    let counted = [
        (count(&|kind| matches!(kind, ChangeKind::Added { .. })), "added"),
        (count(&|kind| matches!(kind, ChangeKind::Removed { .. })), "removed"),
        (moved(Step::Major), "moved (major)"),
        (moved(Step::Minor), "moved (minor)"),
        (moved(Step::Patch), "moved (patch)"),
        (moved(Step::Other), "moved"),
        (count(&|kind| matches!(kind, ChangeKind::HashesOnly { .. })), "with other hashes alone"),
        (count(&|kind| matches!(kind, ChangeKind::Marker { .. })), "with another marker"),
        (count(&|kind| matches!(kind, ChangeKind::Extras { .. })), "with other extras"),
        (count(&|kind| matches!(kind, ChangeKind::Annotation)), "required by others"),
    ];
    let parts: Vec<String> = counted
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| format!("{count} {what}"))
        .collect();
    if parts.is_empty() { "the same packages".to_owned() } else { parts.join(", ") }
}
