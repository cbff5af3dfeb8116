//! setup.cfg: setuptools' declarative configuration.

use indexmap::IndexMap;
use reana_model::Origin;

use crate::ini::{Ini, IniValue, interpolated};
use crate::reading::Reading;
use crate::{Fact, Problem, ProblemKind, Text, Unknown, attr};

/// What a file declares of a project; `None` where it says nothing.
#[derive(Clone, Debug)]
pub(crate) struct Partial {
    pub(crate) name: Fact<Option<Text>>,
    pub(crate) version: Fact<Option<Text>>,
    pub(crate) python_requires: Fact<Option<Text>>,
    pub(crate) install_requires: Fact<Option<Vec<Text>>>,
    pub(crate) extras_require: Fact<Option<IndexMap<String, Vec<Text>>>>,
}

impl Default for Partial {
    fn default() -> Self {
        Self {
            name: Ok(None),
            version: Ok(None),
            python_requires: Ok(None),
            install_requires: Ok(None),
            extras_require: Ok(None),
        }
    }
}

/// Reads setup.cfg, if it is there and says something of the project (many hold only settings of tools).
pub(crate) fn read(reading: &mut Reading<'_>) -> Result<Option<Partial>, Problem> {
    let Some(text) = reading.text("setup.cfg")? else { return Ok(None) };
    let file = reading.shown("setup.cfg");
    let ini = Ini::parse(&text).map_err(|error| {
        Problem::new(Origin::new(file.clone(), error.line), ProblemKind::Ini(error.reason))
    })?;
    if !["metadata", "options", "options.extras_require"].iter().any(|name| ini.section(name).is_some()) {
        return Ok(None);
    }
    let mut reader = Reader { reading, ini };
    let extras_require = reader.extras();
    Ok(Some(Partial {
        name: reader.text("metadata", "name"),
        version: reader.version(),
        python_requires: reader.text("options", "python_requires"),
        install_requires: reader.list("options", "install_requires"),
        extras_require,
    }))
}

/// `[options] setup_requires`, if setup.cfg is there.
pub(crate) fn setup_requires(reading: &mut Reading<'_>) -> Result<Fact<Option<Vec<Text>>>, Problem> {
    let Some(text) = reading.text("setup.cfg")? else { return Ok(Ok(None)) };
    let file = reading.shown("setup.cfg");
    let ini = Ini::parse(&text)
        .map_err(|error| Problem::new(Origin::new(file, error.line), ProblemKind::Ini(error.reason)))?;
    Ok(Reader { reading, ini }.list("options", "setup_requires"))
}

struct Reader<'r, 'f> {
    reading: &'r mut Reading<'f>,
    ini: Ini,
}

impl Reader<'_, '_> {
    fn origin(&self, line: u32) -> Origin {
        Origin::new(self.reading.shown("setup.cfg"), line)
    }

    /// A value by its key, which may be written with dashes and in capitals.
    fn value(&self, section: &str, key: &str) -> Fact<Option<IniValue>> {
        let values = self.ini.section(section).into_iter().flatten();
        let found = values.rev().find(|(found, _)| found.replace('-', "_").to_lowercase() == key);
        let Some((_, value)) = found else { return Ok(None) };
        self.put_in(section, key, value).map(Some)
    }

    fn put_in(&self, section: &str, key: &str, value: &IniValue) -> Fact<IniValue> {
        interpolated(&self.ini, section, value).map_err(|error| Unknown {
            origin: self.origin(error.line),
            expression: format!("[{section}] {key}"),
            reason: error.reason,
            plug_in: false,
        })
    }

    fn text(&self, section: &str, key: &str) -> Fact<Option<Text>> {
        let value = self.value(section, key)?;
        let text = value
            .map(|value| Text { value: value.text().trim().to_owned(), origin: self.origin(value.line) });
        Ok(text.filter(|text| !text.value.is_empty()))
    }

    fn version(&mut self) -> Fact<Option<Text>> {
        let Some(text) = self.text("metadata", "version")? else { return Ok(None) };
        if let Some(attribute) = text.value.strip_prefix("attr:") {
            let package_dir = self.package_dir()?;
            return attr::read(self.reading, attribute.trim(), &package_dir, &text.origin).map(Some);
        }
        if let Some(paths) = text.value.strip_prefix("file:") {
            let paths: Vec<&str> = paths.split(',').map(str::trim).collect();
            let lines = included(self.reading, &paths, &text.origin)?;
            let value =
                lines.iter().map(|(_, line)| line.as_str()).collect::<Vec<_>>().join("\n").trim().to_owned();
            let origin = lines.first().map_or(text.origin, |(origin, _)| origin.clone());
            return Ok(Some(Text { value, origin }));
        }
        Ok(Some(text))
    }

    fn package_dir(&self) -> Fact<IndexMap<String, String>> {
        let Some(value) = self.value("options", "package_dir")? else { return Ok(IndexMap::new()) };
        let text = value.text();
        let pairs = text.split(['\n', ',']).filter_map(|item| item.split_once('='));
        Ok(pairs.map(|(key, value)| (key.trim().to_owned(), value.trim().to_owned())).collect())
    }

    fn list(&mut self, section: &str, key: &str) -> Fact<Option<Vec<Text>>> {
        let Some(value) = self.value(section, key)? else { return Ok(None) };
        self.requirements(&value).map(Some)
    }

    fn extras(&mut self) -> Fact<Option<IndexMap<String, Vec<Text>>>> {
        let Some(section) = self.ini.section("options.extras_require").cloned() else { return Ok(None) };
        let mut extras = IndexMap::new();
        for (key, value) in &section {
            let value = self.put_in("options.extras_require", key, value)?;
            extras.insert(key.clone(), self.requirements(&value)?);
        }
        Ok(Some(extras))
    }

    /// A list of requirements: by lines, or where there is one line alone, by semicolons; or from files.
    fn requirements(&mut self, value: &IniValue) -> Fact<Vec<Text>> {
        let lines: Vec<(Origin, String)> = match value.text().strip_prefix("file:") {
            Some(paths) => {
                let paths: Vec<&str> = paths.split(',').map(str::trim).collect();
                included(self.reading, &paths, &self.origin(value.line))?
            }
            None => value.lines().iter().map(|(line, text)| (self.origin(*line), text.clone())).collect(),
        };
        Ok(match &lines[..] {
            [(origin, only)] => {
                let parts = only.split(';').map(|part| (origin.clone(), part.to_owned()));
                requirement_lines(parts)
            }
            _ => requirement_lines(lines),
        })
    }
}

/// The lines of files that a manifest includes. One that is not there leaves the value unknown.
pub(crate) fn included(
    reading: &mut Reading<'_>,
    paths: &[&str],
    origin: &Origin,
) -> Fact<Vec<(Origin, String)>> {
    let mut lines = Vec::new();
    for path in paths {
        let unknown = |reason: String| Unknown {
            origin: origin.clone(),
            expression: format!("file: {path}"),
            reason,
            plug_in: false,
        };
        let text = reading.text(path).map_err(|problem| unknown(problem.to_string()))?;
        let text = text.ok_or_else(|| unknown("there is no such file".to_owned()))?;
        let file = reading.shown(path);
        let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
        // the empty rest behind the last line end tells one line from a text without any
        let numbered = (1..).zip(text.split('\n'));
        lines.extend(numbered.map(|(line, text)| (Origin::new(file.clone(), line), text.to_owned())));
    }
    Ok(lines)
}

/// Lines to requirements, as setuptools reads them: comments and empty lines dropped, continuations joined.
pub(crate) fn requirement_lines(lines: impl IntoIterator<Item = (Origin, String)>) -> Vec<Text> {
    let mut found: Vec<Text> = Vec::new();
    let mut open: Option<Text> = None;
    for (origin, line) in lines {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let line = line.split_once(" #").map_or(line, |(before, _)| before.trim_end());
        let mut text = open.take().unwrap_or(Text { value: String::new(), origin });
        match line.strip_suffix('\\') {
            Some(start) => {
                text.value.push_str(start);
                open = Some(text);
            }
            None => {
                text.value.push_str(line);
                found.push(text);
            }
        }
    }
    found.extend(open);
    found
}
