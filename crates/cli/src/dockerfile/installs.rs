//! The commands of a Dockerfile that install Python packages, and what each of them names.

use super::{Command, Dockerfile, Stage, base_name};

/// One `pip install`, `uv pip install`, `pip-sync`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Install {
    /// The line of the `RUN` that it is in.
    pub(crate) run: u32,
    /// The line that it begins in.
    pub(crate) line: u32,
    /// `-r`, as written, each with its line.
    pub(crate) requirements: Vec<(u32, String)>,
    /// `-c`, as written.
    pub(crate) constraints: Vec<String>,
    /// What is named besides, each with its line.
    pub(crate) named: Vec<(u32, Named)>,
    /// `--no-deps`.
    pub(crate) no_deps: bool,
    /// The option that turns checking hashes off (uv's `--no-verify-hashes`).
    pub(crate) unverified: bool,
}

/// What an install names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Named {
    /// The image's own project, as written (`.[debug]`), with its extras.
    Project(String, Vec<String>),
    /// Another folder, as written.
    Folder(String),
    /// A requirement, as written: `setuptools<81`.
    Requirement(String),
    /// An address, as written.
    Url(String),
}

/// Options of pip and uv that take a value, which may be the next word.
const WITH_VALUE: [&str; 38] = [
    "--abi",
    "--build-constraint",
    "--build-constraints",
    "--cache-dir",
    "--cert",
    "--client-cert",
    "--config-setting",
    "--config-settings",
    "--default-index",
    "--exclude-newer",
    "--exists-action",
    "--extra",
    "--extra-index-url",
    "--find-links",
    "--global-option",
    "--group",
    "--implementation",
    "--index",
    "--index-strategy",
    "--index-url",
    "--keyring-provider",
    "--link-mode",
    "--log",
    "--no-binary",
    "--only-binary",
    "--platform",
    "--prefix",
    "--progress-bar",
    "--proxy",
    "--python",
    "--python-version",
    "--report",
    "--retries",
    "--root",
    "--target",
    "--timeout",
    "--trusted-host",
    "--upgrade-strategy",
];

impl Dockerfile {
    /// The commands that install with pip or uv, in the file's order, of all stages.
    pub(crate) fn installs(&self) -> Vec<Install> {
        let commands = self.stages.iter().flat_map(|stage| stage.commands.iter().map(move |it| (stage, it)));
        commands.filter_map(|(stage, command)| install(stage, command)).collect()
    }
}

fn install(stage: &Stage, command: &Command) -> Option<Install> {
    let words = &command.words;
    let is_pip = |word: &String| {
        let rest = base_name(word).strip_prefix("pip");
        rest.is_some_and(|rest| rest.bytes().all(|b| b.is_ascii_digit() || b == b'.'))
    };
    let verb = match words.iter().position(is_pip) {
        Some(pip) => {
            pip + 1
                + words.iter().skip(pip + 1).position(|word| matches!(word.as_str(), "install" | "sync"))?
        }
        None => words.iter().position(|word| base_name(word) == "pip-sync")?,
    };
    let is_sync = words.get(verb).is_some_and(|word| word.ends_with("sync"));
    let line = |at: usize| command.lines.get(at).copied().unwrap_or(command.run);
    let mut found = Install { run: command.run, line: line(0), ..Install::default() };
    let mut at = verb + 1;
    while let Some(word) = words.get(at) {
        let (place, next) = (line(at), words.get(at + 1).cloned());
        at += 1;
        if is_redirection(word) {
            at += usize::from(word.ends_with(['>', '<']));
        } else if let Some((name, value)) = option(word) {
            let takes = WITH_VALUE.contains(&name)
                || matches!(short(name), 'r' | 'c' | 'e')
                || is_short_with_value(name);
            let value = if takes && value.is_none() {
                at += 1;
                next
            } else {
                value
            };
            found.option(short(name), name, value, (place, stage));
        } else if is_sync {
            found.requirements.push((place, word.clone()));
        } else {
            found.named.extend(named(word, stage).map(|named| (place, named)));
        }
    }
    Some(found)
}

impl Install {
    fn option(&mut self, short: char, name: &str, value: Option<String>, (line, stage): (u32, &Stage)) {
        match (short, value) {
            ('r', Some(value)) => self.requirements.push((line, value)),
            ('c', Some(value)) => self.constraints.push(value),
            ('e', Some(value)) => self.named.extend(named(&value, stage).map(|named| (line, named))),
            _ => {
                self.no_deps |= name == "--no-deps";
                self.unverified |= name == "--no-verify-hashes";
            }
        }
    }
}

/// An option's name and the value that is joined to it.
fn option(word: &str) -> Option<(&str, Option<String>)> {
    if word.starts_with("--") {
        return Some(match word.split_once('=') {
            Some((name, value)) => (name, Some(value.to_owned())),
            None => (word, None),
        });
    }
    if word.len() < 2 || !word.starts_with('-') {
        return None;
    }
    let (name, joined) = word.split_at_checked(2)?;
    let joined = (!joined.is_empty()
        && (matches!(short(name), 'r' | 'c' | 'e') || is_short_with_value(name)))
    .then(|| joined.to_owned());
    Some((name, joined))
}

/// The kind of an option that matters here, by its short name.
fn short(name: &str) -> char {
    match name {
        "-r" | "--requirement" | "--requirements" => 'r',
        "-c" | "--constraint" | "--constraints" => 'c',
        "-e" | "--editable" => 'e',
        _ => ' ',
    }
}

fn is_short_with_value(name: &str) -> bool {
    matches!(name, "-t" | "-i" | "-f" | "-C" | "-b" | "-p")
}

/// `>`, `2>/dev/null`: nothing that is installed. (`x>1` in quotes is a requirement.)
fn is_redirection(word: &str) -> bool {
    word.trim_start_matches(|c: char| c.is_ascii_digit()).starts_with(['>', '<'])
}

/// What a word stands for; nothing where only a build would tell (`$PACKAGES`), or for one file by its path.
fn named(word: &str, stage: &Stage) -> Option<Named> {
    if word.is_empty() || word.contains(['$', '`']) || matches!(word, ")" | "}" | "fi" | "done") {
        return None;
    }
    if word.contains("://") || word.starts_with("git+") {
        return Some(Named::Url(word.to_owned()));
    }
    let (path, extras) = word.split_once('[').unwrap_or((word, ""));
    let is_path = path.starts_with('.') || path.contains('/');
    if !is_path {
        let is_file = [".whl", ".gz", ".zip", ".bz2"].iter().any(|ending| path.ends_with(ending));
        return (!is_file).then(|| Named::Requirement(word.to_owned()));
    }
    if [".whl", ".gz", ".zip", ".bz2"].iter().any(|ending| path.ends_with(ending)) || path.contains('*') {
        return None;
    }
    let here = path.trim_start_matches("./").trim_end_matches('/');
    if here.is_empty()
        || here == "."
        || stage.project.iter().any(|project| project.trim_end_matches('/') == here)
    {
        let extras = extras.trim_end_matches(']').split(',').map(str::trim).filter(|extra| !extra.is_empty());
        return Some(Named::Project(word.to_owned(), extras.map(str::to_owned).collect()));
    }
    Some(Named::Folder(word.to_owned()))
}
