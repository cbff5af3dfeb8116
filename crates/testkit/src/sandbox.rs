//! A sealed place to run the command in: its own folder, its own HOME, an environment of nothing else.
#![expect(clippy::disallowed_methods, reason = "tests write their files and run the command")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use crate::world::World;

/// A folder with a HOME beside it, gone when dropped.
#[derive(Debug)]
pub struct Sandbox {
    root: TempDir,
    program: PathBuf,
    env: BTreeMap<String, String>,
}

/// What a run gave. Paths of the sandbox are shown as `[ROOT]`, `[HOME]` and `[CACHE]`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use = "a run that nobody looks at proves nothing"]
pub struct Output {
    /// The exit code; -1 where a signal ended it.
    pub code: i32,
    /// What it wrote to stdout.
    pub stdout: String,
    /// What it wrote to stderr.
    pub stderr: String,
}

impl Sandbox {
    /// An empty folder to run `program` in.
    pub fn new(program: &Path) -> Self {
        let root = tempfile::Builder::new().prefix("reana-lock-test-").tempdir().expect("a temporary folder");
        for folder in ["work", "home", "cache"] {
            fs::create_dir_all(root.path().join(folder)).expect("a folder");
        }
        let path = |name: &str| root.path().join(name).to_string_lossy().into_owned();
        let env = BTreeMap::from([
            ("HOME".to_owned(), path("home")),
            ("XDG_CACHE_HOME".to_owned(), path("cache")),
            ("XDG_CONFIG_HOME".to_owned(), path("home/.config")),
            // The machine's own pip.conf is not the tests' business.
            ("PIP_CONFIG_FILE".to_owned(), "/dev/null".to_owned()),
            ("COLUMNS".to_owned(), "100".to_owned()),
            ("NO_COLOR".to_owned(), "1".to_owned()),
            ("TERM".to_owned(), "dumb".to_owned()),
            ("LC_ALL".to_owned(), "C.UTF-8".to_owned()),
            ("TZ".to_owned(), "UTC".to_owned()),
            // Programs that the command may look for (git) are found where systems keep them.
            ("PATH".to_owned(), "/usr/local/bin:/usr/bin:/bin".to_owned()),
        ]);
        Self { root, program: program.to_owned(), env }
    }

    /// The folder that the program runs in.
    pub fn path(&self) -> PathBuf {
        self.root.path().join("work")
    }

    /// Writes a file, with the folders on its way.
    pub fn file(&self, path: &str, text: impl AsRef<[u8]>) -> &Self {
        let path = self.path().join(path);
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).expect("a folder");
        }
        fs::write(&path, text).expect("a written file");
        self
    }

    /// Writes a world into a folder of the sandbox. `FOLDER/simple` is the index.
    pub fn world(&self, folder: &str, world: &World) -> &Self {
        world.write(&self.path().join(folder)).expect("a written world");
        self
    }

    /// The text of a file.
    ///
    /// # Panics
    /// When there is none.
    pub fn read(&self, path: &str) -> String {
        fs::read_to_string(self.path().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
    }

    /// Whether a file or folder is there.
    pub fn exists(&self, path: &str) -> bool {
        self.path().join(path).exists()
    }

    /// Sets a variable of the environment.
    #[must_use]
    pub fn env(mut self, name: &str, value: &str) -> Self {
        self.env.insert(name.to_owned(), value.to_owned());
        self
    }

    /// Runs the program in the sandbox's folder.
    pub fn run(&self, args: &[&str]) -> Output {
        self.run_in("", args)
    }

    /// Runs the program in a folder of the sandbox.
    pub fn run_in(&self, folder: &str, args: &[&str]) -> Output {
        let output = Command::new(&self.program)
            .args(args)
            .env_clear()
            .envs(&self.env)
            .current_dir(self.path().join(folder))
            .stdin(std::process::Stdio::null())
            .output()
            .unwrap_or_else(|error| panic!("{}: {error}", self.program.display()));
        Output {
            code: output.status.code().unwrap_or(-1),
            stdout: self.redact(&output.stdout),
            stderr: self.redact(&output.stderr),
        }
    }

    /// Text with the sandbox's paths replaced.
    fn redact(&self, bytes: &[u8]) -> String {
        let root = self.root.path().to_string_lossy().into_owned();
        // macOS shows its temporary folder under another name once links are followed.
        let real = fs::canonicalize(self.root.path()).unwrap_or_default().to_string_lossy().into_owned();
        let mut text = String::from_utf8_lossy(bytes).into_owned();
        for root in [real, root].iter().filter(|root| !root.is_empty()) {
            let places = [("work", "[ROOT]"), ("home", "[HOME]"), ("cache", "[CACHE]")];
            for (folder, shown) in places {
                text = text.replace(&format!("{root}/{folder}"), shown);
            }
            text = text.replace(root.as_str(), "[SANDBOX]");
        }
        text
    }
}

impl Output {
    /// The run ended with this code; shows all of it where not.
    ///
    /// # Panics
    /// When it ended with another one.
    #[track_caller]
    pub fn expect_code(self, code: i32) -> Self {
        assert_eq!(self.code, code, "\n--- stdout\n{}\n--- stderr\n{}", self.stdout, self.stderr);
        self
    }
}

impl std::fmt::Display for Output {
    /// As snapshots show it.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "exit {}\n--- stdout\n{}--- stderr\n{}", self.code, self.stdout, self.stderr)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_sealed() {
        let sandbox = Sandbox::new(Path::new("/bin/sh")).env("X", "1");
        sandbox.file("a/b", "text");
        let output = sandbox.run_in("a", &["-c", "cat b; pwd; echo $HOME $X $CARGO >&2; exit 3"]);
        let expected =
            Output { code: 3, stdout: "text[ROOT]/a\n".to_owned(), stderr: "[HOME] 1\n".to_owned() };
        assert_eq!(output, expected);
        assert_eq!(sandbox.read("a/b"), "text");
        assert!(sandbox.exists("a") && !sandbox.exists("c"));
    }
}
