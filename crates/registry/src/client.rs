//! The client: what a reference stands for, children, configurations and labels.

use std::collections::{BTreeMap, HashSet};
use std::sync::{Mutex, PoisonError};

use futures_util::future::join_all;
use reana_images::{DEFAULT_REGISTRY, Digest, Reference};
use tokio::runtime::Runtime;
use url::Url;

use crate::auth::Auth;
use crate::error::{Error, NoAnswer, SetupError};
use crate::http::{Http, Question};
use crate::settings::Settings;
use crate::store::Store;
use crate::wire::{self, Descriptor, ManifestKind, Parsed};

/// The default registry's name in references, the host that answers for it, and the key under which docker keeps
/// its credentials.
pub(crate) const DOCKER_HUB: &str = DEFAULT_REGISTRY;
const DOCKER_HUB_HOST: &str = "registry-1.docker.io";
pub(crate) const DOCKER_HUB_KEY: &str = "https://index.docker.io/v1/";

/// The header in which registries announce a manifest's digest.
const ANNOUNCED: &str = "docker-content-digest";

/// How many children of an index are asked for where only labels are wanted: with the index and one configuration,
/// four requests in all.
const FEW_CHILDREN: usize = 2;

/// How much is asked about an image. What a digest names is asked once and kept for good; getting a token is not
/// counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Its digest and its children's: one request.
    Digest,
    /// Its labels besides: at most four requests. Children that are not needed for this are not asked for.
    Labels,
    /// All its children and their configurations and labels.
    All,
}

/// A manifest, and what it names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Manifest {
    /// The digest of its bytes.
    pub digest: Digest,
    /// What it is.
    pub kind: ManifestKind,
    /// The children of an index, without attestations; of an image none.
    pub children: Vec<Descriptor>,
    /// The configuration of an image; of an index none.
    pub config: Option<Digest>,
}

/// What a reference stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    /// What was asked about.
    pub reference: Reference,
    /// The digest that the tag stands for.
    pub digest: Digest,
    /// Whether that is one image or an index of several.
    pub kind: ManifestKind,
    /// The images: of an index its children, in its order; of an image itself.
    pub children: Vec<Child>,
}

/// One image for one platform.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Child {
    /// Its manifest's digest.
    pub digest: Digest,
    /// Its platform, where an index says it.
    pub platform: Option<String>,
    /// What the registry says of it.
    pub state: ChildState,
}

/// What a registry says of an image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChildState {
    /// It was not asked.
    NotAsked,
    /// An index names it, and it isn't there.
    Gone,
    /// It is there.
    There {
        /// Its configuration's digest.
        config: Digest,
        /// Its labels, where they were asked for.
        labels: Option<BTreeMap<String, String>>,
    },
}

impl Image {
    /// The labels of the first image whose labels were asked for.
    #[must_use]
    pub fn labels(&self) -> Option<&BTreeMap<String, String>> {
        self.all_labels().next()
    }

    /// The labels of all images whose labels were asked for.
    pub fn all_labels(&self) -> impl Iterator<Item = &BTreeMap<String, String>> {
        self.children.iter().filter_map(|child| match &child.state {
            ChildState::There { labels, .. } => labels.as_ref(),
            ChildState::NotAsked | ChildState::Gone => None,
        })
    }

    /// The digests of the configurations that are known.
    #[must_use]
    pub fn configs(&self) -> Vec<Digest> {
        let configs = self.children.iter().filter_map(|child| match &child.state {
            ChildState::There { config, .. } => Some(config.clone()),
            ChildState::NotAsked | ChildState::Gone => None,
        });
        configs.collect()
    }

    /// The children that an index names and the registry doesn't have.
    pub fn gone(&self) -> impl Iterator<Item = &Child> {
        self.children.iter().filter(|child| child.state == ChildState::Gone)
    }
}

/// A client for all registries. Its methods block until there is an answer, and may be called from many threads.
#[derive(Debug)]
pub struct Client {
    runtime: Runtime,
    settings: Settings,
    http: Http,
    auth: Auth,
    store: Store,
    /// Registries on this machine that turned out to speak no TLS.
    plain: Mutex<HashSet<String>>,
}

impl Client {
    /// A client.
    ///
    /// # Errors
    /// Certificates that are none, or a system that has no threads to give.
    pub fn new(settings: Settings) -> Result<Self, SetupError> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime =
            runtime.map_err(|error| SetupError { what: "its runtime", reason: error.to_string() })?;
        Ok(Self {
            http: Http::new(&settings)?,
            auth: Auth::new(settings.credentials.clone()),
            store: Store::new(settings.cache.clone()),
            plain: Mutex::default(),
            runtime,
            settings,
        })
    }

    /// What a reference stands for; `None` where the registry says that there is no such image. With a digest, the
    /// tag counts for nothing.
    ///
    /// # Errors
    /// No answer was had.
    pub fn manifest(&self, image: &Reference) -> Result<Option<Manifest>, Error> {
        self.runtime.block_on(self.manifest_of(image)).map_err(|kind| error(image, kind))
    }

    /// What a reference stands for, and as much about it as asked.
    ///
    /// # Errors
    /// No answer was had.
    pub fn image(&self, image: &Reference, scope: Scope) -> Result<Option<Image>, Error> {
        self.runtime.block_on(self.image_of(image, scope)).map_err(|kind| error(image, kind))
    }

    /// The same of several references at once, in their order.
    pub fn images(&self, images: &[Reference], scope: Scope) -> Vec<Result<Option<Image>, Error>> {
        let all = images
            .iter()
            .map(|image| async move { self.image_of(image, scope).await.map_err(|kind| error(image, kind)) });
        self.runtime.block_on(join_all(all))
    }

    async fn image_of(&self, image: &Reference, scope: Scope) -> Result<Option<Image>, NoAnswer> {
        let Some(manifest) = self.manifest_of(image).await? else { return Ok(None) };
        let Manifest { digest, kind, children, config } = manifest;
        let mut children: Vec<Child> = match (kind, config) {
            (ManifestKind::Image, Some(config)) => {
                let state = ChildState::There { config, labels: None };
                vec![Child { digest: digest.clone(), platform: None, state }]
            }
            _ => children
                .into_iter()
                .map(|it| Child { digest: it.digest, platform: it.platform, state: ChildState::NotAsked })
                .collect(),
        };
        let (asked, read) = match scope {
            Scope::Digest => (0, 0),
            Scope::Labels => (FEW_CHILDREN, 1),
            Scope::All => (usize::MAX, usize::MAX),
        };
        let states = children.iter().take(asked).map(|child| self.state_of(image, child));
        let states = join_all(states).await;
        for (child, state) in children.iter_mut().zip(states) {
            child.state = state?;
        }
        let there = children.iter_mut().filter_map(|child| match &mut child.state {
            ChildState::There { config, labels } => Some((config, labels)),
            ChildState::NotAsked | ChildState::Gone => None,
        });
        let read = there.take(read).map(|(config, labels)| async move {
            *labels = Some(self.labels_of(image, config).await?);
            Ok(())
        });
        join_all(read).await.into_iter().collect::<Result<(), NoAnswer>>()?;
        Ok(Some(Image { reference: image.clone(), digest, kind, children }))
    }

    async fn state_of(&self, image: &Reference, child: &Child) -> Result<ChildState, NoAnswer> {
        if child.state != ChildState::NotAsked {
            return Ok(child.state.clone());
        }
        let image = Reference { tag: None, digest: Some(child.digest.clone()), ..image.clone() };
        match self.manifest_of(&image).await? {
            None => Ok(ChildState::Gone),
            Some(Manifest { config: Some(config), .. }) => Ok(ChildState::There { config, labels: None }),
            Some(_) => Err(NoAnswer::NotAManifest("an index within an index".to_owned())),
        }
    }

    async fn manifest_of(&self, image: &Reference) -> Result<Option<Manifest>, NoAnswer> {
        let wanted = image.digest.as_ref();
        let kept = wanted.and_then(|digest| self.store.get(digest, self.settings.manifest_limit));
        let body = match kept {
            Some(body) => body,
            None => match self.fetch_manifest(image).await? {
                Some(body) => body,
                None => return Ok(None),
            },
        };
        let digest = Digest::of(&body);
        let parsed = wire::manifest(&body).map_err(NoAnswer::NotAManifest)?;
        self.store.put(&digest, &body);
        Ok(Some(match parsed {
            Parsed::Image { config } => {
                Manifest { digest, kind: ManifestKind::Image, children: Vec::new(), config: Some(config) }
            }
            Parsed::Index { children } => {
                Manifest { digest, kind: ManifestKind::Index, children, config: None }
            }
        }))
    }

    /// A manifest's bytes, checked against the digest that was asked for or is announced.
    async fn fetch_manifest(&self, image: &Reference) -> Result<Option<Vec<u8>>, NoAnswer> {
        let name = match (&image.digest, &image.tag) {
            (Some(digest), _) => digest.as_str(),
            (None, Some(tag)) => tag.as_str(),
            (None, None) => return Err(NoAnswer::Nothing),
        };
        let path = format!("manifests/{name}");
        let answer = self.ask(image, &path, wire::ACCEPT, self.settings.manifest_limit).await?;
        if answer.status == 404 {
            let is_absent = wire::is_absence(&answer.body);
            return if is_absent {
                Ok(None)
            } else {
                Err(NoAnswer::NotARegistry(wire::saying(&answer.body)))
            };
        }
        let announced = answer.headers.get(ANNOUNCED).and_then(|it| it.to_str().ok()?.parse::<Digest>().ok());
        for digest in image.digest.iter().chain(&announced) {
            check(digest, &answer.body)?;
        }
        Ok(Some(answer.body))
    }

    async fn labels_of(
        &self,
        image: &Reference,
        config: &Digest,
    ) -> Result<BTreeMap<String, String>, NoAnswer> {
        let limit = self.settings.config_limit;
        let body = match self.store.get(config, limit) {
            Some(body) => body,
            None => {
                let answer = self.ask(image, &format!("blobs/{config}"), "*/*", limit).await?;
                if answer.status == 404 && wire::is_absence(&answer.body) {
                    return Err(NoAnswer::Gone { what: "configuration", digest: config.clone() });
                }
                if answer.status == 404 {
                    return Err(NoAnswer::NotARegistry(wire::saying(&answer.body)));
                }
                check(config, &answer.body)?;
                self.store.put(config, &answer.body);
                answer.body
            }
        };
        wire::labels(&body).map_err(|reason| NoAnswer::NotAConfig { digest: config.clone(), reason })
    }

    /// Asks with TLS, or without where that was wanted; on this machine also where there is none.
    async fn ask(
        &self,
        image: &Reference,
        path: &str,
        accept: &'static str,
        limit: usize,
    ) -> Result<crate::http::Answer, NoAnswer> {
        let (registry, repository) = (image.registry.as_str(), image.repository.as_str());
        let host = if registry == DOCKER_HUB { DOCKER_HUB_HOST } else { registry };
        let question = |scheme: &str| {
            let url = Url::parse(&format!("{scheme}://{host}/v2/{repository}/{path}"));
            let url = url.map_err(|error| NoAnswer::Http(error.to_string()))?;
            Ok(Question { registry, repository, url, accept, limit })
        };
        let is_plain = self.settings.plain_http.contains(registry)
            || self.plain.lock().unwrap_or_else(PoisonError::into_inner).contains(registry);
        let secure: Question<'_> = question("https")?;
        if !is_plain {
            match self.http.ask(&secure, &self.auth).await {
                Err(NoAnswer::NoTls(_)) if is_here(&secure.url) => {}
                answer => return answer,
            }
            self.plain.lock().unwrap_or_else(PoisonError::into_inner).insert(registry.to_owned());
        }
        self.http.ask(&question("http")?, &self.auth).await
    }
}

fn error(image: &Reference, kind: NoAnswer) -> Error {
    Error { image: Box::new(image.clone()), kind }
}

fn check(digest: &Digest, bytes: &[u8]) -> Result<(), NoAnswer> {
    let found = Digest::of(bytes);
    if found == *digest { Ok(()) } else { Err(NoAnswer::Altered { digest: digest.clone(), found }) }
}

/// Whether an address is on this machine, by its name.
pub(crate) fn is_here(url: &Url) -> bool {
    match url.host() {
        Some(url::Host::Domain(name)) => name == "localhost",
        Some(url::Host::Ipv4(address)) => address.is_loopback(),
        Some(url::Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}
