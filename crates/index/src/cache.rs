//! Answers kept between runs, in a folder that many processes may share.
//!
//! Each entry is one file: a checksum, then the payload. It is written beside and renamed, so it is there
//! whole or not at all; one that was damaged otherwise is as good as absent, and is written anew. The
//! format's version is part of the path, so that an older program's entries are never misread.
#![expect(clippy::disallowed_methods, reason = "a door: the cache folder is read and written here alone")]

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::HashMap;
use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use reana_model::Sha256;
use reqwest::header;
use rkyv::rancor;
use sha2::Digest as _;

use crate::error::Error;
use crate::http::Answer;
use crate::settings::CacheMode;

/// Raised whenever an entry's layout or meaning changes.
const FORMAT: &str = "v1";

/// How much of a large entry is kept in memory; of the rest, what is asked for is read from the disk.
const START: usize = 32 << 10;

/// The most entries that are held open; those beyond are read whole.
const MOST_OPEN: usize = 400;

/// The tag that tells backup programs to pass a cache by.
const CACHE_TAG: &str = "Signature: 8a477f597d28d172789f06886806bc55\n";

/// What an entry is of.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Bucket {
    /// Pages of indexes, by address.
    Pages,
    /// Headers of metadata files, by the distribution's sha256.
    Metadata,
    /// What was learnt from sdists, by their sha256.
    Sdists,
    /// Hashes that an index does not give, by address.
    Hashes,
}

impl Bucket {
    fn folder(self) -> &'static str {
        match self {
            Self::Pages => "pages",
            Self::Metadata => "metadata",
            Self::Sdists => "sdists",
            Self::Hashes => "hashes",
        }
    }
}

/// The cache.
#[derive(Debug)]
pub(crate) struct Cache {
    root: Option<PathBuf>,
    /// Without a folder: what was learnt from sdists, for the targets that come after the first.
    memory: Mutex<HashMap<String, Vec<u8>>>,
    /// How many entries were opened to be read by and by.
    opened: AtomicUsize,
}

impl Cache {
    pub(crate) fn new(mode: &CacheMode) -> Result<Self, Error> {
        let CacheMode::Folder(folder) = mode else {
            return Ok(Self { root: None, memory: Mutex::default(), opened: AtomicUsize::new(0) });
        };
        let root = folder.join(FORMAT);
        std::fs::create_dir_all(&root).map_err(|error| Error::Setup {
            what: format!("cache folder {}", folder.display()),
            reason: error.to_string(),
        })?;
        let tag = folder.join("CACHEDIR.TAG");
        if !tag.exists() {
            let _ = std::fs::write(tag, CACHE_TAG);
        }
        Ok(Self { root: Some(root), memory: Mutex::default(), opened: AtomicUsize::new(0) })
    }

    /// The payload of an entry; none where it is absent or damaged.
    pub(crate) fn read(&self, bucket: Bucket, key: &str) -> Option<Vec<u8>> {
        if self.root.is_none() {
            return self.memory.lock().unwrap_or_else(PoisonError::into_inner).get(key).cloned();
        }
        let mut bytes = std::fs::read(self.path(bucket, key)?).ok()?;
        let (sum, payload) = bytes.split_first_chunk::<4>()?;
        if u32::from_le_bytes(*sum) != checksum(&[payload]) {
            return None;
        }
        bytes.drain(..4);
        Some(bytes)
    }

    /// Writes an entry from its parts. A failure costs time later, nothing else.
    pub(crate) fn write(&self, bucket: Bucket, key: &str, parts: &[&[u8]]) {
        if let Some(path) = self.path(bucket, key) {
            let _kept = write_whole(&path, parts);
        } else if matches!(bucket, Bucket::Sdists) {
            self.memory.lock().unwrap_or_else(PoisonError::into_inner).insert(key.to_owned(), parts.concat());
        }
    }

    fn path(&self, bucket: Bucket, key: &str) -> Option<PathBuf> {
        let (shelf, rest) = key.split_at_checked(1)?;
        Some(self.root.as_ref()?.join(bucket.folder()).join(shelf).join(rest))
    }

    /// An entry that a server may have newer.
    pub(crate) fn read_dated(&self, bucket: Bucket, key: &str) -> Option<(Freshness, Vec<u8>)> {
        let mut bytes = self.read(bucket, key)?;
        let (length, rest) = bytes.split_first_chunk::<4>()?;
        let length = usize::try_from(u32::from_le_bytes(*length)).ok()?;
        let freshness = Freshness::from_bytes(rest.get(..length)?)?;
        bytes.drain(..4 + length);
        Some((freshness, bytes))
    }

    /// Such an entry, to be read by and by. All of it is checked.
    pub(crate) fn open_dated(&self, bucket: Bucket, key: &str) -> Option<(Freshness, Body)> {
        let mut file = File::open(self.path(bucket, key)?).ok()?;
        let size = usize::try_from(file.metadata().ok()?.len()).ok()?;
        let may_open = size > START && self.opened.fetch_add(1, Ordering::Relaxed) < MOST_OPEN;
        let kept = if may_open { START } else { size };
        let mut start = Vec::with_capacity(kept);
        (&mut file).take(u64::try_from(kept).ok()?).read_to_end(&mut start).ok()?;
        let (sum, payload) = start.split_first_chunk::<4>()?;
        let (sum, mut found) = (u32::from_le_bytes(*sum), flate2::Crc::new());
        found.update(payload);
        if may_open {
            sum_rest(&mut file, &mut found)?;
        }
        if sum != found.sum() {
            return None;
        }
        let length = usize::try_from(u32::from_le_bytes(*start.get(4..)?.first_chunk::<4>()?)).ok()?;
        let freshness = Freshness::from_bytes(start.get(8..)?.get(..length)?)?;
        Some((freshness, Body { start, at: 8 + length, size, file: may_open.then_some(file) }))
    }

    /// Writes such an entry, and gives it back to be read by and by.
    pub(crate) fn write_dated(
        &self,
        bucket: Bucket,
        key: &str,
        freshness: &Freshness,
        body: Vec<u8>,
    ) -> Body {
        match self.try_write_dated(bucket, key, freshness, &body) {
            Some((file, head))
                if body.len() > START && self.opened.fetch_add(1, Ordering::Relaxed) < MOST_OPEN =>
            {
                let (at, size) = (head.len(), head.len() + body.len());
                let mut start = head;
                start.extend_from_slice(body.get(..START).unwrap_or_default());
                Body { start, at, size, file: Some(file) }
            }
            _ => Body::from(body),
        }
    }

    /// The file that was written, and what stands before the body in it.
    fn try_write_dated(
        &self,
        bucket: Bucket,
        key: &str,
        freshness: &Freshness,
        body: &[u8],
    ) -> Option<(File, Vec<u8>)> {
        let path = self.path(bucket, key).filter(|_| freshness.may_be_kept)?;
        let head = rkyv::to_bytes::<rancor::Error>(freshness).ok()?;
        let length = u32::try_from(head.len()).ok()?.to_le_bytes();
        let parts: [&[u8]; 3] = [&length, &head, body];
        let file = write_whole(&path, &parts).ok()?;
        Some((file, [&checksum(&parts).to_le_bytes(), &length, &head[..]].concat()))
    }
}

/// What an entry says, of which a large part may still be on the disk. The file is held open: another process may
/// have put a newer one in its place.
#[derive(Debug)]
pub(crate) struct Body {
    start: Vec<u8>,
    /// Where the body begins in `start` and in the file.
    at: usize,
    /// Of the file.
    size: usize,
    file: Option<File>,
}

impl From<Vec<u8>> for Body {
    fn from(start: Vec<u8>) -> Self {
        let size = start.len();
        Self { start, at: 0, size, file: None }
    }
}

impl Body {
    /// A part of it.
    pub(crate) fn get(&self, start: usize, length: usize) -> Option<Cow<'_, [u8]>> {
        let from = self.at.checked_add(start)?;
        let to = from.checked_add(length).filter(|to| *to <= self.size)?;
        if let Some(part) = self.start.get(from..to) {
            return Some(Cow::Borrowed(part));
        }
        let mut part = vec![0; length];
        self.file.as_ref()?.read_exact_at(&mut part, u64::try_from(from).ok()?).ok()?;
        Some(Cow::Owned(part))
    }

    /// All of it.
    pub(crate) fn whole(&self) -> Option<Vec<u8>> {
        self.get(0, self.size.checked_sub(self.at)?).map(Cow::into_owned)
    }
}

/// Adds the rest of a file to a checksum, without keeping it.
fn sum_rest(file: &mut File, sum: &mut flate2::Crc) -> Option<()> {
    thread_local! {
        static SCRATCH: RefCell<Vec<u8>> = RefCell::new(vec![0; 128 << 10]);
    }
    SCRATCH.with_borrow_mut(|scratch| {
        loop {
            match file.read(scratch).ok()? {
                0 => return Some(()),
                length => sum.update(scratch.get(..length)?),
            }
        }
    })
}

fn write_whole(path: &Path, parts: &[&[u8]]) -> std::io::Result<File> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let mut file = tempfile::NamedTempFile::new_in(folder).or_else(|_| {
        std::fs::create_dir_all(folder)?;
        tempfile::NamedTempFile::new_in(folder)
    })?;
    file.write_all(&checksum(parts).to_le_bytes())?;
    for part in parts {
        file.write_all(part)?;
    }
    Ok(file.persist(path)?)
}

/// CRC-32: it finds what disks and crashes do; whoever may write here needs no collision.
fn checksum(parts: &[&[u8]]) -> u32 {
    let mut sum = flate2::Crc::new();
    for part in parts {
        sum.update(part);
    }
    sum.sum()
}

/// The key of an address.
pub(crate) fn key_of(url: &url::Url) -> String {
    Sha256::of(url.as_str().as_bytes()).to_string()
}

/// Stands for what an answer said, where it stood, and as what.
fn fingerprint(answer: &Answer) -> [u8; 32] {
    let mut hasher = sha2::Sha256::new();
    let content_type = answer.header(header::CONTENT_TYPE).unwrap_or_default();
    hasher.update(format!("{}\n{}\n{content_type}\n", answer.status, answer.url));
    hasher.update(&answer.body);
    hasher.finalize().into()
}

/// How long an answer holds, and how to ask whether it still does.
#[derive(Clone, Debug, PartialEq, Eq, rkyv::Archive, rkyv::Serialize, rkyv::Deserialize)]
pub(crate) struct Freshness {
    pub(crate) etag: Option<String>,
    pub(crate) last_modified: Option<String>,
    /// When it was had, in milliseconds since 1970.
    pub(crate) fetched: i64,
    /// For how many seconds from then it may be used unasked.
    pub(crate) max_age: u64,
    /// Whether the server lets it be kept at all.
    pub(crate) may_be_kept: bool,
    /// Of the answer that the entry was made from: the same answer again need not be read again.
    pub(crate) answer: [u8; 32],
}

impl Freshness {
    /// What an answer's headers say (RFC 9111, for a private cache).
    pub(crate) fn of(answer: &Answer, now: jiff::Timestamp) -> Self {
        let text = |name| answer.header(name).map(str::to_owned);
        let age = answer.header(header::AGE).and_then(|age| age.trim().parse::<u64>().ok()).unwrap_or(0);
        let (mut max_age, mut may_be_kept) = (0_u64, true);
        for directive in answer.header(header::CACHE_CONTROL).unwrap_or_default().split(',') {
            let (name, value) = directive.split_once('=').unwrap_or((directive, ""));
            match name.trim().to_ascii_lowercase().as_str() {
                "max-age" => max_age = value.trim().trim_matches('"').parse().unwrap_or(0),
                "no-store" => may_be_kept = false,
                _ => {}
            }
        }
        let has = |word: &str| {
            let control = answer.header(header::CACHE_CONTROL).unwrap_or_default().to_ascii_lowercase();
            control.split(',').any(|it| it.trim() == word)
        };
        if has("no-cache") || has("no-store") {
            max_age = 0;
        }
        Self {
            etag: text(header::ETAG),
            last_modified: text(header::LAST_MODIFIED),
            fetched: now.as_millisecond(),
            max_age: max_age.saturating_sub(age),
            may_be_kept,
            answer: fingerprint(answer),
        }
    }

    /// The same, had again unchanged: a 304 need not repeat how to ask.
    pub(crate) fn renewed(&self, answer: &Answer, now: jiff::Timestamp) -> Self {
        let new = Self::of(answer, now);
        Self {
            etag: new.etag.or_else(|| self.etag.clone()),
            last_modified: new.last_modified.or_else(|| self.last_modified.clone()),
            answer: self.answer,
            ..new
        }
    }

    /// Whether it may be used unasked. A clock that went backwards makes nothing fresh.
    pub(crate) fn is_fresh(&self, now: jiff::Timestamp) -> bool {
        let age = now.as_millisecond().saturating_sub(self.fetched);
        u64::try_from(age).is_ok_and(|age| Duration::from_millis(age) < Duration::from_secs(self.max_age))
    }

    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let mut aligned: rkyv::util::AlignedVec = rkyv::util::AlignedVec::with_capacity(bytes.len());
        aligned.extend_from_slice(bytes);
        rkyv::from_bytes::<Self, rancor::Error>(&aligned).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(control: &str, age: &str) -> Answer {
        let mut headers = header::HeaderMap::new();
        headers.insert(header::CACHE_CONTROL, control.parse().expect("a header"));
        headers.insert(header::AGE, age.parse().expect("a header"));
        headers.insert(header::ETAG, "\"x\"".parse().expect("a header"));
        let url = "https://a.example/".parse().expect("an address");
        Answer { status: 200, url, headers, body: Vec::new(), sha256: None, alone: None }
    }

    #[test]
    fn obeys_cache_control() {
        let now: jiff::Timestamp = "2020-05-20T08:00:00Z".parse().expect("a time");
        let check = |control: &str, age: &str, max_age: u64, may_be_kept: bool| {
            let found = Freshness::of(&answer(control, age), now);
            assert_eq!((found.max_age, found.may_be_kept), (max_age, may_be_kept), "{control}");
        };
        check("max-age=600, public", "0", 600, true);
        check("Max-Age=600", "200", 400, true);
        check("max-age=600", "900", 0, true);
        check("no-cache, max-age=600", "0", 0, true);
        check("no-store, max-age=600", "0", 0, false);
        check("", "", 0, true);
        let fresh = Freshness::of(&answer("max-age=600", "0"), now);
        let later = |seconds: i64| now + jiff::SignedDuration::from_secs(seconds);
        assert!(fresh.is_fresh(later(599)));
        assert!(!fresh.is_fresh(later(600)));
        assert!(!fresh.is_fresh(later(-1)));
    }

    #[test]
    fn damaged_entries_are_absent() {
        let folder = tempfile::tempdir().expect("a folder");
        let cache = Cache::new(&CacheMode::Folder(folder.path().to_owned())).expect("a cache");
        let key = "00ff";
        let now: jiff::Timestamp = "2020-05-20T08:00:00Z".parse().expect("a time");
        let fresh = Freshness::of(&answer("max-age=600", "0"), now);
        cache.write_dated(Bucket::Hashes, key, &fresh, b"body".to_vec());
        assert_eq!(cache.read_dated(Bucket::Hashes, key), Some((fresh.clone(), b"body".to_vec())));
        let path = cache.path(Bucket::Hashes, key).expect("a path");
        let whole = std::fs::read(&path).expect("to read");
        for at in 0..whole.len() {
            let mut bytes = whole.clone();
            bytes[at] ^= 0x10;
            std::fs::write(&path, &bytes).expect("to write");
            assert_eq!(cache.read_dated(Bucket::Hashes, key), None, "byte {at}");
            std::fs::write(&path, &whole[..at]).expect("to write");
            assert_eq!(cache.read_dated(Bucket::Hashes, key), None, "cut at {at}");
        }
        cache.write_dated(Bucket::Hashes, key, &fresh, b"body".to_vec());
        assert_eq!(cache.read_dated(Bucket::Hashes, key), Some((fresh, b"body".to_vec())));
        assert_eq!(cache.read(Bucket::Pages, key), None);
    }
}
