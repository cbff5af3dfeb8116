//! Credentials that indexes' addresses don't have: from the environment, else from a keyring. (netrc is read by the
//! index client.) They go into the client's settings and nowhere else.

use std::cell::RefCell;
use std::collections::BTreeMap;

use reana_index::Settings;
use url::Url;

use crate::args::KeyringProvider;
use crate::doors::env::{CREDENTIALS, Env};
use crate::doors::keyring;

/// Adds what is known of credentials to the addresses in a client's settings: first what the environment says
/// (`REANA_LOCK_INDEX_<NAME>_USERNAME` and `_PASSWORD`, where the name is the index's own or its host), then for
/// addresses with a user and no password what the keyring says. Gives what the user should know.
pub(crate) fn fill(settings: &mut Settings, provider: KeyringProvider, env: &Env) -> Vec<String> {
    let known = Known { env, provider, asked: RefCell::default(), notes: RefCell::default() };
    for source in settings.indexes.iter_mut().chain(settings.bindings.values_mut()) {
        if let Some(url) = known.filled(&source.url, source.name.as_deref()) {
            source.url = url;
        }
    }
    for link in &mut settings.find_links {
        if let Some(url) = known.filled(link, None) {
            *link = url;
        }
    }
    known.notes.into_inner()
}

struct Known<'a> {
    env: &'a Env,
    provider: KeyringProvider,
    /// What the keyring said, by service and user: a host may have several indexes.
    asked: RefCell<BTreeMap<(String, String), Option<String>>>,
    notes: RefCell<Vec<String>>,
}

impl Known<'_> {
    /// An address with its credentials; nothing where it stays as it is.
    fn filled(&self, text: &str, name: Option<&str>) -> Option<String> {
        let mut url = Url::parse(text).ok().filter(|url| matches!(url.scheme(), "http" | "https"))?;
        if url.password().is_some() {
            return None;
        }
        let host = url.host_str()?.trim_matches(['[', ']']).to_owned();
        let names = [name, Some(host.as_str())];
        let says = |what: &str| {
            let mut variables = names.iter().flatten().map(|name| variable(name, what));
            variables.find_map(|variable| self.env.index_credentials.get(&variable))
        };
        if url.username().is_empty()
            && let Some(user) = says("USERNAME")
        {
            url.set_username(&escaped(user)).ok()?;
        }
        let user = percent_decoded(url.username());
        let password = says("PASSWORD").map(str::to_owned);
        let password = password.or_else(|| self.ask(&url, &user));
        if let Some(password) = password {
            url.set_password(Some(&escaped(&password))).ok()?;
        }
        Some(url.into())
    }

    /// What the keyring says of a user: at the address, as pip asks, or at its host.
    fn ask(&self, url: &Url, user: &str) -> Option<String> {
        // A user's name that looks like an option would be one.
        if self.provider == KeyringProvider::Disabled || user.is_empty() || user.starts_with('-') {
            return None;
        }
        let mut bare = url.clone();
        bare.set_username("").ok()?;
        let host = url.host_str().unwrap_or_default();
        let host = url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"));
        let found = self.get(bare.as_str(), user).or_else(|| self.get(&host, user));
        if found.is_none() {
            self.note(format!("keyring has no password of {user} for {bare}"));
        }
        found
    }

    fn get(&self, service: &str, user: &str) -> Option<String> {
        let key = (service.to_owned(), user.to_owned());
        if let Some(known) = self.asked.borrow().get(&key) {
            return known.clone();
        }
        let path = self.env.path.clone().unwrap_or_default();
        let answer = keyring::get(&path, service, user).unwrap_or_else(|error| {
            self.note(format!("--keyring-provider: {error}"));
            None
        });
        self.asked.borrow_mut().insert(key, answer.clone());
        answer
    }

    fn note(&self, note: String) {
        let mut notes = self.notes.borrow_mut();
        if !notes.contains(&note) {
            notes.push(note);
        }
    }
}

/// `my-index` and `USERNAME` make `REANA_LOCK_INDEX_MY_INDEX_USERNAME`.
fn variable(name: &str, what: &str) -> String {
    let upper = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' };
    format!("{CREDENTIALS}{}_{what}", name.chars().map(upper).collect::<String>())
}

/// What stands for itself in an address: `Url` escapes the rest, but takes `%` for an escape.
fn escaped(text: &str) -> String {
    text.replace('%', "%25")
}

fn percent_decoded(text: &str) -> String {
    let query = format!("x={}", text.replace('+', "%2B"));
    url::form_urlencoded::parse(query.as_bytes())
        .next()
        .map_or_else(String::new, |(_, value)| value.into_owned())
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use reana_index::IndexSource;

    use super::*;
    use crate::doors::env::Secrets;

    fn check(url: &str, name: Option<&str>, variables: &[(&str, &str)], expected: &str) {
        let mut env = Env::from_variables(PathBuf::from("/"), |_| None);
        let own = variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        env.index_credentials = Secrets(own.collect());
        let mut settings = Settings::new(|| jiff::Timestamp::UNIX_EPOCH);
        settings.indexes = vec![IndexSource { url: url.to_owned(), name: name.map(str::to_owned) }];
        let notes = fill(&mut settings, KeyringProvider::Disabled, &env);
        assert_eq!(settings.indexes.first().map(|source| source.url.as_str()), Some(expected));
        assert_eq!(notes, Vec::<String>::new());
    }

    #[test]
    fn from_the_environment() {
        let host =
            [("REANA_LOCK_INDEX_A_EXAMPLE_USERNAME", "me"), ("REANA_LOCK_INDEX_A_EXAMPLE_PASSWORD", "p@%40")];
        check("https://a.example/simple/", None, &host, "https://me:p%40%2540@a.example/simple/");
        check("https://b.example/simple/", None, &host, "https://b.example/simple/");
        check("https://you@a.example/simple/", None, &host, "https://you:p%40%2540@a.example/simple/");
        check("https://you:x@a.example/", None, &host, "https://you:x@a.example/");
        let named = [("REANA_LOCK_INDEX_MY_OWN_PASSWORD", "token"), host[1]];
        check("https://a.example/", Some("my-own"), &named, "https://:token@a.example/");
        check("/srv/index", Some("my-own"), &named, "/srv/index");
    }

    #[test]
    fn secrets_are_not_shown() {
        let secrets = Secrets([("X".to_owned(), "s3cret".to_owned())].into());
        assert_eq!(format!("{secrets:?}"), "{\"X\"}");
    }
}
