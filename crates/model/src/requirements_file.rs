//! The grammar of requirements files, as pip reads them: requirement lines with their options, option
//! lines, continuations, comments. What the words mean (which file `-r` is, what a path leads to) is for
//! others to say.
//!
//! Reading never fails as a whole: what is understood is handed out, and what is not is a problem with its
//! line. Bounded: time and memory grow with the text's length alone, and the text's length has a limit.

mod lines;
mod options;

use std::fmt;

pub use lines::{Line, logical_lines};
pub use options::{FileOption, OptionLine};

use crate::{ExtraName, Sha256};

/// The most bytes of a requirements file that are read.
pub const MAX_BYTES: usize = 16 << 20;
/// The most bytes of one requirement, its options aside.
pub const MAX_REQUIREMENT: usize = 16 << 10;

/// What a requirements file says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RequirementsFile {
    /// What was understood, in the file's order, comments included.
    pub items: Vec<Item>,
    /// What was not understood, in the file's order.
    pub problems: Vec<FileProblem>,
}

/// One thing that a requirements file says: a logical line, or one of the options of an option line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    /// The line where it starts, counted from 1.
    pub line: u32,
    /// What it is.
    pub kind: ItemKind,
    /// The comment at its end, from its `#` on.
    pub comment: Option<String>,
}

/// The kinds of things that a requirements file says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ItemKind {
    /// Something to install.
    Requirement(RequirementLine),
    /// An option for all of it, or another file.
    Option(OptionLine),
    /// A comment alone on its line.
    Comment,
}

/// A line that asks for something to be installed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequirementLine {
    /// What is to be installed.
    pub form: RequirementForm,
    /// The files that may be installed: `--hash=sha256:...`.
    pub hashes: Vec<Sha256>,
    /// Hashes by other algorithms, as written: `sha512:...`.
    pub other_hashes: Vec<String>,
    /// Options for building it, as written: `--config-settings=...`, `--global-option=...`.
    pub build_options: Vec<String>,
}

/// The forms of a requirement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RequirementForm {
    /// PEP 508 text, not yet parsed: `name[extra]>=1; marker`, `name @ url`.
    Named(String),
    /// A path or URL without a name in front, or what follows `-e`.
    Direct(DirectLine),
}

/// A path or URL that is to be installed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DirectLine {
    /// The path or URL as written, without extras and marker.
    pub location: String,
    /// The extras asked for, in the order given.
    pub extras: Vec<ExtraName>,
    /// The marker's text (PEP 508), if there is one.
    pub marker: Option<String>,
    /// The name that `#egg=` or `name @` gives.
    pub name: Option<String>,
    /// Whether it was given with `-e`.
    pub editable: bool,
}

/// Something in a requirements file that is not understood, or that can't be what was meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileProblem {
    /// The line, counted from 1.
    pub line: u32,
    /// What is wrong.
    pub kind: FileProblemKind,
}

/// What can be wrong with a line of a requirements file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FileProblemKind {
    /// The file is not text in the encoding that it declares (UTF-8, if it declares none).
    #[error("the file is not valid {0} text")]
    NotText(String),
    /// The file declares an encoding that is not known here.
    #[error("the file declares the encoding `{0}`, which is not read; save it as UTF-8")]
    Encoding(String),
    /// The file is larger than what is read.
    #[error("the file is larger than {MAX_BYTES} bytes")]
    TooLarge,
    /// One requirement is longer than what is read.
    #[error("the requirement is longer than {MAX_REQUIREMENT} bytes")]
    TooLong,
    /// An option that requirements files don't have.
    #[error("`{0}` is not an option of requirements files")]
    UnknownOption(String),
    /// An option of a whole file behind a requirement.
    #[error("`{0}` can't stand behind a requirement; give it a line of its own")]
    MisplacedOption(String),
    /// An option that needs a value.
    #[error("`{0}` needs a value")]
    MissingValue(String),
    /// An option that takes no value.
    #[error("`{0}` takes no value")]
    UnexpectedValue(String),
    /// A word that belongs to no option.
    #[error("`{0}` belongs to no option and is not read")]
    UnexpectedWord(String),
    /// A quote that is not closed.
    #[error("a quote is not closed in `{0}`")]
    Quotes(String),
    /// A `--hash` whose value is no hash.
    #[error("`{0}` is not a hash (`sha256:` and 64 hex digits)")]
    BadHash(String),
    /// An extra whose name is none.
    #[error("`{0}` is not the name of an extra")]
    BadExtra(String),
    /// An environment variable, which pip would put in; it stays as written.
    #[error("the environment variable `${{{0}}}` is not put in")]
    Variable(String),
    /// A line that a merge left behind.
    #[error("`{0}` is left over from a merge: resolve the conflict first")]
    ConflictMarker(String),
}

impl fmt::Display for FileProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.line, self.kind)
    }
}

/// Decodes a requirements file's bytes: a byte order mark, else an encoding declared as in Python source
/// (PEP 263; UTF-8, ASCII and Latin-1 are read), else UTF-8. What is no text becomes U+FFFD and a problem.
pub fn decode(bytes: &[u8]) -> (String, Option<FileProblem>) {
    let problem = |kind| Some(FileProblem { line: 1, kind });
    if bytes.len() > MAX_BYTES {
        return (String::new(), problem(FileProblemKind::TooLarge));
    }
    if let Some(units) = bytes.strip_prefix(b"\xff\xfe") {
        return decode_utf16(units, u16::from_le_bytes);
    }
    if let Some(units) = bytes.strip_prefix(b"\xfe\xff") {
        return decode_utf16(units, u16::from_be_bytes);
    }
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    match (std::str::from_utf8(bytes), declared_encoding(bytes)) {
        (_, Some(declared)) if matches!(&*declared, "latin-1" | "iso-8859-1" | "latin1") => {
            (bytes.iter().copied().map(char::from).collect(), None)
        }
        (Ok(text), _) => (text.to_owned(), None),
        (Err(_), Some(declared)) if !matches!(&*declared, "utf-8" | "utf8" | "ascii" | "us-ascii") => {
            (String::from_utf8_lossy(bytes).into_owned(), problem(FileProblemKind::Encoding(declared)))
        }
        (Err(error), _) => {
            let before = bytes.get(..error.valid_up_to()).unwrap_or_default();
            let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
            let line = u32::try_from(line).unwrap_or(u32::MAX);
            let kind = FileProblemKind::NotText("UTF-8".to_owned());
            (String::from_utf8_lossy(bytes).into_owned(), Some(FileProblem { line, kind }))
        }
    }
}

fn decode_utf16(bytes: &[u8], unit: fn([u8; 2]) -> u16) -> (String, Option<FileProblem>) {
    let pairs = bytes.chunks_exact(2);
    let whole = pairs.remainder().is_empty();
    let units: Vec<u16> = pairs.filter_map(|pair| <[u8; 2]>::try_from(pair).ok()).map(unit).collect();
    let problem = FileProblem { line: 1, kind: FileProblemKind::NotText("UTF-16".to_owned()) };
    match String::from_utf16(&units) {
        Ok(text) if whole => (text, None),
        _ => (String::from_utf16_lossy(&units), Some(problem)),
    }
}

/// The encoding that a comment in the first two lines declares, in lower case (PEP 263).
fn declared_encoding(bytes: &[u8]) -> Option<String> {
    bytes.split(|byte| *byte == b'\n').take(2).find_map(|line| {
        let line = std::str::from_utf8(line.get(..200).unwrap_or(line)).ok()?;
        let rest = line.trim_start().strip_prefix('#')?.split_once("coding")?.1;
        let rest = rest.strip_prefix([':', '='])?.trim_start();
        let end =
            rest.find(|c: char| !(c.is_ascii_alphanumeric() || "-_.".contains(c))).unwrap_or(rest.len());
        let name = rest.get(..end)?.to_ascii_lowercase().replace('_', "-");
        (!name.is_empty()).then_some(name)
    })
}

/// Reads a requirements file.
pub fn parse(text: &str) -> RequirementsFile {
    let mut file = RequirementsFile::default();
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    if text.len() > MAX_BYTES {
        file.problems.push(FileProblem { line: 1, kind: FileProblemKind::TooLarge });
        return file;
    }
    for line in logical_lines(text) {
        let mut reader = LineReader { line: line.number, file: &mut file };
        reader.read(&line);
    }
    file
}

struct LineReader<'f> {
    line: u32,
    file: &'f mut RequirementsFile,
}

impl LineReader<'_> {
    fn problem(&mut self, kind: FileProblemKind) {
        self.file.problems.push(FileProblem { line: self.line, kind });
    }

    fn push(&mut self, kind: ItemKind, comment: Option<&str>) {
        let comment = comment.map(str::to_owned);
        self.file.items.push(Item { line: self.line, kind, comment });
    }

    fn read(&mut self, line: &Line<'_>) {
        let content = line.content.trim();
        if content.is_empty() {
            if line.comment.is_some() {
                self.push(ItemKind::Comment, line.comment.as_deref());
            }
            return;
        }
        if ["<<<<<<<", ">>>>>>>", "=======", "|||||||"].iter().any(|mark| content.starts_with(mark)) {
            return self.problem(FileProblemKind::ConflictMarker(shown(content)));
        }
        for name in variables(content) {
            self.problem(FileProblemKind::Variable(name));
        }
        let (text, options) = split_options(content);
        if text.len() > MAX_REQUIREMENT {
            return self.problem(FileProblemKind::TooLong);
        }
        let options = options::read(options, |kind| self.problem(kind));
        if text.is_empty() {
            self.option_line(options, line.comment.as_deref());
        } else {
            let form = self.form(text);
            self.requirement(form, options, line.comment.as_deref());
        }
    }

    /// A line of options: `-e` is a requirement that the others of its line belong to.
    fn option_line(&mut self, options: Vec<options::Given>, comment: Option<&str>) {
        let mut comment = comment;
        let editable = options.iter().find_map(|given| match &given.option {
            options::Meaning::Editable => Some(given.value.clone()),
            _ => None,
        });
        if let Some(location) = editable {
            let rest = options.into_iter().filter(|given| given.option != options::Meaning::Editable);
            let (location, marker) = split_marker(&location);
            let direct = self.direct(location, marker, true);
            return self.requirement(RequirementForm::Direct(direct), rest.collect(), comment);
        }
        for given in options {
            match given.option {
                options::Meaning::File(option) => {
                    let line = OptionLine { option, value: given.value };
                    self.push(ItemKind::Option(line), comment.take());
                }
                _ => self.problem(FileProblemKind::UnexpectedWord(given.written)),
            }
        }
    }

    fn requirement(&mut self, form: RequirementForm, options: Vec<options::Given>, comment: Option<&str>) {
        let mut line =
            RequirementLine { form, hashes: Vec::new(), other_hashes: Vec::new(), build_options: Vec::new() };
        for given in options {
            match given.option {
                options::Meaning::Hash => match given.value.split_once(':') {
                    Some(("sha256", digest)) => match digest.parse() {
                        Ok(hash) => line.hashes.push(hash),
                        Err(_) => self.problem(FileProblemKind::BadHash(shown(&given.value))),
                    },
                    Some(("sha384" | "sha512", _)) => line.other_hashes.push(given.value),
                    _ => self.problem(FileProblemKind::BadHash(shown(&given.value))),
                },
                options::Meaning::Build => {
                    line.build_options.push(format!("{}={}", given.written, given.value));
                }
                options::Meaning::File(_) | options::Meaning::Editable => {
                    self.problem(FileProblemKind::MisplacedOption(given.written));
                }
            }
        }
        self.push(ItemKind::Requirement(line), comment);
    }

    fn form(&mut self, text: &str) -> RequirementForm {
        if is_direct(text) {
            let (location, marker) = split_marker(text);
            RequirementForm::Direct(self.direct(location, marker, false))
        } else {
            RequirementForm::Named(text.to_owned())
        }
    }

    fn direct(&mut self, location: &str, marker: Option<&str>, editable: bool) -> DirectLine {
        let mut location = location.trim();
        let mut name = None;
        if let Some((left, right)) = location.split_once('@').filter(|(left, _)| !is_url(left))
            && editable
            && left.ends_with(' ')
            && is_url(right.trim())
        {
            name = Some(left.trim().to_owned());
            location = right.trim();
        }
        let mut extras = Vec::new();
        if location.ends_with(']')
            && let Some((path, list)) = location.rsplit_once('[')
            && !path.is_empty()
            && (editable || !is_url(location))
        {
            extras = self.extras(list.trim_end_matches(']'));
            location = path;
        }
        if let Some(egg) = fragment_value(location, "egg") {
            let (egg, list) = egg.split_once('[').map_or((egg, None), |(egg, list)| (egg, Some(list)));
            if let Some(list) = list {
                extras.extend(self.extras(list.trim_end_matches(']')));
            }
            if !egg.is_empty() {
                name = Some(egg.to_owned());
            }
        }
        let (location, marker) = (location.to_owned(), marker.map(str::to_owned));
        DirectLine { location, extras, marker, name, editable }
    }

    fn extras(&mut self, list: &str) -> Vec<ExtraName> {
        let mut extras = Vec::new();
        for name in list.split(',').map(str::trim).filter(|name| !name.is_empty()) {
            match name.parse() {
                Ok(extra) => extras.push(extra),
                Err(_) => self.problem(FileProblemKind::BadExtra(shown(name))),
            }
        }
        extras
    }
}

/// The value of `key` in an address's fragment: `abc` for `egg` in `git+https://...#egg=abc&subdirectory=x`.
pub fn fragment_value<'a>(address: &'a str, key: &str) -> Option<&'a str> {
    let (_, fragment) = address.split_once('#')?;
    fragment.split('&').find_map(|part| part.strip_prefix(key)?.strip_prefix('='))
}

/// Whether text has the scheme of something that pip installs from: `https:`, `file:`, `git+https:`.
pub fn is_url(text: &str) -> bool {
    let Some((scheme, _)) = text.split_once(':') else { return false };
    let scheme = scheme.to_ascii_lowercase();
    let version_control = ["git", "hg", "svn", "bzr"];
    matches!(&*scheme, "http" | "https" | "file" | "ftp")
        || version_control.contains(&&*scheme)
        || scheme.split_once('+').is_some_and(|(control, _)| version_control.contains(&control))
}

/// Whether a requirement is a path or URL, as pip decides without looking at the disk.
fn is_direct(text: &str) -> bool {
    const ARCHIVES: [&str; 9] =
        [".whl", ".zip", ".tar.gz", ".tgz", ".tar", ".tar.bz2", ".tbz", ".tar.xz", ".txz"];
    if is_url(text) {
        return true;
    }
    let head = text.split_once(';').map_or(text, |(head, _)| head).trim();
    let path = head.rsplit_once('[').filter(|_| head.ends_with(']')).map_or(head, |(path, _)| path);
    let name_end = head.find(['@', '<', '>', '=', '!', '~', '(']).unwrap_or(head.len());
    let before = head.get(..name_end).unwrap_or(head);
    head.starts_with(['.', '/', '~', '\\'])
        || before.contains(['/', '\\'])
        || (name_end == head.len()
            && ARCHIVES.iter().any(|ending| path.to_ascii_lowercase().ends_with(ending)))
}

/// Splits a path's or URL's marker off: at `;`, for a URL (where `;` may belong to it) at ` ;` or `; `.
fn split_marker(text: &str) -> (&str, Option<&str>) {
    let split = if is_url(text) {
        text.split_once("; ").or_else(|| text.split_once(" ;"))
    } else {
        text.split_once(';')
    };
    match split {
        Some((location, marker)) if !marker.trim().is_empty() => (location.trim(), Some(marker.trim())),
        _ => (text.trim_end_matches(';').trim(), None),
    }
}

/// Splits a line into what is to be installed and the options behind it.
fn split_options(content: &str) -> (&str, &str) {
    let mut after_space = true;
    for (at, c) in content.char_indices() {
        if after_space && c == '-' {
            let (text, options) = content.split_at(at);
            return (text.trim(), options.trim());
        }
        after_space = c.is_whitespace();
    }
    (content, "")
}

/// The names of environment variables in `${NAME}` form: upper-case letters, digits, underscores.
fn variables(content: &str) -> Vec<String> {
    let pieces = content.split("${").skip(1).filter_map(|rest| rest.split_once('}'));
    let name = |name: &str| {
        !name.is_empty() && name.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_')
    };
    pieces.map(|(found, _)| found.to_owned()).filter(|found| name(found)).collect()
}

/// The start of a text, for a message.
fn shown(text: &str) -> String {
    let mut start: String = text.chars().take(80).collect();
    if start.len() < text.len() {
        start.push('…');
    }
    start
}
