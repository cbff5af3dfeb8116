//! What a client is told when it is made. Nothing is read from the environment here.

use std::collections::BTreeSet;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// A user's name and password, or a token for getting tokens.
#[derive(Clone, PartialEq, Eq)]
pub enum Credentials {
    /// A name and a password.
    Password {
        /// The user.
        user: String,
        /// The password, or what stands for one.
        password: String,
    },
    /// An OAuth2 refresh token, which a token server changes for tokens.
    Refresh(String),
}

impl fmt::Debug for Credentials {
    /// Says that there are some.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Credentials(…)")
    }
}

/// Finds the credentials for a registry, by its name as references have it (`docker.io`, `localhost:5001`); asked
/// when a registry wants some. An error is why they can't be had, without any of them in it.
pub type LookUp = Arc<dyn Fn(&str) -> Result<Option<Credentials>, String> + Send + Sync>;

/// What a [`crate::Client`] is made from.
#[derive(Clone)]
pub struct Settings {
    /// Registries, by name, that are asked without TLS, besides those on this machine.
    pub plain_http: BTreeSet<String>,
    /// Certificates in PEM that are trusted beside the system's.
    pub extra_roots_pem: Vec<u8>,
    /// Where credentials come from.
    pub credentials: LookUp,
    /// The folder in which what digests name is kept for good; without one, it is kept for this run.
    pub cache: Option<PathBuf>,
    /// How many times a request is tried before its failure counts, at least 1.
    pub attempts: u32,
    /// The wait before the second try; it doubles with each.
    pub backoff: Duration,
    /// The longest wait that a registry's `Retry-After` is granted.
    pub longest_wait: Duration,
    /// For a connection.
    pub connect_timeout: Duration,
    /// For an answer, whole.
    pub timeout: Duration,
    /// The most requests at once.
    pub concurrency: usize,
    /// The largest manifest that is read, in bytes.
    pub manifest_limit: usize,
    /// The largest configuration of an image that is read, in bytes.
    pub config_limit: usize,
    /// What requests call themselves.
    pub user_agent: String,
    /// The clock by which `Retry-After` dates are understood.
    pub clock: fn() -> jiff::Timestamp,
}

impl Settings {
    /// Usual settings, without credentials or a cache.
    #[must_use]
    pub fn new(clock: fn() -> jiff::Timestamp) -> Self {
        Self {
            plain_http: BTreeSet::new(),
            extra_roots_pem: Vec::new(),
            credentials: Arc::new(|_| Ok(None)),
            cache: None,
            attempts: 3,
            backoff: Duration::from_millis(200),
            longest_wait: Duration::from_secs(30),
            connect_timeout: Duration::from_secs(10),
            timeout: Duration::from_secs(60),
            concurrency: 8,
            manifest_limit: 4 << 20,
            config_limit: 8 << 20,
            user_agent: concat!("reana-lock/", env!("CARGO_PKG_VERSION")).to_owned(),
            clock,
        }
    }
}

impl fmt::Debug for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Settings").field("plain_http", &self.plain_http).finish_non_exhaustive()
    }
}
