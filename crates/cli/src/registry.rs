//! The client for registries of images, from all that is set: options, reana-lock.toml, the environment, docker's
//! config.json and its helpers.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use reana_images::{Digest, Reference};
use reana_registry::{Client, Credentials, DockerConfig, LookUp, Settings, Source};

use crate::args::RegistryArgs;
use crate::config::Config;
use crate::doors::disk::{self, DiskError};
use crate::doors::env::Env;
use crate::doors::{clock, docker};
use crate::error::Failure;

/// Makes a client. `cache` is where what digests name is kept, if anywhere: [`cache_folder`] says the usual place.
pub(crate) fn client(
    args: &RegistryArgs,
    config: &Config,
    cache: Option<PathBuf>,
    env: &Env,
) -> Result<Client, Failure> {
    let mut settings = Settings::new(clock::now);
    settings.plain_http = args.plain_http.iter().chain(config.plain_http()).cloned().collect();
    settings.cache = cache;
    let typed = args.registry_ca.as_ref().map(|file| (env.cwd.join(file), "--registry-ca".to_owned()));
    let named = config.registry_ca().map(|(file, place)| (file, place.to_string()));
    let from_env = env.ssl_cert_file.clone().map(|file| (env.cwd.join(file), "SSL_CERT_FILE".to_owned()));
    for (file, place) in typed.or(named).into_iter().chain(from_env) {
        let bytes = disk::read(&file).map_err(|error| Failure::input(format!("{place}: {error}")))?;
        settings.extra_roots_pem.extend(bytes);
        settings.extra_roots_pem.push(b'\n');
    }
    settings.credentials = look_up(env);
    Client::new(settings).map_err(|error| Failure::input(error.to_string()))
}

/// Where what digests name is kept: in the cache, beside what the index said.
pub(crate) fn cache_folder(no_cache: bool, named: Option<&Path>, env: &Env) -> Option<PathBuf> {
    if no_cache {
        return None;
    }
    named.map(|folder| env.cwd.join(folder)).or_else(|| env.cache_folder())
}

/// Says which digests base images have now. The client is made when the first is asked for.
pub(crate) fn base_digest<'a>(
    made: &'a OnceLock<Result<Client, Failure>>,
    make: &'a (dyn Fn() -> Result<Client, Failure> + Sync),
) -> impl Fn(&Reference) -> Result<Digest, String> + Sync + 'a {
    move |image| {
        let client = made.get_or_init(make).as_ref().map_err(|failure| failure.message.clone())?;
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
