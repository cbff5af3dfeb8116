//! The door to docker's credential helpers: programs that keep what registries want to know of who asks.
#![expect(clippy::disallowed_methods, reason = "a program is run, and waited for")]

use std::ffi::OsStr;
use std::io::{Read as _, Write as _};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// The longest answer that is read.
const MOST_BYTES: u64 = 64 << 10;

/// How often it is looked whether the program has ended, and how long is waited between: half a minute in all.
const LOOKS: u32 = 1500;
const PAUSE: Duration = Duration::from_millis(20);

/// How a helper says that it knows nobody; that is no failure.
const UNKNOWN: &str = "credentials not found";

/// Why a helper gave no answer. It never repeats what the helper said, which may be secret.
#[derive(Debug, thiserror::Error)]
pub(crate) enum HelperError {
    /// The program is not there.
    #[error("there is no `{0}` on PATH")]
    NoProgram(String),
    /// It can't be run.
    #[error("`{0}` can't be run: {1}")]
    Io(String, std::io::Error),
    /// It did not end.
    #[error("`{0}` did not answer in time")]
    Timeout(String),
    /// It failed.
    #[error("`{0}` failed")]
    Failed(String),
}

/// What `docker-credential-NAME get` answers about a server: JSON, if it knows somebody.
pub(crate) fn get(path: &OsStr, name: &str, server: &str) -> Result<Option<String>, HelperError> {
    let program = format!("docker-credential-{name}");
    let mut files = std::env::split_paths(path).map(|folder| folder.join(&program));
    let file = files.find(|file| file.is_file()).ok_or_else(|| HelperError::NoProgram(program.clone()))?;
    let io = |error| HelperError::Io(program.clone(), error);
    let mut child = Command::new(file)
        .arg("get")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(io)?;
    if let Some(mut input) = child.stdin.take() {
        // One that doesn't read has its reason, and says it by how it ends.
        let _unread = input.write_all(server.as_bytes());
    }
    let output = child.stdout.take();
    let reader = std::thread::spawn(move || {
        let mut text = String::new();
        let read = output.map(|output| output.take(MOST_BYTES).read_to_string(&mut text));
        read.and_then(Result::ok).map(|_| text)
    });
    if !ends(&mut child).map_err(io)? {
        // It may have ended just now.
        let _ended = child.kill();
        let _ended = child.wait();
        return Err(HelperError::Timeout(program));
    }
    let is_done = child.wait().map_err(io)?.success();
    let text = reader.join().ok().flatten().unwrap_or_default();
    match is_done {
        true => Ok(Some(text)),
        false if text.trim().starts_with(UNKNOWN) => Ok(None),
        false => Err(HelperError::Failed(program)),
    }
}

fn ends(child: &mut Child) -> Result<bool, std::io::Error> {
    for _ in 0..LOOKS {
        if child.try_wait()?.is_some() {
            return Ok(true);
        }
        std::thread::sleep(PAUSE);
    }
    Ok(false)
}
