//! `reana-lock labels`: what an image says of its own build, as arguments for the build.

use reana_images::Tag;
use serde_json::{Map, Value, json};

use crate::args::{Format, LabelsArgs};
use crate::doors::env::Env;
use crate::error::Failure;
use crate::exit::Exit;
use crate::guard::Candidates;
use crate::ui::Ui;

/// Prints the labels of what the arguments name.
pub(crate) fn run(args: &LabelsArgs, ui: &Ui, env: &Env) -> Result<Exit, Failure> {
    let format = args.image.inputs.format;
    if format == Format::Github {
        return Err(Failure::input("--format github is for checks"));
    }
    let candidates = Candidates::find(&args.image, env, ui)?;
    if candidates.all.len() > 1 && format == Format::Text {
        let names: Vec<&str> = candidates.all.iter().map(crate::guard::Candidate::name).collect();
        return Err(Failure::input(format!(
            "labels are for one build, and there are {}: {}",
            names.len(),
            names.join(", ")
        ))
        .hint("name one, or take `--format json`"));
    }
    let mut exit = Exit::Done;
    let mut values = Vec::new();
    for candidate in &candidates.all {
        match &candidate.outcome {
            Ok(built) => {
                let version = Tag::as_str(&built.tag);
                let labels = built.record.labels(version, candidate.source().as_deref());
                match format {
                    // Without quotes: no value has a space in it, and so `docker build $(reana-lock labels)` works.
                    Format::Text => labels.iter().for_each(|(name, value)| {
                        ui.data(&format!("--label={name}={value}\n"));
                    }),
                    Format::Json | Format::Github => {
                        let labels =
                            labels.into_iter().map(|(name, value)| (name.to_owned(), Value::from(value)));
                        let labels: Map<String, Value> = labels.collect();
                        values.push(json!({
                            "component": candidate.name(),
                            "image": built.reference.to_string(),
                            "labels": labels,
                        }));
                    }
                }
            }
            Err(failure) => {
                exit = exit.max(failure.exit);
                ui.error(&format!("{}: {}", candidate.name(), failure.message), &failure.hints);
            }
        }
    }
    if format == Format::Json {
        ui.data(&format!("{:#}\n", json!({ "images": values })));
    }
    Ok(exit)
}
