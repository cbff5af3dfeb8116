//! An sdist unpacked in memory: its small text files, and the names of all others. Pure.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Read};

use bzip2::read::MultiBzDecoder;
use flate2::read::MultiGzDecoder;
use reana_manifest::files::{FileError, Files, normal_path};
use tar::EntryType;

use super::directory::{Have, MAX_MEMBERS, directory, member};
use super::{ArchiveError, Part};

/// The largest file whose bytes are kept.
const MAX_FILE: u64 = 2 << 20;
/// The most bytes that are kept of all files together; later ones are known by name alone.
const MAX_KEPT: u64 = 64 << 20;
/// What is kept besides of files that say what is required: they may come last, after much else.
const MAX_MANIFESTS: u64 = 16 << 20;
/// The most bytes that are unpacked of a tar archive, kept or not.
const MAX_UNPACKED: u64 = 2 << 30;
/// An honest archive of texts shrinks to a tenth; small ones may be extreme without doing harm.
const MAX_RATIO: u64 = 100;
const SMALL: u64 = 64 << 20;
/// The largest header of a member (pax, long names).
const MAX_HEADER: u64 = 1 << 20;
/// The longest path, in bytes, which is what Linux takes, and the most bytes of all paths together.
const MAX_NAME: usize = 4096;
const MAX_NAMES: usize = 32 << 20;
/// Links are followed from one to the next at most so often.
const MAX_LINKS: usize = 8;

/// Endings of the texts that a setup.py may read. A file without an ending (`VERSION`, `PKG-INFO`) is one too.
const TEXTS: [&str; 19] = [
    "cfg",
    "conf",
    "in",
    "inc",
    "info",
    "ini",
    "json",
    "lock",
    "md",
    "properties",
    "py",
    "pyi",
    "pyx",
    "rst",
    "toml",
    "txt",
    "version",
    "yaml",
    "yml",
];

/// An unpacked sdist; paths are relative to its one folder.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Project {
    files: BTreeMap<String, Content>,
    /// Folders that the archive names; the others follow from the files' paths.
    folders: BTreeSet<String>,
}

/// What is known of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Content {
    Kept(Vec<u8>),
    /// It is larger than what is kept.
    Large,
    /// No text, by its name.
    Binary,
}

/// A member as an archive has it: its path with the top folder, not yet checked.
struct Members {
    files: BTreeMap<String, Content>,
    links: BTreeMap<String, String>,
    folders: BTreeSet<String>,
    kept: u64,
    count: usize,
    names: usize,
}

/// Unpacks an sdist, whose kind its name tells.
pub(crate) fn unpack(bytes: &[u8], file_name: &str) -> Result<Project, ArchiveError> {
    unpack_folder(bytes, file_name, "")
}

/// Unpacks the project in a folder of an archive. The folder is counted from below the archive's one folder.
pub(crate) fn unpack_folder(bytes: &[u8], file_name: &str, folder: &str) -> Result<Project, ArchiveError> {
    let lower = file_name.to_lowercase();
    let ends = |endings: &[&str]| endings.iter().any(|ending| lower.ends_with(ending));
    let budget = MAX_UNPACKED.min(SMALL.max((bytes.len() as u64).saturating_mul(MAX_RATIO)));
    let members = if ends(&[".zip"]) {
        from_zip(bytes)?
    } else if ends(&[".tar.gz", ".tgz"]) {
        // What is named `.tar.gz` and is none is opened by tarfile (pip) all the same.
        if bytes.starts_with(b"\x1f\x8b") {
            from_tar(Bounded::new(MultiGzDecoder::new(bytes), budget))?
        } else {
            from_tar(Bounded::new(bytes, budget))?
        }
    } else if ends(&[".tar.bz2"]) {
        from_tar(Bounded::new(MultiBzDecoder::new(bytes), budget))?
    } else if ends(&[".tar"]) {
        from_tar(Bounded::new(bytes, budget))?
    } else {
        let ending = lower.rsplit('.').next().unwrap_or_default();
        return Err(ArchiveError::Unsupported(format!("the format `{ending}`")));
    };
    members.into_project(folder)
}

fn is_text(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    match name.rsplit_once('.') {
        None => true,
        Some((_, ending)) => TEXTS.contains(&ending.to_lowercase().as_str()),
    }
}

/// Whether a file says what is required, by its name and place.
fn is_manifest(path: &str) -> bool {
    const MANIFESTS: [&str; 5] = ["setup.py", "setup.cfg", "pyproject.toml", "PKG-INFO", "requires.txt"];
    let mut parts = path.rsplit('/');
    parts.next().is_some_and(|name| MANIFESTS.contains(&name)) && parts.count() <= 3
}

impl Members {
    fn new() -> Self {
        Self {
            files: BTreeMap::new(),
            links: BTreeMap::new(),
            folders: BTreeSet::new(),
            kept: 0,
            count: 0,
            names: 0,
        }
    }

    /// Checks a member's path and counts it. The archive's own root gives an empty path.
    fn path(&mut self, raw: &str) -> Result<String, ArchiveError> {
        self.count += 1;
        self.names = self.names.saturating_add(raw.len());
        if self.count > MAX_MEMBERS || self.names > MAX_NAMES || raw.len() > MAX_NAME {
            return Err(ArchiveError::Limit("the number or the length of its members' names".to_owned()));
        }
        let outside = raw.split('/').any(|part| part == "..");
        normal_path(raw).filter(|_| !outside).ok_or_else(|| ArchiveError::Outside(raw.to_owned()))
    }

    fn is_kept(&self, path: &str, size: u64) -> Result<(), Content> {
        if !is_text(path) {
            return Err(Content::Binary);
        }
        let most = if is_manifest(path) { MAX_KEPT + MAX_MANIFESTS } else { MAX_KEPT };
        if size > MAX_FILE || self.kept.saturating_add(size) > most {
            return Err(Content::Large);
        }
        Ok(())
    }

    /// Adds a file. One that is there twice must be the same twice: which of two wins depends on the reader.
    fn add(&mut self, path: String, content: Content) -> Result<(), ArchiveError> {
        if let Content::Kept(bytes) = &content {
            self.kept = self.kept.saturating_add(bytes.len() as u64);
        }
        match self.files.get(&path) {
            Some(Content::Kept(first)) if !matches!(&content, Content::Kept(bytes) if bytes == first) => {
                Err(ArchiveError::Ambiguous(format!("`{path}` is there twice")))
            }
            _ => {
                self.files.insert(path, content);
                Ok(())
            }
        }
    }

    /// Follows links inside the archive; those that lead nowhere are absent.
    fn resolve_links(&mut self) {
        let links = std::mem::take(&mut self.links);
        for (path, target) in &links {
            let mut at = target;
            for _ in 0..MAX_LINKS {
                match links.get(at) {
                    Some(next) => at = next,
                    None => break,
                }
            }
            let content = match self.files.get(at) {
                None => continue,
                Some(Content::Kept(bytes)) => match self.is_kept(path, bytes.len() as u64) {
                    Ok(()) => Content::Kept(bytes.clone()),
                    Err(content) => content,
                },
                Some(content) => content.clone(),
            };
            if let Content::Kept(bytes) = &content {
                self.kept = self.kept.saturating_add(bytes.len() as u64);
            }
            self.files.entry(path.clone()).or_insert(content);
        }
    }

    /// Takes the top folder away, and then `folder`. Archives made on a Mac have `._x` beside `x`; they don't count,
    /// unless a folder is named: pip takes no top folder away where there is anything beside it.
    fn into_project(mut self, folder: &str) -> Result<Project, ArchiveError> {
        self.resolve_links();
        let is_noise = |top: &str| top.starts_with("._") || top == "__MACOSX" || top == "pax_global_header";
        let tops: BTreeSet<&str> = self
            .files
            .keys()
            .filter_map(|path| path.split('/').next())
            .filter(|top| !folder.is_empty() || !is_noise(top))
            .collect();
        let is_root = ["PKG-INFO", "setup.py", "pyproject.toml"].iter().any(|file| tops.contains(file));
        let prefix = match (tops.first(), tops.len()) {
            _ if is_root => String::new(),
            (Some(top), 1) => format!("{top}/"),
            (_, 0) => return Err(ArchiveError::Absent("files".to_owned())),
            _ if !folder.is_empty() => String::new(),
            _ => return Err(ArchiveError::Ambiguous("several folders at its top".to_owned())),
        };
        let prefix = if folder.is_empty() { prefix } else { format!("{prefix}{folder}/") };
        let strip = |path: &str| path.strip_prefix(&prefix).map(str::to_owned);
        let folders = self.folders.iter().filter_map(|path| strip(path)).collect();
        let files: BTreeMap<String, Content> =
            self.files.into_iter().filter_map(|(path, content)| Some((strip(&path)?, content))).collect();
        if files.is_empty() && !folder.is_empty() {
            return Err(ArchiveError::Absent(format!("folder `{folder}`")));
        }
        Ok(Project { files, folders })
    }
}

fn from_zip(bytes: &[u8]) -> Result<Members, ArchiveError> {
    let have = Have::new(bytes, bytes.len() as u64)?;
    let whole = |_| ArchiveError::damaged("it points outside of itself");
    let done = |part| match part {
        Part::Done(value) => Ok(value),
        Part::From(start) => Err(whole(start)),
    };
    let entries = match directory(&have)? {
        Part::Done(entries) => entries,
        Part::From(start) => return Err(whole(start)),
    };
    let mut members = Members::new();
    for entry in &entries {
        let path = members.path(&entry.name)?;
        if entry.name.ends_with('/') {
            members.folders.insert(path);
            continue;
        }
        if entry.unix_mode & 0o170_000 == 0o120_000 {
            let target = done(member(&have, entry, 4096)?)?;
            if let Some(target) = beside(&path, &String::from_utf8_lossy(&target)) {
                members.links.insert(path, target);
            }
            continue;
        }
        let content = match members.is_kept(&path, entry.size) {
            Ok(()) => Content::Kept(done(member(&have, entry, MAX_FILE)?)?),
            Err(content) => content,
        };
        members.add(path, content)?;
    }
    Ok(members)
}

/// Where a symbolic link at `path` leads to; `None` for outside.
fn beside(path: &str, target: &str) -> Option<String> {
    if target.starts_with('/') {
        return None;
    }
    let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
    normal_path(format!("{folder}/{target}").trim_start_matches('/'))
}

fn from_tar(reader: impl Read) -> Result<Members, ArchiveError> {
    let mut archive = tar::Archive::new(reader);
    let mut members = Members::new();
    // Raw: the crate would read names and pax headers of any size into memory.
    let mut names = LongNames::default();
    for entry in archive.entries().map_err(tar_error)?.raw(true) {
        let mut entry = entry.map_err(tar_error)?;
        match entry.header().entry_type() {
            EntryType::GNULongName => names.path = Some(header_text(&mut entry)?),
            EntryType::GNULongLink => names.link = Some(header_text(&mut entry)?),
            EntryType::XHeader => names.pax(&header_bytes(&mut entry)?)?,
            EntryType::XGlobalHeader => {}
            EntryType::GNUSparse => return Err(ArchiveError::Unsupported("sparse files".to_owned())),
            kind => {
                let names = std::mem::take(&mut names);
                add_entry(&mut members, &mut entry, kind, names)?;
            }
        }
    }
    if members.count == 0 {
        return Err(ArchiveError::damaged("no tar archive, or empty"));
    }
    Ok(members)
}

/// What extension headers say of the member after them.
#[derive(Default)]
struct LongNames {
    path: Option<String>,
    link: Option<String>,
    size: Option<u64>,
}

impl LongNames {
    /// Reads `LENGTH KEY=VALUE\n` records (POSIX pax).
    fn pax(&mut self, bytes: &[u8]) -> Result<(), ArchiveError> {
        for record in tar::PaxExtensions::new(bytes) {
            let record = record.map_err(|_| ArchiveError::damaged("a pax header"))?;
            let value = String::from_utf8_lossy(record.value_bytes()).into_owned();
            match record.key_bytes() {
                b"path" => self.path = Some(value),
                b"linkpath" => self.link = Some(value),
                b"size" => self.size = value.parse().ok(),
                _ => {}
            }
        }
        Ok(())
    }
}

fn add_entry<R: Read>(
    members: &mut Members,
    entry: &mut tar::Entry<'_, R>,
    kind: EntryType,
    names: LongNames,
) -> Result<(), ArchiveError> {
    let size = entry.header().entry_size().map_err(tar_error)?;
    // Readers disagree on which of two sizes counts, and so on what comes after.
    if names.size.is_some_and(|pax| pax != size) {
        return Err(ArchiveError::Ambiguous("a member has two sizes".to_owned()));
    }
    let raw = names.path.unwrap_or_else(|| String::from_utf8_lossy(&entry.path_bytes()).into_owned());
    let path = members.path(&raw)?;
    let link = || {
        let header = entry.header().link_name_bytes();
        names.link.clone().or_else(|| header.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()))
    };
    match kind {
        EntryType::Directory => {
            members.folders.insert(path);
        }
        // Old tar archives end a folder's name in a slash.
        EntryType::Regular | EntryType::Continuous if raw.ends_with('/') => {
            members.folders.insert(path);
        }
        EntryType::Regular | EntryType::Continuous => {
            let content = match members.is_kept(&path, size) {
                Err(content) => content,
                Ok(()) => {
                    let mut bytes = Vec::new();
                    entry.take(MAX_FILE).read_to_end(&mut bytes).map_err(tar_error)?;
                    if bytes.len() as u64 != size {
                        return Err(ArchiveError::damaged(format!("`{path}` is cut off")));
                    }
                    Content::Kept(bytes)
                }
            };
            members.add(path, content)?;
        }
        EntryType::Symlink => {
            if let Some(target) = link().and_then(|target| beside(&path, &target)) {
                members.links.insert(path, target);
            }
        }
        // A hard link names its target from the archive's root. Some name themselves.
        EntryType::Link => {
            if let Some(target) = link().and_then(|target| normal_path(&target)).filter(|to| *to != path) {
                members.links.insert(path, target);
            }
        }
        _ => {}
    }
    Ok(())
}

fn header_bytes<R: Read>(entry: &mut tar::Entry<'_, R>) -> Result<Vec<u8>, ArchiveError> {
    let mut bytes = Vec::new();
    entry.take(MAX_HEADER + 1).read_to_end(&mut bytes).map_err(tar_error)?;
    if bytes.len() as u64 > MAX_HEADER {
        return Err(ArchiveError::Limit("a member's header".to_owned()));
    }
    Ok(bytes)
}

fn header_text<R: Read>(entry: &mut tar::Entry<'_, R>) -> Result<String, ArchiveError> {
    let bytes = header_bytes(entry)?;
    let text = bytes.split(|byte| *byte == 0).next().unwrap_or_default();
    Ok(String::from_utf8_lossy(text).into_owned())
}

/// A reader that ends in an error when more comes out of it than an honest archive holds.
struct Bounded<R> {
    inner: R,
    left: u64,
}

#[derive(Debug, thiserror::Error)]
#[error("its ratio or its size is out of bounds")]
struct OutOfBounds;

impl<R> Bounded<R> {
    fn new(inner: R, left: u64) -> Self {
        Self { inner, left }
    }
}

impl<R: Read> Read for Bounded<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        self.left = self.left.checked_sub(count as u64).ok_or_else(|| io::Error::other(OutOfBounds))?;
        Ok(count)
    }
}

#[expect(clippy::needless_pass_by_value, reason = "for map_err")]
fn tar_error(error: io::Error) -> ArchiveError {
    let mut source: Option<&dyn std::error::Error> = Some(&error);
    while let Some(error) = source {
        // What an `io::Error` carries is not its source: it has to be asked for.
        let carried = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
        if let Some(carried) = carried
            && carried.is::<OutOfBounds>()
        {
            return ArchiveError::Limit(OutOfBounds.to_string());
        }
        source = error.source();
    }
    ArchiveError::damaged(error.to_string())
}

impl Project {
    /// The text files below `folder` whose name is `name`, sorted by path.
    pub(crate) fn find(&self, is_wanted: impl Fn(&str) -> bool) -> Vec<&str> {
        self.files.keys().map(String::as_str).filter(|path| is_wanted(path)).collect()
    }

    /// The bytes of a file, where they were kept.
    pub(crate) fn bytes(&self, path: &str) -> Option<&[u8]> {
        match self.files.get(path) {
            Some(Content::Kept(bytes)) => Some(bytes),
            _ => None,
        }
    }
}

impl Files for Project {
    fn read(&self, path: &str) -> Result<Vec<u8>, FileError> {
        let path = normal_path(path).ok_or(FileError::Outside)?;
        match self.files.get(&path) {
            Some(Content::Kept(bytes)) => Ok(bytes.clone()),
            Some(Content::Large) => Err(FileError::TooLarge { limit: MAX_FILE }),
            Some(Content::Binary) => Err(FileError::Unreadable("it is no text, by its name".to_owned())),
            None => Err(FileError::Absent),
        }
    }

    fn exists(&self, path: &str) -> bool {
        let Some(path) = normal_path(path) else { return false };
        if path.is_empty() || self.files.contains_key(&path) || self.folders.contains(&path) {
            return true;
        }
        let inside = format!("{path}/");
        self.files.range(inside.clone()..).next().is_some_and(|(path, _)| path.starts_with(&inside))
    }

    fn list(&self, folder: &str) -> Vec<String> {
        let Some(folder) = normal_path(folder) else { return Vec::new() };
        let prefix = if folder.is_empty() { folder } else { format!("{folder}/") };
        let files = self.files.range(prefix.clone()..).map(|(path, _)| path);
        let folders = self.folders.range(prefix.clone()..);
        let names: BTreeSet<&str> = files
            .take_while(|path| path.starts_with(&prefix))
            .chain(folders.take_while(|path| path.starts_with(&prefix)))
            .filter_map(|path| path.get(prefix.len()..))
            .filter_map(|rest| rest.split('/').next())
            .filter(|name| !name.is_empty())
            .collect();
        names.into_iter().map(str::to_owned).collect()
    }
}

#[cfg(test)]
#[path = "unpack_tests.rs"]
mod tests;
