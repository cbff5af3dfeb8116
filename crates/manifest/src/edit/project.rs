//! Raising packages in all manifests of a project.

use std::collections::{BTreeMap, BTreeSet};

use reana_model::{PackageName, Target, Version};

use super::{Change, Format, Refusal, RefusalKind, apply, lex, mentions, raise_file};
use crate::{
    Declared, Entry, FileError, Files, ProblemKind, Text, Unknown, Viewpoint, normal_path, poetry,
    read_project, read_requirements,
};

/// A package, and the minimum that it is to have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Raise {
    /// The package.
    pub package: PackageName,
    /// The version.
    pub to: Version,
}

/// A manifest that changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileChange {
    /// Its path in the project.
    pub path: String,
    /// Its bytes before.
    pub before: String,
    /// Its bytes after.
    pub after: String,
    /// The requirements that change.
    pub changes: Vec<Change>,
}

/// Raises packages at every occurrence in a project's manifests. `sources` are further requirements files that
/// are known to be manifests; `prefix` is the project's folder as messages call it.
///
/// # Errors
/// All that can't be raised; then nothing should be written.
pub fn raise_project(
    files: &dyn Files,
    prefix: &str,
    target: &Target,
    sources: &[String],
    raises: &[Raise],
) -> Result<Vec<FileChange>, Vec<Refusal>> {
    let known = Known::read(files, prefix, target, sources);
    let mut edited = Edited { files, texts: BTreeMap::new() };
    let mut changed: BTreeMap<String, FileChange> = BTreeMap::new();
    let mut refusals = Vec::new();
    for raise in raises {
        match known.raise(&edited, raise) {
            Err(more) => refusals.extend(more),
            Ok(found) => {
                for change in found {
                    edited.texts.insert(change.path.clone(), change.after.clone());
                    match changed.get_mut(&change.path) {
                        Some(known) => {
                            known.after = change.after;
                            known.changes.extend(change.changes);
                        }
                        None => {
                            changed.insert(change.path.clone(), change);
                        }
                    }
                }
            }
        }
    }
    if refusals.is_empty() { Ok(changed.into_values().collect()) } else { Err(refusals) }
}

/// A project with some of its files changed.
struct Edited<'f> {
    files: &'f dyn Files,
    texts: BTreeMap<String, String>,
}

impl Files for Edited<'_> {
    fn read(&self, path: &str) -> Result<Vec<u8>, FileError> {
        let known = normal_path(path).and_then(|path| self.texts.get(&path));
        known.map_or_else(|| self.files.read(path), |text| Ok(text.clone().into_bytes()))
    }

    fn exists(&self, path: &str) -> bool {
        self.files.exists(path)
    }

    fn list(&self, folder: &str) -> Vec<String> {
        self.files.list(folder)
    }
}

/// What a project declares, read once for all packages: no edit moves a line, or changes what is said of another
/// package.
struct Known {
    /// The files that may hold requirements, by path, with what messages call them.
    files: BTreeMap<String, String>,
    /// By file as messages call it: the lines and texts of all requirements.
    declared: BTreeMap<String, Vec<(u32, String)>>,
    /// What could not be known.
    unknown: Vec<Refusal>,
}

impl Known {
    fn read(files: &dyn Files, prefix: &str, target: &Target, sources: &[String]) -> Self {
        let reading = crate::reading::Reading::new(files, prefix);
        let mut known = Self { files: BTreeMap::new(), declared: BTreeMap::new(), unknown: Vec::new() };
        let manifests = ["setup.py", "setup.cfg", "pyproject.toml"];
        let mut paths: BTreeSet<String> =
            manifests.into_iter().filter(|path| files.exists(path)).map(str::to_owned).collect();
        match read_project(files, prefix, target) {
            Ok(declared) => known.add(&declared),
            Err(problem) if matches!(problem.kind, ProblemKind::NoManifest { .. }) => {}
            Err(problem) => {
                let kind = RefusalKind::Unreadable(problem.kind.to_string());
                known.unknown.push(Refusal { origin: problem.origin, kind });
            }
        }
        paths.extend(listed(files, sources));
        let shown: BTreeSet<String> = paths.iter().map(|path| reading.shown(path).to_string()).collect();
        // What a manifest reads from another file of the project is declared there.
        let own = reading.shown("");
        for file in known.declared.keys().filter(|file| !shown.contains(*file)) {
            paths.extend(file.strip_prefix(&*own).and_then(normal_path));
        }
        known.files =
            paths.into_iter().map(|path| (path.clone(), reading.shown(&path).to_string())).collect();
        known
    }

    fn add(&mut self, declared: &Declared) {
        let lists = declared.install_requires.iter().flatten();
        let extras = declared.extras_require.iter().flat_map(|extras| extras.values()).flatten();
        for Text { value, origin } in lists.chain(extras) {
            self.declared.entry(origin.file.to_string()).or_default().push((origin.line, value.clone()));
        }
        let unknown = [declared.install_requires.as_ref().err(), declared.extras_require.as_ref().err()];
        // What poetry's notation alone can say is no code: it is found where it stands.
        let is_code = |unknown: &&Unknown| unknown.reason != poetry::NO_COUNTERPART;
        for unknown in unknown.into_iter().flatten().filter(is_code) {
            let kind = RefusalKind::Built(unknown.expression.clone());
            self.unknown.push(Refusal { origin: unknown.origin.clone(), kind });
        }
        self.unknown.dedup();
    }

    fn raise(&self, files: &dyn Files, raise: &Raise) -> Result<Vec<FileChange>, Vec<Refusal>> {
        // What can't be known may be about the package where its name stands somewhere.
        let is_about = || {
            let texts = self.files.keys().filter_map(|path| files.read(path).ok());
            texts.into_iter().any(|bytes| mentions(&String::from_utf8_lossy(&bytes), &raise.package))
        };
        let mut refusals = self.unknown.clone();
        if !refusals.is_empty() && !is_about() {
            refusals.clear();
        }
        let mut found = Vec::new();
        for (path, shown) in &self.files {
            let declared = self.declared.get(shown).map_or(&[][..], Vec::as_slice);
            match one_file(files, path, shown, declared, raise) {
                Ok(change) => found.extend(change),
                Err(more) => refusals.extend(more),
            }
        }
        if refusals.is_empty() { Ok(found) } else { Err(refusals) }
    }
}

/// The requirements files of the project with all that they include, as far as that is in the project.
fn listed(files: &dyn Files, sources: &[String]) -> BTreeSet<String> {
    let shown = |path: &str| path.to_owned();
    let viewpoint = Viewpoint { files, root: "/", folder: "", shown: &shown };
    let mut found = BTreeSet::new();
    for source in sources.iter().map(String::as_str).chain(["requirements.in"]) {
        if Format::of(source) != Format::Lines || !files.exists(source) {
            continue;
        }
        let read = read_requirements(&viewpoint, source);
        // Constraints limit what others may choose; they are no requirement to be raised.
        let asked = read.requirements.iter().filter_map(|listed| match &listed.entry {
            Entry::Named(requirement) => Some(requirement.origin.file.to_string()),
            Entry::Unnamed(_) => None,
        });
        found.extend(asked.filter_map(|path| normal_path(&path)));
    }
    found
}

fn one_file(
    files: &dyn Files,
    path: &str,
    shown: &str,
    declared: &[(u32, String)],
    raise: &Raise,
) -> Result<Option<FileChange>, Vec<Refusal>> {
    let refuse = |why: String| {
        vec![Refusal { origin: reana_model::Origin::whole(shown), kind: RefusalKind::Unreadable(why) }]
    };
    let bytes = files.read(path).map_err(|error| refuse(error.to_string()))?;
    let before = match String::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) if mentions(&String::from_utf8_lossy(error.as_bytes()), &raise.package) => {
            return Err(refuse("the file is not valid UTF-8 text".to_owned()));
        }
        Err(_) => return Ok(None),
    };
    let is_declared = declared.iter().any(|(_, value)| lex::name_of(value).as_ref() == Some(&raise.package));
    if !is_declared && !mentions(&before, &raise.package) {
        return Ok(None);
    }
    let changes = raise_file(Format::of(path), &before, shown, declared, raise)?;
    if changes.is_empty() {
        return Ok(None);
    }
    let after = apply(&before, &changes);
    Ok(Some(FileChange { path: path.to_owned(), before, after, changes }))
}
