//! What a build takes from outside of its folder, as a Dockerfile says it: base images, and what no list of inputs
//! can pin.

use std::collections::{BTreeMap, BTreeSet};

use super::words::{Budget, Instruction, Variables, Word, commands, instructions, split, substitute};
use super::{INSTALLERS, Stage, base_name, is_pip_install, requirement_files};

/// What a build takes from outside.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Outside {
    /// Whether there is a stage at all: without one nothing is built.
    pub(crate) has_stage: bool,
    /// Images, in the file's order, variables put in.
    pub(crate) images: Vec<Place>,
    /// What may be something else tomorrow.
    pub(crate) unpinned: Vec<Place>,
    /// The arguments that the file declares.
    pub(crate) arguments: BTreeSet<String>,
}

/// Something in a Dockerfile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    /// Its line, from 1.
    pub(crate) line: u32,
    /// What is there.
    pub(crate) what: String,
}

/// Programs that fetch what they are told to, whatever is there now.
const FETCHERS: [(&str, &[&str]); 10] = [
    ("curl", &[]),
    ("wget", &[]),
    ("git", &["clone", "fetch", "pull"]),
    ("svn", &["checkout", "co", "export"]),
    ("npm", &["install", "i"]),
    ("yarn", &["install", "add"]),
    ("gem", &["install"]),
    ("cargo", &["install"]),
    ("go", &["install", "get"]),
    ("rustup", &["install", "update", "toolchain"]),
];

/// How deep scripts in scripts are looked into, and how many of them in one Dockerfile.
const DEEPEST: u32 = 3;
const MOST_NESTED: u32 = 1000;

/// Options of pip and uv whose value is the next word.
const WITH_VALUE: [&str; 16] = [
    "-r",
    "--requirement",
    "--requirements",
    "-c",
    "--constraint",
    "--constraints",
    "-i",
    "--index-url",
    "--extra-index-url",
    "-f",
    "--find-links",
    "-t",
    "--target",
    "--prefix",
    "--root",
    "--cache-dir",
];

/// Reads a Dockerfile as it is built with these arguments for these platforms. `lock`: the name of the component's
/// lock, which pins what is installed from it.
pub(crate) fn outside(
    text: &str,
    build_args: &BTreeMap<String, String>,
    platforms: &BTreeSet<String>,
    lock: &str,
) -> Outside {
    let mut reader = Reader {
        build_args,
        lock,
        found: Outside::default(),
        stages: BTreeSet::new(),
        budget: Budget::default(),
        nested: 0,
    };
    let mut global = platform_variables(platforms);
    let mut local = Variables::default();
    for instruction in instructions(text) {
        match instruction.keyword.as_str() {
            "FROM" => {
                reader.from(&instruction, &global);
                local = Variables::default();
            }
            "ARG" if !reader.found.has_stage => reader.arguments(&instruction, &mut global, None),
            "ARG" => reader.arguments(&instruction, &mut local, Some(&global)),
            "ENV" => super::set_environment(&instruction.rest, &mut local, &mut reader.budget),
            "COPY" => reader.flags(&instruction, "--from="),
            "ADD" => reader.add(&instruction),
            "RUN" => {
                reader.flags(&instruction, "--mount=");
                reader.run(&instruction, &local);
            }
            _ => {}
        }
    }
    reader.found
}

/// What the builder sets by itself for one platform; of several, each build has its own.
fn platform_variables(platforms: &BTreeSet<String>) -> Variables {
    let mut variables = Variables::default();
    let mut all = platforms.iter();
    if let (Some(platform), None) = (all.next(), all.next()) {
        let mut parts = platform.splitn(3, '/');
        variables.set("TARGETPLATFORM", platform.clone());
        for name in ["TARGETOS", "TARGETARCH", "TARGETVARIANT"] {
            variables.set(name, parts.next().unwrap_or_default().to_owned());
        }
    }
    variables
}

struct Reader<'a> {
    build_args: &'a BTreeMap<String, String>,
    lock: &'a str,
    found: Outside,
    /// What the stages are called, in small letters.
    stages: BTreeSet<String>,
    budget: Budget,
    nested: u32,
}

impl Reader<'_> {
    fn from(&mut self, instruction: &Instruction, global: &Variables) {
        let text = substitute(&instruction.rest, global, &mut self.budget);
        let Some(stage) = Stage::from(&text, instruction.line) else { return };
        self.image(&stage.base.clone(), instruction.line);
        self.stages.extend(stage.name);
        self.found.has_stage = true;
    }

    /// Takes an image, unless it is an earlier stage or nothing.
    fn image(&mut self, name: &str, line: u32) {
        let is_stage = self.stages.contains(&name.to_lowercase());
        if !is_stage && name != "scratch" && !name.is_empty() {
            self.found.images.push(Place { line, what: name.to_owned() });
        }
    }

    /// An argument of the build goes before a default.
    fn arguments(&mut self, instruction: &Instruction, values: &mut Variables, global: Option<&Variables>) {
        super::set_arguments(&instruction.rest, values, global, &mut self.budget);
        for word in split(&instruction.rest) {
            let name = word.split('=').next().unwrap_or_default();
            self.found.arguments.insert(name.to_owned());
            if let Some(value) = self.build_args.get(name) {
                values.set(name, value.clone());
            }
        }
    }

    /// Images that the flags of `COPY` and `RUN` name: `--from=IMAGE`, `--mount=type=bind,from=IMAGE`.
    fn flags(&mut self, instruction: &Instruction, flag: &str) {
        for word in split(&instruction.rest).iter().take_while(|word| word.starts_with("--")) {
            let Some(value) = word.strip_prefix(flag) else { continue };
            let from = match flag {
                "--mount=" => value.split(',').find_map(|part| part.strip_prefix("from=")),
                _ => Some(value),
            };
            // A number is a stage's place.
            if let Some(from) = from.filter(|from| !from.bytes().all(|byte| byte.is_ascii_digit())) {
                self.image(from, instruction.line);
            }
        }
    }

    fn add(&mut self, instruction: &Instruction) {
        self.flags(instruction, "--from=");
        let words = split(&instruction.rest);
        if words.iter().any(|word| word.starts_with("--checksum=")) {
            return;
        }
        let sources = words.split_last().map_or(&[][..], |(_, sources)| sources);
        // `ADD ["https://...", "/"]` is a list.
        let sources = sources.iter().map(|word| word.trim_start_matches('[').trim_end_matches(','));
        let fetched = sources.filter(|word| {
            ["http://", "https://", "git@", "git://", "ssh://"].iter().any(|start| word.starts_with(start))
        });
        for source in fetched {
            self.unpinned(instruction.line, format!("`ADD {source}` takes what is there"));
        }
    }

    fn unpinned(&mut self, line: u32, what: String) {
        self.found.unpinned.push(Place { line, what });
    }

    fn run(&mut self, instruction: &Instruction, local: &Variables) {
        for command in commands(&instruction.rest) {
            self.command(&command, instruction.line, local, 0);
        }
    }

    fn command(&mut self, command: &[Word], first_line: u32, local: &Variables, depth: u32) {
        let put_in = |word: &Word| substitute(&word.1, local, &mut self.budget);
        let all = without_brackets(command.iter().map(put_in).collect());
        for (at, word) in all.iter().enumerate() {
            self.substituted(word, command.get(at..).unwrap_or_default(), first_line, local, depth);
        }
        let is_setting =
            |word: &String| word.contains('=') || matches!(word.as_str(), "env" | "sudo" | "time");
        let skipped = all.iter().take_while(|word| is_setting(word)).count();
        let words = all.get(skipped..).unwrap_or_default();
        let offset = command.get(skipped).map_or(0, |word| word.0);
        let line = first_line.saturating_add(offset);
        let Some((program, rest)) = words.split_first() else { return };
        let program = base_name(program);
        if let ("sh" | "bash" | "dash", [option, script, ..]) = (program, rest)
            && option.starts_with('-')
            && option.ends_with('c')
        {
            self.script(script, line, local, depth);
        } else if INSTALLERS.contains(&program) {
            self.distribution(program, rest, line);
        } else if is_pip_install(words) {
            self.pip(words, line);
        } else if let Some((_, verbs)) = FETCHERS.iter().find(|(name, _)| *name == program) {
            self.fetcher(program, rest, verbs, line);
        }
    }

    /// A command whose output stands in a word: `X=$(curl ...)`, in quotes or not.
    fn substituted(&mut self, word: &str, from: &[Word], first_line: u32, local: &Variables, depth: u32) {
        let Some((_, inner)) = word.split_once("$(") else { return };
        self.nested = self.nested.saturating_add(1);
        if self.nested > MOST_NESTED {
            return;
        }
        let (line, rest) = match from.split_first() {
            Some((first, rest)) => (first_line.saturating_add(first.0), rest),
            None => (first_line, from),
        };
        if inner.contains(char::is_whitespace) {
            self.script(inner, line, local, depth);
        } else if depth < DEEPEST {
            let mut inner = vec![(line.saturating_sub(first_line), inner.to_owned())];
            inner.extend_from_slice(rest);
            self.command(&inner, first_line, local, depth + 1);
        }
    }

    fn script(&mut self, script: &str, line: u32, local: &Variables, depth: u32) {
        if depth < DEEPEST {
            for inner in commands(script) {
                self.command(&inner, line, local, depth + 1);
            }
        }
    }

    fn distribution(&mut self, program: &str, rest: &[String], line: u32) {
        let is_verb = |word: &String| {
            matches!(
                word.as_str(),
                "install" | "add" | "create" | "upgrade" | "dist-upgrade" | "full-upgrade"
            )
        };
        let Some(verb) = rest.iter().position(is_verb) else { return };
        let packages = rest.iter().skip(verb + 1).filter(|word| !word.starts_with('-'));
        let loose: Vec<&str> = packages.filter(|word| !word.contains('=')).map(String::as_str).collect();
        let verb = rest.get(verb).map(String::as_str).unwrap_or_default();
        if !loose.is_empty() {
            self.unpinned(
                line,
                format!("`{program} {verb}` takes the version of the day of {}", listed(&loose)),
            );
        } else if verb.ends_with("upgrade") {
            self.unpinned(line, format!("`{program} {verb}` takes the versions of the day"));
        }
    }

    fn pip(&mut self, words: &[String], line: u32) {
        let files: Vec<String> = requirement_files(words)
            .map(|(_, file)| file.to_owned())
            .filter(|file| base_name(file) != self.lock)
            .collect();
        let start =
            words.iter().position(|word| matches!(word.as_str(), "install" | "sync" | "wheel" | "download"));
        let mut loose: Vec<&str> = Vec::new();
        let mut is_value = false;
        for word in words.iter().skip(start.map_or(words.len(), |start| start + 1)) {
            let is_passed = std::mem::replace(&mut is_value, WITH_VALUE.contains(&word.as_str()));
            if !is_passed && !word.starts_with('-') && is_loose(word) {
                loose.push(word);
            }
        }
        if words.iter().any(|word| word == "sync") {
            loose.clear();
        }
        if !loose.is_empty() {
            self.unpinned(line, format!("pip installs {} without an exact version", listed(&loose)));
        }
        for file in files {
            self.unpinned(line, format!("pip installs from {file}, which is not the lock"));
        }
    }

    fn fetcher(&mut self, program: &str, rest: &[String], verbs: &[&str], line: u32) {
        let verb = rest.iter().find(|word| !word.starts_with('-')).map(String::as_str);
        let is_frozen =
            rest.iter().any(|word| matches!(word.as_str(), "--frozen-lockfile" | "--immutable" | "--locked"));
        let fetches = match (verb, verbs.is_empty()) {
            (Some(_), true) => true,
            (Some(verb), false) => verbs.contains(&verb),
            (None, _) => program == "yarn",
        };
        if fetches && !is_frozen {
            let address = rest.iter().find(|word| word.contains("://"));
            let what =
                address.map(|address| format!(" from {}", reana_lockfile::without_credentials(address)));
            self.unpinned(line, format!("`{program}` takes what is there{}", what.unwrap_or_default()));
        }
    }
}

/// A command without what opens and closes a shell's block around it.
fn without_brackets(mut words: Vec<String>) -> Vec<String> {
    if let Some(first) = words.first_mut() {
        *first = first.trim_start_matches(['(', '{', '`']).to_owned();
    }
    while let Some(last) = words.last_mut() {
        match last.trim_end_matches([')', '}', '`']).len() {
            _ if matches!(last.as_str(), "fi" | "done" | "esac") => last.clear(),
            length => last.truncate(length),
        }
        if !last.is_empty() {
            break;
        }
        words.pop();
    }
    words
}

/// Whether pip may take one version of it today and another one tomorrow.
fn is_loose(word: &str) -> bool {
    if let Some((_, after)) = word.split_once("://") {
        let commit = after.rsplit_once('@').map(|(_, commit)| commit.split('#').next().unwrap_or_default());
        let is_commit = commit
            .is_some_and(|commit| commit.len() >= 40 && commit.bytes().all(|byte| byte.is_ascii_hexdigit()));
        return !is_commit && !word.contains("sha256=");
    }
    let is_path = word.starts_with(['.', '/', '~', '$'])
        || word.contains('/')
        || word.ends_with(".whl")
        || word.ends_with(".gz");
    let is_shell = word.starts_with(['>', '<', ']', '[', '}', ')']) || word == "fi";
    !is_path && !is_shell && !word.contains("==")
}

/// The first few of these.
fn listed(names: &[&str]) -> String {
    const MOST: usize = 4;
    let shown = names.iter().take(MOST).copied().collect::<Vec<_>>().join(", ");
    match names.len().checked_sub(MOST).filter(|more| *more > 0) {
        Some(more) => format!("{shown} and {more} more"),
        None => shown,
    }
}
