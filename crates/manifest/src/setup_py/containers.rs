//! Lists, tuples, dicts and sets: items, iteration and methods.

use indexmap::IndexMap;
use ruff_text_size::TextRange;

use super::heap::{Dict, Entry, Object};
use super::interp::{Interp, Run};
use super::value::{Id, Str, Value, Why};

impl Interp<'_> {
    /// The items of an iterable, or why they are not known. What can be iterated over once is used up.
    pub(super) fn iterate(&mut self, value: &Value, range: TextRange) -> Run<Result<Vec<Value>, Why>> {
        let items = match value {
            Value::Tuple(items) => items.to_vec(),
            Value::Str(text) => {
                self.spend_items(text.text.len(), range)?;
                let ranges: Vec<(usize, usize)> =
                    text.text.char_indices().map(|(at, char)| (at, at + char.len_utf8())).collect();
                text.parts(ranges).into_iter().map(Value::Str).collect()
            }
            Value::Ref(id) => match self.heap.get(*id) {
                Some(Object::List(items)) => items.clone(),
                Some(Object::Iterator(_)) => {
                    let Some(Object::Iterator(items)) = self.heap.get_mut(*id) else {
                        return Ok(Ok(Vec::new()));
                    };
                    std::mem::take(items)
                }
                Some(Object::Set(items)) => items.values().cloned().collect(),
                Some(Object::Dict(dict)) => match dict.vague() {
                    Some(why) => return Ok(Err(why)),
                    None => dict.entries.values().map(|entry| entry.key.clone()).collect(),
                },
                Some(Object::File(_)) => {
                    let Some(text) = self.read_rest(*id) else { return Ok(Ok(Vec::new())) };
                    self.spend_text(text.text.len(), range)?;
                    super::strings::lines(&text, true).into_iter().map(Value::Str).collect()
                }
                _ => return Ok(Err(self.why_not_iterated(value, range))),
            },
            _ => return Ok(Err(self.why_not_iterated(value, range))),
        };
        self.spend_items(items.len(), range)?;
        Ok(Ok(items))
    }

    fn why_not_iterated(&mut self, value: &Value, range: TextRange) -> Why {
        self.lose(value);
        self.reason_in(value, 0).unwrap_or_else(|| self.why(range, "this is not iterated over"))
    }

    /// Reads the rest of an open file.
    pub(super) fn read_rest(&mut self, id: Id) -> Option<Str> {
        match self.heap.get_mut(id) {
            Some(Object::File(file)) => {
                let at = std::mem::replace(&mut file.at, file.text.text.len());
                Some(file.text.part(at, file.text.text.len()))
            }
            _ => None,
        }
    }

    pub(super) fn new_set(&mut self, items: &[Value], range: TextRange) -> Run<Value> {
        self.spend_items(items.len(), range)?;
        let mut set = IndexMap::new();
        for item in items {
            let Some(key) = item.key() else {
                let all = Value::tuple(items.to_vec());
                return Ok(self.as_unknown(&all, range, "this set is not evaluated"));
            };
            set.entry(key).or_insert_with(|| item.clone());
        }
        Ok(Value::Ref(self.alloc(Object::Set(set))))
    }

    /// The place that an index of Python's means in a sequence of a length.
    pub(super) fn place_in(index: i64, length: usize) -> Option<usize> {
        let length = i64::try_from(length).ok()?;
        let index = if index < 0 { index.checked_add(length)? } else { index };
        if (0..length).contains(&index) { usize::try_from(index).ok() } else { None }
    }

    pub(super) fn subscript(&mut self, value: &Value, key: &Value, range: TextRange) -> Run<Value> {
        if let Value::Builtin(name) = value {
            return self.builtin_item(&name.clone(), key, range);
        }
        let found = match (value, key) {
            (Value::Unknown(_), _) | (_, Value::Unknown(_)) => None,
            (Value::Str(text), Value::Slice(slice)) => self.slice_text(text, slice, range)?.map(Value::Str),
            (Value::Str(text), Value::Int(index)) => {
                let chars: Vec<(usize, char)> = text.text.char_indices().collect();
                self.spend(chars.len() / 64, range)?;
                match Self::place_in(*index, chars.len()).and_then(|at| chars.get(at).copied()) {
                    Some((at, char)) => Some(Value::Str(text.part(at, at + char.len_utf8()))),
                    None => return Err(self.raise("IndexError", "string index out of range", range)),
                }
            }
            (Value::Tuple(items), _) => self.item_of(items, key, range, true)?,
            (Value::Match(found), _) => self.group(&found.clone(), key),
            (Value::Ref(id), _) => match self.heap.get(*id) {
                Some(Object::List(items)) => {
                    let items = items.clone();
                    self.spend(items.len() / 16, range)?;
                    self.item_of(&items, key, range, false)?
                }
                Some(Object::Dict(dict)) => match key.key() {
                    None => None,
                    Some(hashed) => match dict.entries.get(&hashed) {
                        Some(entry) if entry.maybe.is_none() => Some(entry.value.clone()),
                        None if dict.open.is_none() => {
                            return Err(self.raise("KeyError", "there is no such key", range));
                        }
                        _ => None,
                    },
                },
                _ => None,
            },
            _ => None,
        };
        match found {
            Some(found) => Ok(found),
            None => {
                let why = self
                    .reason_in(value, 0)
                    .or_else(|| self.reason_in(key, 0))
                    .unwrap_or_else(|| self.why(range, "this item is not evaluated"));
                self.lose_all(&[value.clone(), key.clone()]);
                self.may_raise(&why, range)?;
                Ok(Value::Unknown(why))
            }
        }
    }

    fn item_of(
        &mut self,
        items: &[Value],
        key: &Value,
        range: TextRange,
        is_tuple: bool,
    ) -> Run<Option<Value>> {
        match key {
            Value::Int(index) => match Self::place_in(*index, items.len()).and_then(|at| items.get(at)) {
                Some(item) => Ok(Some(item.clone())),
                None => Err(self.raise("IndexError", "index out of range", range)),
            },
            Value::Slice(slice) => {
                let Some(places) = slice_places(slice, items.len()) else { return Ok(None) };
                let part: Vec<Value> = places.iter().filter_map(|at| items.get(*at).cloned()).collect();
                self.spend_items(part.len(), range)?;
                Ok(Some(if is_tuple { Value::tuple(part) } else { self.new_list(part) }))
            }
            _ => Ok(None),
        }
    }

    fn slice_text(&mut self, text: &Str, slice: &[Value; 3], range: TextRange) -> Run<Option<Str>> {
        self.spend_text(text.text.len(), range)?;
        let starts: Vec<usize> =
            text.text.char_indices().map(|(at, _)| at).chain([text.text.len()]).collect();
        let Some(places) = slice_places(slice, starts.len() - 1) else { return Ok(None) };
        let (Some(first), Some(last)) = (places.first(), places.last()) else {
            return Ok(Some(text.with("")));
        };
        if places.len() == last.saturating_sub(*first) + 1 {
            let (Some(start), Some(end)) = (starts.get(*first), starts.get(last + 1)) else {
                return Ok(None);
            };
            return Ok(Some(text.part(*start, *end)));
        }
        let picked: String =
            places.iter().filter_map(|at| text.text.get(*starts.get(*at)?..*starts.get(at + 1)?)).collect();
        Ok(Some(text.with(picked)))
    }

    pub(super) fn set_item(
        &mut self,
        container: &Value,
        key: Value,
        value: Value,
        range: TextRange,
    ) -> Run<()> {
        if let Value::Ref(id) = container {
            self.spend(self.heap.size(*id) / 64, range)?;
            match self.heap.get(*id) {
                Some(Object::Dict(dict)) => {
                    let size = dict.entries.len();
                    let Some(Object::Dict(dict)) = self.heap.get_mut(*id) else { return Ok(()) };
                    let mut dict = std::mem::take(dict);
                    self.insert(&mut dict, key, value, range);
                    self.heap.put(*id, Object::Dict(dict));
                    return self.spend_items(size / 64, range);
                }
                Some(Object::List(items)) => {
                    let length = items.len();
                    if let Value::Int(index) = &key {
                        let Some(at) = Self::place_in(*index, length) else {
                            return Err(self.raise("IndexError", "index out of range", range));
                        };
                        if let Some(Object::List(items)) = self.heap.get_mut(*id)
                            && let Some(slot) = items.get_mut(at)
                        {
                            *slot = value;
                        }
                        return Ok(());
                    }
                    if let Value::Slice(slice) = &key
                        && let [Value::None, Value::None, Value::None] = &**slice
                        && let Ok(new) = self.iterate(&value, range)?
                    {
                        self.heap.put(*id, Object::List(new));
                        return Ok(());
                    }
                }
                _ => {}
            }
        }
        if let Value::Builtin(_) = container {
            self.lose(&value);
            return Ok(());
        }
        let why = self
            .reason_in(container, 0)
            .or_else(|| self.reason_in(&key, 0))
            .unwrap_or_else(|| self.why(range, "this assignment is not evaluated"));
        self.havoc(&[container.clone(), value], &why, range)
    }

    pub(super) fn delete_item(&mut self, container: &Value, key: &Value, range: TextRange) -> Run<()> {
        if let Value::Ref(id) = container {
            self.spend(self.heap.size(*id) / 16 + 1, range)?;
            match (self.heap.get_mut(*id), key.key()) {
                (Some(Object::Dict(dict)), Some(hashed)) if dict.open.is_none() => {
                    match dict.entries.get(&hashed) {
                        Some(entry) if entry.maybe.is_none() => {
                            dict.entries.shift_remove(&hashed);
                            return Ok(());
                        }
                        None => return Err(self.raise("KeyError", "there is no such key", range)),
                        _ => {}
                    }
                }
                (Some(Object::List(items)), _) => {
                    let places = match key {
                        Value::Int(index) => Self::place_in(*index, items.len()).map(|at| vec![at]),
                        Value::Slice(slice) => slice_places(slice, items.len()),
                        _ => None,
                    };
                    if let Some(places) = places {
                        let mut at = 0;
                        items.retain(|_| {
                            at += 1;
                            !places.contains(&(at - 1))
                        });
                        return Ok(());
                    }
                }
                _ => {}
            }
        }
        if let Value::Builtin(_) = container {
            return Ok(());
        }
        let why = self
            .reason_in(container, 0)
            .or_else(|| self.reason_in(key, 0))
            .unwrap_or_else(|| self.why(range, "this deletion is not evaluated"));
        self.havoc(std::slice::from_ref(container), &why, range)?;
        self.may_raise(&why, range)
    }

    pub(super) fn append(&mut self, list: &Value, item: Value, range: TextRange) -> Run<()> {
        if let Value::Ref(id) = list {
            let size = self.heap.size(*id);
            self.spend_items(size / 64, range)?;
            if size >= super::interp::MAX_ITEMS {
                self.spend_items(size + 1, range)?;
            }
            if let Some(Object::List(items)) = self.heap.get_mut(*id) {
                items.push(item);
                return Ok(());
            }
        }
        self.lose(&item);
        Ok(())
    }

    /// `list.extend(value)`.
    pub(super) fn extend(&mut self, list: &Value, value: &Value, range: TextRange) -> Run<()> {
        let Value::Ref(id) = list else { return Ok(()) };
        match self.iterate(value, range)? {
            Ok(more) => {
                self.spend_items(self.heap.size(*id) + more.len(), range)?;
                if let Some(Object::List(items)) = self.heap.get_mut(*id) {
                    items.extend(more);
                }
            }
            Err(why) => {
                let children = self.heap.children(*id);
                self.lose_all(&children);
                self.heap.put(*id, Object::Opaque(why));
            }
        }
        Ok(())
    }

    /// `dict.update(value)`.
    pub(super) fn update(&mut self, dict: &mut Dict, value: &Value, range: TextRange) -> Run<()> {
        if let Some(Object::Dict(other)) = self.object(value).cloned() {
            self.spend_items(dict.entries.len() + other.entries.len(), range)?;
            if dict.open.is_none() {
                dict.open.clone_from(&other.open);
            }
            if let Some(why) = &other.open {
                self.blur(dict, why);
            }
            for (key, entry) in other.entries {
                match (&entry.maybe, dict.entries.get_mut(&key)) {
                    (None, Some(own)) => {
                        *own = Entry { key: own.key.clone(), ..entry };
                    }
                    (Some(why), Some(own)) => {
                        let why = why.clone();
                        let both = [own.value.clone(), entry.value.clone()];
                        own.value = Value::Unknown(why);
                        self.lose_all(&both);
                    }
                    (_, None) => {
                        dict.entries.insert(key, entry);
                    }
                }
            }
            return Ok(());
        }
        if let Ok(pairs) = self.iterate(value, range)? {
            let mut known = Vec::new();
            for pair in pairs {
                match self.iterate(&pair, range)? {
                    Ok(pair) if pair.len() == 2 => known.push(pair),
                    _ => {
                        known.clear();
                        break;
                    }
                }
            }
            if !known.is_empty() {
                for pair in known {
                    if let [key, value] = &pair[..] {
                        self.insert(dict, key.clone(), value.clone(), range);
                    }
                }
                return Ok(());
            }
            if matches!(self.object(value), Some(Object::List(items)) if items.is_empty()) {
                return Ok(());
            }
        }
        let Value::Unknown(why) = self.as_unknown(value, range, "this update is not evaluated") else {
            return Ok(());
        };
        self.blur(dict, &why);
        dict.open = Some(why);
        Ok(())
    }

    /// Any entry may have been replaced.
    fn blur(&mut self, dict: &mut Dict, why: &Why) {
        for entry in dict.entries.values_mut() {
            self.lose(&entry.value);
            entry.value = Value::Unknown(why.clone());
        }
    }
}

/// The places that a slice takes, in order.
fn slice_places(slice: &[Value; 3], length: usize) -> Option<Vec<usize>> {
    let bound = |value: &Value| match value {
        Value::None => Some(None),
        Value::Int(number) => Some(Some(*number)),
        _ => None,
    };
    let [start, stop, step] = slice;
    let (start, stop) = (bound(start)?, bound(stop)?);
    let step = bound(step)?.unwrap_or(1);
    let length = i64::try_from(length).ok()?;
    let clamp = |value: i64, low: i64, high: i64| {
        let value = if value < 0 { value.saturating_add(length) } else { value };
        value.clamp(low, high)
    };
    let mut places = Vec::new();
    match step {
        0 => return None,
        1.. => {
            let (mut at, stop) =
                (clamp(start.unwrap_or(0), 0, length), clamp(stop.unwrap_or(length), 0, length));
            while at < stop {
                places.push(usize::try_from(at).ok()?);
                at = at.saturating_add(step);
            }
        }
        _ => {
            let mut at = start.map_or(length - 1, |start| clamp(start, -1, length - 1));
            let stop = stop.map_or(-1, |stop| clamp(stop, -1, length - 1));
            while at > stop {
                places.push(usize::try_from(at).ok()?);
                at = at.saturating_add(step);
            }
        }
    }
    Some(places)
}
