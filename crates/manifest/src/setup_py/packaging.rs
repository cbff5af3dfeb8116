//! Versions that compare, and requirements read from files, as `packaging`, `pkg_resources` and old pips do it.

use std::rc::Rc;

use ruff_text_size::TextRange;

use super::function::Args;
use super::interp::{Interp, Run};
use super::value::{Str, Value};

impl Interp<'_> {
    pub(super) fn packaging_call(&mut self, name: &str, args: &Args, range: TextRange) -> Run<Option<Value>> {
        let first = args.positional.first();
        match name {
            "packaging.version.parse"
            | "packaging.version.Version"
            | "pkg_resources.parse_version"
            | "distutils.version.LooseVersion"
            | "distutils.version.StrictVersion" => {
                let Some(Value::Str(text)) = first else { return Ok(None) };
                let Ok(version) = text.text.parse::<pep440_rs::Version>() else { return Ok(None) };
                // Loose versions compare word by word: the same only for plain numbers of the same length.
                let is_plain = text.text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
                if name.starts_with("distutils") && !is_plain {
                    return Ok(None);
                }
                Ok(Some(Value::Version(Rc::new((version, text.clone())))))
            }
            "pip.req.parse_requirements"
            | "pip._internal.req.parse_requirements"
            | "pip._internal.req.req_file.parse_requirements"
            | "pip.req.req_file.parse_requirements" => {
                let Some(Value::Str(path)) = first else { return Ok(None) };
                let text = match self.read_file(&path.text.clone(), range)? {
                    Ok(text) => text,
                    Err(unknown) => return Ok(Some(unknown)),
                };
                let Some(lines) = requirement_lines(&text) else { return Ok(None) };
                self.spend_items(lines.len(), range)?;
                let mut items = Vec::new();
                for line in lines {
                    items.push(self.parsed_requirement(line));
                }
                Ok(Some(self.new_iterator(items)))
            }
            _ => Ok(None),
        }
    }

    /// What pip's parser gives for a line: `.req`, and `.requirement` in newer ones. `str()` of it is the line only
    /// where it is written as pip writes it.
    fn parsed_requirement(&mut self, line: Str) -> Value {
        let scope = super::heap::Scope::default();
        let scope = self.alloc(super::heap::Object::Scope(scope));
        self.store_in(scope, "req", Value::Str(line.clone()));
        self.store_in(scope, "requirement", Value::Str(line));
        self.store_in(scope, "link", Value::None);
        self.store_in(scope, "original_link", Value::None);
        Value::Ref(self.alloc(super::heap::Object::Module { name: "<requirement>".into(), scope }))
    }
}

/// The requirements of a requirements file; `None` where it has options or places that a plain list can't hold.
fn requirement_lines(text: &Str) -> Option<Vec<Str>> {
    let mut lines = Vec::new();
    for line in super::strings::lines(text, false) {
        let line = line.trimmed(|line| {
            let end = if line.starts_with('#') { Some(0) } else { line.find(" #") };
            line.get(..end.unwrap_or(line.len())).unwrap_or_default().trim()
        });
        if line.text.is_empty() {
            continue;
        }
        if line.text.starts_with('-')
            || line.text.contains("://")
            || line.text.ends_with('\\')
            || line.text.contains(" --")
        {
            return None;
        }
        lines.push(line);
    }
    Some(lines)
}
