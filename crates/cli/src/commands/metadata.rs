//! `reana-lock metadata`: shows what a manifest declares, read without running it.

use std::path::Path;

use reana_manifest::Declared;
use reana_model::{Platform, PythonVersion, Target};
use serde_json::{Map, Value, json};

use crate::args::{Format, MetadataArgs};
use crate::config::DEFAULT_PLATFORM;
use crate::doors::disk::{self, Project};
use crate::doors::env::Env;
use crate::error::Failure;
use crate::exit::Exit;
use crate::python_target::{self, Known};
use crate::ui::Ui;

/// Shows what the project at the path declares.
pub(crate) fn run(args: &MetadataArgs, ui: &Ui, env: &Env) -> Result<Exit, Failure> {
    let path = env.cwd.join(&args.path);
    let given = args.path.to_string_lossy();
    let (folder, shown) = match disk::entry(&path) {
        disk::Entry::Folder => (path.as_path(), given.trim_end_matches('/')),
        disk::Entry::Absent => {
            return Err(Failure::input(format!("{given}: there is no such file or folder")));
        }
        disk::Entry::File | disk::Entry::Other => {
            let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
            if !matches!(name.as_str(), "setup.py" | "setup.cfg" | "pyproject.toml") {
                return Err(Failure::input(format!("{given}: not a setup.py, setup.cfg or pyproject.toml")));
            }
            (path.parent().unwrap_or(Path::new("/")), given.rsplit_once('/').map_or("", |(folder, _)| folder))
        }
    };
    let shown = if shown == "." { "" } else { shown };
    let target = target(args, folder, shown)?;
    let project = Project::open(folder).map_err(|error| Failure::from_disk(&error))?;
    let declared = reana_manifest::read_project(&project, shown, &target);
    let declared = declared.map_err(|problem| Failure::from_problems(&[problem]))?;
    match args.format {
        Format::Text => ui.data(&text(&declared)?),
        Format::Json => ui.data(&format!("{:#}\n", json(&declared)?)),
        Format::Github => return Err(Failure::input("--format github is for `compile --check`")),
    }
    Ok(Exit::Done)
}

fn target(args: &MetadataArgs, folder: &Path, shown: &str) -> Result<Target, Failure> {
    let option = args.python_version.as_deref().map(str::parse::<PythonVersion>).transpose();
    let option = option.map_err(|error| Failure::input(format!("--python-version: {error}")))?;
    let platform = args.platform.as_deref().map(str::parse::<Platform>).transpose();
    let platform = platform.map_err(|error| Failure::input(format!("--platform: {error}")))?;
    let choice = python_target::choose(folder, shown, &Known { option, ..Known::default() });
    Ok(Target { python: choice.python, platform: platform.unwrap_or(DEFAULT_PLATFORM) })
}

/// The facts that scripts rely on; an unknown one is a failure, never an empty value.
fn json(declared: &Declared) -> Result<Value, Failure> {
    let mut origins = Map::new();
    let one = |fact: &reana_manifest::Fact<Option<reana_manifest::Text>>| {
        fact.clone().map_err(|unknown| Failure::from_problems(&[unknown.into()]))
    };
    let mut facts = Map::new();
    let singles = [
        ("name", &declared.name),
        ("version", &declared.version),
        ("python_requires", &declared.python_requires),
    ];
    for (key, fact) in singles {
        let known = one(fact)?;
        origins.insert(key.to_owned(), json!(known.as_ref().map(|text| text.origin.to_string())));
        facts.insert(key.to_owned(), json!(known.map(|text| text.value)));
    }
    let unknown = |unknown: reana_manifest::Unknown| Failure::from_problems(&[unknown.into()]);
    let (values, places) = lists(&declared.install_requires.clone().map_err(unknown)?);
    facts.insert("install_requires".to_owned(), values);
    origins.insert("install_requires".to_owned(), places);
    let (mut extras, mut extra_places) = (Map::new(), Map::new());
    for (key, requirements) in declared.extras_require.clone().map_err(unknown)? {
        let (values, places) = lists(&requirements);
        extras.insert(key.clone(), values);
        extra_places.insert(key, places);
    }
    facts.insert("extras_require".to_owned(), extras.into());
    origins.insert("extras_require".to_owned(), extra_places.into());
    facts.insert("origins".to_owned(), origins.into());
    Ok(facts.into())
}

fn lists(texts: &[reana_manifest::Text]) -> (Value, Value) {
    let values = texts.iter().map(|text| text.value.clone()).collect::<Vec<_>>();
    let places = texts.iter().map(|text| text.origin.to_string()).collect::<Vec<_>>();
    (json!(values), json!(places))
}

fn text(declared: &Declared) -> Result<String, Failure> {
    let mut lines = String::new();
    let singles = [
        ("name", &declared.name),
        ("version", &declared.version),
        ("python_requires", &declared.python_requires),
    ];
    for (key, fact) in singles {
        match fact {
            Ok(Some(text)) => lines.push_str(&format!("{key}: {}  ({})\n", text.value, text.origin)),
            Ok(None) => lines.push_str(&format!("{key}: -\n")),
            Err(unknown) => return Err(Failure::from_problems(&[unknown.clone().into()])),
        }
    }
    let unknown = |unknown: reana_manifest::Unknown| Failure::from_problems(&[unknown.into()]);
    lines.push_str("install_requires:\n");
    section(&mut lines, &declared.install_requires.clone().map_err(unknown)?);
    for (key, requirements) in declared.extras_require.clone().map_err(unknown)? {
        lines.push_str(&format!("extras_require[{key}]:\n"));
        section(&mut lines, &requirements);
    }
    Ok(lines)
}

fn section(lines: &mut String, texts: &[reana_manifest::Text]) {
    for text in texts {
        lines.push_str(&format!("  {}  ({})\n", text.value, text.origin));
    }
}
