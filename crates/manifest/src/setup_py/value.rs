//! The values that the evaluator computes with. A string knows where each of its lines was written.

use std::rc::Rc;

use reana_model::Origin;

use super::function::Function;
use crate::Unknown;

/// Names an object of the heap.
pub(super) type Id = usize;

/// Why a value is unknown, shared by all that follows from it.
pub(super) type Why = Rc<Unknown>;

/// A Python value. What is mutable lies on the heap, under an [`Id`].
#[derive(Clone, Debug)]
pub(super) enum Value {
    None,
    Bool(bool),
    Int(i64),
    Float(f64),
    Str(Str),
    Bytes(Str),
    Tuple(Rc<Tuple>),
    /// An object of the heap: list, dict, set, file, class, instance, local module.
    Ref(Id),
    Function(Rc<Function>),
    /// A module, type, function or constant that is known by its dotted name: `os.path.join`, `str`.
    Builtin(Rc<str>),
    /// An attribute of a value that waits to be called: `text.split`.
    Method(Rc<(Value, Rc<str>)>),
    /// A function of the project bound to its instance.
    Bound(Rc<(Value, Value)>),
    /// A compiled pattern of `re`.
    Pattern(Rc<Pattern>),
    /// A match of `re`.
    Match(Rc<Match>),
    /// A version that compares by PEP 440.
    Version(Rc<(pep440_rs::Version, Str)>),
    /// A `pathlib` path.
    Path(Str),
    Exception(Rc<Raised>),
    Slice(Rc<[Value; 3]>),
    /// What can't be known without running code.
    Unknown(Why),
}

/// Values in a tuple, deep at most [`MAX_TUPLE_DEPTH`]: nothing that handles one recurses without end.
#[derive(Debug)]
pub(super) struct Tuple {
    items: Vec<Value>,
    depth: u32,
    weight: usize,
}

const MAX_TUPLE_DEPTH: u32 = 40;
const MAX_TUPLE_WEIGHT: usize = 200_000;

impl std::ops::Deref for Tuple {
    type Target = [Value];

    fn deref(&self) -> &[Value] {
        &self.items
    }
}

/// A pattern with its Python source and flags.
#[derive(Debug)]
pub(super) struct Pattern {
    pub(super) source: Str,
    pub(super) flags: i64,
    pub(super) regex: fancy_regex::Regex,
}

/// The groups of a match, the whole match first.
#[derive(Debug)]
pub(super) struct Match {
    pub(super) subject: Str,
    pub(super) groups: Vec<Option<(usize, usize)>>,
    pub(super) names: Vec<(String, usize)>,
}

/// An exception on its way.
#[derive(Clone, Debug)]
pub(super) struct Raised {
    /// `Builtin`, a class of the project, or unknown.
    pub(super) class: Value,
    /// Where it was raised and what it says.
    pub(super) why: Why,
}

/// Text with the place that it was written at.
#[derive(Clone, Debug)]
pub(super) struct Str {
    pub(super) text: Rc<str>,
    pub(super) origin: Option<Origin>,
    /// Whether each newline in the text is one in the file, so that parts of it stand on later lines.
    pub(super) advances: bool,
}

impl Str {
    /// Text that was computed, not written.
    pub(super) fn bare(text: impl Into<Rc<str>>) -> Self {
        Self { text: text.into(), origin: None, advances: false }
    }

    /// Other text at the same place.
    pub(super) fn with(&self, text: impl Into<Rc<str>>) -> Self {
        Self { text: text.into(), origin: self.origin.clone(), advances: false }
    }

    /// A part of the text. A range that is none of the text gives the empty string.
    pub(super) fn part(&self, start: usize, end: usize) -> Self {
        self.parts([(start, end)]).pop().unwrap_or_else(|| Self::bare(""))
    }

    /// Parts of the text, ascending by start, each with its own line.
    pub(super) fn parts(&self, ranges: impl IntoIterator<Item = (usize, usize)>) -> Vec<Self> {
        let (mut seen, mut lines) = (0, 0);
        let mut parts = Vec::new();
        for (start, end) in ranges {
            let mut origin = self.origin.clone();
            if self.advances {
                let from = if start < seen { 0 } else { seen };
                let base = if start < seen { 0 } else { lines };
                let passed = self.text.get(from..start).unwrap_or_default();
                lines = base + u32::try_from(passed.matches('\n').count()).unwrap_or(u32::MAX);
                seen = start;
                if let Some(origin) = &mut origin {
                    origin.line = origin.line.saturating_add(lines);
                }
            }
            let text = self.text.get(start..end).unwrap_or_default();
            parts.push(Self { text: text.into(), origin, advances: self.advances });
        }
        parts
    }

    /// The part that a trimming function leaves.
    pub(super) fn trimmed(&self, trim: impl Fn(&str) -> &str) -> Self {
        let start_trimmed = trim(&self.text);
        let start = start_trimmed.as_ptr().addr().saturating_sub(self.text.as_ptr().addr());
        self.part(start, start + start_trimmed.len())
    }

    /// Both texts; the place is that of the first one that says something.
    pub(super) fn concat(&self, other: &Self) -> Self {
        let own = !self.text.trim().is_empty() || other.origin.is_none();
        let from = if own { self } else { other };
        let advances = own && self.advances && !other.text.contains('\n');
        Self { text: [&*self.text, &*other.text].concat().into(), origin: from.origin.clone(), advances }
    }
}

/// What dicts and sets find their entries by.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Key {
    None,
    Int(i64),
    Float(u64),
    Str(Rc<str>),
    Bytes(Rc<str>),
    Tuple(Vec<Key>),
    Builtin(Rc<str>),
    /// What is equal only to itself: patterns and functions.
    Itself(usize),
}

impl Value {
    pub(super) fn text(text: impl Into<Rc<str>>) -> Self {
        Self::Str(Str::bare(text))
    }

    pub(super) fn builtin(name: impl Into<Rc<str>>) -> Self {
        Self::Builtin(name.into())
    }

    /// A tuple; unknown where it is nested too deeply to be handled in bounded time.
    pub(super) fn tuple(items: Vec<Value>) -> Self {
        let (mut depth, mut weight) = (1, 1_usize);
        for item in &items {
            if let Self::Tuple(inner) = item {
                depth = depth.max(inner.depth + 1);
                weight = weight.saturating_add(inner.weight);
            } else {
                weight += 1;
            }
        }
        if depth > MAX_TUPLE_DEPTH || weight > MAX_TUPLE_WEIGHT {
            return Self::Unknown(Rc::new(Unknown {
                origin: Origin::whole("setup.py"),
                expression: "(...)".to_owned(),
                reason: "a tuple is nested too deeply".to_owned(),
                plug_in: false,
            }));
        }
        Self::Tuple(Rc::new(Tuple { items, depth, weight }))
    }

    pub(super) fn why(&self) -> Option<&Why> {
        match self {
            Self::Unknown(why) => Some(why),
            Self::Tuple(items) => items.iter().find_map(Self::why),
            _ => None,
        }
    }

    /// The key that the value is in a dict; `None` for what is not hashable or not known.
    pub(super) fn key(&self) -> Option<Key> {
        Some(match self {
            Self::None => Key::None,
            Self::Bool(flag) => Key::Int(i64::from(*flag)),
            Self::Int(number) => Key::Int(*number),
            Self::Float(number) => Key::Float(number.to_bits()),
            Self::Str(text) => Key::Str(text.text.clone()),
            Self::Path(text) => Key::Str(format!("path:{}", text.text).into()),
            Self::Bytes(text) => Key::Bytes(text.text.clone()),
            Self::Tuple(items) => Key::Tuple(items.iter().map(Self::key).collect::<Option<_>>()?),
            Self::Builtin(name) => Key::Builtin(name.clone()),
            Self::Pattern(pattern) => Key::Itself(Rc::as_ptr(pattern).addr()),
            Self::Function(function) => Key::Itself(Rc::as_ptr(function).addr()),
            _ => return None,
        })
    }

    /// Whether two values are the same for all purposes but their place. No depth: tuples are bounded by their construction.
    pub(super) fn same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::None, Self::None) => true,
            (Self::Bool(a), Self::Bool(b)) => a == b,
            (Self::Int(a), Self::Int(b)) => a == b,
            (Self::Float(a), Self::Float(b)) => a.to_bits() == b.to_bits(),
            (Self::Str(a), Self::Str(b))
            | (Self::Bytes(a), Self::Bytes(b))
            | (Self::Path(a), Self::Path(b)) => a.text == b.text,
            (Self::Tuple(a), Self::Tuple(b)) => {
                a.len() == b.len() && a.iter().zip(b.iter()).all(|(a, b)| a.same(b))
            }
            (Self::Ref(a), Self::Ref(b)) => a == b,
            (Self::Function(a), Self::Function(b)) => Rc::ptr_eq(a, b),
            (Self::Builtin(a), Self::Builtin(b)) => a == b,
            (Self::Method(a), Self::Method(b)) => a.1 == b.1 && a.0.same(&b.0),
            (Self::Bound(a), Self::Bound(b)) => a.0.same(&b.0) && a.1.same(&b.1),
            (Self::Pattern(a), Self::Pattern(b)) => Rc::ptr_eq(a, b),
            (Self::Match(a), Self::Match(b)) => Rc::ptr_eq(a, b),
            (Self::Version(a), Self::Version(b)) => a.0 == b.0 && a.1.text == b.1.text,
            (Self::Exception(a), Self::Exception(b)) => Rc::ptr_eq(a, b),
            (Self::Unknown(_), Self::Unknown(_)) => true,
            _ => false,
        }
    }
}
