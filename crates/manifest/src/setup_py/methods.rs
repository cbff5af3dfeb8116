//! Methods of lists, dicts and sets, and the way to those of other values.

use std::rc::Rc;

use ruff_text_size::TextRange;

use super::function::Args;
use super::heap::{Dict, Object};
use super::interp::{Interp, Run};
use super::value::{Id, Value};

impl Interp<'_> {
    /// A method of a list or an iterator.
    pub(super) fn list_method(
        &mut self,
        id: Id,
        name: &str,
        args: &Args,
        range: TextRange,
    ) -> Run<Option<Value>> {
        let list = Value::Ref(id);
        let first = args.get(0, "").cloned();
        let size = self.heap.size(id);
        self.spend(size / 16 + 1, range)?;
        match (name, first) {
            ("append", Some(item)) => {
                self.append(&list, item, range)?;
                return Ok(Some(Value::None));
            }
            ("extend", Some(value)) => {
                self.extend(&list, &value, range)?;
                return Ok(Some(Value::None));
            }
            ("copy", None) => {
                let items = self.heap.children(id);
                return Ok(Some(self.new_list(items)));
            }
            ("index" | "count" | "remove", Some(item)) => return self.list_search(id, name, &item, range),
            ("insert", Some(Value::Int(at))) => {
                let Some(item) = args.positional.get(1).cloned() else { return Ok(None) };
                let length = i64::try_from(size).unwrap_or(i64::MAX);
                let at = if at < 0 { (at.saturating_add(length)).max(0) } else { at.min(length) };
                if let (Some(Object::List(items)), Ok(at)) = (self.heap.get_mut(id), usize::try_from(at)) {
                    items.insert(at, item);
                }
                return Ok(Some(Value::None));
            }
            ("pop", index) => {
                let index = match index {
                    None => -1,
                    Some(Value::Int(index)) => index,
                    _ => return Ok(None),
                };
                let Some(at) = Self::place_in(index, size) else {
                    return Err(self.raise("IndexError", "pop index out of range", range));
                };
                if let Some(Object::List(items)) = self.heap.get_mut(id) {
                    return Ok(Some(items.remove(at)));
                }
            }
            ("reverse" | "clear", None) => {
                if let Some(Object::List(items)) = self.heap.get_mut(id) {
                    if name == "clear" {
                        items.clear();
                    } else {
                        items.reverse();
                    }
                    return Ok(Some(Value::None));
                }
            }
            ("sort", _) => {
                let items = self.heap.children(id);
                let Some(sorted) = self.sorted(items, args, range)? else { return Ok(None) };
                self.heap.put(id, Object::List(sorted));
                return Ok(Some(Value::None));
            }
            _ => {}
        }
        Ok(None)
    }

    /// `index`, `count` and `remove` of a list.
    fn list_search(&mut self, id: Id, name: &str, item: &Value, range: TextRange) -> Run<Option<Value>> {
        let items = self.heap.children(id);
        if name == "remove" {
            for (at, other) in items.iter().enumerate() {
                match self.equal(other, item, 0) {
                    Some(true) => {
                        if let Some(Object::List(items)) = self.heap.get_mut(id) {
                            items.remove(at);
                        }
                        return Ok(Some(Value::None));
                    }
                    Some(false) => {}
                    None => return Ok(None),
                }
            }
            return Err(self.raise("ValueError", "it is not in the list", range));
        }
        let known: Option<Vec<bool>> = items.iter().map(|other| self.equal(other, item, 0)).collect();
        let Some(known) = known else { return Ok(None) };
        if name == "count" {
            let count = known.iter().filter(|same| **same).count();
            return Ok(Some(Value::Int(i64::try_from(count).unwrap_or(i64::MAX))));
        }
        match known.iter().position(|same| *same) {
            Some(at) => Ok(Some(Value::Int(i64::try_from(at).unwrap_or(i64::MAX)))),
            None => Err(self.raise("ValueError", "it is not in the list", range)),
        }
    }

    pub(super) fn dict_method(
        &mut self,
        id: Id,
        name: &str,
        args: &Args,
        range: TextRange,
    ) -> Run<Option<Value>> {
        let Some(Object::Dict(dict)) = self.heap.get(id).cloned() else { return Ok(None) };
        self.spend(dict.entries.len() / 4 + 1, range)?;
        let hashed = args.positional.first().and_then(Value::key);
        let default = args.positional.get(1).cloned();
        match name {
            "items" | "keys" | "values" | "iteritems" | "iterkeys" | "itervalues"
                if dict.vague().is_none() =>
            {
                let items = dict.entries.values().map(|entry| match name {
                    "keys" | "iterkeys" => entry.key.clone(),
                    "values" | "itervalues" => entry.value.clone(),
                    _ => Value::tuple(vec![entry.key.clone(), entry.value.clone()]),
                });
                if name.starts_with("iter") && self.target.python.major == 3 {
                    return Err(self.raise("AttributeError", &format!("no attribute '{name}'"), range));
                }
                Ok(Some(self.new_list(items.collect())))
            }
            "get" | "setdefault" | "pop" => {
                let Some(hashed) = hashed else { return Ok(None) };
                match dict.entries.get(&hashed) {
                    Some(entry) if entry.maybe.is_none() => {
                        if name == "pop" {
                            let mut dict = dict.clone();
                            dict.entries.shift_remove(&hashed);
                            self.heap.put(id, Object::Dict(dict));
                        }
                        Ok(Some(entry.value.clone()))
                    }
                    None if dict.open.is_none() => match (name, default) {
                        ("pop", None) => Err(self.raise("KeyError", "there is no such key", range)),
                        ("setdefault", default) => {
                            let value = default.unwrap_or(Value::None);
                            let key = args.positional.first().cloned().unwrap_or(Value::None);
                            self.set_item(&Value::Ref(id), key, value.clone(), range)?;
                            Ok(Some(value))
                        }
                        (_, default) => Ok(Some(default.unwrap_or(Value::None))),
                    },
                    _ => Ok(None),
                }
            }
            "has_key" => Ok(None),
            "copy" if args.positional.is_empty() => Ok(Some(Value::Ref(self.alloc(Object::Dict(dict))))),
            "clear" => {
                self.heap.put(id, Object::Dict(Dict::default()));
                Ok(Some(Value::None))
            }
            "update" => {
                let mut dict = dict;
                for value in &args.positional {
                    self.update(&mut dict, value, range)?;
                }
                for (name, value) in &args.keywords {
                    self.insert(&mut dict, Value::text(name.clone()), value.clone(), range);
                }
                self.heap.put(id, Object::Dict(dict));
                Ok(Some(Value::None))
            }
            _ => Ok(None),
        }
    }

    pub(super) fn set_method(
        &mut self,
        id: Id,
        name: &str,
        args: &Args,
        range: TextRange,
    ) -> Run<Option<Value>> {
        let Some(Object::Set(mut set)) = self.heap.get(id).cloned() else { return Ok(None) };
        self.spend(set.len() / 4 + 1, range)?;
        match name {
            "add" | "discard" => {
                let Some(item) = args.positional.first() else { return Ok(None) };
                let Some(key) = item.key() else { return Ok(None) };
                if name == "add" {
                    set.entry(key).or_insert_with(|| item.clone());
                } else {
                    set.shift_remove(&key);
                }
                self.heap.put(id, Object::Set(set));
                Ok(Some(Value::None))
            }
            "union" | "update" | "difference" | "intersection" => {
                let Some(other) = args.positional.first().cloned() else { return Ok(None) };
                let Ok(items) = self.iterate(&other, range)? else { return Ok(None) };
                let Some(keys) = items.iter().map(Value::key).collect::<Option<Vec<_>>>() else {
                    return Ok(None);
                };
                match name {
                    "difference" => set.retain(|key, _| !keys.contains(key)),
                    "intersection" => set.retain(|key, _| keys.contains(key)),
                    _ => {
                        for (key, item) in keys.into_iter().zip(items) {
                            set.entry(key).or_insert(item);
                        }
                    }
                }
                if name == "update" {
                    self.heap.put(id, Object::Set(set));
                    return Ok(Some(Value::None));
                }
                Ok(Some(Value::Ref(self.alloc(Object::Set(set)))))
            }
            "copy" => Ok(Some(Value::Ref(self.alloc(Object::Set(set))))),
            _ => Ok(None),
        }
    }

    /// Sorted items, where their order is known.
    pub(super) fn sorted(
        &mut self,
        items: Vec<Value>,
        args: &Args,
        range: TextRange,
    ) -> Run<Option<Vec<Value>>> {
        let length = items.len();
        self.spend_items(length.saturating_mul(8).min(super::interp::MAX_ITEMS), range)?;
        let mut keyed = Vec::with_capacity(length);
        let named = |name: &str| {
            args.keywords.iter().find(|(keyword, _)| &**keyword == name).map(|(_, value)| value.clone())
        };
        let key = named("key").filter(|key| !matches!(key, Value::None));
        for item in items {
            let by = match &key {
                Some(key) => self.call(key, Args::of(vec![item.clone()]), range)?,
                None => item.clone(),
            };
            keyed.push((by, item));
        }
        let is_known = keyed.windows(2).all(|pair| match pair {
            [a, b] => self.order(&a.0, &b.0, 0).is_some() && number_or_text(&a.0),
            _ => true,
        });
        if !is_known {
            return Ok(None);
        }
        let mut unknown = false;
        keyed.sort_by(|a, b| {
            self.order(&a.0, &b.0, 0).unwrap_or_else(|| {
                unknown = true;
                std::cmp::Ordering::Equal
            })
        });
        let reverse = match named("reverse") {
            None => false,
            Some(value) => match self.truth(&value, range)? {
                Some(flag) => flag,
                None => return Ok(None),
            },
        };
        if unknown || (reverse && key.is_some()) {
            return Ok(None);
        }
        let mut sorted: Vec<Value> = keyed.into_iter().map(|(_, item)| item).collect();
        if reverse {
            sorted.reverse();
        }
        Ok(Some(sorted))
    }

    /// A method of a value, where it can be computed.
    pub(super) fn method(
        &mut self,
        receiver: &Value,
        name: &str,
        args: &Args,
        range: TextRange,
    ) -> Run<Option<Value>> {
        match receiver {
            Value::Str(text) => self.text_method(&text.clone(), name, args, range),
            Value::Bytes(text) => match name {
                "decode" => Ok(Some(Value::Str(text.clone()))),
                _ => match self.text_method(&text.clone(), name, args, range)? {
                    Some(Value::Str(text)) => Ok(Some(Value::Bytes(text))),
                    _ => Ok(None),
                },
            },
            Value::Path(path) => self.path_method(&path.clone(), name, args, range),
            Value::Match(found) => Ok(self.match_method(&found.clone(), name, args)),
            Value::Pattern(pattern) => {
                let pattern = Value::Pattern(Rc::clone(pattern));
                let mut all = vec![pattern];
                all.extend(args.positional.iter().cloned());
                let args = Args { positional: all, keywords: args.keywords.clone(), open: None };
                self.regex_call(name, &args, range)
            }
            Value::Tuple(items) => {
                let id = self.list(items.to_vec());
                match name {
                    "index" | "count" => self.list_method(id, name, args, range),
                    _ => Ok(None),
                }
            }
            Value::Ref(id) => match self.heap.get(*id) {
                Some(Object::List(_)) => self.list_method(*id, name, args, range),
                Some(Object::Dict(_)) => self.dict_method(*id, name, args, range),
                Some(Object::Set(_)) => self.set_method(*id, name, args, range),
                Some(Object::File(_)) => self.file_method(*id, name, args, range),
                _ => Ok(None),
            },
            _ => Ok(None),
        }
    }
}

/// A total order is sure among numbers, texts and the like; not among what may be compared in part only.
fn number_or_text(value: &Value) -> bool {
    matches!(
        value,
        Value::Int(_)
            | Value::Float(_)
            | Value::Str(_)
            | Value::Version(_)
            | Value::Tuple(_)
            | Value::Bool(_)
    )
}
