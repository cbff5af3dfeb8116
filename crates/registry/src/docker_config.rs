//! Docker's `config.json`: who keeps the credentials for which registry. Pure; a helper program is run by others.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;

use crate::Credentials;
use crate::client::{DOCKER_HUB, DOCKER_HUB_KEY};

/// The user that stands for a refresh token in what helpers answer.
const TOKEN_USER: &str = "<token>";

/// What the file says of credentials; all else in it is passed over.
#[derive(Clone, Default, Deserialize)]
pub struct DockerConfig {
    #[serde(default)]
    auths: BTreeMap<String, Auth>,
    #[serde(default, rename = "credHelpers")]
    helpers: BTreeMap<String, String>,
    #[serde(default, rename = "credsStore")]
    store: Option<String>,
}

#[derive(Clone, Default, Deserialize)]
struct Auth {
    #[serde(default)]
    auth: String,
    #[serde(default)]
    username: String,
    #[serde(default)]
    password: String,
    #[serde(default, rename = "identitytoken")]
    identity_token: String,
}

/// Who has the credentials for a registry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// The file itself.
    File(Credentials),
    /// The program `docker-credential-NAME`, asked with `get` about this server; if it has none, the second says who
    /// is asked then.
    Helper {
        /// The helper's name.
        name: String,
        /// What is written to it.
        server: String,
        /// What the file has, where the helper has nothing.
        otherwise: Option<Credentials>,
    },
    /// Nobody.
    Nobody,
}

/// Why a file is of no use. It never repeats what stands in the file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DockerConfigError {
    /// No JSON, or of other types.
    #[error("line {0}: not what docker's config.json looks like")]
    Json(usize),
    /// `auth` is not base64 of `user:password`.
    #[error("the `auth` of {0} is not base64 of `user:password`")]
    Auth(String),
    /// A helper's name is none.
    #[error("`{0}` can't be the name of a credential helper")]
    HelperName(String),
}

impl DockerConfig {
    /// Reads the file's text.
    ///
    /// # Errors
    /// It is no such file.
    pub fn parse(text: &str) -> Result<Self, DockerConfigError> {
        serde_json::from_str(text).map_err(|error| DockerConfigError::Json(error.line()))
    }

    /// Who has the credentials for this registry, called as references call it. As docker does it: a helper for the
    /// registry, else the general one, else the file.
    ///
    /// # Errors
    /// What the file has for it makes no sense.
    pub fn source(&self, registry: &str) -> Result<Source, DockerConfigError> {
        let keys: Vec<&str> =
            if registry == DOCKER_HUB { vec![DOCKER_HUB_KEY, DOCKER_HUB] } else { vec![registry] };
        let server = keys.first().copied().unwrap_or(registry);
        let own = keys.iter().find_map(|key| self.helpers.get(*key));
        let helper = own.or(self.store.as_ref()).filter(|name| !name.is_empty());
        let stored = self.stored(&keys)?;
        let Some(name) = helper else { return Ok(stored.map_or(Source::Nobody, Source::File)) };
        let is_name = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte));
        if !is_name {
            return Err(DockerConfigError::HelperName(name.clone()));
        }
        Ok(Source::Helper { name: name.clone(), server: server.to_owned(), otherwise: stored })
    }

    fn stored(&self, keys: &[&str]) -> Result<Option<Credentials>, DockerConfigError> {
        let exact = keys.iter().find_map(|key| self.auths.get_key_value(*key));
        // Old files have addresses for keys.
        let found = exact.or_else(|| self.auths.iter().find(|(key, _)| keys.contains(&host_of(key))));
        let Some((key, auth)) = found else { return Ok(None) };
        if !auth.identity_token.is_empty() {
            return Ok(Some(Credentials::Refresh(auth.identity_token.clone())));
        }
        if !auth.auth.is_empty() {
            let error = || DockerConfigError::Auth(key.clone());
            let bytes = STANDARD.decode(auth.auth.trim()).map_err(|_| error())?;
            let text = String::from_utf8(bytes).map_err(|_| error())?;
            let (user, password) = text.split_once(':').ok_or_else(error)?;
            // Docker once filled it up with zeros.
            let password = password.trim_end_matches('\0').to_owned();
            return Ok(Some(Credentials::Password { user: user.to_owned(), password }));
        }
        let (user, password) = (auth.username.clone(), auth.password.clone());
        Ok((!user.is_empty()).then_some(Credentials::Password { user, password }))
    }

    /// What a helper answers to `get`.
    #[must_use]
    pub fn helper_answer(text: &str) -> Option<Credentials> {
        #[derive(Deserialize)]
        struct Answer {
            #[serde(rename = "Username")]
            user: String,
            #[serde(rename = "Secret")]
            secret: String,
        }
        let answer: Answer = serde_json::from_str(text).ok()?;
        Some(match answer.user.as_str() {
            TOKEN_USER => Credentials::Refresh(answer.secret),
            _ => Credentials::Password { user: answer.user, password: answer.secret },
        })
    }
}

impl std::fmt::Debug for DockerConfig {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DockerConfig").field("auths", &self.auths.keys()).finish_non_exhaustive()
    }
}

/// `https://index.example/v1/` is about `index.example`.
fn host_of(key: &str) -> &str {
    let rest = key.split_once("://").map_or(key, |(_, rest)| rest);
    rest.split('/').next().unwrap_or(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(config: &str, registry: &str, expected: &str) {
        let shown = match DockerConfig::parse(config).and_then(|config| config.source(registry)) {
            Ok(Source::Nobody) => "nobody".to_owned(),
            Ok(Source::File(credentials)) => of(&credentials),
            Ok(Source::Helper { name, server, otherwise }) => {
                format!("{name} {server} {}", otherwise.as_ref().map_or("-".to_owned(), of))
            }
            Err(error) => error.to_string(),
        };
        assert_eq!(shown, expected, "{config}");
    }

    fn of(credentials: &Credentials) -> String {
        match credentials {
            Credentials::Password { user, password } => format!("{user} {password}"),
            Credentials::Refresh(token) => format!("refresh {token}"),
        }
    }

    #[test]
    fn who_has_credentials() {
        let alice = r#"{"auths":{"localhost:5001":{"auth":"YWxpY2U6czNjcmV0OjE="},"x":{}}}"#;
        check(alice, "localhost:5001", "alice s3cret:1");
        check(alice, "localhost:5002", "nobody");
        check(alice, "x", "nobody");
        check("{}", "x", "nobody");
        let hub = r#"{"auths":{"https://index.docker.io/v1/":{"username":"me","password":"p"}}}"#;
        check(hub, "docker.io", "me p");
        check(r#"{"auths":{"https://r.test/v2/":{"identitytoken":"t"}}}"#, "r.test", "refresh t");
        let helpers =
            r#"{"credHelpers":{"r.test":"own"},"credsStore":"all","auths":{"r.test":{"username":"u"}}}"#;
        check(helpers, "r.test", "own r.test u ");
        check(helpers, "docker.io", "all https://index.docker.io/v1/ -");
    }

    #[test]
    fn bad_files_are_refused_and_not_repeated() {
        check("{\n\"auths\": 1}", "x", "line 2: not what docker's config.json looks like");
        check(r#"{"auths":{"x":{"auth":"!"}}}"#, "x", "the `auth` of x is not base64 of `user:password`");
        check(r#"{"auths":{"x":{"auth":"YWI="}}}"#, "x", "the `auth` of x is not base64 of `user:password`");
        check(r#"{"credsStore":"../x"}"#, "x", "`../x` can't be the name of a credential helper");
        assert_eq!(format!("{:?}", Credentials::Refresh("s3cret".to_owned())), "Credentials(…)");
        assert_eq!(DockerConfig::helper_answer("credentials not found"), None);
    }
}
