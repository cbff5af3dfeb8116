//! Why there is no answer.

use reana_images::{Digest, Reference};

/// A client can't be made.
#[derive(Debug, thiserror::Error)]
#[error("no client for registries can be made: {what}: {reason}")]
pub struct SetupError {
    /// What is wrong.
    pub what: &'static str,
    /// Why.
    pub reason: String,
}

/// No answer was had about an image. It may be there or not.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{image}: {kind}")]
pub struct Error {
    /// What was asked about.
    pub image: Box<Reference>,
    /// Why there is no answer.
    pub kind: NoAnswer,
}

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoAnswer {
    /// The registry wants credentials, or other ones: 401 or 403.
    #[error("the registry refuses ({status}): {reason}")]
    Refused {
        /// The status.
        status: u16,
        /// What it says, or what was tried.
        reason: String,
    },
    /// It wants a kind of credentials that is not known.
    #[error("the registry asks for credentials in a way that is not known here: `{0}`")]
    UnknownChallenge(String),
    /// Credentials can't be had, though they are set up.
    #[error("the credentials for the registry can't be had: {0}")]
    Credentials(String),
    /// It sends its token server's address out of TLS.
    #[error("its token server at {0} is without TLS, and would be sent credentials")]
    UnprotectedTokens(String),
    /// Too many requests: 429, for longer than is waited.
    #[error("the registry takes no more requests for now (429){}", wait(*.seconds))]
    TooMany {
        /// How long it wants to be left alone, where it says so.
        seconds: Option<u64>,
    },
    /// Any other status.
    #[error("the registry answers with status {status}{}", said(.reason))]
    Status {
        /// The status.
        status: u16,
        /// What it says.
        reason: String,
    },
    /// A 404 that no registry sends for a missing image.
    #[error("what answers is no registry, or has no such API: status 404{}", said(.0))]
    NotARegistry(String),
    /// The bytes are not what the digest says.
    #[error("altered: {digest} was asked for or announced, and the bytes that came are {found}")]
    Altered {
        /// As it should be.
        digest: Digest,
        /// As it is.
        found: Digest,
    },
    /// What came is no manifest.
    #[error("what came is no manifest that is known here: {0}")]
    NotAManifest(String),
    /// What came is no configuration of an image.
    #[error("the configuration {digest} can't be understood: {reason}")]
    NotAConfig {
        /// Its digest.
        digest: Digest,
        /// Why.
        reason: String,
    },
    /// The tag is there, and what it leads to is not.
    #[error("its {what} {digest} is gone from the registry")]
    Gone {
        /// `manifest`, `configuration`.
        what: &'static str,
        /// Its digest.
        digest: Digest,
    },
    /// The tag stood for one image, then for another, during one question.
    #[error("its tag moved while it was looked at: it was {before}, and now is {after}")]
    Moved {
        /// First.
        before: Digest,
        /// Then.
        after: Digest,
    },
    /// No connection.
    #[error("there is no connection to the registry: {0}")]
    Connect(String),
    /// What answers does not speak TLS.
    #[error("the registry speaks no TLS: {0}")]
    NoTls(String),
    /// It took too long.
    #[error("the registry did not answer in time")]
    Timeout,
    /// It sent too much.
    #[error("the registry sends more than {limit} bytes")]
    TooLarge {
        /// The limit.
        limit: usize,
    },
    /// Anything else on the way.
    #[error("{0}")]
    Http(String),
    /// Neither a tag nor a digest.
    #[error("it names neither a tag nor a digest")]
    Nothing,
}

fn wait(seconds: Option<u64>) -> String {
    seconds.map_or_else(String::new, |seconds| format!("; it wants to be left alone for {seconds} s"))
}

fn said(text: &str) -> String {
    if text.is_empty() { String::new() } else { format!(": {text}") }
}
