//! Credentials: from addresses and from a netrc file. They are sent to the host they are for, over no
//! redirect to another one, and never shown.

use std::collections::HashMap;
use std::fmt;
use std::path::Path;

use netrc::Netrc;
use url::Url;

use crate::error::Error;
use crate::wire::percent_decoded;

/// A user and a password. Its `Debug` shows neither.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Credentials {
    pub(crate) user: String,
    pub(crate) password: String,
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("****")
    }
}

/// Everything that is known of credentials.
#[derive(Debug, Default)]
pub(crate) struct Keyring {
    /// By scheme, host and port: an address's credentials hold for everything there.
    origins: HashMap<String, Credentials>,
    netrc: HashMap<String, Credentials>,
}

impl Keyring {
    /// Reads a netrc file.
    pub(crate) fn new(netrc: Option<&Path>) -> Result<Self, Error> {
        let Some(path) = netrc else { return Ok(Self::default()) };
        let netrc = Netrc::from_file(path).map_err(|error| Error::Setup {
            what: format!("netrc file {}", path.display()),
            reason: netrc_reason(&error),
        })?;
        let netrc = netrc.hosts.into_iter().map(|(host, found)| {
            (host.to_ascii_lowercase(), Credentials { user: found.login, password: found.password })
        });
        Ok(Self { origins: HashMap::new(), netrc: netrc.collect() })
    }

    /// Takes the credentials out of an address and keeps them for its origin.
    pub(crate) fn learn(&mut self, url: &Url) -> Url {
        let (bare, credentials) = split(url);
        if let Some(credentials) = credentials {
            self.origins.insert(bare.origin().ascii_serialization(), credentials);
        }
        bare
    }

    /// What to send to an address.
    pub(crate) fn of(&self, url: &Url) -> Option<&Credentials> {
        let host = || url.host_str().map(str::to_ascii_lowercase);
        self.origins
            .get(&url.origin().ascii_serialization())
            .or_else(|| self.netrc.get(&host()?))
            .or_else(|| self.netrc.get("default"))
    }
}

/// What is wrong with a netrc file, without a word of what is in it.
fn netrc_reason(error: &netrc::Error) -> String {
    match error {
        netrc::Error::Io(error) => error.to_string(),
        netrc::Error::Parsing { .. } => "not in netrc's format".to_owned(),
    }
}

/// An address and the credentials in it.
pub(crate) fn split(url: &Url) -> (Url, Option<Credentials>) {
    let mut bare = url.clone();
    if url.username().is_empty() && url.password().is_none() {
        return (bare, None);
    }
    let credentials = Credentials {
        user: percent_decoded(url.username()),
        password: percent_decoded(url.password().unwrap_or_default()),
    };
    let _ = bare.set_username("");
    let _ = bare.set_password(None);
    (bare, Some(credentials))
}

/// An address as it may be shown: `****` for credentials, and for a query, which may hold a signature.
pub(crate) fn masked(url: &Url) -> String {
    let (mut bare, credentials) = split(url);
    if bare.query().is_some() {
        bare.set_query(Some("****"));
    }
    bare.set_fragment(None);
    match credentials {
        None => bare.to_string(),
        Some(_) => bare.as_str().replacen("://", "://****@", 1),
    }
}

/// An address, or what was meant to be one, as it may be shown: `****` for credentials.
pub fn masked_text(text: &str) -> String {
    match text.parse::<Url>() {
        Ok(url) if url.has_host() => masked(&url),
        _ => match (text.find("//"), text.rfind('@')) {
            (Some(start), Some(end)) if start < end => {
                format!("{}//****{}", text.get(..start).unwrap_or(""), text.get(end..).unwrap_or(""))
            }
            _ => text.to_owned(),
        },
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests make files")]
mod tests {
    use super::*;

    fn url(text: &str) -> Url {
        text.parse().expect("an address")
    }

    #[test]
    fn masks() {
        let check = |text: &str, expected: &str| assert_eq!(masked_text(text), expected, "{text}");
        check("https://a.example/simple/", "https://a.example/simple/");
        check("https://user:s3cret@a.example/simple/", "https://****@a.example/simple/");
        check("https://token@a.example:8443/?sig=s3cret#sha256=1", "https://****@a.example:8443/?****");
        check("https://user:s3cret@/simple", "https://****@/simple");
        check("http//user:p@x", "http//****@x");
        check("./folder", "./folder");
        assert_eq!(format!("{:?}", split(&url("https://u:s3cret@a.example/")).1), "Some(****)");
    }

    #[test]
    fn credentials_stay_with_their_origin() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("netrc");
        std::fs::write(&path, "machine b.example login bee password b%20\n").expect("to write");
        let mut keyring = Keyring::new(Some(&path)).expect("a netrc file");
        assert_eq!(
            keyring.learn(&url("https://us%40er:p%3Aw@a.example/simple/")),
            url("https://a.example/simple/")
        );
        let check = |address: &str, expected: Option<(&str, &str)>| {
            let found = keyring.of(&url(address)).map(|it| (it.user.as_str(), it.password.as_str()));
            assert_eq!(found, expected, "{address}");
        };
        check("https://a.example/files/x", Some(("us@er", "p:w")));
        check("http://a.example/files/x", None);
        check("https://a.example:8443/", None);
        check("https://B.example:8443/", Some(("bee", "b%20")));
        check("https://c.example/", None);
    }

    #[test]
    fn a_bad_netrc_is_told_without_its_contents() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("netrc");
        std::fs::write(&path, "machine a login b passwort s3cret\n").expect("to write");
        let error = Keyring::new(Some(&path)).expect_err("no netrc").to_string();
        assert!(error.ends_with("not in netrc's format"), "{error}");
        assert!(Keyring::new(Some(&folder.path().join("absent"))).is_err());
    }
}
