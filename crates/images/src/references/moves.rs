//! Which references move: today they stand for one content, tomorrow for another.

use crate::Reference;

/// When a node pulls an image, as far as is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    /// Always: nodes notice when a tag moves, each at its own time.
    Always,
    /// When they don't have it (`IfNotPresent`, `Never`): a node keeps what it has.
    Keeps,
    /// Nothing is written: Kubernetes takes `Always` for `latest` and no tag, else `IfNotPresent`.
    Unsaid,
    /// No node pulls it: a build does.
    Build,
}

/// Why a reference moves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Moves {
    /// It has no tag: `latest` is meant.
    NoTag,
    /// Its tag is a word, not a version: `latest`, `master`, `stable`.
    Word(String),
}

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// It moves.
    Warning,
    /// It moves, and nodes keep what they have: two nodes may run different content.
    Error,
}

impl Policy {
    /// How bad a reference is that moves.
    #[must_use]
    pub fn level(self) -> Level {
        match self {
            Self::Always | Self::Build => Level::Warning,
            Self::Keeps | Self::Unsaid => Level::Error,
        }
    }

    /// As Kubernetes has it.
    #[must_use]
    pub fn read(text: Option<&str>) -> Self {
        match text {
            Some("Always") => Self::Always,
            Some("IfNotPresent" | "Never") => Self::Keeps,
            Some(_) | None => Self::Unsaid,
        }
    }
}

/// Why a reference moves; `None` where it names a digest or a version.
#[must_use]
pub fn moves(image: &Reference) -> Option<Moves> {
    match (&image.digest, &image.tag) {
        (Some(_), _) => None,
        (None, None) => Some(Moves::NoTag),
        (None, Some(tag)) => (!is_version(tag.as_str())).then(|| Moves::Word(tag.as_str().to_owned())),
    }
}

/// Whether a part of the tag begins like a version (`1`, `v1`), or is a commit (seven hexadecimal digits and more).
fn is_version(tag: &str) -> bool {
    tag.split(['-', '_', '.']).any(|part| {
        let number = part.strip_prefix(['v', 'V']).unwrap_or(part);
        let is_commit = part.len() >= 7
            && part.bytes().all(|byte| byte.is_ascii_hexdigit())
            && part.bytes().any(|byte| byte.is_ascii_digit());
        number.starts_with(|first: char| first.is_ascii_digit()) || is_commit
    })
}
