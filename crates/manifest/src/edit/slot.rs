//! A text that may be a requirement, with where its bytes stand in the file.

use std::ops::Range;

/// What bounds are written in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Notation {
    /// PEP 440, within PEP 508.
    #[default]
    Standard,
    /// Poetry's: `^1.2`, `~1.2`, and `1.2` for exactly that one.
    Poetry,
}

/// A text of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Slot {
    /// Its line, counted from 1.
    pub(super) line: u32,
    /// The line that its literal begins in.
    pub(super) first: u32,
    /// The text, without spaces around and comments.
    pub(super) value: String,
    /// It is a requirement for certain, and not only if it looks like one.
    pub(super) is_sure: bool,
    /// It is only a part of what the program makes of it (`"a>=" + v`).
    pub(super) is_partial: bool,
    /// What its bounds are written in.
    pub(super) notation: Notation,
    /// What it declares, where that is another text than its own.
    pub(super) declares: Option<String>,
    segments: Vec<Segment>,
}

/// A run of bytes that stand in the file as they are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Segment {
    /// Where in the text.
    pub(super) value: Range<usize>,
    /// Where in the file it begins.
    pub(super) at: usize,
}

impl Slot {
    /// A text made of segments, from which spaces around and a comment (` #`) are taken.
    pub(super) fn new(line: u32, text: &str, segments: &[Segment]) -> Self {
        let end = if text.trim_start().starts_with('#') { 0 } else { text.find(" #").unwrap_or(text.len()) };
        let text = text.get(..end).unwrap_or_default();
        let trimmed = text.trim_start();
        let start = text.len() - trimmed.len();
        let value = trimmed.trim_end().to_owned();
        let segments = cut(segments, start, start + value.len());
        Self { line, first: line, value, segments, ..Self::default() }
    }

    /// A text that stands in the file as it is.
    pub(super) fn plain(line: u32, text: &str, at: usize) -> Self {
        Self::new(line, text, &[Segment { value: 0..text.len(), at }])
    }

    pub(super) fn sure(mut self) -> Self {
        self.is_sure = true;
        self
    }

    pub(super) fn poetry(mut self) -> Self {
        self.notation = Notation::Poetry;
        self
    }

    pub(super) fn partial(mut self) -> Self {
        self.is_partial = true;
        self
    }

    /// Whether this is what was declared there. Readers may know the line of its literal alone.
    pub(super) fn is(&self, line: u32, value: &str) -> bool {
        let own = self.declares.as_ref().unwrap_or(&self.value);
        !self.is_partial && own == value && (self.line == line || self.first == line)
    }

    /// Where a part of the text stands in the file; none where it isn't there byte for byte.
    pub(super) fn place(&self, range: &Range<usize>) -> Option<Range<usize>> {
        let holds = |segment: &&Segment| segment.value.start <= range.start && range.end <= segment.value.end;
        let segment = self.segments.iter().find(holds)?;
        let start = segment.at + (range.start - segment.value.start);
        Some(start..start + range.len())
    }

    /// Where the text begins in the file.
    pub(super) fn start(&self) -> Option<usize> {
        self.segments.first().filter(|segment| segment.value.start == 0).map(|segment| segment.at)
    }
}

/// The segments of a part of the text.
pub(super) fn cut(segments: &[Segment], start: usize, end: usize) -> Vec<Segment> {
    let part = |segment: &Segment| {
        let from = segment.value.start.max(start);
        let to = segment.value.end.min(end);
        (from < to).then(|| Segment {
            value: from - start..to - start,
            at: segment.at + (from - segment.value.start),
        })
    };
    segments.iter().filter_map(part).collect()
}

/// The starts of a text's lines. Lines end with LF, CRLF or CR.
pub(super) fn line_starts(text: &str) -> Vec<usize> {
    let bytes = text.as_bytes();
    let ends = bytes
        .iter()
        .enumerate()
        .filter(|(at, byte)| **byte == b'\n' || **byte == b'\r' && bytes.get(at + 1) != Some(&b'\n'));
    std::iter::once(0).chain(ends.map(|(at, _)| at + 1)).collect()
}

/// The number of the line that a byte stands in.
pub(super) fn line_of(starts: &[usize], at: usize) -> u32 {
    u32::try_from(starts.partition_point(|start| *start <= at)).unwrap_or(u32::MAX)
}

/// Where the bytes of a string's value stand in its source, which begins at `at`: as far as they stand there
/// as they are, and between escapes that stand for the sign behind the backslash, or for nothing.
pub(super) fn aligned(source: &str, value: &str, at: usize) -> Vec<Segment> {
    let (from, to) = (source.as_bytes(), value.as_bytes());
    let mut segments: Vec<Segment> = Vec::new();
    let (mut s, mut v) = (0, 0);
    let mut run = 0;
    let mut close = |start: usize, end: usize, source_end: usize| {
        if start < end {
            segments.push(Segment { value: start..end, at: at + source_end - (end - start) });
        }
    };
    while let (Some(byte), Some(wanted)) = (from.get(s), to.get(v)) {
        let next = from.get(s + 1).copied();
        match (byte, next) {
            (b'\\', Some(b'\n' | b'\r')) if *wanted != b'\\' => {
                close(run, v, s);
                s += if next == Some(b'\r') && from.get(s + 2) == Some(&b'\n') { 3 } else { 2 };
                run = v;
            }
            (b'\\', Some(sign @ (b'"' | b'\'' | b'\\')))
                if *wanted == sign && source.len() != value.len() =>
            {
                close(run, v, s);
                s += 2;
                v += 1;
                run = v;
            }
            (b'\r', Some(b'\n')) if *wanted == b'\n' => {
                close(run, v, s);
                s += 1;
                run = v;
            }
            _ if byte == wanted => {
                s += 1;
                v += 1;
            }
            _ => {
                close(run, v, s);
                return with_tail(segments, source, value, at, v);
            }
        }
    }
    close(run, v, s);
    segments
}

/// Adds what stands the same way at both ends, behind an escape that is not understood.
fn with_tail(mut segments: Vec<Segment>, source: &str, value: &str, at: usize, from: usize) -> Vec<Segment> {
    let behind_escape = source.rfind('\\').map_or(0, |escape| escape + 2);
    let same = source.bytes().rev().zip(value.bytes().rev()).take_while(|(a, b)| a == b).count();
    let most = source.len().saturating_sub(behind_escape).min(value.len().saturating_sub(from));
    // Hexadecimal and named escapes go on behind their first sign: what could belong to one is left out.
    let length = same.min(most);
    let tail = source.get(source.len() - length..).unwrap_or_default();
    let skipped = tail.find(|c: char| !c.is_ascii_alphanumeric() && !"{} ".contains(c)).unwrap_or(tail.len());
    let length = tail.len() - skipped;
    if length > 0 {
        segments.push(Segment { value: value.len() - length..value.len(), at: at + source.len() - length });
    }
    segments
}
