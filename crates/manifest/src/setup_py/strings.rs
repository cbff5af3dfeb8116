//! Methods of strings, and the formats `%` and `.format()`.

use ruff_text_size::TextRange;

use super::function::Args;
use super::heap::Object;
use super::interp::{Interp, Run};
use super::value::{Str, Value};

/// The lines of a text, as `splitlines` and files give them.
pub(super) fn lines(text: &Str, keep_ends: bool) -> Vec<Str> {
    let mut ranges = Vec::new();
    let mut start = 0;
    for (at, _) in text.text.match_indices('\n') {
        ranges.push((start, if keep_ends { at + 1 } else { at }));
        start = at + 1;
    }
    if start < text.text.len() {
        ranges.push((start, text.text.len()));
    }
    text.parts(ranges)
}

/// Bytes are handled as texts.
fn as_texts(args: &Args) -> Args {
    let as_text = |value: &Value| match value {
        Value::Bytes(text) => Value::Str(text.clone()),
        value => value.clone(),
    };
    Args {
        positional: args.positional.iter().map(as_text).collect(),
        keywords: args.keywords.iter().map(|(name, value)| (name.clone(), as_text(value))).collect(),
        open: args.open.clone(),
    }
}

fn is_space(char: char) -> bool {
    char.is_whitespace() || ('\u{1c}'..='\u{1f}').contains(&char)
}

impl Interp<'_> {
    pub(super) fn text_method(
        &mut self,
        text: &Str,
        name: &str,
        args: &Args,
        range: TextRange,
    ) -> Run<Option<Value>> {
        self.spend_text(text.text.len(), range)?;
        let args = &as_texts(args);
        let part = |position: usize, name: &str| match args.get(position, name) {
            Some(Value::Str(text)) => Some(text.text.clone()),
            _ => None,
        };
        let given = args.positional.len() + args.keywords.len();
        let value = match (name, given) {
            ("strip" | "lstrip" | "rstrip", 0..=1) => {
                let chars = match args.get(0, "chars") {
                    None | Some(Value::None) => None,
                    Some(Value::Str(chars)) => Some(chars.text.clone()),
                    _ => return Ok(None),
                };
                let drop =
                    |char: char| chars.as_ref().map_or_else(|| is_space(char), |chars| chars.contains(char));
                Value::Str(text.trimmed(|text| match name {
                    "strip" => text.trim_matches(drop),
                    "lstrip" => text.trim_start_matches(drop),
                    _ => text.trim_end_matches(drop),
                }))
            }
            ("split" | "rsplit", 0..=2) => return self.split(text, name, args, range),
            ("splitlines", 0..=1) => {
                let keep = match args.get(0, "keepends") {
                    None => false,
                    Some(value) => match self.truth(&value.clone(), range)? {
                        Some(keep) => keep,
                        None => return Ok(None),
                    },
                };
                // Python breaks lines at more than newlines.
                if text.text.contains([
                    '\r', '\u{b}', '\u{c}', '\u{1c}', '\u{1d}', '\u{1e}', '\u{85}', '\u{2028}', '\u{2029}',
                ]) {
                    return Ok(None);
                }
                let lines = lines(text, keep);
                self.spend_items(lines.len(), range)?;
                self.new_list(lines.into_iter().map(Value::Str).collect())
            }
            ("replace", 2..) => return self.replace(text, args, range),
            ("join", 1) => return self.join_texts(text, args, range),
            ("startswith" | "endswith", 1) => {
                let affixes = match args.positional.first() {
                    Some(Value::Tuple(items)) => items.to_vec(),
                    Some(value) => vec![value.clone()],
                    None => return Ok(None),
                };
                let mut found = false;
                for affix in affixes {
                    let Value::Str(affix) = affix else { return Ok(None) };
                    found |= match name {
                        "startswith" => text.text.starts_with(&*affix.text),
                        _ => text.text.ends_with(&*affix.text),
                    };
                }
                Value::Bool(found)
            }
            ("removeprefix" | "removesuffix", 1) => {
                let Some(affix) = part(0, "") else { return Ok(None) };
                Value::Str(text.trimmed(|text| {
                    let left = if name == "removeprefix" {
                        text.strip_prefix(&*affix)
                    } else {
                        text.strip_suffix(&*affix)
                    };
                    left.unwrap_or(text)
                }))
            }
            ("partition" | "rpartition" | "find" | "rfind" | "index" | "rindex" | "count", 1) => {
                return self.search_method(text, name, args, range);
            }
            ("format", _) => return Ok(self.format(text, args, range)?.map(Value::Str)),
            ("encode", _) => Value::Bytes(text.clone()),
            // Texts stand for bytes here where a file was opened as binary.
            ("decode", _) => Value::Str(text.clone()),
            _ => return Ok(self.case_method(text, name, given)),
        };
        Ok(Some(value))
    }

    fn replace(&mut self, text: &Str, args: &Args, range: TextRange) -> Run<Option<Value>> {
        let (Some(Value::Str(old)), Some(Value::Str(new))) = (args.get(0, "old"), args.get(1, "new")) else {
            return Ok(None);
        };
        let (old, new) = (old.text.clone(), new.text.clone());
        let count = match args.get(2, "count") {
            None => usize::MAX,
            Some(Value::Int(count)) => usize::try_from(*count).unwrap_or(usize::MAX),
            _ => return Ok(None),
        };
        let matches = text.text.matches(&*old).count().min(count);
        let length = text.text.len().saturating_add(matches.saturating_mul(new.len()));
        self.spend_text(length, range)?;
        let replaced = text.text.replacen(&*old, &new, count);
        let advances = text.advances && !old.contains('\n') && !new.contains('\n');
        Ok(Some(Value::Str(Str { advances, ..text.with(replaced) })))
    }

    /// Methods that look for another text in this one.
    fn search_method(&self, text: &Str, name: &str, args: &Args, range: TextRange) -> Run<Option<Value>> {
        let Some(Value::Str(what)) = args.get(0, "") else { return Ok(None) };
        let what = what.text.clone();
        let value = match name {
            "partition" | "rpartition" => {
                let Some(by) = Some(&what).filter(|by| !by.is_empty()) else { return Ok(None) };
                let found = if name == "partition" { text.text.find(&**by) } else { text.text.rfind(&**by) };
                let length = text.text.len();
                let cuts = match found {
                    Some(at) => [(0, at), (at, at + by.len()), (at + by.len(), length)],
                    None if name == "partition" => [(0, length), (length, length), (length, length)],
                    None => [(0, 0), (0, 0), (0, length)],
                };
                Value::tuple(text.parts(cuts).into_iter().map(Value::Str).collect())
            }
            "find" | "rfind" | "index" | "rindex" if text.text.is_ascii() => {
                let found =
                    if name.starts_with('r') { text.text.rfind(&*what) } else { text.text.find(&*what) };
                match found {
                    Some(at) => Value::Int(i64::try_from(at).unwrap_or(i64::MAX)),
                    None if name.ends_with("find") => Value::Int(-1),
                    None => return Err(self.raise("ValueError", "substring not found", range)),
                }
            }
            "count" => {
                let Some(what) = Some(&what).filter(|what| !what.is_empty()) else { return Ok(None) };
                Value::Int(i64::try_from(text.text.matches(&**what).count()).unwrap_or(i64::MAX))
            }
            _ => return Ok(None),
        };
        Ok(Some(value))
    }

    fn case_method(&self, text: &Str, name: &str, given: usize) -> Option<Value> {
        if given > 0 || !text.text.is_ascii() {
            return None;
        }
        let kept = |changed: String| Value::Str(Str { advances: text.advances, ..text.with(changed) });
        let all = |test: fn(&u8) -> bool| !text.text.is_empty() && text.text.bytes().all(|byte| test(&byte));
        Some(match name {
            "lower" | "casefold" => kept(text.text.to_ascii_lowercase()),
            "upper" => kept(text.text.to_ascii_uppercase()),
            "capitalize" => {
                let lower = text.text.to_ascii_lowercase();
                let (first, rest) = lower.split_at_checked(1).unwrap_or((&lower, ""));
                kept(first.to_ascii_uppercase() + rest)
            }
            "isdigit" | "isnumeric" | "isdecimal" => Value::Bool(all(u8::is_ascii_digit)),
            "isalpha" => Value::Bool(all(u8::is_ascii_alphabetic)),
            "isalnum" => Value::Bool(all(u8::is_ascii_alphanumeric)),
            "isspace" => Value::Bool(!text.text.is_empty() && text.text.chars().all(is_space)),
            _ => return None,
        })
    }

    fn split(&mut self, text: &Str, name: &str, args: &Args, range: TextRange) -> Run<Option<Value>> {
        let limit = match args.get(1, "maxsplit") {
            None => None,
            Some(Value::Int(limit)) => usize::try_from(*limit).ok(),
            _ => return Ok(None),
        };
        let ranges: Vec<(usize, usize)> = match args.get(0, "sep") {
            None | Some(Value::None) => match words(&text.text, limit, name == "rsplit") {
                Some(ranges) => ranges,
                None => return Ok(None),
            },
            Some(Value::Str(by)) if !by.text.is_empty() => {
                let mut cuts: Vec<usize> = if name == "rsplit" {
                    text.text
                        .rmatch_indices(&*by.text)
                        .map(|(at, _)| at)
                        .take(limit.unwrap_or(usize::MAX))
                        .collect()
                } else {
                    text.text
                        .match_indices(&*by.text)
                        .map(|(at, _)| at)
                        .take(limit.unwrap_or(usize::MAX))
                        .collect()
                };
                cuts.sort_unstable();
                let mut start = 0;
                let mut ranges = Vec::new();
                for cut in cuts {
                    ranges.push((start, cut));
                    start = cut + by.text.len();
                }
                ranges.push((start, text.text.len()));
                ranges
            }
            _ => return Ok(None),
        };
        self.spend_items(ranges.len(), range)?;
        let parts = text.parts(ranges).into_iter().map(Value::Str).collect();
        Ok(Some(self.new_list(parts)))
    }

    fn join_texts(&mut self, by: &Str, args: &Args, range: TextRange) -> Run<Option<Value>> {
        let Some(iterable) = args.positional.first().cloned() else { return Ok(None) };
        let Ok(items) = self.iterate(&iterable, range)? else { return Ok(None) };
        let mut joined: Option<Str> = None;
        let mut text = String::new();
        for (at, item) in items.iter().enumerate() {
            let Value::Str(item) = item else { return Ok(None) };
            if at > 0 {
                text.push_str(&by.text);
            }
            text.push_str(&item.text);
            self.spend(item.text.len() / 64, range)?;
            if text.len() > super::interp::MAX_TEXT {
                return Err(self.fatal(range, "a text grows too long"));
            }
            if joined.is_none() && item.origin.is_some() {
                joined = Some(item.clone());
            }
        }
        let place = joined.unwrap_or_else(|| by.clone());
        // Lines that were split and put together again are still the file's.
        let advances = place.advances && (&*by.text == "\n" || (*by.text).is_empty()) && is_run(&items);
        Ok(Some(Value::Str(Str { advances, ..place.with(text) })))
    }

    /// `template % value`.
    pub(super) fn percent(&mut self, template: &Str, value: &Value, range: TextRange) -> Run<Option<Value>> {
        let mut positional = match value {
            Value::Tuple(items) => items.to_vec(),
            other => vec![other.clone()],
        }
        .into_iter();
        let mut out = String::new();
        let mut rest = &*template.text;
        let mut is_named = false;
        while let Some(at) = rest.find('%') {
            out.push_str(rest.get(..at).unwrap_or_default());
            rest = rest.get(at + 1..).unwrap_or_default();
            let mut item = None;
            if let Some(inner) = rest.strip_prefix('(') {
                let Some((name, after)) = inner.split_once(')') else { return Ok(None) };
                is_named = true;
                item = Some(self.subscript(value, &Value::text(name), range)?);
                rest = after;
            }
            let digits = rest.len() - rest.trim_start_matches(|char: char| char.is_ascii_digit()).len();
            let (width, after) = rest.split_at_checked(digits).unwrap_or(("", rest));
            let mut chars = after.chars();
            let kind = chars.next();
            rest = chars.as_str();
            if kind == Some('%') && width.is_empty() && item.is_none() {
                out.push('%');
                continue;
            }
            let Some(item) = item.or_else(|| positional.next()) else {
                return Err(self.raise("TypeError", "not enough arguments for format string", range));
            };
            let shown = match (kind, &item) {
                (Some('s'), item) => self.text_of(item),
                (Some('r'), item) => self.repr(item, 0),
                (Some('d' | 'i'), Value::Int(number)) => Some(number.to_string().into()),
                _ => None,
            };
            let Some(shown) = shown else { return Ok(None) };
            let padding = width.parse::<usize>().unwrap_or(0).min(1_000);
            let fill = if width.starts_with('0') && kind != Some('s') { "0" } else { " " };
            if fill == "0" && shown.starts_with('-') {
                return Ok(None);
            }
            out.push_str(&fill.repeat(padding.saturating_sub(shown.chars().count())));
            out.push_str(&shown);
            self.spend_text(out.len(), range)?;
        }
        if positional.next().is_some() && !is_named {
            // A dict may be given and not used.
            if !matches!(self.object(value), Some(Object::Dict(_))) {
                return Err(self.raise("TypeError", "not all arguments converted", range));
            }
        }
        out.push_str(rest);
        self.spend_text(out.len(), range)?;
        Ok(Some(Value::Str(template.with(out))))
    }

    /// `template.format(...)`; `None` where a field asks for more than a plain value.
    fn format(&mut self, template: &Str, args: &Args, range: TextRange) -> Run<Option<Str>> {
        let mut out = String::new();
        let mut rest = &*template.text;
        let mut next = 0_usize;
        while let Some(at) = rest.find(['{', '}']) {
            out.push_str(rest.get(..at).unwrap_or_default());
            let tail = rest.get(at..).unwrap_or_default();
            if let Some(after) = tail.strip_prefix("{{").or_else(|| tail.strip_prefix("}}")) {
                out.push_str(tail.get(..1).unwrap_or_default());
                rest = after;
                continue;
            }
            let Some((field, after)) = tail.strip_prefix('{').and_then(|inner| inner.split_once('}')) else {
                return Ok(None);
            };
            rest = after;
            let (field, is_repr) = match field.strip_suffix("!r") {
                Some(field) => (field, true),
                None => (field.strip_suffix("!s").unwrap_or(field), false),
            };
            if field.contains(['{', ':', '!', '[']) {
                return Ok(None);
            }
            let mut path = field.split('.');
            let name = path.next().unwrap_or_default();
            let mut value = if name.is_empty() {
                next += 1;
                args.positional.get(next - 1).cloned()
            } else if let Ok(at) = name.parse::<usize>() {
                args.positional.get(at).cloned()
            } else {
                args.keywords.iter().find(|(keyword, _)| &**keyword == name).map(|(_, value)| value.clone())
            };
            for attribute in path {
                value = match value {
                    Some(value) => Some(self.attribute(&value, attribute, range)?),
                    None => None,
                };
            }
            let Some(value) = value else {
                return Err(self.raise("IndexError", "a field of the format has no value", range));
            };
            let shown = if is_repr { self.repr(&value, 0) } else { self.text_of(&value) };
            let Some(shown) = shown else { return Ok(None) };
            out.push_str(&shown);
            self.spend_text(out.len(), range)?;
        }
        out.push_str(rest);
        Ok(Some(template.with(out)))
    }
}

/// Whether texts stand on one line after the other.
fn is_run(items: &[Value]) -> bool {
    let line = |value: &Value| match value {
        Value::Str(text) => text.origin.as_ref().map(|origin| (origin.file.clone(), origin.line)),
        _ => None,
    };
    items.windows(2).all(|pair| match pair {
        [a, b] => match (line(a), line(b)) {
            (Some(a), Some(b)) => a.0 == b.0 && b.1 == a.1.saturating_add(1),
            _ => false,
        },
        _ => true,
    })
}

/// The words of a text; `None` for what is not computed.
fn words(text: &str, limit: Option<usize>, from_right: bool) -> Option<Vec<(usize, usize)>> {
    if from_right && limit.is_some() {
        return None;
    }
    let mut ranges = Vec::new();
    let mut at = 0;
    loop {
        let rest = text.get(at..)?;
        let start = at + rest.len() - rest.trim_start_matches(is_space).len();
        if start >= text.len() {
            return Some(ranges);
        }
        if limit.is_some_and(|limit| ranges.len() >= limit) {
            ranges.push((start, text.len()));
            return Some(ranges);
        }
        let end = text.get(start..)?.find(is_space).map_or(text.len(), |length| start + length);
        ranges.push((start, end));
        at = end;
    }
}
