//! Reading a lock: pip-compile's of all generations, and ours.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use reana_model::requirement::parse_marker;
use reana_model::requirements_file::{
    self, DirectLine, FileProblemKind, Item, ItemKind, OptionLine, RequirementForm, RequirementLine,
};
use reana_model::{
    ExtraName, MarkerTree, Operator, Origin, PackageName, PinSource, Requirement, RequirementError, Sha256,
    Source, Version, Via,
};

use crate::{Header, Newline, header};

/// What a lock says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lock {
    /// The file as the user knows it.
    pub file: Arc<str>,
    /// The header, if it has one.
    pub header: Option<Header>,
    /// The line of the mark that makes it a preview ([`PREVIEW_MARK`](crate::PREVIEW_MARK)); `None` where it is a lock
    /// to release from.
    pub preview: Option<u32>,
    /// The options block, with places.
    pub options: Vec<(Origin, OptionLine)>,
    /// The pins, in the file's order.
    pub pins: Vec<LockedPin>,
    /// Paths, URLs and editables without a name, in the file's order.
    pub unnamed: Vec<UnnamedPin>,
    /// Packages that a comment at the end names and that are not pinned.
    pub left_out: Vec<PackageName>,
    /// How its lines end; `None` where it has no line end.
    pub newline: Option<Newline>,
    /// What was not understood, in the file's order.
    pub problems: Vec<LockProblem>,
}

/// A pin as a lock says it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LockedPin {
    /// The package.
    pub name: PackageName,
    /// Its extras.
    pub extras: BTreeSet<ExtraName>,
    /// Its version; `None` where a URL decides it.
    pub version: Option<Version>,
    /// Where it comes from.
    pub source: PinSource,
    /// When it is to be installed.
    pub marker: MarkerTree,
    /// The files that may be installed.
    pub hashes: BTreeSet<Sha256>,
    /// Who wants it, as its annotation says.
    pub via: BTreeSet<Via>,
    /// Its line, counted from 1.
    pub line: u32,
}

/// A path or URL that a lock names without a package's name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnnamedPin {
    /// As [`PinSource::Verbatim`] has it: `./x`, `-e ./x`.
    pub text: String,
    /// When it is to be installed.
    pub marker: MarkerTree,
    /// The files that may be installed.
    pub hashes: BTreeSet<Sha256>,
    /// Who wants it, as its annotation says.
    pub via: BTreeSet<Via>,
    /// Its line, counted from 1.
    pub line: u32,
}

/// Something in a lock that is not understood, or that is no pin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LockProblem {
    /// Where.
    pub origin: Origin,
    /// What is wrong.
    pub kind: LockProblemKind,
}

/// What can be wrong with a lock.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LockProblemKind {
    /// It is no requirements file there.
    #[error(transparent)]
    File(FileProblemKind),
    /// A line is no requirement.
    #[error(transparent)]
    Requirement(RequirementError),
    /// A marker can't be read.
    #[error("`{0}` is not a marker (PEP 508)")]
    Marker(String),
    /// A requirement that does not pin a version.
    #[error("`{0}` is no pin (`name==version`)")]
    NotPinned(String),
    /// Two pins of one package that apply at the same time.
    #[error("{name} is pinned already in line {first}")]
    Twice {
        /// The package.
        name: PackageName,
        /// The line of the first pin.
        first: u32,
    },
    /// A `pylock.toml` says something that can't be read (PEP 751).
    #[error("{0}")]
    Pylock(String),
    /// The header's command can't be read.
    #[error("the header's command is not read: a quote is not closed")]
    HeaderCommand,
}

impl fmt::Display for LockProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.origin, self.kind)
    }
}

/// Reads a lock, a `pylock.toml` if the file is called so. Never fails as a whole: what is not understood is a problem with its line.
pub fn parse(text: &str, file: impl Into<Arc<str>>) -> Lock {
    let file = file.into();
    if crate::pylock::is_file_name(&file) {
        return crate::pylock::parse(text, file);
    }
    let read = requirements_file::parse(text);
    let mut parser = Parser::new(file, Newline::of(text));
    for problem in read.problems {
        parser.problem(problem.line, LockProblemKind::File(problem.kind));
    }
    parser.header(&read.items);
    for item in read.items {
        parser.item(item);
    }
    let mut lock = parser.lock;
    find_doubles(&mut lock);
    lock.problems.sort_by_key(|problem| problem.origin.line);
    lock
}

/// What comments behind a pin belong to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Nowhere,
    Pin,
    Unnamed,
    LeftOut,
}

struct Parser {
    lock: Lock,
    place: Place,
    in_list: bool,
}

impl Parser {
    fn new(file: Arc<str>, newline: Option<Newline>) -> Self {
        let lock = Lock {
            file,
            header: None,
            preview: None,
            options: Vec::new(),
            pins: Vec::new(),
            unnamed: Vec::new(),
            left_out: Vec::new(),
            newline,
            problems: Vec::new(),
        };
        Self { lock, place: Place::Nowhere, in_list: false }
    }

    fn origin(&self, line: u32) -> Origin {
        Origin::new(Arc::clone(&self.lock.file), line)
    }

    fn problem(&mut self, line: u32, kind: LockProblemKind) {
        let origin = self.origin(line);
        self.lock.problems.push(LockProblem { origin, kind });
    }

    /// The header is among the comments before anything else.
    fn header(&mut self, items: &[Item]) {
        let first = items.iter().take_while(|item| item.kind == ItemKind::Comment);
        let line = items.first().map_or(1, |item| item.line);
        if let Some((header, unreadable)) = header::read(first.filter_map(|item| item.comment.as_deref())) {
            self.lock.header = Some(header);
            if unreadable {
                self.problem(line, LockProblemKind::HeaderCommand);
            }
        }
    }

    fn item(&mut self, item: Item) {
        match item.kind {
            ItemKind::Comment => {
                // anywhere: a mark that was moved marks all the same
                if item.comment.as_deref().is_some_and(header::is_preview_mark) {
                    self.lock.preview.get_or_insert(item.line);
                }
            }
            ItemKind::Option(option) => {
                let origin = self.origin(item.line);
                self.lock.options.push((origin, option));
                self.place = Place::Nowhere;
            }
            ItemKind::Requirement(line) => {
                self.in_list = false;
                self.place = Place::Nowhere;
                if let Err(kind) = self.requirement(item.line, line) {
                    self.problem(item.line, kind);
                }
            }
        }
        if let Some(comment) = item.comment {
            self.comment(comment.strip_prefix('#').unwrap_or(&comment));
        }
    }

    fn requirement(&mut self, line: u32, read: RequirementLine) -> Result<(), LockProblemKind> {
        let hashes: BTreeSet<Sha256> = read.hashes.into_iter().collect();
        let via = BTreeSet::new();
        match read.form {
            RequirementForm::Named(text) => {
                let requirement =
                    Requirement::parse(&text, self.origin(line)).map_err(LockProblemKind::Requirement)?;
                let (version, source) = pinned(&requirement).ok_or(LockProblemKind::NotPinned(text))?;
                let Requirement { name, extras, marker, .. } = requirement;
                let extras = extras.into_iter().collect();
                self.lock.pins.push(LockedPin { name, extras, version, source, marker, hashes, via, line });
                self.place = Place::Pin;
            }
            RequirementForm::Direct(direct) => {
                let text = verbatim(&direct);
                let marker = match direct.marker {
                    None => MarkerTree::TRUE,
                    Some(marker) => parse_marker(&marker).map_err(|_| LockProblemKind::Marker(marker))?,
                };
                match direct.name.and_then(|name| name.parse().ok()) {
                    Some(name) => {
                        let extras = direct.extras.into_iter().collect();
                        let source = PinSource::Verbatim(text);
                        let pin =
                            LockedPin { name, extras, version: None, source, marker, hashes, via, line };
                        self.lock.pins.push(pin);
                        self.place = Place::Pin;
                    }
                    None => {
                        self.lock.unnamed.push(UnnamedPin { text, marker, hashes, via, line });
                        self.place = Place::Unnamed;
                    }
                }
            }
        }
        Ok(())
    }

    fn comment(&mut self, comment: &str) {
        let words = comment.trim();
        if words.contains("considered to be unsafe")
            || ["packages were not pinned", "excluded from the output"]
                .iter()
                .any(|start| words.contains(start))
        {
            self.place = Place::LeftOut;
        } else if self.place == Place::LeftOut {
            self.lock.left_out.extend(words.parse::<PackageName>());
        } else if words == "via" {
            self.in_list = true;
        } else if let Some(list) = words.strip_prefix("via ") {
            list.split(", ").for_each(|via| self.via(via));
        } else if self.in_list && comment.starts_with("   ") {
            self.via(words);
        } else {
            self.in_list = false;
        }
    }

    fn via(&mut self, text: &str) {
        let via = match self.place {
            Place::Pin => self.lock.pins.last_mut().map(|pin| &mut pin.via),
            Place::Unnamed => self.lock.unnamed.last_mut().map(|pin| &mut pin.via),
            Place::Nowhere | Place::LeftOut => None,
        };
        if let Some(via) = via {
            via.extend(read_via(text.trim()));
        }
    }
}

/// The version and source of a requirement that pins.
fn pinned(requirement: &Requirement) -> Option<(Option<Version>, PinSource)> {
    let specifiers = match &requirement.source {
        Source::Direct(direct) => return Some((None, PinSource::Url(direct.given.clone()))),
        Source::Index(specifiers) => specifiers,
    };
    let mut specifiers = specifiers.iter();
    let (only, None) = (specifiers.next()?, specifiers.next()) else { return None };
    match only.operator() {
        Operator::Equal => Some((Some(only.version().clone()), PinSource::Index)),
        Operator::ExactEqual => {
            let text = only.version().to_string();
            Some((Some(only.version().clone()), PinSource::Arbitrary(text)))
        }
        _ => None,
    }
}

fn verbatim(direct: &DirectLine) -> String {
    let extras: Vec<String> = direct.extras.iter().map(ToString::to_string).collect();
    let extras = if extras.is_empty() || direct.location.contains("#egg=") {
        String::new()
    } else {
        format!("[{}]", extras.join(","))
    };
    format!("{}{}{extras}", if direct.editable { "-e " } else { "" }, direct.location)
}

/// One reason of an annotation; none where a hand has been at it.
fn read_via(text: &str) -> Option<Via> {
    if let Some(file) = text.strip_prefix("-r ") {
        return Some(Via::Requirements(file.to_owned()));
    }
    if let Some(file) = text.strip_prefix("-c ") {
        return Some(Via::Constraints(file.to_owned()));
    }
    if let Some(rest) = text.strip_suffix(')') {
        let (name, file) =
            rest.strip_prefix('(').map_or_else(|| rest.split_once(" ("), |file| Some(("", file)))?;
        return Some(Via::Project { name: name.to_owned(), file: file.to_owned() });
    }
    text.parse().ok().map(Via::Package)
}

/// Two pins of one package must be told apart by their markers.
fn find_doubles(lock: &mut Lock) {
    let mut seen: BTreeMap<PackageName, Vec<(MarkerTree, u32)>> = BTreeMap::new();
    let (file, problems) = (&lock.file, &mut lock.problems);
    lock.pins.retain(|pin| {
        let earlier = seen.entry(pin.name.clone()).or_default();
        let first = earlier.iter().take(8).find(|(marker, _)| !marker.is_disjoint(&pin.marker));
        if let Some((_, first)) = first {
            let kind = LockProblemKind::Twice { name: pin.name.clone(), first: *first };
            problems.push(LockProblem { origin: Origin::new(Arc::clone(file), pin.line), kind });
            return false;
        }
        earlier.push((pin.marker.clone(), pin.line));
        true
    });
}
