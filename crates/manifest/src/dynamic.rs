//! Versions that hatchling, pdm-backend, flit and poetry-core find by themselves, where they find them in a file.
//! What comes from a program, a repository or the environment stays unknown.

use std::sync::Arc;

use reana_model::Origin;
use ruff_python_ast::{Expr, Mod, Stmt};
use ruff_python_parser::{Mode, ParseOptions, parse_unchecked};
use ruff_text_size::Ranged as _;
use toml_edit::{Document, Item, TableLike};

use crate::pyproject::PyProject;
use crate::reading::{Reading, line_at};
use crate::setup_py::{SOURCE_STACK, check_source, python_pattern};
use crate::{Fact, Text, Unknown};

/// `[tool.hatch.version]` or `[tool.pdm.version]`: where the version is.
#[derive(Clone, Debug)]
pub(crate) struct VersionTable {
    pub(crate) origin: Origin,
    source: Option<String>,
    path: Option<String>,
    pattern: Option<String>,
}

impl VersionTable {
    /// Reads the table of either.
    pub(crate) fn of(item: &Item, origin: Origin) -> Option<Self> {
        let table: &dyn TableLike = item.as_table_like()?;
        let text = |key: &str| table.get(key).and_then(Item::as_str).map(str::to_owned);
        // pdm had `from` before it had `source`.
        let from = text("from");
        let source = text("source").or_else(|| from.as_ref().map(|_| "file".to_owned()));
        Some(Self { origin, source, path: text("path").or(from), pattern: text("pattern") })
    }
}

/// hatchling's pattern where none is given, and pdm-backend's only one.
const HATCH: &str = r#"(?i)^(__version__|VERSION)(?: ?\: ?str)? *= *(['"])v?(?P<version>.+?)\2"#;
const PDM: &str = r#"^__version__\s*=\s*["'](?P<version>.+?)["']\s*(?:#.*)?$"#;

/// The flag that has `^` and `$` stand at each line.
const MULTILINE: i64 = 8;

/// The version of a project whose backend, not setuptools, finds it; `None` where nothing is known of how.
pub(crate) fn version(
    reading: &mut Reading<'_>,
    pyproject: &PyProject,
    backend: &str,
) -> Option<Fact<Option<Text>>> {
    if pyproject.backend_path.is_some() {
        return None;
    }
    let found = match backend.split(['.', ':']).next().unwrap_or_default() {
        "hatchling" => hatch(reading, pyproject)?,
        "pdm" => pdm(reading, pyproject.pdm_version.as_ref()?),
        "flit" | "flit_core" => flit(reading, pyproject)?,
        "poetry" | "poetry_core" => Ok(pyproject.own_table.version.clone()?),
        _ => return None,
    };
    Some(found.map(Some))
}

fn unknown(origin: &Origin, expression: &str, reason: String, plug_in: bool) -> Unknown {
    Unknown { origin: origin.clone(), expression: expression.to_owned(), reason, plug_in }
}

fn hatch(reading: &mut Reading<'_>, pyproject: &PyProject) -> Option<Fact<Text>> {
    let table = match hatch_file(reading) {
        Ok(own) => own.or_else(|| pyproject.hatch_version.clone())?,
        Err(unknown) => return Some(Err(unknown)),
    };
    let reason = match table.source.as_deref() {
        None | Some("regex") => {
            return Some(by_pattern(reading, &table, table.pattern.as_deref().unwrap_or(HATCH)));
        }
        Some("code") => "hatchling runs a module for it".to_owned(),
        Some("env") => "hatchling takes it from the environment".to_owned(),
        Some(other) => format!("a plug-in of hatchling, `{other}`, decides it"),
    };
    Some(Err(unknown(&table.origin, "tool.hatch.version", reason, true)))
}

/// The table of a `hatch.toml`, which goes before pyproject.toml's.
fn hatch_file(reading: &mut Reading<'_>) -> Fact<Option<VersionTable>> {
    let origin = Origin::whole(reading.shown("hatch.toml"));
    let refused = |reason: String| unknown(&origin, "hatch.toml", reason, false);
    let Some(text) = reading.text("hatch.toml").map_err(|problem| refused(problem.to_string()))? else {
        return Ok(None);
    };
    let document = Document::parse(text.as_str()).map_err(|error| refused(error.message().to_owned()))?;
    let Some(item) = document.get("version") else { return Ok(None) };
    let line = item.span().map_or(0, |span| line_at(&text, span.start));
    Ok(VersionTable::of(item, Origin::new(origin.file.clone(), line)))
}

fn pdm(reading: &mut Reading<'_>, table: &VersionTable) -> Fact<Text> {
    let reason = match table.source.as_deref() {
        Some("file") => return by_pattern(reading, table, PDM),
        Some("scm") => "pdm-backend takes it from the repository's tags".to_owned(),
        Some("call") => "pdm-backend calls a function for it".to_owned(),
        Some(other) => format!("pdm-backend has no source `{other}`"),
        None => "pdm-backend is not told its source".to_owned(),
    };
    Err(unknown(&table.origin, "tool.pdm.version", reason, true))
}

/// The group `version` of a pattern's first match in a file.
fn by_pattern(reading: &mut Reading<'_>, table: &VersionTable, pattern: &str) -> Fact<Text> {
    let refused = |reason: &str| unknown(&table.origin, "dynamic: version", reason.to_owned(), false);
    let path = table.path.as_deref().ok_or_else(|| refused("the table has no `path`"))?;
    let text = reading.text(path).map_err(|problem| refused(&problem.to_string()))?;
    let text = text.ok_or_else(|| refused(&format!("there is no file `{path}`")))?;
    // Python reads text with its line ends made one kind.
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    let regex = python_pattern(pattern, MULTILINE).ok_or_else(|| refused("its pattern is not understood"))?;
    let found = regex.captures(&text).map_err(|_| refused("its pattern tries too much"))?;
    let found = found.ok_or_else(|| refused(&format!("its pattern finds nothing in `{path}`")))?;
    let version = found.name("version").ok_or_else(|| refused("its pattern has no group `version`"))?;
    let origin = Origin::new(reading.shown(path), line_at(&text, version.start()));
    Ok(Text { value: version.as_str().to_owned(), origin })
}

/// `__version__` of flit's module: of the last of its files that assigns a plain string to it.
fn flit(reading: &mut Reading<'_>, pyproject: &PyProject) -> Option<Fact<Text>> {
    let named = pyproject.project.as_ref().and_then(|project| project.name.clone());
    let module = match &pyproject.flit_module {
        Some(module) => module.clone(),
        None => named.map(|name| Text { value: name.value.replace('-', "_"), ..name })?,
    };
    let refused = |reason: String| unknown(&module.origin, "dynamic: version", reason, false);
    let path = module.value.replace('.', "/");
    let places = [path.clone(), format!("{path}.py"), format!("src/{path}"), format!("src/{path}.py")];
    let is_there = |place: &&String| {
        let file = if place.ends_with(".py") { (*place).clone() } else { format!("{place}/__init__.py") };
        reading.files.exists(&file)
    };
    let there: Vec<&String> = places.iter().filter(is_there).collect();
    let [place] = there[..] else {
        let count = if there.is_empty() { "no" } else { "more than one" };
        return Some(Err(refused(format!("there is {count} module `{}`", module.value))));
    };
    let files = if place.ends_with(".py") {
        vec![place.clone()]
    } else {
        ["__init__", "version", "_version", "__version__"].map(|it| format!("{place}/{it}.py")).to_vec()
    };
    for file in files {
        match reading.text(&file) {
            Err(problem) => return Some(Err(refused(problem.to_string()))),
            Ok(None) => {}
            Ok(Some(text)) => match assigned(&text, &reading.shown(&file)) {
                Ok(None) => {}
                Ok(Some(text)) => return Some(Ok(text)),
                Err(unknown) => return Some(Err(unknown)),
            },
        }
    }
    let reason = format!("`{}` assigns no plain string to `__version__`", module.value);
    Some(Err(refused(reason)))
}

/// The first plain string that a module's top assigns to `__version__`.
fn assigned(text: &str, file: &Arc<str>) -> Fact<Option<Text>> {
    let refused =
        |line: u32, reason: String| unknown(&Origin::new(file.clone(), line), "__version__", reason, false);
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(SOURCE_STACK);
        let handle = thread.spawn_scoped(scope, || {
            let bare = text.trim_start_matches('\u{feff}');
            check_source(bare).map_err(|unknown| refused(unknown.origin.line, unknown.reason))?;
            let parsed = parse_unchecked(bare, ParseOptions::from(Mode::Module));
            if let Some(error) = parsed.errors().first() {
                return Err(refused(
                    line_at(bare, error.location.start().to_usize()),
                    error.error.to_string(),
                ));
            }
            let Mod::Module(module) = parsed.syntax() else { return Ok(None) };
            let found = module.body.iter().find_map(|statement| {
                let Stmt::Assign(assignment) = statement else { return None };
                let is_it =
                    |target: &Expr| matches!(target, Expr::Name(name) if name.id.as_str() == "__version__");
                let Expr::StringLiteral(literal) = assignment.value.as_ref() else { return None };
                let line = line_at(bare, literal.range().start().to_usize());
                let origin = Origin::new(file.clone(), line);
                let value = literal.value.to_str().to_owned();
                assignment.targets.iter().any(is_it).then_some(Text { value, origin })
            });
            Ok(found)
        });
        match handle {
            Ok(handle) => handle.join().unwrap_or_else(|_| Err(refused(0, "the parser failed".to_owned()))),
            Err(error) => Err(refused(0, format!("no thread can be started: {error}"))),
        }
    })
}
