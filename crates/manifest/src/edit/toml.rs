//! The requirements in a pyproject.toml, with their bytes.

use toml_edit::{Document, Item, TableLike, Value};

use super::slot::{Segment, Slot, line_of, line_starts};
use crate::poetry;
use crate::reading::line_at;

/// All lists of requirements that standards and tools define there, and poetry's tables.
pub(super) fn slots(text: &str) -> Result<Vec<Slot>, (u32, String)> {
    let bare = text.strip_prefix('\u{feff}').unwrap_or(text);
    let document = Document::parse(bare).map_err(|error| {
        let line = error.span().map_or(0, |span| line_at(bare, span.start));
        (line, error.message().lines().next().unwrap_or_default().to_owned())
    })?;
    let mut finder =
        Finder { text, starts: line_starts(text), shift: text.len() - bare.len(), slots: Vec::new() };
    finder.document(document.as_table());
    Ok(finder.slots)
}

struct Finder<'t> {
    text: &'t str,
    starts: Vec<usize>,
    /// How many bytes stand before what was parsed.
    shift: usize,
    slots: Vec<Slot>,
}

impl Finder<'_> {
    fn document(&mut self, root: &dyn TableLike) {
        if let Some(project) = below(root, &["project"]) {
            self.list(project.get("dependencies"));
            self.lists(project.get("optional-dependencies"));
        }
        self.lists(root.get("dependency-groups"));
        if let Some(build) = below(root, &["build-system"]) {
            self.list(build.get("requires"));
        }
        if let Some(uv) = below(root, &["tool", "uv"]) {
            self.list(uv.get("dev-dependencies"));
        }
        if let Some(pdm) = below(root, &["tool", "pdm"]) {
            self.lists(pdm.get("dev-dependencies"));
        }
        for environment in tables(below(root, &["tool", "hatch", "envs"])) {
            self.list(environment.get("dependencies"));
            self.list(environment.get("extra-dependencies"));
        }
        if let Some(poetry) = below(root, &["tool", "poetry"]) {
            self.poetry(poetry.get("dependencies"));
            self.poetry(poetry.get("dev-dependencies"));
            for group in tables(below(poetry, &["group"])) {
                self.poetry(group.get("dependencies"));
            }
        }
    }

    fn lists(&mut self, item: Option<&Item>) {
        for (_, item) in item.and_then(Item::as_table_like).into_iter().flat_map(TableLike::iter) {
            self.list(Some(item));
        }
    }

    fn list(&mut self, item: Option<&Item>) {
        for value in item.and_then(Item::as_array).into_iter().flatten() {
            if let Some((line, text, segments)) = self.string(value) {
                self.slots.push(Slot::new(line, &text, &segments).sure());
            }
        }
    }

    /// `name = "bounds"`, `name = { version = "bounds" }`, or a list of such.
    fn poetry(&mut self, item: Option<&Item>) {
        for (name, item) in item.and_then(Item::as_table_like).into_iter().flat_map(TableLike::iter) {
            let first = self.line(item);
            let array = item.as_array().into_iter().flatten().map(|value| Item::Value(value.clone()));
            let tables =
                item.as_array_of_tables().into_iter().flatten().map(|table| Item::Table(table.clone()));
            let several: Vec<Item> = array.chain(tables).collect();
            if several.is_empty() {
                self.dependency(name, item, first);
            }
            for item in &several {
                self.dependency(name, item, first);
            }
        }
    }

    fn dependency(&mut self, name: &str, item: &Item, first: u32) {
        let mut slot = self.bounds(name, item, first).sure();
        slot.first = first;
        slot.declares = poetry::texts(name, item).pop();
        self.slots.push(slot);
    }

    fn bounds(&self, name: &str, item: &Item, first: u32) -> Slot {
        let table = item.as_table_like();
        if let Some(table) = table
            && ["url", "git", "path"].into_iter().any(|key| table.contains_key(key))
        {
            return Slot::new(first, &format!("{name} @ "), &[]);
        }
        let version = if let Some(table) = table { table.get("version") } else { Some(item) };
        let Some(version) = version else { return Slot::new(first, &format!("{name} *"), &[]).poetry() };
        let found = version.as_value().and_then(|value| self.string(value));
        let (line, bounds, segments) = found.unwrap_or_else(|| (first, "?".to_owned(), Vec::new()));
        let shift = name.len() + 1;
        let moved = segments.into_iter().map(|segment| Segment {
            value: segment.value.start + shift..segment.value.end + shift,
            at: segment.at,
        });
        let moved: Vec<Segment> = moved.collect();
        Slot::new(line, &format!("{name} {bounds}"), &moved).poetry()
    }

    fn line(&self, item: &Item) -> u32 {
        item.span().map_or(0, |span| line_of(&self.starts, span.start + self.shift))
    }

    /// A string's line, its value, and where its bytes stand.
    fn string(&self, value: &Value) -> Option<(u32, String, Vec<Segment>)> {
        let text = value.as_str()?.to_owned();
        let span = value.span()?;
        let span = span.start + self.shift..span.end + self.shift;
        let line = line_of(&self.starts, span.start);
        let raw = self.text.get(span.clone())?;
        let quotes = ["\"\"\"", "'''", "\"", "'"].into_iter().find(|quotes| raw.starts_with(quotes))?;
        let inner = raw.strip_prefix(quotes)?.strip_suffix(quotes)?;
        // A line end right behind the opening quotes is not part of the string.
        let content = if quotes.len() == 3 {
            inner.strip_prefix("\r\n").or_else(|| inner.strip_prefix('\n')).unwrap_or(inner)
        } else {
            inner
        };
        let at = span.start + quotes.len() + (inner.len() - content.len());
        Some((line, text.clone(), super::slot::aligned(content, &text, at)))
    }
}

fn below<'i>(root: &'i dyn TableLike, path: &[&str]) -> Option<&'i dyn TableLike> {
    path.iter().try_fold(root, |table, key| table.get(key)?.as_table_like())
}

fn tables(parent: Option<&dyn TableLike>) -> impl Iterator<Item = &dyn TableLike> {
    parent.into_iter().flat_map(TableLike::iter).filter_map(|(_, item)| item.as_table_like())
}
