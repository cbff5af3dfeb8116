//! The evaluator's state, its bounds, and what unknown things do to it.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use reana_model::{Origin, Target};
use ruff_text_size::TextRange;

use super::door::Door;
use super::facts::{Calls, Consulted, Note};
use super::function::{Args, Function};
use super::heap::{Heap, Object, Scope, Written, join_values};
use super::source::Source;
use super::value::{Id, Raised, Str, Value, Why};
use crate::Unknown;

/// How much may be done: about a second's work.
const MAX_STEPS: u64 = 2_000_000;
/// How deep calls, statements and expressions may be nested in each other.
const MAX_DEPTH: u32 = 2_500;
/// The longest string, in bytes, and the largest collection.
pub(super) const MAX_TEXT: usize = 8 << 20;
pub(super) const MAX_ITEMS: usize = 200_000;
/// How often a loop over something unknown is followed until nothing changes any more.
const MAX_ROUNDS: usize = 40;
/// How many functions may be known to unknown code.
const MAX_LOST_FUNCTIONS: usize = 200;

/// The heap's first objects.
pub(super) const CALLS: Id = 0;
pub(super) const WRITTEN: Id = 1;
const MAIN: Id = 2;

/// Why evaluation does not go on as usual.
#[derive(Debug)]
pub(super) enum Stop {
    /// A Python exception.
    Raise(Rc<Raised>),
    /// No way goes on from here; what left on the way is noted already.
    Dead,
    /// The whole evaluation ends: a bound is exceeded.
    Fatal(Box<Unknown>),
}

pub(super) type Run<T> = Result<T, Stop>;

/// What ways a block can be left by, other than its end and exceptions.
#[derive(Default)]
pub(super) struct Exits {
    pub(super) returned: Option<(Heap, Value)>,
    pub(super) broken: Option<Heap>,
    pub(super) continued: Option<Heap>,
}

pub(super) struct Interp<'d> {
    pub(super) door: &'d Door,
    pub(super) target: Target,
    pub(super) heap: Heap,
    next: Id,
    pub(super) source: Rc<Source>,
    pub(super) scope: Id,
    pub(super) globals: Id,
    steps: u64,
    pub(super) depth: u32,
    /// Exceptions that left the blocks of the open `try` statements, with the state they left.
    pub(super) frames: Vec<Vec<(Heap, Rc<Raised>)>>,
    /// The exceptions that are being handled.
    pub(super) handling: Vec<Rc<Raised>>,
    /// What unknown values may be names of.
    lost: BTreeSet<Id>,
    lost_functions: Vec<Value>,
    running_lost: bool,
    /// The first object that the outermost loop over something unknown could make.
    loop_start: Option<Id>,
    /// Scopes that were taken for changed, with the number of their names then.
    poisoned: BTreeMap<Id, usize>,
    pub(super) modules: BTreeMap<String, Id>,
    /// Folders that local modules are looked for in.
    pub(super) search: Vec<String>,
    /// The last condition that could not be decided.
    pub(super) doubt: Option<Why>,
    /// What ways that have ended called `setup()` with, and the exception that ended the last one.
    pub(super) ended: Option<Calls>,
    pub(super) last_raise: Option<Rc<Raised>>,
    /// The version of setuptools that is assumed, and whether anybody asked.
    pub(super) setuptools: &'static str,
    pub(super) asked_setuptools: bool,
    /// How often each function, by its place, is being called right now.
    pub(super) active: BTreeMap<(Id, u32), usize>,
    pub(super) consulted: Consulted,
    pub(super) notes: Vec<Note>,
}

impl<'d> Interp<'d> {
    pub(super) fn new(door: &'d Door, target: Target, source: Rc<Source>) -> Self {
        let mut heap = Heap::default();
        heap.put(CALLS, Object::Calls(Box::default()));
        heap.put(WRITTEN, Object::Written(Written::default()));
        let globals = MAIN;
        heap.put(globals, Object::Scope(Scope::default()));
        Self {
            door,
            target,
            heap,
            next: 3,
            source,
            scope: globals,
            globals,
            steps: 0,
            depth: 0,
            frames: Vec::new(),
            handling: Vec::new(),
            lost: BTreeSet::new(),
            lost_functions: Vec::new(),
            running_lost: false,
            loop_start: None,
            poisoned: BTreeMap::new(),
            modules: BTreeMap::new(),
            search: vec![String::new()],
            doubt: None,
            ended: None,
            last_raise: None,
            setuptools: "",
            asked_setuptools: false,
            active: BTreeMap::new(),
            consulted: Consulted::default(),
            notes: Vec::new(),
        }
    }

    // Bounds

    /// Counts work against the bound.
    pub(super) fn spend(&mut self, steps: usize, range: TextRange) -> Run<()> {
        self.steps = self.steps.saturating_add(u64::try_from(steps).unwrap_or(u64::MAX));
        if self.steps > MAX_STEPS {
            return Err(self.fatal(range, "evaluating takes too long"));
        }
        Ok(())
    }

    /// Counts the making of a text, or refuses one that is too long.
    pub(super) fn spend_text(&mut self, length: usize, range: TextRange) -> Run<()> {
        if length > MAX_TEXT {
            return Err(self.fatal(range, "a text grows too long"));
        }
        self.spend(length / 64 + 1, range)
    }

    pub(super) fn spend_items(&mut self, count: usize, range: TextRange) -> Run<()> {
        if count > MAX_ITEMS {
            return Err(self.fatal(range, "a collection grows too large"));
        }
        self.spend(count / 4 + 1, range)
    }

    pub(super) fn enter(&mut self, range: TextRange) -> Run<()> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(self.fatal(range, "nested too deeply"));
        }
        self.spend(1, range)
    }

    pub(super) fn leave(&mut self) {
        self.depth = self.depth.saturating_sub(1);
    }

    // Unknowns and exceptions

    pub(super) fn place(&self, range: TextRange) -> Origin {
        self.source.origin(range)
    }

    pub(super) fn fatal(&self, range: TextRange, reason: &str) -> Stop {
        Stop::Fatal(Box::new(self.describe(range, reason)))
    }

    pub(super) fn describe(&self, range: TextRange, reason: &str) -> Unknown {
        Unknown {
            origin: self.place(range),
            expression: self.source.shown(range),
            reason: reason.to_owned(),
            plug_in: false,
        }
    }

    pub(super) fn why(&self, range: TextRange, reason: &str) -> Why {
        Rc::new(self.describe(range, reason))
    }

    pub(super) fn unknown(&self, range: TextRange, reason: &str) -> Value {
        Value::Unknown(self.why(range, reason))
    }

    /// A Python exception of a known class.
    pub(super) fn raise(&self, class: &str, message: &str, range: TextRange) -> Stop {
        let why = self.why(range, &format!("it raises {class}: {message}"));
        Stop::Raise(Rc::new(Raised { class: Value::builtin(class), why }))
    }

    /// Notes that a way ends with an exception here.
    pub(super) fn record(&mut self, raised: Rc<Raised>) {
        let heap = std::mem::take(&mut self.heap);
        self.record_from(heap, raised);
    }

    pub(super) fn record_from(&mut self, heap: Heap, raised: Rc<Raised>) {
        let doubt = self.doubt_at(&raised);
        if self.frames.is_empty() {
            if let Some(Object::Calls(calls)) = heap.get(CALLS)
                && calls.made()
            {
                let joined = self.ended.as_ref().and_then(|ended| ended.join(calls, &doubt));
                self.ended = joined.or_else(|| self.ended.take()).or_else(|| Some((**calls).clone()));
            }
            self.last_raise = Some(raised);
            return;
        }
        let mut lost = Vec::new();
        if let Some(frame) = self.frames.last_mut() {
            match frame.iter_mut().find(|(_, other)| other.class.same(&raised.class)) {
                Some((joined, _)) => {
                    joined.join(&heap, &doubt, &mut lost);
                }
                None => frame.push((heap, raised)),
            }
        }
        self.lose_all(&lost);
    }

    fn doubt_at(&self, raised: &Raised) -> Why {
        self.doubt.clone().unwrap_or_else(|| raised.why.clone())
    }

    /// The reason for which two ways differ.
    pub(super) fn doubt(&self, range: TextRange) -> Why {
        self.doubt.clone().unwrap_or_else(|| self.why(range, "it depends on an unknown condition"))
    }

    /// Something unknown was done that may raise any exception.
    pub(super) fn may_raise(&mut self, why: &Why, range: TextRange) -> Run<()> {
        if self.frames.is_empty() {
            return Ok(());
        }
        self.spend(self.heap.len() / 4 + 1, range)?;
        let raised = Rc::new(Raised { class: Value::Unknown(why.clone()), why: why.clone() });
        self.doubt = Some(why.clone());
        let heap = self.heap.clone();
        self.record_from(heap, raised);
        Ok(())
    }

    // The heap

    pub(super) fn alloc(&mut self, object: Object) -> Id {
        let id = self.next;
        self.next += 1;
        self.heap.put(id, object);
        id
    }

    pub(super) fn list(&mut self, items: Vec<Value>) -> Id {
        self.alloc(Object::List(items))
    }

    pub(super) fn new_list(&mut self, items: Vec<Value>) -> Value {
        Value::Ref(self.list(items))
    }

    pub(super) fn new_iterator(&mut self, items: Vec<Value>) -> Value {
        Value::Ref(self.alloc(Object::Iterator(items)))
    }

    pub(super) fn object(&self, value: &Value) -> Option<&Object> {
        match value {
            Value::Ref(id) => self.heap.get(*id),
            _ => None,
        }
    }

    /// A copy of the state, to follow another way from here.
    pub(super) fn fork(&mut self, range: TextRange) -> Run<Heap> {
        self.spend(self.heap.len() / 4 + 8, range)?;
        Ok(self.heap.clone())
    }

    /// Joins what came out of another way. Whether anything changed by it.
    pub(super) fn join(&mut self, other: &Heap, why: &Why, range: TextRange) -> Run<bool> {
        self.spend(self.heap.len() / 4 + 8, range)?;
        let mut lost = Vec::new();
        let changed = self.heap.join(other, why, &mut lost);
        self.lose_all(&lost);
        Ok(changed)
    }

    pub(super) fn join_value(&mut self, mut a: Value, b: &Value, why: &Why) -> Value {
        let mut lost = Vec::new();
        join_values(&mut a, b, why, &mut lost);
        self.lose_all(&lost);
        a
    }

    /// Adds a way out to those that are known.
    pub(super) fn merge(&mut self, into: &mut Option<Heap>, heap: Heap, range: TextRange) -> Run<()> {
        let Some(known) = into.take() else {
            *into = Some(heap);
            return Ok(());
        };
        let why = self.doubt(range);
        let current = std::mem::replace(&mut self.heap, known);
        let result = self.join(&heap, &why, range);
        *into = Some(std::mem::replace(&mut self.heap, current));
        result.map(|_| ())
    }

    pub(super) fn merge_returned(
        &mut self,
        exits: &mut Exits,
        heap: Heap,
        value: Value,
        range: TextRange,
    ) -> Run<()> {
        let (mut known, value) = match exits.returned.take() {
            None => (None, value),
            Some((heap, old)) => {
                let why = self.doubt(range);
                (Some(heap), self.join_value(old, &value, &why))
            }
        };
        self.merge(&mut known, heap, range)?;
        exits.returned = known.map(|heap| (heap, value));
        Ok(())
    }

    // What unknown code can reach

    /// From now on, unknown values may be other names of these.
    pub(super) fn lose_all(&mut self, values: &[Value]) {
        let mut open: Vec<Value> = values.to_vec();
        while let Some(value) = open.pop() {
            match value {
                Value::Ref(id) if self.lost.insert(id) => {
                    let children = self.heap.children(id);
                    self.blur_in_loop(id);
                    if let Some(Object::Class(_) | Object::Instance { .. }) = self.heap.get(id) {
                        self.lost_functions.push(Value::Ref(id));
                    }
                    open.extend(children);
                }
                Value::Tuple(items) => open.extend(items.iter().cloned()),
                Value::Method(method) => open.push(method.0.clone()),
                Value::Bound(bound) => {
                    open.push(bound.0.clone());
                    open.push(bound.1.clone());
                }
                Value::Function(_) if !self.lost_functions.iter().any(|known| known.same(&value)) => {
                    self.lost_functions.push(value);
                }
                _ => {}
            }
        }
    }

    /// What a loop over something unknown makes and loses is never looked into again: it need not settle.
    fn blur_in_loop(&mut self, id: Id) {
        let (Some(start), Some(why)) = (self.loop_start, self.doubt.clone()) else { return };
        if id >= start
            && let Some(object @ (Object::List(_) | Object::Iterator(_) | Object::Dict(_) | Object::Set(_))) =
                self.heap.get_mut(id)
        {
            *object = Object::Opaque(why);
        }
    }

    pub(super) fn lose(&mut self, value: &Value) {
        self.lose_all(std::slice::from_ref(value));
    }

    /// Unknown code ran that was given these values: it may have changed them, whatever else it knows, and it may
    /// have called any function it knows.
    pub(super) fn havoc(&mut self, values: &[Value], why: &Why, range: TextRange) -> Run<()> {
        self.lose_all(values);
        self.forget_lost(why, range)?;
        if self.running_lost || self.lost_functions.is_empty() {
            return Ok(());
        }
        if self.lost_functions.len() > MAX_LOST_FUNCTIONS {
            return Err(self.fatal(range, "too many functions are handed to unknown code"));
        }
        self.running_lost = true;
        let result = self.until_stable(range, |this| this.call_lost(why, range));
        self.running_lost = false;
        result
    }

    fn forget_lost(&mut self, why: &Why, range: TextRange) -> Run<()> {
        self.spend(self.lost.len() * 2 + 1, range)?;
        // What is in the objects now is lost with them.
        let mut seen = 0;
        while seen < self.lost.len() {
            seen = self.lost.len();
            let children: Vec<Value> = self
                .lost
                .iter()
                .filter(|id| !matches!(self.heap.get(**id), None | Some(Object::Opaque(_))))
                .flat_map(|id| self.heap.children(*id))
                .collect();
            self.lose_all(&children);
        }
        for &id in &self.lost {
            match self.heap.get_mut(id) {
                Some(object @ (Object::List(_) | Object::Iterator(_) | Object::Dict(_) | Object::Set(_))) => {
                    *object = Object::Opaque(why.clone());
                }
                Some(object @ Object::File(_)) => *object = Object::Opaque(why.clone()),
                Some(Object::Scope(scope)) => {
                    for value in scope.names.values_mut() {
                        if !matches!(value, Value::Function(_)) {
                            *value = Value::Unknown(why.clone());
                        }
                    }
                    scope.open.get_or_insert_with(|| why.clone());
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Follows a way again and again, each time joining what it did, until nothing changes any more.
    pub(super) fn until_stable(
        &mut self,
        range: TextRange,
        way: impl FnMut(&mut Self) -> Run<()>,
    ) -> Run<()> {
        let outer = self.loop_start;
        self.loop_start = outer.or(Some(self.next));
        let result = self.repeat(range, way);
        self.loop_start = outer;
        result
    }

    fn repeat(&mut self, range: TextRange, mut way: impl FnMut(&mut Self) -> Run<()>) -> Run<()> {
        for _ in 0..MAX_ROUNDS {
            let before = self.fork(range)?;
            let changed = match way(self) {
                Ok(()) => {
                    let after = std::mem::replace(&mut self.heap, before);
                    let why = self.doubt(range);
                    self.join(&after, &why, range)?
                }
                Err(Stop::Fatal(unknown)) => return Err(Stop::Fatal(unknown)),
                Err(Stop::Dead) => {
                    self.heap = before;
                    false
                }
                Err(Stop::Raise(raised)) => {
                    self.record(raised);
                    self.heap = before;
                    false
                }
            };
            if !changed {
                return Ok(());
            }
        }
        Err(self.fatal(range, "a loop over something unknown does not settle"))
    }

    /// Calls all functions that unknown code knows, with arguments that are not known.
    fn call_lost(&mut self, why: &Why, range: TextRange) -> Run<()> {
        let mut at = 0;
        while let Some(value) = self.lost_functions.get(at).cloned() {
            at += 1;
            let functions = self.functions_of(&value);
            for function in functions {
                if function.globals != MAIN || self.steps > MAX_STEPS / 2 {
                    self.poison(&function, why, range)?;
                    continue;
                }
                self.doubt = Some(why.clone());
                let before = self.fork(range)?;
                let args = Args { open: Some(why.clone()), ..Args::default() };
                let alive = match self.call_function(&function, args, range) {
                    Ok(value) => {
                        self.lose(&value);
                        true
                    }
                    Err(Stop::Fatal(unknown)) => return Err(Stop::Fatal(unknown)),
                    Err(Stop::Dead | Stop::Raise(_)) => false,
                };
                if alive {
                    self.join(&before, why, range)?;
                } else {
                    self.heap = before;
                }
            }
        }
        Ok(())
    }

    /// Takes for changed whatever a function could change: the containers that its names lead to, and the names
    /// that its source binds from inside of functions.
    pub(super) fn poison(&mut self, function: &Function, why: &Why, range: TextRange) -> Run<()> {
        let mut scopes = vec![function.scope, function.globals];
        let mut at = 0;
        while let Some(id) = scopes.get(at).copied() {
            at += 1;
            let Some(Object::Scope(scope)) = self.heap.get(id).cloned() else { continue };
            if self.poisoned.contains_key(&id) && self.poisoned.get(&id) == Some(&scope.names.len()) {
                continue;
            }
            self.spend(scope.names.len() + 1, range)?;
            self.poisoned.insert(id, scope.names.len());
            scopes.extend(scope.parent);
            for (name, value) in &scope.names {
                match value {
                    Value::Function(inner) => scopes.extend([inner.scope, inner.globals]),
                    Value::Ref(inner) => match self.heap.get(*inner) {
                        Some(Object::Module { scope, .. } | Object::Instance { scope, .. }) => {
                            scopes.push(*scope);
                        }
                        Some(Object::Class(class)) => scopes.push(class.scope),
                        _ => self.lose(value),
                    },
                    value => self.lose(value),
                }
                if function.source.rebinds(name) {
                    self.lose(value);
                    self.store_in(id, name, Value::Unknown(why.clone()));
                }
            }
        }
        self.forget_lost(why, range)
    }

    // Texts

    /// A string that was written in the source.
    pub(super) fn literal(&self, text: &str, range: TextRange, advances: bool) -> Str {
        Str { text: text.into(), origin: Some(self.place(range)), advances }
    }
}
