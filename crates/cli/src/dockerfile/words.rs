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
        for end in here_documents(&rest) {
            while let Some((_, line)) = lines.next().filter(|(_, line)| line.trim_start_matches('\t') != end)
            {
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

/// The words that end the here-documents of an instruction: `EOF` of `<<EOF`, `<<-"EOF"`.
fn here_documents(rest: &str) -> Vec<String> {
    let starts = rest.match_indices("<<").filter_map(|(at, _)| rest.get(at + 2..));
    let ends = starts.map(|end| {
        let end = end.trim_start_matches('-').trim_start_matches(['"', '\'']);
        end.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect::<String>()
    });
    ends.filter(|end| !end.is_empty()).collect()
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

/// Puts known variables in: `$NAME`, `${NAME}`, `${NAME:-else}`, `${NAME:+if}`. An unknown one stays as it is,
/// and all do when the budget is spent.
pub(super) fn substitute(text: &str, variables: &Variables, budget: &mut Budget) -> String {
    let mut found = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('$') {
        let (before, from) = rest.split_at(at);
        found.push_str(before);
        let (raw, value) = variable(from, variables);
        let value = value.and_then(|value| {
            budget.0 = budget.0.checked_sub(value.len())?;
            Some(value)
        });
        let (raw, after) = from.split_at_checked(raw).unwrap_or((from, ""));
        found.push_str(value.unwrap_or(raw));
        rest = after;
    }
    found.push_str(rest);
    found
}

/// The length of the variable that `text` starts with, and what is put in its place, if that is known.
fn variable<'t>(text: &'t str, variables: &'t Variables) -> (usize, Option<&'t str>) {
    let name_length =
        |text: &str| text.bytes().take_while(|b| b.is_ascii_alphanumeric() || *b == b'_').count();
    let Some((body, _)) = text.strip_prefix("${").and_then(|rest| rest.split_once('}')) else {
        let name = text.get(1..).unwrap_or_default();
        let length = name_length(name);
        let known = name.get(..length).and_then(|name| variables.get(name));
        return (length + 1, known.map(String::as_str));
    };
    let (name, operator) = body.split_at(name_length(body));
    let value = variables.get(name).map(String::as_str).filter(|value| !value.is_empty());
    let value = match (value, operator.trim_start_matches(':').split_at_checked(1)) {
        (Some(_), Some(("+", then))) => Some(then),
        (None, Some(("-", default))) => Some(default),
        (value, _) => value,
    };
    (body.len() + 3, value)
}
