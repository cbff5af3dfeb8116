//! A world: what an index knows, made in memory and written as a folder in the simple layout (PEP 503, 691).
#![expect(clippy::disallowed_methods, reason = "worlds are written to folders of tests")]

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::sdist::sdist;
use crate::wheel::{Wheel, core_fields};

/// Packages with their releases, in the order in which they were added.
#[derive(Clone, Debug, Default)]
pub struct World {
    packages: BTreeMap<String, Vec<Release>>,
}

/// One version of a package, with its files.
#[derive(Clone, Debug)]
pub struct Release {
    /// The version, as it is written in file names.
    pub version: String,
    /// What it requires, as METADATA says it.
    pub requires: Vec<String>,
    /// The extras that it offers.
    pub extras: Vec<String>,
    /// The Pythons that it is for.
    pub requires_python: Option<String>,
    /// The reason why it was withdrawn, if it was (PEP 592). May be empty.
    pub yanked: Option<String>,
    /// When its files were uploaded (`2024-01-02T03:04:05Z`, PEP 700).
    pub uploaded: Option<String>,
    /// Its files; none means one wheel for every Python 3.
    pub dists: Vec<DistKind>,
    /// Whether METADATA stands beside its wheels and is announced (PEP 658).
    pub core_metadata: bool,
}

/// A file of a release.
#[derive(Clone, Debug)]
pub enum DistKind {
    /// A wheel with this tag.
    Wheel(String),
    /// An sdist with these files. With none, it has a PKG-INFO of metadata 2.2 that says all.
    Sdist(Vec<(String, String)>),
    /// A file with this name and these bytes, good or bad.
    Raw(String, Vec<u8>),
}

/// A file of a world, ready to be served.
#[derive(Clone, Debug)]
pub struct WorldFile {
    /// The file's name.
    pub name: String,
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// The METADATA that stands beside it, as `{name}.metadata`.
    pub metadata: Option<Vec<u8>>,
}

impl Release {
    /// A release with one wheel for every Python 3.
    pub fn new(version: &str, requires: &[&str]) -> Self {
        Self {
            version: version.to_owned(),
            requires: requires.iter().map(|&text| text.to_owned()).collect(),
            extras: Vec::new(),
            requires_python: None,
            yanked: None,
            uploaded: None,
            dists: Vec::new(),
            core_metadata: true,
        }
    }

    /// With these extras.
    #[must_use]
    pub fn extras(mut self, extras: &[&str]) -> Self {
        self.extras.extend(extras.iter().map(|&extra| extra.to_owned()));
        self
    }

    /// For these Pythons.
    #[must_use]
    pub fn python(mut self, specifiers: &str) -> Self {
        self.requires_python = Some(specifiers.to_owned());
        self
    }

    /// Withdrawn for this reason.
    #[must_use]
    pub fn yanked(mut self, reason: &str) -> Self {
        self.yanked = Some(reason.to_owned());
        self
    }

    /// Uploaded at this time (RFC 3339).
    #[must_use]
    pub fn uploaded(mut self, time: &str) -> Self {
        self.uploaded = Some(time.to_owned());
        self
    }

    /// With a wheel of this tag.
    #[must_use]
    pub fn wheel(mut self, tag: &str) -> Self {
        self.dists.push(DistKind::Wheel(tag.to_owned()));
        self
    }

    /// With an sdist of these files; none means that its PKG-INFO says all.
    #[must_use]
    pub fn sdist(mut self, files: &[(&str, &str)]) -> Self {
        let files = files.iter().map(|&(path, text)| (path.to_owned(), text.to_owned()));
        self.dists.push(DistKind::Sdist(files.collect()));
        self
    }

    /// With a file of these bytes.
    #[must_use]
    pub fn raw(mut self, name: &str, bytes: impl Into<Vec<u8>>) -> Self {
        self.dists.push(DistKind::Raw(name.to_owned(), bytes.into()));
        self
    }

    /// With no METADATA beside its wheels.
    #[must_use]
    pub fn without_core_metadata(mut self) -> Self {
        self.core_metadata = false;
        self
    }

    fn dist(&self, name: &str, kind: &DistKind) -> WorldFile {
        match kind {
            DistKind::Wheel(tag) => {
                let mut wheel =
                    Wheel::new(name, &self.version).requires(&self.requires).extras(&self.extras).tag(tag);
                if let Some(python) = &self.requires_python {
                    wheel = wheel.python(python);
                }
                let metadata = self.core_metadata.then(|| wheel.metadata());
                WorldFile { name: wheel.file_name(), bytes: wheel.bytes(), metadata }
            }
            DistKind::Sdist(files) => {
                let pkg_info = self.pkg_info(name);
                let mut files: Vec<(&str, &str)> =
                    files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
                if files.is_empty() {
                    files.push(("PKG-INFO", &pkg_info));
                }
                let (name, bytes) = sdist(name, &self.version, &files);
                WorldFile { name, bytes, metadata: None }
            }
            DistKind::Raw(name, bytes) => {
                WorldFile { name: name.clone(), bytes: bytes.clone(), metadata: None }
            }
        }
    }

    fn pkg_info(&self, name: &str) -> String {
        let requires: Vec<&str> = self.requires.iter().map(String::as_str).collect();
        let extras: Vec<&str> = self.extras.iter().map(String::as_str).collect();
        let fields = core_fields(&requires, &extras, self.requires_python.as_deref());
        format!("Metadata-Version: 2.2\nName: {name}\nVersion: {}\n{fields}", self.version)
    }

    fn files(&self, name: &str) -> Vec<WorldFile> {
        if self.dists.is_empty() {
            return vec![self.dist(name, &DistKind::Wheel("py3-none-any".to_owned()))];
        }
        self.dists.iter().map(|kind| self.dist(name, kind)).collect()
    }
}

impl World {
    /// A world without packages.
    pub fn new() -> Self {
        Self::default()
    }

    /// With one more version of a package, as one wheel for every Python 3.
    #[must_use]
    pub fn with(self, name: &str, version: &str, requires: &[&str]) -> Self {
        self.release(name, Release::new(version, requires))
    }

    /// With one more release of a package.
    #[must_use]
    pub fn release(mut self, name: &str, release: Release) -> Self {
        self.packages.entry(name.to_owned()).or_default().push(release);
        self
    }

    /// With a package that the index knows and has no files of.
    #[must_use]
    pub fn empty_package(mut self, name: &str) -> Self {
        self.packages.entry(name.to_owned()).or_default();
        self
    }

    /// The normalised names of its packages (PEP 503).
    pub fn names(&self) -> Vec<String> {
        self.packages.keys().map(|name| normalize(name)).collect()
    }

    /// All files of a package, in the order in which they were added.
    pub fn files(&self, name: &str) -> Vec<WorldFile> {
        let releases = self
            .package(name)
            .into_iter()
            .flat_map(|(name, releases)| releases.iter().flat_map(move |release| release.files(name)));
        releases.collect()
    }

    /// The index page of a package as JSON (PEP 691, 700); files stand at `{files}/NAME`.
    pub fn page(&self, name: &str, files: &str) -> Option<Value> {
        let (name, releases) = self.package(name)?;
        let versions: Vec<&str> = releases.iter().map(|release| release.version.as_str()).collect();
        let entries: Vec<Value> = releases
            .iter()
            .flat_map(|release| release.files(name).into_iter().map(move |file| (release, file)))
            .map(|(release, file)| entry(release, &file, files))
            .collect();
        Some(json!({
            "meta": { "api-version": "1.1" },
            "name": normalize(name),
            "versions": versions,
            "files": entries,
        }))
    }

    /// Writes `simple/NAME/index.json`, and `files/` with METADATA beside the wheels, into a folder. The
    /// links are relative. `folder/simple` is the index.
    ///
    /// # Errors
    /// When the folder can't be written to.
    pub fn write(&self, folder: &Path) -> io::Result<()> {
        let files = folder.join("files");
        fs::create_dir_all(&files)?;
        fs::create_dir_all(folder.join("simple"))?;
        for name in self.names() {
            let package = folder.join("simple").join(&name);
            fs::create_dir_all(&package)?;
            let page = self.page(&name, "../../files").unwrap_or_default();
            fs::write(package.join("index.json"), format!("{page:#}\n"))?;
            for file in self.files(&name) {
                fs::write(files.join(&file.name), &file.bytes)?;
                if let Some(metadata) = &file.metadata {
                    fs::write(files.join(format!("{}.metadata", file.name)), metadata)?;
                }
            }
        }
        Ok(())
    }

    fn package(&self, name: &str) -> Option<(&str, &[Release])> {
        let wanted = normalize(name);
        let found = self.packages.iter().find(|(name, _)| normalize(name) == wanted)?;
        Some((found.0, found.1))
    }
}

fn entry(release: &Release, file: &WorldFile, files: &str) -> Value {
    let mut entry = json!({
        "filename": file.name,
        "url": format!("{files}/{}", file.name),
        "hashes": { "sha256": sha256(&file.bytes) },
        "size": file.bytes.len(),
        "yanked": release.yanked.as_ref().map_or(Value::Bool(false), |reason| {
            if reason.is_empty() { Value::Bool(true) } else { Value::String(reason.clone()) }
        }),
    });
    let optional = [
        ("requires-python", release.requires_python.clone().map(Value::String)),
        ("upload-time", release.uploaded.clone().map(Value::String)),
        ("core-metadata", file.metadata.as_ref().map(|bytes| json!({ "sha256": sha256(bytes) }))),
    ];
    if let Some(object) = entry.as_object_mut() {
        let present = optional.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?)));
        object.extend(present);
    }
    entry
}

fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A name as PEP 503 normalises it.
pub(crate) fn normalize(name: &str) -> String {
    let parts: Vec<&str> = name.split(['-', '_', '.']).filter(|part| !part.is_empty()).collect();
    parts.join("-").to_lowercase()
}

/// A name as file names have it (PEP 625).
pub(crate) fn escape(name: &str) -> String {
    normalize(name).replace('-', "_")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_in_the_simple_layout() {
        let world = World::new()
            .with("Foo.Bar", "1.0", &["b"])
            .release("b", Release::new("2", &[]).wheel("py3-none-any").sdist(&[]).yanked("broken"))
            .empty_package("c");
        let folder = tempfile::tempdir().expect("a temporary folder");
        world.write(folder.path()).expect("a written world");
        let read = |path: &str| fs::read_to_string(folder.path().join(path)).expect("a file");
        let page: Value = serde_json::from_str(&read("simple/foo-bar/index.json")).expect("JSON");
        assert_eq!(page["files"][0]["url"], "../../files/foo_bar-1.0-py3-none-any.whl");
        let metadata = read("files/foo_bar-1.0-py3-none-any.whl.metadata");
        assert!(metadata.contains("Requires-Dist: b\n"), "{metadata}");
        assert_eq!(page["files"][0]["core-metadata"]["sha256"], sha256(metadata.as_bytes()));
        let page: Value = serde_json::from_str(&read("simple/b/index.json")).expect("JSON");
        assert_eq!(page["files"][1]["filename"], "b-2.tar.gz");
        assert_eq!(page["files"][1]["yanked"], "broken");
        let page: Value = serde_json::from_str(&read("simple/c/index.json")).expect("JSON");
        assert_eq!(page["files"], json!([]));
    }
}
