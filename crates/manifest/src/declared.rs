//! What a project declares, by setuptools' own rules of which file wins.
//!
//! - A `[project]` table decides alone. What it neither says nor calls dynamic is not declared, whatever
//!   setup.py or setup.cfg say. What it calls dynamic comes from `[tool.setuptools.dynamic]`, else from them.
//! - Without that table: what setup.py gives to `setup()`, if it is not empty, else setup.cfg.
//! - Another build backend than setuptools decides what is dynamic itself: that is unknown here.

use indexmap::IndexMap;
use reana_model::{ExtraName, Origin, Target};

use crate::pyproject::{self, Directive, From, Project, PyProject};
use crate::reading::Reading;
use crate::setup_cfg::{self, Partial, included, requirement_lines};
use crate::setup_py::{self, Consulted};
use crate::{Fact, Files, Problem, ProblemKind, Text, Unknown, attr, dynamic};

/// What a project declares. Texts are as declared: neither normalised nor validated.
#[derive(Clone, Debug)]
pub struct Declared {
    /// Its name.
    pub name: Fact<Option<Text>>,
    /// Its version.
    pub version: Fact<Option<Text>>,
    /// The Pythons that it is for: version specifiers (PEP 440).
    pub python_requires: Fact<Option<Text>>,
    /// What it requires (PEP 508).
    pub install_requires: Fact<Vec<Text>>,
    /// What its extras require. Keys are as declared, markers included: `test:python_version<'3.8'`.
    pub extras_require: Fact<IndexMap<String, Vec<Text>>>,
    /// The manifests that decide, as messages call them.
    pub files: Vec<String>,
    /// All files that are known to have been read, as messages call them. (What setup.py opens is not told.)
    pub read: Vec<String>,
    /// What of the target was looked at: for another one that differs in nothing else, all this is the same.
    pub consulted: Consulted,
    /// What the author should know.
    pub notes: Vec<Problem>,
}

impl Declared {
    /// The extras that it offers, in their order, each once.
    pub fn extra_names(&self) -> Vec<ExtraName> {
        let mut names = Vec::new();
        for key in self.extras_require.iter().flat_map(IndexMap::keys) {
            if let Some(name) = crate::extras::extra_of(key)
                && !names.contains(&name)
            {
                names.push(name);
            }
        }
        names
    }
}

/// Reads what a project declares for a target. `prefix` is the project's folder as messages are to call it
/// (`components/reana-server`; empty for the current one).
///
/// # Errors
/// When a manifest can't be read or is malformed. What can't be *known* is no error here, but a fact.
pub fn read_project(files: &dyn Files, prefix: &str, target: &Target) -> Result<Declared, Problem> {
    let mut reading = Reading::new(files, prefix);
    let pyproject = pyproject::read(&mut reading)?.unwrap_or_default();
    let mut declared = match foreign_backend(&pyproject) {
        Some(backend) => foreign(&mut reading, &pyproject, &backend),
        None => setuptools(&mut reading, &pyproject, target)?,
    };
    for file in reading.consulted {
        if !declared.read.contains(&file) {
            declared.read.push(file);
        }
    }
    Ok(declared)
}

/// The build backend, where it is another one than setuptools.
fn foreign_backend(pyproject: &PyProject) -> Option<Text> {
    let backend = pyproject.backend.clone()?;
    let module = backend.value.split(':').next().unwrap_or_default();
    let known = matches!(module, "setuptools.build_meta" | "setuptools.build_meta.__legacy__");
    (!known || pyproject.backend_path.is_some()).then_some(backend)
}

fn foreign(reading: &mut Reading<'_>, pyproject: &PyProject, backend: &Text) -> Declared {
    let unknown = |origin: &Origin, expression: String| Unknown {
        origin: origin.clone(),
        expression,
        reason: format!("the build backend `{}` decides it", backend.value),
        plug_in: true,
    };
    let files = vec![reading.shown("pyproject.toml").to_string()];
    let Some(project) = &pyproject.project else {
        let whole = || unknown(&backend.origin, format!("build-backend = \"{}\"", backend.value));
        let pyproject::OwnTable { name, version, requires } = pyproject.own_table.clone();
        let module = backend.value.split(['.', ':']).next().unwrap_or_default();
        let is_its = matches!(module, "poetry" | "poetry_core" | "flit" | "flit_core");
        let own = requires.filter(|_| is_its && pyproject.backend_path.is_none());
        let own = own.unwrap_or_else(|| pyproject::OwnRequires {
            python: Err(whole()),
            requires: Err(whole()),
            extras: Err(whole()),
        });
        let version = match version {
            Some(version) => Ok(Some(version)),
            None if is_its => {
                dynamic::version(reading, pyproject, &backend.value).unwrap_or_else(|| Err(whole()))
            }
            None => Err(whole()),
        };
        return Declared {
            name: name.map_or_else(|| Err(whole()), |name| Ok(Some(name))),
            version,
            python_requires: own.python,
            install_requires: own.requires,
            extras_require: own.extras,
            files,
            read: Vec::new(),
            consulted: Consulted::default(),
            notes: Vec::new(),
        };
    };
    let dynamic =
        |field: &str| project.dynamic(field).map(|origin| unknown(origin, format!("dynamic: {field}")));
    Declared {
        name: Ok(project.name.clone()),
        version: match dynamic("version") {
            None => Ok(project.version.clone()),
            Some(unknown) => dynamic::version(reading, pyproject, &backend.value).unwrap_or(Err(unknown)),
        },
        python_requires: dynamic("requires-python").map_or(Ok(project.requires_python.clone()), Err),
        install_requires: dynamic("dependencies")
            .map_or_else(|| Ok(project.dependencies.clone().unwrap_or_default()), Err),
        extras_require: dynamic("optional-dependencies")
            .map_or_else(|| Ok(project.optional_dependencies.clone().unwrap_or_default()), Err),
        files,
        read: Vec::new(),
        consulted: Consulted::default(),
        notes: Vec::new(),
    }
}

fn setuptools(
    reading: &mut Reading<'_>,
    pyproject: &PyProject,
    target: &Target,
) -> Result<Declared, Problem> {
    let Some(project) = &pyproject.project else {
        let base = Base::read(reading, target)?;
        if base.files.is_empty() {
            let has_own_table = pyproject.own_table.name.is_some() || pyproject.own_table.requires.is_some();
            let folder = Some(reading.shown("")).filter(|folder| !folder.is_empty());
            let origin = Origin::whole(folder.unwrap_or_else(|| ".".into()));
            return Err(Problem::new(origin, ProblemKind::NoManifest { has_own_table }));
        }
        return Ok(base.declared());
    };
    let undecided = |field: &str| project.dynamic(field).is_some() && !pyproject.dynamic.contains_key(field);
    let needs_base = undecided("version")
        || undecided("dependencies")
        || project.dynamic("requires-python").is_some()
        || (project.dynamic("optional-dependencies").is_some() && pyproject.dynamic_extras.is_none());
    let base = if needs_base { Base::read(reading, target)? } else { Base::default() };
    let mut files = vec![reading.shown("pyproject.toml").to_string()];
    files.extend(base.files.iter().cloned());
    let found = base.partial;
    Ok(Declared {
        name: Ok(project.name.clone()),
        version: dynamic_version(reading, pyproject, project, found.version),
        python_requires: match project.dynamic("requires-python") {
            None => Ok(project.requires_python.clone()),
            Some(origin) => set_before(found.python_requires, origin, "requires-python").map(Some),
        },
        install_requires: dynamic_dependencies(reading, pyproject, project, found.install_requires),
        extras_require: dynamic_extras(reading, pyproject, project, found.extras_require),
        files,
        read: base.read,
        consulted: base.consulted,
        notes: base.notes,
    })
}

/// What setup.py and setup.cfg say together.
#[derive(Default)]
struct Base {
    partial: Partial,
    files: Vec<String>,
    read: Vec<String>,
    consulted: Consulted,
    notes: Vec<Problem>,
}

impl Base {
    fn read(reading: &mut Reading<'_>, target: &Target) -> Result<Self, Problem> {
        let mut base = Self::default();
        if reading.files.exists("setup.py") {
            let shown = reading.shown("setup.py");
            base.files.push(shown.to_string());
            base.partial = match setup_py::evaluate(reading.files, "setup.py", &shown, target) {
                Ok(call) => base.of_call(call),
                Err(unknown) => Partial {
                    name: Err(unknown.clone()),
                    version: Err(unknown.clone()),
                    python_requires: Err(unknown.clone()),
                    install_requires: Err(unknown.clone()),
                    extras_require: Err(unknown),
                },
            };
            base.read.push(shown.to_string());
        }
        if let Some(cfg) = setup_cfg::read(reading)? {
            base.files.push(reading.shown("setup.cfg").to_string());
            base.partial = over(base.partial, cfg);
        }
        Ok(base)
    }

    fn of_call(&mut self, call: setup_py::SetupCall) -> Partial {
        self.consulted = call.consulted;
        let notes =
            call.notes.into_iter().map(|note| Problem::new(note.origin, ProblemKind::Note(note.text)));
        self.notes.extend(notes);
        Partial {
            name: call.name,
            version: call.version,
            python_requires: call.python_requires,
            install_requires: call.install_requires,
            extras_require: call.extras_require,
        }
    }

    fn declared(self) -> Declared {
        let Partial { name, version, python_requires, install_requires, extras_require } = self.partial;
        Declared {
            name,
            version,
            python_requires,
            install_requires: install_requires.map(Option::unwrap_or_default),
            extras_require: extras_require.map(Option::unwrap_or_default),
            files: self.files,
            read: self.read,
            consulted: self.consulted,
            notes: self.notes,
        }
    }
}

/// setup.py's values where they are not empty, else setup.cfg's. What is unknown may well not be empty.
fn over(call: Partial, cfg: Partial) -> Partial {
    let text = |call: Fact<Option<Text>>, cfg: Fact<Option<Text>>| match call {
        Ok(value) => value.filter(|text| !text.value.is_empty()).map_or(cfg, |text| Ok(Some(text))),
        Err(unknown) => Err(unknown),
    };
    Partial {
        name: text(call.name, cfg.name),
        version: text(call.version, cfg.version),
        python_requires: text(call.python_requires, cfg.python_requires),
        install_requires: match call.install_requires {
            Ok(value) => {
                value.filter(|list| !list.is_empty()).map_or(cfg.install_requires, |list| Ok(Some(list)))
            }
            Err(unknown) => Err(unknown),
        },
        extras_require: match call.extras_require {
            Ok(value) => value
                .filter(|extras| !extras.is_empty())
                .map_or(cfg.extras_require, |extras| Ok(Some(extras))),
            Err(unknown) => Err(unknown),
        },
    }
}

/// A dynamic field that no directive gives must be set by setup.py or setup.cfg; else a plug-in sets it.
fn set_before<T>(base: Fact<Option<T>>, origin: &Origin, field: &str) -> Fact<T> {
    base?.ok_or_else(|| Unknown {
        origin: origin.clone(),
        expression: format!("dynamic: {field}"),
        reason: "no file of the project sets it; a plug-in of the build may".to_owned(),
        plug_in: true,
    })
}

fn dynamic_version(
    reading: &mut Reading<'_>,
    pyproject: &PyProject,
    project: &Project,
    base: Fact<Option<Text>>,
) -> Fact<Option<Text>> {
    let Some(origin) = project.dynamic("version") else { return Ok(project.version.clone()) };
    let Some(directive) = pyproject.dynamic.get("version") else {
        return set_before(base, origin, "version").map(Some);
    };
    match &directive.from {
        From::Attribute(name) => {
            attr::read(reading, name, &pyproject.package_dir, &directive.origin).map(Some)
        }
        From::Files(_) => {
            let lines = directive_lines(reading, directive, "version")?;
            let text = lines.iter().map(|(_, line)| line.as_str()).collect::<Vec<_>>().join("\n");
            let origin = lines.first().map_or(&directive.origin, |(origin, _)| origin);
            Ok(Some(Text { value: text.trim().to_owned(), origin: origin.clone() }))
        }
    }
}

fn dynamic_dependencies(
    reading: &mut Reading<'_>,
    pyproject: &PyProject,
    project: &Project,
    base: Fact<Option<Vec<Text>>>,
) -> Fact<Vec<Text>> {
    let Some(origin) = project.dynamic("dependencies") else {
        return Ok(project.dependencies.clone().unwrap_or_default());
    };
    match pyproject.dynamic.get("dependencies") {
        None => set_before(base, origin, "dependencies"),
        Some(directive) => directive_lines(reading, directive, "dependencies").map(requirement_lines),
    }
}

fn dynamic_extras(
    reading: &mut Reading<'_>,
    pyproject: &PyProject,
    project: &Project,
    base: Fact<Option<IndexMap<String, Vec<Text>>>>,
) -> Fact<IndexMap<String, Vec<Text>>> {
    let Some(origin) = project.dynamic("optional-dependencies") else {
        return Ok(project.optional_dependencies.clone().unwrap_or_default());
    };
    let Some(directives) = &pyproject.dynamic_extras else {
        return set_before(base, origin, "optional-dependencies");
    };
    let mut extras = IndexMap::new();
    for (extra, directive) in directives {
        let lines = directive_lines(reading, directive, &format!("optional-dependencies.{extra}"))?;
        extras.insert(extra.clone(), requirement_lines(lines));
    }
    Ok(extras)
}

fn directive_lines(
    reading: &mut Reading<'_>,
    directive: &Directive,
    field: &str,
) -> Fact<Vec<(Origin, String)>> {
    match &directive.from {
        From::Files(paths) => {
            let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
            included(reading, &paths, &directive.origin)
        }
        From::Attribute(name) => Err(Unknown {
            origin: directive.origin.clone(),
            expression: format!("attr: {name}"),
            reason: format!("`{field}` comes from a module"),
            plug_in: false,
        }),
    }
}
