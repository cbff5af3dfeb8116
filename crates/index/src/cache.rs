//! Answers kept between runs, in a folder that many processes may share.
//!
//! Each entry is one file: a checksum, how much of the payload it covers, the payload's size, the payload. It is
//! written beside and renamed, so it is there whole or not at all; one that was damaged otherwise is as good as
//! absent, and is written anew. Of a page, of which most is never looked at, only the beginning is covered; its parts
//! have checksums of their own, and one that is found damaged ends the run ([`Damage`]). The format's version is part
//! of the path, so that an older program's entries are never misread.
#![expect(clippy::disallowed_methods, reason = "a door: the cache folder is read and written here alone")]

use std::borrow::Cow;
use std::collections::HashMap;
use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use reana_model::Sha256;
use reqwest::header;
use rkyv::rancor;
use sha2::Digest as _;

use crate::error::Error;
use crate::http::Answer;
use crate::settings::CacheMode;

/// Raised whenever an entry's layout or meaning changes.
const FORMAT: &str = "v2";

/// How much of a large entry is read at first, and kept in memory if all that is covered is in it; of the rest, what is
/// asked for is read from the disk.
const START: usize = 32 << 10;

/// What stands before the payload: the checksum (over the rest of this, and what of the payload is covered), how much
/// is covered, and the payload's size.
const PREFIX: usize = 12;

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
    damage: Arc<Damage>,
}

/// The entry that was found damaged after it was used, if one was: whatever followed from it is void.
#[derive(Debug, Default)]
pub(crate) struct Damage(OnceLock<PathBuf>);

impl Damage {
    pub(crate) fn entry(&self) -> Option<&Path> {
        self.0.get().map(PathBuf::as_path)
    }
}

impl Cache {
    pub(crate) fn new(mode: &CacheMode) -> Result<Self, Error> {
        let CacheMode::Folder(folder) = mode else {
            return Ok(Self::at(None));
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
        Ok(Self::at(Some(root)))
    }

    fn at(root: Option<PathBuf>) -> Self {
        Self { root, memory: Mutex::default(), opened: AtomicUsize::new(0), damage: Arc::default() }
    }

    pub(crate) fn damage(&self) -> &Damage {
        &self.damage
    }

    /// The payload of an entry; none where it is absent or damaged.
    pub(crate) fn read(&self, bucket: Bucket, key: &str) -> Option<Vec<u8>> {
        if self.root.is_none() {
            return self.memory.lock().unwrap_or_else(PoisonError::into_inner).get(key).cloned();
        }
        let mut bytes = std::fs::read(self.path(bucket, key)?).ok()?;
        let prefix = Prefix::read(&bytes)?;
        if prefix.covered != prefix.size || !prefix.holds(bytes.get(PREFIX..)?) {
            return None;
        }
        bytes.drain(..PREFIX);
        Some(bytes)
    }

    /// Writes an entry from its parts. A failure costs time later, nothing else.
    pub(crate) fn write(&self, bucket: Bucket, key: &str, parts: &[&[u8]]) {
        if let Some(path) = self.path(bucket, key) {
            let _kept = write_whole(&path, parts, &[]);
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

    /// Such an entry, to be read by and by. What is covered is checked.
    pub(crate) fn open_dated(&self, bucket: Bucket, key: &str) -> Option<(Freshness, Body)> {
        let path = self.path(bucket, key)?;
        let file = File::open(&path).ok()?;
        let mut start = Vec::with_capacity(START);
        (&file).take(u64::try_from(START).ok()?).read_to_end(&mut start).ok()?;
        let prefix = Prefix::read(&start)?;
        let size = prefix.size.checked_add(PREFIX)?;
        if file.metadata().ok()?.len() != u64::try_from(size).ok()? {
            return None;
        }
        let may_open = size > START && self.opened.fetch_add(1, Ordering::Relaxed) < MOST_OPEN;
        let kept = if may_open { prefix.covered.checked_add(PREFIX)? } else { size };
        if let Some(more) = kept.checked_sub(start.len()).filter(|more| *more > 0) {
            start.reserve_exact(more);
            (&file).take(u64::try_from(more).ok()?).read_to_end(&mut start).ok()?;
        }
        if !prefix.holds(start.get(PREFIX..)?) {
            return None;
        }
        let length = usize::try_from(u32::from_le_bytes(*start.get(PREFIX..)?.first_chunk::<4>()?)).ok()?;
        let freshness = Freshness::from_bytes(start.get(PREFIX + 4..)?.get(..length)?)?;
        let kept = Place { path, damage: Arc::clone(&self.damage) };
        let (at, file) = (PREFIX + 4 + length, may_open.then_some(file));
        Some((freshness, Body { start, at, size, file, place: Some(kept) }))
    }

    /// Writes such an entry, and gives it back to be read by and by. Its first `covered` bytes are covered by the
    /// checksum.
    pub(crate) fn write_dated(
        &self,
        bucket: Bucket,
        key: &str,
        freshness: &Freshness,
        body: Vec<u8>,
        covered: usize,
    ) -> Body {
        match self.try_write_dated(bucket, key, freshness, &body, covered) {
            Some((file, at, path))
                if body.len() > START && self.opened.fetch_add(1, Ordering::Relaxed) < MOST_OPEN =>
            {
                let size = at + body.len();
                let mut start = vec![0; at];
                start.extend_from_slice(body.get(..covered.max(START)).unwrap_or(&body));
                let place = Place { path, damage: Arc::clone(&self.damage) };
                Body { start, at, size, file: Some(file), place: Some(place) }
            }
            _ => Body::from(body),
        }
    }

    /// The file that was written, where the body begins in it, and its path.
    fn try_write_dated(
        &self,
        bucket: Bucket,
        key: &str,
        freshness: &Freshness,
        body: &[u8],
        covered: usize,
    ) -> Option<(File, usize, PathBuf)> {
        let path = self.path(bucket, key).filter(|_| freshness.may_be_kept)?;
        let head = rkyv::to_bytes::<rancor::Error>(freshness).ok()?;
        let length = u32::try_from(head.len()).ok()?.to_le_bytes();
        let (covered, rest) = body.split_at_checked(covered)?;
        let file = write_whole(&path, &[&length, &head, covered], rest).ok()?;
        Some((file, PREFIX + 4 + head.len(), path))
    }
}

/// What stands before an entry's payload.
struct Prefix {
    sum: u32,
    covered: usize,
    size: usize,
}

impl Prefix {
    fn of(covered: &[&[u8]], rest: &[u8]) -> std::io::Result<[u8; PREFIX]> {
        let number = |size: usize| u32::try_from(size).map_err(std::io::Error::other);
        let length = covered.iter().map(|part| part.len()).sum();
        let mut prefix = Self { sum: 0, covered: length, size: length + rest.len() };
        let [covered_length, size] = [number(prefix.covered)?, number(prefix.size)?];
        prefix.sum = prefix.checksum(covered);
        let mut bytes = [0; PREFIX];
        for (slot, number) in bytes.chunks_exact_mut(4).zip([prefix.sum, covered_length, size]) {
            slot.copy_from_slice(&number.to_le_bytes());
        }
        Ok(bytes)
    }

    fn read(bytes: &[u8]) -> Option<Self> {
        let (numbers, _) = bytes.get(..PREFIX)?.as_chunks::<4>();
        let [sum, covered, size] = numbers else { return None };
        let number = |bytes: [u8; 4]| usize::try_from(u32::from_le_bytes(bytes)).ok();
        let prefix = Self { sum: u32::from_le_bytes(*sum), covered: number(*covered)?, size: number(*size)? };
        (prefix.covered <= prefix.size).then_some(prefix)
    }

    /// CRC-32: it finds what disks and crashes do; whoever may write here needs no collision.
    fn checksum(&self, covered: &[&[u8]]) -> u32 {
        let mut sum = flate2::Crc::new();
        sum.update(&self.covered.to_le_bytes());
        sum.update(&self.size.to_le_bytes());
        covered.iter().for_each(|part| sum.update(part));
        sum.sum()
    }

    /// Whether a payload, or its beginning, is what was written.
    fn holds(&self, payload: &[u8]) -> bool {
        payload.get(..self.covered).is_some_and(|covered| self.checksum(&[covered]) == self.sum)
    }
}

/// The checksum of a part that says for itself whether it is damaged.
pub(crate) fn part_sum(part: &[u8]) -> u32 {
    let mut sum = flate2::Crc::new();
    sum.update(part);
    sum.sum()
}

/// Where an entry is, for the day that it turns out to be damaged.
#[derive(Debug)]
struct Place {
    path: PathBuf,
    damage: Arc<Damage>,
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
    place: Option<Place>,
}

impl From<Vec<u8>> for Body {
    fn from(start: Vec<u8>) -> Self {
        let size = start.len();
        Self { start, at: 0, size, file: None, place: None }
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

    /// Says that a part of it is not what was written: the entry goes, and the run will fail.
    pub(crate) fn mark_damaged(&self) {
        if let Some(place) = &self.place {
            let _ = std::fs::remove_file(&place.path);
            let _ = place.damage.0.set(place.path.clone());
        }
    }

    /// All of it.
    pub(crate) fn whole(&self) -> Option<Vec<u8>> {
        self.get(0, self.size.checked_sub(self.at)?).map(Cow::into_owned)
    }
}

/// Writes an entry: the covered parts of its payload, and the rest.
fn write_whole(path: &Path, covered: &[&[u8]], rest: &[u8]) -> std::io::Result<File> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let prefix = Prefix::of(covered, rest)?;
    let mut file = tempfile::NamedTempFile::new_in(folder).or_else(|_| {
        std::fs::create_dir_all(folder)?;
        tempfile::NamedTempFile::new_in(folder)
    })?;
    file.write_all(&[&prefix, covered.concat().as_slice()].concat())?;
    file.write_all(rest)?;
    Ok(file.persist(path)?)
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
    /// Of the answer that the entry was made from, where it has no ETag, so that a server that knows no 304 is likely:
    /// the same answer again need not be read again.
    pub(crate) answer: Option<[u8; 32]>,
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
            answer: answer.header(header::ETAG).is_none().then(|| fingerprint(answer)),
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
    fn the_covered_beginning_of_an_entry_is_checked_at_once() {
        let folder = tempfile::tempdir().expect("a folder");
        let cache = Cache::new(&CacheMode::Folder(folder.path().to_owned())).expect("a cache");
        let now: jiff::Timestamp = "2020-05-20T08:00:00Z".parse().expect("a time");
        let fresh = Freshness::of(&answer("max-age=600", "0"), now);
        for (covered, length) in [(0, 9), (9, 9), (5, START), (START + 5, 3 * START), (3 * START, 3 * START)]
        {
            let key = format!("{covered:x}.{length}");
            let body: Vec<u8> = (0..=u8::MAX).cycle().take(length).collect();
            let check = |found: &Body| {
                assert_eq!(found.whole().as_deref(), Some(body.as_slice()), "{key}");
                assert_eq!(found.get(1, 4).as_deref(), body.get(1..5), "{key}");
                assert_eq!(found.get(length - 4, 4).as_deref(), body.get(length - 4..), "{key}");
                assert_eq!(found.get(length - 4, 5), None, "{key}");
            };
            check(&cache.write_dated(Bucket::Pages, &key, &fresh, body.clone(), covered));
            let (found, again) = cache.open_dated(Bucket::Pages, &key).expect("the entry");
            assert_eq!(found, fresh);
            check(&again);
            let path = cache.path(Bucket::Pages, &key).expect("a path");
            let whole = std::fs::read(&path).expect("to read");
            let from = whole.len() - length;
            for at in [0, 5, 9, PREFIX, from.wrapping_add(covered).saturating_sub(1)] {
                let mut bytes = whole.clone();
                bytes[at] ^= 0x10;
                std::fs::write(&path, &bytes).expect("to write");
                assert!(cache.open_dated(Bucket::Pages, &key).is_none(), "{key}: byte {at}");
            }
            std::fs::write(&path, &whole[..whole.len() - 1]).expect("to write");
            assert!(cache.open_dated(Bucket::Pages, &key).is_none(), "{key}: cut");
            std::fs::write(&path, [whole.as_slice(), b"x"].concat()).expect("to write");
            assert!(cache.open_dated(Bucket::Pages, &key).is_none(), "{key}: longer");
        }
        assert_eq!(cache.damage().entry(), None);
    }

    #[test]
    fn damaged_entries_are_absent() {
        let folder = tempfile::tempdir().expect("a folder");
        let cache = Cache::new(&CacheMode::Folder(folder.path().to_owned())).expect("a cache");
        let key = "00ff";
        let now: jiff::Timestamp = "2020-05-20T08:00:00Z".parse().expect("a time");
        let fresh = Freshness::of(&answer("max-age=600", "0"), now);
        cache.write_dated(Bucket::Hashes, key, &fresh, b"body".to_vec(), 4);
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
        cache.write_dated(Bucket::Hashes, key, &fresh, b"body".to_vec(), 4);
        assert_eq!(cache.read_dated(Bucket::Hashes, key), Some((fresh, b"body".to_vec())));
        assert_eq!(cache.read(Bucket::Pages, key), None);
    }
}
