//! How a lock is written.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use reana_model::PackageName;

/// Where the annotations (`# via ...`) stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum AnnotationStyle {
    /// On lines of their own, one for each reason.
    #[default]
    Split,
    /// Behind the requirement, all on one line.
    Line,
}

/// Text that names no annotation style.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not an annotation style (`split`, `line`)")]
pub struct AnnotationStyleError(pub String);

impl FromStr for AnnotationStyle {
    type Err = AnnotationStyleError;

    fn from_str(text: &str) -> Result<Self, AnnotationStyleError> {
        match text {
            "split" => Ok(Self::Split),
            "line" => Ok(Self::Line),
            _ => Err(AnnotationStyleError(text.to_owned())),
        }
    }
}

impl fmt::Display for AnnotationStyle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Split => "split",
            Self::Line => "line",
        })
    }
}

/// How lines end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Newline {
    /// `\n`
    #[default]
    Lf,
    /// `\r\n`
    Crlf,
}

impl Newline {
    /// The style of a text: any CRLF makes it CRLF; `None` where it has no line end.
    pub fn of(text: &str) -> Option<Self> {
        match (text.contains("\r\n"), text.contains('\n')) {
            (true, _) => Some(Self::Crlf),
            (false, true) => Some(Self::Lf),
            (false, false) => None,
        }
    }
}

/// What is done with the packages that pip-compile calls unsafe.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum UnsafePackages {
    /// Pinned like the rest, in their place.
    #[default]
    Sorted,
    /// Pinned in a section at the end, as pip-compile does with `--allow-unsafe`.
    AtEnd,
    /// Named in a comment at the end and not pinned, as pip-compile does without it.
    LeftOut,
}

/// How a lock is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Style {
    /// Where the annotations stand; `None` leaves them out.
    pub annotation: Option<AnnotationStyle>,
    /// Whether the header is written.
    pub header: bool,
    /// Whether `[extras]` are left out.
    pub strip_extras: bool,
    /// How lines end.
    pub newline: Newline,
    /// The packages that are unsafe to pin; [`default_unsafe_packages`] unless the user says otherwise.
    pub unsafe_packages: BTreeSet<PackageName>,
    /// What is done with them.
    pub unsafe_handling: UnsafePackages,
    /// Packages that are left out and named in a comment at the end.
    pub no_emit: BTreeSet<PackageName>,
}

impl Default for Style {
    fn default() -> Self {
        Self {
            annotation: Some(AnnotationStyle::default()),
            header: true,
            strip_extras: false,
            newline: Newline::default(),
            unsafe_packages: default_unsafe_packages(),
            unsafe_handling: UnsafePackages::default(),
            no_emit: BTreeSet::new(),
        }
    }
}

/// The packages that pip-compile calls unsafe unless told otherwise.
pub fn default_unsafe_packages() -> BTreeSet<PackageName> {
    ["distribute", "pip", "setuptools"].iter().filter_map(|name| name.parse().ok()).collect()
}
