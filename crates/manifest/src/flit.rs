//! `[tool.flit.metadata]`: how flit was told before PEP 621.

use indexmap::IndexMap;
use toml_edit::{Item, TableLike};

use crate::Text;

/// What the table declares beside the name.
#[derive(Clone, Debug, Default)]
pub(crate) struct Flit {
    pub(crate) python: Option<Text>,
    pub(crate) requires: Vec<Text>,
    pub(crate) extras: IndexMap<String, Vec<Text>>,
}

/// Reads the table; none where something in it has another shape than flit accepts.
pub(crate) fn read(table: &dyn TableLike, texts: &dyn Fn(&Item) -> Option<Vec<Text>>) -> Option<Flit> {
    let list = |table: &dyn TableLike, key: &str| table.get(key).map_or(Some(Vec::new()), texts);
    let python = match table.get("requires-python") {
        None => None,
        Some(item) => Some(texts(item)?.into_iter().next()?),
    };
    let mut extras = IndexMap::new();
    if let Some(item) = table.get("requires-extra") {
        let listed = item.as_table_like()?;
        for (name, _) in listed.iter() {
            extras.insert(name.to_owned(), list(listed, name)?);
        }
    }
    // flit makes extras of its own of what developers need
    let dev = list(table, "dev-requires")?;
    if !dev.is_empty() {
        extras.insert("dev".to_owned(), dev);
    }
    Some(Flit { python, requires: list(table, "requires")?, extras })
}
