//! The shared packages' releases, built from their folders in the example fleet.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use jiff::Timestamp;
use reana_model::Version;
use serde::Deserialize;

use super::archive::{self, Files};
use super::declared::{self, Declared};
use super::page::{Hashes, Page, PageFile, trim_metadata};

/// fixtures/releases.toml.
#[derive(Deserialize)]
struct ReleasesFile {
    release: Vec<Entry>,
}

/// One release as it is described there.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    package: String,
    version: String,
    uploaded: Timestamp,
    formats: Vec<Format>,
    /// What this release's setup.py said instead: (in the folder, then).
    #[serde(default)]
    replace: Vec<(String, String)>,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Format {
    Wheel,
    Sdist,
}

/// One release, built.
pub(crate) struct Release {
    pub(crate) declared: Declared,
    uploaded: Timestamp,
    /// File names and bytes.
    pub(crate) archives: Vec<(String, Vec<u8>)>,
}

/// Builds all releases that a description names.
pub(crate) fn build_all(description: &Path, fleet: &Path) -> Result<Vec<Release>> {
    let text = std::fs::read_to_string(description).with_context(|| description.display().to_string())?;
    let entries: ReleasesFile = toml::from_str(&text).with_context(|| description.display().to_string())?;
    let build =
        |entry: &Entry| build(entry, fleet).with_context(|| format!("{} {}", entry.package, entry.version));
    entries.release.iter().map(build).collect()
}

fn build(entry: &Entry, fleet: &Path) -> Result<Release> {
    let module = entry.package.replace('-', "_");
    let mut files = sources(&fleet.join(&entry.package), &module)?;
    for (path, bytes) in &mut files {
        let text = std::str::from_utf8(bytes)?;
        if *path == format!("{module}/version.py") {
            *bytes = with_version(text, &entry.version)?.into_bytes();
        } else if path == "setup.py" {
            *bytes = with_replacements(text, &entry.replace)?.into_bytes();
        }
    }
    let folder = tempfile::tempdir()?;
    for (path, bytes) in &files {
        let path = folder.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap_or(folder.path()))?;
        std::fs::write(path, bytes)?;
    }
    let declared = declared::of_folder(folder.path())?;
    ensure!(declared.name == entry.package && declared.version == entry.version, "it calls itself otherwise");
    let stem = format!("{module}-{}", entry.version);
    let archives = entry.formats.iter().map(|format| match format {
        Format::Wheel => Ok((format!("{stem}-py3-none-any.whl"), wheel(&stem, &module, &files, &declared)?)),
        Format::Sdist => {
            Ok((format!("{stem}.tar.gz"), sdist(&stem, &module, &files, &declared, entry.uploaded)?))
        }
    });
    let archives = archives.collect::<Result<_>>()?;
    Ok(Release { declared, uploaded: entry.uploaded, archives })
}

/// A package's files, sorted by path: those beside setup.py, and its module's.
fn sources(folder: &Path, module: &str) -> Result<Files> {
    let mut files = Files::new();
    for (folder, prefix) in
        [(folder.to_path_buf(), String::new()), (folder.join(module), format!("{module}/"))]
    {
        for entry in std::fs::read_dir(&folder).with_context(|| folder.display().to_string())? {
            let entry = entry?;
            if entry.file_type()?.is_file() {
                let path = format!("{prefix}{}", entry.file_name().to_string_lossy());
                files.push((path, std::fs::read(entry.path())?));
            }
        }
    }
    files.sort();
    Ok(files)
}

fn with_version(text: &str, version: &str) -> Result<String> {
    let (head, rest) = text.split_once("__version__ = \"").context("version.py sets no __version__")?;
    let (_, tail) = rest.split_once('"').context("version.py: a string without end")?;
    Ok(format!("{head}__version__ = \"{version}\"{tail}"))
}

fn with_replacements(text: &str, replacements: &[(String, String)]) -> Result<String> {
    let mut text = text.to_owned();
    for (now, then) in replacements {
        ensure!(text.matches(now.as_str()).count() == 1, "setup.py must have {now:?} once");
        text = text.replace(now.as_str(), then);
    }
    Ok(text)
}

/// METADATA and PKG-INFO as today's setuptools writes them; of the description one line.
fn metadata(declared: &Declared, is_sdist: bool) -> String {
    let mut lines = vec![
        "Metadata-Version: 2.4".to_owned(),
        format!("Name: {}", declared.name),
        format!("Version: {}", declared.version),
        format!("Summary: Shared by the components of the example fleet ({}).", declared.name),
        format!("Requires-Python: {}", declared.python_requires),
    ];
    lines.extend(declared.requires_dist().iter().map(|requirement| format!("Requires-Dist: {requirement}")));
    lines.extend(declared.extras_require.keys().map(|extra| format!("Provides-Extra: {extra}")));
    if is_sdist {
        // What a setup.py computes is dynamic (PEP 643): only evaluating it tells.
        let fields = ["provides-extra", "requires-dist", "requires-python"];
        lines.extend(fields.map(|field| format!("Dynamic: {field}")));
    }
    lines.push(format!("\n{} of the example fleet.\n", declared.name));
    lines.join("\n")
}

fn sdist(
    stem: &str,
    module: &str,
    sources: &Files,
    declared: &Declared,
    uploaded: Timestamp,
) -> Result<Vec<u8>> {
    let mut files = sources.clone();
    let egg_info = format!("{module}.egg-info");
    let pkg_info = metadata(declared, true).into_bytes();
    files.push(("PKG-INFO".to_owned(), pkg_info.clone()));
    files.push((format!("{egg_info}/PKG-INFO"), pkg_info));
    files.push((format!("{egg_info}/requires.txt"), requires_txt(declared).into_bytes()));
    files.push((format!("{egg_info}/top_level.txt"), format!("{module}\n").into_bytes()));
    let mut files: Files = files.into_iter().map(|(path, bytes)| (format!("{stem}/{path}"), bytes)).collect();
    files.sort();
    archive::tar_gz(&files, u64::try_from(uploaded.as_second())?)
}

/// egg-info's way to write requirements: sections named after extras and markers.
fn requires_txt(declared: &Declared) -> String {
    let mut sections: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let extras = declared.extras_require.iter().map(|(extra, requirements)| (extra.as_str(), requirements));
    for (extra, requirements) in std::iter::once(("", &declared.install_requires)).chain(extras) {
        for requirement in requirements {
            let (head, marker) = requirement.split_once(';').unwrap_or((requirement, ""));
            let section = match marker.trim() {
                "" => extra.to_owned(),
                marker => format!("{extra}:{}", marker.replace('\'', "\"")),
            };
            sections.entry(section).or_default().push(head.trim().to_owned());
        }
    }
    let mut text = String::new();
    for (section, requirements) in sections {
        if !section.is_empty() {
            text += &format!("\n[{section}]\n");
        }
        text += &format!("{}\n", requirements.join("\n"));
    }
    text
}

fn wheel(stem: &str, module: &str, sources: &Files, declared: &Declared) -> Result<Vec<u8>> {
    let dist_info = format!("{stem}.dist-info");
    let in_module = |(path, _): &&(String, Vec<u8>)| path.starts_with(&format!("{module}/"));
    let mut files: Files = sources.iter().filter(in_module).cloned().collect();
    files.push((format!("{dist_info}/METADATA"), metadata(declared, false).into_bytes()));
    let tags = "Wheel-Version: 1.0\nGenerator: xtask\nRoot-Is-Purelib: true\nTag: py3-none-any\n";
    files.push((format!("{dist_info}/WHEEL"), tags.into()));
    files.push((format!("{dist_info}/top_level.txt"), format!("{module}\n").into_bytes()));
    let mut record = String::new();
    for (path, bytes) in &files {
        record +=
            &format!("{path},sha256={},{}\n", base64_url(&reana_model::Sha256::of(bytes).0), bytes.len());
    }
    record += &format!("{dist_info}/RECORD,,\n");
    files.push((format!("{dist_info}/RECORD"), record.into_bytes()));
    archive::zip(&files)
}

/// Base64 for URLs without padding (RFC 4648, section 5), as RECORD writes hashes.
fn base64_url(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let group =
            chunk.iter().fold(0_u32, |group, byte| group << 8 | u32::from(*byte)) << (8 * (3 - chunk.len()));
        for digit in 0..=chunk.len() {
            let index = group >> (18 - 6 * digit) & 63;
            text.push(char::from(DIGITS[index as usize]));
        }
    }
    text
}

/// The pages of the releases, one a package.
pub(crate) fn pages(releases: &[Release]) -> Vec<Page> {
    let mut pages: BTreeMap<&str, Page> = BTreeMap::new();
    for release in releases {
        let declared = &release.declared;
        let page = pages.entry(&declared.name).or_insert_with(|| Page {
            name: declared.name.clone(),
            versions: Vec::new(),
            files: Vec::new(),
            metadata: Vec::new(),
        });
        page.versions.push(declared.version.clone());
        for (filename, bytes) in &release.archives {
            page.files.push(PageFile {
                filename: filename.clone(),
                url: String::new(),
                hashes: Hashes::of(bytes),
                requires_python: Some(declared.python_requires.clone()),
                size: Some(bytes.len() as u64),
                upload_time: Some(release.uploaded),
                yanked: false.into(),
                core_metadata: None,
            });
            if filename.ends_with(".whl") {
                page.metadata.push((filename.clone(), trim_metadata(&metadata(declared, false))));
            }
        }
    }
    let mut pages: Vec<Page> = pages.into_values().collect();
    for page in &mut pages {
        page.versions.sort_by_key(|version| version.parse::<Version>().ok());
    }
    pages
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::project::root;

    fn declared() -> Declared {
        Declared {
            name: "a".to_owned(),
            version: "1".to_owned(),
            python_requires: ">=3.8".to_owned(),
            install_requires: vec!["b>=1".to_owned(), "c; python_version < '3.8'".to_owned()],
            extras_require: BTreeMap::from([("x".to_owned(), vec!["d".to_owned()])]),
        }
    }

    #[test]
    fn the_recorded_archives_are_those_of_the_folders() {
        let python = std::process::Command::new("python3").arg("--version").output();
        if !python.is_ok_and(|output| output.status.success()) {
            println!("SKIPPED: the shared packages' releases are not rebuilt: there is no python3 here");
            return;
        }
        let fixtures = root().join("fixtures");
        let releases = build_all(&fixtures.join("releases.toml"), &fixtures.join("fleet")).expect("releases");
        for (name, bytes) in releases.iter().flat_map(|release| &release.archives) {
            let recorded = std::fs::read(fixtures.join("index/files").join(name)).unwrap_or_default();
            assert!(recorded == *bytes, "{name} is not what its folder gives: run `cargo xtask record`");
        }
    }

    #[test]
    fn egg_info_has_sections() {
        assert_eq!(requires_txt(&declared()), "b>=1\n\n[:python_version < \"3.8\"]\nc\n\n[x]\nd\n");
    }

    #[test]
    fn an_sdists_requirements_are_dynamic_and_a_wheels_are_not() {
        assert!(metadata(&declared(), true).contains("\nDynamic: requires-dist\n"));
        let wheel = metadata(&declared(), false);
        assert!(wheel.contains("\nRequires-Dist: d; extra == \"x\"\n"), "{wheel}");
        assert!(!wheel.contains("Dynamic"), "{wheel}");
    }

    #[test]
    fn a_release_differs_from_its_folder_as_described() {
        let version = with_version("\"\"\"V.\"\"\"\n\n__version__ = \"2\"\n", "1").expect("a version");
        assert_eq!(version, "\"\"\"V.\"\"\"\n\n__version__ = \"1\"\n");
        let replace = |now: &str| with_replacements("[\"b>=2\"]", &[(now.to_owned(), "b>=1".to_owned())]);
        assert_eq!(replace("b>=2").expect("a replacement"), "[\"b>=1\"]");
        assert!(replace("c>=2").is_err());
    }

    #[test]
    fn base64_is_that_of_the_rfc() {
        let found: Vec<String> =
            ["", "f", "fo", "foo", "foob"].map(|text| base64_url(text.as_bytes())).into();
        assert_eq!(found, ["", "Zg", "Zm8", "Zm9v", "Zm9vYg"]);
        assert_eq!(base64_url(&[0xfb, 0xff]), "-_8");
    }
}
