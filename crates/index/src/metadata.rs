//! What one distribution requires: by the cheapest way that its index allows, kept for good under the
//! file's sha256.

use std::sync::{Arc, PoisonError};

use reana_model::file::CoreMetadata;
use reana_model::{DistFile, Grade, Metadata, PackageName, Sha256, Target, Version};
use reqwest::header;
use url::Url;

use crate::archive::{TailAnswer, metadata_from_tail, metadata_from_wheel};
use crate::cache::{Bucket, Freshness, key_of};
use crate::direct::subdirectory;
use crate::engine::{Engine, blocking, conditional};
use crate::error::{Error, FetchError};
use crate::http::{Answer, Request};
use crate::local;
use crate::sdist::{BuildAnswer, SdistAnswer};
use crate::stored;
use crate::wire::parse_core;

/// How much of a wheel's end is asked for first: most wheels' METADATA and directory are in it.
const TAIL: u64 = 32 << 10;

/// Of a large wheel more is asked for, since its directory is larger: this part of it, up to a limit.
const TAIL_PART: u64 = 64;
const LONGEST_TAIL: u64 = 256 << 10;

/// How many files of a server are asked for METADATA beside them that is not announced, before one is found.
const MOST_GUESSES: u32 = 8;

/// How often more of a wheel is asked for before it is fetched whole.
const MOST_TAILS: usize = 4;

/// What was learnt of a distribution's requirements.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MetadataAnswer {
    /// They are known.
    Known(Arc<Metadata>),
    /// An sdist that tells them only when it is built.
    Unreadable {
        /// Why.
        reason: String,
    },
    /// A file that can't be used: broken, or its metadata can't be understood. To be passed over.
    Invalid {
        /// What is wrong with it.
        reason: String,
    },
}

/// What becomes of a file after it was hashed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Then {
    /// It is read right away: its bytes are kept until [`Engine::archive`] asks.
    Read,
    /// Only its hash is wanted.
    Forget,
}

/// The headers of a METADATA file, and how well they are known.
pub(crate) struct Found {
    text: Vec<u8>,
    pub(crate) grade: Grade,
}

impl Engine {
    /// The metadata of a file of `package`, for a target (wheels' are the same for all).
    pub(crate) async fn metadata(
        self: Arc<Self>,
        package: PackageName,
        file: DistFile,
        target: Target,
    ) -> Result<MetadataAnswer, Error> {
        let answer = if file.name.wheel().is_some() {
            self.wheel(&package, &file).await?
        } else {
            self.sdist(&package, &file, target).await?
        };
        if matches!(answer, MetadataAnswer::Invalid { .. }) {
            self.notes().skipped.entry(package).or_default().metadata += 1;
        }
        Ok(answer)
    }

    async fn wheel(
        self: &Arc<Self>,
        package: &PackageName,
        file: &DistFile,
    ) -> Result<MetadataAnswer, Error> {
        let known = file.sha256.or_else(|| self.notes().hashes.get(&file.url).copied());
        if let Some(sha256) = known {
            // Small, and on this machine: read sooner than another thread is awake.
            if let Some(found) = self.kept_metadata(sha256) {
                return Ok(understand(package, file.name.version(), file.name.file(), &found));
            }
        }
        let url = address_of(&file.url)?;
        let found = match local::path_of(&url) {
            Some(path) => {
                let (engine, file) = (self.clone(), file.clone());
                blocking(move || engine.local_wheel(&path, &file)).await?
            }
            None => self.fetched_wheel(&url, file).await?,
        };
        let found = match found {
            Ok(found) => found,
            Err(reason) => return Ok(MetadataAnswer::Invalid { reason }),
        };
        let answer = understand(package, file.name.version(), file.name.file(), &found);
        if let Some(sha256) = known {
            let engine = self.clone();
            blocking(move || {
                engine.keep_metadata(sha256, &found);
                Ok(())
            })
            .await?;
        }
        Ok(answer)
    }

    pub(crate) fn kept_metadata(&self, sha256: Sha256) -> Option<Found> {
        let read = |suffix: &str, grade| {
            let text = self.cache.read(Bucket::Metadata, &format!("{sha256}{suffix}"))?;
            Some(Found { text, grade })
        };
        read("", Grade::Wheel).or_else(|| {
            if self.settings.verify_metadata { None } else { read(".unchecked", Grade::WheelUnchecked) }
        })
    }

    pub(crate) fn keep_metadata(&self, sha256: Sha256, found: &Found) {
        let suffix = if found.grade == Grade::Wheel { "" } else { ".unchecked" };
        self.cache.write(Bucket::Metadata, &format!("{sha256}{suffix}"), &[&found.text]);
    }

    /// A wheel on this machine. `Err` inside says why it can't be used.
    fn local_wheel(&self, path: &std::path::Path, file: &DistFile) -> Result<Result<Found, String>, Error> {
        let failed = |kind| local::error(path, kind);
        if file.core_metadata != CoreMetadata::Absent {
            let mut beside = path.as_os_str().to_owned();
            beside.push(".metadata");
            match local::read_file(beside.as_ref(), self.settings.limits.metadata) {
                Ok(text) => match file.core_metadata {
                    CoreMetadata::Hashed(expected) => {
                        let grade =
                            check_hash(expected, Sha256::of(&text)).map_err(failed).map(|()| Grade::Wheel)?;
                        return Ok(Ok(Found { text: headers_of(&text), grade }));
                    }
                    _ if self.settings.verify_metadata => {}
                    _ => return Ok(Ok(Found { text: headers_of(&text), grade: Grade::WheelUnchecked })),
                },
                Err(FetchError::NotFound) => {}
                Err(kind) => return Err(failed(kind)),
            }
        }
        let bytes = local::read_file(path, self.settings.limits.announced).map_err(failed)?;
        let found = Sha256::of(&bytes);
        file.sha256.map_or(Ok(()), |expected| check_hash(expected, found)).map_err(failed)?;
        self.notes().hashes.insert(file.url.clone(), found);
        Ok(from_wheel(&bytes))
    }

    /// A wheel on a server.
    async fn fetched_wheel(
        self: &Arc<Self>,
        url: &Url,
        file: &DistFile,
    ) -> Result<Result<Found, String>, Error> {
        if self.settings.offline {
            return Err(Error::fetch(url, FetchError::Offline));
        }
        if let Some(found) = self.beside(url, file.core_metadata).await? {
            return Ok(Ok(found));
        }
        if !self.settings.verify_metadata
            && let Some(found) = self.read_end(url, file).await?
        {
            return Ok(found);
        }
        let (bytes, _) = self.archive(url, file).await?;
        blocking(move || Ok(from_wheel(&bytes))).await
    }

    /// The METADATA beside a wheel: where it is announced, or where this server was seen to have it unannounced.
    async fn beside(self: &Arc<Self>, url: &Url, announced: CoreMetadata) -> Result<Option<Found>, Error> {
        let is_checked = matches!(announced, CoreMetadata::Hashed(_));
        if self.settings.verify_metadata && !is_checked {
            return Ok(None);
        }
        if announced != CoreMetadata::Absent {
            return self.ask_beside(url, announced).await;
        }
        let host = url.origin().ascii_serialization();
        let is_hopeless = {
            let mut beside = self.beside.lock().unwrap_or_else(PoisonError::into_inner);
            let tally = beside.entry(host.clone()).or_default();
            tally.asked += 1;
            !tally.has_any && tally.asked > MOST_GUESSES
        };
        if is_hopeless {
            return Ok(None);
        }
        // Whatever goes wrong here, the file itself is still there to be asked.
        let found = self.ask_beside(url, announced).await.ok().flatten();
        if found.is_some() {
            let mut beside = self.beside.lock().unwrap_or_else(PoisonError::into_inner);
            beside.entry(host).or_default().has_any = true;
        }
        Ok(found)
    }

    async fn ask_beside(&self, url: &Url, announced: CoreMetadata) -> Result<Option<Found>, Error> {
        let mut beside = url.clone();
        beside.set_path(&format!("{}.metadata", url.path()));
        let answer = self.http.get(&Request::text(beside.clone(), self.settings.limits.metadata)).await?;
        if answer.status != 200 {
            return Ok(None);
        }
        let grade = match announced {
            CoreMetadata::Hashed(expected) => {
                let checked = check_hash(expected, Sha256::of(&answer.body));
                checked.map_err(|kind| Error::fetch(&beside, kind))?;
                Grade::Wheel
            }
            CoreMetadata::Present => Grade::WheelUnchecked,
            // Some servers answer anything to everything.
            CoreMetadata::Absent if parse_core(&answer.body).is_err() => return Ok(None),
            CoreMetadata::Absent => Grade::WheelUnchecked,
        };
        Ok(Some(Found { text: headers_of(&answer.body), grade }))
    }

    /// The METADATA by reading the wheel's end. None where the server or the wheel doesn't lend itself to it.
    async fn read_end(&self, url: &Url, file: &DistFile) -> Result<Option<Result<Found, String>>, Error> {
        let limit = self.archive_limit(file.size);
        let ask = |range: String| {
            let request = Request::file(url.clone(), limit).with(header::RANGE, range);
            async move { self.http.get(&request).await }
        };
        let length = (file.size.unwrap_or(0) / TAIL_PART).clamp(TAIL, LONGEST_TAIL);
        let answer = match ask(format!("bytes=-{length}")).await {
            Ok(answer) => answer,
            // A server that can't do ranges; the file itself may still be had.
            Err(Error::Fetch { kind: FetchError::Status { code: 400..=499 | 501 }, .. }) => return Ok(None),
            Err(error) => return Err(error),
        };
        if answer.status == 200 {
            return self.whole(url, file, answer).map(|(bytes, _)| Some(from_wheel(&bytes)));
        }
        let Some((mut start, total)) = content_range(&answer) else { return Ok(None) };
        let mut tail = answer.body;
        for _ in 0..MOST_TAILS {
            if start.checked_add(tail.len() as u64) != Some(total) {
                return Ok(None);
            }
            match metadata_from_tail(&tail, total) {
                Ok(TailAnswer::Metadata(text)) => {
                    return Ok(Some(Ok(Found { text: headers_of(&text), grade: Grade::WheelUnchecked })));
                }
                Ok(TailAnswer::Need { start: needed, .. }) if needed < start => {
                    let Ok(more) = ask(format!("bytes={needed}-{}", start - 1)).await else {
                        return Ok(None);
                    };
                    if content_range(&more) != Some((needed, total)) {
                        return Ok(None);
                    }
                    let mut longer = more.body;
                    longer.extend_from_slice(&tail);
                    (tail, start) = (longer, needed);
                }
                // Read whole and checked, it may be sound after all.
                _ => return Ok(None),
            }
        }
        Ok(None)
    }

    /// A file's bytes, checked against the index's hash.
    pub(crate) async fn archive(
        self: &Arc<Self>,
        url: &Url,
        file: &DistFile,
    ) -> Result<(Vec<u8>, Sha256), Error> {
        if let Some(path) = local::path_of(url) {
            let (engine, file) = (self.clone(), file.clone());
            return blocking(move || {
                let failed = |kind| local::error(&path, kind);
                let bytes = local::read_file(&path, engine.settings.limits.announced).map_err(failed)?;
                let found = Sha256::of(&bytes);
                file.sha256.map_or(Ok(()), |expected| check_hash(expected, found)).map_err(failed)?;
                engine.notes().hashes.insert(file.url, found);
                Ok((bytes, found))
            })
            .await;
        }
        if let Some(found) = file.sha256.or_else(|| self.notes().hashes.get(&file.url).copied())
            && let Some(bytes) = self.notes().bodies.remove(&found)
        {
            return Ok((bytes, found));
        }
        if self.settings.offline {
            return Err(Error::fetch(url, FetchError::Offline));
        }
        let request = Request::file(url.clone(), self.archive_limit(file.size));
        let answer = self.http.get(&request).await?;
        self.whole(url, file, answer)
    }

    fn whole(&self, url: &Url, file: &DistFile, answer: Answer) -> Result<(Vec<u8>, Sha256), Error> {
        let found = match (answer.status, answer.sha256) {
            (200, Some(found)) => found,
            (404, _) => return Err(Error::fetch(url, FetchError::NotFound)),
            (code, _) => return Err(Error::fetch(url, FetchError::Status { code })),
        };
        match file.sha256 {
            Some(expected) => check_hash(expected, found).map_err(|kind| Error::fetch(url, kind))?,
            None => self.keep_hash(&file.url, url, found, &Freshness::of(&answer, self.now())),
        }
        Ok((answer.body, found))
    }

    fn keep_hash(&self, text: &str, url: &Url, found: Sha256, freshness: &Freshness) {
        self.notes().hashes.insert(text.to_owned(), found);
        self.cache.write_dated(Bucket::Hashes, &key_of(url), freshness, found.0.to_vec(), found.0.len());
    }

    /// An sdist.
    async fn sdist(
        self: &Arc<Self>,
        package: &PackageName,
        file: &DistFile,
        target: Target,
    ) -> Result<MetadataAnswer, Error> {
        let url = address_of(&file.url)?;
        let known = match file.sha256 {
            Some(sha256) => Some(sha256),
            None if local::path_of(&url).is_some() => None,
            None => Some(self.sha256_of(&url, &file.url, Then::Read).await?),
        };
        // For several targets at once: whoever comes second may find the first one's answer.
        let turn = self.turn(&file.url);
        let _turn = turn.lock().await;
        if let Some(sha256) = known
            && let Some(answer) =
                stored::read(&self.cache, &stored::archive_key(sha256, ""), target, file.name.file())
        {
            self.notes().bodies.remove(&sha256);
            return Ok(answer_of(answer));
        }
        let (bytes, sha256) = self.archive(&url, file).await?;
        let (engine, package, file) = (self.clone(), package.clone(), file.name.clone());
        blocking(move || {
            let answer = crate::sdist::read(&bytes, file.file(), &package, file.version(), &target);
            stored::write(&engine.cache, &stored::archive_key(sha256, ""), target, &answer);
            Ok(answer_of(answer))
        })
        .await
    }

    /// What an sdist needs to be built; one that was named by its address may have `#subdirectory=` there.
    pub(crate) async fn build_requirements(
        self: Arc<Self>,
        file: DistFile,
        target: Target,
    ) -> Result<BuildAnswer, Error> {
        let mut url = address_of(&file.url)?;
        url.set_fragment(None);
        let folder = subdirectory(&file.url)
            .map_err(|reason| Error::Invalid { file: file.name.file().to_owned(), reason })?;
        let known = file.sha256.or_else(|| self.notes().hashes.get(&file.url).copied());
        if let Some(sha256) = known {
            let (engine, name) = (self.clone(), file.name.file().to_owned());
            let key = stored::archive_key(sha256, &folder);
            let kept = blocking(move || Ok(stored::read_build(&engine.cache, &key, target, &name))).await?;
            if let Some(answer) = kept {
                return Ok(answer);
            }
        }
        let (bytes, sha256) = self.archive(&url, &file).await?;
        let engine = self.clone();
        blocking(move || {
            let answer = crate::sdist::read_build_requirements(&bytes, file.name.file(), &folder, &target);
            stored::write_build(&engine.cache, &stored::archive_key(sha256, &folder), target, &answer);
            Ok(answer)
        })
        .await
    }

    fn turn(&self, url: &str) -> Arc<tokio::sync::Mutex<()>> {
        let mut turns = self.turns.lock().unwrap_or_else(PoisonError::into_inner);
        turns.entry(url.to_owned()).or_default().clone()
    }

    /// The sha256 of a file.
    pub(crate) async fn sha256(self: Arc<Self>, file: DistFile) -> Result<Sha256, Error> {
        match file.sha256 {
            Some(sha256) => Ok(sha256),
            None => self.sha256_of(&address_of(&file.url)?, &file.url, Then::Forget).await,
        }
    }

    /// The sha256 of what an address gives, where no index says it.
    pub(crate) async fn sha256_of(
        self: &Arc<Self>,
        url: &Url,
        text: &str,
        then: Then,
    ) -> Result<Sha256, Error> {
        if let Some(found) = self.notes().hashes.get(text) {
            return Ok(*found);
        }
        if let Some(path) = local::path_of(url) {
            let (engine, text) = (self.clone(), text.to_owned());
            return blocking(move || {
                let found = local::hash_file(&path).map_err(|kind| local::error(&path, kind))?;
                engine.notes().hashes.insert(text, found);
                Ok(found)
            })
            .await;
        }
        let (engine, key) = (self.clone(), key_of(url));
        let kept = blocking(move || {
            let kept = engine.cache.read_dated(Bucket::Hashes, &key);
            Ok(kept.and_then(|(freshness, bytes)| Some((freshness, Sha256(bytes.try_into().ok()?)))))
        })
        .await?;
        let mut request = match then {
            Then::Read => Request::file(url.clone(), self.settings.limits.archive),
            Then::Forget => Request::file(url.clone(), self.settings.limits.file),
        };
        request.only_hash = then == Then::Forget;
        match &kept {
            Some((freshness, found)) if self.is_usable(freshness) => {
                self.notes().hashes.insert(text.to_owned(), *found);
                return Ok(*found);
            }
            _ if self.settings.offline => return Err(Error::fetch(url, FetchError::Offline)),
            Some((freshness, _)) => request = conditional(request, freshness),
            None => {}
        }
        let answer = self.http.get(&request).await?;
        let new = Freshness::of(&answer, self.now());
        let (found, freshness) = match (answer.status, answer.sha256, kept) {
            (304, _, Some((kept, found))) => (found, kept.renewed(&answer, self.now())),
            (200, Some(found), _) => (found, new),
            (404, ..) => return Err(Error::fetch(url, FetchError::NotFound)),
            (code, ..) => return Err(Error::fetch(url, FetchError::Status { code })),
        };
        self.keep_hash(text, url, found, &freshness);
        if then == Then::Read && answer.status == 200 {
            self.notes().bodies.insert(found, answer.body);
        }
        Ok(found)
    }
}

pub(crate) fn answer_of(answer: SdistAnswer) -> MetadataAnswer {
    match answer {
        SdistAnswer::Known { metadata, .. } => MetadataAnswer::Known(Arc::new(metadata)),
        SdistAnswer::Unreadable { reason } => MetadataAnswer::Unreadable { reason },
        SdistAnswer::Invalid { reason } => MetadataAnswer::Invalid { reason },
    }
}

pub(crate) fn understand(
    package: &PackageName,
    version: &Version,
    file: &str,
    found: &Found,
) -> MetadataAnswer {
    let fields = parse_core(&found.text);
    match fields.and_then(|fields| fields.to_metadata_of(package, version, file, found.grade)) {
        Ok(metadata) => MetadataAnswer::Known(Arc::new(metadata)),
        Err(error) => MetadataAnswer::Invalid { reason: error.to_string() },
    }
}

pub(crate) fn from_wheel(bytes: &[u8]) -> Result<Found, String> {
    match metadata_from_wheel(bytes) {
        Ok(text) => Ok(Found { text: headers_of(&text), grade: Grade::Wheel }),
        Err(error) => Err(error.to_string()),
    }
}

/// What comes before the body, which is the description and by far the longest part.
fn headers_of(text: &[u8]) -> Vec<u8> {
    let end = text.windows(2).position(|pair| pair == b"\n\n");
    let end = end.into_iter().chain(text.windows(4).position(|four| four == b"\r\n\r\n")).min();
    text.get(..end.map_or(text.len(), |end| end + 2)).unwrap_or(text).to_vec()
}

/// The first byte and the total of `Content-Range: bytes 10-19/20`.
fn content_range(answer: &Answer) -> Option<(u64, u64)> {
    if answer.status != 206 {
        return None;
    }
    let (range, total) =
        answer.header(header::CONTENT_RANGE)?.trim().strip_prefix("bytes ")?.split_once('/')?;
    Some((range.split_once('-')?.0.trim().parse().ok()?, total.trim().parse().ok()?))
}

pub(crate) fn check_hash(expected: Sha256, found: Sha256) -> Result<(), FetchError> {
    if expected == found { Ok(()) } else { Err(FetchError::Hash { expected, found }) }
}

pub(crate) fn address_of(text: &str) -> Result<Url, Error> {
    Url::parse(text).map_err(|error| Error::Fetch {
        url: crate::auth::masked_text(text),
        kind: FetchError::Address { reason: error.to_string() },
    })
}
