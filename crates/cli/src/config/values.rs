//! The values that keys of `reana-lock.toml` take.

use std::path::Path;

use reana_model::{Platform, PythonVersion};
use schemars::JsonSchema;
use serde::Deserialize;
use url::Url;

use super::DEFAULT_PLATFORM;

/// A Python version, as text.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(try_from = "String")]
#[schemars(with = "String")]
pub(super) struct PythonText(pub(super) PythonVersion);

impl TryFrom<String> for PythonText {
    type Error = reana_model::python::PythonVersionError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse().map(Self)
    }
}

/// A platform, as text.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(try_from = "String")]
#[schemars(with = "String")]
pub(super) struct PlatformText(pub(super) Platform);

impl Default for PlatformText {
    fn default() -> Self {
        Self(DEFAULT_PLATFORM)
    }
}

impl TryFrom<String> for PlatformText {
    type Error = reana_model::target::PlatformError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse().map(Self)
    }
}

/// A moment: RFC 3339 with its offset, or a date, which stands for its first moment in UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(try_from = "String")]
#[schemars(with = "String")]
pub(crate) struct Moment(pub(crate) jiff::Timestamp);

/// Text that is no moment.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a moment (`2026-11-30T12:00:00Z` or `2026-11-30`)")]
pub(crate) struct MomentError(pub(crate) String);

impl std::str::FromStr for Moment {
    type Err = MomentError;

    fn from_str(text: &str) -> Result<Self, MomentError> {
        let is_date = jiff::civil::Date::from_str(text).is_ok_and(|date| date.to_string() == text);
        let timestamp = if is_date { format!("{text}T00:00:00Z").parse() } else { text.parse() };
        timestamp.map(Self).map_err(|_| MomentError(text.to_owned()))
    }
}

impl TryFrom<String> for Moment {
    type Error = MomentError;

    fn try_from(text: String) -> Result<Self, MomentError> {
        text.parse()
    }
}

/// When pre-releases are taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Prereleases {
    /// Where a requirement names one, or no final release will do.
    IfNecessary,
    /// Always.
    Allow,
}

/// A place that packages come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Location {
    /// As it was written.
    pub(crate) given: String,
    /// Its absolute address: `https:`, `http:` or `file:`.
    pub(crate) url: String,
    /// What the user calls it (`name=https://...`), if anything.
    pub(crate) name: Option<String>,
}

impl Location {
    /// What is no address is a path, relative to `folder`.
    pub(crate) fn new(given: &str, folder: &Path) -> Self {
        let is_name = |name: &str| name.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c));
        let named = given.split_once('=').filter(|(name, url)| is_name(name) && url.contains("://"));
        if let Some((name, url)) = named {
            return Self { given: given.to_owned(), name: Some(name.to_owned()), ..Self::new(url, folder) };
        }
        let is_address = given.contains("://") || given.starts_with("file:");
        let path = given.strip_prefix("file:").filter(|path| !path.starts_with('/')).unwrap_or(given);
        let url = if is_address && path == given {
            given.to_owned()
        } else {
            Url::from_file_path(crate::paths::tidy(&folder.join(path)))
                .map_or_else(|()| given.to_owned(), String::from)
        };
        Self { given: given.to_owned(), url, name: None }
    }
}
