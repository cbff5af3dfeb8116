//! Requests: bounded in number, time and size, tried again where that may help, credentials attached where they
//! belong and nowhere else.

use std::time::Duration;

use reqwest::header::{self, HeaderMap};
use tokio::sync::Semaphore;
use url::Url;

use crate::auth::{Access, Auth};
use crate::error::{NoAnswer, SetupError};
use crate::settings::Settings;
use crate::wire;

const MOST_REDIRECTS: usize = 5;

/// The most that is read of an answer that is no success, and of a token server's.
const SHORT: usize = 64 << 10;

/// How it shows that what answers does not speak TLS: it sends something else, or hangs up.
const NO_TLS: [&str; 2] = ["corrupt message", "handshake eof"];

/// An answer, read whole.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Vec<u8>,
}

/// A question to a registry about a repository.
#[derive(Clone, Debug)]
pub(crate) struct Question<'a> {
    /// The registry as references call it.
    pub(crate) registry: &'a str,
    /// The repository, for which access is asked.
    pub(crate) repository: &'a str,
    /// The address.
    pub(crate) url: Url,
    /// What is accepted.
    pub(crate) accept: &'static str,
    /// The largest body.
    pub(crate) limit: usize,
}

/// The HTTP side of the client.
#[derive(Debug)]
pub(crate) struct Http {
    client: reqwest::Client,
    permits: Semaphore,
    attempts: u32,
    backoff: Duration,
    longest_wait: Duration,
    clock: fn() -> jiff::Timestamp,
}

impl Http {
    pub(crate) fn new(settings: &Settings) -> Result<Self, SetupError> {
        let roots = if settings.extra_roots_pem.is_empty() {
            Vec::new()
        } else {
            reqwest::Certificate::from_pem_bundle(&settings.extra_roots_pem)
                .map_err(|error| SetupError { what: "its certificates", reason: deepest(&error) })?
        };
        let client = reqwest::Client::builder()
            .user_agent(settings.user_agent.as_str())
            .connect_timeout(settings.connect_timeout)
            .timeout(settings.timeout)
            .referer(false)
            .no_gzip()
            .no_brotli()
            .redirect(reqwest::redirect::Policy::custom(follow))
            .tls_certs_merge(roots)
            .build()
            .map_err(|error| SetupError { what: "its HTTP", reason: deepest(&error) })?;
        Ok(Self {
            client,
            permits: Semaphore::new(settings.concurrency.max(1)),
            attempts: settings.attempts.max(1),
            backoff: settings.backoff,
            longest_wait: settings.longest_wait,
            clock: settings.clock,
        })
    }

    /// Asks a registry. The answer is a success or a 404, whatever it means; everything else is an error.
    pub(crate) async fn ask(&self, question: &Question<'_>, auth: &Auth) -> Result<Answer, NoAnswer> {
        let mut access = auth.known(self, question).await?;
        let mut is_renewed = false;
        loop {
            let request = || {
                let request = self.client.get(question.url.clone()).header(header::ACCEPT, question.accept);
                access.attach(request)
            };
            let answer = self.send(request, question.limit).await?;
            match answer.status {
                200..=299 | 404 => return Ok(answer),
                401 if !is_renewed => {
                    let challenges = answer.headers.get_all(header::WWW_AUTHENTICATE);
                    let challenge = wire::challenge(challenges.iter().filter_map(|it| it.to_str().ok()))
                        .map_err(NoAnswer::UnknownChallenge)?;
                    access = auth.answer(self, question, &challenge).await?;
                    // A registry that wants nothing more than was already sent says no.
                    is_renewed = true;
                    if matches!(access, Access::None) {
                        let reason =
                            format!("{}; no credentials are known for it", wire::saying(&answer.body));
                        return Err(NoAnswer::Refused { status: 401, reason });
                    }
                }
                status => return Err(refusal(status, &answer.body)),
            }
        }
    }

    /// Sends a request, again where a failure may pass, and reads the answer.
    pub(crate) async fn send(
        &self,
        request: impl Fn() -> reqwest::RequestBuilder,
        limit: usize,
    ) -> Result<Answer, NoAnswer> {
        let _permit = self.permits.acquire().await;
        let mut tried = 0;
        loop {
            tried += 1;
            let is_last = tried >= self.attempts;
            let wait = self.backoff.saturating_mul(1 << (tried - 1).min(8));
            match self.once(request(), limit).await {
                Ok(answer) if matches!(answer.status, 429 | 500 | 502 | 503 | 504) => {
                    let asked = answer.headers.get(header::RETRY_AFTER);
                    let asked = asked.and_then(|it| retry_after_of(it.to_str().ok()?, (self.clock)()));
                    let wait = wait.max(asked.unwrap_or_default());
                    if is_last || wait > self.longest_wait {
                        return Err(match answer.status {
                            429 => NoAnswer::TooMany { seconds: asked.map(|it| it.as_secs()) },
                            status => refusal(status, &answer.body),
                        });
                    }
                    tokio::time::sleep(wait).await;
                }
                Ok(answer) => return Ok(answer),
                Err(failure) if is_last || !failure.may_pass => return Err(failure.kind),
                Err(_) => tokio::time::sleep(wait).await,
            }
        }
    }

    /// The client for what is no question to a registry.
    pub(crate) fn client(&self) -> &reqwest::Client {
        &self.client
    }

    async fn once(&self, request: reqwest::RequestBuilder, limit: usize) -> Result<Answer, Failure> {
        let mut response = request.send().await.map_err(|error| Failure::of(&error))?;
        let (status, headers) = (response.status(), response.headers().clone());
        let limit = if status.is_success() { limit } else { SHORT };
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(|error| Failure::of(&error))? {
            let room = limit.saturating_sub(body.len());
            if chunk.len() > room && status.is_success() {
                return Err(Failure { kind: NoAnswer::TooLarge { limit }, may_pass: false });
            }
            body.extend(chunk.iter().take(room));
            if room == 0 {
                break;
            }
        }
        Ok(Answer { status: status.as_u16(), headers, body })
    }
}

/// A status that is no answer.
pub(crate) fn refusal(status: u16, body: &[u8]) -> NoAnswer {
    let reason = wire::saying(body);
    match status {
        401 | 403 => NoAnswer::Refused { status, reason },
        429 => NoAnswer::TooMany { seconds: None },
        status => NoAnswer::Status { status, reason },
    }
}

/// Redirects are followed (registries keep blobs elsewhere), but not out of TLS, and not for ever. What says who
/// asks doesn't follow to another host.
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

/// One try's failure.
struct Failure {
    kind: NoAnswer,
    may_pass: bool,
}

impl Failure {
    fn of(error: &reqwest::Error) -> Self {
        let reason = deepest(error);
        if error.is_timeout() {
            Self { kind: NoAnswer::Timeout, may_pass: false }
        } else if error.is_redirect() {
            Self { kind: NoAnswer::Http(format!("redirected {reason}")), may_pass: false }
        } else if error.is_connect() && NO_TLS.iter().any(|it| reason.contains(it)) {
            Self { kind: NoAnswer::NoTls(reason), may_pass: false }
        } else if error.is_connect() || error.is_request() {
            let may_pass = !reason.contains("certificate");
            Self { kind: NoAnswer::Connect(reason), may_pass }
        } else if error.is_body() || error.is_decode() {
            Self { kind: NoAnswer::Http(format!("the answer broke off: {reason}")), may_pass: true }
        } else {
            Self { kind: NoAnswer::Http(reason), may_pass: false }
        }
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
