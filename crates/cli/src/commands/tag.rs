//! `reana-lock tag`: the image tag of what is checked out, by git, and how far that can be relied upon.

use reana_images::{Description, Style, Tag};
use serde_json::{Value, json};

use crate::args::{Format, TagArgs, TagStyle};
use crate::doors::disk;
use crate::doors::env::Env;
use crate::doors::git::describe::{self, DescribeError};
use crate::error::Failure;
use crate::exit::Exit;
use crate::fleet::images::{self, Image};
use crate::ui::Ui;

/// Prints the tags of what the arguments name.
pub(crate) fn run(args: &TagArgs, ui: &Ui, env: &Env) -> Result<Exit, Failure> {
    if args.format == Format::Github {
        return Err(Failure::input("--format github is for `compile --check`"));
    }
    let (images, notes) =
        images::images(&args.what, &env.cwd).map_err(|error| Failure::from_fleet(&error))?;
    notes.iter().for_each(|note| ui.detail(&note.to_string()));
    let tagged: Vec<Tagged> = images.iter().map(|image| tagged(image, args.style)).collect();
    if args.format == Format::Json {
        let all: Vec<Value> = tagged.iter().map(|it| it.json(args.style)).collect();
        ui.data(&format!("{:#}\n", json!({ "components": all })));
    }
    let mut exit = Exit::Done;
    for it in &tagged {
        let prefix = if tagged.len() > 1 { format!("{}: ", it.name) } else { String::new() };
        match &it.outcome {
            Ok(tag) => {
                let facts = it.facts.as_ref();
                facts.iter().flat_map(|facts| facts.warnings(args.style)).for_each(|warning| {
                    ui.warn(&format!("{prefix}{warning}"));
                });
                match args.format {
                    Format::Text if tagged.len() > 1 => ui.data(&format!("{} {tag}\n", it.name)),
                    Format::Text => ui.data(&format!("{tag}\n")),
                    Format::Json | Format::Github => {}
                }
            }
            Err(failure) => {
                exit = exit.max(failure.exit);
                ui.error(&format!("{prefix}{}", failure.message), &failure.hints);
            }
        }
    }
    Ok(exit)
}

/// What is known of the commit that is checked out.
#[derive(Clone, Debug)]
pub(crate) struct Facts {
    /// What git says.
    pub(crate) description: Description,
    /// The commit, whole.
    pub(crate) commit: String,
    /// How many files are neither tracked nor ignored.
    pub(crate) untracked: usize,
    /// Shared packages that a build would take from `modules/`.
    pub(crate) modules: Vec<String>,
}

/// A repository with its tag, or why it has none.
pub(crate) struct Tagged {
    /// The repository's name.
    pub(crate) name: String,
    /// What git says, as far as it says something.
    pub(crate) facts: Option<Facts>,
    /// The tag.
    pub(crate) outcome: Result<Tag, Failure>,
    /// Its history was cut off.
    is_shallow: bool,
}

/// The tag of one repository.
pub(crate) fn tagged(image: &Image, style: TagStyle) -> Tagged {
    let name = image.member.name.clone();
    let described = match describe::describe(&image.member.folder) {
        Ok(described) => described,
        Err(error) => {
            let is_shallow = matches!(error, DescribeError::Shallow { .. });
            return Tagged { name, facts: None, outcome: Err(Failure::from_describe(&error)), is_shallow };
        }
    };
    let description = match described.description.parse::<Description>() {
        Ok(description) => description,
        Err(error) => {
            let outcome = Err(Failure::internal(format!("git describe: {error}")));
            return Tagged { name, facts: None, outcome, is_shallow: false };
        }
    };
    let style = match style {
        TagStyle::Describe => Style::Describe,
        TagStyle::Release => Style::Release,
    };
    let folder = image.member.folder.display();
    let outcome =
        description.image_tag(style).map_err(|error| Failure::from_tag(&error, &folder.to_string()));
    let modules = disk::names(&image.member.folder.join("modules")).unwrap_or_default();
    let modules = modules.into_iter().filter(|name| !name.starts_with('.')).collect();
    let facts = Facts { description, commit: described.commit, untracked: described.untracked, modules };
    Tagged { name, facts: Some(facts), outcome, is_shallow: false }
}

impl Facts {
    /// Why the tag may not stand for what would be built.
    fn warnings(&self, style: TagStyle) -> Vec<String> {
        let mut warnings = Vec::new();
        if self.description.is_dirty {
            warnings.push("tracked files have uncommitted changes, which the tag does not tell".to_owned());
        }
        if self.untracked > 0 {
            let files = if self.untracked == 1 { "file is" } else { "files are" };
            warnings.push(format!(
                "{} untracked {files} there, which the tag does not tell and a build may take in",
                self.untracked
            ));
        }
        if style == TagStyle::Release && !self.modules.is_empty() {
            warnings.push(format!(
                "modules/ has {}: an image that is built from local packages must not have a release's tag",
                self.modules.join(", ")
            ));
        }
        let distance = self.description.distance;
        if style == TagStyle::Release && distance > 0 {
            let commits = if distance == 1 { "commit" } else { "commits" };
            warnings.push(format!(
                "{distance} {commits} past {}: the tag is that of an older commit",
                self.description.tag
            ));
        }
        warnings
    }
}

impl Tagged {
    fn json(&self, style: TagStyle) -> Value {
        let failure = self.outcome.as_ref().err();
        let error = failure.map(|failure| {
            json!({ "message": failure.message, "hints": failure.hints, "exit": failure.exit as u8 })
        });
        let facts = self.facts.as_ref();
        let description = facts.map(|facts| &facts.description);
        json!({
            "component": self.name,
            "style": match style { TagStyle::Describe => "describe", TagStyle::Release => "release" },
            "tag": self.outcome.as_ref().ok().map(Tag::as_str),
            "git_tag": description.map(|it| &it.tag),
            "distance": description.map(|it| it.distance),
            "exact": description.map(Description::is_exact),
            "dirty": description.map(|it| it.is_dirty),
            "untracked": facts.map(|facts| facts.untracked),
            "modules": facts.map(|facts| &facts.modules),
            "shallow": self.is_shallow,
            "description": description.map(ToString::to_string),
            "commit": facts.map(|facts| &facts.commit),
            "error": error,
        })
    }
}
