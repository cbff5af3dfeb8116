//! The bench's words: a line per run, and the table.

use std::fmt::Write as _;

use serde::Serialize;

use super::measure::{Took, median};
use super::peers::Tool;
use super::server::Traffic;
use crate::job::Pins;

/// What is locked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Scope {
    /// reana-server alone.
    Server,
    /// All components.
    Fleet,
}

impl Scope {
    fn name(self) -> &'static str {
        match self {
            Self::Server => "reana-server",
            Self::Fleet => "eight components",
        }
    }
}

/// What the run finds on the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Case {
    /// An empty cache, and no lock.
    Cold,
    /// A cache that is still fresh, and no lock.
    Warm,
    /// A fresh cache, and the lock that comes out.
    Unchanged,
}

impl Case {
    pub(crate) const ALL: [Self; 3] = [Self::Cold, Self::Warm, Self::Unchanged];

    fn name(self) -> &'static str {
        match self {
            Self::Cold => "empty cache",
            Self::Warm => "warm cache",
            Self::Unchanged => "warm, lock up to date",
        }
    }
}

/// All runs of one tool in one case.
#[derive(Serialize)]
pub(crate) struct Cell {
    pub(crate) scope: Scope,
    pub(crate) tool: &'static str,
    pub(crate) case: Case,
    pub(crate) runs: Vec<Took>,
}

/// All that was found.
#[derive(Serialize)]
pub(crate) struct Report {
    versions: Vec<String>,
    pub(crate) cells: Vec<Cell>,
    pub(crate) agreement: Vec<String>,
}

impl Report {
    pub(crate) fn new(versions: Vec<String>) -> Self {
        Self { versions, cells: Vec::new(), agreement: Vec::new() }
    }

    fn median(&self, scope: Scope, tool: &str, case: Case) -> Option<&Took> {
        let cell =
            self.cells.iter().find(|cell| cell.scope == scope && cell.tool == tool && cell.case == case);
        median(&cell?.runs)
    }

    fn memory(&self, scope: Scope, tool: &str) -> Option<f64> {
        let cells = self.cells.iter().filter(|cell| cell.scope == scope && cell.tool == tool);
        cells.flat_map(|cell| &cell.runs).map(|run| run.memory).reduce(f64::max)
    }

    /// The table of medians, in Markdown.
    pub(crate) fn table(&self) -> String {
        let tools = [Tool::ReanaLock, Tool::Uv, Tool::PipCompile].map(Tool::name);
        let mut text = format!(
            "| | {} | of uv's time | curl, the same requests |\n|---|---|---|---|---|---|\n",
            tools.join(" | ")
        );
        for scope in [Scope::Server, Scope::Fleet] {
            if self.cells.iter().all(|cell| cell.scope != scope) {
                continue;
            }
            for case in Case::ALL {
                let [own, uv, pip] = tools.map(|tool| self.median(scope, tool, case).map(|took| took.wall));
                let ratio = own.zip(uv).map(|(own, uv)| ratio(own, uv));
                let curl = self.median(scope, "curl", case).map(|took| took.wall);
                let row = [
                    seconds(own),
                    seconds(uv),
                    seconds(pip),
                    ratio.unwrap_or_default(),
                    curl.map_or(String::new(), |curl| seconds(Some(curl))),
                ];
                let _infallible =
                    writeln!(text, "| {}, {} | {} |", scope.name(), case.name(), row.join(" | "));
            }
            let row = tools
                .map(|tool| self.memory(scope, tool).map_or("-".to_owned(), |mib| format!("{mib:.0} MiB")));
            let _infallible = writeln!(text, "| {}, most memory | {} | | |", scope.name(), row.join(" | "));
        }
        text
    }
}

fn seconds(time: Option<f64>) -> String {
    match time {
        None => "-".to_owned(),
        Some(time) if time < 1.0 => format!("{:.0} ms", time * 1000.0),
        Some(time) => format!("{time:.1} s"),
    }
}

fn ratio(own: f64, uv: f64) -> String {
    if own * 1.5 < uv { format!("1/{:.1}", uv / own) } else { format!("{:.2}", own / uv) }
}

/// One run, for the log.
pub(crate) fn line(
    scope: Scope,
    tool: Tool,
    case: Case,
    is_counted: bool,
    run: &Took,
    traffic: &Traffic,
) -> String {
    let mark = if is_counted { "" } else { " (not counted)" };
    described(scope, tool.name(), case.name(), run, traffic) + mark
}

/// One run of curl, for the log.
pub(crate) fn curl_line(scope: Scope, run: &Took, traffic: &Traffic) -> String {
    described(scope, "curl", "the same requests", run, traffic)
}

fn described(scope: Scope, tool: &str, case: &str, run: &Took, traffic: &Traffic) -> String {
    let mut text = format!(
        "{:<16} {tool:<14} {case:<21} {:8.3} s (user {:.2}, system {:.2}) {:4.0} MiB, {} requests, {:.1} MB",
        scope.name(),
        run.wall,
        run.user,
        run.system,
        run.memory,
        traffic.requests,
        traffic.bytes as f64 / 1e6,
    );
    if let Some(first) = traffic.failed.first() {
        let _infallible = write!(text, ", {} failed ({first})", traffic.failed.len());
    }
    text
}

/// How far two locks agree.
pub(crate) fn agreement(component: &str, tool: Tool, own: &Pins, theirs: &Pins) -> String {
    let equal = own.iter().filter(|(name, version)| theirs.get(*name) == Some(version)).count();
    let mut differing: Vec<String> = Vec::new();
    for name in own.keys().chain(theirs.keys().filter(|name| !own.contains_key(*name))) {
        let (one, other) = (own.get(name), theirs.get(name));
        if one != other {
            let show = |version: Option<&String>| version.map_or("-", String::as_str).to_owned();
            differing.push(format!("{name} {} / {}", show(one), show(other)));
        }
    }
    let differing =
        if differing.is_empty() { String::new() } else { format!("; differing: {}", differing.join(", ")) };
    format!("{component}: {equal} of {} pins as {}'s{differing}", own.len(), tool.name())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_readable() {
        assert_eq!(
            (seconds(Some(0.0614)), seconds(Some(12.34)), seconds(None)),
            ("61 ms".to_owned(), "12.3 s".to_owned(), "-".to_owned())
        );
        assert_eq!(
            (ratio(1.0, 8.0), ratio(1.0, 1.2), ratio(2.0, 1.0)),
            ("1/8.0".to_owned(), "0.83".to_owned(), "2.00".to_owned())
        );
    }

    #[test]
    fn differing_pins_are_named() {
        let (own, theirs) = (crate::job::pins("a==1\nb==2\n"), crate::job::pins("a==1\nb==3\nc==4\n"));
        let line = agreement("x", Tool::Uv, &own, &theirs);
        assert_eq!(line, "x: 1 of 2 pins as uv pip compile's; differing: b 2 / 3, c - / 4");
    }
}
