//! Repositories elsewhere, and the objects that were fetched from them. Nothing is checked out: files are read from
//! the objects, so that no filter, hook, submodule or link of the repository has any effect. git asks nothing, speaks
//! only the protocol that it is told, and ends after a while.
#![expect(clippy::disallowed_methods, reason = "git is a program that is run, on folders of its own")]

use std::ffi::OsStr;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread::JoinHandle;
use std::time::Duration;

/// Variables of the network and of keepers of credentials.
const NETWORK: [&str; 22] = [
    "http_proxy",
    "https_proxy",
    "HTTPS_PROXY",
    "all_proxy",
    "ALL_PROXY",
    "no_proxy",
    "NO_PROXY",
    "GIT_SSL_CAINFO",
    "GIT_SSL_CAPATH",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "SSH_AUTH_SOCK",
    "GIT_SSH",
    "GIT_SSH_COMMAND",
    "GIT_SSH_VARIANT",
    "GNUPGHOME",
    "XDG_RUNTIME_DIR",
    "XDG_DATA_HOME",
    "DBUS_SESSION_BUS_ADDRESS",
    "NETRC",
    "TMPDIR",
    "GIT_CONFIG_COUNT",
];

/// Settings that a program gives git by its environment (`GIT_CONFIG_KEY_0`), as far as they are heeded.
const MOST_SETTINGS: usize = 32;

const OPTIONS: [&str; 16] = [
    "-c",
    "submodule.recurse=false",
    "-c",
    "fetch.recurseSubmodules=false",
    "-c",
    "fetch.writeCommitGraph=false",
    "-c",
    "transfer.bundleURI=false",
    "-c",
    "http.lowSpeedLimit=1000",
    "-c",
    "http.lowSpeedTime=30",
    "-c",
    "http.followRedirects=initial",
    "-c",
    "protocol.version=2",
];

/// The most that is read of one answer of git.
const MOST_BYTES: u64 = 64 << 20;

/// How long git may take, and the longest that is waited between two looks whether it has ended.
const PATIENCE: Duration = Duration::from_mins(10);
const PAUSE: Duration = Duration::from_millis(50);

/// Why a repository gave no answer.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RemoteError {
    /// There is no such program, or it could not be started.
    #[error("git could not be run: {0}")]
    Program(std::io::Error),
    /// A folder for what is fetched could not be made.
    #[error("there is no room for what is fetched: {0}")]
    Room(std::io::Error),
    /// It took too long.
    #[error("git did not end in ten minutes")]
    Timeout,
    /// It failed.
    #[error("git says: {said}")]
    Failed {
        /// What it said, without credentials.
        said: String,
    },
    /// More came than is read.
    #[error("git's answer is larger than {MOST_BYTES} bytes")]
    TooLarge,
}

impl RemoteError {
    fn says(&self, words: &[&str]) -> bool {
        matches!(self, Self::Failed { said } if words.iter().any(|word| said.contains(word)))
    }

    /// Whether the repository wants to know who asks, or knows and refuses.
    pub(crate) fn is_refusal(&self) -> bool {
        self.says(&["Authentication failed", "could not read Username", "could not read Password"])
            || self.says(&["Permission denied", "error: 403", "error: 401", "access denied"])
    }

    /// Whether the repository is reached, and has no such object to give.
    pub(crate) fn is_absence(&self) -> bool {
        self.says(&["not our ref", "unadvertised object", "no such remote ref", "couldn't find remote ref"])
            || self.says(&["shallow", "does not allow request"])
    }
}

/// A repository elsewhere. The address has no credentials in it, which would be seen by whoever lists processes.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Remote {
    /// `https://`, `ssh://` or `file://`.
    pub(crate) url: String,
    /// The protocols that git may speak, as `GIT_ALLOW_PROTOCOL` has it: `https:ssh`.
    pub(crate) protocols: &'static str,
    /// User and password for that host.
    pub(crate) credentials: Option<(String, String)>,
}

impl Remote {
    /// What the repository's names stand for. A tag that is an object of its own stands there twice, the second
    /// time with `^{}`, for the commit.
    pub(crate) fn names(&self, objects: &Objects) -> Result<Vec<(String, String)>, RemoteError> {
        let mut command = self.command(objects, &["ls-remote", "--quiet", "--", &self.url])?;
        let text = text(finish(&mut command)?);
        let pair = |line: &str| line.split_once('\t').map(|(id, name)| (name.to_owned(), id.to_owned()));
        Ok(text.lines().filter_map(pair).collect())
    }

    /// Fetches one object, named by its hash, without its history.
    pub(crate) fn fetch(&self, objects: &Objects, id: &str) -> Result<(), RemoteError> {
        self.fetch_with(objects, &["--depth=1", "--", &self.url, id])
    }

    /// Fetches all branches and tags, with their history.
    pub(crate) fn fetch_all(&self, objects: &Objects) -> Result<(), RemoteError> {
        let all = ["+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*"];
        self.fetch_with(objects, &["--depth=2147483647", "--", &self.url, all[0], all[1]])
    }

    fn fetch_with(&self, objects: &Objects, words: &[&str]) -> Result<(), RemoteError> {
        let mut all =
            vec!["fetch", "--quiet", "--no-tags", "--no-recurse-submodules", "--no-auto-maintenance"];
        all.extend(words);
        finish(&mut self.command(objects, &all)?).map(|_| ())
    }

    fn command(&self, objects: &Objects, words: &[&str]) -> Result<Command, RemoteError> {
        let mut command = objects.command();
        let ssh = ssh(objects)?;
        command
            .args(OPTIONS)
            .env("GIT_ALLOW_PROTOCOL", self.protocols)
            .env("GIT_ASKPASS", "")
            .env("SSH_ASKPASS_REQUIRE", "never")
            .env("GCM_INTERACTIVE", "never")
            .env("GIT_SSH_COMMAND", ssh);
        if let Some((user, password)) = &self.credentials {
            let end =
                self.url.find("://").and_then(|at| self.url.get(at + 3..)?.find('/').map(|to| at + 3 + to));
            let host = self.url.get(..end.unwrap_or(self.url.len())).unwrap_or_default();
            let say = r#"!f() { test "$1" = get && printf 'username=%s\npassword=%s\n' "$REANA_LOCK_GIT_USER" "$REANA_LOCK_GIT_PASSWORD"; }; f"#;
            command
                .args(["-c", &format!("credential.{host}.helper="), "-c"])
                .arg(format!("credential.{host}.helper={say}"))
                .env("REANA_LOCK_GIT_USER", user)
                .env("REANA_LOCK_GIT_PASSWORD", password);
        }
        command.args(words);
        Ok(command)
    }
}

/// The user's own way to ssh, told to ask nothing and not to wait for ever.
fn ssh(objects: &Objects) -> Result<String, RemoteError> {
    let typed = std::env::var("GIT_SSH_COMMAND").ok().filter(|command| !command.is_empty());
    let program = std::env::var("GIT_SSH").ok().filter(|program| !program.is_empty());
    let quoted = program.map(|program| format!("'{}'", program.replace('\'', r"'\''")));
    let configured = || -> Result<Option<String>, RemoteError> {
        let mut command = objects.command();
        match finish(command.args(["config", "--get", "core.sshCommand"])) {
            Ok(bytes) => Ok(Some(text(bytes).trim().to_owned()).filter(|command| !command.is_empty())),
            // It is not set.
            Err(RemoteError::Failed { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    };
    let ssh = match typed.or(quoted) {
        Some(ssh) => ssh,
        None => configured()?.unwrap_or_else(|| "ssh".to_owned()),
    };
    let first = ssh.split_whitespace().next().unwrap_or_default();
    let is_openssh = first.rsplit('/').next() == Some("ssh");
    Ok(if is_openssh {
        format!("{ssh} -oBatchMode=yes -oConnectTimeout=30 -oServerAliveInterval=15")
    } else {
        ssh
    })
}

/// A bare repository of our own, that objects are fetched into.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Objects {
    folder: PathBuf,
}

/// A file of a commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TreeFile {
    /// Its path from the top.
    pub(crate) path: String,
    /// Whether it is a symbolic link, whose text is where it leads.
    pub(crate) is_link: bool,
    /// The hash of its bytes, as git names them.
    pub(crate) id: String,
    /// Its length in bytes.
    pub(crate) size: u64,
}

impl Objects {
    /// An empty one at a folder, which is made.
    pub(crate) fn create(folder: &Path) -> Result<Self, RemoteError> {
        std::fs::create_dir_all(folder).map_err(RemoteError::Room)?;
        let objects = Self { folder: folder.to_owned() };
        finish(objects.command().args(["init", "--quiet", "--bare", "--template=", "--"]).arg(folder))?;
        Ok(objects)
    }

    /// One that was made before; `None` where there is none.
    pub(crate) fn open(folder: &Path) -> Option<Self> {
        folder.join("HEAD").is_file().then(|| Self { folder: folder.to_owned() })
    }

    /// Moves it to its place. What another run put there in the meantime is as good.
    pub(crate) fn settle(self, place: &Path) -> Self {
        match std::fs::rename(&self.folder, place) {
            Ok(()) => Self { folder: place.to_owned() },
            Err(_) => Self::open(place).unwrap_or(self),
        }
    }

    /// Removes one that turned out to be damaged.
    pub(crate) fn remove(self) -> Result<(), RemoteError> {
        std::fs::remove_dir_all(&self.folder).map_err(RemoteError::Room)
    }

    fn command(&self) -> Command {
        let mut own = std::ffi::OsString::from("--git-dir=");
        own.push(&self.folder);
        let mut command = super::program(&[OsStr::new(&own)], &NETWORK);
        let names = (0..MOST_SETTINGS)
            .flat_map(|at| [format!("GIT_CONFIG_KEY_{at}"), format!("GIT_CONFIG_VALUE_{at}")]);
        command.envs(names.filter_map(|name| Some((name.clone(), std::env::var_os(name)?))));
        command
    }

    /// The commit that a hash, or the start of one, stands for; `None` where it stands for none, or for several.
    pub(crate) fn commit(&self, hash: &str) -> Result<Option<String>, RemoteError> {
        if hash.is_empty() || !hash.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Ok(None);
        }
        let name = format!("{hash}^{{commit}}");
        let mut command = self.command();
        match finish(command.args(["rev-parse", "--verify", "--quiet", "--end-of-options", &name])) {
            Ok(bytes) => Ok(Some(text(bytes).trim().to_owned())),
            Err(RemoteError::Failed { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The files of a commit. Submodules are none.
    pub(crate) fn files(&self, commit: &str) -> Result<Vec<TreeFile>, RemoteError> {
        let mut command = self.command();
        let bytes = finish(command.args(["ls-tree", "-r", "-l", "-z", "--full-tree", commit]))?;
        let text = text(bytes);
        let file = |record: &str| {
            let (facts, path) = record.split_once('\t')?;
            let mut facts = facts.split_ascii_whitespace();
            let (mode, kind, id, size) = (facts.next()?, facts.next()?, facts.next()?, facts.next()?);
            let size = size.parse().ok().filter(|_| kind == "blob")?;
            Some(TreeFile { path: path.to_owned(), is_link: mode == "120000", id: id.to_owned(), size })
        };
        Ok(text.split('\0').filter_map(file).collect())
    }

    /// The bytes of a file.
    pub(crate) fn bytes(&self, file: &TreeFile) -> Result<Vec<u8>, RemoteError> {
        finish(self.command().args(["cat-file", "blob", &file.id]))
    }
}

fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

/// Runs git to its end, and no longer than it may take.
fn finish(command: &mut Command) -> Result<Vec<u8>, RemoteError> {
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(RemoteError::Program)?;
    let stdout = reader(child.stdout.take());
    let stderr = reader(child.stderr.take());
    let (mut waited, mut pause) = (Duration::ZERO, Duration::from_millis(1));
    let mut status = child.try_wait().map_err(RemoteError::Program)?;
    while status.is_none() && waited < PATIENCE {
        std::thread::sleep(pause);
        waited += pause;
        pause = (pause * 2).min(PAUSE);
        status = child.try_wait().map_err(RemoteError::Program)?;
    }
    let Some(status) = status else {
        // It may have ended just now. What it started ends with its pipes; the readers are not waited for.
        let _ended = child.kill();
        let _ended = child.wait();
        return Err(RemoteError::Timeout);
    };
    let (bytes, said) = (stdout.join().unwrap_or_default(), stderr.join().unwrap_or_default());
    if !status.success() {
        return Err(RemoteError::Failed { said: told(&text(said)) });
    }
    if bytes.len() as u64 > MOST_BYTES { Err(RemoteError::TooLarge) } else { Ok(bytes) }
}

fn reader(pipe: Option<impl Read + Send + 'static>) -> JoinHandle<Vec<u8>> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut pipe) = pipe {
            // What came until it broke is what there is; the rest is read so that git doesn't wait.
            let _read = pipe.by_ref().take(MOST_BYTES + 1).read_to_end(&mut bytes);
            let _rest = std::io::copy(&mut pipe, &mut std::io::sink());
        }
        bytes
    })
}

/// What git said that matters, on one line, without what a terminal would obey and without credentials.
fn told(said: &str) -> String {
    let lines = || said.lines().map(str::trim).filter(|line| !line.is_empty());
    let starts =
        |line: &&str| ["fatal: ", "ERROR: ", "error: ", "remote: "].iter().any(|it| line.starts_with(it));
    let mut found: Vec<&str> = lines().filter(starts).take(2).collect();
    if found.is_empty() {
        found.extend(lines().next_back());
    }
    let line = found.join("; ");
    let clean: String = line.chars().filter(|c| !c.is_control()).take(400).collect();
    without_users(&clean)
}

/// Text whose addresses name no user.
fn without_users(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("://") {
        out.push_str(before);
        out.push_str("://");
        let end = after.find(|c: char| c == '/' || c == '\'' || c.is_whitespace()).unwrap_or(after.len());
        let (authority, tail) = after.split_at(end);
        out.push_str(authority.rsplit_once('@').map_or(authority, |(_, host)| host));
        rest = tail;
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A password reaches git by the environment, and for its own host alone.
    #[test]
    fn passwords_go_to_their_host() {
        let folder = tempfile::tempdir().expect("a folder");
        let objects = Objects::create(folder.path()).expect("a repository");
        let credentials = Some(("me".to_owned(), "s'3 c".to_owned()));
        let url = "https://a.example:1/own".to_owned();
        let remote = Remote { url, protocols: "https", credentials };
        let ask = |host: &str| {
            let alias =
                format!("alias.ask=!printf 'protocol=https\\nhost={host}\\n\\n' | git credential fill");
            let command = remote.command(&objects, &["-c", &alias, "ask"]);
            finish(&mut command.expect("a command")).map(text).map_err(|error| error.to_string())
        };
        assert_eq!(
            ask("a.example:1").as_deref(),
            Ok("protocol=https\nhost=a.example:1\nusername=me\npassword=s'3 c\n")
        );
        assert!(ask("b.example").is_err());
    }

    #[test]
    fn what_git_says() {
        let check = |said: &str, expected: &str| assert_eq!(told(said), expected);
        check("", "");
        check("warning: x\nfatal: a\u{1b}[31m\n", "fatal: a[31m");
        check(
            "fatal: unable to access 'https://me:s3cret@a.example/x/': 403\n",
            "fatal: unable to access 'https://a.example/x/': 403",
        );
        check("Host key verification failed.\nfatal: no\n\nmore\n", "fatal: no");
        check("ERROR: Repository not found.\nfatal: b\nfatal: c", "ERROR: Repository not found.; fatal: b");
    }
}
