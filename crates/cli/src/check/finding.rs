//! What a check can find: stable codes, each with its grade and what it means. docs/findings.md is made from this.

/// How much a finding weighs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Grade {
    /// The lock or image is not what it says: exit 1.
    Error,
    /// Probably not as it should be.
    Warning,
    /// Good to know.
    Note,
}

impl Grade {
    /// The grade in a word, for people and scripts.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
            Self::Note => "note",
        }
    }
}

/// A kind of finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Code {
    Stale,
    Incomplete,
    HandEdited,
    OtherTargets,
    Preview,
    OtherOptions,
    OtherTool,
    Missing,
    Unreadable,
    Unfinished,
    HashUnknown,
    FileAdded,
    NoHashes,
    Unhashed,
    NotOffered,
    Yanked,
    YankedConsented,
    NotFromLock,
    PullsInMore,
    Unpinned,
    PipUpgrade,
    HashesIgnored,
    OtherPython,
    LocalPackage,
    BesideLock,
    NotChecked,
}

/// What is published of a kind of finding.
pub(crate) struct Entry {
    /// The code that scripts rely on.
    pub(crate) code: &'static str,
    /// The same in words.
    pub(crate) name: &'static str,
    /// How much it weighs.
    pub(crate) grade: Grade,
    /// What it means.
    pub(crate) meaning: &'static str,
    /// What to do about it.
    pub(crate) remedy: &'static str,
}

/// All kinds, in the order of their codes.
pub(crate) const ALL: [Code; 26] = [
    Code::Stale,
    Code::Incomplete,
    Code::HandEdited,
    Code::OtherTargets,
    Code::Preview,
    Code::OtherOptions,
    Code::OtherTool,
    Code::Missing,
    Code::Unreadable,
    Code::Unfinished,
    Code::HashUnknown,
    Code::FileAdded,
    Code::NoHashes,
    Code::Unhashed,
    Code::NotOffered,
    Code::Yanked,
    Code::YankedConsented,
    Code::NotFromLock,
    Code::PullsInMore,
    Code::Unpinned,
    Code::PipUpgrade,
    Code::HashesIgnored,
    Code::OtherPython,
    Code::LocalPackage,
    Code::BesideLock,
    Code::NotChecked,
];

const COMPILE: &str = "`reana-lock compile`";

impl Code {
    /// What is published of it.
    pub(crate) fn entry(self) -> Entry {
        let (code, name, grade, meaning, remedy) = match self {
            Self::Stale | Self::Incomplete | Self::HandEdited | Self::OtherTargets | Self::Preview => {
                self.of_pins()
            }
            Self::OtherOptions | Self::OtherTool | Self::Missing | Self::Unreadable | Self::Unfinished => {
                self.of_file()
            }
            Self::HashUnknown | Self::FileAdded | Self::NoHashes | Self::Unhashed | Self::NotOffered => {
                self.of_hashes()
            }
            Self::Yanked | Self::YankedConsented | Self::NotChecked => self.of_index(),
            Self::NotFromLock | Self::PullsInMore | Self::Unpinned | Self::PipUpgrade => self.of_image(),
            Self::HashesIgnored | Self::OtherPython | Self::LocalPackage | Self::BesideLock => {
                self.of_image_too()
            }
        };
        Entry { code, name, grade, meaning, remedy }
    }

    fn of_pins(self) -> Row {
        match self {
            Self::Stale => (
                "L001",
                "stale",
                Grade::Error,
                "A pin is not what `compile` would write now: a manifest asks for something else, the pin is no longer \
                 required, or other packages require it (its `via`).",
                COMPILE,
            ),
            Self::Incomplete => (
                "L002",
                "incomplete",
                Grade::Error,
                "Something that a manifest or a pinned package requires is not pinned.",
                COMPILE,
            ),
            Self::HandEdited => (
                "L003",
                "hand-edited",
                Grade::Error,
                "The lock is not what its own pins would be written as, in any style that reana-lock or pip-compile \
                 has: somebody edited it. (A lock with a path that has no name is not judged.)",
                COMPILE,
            ),
            Self::OtherTargets => (
                "L004",
                "other-targets",
                Grade::Error,
                "The header names other Pythons than reana-lock.toml or the command line.",
                COMPILE,
            ),
            _ => (
                "L005",
                "preview",
                Grade::Error,
                "The lock was solved with local checkouts and is marked so: it is no lock to release from.",
                "release what the checkouts hold, then `reana-lock compile`",
            ),
        }
    }

    fn of_file(self) -> Row {
        match self {
            Self::OtherOptions => (
                "L006",
                "other-options",
                Grade::Error,
                "The pins are right, but header, options or layout are not what `compile` would write now.",
                COMPILE,
            ),
            Self::OtherTool => (
                "L007",
                "other-tool",
                Grade::Note,
                "Another tool made the lock, or no header says what did. Its pins are judged all the same; its \
                 header and layout are not compared with reana-lock's.",
                COMPILE,
            ),
            Self::Missing => ("L008", "missing", Grade::Error, "There is no lock.", COMPILE),
            Self::Unreadable => (
                "L009",
                "unreadable",
                Grade::Error,
                "A line of the lock is not understood, pins no version, pins a package twice, or is left over from a \
                 merge.",
                "resolve the conflict, then `reana-lock compile`",
            ),
            _ => (
                "L010",
                "unfinished",
                Grade::Error,
                "A run that was killed while it wrote left its journal: the files may be half old, half new.",
                "any `reana-lock compile` finishes it or takes it back",
            ),
        }
    }

    fn of_hashes(self) -> Row {
        match self {
            Self::HashUnknown => (
                "H001",
                "hash-unknown",
                Grade::Error,
                "A hash of the lock is of no file that the index has of this version: a file was changed or removed, \
                 or the lock was edited. pip would refuse the changed file.",
                "find out why before anything is installed; then `reana-lock compile`",
            ),
            Self::FileAdded => (
                "H002",
                "file-added",
                Grade::Note,
                "A file was added to a locked version after the lock was made (a wheel for a newer Python, say). The \
                 lock still holds.",
                "`reana-lock refresh-hashes` adds its hash",
            ),
            Self::NoHashes => (
                "H003",
                "no-hashes",
                Grade::Warning,
                "The lock has no hashes, so pip checks none: whoever can replace a file on the way replaces what runs. \
                 Not told where reana-lock.toml or an option wants it so.",
                COMPILE,
            ),
            Self::Unhashed => (
                "H004",
                "unhashed",
                Grade::Warning,
                "A pin has no hash in a lock that has hashes: pip refuses to install from it.",
                COMPILE,
            ),
            _ => (
                "H005",
                "not-offered",
                Grade::Error,
                "The index doesn't have the pinned version.",
                "is it the right index? else `reana-lock compile`",
            ),
        }
    }

    fn of_index(self) -> Row {
        match self {
            Self::Yanked => (
                "Y001",
                "yanked",
                Grade::Error,
                "The pinned version was withdrawn from the index (PEP 592), and no manifest asks for exactly it.",
                COMPILE,
            ),
            Self::YankedConsented => (
                "Y002",
                "yanked-wanted",
                Grade::Warning,
                "The pinned version was withdrawn, and a manifest or constraints file asks for it with `==`: whoever \
                 wrote that line consented.",
                "raise the version in that line",
            ),
            _ => (
                "N001",
                "not-checked",
                Grade::Note,
                "Something could not be checked: offline, or an answer could not be had. Where the pins could not be \
                 checked, the exit code is 4 (unless there are errors).",
                "run again where the index can be reached",
            ),
        }
    }

    fn of_image(self) -> Row {
        match self {
            Self::NotFromLock => (
                "D001",
                "not-from-lock",
                Grade::Error,
                "The Dockerfile has no command that installs from the lock with pip or uv.",
                "`RUN pip install -r requirements.txt`",
            ),
            Self::PullsInMore => (
                "D002",
                "pulls-in-more",
                Grade::Warning,
                "The project itself is installed without `--no-deps`: what it requires and the lock lacks, extras \
                 above all, is installed unpinned.",
                "add `--no-deps`, or `-c requirements.txt`; lock the extras (`--extra`)",
            ),
            Self::Unpinned => (
                "D003",
                "unpinned",
                Grade::Warning,
                "A package is installed in whatever version the index has on the day of the build, or from another \
                 requirements file than the lock.",
                "require it in a manifest or a constraints file, so that the lock pins it",
            ),
            _ => (
                "D004",
                "pip-upgrade",
                Grade::Warning,
                "pip itself is installed in whatever version the index has on the day of the build.",
                "name a version, `pip==25.3`, or take the base image's",
            ),
        }
    }

    fn of_image_too(self) -> Row {
        match self {
            Self::HashesIgnored => (
                "D005",
                "hashes-ignored",
                Grade::Error,
                "The command that installs from the lock turns the check of hashes off.",
                "take `--no-verify-hashes` away",
            ),
            Self::OtherPython => (
                "D006",
                "other-python",
                Grade::Warning,
                "The image has another Python than the lock is for.",
                "`reana-lock compile --python-version X.Y`, or another base image",
            ),
            Self::LocalPackage => (
                "D007",
                "local-package",
                Grade::Note,
                "A folder of the build context is installed in place of what the lock pins, with what it requires.",
                "fine for development; a release must not have that folder",
            ),
            _ => (
                "D008",
                "beside-lock",
                Grade::Warning,
                "A package is installed with `==` in another version than the lock's, or one that the lock lacks.",
                "constrain it, so that the lock pins that version",
            ),
        }
    }
}

type Row = (&'static str, &'static str, Grade, &'static str, &'static str);

/// Something that a check found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Finding {
    /// Its kind.
    pub(crate) code: Code,
    /// The file as the user sees it.
    pub(crate) file: String,
    /// The line, from 1; 0 where the whole file is meant.
    pub(crate) line: u32,
    /// What was found, on one line.
    pub(crate) message: String,
}

impl Finding {
    /// A finding in a line.
    pub(crate) fn new(code: Code, file: &str, line: u32, message: impl Into<String>) -> Self {
        Self { code, file: file.to_owned(), line, message: message.into() }
    }

    /// How much it weighs.
    pub(crate) fn grade(&self) -> Grade {
        self.code.entry().grade
    }
}

/// The page that explains all codes.
pub(crate) fn page() -> String {
    let mut text = "# Findings\n\nWhat `reana-lock check` and `compile --check` can find. Codes are stable: scripts may rely \
                    on them. Findings of\ngrade error make exit code 1; warnings and notes don't. Made from the command's own \
                    definitions by\n`cargo xtask generate`.\n\n| code | name | grade | meaning | remedy |\n|---|---|---|---|---|\n"
        .to_owned();
    for code in ALL {
        let Entry { code, name, grade, meaning, remedy } = code.entry();
        text.push_str(&format!("| {code} | {name} | {} | {meaning} | {remedy} |\n", grade.word()));
    }
    text
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn codes_and_names_are_each_their_own() {
        let codes: BTreeSet<&str> = ALL.iter().map(|code| code.entry().code).collect();
        let names: BTreeSet<&str> = ALL.iter().map(|code| code.entry().name).collect();
        assert_eq!((codes.len(), names.len()), (ALL.len(), ALL.len()));
        assert!(ALL.is_sorted(), "in the order of their definition");
        assert!(page().lines().skip(8).all(|line| line.matches(" | ").count() == 4), "{}", page());
    }
}
