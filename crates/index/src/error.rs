//! What can go wrong between us and an index.

use reana_model::{PackageName, Sha256};

/// Why the client can't answer. Addresses in it carry no credentials.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Something could not be had from its address.
    #[error("{url}: {kind}")]
    Fetch {
        /// The address, credentials masked.
        url: String,
        /// What went wrong.
        kind: FetchError,
    },
    /// Under an upload-time limit, a file whose index does not say when it was uploaded.
    #[error("the index does not say when `{file}` was uploaded")]
    Undated {
        /// The package.
        package: PackageName,
        /// The file.
        file: String,
    },
    /// A distribution named by its URL whose requirements can't be read without building it.
    #[error("the requirements of `{file}` can't be read: {reason}")]
    Unreadable {
        /// The file's name.
        file: String,
        /// Why.
        reason: String,
    },
    /// A distribution named by its URL that is broken, or another one than was asked for.
    #[error("`{file}` can't be used: {reason}")]
    Invalid {
        /// The file's name.
        file: String,
        /// Why.
        reason: String,
    },
    /// Settings that make no client: an address, a certificate, a netrc file, a cache folder.
    #[error("{what}: {reason}")]
    Setup {
        /// Which setting, credentials masked.
        what: String,
        /// What is wrong with it.
        reason: String,
    },
    /// An entry of the cache that was found damaged after it was used. It is gone, so the next run does without it.
    #[error("the cache's entry {0} was damaged, and has been removed")]
    Damaged(String),
    /// A defect of ours.
    #[error("internal error in the index client: {0}")]
    Internal(String),
}

/// What went wrong with one address.
#[derive(Debug, thiserror::Error)]
pub enum FetchError {
    /// Something else than success, after all tries.
    #[error("the server answered {code}{}", reason_phrase(*code))]
    Status {
        /// The HTTP status.
        code: u16,
    },
    /// No answer in time.
    #[error("no answer in time")]
    Timeout,
    /// No connection: name not found, refused, certificate not trusted.
    #[error("no connection: {reason}")]
    Connect {
        /// What the system says.
        reason: String,
    },
    /// The answer ended before its end, or could not be decoded.
    #[error("the answer broke off: {reason}")]
    Truncated {
        /// What was seen.
        reason: String,
    },
    /// More bytes than are accepted.
    #[error("larger than the limit of {limit} bytes")]
    TooLarge {
        /// The limit.
        limit: u64,
    },
    /// Other bytes than the index promised.
    #[error("its sha256 is {found}, but the index says {expected}")]
    Hash {
        /// What the index (or the URL's fragment) says.
        expected: Sha256,
        /// What was fetched.
        found: Sha256,
    },
    /// An answer that is no page of an index: a login page, a proxy's message.
    #[error("answered {content_type} where an index page was expected: {reason}")]
    NotAnIndexPage {
        /// What the answer says that it is.
        content_type: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A page of a later major version of the simple API (PEP 629).
    #[error("the index speaks version {0} of the simple API, which is not understood")]
    ApiVersion(String),
    /// Not in the cache, and nothing may be fetched.
    #[error("not in the cache, and offline")]
    Offline,
    /// Nothing there.
    #[error("not found")]
    NotFound,
    /// Not an address that can be fetched.
    #[error("not an address that can be fetched: {reason}")]
    Address {
        /// What is wrong.
        reason: String,
    },
    /// A local file that can't be read.
    #[error("{reason}")]
    File {
        /// What the system says.
        reason: String,
    },
    /// Anything else that HTTP can do.
    #[error("{reason}")]
    Http {
        /// What was said.
        reason: String,
    },
}

fn reason_phrase(code: u16) -> String {
    reqwest::StatusCode::from_u16(code)
        .ok()
        .and_then(|status| status.canonical_reason())
        .map_or_else(String::new, |reason| format!(" ({reason})"))
}

impl Error {
    pub(crate) fn fetch(url: &url::Url, kind: FetchError) -> Self {
        Self::Fetch { url: crate::auth::masked(url), kind }
    }
}
