//! `reana-lock refresh-hashes`: adds the hashes of files that were added to locked versions. Pins stay as they are.

use std::path::PathBuf;

use reana_lockfile::with_hashes;
use serde_json::json;

use crate::args::{CompileArgs, Format, RefreshHashesArgs};
use crate::check::examine::{self, Checked, Examined};
use crate::check::finding::{Code, Finding};
use crate::check::report;
use crate::commands::compile;
use crate::doors::env::Env;
use crate::error::Failure;
use crate::exit::Exit;
use crate::fleet;
use crate::journal;
use crate::ui::Ui;

/// A lock with its new text.
struct Refreshed<'c> {
    checked: &'c Checked,
    path: PathBuf,
    text: String,
}

/// Refreshes what the arguments name: all locks or none.
pub(crate) fn run(args: &RefreshHashesArgs, ui: &Ui, env: &Env) -> Result<Exit, Failure> {
    if args.check.format == Format::Github {
        return Err(Failure::input("--format github is for `check`"));
    }
    let compile_args = CompileArgs::from(args.check.clone());
    let plan = fleet::discover(&compile_args.what, &env.cwd).map_err(|error| Failure::from_fleet(&error))?;
    compile::check_usage(&compile_args, &plan)?;
    plan.notes.iter().for_each(|note| note.tell(ui));
    if !args.dry_run {
        compile::mend(&plan, ui)?;
    }
    let examined = examine::examine(&plan, &compile_args, ui, env)?;
    if let Some(exit) = refused(&examined, args.check.format, ui) {
        return exit;
    }
    let mut refreshed = Vec::new();
    for checked in examined.checked.iter().filter(|checked| !checked.fresh.is_empty()) {
        refreshed.push(refresh(checked)?);
    }
    if !args.dry_run {
        let changes: Vec<(PathBuf, Vec<u8>)> =
            refreshed.iter().map(|it| (it.path.clone(), it.text.clone().into_bytes())).collect();
        journal::commit(&changes, &plan.journal_folder()).map_err(|error| Failure::from_journal(&error))?;
    }
    tell(&examined, &refreshed, args, ui);
    Ok(Exit::Done)
}

/// Why nothing may be written, if so: a known hash is of nothing that the index has, a hand was at a lock, or an
/// answer could not be had.
fn refused(examined: &Examined, format: Format, ui: &Ui) -> Option<Result<Exit, Failure>> {
    let stops = |finding: &&Finding| {
        matches!(
            finding.code,
            Code::HashUnknown
                | Code::NotOffered
                | Code::HandEdited
                | Code::Unreadable
                | Code::Missing
                | Code::Unfinished
        )
    };
    let found: Vec<&Finding> = examined.all().filter(stops).collect();
    if !found.is_empty() {
        if format == Format::Json {
            let found: Vec<_> = found.iter().map(|finding| report::finding_json(finding)).collect();
            ui.data(&format!("{:#}\n", json!({ "written": false, "findings": found, "locks": [] })));
        } else {
            found.iter().for_each(|finding| ui.data(&report::text(finding)));
        }
        ui.error("no hash is added: first these are to be understood", &[]);
        return Some(Ok(Exit::Wanting));
    }
    let unprepared = examined.failures.iter().max_by_key(|failure| failure.exit);
    if let Some(failure) = unprepared {
        return Some(Err(Failure {
            exit: failure.exit,
            message: failure.message.clone(),
            hints: failure.hints.clone(),
        }));
    }
    let open = examined.all().find(|finding| finding.code == Code::NotChecked)?;
    if !examined.checked.iter().any(|checked| checked.is_open) {
        ui.note(&open.message);
        return None;
    }
    Some(Err(Failure::no_answer(format!("{}: {}", open.file, open.message)).hint("no lock was changed")))
}

fn refresh(checked: &Checked) -> Result<Refreshed<'_>, Failure> {
    let prepared = &checked.job.prepared;
    let shown = &prepared.lock_shown;
    let cannot = || {
        Failure::input(format!("{shown}: hashes can't be added to this kind of lock"))
            .hint("`reana-lock compile` writes it anew")
    };
    let (Some(path), Some(text), Some(old)) = (&prepared.lock, &prepared.old_text, &prepared.old) else {
        return Err(cannot());
    };
    if reana_lockfile::pylock::is_file_name(shown) {
        return Err(cannot());
    }
    let text = with_hashes(text, old, &checked.fresh);
    let text = text.map_err(|edited| Failure::input(format!("{shown}: {edited}")))?.ok_or_else(cannot)?;
    Ok(Refreshed { checked, path: path.clone(), text })
}

fn tell(examined: &Examined, refreshed: &[Refreshed<'_>], args: &RefreshHashesArgs, ui: &Ui) {
    if args.check.format == Format::Json {
        let locks: Vec<_> = refreshed.iter().map(json_of).collect();
        let is_written = !args.dry_run && !refreshed.is_empty();
        ui.data(&format!("{:#}\n", json!({ "written": is_written, "findings": [], "locks": locks })));
        return;
    }
    for it in refreshed {
        let prepared = &it.checked.job.prepared;
        let count: usize = it.checked.fresh.values().map(std::collections::BTreeSet::len).sum();
        let hashes = if count == 1 { "1 hash".to_owned() } else { format!("{count} hashes") };
        let pins = if it.checked.fresh.len() == 1 {
            "1 pin".to_owned()
        } else {
            format!("{} pins", it.checked.fresh.len())
        };
        if args.dry_run {
            let old = prepared.old_text.as_deref().unwrap_or_default();
            ui.data(&reana_lockfile::unified(old, &it.text, &prepared.lock_shown, &prepared.lock_shown));
        }
        ui.say(&format!("{}: {hashes} added to {pins}", prepared.lock_shown));
    }
    let rest = examined.checked.iter().filter(|checked| checked.fresh.is_empty());
    rest.for_each(|checked| ui.say(&format!("{}: nothing to add", checked.job.prepared.lock_shown)));
    if args.dry_run {
        ui.say("Dry run: nothing is written.");
    }
}

fn json_of(it: &Refreshed<'_>) -> serde_json::Value {
    let prepared = &it.checked.job.prepared;
    let pins = prepared.old.iter().flat_map(|old| &old.pins);
    let added = pins.filter_map(|pin| {
        let hashes = it.checked.fresh.get(&pin.line)?;
        Some(json!({
            "name": pin.name.to_string(),
            "version": pin.version.as_ref().map(ToString::to_string),
            "hashes": hashes.iter().map(|hash| format!("sha256:{hash}")).collect::<Vec<_>>(),
        }))
    });
    json!({ "name": prepared.name, "lock": prepared.lock_shown, "added": added.collect::<Vec<_>>() })
}
