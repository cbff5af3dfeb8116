//! References to images, `registry/repository:tag@digest`, by the grammar of the OCI distribution specification.

use std::fmt;
use std::str::FromStr;

/// The registry of a name that names none.
pub const DEFAULT_REGISTRY: &str = "docker.io";

/// The part of [`DEFAULT_REGISTRY`] that a name without a folder is in.
const OFFICIAL: &str = "library";

/// The longest repository name that registries take.
const LONGEST_NAME: usize = 255;

/// The longest tag that registries take.
const LONGEST_TAG: usize = 128;

/// A digest of content: `sha256:` and 64 lower-case hexadecimal digits.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Digest(String);

/// Why a text is no digest.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no digest: `sha256:` and 64 hexadecimal digits are expected")]
pub struct DigestError(pub String);

impl Digest {
    /// The digest of these bytes.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Self {
        use sha2::Digest as _;
        use std::fmt::Write as _;
        let mut text = String::from("sha256:");
        for byte in sha2::Sha256::digest(bytes) {
            let _infallible = write!(text, "{byte:02x}");
        }
        Self(text)
    }

    /// The whole text, `sha256:…`.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The 64 hexadecimal digits.
    #[must_use]
    pub fn hex(&self) -> &str {
        self.0.strip_prefix("sha256:").unwrap_or_default()
    }

    /// The first twelve hexadecimal digits, as people compare them.
    #[must_use]
    pub fn short(&self) -> &str {
        self.hex().get(..12).unwrap_or_default()
    }
}

impl FromStr for Digest {
    type Err = DigestError;

    fn from_str(text: &str) -> Result<Self, DigestError> {
        let is_hex =
            |hex: &str| hex.len() == 64 && hex.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        if text.strip_prefix("sha256:").is_some_and(is_hex) {
            Ok(Self(text.to_owned()))
        } else {
            Err(DigestError(text.to_owned()))
        }
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A tag: a letter, digit or `_`, then up to 127 of these, `.` and `-`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Tag(String);

impl Tag {
    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for Tag {
    type Err = ReferenceError;

    fn from_str(text: &str) -> Result<Self, ReferenceError> {
        let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
        let is_tag = text.bytes().next().is_some_and(is_word)
            && text.len() <= LONGEST_TAG
            && text.bytes().all(|byte| is_word(byte) || matches!(byte, b'.' | b'-'));
        if is_tag { Ok(Self(text.to_owned())) } else { Err(ReferenceError::Tag(text.to_owned())) }
    }
}

impl fmt::Display for Tag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A reference to an image. A missing registry is [`DEFAULT_REGISTRY`]; tag and digest may both be missing.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Reference {
    /// The registry's host, with its port if one is named: `docker.io`, `127.0.0.1:5000`.
    pub registry: String,
    /// The repository's whole name: `reanahub/reana-server`, `library/python`.
    pub repository: String,
    /// The tag, if one is named.
    pub tag: Option<Tag>,
    /// The digest, if one is named.
    pub digest: Option<Digest>,
}

/// Why a text is no reference.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReferenceError {
    /// The name is none.
    #[error(
        "`{0}` is no image name: lower-case letters and digits, parted by `.`, `_`, `-` and `/`, are expected"
    )]
    Name(String),
    /// The tag is none.
    #[error(
        "`{0}` is no image tag: up to 128 letters, digits, `_`, `.` and `-` are expected, the first of them no `.` or `-`"
    )]
    Tag(String),
    /// The digest is none.
    #[error(transparent)]
    Digest(#[from] DigestError),
}

impl FromStr for Reference {
    type Err = ReferenceError;

    fn from_str(text: &str) -> Result<Self, ReferenceError> {
        let (rest, digest) = match text.split_once('@') {
            Some((rest, digest)) => (rest, Some(digest.parse()?)),
            None => (text, None),
        };
        let name_start = rest.rfind('/').map_or(0, |slash| slash + 1);
        let colon = rest.rfind(':').filter(|colon| *colon >= name_start);
        let (name, tag) = match colon.and_then(|colon| rest.split_at_checked(colon)) {
            Some((name, tag)) => (name, Some(tag.trim_start_matches(':').parse()?)),
            None => (rest, None),
        };
        let is_host =
            |first: &str| first.contains(['.', ':']) || first == "localhost" || first != first.to_lowercase();
        let (registry, path) = match name.split_once('/') {
            Some((first, path)) if is_host(first) => (first, path),
            _ => (DEFAULT_REGISTRY, name),
        };
        let repository = if registry == DEFAULT_REGISTRY && !path.contains('/') {
            format!("{OFFICIAL}/{path}")
        } else {
            path.to_owned()
        };
        if !is_host_name(registry) || !is_repository(path) {
            return Err(ReferenceError::Name(name.to_owned()));
        }
        Ok(Self { registry: registry.to_owned(), repository, tag, digest })
    }
}

impl fmt::Display for Reference {
    /// As people write it: without the default registry and its folder of official images.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let official = self.repository.strip_prefix(OFFICIAL).and_then(|rest| rest.strip_prefix('/'));
        match official {
            _ if self.registry != DEFAULT_REGISTRY => write!(f, "{}/{}", self.registry, self.repository)?,
            Some(name) => f.write_str(name)?,
            None => f.write_str(&self.repository)?,
        }
        if let Some(tag) = &self.tag {
            write!(f, ":{tag}")?;
        }
        self.digest.iter().try_for_each(|digest| write!(f, "@{digest}"))
    }
}

/// `host`, `host:port`, `[::1]:port`.
fn is_host_name(host: &str) -> bool {
    let (name, port) = match host.rsplit_once(':') {
        Some((name, port)) if !port.contains(']') => (name, Some(port)),
        _ => (host, None),
    };
    let is_address = name.starts_with('[') && name.ends_with(']') && name.len() > 2;
    let is_label = |label: &str| {
        !label.is_empty()
            && !label.starts_with('-')
            && !label.ends_with('-')
            && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
    };
    (is_address || name.split('.').all(is_label)) && port.is_none_or(|port| port.parse::<u16>().is_ok())
}

/// Folders of lower-case letters and digits, with `.`, `_`, `__` or dashes between.
fn is_repository(path: &str) -> bool {
    let is_part = |part: &str| {
        let is_word = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
        let ends = part.bytes().next().is_some_and(is_word) && part.bytes().next_back().is_some_and(is_word);
        let separators = part.split(|c: char| c.is_ascii_lowercase() || c.is_ascii_digit());
        ends && separators.into_iter().all(|between| {
            matches!(between, "" | "." | "_" | "__") || between.bytes().all(|byte| byte == b'-')
        })
    };
    path.len() <= LONGEST_NAME && path.split('/').all(is_part)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &str) {
        let found = match text.parse::<Reference>() {
            Ok(it) => format!(
                "{} {} {} {} = {it}",
                it.registry,
                it.repository,
                it.tag.as_ref().map_or("-", Tag::as_str),
                it.digest.as_ref().map_or("-", Digest::short),
            ),
            Err(error) => error.to_string(),
        };
        assert!(found.starts_with(expected), "{text}: {found}");
    }

    #[test]
    fn references_are_read() {
        let digest = Digest::of(b"");
        check("python", "docker.io library/python - - = python");
        check("python:3.12-slim", "docker.io library/python 3.12-slim - = python:3.12-slim");
        check(
            "reanahub/reana-server:0.95.0",
            "docker.io reanahub/reana-server 0.95.0 - = reanahub/reana-server:0.95.0",
        );
        check("docker.io/library/ubuntu", "docker.io library/ubuntu - - = ubuntu");
        check(
            "127.0.0.1:5000/reana/app:2.0.0",
            "127.0.0.1:5000 reana/app 2.0.0 - = 127.0.0.1:5000/reana/app:2.0.0",
        );
        check("localhost/app", "localhost app - - = localhost/app");
        check("[::1]:5000/app", "[::1]:5000 app - - = [::1]:5000/app");
        check(&format!("a/b:1@{digest}"), "docker.io a/b 1 e3b0c44298fc = a/b:1@sha256:e3b0c4");
        check("a__b/c--d.e_f", "docker.io a__b/c--d.e_f - - = a__b/c--d.e_f");
    }

    #[test]
    fn what_is_no_reference_is_refused() {
        for name in ["", "/", "a//b", "a/B", "a..b", "a___b", "-a", "a/", "h.x:99999/a", "ä", "a b", ".x/a"]
        {
            check(
                name,
                &format!(
                    "`{}` is no image name",
                    name.split(':').next().unwrap_or_default().replace("h.x", "h.x:99999/a")
                ),
            );
        }
        check("a:", "`` is no image tag");
        check("a:1.0+build", "`1.0+build` is no image tag");
        check("a:-1", "`-1` is no image tag");
        check("a@sha256:abc", "`sha256:abc` is no digest");
        check(
            "a@md5:d41d8cd98f00b204e9800998ecf8427e",
            "`md5:d41d8cd98f00b204e9800998ecf8427e` is no digest",
        );
    }
}
