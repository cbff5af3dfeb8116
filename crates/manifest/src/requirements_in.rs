//! Requirements files with what they include: `requirements.in`, constraints, overrides.

use std::collections::BTreeSet;
use std::sync::Arc;

use reana_model::requirement::{Direct, parse_marker};
use reana_model::requirements_file::{
    self, DirectLine, FileOption, ItemKind, OptionLine, RequirementForm, RequirementLine, decode, is_url,
};
use reana_model::{ExtraName, MarkerTree, Origin, Requirement, Sha256, Source};

use crate::{Files, Problem, ProblemKind};

/// The most files that include one another, and how deep.
const MOST_FILES: usize = 256;
const MOST_DEEP: usize = 32;

/// From where requirements files are looked at.
#[derive(Clone, Copy)]
pub struct Viewpoint<'v> {
    /// The files. Paths are handed to it joined and without `.`, and may begin with `../` or `/`, where a file
    /// says so: it refuses what must not be read.
    pub files: &'v dyn Files,
    /// The absolute path that the files' paths are relative to, with `/`.
    pub root: &'v str,
    /// The folder that relative paths in requirement lines start from, as pip has it: where the user stands.
    /// In the same terms as the files' paths; empty for the root.
    pub folder: &'v str,
    /// What messages and annotations call a file.
    pub shown: &'v dyn Fn(&str) -> String,
}

/// What requirements files say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RequirementsIn {
    /// What is to be installed, in order.
    pub requirements: Vec<Listed>,
    /// What limits it, in order.
    pub constraints: Vec<Listed>,
    /// Options, in order.
    pub options: Vec<OptionIn>,
    /// All files that were read, as they are shown.
    pub files: Vec<String>,
    /// What is wrong.
    pub problems: Vec<Problem>,
    /// What is only worth knowing.
    pub notes: Vec<Problem>,
}

/// A requirement or constraint with its hashes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// What is asked for.
    pub entry: Entry,
    /// The only files that may be taken, if there are any.
    pub hashes: Vec<Sha256>,
}

/// What a line asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Entry {
    /// A package by its name.
    Named(Requirement),
    /// A path or URL without a name.
    Unnamed(Unnamed),
}

/// A path or URL without a name: what is there says the name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unnamed {
    /// The place.
    pub direct: Direct,
    /// Extras asked for, sorted, each once.
    pub extras: Vec<ExtraName>,
    /// When it applies.
    pub marker: MarkerTree,
    /// Where it was written.
    pub origin: Origin,
}

/// An option of a requirements file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OptionIn {
    /// Which one.
    pub option: FileOption,
    /// Its value. A path of `--find-links` is as written where the file stands in the viewpoint's folder, and
    /// otherwise relative to that folder: it is meant relative to the file that says it.
    pub value: String,
    /// Where it was written.
    pub origin: Origin,
}

/// Reads a requirements file with all that it includes.
pub fn read_requirements(viewpoint: &Viewpoint<'_>, path: &str) -> RequirementsIn {
    read(viewpoint, path, false)
}

/// Reads a constraints file with all that it includes: what it lists limits, and asks for nothing. What it
/// includes with `-r` asks nevertheless, as pip has it.
pub fn read_constraints(viewpoint: &Viewpoint<'_>, path: &str) -> RequirementsIn {
    read(viewpoint, path, true)
}

fn read(viewpoint: &Viewpoint<'_>, path: &str, constraint: bool) -> RequirementsIn {
    let mut reader =
        Reader { viewpoint, found: RequirementsIn::default(), open: Vec::new(), read: BTreeSet::new() };
    let path = joined("", path);
    let origin = Origin::whole((viewpoint.shown)(&path));
    reader.file(&path, constraint, &origin);
    reader.found
}

/// A path relative to a folder, without `.`, and without `..` as far as it can be.
pub(crate) fn joined(folder: &str, path: &str) -> String {
    let absolute = path.starts_with('/') || folder.starts_with('/');
    let whole = if path.starts_with('/') { path.to_owned() } else { format!("{folder}/{path}") };
    let mut parts: Vec<&str> = Vec::new();
    for part in whole.split('/') {
        match part {
            "" | "." => {}
            ".." if parts.last().is_some_and(|last| *last != "..") => {
                parts.pop();
            }
            ".." if absolute => {}
            name => parts.push(name),
        }
    }
    format!("{}{}", if absolute { "/" } else { "" }, parts.join("/"))
}

/// The folder of a path.
fn folder_of(path: &str) -> &str {
    match path.rsplit_once('/') {
        Some(("", _)) => "/",
        Some((folder, _)) => folder,
        None => "",
    }
}

struct Reader<'v> {
    viewpoint: &'v Viewpoint<'v>,
    found: RequirementsIn,
    /// The files that are being read, outermost first.
    open: Vec<String>,
    /// What was read, as what.
    read: BTreeSet<(String, bool)>,
}

impl Reader<'_> {
    fn problem(&mut self, origin: &Origin, kind: ProblemKind) {
        let problem = Problem::new(origin.clone(), kind);
        let list = if problem.is_note() { &mut self.found.notes } else { &mut self.found.problems };
        list.push(problem);
    }

    fn file(&mut self, path: &str, constraint: bool, asked: &Origin) {
        let shown: Arc<str> = (self.viewpoint.shown)(path).into();
        if self.open.iter().any(|open| open == path) {
            return self.problem(asked, ProblemKind::Cycle(shown.to_string()));
        }
        if self.open.len() >= MOST_DEEP || self.read.len() >= MOST_FILES {
            return self.problem(asked, ProblemKind::TooManyIncludes);
        }
        if !self.read.insert((path.to_owned(), constraint)) {
            return;
        }
        let bytes = match self.viewpoint.files.read(path) {
            Ok(bytes) => bytes,
            Err(error) => {
                let (origin, kind) = if asked.line == 0 {
                    (Origin::whole(shown), ProblemKind::File(error))
                } else {
                    (asked.clone(), ProblemKind::Included { path: shown.to_string(), error })
                };
                return self.problem(&origin, kind);
            }
        };
        self.found.files.push(shown.to_string());
        let (text, undecoded) = decode(&bytes);
        let file = requirements_file::parse(&text);
        for problem in undecoded.into_iter().chain(file.problems) {
            let origin = Origin::new(shown.clone(), problem.line);
            self.problem(&origin, ProblemKind::RequirementsFile(problem.kind));
        }
        self.open.push(path.to_owned());
        for item in file.items {
            let origin = Origin::new(shown.clone(), item.line);
            match item.kind {
                ItemKind::Comment => {}
                ItemKind::Option(option) => self.option(path, option, origin),
                ItemKind::Requirement(line) => {
                    if let Err(kind) = self.requirement(line, constraint, &origin) {
                        self.problem(&origin, kind);
                    }
                }
            }
        }
        self.open.pop();
    }

    fn option(&mut self, path: &str, option: OptionLine, origin: Origin) {
        let OptionLine { option, value } = option;
        let included = matches!(option, FileOption::Requirement | FileOption::Constraint);
        if included {
            if is_url(&value) {
                return self.problem(&origin, ProblemKind::UrlInclude(value));
            }
            return self.file(&joined(folder_of(path), &value), option == FileOption::Constraint, &origin);
        }
        let relative = option == FileOption::FindLinks && !is_url(&value) && !value.starts_with('/');
        let here = joined("", self.viewpoint.folder);
        let value = if relative && folder_of(path) != here {
            relative_to(&here, &joined(folder_of(path), &value))
        } else {
            value
        };
        self.found.options.push(OptionIn { option, value, origin });
    }

    fn requirement(
        &mut self,
        line: RequirementLine,
        constraint: bool,
        origin: &Origin,
    ) -> Result<(), ProblemKind> {
        let mut entry = match line.form {
            RequirementForm::Named(text) => self.named(&text, origin)?,
            RequirementForm::Direct(direct) => self.direct(direct, origin)?,
        };
        if !constraint {
            self.found.requirements.push(Listed { entry, hashes: line.hashes });
            return Ok(());
        }
        match &mut entry {
            Entry::Named(requirement) => {
                if requirement.direct().is_some_and(|direct| direct.editable) {
                    return Err(ProblemKind::UnnamedConstraint(requirement.text.clone()));
                }
                if !requirement.extras.is_empty() {
                    self.problem(origin, ProblemKind::ConstraintExtras(requirement.text.clone()));
                    requirement.extras.clear();
                }
            }
            Entry::Unnamed(unnamed) => {
                return Err(ProblemKind::UnnamedConstraint(unnamed.direct.given.clone()));
            }
        }
        self.found.constraints.push(Listed { entry, hashes: line.hashes });
        Ok(())
    }

    fn named(&mut self, text: &str, origin: &Origin) -> Result<Entry, ProblemKind> {
        let error = match Requirement::parse(text, origin.clone()) {
            Ok(mut requirement) => {
                if let Source::Direct(direct) = &mut requirement.source
                    && direct.given.starts_with("file:")
                    && !direct.given.starts_with("file:/")
                {
                    direct.url = self.address(&direct.given);
                }
                return Ok(Entry::Named(requirement));
            }
            Err(error) => error,
        };
        let mended =
            Requirement::parse_mended(text, origin.clone()).map_err(|_| ProblemKind::Requirement(error))?;
        let kind = ProblemKind::Mended { written: text.to_owned(), read: mended.text.clone() };
        self.problem(origin, kind);
        Ok(Entry::Named(mended))
    }

    fn direct(&mut self, line: DirectLine, origin: &Origin) -> Result<Entry, ProblemKind> {
        let marker = match &line.marker {
            None => MarkerTree::TRUE,
            Some(text) => parse_marker(text).map_err(|_| ProblemKind::Marker(text.clone()))?,
        };
        let mut extras = line.extras;
        extras.sort();
        extras.dedup();
        let name = line.name.as_deref().and_then(|name| name.parse().ok());
        let url = self.address(&line.location);
        let direct = Direct { url, given: line.location, unnamed: name.is_none(), editable: line.editable };
        let origin = origin.clone();
        Ok(match name {
            None => Entry::Unnamed(Unnamed { direct, extras, marker, origin }),
            Some(name) => {
                let text = format!("{}{}", if direct.editable { "-e " } else { "" }, direct.given);
                Entry::Named(Requirement {
                    name,
                    extras,
                    source: Source::Direct(direct),
                    marker,
                    origin,
                    text,
                })
            }
        })
    }

    /// The absolute address of a path or URL.
    fn address(&self, location: &str) -> String {
        let path = match location.strip_prefix("file:") {
            Some(rest) if !rest.starts_with('/') => rest,
            None if !is_url(location) => location,
            _ => return location.to_owned(),
        };
        let (path, fragment) = path.split_once('#').map_or((path, None), |(path, rest)| (path, Some(rest)));
        let folder = joined(self.viewpoint.root, self.viewpoint.folder);
        let absolute = joined(&folder, &path.replace('\\', "/"));
        let Ok(mut url) = url::Url::from_file_path(&absolute) else { return format!("file://{absolute}") };
        url.set_fragment(fragment);
        url.to_string()
    }
}

/// A path as seen from a folder, both in the same terms.
fn relative_to(folder: &str, path: &str) -> String {
    if path.starts_with('/') != folder.starts_with('/') || folder.starts_with("..") {
        return path.to_owned();
    }
    let from: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    let to: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
    let same = from.iter().zip(&to).take_while(|(left, right)| left == right).count();
    let up = from.iter().skip(same).map(|_| "..");
    let parts: Vec<&str> = up.chain(to.iter().skip(same).copied()).collect();
    match parts.first() {
        None => ".".to_owned(),
        Some(&"..") => parts.join("/"),
        Some(_) => format!("./{}", parts.join("/")),
    }
}
