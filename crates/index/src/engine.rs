//! The client's inside: which index is asked what, and what of it is kept. Asynchronous.

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use reana_model::{DistFile, Listing, MemoryListing, PackageName, Sha256};
use reqwest::header;
use tokio::sync::OnceCell;
use url::Url;

use crate::auth::Keyring;
use crate::cache::{Body, Bucket, Cache, Freshness, key_of};
use crate::error::{Error, FetchError};
use crate::http::{ACCEPT_PAGE, Answer, Http, Request};
use crate::listing::{CompactListing, Encoded, View, encode, head_of};
use crate::local::{self, Place};
use crate::settings::{IndexSource, Settings};
use crate::wire::{Format, Page, ProjectStatus, html};

/// How far a run has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Progress {
    /// Requests that were answered or failed, each try counted.
    pub requests_done: u64,
    /// Requests under way.
    pub requests_open: u64,
    /// Tries that were made again.
    pub retries: u64,
    /// Bytes received, after decompression.
    pub bytes: u64,
}

/// Files of one package that were passed over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Skipped {
    /// Files whose names say nothing that an installer could use.
    pub names: u64,
    /// Files whose metadata can't be understood.
    pub metadata: u64,
}

#[derive(Debug)]
pub(crate) struct Engine {
    pub(crate) settings: Settings,
    pub(crate) http: Http,
    pub(crate) cache: Cache,
    sources: Vec<Place>,
    bindings: BTreeMap<PackageName, Place>,
    links: Vec<Links>,
    pub(crate) notes: Mutex<Notes>,
    /// Servers that offer METADATA beside wheels without saying so.
    pub(crate) beside: Mutex<HashMap<String, Beside>>,
    /// Sdists that are being read, by address.
    pub(crate) turns: Mutex<HashMap<String, Arc<tokio::sync::Mutex<()>>>>,
}

/// What is known of one server's unannounced METADATA files.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Beside {
    pub(crate) asked: u32,
    pub(crate) has_any: bool,
}

/// What was seen along the way.
#[derive(Debug, Default)]
pub(crate) struct Notes {
    pub(crate) skipped: BTreeMap<PackageName, Skipped>,
    pub(crate) statuses: BTreeMap<PackageName, ProjectStatus>,
    /// Hashes of this run that no index gave, by address.
    pub(crate) hashes: HashMap<String, Sha256>,
    /// Files that were hashed and are about to be read.
    pub(crate) bodies: HashMap<Sha256, Vec<u8>>,
}

/// One `--find-links`.
#[derive(Debug)]
struct Links {
    place: Place,
    content: OnceCell<Arc<Content>>,
}

#[derive(Debug)]
enum Content {
    Folder { path: PathBuf, names: Vec<String> },
    Page { address: Url, body: Vec<u8>, folded: String },
}

impl Engine {
    pub(crate) fn new(settings: Settings) -> Result<Self, Error> {
        let mut keyring = Keyring::new(settings.netrc.as_deref())?;
        let mut place = |text: &str| -> Result<Place, Error> {
            Ok(match Place::parse(text)? {
                Place::Web(url) => Place::Web(keyring.learn(&url)),
                disk @ Place::Disk(_) => disk,
            })
        };
        let mut root = |source: &IndexSource| -> Result<Place, Error> {
            Ok(match place(&source.url)? {
                // The root is a folder, whether or not its slash was written.
                Place::Web(mut url) if !url.path().ends_with('/') => {
                    url.set_path(&format!("{}/", url.path()));
                    Place::Web(url)
                }
                other => other,
            })
        };
        let sources = settings.indexes.iter().map(&mut root).collect::<Result<_, _>>()?;
        let bindings = settings
            .bindings
            .iter()
            .map(|(name, source)| Ok((name.clone(), root(source)?)))
            .collect::<Result<_, Error>>()?;
        let links = settings
            .find_links
            .iter()
            .map(|text| Ok(Links { place: place(text)?, content: OnceCell::new() }))
            .collect::<Result<_, Error>>()?;
        let http = Http::new(&settings, keyring)?;
        let cache = Cache::new(&settings.cache)?;
        let (notes, beside, turns) = (Mutex::default(), Mutex::default(), Mutex::default());
        Ok(Self { settings, http, cache, sources, bindings, links, notes, beside, turns })
    }

    pub(crate) fn notes(&self) -> std::sync::MutexGuard<'_, Notes> {
        self.notes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn now(&self) -> jiff::Timestamp {
        (self.settings.clock)()
    }

    /// The most bytes of a file that is read in memory.
    pub(crate) fn archive_limit(&self, size: Option<u64>) -> u64 {
        let limits = self.settings.limits;
        limits.archive.max(size.unwrap_or(0).min(limits.announced))
    }

    fn view(&self) -> View {
        View { exclude_newer: self.settings.exclude_newer, undated_allow: self.settings.undated_allow }
    }

    /// What the owner of a name lists for it, together with what `--find-links` gives.
    pub(crate) async fn listing(self: Arc<Self>, name: PackageName) -> Result<Arc<dyn Listing>, Error> {
        let linked = self.linked(&name).await?;
        let mut owner = None;
        let sources = match self.bindings.get(&name) {
            Some(place) => std::slice::from_ref(place),
            None => self.sources.as_slice(),
        };
        for source in sources {
            let listing = self.page(source, &name).await?;
            if listing.known() {
                owner = Some(listing);
                break;
            }
        }
        if let Some(owner) = &owner {
            let mut notes = self.notes();
            if owner.skipped > 0 {
                notes.skipped.entry(name.clone()).or_default().names += u64::from(owner.skipped);
            }
            if let Some(status) = &owner.status {
                notes.statuses.insert(name.clone(), status.clone());
            }
        }
        Ok(match (linked, owner) {
            (linked, Some(owner)) if linked.is_empty() => Arc::new(owner),
            (linked, None) if linked.is_empty() => Arc::new(MemoryListing::unknown()),
            (linked, owner) => {
                let rest = owner.iter().flat_map(|owner| {
                    (0..owner.versions().len())
                        .flat_map(|index| owner.files(index).iter().map(|file| DistFile::clone(file)))
                });
                Arc::new(MemoryListing::new(linked.into_iter().chain(rest)))
            }
        })
    }

    /// One index's page of a package; one that is not known where it answers that there is none.
    async fn page(self: &Arc<Self>, source: &Place, name: &PackageName) -> Result<CompactListing, Error> {
        match source {
            Place::Web(root) => self.web_page(root, name).await,
            Place::Disk(root) => {
                let (engine, root, name) = (self.clone(), root.clone(), name.clone());
                blocking(move || {
                    let page = local::read_page(&root, &name, engine.settings.limits.page)?;
                    let bytes = encode(page.as_ref()).map(|encoded| encoded.bytes).unwrap_or_default();
                    let listing = CompactListing::new(&name, Body::from(bytes), engine.view())?;
                    listing.ok_or_else(|| Error::Internal(format!("page of {name}")))
                })
                .await
            }
        }
    }

    async fn web_page(self: &Arc<Self>, root: &Url, name: &PackageName) -> Result<CompactListing, Error> {
        let url = root
            .join(&format!("{name}/"))
            .map_err(|error| Error::fetch(root, FetchError::Address { reason: error.to_string() }))?;
        let key = key_of(&url);
        // What is read of it is small: it is there sooner than another thread is awake.
        let kept = match self.kept_page(&key, name)? {
            Kept::Usable(listing) => return Ok(*listing),
            _ if self.settings.offline => return Err(Error::fetch(&url, FetchError::Offline)),
            Kept::Stale(freshness, body) => Some((freshness, body)),
            Kept::Absent => None,
        };
        let mut request = Request::text(url.clone(), self.settings.limits.page);
        request = request.with(header::ACCEPT, ACCEPT_PAGE);
        if let Some((freshness, _)) = &kept {
            request = conditional(request, freshness);
        }
        let answer = self.http.get(&request).await?;
        let (engine, name) = (self.clone(), name.clone());
        blocking(move || engine.take_page(&url, &key, &name, &answer, kept)).await
    }

    fn kept_page(&self, key: &str, name: &PackageName) -> Result<Kept, Error> {
        let Some((freshness, body)) = self.cache.open_dated(Bucket::Pages, key) else {
            return Ok(Kept::Absent);
        };
        if !self.is_usable(&freshness) {
            return Ok(if head_of(&body).is_some() { Kept::Stale(freshness, body) } else { Kept::Absent });
        }
        let listing = CompactListing::new(name, body, self.view())?;
        Ok(listing.map_or(Kept::Absent, |listing| Kept::Usable(Box::new(listing))))
    }

    /// Whether what is kept may be used unasked. A page from before the moment that a run looks at may lack
    /// files that were uploaded in between.
    pub(crate) fn is_usable(&self, freshness: &Freshness) -> bool {
        let reaches = self
            .settings
            .exclude_newer
            .is_none_or(|limit| freshness.fetched >= limit.min(self.now()).as_millisecond());
        self.settings.offline || (!self.settings.refresh && reaches && freshness.is_fresh(self.now()))
    }

    fn take_page(
        &self,
        url: &Url,
        key: &str,
        name: &PackageName,
        answer: &Answer,
        kept: Option<(Freshness, Body)>,
    ) -> Result<CompactListing, Error> {
        let fresh = Freshness::of(answer, self.now());
        let too_large = || Error::fetch(url, FetchError::TooLarge { limit: self.settings.limits.page });
        let (freshness, encoded) = match (answer.status, kept) {
            (304, Some((freshness, body))) => (freshness.renewed(answer, self.now()), whole(&body, url)?),
            (404, _) => (fresh, encode(None).ok_or_else(too_large)?),
            // Not every index knows 304.
            (200, Some((kept, body))) if kept.answer.is_some() && kept.answer == fresh.answer => {
                (fresh, whole(&body, url)?)
            }
            (200, _) => {
                let page = read_page(answer, name).map_err(|kind| Error::fetch(url, kind))?;
                (fresh, encode(Some(&page)).ok_or_else(too_large)?)
            }
            (code, _) => return Err(Error::fetch(url, FetchError::Status { code })),
        };
        let body = self.cache.write_dated(Bucket::Pages, key, &freshness, encoded.bytes, encoded.head);
        let listing = CompactListing::new(name, body, self.view())?;
        listing.ok_or_else(|| Error::Internal(format!("page of {name}")))
    }

    /// The files of a package that `--find-links` gives.
    async fn linked(self: &Arc<Self>, name: &PackageName) -> Result<Vec<DistFile>, Error> {
        let mut files = Vec::new();
        for links in &self.links {
            let content = links.content.get_or_try_init(|| self.links_content(&links.place)).await?.clone();
            let name = name.clone();
            files.extend(blocking(move || content.files_of(&name)).await?);
        }
        let Some(limit) = self.settings.exclude_newer else { return Ok(files) };
        let undated = files.iter().find(|file| file.uploaded.is_none());
        match undated {
            Some(file) if !self.settings.undated_allow => {
                Err(Error::Undated { package: name.clone(), file: file.name.file().to_owned() })
            }
            _ => {
                files.retain(|file| file.uploaded.is_none_or(|time| time <= limit));
                Ok(files)
            }
        }
    }

    async fn links_content(self: &Arc<Self>, place: &Place) -> Result<Arc<Content>, Error> {
        match place {
            Place::Web(url) if self.settings.offline => Err(Error::fetch(url, FetchError::Offline)),
            Place::Web(url) => {
                let request = Request::text(url.clone(), self.settings.limits.page);
                let answer = self.http.get(&request.with(header::ACCEPT, "text/html")).await?;
                if answer.status != 200 {
                    return Err(Error::fetch(url, FetchError::Status { code: answer.status }));
                }
                Ok(Arc::new(Content::page(answer.url, answer.body)))
            }
            Place::Disk(path) => {
                let (path, limit) = (path.clone(), self.settings.limits.page);
                blocking(move || {
                    if local::is_folder(&path) {
                        let names = local::list_folder(&path)?;
                        return Ok(Arc::new(Content::Folder { path, names }));
                    }
                    let body = local::read_file(&path, limit).map_err(|kind| local::error(&path, kind))?;
                    Ok(Arc::new(Content::page(local::file_url(&path)?, body)))
                })
                .await
            }
        }
    }
}

impl Content {
    fn page(address: Url, body: Vec<u8>) -> Self {
        let folded = fold(&String::from_utf8_lossy(&body));
        Self::Page { address, body, folded }
    }

    fn files_of(&self, name: &PackageName) -> Result<Vec<DistFile>, Error> {
        match self {
            Self::Folder { path, names } => local::files_of(path, names, name),
            // A links page may be long and the packages many: most are not on it.
            Self::Page { folded, .. } if !folded.contains(&fold(name.as_ref())) => Ok(Vec::new()),
            Self::Page { address, body, .. } => match html::read_links(body, address, name) {
                Ok(page) => Ok(page.files),
                Err(problem) => Err(Error::fetch(address, local::page_error(problem, "links"))),
            },
        }
    }
}

/// Text in which a package's name is found however it is written.
fn fold(text: &str) -> String {
    text.chars().filter(|c| !matches!(c, '-' | '_' | '.')).map(|c| c.to_ascii_lowercase()).collect()
}

/// What the cache has of a page.
enum Kept {
    Absent,
    Usable(Box<CompactListing>),
    Stale(Freshness, Body),
}

fn whole(body: &Body, url: &Url) -> Result<Encoded, Error> {
    let encoded = head_of(body).and_then(|head| Some(Encoded { bytes: body.whole()?, head }));
    encoded.ok_or_else(|| Error::Internal(format!("the cache's entry of {url} could not be read")))
}

fn read_page(answer: &Answer, name: &PackageName) -> Result<Page, FetchError> {
    let content_type = answer.header(header::CONTENT_TYPE).unwrap_or_default();
    let Some(format) = Format::of(content_type, &answer.body) else {
        return Err(FetchError::NotAnIndexPage {
            content_type: named(content_type),
            reason: "neither JSON nor HTML".to_owned(),
        });
    };
    let page = format.read(&answer.body, &answer.url, name);
    page.map_err(|problem| local::page_error(problem, &named(content_type)))
}

fn named(content_type: &str) -> String {
    match content_type.split(';').next().map(str::trim) {
        Some(essence) if !essence.is_empty() => essence.chars().take(80).collect(),
        _ => "something without a content type".to_owned(),
    }
}

/// Asks only for what changed.
pub(crate) fn conditional(mut request: Request, freshness: &Freshness) -> Request {
    if let Some(etag) = &freshness.etag {
        request = request.with(header::IF_NONE_MATCH, etag.as_str());
    } else if let Some(date) = &freshness.last_modified {
        request = request.with(header::IF_MODIFIED_SINCE, date.as_str());
    }
    request
}

/// Work that would hold up the requests: disk and CPU.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Error> + Send + 'static,
) -> Result<T, Error> {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done,
        Err(error) => Err(Error::Internal(error.to_string())),
    }
}
