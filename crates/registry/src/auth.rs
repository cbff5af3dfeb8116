//! Who asks: nobody, a user with a password, or the holder of a token that a token server gives for one repository.
//! The first question to a registry goes without; what it then asks for is remembered.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use serde::Deserialize;
use url::Url;

use crate::client::is_here;
use crate::error::NoAnswer;
use crate::http::{Http, Question, refusal};
use crate::settings::{Credentials, LookUp};
use crate::wire::Challenge;

/// The largest answer of a token server.
const TOKEN_LIMIT: usize = 1 << 20;

/// What a request says of who asks.
#[derive(Clone)]
pub(crate) enum Access {
    None,
    Basic { user: String, password: String },
    Bearer(String),
}

impl Access {
    pub(crate) fn attach(&self, request: reqwest::RequestBuilder) -> reqwest::RequestBuilder {
        match self {
            Self::None => request,
            Self::Basic { user, password } => request.basic_auth(user, Some(password)),
            Self::Bearer(token) => request.bearer_auth(token),
        }
    }
}

/// What is known of who may ask.
pub(crate) struct Auth {
    look_up: LookUp,
    /// What registries asked for, by name.
    challenges: Mutex<HashMap<String, Challenge>>,
    /// Tokens, by registry and repository.
    tokens: Mutex<HashMap<(String, String), String>>,
}

impl std::fmt::Debug for Auth {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Auth(…)")
    }
}

impl Auth {
    pub(crate) fn new(look_up: LookUp) -> Self {
        Self { look_up, challenges: Mutex::default(), tokens: Mutex::default() }
    }

    /// What to send before being asked: what the registry wanted the last time.
    pub(crate) async fn known(&self, http: &Http, question: &Question<'_>) -> Result<Access, NoAnswer> {
        let key = (question.registry.to_owned(), question.repository.to_owned());
        let token = self.tokens.lock().unwrap_or_else(PoisonError::into_inner).get(&key).cloned();
        if let Some(token) = token {
            return Ok(Access::Bearer(token));
        }
        match self.challenge_of(question.registry) {
            None => Ok(Access::None),
            Some(challenge) => self.answer(http, question, &challenge).await,
        }
    }

    fn challenge_of(&self, registry: &str) -> Option<Challenge> {
        self.challenges.lock().unwrap_or_else(PoisonError::into_inner).get(registry).cloned()
    }

    /// What to send to a registry that asked for it.
    pub(crate) async fn answer(
        &self,
        http: &Http,
        question: &Question<'_>,
        challenge: &Challenge,
    ) -> Result<Access, NoAnswer> {
        self.challenges
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(question.registry.to_owned(), challenge.clone());
        let credentials = (self.look_up)(question.registry).map_err(NoAnswer::Credentials)?;
        match challenge {
            Challenge::Basic => Ok(match credentials {
                Some(Credentials::Password { user, password }) => Access::Basic { user, password },
                Some(Credentials::Refresh(_)) | None => Access::None,
            }),
            Challenge::Bearer { realm, service, .. } => {
                let token = token(http, question, (realm, service.as_deref()), credentials).await?;
                let key = (question.registry.to_owned(), question.repository.to_owned());
                self.tokens.lock().unwrap_or_else(PoisonError::into_inner).insert(key, token.clone());
                Ok(Access::Bearer(token))
            }
        }
    }
}

#[derive(Deserialize)]
struct TokenJson {
    #[serde(default)]
    token: Option<String>,
    #[serde(default)]
    access_token: Option<String>,
}

/// Asks a token server for a token to pull from one repository.
async fn token(
    http: &Http,
    question: &Question<'_>,
    (realm, service): (&str, Option<&str>),
    credentials: Option<Credentials>,
) -> Result<String, NoAnswer> {
    let unknown = || NoAnswer::UnknownChallenge(format!("realm={realm}"));
    let mut url = Url::parse(realm).map_err(|_| unknown())?;
    let is_protected = match url.scheme() {
        "https" => true,
        // A registry that is itself asked without TLS has nothing to lose.
        "http" => is_here(&url) || question.url.scheme() == "http",
        _ => return Err(unknown()),
    };
    if !is_protected {
        let place = url.host_str().unwrap_or_default().to_owned();
        return Err(NoAnswer::UnprotectedTokens(place));
    }
    let scope = format!("repository:{}:pull", question.repository);
    let mut form = vec![("scope", scope.as_str())];
    form.extend(service.map(|service| ("service", service)));
    let answer = if let Some(Credentials::Refresh(token)) = &credentials {
        let more = [("grant_type", "refresh_token"), ("client_id", "reana-lock"), ("refresh_token", token)];
        form.extend(more);
        let body = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(&form).finish();
        let request = || {
            let request = http.client().post(url.clone());
            request.header("content-type", "application/x-www-form-urlencoded").body(body.clone())
        };
        http.send(request, TOKEN_LIMIT).await?
    } else {
        url.query_pairs_mut().extend_pairs(&form);
        let request = || {
            let request = http.client().get(url.clone());
            match &credentials {
                Some(Credentials::Password { user, password }) => request.basic_auth(user, Some(password)),
                Some(Credentials::Refresh(_)) | None => request,
            }
        };
        http.send(request, TOKEN_LIMIT).await?
    };
    if !(200..300).contains(&answer.status) {
        return Err(match refusal(answer.status, &answer.body) {
            NoAnswer::Refused { status, reason } => {
                NoAnswer::Refused { status, reason: format!("its token server says {reason}") }
            }
            other => other,
        });
    }
    let json: TokenJson = serde_json::from_slice(&answer.body)
        .map_err(|_| NoAnswer::Http("its token server sends no token".to_owned()))?;
    let token = json.token.or(json.access_token).filter(|token| !token.is_empty());
    token.ok_or_else(|| NoAnswer::Http("its token server sends no token".to_owned()))
}
