//! `images lint`: references that move.

use reana_images::references::{Found, Level, Moves, Policy, moves};
use serde_json::{Value, json};

use super::{File, read, tell_skipped};
use crate::args::{Format, ReferencesArgs};
use crate::doors::env::Env;
use crate::error::Failure;
use crate::exit::Exit;
use crate::ui::Ui;

/// One reference that moves.
struct Finding<'a> {
    file: &'a str,
    found: &'a Found,
    why: Moves,
}

/// Looks at the files, and says which references move.
pub(crate) fn run(args: &ReferencesArgs, ui: &Ui, env: &Env) -> Result<Exit, Failure> {
    let files: Vec<File> = args.files.iter().map(|name| read(name, env)).collect::<Result<_, _>>()?;
    let findings: Vec<Finding<'_>> = files.iter().flat_map(findings).collect();
    files.iter().for_each(|file| tell_skipped(file, ui));
    match args.format {
        Format::Json => ui.data(&format!("{:#}\n", report(&files, &findings))),
        Format::Text => ui.data(&findings.iter().map(text).collect::<String>()),
        Format::Github => ui.data(&findings.iter().map(annotation).collect::<String>()),
    }
    let looked_at: usize = files.iter().map(|file| file.references.found.len()).sum();
    let noun = if looked_at == 1 { "reference" } else { "references" };
    let moving = findings.len();
    ui.say(&format!(
        "{looked_at} {noun}, {}",
        if moving == 0 { "none moves".to_owned() } else { format!("{moving} of them can move") }
    ));
    Ok(if findings.is_empty() { Exit::Done } else { Exit::Wanting })
}

fn findings(file: &File) -> impl Iterator<Item = Finding<'_>> {
    let found = file.references.found.iter();
    found.filter_map(|found| Some(Finding { file: &file.name, found, why: moves(&found.image)? }))
}

impl Finding<'_> {
    fn level(&self) -> &'static str {
        match self.found.policy.level() {
            Level::Error => "error",
            Level::Warning => "warning",
        }
    }

    fn message(&self) -> String {
        let image = self.found.form.text();
        let why = match &self.why {
            Moves::NoTag => "has no tag, so that `latest` is meant, which moves".to_owned(),
            Moves::Word(tag) => format!("has the tag `{tag}`, a word and no version, which moves"),
        };
        let then = match (self.found.policy, &self.why) {
            (Policy::Keeps, _) => "; nodes that have it keep what they have (imagePullPolicy)",
            (Policy::Unsaid, Moves::Word(tag)) if tag != "latest" => {
                "; nodes that have it keep what they have (no imagePullPolicy is IfNotPresent)"
            }
            (Policy::Unsaid, _) => "; each node gets what it is when it pulls",
            (Policy::Always, _) => "; each start gets what it is by then",
            (Policy::Build, _) => "; each build gets what it is by then",
        };
        format!("{image} {why}{then}")
    }
}

fn text(finding: &Finding<'_>) -> String {
    let place = finding.found.form.place();
    let (file, level, path) = (finding.file, finding.level(), &finding.found.path);
    let line = format!("{file}:{}:{}: {level}: {path}: {}", place.line, place.column, finding.message());
    crate::running::pods::harmless(&line) + "\n"
}

/// As GitHub's workflow commands have it: what parts them is written otherwise.
fn annotation(finding: &Finding<'_>) -> String {
    let data = |text: &str| text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A");
    let property = |text: &str| data(text).replace(':', "%3A").replace(',', "%2C");
    let place = finding.found.form.place();
    format!(
        "::{} file={},line={},col={}::{}\n",
        finding.level(),
        property(finding.file),
        place.line,
        place.column,
        data(&finding.message())
    )
}

fn report(files: &[File], findings: &[Finding<'_>]) -> Value {
    let finding = |finding: &Finding<'_>| {
        let place = finding.found.form.place();
        json!({
            "file": finding.file,
            "line": place.line,
            "column": place.column,
            "path": finding.found.path,
            "level": finding.level(),
            "image": finding.found.form.text(),
            "rule": match finding.why { Moves::NoTag => "no-tag", Moves::Word(_) => "word" },
            "pull_policy": policy(finding.found.policy),
            "message": finding.message(),
        })
    };
    let skipped = files.iter().flat_map(|file| {
        file.references.skipped.iter().map(|skipped| {
            json!({ "file": file.name, "line": skipped.line, "column": skipped.column, "path": skipped.path, "text": skipped.text })
        })
    });
    json!({
        "references": files.iter().map(|file| file.references.found.len()).sum::<usize>(),
        "findings": findings.iter().map(finding).collect::<Vec<_>>(),
        "skipped": skipped.collect::<Vec<_>>(),
    })
}

fn policy(policy: Policy) -> Option<&'static str> {
    match policy {
        Policy::Always => Some("Always"),
        Policy::Keeps => Some("IfNotPresent"),
        Policy::Unsaid | Policy::Build => None,
    }
}
