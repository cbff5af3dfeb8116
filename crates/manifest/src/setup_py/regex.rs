//! `re`: Python's patterns, put into the words of fancy-regex, and its functions.

use std::rc::Rc;

use ruff_text_size::TextRange;

use super::function::Args;
use super::interp::{Interp, Run};
use super::value::{Match, Pattern, Str, Value};

/// How much a pattern may try before it is given up, how large it may get, and how long it may be.
const MAX_BACKTRACK: usize = 200_000;
const MAX_COMPILED: usize = 1 << 20;
const MAX_PATTERN: usize = 4_000;

/// Flags of Python's `re` that have a letter.
const FLAGS: [(i64, char); 4] = [(2, 'i'), (8, 'm'), (16, 's'), (64, 'x')];

/// Puts a pattern of Python's into the words of fancy-regex; `None` for what is not known to mean the same there.
fn translate(pattern: &str, flags: i64) -> Option<String> {
    let multiline =
        flags & 8 != 0 || pattern.contains("(?m") || pattern.contains("(?sm") || pattern.contains("(?im");
    let letters: String =
        FLAGS.iter().filter(|(flag, _)| flags & flag != 0).map(|(_, letter)| *letter).collect();
    let mut out = if letters.is_empty() { String::new() } else { format!("(?{letters})") };
    let mut chars = pattern.chars().peekable();
    let mut in_class = false;
    let mut at_class_start = false;
    while let Some(char) = chars.next() {
        let at_start = std::mem::take(&mut at_class_start);
        match char {
            '\\' => match chars.next()? {
                'Z' if !in_class => out.push_str("\\z"),
                escaped if "AbBdDsSwWntrfv123456789".contains(escaped) => {
                    if in_class && "AbB123456789".contains(escaped) {
                        return None;
                    }
                    out.push('\\');
                    out.push(escaped);
                }
                escaped if escaped.is_ascii_alphanumeric() => return None,
                escaped => push_literal(&mut out, escaped),
            },
            '[' if !in_class => {
                in_class = true;
                at_class_start = true;
                out.push('[');
                if chars.next_if_eq(&'^').is_some() {
                    out.push('^');
                }
            }
            ']' if in_class && !at_start => {
                in_class = false;
                out.push(']');
            }
            '[' | ']' | '&' | '~' if in_class => push_literal(&mut out, char),
            '-' if in_class && chars.peek() == Some(&'-') => return None,
            '$' if !in_class && !multiline => out.push_str("(?=\\n?\\z)"),
            '{' if !in_class && !chars.peek().is_some_and(char::is_ascii_digit) => out.push_str("\\{"),
            other => out.push(other),
        }
    }
    Some(out)
}

/// A character that stands for itself.
fn push_literal(out: &mut String, char: char) {
    if char.is_ascii_punctuation()
        && !matches!(char, '<' | '>' | '_' | '\'' | '"' | '/' | '=' | ':' | '!' | ',' | ';' | '@' | '%' | '`')
    {
        out.push('\\');
    }
    out.push(char);
}

/// A pattern of Python's, to be searched for; `None` for what is not known to mean the same here.
pub(crate) fn python_pattern(pattern: &str, flags: i64) -> Option<fancy_regex::Regex> {
    compiled(pattern, flags, false, false)
}

fn compiled(pattern: &str, flags: i64, at_start: bool, whole: bool) -> Option<fancy_regex::Regex> {
    if pattern.len() > MAX_PATTERN || flags & !(2 | 8 | 16 | 32 | 64) != 0 {
        return None;
    }
    let mut translated = translate(pattern, flags)?;
    if at_start || whole {
        // Flags in the middle are those of the whole pattern in Python.
        let end = if whole { "\\z" } else { "" };
        translated = format!("\\A(?:{translated}){end}");
    }
    fancy_regex::RegexBuilder::new(&translated)
        .backtrack_limit(MAX_BACKTRACK)
        .delegate_size_limit(MAX_COMPILED)
        .delegate_dfa_size_limit(MAX_COMPILED)
        .build()
        .ok()
}

impl Interp<'_> {
    pub(super) fn regex_call(&mut self, name: &str, args: &Args, range: TextRange) -> Run<Option<Value>> {
        let is_compiled = matches!(args.positional.first(), Some(Value::Pattern(_)));
        let flag_place = match name {
            "compile" | "escape" => 1,
            "split" => 3,
            "sub" | "subn" => 4,
            _ => 2,
        };
        let flags = match args.get(flag_place, "flags") {
            None => 0,
            Some(Value::Int(flags)) if !is_compiled => *flags,
            Some(_) => return Ok(None),
        };
        if name == "escape" {
            return Ok(None);
        }
        let Some(pattern) = self.pattern(args.get(0, "pattern"), flags, name == "match", name == "fullmatch")
        else {
            return Ok(None);
        };
        if name == "compile" {
            return Ok(Some(Value::Pattern(Rc::new(pattern))));
        }
        if matches!(name, "sub" | "split") {
            let Some(Value::Str(subject)) = args.get(if name == "sub" { 2 } else { 1 }, "string") else {
                return Ok(None);
            };
            let subject = subject.clone();
            self.spend_text(subject.text.len() * 4, range)?;
            return if name == "sub" {
                self.substitute(&pattern, args, &subject, range)
            } else if args.positional.len() > 2 || !args.keywords.is_empty() {
                Ok(None)
            } else {
                self.split_by(&pattern, &subject, range)
            };
        }
        let Some(Value::Str(subject)) = args.get(1, "string") else { return Ok(None) };
        if args.positional.len() > 2 && is_compiled {
            return Ok(None);
        }
        let subject = subject.clone();
        self.spend_text(subject.text.len() * 4, range)?;
        match name {
            "search" | "match" | "fullmatch" => match find(&pattern, &subject, 0) {
                Ok(Some(found)) => Ok(Some(Value::Match(Rc::new(found)))),
                Ok(None) => Ok(Some(Value::None)),
                Err(()) => Ok(None),
            },
            "findall" | "finditer" => {
                let Some(all) = self.find_all(&pattern, &subject, range)? else { return Ok(None) };
                let items = all.into_iter().map(|found| match name {
                    "finditer" => Value::Match(Rc::new(found)),
                    _ => groups_of(&found),
                });
                let items = items.collect();
                Ok(Some(if name == "findall" { self.new_list(items) } else { self.new_iterator(items) }))
            }
            _ => Ok(None),
        }
    }

    fn pattern(&self, value: Option<&Value>, flags: i64, at_start: bool, whole: bool) -> Option<Pattern> {
        let (source, flags) = match value? {
            Value::Pattern(pattern) => (pattern.source.clone(), pattern.flags),
            Value::Str(source) => (source.clone(), flags),
            _ => return None,
        };
        let regex = compiled(&source.text, flags, at_start, whole)?;
        Some(Pattern { source, flags, regex })
    }

    fn find_all(&mut self, pattern: &Pattern, subject: &Str, range: TextRange) -> Run<Option<Vec<Match>>> {
        let mut all = Vec::new();
        let mut at = 0;
        while at <= subject.text.len() {
            self.spend(subject.text.len() / 256 + 4, range)?;
            let found = match find(pattern, subject, at) {
                Ok(Some(found)) => found,
                Ok(None) => break,
                Err(()) => return Ok(None),
            };
            let Some(Some((start, end))) = found.groups.first().copied() else { break };
            // After an empty match, the search goes on one character later.
            at = if end > start {
                end
            } else {
                end + subject.text.get(end..).and_then(|rest| rest.chars().next()).map_or(1, char::len_utf8)
            };
            all.push(found);
            self.spend_items(all.len() / 16, range)?;
        }
        Ok(Some(all))
    }

    fn substitute(
        &mut self,
        pattern: &Pattern,
        args: &Args,
        subject: &Str,
        range: TextRange,
    ) -> Run<Option<Value>> {
        if args.positional.len() > 3 && !matches!(args.positional.get(3), Some(Value::Int(0))) {
            return Ok(None);
        }
        if args.keywords.iter().any(|(name, _)| &**name == "count") {
            return Ok(None);
        }
        let Some(replacement) = args.get(1, "repl").cloned() else { return Ok(None) };
        let Some(all) = self.find_all(pattern, subject, range)? else { return Ok(None) };
        let mut out = String::new();
        let mut last = 0;
        for found in all {
            let Some(Some((start, end))) = found.groups.first().copied() else { continue };
            out.push_str(subject.text.get(last..start).unwrap_or_default());
            let new = match &replacement {
                Value::Str(template) => expand(&template.text, &found),
                Value::Function(_) => {
                    match self.call(&replacement, Args::of(vec![Value::Match(Rc::new(found))]), range)? {
                        Value::Str(text) => Some(text.text.to_string()),
                        _ => None,
                    }
                }
                _ => None,
            };
            let Some(new) = new else { return Ok(None) };
            out.push_str(&new);
            self.spend_text(out.len(), range)?;
            last = end;
        }
        out.push_str(subject.text.get(last..).unwrap_or_default());
        self.spend_text(out.len(), range)?;
        let advances = subject.advances && out.matches('\n').count() == subject.text.matches('\n').count();
        Ok(Some(Value::Str(Str { advances, ..subject.with(out) })))
    }

    fn split_by(&mut self, pattern: &Pattern, subject: &Str, range: TextRange) -> Run<Option<Value>> {
        let Some(all) = self.find_all(pattern, subject, range)? else { return Ok(None) };
        let mut parts = Vec::new();
        let mut last = 0;
        for found in all {
            let Some(Some((start, end))) = found.groups.first().copied() else { continue };
            if start == end {
                return Ok(None);
            }
            parts.push(Value::Str(subject.part(last, start)));
            for group in found.groups.iter().skip(1) {
                parts.push(group.map_or(Value::None, |(start, end)| Value::Str(subject.part(start, end))));
            }
            last = end;
        }
        parts.push(Value::Str(subject.part(last, subject.text.len())));
        Ok(Some(self.new_list(parts)))
    }

    /// A group of a match by number or name.
    pub(super) fn group(&self, found: &Match, key: &Value) -> Option<Value> {
        let at = match key {
            Value::Int(at) => usize::try_from(*at).ok()?,
            Value::Str(name) => found.names.iter().find(|(known, _)| **known == *name.text)?.1,
            _ => return None,
        };
        found.groups.get(at).map(|group| match group {
            Some((start, end)) => Value::Str(found.subject.part(*start, *end)),
            None => Value::None,
        })
    }

    pub(super) fn match_method(&mut self, found: &Match, name: &str, args: &Args) -> Option<Value> {
        match (name, &args.positional[..]) {
            ("group", []) => self.group(found, &Value::Int(0)),
            ("group", [key]) => self.group(found, key),
            ("group", keys) => {
                keys.iter().map(|key| self.group(found, key)).collect::<Option<Vec<_>>>().map(Value::tuple)
            }
            ("groups", []) => {
                let count = i64::try_from(found.groups.len()).ok()?;
                (1..count)
                    .map(|at| self.group(found, &Value::Int(at)))
                    .collect::<Option<Vec<_>>>()
                    .map(Value::tuple)
            }
            ("groupdict", []) => {
                let mut dict = super::heap::Dict::default();
                for (name, _) in &found.names {
                    let value = self.group(found, &Value::text(name.as_str()))?;
                    self.insert(&mut dict, Value::text(name.as_str()), value, TextRange::default());
                }
                Some(Value::Ref(self.alloc(super::heap::Object::Dict(dict))))
            }
            ("start" | "end", []) if found.subject.text.is_ascii() => {
                let (start, end) = (*found.groups.first()?)?;
                i64::try_from(if name == "start" { start } else { end }).ok().map(Value::Int)
            }
            _ => None,
        }
    }
}

fn find(pattern: &Pattern, subject: &Str, at: usize) -> Result<Option<Match>, ()> {
    let found = pattern.regex.captures_from_pos(&*subject.text, at).map_err(|_| ())?;
    Ok(found.map(|captures| Match {
        subject: subject.clone(),
        groups: (0..captures.len())
            .map(|at| captures.get(at).map(|group| (group.start(), group.end())))
            .collect(),
        names: pattern
            .regex
            .capture_names()
            .enumerate()
            .filter_map(|(at, name)| name.map(|name| (name.to_owned(), at)))
            .collect(),
    }))
}

/// What `findall` gives for a match: the whole, the group, or all groups.
fn groups_of(found: &Match) -> Value {
    let text = |group: &Option<(usize, usize)>| match group {
        Some((start, end)) => Value::Str(found.subject.part(*start, *end)),
        None => Value::text(""),
    };
    match &found.groups[..] {
        [] => Value::text(""),
        [whole] => text(whole),
        [_, only] => text(only),
        [_, groups @ ..] => Value::tuple(groups.iter().map(text).collect()),
    }
}

/// The replacement that a template means for a match; `None` for escapes that are not known.
fn expand(template: &str, found: &Match) -> Option<String> {
    let group = |at: usize| {
        let (start, end) = (*found.groups.get(at)?)?;
        found.subject.text.get(start..end)
    };
    let mut out = String::new();
    let mut rest = template;
    while let Some((before, after)) = rest.split_once('\\') {
        out.push_str(before);
        if let Some((name, after)) = after.strip_prefix("g<").and_then(|after| after.split_once('>')) {
            let at = match name.parse() {
                Ok(at) => at,
                Err(_) => found.names.iter().find(|(known, _)| known == name)?.1,
            };
            out.push_str(group(at)?);
            rest = after;
            continue;
        }
        let mut chars = after.chars();
        match chars.next()? {
            'n' => out.push('\n'),
            't' => out.push('\t'),
            '\\' => out.push('\\'),
            digit @ '1'..='9' if !chars.as_str().starts_with(|char: char| char.is_ascii_digit()) => {
                out.push_str(group(usize::try_from(digit.to_digit(10)?).ok()?)?);
            }
            _ => return None,
        }
        rest = chars.as_str();
    }
    out.push_str(rest);
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::translate;

    fn check(pattern: &str, expected: Option<&str>) {
        assert_eq!(translate(pattern, 0).as_deref(), expected, "{pattern}");
    }

    #[test]
    fn python_patterns() {
        check(r"(?P<v>\d+)$", Some(r"(?P<v>\d+)(?=\n?\z)"));
        check(r#"__version__ = ['"]([^'"]*)['"]"#, Some(r#"__version__ = ['"]([^'"]*)['"]"#));
        check(r"[[\]]\Z", Some(r"[\[\]]\z"));
        check(r"\<a\>\_", Some("<a>_"));
        check(r"a{2}{x}", Some(r"a{2}\{x}"));
        check(r"\x41", None);
    }
}
