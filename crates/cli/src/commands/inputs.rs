//! `reana-lock inputs`: everything that goes into an image's build, and one digest over it.

use reana_images::{Digest, Quoted, Reference, SCHEME};
use serde_json::{Value, json};

use crate::args::{Format, InputsArgs};
use crate::config::Config;
use crate::doors::env::Env;
use crate::error::Failure;
use crate::exit::Exit;
use crate::fleet::images;
use crate::inputs::{self, Gathered, Lookup, PackagesFrom, Question};
use crate::registry::{self, Clients};
use crate::ui::Ui;

/// More names than this are told by their number.
const MOST_NAMED: usize = 5;

/// Prints the inputs of what the arguments name.
pub(crate) fn run(args: &InputsArgs, ui: &Ui, env: &Env) -> Result<Exit, Failure> {
    if args.format == Format::Github {
        return Err(Failure::input("--format github is for `compile --check`"));
    }
    let (images, notes) =
        images::images(&args.what, &env.cwd).map_err(|error| Failure::from_fleet(&error))?;
    notes.iter().for_each(|note| ui.detail(&note.to_string()));
    let cache = registry::cache_folder(args.index.no_cache, args.index.cache_dir.as_deref(), env);
    let clients = Clients::new(&args.registry, cache, env);
    let asked = |config: &Config, image: &Reference| clients.base_digest(config, image);
    let lookup: &Lookup<'_> = if args.index.offline { &inputs::unasked } else { &asked };
    let question = Question { args: &args.build, index: &args.index, lookup };
    let all = inputs::inputs_of(&images, &question, env, ui)?;
    let names: Vec<&str> = images.iter().map(|image| image.member.name.as_str()).collect();
    let mut exit = Exit::Done;
    let mut values = Vec::new();
    for (name, result) in names.into_iter().zip(&all) {
        let digest = match result {
            Ok(gathered) => {
                tell(gathered, ui);
                gathered.digest()
            }
            Err(failure) => Err(failure.clone()),
        };
        match args.format {
            Format::Json => values.push(as_json(name, result, &digest)),
            Format::Text | Format::Github => show(name, result, &digest, ui),
        }
        if let Err(failure) = digest {
            exit = exit.max(failure.exit);
            ui.error(&failure.message, &failure.hints);
        }
    }
    if args.format == Format::Json {
        ui.data(&format!("{:#}\n", json!({ "scheme": SCHEME, "components": values })));
    }
    Ok(exit)
}

/// What the list alone doesn't show.
fn tell(gathered: &Gathered, ui: &Ui) {
    for place in &gathered.unpinned {
        ui.warn(&format!("{}:{}: {}", gathered.dockerfile, place.line, place.what));
    }
    let name = &gathered.name;
    gathered.notes.iter().for_each(|note| ui.warn(&format!("{name}: {note}")));
    for (what, paths) in [("git ignores", &gathered.ignored), ("git does not track", &gathered.untracked)] {
        if !paths.is_empty() {
            ui.note(&format!("{name}: {} counted that {what}: {}", counted(paths.len()), named(paths)));
        }
    }
    if !gathered.modules.is_empty() {
        ui.note(&format!(
            "{name}: built with local packages (modules/: {}): no image for a release",
            gathered.modules.join(", ")
        ));
    }
}

fn counted(count: usize) -> String {
    if count == 1 { "1 file is".to_owned() } else { format!("{count} files are") }
}

fn named(paths: &[Vec<u8>]) -> String {
    let shown: Vec<String> = paths.iter().take(MOST_NAMED).map(|path| Quoted(path).to_string()).collect();
    let more = if paths.len() > MOST_NAMED { ", ..." } else { "" };
    format!("{}{more}", shown.join(", "))
}

fn show(name: &str, result: &Result<Gathered, Failure>, digest: &Result<Digest, Failure>, ui: &Ui) {
    let digest = digest.as_ref().map_or("unknown", Digest::as_str);
    let mut text = format!("{name} {digest}\n");
    for line in result.iter().flat_map(|gathered| gathered.inputs.lines()) {
        text.push_str(&format!("  {line}\n"));
    }
    ui.data(&text);
}

fn as_json(name: &str, result: &Result<Gathered, Failure>, digest: &Result<Digest, Failure>) -> Value {
    let error = digest.as_ref().err().map(
        |failure| json!({ "message": failure.message, "hints": failure.hints, "exit": failure.exit as u8 }),
    );
    let Ok(gathered) = result else { return json!({ "component": name, "digest": null, "error": error }) };
    let paths = |paths: &[Vec<u8>]| paths.iter().map(|path| Quoted(path).to_string()).collect::<Vec<_>>();
    let bases = gathered.bases.iter().map(|base| {
        json!({ "image": base.written, "line": base.line, "digest": base.digest.as_ref().ok().map(Digest::as_str) })
    });
    let unpinned = gathered.unpinned.iter().map(|place| json!({ "line": place.line, "what": place.what }));
    json!({
        "component": name,
        "digest": digest.as_ref().ok().map(Digest::as_str),
        "lines": gathered.inputs.lines(),
        "bases": bases.collect::<Vec<_>>(),
        "packages_from": match gathered.packages_from {
            PackagesFrom::Nothing => None,
            PackagesFrom::Lock => Some("lock"),
            PackagesFrom::Resolve => Some("resolve"),
        },
        "packages": gathered.inputs.packages.iter().map(|package| &package.pin).collect::<Vec<_>>(),
        "modules": gathered.modules,
        "ignored": paths(&gathered.ignored),
        "untracked": paths(&gathered.untracked),
        "unpinned": unpinned.collect::<Vec<_>>(),
        "notes": gathered.notes,
        "error": error,
    })
}
