//! The requirements in a requirements file, with their bytes.

use super::slot::{Segment, Slot, line_starts};

/// The requirement lines. Options of a line (`--hash=...`) are not part of its text.
pub(super) fn slots(text: &str) -> Vec<Slot> {
    let starts = line_starts(text);
    let ends = starts.iter().copied().skip(1).chain([text.len()]);
    let mut slots = Vec::new();
    let mut open = Joined::default();
    for (number, (start, end)) in (1..).zip(starts.iter().copied().zip(ends)) {
        let raw = text.get(start..end).unwrap_or_default();
        let raw = raw.trim_end_matches(['\n', '\r']);
        let raw = if number == 1 { raw.trim_start_matches('\u{feff}') } else { raw };
        let at = if number == 1 { end_of_mark(text) } else { start };
        let is_comment = raw.trim_start().starts_with('#');
        match raw.strip_suffix('\\').filter(|_| !is_comment) {
            Some(part) => open.add(number, part, at),
            None => {
                if !is_comment {
                    open.add(number, raw, at);
                }
                slots.extend(std::mem::take(&mut open).finish());
            }
        }
    }
    slots.extend(open.finish());
    slots
}

fn end_of_mark(text: &str) -> usize {
    text.len() - text.trim_start_matches('\u{feff}').len()
}

/// Physical lines that `\` joins.
#[derive(Default)]
struct Joined {
    line: u32,
    text: String,
    segments: Vec<Segment>,
}

impl Joined {
    fn add(&mut self, number: u32, part: &str, at: usize) {
        if self.segments.is_empty() {
            self.line = number;
        }
        let start = self.text.len();
        self.text.push_str(part);
        self.segments.push(Segment { value: start..self.text.len(), at });
    }

    fn finish(self) -> Option<Slot> {
        let text = self.text.as_str();
        if text.trim_start().starts_with(['-', '#']) {
            return None;
        }
        let end =
            [" --", "\t--", "\t#"].iter().filter_map(|sign| text.find(sign)).min().unwrap_or(text.len());
        let slot = Slot::new(self.line, text.get(..end).unwrap_or_default(), &self.segments);
        // A path or an address names no package.
        let is_named = !slot.value.is_empty() && !slot.value.starts_with(['.', '/']);
        is_named.then(|| slot.sure())
    }
}
