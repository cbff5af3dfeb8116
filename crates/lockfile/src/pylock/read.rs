//! Reading a `pylock.toml`, ours or another tool's, as far as pins, hashes and edges go.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use reana_model::requirement::parse_marker;
use reana_model::{MarkerTree, Origin, PackageName, PinSource, Sha256, Version, Via};
use toml_edit::{ArrayOfTables, Document, Item, TableLike, Value};

use crate::{Lock, LockProblem, LockProblemKind, LockedPin, Newline, header};

/// Reads a `pylock.toml`. Never fails as a whole: what is not understood is a problem with its line.
pub fn parse(text: &str, file: impl Into<Arc<str>>) -> Lock {
    let mut lock = Lock {
        file: file.into(),
        header: None,
        preview: None,
        options: Vec::new(),
        pins: Vec::new(),
        unnamed: Vec::new(),
        left_out: Vec::new(),
        newline: Newline::of(text),
        problems: Vec::new(),
    };
    let comments = text.lines().take_while(|line| line.starts_with('#'));
    if let Some((header, unreadable)) = header::read(comments) {
        lock.header = Some(header);
        if unreadable {
            problem(&mut lock, 1, LockProblemKind::HeaderCommand);
        }
    }
    let mark =
        (1_u32..).zip(text.lines()).find(|(_, line)| line.starts_with('#') && header::is_preview_mark(line));
    lock.preview = mark.map(|(line, _)| line);
    match Document::parse(text) {
        Ok(document) => read(&mut lock, text, document.as_table()),
        Err(error) => {
            let line = error.span().map_or(0, |span| line_at(text, span.start));
            let reason = error.message().lines().next().unwrap_or_default().to_owned();
            problem(&mut lock, line, LockProblemKind::Pylock(reason));
        }
    }
    lock
}

fn problem(lock: &mut Lock, line: u32, kind: LockProblemKind) {
    let origin = Origin::new(Arc::clone(&lock.file), line);
    lock.problems.push(LockProblem { origin, kind });
}

fn line_at(text: &str, at: usize) -> u32 {
    let before = text.as_bytes().get(..at).unwrap_or_default();
    let lines = before.iter().filter(|byte| **byte == b'\n').count() + 1;
    u32::try_from(lines).unwrap_or(u32::MAX)
}

fn read(lock: &mut Lock, text: &str, root: &dyn TableLike) {
    match root.get("lock-version").and_then(Item::as_str) {
        Some(version) if version == "1" || version.starts_with("1.") => {}
        Some(version) => {
            problem(lock, 1, LockProblemKind::Pylock(format!("lock-version `{version}` is not known")));
            return;
        }
        None => problem(lock, 1, LockProblemKind::Pylock("there is no lock-version".to_owned())),
    }
    let packages = match root.get("packages") {
        Some(Item::ArrayOfTables(packages)) => packages,
        Some(Item::Value(Value::Array(packages))) if packages.is_empty() => return,
        _ => return problem(lock, 1, LockProblemKind::Pylock("there are no packages".to_owned())),
    };
    let lines = Lines::new(text);
    let mut wanted_by: BTreeMap<PackageName, BTreeSet<Via>> = BTreeMap::new();
    read_packages(lock, packages, &lines, &mut wanted_by);
    for pin in &mut lock.pins {
        pin.via = wanted_by.get(&pin.name).cloned().unwrap_or_default();
    }
}

fn read_packages(
    lock: &mut Lock,
    packages: &ArrayOfTables,
    lines: &Lines,
    wanted_by: &mut BTreeMap<PackageName, BTreeSet<Via>>,
) {
    for table in packages {
        let line = lines.of(table.span().map_or(0, |span| span.start));
        match package(table, line) {
            Ok(pin) => {
                let dependencies = table.get("dependencies").and_then(Item::as_array);
                for dependency in dependencies.into_iter().flatten() {
                    let name = dependency.as_inline_table().and_then(|table| table.get("name")?.as_str());
                    if let Some(name) = name.and_then(|name| name.parse::<PackageName>().ok()) {
                        wanted_by.entry(name).or_default().insert(Via::Package(pin.name.clone()));
                    }
                }
                lock.pins.push(pin);
            }
            Err(kind) => problem(lock, line, kind),
        }
    }
}

/// Where lines start, so that a long file is not counted through for each package.
struct Lines(Vec<usize>);

impl Lines {
    fn new(text: &str) -> Self {
        Self(text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| at).collect())
    }

    fn of(&self, at: usize) -> u32 {
        u32::try_from(self.0.partition_point(|end| *end < at) + 1).unwrap_or(u32::MAX)
    }
}

fn package(table: &dyn TableLike, line: u32) -> Result<LockedPin, LockProblemKind> {
    let wrong = |what: &str| LockProblemKind::Pylock(what.to_owned());
    let text = |key: &str| table.get(key).and_then(Item::as_str);
    let name = text("name").ok_or_else(|| wrong("a package without a name"))?;
    let name: PackageName = name.parse().map_err(|_| wrong(&format!("`{name}` is not a package's name")))?;
    let marker = match text("marker") {
        None => MarkerTree::TRUE,
        Some(marker) => parse_marker(marker).map_err(|_| LockProblemKind::Marker(marker.to_owned()))?,
    };
    let version: Option<Version> = text("version").and_then(|version| version.parse().ok());
    let mut hashes = BTreeSet::new();
    let wheels = table.get("wheels").and_then(Item::as_array).into_iter().flatten();
    for wheel in wheels.filter_map(Value::as_inline_table) {
        hashes.extend(sha256(wheel));
    }
    let part = |key: &str| table.get(key).and_then(Item::as_table_like);
    hashes.extend(part("sdist").and_then(sha256));
    let (source, version) = if let Some(archive) = part("archive") {
        hashes.extend(sha256(archive));
        (PinSource::Url(place(archive)), None)
    } else if let Some(vcs) = part("vcs") {
        let of = |key: &str| vcs.get(key).and_then(Item::as_str).unwrap_or_default();
        let fragment = [("subdirectory", of("subdirectory")), ("rev", of("requested-revision"))];
        let fragment: Vec<String> = fragment
            .iter()
            .filter(|(_, value)| !value.is_empty())
            .map(|(key, value)| format!("{key}={value}"))
            .collect();
        let fragment = if fragment.is_empty() { String::new() } else { format!("#{}", fragment.join("&")) };
        (PinSource::Url(format!("{}+{}@{}{fragment}", of("type"), place(vcs), of("commit-id"))), None)
    } else if let Some(folder) = part("directory") {
        let is_editable = folder.get("editable").and_then(Item::as_bool) == Some(true);
        let path = place(folder);
        (PinSource::Verbatim(if is_editable { format!("-e {path}") } else { path }), None)
    } else {
        let version = version.ok_or_else(|| LockProblemKind::NotPinned(name.to_string()))?;
        (PinSource::Index, Some(version))
    };
    let (extras, via) = (BTreeSet::new(), BTreeSet::new());
    Ok(LockedPin { name, extras, version, source, marker, hashes, via, line })
}

fn place(table: &dyn TableLike) -> String {
    let of = |key: &str| table.get(key).and_then(Item::as_str);
    of("url").or_else(|| of("path")).unwrap_or_default().to_owned()
}

fn sha256(table: &dyn TableLike) -> Option<Sha256> {
    let hashes = table.get("hashes")?.as_table_like()?;
    hashes.get("sha256")?.as_str()?.parse().ok()
}
