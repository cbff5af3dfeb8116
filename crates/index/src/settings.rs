//! What a client is told when it is made. Nothing is read from the environment here.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use reana_model::PackageName;

/// An index in the simple layout (PEP 503, 691).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexSource {
    /// `https:`, `http:` or `file:` address of its root, or a path of a folder. Credentials may stand in it.
    pub url: String,
    /// What the user calls it, if anything.
    pub name: Option<String>,
}

impl IndexSource {
    /// An index without a name.
    pub fn new(url: impl Into<String>) -> Self {
        Self { url: url.into(), name: None }
    }
}

/// Where answers are kept between runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CacheMode {
    /// In this folder, which is made when it is missing. Many processes may share it.
    Folder(PathBuf),
    /// Nowhere: in memory, for this run.
    Memory,
}

/// How long to wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// For a connection.
    pub connect: Duration,
    /// For the next bytes of an answer.
    pub read: Duration,
    /// For a page or a metadata file, whole.
    pub page: Duration,
    /// For a distribution file, whole.
    pub file: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        let seconds = Duration::from_secs;
        Self { connect: seconds(10), read: seconds(30), page: seconds(120), file: seconds(900) }
    }
}

/// How much is accepted, in bytes after decompression.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Of an index page.
    pub page: u64,
    /// Of a metadata file.
    pub metadata: u64,
    /// Of a distribution file that is read in memory, unless the index announces that it is larger.
    pub archive: u64,
    /// Of one that the index announces, or that is on this machine.
    pub announced: u64,
    /// Of a distribution file that is only hashed.
    pub file: u64,
}

impl Default for Limits {
    fn default() -> Self {
        let mega = 1 << 20;
        Self {
            page: 64 * mega,
            metadata: 16 * mega,
            archive: 256 * mega,
            announced: 1024 * mega,
            file: 8192 * mega,
        }
    }
}

/// What a [`crate::Client`] is made from.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The indexes in the order in which they are asked; the first that knows a name owns it.
    pub indexes: Vec<IndexSource>,
    /// Names that are asked of one index alone.
    pub bindings: BTreeMap<PackageName, IndexSource>,
    /// Folders of files, and HTML pages with links to files (paths, `file:`, `http:`, `https:`).
    pub find_links: Vec<String>,
    /// Where answers are kept.
    pub cache: CacheMode,
    /// Whether only the cache and local folders may answer.
    pub offline: bool,
    /// Whether every page is asked for anew, however fresh it is.
    pub refresh: bool,
    /// Files that were uploaded after this moment are not seen.
    pub exclude_newer: Option<jiff::Timestamp>,
    /// Whether files without an upload time are seen under `exclude_newer`; else they are an error.
    pub undated_allow: bool,
    /// Whether metadata that only TLS vouches for (range reads, unannounced side files) is refused, and
    /// the whole file read and checked instead.
    pub verify_metadata: bool,
    /// The most requests at once.
    pub concurrency: usize,
    /// How many times a request is tried before its failure counts, at least 1.
    pub attempts: u32,
    /// The wait before the second try; it doubles with each.
    pub backoff: Duration,
    /// The longest wait that a server's `Retry-After` is granted.
    pub longest_wait: Duration,
    /// How long to wait for answers.
    pub timeouts: Timeouts,
    /// How much is accepted.
    pub limits: Limits,
    /// A netrc file with credentials.
    pub netrc: Option<PathBuf>,
    /// Certificates in PEM that are trusted beside the system's.
    pub extra_roots_pem: Vec<u8>,
    /// Whether the system's proxies are used (`HTTPS_PROXY` and its kin).
    pub proxies: bool,
    /// What requests call themselves.
    pub user_agent: String,
    /// The clock that decides what in the cache is fresh.
    pub clock: fn() -> jiff::Timestamp,
}

impl Settings {
    /// Usual settings, without any index or cache.
    pub fn new(clock: fn() -> jiff::Timestamp) -> Self {
        Self {
            indexes: Vec::new(),
            bindings: BTreeMap::new(),
            find_links: Vec::new(),
            cache: CacheMode::Memory,
            offline: false,
            refresh: false,
            exclude_newer: None,
            undated_allow: false,
            verify_metadata: false,
            concurrency: 50,
            attempts: 4,
            backoff: Duration::from_millis(300),
            longest_wait: Duration::from_secs(60),
            timeouts: Timeouts::default(),
            limits: Limits::default(),
            netrc: None,
            extra_roots_pem: Vec::new(),
            proxies: true,
            user_agent: concat!("reana-lock/", env!("CARGO_PKG_VERSION")).to_owned(),
            clock,
        }
    }

    /// Waits so long for a connection and for the next bytes of an answer, and for all else in proportion, as the
    /// usual settings have it: for a whole page four times as long, for a file thirty times, and twice as long
    /// where a server asks to be left alone.
    pub fn be_patient_for(&mut self, wait: Duration) {
        let usual = Timeouts::default();
        self.timeouts = Timeouts {
            connect: wait.min(usual.connect),
            read: wait,
            page: wait.saturating_mul(4),
            file: wait.saturating_mul(30),
        };
        self.longest_wait = wait.saturating_mul(2);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn usual_patience_is_in_proportion() {
        let usual = Settings::new(|| jiff::Timestamp::UNIX_EPOCH);
        let mut told = usual.clone();
        told.be_patient_for(usual.timeouts.read);
        assert_eq!((told.timeouts, told.longest_wait), (usual.timeouts, usual.longest_wait));
        told.be_patient_for(Duration::from_secs(1));
        assert_eq!(told.timeouts.connect, Duration::from_secs(1));
        assert_eq!(told.timeouts.page, Duration::from_secs(4));
    }
}
