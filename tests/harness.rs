//! A sandbox with a small index beside the work: a folder, or a server on loopback. What runs say and write is
//! shown with file names for hashes, so that snapshots tell which files a lock admits.
#![expect(clippy::disallowed_methods, reason = "tests change files and run the command")]

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use reana_testkit::{IndexServer, Output, Reply, Sandbox, World};
use sha2::{Digest as _, Sha256};

/// The command under test.
pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_reana-lock");

/// A sandbox with an index in it.
pub(crate) struct Place {
    /// The sandbox.
    pub(crate) sandbox: Sandbox,
    /// What `--index-url` is given.
    index: String,
    /// The server, where the index is one.
    pub(crate) server: Option<IndexServer>,
    /// What files are called, by their sha256.
    names: BTreeMap<String, String>,
}

/// A sandbox whose index is a folder with this world. It stands for Python 3.12.
pub(crate) fn place(world: &World) -> Place {
    let sandbox = Sandbox::new(Path::new(PROGRAM));
    sandbox.world("index", world).file(".python-version", "3.12\n");
    let index = sandbox.path().join("index/simple").to_string_lossy().into_owned();
    Place { sandbox, index, server: None, names: names(world) }
}

/// A sandbox whose index is a server with this world.
pub(crate) fn served(world: &World) -> Place {
    let server = IndexServer::new();
    serve(&server, "", world);
    let sandbox = Sandbox::new(Path::new(PROGRAM));
    sandbox.file(".python-version", "3.12\n");
    let index = server.url("/simple/");
    Place { sandbox, index, server: Some(server), names: names(world) }
}

/// Puts a world on a server, below a path.
pub(crate) fn serve(server: &IndexServer, below: &str, world: &World) {
    for name in world.names() {
        let page = world.page(&name, &format!("{below}/files")).unwrap_or_default();
        server.put(&format!("{below}/simple/{name}/"), Reply::json(page.to_string()).with_etag());
        for file in world.files(&name) {
            server.put(&format!("{below}/files/{}", file.name), Reply::file(file.bytes));
            if let Some(metadata) = file.metadata {
                server
                    .put(&format!("{below}/files/{}.metadata", file.name), Reply::ok("text/plain", metadata));
            }
        }
    }
}

fn names(world: &World) -> BTreeMap<String, String> {
    let files = world.names().into_iter().flat_map(|name| world.files(&name));
    files.map(|file| (sha256(&file.bytes), file.name)).collect()
}

/// The sha256 in hexadecimal.
pub(crate) fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().fold(String::new(), |mut hex, byte| {
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}

impl Place {
    /// Writes a file.
    pub(crate) fn file(&self, path: &str, text: impl AsRef<[u8]>) -> &Self {
        self.sandbox.file(path, text);
        self
    }

    /// Replaces the index's folder by another world.
    pub(crate) fn now(&mut self, world: &World) -> &Self {
        let folder = self.sandbox.path().join("index");
        fs::remove_dir_all(&folder).expect("the old index");
        self.sandbox.world("index", world);
        self.names.extend(names(world));
        self
    }

    /// `reana-lock compile` with the index and these arguments.
    pub(crate) fn compile(&self, args: &[&str]) -> Output {
        self.compile_in("", args)
    }

    /// The same, started in a folder of the sandbox.
    pub(crate) fn compile_in(&self, folder: &str, args: &[&str]) -> Output {
        let mut all = vec!["compile", "--index-url", self.index.as_str()];
        all.extend(args);
        self.run_in(folder, &all)
    }

    /// Another command that asks the index, with these arguments.
    pub(crate) fn ask(&self, command: &str, args: &[&str]) -> Output {
        let mut all = vec![command, "--index-url", self.index.as_str()];
        all.extend(args);
        self.run(&all)
    }

    /// `reana-lock` with these arguments alone.
    pub(crate) fn run(&self, args: &[&str]) -> Output {
        self.run_in("", args)
    }

    /// The same, started in a folder of the sandbox.
    pub(crate) fn run_in(&self, folder: &str, args: &[&str]) -> Output {
        let Output { code, stdout, stderr } = self.sandbox.run_in(folder, args);
        Output { code, stdout: self.shown(&stdout), stderr: self.shown(&stderr) }
    }

    /// The sandbox's command, to be run in unusual ways.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let root = self.sandbox.path().parent().map(Path::to_path_buf).unwrap_or_default();
        let mut command = Command::new(PROGRAM);
        command
            .args(["compile", "--index-url", self.index.as_str()])
            .args(args)
            .current_dir(self.sandbox.path())
            .env_clear()
            .env("HOME", root.join("home"))
            .env("XDG_CACHE_HOME", root.join("cache"))
            .env("PIP_CONFIG_FILE", "/dev/null")
            .env("PATH", "/usr/local/bin:/usr/bin:/bin");
        command
    }

    /// A file's text, with names for hashes.
    pub(crate) fn read(&self, path: &str) -> String {
        self.shown(&self.sandbox.read(path))
    }

    /// The lock's text, with names for hashes.
    pub(crate) fn lock(&self) -> String {
        self.read("requirements.txt")
    }

    /// The pins of a lock, one a line: what a resolution is about, without layout.
    pub(crate) fn pins(&self, path: &str) -> Vec<String> {
        pins(&self.sandbox.read(path))
    }

    /// The names of the files that a lock admits, sorted.
    pub(crate) fn hashed(&self, path: &str) -> Vec<String> {
        let text = self.read(path);
        let hashes = text.split("--hash=sha256:").skip(1).map(|rest| {
            rest.split_whitespace().next().unwrap_or_default().trim_matches(['[', ']']).to_owned()
        });
        let mut hashes: Vec<String> = hashes.collect();
        hashes.sort();
        hashes
    }

    /// A path of the sandbox.
    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.sandbox.path().join(path)
    }

    /// Text with file names for hashes and `[INDEX]` for the server.
    pub(crate) fn shown(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for (hash, name) in &self.names {
            text = text.replace(&format!("sha256:{hash}"), &format!("sha256:[{name}]"));
            text = text.replace(hash, &format!("[{name}]"));
        }
        let server = self.server.as_ref().map(|server| text.replace(&server.host(), "[INDEX]"));
        server.unwrap_or(text)
    }

    /// Checks that a run fails with this code, says nothing on stdout, and leaves what was in the lock.
    #[track_caller]
    pub(crate) fn refuses(&self, args: &[&str], code: i32) -> String {
        let old = "# the old lock\nold==1.0\n";
        self.file("requirements.txt", old);
        let output = self.compile(args).expect_code(code);
        assert_eq!(output.stdout, "", "{}", output.stderr);
        assert_eq!(self.sandbox.read("requirements.txt"), old, "{}", output.stderr);
        self.no_leftovers();
        output.stderr
    }

    /// Checks that no half-written file or journal lies about.
    #[track_caller]
    pub(crate) fn no_leftovers(&self) {
        let entries = fs::read_dir(self.sandbox.path()).expect("the sandbox");
        let names: Vec<String> =
            entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        let left: Vec<&String> = names.iter().filter(|name| name.contains(".reana-lock")).collect();
        assert!(left.is_empty(), "left behind: {left:?}");
    }
}

/// The names of what is in a folder, sorted.
pub(crate) fn names_in(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).expect("a folder");
    let mut names: Vec<String> =
        entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// The pins of a lock's text, markers included.
pub(crate) fn pins(text: &str) -> Vec<String> {
    let lines = text.lines().filter(|line| !line.starts_with([' ', '#', '-']) && !line.trim().is_empty());
    let pin = |line: &str| {
        let line = line.split("  #").next().unwrap_or(line).trim_end_matches('\\');
        line.trim().to_owned()
    };
    lines.map(pin).collect()
}

/// A world of a web application's shape: `app` needs `lib`, which needs `base`.
pub(crate) fn small_world() -> World {
    World::new()
        .with("app", "1.0", &["lib>=1"])
        .with("app", "2.0", &["lib>=2"])
        .with("lib", "1.0", &["base"])
        .with("lib", "1.5", &["base"])
        .with("lib", "2.0", &["base>=1"])
        .with("base", "1.0", &[])
        .with("base", "1.1", &[])
}
