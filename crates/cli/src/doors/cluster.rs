//! The door to a Kubernetes cluster: what kubectl says, in bounded time and size, or what it said into a file.
//! kubectl is the user's own, with the user's configuration: it is given the whole environment.
#![expect(
    clippy::disallowed_methods,
    reason = "kubectl is a program that is run, and what it said is a file"
)]

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

/// The most bytes that an answer may have: some twenty thousand pods.
const LIMIT: u64 = 256 * 1024 * 1024;

/// The most bytes that are kept of what kubectl says on stderr.
const SAID_LIMIT: u64 = 64 * 1024;

/// How many of its last lines are told.
const SAID_LINES: usize = 10;

/// How much longer than its own time-out kubectl may take, to say so itself.
const GRACE: Duration = Duration::from_secs(2);

/// Which cluster is asked, and what of it.
#[derive(Debug, Default)]
pub(crate) struct Question<'a> {
    /// kubectl's configuration, if not its own choice.
    pub(crate) kubeconfig: Option<&'a Path>,
    /// Its context, if not its own choice.
    pub(crate) context: Option<&'a str>,
    /// How long an answer may take, in seconds.
    pub(crate) timeout: u64,
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ClusterError {
    /// There is no kubectl.
    #[error("there is no kubectl on PATH")]
    NoProgram,
    /// It could not be started, or not be listened to.
    #[error("kubectl could not be run: {0}")]
    Program(io::Error),
    /// It took too long.
    #[error("kubectl gave no answer within {0} seconds")]
    Timeout(u64),
    /// It says more than what is read.
    #[error("kubectl's answer is larger than {LIMIT} bytes")]
    TooLarge,
    /// The cluster doesn't let the user see this.
    #[error("kubectl get {what} is refused:\n{said}")]
    Forbidden {
        /// What was asked for.
        what: String,
        /// What it said.
        said: String,
    },
    /// It failed.
    #[error("kubectl get {what} failed:\n{said}")]
    Failed {
        /// What was asked for.
        what: String,
        /// What it said.
        said: String,
    },
    /// A file that was named can't be read.
    #[error("{}: can't read: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// A file is larger than what is read.
    #[error("{}: larger than {LIMIT} bytes", .0.display())]
    FileTooLarge(PathBuf),
}

/// What `kubectl get` prints for these words (`pods --all-namespaces`), in JSON.
pub(crate) fn get(question: &Question<'_>, words: &[&str]) -> Result<Vec<u8>, ClusterError> {
    let mut command = Command::new("kubectl");
    if let Some(kubeconfig) = question.kubeconfig {
        let mut option = std::ffi::OsString::from("--kubeconfig=");
        option.push(kubeconfig);
        command.arg(option);
    }
    command.args(question.context.map(|context| format!("--context={context}")));
    command
        .arg("get")
        .args(words)
        .args(["--output=json", &format!("--request-timeout={}s", question.timeout)])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => ClusterError::NoProgram,
        _ => ClusterError::Program(error),
    })?;
    let answer = listen(&mut child, Duration::from_secs(question.timeout) + GRACE, question.timeout);
    if answer.is_err() {
        // Gone already is as good.
        let _gone = child.kill();
    }
    let status = child.wait().map_err(ClusterError::Program)?;
    let (stdout, stderr) = answer?;
    if status.success() {
        return Ok(stdout);
    }
    let (what, said) = (words.first().copied().unwrap_or_default().to_owned(), last_lines(&stderr));
    Err(if said.contains("(Forbidden)") {
        ClusterError::Forbidden { what, said }
    } else {
        ClusterError::Failed { what, said }
    })
}

/// Bytes of a stream, and whether there was more than is kept.
type Heard = io::Result<(Vec<u8>, bool)>;

/// Both streams, to their ends; kubectl's plug-ins may keep them open longer than it lives.
fn listen(child: &mut Child, limit: Duration, seconds: u64) -> Result<(Vec<u8>, Vec<u8>), ClusterError> {
    let stdout = child.stdout.take().map(|stream| read_aside(stream, LIMIT));
    let stderr = child.stderr.take().map(|stream| read_aside(stream, SAID_LIMIT));
    let take = |stream: Option<Receiver<Heard>>| match stream.map(|it| it.recv_timeout(limit)) {
        Some(Ok(heard)) => heard.map_err(ClusterError::Program),
        Some(Err(RecvTimeoutError::Timeout)) => Err(ClusterError::Timeout(seconds)),
        Some(Err(RecvTimeoutError::Disconnected)) | None => {
            Err(ClusterError::Program(io::ErrorKind::BrokenPipe.into()))
        }
    };
    let (stdout, is_cut) = take(stdout)?;
    if is_cut {
        return Err(ClusterError::TooLarge);
    }
    take(stderr).map(|(stderr, _)| (stdout, stderr))
}

/// Reads a stream in a thread of its own, at most so many bytes.
fn read_aside(mut stream: impl Read + Send + 'static, limit: u64) -> Receiver<Heard> {
    let (sender, receiver) = channel();
    thread::spawn(move || {
        let heard = read_limited(&mut stream, limit);
        // Nobody waits any more where the time was over.
        let _late = sender.send(heard);
        // A program that can't write would stop; what it still says is let go.
        let _end = io::copy(&mut stream, &mut io::sink());
    });
    receiver
}

fn read_limited(stream: &mut impl Read, limit: u64) -> Heard {
    let mut bytes = Vec::new();
    stream.take(limit).read_to_end(&mut bytes)?;
    let is_full = u64::try_from(bytes.len()).is_ok_and(|length| length == limit);
    let is_cut = is_full && stream.read(&mut [0])? > 0;
    Ok((bytes, is_cut))
}

/// The end of what a program said, without the lines that kubectl's cache of the API adds before it.
fn last_lines(said: &[u8]) -> String {
    let text = String::from_utf8_lossy(said);
    let is_news = |line: &&str| !line.trim().is_empty() && !line.contains(" memcache.go:");
    let lines: Vec<&str> = text.lines().filter(is_news).collect();
    let lines = if lines.is_empty() { text.lines().collect() } else { lines };
    lines.get(lines.len().saturating_sub(SAID_LINES)..).unwrap_or_default().join("\n")
}

/// What a file says; `-` is stdin. Pipes are as good as files.
pub(crate) fn read(cwd: &Path, name: &str) -> Result<Vec<u8>, ClusterError> {
    let path = PathBuf::from(name);
    let failed = |source| ClusterError::File { path: path.clone(), source };
    let (bytes, is_cut) = if name == "-" {
        read_limited(&mut io::stdin().lock(), LIMIT)
    } else {
        File::open(cwd.join(name)).and_then(|mut file| read_limited(&mut file, LIMIT))
    }
    .map_err(failed)?;
    if is_cut { Err(ClusterError::FileTooLarge(path)) } else { Ok(bytes) }
}
