//! The door to the `keyring` program, which keeps passwords for the user. Asked only where the user said so.
#![expect(clippy::disallowed_methods, reason = "a program is run, and waited for")]

use std::ffi::OsStr;
use std::io::Read as _;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// The longest answer that is read.
const MOST_BYTES: u64 = 64 << 10;

/// How often it is looked whether the program has ended, and how long is waited between: two minutes in all, since
/// it may ask its user to unlock the keyring.
const LOOKS: u32 = 2400;
const PAUSE: Duration = Duration::from_millis(50);

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub(crate) enum KeyringError {
    /// The program is not there.
    #[error("there is no `keyring` on PATH")]
    NoProgram,
    /// It can't be run.
    #[error("`keyring` can't be run: {0}")]
    Io(#[from] std::io::Error),
    /// It did not end.
    #[error("`keyring` did not answer in time")]
    Timeout,
}

/// The password of a user at a service, if the keyring has it.
pub(crate) fn get(path: &OsStr, service: &str, user: &str) -> Result<Option<String>, KeyringError> {
    let found = std::env::split_paths(path).map(|folder| folder.join("keyring")).find(|file| file.is_file());
    let program: PathBuf = found.ok_or(KeyringError::NoProgram)?;
    let mut child = Command::new(program)
        .args(["get", service, user])
        .env("PYTHONIOENCODING", "utf-8")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()?;
    let output = child.stdout.take();
    let reader = std::thread::spawn(move || {
        let mut text = String::new();
        let read = output.map(|output| output.take(MOST_BYTES).read_to_string(&mut text));
        read.and_then(Result::ok).map(|_| text)
    });
    let ended = ends(&mut child)?;
    if !ended {
        // It may have ended just now.
        let _ended = child.kill();
        let _ended = child.wait();
        return Err(KeyringError::Timeout);
    }
    let is_there = child.wait()?.success();
    let text = reader.join().ok().flatten().filter(|_| is_there);
    let password = text.map(|text| text.trim_end_matches(['\r', '\n']).to_owned());
    Ok(password.filter(|password| !password.is_empty()))
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
