//! What a Dockerfile tells about the Python in an image, and whether it installs from a lock. Pure; no
//! build is simulated: instructions are read, variables with a known value put in, words looked at.

pub(crate) mod build;
mod installs;
mod words;

#[cfg(test)]
mod tests;

pub(crate) use installs::{Install, Named};
use words::{Budget, Variables, commands, instructions, substitute};

/// The last stage of a Dockerfile, with those it is built upon.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Dockerfile {
    stages: Vec<Stage>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Stage {
    name: Option<String>,
    base: String,
    line: u32,
    commands: Vec<Command>,
    /// Where the whole build context is copied to (`COPY . /code`).
    project: Vec<String>,
}

/// A command of a `RUN`: its words, and the line of each.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Command {
    words: Vec<String>,
    lines: Vec<u32>,
    /// The line of the `RUN`.
    run: u32,
}

/// A Python that a Dockerfile brings about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Found {
    /// `3.12` or `3.12.4`.
    pub(crate) version: String,
    /// The line that says so, from 1.
    pub(crate) line: u32,
    /// What says so: `FROM python:3.12`, `python3.12`, `ubuntu:24.04`.
    pub(crate) what: String,
}

/// Python of the distributions that REANA's images are, or were, built upon: the tag's beginning, and what
/// their `python3` is.
const DISTRIBUTIONS: [(&str, &[(&str, &str)]); 2] = [
    (
        "ubuntu",
        &[
            ("18.04", "3.6"),
            ("bionic", "3.6"),
            ("20.04", "3.8"),
            ("focal", "3.8"),
            ("22.04", "3.10"),
            ("jammy", "3.10"),
            ("24.04", "3.12"),
            ("noble", "3.12"),
        ],
    ),
    (
        "debian",
        &[
            ("10", "3.7"),
            ("buster", "3.7"),
            ("11", "3.9"),
            ("bullseye", "3.9"),
            ("12", "3.11"),
            ("bookworm", "3.11"),
            ("13", "3.13"),
            ("trixie", "3.13"),
        ],
    ),
];

/// Programs that install packages of a distribution.
const INSTALLERS: [&str; 9] =
    ["apt-get", "apt", "aptitude", "dnf", "microdnf", "yum", "apk", "conda", "mamba"];

impl Dockerfile {
    /// Reads a Dockerfile. What is not understood is passed over: this is a look, not a build.
    pub(crate) fn parse(text: &str) -> Self {
        let (mut global, mut local) = (Variables::default(), Variables::default());
        let mut budget = Budget::default();
        let mut stages: Vec<Stage> = Vec::new();
        for instruction in instructions(text) {
            let line = instruction.line;
            match (instruction.keyword.as_str(), stages.last_mut()) {
                ("FROM", _) => {
                    let text = substitute(&instruction.rest, &global, &mut budget);
                    stages.extend(Stage::from(&text, line));
                    local = Variables::default();
                }
                ("ARG", None) => set_arguments(&instruction.rest, &mut global, None, &mut budget),
                ("ARG", Some(_)) => set_arguments(&instruction.rest, &mut local, Some(&global), &mut budget),
                ("ENV", Some(_)) => set_environment(&instruction.rest, &mut local, &mut budget),
                ("RUN", Some(stage)) => {
                    for command in commands(&instruction.rest) {
                        let put_in = |(_, word): &words::Word| substitute(word, &local, &mut budget);
                        let words = command.iter().map(put_in).collect();
                        let lines = command.iter().map(|(offset, _)| line.saturating_add(*offset)).collect();
                        stage.commands.push(Command { words, lines, run: line });
                    }
                }
                ("COPY" | "ADD", Some(stage)) => {
                    let text = substitute(&instruction.rest, &local, &mut budget);
                    let words = words::split(&text);
                    let mut words = words.iter().filter(|word| !word.starts_with("--"));
                    let to = words.next_back();
                    let is_all = words.any(|from| matches!(from.as_str(), "." | "./"));
                    stage.project.extend(to.filter(|_| is_all).cloned());
                }
                _ => {}
            }
        }
        Self { stages }
    }

    /// The line that installs from the requirements file of this name with pip or uv, in any stage.
    pub(crate) fn installs_from(&self, file: &str) -> Option<u32> {
        let commands = self.stages.iter().flat_map(|stage| &stage.commands);
        let mut installing = commands.filter(|command| is_pip_install(&command.words));
        installing.find_map(|command| {
            let at = requirement_files(&command.words).find(|(_, path)| base_name(path) == file)?.0;
            command.lines.get(at).copied()
        })
    }

    /// The Python of the image: that of the last stage, or of what it is built upon.
    pub(crate) fn python(&self) -> Option<Found> {
        let mut at = self.stages.len().checked_sub(1)?;
        // What a Python image brings goes before what is installed into it; a stage before what it builds on.
        loop {
            let stage = self.stages.get(at)?;
            if let Some(found) = stage.python_image().or_else(|| stage.installed()) {
                return Some(found);
            }
            let earlier = self.stages.get(..at)?;
            match earlier.iter().rposition(|earlier| earlier.is_called(&stage.base)) {
                Some(base) => at = base,
                None => return stage.distribution(),
            }
        }
    }
}

impl Stage {
    fn from(text: &str, line: u32) -> Option<Self> {
        let mut words = words::split(text).into_iter().filter(|word| !word.starts_with("--"));
        let base = words.next()?;
        let name = match (words.next(), words.next()) {
            (Some(word), Some(name)) if word.eq_ignore_ascii_case("as") => Some(name.to_lowercase()),
            _ => None,
        };
        Some(Self { name, base, line, commands: Vec::new(), project: Vec::new() })
    }

    fn is_called(&self, name: &str) -> bool {
        self.name.as_deref() == Some(name.to_lowercase().as_str())
    }

    /// The base image's last name and its tag, without registry and digest.
    fn image(&self) -> (&str, &str) {
        let image = self.base.split('@').next().unwrap_or_default();
        let last = base_name(image);
        last.split_once(':').unwrap_or((last, ""))
    }

    fn python_image(&self) -> Option<Found> {
        let (name, tag) = self.image();
        let version = if name == "python" {
            leading_version(tag)?
        } else {
            // `ubi9/python-312`
            let digits = name.strip_prefix("python-3").filter(|minor| (1..=2).contains(&minor.len()))?;
            format!("3.{}", digits.parse::<u8>().ok()?)
        };
        Some(Found { version, line: self.line, what: format!("FROM {}", self.base) })
    }

    fn distribution(&self) -> Option<Found> {
        let (name, tag) = self.image();
        let (_, releases) = DISTRIBUTIONS.iter().find(|(distribution, _)| *distribution == name)?;
        let (_, python) = releases.iter().find(|(release, _)| {
            tag.strip_prefix(release).is_some_and(|rest| rest.is_empty() || rest.starts_with(['-', '.']))
        })?;
        Some(Found { version: (*python).to_owned(), line: self.line, what: format!("FROM {}", self.base) })
    }

    /// The Python that pip is run with by name; else the last one that is installed.
    fn installed(&self) -> Option<Found> {
        let last = |find: fn(&[String]) -> Option<(usize, String)>, what: &str| {
            self.commands.iter().rev().find_map(|command| {
                let (at, version) = find(&command.words)?;
                let line = command.lines.get(at).copied().unwrap_or(self.line);
                Some(Found { what: what.replace("{}", &version), version, line })
            })
        };
        last(pip_s_python, "python{} -m pip").or_else(|| last(installed_python, "python{} installed"))
    }
}

/// The Python that pip is run with by name.
fn pip_s_python(words: &[String]) -> Option<(usize, String)> {
    let program = words.first().and_then(|program| python_program(base_name(program)));
    program.filter(|_| is_pip_install(words)).map(|version| (0, version))
}

/// The Python that a distribution's package manager is told to install, and the word that says so: a plain
/// `python3.12` before what comes with one (`python3.12-dev`, `libpython3.12`).
fn installed_python(words: &[String]) -> Option<(usize, String)> {
    let start = words.iter().position(|word| !word.contains('='))?;
    let program = base_name(words.get(start)?);
    if !INSTALLERS.contains(&program) {
        return None;
    }
    let verb = words.iter().position(|word| matches!(word.as_str(), "install" | "add" | "create"))?;
    let packages = || words.iter().enumerate().skip(verb + 1).rev();
    if matches!(program, "conda" | "mamba") {
        return packages().find_map(|(at, word)| {
            let version = word.strip_prefix("python=")?.trim_start_matches('=');
            Some((at, leading_version(version)?))
        });
    }
    let name = |word: &str| word.split('=').next().unwrap_or_default().to_owned();
    let plain = packages().find_map(|(at, word)| Some((at, python_program(&name(word))?)));
    plain.or_else(|| {
        packages().find_map(|(at, word)| {
            let name = name(word);
            let name = name.strip_prefix("lib").unwrap_or(&name);
            Some((at, python_program(name.split('-').next().unwrap_or_default())?))
        })
    })
}

/// `3.12` of `python3.12`.
fn python_program(name: &str) -> Option<String> {
    let version = name.strip_prefix("python")?;
    let (major, minor) = version.split_once('.')?;
    let is_number =
        |text: &str| !text.is_empty() && text.len() <= 2 && text.bytes().all(|b| b.is_ascii_digit());
    (is_number(major) && is_number(minor)).then(|| version.to_owned())
}

/// `3.12` of `3.12-slim`, `3.12.4` of `3.12.4-slim`; nothing of `3` or `latest`.
fn leading_version(tag: &str) -> Option<String> {
    let end = tag.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(tag.len());
    // `3.14.0rc1` is a 3.14, whatever its patch will be.
    let is_release = tag.get(end..).is_none_or(|rest| rest.is_empty() || rest.starts_with(['-', '*', '+']));
    let version = tag.get(..end)?.trim_end_matches('.');
    let parts: Vec<&str> = version.split('.').collect();
    match parts[..] {
        [major, minor, _] if !is_release => Some(format!("{major}.{minor}")),
        [_, _] | [_, _, _] => Some(version.to_owned()),
        _ => None,
    }
}

fn is_pip_install(words: &[String]) -> bool {
    let has = |names: &[&str]| words.iter().any(|word| names.contains(&base_name(word)));
    let is_pip = words.iter().any(|word| {
        let name = base_name(word);
        name.strip_prefix("-m")
            .unwrap_or(name)
            .strip_prefix("pip")
            .is_some_and(|rest| rest.bytes().all(|b| b.is_ascii_digit() || b == b'.'))
    });
    (is_pip && has(&["install", "sync", "wheel", "download"])) || has(&["pip-sync"])
}

/// The requirements files that pip or uv is told to read, each with the number of its word.
fn requirement_files(words: &[String]) -> impl Iterator<Item = (usize, &str)> {
    let is_sync = words.iter().any(|word| matches!(base_name(word), "sync" | "pip-sync"));
    words.iter().enumerate().filter_map(move |(at, word)| {
        let before = at.checked_sub(1).and_then(|before| words.get(before)).map(String::as_str);
        if matches!(before, Some("-r" | "--requirement" | "--requirements")) {
            return Some((at, word.as_str()));
        }
        let joined =
            ["--requirement=", "--requirements=", "-r"].iter().find_map(|flag| word.strip_prefix(flag));
        let path = joined.or_else(|| is_sync.then_some(word.as_str()));
        path.filter(|path| !path.is_empty()).map(|path| (at, path))
    })
}

fn base_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

fn set_arguments(rest: &str, values: &mut Variables, global: Option<&Variables>, budget: &mut Budget) {
    for word in words::split(rest) {
        match word.split_once('=') {
            Some((name, value)) => {
                let value = substitute(value, values, budget);
                values.set(name, value);
            }
            // Named without a value, it takes the one from above the first FROM.
            None => {
                if let Some(value) = global.and_then(|global| global.get(&word)) {
                    values.set(&word, value.clone());
                }
            }
        }
    }
}

fn set_environment(rest: &str, values: &mut Variables, budget: &mut Budget) {
    let words = words::split(rest);
    match words.split_first() {
        Some((first, _)) if first.contains('=') => set_arguments(rest, values, None, budget),
        Some((name, value)) => {
            let value = substitute(&value.join(" "), values, budget);
            values.set(name, value);
        }
        None => {}
    }
}
