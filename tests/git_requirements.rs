//! Requirements that name repositories: real ones, on this machine.
#![expect(clippy::disallowed_methods, reason = "tests make repositories and run git")]

use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

use expect_test::expect;

use crate::harness::{Place, place, small_world};

/// A sandbox with a repository `own`, whose versions 1 and 2 are branches and tags.
struct Repository {
    place: Place,
}

fn setup(version: &str, requires: &str) -> String {
    format!("[project]\nname = \"own\"\nversion = \"{version}\"\ndependencies = [{requires}]\n")
}

fn repository() -> Repository {
    let repository = Repository { place: place(&small_world()) };
    repository.git(&["init", "--quiet", "--initial-branch=main"]);
    repository.commit("1.0", "'lib'");
    repository.git(&["tag", "v1"]);
    repository.git(&["tag", "-a", "-m", "first", "one"]);
    repository.git(&["branch", "old"]);
    repository.commit("2.0", "'app'");
    repository
}

impl Repository {
    fn git(&self, words: &[&str]) -> String {
        let folder = self.place.path("own");
        std::fs::create_dir_all(&folder).expect("a folder");
        let output = Command::new("git")
            .args(words)
            .current_dir(folder)
            .env_clear()
            .envs([("PATH", "/usr/local/bin:/usr/bin:/bin"), ("GIT_CONFIG_GLOBAL", "/dev/null")])
            .envs([("GIT_CONFIG_NOSYSTEM", "1"), ("HOME", "/nonexistent")])
            .envs([("GIT_AUTHOR_NAME", "a"), ("GIT_AUTHOR_EMAIL", "a@a.example")])
            .envs([("GIT_COMMITTER_NAME", "a"), ("GIT_COMMITTER_EMAIL", "a@a.example")])
            .envs([("GIT_AUTHOR_DATE", "1700000000 +0000"), ("GIT_COMMITTER_DATE", "1700000000 +0000")])
            .output()
            .expect("git");
        assert!(output.status.success(), "git {words:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    }

    fn commit(&self, version: &str, requires: &str) {
        self.place.file("own/pyproject.toml", setup(version, requires));
        self.place.file("own/python/pyproject.toml", setup("3.0", "'base'").replace("\"own\"", "\"sub\""));
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "-m", version]);
    }

    fn head(&self, name: &str) -> String {
        self.git(&["rev-parse", &format!("{name}^{{commit}}")])
    }

    fn url(&self, rest: &str) -> String {
        format!("git+file://{}{rest}", self.place.path("own").display())
    }

    /// Locks without hashes, and gives the pins with names for commits.
    #[track_caller]
    fn lock(&self, args: &[&str]) -> Vec<String> {
        let mut all = vec!["--no-generate-hashes"];
        all.extend(args);
        let _output = self.place.compile(&all).expect_code(0);
        self.pins()
    }

    fn pins(&self) -> Vec<String> {
        let names = ["v1", "HEAD"].map(|name| (name, self.head(name)));
        let root = self.place.path("").display().to_string();
        let shown = |pin: String| {
            let pin = pin.replace(&root, "[ROOT]/");
            names.iter().fold(pin, |pin, (name, commit)| pin.replace(commit, &format!("[{name}]")))
        };
        self.place.pins("requirements.txt").into_iter().map(shown).collect()
    }

    #[track_caller]
    fn check(&self, requirement: &str, expected: &[&str]) {
        self.place.file("requirements.in", format!("{requirement}\n"));
        assert_eq!(self.lock(&["--upgrade"]), expected, "{requirement}");
    }

    /// The words of a refusal, with names for what differs from run to run.
    #[track_caller]
    fn refusal(&self, requirement: &str, args: &[&str], code: i32) -> String {
        self.place.file("requirements.in", format!("{requirement}\n"));
        let mut all = vec!["--no-generate-hashes"];
        all.extend(args);
        self.place.refuses(&all, code)
    }
}

#[test]
fn revisions_of_all_kinds() {
    let own = repository();
    let (first, second) = (own.head("v1"), own.head("HEAD"));
    let one = |pin: &str| vec!["base==1.1".to_owned(), "lib==2.0".to_owned(), pin.to_owned()];
    let check = |rest: &str, pin: &str| {
        let expected = one(pin);
        let expected: Vec<&str> = expected.iter().map(String::as_str).collect();
        own.check(&format!("own @ {}", own.url(rest)), &expected);
    };
    check("@old", "own @ git+file://[ROOT]/own@[v1]#rev=old");
    check("@v1", "own @ git+file://[ROOT]/own@[v1]#rev=v1");
    check("@one", "own @ git+file://[ROOT]/own@[v1]#rev=one");
    check("@refs/tags/one", "own @ git+file://[ROOT]/own@[v1]#rev=refs/tags/one");
    check(&format!("@{first}"), "own @ git+file://[ROOT]/own@[v1]");
    let short = first.get(..8).expect("a hash");
    check(&format!("@{short}"), &format!("own @ git+file://[ROOT]/own@[v1]#rev={short}"));
    check("@old#egg=own", "own @ git+file://[ROOT]/own@[v1]#rev=old");
    let newest = ["app==2.0", "base==1.1", "lib==2.0", "own @ git+file://[ROOT]/own@[HEAD]"];
    own.check(&format!("own @ {}", own.url("")), &newest);
    own.check(&format!("own @ {}", own.url(&format!("@{second}"))), &newest);
    own.check(&own.url("#egg=own"), &newest);
    own.check(
        &format!("sub @ {}", own.url("#subdirectory=python")),
        &["base==1.1", "sub @ git+file://[ROOT]/own@[HEAD]#subdirectory=python"],
    );
    own.place.file("requirements.in", format!("-e {}\n", own.url("@old#egg=own")));
    own.lock(&[]);
    let text = own.place.lock();
    assert!(text.contains(&format!("-e {}@{first}#egg=own&rev=old\n", own.url(""))), "{text}");
    own.lock(&[]);
    assert_eq!(own.place.lock(), text);
}

#[test]
fn a_commit_is_kept_until_it_is_moved() {
    let own = repository();
    own.place.file("requirements.in", format!("own @ {}\n", own.url("@main")));
    let locked = ["app==2.0", "base==1.1", "lib==2.0", "own @ git+file://[ROOT]/own@[HEAD]#rev=main"];
    assert_eq!(own.lock(&[]), locked);
    let text = own.place.lock();
    own.commit("3.0", "'base'");
    assert_eq!(own.lock(&["--upgrade-package", "lib"]).len(), 4);
    assert_eq!(own.place.lock(), text);
    // Kept from anywhere: the commit is fetched, the branch is not asked.
    assert_eq!(own.lock(&["--no-cache"]).len(), 4);
    assert_eq!(own.place.lock(), text);
    let _fresh = own.place.compile(&["--no-generate-hashes", "--check"]).expect_code(0);
    let _offline = own.place.compile(&["--no-generate-hashes", "--offline", "--check"]).expect_code(0);
    let moved = ["base==1.1", "own @ git+file://[ROOT]/own@[HEAD]#rev=main"];
    assert_eq!(own.lock(&["-P", "own"]), moved);
    // Another branch is another wish.
    own.place.file("requirements.in", format!("own @ {}\n", own.url("@old")));
    assert_eq!(own.lock(&[]), ["base==1.1", "lib==2.0", "own @ git+file://[ROOT]/own@[v1]#rev=old"]);
}

#[test]
fn offline() {
    let own = repository();
    let requirement = format!("own @ {}", own.url("@main"));
    let refused = own.refusal(&requirement, &["--offline"], 4);
    expect![[r#"
        error: work: own could not be looked up: `main` of file://[ROOT]/own is not in the cache

        hint: run once without `--offline`, so that the cache has it
    "#]]
    .assert_eq(&refused);
    own.place.file("requirements.txt", "");
    let locked = own.lock(&[]);
    own.place.file("requirements.txt", "");
    assert_eq!(own.lock(&["--offline"]), locked);
    let (objects, damaged) = (own.place.path("../cache/reana-lock/git-1"), "not a repository");
    for folder in std::fs::read_dir(objects).expect("the cache").flatten() {
        let commit = folder.path().join(own.head("HEAD"));
        std::fs::remove_dir_all(commit.join("objects")).expect("the objects");
        std::fs::write(commit.join("config"), damaged).expect("a file");
    }
    let _refused = own.place.compile(&["--no-generate-hashes", "--offline"]).expect_code(4);
    assert_eq!(own.lock(&[]), locked, "fetched anew");
}

#[test]
fn refusals() {
    let own = repository();
    own.place.file("requirements.in", format!("own @ {}\n", own.url("@main")));
    expect![[r#"
        error: requirements.in:1: `git+file://[ROOT]/own@main` is a repository, which no hash can be of: pip installs none with `--require-hashes`

        hint: lock without hashes (`--no-generate-hashes`), or as a pylock, whose commit is a hash (`--output-format pylock`)

        hint: or release own, or name an archive: `own @ https://…/archive.tar.gz`
    "#]].assert_eq(&own.place.refuses(&[], 2));
    let check = |requirement: &str, code: i32| own.refusal(requirement, &[], code);
    let named = |rest: &str| format!("own @ {}", own.url(rest));
    let mut all = String::new();
    all += &check(&named("@absent"), 4);
    all += &check(&named("@0123456789012345678901234567890123456789"), 4);
    all += &check(&named("@0123456789"), 4);
    all += &check(&named("@--upload-pack=touch%20x"), 2);
    all += &check(&named("@a..b"), 2);
    all += &check(&named("#subdirectory=absent"), 2);
    all += &check(&named("#subdirectory=../.."), 2);
    all += &check(&format!("other @ {}", own.url("")), 2);
    all += &check("own @ git+file:///nowhere/at/all", 4);
    all += &check("own @ git+http://127.0.0.1:1/own", 2);
    all += &check("own @ hg+https://127.0.0.1:1/own", 2);
    all += &check("own @ git+ext://x/own", 2);
    // What the network says differs from system to system.
    let unreachable = check("own @ git+https://me:s3cret@127.0.0.1:1/own", 4);
    let starts =
        "error: work: own could not be looked up: https://127.0.0.1:1/own could not be read: git says: ";
    assert!(unreachable.starts_with(starts) && !unreachable.contains("s3cret"), "{unreachable}");
    expect![[r#"
        error: work: own could not be looked up: file://[ROOT]/own has no branch, tag or commit `absent`

        hint: is the name spelled right, and was it pushed?
        error: work: own could not be looked up: file://[ROOT]/own has no branch, tag or commit `0123456789012345678901234567890123456789`

        hint: is the name spelled right, and was it pushed?
        error: work: own could not be looked up: file://[ROOT]/own has no branch, tag or commit `0123456789`

        hint: is the name spelled right, and was it pushed?
        error: work: own could not be looked up: `git+file://[ROOT]/own@--upload-pack=touch%20x` can't be used: `--upload-pack=touch x` can't be the name of a branch, a tag or a commit
        error: work: own could not be looked up: `git+file://[ROOT]/own@a..b` can't be used: `a..b` can't be the name of a branch, a tag or a commit
        error: work: own could not be looked up: git+file://[ROOT]/own@740783a6c148 has no folder `absent`
        error: work: own could not be looked up: `git+file://[ROOT]/own#subdirectory=../..` can't be used: `../..` is not a folder of the repository
        error: work: other could not be looked up: git+file://[ROOT]/own holds own, not other
        error: work: own could not be looked up: file:///nowhere/at/all could not be read: git says: fatal: '/nowhere/at/all' does not appear to be a git repository; fatal: Could not read from remote repository.

        hint: does `git ls-remote` of that address work here?
        error: work: own could not be looked up: `git+http://127.0.0.1:1/own` can't be used: repositories are read by git+https, git+ssh and git+file, not by git+http
        error: work: own could not be looked up: `hg+https://127.0.0.1:1/own` can't be used: repositories are read by git+https, git+ssh and git+file, not by hg+https
        error: work: own could not be looked up: `git+ext://x/own` can't be used: repositories are read by git+https, git+ssh and git+file, not by git+ext
    "#]].assert_eq(&all);
    assert!(!own.place.sandbox.exists("x"));
}

#[test]
fn packages_name_no_folder_of_this_machine() {
    let own = repository();
    let requires = format!("own @ {}", own.url(""));
    let world = small_world().with("naming", "1.0", &[requires.as_str()]);
    let mut own = own;
    own.place.now(&world);
    let refused = own.refusal("naming", &[], 2);
    expect![[r#"
        error: work: own could not be looked up: `file://[ROOT]/own` is on this machine, and no manifest of yours names it

        hint: require it yourself, if it is to be trusted
    "#]].assert_eq(&refused);
    own.place.file("requirements.in", format!("naming\n{requires}\n"));
    let pins = own.lock(&["-U"]);
    assert_eq!(pins.last().map(String::as_str), Some("own @ git+file://[ROOT]/own@[HEAD]"));
}

#[test]
fn nothing_of_a_repository_is_run_and_no_link_leads_out() {
    let own = repository();
    own.place.file("secret.txt", "lib==9.9");
    own.place.file("own/.gitattributes", "* filter=evil\n");
    own.place.file(
        "own/setup.py",
        "import os\nfrom setuptools import setup\nos.system('touch ran')\nsetup(name='own', version='1', install_requires=[open('VERSION').read()])\n",
    );
    own.git(&["config", "filter.evil.smudge", "touch ../ran"]);
    own.git(&["rm", "--quiet", "pyproject.toml"]);
    std::os::unix::fs::symlink("../secret.txt", own.place.path("own/VERSION")).expect("a link");
    own.git(&["add", "--all"]);
    own.git(&["commit", "--quiet", "-m", "evil"]);
    let output = own.refusal(&format!("own @ {}", own.url("")), &[], 2);
    expect![[r#"
        error: work: own could not be looked up: git+file://[ROOT]/own@[HEAD]/setup.py:4: cannot evaluate `open('VERSION')`: the path leads outside of the project

        hint: `--allow-build own` builds it, which runs its code
    "#]].assert_eq(&output.replace(&own.head("HEAD")[..12], "[HEAD]"));
    assert!(!own.place.sandbox.exists("ran") && !own.place.sandbox.exists("own/ran"));
}

/// A program in place of ssh, which tells what it was asked and answers from this machine.
#[test]
fn over_ssh_with_the_users_own_program() {
    let mut own = repository();
    let ssh = "#!/bin/sh\necho \"$@\" >> \"$(dirname \"$0\")/asked\"\nfor last; do :; done\neval \"$last\"\n";
    own.place.file("bin/ssh", ssh);
    let program = own.place.path("bin/ssh");
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).expect("a program");
    own.place.sandbox = own.place.sandbox.env("GIT_SSH_COMMAND", &program.to_string_lossy());
    let path = own.place.path("own").display().to_string();
    own.check(
        &format!("own @ git+ssh://git:s3cret@a.example{path}@old"),
        &["base==1.1", "lib==2.0", "own @ git+ssh://git@a.example[ROOT]/own@[v1]#rev=old"],
    );
    let asked = own.place.sandbox.read("bin/asked");
    assert!(!asked.is_empty() && asked.lines().all(|line| line.contains("-oBatchMode=yes")), "{asked}");
    assert!(asked.lines().all(|line| line.contains("git@a.example git-upload-pack")), "{asked}");
}

#[test]
fn pylocks_name_the_commit() {
    let own = repository();
    own.place.file("requirements.in", format!("sub @ {}\n", own.url("@main#subdirectory=python")));
    let compile = |args: &[&str]| {
        let mut all = vec!["-o", "pylock.toml"];
        all.extend(args);
        let _output = own.place.compile(&all).expect_code(0);
        let text = own.place.read("pylock.toml");
        let commit = |name: &str, text: &str| text.replace(&own.head(name), &format!("[{name}]"));
        commit("HEAD", &text).replace(&own.place.path("").display().to_string(), "[ROOT]/")
    };
    let text = compile(&[]);
    let vcs: String = text.split("[packages.vcs]\n").skip(1).collect();
    expect![[r#"
        type = "git"
        url = "file://[ROOT]/own"
        requested-revision = "main"
        commit-id = "[HEAD]"
        subdirectory = "python"
    "#]]
    .assert_eq(&vcs);
    own.commit("4.0", "");
    assert!(!compile(&[]).contains("[HEAD]"), "the commit is kept");
    assert!(compile(&["-U"]).contains("[HEAD]"));
}

/// A backend that only a run of it tells from, with a link that leads out and one that doesn't.
#[test]
fn what_is_asked_for_is_built_from_the_commit() {
    let own = repository();
    own.place.file("secret.txt", "secret");
    let backend = crate::builds::BACKEND.replace("app", "own").replace(
        "import os\n",
        "import os\nassert not os.path.lexists('out') and not os.path.exists('../.git')\nassert open('in').read() == 'kept'\n",
    );
    own.place.file("own/pkg/pyproject.toml", crate::builds::PYPROJECT);
    own.place.file("own/pkg/own_backend.py", backend).file("own/kept.txt", "kept");
    std::os::unix::fs::symlink("../../secret.txt", own.place.path("own/pkg/out")).expect("a link");
    std::os::unix::fs::symlink("../kept.txt", own.place.path("own/pkg/in")).expect("a link");
    own.git(&["add", "--all"]);
    own.git(&["commit", "--quiet", "-m", "built"]);
    let requirement = format!("own @ {}", own.url("#subdirectory=pkg"));
    let short = own.head("HEAD");
    expect![[r#"
        error: work: own could not be looked up: git+file://[ROOT]/own@[HEAD]/pkg/pyproject.toml:3: cannot evaluate `build-backend = "own_backend"`: the build backend `own_backend` decides it

        hint: `--allow-build own` builds it, which runs its code
    "#]].assert_eq(&own.refusal(&requirement, &[], 2).replace(&short[..12], "[HEAD]"));
    let Some(python) = crate::builds::python() else {
        eprintln!("SKIPPED: no Python with a pip of 22.2 or later on PATH, so nothing can be built here");
        return;
    };
    let args = ["--allow-build", "own", "--python-version", &python];
    assert_eq!(
        own.lock(&args),
        ["base==1.1", "lib==1.5", "own @ git+file://[ROOT]/own@[HEAD]#subdirectory=pkg"]
    );
}
