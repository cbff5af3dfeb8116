//! The address of a git requirement, as pip has it: `git+https://HOST/PATH[@REVISION][#subdirectory=FOLDER&egg=NAME]`.

use reana_manifest::files::normal_path;
use reana_model::requirements_file::fragment_value;
use url::Url;

use crate::doors::git::remote::Remote;

/// A repository, and what of it is asked for.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct GitAddress {
    /// The repository.
    pub(crate) remote: Remote,
    /// What names the commit: a branch, a tag, a hash or the start of one; `None` for the default branch.
    pub(crate) revision: Option<String>,
    /// What named it when it was locked, where the revision is the commit that was locked.
    asked: Option<String>,
    /// The project's folder; empty for the top.
    pub(crate) subdirectory: String,
}

/// Why an address can't be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum AddressError {
    /// Not a protocol that is spoken.
    #[error("repositories are read by git+https, git+ssh and git+file, not by {0}")]
    Scheme(String),
    /// It is no address.
    #[error("it is not an address: {0}")]
    Url(url::ParseError),
    /// It names an environment variable.
    #[error(
        "variables (`${{NAME}}`) are not put into addresses of repositories; a credential helper of git keeps secrets"
    )]
    Variable,
    /// The revision can't be a name in git.
    #[error("`{0}` can't be the name of a branch, a tag or a commit")]
    Revision(String),
    /// The folder can't be one of the repository.
    #[error("`{0}` is not a folder of the repository")]
    Subdirectory(String),
    /// The host, its user or the path can't be used.
    #[error("its host or path can't be used")]
    Place,
}

/// The key of the fragment that keeps what was asked for. pip passes over it.
const ASKED: &str = "rev";

impl GitAddress {
    /// Reads an address.
    pub(crate) fn parse(text: &str) -> Result<Self, AddressError> {
        let (scheme, rest) = text.split_once("://").unwrap_or((text, ""));
        let (scheme, protocols) = match scheme.to_ascii_lowercase().as_str() {
            "git+https" => ("https", "https:ssh"),
            "git+ssh" | "ssh" => ("ssh", "ssh:https"),
            "git+file" => ("file", "file"),
            other => return Err(AddressError::Scheme(other.to_owned())),
        };
        if text.contains("${") || text.contains("$%7B") {
            return Err(AddressError::Variable);
        }
        let mut url = Url::parse(&format!("{scheme}://{rest}")).map_err(AddressError::Url)?;
        let fragment = format!("#{}", url.fragment().unwrap_or_default());
        let of_fragment = |key: &str| fragment_value(&fragment, key).map(decoded).filter(|it| !it.is_empty());
        let subdirectory = of_fragment("subdirectory").unwrap_or_default();
        let subdirectory =
            normal_path(&subdirectory).ok_or_else(|| AddressError::Subdirectory(subdirectory.clone()))?;
        let asked = of_fragment(ASKED);
        url.set_fragment(None);
        let path = url.path().to_owned();
        let (path, revision) = match path.rsplit_once('@') {
            Some((path, revision)) => (path, Some(decoded(revision))),
            None => (path.as_str(), None),
        };
        if let Some(revision) = revision.iter().chain(&asked).find(|revision| !is_revision(revision)) {
            return Err(AddressError::Revision(revision.clone()));
        }
        url.set_path(path);
        let is_bad = |text: &str| decoded(text).starts_with('-') || decoded(text).contains(char::is_control);
        let host = url.host_str().unwrap_or_default();
        if is_bad(host) || is_bad(url.username()) || is_bad(path) || (scheme == "file") != host.is_empty() {
            return Err(AddressError::Place);
        }
        let credentials = credentials(&mut url, scheme);
        let asked = asked.filter(|_| revision.as_deref().is_some_and(is_full));
        Ok(Self { remote: Remote { url: url.into(), protocols, credentials }, revision, asked, subdirectory })
    }

    /// The address of one commit, without credentials, as a lock has it.
    pub(crate) fn at(&self, commit: &str) -> String {
        let mut parts = Vec::new();
        if !self.subdirectory.is_empty() {
            parts.push(format!("subdirectory={}", encoded(&self.subdirectory)));
        }
        parts.extend(self.asked().map(|asked| format!("{ASKED}={}", encoded(asked))));
        let fragment = if parts.is_empty() { String::new() } else { format!("#{}", parts.join("&")) };
        format!("git+{}@{commit}{fragment}", self.remote.url)
    }

    /// The name that was asked for; `None` where it is the default branch, or a commit itself.
    pub(crate) fn asked(&self) -> Option<&str> {
        let named = self.revision.as_deref().filter(|revision| !is_full(revision));
        named.or(self.asked.as_deref())
    }

    /// The commit, where the address names it in full.
    pub(crate) fn commit(&self) -> Option<String> {
        self.revision.as_deref().filter(|revision| is_full(revision)).map(str::to_ascii_lowercase)
    }

    /// Takes the commit that a lock has, where the lock asked the same of the same repository.
    pub(crate) fn keep(&mut self, locked: &Self) {
        let is_same = self.remote.url == locked.remote.url && self.subdirectory == locked.subdirectory;
        if let Some(commit) = locked.commit().filter(|_| is_same && self.commit().is_none())
            && self.revision.as_deref() == locked.asked()
        {
            self.asked = self.revision.replace(commit);
        }
    }

    /// The address with its credentials, for the run itself.
    pub(crate) fn whole(&self) -> String {
        let mut whole = self.clone();
        if let (Ok(mut url), Some((user, password))) =
            (Url::parse(&self.remote.url), &self.remote.credentials)
        {
            let set = url.set_username(user).and_then(|()| url.set_password(Some(password)));
            whole.remote.url = set.map_or_else(|()| self.remote.url.clone(), |()| url.into());
        }
        match &self.revision {
            Some(revision) => whole.at(revision),
            None => whole.at("HEAD"),
        }
    }
}

/// Takes the credentials out of an address. Over ssh the user is a part of it, and a password never helps.
fn credentials(url: &mut Url, scheme: &str) -> Option<(String, String)> {
    let user = decoded(url.username());
    let password = url.password().map(decoded).unwrap_or_default();
    let _set = url.set_password(None);
    if scheme != "https" || (user.is_empty() && password.is_empty()) {
        return None;
    }
    let _set = url.set_username("");
    let is_one_line = !format!("{user}{password}").contains(char::is_control);
    is_one_line.then_some((user, password))
}

/// Whether a revision is a whole hash.
pub(crate) fn is_full(revision: &str) -> bool {
    revision.len() == 40 && revision.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// What git lets be a name (git-check-ref-format), and no option.
fn is_revision(text: &str) -> bool {
    let is_refused = |c: char| c.is_control() || c.is_whitespace() || "~^:?*[\\@{".contains(c);
    !text.is_empty()
        && text.len() <= 250
        && !text.starts_with('-')
        && !text.contains("..")
        && !text.contains(is_refused)
}

fn decoded(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((&first, tail)) = rest.split_first() {
        let digits = tail.get(..2).and_then(|digits| std::str::from_utf8(digits).ok());
        let byte = digits.filter(|_| first == b'%').and_then(|digits| u8::from_str_radix(digits, 16).ok());
        bytes.push(byte.unwrap_or(first));
        rest = if byte.is_some() { tail.get(2..).unwrap_or_default() } else { tail };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Text that stands in a fragment, where `&` and `#` mean something.
fn encoded(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        match c {
            '%' => out.push_str("%25"),
            '&' => out.push_str("%26"),
            '#' => out.push_str("%23"),
            ' ' => out.push_str("%20"),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";

    fn check(text: &str, expected: &str) {
        let shown = match GitAddress::parse(text) {
            Ok(address) => {
                let secret =
                    address.remote.credentials.as_ref().map(|(user, password)| format!(" {user}:{password}"));
                let revision = address.revision.as_deref().unwrap_or("HEAD");
                format!(
                    "{} {revision} -> {}{}",
                    address.remote.url,
                    address.at("C"),
                    secret.unwrap_or_default()
                )
            }
            Err(error) => error.to_string(),
        };
        assert_eq!(shown, expected, "{text}");
    }

    #[test]
    fn addresses() {
        check("git+https://a.example/b.git", "https://a.example/b.git HEAD -> git+https://a.example/b.git@C");
        check(
            "git+https://me:s%40c@a.example/b@v1#egg=b&subdirectory=./x/y/",
            "https://a.example/b v1 -> git+https://a.example/b@C#subdirectory=x/y&rev=v1 me:s@c",
        );
        check(
            "git+ssh://git@a.example:22/b/c@feature/x",
            "ssh://git@a.example:22/b/c feature/x -> git+ssh://git@a.example:22/b/c@C#rev=feature/x",
        );
        check("ssh://git@a.example/b", "ssh://git@a.example/b HEAD -> git+ssh://git@a.example/b@C");
        check("git+file:///srv/a@b", "file:///srv/a b -> git+file:///srv/a@C#rev=b");
        let locked = format!("git+https://a.example/b@{COMMIT}#rev=main");
        check(&locked, &format!("https://a.example/b {COMMIT} -> git+https://a.example/b@C#rev=main"));
    }

    #[test]
    fn refused() {
        let scheme =
            |it: &str| format!("repositories are read by git+https, git+ssh and git+file, not by {it}");
        check("git+http://a.example/b", &scheme("git+http"));
        check("git://a.example/b", &scheme("git"));
        check("git+ext://sh -c id", &scheme("git+ext"));
        check("hg+https://a.example/b", &scheme("hg+https"));
        let name = |it: &str| format!("`{it}` can't be the name of a branch, a tag or a commit");
        check("git+https://a.example/b@--upload-pack=x", &name("--upload-pack=x"));
        check("git+https://a.example/b@a..b", &name("a..b"));
        check("git+https://a.example/b@", &name(""));
        check("git+https://a.example/b@a%0ab", &name("a\nb"));
        check("git+https://a.example/b#subdirectory=../x", "`../x` is not a folder of the repository");
        check("git+ssh://-oProxyCommand=x/b", "its host or path can't be used");
        check("git+file://host/b", "its host or path can't be used");
        assert_eq!(GitAddress::parse("git+https://${T}@a.example/b").err(), Some(AddressError::Variable));
    }

    #[test]
    fn keeping() {
        let check = |wanted: &str, locked: &str, expected: Option<&str>| {
            let mut wanted = GitAddress::parse(wanted).expect("an address");
            wanted.keep(&GitAddress::parse(locked).expect("an address"));
            assert_eq!(wanted.commit().map(|commit| wanted.at(&commit)).as_deref(), expected);
        };
        let bare = format!("git+https://a.example/b@{COMMIT}");
        let main = format!("{bare}#rev=main");
        check("git+https://a.example/b", &bare, Some(&bare));
        check("git+https://me:x@a.example/b@main", &main, Some(&main));
        check("git+https://a.example/b@main", &bare, None);
        check("git+https://a.example/b@dev", &main, None);
        check("git+https://a.example/b", &main, None);
        check("git+https://a.example/c", &bare, None);
        check("git+https://a.example/b#subdirectory=x", &bare, None);
        let other = COMMIT.replace('0', "f");
        check(
            &format!("git+https://a.example/b@{other}"),
            &bare,
            Some(&format!("git+https://a.example/b@{other}")),
        );
    }
}
