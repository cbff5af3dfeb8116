//! The evaluator's way to files: it runs on a thread with a stack of its own, and asks the caller's thread.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender};

use crate::files::{FileError, Files};

/// A question to the one who has the files.
pub(super) enum Ask {
    Read(String),
    Exists(String),
    List(String),
}

/// Its answer.
pub(super) enum Answer {
    Read(Result<Vec<u8>, FileError>),
    Exists(bool),
    List(Vec<String>),
}

/// The largest file that is read, and how many questions may be asked.
const MAX_FILE: usize = 4 << 20;
const MAX_QUESTIONS: usize = 5_000;

pub(super) struct Door {
    pub(super) ask: Sender<Ask>,
    pub(super) answer: Receiver<Answer>,
    /// What stands before a path in the project to make it one that the user knows.
    pub(super) prefix: String,
    pub(super) read: RefCell<BTreeMap<String, Result<Vec<u8>, FileError>>>,
    pub(super) questions: RefCell<usize>,
}

impl Door {
    fn put(&self, ask: Ask) -> Option<Answer> {
        let mut questions = self.questions.borrow_mut();
        *questions += 1;
        if *questions > MAX_QUESTIONS {
            return None;
        }
        self.ask.send(ask).ok()?;
        self.answer.recv().ok()
    }

    pub(super) fn read(&self, path: &str) -> Result<Vec<u8>, FileError> {
        if let Some(known) = self.read.borrow().get(path) {
            return known.clone();
        }
        let result = match self.put(Ask::Read(path.to_owned())) {
            Some(Answer::Read(Ok(bytes))) if bytes.len() > MAX_FILE => {
                Err(FileError::TooLarge { limit: u64::try_from(MAX_FILE).unwrap_or(u64::MAX) })
            }
            Some(Answer::Read(result)) => result,
            _ => Err(FileError::Unreadable("too many files are asked for".to_owned())),
        };
        self.read.borrow_mut().insert(path.to_owned(), result.clone());
        result
    }

    pub(super) fn exists(&self, path: &str) -> bool {
        matches!(self.put(Ask::Exists(path.to_owned())), Some(Answer::Exists(true)))
    }

    pub(super) fn list(&self, folder: &str) -> Vec<String> {
        match self.put(Ask::List(folder.to_owned())) {
            Some(Answer::List(names)) => names,
            _ => Vec::new(),
        }
    }

    /// Whether a path that exists is a folder. An empty one looks like a file that can't be read.
    pub(super) fn is_folder(&self, path: &str) -> bool {
        !self.list(path).is_empty()
    }

    pub(super) fn display(&self, path: &str) -> Arc<str> {
        format!("{}{path}", self.prefix).into()
    }
}

/// Answers questions until nobody asks any more.
pub(super) fn serve(files: &dyn Files, asks: &Receiver<Ask>, answers: &Sender<Answer>) {
    while let Ok(ask) = asks.recv() {
        let answer = match ask {
            Ask::Read(path) => Answer::Read(files.read(&path)),
            Ask::Exists(path) => Answer::Exists(files.exists(&path)),
            Ask::List(path) => Answer::List(files.list(&path)),
        };
        if answers.send(answer).is_err() {
            return;
        }
    }
}
