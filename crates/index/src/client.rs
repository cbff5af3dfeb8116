//! The client as threads see it: ask ahead, then wait. Each thing is fetched once in a run.

use std::collections::{BTreeMap, HashMap};
use std::future::Future;
use std::hash::Hash;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::FutureExt as _;
use futures_util::future::{BoxFuture, Shared};
use reana_model::{DistFile, Listing, PackageName, Sha256, Target};
use tokio::runtime::Runtime;

use crate::direct::Direct;
use crate::engine::{Engine, Progress, Skipped};
use crate::error::Error;
use crate::metadata::MetadataAnswer;
use crate::sdist::BuildAnswer;
use crate::settings::Settings;
use crate::wire::ProjectStatus;

/// An answer that is under way or there, for all who want it.
type Slot<T> = Shared<BoxFuture<'static, Result<T, Arc<Error>>>>;

/// The index client. Its methods may be called by many threads at once, but not from asynchronous code.
pub struct Client {
    engine: Arc<Engine>,
    runtime: Option<Runtime>,
    listings: Slots<PackageName, Arc<dyn Listing>>,
    metadata: Slots<(String, Option<Target>), MetadataAnswer>,
    hashes: Slots<String, Sha256>,
    directs: Slots<(String, Option<PackageName>, Target), Direct>,
    builds: Slots<(String, Target), BuildAnswer>,
}

impl Client {
    /// Starts a client.
    ///
    /// # Errors
    /// [`Error::Setup`] where an address, a certificate, the netrc file or the cache folder is no good.
    pub fn new(settings: Settings) -> Result<Self, Error> {
        let threads = std::thread::available_parallelism().map_or(2, usize::from);
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(threads.clamp(2, 4))
            .max_blocking_threads(threads.clamp(2, 8) + 2)
            .thread_name("index")
            .enable_all()
            .build()
            .map_err(|error| Error::Internal(error.to_string()))?;
        let engine = Arc::new(Engine::new(settings)?);
        Ok(Self {
            engine,
            runtime: Some(runtime),
            listings: Slots::default(),
            metadata: Slots::default(),
            hashes: Slots::default(),
            directs: Slots::default(),
            builds: Slots::default(),
        })
    }

    /// Starts fetching the pages of packages; returns at once.
    pub fn expect(&self, names: &[PackageName]) {
        for name in names {
            let _ = self.listing_slot(name);
        }
    }

    /// The versions of a package that this run may choose from. Waits for its page.
    ///
    /// # Errors
    /// Where an index that is asked gives no answer, refuses (401, 403), or gives something else than a
    /// page; under an upload-time limit, where a file has no upload time. That no index knows the name is no
    /// error: [`Listing::known`] says so.
    pub fn listing(&self, name: &PackageName) -> Result<Arc<dyn Listing>, Arc<Error>> {
        self.wait(self.listing_slot(name))
    }

    /// As [`Client::listing`], for work under [`Client::beside`].
    ///
    /// # Errors
    /// The same.
    pub async fn listing_later(&self, name: &PackageName) -> Result<Arc<dyn Listing>, Arc<Error>> {
        self.later(self.listing_slot(name)).await
    }

    /// Lets work run beside all else: work that only waits for answers needs no thread of its own.
    pub fn beside(&self, work: BoxFuture<'static, ()>) {
        if let Some(runtime) = &self.runtime {
            runtime.spawn(work);
        }
    }

    fn listing_slot(&self, name: &PackageName) -> Option<Slot<Arc<dyn Listing>>> {
        let start = || self.engine.clone().listing(name.clone());
        self.listings.get(self.runtime.as_ref(), name, start)
    }

    /// Starts fetching a file's metadata; returns at once.
    pub fn expect_metadata(&self, name: &PackageName, file: &DistFile, target: &Target) {
        let _ = self.metadata_slot(name, file, *target);
    }

    /// What a file of a package requires. Waits for it.
    ///
    /// # Errors
    /// Where it can't be fetched, or is not what the index's hash promises.
    pub fn metadata(
        &self,
        name: &PackageName,
        file: &DistFile,
        target: &Target,
    ) -> Result<MetadataAnswer, Arc<Error>> {
        self.wait(self.metadata_slot(name, file, *target))
    }

    /// As [`Client::metadata`], for work under [`Client::beside`].
    ///
    /// # Errors
    /// The same.
    pub async fn metadata_later(
        &self,
        name: &PackageName,
        file: &DistFile,
        target: &Target,
    ) -> Result<MetadataAnswer, Arc<Error>> {
        self.later(self.metadata_slot(name, file, *target)).await
    }

    fn metadata_slot(
        &self,
        name: &PackageName,
        file: &DistFile,
        target: Target,
    ) -> Option<Slot<MetadataAnswer>> {
        let matters = file.name.wheel().is_none().then_some(target);
        let start = || self.engine.clone().metadata(name.clone(), file.clone(), target);
        self.metadata.get(self.runtime.as_ref(), &(file.url.clone(), matters), start)
    }

    /// Starts making sure of a file's sha256; returns at once.
    pub fn expect_sha256(&self, name: &PackageName, file: &DistFile) {
        if file.sha256.is_none() {
            let _ = self.sha256_slot(name, file);
        }
    }

    /// The sha256 of a file: the index's, else computed from the file itself.
    ///
    /// # Errors
    /// Where the file can't be fetched.
    pub fn sha256(&self, name: &PackageName, file: &DistFile) -> Result<Sha256, Arc<Error>> {
        match file.sha256 {
            Some(sha256) => Ok(sha256),
            None => self.wait(self.sha256_slot(name, file)),
        }
    }

    fn sha256_slot(&self, _: &PackageName, file: &DistFile) -> Option<Slot<Sha256>> {
        let start = || self.engine.clone().sha256(file.clone());
        self.hashes.get(self.runtime.as_ref(), &file.url, start)
    }

    /// Starts reading what an sdist needs to be built; returns at once.
    pub fn expect_build_requirements(&self, file: &DistFile, target: &Target) {
        let _ = self.build_slot(file, *target);
    }

    /// What an sdist needs to be built on a target (PEP 517, 518). Waits for it.
    ///
    /// # Errors
    /// Where the file can't be fetched, or is not what the index's hash promises.
    pub fn build_requirements(&self, file: &DistFile, target: &Target) -> Result<BuildAnswer, Arc<Error>> {
        self.wait(self.build_slot(file, *target))
    }

    fn build_slot(&self, file: &DistFile, target: Target) -> Option<Slot<BuildAnswer>> {
        let start = || self.engine.clone().build_requirements(file.clone(), target);
        self.builds.get(self.runtime.as_ref(), &(file.url.clone(), target), start)
    }

    /// A file's bytes, checked against the index's hash where it gives one: for a build. Not kept.
    ///
    /// # Errors
    /// Where it can't be fetched, is too large, or is not what the index's hash promises.
    pub fn download(&self, file: &DistFile) -> Result<Vec<u8>, Arc<Error>> {
        let url = crate::metadata::address_of(&file.url).map_err(Arc::new)?;
        let Some(runtime) = &self.runtime else {
            return Err(Arc::new(Error::Internal("the client is closed".to_owned())));
        };
        let answer = runtime.block_on(self.engine.archive(&url, file));
        answer.map(|(bytes, _)| bytes).map_err(Arc::new)
    }

    /// The wheel or sdist at an `https:`, `http:` or `file:` address (a folder is not for here). Its
    /// fragment is heeded: `#sha256=` is checked, `#egg=` names the package.
    ///
    /// # Errors
    /// Where it can't be fetched or checked; [`Error::Unreadable`] where it would have to be built,
    /// [`Error::Invalid`] where it is broken or another package than `name`.
    pub fn direct(
        &self,
        url: &str,
        name: Option<&PackageName>,
        target: &Target,
    ) -> Result<Direct, Arc<Error>> {
        let key = (url.to_owned(), name.cloned(), *target);
        let start = || self.engine.clone().direct(url.to_owned(), name.cloned(), *target);
        self.wait(self.directs.get(self.runtime.as_ref(), &key, start))
    }

    /// How far the run has come, for a terminal.
    pub fn progress(&self) -> Progress {
        let counters = &self.engine.http.counters;
        Progress {
            requests_done: counters.done.load(Ordering::Relaxed),
            requests_open: counters.open.load(Ordering::Relaxed),
            retries: counters.retries.load(Ordering::Relaxed),
            bytes: counters.bytes.load(Ordering::Relaxed),
        }
    }

    /// The files that were passed over so far, by package.
    pub fn skipped(&self) -> BTreeMap<PackageName, Skipped> {
        self.engine.notes().skipped.clone()
    }

    /// What indexes said of whole projects so far (PEP 792).
    pub fn project_statuses(&self) -> BTreeMap<PackageName, ProjectStatus> {
        self.engine.notes().statuses.clone()
    }

    /// What of the cache was found damaged after it was used, if anything was: whatever followed from what this client
    /// said is void then.
    ///
    /// # Errors
    /// [`Error::Damaged`].
    pub fn sound(&self) -> Result<(), Error> {
        let damaged = self.engine.cache.damage().entry();
        damaged.map_or(Ok(()), |entry| Err(Error::Damaged(entry.display().to_string())))
    }

    async fn later<T: Clone + Send + 'static>(&self, slot: Option<Slot<T>>) -> Result<T, Arc<Error>> {
        match slot {
            Some(slot) => slot.await,
            None => Err(Arc::new(Error::Internal("the client is closed".to_owned()))),
        }
    }

    fn wait<T: Clone + Send + 'static>(&self, slot: Option<Slot<T>>) -> Result<T, Arc<Error>> {
        let (Some(runtime), Some(slot)) = (&self.runtime, slot) else {
            return Err(Arc::new(Error::Internal("the client is closed".to_owned())));
        };
        let answer = match slot.peek() {
            Some(answer) => answer.clone(),
            None => runtime.block_on(slot),
        };
        self.sound().map_err(Arc::new)?;
        answer
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        // What was asked for ahead and is not needed any more is not waited for.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

impl std::fmt::Debug for Client {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Client({:?})", self.progress())
    }
}

/// Answers by what was asked.
struct Slots<K, T: Clone> {
    slots: Mutex<HashMap<K, Slot<T>>>,
}

impl<K, T: Clone> Default for Slots<K, T> {
    fn default() -> Self {
        Self { slots: Mutex::default() }
    }
}

impl<K: Clone + Eq + Hash, T: Clone + Send + Sync + 'static> Slots<K, T> {
    /// The answer for a key; the first who asks starts the work.
    fn get<F>(&self, runtime: Option<&Runtime>, key: &K, start: impl FnOnce() -> F) -> Option<Slot<T>>
    where
        F: Future<Output = Result<T, Error>> + Send + 'static,
    {
        let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(slot) = slots.get(key) {
            return Some(slot.clone());
        }
        let task = runtime?.spawn(start());
        let slot: Slot<T> = task
            .map(|done| match done {
                Ok(answer) => answer.map_err(Arc::new),
                Err(error) => Err(Arc::new(Error::Internal(error.to_string()))),
            })
            .boxed()
            .shared();
        slots.insert(key.clone(), slot.clone());
        Some(slot)
    }
}
