//! A package's page in the simple API, whichever its format.

use reana_model::{DistFile, PackageName};
use url::Url;

/// The files that an index lists for one package.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Page {
    /// Files that an installer could use, in the page's order.
    pub files: Vec<DistFile>,
    /// How many links led to something else (`.egg`, `.exe`, bad versions, files of other packages).
    pub skipped: usize,
    /// What the index says of the project as a whole (PEP 792), where it says something.
    pub status: Option<ProjectStatus>,
}

/// What an index says of a project as a whole (PEP 792).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProjectStatus {
    /// `active`, `archived`, `quarantined`, `deprecated`, or a later word.
    pub status: String,
    /// Why, in the index's words; may be empty.
    pub reason: String,
}

/// Why bytes are no page.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PageError {
    /// Of a later major version of the API (PEP 629).
    #[error("version {0} of the simple API is not understood")]
    ApiVersion(String),
    /// Not a page of an index at all.
    #[error("{0}")]
    NotAPage(String),
}

/// The two formats of the simple API.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// PEP 691.
    Json,
    /// PEP 503.
    Html,
}

impl Format {
    /// The format of an answer, by its content type; where that says nothing, by its first byte.
    pub fn of(content_type: &str, body: &[u8]) -> Option<Self> {
        let essence = content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        match essence.as_str() {
            "application/json" => Some(Self::Json),
            kind if kind.starts_with("application/vnd.pypi.simple.") && kind.ends_with("+json") => {
                Some(Self::Json)
            }
            kind if kind.starts_with("application/vnd.pypi.simple.") && kind.ends_with("+html") => {
                Some(Self::Html)
            }
            "text/html" | "application/xhtml+xml" => Some(Self::Html),
            "" | "text/plain" | "application/octet-stream" => {
                match body.iter().find(|byte| !byte.is_ascii_whitespace()) {
                    Some(b'{') => Some(Self::Json),
                    Some(b'<') => Some(Self::Html),
                    _ => None,
                }
            }
            _ => None,
        }
    }

    /// Reads a page of `package` that was found at `address`.
    ///
    /// # Errors
    /// Where the bytes are no such page.
    pub fn read(self, body: &[u8], address: &Url, package: &PackageName) -> Result<Page, PageError> {
        match self {
            Self::Json => super::json::read(body, address, package),
            Self::Html => super::html::read(body, address, package),
        }
    }
}

/// The most files of one page; the longest honest ones have some tens of thousands.
pub(super) const MOST_FILES: usize = 100_000;

/// The most bytes that a page's file names and `requires-python` may have together: they grow when they are
/// taken apart.
const MOST_TEXT: usize = 6 << 20;

/// What a page has cost so far.
#[derive(Default)]
pub(super) struct Cost {
    files: usize,
    text: usize,
}

impl Cost {
    /// Counts one more file.
    ///
    /// # Errors
    /// Where no honest page has so much.
    pub(super) fn add(&mut self, file: &str, requires_python: Option<&str>) -> Result<(), PageError> {
        self.files += 1;
        self.text = self.text.saturating_add(file.len()).saturating_add(requires_python.map_or(0, str::len));
        if self.files > MOST_FILES || self.text > MOST_TEXT { Err(excess()) } else { Ok(()) }
    }
}

pub(super) fn excess() -> PageError {
    PageError::NotAPage("more files than any index lists for one package".to_owned())
}

/// Refuses pages of another major version (PEP 629).
pub(super) fn check_version(version: &str) -> Result<(), PageError> {
    match version.trim().split('.').next() {
        Some("1") => Ok(()),
        _ => Err(PageError::ApiVersion(version.trim().to_owned())),
    }
}
