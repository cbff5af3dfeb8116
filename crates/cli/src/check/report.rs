//! What was found, for people, scripts and GitHub's checks.

use serde_json::{Value, json};

use super::examine::{Checked, Examined};
use super::finding::{Finding, Grade};
use crate::args::Format;
use crate::error::Failure;
use crate::lock::report;
use crate::ui::Ui;

/// Tells all: findings on stdout, the rest on stderr.
pub(crate) fn tell(examined: &Examined, format: Format, ui: &Ui) {
    match format {
        Format::Text => examined.all().for_each(|finding| ui.data(&text(finding))),
        Format::Github => examined.all().for_each(|finding| ui.data(&github(finding))),
        Format::Json => ui.data(&format!("{:#}\n", whole(examined))),
    }
    for checked in &examined.checked {
        if let Ok(made) = &checked.made {
            let prepared = &checked.job.prepared;
            if is_clean(checked, &prepared.lock_shown) {
                ui.say(&report::summary(prepared, made));
            }
            if let Some(build) = made.build.as_ref().filter(|build| is_clean(checked, &build.file.shown)) {
                ui.say(&report::build_summary(made, build));
            }
        }
    }
    failures(examined).for_each(|failure| ui.error(&failure.message, &failure.hints));
    let counted = |(grade, word)| {
        let count = examined.all().filter(|finding| finding.grade() == grade).count();
        let plural = if count == 1 { "" } else { "s" };
        (count > 0).then(|| format!("{count} {word}{plural}"))
    };
    let grades = [(Grade::Error, "error"), (Grade::Warning, "warning"), (Grade::Note, "note")];
    let counts: Vec<String> = grades.into_iter().filter_map(counted).collect();
    if !counts.is_empty() {
        ui.say(&format!("{} found", counts.join(", ")));
    }
}

fn is_clean(checked: &Checked, file: &str) -> bool {
    !checked.findings.iter().any(|finding| finding.grade() == Grade::Error && finding.file == file)
}

fn failures(examined: &Examined) -> impl Iterator<Item = &Failure> {
    examined.failures.iter().chain(examined.checked.iter().filter_map(|checked| checked.made.as_ref().err()))
}

/// One line: `requirements.txt:8: error L001 stale: app 2.0 -> 1.0 (major)`.
pub(crate) fn text(finding: &Finding) -> String {
    let entry = finding.code.entry();
    let place = match finding.line {
        0 => finding.file.clone(),
        line => format!("{}:{line}", finding.file),
    };
    let line = format!("{place}: {} {} {}: {}", entry.grade.word(), entry.code, entry.name, finding.message);
    line.replace(char::is_control, " ") + "\n"
}

/// An annotation of GitHub's checks (workflow commands: `%`, line ends, and in properties `:` and `,` are escaped).
fn github(finding: &Finding) -> String {
    let entry = finding.code.entry();
    let command = match entry.grade {
        Grade::Error => "error",
        Grade::Warning => "warning",
        Grade::Note => "notice",
    };
    let line = if finding.line == 0 { String::new() } else { format!(",line={}", finding.line) };
    let title = format!("{} {}", entry.code, entry.name);
    format!(
        "::{command} file={}{line},title={}::{}\n",
        property(&finding.file),
        property(&title),
        escaped(&finding.message)
    )
}

fn escaped(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

fn property(text: &str) -> String {
    escaped(text).replace(':', "%3A").replace(',', "%2C")
}

fn whole(examined: &Examined) -> Value {
    let locks = examined.checked.iter().filter_map(|checked| {
        let made = checked.made.as_ref().ok()?;
        let prepared = &checked.job.prepared;
        let is_stale =
            |finding: &&Finding| finding.grade() == Grade::Error && finding.file == prepared.lock_shown;
        let stale: Vec<String> =
            checked.findings.iter().filter(is_stale).map(|finding| finding.message.clone()).collect();
        Some(report::json(prepared, made, &stale))
    });
    let failures = failures(examined).map(
        |failure| json!({ "exit": failure.exit as u8, "message": failure.message, "hints": failure.hints }),
    );
    json!({
        "exit": examined.exit() as u8,
        "findings": examined.all().map(finding_json).collect::<Vec<_>>(),
        "failures": failures.collect::<Vec<_>>(),
        "locks": locks.collect::<Vec<_>>(),
    })
}

/// A finding as JSON.
pub(crate) fn finding_json(finding: &Finding) -> Value {
    let entry = finding.code.entry();
    json!({
        "code": entry.code,
        "name": entry.name,
        "grade": entry.grade.word(),
        "file": finding.file,
        "line": (finding.line != 0).then_some(finding.line),
        "message": finding.message,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::finding::Code;

    #[test]
    fn annotations_are_escaped() {
        let finding = Finding::new(Code::Yanked, "a,b:c%/r.txt", 3, "x 1 is yanked (50%,\r\nsee: y)");
        assert_eq!(
            github(&finding),
            "::error file=a%2Cb%3Ac%25/r.txt,line=3,title=Y001 yanked::x 1 is yanked (50%25,%0D%0Asee: y)\n"
        );
        assert_eq!(
            github(&Finding::new(Code::FileAdded, "r.txt", 0, "m")),
            "::notice file=r.txt,title=H002 file-added::m\n"
        );
        assert_eq!(text(&finding), "a,b:c%/r.txt:3: error Y001 yanked: x 1 is yanked (50%,  see: y)\n");
    }
}
