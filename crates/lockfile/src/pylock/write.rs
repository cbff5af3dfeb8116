//! The text of a `pylock.toml`: the same content gives the same bytes, in whatever order it comes.

use std::fmt::Write as _;

use super::{File, Package, Place, Pylock, Source};
use crate::header::PREVIEW_MARK;
use crate::{header, marker_text, without_credentials};

/// Writes a `pylock.toml`. Keys stand in the specification's order; lines end with `\n`.
pub fn render(lock: &Pylock) -> String {
    let mut out = String::new();
    for line in lock.header.iter().flat_map(header::lines) {
        out.push_str(&one_line(&line));
        out.push('\n');
    }
    if lock.preview {
        let _ = writeln!(out, "# {PREVIEW_MARK}");
    }
    out.push_str("lock-version = \"1.0\"\n");
    let mut environments: Vec<String> =
        lock.environments.iter().filter_map(marker_text).map(|marker| quoted(&marker)).collect();
    environments.sort();
    environments.dedup();
    if !environments.is_empty() {
        let _ = write!(out, "environments = [\n    {},\n]\n", environments.join(",\n    "));
    }
    if let Some(python) = &lock.requires_python {
        key(&mut out, "requires-python", &quoted(python));
    }
    key(&mut out, "created-by", &quoted("reana-lock"));
    if lock.packages.is_empty() {
        out.push_str("packages = []\n");
    }
    let mut packages: Vec<(String, String)> =
        lock.packages.iter().map(|one| (one.name.to_string(), package(one))).collect();
    packages.sort();
    packages.dedup();
    packages.iter().for_each(|(_, text)| out.push_str(text));
    out
}

fn package(package: &Package) -> String {
    let mut out = "\n[[packages]]\n".to_owned();
    key(&mut out, "name", &quoted(package.name.as_ref()));
    if let Some(version) = &package.version {
        key(&mut out, "version", &quoted(&version.to_string()));
    }
    if let Some(marker) = marker_text(&package.marker) {
        key(&mut out, "marker", &quoted(&marker));
    }
    if let Some(python) = &package.requires_python {
        key(&mut out, "requires-python", &quoted(python));
    }
    let mut dependencies: Vec<String> = package
        .dependencies
        .iter()
        .map(|(name, version)| match version {
            None => format!("{{ name = {} }}", quoted(name.as_ref())),
            Some(version) => {
                format!("{{ name = {}, version = {} }}", quoted(name.as_ref()), quoted(&version.to_string()))
            }
        })
        .collect();
    dependencies.sort();
    dependencies.dedup();
    if !dependencies.is_empty() {
        let _ = write!(out, "dependencies = [\n    {},\n]\n", dependencies.join(",\n    "));
    }
    if let Some(index) = &package.index {
        key(&mut out, "index", &quoted(&without_credentials(index)));
    }
    source(&mut out, &package.source);
    out
}

fn source(out: &mut String, source: &Source) {
    match source {
        Source::Files { sdist, wheels } => {
            if let Some(sdist) = sdist {
                key(out, "sdist", &file(sdist));
            }
            let mut wheels: Vec<(&str, String)> =
                wheels.iter().map(|wheel| (wheel.name.as_str(), file(wheel))).collect();
            wheels.sort();
            wheels.dedup();
            if !wheels.is_empty() {
                let wheels: Vec<String> = wheels.into_iter().map(|(_, text)| text).collect();
                let _ = write!(out, "wheels = [\n    {},\n]\n", wheels.join(",\n    "));
            }
        }
        Source::Archive { place, sha256, subdirectory } => {
            out.push_str("\n[packages.archive]\n");
            placed(out, place);
            key(out, "hashes", &format!("{{ sha256 = {} }}", quoted(&sha256.to_string())));
            optional(out, "subdirectory", subdirectory.as_deref());
        }
        Source::Directory { path, editable, subdirectory } => {
            out.push_str("\n[packages.directory]\n");
            key(out, "path", &quoted(path));
            if *editable {
                key(out, "editable", "true");
            }
            optional(out, "subdirectory", subdirectory.as_deref());
        }
        Source::Vcs { kind, place, requested_revision, commit, subdirectory } => {
            out.push_str("\n[packages.vcs]\n");
            key(out, "type", &quoted(kind));
            placed(out, place);
            optional(out, "requested-revision", requested_revision.as_deref());
            key(out, "commit-id", &quoted(commit));
            optional(out, "subdirectory", subdirectory.as_deref());
        }
    }
}

fn placed(out: &mut String, place: &Place) {
    let (name, value) = place_key(place);
    key(out, name, &value);
}

fn place_key(place: &Place) -> (&'static str, String) {
    match place {
        Place::Url(url) => ("url", quoted(&without_credentials(url))),
        Place::Path(path) => ("path", quoted(path)),
    }
}

fn file(file: &File) -> String {
    let mut fields = vec![("name", quoted(&file.name))];
    if let Some(uploaded) = &file.uploaded {
        fields.push(("upload-time", uploaded.clone()));
    }
    fields.push(place_key(&file.place));
    if let Some(size) = file.size {
        fields.push(("size", size.to_string()));
    }
    fields.push(("hashes", format!("{{ sha256 = {} }}", quoted(&file.sha256.to_string()))));
    let fields: Vec<String> = fields.iter().map(|(key, value)| format!("{key} = {value}")).collect();
    format!("{{ {} }}", fields.join(", "))
}

fn optional(out: &mut String, name: &str, value: Option<&str>) {
    if let Some(value) = value {
        key(out, name, &quoted(value));
    }
}

fn key(out: &mut String, name: &str, value: &str) {
    let _ = writeln!(out, "{name} = {value}");
}

/// A literal string where that needs no escapes and a basic one would, else a basic string.
fn quoted(text: &str) -> String {
    let is_plain = |c: char| !c.is_control() && c != '\'';
    if text.contains('"') && text.chars().all(is_plain) {
        return format!("'{text}'");
    }
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => {
                out.push('\\');
                out.push(c);
            }
            c if c.is_control() => {
                let _ = write!(out, "\\u{:04X}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

fn one_line(text: &str) -> String {
    text.replace(char::is_control, "\u{fffd}").trim_end().to_owned()
}
