//! How a Dockerfile falls into instructions, and a `RUN` into commands and words.

use std::collections::BTreeMap;

/// The most bytes that variables may put into one Dockerfile: `A=$B$B`, `B=$C$C`, ... grow without bound else.
const SUBSTITUTED_LIMIT: usize = 1024 * 1024;

/// Variables with a known value.
#[derive(Clone, Debug, Default)]
pub(super) struct Variables {
    values: BTreeMap<String, String>,
}

/// How many bytes variables may still put in.
#[derive(Debug)]
pub(super) struct Budget(usize);

impl Default for Budget {
    fn default() -> Self {
        Self(SUBSTITUTED_LIMIT)
    }
}

impl Variables {
    /// Gives a variable a value.
    pub(super) fn set(&mut self, name: &str, value: String) {
        self.values.insert(name.to_owned(), value);
    }

    /// The value of a variable.
    pub(super) fn get(&self, name: &str) -> Option<&String> {
        self.values.get(name)
    }
}

/// One instruction: its lines joined, comments between them left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Instruction {
    /// The line that it begins in, from 1.
    pub(super) line: u32,
    /// `FROM`, in capitals.
    pub(super) keyword: String,
    /// What follows. Each line end is kept as `\n`, so that lines can be counted.
    pub(super) rest: String,
}

/// The instructions of a Dockerfile, in order.
pub(super) fn instructions(text: &str) -> Vec<Instruction> {
    // Builders pass over a byte order mark, too.
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let escape = escape_character(text);
    let is_comment = |line: &str| line.trim_start().starts_with('#');
    let mut found = Vec::new();
    let mut lines = (1_u32..).zip(text.lines()).peekable();
    while let Some((number, line)) = lines.next() {
        if line.trim().is_empty() || is_comment(line) {
            continue;
        }
        let mut joined = String::new();
        let mut piece = line.trim_start();
        loop {
            let continued = piece.trim_end().strip_suffix(escape);
            // Neither comments nor empty lines end an instruction that goes on.
            let passed_over = !joined.is_empty() && (is_comment(piece) || piece.trim().is_empty());
            joined.push_str(if passed_over { "" } else { continued.unwrap_or(piece) });
            joined.push('\n');
            if continued.is_none() && !passed_over {
                break;
            }
            let Some((_, next)) = lines.next() else { break };
            piece = next;
        }
        let (keyword, rest) = joined.split_once(char::is_whitespace).unwrap_or((&joined, ""));
        let (keyword, mut rest) = (keyword.to_uppercase(), rest.to_owned());
        for HereDocument { end, strips_tabs } in here_documents(&keyword, &rest) {
            let is_end = |line: &str| end == if strips_tabs { line.trim_start_matches('\t') } else { line };
            while let Some((_, line)) = lines.next().filter(|(_, line)| !is_end(line)) {
                rest.push_str(if is_comment(line) { "" } else { line });
                rest.push_str(";\n");
            }
            rest.push_str(";\n");
        }
        found.push(Instruction { line: number, keyword, rest });
    }
    found
}

fn escape_character(text: &str) -> char {
    let directives = text.lines().take_while(|line| line.trim_start().starts_with('#'));
    let mut escapes = directives.filter_map(|line| {
        let (name, value) = line.trim_start().trim_start_matches('#').split_once('=')?;
        if name.trim().eq_ignore_ascii_case("escape") { value.trim().chars().next() } else { None }
    });
    escapes.next().unwrap_or('\\')
}

/// What ends a here-document: `EOF` of `<<EOF`, `<<-"EOF"`.
struct HereDocument {
    end: String,
    /// Whether tabs may stand before it.
    strips_tabs: bool,
}

/// The here-documents of an instruction. As for builders, only what a word begins with starts one: not `"<<EOF"`,
/// `$((1<<2))` or `<<<word`.
fn here_documents(keyword: &str, rest: &str) -> Vec<HereDocument> {
    if !matches!(keyword, "RUN" | "COPY" | "ADD" | "ONBUILD") {
        return Vec::new();
    }
    let found = raw_words(rest).into_iter().filter_map(|word| {
        let start = word.trim_start_matches(|c: char| c.is_ascii_digit()).strip_prefix("<<")?;
        let (end, strips_tabs) = start.strip_prefix('-').map_or((start, false), |end| (end, true));
        let end: String = end.chars().filter(|c| !matches!(c, '"' | '\'')).collect();
        (!end.is_empty() && !end.contains('<')).then_some(HereDocument { end, strips_tabs })
    });
    found.collect()
}

/// The words of a text, quotes kept.
fn raw_words(text: &str) -> Vec<&str> {
    let mut quote = None;
    let words = text.split(move |c: char| {
        match (quote, c) {
            (None, '"' | '\'') => quote = Some(c),
            (Some(open), _) if open == c => quote = None,
            _ => {}
        }
        quote.is_none() && c.is_whitespace()
    });
    words.filter(|word| !word.is_empty()).collect()
}

/// The here-document that the shell itself runs (`RUN <<EOF`), where each line is a command; lines keep their numbers.
fn here_script(rest: &str) -> Option<String> {
    let (first, body) = rest.split_once('\n')?;
    let is_alone = first.trim_start().starts_with("<<") && first.split_whitespace().count() == 1;
    let lines = body
        .lines()
        .map(|line| if line.ends_with('\\') { format!("{line}\n") } else { format!("{line};\n") });
    is_alone.then(|| std::iter::once("\n".to_owned()).chain(lines).collect())
}

/// A word of a command, with the number of lines before it.
pub(super) type Word = (u32, String);

/// The commands of a `RUN`, each as its words. Shell words that only lead to a command (`if`, `then`, `(`)
/// and flags of `RUN` itself are left out.
pub(super) fn commands(rest: &str) -> Vec<Vec<Word>> {
    if let Ok(words) = serde_json::from_str::<Vec<String>>(rest.trim()) {
        return vec![words.into_iter().map(|word| (0, word)).collect()];
    }
    if let Some(script) = here_script(rest) {
        return commands(&script);
    }
    let mut found = Vec::new();
    let mut lines = 0_u32;
    for piece in split_commands(rest) {
        let mut words = split_at_line(&piece, lines);
        lines = lines.saturating_add(count_lines(&piece));
        let leads = |word: &Word| {
            let shell = ["if", "then", "else", "elif", "do", "while", "{", "(", "!", "exec", "sudo"];
            shell.contains(&word.1.as_str()) || word.1.starts_with("--")
        };
        let comment = words.iter().position(|(_, word)| word.starts_with('#'));
        words.truncate(comment.unwrap_or(words.len()));
        let lead = words.iter().take_while(|word| leads(word)).count();
        words.drain(..lead);
        match script(&words) {
            Some((line, script)) => {
                let at = |(within, word): Word| (line.saturating_add(within), word);
                let inner = commands(&script).into_iter();
                found.extend(inner.map(|words| words.into_iter().map(at).collect()));
            }
            None if words.is_empty() => {}
            None => found.push(words),
        }
    }
    found
}

/// What a shell is given to run: the script of `bash -c SCRIPT`.
fn script(words: &[Word]) -> Option<(u32, String)> {
    let (shell, rest) = words.split_first()?;
    let is_shell = matches!(shell.1.rsplit('/').next(), Some("sh" | "bash" | "dash" | "ash"));
    let at = rest
        .iter()
        .position(|(_, word)| word.starts_with('-') && !word.starts_with("--") && word.ends_with('c'))?;
    let (line, script) = rest.get(at + 1).filter(|_| is_shell)?;
    // A script within a script is not looked into: no text goes on for ever.
    (script.len() < 100_000 && !script.contains(" -c ")).then(|| (*line, script.clone()))
}

fn count_lines(text: &str) -> u32 {
    u32::try_from(text.matches('\n').count()).unwrap_or(u32::MAX)
}

/// Splits at what separates commands in a shell, outside of quotes.
fn split_commands(text: &str) -> Vec<String> {
    let mut pieces = vec![String::new()];
    let mut quote = None;
    for c in text.chars() {
        match (quote, c) {
            (None, '&' | '|' | ';') => {
                pieces.push(String::new());
                continue;
            }
            (None, '"' | '\'') => quote = Some(c),
            (Some(open), _) if open == c => quote = None,
            _ => {}
        }
        if let Some(piece) = pieces.last_mut() {
            piece.push(c);
        }
    }
    pieces
}

/// The words of a text: separated by white space, quotes taken off.
pub(super) fn split(text: &str) -> Vec<String> {
    split_at_line(text, 0).into_iter().map(|(_, word)| word).collect()
}

fn split_at_line(text: &str, mut line: u32) -> Vec<Word> {
    let mut words = Vec::new();
    let mut word: Option<Word> = None;
    let mut quote = None;
    for c in text.chars() {
        match (quote, c) {
            (None, '"' | '\'') => {
                quote = Some(c);
                word.get_or_insert_with(|| (line, String::new()));
            }
            (Some(open), _) if open == c => quote = None,
            (None, c) if c.is_whitespace() => words.extend(word.take()),
            _ => word.get_or_insert_with(|| (line, String::new())).1.push(c),
        }
        line = line.saturating_add(u32::from(c == '\n'));
    }
    words.extend(word);
    words
}

/// Puts known variables in: `$NAME`, `${NAME}`, `${NAME:-else}`, `${NAME:+if}`, each within another's else, too. An
/// unknown one stays as it is, as do one with an operator that is not known here, and all when the budget is spent.
pub(super) fn substitute(text: &str, variables: &Variables, budget: &mut Budget) -> String {
    put_in(text, variables, budget, 0)
}

/// How deep variables in the values of others are looked into.
const DEEPEST: u32 = 8;

fn put_in(text: &str, variables: &Variables, budget: &mut Budget, depth: u32) -> String {
    let mut found = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('$') {
        let (before, from) = rest.split_at(at);
        found.push_str(before);
        let (raw, value) = variable(from, variables);
        let value = value.and_then(|value| {
            let value = match value {
                Value::Known(value) => value.to_owned(),
                Value::Written(_) if depth == DEEPEST => return None,
                Value::Written(text) => put_in(text, variables, budget, depth + 1),
            };
            budget.0 = budget.0.checked_sub(value.len())?;
            Some(value)
        });
        let (raw, after) = from.split_at_checked(raw).unwrap_or((from, ""));
        found.push_str(value.as_deref().unwrap_or(raw));
        rest = after;
    }
    found.push_str(rest);
    found
}

/// What is put in a variable's place.
enum Value<'t> {
    /// The variable's value.
    Known(&'t str),
    /// What is written for it, which may have variables in it.
    Written(&'t str),
}

/// The length of the variable that `text` starts with, and what is put in its place, if that is known.
fn variable<'t>(text: &'t str, variables: &'t Variables) -> (usize, Option<Value<'t>>) {
    let name_length =
        |text: &str| text.bytes().take_while(|b| b.is_ascii_alphanumeric() || *b == b'_').count();
    let Some(body) = text.strip_prefix("${").and_then(|rest| rest.get(..closing(rest)?)) else {
        let name = text.get(1..).unwrap_or_default();
        let length = name_length(name);
        let known = name.get(..length).and_then(|name| variables.get(name));
        return (length + 1, known.map(|value| Value::Known(value)));
    };
    let (name, operator) = body.split_at(name_length(body));
    let value = variables.get(name).map(String::as_str);
    if value.is_none() && BUILDERS.contains(&name) {
        return (body.len() + 3, None);
    }
    // With a colon, an empty one counts as none.
    let is_set = |colon: bool| value.is_some_and(|value| !colon || !value.is_empty());
    let (colon, operator) = operator.strip_prefix(':').map_or((false, operator), |rest| (true, rest));
    let value = match operator.split_at_checked(1) {
        None if !colon => value.map(Value::Known),
        Some(("+", then)) => Some(Value::Written(if is_set(colon) { then } else { "" })),
        Some(("-", default)) if !is_set(colon) => Some(Value::Written(default)),
        Some(("-" | "?", _)) if is_set(colon) => value.map(Value::Known),
        _ => None,
    };
    (body.len() + 3, value)
}

/// What builders set by themselves: unknown here is not unset there.
const BUILDERS: [&str; 8] = [
    "TARGETPLATFORM",
    "TARGETOS",
    "TARGETARCH",
    "TARGETVARIANT",
    "BUILDPLATFORM",
    "BUILDOS",
    "BUILDARCH",
    "BUILDVARIANT",
];

/// The longest that is written between braces; a bound, so that many open ones cost little.
const LONGEST: usize = 512;

/// Where the brace is closed that was opened before this.
fn closing(text: &str) -> Option<usize> {
    let mut open = 1_u32;
    text.bytes().take(LONGEST).position(|byte| {
        match byte {
            b'{' => open = open.saturating_add(1),
            b'}' => open = open.saturating_sub(1),
            _ => {}
        }
        open == 0
    })
}
