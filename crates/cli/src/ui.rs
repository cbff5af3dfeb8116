//! What the user sees: the only module that prints. stdout carries data, stderr the rest.

use std::borrow::Cow;
use std::io::{self, Write as _};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use anstream::{stderr, stdout};
use indicatif::{ProgressBar, ProgressStyle};
use owo_colors::OwoColorize as _;

/// How much is said, and to whom.
pub(crate) struct Ui {
    quiet: u8,
    verbose: u8,
    bar: Mutex<Option<ProgressBar>>,
    is_terminal: bool,
    lost: Mutex<Option<io::Error>>,
}

impl Ui {
    /// `is_terminal`: whether somebody watches stderr, so that progress makes sense.
    pub(crate) fn new(quiet: u8, verbose: u8, is_terminal: bool) -> Self {
        Self { quiet, verbose, bar: Mutex::new(None), is_terminal, lost: Mutex::new(None) }
    }

    /// Data, as it is.
    pub(crate) fn data(&self, text: &str) {
        let written = stdout().write_all(text.as_bytes()).and_then(|()| stdout().flush());
        match written {
            // A reader that closed the pipe has what it wanted.
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
                *self.lost.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
            }
            Ok(()) | Err(_) => {}
        }
    }

    /// Why data did not reach stdout (a full disk), if some did not.
    pub(crate) fn lost_data(&self) -> Option<io::Error> {
        self.lost.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// A line that says what was done.
    pub(crate) fn say(&self, text: &str) {
        if self.quiet == 0 {
            self.line(&harmless(text));
        }
    }

    /// A line for those who asked for more.
    pub(crate) fn detail(&self, text: &str) {
        if self.verbose > 0 {
            self.line(&harmless(text));
        }
    }

    /// Something that the user should know, and that stops nothing.
    pub(crate) fn note(&self, text: &str) {
        if self.quiet == 0 {
            self.line(&format!("{} {}", "note:".cyan().bold(), harmless(text)));
        }
    }

    /// Something that is probably not as the user wants it.
    pub(crate) fn warn(&self, text: &str) {
        if self.quiet < 2 {
            self.line(&format!("{} {}", "warning:".yellow().bold(), harmless(text)));
        }
    }

    /// Why the run failed, with what to do about it.
    pub(crate) fn error(&self, text: &str, hints: &[String]) {
        let mut lines = format!("{} {}", "error:".red().bold(), harmless(text));
        for hint in hints {
            lines.push_str(&format!("\n\n{} {}", "hint:".green().bold(), harmless(hint)));
        }
        self.line(&lines);
    }

    fn line(&self, text: &str) {
        match self.bar.lock().ok().as_deref() {
            Some(Some(bar)) => bar.suspend(|| to_stderr(text)),
            _ => to_stderr(text),
        }
    }

    /// Whether somebody sees progress.
    pub(crate) fn shows_progress(&self) -> bool {
        self.is_terminal && self.quiet == 0
    }

    /// Starts showing progress on a terminal; elsewhere nothing is shown.
    pub(crate) fn start_progress(&self) {
        if !self.shows_progress() {
            return;
        }
        let bar = ProgressBar::new_spinner();
        if let Ok(style) = ProgressStyle::with_template("{spinner} {msg}") {
            bar.set_style(style);
        }
        bar.enable_steady_tick(Duration::from_millis(100));
        if let Ok(mut slot) = self.bar.lock() {
            *slot = Some(bar);
        }
    }

    /// Changes what the progress line says.
    pub(crate) fn progress(&self, text: String) {
        if let Some(Some(bar)) = self.bar.lock().ok().as_deref() {
            bar.set_message(text);
        }
    }

    /// Takes the progress line away.
    pub(crate) fn end_progress(&self) {
        if let Ok(mut slot) = self.bar.lock()
            && let Some(bar) = slot.take()
        {
            bar.finish_and_clear();
        }
    }
}

/// Whoever closed stderr doesn't want to hear it: no reason to stop.
fn to_stderr(text: &str) {
    let _closed = writeln!(stderr(), "{text}");
}

/// Text of files and indexes without control characters, which a terminal would obey.
fn harmless(text: &str) -> Cow<'_, str> {
    let is_harmful = |c: char| c.is_control() && c != '\n' && c != '\t';
    if text.contains(is_harmful) { text.replace(is_harmful, "\u{fffd}").into() } else { text.into() }
}
