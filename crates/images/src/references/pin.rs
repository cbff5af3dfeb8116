//! Pins references by digest: a few bytes go in, all others stay.

use std::ops::Range;

use super::{Form, Found, Placed};
use crate::Digest;

/// Bytes that are replaced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edit {
    /// Where; empty where something goes in between.
    pub bytes: Range<usize>,
    /// What stands there afterwards.
    pub text: String,
}

/// Why a reference is not pinned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotPinned {
    /// It has a digest.
    #[error("it is pinned already")]
    Already,
    /// The file spells it in a way that bytes can't simply be put into: a block, an escape.
    #[error("it is written as a block or with escapes: write it plainly, or in quotes")]
    Spelling,
    /// A chart's `repository` without a `tag` or `digest` key: the chart brings the tag itself.
    #[error("it has neither a tag nor a `digest` key here: the chart chooses the tag; set one first")]
    NoTag,
}

/// The edit that pins a reference.
///
/// A whole reference becomes `name:tag@sha256:…`. Of a chart's split one, an empty `digest` key is filled; else the
/// tag becomes `tag@sha256:…`, which is right for charts that write `repository:tag`, as most do, but not for those
/// that make a label of the tag.
///
/// # Errors
/// When it can't be done, or is done.
pub fn pin(found: &Found, digest: &Digest) -> Result<Edit, NotPinned> {
    if found.image.digest.is_some() {
        return Err(NotPinned::Already);
    }
    let after = |placed: &Placed| {
        let end = placed.bytes.as_ref().ok_or(NotPinned::Spelling)?.end;
        Ok(Edit { bytes: end..end, text: format!("@{digest}") })
    };
    match &found.form {
        Form::Whole(placed) => after(placed),
        Form::Split { digest: Some(key), .. } => {
            let bytes = key.bytes.clone().ok_or(NotPinned::Spelling)?;
            Ok(Edit { bytes, text: digest.to_string() })
        }
        Form::Split { tag: Some(tag), .. } => after(tag),
        Form::Split { .. } => Err(NotPinned::NoTag),
    }
}

/// The text with all edits made. Those that overlap an earlier one are left out: one place is edited once.
#[must_use]
pub fn apply(text: &str, edits: &[Edit]) -> String {
    let mut edits: Vec<&Edit> = edits.iter().collect();
    edits.sort_by_key(|edit| (edit.bytes.start, edit.bytes.end));
    edits.dedup_by_key(|edit| edit.bytes.clone());
    let (mut result, mut done) = (String::new(), 0);
    for edit in edits {
        let Some(before) = text.get(done..edit.bytes.start) else { continue };
        result.push_str(before);
        result.push_str(&edit.text);
        done = edit.bytes.end;
    }
    result.push_str(text.get(done..).unwrap_or_default());
    result
}
