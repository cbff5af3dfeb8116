//! `cargo xtask replay`: REANA's own locks since 2021, made again from the constraints they came from, over the live
//! index as of their moments. Prints what differs from what pip-compile chose.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::PathBuf;

use anyhow::{Context as _, Result, bail};
use regex::Regex;

use crate::job::{Case, Pins, lock, read};
use crate::project::build;

/// Left out by pip-compile as unsafe, or macOS only (some of the locks were made on a Mac).
const ASIDE: [&str; 5] = ["setuptools", "pip", "wheel", "distribute", "appnope"];

/// What `cargo xtask replay` may be told.
#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// Only the cases whose `component@date` this regular expression finds itself in
    #[arg(long, value_name = "RE")]
    only: Option<Regex>,
    /// Write the differences here as JSON
    #[arg(long)]
    json: Option<PathBuf>,
    /// The reana-lock to run, instead of the one that cargo builds
    #[arg(long)]
    bin: Option<PathBuf>,
}

/// What came out of one case.
#[derive(serde::Serialize)]
struct Outcome {
    case: String,
    exact: bool,
    /// Package, expected version, found version; empty where absent.
    differences: Vec<(String, String, String)>,
    error: Option<String>,
}

/// Runs the cases one after the other and prints the differences and the number of exact ones.
pub(crate) fn replay(options: &Options) -> Result<()> {
    let cases: Vec<Case> = read("replay/cases.json")?;
    let chosen = chosen(&cases, options.only.as_ref());
    if chosen.is_empty() {
        bail!("no case matches; there are: {}", ids(&cases).collect::<Vec<_>>().join(", "));
    }
    let command = match &options.bin {
        Some(bin) => bin.canonicalize().with_context(|| bin.display().to_string())?,
        None => build()?,
    };
    let mut outcomes = Vec::new();
    for (id, case) in chosen {
        let (differences, error) = match lock(&command, &case.job()) {
            Ok(found) => (compare(&case.expected, &found), None),
            Err(error) => (Vec::new(), Some(format!("{error:#}"))),
        };
        let exact = differences.is_empty() && error.is_none();
        let outcome = Outcome { case: id, exact, differences, error };
        print!("{}", describe(&outcome));
        outcomes.push(outcome);
    }
    let exact = outcomes.iter().filter(|outcome| outcome.exact).count();
    println!("{exact} of {} exact", outcomes.len());
    if let Some(file) = &options.json {
        std::fs::write(file, serde_json::to_vec_pretty(&outcomes)?)?;
    }
    Ok(())
}

fn ids(cases: &[Case]) -> impl Iterator<Item = String> {
    cases.iter().map(|case| format!("{}@{}", case.component, case.date.get(..10).unwrap_or(&case.date)))
}

fn chosen<'c>(cases: &'c [Case], only: Option<&Regex>) -> Vec<(String, &'c Case)> {
    ids(cases).zip(cases).filter(|(id, _)| only.is_none_or(|only| only.is_match(id))).collect()
}

fn compare(expected: &Pins, found: &Pins) -> Vec<(String, String, String)> {
    let names: BTreeSet<&String> = expected.keys().chain(found.keys()).collect();
    let version = |pins: &Pins, name: &str| pins.get(name).cloned().unwrap_or_default();
    names
        .into_iter()
        .filter(|name| !ASIDE.contains(&name.as_str()))
        .map(|name| (name.clone(), version(expected, name), version(found, name)))
        .filter(|(_, expected, found)| expected != found)
        .collect()
}

fn describe(outcome: &Outcome) -> String {
    let mut text = String::new();
    let verdict = if outcome.exact { "exact" } else { "differs" };
    let _infallible = writeln!(text, "{:<50} {verdict}", outcome.case);
    for (name, expected, found) in &outcome.differences {
        let show = |version: &String| if version.is_empty() { "-".to_owned() } else { version.clone() };
        let _infallible = writeln!(text, "    {name}: expected {}, found {}", show(expected), show(found));
    }
    for line in outcome.error.iter().flat_map(|error| error.lines()) {
        let _infallible = writeln!(text, "    {line}");
    }
    text
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;
    use crate::job::pins;

    #[test]
    fn cases_are_chosen_by_regular_expressions() {
        let cases: Vec<Case> = read("replay/cases.json").expect("the cases");
        let count = |only: &str| chosen(&cases, Some(&Regex::new(only).expect("an expression"))).len();
        let servers = ids(&cases).filter(|id| id.starts_with("reana-server@202")).count();
        assert!(servers > 0 && servers < cases.len());
        assert_eq!(count("^reana-server@202[0-9]-"), servers);
        assert_eq!((count(""), count("^server"), chosen(&cases, None).len()), (cases.len(), 0, cases.len()));
    }

    #[derive(Debug, clap::Parser)]
    struct Command {
        #[command(flatten)]
        options: Options,
    }

    #[test]
    fn a_bad_expression_is_told() {
        let error = Command::try_parse_from(["replay", "--only", "(a"]).expect_err("no expression");
        let text = error.to_string();
        assert!(text.contains("--only <RE>") && text.contains("unclosed group"), "{text}");
    }

    #[test]
    fn compares_without_what_stands_aside() {
        let expected = pins("a==1.0\nb==2.0 ; python_version < \"4\"\nsetuptools==80\n");
        let found = pins("a==1.0\nc==3\nsetuptools==79\n");
        let difference =
            |name: &str, one: &str, other: &str| (name.to_owned(), one.to_owned(), other.to_owned());
        assert_eq!(compare(&expected, &found), [difference("b", "2.0", ""), difference("c", "", "3")]);
    }
}
