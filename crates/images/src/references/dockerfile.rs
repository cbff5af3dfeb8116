//! References in Dockerfiles: `FROM`, `COPY --from=`, and the `ARG` before the first `FROM` that names an image.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::{Form, Placed, Policy, References};

/// A word of an instruction, with its place.
struct Word<'a> {
    text: &'a str,
    start: usize,
    line: usize,
    line_start: usize,
}

pub(super) fn find(text: &str) -> References {
    let mut reader = Reader { text, ..Reader::default() };
    let mut heredocs: VecDeque<HereDocument> = VecDeque::new();
    let escape = escape_character(text);
    let (mut start, mut instruction, mut joined) = (0, Vec::new(), String::new());
    for (at, whole) in text.split_inclusive('\n').enumerate() {
        // Builders pass over a byte order mark, too.
        let mark = if at == 0 && whole.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
        let line_start = start + mark;
        start += whole.len();
        let line = whole.get(mark..).unwrap_or_default().trim_end();
        if let Some(heredoc) = heredocs.front() {
            if heredoc.ends_with(whole.trim_end_matches(['\n', '\r'])) {
                heredocs.pop_front();
            }
            continue;
        }
        if line.trim_start().starts_with('#') || line.trim().is_empty() {
            continue;
        }
        let continued = line.strip_suffix(escape);
        let piece = continued.unwrap_or(line);
        instruction.extend(words(piece, line_start, at + 1));
        joined.push_str(piece);
        joined.push(' ');
        if continued.is_none() {
            if matches!(keyword(&instruction).as_str(), "RUN" | "COPY" | "ADD" | "ONBUILD") {
                heredocs.extend(here_documents(&joined));
            }
            reader.instruction(&instruction);
            instruction.clear();
            joined.clear();
        }
    }
    reader.instruction(&instruction);
    reader.found
}

/// What was read so far.
#[derive(Default)]
struct Reader<'t> {
    text: &'t str,
    stages: BTreeSet<String>,
    arguments: BTreeMap<String, Placed>,
    found: References,
}

impl Reader<'_> {
    fn instruction(&mut self, words: &[Word<'_>]) {
        match keyword(words).as_str() {
            "FROM" => from(words, self.text, &mut self.stages, &self.arguments, &mut self.found),
            "ARG" if self.stages.is_empty() => argument(words, self.text, &mut self.arguments),
            "COPY" => copy(words, self.text, &self.stages, &mut self.found),
            _ => {}
        }
    }
}

fn keyword(words: &[Word<'_>]) -> String {
    words.first().map(|word| word.text.to_uppercase()).unwrap_or_default()
}

fn words(line: &str, line_start: usize, number: usize) -> Vec<Word<'_>> {
    let mut words = Vec::new();
    let mut at = 0;
    for text in line.split([' ', '\t']) {
        if !text.is_empty() {
            words.push(Word { text, start: line_start + at, line: number, line_start });
        }
        at += text.len() + 1;
    }
    words
}

/// What a directive at the top says (`# escape=X`), else a backslash.
fn escape_character(text: &str) -> char {
    let text = text.trim_start_matches('\u{feff}');
    let mut directives = text.lines().map_while(|line| line.trim_start().strip_prefix('#'));
    let escape = directives.find_map(|line| {
        let (name, value) = line.split_once('=')?;
        if name.trim().eq_ignore_ascii_case("escape") { value.trim().chars().next() } else { None }
    });
    escape.unwrap_or('\\')
}

/// A here-document that a line begins.
struct HereDocument {
    end: String,
    /// Whether tabs may stand before its end.
    strips_tabs: bool,
}

impl HereDocument {
    fn ends_with(&self, line: &str) -> bool {
        self.end == if self.strips_tabs { line.trim_start_matches('\t') } else { line }
    }
}

/// The here-documents that a line begins. Only what a word begins with starts one: not `"<<EOF"`, `$((1<<2))` or
/// `<<<word`.
fn here_documents(line: &str) -> Vec<HereDocument> {
    let mut quote = None;
    let raw_words = line.split(move |c: char| {
        match (quote, c) {
            (None, '"' | '\'') => quote = Some(c),
            (Some(open), _) if open == c => quote = None,
            _ => {}
        }
        quote.is_none() && c.is_whitespace()
    });
    let found = raw_words.filter_map(|word| {
        let start = word.trim_start_matches(|c: char| c.is_ascii_digit()).strip_prefix("<<")?;
        let (end, strips_tabs) = start.strip_prefix('-').map_or((start, false), |end| (end, true));
        let end: String = end.chars().filter(|c| !matches!(c, '"' | '\'')).collect();
        (!end.is_empty() && !end.contains('<')).then_some(HereDocument { end, strips_tabs })
    });
    found.collect()
}

impl Word<'_> {
    /// The rest of the word from a byte of it on, without quotes around.
    fn placed(&self, from: usize, whole: &str) -> Option<Placed> {
        let rest = self.text.get(from..)?;
        let inner = rest.trim_matches(['"', '\'']);
        let quote = rest.len() - rest.trim_start_matches(['"', '\'']).len();
        let start = self.start + from + quote;
        let before = whole.get(self.line_start..start);
        let column = before.map_or(start - self.line_start, |before| before.chars().count()) + 1;
        Some(Placed {
            text: inner.to_owned(),
            bytes: Some(start..start + inner.len()),
            line: self.line,
            column,
        })
    }
}

fn from(
    words: &[Word<'_>],
    text: &str,
    stages: &mut BTreeSet<String>,
    arguments: &BTreeMap<String, Placed>,
    found: &mut References,
) {
    let mut rest = words.iter().skip(1).filter(|word| !word.text.starts_with("--"));
    let Some(image) = rest.next() else { return };
    let is_stage = stages.contains(&image.text.to_lowercase());
    if let (Some(word), Some(name)) = (rest.next(), rest.next())
        && word.text.eq_ignore_ascii_case("as")
    {
        stages.insert(name.text.to_lowercase());
    } else {
        // A stage without a name: an ARG after it is not about bases any more.
        stages.insert(String::new());
    }
    if is_stage || image.text.eq_ignore_ascii_case("scratch") {
        return;
    }
    let name = image.text.strip_prefix('$').map(|name| name.trim_matches(['{', '}']));
    let placed = name.and_then(|name| arguments.get(name).cloned()).or_else(|| image.placed(0, text));
    if let Some(placed) = placed {
        found.add(Form::Whole(placed), "FROM", Policy::Build);
    }
}

/// `ARG NAME=image`: what `FROM $NAME` takes unless the build is told otherwise.
fn argument(words: &[Word<'_>], text: &str, arguments: &mut BTreeMap<String, Placed>) {
    for word in words.iter().skip(1) {
        if let Some((name, _)) = word.text.split_once('=')
            && let Some(placed) = word.placed(name.len() + 1, text)
        {
            arguments.insert(name.to_owned(), placed);
        }
    }
}

fn copy(words: &[Word<'_>], text: &str, stages: &BTreeSet<String>, found: &mut References) {
    const FLAG: &str = "--from=";
    for word in words.iter().skip(1) {
        let Some(source) = word.text.strip_prefix(FLAG) else { continue };
        let is_number = source.bytes().all(|byte| byte.is_ascii_digit());
        if !is_number
            && !stages.contains(&source.to_lowercase())
            && let Some(placed) = word.placed(FLAG.len(), text)
        {
            found.add(Form::Whole(placed), "COPY --from", Policy::Build);
        }
    }
}
