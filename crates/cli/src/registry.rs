//! The clients for registries of images, from all that is set: options, reana-lock.toml, the environment, docker's
//! config.json and its helpers.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use reana_images::{Digest, Reference};
use reana_registry::{Client, Credentials, DockerConfig, Image, LookUp, Scope, Settings, Source};

use crate::args::RegistryArgs;
use crate::config::Config;
use crate::doors::disk::{self, DiskError};
use crate::doors::env::Env;
use crate::doors::{clock, docker};
use crate::error::Failure;
use crate::fleet::images;
use crate::ui::Ui;

/// What reana-lock.toml says of registries: a client is for one such set of settings.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Set {
    plain_http: BTreeSet<String>,
    ca: Option<PathBuf>,
}

impl Set {
    fn of(config: &Config) -> Self {
        let ca = config.registry_ca().map(|(file, _)| file);
        Self { plain_http: config.plain_http().iter().cloned().collect(), ca }
    }
}

/// The clients of a run. Repositories may have settings of their own: each set of these has its client, made when it
/// is first wanted.
pub(crate) struct Clients<'a> {
    args: &'a RegistryArgs,
    cache: Option<PathBuf>,
    env: &'a Env,
    credentials: LookUp,
    made: Mutex<BTreeMap<Set, Result<Arc<Client>, Failure>>>,
}

impl<'a> Clients<'a> {
    /// None is made yet. `cache` is where what digests name is kept, if anywhere: [`cache_folder`] says the usual place.
    pub(crate) fn new(args: &'a RegistryArgs, cache: Option<PathBuf>, env: &'a Env) -> Self {
        Self { args, cache, env, credentials: look_up(env), made: Mutex::default() }
    }

    /// The client for these settings.
    pub(crate) fn of(&self, config: &Config) -> Result<Arc<Client>, Failure> {
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        made.entry(Set::of(config)).or_insert_with(|| self.make(config).map(Arc::new)).clone()
    }

    fn make(&self, config: &Config) -> Result<Client, Failure> {
        let mut settings = Settings::new(clock::now);
        check_hosts(&self.args.plain_http, "--plain-http")?;
        check_hosts(config.plain_http(), &config.place_of("images.plain-http").to_string())?;
        settings.plain_http = self.args.plain_http.iter().chain(config.plain_http()).cloned().collect();
        settings.cache.clone_from(&self.cache);
        let cwd = &self.env.cwd;
        let typed = self.args.registry_ca.as_ref().map(|file| (cwd.join(file), "--registry-ca".to_owned()));
        let named = config.registry_ca().map(|(file, place)| (file, place.to_string()));
        let from_env =
            self.env.ssl_cert_file.clone().map(|file| (cwd.join(file), "SSL_CERT_FILE".to_owned()));
        let given = typed.or(named);
        let is_given = given.is_some();
        for (at, (file, place)) in given.into_iter().chain(from_env).enumerate() {
            let bytes = disk::read(&file).map_err(|error| Failure::input(format!("{place}: {error}")))?;
            // The system's own may be empty.
            if at == 0 && is_given && !bytes.windows(PEM.len()).any(|window| window == PEM) {
                return Err(Failure::input(format!(
                    "{place}: {}: it holds no certificate (PEM)",
                    file.display()
                )));
            }
            settings.extra_roots_pem.extend(bytes);
            settings.extra_roots_pem.push(b'\n');
        }
        settings.credentials = Arc::clone(&self.credentials);
        Client::new(settings).map_err(|error| Failure::input(error.to_string()))
    }

    /// What each of these stands for, by the client for its settings; in their order.
    pub(crate) fn images(
        &self,
        asked: &[(&Config, Reference)],
        scope: Scope,
    ) -> Result<Vec<Result<Option<Image>, reana_registry::Error>>, Failure> {
        let mut by_set: BTreeMap<Set, Vec<usize>> = BTreeMap::new();
        for (at, (config, _)) in asked.iter().enumerate() {
            by_set.entry(Set::of(config)).or_default().push(at);
        }
        let mut answers = BTreeMap::new();
        for places in by_set.into_values() {
            let some: Vec<&(&Config, Reference)> = places.iter().filter_map(|at| asked.get(*at)).collect();
            let Some((config, _)) = some.first() else { continue };
            let references: Vec<Reference> = some.iter().map(|(_, reference)| reference.clone()).collect();
            answers.extend(places.into_iter().zip(self.of(config)?.images(&references, scope)));
        }
        Ok(answers.into_values().collect())
    }

    /// The digest that a base image has now.
    pub(crate) fn base_digest(&self, config: &Config, image: &Reference) -> Result<Digest, String> {
        let client = self.of(config).map_err(|failure| failure.message)?;
        match client.manifest(image) {
            Ok(Some(manifest)) => Ok(manifest.digest),
            Ok(None) => Err("its registry knows no such image".to_owned()),
            Err(error) => {
                let hints = Failure::from_registry(&error).hints;
                Err(std::iter::once(error.kind.to_string()).chain(hints).collect::<Vec<_>>().join("; "))
            }
        }
    }
}

/// How a certificate begins.
const PEM: &[u8] = b"-----BEGIN CERTIFICATE-----";

fn check_hosts(hosts: &[String], place: &str) -> Result<(), Failure> {
    let is_host = |host: &String| !host.is_empty() && !host.contains(|c: char| c == '/' || c.is_whitespace());
    match hosts.iter().find(|host| !is_host(host)) {
        Some(other) => Err(Failure::input(format!(
            "{place}: `{other}` is no registry: `host` or `host:port` is expected"
        ))),
        None => Ok(()),
    }
}

/// Where what digests name is kept: in the cache, beside what the index said.
pub(crate) fn cache_folder(no_cache: bool, named: Option<&Path>, env: &Env) -> Option<PathBuf> {
    if no_cache {
        return None;
    }
    named.map(|folder| env.cwd.join(folder)).or_else(|| env.cache_folder())
}

/// The client for what is in no repository: by the settings that hold in the folder that the run is in.
pub(crate) fn here(args: &RegistryArgs, ui: &Ui, env: &Env) -> Result<Arc<Client>, Failure> {
    let (config, notes) = images::settings_of(&env.cwd).map_err(|error| Failure::from_fleet(&error))?;
    notes.iter().for_each(|note| ui.detail(&note.to_string()));
    Clients::new(args, cache_folder(false, None, env), env).of(&config)
}

/// Asks docker's config.json, and a helper where that says so; each registry once a run.
fn look_up(env: &Env) -> LookUp {
    type Answer = Result<Option<Credentials>, String>;
    let folder = env.docker_config.clone().or_else(|| env.home.as_ref().map(|home| home.join(".docker")));
    let file = folder.map(|folder| env.cwd.join(folder).join("config.json"));
    let path = env.path.clone().unwrap_or_default();
    let known: Mutex<BTreeMap<String, Answer>> = Mutex::default();
    Arc::new(move |registry| {
        // Held while a helper is asked: it may ask its user, and that once.
        let mut known = known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(answer) = known.get(registry) {
            return answer.clone();
        }
        let answer = file.as_ref().map_or(Ok(None), |file| from_config(file, registry, &path));
        known.insert(registry.to_owned(), answer.clone());
        answer
    })
}

fn from_config(file: &Path, registry: &str, path: &std::ffi::OsStr) -> Result<Option<Credentials>, String> {
    let text = match disk::read_text(file) {
        Ok(text) => text,
        Err(DiskError::Absent { .. }) => return Ok(None),
        Err(error) => return Err(error.to_string()),
    };
    let shown = |error| format!("{}: {error}", file.display());
    let config = DockerConfig::parse(&text).map_err(shown)?;
    match config.source(registry).map_err(shown)? {
        Source::Nobody => Ok(None),
        Source::File(credentials) => Ok(Some(credentials)),
        Source::Helper { name, server, otherwise } => {
            match docker::get(path, &name, &server).map_err(|error| error.to_string())? {
                None => Ok(otherwise),
                Some(answer) => DockerConfig::helper_answer(&answer)
                    .map(Some)
                    .ok_or_else(|| format!("`docker-credential-{name}` answers with no credentials")),
            }
        }
    }
}
