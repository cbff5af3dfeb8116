//! Requests: bounded in number, time and size, tried again where that may help, credentials attached.

use std::collections::HashMap;
use std::hash::{BuildHasher as _, Hasher as _};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use reana_model::Sha256;
use reqwest::header::{self, HeaderMap, HeaderName};
use sha2::Digest as _;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use url::Url;

use crate::auth::Keyring;
use crate::error::{Error, FetchError};
use crate::settings::{Settings, Timeouts};

/// What a page is asked for as: JSON rather than HTML (PEP 691).
pub(crate) const ACCEPT_PAGE: &str = "application/vnd.pypi.simple.v1+json, \
     application/vnd.pypi.simple.v1+html;q=0.2, text/html;q=0.01";

const MOST_REDIRECTS: usize = 10;

/// A page larger than this is received and read alone: what may be large one by one must not be so all at once.
const LARGE: u64 = 2 << 20;

/// A file larger than this is received alone, where it is not only hashed.
const LARGE_FILE: u64 = 32 << 20;

/// What is wanted of an address.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub(crate) url: Url,
    /// Whether the bytes are wanted as they are stored: no compression on the way.
    pub(crate) is_file: bool,
    pub(crate) headers: Vec<(HeaderName, String)>,
    /// The most bytes that are accepted.
    pub(crate) limit: u64,
    /// Whether the bytes are only hashed, and not kept.
    pub(crate) only_hash: bool,
}

impl Request {
    /// A page or a metadata file.
    pub(crate) fn text(url: Url, limit: u64) -> Self {
        Self { url, is_file: false, headers: Vec::new(), limit, only_hash: false }
    }

    /// A distribution file.
    pub(crate) fn file(url: Url, limit: u64) -> Self {
        Self { url, is_file: true, headers: Vec::new(), limit, only_hash: false }
    }

    /// With one more header.
    pub(crate) fn with(mut self, name: HeaderName, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }
}

/// What came back: success, 304 or 404. Everything else is an error.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    /// Where it came from in the end.
    pub(crate) url: Url,
    pub(crate) headers: HeaderMap,
    /// Empty where the bytes were only hashed.
    pub(crate) body: Vec<u8>,
    /// Of all bytes, for files.
    pub(crate) sha256: Option<Sha256>,
    /// Held while a large body is there.
    pub(crate) alone: Option<OwnedSemaphorePermit>,
}

impl Answer {
    pub(crate) fn header(&self, name: HeaderName) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }
}

/// Counts for the terminal.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub(crate) done: AtomicU64,
    pub(crate) open: AtomicU64,
    pub(crate) bytes: AtomicU64,
    pub(crate) retries: AtomicU64,
}

/// The HTTP side of the client.
#[derive(Debug)]
pub(crate) struct Http {
    builder: Builder,
    texts: OnceLock<Result<reqwest::Client, String>>,
    files: OnceLock<Result<reqwest::Client, String>>,
    permits: Semaphore,
    large: Arc<Semaphore>,
    keyring: Keyring,
    gates: Mutex<HashMap<String, Arc<Gate>>>,
    attempts: u32,
    backoff: Duration,
    longest_wait: Duration,
    page_timeout: Duration,
    file_timeout: Duration,
    clock: fn() -> jiff::Timestamp,
    pub(crate) counters: Counters,
}

/// Lets one request go first to a server, so that the others find its HTTP/2 connection open and share it.
#[derive(Debug, Default)]
struct Gate {
    is_open: AtomicBool,
    first: tokio::sync::Mutex<()>,
}

impl Http {
    pub(crate) fn new(settings: &Settings, keyring: Keyring) -> Result<Self, Error> {
        let builder = Builder::new(settings)?;
        Ok(Self {
            builder,
            texts: OnceLock::new(),
            files: OnceLock::new(),
            permits: Semaphore::new(settings.concurrency.max(1)),
            large: Arc::new(Semaphore::new(1)),
            keyring,
            gates: Mutex::default(),
            attempts: settings.attempts.max(1),
            backoff: settings.backoff,
            longest_wait: settings.longest_wait,
            page_timeout: settings.timeouts.page,
            file_timeout: settings.timeouts.file,
            clock: settings.clock,
            counters: Counters::default(),
        })
    }

    /// Asks, and asks again where a failure may pass.
    pub(crate) async fn get(&self, request: &Request) -> Result<Answer, Error> {
        let mut tried = 0;
        loop {
            tried += 1;
            let failure = match self.try_once(request).await {
                Ok(answer) => return Ok(answer),
                Err(failure) => failure,
            };
            if tried >= self.attempts || !failure.may_pass {
                return Err(Error::fetch(&request.url, failure.kind));
            }
            self.counters.retries.fetch_add(1, Ordering::Relaxed);
            tokio::time::sleep(self.wait(tried, failure.retry_after)).await;
        }
    }

    /// Doubles with each try, half of it by chance, so that clients that failed together don't return together.
    fn wait(&self, tried: u32, retry_after: Option<Duration>) -> Duration {
        let backoff = self.backoff.saturating_mul(1 << (tried - 1).min(16));
        let chance = std::hash::RandomState::new().build_hasher().finish() % 1000;
        let jitter = backoff.mul_f64(chance as f64 / 2000.0);
        (backoff / 2 + jitter).max(retry_after.unwrap_or_default()).min(self.longest_wait)
    }

    async fn try_once(&self, request: &Request) -> Result<Answer, Failure> {
        let _permit = self.permits.acquire().await;
        let _open = Open::new(&self.counters);
        let client = self.client(request.is_file)?;
        let response = self.send(client, request).await.map_err(|error| Failure::of(&error))?;
        let status = response.status();
        match status.as_u16() {
            200 | 206 | 304 | 404 => {}
            code => {
                let retry_after = response.headers().get(header::RETRY_AFTER);
                let retry_after =
                    retry_after.and_then(|it| retry_after_of(it.to_str().ok()?, (self.clock)()));
                let may_pass = matches!(code, 408 | 425 | 429 | 500 | 502 | 503 | 504 | 520..=530);
                return Err(Failure { kind: FetchError::Status { code }, may_pass, retry_after });
            }
        }
        let (url, headers) = (response.url().clone(), response.headers().clone());
        let is_success = status.is_success();
        let mut answer =
            Answer { status: status.as_u16(), url, headers, body: Vec::new(), sha256: None, alone: None };
        if is_success {
            self.read(request, response, &mut answer).await?;
        }
        Ok(answer)
    }

    fn client(&self, is_file: bool) -> Result<&reqwest::Client, Failure> {
        let client = if is_file { &self.files } else { &self.texts };
        client.get_or_init(|| self.builder.build(is_file)).as_ref().map_err(|reason| Failure {
            kind: FetchError::Connect { reason: reason.clone() },
            may_pass: false,
            retry_after: None,
        })
    }

    async fn send(&self, client: &reqwest::Client, request: &Request) -> reqwest::Result<reqwest::Response> {
        let timeout = if request.is_file { self.file_timeout } else { self.page_timeout };
        let mut builder = client.get(request.url.clone()).timeout(timeout);
        if request.is_file {
            builder = builder.header(header::ACCEPT_ENCODING, "identity");
        }
        for (name, value) in &request.headers {
            builder = builder.header(name, value);
        }
        if let Some(credentials) = self.keyring.of(&request.url) {
            builder = builder.basic_auth(&credentials.user, Some(&credentials.password));
        }
        let gate = self.gate(&request.url, request.is_file);
        let first = match &gate {
            Some(gate) if !gate.is_open.load(Ordering::Acquire) => Some(gate.first.lock().await),
            _ => None,
        };
        // Whoever waited finds the gate open, and lets the next one through at once.
        let first = first.filter(|_| gate.as_ref().is_some_and(|gate| !gate.is_open.load(Ordering::Acquire)));
        let response = builder.send().await;
        if let Some(gate) = &gate {
            gate.is_open.store(true, Ordering::Release);
        }
        drop(first);
        response
    }

    fn gate(&self, url: &Url, is_file: bool) -> Option<Arc<Gate>> {
        if url.scheme() != "https" {
            return None;
        }
        let key = format!("{is_file} {}", url.origin().ascii_serialization());
        let mut gates = self.gates.lock().unwrap_or_else(PoisonError::into_inner);
        Some(gates.entry(key).or_default().clone())
    }

    async fn read(
        &self,
        request: &Request,
        mut response: reqwest::Response,
        answer: &mut Answer,
    ) -> Result<(), Failure> {
        let too_large = || Failure {
            kind: FetchError::TooLarge { limit: request.limit },
            may_pass: false,
            retry_after: None,
        };
        let announced = response.content_length().unwrap_or(0);
        if announced > request.limit {
            return Err(too_large());
        }
        let keeps = !request.only_hash;
        let capacity = if keeps { usize::try_from(announced).unwrap_or(0) } else { 0 };
        let _ = answer.body.try_reserve_exact(capacity);
        let mut hasher = request.is_file.then(sha2::Sha256::new);
        let mut length = 0_u64;
        while let Some(chunk) = response.chunk().await.map_err(|error| Failure::of(&error))? {
            length += chunk.len() as u64;
            self.counters.bytes.fetch_add(chunk.len() as u64, Ordering::Relaxed);
            if length > request.limit {
                return Err(too_large());
            }
            if let Some(hasher) = &mut hasher {
                hasher.update(&chunk);
            }
            let large = if request.is_file { LARGE_FILE } else { LARGE };
            if keeps && length > large && answer.alone.is_none() {
                answer.alone = Arc::clone(&self.large).acquire_owned().await.ok();
            }
            if keeps && length > LARGE && length > answer.body.capacity() as u64 {
                // At once: growing by and by would hold the old place and the new one. What is not written to
                // costs nothing.
                let rest = request.limit.saturating_sub(answer.body.len() as u64);
                let _ = answer.body.try_reserve_exact(usize::try_from(rest).unwrap_or(0));
            }
            if keeps {
                answer.body.extend_from_slice(&chunk);
            }
        }
        answer.sha256 = hasher.map(|hasher| Sha256(hasher.finalize().into()));
        Ok(())
    }
}

/// What clients are made from. They are made when they are first needed: a run that stays on this machine
/// needs no certificates.
#[derive(Debug)]
struct Builder {
    user_agent: String,
    timeouts: Timeouts,
    proxies: bool,
    roots: Vec<reqwest::Certificate>,
}

impl Builder {
    fn new(settings: &Settings) -> Result<Self, Error> {
        let roots = if settings.extra_roots_pem.is_empty() {
            Vec::new()
        } else {
            reqwest::Certificate::from_pem_bundle(&settings.extra_roots_pem)
                .map_err(|error| Error::Setup { what: "certificates".to_owned(), reason: deepest(&error) })?
        };
        let (user_agent, timeouts) = (settings.user_agent.clone(), settings.timeouts);
        Ok(Self { user_agent, timeouts, proxies: settings.proxies, roots })
    }

    fn build(&self, is_file: bool) -> Result<reqwest::Client, String> {
        let mut builder = reqwest::Client::builder()
            .user_agent(self.user_agent.as_str())
            .connect_timeout(self.timeouts.connect)
            .read_timeout(self.timeouts.read)
            .referer(false)
            .redirect(reqwest::redirect::Policy::custom(follow))
            .http2_initial_stream_window_size(4 << 20)
            .http2_initial_connection_window_size(32 << 20)
            .tls_certs_merge(self.roots.iter().cloned());
        if is_file {
            builder = builder.no_gzip().no_brotli();
        }
        if !self.proxies {
            builder = builder.no_proxy();
        }
        builder.build().map_err(|error| deepest(&error))
    }
}

/// Redirects are followed, but not out of TLS, and not for ever.
fn follow(attempt: reqwest::redirect::Attempt<'_>) -> reqwest::redirect::Action {
    let was_secure = attempt.previous().last().is_some_and(|url| url.scheme() == "https");
    if was_secure && attempt.url().scheme() != "https" {
        return attempt.error("from https to http");
    }
    if attempt.previous().len() > MOST_REDIRECTS {
        return attempt.error("too often");
    }
    attempt.follow()
}

struct Open<'a>(&'a Counters);

impl<'a> Open<'a> {
    fn new(counters: &'a Counters) -> Self {
        counters.open.fetch_add(1, Ordering::Relaxed);
        Self(counters)
    }
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        self.0.open.fetch_sub(1, Ordering::Relaxed);
        self.0.done.fetch_add(1, Ordering::Relaxed);
    }
}

/// One try's failure.
struct Failure {
    kind: FetchError,
    may_pass: bool,
    retry_after: Option<Duration>,
}

impl Failure {
    fn of(error: &reqwest::Error) -> Self {
        let reason = deepest(error);
        let (kind, may_pass) = if error.is_timeout() {
            (FetchError::Timeout, true)
        } else if error.is_connect() {
            let may_pass = !reason.contains("certificate");
            (FetchError::Connect { reason }, may_pass)
        } else if error.is_redirect() {
            (FetchError::Http { reason: format!("redirected {reason}") }, false)
        } else if error.is_body() || error.is_decode() {
            (FetchError::Truncated { reason }, true)
        } else if error.is_request() {
            (FetchError::Connect { reason }, true)
        } else {
            (FetchError::Http { reason }, false)
        };
        Self { kind, may_pass, retry_after: None }
    }
}

/// The innermost cause, which is the one that says something. Inner causes name no address.
fn deepest(error: &reqwest::Error) -> String {
    let mut cause: &dyn std::error::Error = error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    if std::ptr::addr_eq(cause, error) { "the request failed".to_owned() } else { cause.to_string() }
}

/// `Retry-After`: seconds, or a date.
fn retry_after_of(text: &str, now: jiff::Timestamp) -> Option<Duration> {
    if let Ok(seconds) = text.trim().parse() {
        return Some(Duration::from_secs(seconds));
    }
    let until = jiff::fmt::rfc2822::DateTimeParser::new().parse_timestamp(text.trim()).ok()?;
    Some(Duration::try_from(until.duration_since(now)).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn retry_after_is_seconds_or_a_date() {
        let now = "2020-05-20T08:00:00Z".parse().expect("a time");
        let check = |text: &str, expected: Option<u64>| {
            assert_eq!(retry_after_of(text, now).map(|it| it.as_secs()), expected, "{text}");
        };
        check("7", Some(7));
        check("Wed, 20 May 2020 08:00:05 GMT", Some(5));
        check("Wed, 20 May 2020 07:00:00 GMT", Some(0));
        check("soon", None);
    }
}
