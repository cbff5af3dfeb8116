//! Fleets of real git repositories, made for a test: two shared packages, five components.
#![expect(clippy::disallowed_methods, reason = "tests make repositories and run git")]

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

use reana_testkit::{Output, Release, World};

use crate::harness::{Place, place};

/// What the index has: the newest reana-commons needs a yadage-schemas that two components don't take.
pub(crate) fn world() -> World {
    let commons = |version: &str, schemas: &str| {
        let yadage = format!("yadage-schemas{schemas}; extra == 'yadage'");
        Release::new(version, &["click", yadage.as_str()]).extras(&["yadage", "tests", "kubernetes"])
    };
    let mut world = World::new()
        .release("reana-commons", commons("0.94.0", "==0.10.6"))
        .release("reana-commons", commons("0.95.0a20", "~=0.10.6"))
        .release("reana-commons", commons("0.95.0a21", "~=0.10.6"))
        .release("reana-commons", commons("0.95.0a25", "~=0.10.6"))
        .release("reana-commons", commons("0.95.0a26", ">=0.11.1"))
        .release("reana-commons", commons("0.95.0a27", "").yanked("broken"))
        .with("reana-commons-extra", "0.1", &[])
        .with("reana-commons-extra", "0.2", &[]);
    for (version, requires) in
        [("0.95.0a10", "reana-commons>=0.95.0a15,<0.96.0"), ("0.95.0a13", "reana-commons>=0.95.0a20,<0.96.0")]
    {
        let mut all = vec![requires];
        all.extend((version == "0.95.0a13").then_some("alembic"));
        world = world.release("reana-db", Release::new(version, &all).extras(&["tests"]));
    }
    for (name, versions) in
        [("click", ["8.0", "8.1"]), ("alembic", ["1.0", "1.1"]), ("yadage-schemas", ["0.10.6", "0.11.1"])]
    {
        for version in versions {
            world = world.with(name, version, &[]);
        }
    }
    world
}

const DOCKERFILE: &str = "FROM python:3.12\nCOPY . /code\nRUN pip install -r requirements.txt\n";
const LOCK: &str = "click==8.0\nreana-commons==0.95.0a20\nreana-db==0.95.0a10\nyadage-schemas==0.10.6\n";

/// The server's setup.py: markers, comments, look-alike names, and each shared package twice.
pub(crate) const SERVER: &str = r#"from setuptools import setup

extras_require = {
    "tests": [
        "reana-commons[yadage,tests]>=0.95.0a21,<0.96.0",  # reana-commons>=0.95.0a21
        'reana-db[tests] >= 0.95.0a10, <0.96.0 ; python_version >= "3.8"',
    ],
}

install_requires = [
    # reana-commons>=0.95.0a21 is a comment
    "reana-commons[yadage]>=0.95.0a21,<0.96.0",
    "reana-commons-extra>=0.1",
    "reana-db" ">=0.95.0a10" ",<0.96.0",
    "yadage-schemas==0.10.6",  # as in the engine
]

setup(
    name="reana-server",
    version="0.95.0a6",
    install_requires=install_requires,
    extras_require=extras_require,
)
"#;

/// The controller's setup.cfg, with the line ends of Windows.
pub(crate) const CONTROLLER: &str = "[metadata]\r\nname = reana-workflow-controller\r\nversion = 1\r\n[options]\r\ninstall_requires =\r\n    Reana_Commons [kubernetes] >=0.95.0a17,<0.96.0\r\n    reana-db>=0.95.0a9\r\n";

/// The operator's pyproject.toml.
pub(crate) const OPERATOR: &str = "[project]\nname = \"reana-dask-operator\"\nversion = \"1\"\ndependencies = [\n    \"reana-commons ~= 0.95.0a20\", # fixed\n]\n[project.optional-dependencies]\ntests = ['reana-db[tests]>=0.95.0a10']\n";

/// A fleet at its place in a sandbox.
pub(crate) struct Checkouts {
    /// The sandbox, with the index.
    pub(crate) place: Place,
}

/// The names of the fleet's repositories.
pub(crate) const NAMES: [&str; 7] = [
    "reana-commons",
    "reana-dask-operator",
    "reana-db",
    "reana-job-controller",
    "reana-server",
    "reana-workflow-controller",
    "reana-workflow-engine-serial",
];

/// A fleet whose repositories are committed on `master`, with the branch `work` checked out.
pub(crate) fn checkouts() -> Checkouts {
    let checkouts = Checkouts { place: place(&world()) };
    let setup = |name: &str, version: &str, requires: &str| {
        format!(
            "from setuptools import setup\nsetup(name='{name}', version='{version}', install_requires=[{requires}])\n"
        )
    };
    checkouts
        .file("reana-commons/setup.py", &setup("reana-commons", "0.95.0a25", "'click'"))
        .file(
            "reana-db/setup.py",
            &setup("reana-db", "0.95.0a13", "'reana-commons>=0.95.0a15,<0.96.0', 'alembic'"),
        )
        .file("reana-server/setup.py", SERVER)
        .file("reana-workflow-controller/setup.cfg", CONTROLLER)
        .file("reana-dask-operator/pyproject.toml", OPERATOR)
        .file(
            "reana-job-controller/requirements.in",
            "# the controller\nreana-db  # newest\nreana-commons[kubernetes]<0.96\n",
        )
        .file(
            "reana-workflow-engine-serial/setup.py",
            &setup("reana-workflow-engine-serial", "1", "'reana-commons==0.95.0a20'"),
        );
    for name in NAMES.into_iter().filter(|name| !matches!(*name, "reana-commons" | "reana-db")) {
        checkouts.file(&format!("{name}/Dockerfile"), DOCKERFILE);
        checkouts.file(&format!("{name}/requirements.txt"), LOCK);
    }
    for name in NAMES {
        checkouts.git(name, &["init", "-q", "-b", "master"]);
        checkouts.git(name, &["config", "user.name", "Nobody"]);
        checkouts.git(name, &["config", "user.email", "nobody@example.org"]);
        checkouts.git(name, &["config", "commit.gpgSign", "true"]);
        checkouts.git(name, &["add", "."]);
        checkouts.git(name, &["commit", "-q", "--no-gpg-sign", "-m", "all"]);
        checkouts.git(name, &["tag", "0.1.0"]);
        checkouts.git(name, &["checkout", "-q", "-b", "work"]);
    }
    checkouts
}

impl Checkouts {
    /// Writes a file of the fleet.
    pub(crate) fn file(&self, path: &str, text: &str) -> &Self {
        self.place.file(&format!("fleet/{path}"), text);
        self
    }

    /// The text of a file of the fleet.
    pub(crate) fn read(&self, path: &str) -> String {
        self.place.sandbox.read(&format!("fleet/{path}"))
    }

    /// Runs git in a repository: what it says.
    #[track_caller]
    pub(crate) fn git(&self, name: &str, args: &[&str]) -> String {
        let folder = self.place.path(&format!("fleet/{name}"));
        let output = Command::new("git")
            .args(args)
            .current_dir(folder)
            .env_clear()
            .env("PATH", "/usr/local/bin:/usr/bin:/bin")
            .env("HOME", self.place.path("nowhere"))
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_AUTHOR_DATE", "2026-01-02T03:04:05Z")
            .env("GIT_COMMITTER_DATE", "2026-01-02T03:04:05Z")
            .output()
            .expect("git");
        assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// Runs the command in the fleet's folder, without an index.
    pub(crate) fn bare(&self, args: &[&str]) -> Output {
        self.place.run_in("fleet", args)
    }

    /// Runs the command in the fleet's folder, with the index.
    pub(crate) fn run(&self, args: &[&str]) -> Output {
        let index = self.place.path("index/simple").to_string_lossy().into_owned();
        self.place.run_in("fleet", &[args, &["--index-url", &index]].concat())
    }

    /// All files of the fleet that are tracked, with what is in them.
    pub(crate) fn snapshot(&self) -> Vec<(String, String)> {
        let mut all = Vec::new();
        for name in NAMES {
            for path in self.git(name, &["ls-files"]).lines() {
                let path = format!("{name}/{path}");
                all.push((path.clone(), self.read(&path)));
            }
            all.push((name.to_owned(), self.git(name, &["rev-parse", "HEAD"])));
        }
        all
    }

    /// Puts a hook into every repository that leaves a trace and fails.
    pub(crate) fn hooks(&self) {
        for name in NAMES {
            for hook in
                ["pre-commit", "commit-msg", "post-commit", "reference-transaction", "post-index-change"]
            {
                let path = format!("{name}/.git/hooks/{hook}");
                let trace = self.place.path("hooks-ran").to_string_lossy().into_owned();
                self.file(&path, &format!("#!/bin/sh\necho {hook} >> '{trace}'\nexit 1\n"));
                let path = self.place.path(&format!("fleet/{path}"));
                fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("a hook");
            }
        }
    }

    /// Whether something is there, from the sandbox's folder.
    pub(crate) fn exists(&self, path: &str) -> bool {
        Path::new(&self.place.path(path)).exists()
    }
}
