//! The requirements in a setup.cfg, with their bytes.

use super::slot::{Slot, line_starts};
use crate::ini::Ini;

/// The lines of `install_requires`, `setup_requires`, `tests_require` and of all extras.
pub(super) fn slots(text: &str) -> Result<Vec<Slot>, (u32, String)> {
    let ini = Ini::parse(text).map_err(|error| (error.line, error.reason))?;
    let starts = line_starts(text);
    let mut slots = Vec::new();
    for name in ["options", "options.extras_require"] {
        for (key, value) in ini.section(name).into_iter().flatten() {
            let key = key.replace('-', "_").to_lowercase();
            let is_list = matches!(&*key, "install_requires" | "setup_requires" | "tests_require");
            let is_from_file = value.lines().iter().any(|(_, line)| line.starts_with("file:"));
            if name == "options" && !is_list || is_from_file {
                continue;
            }
            let is_alone = value.lines().len() == 1;
            for (number, line) in value.lines() {
                let index = usize::try_from(*number).unwrap_or(usize::MAX).saturating_sub(1);
                let Some(start) = starts.get(index) else { continue };
                let end = starts.get(index + 1).copied().unwrap_or(text.len());
                let raw = text.get(*start..end).unwrap_or_default();
                let before =
                    if *number == value.line { raw.find(['=', ':']).map_or(0, |at| at + 1) } else { 0 };
                let Some(at) = raw.get(before..).and_then(|rest| rest.find(line.as_str())) else { continue };
                let mut at = *start + before + at;
                // What stands in one line with its key is split there, whatever the markers meant.
                let parts: Vec<&str> = if is_alone { line.split(';').collect() } else { vec![line] };
                for part in parts {
                    slots.push(Slot::plain(*number, part, at).sure());
                    at += part.len() + 1;
                }
            }
        }
    }
    slots.retain(|slot| !slot.value.is_empty());
    Ok(slots)
}
