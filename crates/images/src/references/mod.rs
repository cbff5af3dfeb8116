//! References to images in files that people write: Helm values, Kubernetes objects, reana.yaml, Dockerfiles. Which
//! of them move, and how each is pinned, with all other bytes as they were.

mod dockerfile;
mod moves;
mod pin;
#[cfg(test)]
mod tests;
mod yaml;

use std::ops::Range;

use crate::Reference;

pub use moves::{Level, Moves, Policy, moves};
pub use pin::{Edit, NotPinned, apply, pin};
pub use yaml::YamlError;

/// What kind of file a text is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    /// Helm values, Kubernetes objects, reana.yaml.
    Yaml,
    /// A Dockerfile.
    Dockerfile,
}

impl FileKind {
    /// By a file's name; `None` where it tells nothing.
    #[must_use]
    pub fn of(path: &str) -> Option<Self> {
        let name = path.rsplit('/').next().unwrap_or(path).to_lowercase();
        let is_dockerfile = ["dockerfile", "containerfile"].iter().any(|word| {
            name.strip_prefix(word).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '-']))
                || name.ends_with(&format!(".{word}"))
        });
        if name.ends_with(".yaml") || name.ends_with(".yml") {
            Some(Self::Yaml)
        } else {
            is_dockerfile.then_some(Self::Dockerfile)
        }
    }
}

/// A text at its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placed {
    /// The value, quotes and escapes read.
    pub text: String,
    /// The bytes of the value itself, without quotes; `None` where the file spells it otherwise.
    pub bytes: Option<Range<usize>>,
    /// The line, from 1.
    pub line: usize,
    /// The column, from 1, in characters.
    pub column: usize,
}

/// How a reference is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Form {
    /// In one text.
    Whole(Placed),
    /// In several keys of a Helm chart's values.
    Split {
        /// `registry`.
        registry: Option<Placed>,
        /// `repository`, or `image` beside a `tag`.
        repository: Placed,
        /// `tag`.
        tag: Option<Placed>,
        /// `digest`; empty where there is none yet.
        digest: Option<Placed>,
    },
}

impl Form {
    /// The reference as one text.
    #[must_use]
    pub fn text(&self) -> String {
        match self {
            Self::Whole(placed) => placed.text.clone(),
            Self::Split { registry, repository, tag, digest } => {
                let part = |placed: &Option<Placed>| {
                    placed.as_ref().map(|placed| placed.text.clone()).filter(|text| !text.is_empty())
                };
                let registry = part(registry).map(|registry| format!("{registry}/")).unwrap_or_default();
                let tag = part(tag).map(|tag| format!(":{tag}")).unwrap_or_default();
                let digest = part(digest).map(|digest| format!("@{digest}")).unwrap_or_default();
                format!("{registry}{}{tag}{digest}", repository.text)
            }
        }
    }

    /// Where it is: its tag, if that stands alone.
    #[must_use]
    pub fn place(&self) -> &Placed {
        match self {
            Self::Whole(placed) => placed,
            Self::Split { repository, tag, .. } => tag.as_ref().unwrap_or(repository),
        }
    }
}

/// A reference that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// How it is written.
    pub form: Form,
    /// Where in the document: `components.reana_server.image`, `FROM`.
    pub path: String,
    /// When nodes pull it.
    pub policy: Policy,
    /// What it refers to.
    pub image: Reference,
}

/// Why a text that stands where a reference should is none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skipped {
    /// The text.
    pub text: String,
    /// Where in the document.
    pub path: String,
    /// The line, from 1.
    pub line: usize,
    /// The column, from 1.
    pub column: usize,
    /// Why.
    pub reason: SkipReason,
}

/// Why a reference can't be looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SkipReason {
    /// Something fills it in later: `{{ … }}`, `$VERSION`.
    Template,
    /// It is no reference, and why.
    NoReference(String),
}

/// What a file refers to, in its order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct References {
    /// References.
    pub found: Vec<Found>,
    /// What can't be looked at.
    pub skipped: Vec<Skipped>,
}

/// Finds the references of a text.
///
/// # Errors
/// When it is no YAML where it should be.
pub fn find(kind: FileKind, text: &str) -> Result<References, YamlError> {
    let References { mut found, mut skipped } = match kind {
        FileKind::Yaml => yaml::find(text)?,
        FileKind::Dockerfile => dockerfile::find(text),
    };
    found.sort_by_key(|found| (found.form.place().line, found.form.place().column));
    // Several stages of a Dockerfile may stand upon one ARG.
    found.dedup_by(|one, other| one.form.place() == other.form.place() && one.path == other.path);
    skipped.sort_by_key(|skipped| (skipped.line, skipped.column));
    Ok(References { found, skipped })
}

impl References {
    /// Adds what is written somewhere.
    fn add(&mut self, form: Form, path: &str, policy: Policy) {
        let (text, place) = (form.text(), form.place());
        if text.is_empty() {
            return;
        }
        let skip = |reason: SkipReason| Skipped {
            text: text.clone(),
            path: path.to_owned(),
            line: place.line,
            column: place.column,
            reason,
        };
        if text.contains("{{") || text.contains('$') || text.contains('<') {
            self.skipped.push(skip(SkipReason::Template));
            return;
        }
        match text.parse::<Reference>() {
            Ok(image) => self.found.push(Found { form, path: path.to_owned(), policy, image }),
            Err(error) => self.skipped.push(skip(SkipReason::NoReference(error.to_string()))),
        }
    }
}
