//! What `setup()` was called with, by setuptools' own rules.

use indexmap::IndexMap;
use reana_model::Origin;
use ruff_text_size::TextRange;

use super::function::Args;
use super::heap::Object;
use super::interp::{CALLS, Interp, Run};
use super::value::{Key, Str, Value, Why};
use super::{SetupCall, Text};
use crate::{Fact, Unknown};

/// What of the target a file looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Consulted {
    /// Its Python's version.
    pub python: bool,
    /// Its operating system or machine.
    pub platform: bool,
}

/// Something worth knowing that changes no fact.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// Where it stands.
    pub origin: Origin,
    /// What it is.
    pub text: String,
}

/// What all calls of `setup()` on the ways so far say together.
#[derive(Clone, Debug, Default)]
pub(super) struct Calls(pub(super) Option<SetupCall>);

/// Whether a dotted name is that of `setup`.
pub(super) fn is_setup(name: &str) -> bool {
    matches!(
        name,
        "setuptools.setup"
            | "distutils.core.setup"
            | "setuptools.distutils.core.setup"
            | "numpy.distutils.core.setup"
    )
}

impl Calls {
    pub(super) fn made(&self) -> bool {
        self.0.is_some()
    }

    /// Both together; `None` where the first one is that already.
    pub(super) fn join(&self, other: &Self, why: &Why) -> Option<Self> {
        let joined = match (&self.0, &other.0) {
            (_, None) => return None,
            (None, Some(call)) => call.clone(),
            (Some(a), Some(b)) => a.clone().join(b, why),
        };
        (self.0.as_ref() != Some(&joined)).then_some(Self(Some(joined)))
    }
}

impl SetupCall {
    /// The facts that both agree on; the others are unknown, for a reason.
    pub(super) fn join(self, other: &Self, why: &Why) -> Self {
        Self {
            name: join_facts(&self.name, &other.name, why),
            version: join_facts(&self.version, &other.version, why),
            python_requires: join_facts(&self.python_requires, &other.python_requires, why),
            install_requires: join_facts(&self.install_requires, &other.install_requires, why),
            extras_require: join_facts(&self.extras_require, &other.extras_require, why),
            setup_requires: join_facts(&self.setup_requires, &other.setup_requires, why),
            consulted: Consulted {
                python: self.consulted.python || other.consulted.python,
                platform: self.consulted.platform || other.consulted.platform,
            },
            ..self
        }
    }
}

/// Says the same, wherever it was written.
trait SameSaid {
    fn same_said(&self, other: &Self) -> bool;
}

impl SameSaid for Text {
    fn same_said(&self, other: &Self) -> bool {
        self.value == other.value
    }
}

impl<T: SameSaid> SameSaid for Vec<T> {
    fn same_said(&self, other: &Self) -> bool {
        self.len() == other.len() && self.iter().zip(other).all(|(a, b)| a.same_said(b))
    }
}

impl<T: SameSaid> SameSaid for Option<T> {
    fn same_said(&self, other: &Self) -> bool {
        match (self, other) {
            (None, None) => true,
            (Some(a), Some(b)) => a.same_said(b),
            _ => false,
        }
    }
}

impl<T: SameSaid> SameSaid for IndexMap<String, T> {
    fn same_said(&self, other: &Self) -> bool {
        self.len() == other.len() && self.iter().zip(other).all(|((a, x), (b, y))| a == b && x.same_said(y))
    }
}

fn join_facts<T: SameSaid + Clone>(a: &Fact<T>, b: &Fact<T>, why: &Why) -> Fact<T> {
    match (a, b) {
        (Ok(x), Ok(y)) if x.same_said(y) => a.clone(),
        (Err(_), _) => a.clone(),
        (_, Err(_)) => b.clone(),
        _ => Err((**why).clone()),
    }
}

/// The requirements of a text or a list of texts, as setuptools reads them: one per line, without comments.
fn requirement_lines(text: &Str) -> Vec<Text> {
    let mut found = Vec::new();
    let mut open: Option<Text> = None;
    for line in super::strings::lines(text, false) {
        let line = line.trimmed(|line| {
            let end = if line.trim_start().starts_with('#') { Some(0) } else { line.find(" #") };
            line.get(..end.unwrap_or(line.len())).unwrap_or_default().trim()
        });
        if line.text.is_empty() {
            continue;
        }
        let (part, goes_on) = match line.text.strip_suffix('\\') {
            Some(part) => (part.trim(), true),
            None => (&*line.text, false),
        };
        let text = match open.take() {
            Some(before) => Text { value: before.value + part, ..before },
            None => Text { value: part.to_owned(), origin: line.origin.unwrap_or_else(|| Origin::whole("")) },
        };
        if goes_on { open = Some(text) } else { found.push(text) }
    }
    found.extend(open);
    found
}

/// Names that only `setup()`'s own plug-ins know, with what they supply.
fn plug_in(name: &str) -> Option<(&'static str, bool)> {
    Some(match name {
        "pbr" => ("pbr reads setup.cfg and requirements.txt", true),
        "d2to1" => ("d2to1 reads setup.cfg", true),
        "packit" => ("packit reads setup.cfg and requirements.txt", true),
        "versioning" => ("setupmeta makes the metadata", true),
        "use_scm_version" => ("setuptools_scm makes the version", false),
        "use_vcs_version" => ("setuptools_vcs_version makes the version", false),
        "vcversioner" => ("vcversioner makes the version", false),
        "version_config" | "setuptools_git_versioning" => {
            ("setuptools-git-versioning makes the version", false)
        }
        "use_incremental" => ("incremental makes the version", false),
        "auto_version" => ("autover makes the version", false),
        _ => return None,
    })
}

/// The arguments of a call of `setup()`.
struct Keywords<'a> {
    args: &'a Args,
    origin: Origin,
}

impl Interp<'_> {
    /// Notes a call of `setup()`.
    pub(super) fn record_setup(&mut self, args: &Args, range: TextRange) -> Run<Value> {
        let keywords = Keywords { args, origin: self.place(range) };
        let mut call = SetupCall {
            name: self.text_fact(&keywords, "name"),
            version: self.text_fact(&keywords, "version"),
            python_requires: self.text_fact(&keywords, "python_requires"),
            install_requires: self.list_fact(&keywords, "install_requires"),
            extras_require: self.extras_fact(&keywords),
            setup_requires: self.list_fact(&keywords, "setup_requires"),
            origin: keywords.origin.clone(),
            notes: Vec::new(),
            consulted: Consulted::default(),
        };
        self.apply_plug_ins(&mut call, &keywords, range);
        let why = self.why(range, "setup() is called more than once, and not with the same arguments");
        if let Some(Object::Calls(known)) = self.heap.get_mut(CALLS) {
            let call = Calls(Some(call));
            match known.made() {
                true => {
                    if let Some(joined) = known.join(&call, &why) {
                        **known = joined;
                    }
                }
                false => **known = call,
            }
        }
        let why = self.why(range, "what setup() does is not followed");
        self.may_raise(&why, range)?;
        Ok(Value::Unknown(why))
    }

    fn apply_plug_ins(&mut self, call: &mut SetupCall, keywords: &Keywords<'_>, range: TextRange) {
        let mut all = None;
        for (name, value) in &keywords.args.keywords {
            let Some((reason, is_all)) = plug_in(name) else { continue };
            if matches!(value, Value::Bool(false) | Value::None) {
                continue;
            }
            let unknown = Unknown {
                origin: keywords.origin.clone(),
                expression: format!("{name}={}", self.text_of(value).as_deref().unwrap_or("...")),
                reason: reason.to_owned(),
                plug_in: true,
            };
            if is_all {
                all = Some(unknown.clone());
            }
            call.version = Err(unknown);
        }
        let brings = |name: &str| match &call.setup_requires {
            Ok(Some(texts)) => texts.iter().any(|text| text.value.starts_with(name)),
            _ => false,
        };
        if brings("setupmeta") {
            all = Some(Unknown {
                origin: keywords.origin.clone(),
                expression: "setup_requires".to_owned(),
                reason: "setupmeta makes the metadata".to_owned(),
                plug_in: true,
            });
        }
        if let Some(unknown) = all {
            call.name =
                call.name.clone().and_then(|name| name.map_or(Err(unknown.clone()), |name| Ok(Some(name))));
            call.version = Err(unknown.clone());
            call.python_requires = Err(unknown.clone());
            call.install_requires = Err(unknown.clone());
            call.extras_require = Err(unknown);
        }
        for name in ["cmdclass", "distclass"] {
            if keywords.args.keywords.iter().any(|(keyword, _)| &**keyword == name) {
                let text = format!("setup() has `{name}`");
                self.notes.push(Note { origin: self.place(range), text });
            }
        }
    }

    /// A keyword's value; why it is not known, if not; `None` where it is not given.
    fn keyword(&self, keywords: &Keywords<'_>, name: &str) -> Fact<Option<Value>> {
        match keywords.args.keywords.iter().rev().find(|(keyword, _)| &**keyword == name) {
            Some((_, Value::Unknown(why))) => Err((**why).clone()),
            Some((_, value)) => Ok(Some(value.clone())),
            None => match &keywords.args.open {
                Some(why) => Err((**why).clone()),
                None => Ok(None),
            },
        }
    }

    fn not_understood(&self, keywords: &Keywords<'_>, name: &str, value: &Value, reason: &str) -> Unknown {
        self.reason_in(value, 0).map_or_else(
            || Unknown {
                origin: keywords.origin.clone(),
                expression: name.to_owned(),
                reason: reason.to_owned(),
                plug_in: false,
            },
            |why| (*why).clone(),
        )
    }

    fn text_fact(&self, keywords: &Keywords<'_>, name: &str) -> Fact<Option<Text>> {
        let Some(value) = self.keyword(keywords, name)? else { return Ok(None) };
        let text = match &value {
            Value::None => return Ok(None),
            Value::Str(text) => text.clone(),
            Value::Bytes(text) if self.target.python.major == 2 => text.clone(),
            Value::Version(version) => version.1.with(version.0.to_string()),
            Value::Int(_) | Value::Float(_) if name == "version" => match self.text_of(&value) {
                Some(text) => Str::bare(text),
                None => return Err(self.not_understood(keywords, name, &value, "it is no text")),
            },
            _ => return Err(self.not_understood(keywords, name, &value, "it is no text")),
        };
        self.check_text(keywords, name, &text)?;
        let origin = text.origin.unwrap_or_else(|| keywords.origin.clone());
        Ok(Some(Text { value: text.text.to_string(), origin }))
    }

    /// The project's own place on the disk is not known.
    fn check_text(&self, keywords: &Keywords<'_>, name: &str, text: &Str) -> Fact<()> {
        if super::paths::names_root(&text.text) {
            return Err(Unknown {
                origin: text.origin.clone().unwrap_or_else(|| keywords.origin.clone()),
                expression: name.to_owned(),
                reason: "it depends on where the project lies".to_owned(),
                plug_in: false,
            });
        }
        Ok(())
    }

    fn list_fact(&self, keywords: &Keywords<'_>, name: &str) -> Fact<Option<Vec<Text>>> {
        match self.keyword(keywords, name)? {
            None | Some(Value::None) => Ok(None),
            Some(value) => self.requirements(keywords, name, &value).map(Some),
        }
    }

    fn requirements(&self, keywords: &Keywords<'_>, name: &str, value: &Value) -> Fact<Vec<Text>> {
        let mut found = Vec::new();
        self.collect(keywords, name, value, 0, &mut found)?;
        Ok(found)
    }

    fn collect(
        &self,
        keywords: &Keywords<'_>,
        name: &str,
        value: &Value,
        depth: usize,
        found: &mut Vec<Text>,
    ) -> Fact<()> {
        let fail = |reason: &str| Err(self.not_understood(keywords, name, value, reason));
        let items = match value {
            Value::Str(text) => {
                self.check_text(keywords, name, text)?;
                for mut text in requirement_lines(text) {
                    if text.origin.file.is_empty() {
                        text.origin = keywords.origin.clone();
                    }
                    found.push(text);
                }
                return Ok(());
            }
            Value::Tuple(items) => items.to_vec(),
            Value::Ref(id) => match self.heap.get(*id) {
                Some(Object::List(items)) => items.clone(),
                Some(Object::Set(items)) if name == "extras_require" => items.values().cloned().collect(),
                Some(Object::Set(_) | Object::Dict(_)) => {
                    return fail("setuptools takes no unordered collection here");
                }
                Some(Object::Iterator(_)) => {
                    return fail("setuptools uses an iterator up before it reads it");
                }
                _ => return fail("it is no list of texts"),
            },
            _ => return fail("it is no list of texts"),
        };
        if depth > 5 {
            return fail("it is nested too deeply");
        }
        items.iter().try_for_each(|item| self.collect(keywords, name, item, depth + 1, found))
    }

    fn extras_fact(&self, keywords: &Keywords<'_>) -> Fact<Option<IndexMap<String, Vec<Text>>>> {
        let name = "extras_require";
        let value = match self.keyword(keywords, name)? {
            None | Some(Value::None) => return Ok(None),
            Some(value) => value,
        };
        let Some(Object::Dict(dict)) = self.object(&value) else {
            return Err(self.not_understood(keywords, name, &value, "it is no dict"));
        };
        if let Some(why) = dict.vague() {
            return Err((*why).clone());
        }
        let mut extras = IndexMap::new();
        for (key, entry) in &dict.entries {
            let Key::Str(extra) = key else {
                return Err(self.not_understood(keywords, name, &entry.key, "a key is no text"));
            };
            if let Value::Unknown(why) = &entry.value {
                return Err((**why).clone());
            }
            extras.insert(extra.to_string(), self.requirements(keywords, name, &entry.value)?);
        }
        Ok(Some(extras))
    }
}
