//! What an sdist requires, without building it (DESIGN decision 5). Pure over the archive's bytes.
//!
//! The sources, best first: PKG-INFO that vouches for itself (PEP 643), a static pyproject.toml (PEP 621),
//! setup.py and setup.cfg evaluated to the end, and the egg-info where a plug-in decides. What none of them
//! tells is never guessed.

mod backend;
mod build;
mod evaluate;
mod requires_txt;

use reana_model::requirement::parse_specifiers_mended;
use reana_model::{Grade, Metadata, PackageName, Target, Version, VersionSpecifiers};

use crate::archive::ArchiveError;
use crate::archive::unpack::{Project, unpack};
use crate::wire::metadata::{CoreFields, parse_core};

pub use self::build::{BuildAnswer, BuildRequirements, build_answer, read_build_requirements};

use self::backend::Backend;
use self::evaluate::Evaluated;
use self::requires_txt::Requires;

/// Follows from the sources of reading (build.rs): what another reading concluded is worth nothing.
pub const EVALUATOR_VERSION: &str = env!("REANA_LOCK_EVALUATOR");

/// What could be learnt from an sdist.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SdistAnswer {
    /// What it requires.
    Known {
        /// Its metadata, with the grade of how it was come by.
        metadata: Metadata,
        /// Whether another Python could get another answer.
        consulted_python: bool,
        /// Whether another platform could get another answer.
        consulted_platform: bool,
        /// Whether nothing was evaluated: the answer holds for every target and every evaluator.
        is_static: bool,
    },
    /// It can be known only by building it; the reason says what stands in the way.
    Unreadable {
        /// What stands in the way, with file, line and expression where there is one.
        reason: String,
    },
    /// It is no sdist of this package.
    Invalid {
        /// What is wrong with it.
        reason: String,
    },
}

/// Why there is no metadata.
enum Refusal {
    Unreadable(String),
    Invalid(String),
}

/// An sdist, taken apart.
struct Sdist<'a> {
    project: Project,
    file_name: &'a str,
    package: &'a PackageName,
    version: &'a Version,
    pkg_info: Option<CoreFields>,
    backend: Backend,
}

/// Reads an sdist of `package` at `version` (both from its `file_name`) for a target.
pub fn read(
    bytes: &[u8],
    file_name: &str,
    package: &PackageName,
    version: &Version,
    target: &Target,
) -> SdistAnswer {
    match unpack(bytes, file_name) {
        Ok(project) => read_unpacked(project, file_name, package, version, target),
        Err(error @ ArchiveError::Unsupported(_)) => SdistAnswer::Unreadable { reason: error.to_string() },
        Err(error) => SdistAnswer::Invalid { reason: error.to_string() },
    }
}

/// Reads an unpacked sdist; `file_name` is what messages call it.
pub(crate) fn read_unpacked(
    project: Project,
    file_name: &str,
    package: &PackageName,
    version: &Version,
    target: &Target,
) -> SdistAnswer {
    let answer = open(project, file_name, package, version).and_then(|sdist| sdist.answer(target));
    answer.unwrap_or_else(|refusal| match refusal {
        Refusal::Unreadable(reason) => SdistAnswer::Unreadable { reason },
        Refusal::Invalid(reason) => SdistAnswer::Invalid { reason },
    })
}

fn open<'a>(
    project: Project,
    file_name: &'a str,
    package: &'a PackageName,
    version: &'a Version,
) -> Result<Sdist<'a>, Refusal> {
    // PKG-INFO that can't be understood says nothing; it is not needed for a build either.
    let pkg_info = project.bytes("PKG-INFO").and_then(|bytes| parse_core(bytes).ok());
    if let Some(name) = pkg_info.as_ref().map(|fields| &fields.name) {
        let same = PackageName::new(name.clone()).is_ok_and(|name| name == *package);
        if !same {
            return Err(Refusal::Invalid(format!("its PKG-INFO says that it is {name}, not {package}")));
        }
    }
    let backend = Backend::of(&project).map_err(Refusal::Invalid)?;
    Ok(Sdist { project, file_name, package, version, pkg_info, backend })
}

impl Sdist<'_> {
    fn answer(&self, target: &Target) -> Result<SdistAnswer, Refusal> {
        if let Some(fields) = self.pkg_info.as_ref().filter(|fields| vouches(fields)) {
            let requires = from_fields(fields, &self.place("PKG-INFO")).map_err(Refusal::Invalid)?;
            return Ok(self.known(requires, python_of(fields), Grade::Static));
        }
        if self.backend.is_told_all() {
            return match evaluate::read_pyproject(&self.project, self.file_name, target) {
                Evaluated::Known { requires, requires_python, .. } => {
                    Ok(self.known(requires, requires_python, Grade::Pyproject))
                }
                Evaluated::PlugIn(reason) | Evaluated::Failed(reason) => Err(Refusal::Unreadable(reason)),
            };
        }
        match &self.backend {
            Backend::None => Err(Refusal::Invalid("it has neither setup.py nor pyproject.toml".to_owned())),
            Backend::Foreign { name, writes_metadata, .. } => self
                .told_by_backend(name, *writes_metadata)
                .or_else(|refusal| self.told_by_table(target, refusal)),
            Backend::Setuptools { .. } => self.evaluated(target),
        }
    }

    /// setup.py and setup.cfg, and the egg-info beside them.
    fn evaluated(&self, target: &Target) -> Result<SdistAnswer, Refusal> {
        let egg_info = self.egg_info();
        match evaluate::evaluate(&self.project, self.file_name, target) {
            Evaluated::Known { requires, requires_python, consulted_python, consulted_platform } => {
                // One that can't be understood can't say otherwise.
                let egg_info = egg_info.ok().flatten();
                let disagrees = egg_info
                    .is_some_and(|egg| !requires_txt::agrees(&egg.requires_dist, &requires.requires_dist));
                let grade = if disagrees { Grade::EvaluatedDisagrees } else { Grade::Evaluated };
                let metadata = self.metadata(requires, requires_python, grade);
                Ok(SdistAnswer::Known { metadata, consulted_python, consulted_platform, is_static: false })
            }
            Evaluated::PlugIn(reason) => {
                let egg_info = egg_info.map_err(Refusal::Unreadable)?;
                let requires = egg_info.ok_or(Refusal::Unreadable(reason))?;
                let python = self.pkg_info.as_ref().and_then(python_of);
                let metadata = self.metadata(requires, python, Grade::EggInfo);
                // Not static: a better evaluator may come to know more. Every target made it meet the plug-in,
                // or none; what it looked at on the way is not told.
                Ok(SdistAnswer::Known {
                    metadata,
                    consulted_python: true,
                    consulted_platform: true,
                    is_static: false,
                })
            }
            Evaluated::Failed(reason) => Err(Refusal::Unreadable(reason)),
        }
    }

    /// flit, poetry, hatchling and pdm write into PKG-INFO what they would write into a wheel's METADATA, also
    /// before metadata 2.2 let them vouch for it. They take the place that setuptools' plug-ins have
    /// elsewhere, and PKG-INFO that of the egg-info. Of another backend only what it says is believed, not
    /// what it leaves out.
    fn told_by_backend(&self, name: &str, writes_metadata: bool) -> Result<SdistAnswer, Refusal> {
        let unreadable =
            || Refusal::Unreadable(format!("its build backend `{name}` tells only when it builds"));
        let fields = self.pkg_info.as_ref().ok_or_else(unreadable)?;
        let requires = from_fields(fields, &self.place("PKG-INFO")).map_err(Refusal::Unreadable)?;
        if !writes_metadata && requires.requires_dist.is_empty() {
            return Err(unreadable());
        }
        Ok(self.known(requires, python_of(fields), Grade::EggInfo))
    }

    /// poetry's and flit's own tables in pyproject.toml, where PKG-INFO says nothing.
    fn told_by_table(&self, target: &Target, refusal: Refusal) -> Result<SdistAnswer, Refusal> {
        match evaluate::read_pyproject(&self.project, self.file_name, target) {
            Evaluated::Known { requires, requires_python, .. } => {
                let metadata = self.metadata(requires, requires_python, Grade::Pyproject);
                // Not static: these notations are translated, which may be done better one day.
                let (consulted_python, consulted_platform) = (false, false);
                Ok(SdistAnswer::Known { metadata, consulted_python, consulted_platform, is_static: false })
            }
            Evaluated::PlugIn(_) | Evaluated::Failed(_) => Err(refusal),
        }
    }

    /// What the egg-info says: that of setuptools, or the requirements in PKG-INFO where it wrote them there.
    /// Nothing where there is neither.
    fn egg_info(&self) -> Result<Option<Requires>, String> {
        let folder = self.project.find(|path| self.is_egg_info(path)).into_iter().next();
        if let Some(pkg_info) = folder {
            // setuptools deletes a requires.txt that would be empty.
            let path = pkg_info.replace("/PKG-INFO", "/requires.txt");
            let text = self.project.bytes(&path).unwrap_or_default();
            return requires_txt::parse(text, &self.place(&path)).map(Some);
        }
        match &self.pkg_info {
            Some(fields) if !fields.requires_dist.is_empty() => {
                from_fields(fields, &self.place("PKG-INFO")).map(Some)
            }
            _ => Ok(None),
        }
    }

    /// Whether this is PKG-INFO of this package's own egg-info, not of one among its tests' files.
    fn is_egg_info(&self, path: &str) -> bool {
        let parts: Vec<&str> = path.split('/').collect();
        let ([folder, "PKG-INFO"] | [_, folder, "PKG-INFO"]) = parts[..] else { return false };
        let name = folder.strip_suffix(".egg-info").and_then(|name| PackageName::new(name.to_owned()).ok());
        name.is_some_and(|name| name == *self.package)
    }

    /// A file of it, as messages name it.
    fn place(&self, path: &str) -> String {
        format!("{}/{path}", self.file_name)
    }

    fn known(&self, requires: Requires, python: Option<VersionSpecifiers>, grade: Grade) -> SdistAnswer {
        let metadata = self.metadata(requires, python, grade);
        SdistAnswer::Known { metadata, consulted_python: false, consulted_platform: false, is_static: true }
    }

    fn metadata(&self, requires: Requires, python: Option<VersionSpecifiers>, grade: Grade) -> Metadata {
        Metadata {
            name: self.package.clone(),
            version: self.version.clone(),
            requires_dist: requires.requires_dist,
            requires_python: python,
            provides_extra: requires.extras,
            grade,
        }
    }
}

/// Whether PKG-INFO vouches for all that resolving needs (PEP 643).
fn vouches(fields: &CoreFields) -> bool {
    ["Requires-Dist", "Requires-Python", "Provides-Extra"].iter().all(|field| fields.is_static(field))
}

/// What can't be understood says nothing, as in pip.
fn python_of(fields: &CoreFields) -> Option<VersionSpecifiers> {
    fields.requires_python.as_deref().and_then(|text| parse_specifiers_mended(text).ok())
}

fn from_fields(fields: &CoreFields, file: &str) -> Result<Requires, String> {
    let metadata = fields.to_metadata(file, Grade::Static);
    let metadata = metadata.map_err(|error| format!("{file}: {error}"))?;
    Ok(Requires { requires_dist: metadata.requires_dist, extras: metadata.provides_extra })
}

#[cfg(test)]
mod tests;
