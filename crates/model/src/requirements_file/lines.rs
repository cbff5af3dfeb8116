//! Physical lines to logical ones: continuations and comments, by pip's rules.

use std::borrow::Cow;

/// A logical line: one or more physical lines that `\` joins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line<'t> {
    /// The first physical line, counted from 1.
    pub number: u32,
    /// What stands before the comment.
    pub content: Cow<'t, str>,
    /// The comment, from its `#` on, without spaces at its end.
    pub comment: Option<Cow<'t, str>>,
}

/// The logical lines of a text. Lines end with LF, CRLF or CR. A comment line ends a continuation.
pub fn logical_lines(text: &str) -> Vec<Line<'_>> {
    let mut found = Vec::new();
    let mut joined: Option<(u32, String)> = None;
    for (number, physical) in (1..).zip(physical_lines(text)) {
        let is_comment = physical.trim_start().starts_with('#');
        if physical.ends_with('\\') && !is_comment {
            let (_, content) = joined.get_or_insert_with(|| (number, String::new()));
            content.push_str(physical.trim_matches('\\'));
            continue;
        }
        match joined.take() {
            None => found.push(split_comment(number, Cow::Borrowed(physical))),
            Some((first, mut content)) => {
                if is_comment {
                    // so that it is told from a `#` inside of a word
                    content.push(' ');
                }
                content.push_str(physical);
                found.push(split_comment(first, Cow::Owned(content)));
            }
        }
    }
    if let Some((first, content)) = joined {
        found.push(split_comment(first, Cow::Owned(content)));
    }
    found
}

fn physical_lines(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let end = rest.find(['\n', '\r']).unwrap_or(rest.len());
        let (line, tail) = rest.split_at(end);
        rest = tail.strip_prefix("\r\n").or_else(|| tail.strip_prefix(['\n', '\r'])).unwrap_or(tail);
        Some(line)
    })
}

/// A comment starts at a `#` that begins the line or follows white space.
fn split_comment(number: u32, line: Cow<'_, str>) -> Line<'_> {
    let mut after_space = true;
    let mut start = None;
    for (at, c) in line.char_indices() {
        if after_space && c == '#' {
            start = Some(at);
            break;
        }
        after_space = c.is_whitespace();
    }
    let Some(at) = start else { return Line { number, content: line, comment: None } };
    match line {
        Cow::Borrowed(line) => {
            let (content, comment) = line.split_at(at);
            let comment = Some(Cow::Borrowed(comment.trim_end()));
            Line { number, content: Cow::Borrowed(content.trim_end()), comment }
        }
        Cow::Owned(line) => {
            let (content, comment) = line.split_at(at);
            let comment = Some(Cow::Owned(comment.trim_end().to_owned()));
            Line { number, content: Cow::Owned(content.trim_end().to_owned()), comment }
        }
    }
}
