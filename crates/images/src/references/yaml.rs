//! References in YAML. Events are walked, nothing is expanded: an alias costs what it is, however much it stands for.

use std::borrow::Cow;
use std::collections::BTreeMap;

use saphyr_parser::{Event, Parser, ScalarStyle, Span};

use super::{Form, Placed, Policy, References};

/// The deepest nesting that is followed.
const DEPTH: usize = 200;

/// Why a text is no YAML.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum YamlError {
    /// It breaks YAML's rules.
    #[error("{line}:{column}: {what}")]
    Syntax {
        /// From 1.
        line: usize,
        /// From 1.
        column: usize,
        /// What is wrong.
        what: String,
    },
    /// It is nested too deep.
    #[error("{line}:1: nested more than {DEPTH} levels deep")]
    Depth {
        /// From 1.
        line: usize,
    },
}

/// A collection that is being read.
enum Frame {
    Mapping {
        /// How the collection is called by the one around it.
        name: String,
        /// The key whose value comes next.
        key: Option<Placed>,
        /// Scalars, by key; the last of two wins, as in most readers.
        scalars: BTreeMap<String, Placed>,
    },
    Sequence {
        name: String,
        length: usize,
    },
}

pub(super) fn find(text: &str) -> Result<References, YamlError> {
    let offsets = Offsets::of(text);
    let mut walk = Walk { frames: Vec::new(), anchors: BTreeMap::new(), found: References::default() };
    for event in Parser::new_from_str(text) {
        let (event, span) = event.map_err(|error| YamlError::Syntax {
            line: error.marker().line(),
            column: error.marker().col() + 1,
            what: error.info().to_owned(),
        })?;
        match event {
            Event::Scalar(value, style, anchor, _) => {
                let placed = placed(text, &offsets, value, style, span);
                if anchor > 0 {
                    walk.anchors.insert(anchor, placed.clone());
                }
                walk.scalar(placed);
            }
            Event::Alias(anchor) => match walk.anchors.get(&anchor).cloned() {
                Some(placed) => walk.scalar(placed),
                None => walk.nothing(),
            },
            Event::SequenceStart(..) => {
                let name = walk.begin();
                walk.push(Frame::Sequence { name, length: 0 }, span)?;
            }
            Event::MappingStart(..) => {
                let name = walk.begin();
                walk.push(Frame::Mapping { name, key: None, scalars: BTreeMap::new() }, span)?;
            }
            Event::SequenceEnd => drop(walk.frames.pop()),
            Event::MappingEnd => walk.end_mapping(),
            // Numbers of anchors go on from document to document.
            Event::DocumentStart(_) | Event::DocumentEnd => walk.frames.clear(),
            Event::Nothing | Event::StreamStart | Event::StreamEnd => {}
        }
    }
    Ok(walk.found)
}

struct Walk {
    frames: Vec<Frame>,
    anchors: BTreeMap<usize, Placed>,
    found: References,
}

impl Walk {
    fn push(&mut self, frame: Frame, span: Span) -> Result<(), YamlError> {
        self.frames.push(frame);
        if self.frames.len() > DEPTH { Err(YamlError::Depth { line: span.start.line() }) } else { Ok(()) }
    }

    /// A collection begins; gives its name.
    fn begin(&mut self) -> String {
        match self.frames.last_mut() {
            // A collection as a key has no name.
            Some(Frame::Mapping { key, .. }) => key.take().map(|key| key.text).unwrap_or_default(),
            Some(Frame::Sequence { length, .. }) => {
                *length += 1;
                format!("[{}]", *length - 1)
            }
            None => String::new(),
        }
    }

    /// Something that is neither looked at nor into.
    fn nothing(&mut self) {
        let _name = self.begin();
    }

    fn scalar(&mut self, placed: Placed) {
        let path = self.path();
        match self.frames.last_mut() {
            Some(Frame::Mapping { key, scalars, .. }) => match key.take() {
                None => *key = Some(placed),
                Some(key) => {
                    let is_step = key.text == "environment"
                        && path.starts_with("workflow.specification.steps[")
                        && path.ends_with(']');
                    if is_step {
                        let path = format!("{path}.environment");
                        self.found.add(Form::Whole(placed.clone()), &path, Policy::Unsaid);
                        return;
                    }
                    scalars.insert(key.text, placed);
                }
            },
            Some(Frame::Sequence { length, .. }) => *length += 1,
            None => {}
        }
    }

    /// The names of the collections around, `components.reana_server`.
    fn path(&self) -> String {
        let mut path = String::new();
        for frame in &self.frames {
            let (Frame::Mapping { name, .. } | Frame::Sequence { name, .. }) = frame;
            if !path.is_empty() && !name.starts_with('[') {
                path.push('.');
            }
            path.push_str(name);
        }
        path
    }

    fn end_mapping(&mut self) {
        let path = self.path();
        let Some(Frame::Mapping { name, mut scalars, .. }) = self.frames.pop() else { return };
        let policy = ["imagePullPolicy", "pullPolicy"].iter().find_map(|key| scalars.get(*key));
        let policy = Policy::read(policy.map(|placed| placed.text.as_str()));
        let join = |key: &str| if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") };
        let is_image = name == "image" || name.ends_with("Image") || name.ends_with("_image");
        let beside = |scalars: &mut BTreeMap<String, Placed>| {
            ["tag", "imageTag", "image_tag"].iter().find_map(|key| scalars.remove(*key))
        };
        let digest = scalars.remove("digest");
        if let Some(image) = scalars.remove("image") {
            let form = match beside(&mut scalars) {
                tag if (tag.is_some() || digest.is_some()) && is_bare(&image.text) => {
                    Form::Split { registry: None, repository: image, tag, digest }
                }
                _ => Form::Whole(image),
            };
            self.found.add(form, &join("image"), policy);
        } else if is_image || (scalars.contains_key("repository") && scalars.contains_key("tag")) {
            let repository = scalars.remove("repository").or_else(|| {
                let has_tag = scalars.contains_key("tag");
                scalars.remove("name").filter(|_| is_image && has_tag)
            });
            if let Some(repository) = repository.filter(|repository| !repository.text.contains("://")) {
                let (registry, tag) = (scalars.remove("registry"), beside(&mut scalars));
                let tag = tag.filter(|tag| !tag.text.is_empty());
                self.found.add(Form::Split { registry, repository, tag, digest }, &path, policy);
            }
        }
        for (key, value) in scalars {
            if key.ends_with("_image") || key.ends_with("Image") {
                self.found.add(Form::Whole(value), &join(&key), policy);
            }
        }
    }
}

/// Whether a reference has neither tag nor digest.
fn is_bare(image: &str) -> bool {
    !image.rsplit('/').next().unwrap_or(image).contains([':', '@'])
}

/// A scalar at its place. Its bytes are known where the file has the value as it is: plain, or in quotes with nothing
/// escaped.
fn placed(text: &str, offsets: &Offsets, value: Cow<'_, str>, style: ScalarStyle, span: Span) -> Placed {
    let quote = match style {
        ScalarStyle::Plain => Some(0),
        ScalarStyle::SingleQuoted | ScalarStyle::DoubleQuoted => Some(1),
        ScalarStyle::Literal | ScalarStyle::Folded => None,
    };
    let is_null = style == ScalarStyle::Plain && matches!(value.as_ref(), "" | "~" | "null");
    let start = quote.and_then(|quote| {
        let start = offsets.byte(span.start.index())?;
        Some(start + properties(text.get(start..)?) + quote)
    });
    let is_there = |start: &usize| text.get(*start..).is_some_and(|rest| rest.starts_with(value.as_ref()));
    // Where a value is left out, no bytes are its own.
    let is_written = !(is_null && value.is_empty());
    let bytes = start.filter(is_there).filter(|_| is_written).map(|start| start..start + value.len());
    Placed {
        text: if is_null { String::new() } else { value.into_owned() },
        bytes,
        line: span.start.line(),
        column: span.start.col() + 1 + quote.unwrap_or_default(),
    }
}

/// How long the anchor and the tag before a value are (`&name `, `!!str `).
fn properties(text: &str) -> usize {
    let mut rest = text;
    while rest.starts_with(['&', '!']) {
        let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
        rest = rest.get(end..).unwrap_or_default().trim_start();
    }
    text.len() - rest.len()
}

/// From characters, which the parser counts, to bytes.
enum Offsets {
    Ascii,
    Others(Vec<usize>),
}

impl Offsets {
    fn of(text: &str) -> Self {
        if text.is_ascii() {
            Self::Ascii
        } else {
            Self::Others(text.char_indices().map(|(byte, _)| byte).chain([text.len()]).collect())
        }
    }

    fn byte(&self, character: usize) -> Option<usize> {
        match self {
            Self::Ascii => Some(character),
            Self::Others(bytes) => bytes.get(character).copied(),
        }
    }
}
