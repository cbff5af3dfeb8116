//! The JSON Schemas (draft 2020-12) of what commands answer with `--format json`, for the scripts of others. Every
//! object is closed, so that a field which is not described here fails the tests.

mod fleets;
mod images;
mod locks;
mod running;

use serde_json::{Map, Value, json};

/// A command, and what describes its JSON.
type Described = (&'static str, fn() -> Value);

/// The commands whose JSON is described.
const ALL: [Described; 18] = [
    ("bump", fleets::bump),
    ("check", locks::check),
    ("compile", locks::compile),
    ("diff", locks::diff),
    ("fleet", fleets::fleet),
    ("guard", images::guard),
    ("images-diff", running::images_diff),
    ("images-lint", running::images_lint),
    ("inputs", images::inputs),
    ("labels", images::labels),
    ("metadata", locks::metadata),
    ("record", images::record),
    ("refresh-hashes", locks::refresh_hashes),
    ("running", running::running),
    ("tag", images::tag),
    ("tree", locks::tree),
    ("verify", || derived::<crate::commands::verify::Report<'_>>()),
    ("why", locks::why),
];

/// All schemas by their commands, as documents.
pub(crate) fn all() -> impl Iterator<Item = (&'static str, Value)> {
    ALL.iter().map(|(command, schema)| {
        let mut document = Map::new();
        document.insert("$schema".to_owned(), json!("https://json-schema.org/draft/2020-12/schema"));
        document.insert("title".to_owned(), json!(format!("reana-lock {command} --format json")));
        if let Value::Object(rest) = schema() {
            document.extend(rest.into_iter().filter(|(key, _)| key != "$schema" && key != "title"));
        }
        (*command, document.into())
    })
}

/// The schema of a type that is written with serde.
fn derived<T: schemars::JsonSchema>() -> Value {
    let settings = schemars::generate::SchemaSettings::draft2020_12().for_serialize();
    let mut schema = settings.into_generator().into_root_schema_for::<T>().to_value();
    close(&mut schema);
    schema
}

/// Lets no object have other fields than those that are described.
fn close(schema: &mut Value) {
    match schema {
        Value::Array(each) => each.iter_mut().for_each(close),
        Value::Object(fields) => {
            fields.values_mut().for_each(close);
            if fields.contains_key("properties") && fields.get("type") == Some(&json!("object")) {
                fields.insert("additionalProperties".to_owned(), json!(false));
            }
        }
        _ => {}
    }
}

/// A field: its name, what it means, and what it holds.
type Field<'f> = (&'f str, &'f str, Value);

/// An object with exactly these fields.
fn object<'f>(fields: impl IntoIterator<Item = Field<'f>>) -> Value {
    let (mut properties, mut required) = (Map::new(), Vec::new());
    for (name, meaning, mut schema) in fields {
        if let Value::Object(schema) = &mut schema
            && !meaning.is_empty()
        {
            schema.insert("description".to_owned(), json!(meaning));
        }
        properties.insert(name.to_owned(), schema);
        required.push(name);
    }
    json!({ "type": "object", "properties": properties, "required": required, "additionalProperties": false })
}

/// An object whose fields have names of their own.
fn map(values: &Value) -> Value {
    json!({ "type": "object", "additionalProperties": values })
}

fn list(items: &Value) -> Value {
    json!({ "type": "array", "items": items })
}

fn text() -> Value {
    json!({ "type": "string" })
}

fn texts() -> Value {
    list(&text())
}

fn number() -> Value {
    json!({ "type": "integer", "minimum": 0 })
}

fn flag() -> Value {
    json!({ "type": "boolean" })
}

fn word(words: &[&str]) -> Value {
    json!({ "enum": words })
}

fn or_null(schema: &Value) -> Value {
    match schema.get("type") {
        Some(Value::String(kind)) if schema.as_object().is_some_and(|fields| fields.len() == 1) => {
            json!({ "type": [kind, "null"] })
        }
        _ => json!({ "anyOf": [schema, { "type": "null" }] }),
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn every_command_with_json_has_a_schema() {
        let command = crate::args::Cli::command();
        let mut speaking = Vec::new();
        let mut open: Vec<(String, &clap::Command)> =
            command.get_subcommands().map(|it| (it.get_name().to_owned(), it)).collect();
        while let Some((name, command)) = open.pop() {
            if command.get_arguments().any(|argument| argument.get_id() == "format") {
                speaking.push(name.clone());
            }
            open.extend(command.get_subcommands().map(|it| (format!("{name}-{}", it.get_name()), it)));
        }
        speaking.sort();
        let described: Vec<&str> = ALL.iter().map(|(command, _)| *command).collect();
        assert_eq!(described, speaking, "each command with --format is described here, in this order");
    }

    #[test]
    fn every_object_is_closed() {
        fn check(schema: &Value, place: &str) {
            match schema {
                Value::Array(each) => each.iter().for_each(|schema| check(schema, place)),
                Value::Object(fields) => {
                    let is_object = fields.get("type") == Some(&json!("object"));
                    assert!(!is_object || fields.contains_key("additionalProperties"), "{place}");
                    for (name, schema) in fields {
                        check(schema, &format!("{place}/{name}"));
                    }
                }
                _ => {}
            }
        }
        for (command, schema) in all() {
            check(&schema, command);
        }
    }
}
