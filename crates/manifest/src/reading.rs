//! Reading a project's files: paths, texts, places.

use std::sync::Arc;

use reana_model::Origin;

use crate::{FileError, Files, Problem, ProblemKind, normal_path};

/// A project's files, with the names that messages call them by and a memory of what was read.
pub(crate) struct Reading<'f> {
    pub(crate) files: &'f dyn Files,
    prefix: String,
    pub(crate) consulted: Vec<String>,
}

impl<'f> Reading<'f> {
    /// `prefix` is the project's folder as the user knows it; empty or `.` where they stand in it.
    pub(crate) fn new(files: &'f dyn Files, prefix: &str) -> Self {
        let prefix = prefix.strip_prefix("./").unwrap_or(prefix);
        let prefix = if prefix == "." { "" } else { prefix };
        let slash = if prefix.is_empty() || prefix.ends_with('/') { "" } else { "/" };
        Self { files, prefix: format!("{prefix}{slash}"), consulted: Vec::new() }
    }

    /// What messages call a file.
    pub(crate) fn shown(&self, path: &str) -> Arc<str> {
        format!("{}{}", self.prefix, normal_path(path).as_deref().unwrap_or(path)).into()
    }

    /// A file's text; none where it is not there.
    pub(crate) fn text(&mut self, path: &str) -> Result<Option<String>, Problem> {
        let problem = |kind| Err(Problem::new(Origin::whole(self.shown(path)), kind));
        let bytes = match self.files.read(path) {
            Ok(bytes) => bytes,
            Err(FileError::Absent) => return Ok(None),
            Err(error) => return problem(ProblemKind::File(error)),
        };
        let Ok(text) = String::from_utf8(bytes) else { return problem(ProblemKind::NotText) };
        let shown = self.shown(path).to_string();
        if !self.consulted.contains(&shown) {
            self.consulted.push(shown);
        }
        Ok(Some(text))
    }
}

/// The number of the line where a byte stands.
pub(crate) fn line_at(text: &str, byte: usize) -> u32 {
    let before = text.as_bytes().get(..byte).unwrap_or(text.as_bytes());
    u32::try_from(before.iter().filter(|byte| **byte == b'\n').count() + 1).unwrap_or(u32::MAX)
}
