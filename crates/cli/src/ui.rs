//! What the user sees: the only module that prints. stdout carries data, stderr the rest.

use std::io::Write as _;
use std::sync::Mutex;
use std::time::Duration;

use anstream::{eprintln, stdout};
use indicatif::{ProgressBar, ProgressStyle};
use owo_colors::OwoColorize as _;

/// How much is said, and to whom.
pub(crate) struct Ui {
    quiet: u8,
    verbose: u8,
    bar: Mutex<Option<ProgressBar>>,
    is_terminal: bool,
}

impl Ui {
    /// `is_terminal`: whether somebody watches stderr, so that progress makes sense.
    pub(crate) fn new(quiet: u8, verbose: u8, is_terminal: bool) -> Self {
        Self { quiet, verbose, bar: Mutex::new(None), is_terminal }
    }

    /// Data, as it is.
    pub(crate) fn data(&self, text: &str) {
        // A reader that closed the pipe has what it wanted.
        let _closed = stdout().write_all(text.as_bytes()).and_then(|()| stdout().flush());
    }

    /// A line that says what was done.
    pub(crate) fn say(&self, text: &str) {
        if self.quiet == 0 {
            self.line(text);
        }
    }

    /// A line for those who asked for more.
    pub(crate) fn detail(&self, text: &str) {
        if self.verbose > 0 {
            self.line(text);
        }
    }

    /// Something that the user should know, and that stops nothing.
    pub(crate) fn note(&self, text: &str) {
        if self.quiet == 0 {
            self.line(&format!("{} {text}", "note:".cyan().bold()));
        }
    }

    /// Something that is probably not as the user wants it.
    pub(crate) fn warn(&self, text: &str) {
        if self.quiet < 2 {
            self.line(&format!("{} {text}", "warning:".yellow().bold()));
        }
    }

    /// Why the run failed, with what to do about it.
    pub(crate) fn error(&self, text: &str, hints: &[String]) {
        let mut lines = format!("{} {text}", "error:".red().bold());
        for hint in hints {
            lines.push_str(&format!("\n\n{} {hint}", "hint:".green().bold()));
        }
        self.line(&lines);
    }

    fn line(&self, text: &str) {
        match self.bar.lock().ok().as_deref() {
            Some(Some(bar)) => bar.suspend(|| eprintln!("{text}")),
            _ => eprintln!("{text}"),
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
