//! pyproject.toml: the `[project]` table (PEP 621), the build backend (PEP 517), and what setuptools reads
//! for fields that are dynamic.

use std::ops::Range;
use std::sync::Arc;

use indexmap::IndexMap;
use reana_model::Origin;
use toml_edit::{Document, Item, TableLike};

use crate::dynamic::VersionTable;
use crate::reading::{Reading, line_at};
use crate::{Fact, Problem, ProblemKind, Text, flit, poetry};

/// What pyproject.toml says, as far as it matters here.
#[derive(Clone, Debug, Default)]
pub(crate) struct PyProject {
    /// The `[project]` table.
    pub(crate) project: Option<Project>,
    /// `build-system.build-backend`.
    pub(crate) backend: Option<Text>,
    /// `build-system.backend-path`: the backend is a file of the project itself.
    pub(crate) backend_path: Option<Origin>,
    /// Where `[build-system]` stands, and its `requires`.
    pub(crate) build: Option<(Origin, Option<Vec<Text>>)>,
    /// `dependencies` of hatchling's build hooks and targets, which it asks for beside `requires`.
    pub(crate) hatch_dependencies: Vec<Text>,
    /// `[tool.hatch.version]`.
    pub(crate) hatch_version: Option<VersionTable>,
    /// `[tool.pdm.version]`.
    pub(crate) pdm_version: Option<VersionTable>,
    /// The module that flit takes the version from, where its name is given.
    pub(crate) flit_module: Option<Text>,
    /// Name and version in poetry's or flit's own table, where there is no `[project]`.
    pub(crate) own_table: OwnTable,
    /// `[tool.setuptools.dynamic]`: fields and where their values are.
    pub(crate) dynamic: IndexMap<String, Directive>,
    /// The same for each extra.
    pub(crate) dynamic_extras: Option<IndexMap<String, Directive>>,
    /// `[tool.setuptools] package-dir`.
    pub(crate) package_dir: IndexMap<String, String>,
}

/// What poetry's or flit's own table says.
#[derive(Clone, Debug, Default)]
pub(crate) struct OwnTable {
    pub(crate) name: Option<Text>,
    pub(crate) version: Option<Text>,
    /// What it requires, where that was understood.
    pub(crate) requires: Option<OwnRequires>,
}

/// Requirements of poetry's or flit's own table.
#[derive(Clone, Debug)]
pub(crate) struct OwnRequires {
    pub(crate) python: Fact<Option<Text>>,
    pub(crate) requires: Fact<Vec<Text>>,
    pub(crate) extras: Fact<IndexMap<String, Vec<Text>>>,
}

/// The `[project]` table.
#[derive(Clone, Debug)]
pub(crate) struct Project {
    pub(crate) name: Option<Text>,
    pub(crate) version: Option<Text>,
    pub(crate) requires_python: Option<Text>,
    pub(crate) dependencies: Option<Vec<Text>>,
    pub(crate) optional_dependencies: Option<IndexMap<String, Vec<Text>>>,
    pub(crate) dynamic: Vec<Text>,
}

impl Project {
    /// Where a field is said to be dynamic.
    pub(crate) fn dynamic(&self, field: &str) -> Option<&Origin> {
        self.dynamic.iter().find(|text| text.value == field).map(|text| &text.origin)
    }
}

/// Where setuptools finds a dynamic field's value.
#[derive(Clone, Debug)]
pub(crate) struct Directive {
    pub(crate) origin: Origin,
    pub(crate) from: From,
}

/// The forms of a directive.
#[derive(Clone, Debug)]
pub(crate) enum From {
    Files(Vec<String>),
    Attribute(String),
}

/// Reads pyproject.toml, if it is there.
pub(crate) fn read(reading: &mut Reading<'_>) -> Result<Option<PyProject>, Problem> {
    let Some(text) = reading.text("pyproject.toml")? else { return Ok(None) };
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    let file = reading.shown("pyproject.toml");
    let document = Document::parse(text).map_err(|error| {
        let line = error.span().map_or(0, |span| line_at(text, span.start));
        let reason = error.message().lines().next().unwrap_or_default().to_owned();
        Problem::new(Origin::new(file.clone(), line), ProblemKind::Toml(reason))
    })?;
    let reader = Reader { text, file };
    reader.document(document.as_table()).map(Some)
}

struct Reader<'t> {
    text: &'t str,
    file: Arc<str>,
}

impl Reader<'_> {
    fn origin(&self, span: Option<Range<usize>>) -> Origin {
        Origin::new(self.file.clone(), span.map_or(0, |span| line_at(self.text, span.start)))
    }

    fn wrong(&self, item: &Item, key: &str, expected: &'static str) -> Problem {
        Problem::new(self.origin(item.span()), ProblemKind::WrongType { key: key.to_owned(), expected })
    }

    fn document(&self, root: &dyn TableLike) -> Result<PyProject, Problem> {
        let mut found = PyProject::default();
        if let Some(build) = self.table(root, "build-system", "build-system")? {
            found.backend = self.string(build, "build-backend", "build-system.build-backend")?;
            found.backend_path = build.get("backend-path").map(|item| self.origin(item.span()));
            let requires = build.get("requires").map(|item| self.strings(item, "build-system.requires"));
            let place = root.get("build-system").and_then(Item::span);
            found.build = Some((self.origin(place), requires.transpose()?));
        }
        if let Some(item) = root.get("project") {
            let table = item.as_table_like().ok_or_else(|| self.wrong(item, "project", "a table"))?;
            found.project = Some(self.project(table)?);
        }
        let Some(tool) = self.table(root, "tool", "tool")? else { return Ok(found) };
        found.own_table = self.own_table(tool)?;
        let version = |table: &dyn TableLike| {
            let item = table.get("version")?;
            VersionTable::of(item, self.origin(item.span()))
        };
        if let Some(hatch) = self.table(tool, "hatch", "tool.hatch")? {
            found.hatch_version = version(hatch);
            if let Some(build) = self.table(hatch, "build", "tool.hatch.build")? {
                self.hatch_dependencies(build, &mut found.hatch_dependencies)?;
            }
        }
        found.pdm_version = tool.get("pdm").and_then(Item::as_table_like).and_then(version);
        let flit = tool.get("flit").and_then(Item::as_table_like);
        let inner = |table: &str| flit.and_then(|flit| flit.get(table)).and_then(Item::as_table_like);
        for (table, key) in [("module", "name"), ("metadata", "module")] {
            if let (None, Some(table)) = (&found.flit_module, inner(table)) {
                found.flit_module = self.string(table, key, "tool.flit: its module")?;
            }
        }
        if let Some(setuptools) = self.table(tool, "setuptools", "tool.setuptools")? {
            self.setuptools(setuptools, &mut found)?;
        }
        Ok(found)
    }

    fn project(&self, table: &dyn TableLike) -> Result<Project, Problem> {
        let extras = match self.table(table, "optional-dependencies", "project.optional-dependencies")? {
            None => None,
            Some(extras) => {
                let lists = extras.iter().map(|(name, item)| {
                    let key = format!("project.optional-dependencies.{name}");
                    Ok((name.to_owned(), self.strings(item, &key)?))
                });
                Some(lists.collect::<Result<IndexMap<_, _>, Problem>>()?)
            }
        };
        let list =
            |key: &str| table.get(key).map(|item| self.strings(item, &format!("project.{key}"))).transpose();
        Ok(Project {
            name: self.string(table, "name", "project.name")?,
            version: self.string(table, "version", "project.version")?,
            requires_python: self.string(table, "requires-python", "project.requires-python")?,
            dependencies: list("dependencies")?,
            optional_dependencies: extras,
            dynamic: list("dynamic")?.unwrap_or_default(),
        })
    }

    /// What `[tool.hatch.build]`, its hooks, and its targets with theirs depend on. That of the target `sdist` is
    /// taken too: one that is not needed does no harm.
    fn hatch_dependencies(&self, build: &dyn TableLike, found: &mut Vec<Text>) -> Result<(), Problem> {
        let inner = |table: &'_ dyn TableLike, name: &str| {
            let items = table.get(name).and_then(Item::as_table_like).into_iter().flat_map(TableLike::iter);
            items.map(|(_, item)| item.clone()).collect::<Vec<Item>>()
        };
        let mut tables = inner(build, "hooks");
        for target in inner(build, "targets") {
            tables.extend(target.as_table_like().map(|target| inner(target, "hooks")).into_iter().flatten());
            tables.push(target);
        }
        let listed = tables.iter().filter_map(Item::as_table_like).chain([build]);
        for item in listed.filter_map(|table| table.get("dependencies")) {
            found.extend(self.strings(item, "tool.hatch.build: dependencies")?);
        }
        Ok(())
    }

    fn own_table(&self, tool: &dyn TableLike) -> Result<OwnTable, Problem> {
        if let Some(poetry) = self.table(tool, "poetry", "tool.poetry")? {
            let name = self.string(poetry, "name", "tool.poetry.name")?;
            let version = self.string(poetry, "version", "tool.poetry.version")?;
            let place = |item: &Item| self.origin(item.span());
            let poetry::Poetry { python, requires, extras } = poetry::read(poetry, &place);
            return Ok(OwnTable { name, version, requires: Some(OwnRequires { python, requires, extras }) });
        }
        let Some(flit) = self.table(tool, "flit", "tool.flit")? else { return Ok(OwnTable::default()) };
        let Some(metadata) = self.table(flit, "metadata", "tool.flit.metadata")? else {
            return Ok(OwnTable::default());
        };
        let name = self.string(metadata, "dist-name", "tool.flit.metadata.dist-name")?;
        let module = self.string(metadata, "module", "tool.flit.metadata.module")?;
        let texts = |item: &Item| match item.as_str() {
            Some(value) => Some(vec![Text { value: value.to_owned(), origin: self.origin(item.span()) }]),
            None => self.strings(item, "tool.flit.metadata").ok(),
        };
        let requires = flit::read(metadata, &texts).map(|found| OwnRequires {
            python: Ok(found.python),
            requires: Ok(found.requires),
            extras: Ok(found.extras),
        });
        Ok(OwnTable { name: name.or(module), version: None, requires })
    }

    fn setuptools(&self, table: &dyn TableLike, found: &mut PyProject) -> Result<(), Problem> {
        if let Some(dirs) = self.table(table, "package-dir", "tool.setuptools.package-dir")? {
            for (package, item) in dirs.iter() {
                let path = item
                    .as_str()
                    .ok_or_else(|| self.wrong(item, "tool.setuptools.package-dir", "strings"))?;
                found.package_dir.insert(package.to_owned(), path.to_owned());
            }
        }
        let Some(dynamic) = self.table(table, "dynamic", "tool.setuptools.dynamic")? else { return Ok(()) };
        for (field, item) in dynamic.iter() {
            let key = format!("tool.setuptools.dynamic.{field}");
            let directive = item.as_table_like().ok_or_else(|| self.wrong(item, &key, "a table"))?;
            match field {
                "optional-dependencies" => {
                    let mut extras = IndexMap::new();
                    for (extra, item) in directive.iter() {
                        let key = format!("{key}.{extra}");
                        let table = item.as_table_like().ok_or_else(|| self.wrong(item, &key, "a table"))?;
                        extras.insert(extra.to_owned(), self.directive(item, table, &key)?);
                    }
                    found.dynamic_extras = Some(extras);
                }
                "version" | "dependencies" => {
                    found.dynamic.insert(field.to_owned(), self.directive(item, directive, &key)?);
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn directive(&self, item: &Item, table: &dyn TableLike, key: &str) -> Result<Directive, Problem> {
        let place = |inner: &Item| self.origin(inner.span().or_else(|| item.span()));
        if let Some(file) = table.get("file") {
            let files = match file.as_str() {
                Some(one) => vec![one.to_owned()],
                None => self.strings(file, key)?.into_iter().map(|text| text.value).collect(),
            };
            return Ok(Directive { origin: place(file), from: From::Files(files) });
        }
        match table.get("attr").and_then(|attr| Some((attr, attr.as_str()?))) {
            Some((attr, name)) => {
                Ok(Directive { origin: place(attr), from: From::Attribute(name.to_owned()) })
            }
            None => Err(self.wrong(item, key, "a table with `file` or `attr`")),
        }
    }

    fn table<'i>(
        &self,
        parent: &'i dyn TableLike,
        name: &str,
        key: &str,
    ) -> Result<Option<&'i dyn TableLike>, Problem> {
        let Some(item) = parent.get(name) else { return Ok(None) };
        item.as_table_like().map(Some).ok_or_else(|| self.wrong(item, key, "a table"))
    }

    fn string(&self, table: &dyn TableLike, name: &str, key: &str) -> Result<Option<Text>, Problem> {
        let Some(item) = table.get(name) else { return Ok(None) };
        let value = item.as_str().ok_or_else(|| self.wrong(item, key, "a string"))?;
        Ok(Some(Text { value: value.to_owned(), origin: self.origin(item.span()) }))
    }

    fn strings(&self, item: &Item, key: &str) -> Result<Vec<Text>, Problem> {
        let array = item.as_array().ok_or_else(|| self.wrong(item, key, "a list of strings"))?;
        let texts = array.iter().map(|value| {
            let text = value.as_str().ok_or_else(|| self.wrong(item, key, "a list of strings"))?;
            Ok(Text { value: text.to_owned(), origin: self.origin(value.span()) })
        });
        texts.collect()
    }
}
