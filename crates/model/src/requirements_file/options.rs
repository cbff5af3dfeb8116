//! The options of requirements files.

use std::fmt;

use super::{FileProblemKind, shown};

/// An option that stands on a line of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum FileOption {
    /// `-r`, `--requirement`: read another file.
    Requirement,
    /// `-c`, `--constraint`: read a file of constraints.
    Constraint,
    /// `-i`, `--index-url`.
    IndexUrl,
    /// `--extra-index-url`.
    ExtraIndexUrl,
    /// `-f`, `--find-links`.
    FindLinks,
    /// `--no-index`.
    NoIndex,
    /// `--trusted-host`.
    TrustedHost,
    /// `--pre`.
    Pre,
    /// `--no-binary`.
    NoBinary,
    /// `--only-binary`.
    OnlyBinary,
    /// `--prefer-binary`.
    PreferBinary,
    /// `--require-hashes`.
    RequireHashes,
    /// `--use-feature`.
    UseFeature,
}

/// An option of a whole file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OptionLine {
    /// Which one.
    pub option: FileOption,
    /// Its value as written; empty for an option that takes none.
    pub value: String,
}

impl FileOption {
    /// The long name: `--index-url`.
    pub fn name(self) -> &'static str {
        KNOWN
            .iter()
            .find(|known| known.meaning == Meaning::File(self))
            .map_or("--use-feature", |known| known.long)
    }
}

impl fmt::Display for FileOption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What an option is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Meaning {
    File(FileOption),
    Editable,
    Hash,
    Build,
}

/// An option as it was given.
pub(super) struct Given {
    pub(super) option: Meaning,
    pub(super) written: String,
    pub(super) value: String,
}

struct Known {
    long: &'static str,
    short: Option<char>,
    meaning: Meaning,
    takes_value: bool,
}

const fn known(long: &'static str, short: Option<char>, meaning: Meaning, takes_value: bool) -> Known {
    Known { long, short, meaning, takes_value }
}

const KNOWN: [Known; 18] = [
    known("--requirement", Some('r'), Meaning::File(FileOption::Requirement), true),
    known("--constraint", Some('c'), Meaning::File(FileOption::Constraint), true),
    known("--index-url", Some('i'), Meaning::File(FileOption::IndexUrl), true),
    known("--pypi-url", None, Meaning::File(FileOption::IndexUrl), true),
    known("--extra-index-url", None, Meaning::File(FileOption::ExtraIndexUrl), true),
    known("--find-links", Some('f'), Meaning::File(FileOption::FindLinks), true),
    known("--no-index", None, Meaning::File(FileOption::NoIndex), false),
    known("--trusted-host", None, Meaning::File(FileOption::TrustedHost), true),
    known("--pre", None, Meaning::File(FileOption::Pre), false),
    known("--no-binary", None, Meaning::File(FileOption::NoBinary), true),
    known("--only-binary", None, Meaning::File(FileOption::OnlyBinary), true),
    known("--prefer-binary", None, Meaning::File(FileOption::PreferBinary), false),
    known("--require-hashes", None, Meaning::File(FileOption::RequireHashes), false),
    known("--use-feature", None, Meaning::File(FileOption::UseFeature), true),
    known("--editable", Some('e'), Meaning::Editable, true),
    known("--hash", None, Meaning::Hash, true),
    known("--config-settings", Some('C'), Meaning::Build, true),
    known("--global-option", None, Meaning::Build, true),
];

/// Reads the options of a line, which are quoted as in a shell.
pub(super) fn read(text: &str, mut problem: impl FnMut(FileProblemKind)) -> Vec<Given> {
    let Some(words) = shlex::split(text) else {
        problem(FileProblemKind::Quotes(shown(text)));
        return Vec::new();
    };
    let mut found = Vec::new();
    let mut words = words.into_iter();
    while let Some(word) = words.next() {
        let (written, attached) = take_apart(&word);
        let Some(known) = look_up(&written) else {
            problem(if word.starts_with('-') && word.len() > 1 {
                FileProblemKind::UnknownOption(shown(&written))
            } else {
                FileProblemKind::UnexpectedWord(shown(&word))
            });
            continue;
        };
        let value = match (known.takes_value, attached) {
            (true, Some(value)) => value,
            (true, None) => match words.next() {
                Some(value) => value,
                None => {
                    problem(FileProblemKind::MissingValue(written));
                    break;
                }
            },
            (false, None) => String::new(),
            (false, Some(_)) => {
                problem(FileProblemKind::UnexpectedValue(written));
                continue;
            }
        };
        if known.takes_value && value.is_empty() && known.meaning != Meaning::Build {
            problem(FileProblemKind::MissingValue(written));
            continue;
        }
        found.push(Given { option: known.meaning, written: known.long.to_owned(), value });
    }
    found
}

/// `--name=value` and `-nvalue` to name and value.
fn take_apart(word: &str) -> (String, Option<String>) {
    if word.starts_with("--") {
        return match word.split_once('=') {
            Some((name, value)) => (name.to_owned(), Some(value.to_owned())),
            None => (word.to_owned(), None),
        };
    }
    let mut chars = word.chars();
    match (chars.next(), chars.next(), chars.as_str()) {
        (Some('-'), Some(short), "") => (format!("-{short}"), None),
        (Some('-'), Some(short), value) => (format!("-{short}"), Some(value.to_owned())),
        _ => (word.to_owned(), None),
    }
}

/// The option of this name; a long one may be shortened as long as it is clear which one is meant.
fn look_up(written: &str) -> Option<&'static Known> {
    if let Some(short) = written.strip_prefix('-').filter(|rest| !rest.starts_with('-')) {
        let mut chars = short.chars();
        let (short, None) = (chars.next()?, chars.next()) else { return None };
        return KNOWN.iter().find(|known| known.short == Some(short));
    }
    if written.len() < 3 {
        return None;
    }
    let mut candidates = KNOWN.iter().filter(|known| known.long.starts_with(written));
    KNOWN.iter().find(|known| known.long == written).or_else(|| {
        let first = candidates.next()?;
        candidates.next().is_none().then_some(first)
    })
}
