//! The heap: everything that can change. It is copied cheaply where an unknown condition makes the evaluator
//! follow two ways, and the two copies are joined where the ways meet.

use std::collections::BTreeSet;
use std::rc::Rc;

use indexmap::IndexMap;

use super::facts::Calls;
use super::value::{Id, Key, Str, Value, Why};

/// The variables of a module, a function call, a class body or a comprehension.
#[derive(Clone, Debug, Default)]
pub(super) struct Scope {
    pub(super) names: IndexMap<Rc<str>, Value>,
    /// Where names are looked up that are not here.
    pub(super) parent: Option<Id>,
    /// Names that `global` or `nonlocal` sends to another scope.
    pub(super) elsewhere: IndexMap<Rc<str>, Id>,
    /// All names may have been written by unknown code.
    pub(super) open: Option<Why>,
}

#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) key: Value,
    pub(super) value: Value,
    /// The entry may be absent.
    pub(super) maybe: Option<Why>,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Dict {
    pub(super) entries: IndexMap<Key, Entry>,
    /// There may be more entries than those, of unknown keys.
    pub(super) open: Option<Why>,
}

impl Dict {
    /// Why not all entries are known, if so.
    pub(super) fn vague(&self) -> Option<Why> {
        self.open.clone().or_else(|| self.entries.values().find_map(|entry| entry.maybe.clone()))
    }
}

#[derive(Clone, Debug)]
pub(super) struct Class {
    pub(super) name: Rc<str>,
    pub(super) bases: Vec<Value>,
    /// The scope that its body ran in.
    pub(super) scope: Id,
}

#[derive(Clone, Debug)]
pub(super) struct File {
    pub(super) text: Str,
    pub(super) at: usize,
}

#[derive(Clone, Debug)]
pub(super) enum Object {
    List(Vec<Value>),
    /// What can be iterated over once: generators, `map`, `filter`, `zip`.
    Iterator(Vec<Value>),
    Dict(Dict),
    Set(IndexMap<Key, Value>),
    Scope(Scope),
    File(File),
    Class(Class),
    Instance {
        class: Id,
        scope: Id,
    },
    /// A module of the project.
    Module {
        name: Rc<str>,
        scope: Id,
    },
    /// An object whose content is not known any more.
    Opaque(Why),
    /// What `setup()` was called with.
    Calls(Box<Calls>),
    /// Files that were written to by the script itself, by path; the reason for what is not known of it.
    Written(Written),
}

/// What the script did to files.
#[derive(Clone, Debug, Default)]
pub(super) struct Written {
    pub(super) paths: BTreeSet<String>,
    /// Any file may have been written.
    pub(super) any: Option<Why>,
    /// The present folder, in the project.
    pub(super) folder: String,
    /// Files may have been made that were not there.
    pub(super) made: Option<Why>,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Heap {
    objects: Vec<Option<Rc<Object>>>,
}

impl Heap {
    pub(super) fn len(&self) -> usize {
        self.objects.len()
    }

    pub(super) fn put(&mut self, id: Id, object: Object) {
        if self.objects.len() <= id {
            self.objects.resize(id + 1, None);
        }
        if let Some(slot) = self.objects.get_mut(id) {
            *slot = Some(Rc::new(object));
        }
    }

    pub(super) fn get(&self, id: Id) -> Option<&Object> {
        self.objects.get(id).and_then(Option::as_deref)
    }

    pub(super) fn get_mut(&mut self, id: Id) -> Option<&mut Object> {
        self.objects.get_mut(id).and_then(Option::as_mut).map(Rc::make_mut)
    }

    /// How large the copy is that a change of the object would make.
    pub(super) fn size(&self, id: Id) -> usize {
        match self.get(id) {
            Some(Object::List(items) | Object::Iterator(items)) => items.len(),
            Some(Object::Dict(dict)) => dict.entries.len(),
            Some(Object::Set(items)) => items.len(),
            Some(Object::Scope(scope)) => scope.names.len(),
            _ => 1,
        }
    }

    /// The values that an object holds.
    pub(super) fn children(&self, id: Id) -> Vec<Value> {
        match self.get(id) {
            Some(Object::List(items) | Object::Iterator(items)) => items.clone(),
            Some(Object::Dict(dict)) => dict.entries.values().map(|entry| entry.value.clone()).collect(),
            Some(Object::Set(items)) => items.values().cloned().collect(),
            Some(
                Object::Instance { scope, .. }
                | Object::Module { scope, .. }
                | Object::Class(Class { scope, .. }),
            ) => {
                vec![Value::Ref(*scope)]
            }
            Some(Object::Scope(scope)) => scope.names.values().cloned().collect(),
            _ => Vec::new(),
        }
    }

    /// Joins what came out of another way into this one. Values that differ become unknown for `why`, and are
    /// handed out in `lost`: through the unknown, they may be changed from now on. Whether anything changed.
    pub(super) fn join(&mut self, other: &Self, why: &Why, lost: &mut Vec<Value>) -> bool {
        let mut changed = false;
        if self.objects.len() < other.objects.len() {
            self.objects.resize(other.objects.len(), None);
        }
        for (own, theirs) in self.objects.iter_mut().zip(&other.objects) {
            match (own.as_mut(), theirs) {
                (None, Some(theirs)) => *own = Some(theirs.clone()),
                (Some(a), Some(b)) if !Rc::ptr_eq(a, b) => {
                    if let Some(joined) = join_objects(a, b, why, lost) {
                        *own = Some(Rc::new(joined));
                        changed = true;
                    }
                }
                _ => {}
            }
        }
        changed
    }
}

/// The two as one; `None` where the first one is it already.
fn join_objects(a: &Object, b: &Object, why: &Why, lost: &mut Vec<Value>) -> Option<Object> {
    match (a, b) {
        (Object::List(x), Object::List(y)) | (Object::Iterator(x), Object::Iterator(y))
            if x.len() == y.len() && x.iter().zip(y).all(|(x, y)| x.same(y)) =>
        {
            None
        }
        (Object::Set(x), Object::Set(y)) if x.len() == y.len() && x.keys().all(|key| y.contains_key(key)) => {
            None
        }
        (Object::Dict(x), Object::Dict(y)) => match join_dicts(x, y, why, lost) {
            Joined::Same => None,
            Joined::New(dict) => Some(Object::Dict(dict)),
            Joined::Order => Some(opaque(a, b, why, lost)),
        },
        (Object::Scope(x), Object::Scope(y)) => join_scopes(x, y, why, lost).map(Object::Scope),
        (Object::Calls(x), Object::Calls(y)) => x.join(y, why).map(|calls| Object::Calls(Box::new(calls))),
        (Object::Written(x), Object::Written(y)) => {
            let mut all = x.clone();
            all.paths.extend(y.paths.iter().cloned());
            all.any = all.any.or_else(|| y.any.clone());
            all.made = all.made.or_else(|| y.made.clone());
            if x.folder != y.folder {
                all.any.get_or_insert_with(|| why.clone());
            }
            let same = all.paths.len() == x.paths.len()
                && all.any.is_some() == x.any.is_some()
                && all.made.is_some() == x.made.is_some();
            (!same).then_some(Object::Written(all))
        }
        (Object::File(x), Object::File(y)) if x.at == y.at && x.text.text == y.text.text => None,
        (Object::Class(x), Object::Class(y)) if x.scope == y.scope => None,
        (Object::Instance { scope: x, .. }, Object::Instance { scope: y, .. }) if x == y => None,
        (Object::Module { scope: x, .. }, Object::Module { scope: y, .. }) if x == y => None,
        (Object::Opaque(_), _) => {
            lost.extend(values(b));
            None
        }
        _ => Some(opaque(a, b, why, lost)),
    }
}

fn opaque(a: &Object, b: &Object, why: &Why, lost: &mut Vec<Value>) -> Object {
    lost.extend(values(a));
    lost.extend(values(b));
    Object::Opaque(why.clone())
}

fn values(object: &Object) -> Vec<Value> {
    match object {
        Object::List(items) | Object::Iterator(items) => items.clone(),
        Object::Dict(dict) => dict.entries.values().map(|entry| entry.value.clone()).collect(),
        Object::Set(items) => items.values().cloned().collect(),
        _ => Vec::new(),
    }
}

enum Joined {
    Same,
    New(Dict),
    /// The keys stand in different orders.
    Order,
}

fn join_dicts(a: &Dict, b: &Dict, why: &Why, lost: &mut Vec<Value>) -> Joined {
    let common = |x: &Dict, y: &Dict| -> Vec<Key> {
        x.entries.keys().filter(|key| y.entries.contains_key(*key)).cloned().collect()
    };
    if common(a, b) != common(b, a) {
        return Joined::Order;
    }
    let mut joined = a.clone();
    let mut changed = false;
    if joined.open.is_none() && b.open.is_some() {
        joined.open.clone_from(&b.open);
        changed = true;
    }
    for (key, entry) in &mut joined.entries {
        match b.entries.get(key) {
            Some(other) => {
                changed |= join_values(&mut entry.value, &other.value, why, lost);
                if entry.maybe.is_none() && other.maybe.is_some() {
                    entry.maybe.clone_from(&other.maybe);
                    changed = true;
                }
            }
            None if entry.maybe.is_none() => {
                entry.maybe = Some(why.clone());
                changed = true;
            }
            None => {}
        }
    }
    for (key, entry) in &b.entries {
        if !joined.entries.contains_key(key) {
            let maybe = entry.maybe.clone().or_else(|| Some(why.clone()));
            joined.entries.insert(key.clone(), Entry { maybe, ..entry.clone() });
            changed = true;
        }
    }
    if changed { Joined::New(joined) } else { Joined::Same }
}

fn join_scopes(a: &Scope, b: &Scope, why: &Why, lost: &mut Vec<Value>) -> Option<Scope> {
    let mut joined = a.clone();
    let mut changed = false;
    for (name, value) in &mut joined.names {
        match b.names.get(name) {
            Some(other) => changed |= join_values(value, other, why, lost),
            None => changed |= lose(value, why, lost),
        }
    }
    for (name, value) in &b.names {
        if !joined.names.contains_key(name) {
            lost.push(value.clone());
            joined.names.insert(name.clone(), Value::Unknown(why.clone()));
            changed = true;
        }
    }
    if joined.open.is_none() && b.open.is_some() {
        joined.open.clone_from(&b.open);
        changed = true;
    }
    for (name, id) in &b.elsewhere {
        joined.elsewhere.entry(name.clone()).or_insert(*id);
    }
    changed.then_some(joined)
}

fn lose(value: &mut Value, why: &Why, lost: &mut Vec<Value>) -> bool {
    if matches!(value, Value::Unknown(_)) {
        return false;
    }
    lost.push(std::mem::replace(value, Value::Unknown(why.clone())));
    true
}

/// Joins `b` into `a`. Whether `a` changed.
pub(super) fn join_values(a: &mut Value, b: &Value, why: &Why, lost: &mut Vec<Value>) -> bool {
    if a.same(b) {
        return false;
    }
    if let Value::Unknown(_) = a {
        lost.push(b.clone());
        return false;
    }
    if let (Value::Tuple(x), Value::Tuple(y)) = (&mut *a, b)
        && x.len() == y.len()
    {
        let mut items: Vec<Value> = x.to_vec();
        for (item, other) in items.iter_mut().zip(y.iter()) {
            join_values(item, other, why, lost);
        }
        *a = Value::tuple(items);
        return true;
    }
    // Unknown already: its own reason says more than that of the join.
    let reason = b.why().filter(|_| matches!(b, Value::Unknown(_))).unwrap_or(why).clone();
    lost.push(b.clone());
    lose(a, &reason, lost)
}
