//! setup.py, evaluated and never run: what `setup()` would be called with, for a target.
//!
//! The evaluator follows the file statement by statement, as Python would. What it can't know (the environment,
//! modules that are not part of the project, what programs print) becomes an unknown value that remembers its
//! place and reason. Where a condition is unknown, both ways are followed and joined: what differs becomes
//! unknown. What unknown code is given, it may change. An unknown that reaches a fact makes that fact an
//! [`Unknown`]; the facts that it doesn't reach stay known. *Right or refused, never wrong.*
//!
//! Everything is bounded: steps, depth, sizes of texts and collections.

mod builtins;
mod call;
mod containers;
mod display;
mod door;
mod exceptions;
mod expr;
mod facts;
mod flow;
mod function;
mod heap;
mod import;
mod interp;
mod methods;
mod names;
mod ops;
mod packaging;
mod paths;
mod python2;
mod regex;
mod source;
mod stdlib;
mod stmt;
mod strings;
mod value;

pub(crate) use regex::python_pattern;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::mpsc;

use indexmap::IndexMap;
use reana_model::{Origin, Target};

use crate::files::Files;
use crate::{Fact, Unknown};

pub use facts::{Consulted, Note};

/// The stack that evaluation runs on, in bytes: enough for all that the bounds on depth allow.
const STACK: usize = 256 << 20;

/// Text with the place where it was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Text {
    /// The text, as declared.
    pub value: String,
    /// The line of its literal, or of the file that it was read from.
    pub origin: Origin,
}

/// What `setup()` is called with, fact by fact. `Ok(None)`: not given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SetupCall {
    /// `name`
    pub name: Fact<Option<Text>>,
    /// `version`
    pub version: Fact<Option<Text>>,
    /// `python_requires`
    pub python_requires: Fact<Option<Text>>,
    /// `install_requires`, one requirement each, comments left out.
    pub install_requires: Fact<Option<Vec<Text>>>,
    /// `extras_require`, with its keys as declared (`test`, `:python_version<'3'`).
    pub extras_require: Fact<Option<IndexMap<String, Vec<Text>>>>,
    /// `setup_requires`
    pub setup_requires: Fact<Option<Vec<Text>>>,
    /// Where `setup()` is called.
    pub origin: Origin,
    /// What is worth knowing beside the facts.
    pub notes: Vec<Note>,
    /// What of the target the file looked at: for another target that differs in nothing else, the facts are the same.
    pub consulted: Consulted,
}

/// Evaluates a setup.py of a project. `path` is its path in the project, `display` the same as the user knows it
/// (`reana-server/setup.py`): what stands before the path there stands before all origins.
///
/// # Errors
/// When no call of `setup()` can be reached, when the file is not valid Python, or when a bound is exceeded.
pub fn evaluate(files: &dyn Files, path: &str, display: &str, target: &Target) -> Result<SetupCall, Unknown> {
    let (ask, asks) = mpsc::channel();
    let (answers, answer) = mpsc::channel();
    let prefix = display.strip_suffix(path).unwrap_or_default().to_owned();
    std::thread::scope(|scope| {
        let work = move || {
            let door = door::Door {
                ask,
                answer,
                prefix,
                read: RefCell::new(BTreeMap::new()),
                questions: RefCell::new(0),
            };
            let newest = run(&door, path, display, target, NEWEST_SETUPTOOLS);
            match newest {
                (Ok(call), true) => {
                    // What holds for the oldest and for any newer one holds for all: versions are compared with bounds.
                    let (oldest, _) = run(&door, path, display, target, OLDEST_SETUPTOOLS);
                    let why = Unknown {
                        origin: call.origin.clone(),
                        expression: "setuptools.__version__".to_owned(),
                        reason: "it depends on the version of setuptools".to_owned(),
                        plug_in: false,
                    };
                    oldest.map(|oldest| call.clone().join(&oldest, &Rc::new(why)))
                }
                (result, _) => result,
            }
        };
        let failed = |reason: &str| Unknown {
            origin: Origin::whole(display),
            expression: display.to_owned(),
            reason: reason.to_owned(),
            plug_in: false,
        };
        let thread = std::thread::Builder::new().name("setup.py".to_owned()).stack_size(STACK);
        let handle = match thread.spawn_scoped(scope, work) {
            Ok(handle) => handle,
            Err(error) => return Err(failed(&format!("no thread can be started: {error}"))),
        };
        door::serve(files, &asks, &answers);
        handle.join().unwrap_or_else(|_| Err(failed("the evaluator failed")))
    })
}

/// Whether a source can be parsed within the evaluator's bounds, and why not if not.
pub(crate) fn check_source(text: &str) -> Result<(), Unknown> {
    source::Source::parse(text, &"".into(), "").map(|_| ())
}

/// The stack that sources within the bounds need, in bytes.
pub(crate) const SOURCE_STACK: usize = STACK;

/// What pip installs at least for a build that says nothing, and what is newer than anything that is asked for.
const OLDEST_SETUPTOOLS: &str = "40.8.0";
const NEWEST_SETUPTOOLS: &str = "999.0.0";

/// Evaluates with one version of setuptools; and whether it mattered.
fn run(
    door: &door::Door,
    path: &str,
    display: &str,
    target: &Target,
    setuptools: &'static str,
) -> (Result<SetupCall, Unknown>, bool) {
    let mut asked = false;
    let result = run_once(door, path, display, target, setuptools, &mut asked);
    (result, asked)
}

fn run_once(
    door: &door::Door,
    path: &str,
    display: &str,
    target: &Target,
    setuptools: &'static str,
    asked: &mut bool,
) -> Result<SetupCall, Unknown> {
    let file: Arc<str> = display.into();
    let refuse = |reason: String| Unknown {
        origin: Origin::whole(file.clone()),
        expression: path.to_owned(),
        reason,
        plug_in: false,
    };
    let bytes = door.read(path).map_err(|error| refuse(error.to_string()))?;
    let source = Rc::new(source::Source::parse(&String::from_utf8_lossy(&bytes), &file, path)?);
    let mut interp = interp::Interp::new(door, *target, source.clone());
    interp.setuptools = setuptools;
    interp.prepare(&source, interp.globals, Some("__main__"));
    let mut exits = interp::Exits::default();
    let result = interp.attempt(|this| this.block(&source.body, &mut exits));
    *asked = interp.asked_setuptools;
    if let Err(interp::Stop::Fatal(unknown)) = result {
        return Err(*unknown);
    }
    let is_live = matches!(result, Ok(true));
    let doubt = interp.doubt(ruff_text_size::TextRange::default());
    let mut calls = interp.ended.take().unwrap_or_default();
    if is_live
        && let Some(heap::Object::Calls(live)) = interp.heap.get(interp::CALLS)
        && let Some(joined) = calls.join(live, &doubt)
    {
        calls = joined;
    }
    match calls.0 {
        Some(call) => Ok(SetupCall { notes: interp.notes, consulted: interp.consulted, ..call }),
        None => Err(match (is_live, interp.last_raise.take()) {
            (false, Some(raised)) => (*raised.why).clone(),
            _ => refuse("no call of setup() is reached".to_owned()),
        }),
    }
}
