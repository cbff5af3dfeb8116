//! Index pages as they are recorded: PEP 691's JSON, trimmed to the keys that locking reads.

use std::path::Path;

use anyhow::{Context, Result};
use jiff::Timestamp;
use reana_model::Sha256;
use serde::{Deserialize, Serialize};

use super::release::Release;

/// The headers of METADATA that resolving reads; the rest, descriptions above all, is left out.
const HEADERS: [&str; 6] =
    ["Metadata-Version", "Name", "Version", "Requires-Python", "Requires-Dist", "Provides-Extra"];

/// One package of the recorded index.
pub(crate) struct Page {
    /// Normalised (PEP 503).
    pub(crate) name: String,
    /// Ascending (PEP 440), as text.
    pub(crate) versions: Vec<String>,
    /// In the order of the live page.
    pub(crate) files: Vec<PageFile>,
    /// Recorded METADATA by the wheel's file name, trimmed.
    pub(crate) metadata: Vec<(String, String)>,
}

/// One file of a page, read from the live index and written to the recorded one.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) struct PageFile {
    pub(crate) filename: String,
    pub(crate) url: String,
    pub(crate) hashes: Hashes,
    #[serde(default)]
    pub(crate) requires_python: Option<String>,
    #[serde(default)]
    pub(crate) size: Option<u64>,
    #[serde(default)]
    pub(crate) upload_time: Option<Timestamp>,
    #[serde(default)]
    pub(crate) yanked: serde_json::Value,
    /// The hash of what was recorded, never what the live page says.
    #[serde(skip_deserializing, skip_serializing_if = "Option::is_none")]
    pub(crate) core_metadata: Option<Hashes>,
}

impl PageFile {
    /// Whether the file was withdrawn: the page says so by `true` or by a reason (PEP 691).
    pub(crate) fn is_yanked(&self) -> bool {
        !matches!(self.yanked, serde_json::Value::Null | serde_json::Value::Bool(false))
    }
}

/// The hashes of a file; others than sha256 are not recorded.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct Hashes {
    pub(crate) sha256: String,
}

impl Hashes {
    /// The hashes of these bytes.
    pub(crate) fn of(bytes: &[u8]) -> Self {
        Self { sha256: Sha256::of(bytes).to_string() }
    }
}

#[derive(Serialize)]
struct Answer<'a> {
    meta: Meta,
    name: &'a str,
    versions: &'a [String],
    files: &'a [PageFile],
}

#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
struct Meta {
    api_version: &'static str,
}

/// METADATA without the headers and the description that nothing here reads. Continued lines are joined.
pub(crate) fn trim_metadata(text: &str) -> String {
    let mut headers: Vec<String> = Vec::new();
    for line in text.lines().take_while(|line| !line.is_empty()) {
        match headers.last_mut() {
            Some(last) if line.starts_with([' ', '\t']) => {
                last.push(' ');
                last.push_str(line.trim());
            }
            _ => headers.push(line.trim_end().to_owned()),
        }
    }
    let is_kept = |line: &&String| {
        line.split_once(':').is_some_and(|(key, _)| HEADERS.iter().any(|kept| kept.eq_ignore_ascii_case(key)))
    };
    headers.iter().filter(is_kept).map(|line| format!("{line}\n")).collect()
}

/// Writes the whole index into a folder and gives its size in bytes.
pub(crate) fn write_all(folder: &Path, pages: &[Page], releases: &[Release]) -> Result<u64> {
    let mut size = 0;
    let mut write = |path: String, bytes: &[u8]| -> Result<()> {
        let path = folder.join(path);
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent)?;
        }
        size += bytes.len() as u64;
        std::fs::write(&path, bytes).with_context(|| path.display().to_string())
    };
    for page in pages {
        write(format!("simple/{}/index.json", page.name), render(page)?.as_bytes())?;
        for (file, text) in &page.metadata {
            write(format!("files/{file}.metadata"), text.as_bytes())?;
        }
    }
    for (file, bytes) in releases.iter().flat_map(|release| &release.archives) {
        write(format!("files/{file}"), bytes)?;
    }
    Ok(size)
}

/// A page as JSON, one line a file so that a diff of two recordings can be read.
fn render(page: &Page) -> Result<String> {
    let mut files = page.files.clone();
    for file in &mut files {
        file.url = format!("../../files/{}", file.filename);
        let recorded = page.metadata.iter().find(|(name, _)| *name == file.filename);
        file.core_metadata = recorded.map(|(_, text)| Hashes::of(text.as_bytes()));
    }
    let head =
        Answer { meta: Meta { api_version: "1.1" }, name: &page.name, versions: &page.versions, files: &[] };
    let head = serde_json::to_string(&head)?;
    let rows = files.iter().map(serde_json::to_string).collect::<Result<Vec<_>, _>>()?;
    Ok(head.replace("\"files\":[]", &format!("\"files\":[\n{}\n]", rows.join(",\n"))) + "\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metadata_keeps_what_resolving_reads() {
        let text = "Metadata-Version: 2.1\nName: a\nSummary: It\n  goes on\nRequires-Dist: b\n  >=1\nprovides-extra: x\n\nRequires-Dist: not a header\n";
        assert_eq!(
            trim_metadata(text),
            "Metadata-Version: 2.1\nName: a\nRequires-Dist: b >=1\nprovides-extra: x\n"
        );
    }

    #[test]
    fn a_page_links_relatively_and_announces_what_was_recorded() {
        let file = |filename: &str| PageFile {
            filename: filename.to_owned(),
            url: "https://index.test/x".to_owned(),
            hashes: Hashes::of(b"x"),
            requires_python: None,
            size: Some(1),
            upload_time: None,
            yanked: false.into(),
            core_metadata: None,
        };
        let page = Page {
            name: "a".to_owned(),
            versions: vec!["1".to_owned()],
            files: vec![file("a-1-py3-none-any.whl"), file("a-1.tar.gz")],
            metadata: vec![("a-1-py3-none-any.whl".to_owned(), "Name: a\n".to_owned())],
        };
        let json: serde_json::Value = serde_json::from_str(&render(&page).expect("JSON")).expect("JSON");
        let [wheel, sdist] = &json["files"].as_array().expect("files")[..] else { panic!("two files") };
        assert_eq!(wheel["url"], "../../files/a-1-py3-none-any.whl");
        assert_eq!(wheel["core-metadata"]["sha256"], Hashes::of(b"Name: a\n").sha256);
        assert_eq!(sdist.get("core-metadata"), None);
        assert_eq!(json["meta"]["api-version"], "1.1");
    }
}
