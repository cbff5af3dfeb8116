//! Image tags from what git says of a commit: `git describe --tags --long --dirty`, and a few facts besides.

use std::fmt;
use std::str::FromStr;

use reana_model::Version;

use crate::{ReferenceError, Tag};

/// The fewest digits of a commit that a description has.
const FEWEST_DIGITS: usize = 4;

/// How an image tag is made from a description.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Style {
    /// As `git describe --tags` has it: the nearest tag, and how far behind it is.
    #[default]
    Describe,
    /// The nearest tag alone, as a semantic version.
    Release,
}

/// What git says of a commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Description {
    /// The nearest tag, as it is called.
    pub tag: String,
    /// How many commits are not in it.
    pub distance: u64,
    /// The commit, shortened: as many digits as git needs, at least seven.
    pub commit: String,
    /// Tracked files have changes that no commit has.
    pub is_dirty: bool,
}

/// Why a text is no description.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no `TAG-N-gCOMMIT`, as `git describe --long` answers")]
pub struct DescriptionError(pub String);

/// Why there is no image tag for a description.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TagError {
    /// What comes out is no image tag.
    #[error("the git tag `{git_tag}` gives no image tag: {error}")]
    Name {
        /// The git tag.
        git_tag: String,
        /// Why not.
        error: ReferenceError,
    },
    /// A release is made of what is committed.
    #[error("tracked files have uncommitted changes, and a release tag stands for a commit")]
    Dirty,
}

impl FromStr for Description {
    type Err = DescriptionError;

    /// Reads what `git describe --long --dirty` answers, from its end: the tag itself may look like a description.
    fn from_str(text: &str) -> Result<Self, DescriptionError> {
        let error = || DescriptionError(text.to_owned());
        let (rest, is_dirty) = match text.strip_suffix("-dirty") {
            Some(rest) => (rest, true),
            None => (text, false),
        };
        let (rest, commit) = rest.rsplit_once("-g").ok_or_else(error)?;
        let (tag, distance) = rest.rsplit_once('-').ok_or_else(error)?;
        let is_commit = commit.len() >= FEWEST_DIGITS
            && commit.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        let is_count = distance.bytes().all(|byte| byte.is_ascii_digit());
        match distance.parse() {
            Ok(distance) if is_commit && is_count && !tag.is_empty() => {
                Ok(Self { tag: tag.to_owned(), distance, commit: commit.to_owned(), is_dirty })
            }
            _ => Err(error()),
        }
    }
}

impl Description {
    /// Whether the commit itself has the tag.
    #[must_use]
    pub fn is_exact(&self) -> bool {
        self.distance == 0
    }

    /// As `git describe --tags` has it.
    #[must_use]
    pub fn short(&self) -> String {
        if self.is_exact() {
            return self.tag.clone();
        }
        format!("{}-{}-g{}", self.tag, self.distance, self.commit)
    }

    /// The image tag.
    ///
    /// # Errors
    /// The name is no image tag, or a release is asked for and the tree is dirty.
    pub fn image_tag(&self, style: Style) -> Result<Tag, TagError> {
        let name = match style {
            Style::Describe => without_v(&self.short()).to_owned(),
            Style::Release if self.is_dirty => return Err(TagError::Dirty),
            Style::Release => release_name(&self.tag),
        };
        name.parse().map_err(|error| TagError::Name { git_tag: self.tag.clone(), error })
    }
}

impl fmt::Display for Description {
    /// As `git describe --tags --long --dirty` has it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}-g{}", self.tag, self.distance, self.commit)?;
        if self.is_dirty { f.write_str("-dirty") } else { Ok(()) }
    }
}

/// A release's git tag as an image tag: a version (PEP 440) as a semantic one, as REANA's releases are called;
/// anything else as it is, without a leading `v`.
///
/// `0.95.0a6` is `0.95.0-alpha.6`, `b` is `beta`, `rc` is `rc`, `.dev1` is `-dev.1`, `.post1` is `-post.1`. Missing
/// parts are `0`. A version that has more than a semantic one can say (an epoch, a fourth number, a local part) stays
/// as it is, so that no two versions share a name.
#[must_use]
pub fn release_name(git_tag: &str) -> String {
    let plain = without_v(git_tag);
    let Ok(version) = plain.parse::<Version>() else { return plain.to_owned() };
    let release = version.release();
    if version.epoch() != 0 || !version.local().is_empty() || release.len() > 3 {
        return plain.to_owned();
    }
    let number = |at: usize| release.get(at).copied().unwrap_or_default();
    let mut marks: Vec<String> = Vec::new();
    if let Some(pre) = version.pre() {
        let kind = match pre.kind.to_string().as_str() {
            "a" => "alpha".to_owned(),
            "b" => "beta".to_owned(),
            other => other.to_owned(),
        };
        marks.push(format!("{kind}.{}", pre.number));
    }
    marks.extend(version.post().map(|number| format!("post.{number}")));
    marks.extend(version.dev().map(|number| format!("dev.{number}")));
    let mut name = format!("{}.{}.{}", number(0), number(1), number(2));
    if !marks.is_empty() {
        name.push('-');
        name.push_str(&marks.join("."));
    }
    name
}

/// Without the `v` that some put before a version.
fn without_v(name: &str) -> &str {
    match name.strip_prefix('v') {
        Some(rest) if rest.starts_with(|c: char| c.is_ascii_digit()) => rest,
        _ => name,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check(text: &str, describe: &str, release: &str) {
        let description: Description = text.parse().expect("a description");
        assert_eq!(description.to_string(), text);
        let tag = |style| match description.image_tag(style) {
            Ok(tag) => tag.to_string(),
            Err(error) => error.to_string(),
        };
        assert_eq!(
            (tag(Style::Describe).as_str(), tag(Style::Release).as_str()),
            (describe, release),
            "{text}"
        );
    }

    #[test]
    fn descriptions_become_tags() {
        check("0.6.0-36-gb702986", "0.6.0-36-gb702986", "0.6.0");
        check("v0.6.0-36-gb702986", "0.6.0-36-gb702986", "0.6.0");
        check("0.95.0a6-0-gb702986", "0.95.0a6", "0.95.0-alpha.6");
        check("0.95.0a6-6-gb702986abc", "0.95.0a6-6-gb702986abc", "0.95.0-alpha.6");
        let dirty = "tracked files have uncommitted changes, and a release tag stands for a commit";
        check("1.0.0-0-g067e61f-dirty", "1.0.0", dirty);
        // A tag may itself look like a description, or as if it were dirty.
        check("1.0.0-3-gdeadbee-0-g067e61f", "1.0.0-3-gdeadbee", "1.0.0-3-gdeadbee");
        check("1.0.0-3-gdeadbee-2-g067e61f", "1.0.0-3-gdeadbee-2-g067e61f", "1.0.0-3-gdeadbee");
        check("x-dirty-0-g067e61f", "x-dirty", "x-dirty");
        check("vendor-1-g067e61f", "vendor-1-g067e61f", "vendor");
    }

    #[test]
    fn what_is_no_description_is_refused() {
        for bad in [
            "",
            "1.0.0",
            "1.0.0-dirty",
            "-1-g067e61f",
            "1.0-x-g067e61f",
            "1.0-1-g067e61z",
            "1.0-1-g",
            "1.0-+1-g067e61f",
        ] {
            assert_eq!(bad.parse::<Description>(), Err(DescriptionError(bad.to_owned())));
        }
        // More commits than there can be.
        assert!("1-99999999999999999999999-g067e61f".parse::<Description>().is_err());
    }

    #[test]
    fn what_is_no_image_tag_is_refused() {
        for tag in ["release/1.2.3", "1.2.3+build.5", "1.0-é", "1!1.0", &"1".repeat(129)] {
            let description: Description = format!("{tag}-0-g067e61f").parse().expect("a description");
            for style in [Style::Describe, Style::Release] {
                let error = description.image_tag(style).expect_err("no image tag");
                assert!(
                    error.to_string().starts_with(&format!("the git tag `{tag}` gives no image tag")),
                    "{error}"
                );
            }
        }
    }

    proptest! {
        /// Whatever a tag is called, its description is read as it was written.
        #[test]
        fn descriptions_are_read_as_written(
            tag in "[a-z0-9.-]{0,8}(-[0-9]-gdeadbee|-dirty)?[a-z0-9]",
            distance: u64,
            commit in "[0-9a-f]{7,40}",
            is_dirty: bool,
        ) {
            let description = Description { tag, distance, commit, is_dirty };
            prop_assert_eq!(description.to_string().parse(), Ok(description));
        }

        /// Two releases share a name where they are the same version, and nowhere else.
        #[test]
        fn releases_do_not_share_names(one in version(), other in version()) {
            let same = one.parse::<Version>() == other.parse::<Version>();
            prop_assert_eq!(same, release_name(&one) == release_name(&other), "{} {}", one, other);
            prop_assert!(release_name(&one).parse::<Tag>().is_ok());
        }
    }

    /// Versions as shared packages have them.
    fn version() -> impl Strategy<Value = String> {
        "[0-2](\\.[0-2]){0,2}((a|b|rc)[0-2])?(\\.post[0-2])?(\\.dev[0-2])?"
    }

    #[test]
    fn releases_are_semantic_versions() {
        for (version, expected) in [
            ("0.95.0a6", "0.95.0-alpha.6"),
            ("0.95.0b1", "0.95.0-beta.1"),
            ("0.95.0rc2", "0.95.0-rc.2"),
            ("0.95.0-rc.2", "0.95.0-rc.2"),
            ("0.7.0.dev20200427", "0.7.0-dev.20200427"),
            ("0.9.1.post1", "0.9.1-post.1"),
            ("1.0a1.dev2", "1.0.0-alpha.1.dev.2"),
            ("1.0-alpha.1", "1.0.0-alpha.1"),
            ("1", "1.0.0"),
            ("1.2.3.4", "1.2.3.4"),
            ("1.2.3+local", "1.2.3+local"),
            ("1!1.2", "1!1.2"),
            ("v1.2.3", "1.2.3"),
            ("1.0.0-latest", "1.0.0-latest"),
            ("stable", "stable"),
            ("version", "version"),
        ] {
            assert_eq!(release_name(version), expected, "{version}");
        }
    }
}
