//! Kills, full and read-only disks, and runs at the same time: a fleet's locks are all old or all new, and whole.
//!
//! Each change that the command makes on the disk goes wrong once, by a library that is preloaded into it
//! (`disk_faults.c`); nothing in the command knows of it.
#![expect(clippy::print_stderr, reason = "a test that is skipped says so loudly")]

use std::collections::BTreeMap;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

use crate::harness::{PROGRAM, Place, place, served, small_world};

/// The components of the fleet: a name, what it requires, and its old lock.
const COMPONENTS: [(&str, &str, Option<&str>); 3] = [
    ("a-server", "'app'", Some("app==1.0\nbase==1.0\nlib==1.0\n")),
    ("b-engine", "'lib'", None),
    ("c-controller", "'base', 'lib'", Some("base==1.0\nlib==1.5\n")),
];

/// A fleet with some old locks, and an index in a folder.
fn fleet() -> Place {
    let place = place(&small_world());
    for (name, requires, lock) in COMPONENTS {
        let setup =
            format!("from setuptools import setup\nsetup(name='{name}', install_requires=[{requires}])\n");
        place.file(&format!("fleet/{name}/setup.py"), setup);
        place.file(
            &format!("fleet/{name}/Dockerfile"),
            "FROM python:3.12\nRUN pip install -r requirements.txt\n",
        );
        if let Some(lock) = lock {
            place.file(&format!("fleet/{name}/requirements.txt"), lock);
        }
    }
    place.file("fleet/reana-lock.toml", "");
    place
}

/// All files below a folder, with their content.
fn look(folder: &Path) -> BTreeMap<String, String> {
    let mut files = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in std::fs::read_dir(&next).expect("a folder").flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let name = path.strip_prefix(folder).expect("below").to_string_lossy().into_owned();
                files.insert(name, std::fs::read_to_string(&path).expect("text"));
            }
        }
    }
    files
}

fn fleet_folder(place: &Place) -> PathBuf {
    std::fs::canonicalize(place.path("fleet")).expect("the fleet's folder")
}

/// `compile` in the fleet's folder.
fn compile(place: &Place, args: &[&str]) -> Command {
    let mut command = place.command(args);
    command.current_dir(place.path("fleet"));
    command
}

fn run(mut command: Command) -> Output {
    command.output().expect("the command runs")
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// The library that makes the disk fail; none where there is no C compiler.
fn library() -> Option<&'static Path> {
    static LIBRARY: OnceLock<Option<(tempfile::TempDir, PathBuf)>> = OnceLock::new();
    let made = LIBRARY.get_or_init(|| {
        let folder = tempfile::tempdir().expect("a folder");
        let library = folder.path().join("disk_faults.so");
        let source = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/faults/disk_faults.c");
        let mut compiler = Command::new("cc");
        compiler.args(["-shared", "-fPIC", "-O1", "-w", "-o"]).arg(&library).arg(source).arg("-ldl");
        let is_made = compiler.status().is_ok_and(|status| status.success());
        is_made.then_some((folder, library))
    });
    if made.is_none() {
        eprintln!("SKIPPED: a disk that fails at each step: there is no C compiler here (cc)");
    }
    made.as_ref().map(|(_, library)| library.as_path())
}

/// The states between which nothing may ever be seen.
struct States {
    old: BTreeMap<String, String>,
    new: BTreeMap<String, String>,
}

fn states() -> States {
    let place = fleet();
    let old = look(&fleet_folder(&place));
    let output = run(compile(&place, &["-U"]));
    assert!(output.status.success(), "{}", said(&output));
    let new = look(&fleet_folder(&place));
    assert_eq!(new.len(), old.len() + 1, "{new:?}");
    States { old, new }
}

impl States {
    /// Every lock is whole, whatever lies beside it.
    #[track_caller]
    fn are_whole(&self, place: &Place, at: &str) {
        let found = look(&fleet_folder(place));
        for (path, content) in &found {
            let is_left = path.contains(".reana-lock");
            let is_known = self.old.get(path) == Some(content) || self.new.get(path) == Some(content);
            assert!(is_left || is_known, "{at}: {path} is torn:\n{content}");
        }
        for path in self.old.keys() {
            assert!(found.contains_key(path), "{at}: {path} is gone");
        }
    }

    /// The next run mends what was left: all old or all new, and nothing else. Tells whether all is new.
    #[track_caller]
    fn are_mended(&self, place: &Place, at: &str) -> bool {
        let output = run(compile(place, &["-U", "--check"]));
        let found = look(&fleet_folder(place));
        let is_new = found == self.new;
        assert!(is_new || found == self.old, "{at}: neither old nor new:\n{found:#?}\n{}", said(&output));
        assert_eq!(output.status.code(), Some(if is_new { 0 } else { 1 }), "{at}: {}", said(&output));
        is_new
    }

    /// And it can be done again.
    #[track_caller]
    fn can_be_made(&self, place: &Place, at: &str) {
        let output = run(compile(place, &["-U"]));
        assert!(output.status.success(), "{at}: {}", said(&output));
        assert_eq!(look(&fleet_folder(place)), self.new, "{at}: {}", said(&output));
    }
}

/// Lets each change on the disk go wrong, one after the other, each in a fleet of its own.
/// `each` looks at what is left.
fn at_each_change(kind: &str, each: impl Fn(&States, &Place, &Output, &str)) {
    let Some(library) = library() else { return };
    let states = states();
    let faulty = |place: &Place, kind: &str, at: usize| {
        let mut command = compile(place, &["-U", "--no-cache"]);
        command.env("LD_PRELOAD", library).env("FAULT_UNDER", fleet_folder(place));
        command
            .env("FAULT_KIND", kind)
            .env("FAULT_AT", at.to_string())
            .env("FAULT_COUNT", place.path("count"));
        run(command)
    };
    let place = fleet();
    assert!(faulty(&place, "none", 0).status.success());
    let changes: usize = place.sandbox.read("count").parse().expect("how many changes there are");
    assert!(changes > 20, "only {changes} changes were seen");
    for at in 1..=changes {
        let place = fleet();
        let output = faulty(&place, kind, at);
        let named = format!("{kind} at change {at} of {changes}");
        states.are_whole(&place, &named);
        each(&states, &place, &output, &named);
    }
}

fn killed(kind: &str) {
    let outcomes = std::cell::RefCell::new(Vec::new());
    at_each_change(kind, |states, place, output, at| {
        if output.status.signal().is_none() {
            // Not every change is a write, and only a write can be torn.
            assert!(output.status.success() && kind == "torn", "{at}: {}", said(output));
        }
        outcomes.borrow_mut().push(states.are_mended(place, at));
        states.can_be_made(place, at);
    });
    if library().is_some() {
        let outcomes = outcomes.into_inner();
        assert!(outcomes.contains(&true) && outcomes.contains(&false), "{outcomes:?}");
    }
}

#[test]
fn killed_before_each_change() {
    killed("kill-before");
}

#[test]
fn killed_after_each_change() {
    killed("kill-after");
}

#[test]
fn killed_in_the_middle_of_each_write() {
    killed("torn");
}

#[test]
fn a_disk_that_fails_at_each_change() {
    at_each_change("error", |states, place, output, at| {
        let said = said(output);
        // Some failures don't matter: a folder that can't be synced, a name that can be removed later.
        if output.status.success() {
            assert!(!said.contains("error"), "{at}: {said}");
        } else {
            assert_eq!(output.status.code(), Some(2), "{at}: {said}");
            assert!(said.contains("the locks could not be written: "), "{at}: {said}");
            assert!(said.contains("Input/output error"), "{at}: {said}");
        }
        states.are_mended(place, at);
        states.can_be_made(place, at);
    });
}

#[test]
fn a_disk_that_fills_up_at_each_change() {
    at_each_change("full", |states, place, output, at| {
        let said = said(output);
        let found = look(&fleet_folder(place));
        if output.status.success() {
            assert_eq!(found, states.new, "{at}: {said}");
            return;
        }
        assert_eq!(output.status.code(), Some(2), "{at}: {said}");
        assert!(
            said.contains("No space left on device") && said.contains("nothing was changed"),
            "{at}: {said}"
        );
        // Taking back needs no space.
        assert_eq!(found, states.old, "{at}: {said}");
        states.can_be_made(place, at);
    });
}

/// Runs a shell script in a mount namespace of its own, where `$PLACE` may be mounted over; what is copied to
/// `$OUT` is left. None, and loud, where that is not allowed here.
fn in_own_mounts(place: &Place, script: &str) -> Option<Output> {
    let unshared = |script: &str| {
        let mut command = Command::new("unshare");
        command.args(["--map-root-user", "--mount", "sh", "-euc", script]).env("OUT", place.path("out"));
        command.env("FLEET", fleet_folder(place)).env("INDEX", place.path("index/simple"));
        command.env("PROGRAM", PROGRAM).env("XDG_CACHE_HOME", place.path("cache"));
        command.output()
    };
    let is_allowed = unshared("mount -t tmpfs none /mnt").is_ok_and(|output| output.status.success());
    if !is_allowed {
        eprintln!("SKIPPED: a full and a read-only disk: nothing may be mounted here");
        return None;
    }
    Some(unshared(script).expect("the script runs"))
}

const COMPILE: &str = "code=0; \"$PROGRAM\" compile -U --no-cache --index-url \"$INDEX\" || code=$?";

#[test]
fn a_full_disk() {
    let states = states();
    let mut codes = Vec::new();
    for free in 0..16 {
        let place = fleet();
        // A file system of few pages, of which all but some are taken.
        let script = format!(
            "cp -r \"$FLEET\" \"$OUT.old\"; mount -t tmpfs -o size=400k none \"$FLEET\"; cp -r \"$OUT.old\"/. \"$FLEET\"; \
             cd \"$FLEET\"; dd if=/dev/zero of=big bs=4k 2>/dev/null || true; \
             truncate -s $(( $(stat -c %s big) - {free} * 4096 )) big; {COMPILE}; rm big; cp -r . \"$OUT\"; exit $code"
        );
        let Some(output) = in_own_mounts(&place, &script) else { return };
        let found = look(&place.path("out"));
        let (code, said) = (output.status.code(), said(&output));
        codes.push(code);
        match code {
            Some(0) => assert_eq!(found, states.new, "{free}: {said}"),
            _ => {
                assert_eq!((code, &found), (Some(2), &states.old), "{free}: {said}");
                assert!(
                    said.contains("No space left on device") && said.contains("nothing was changed"),
                    "{said}"
                );
            }
        }
    }
    assert!(codes.contains(&Some(0)) && codes.contains(&Some(2)), "{codes:?}");
}

#[test]
fn a_read_only_disk() {
    let place = fleet();
    let script = format!(
        "mount --bind \"$FLEET\" \"$FLEET\"; mount -o remount,bind,ro \"$FLEET\"; cd \"$FLEET\"; {COMPILE}; \
         cp -r . \"$OUT\"; \"$PROGRAM\" compile -U --no-cache --dry-run --index-url \"$INDEX\" >/dev/null 2>&1; exit $code"
    );
    let Some(output) = in_own_mounts(&place, &script) else { return };
    let said = said(&output);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("Read-only file system") && said.contains("nothing was changed"), "{said}");
    assert_eq!(look(&place.path("out")), states().old);
}

#[test]
fn a_cache_that_can_not_be_written() {
    let place = fleet();
    let script = format!(
        "mkdir -p \"$XDG_CACHE_HOME/reana-lock/v2\"; mount -t tmpfs -o ro none \"$XDG_CACHE_HOME/reana-lock/v2\"; \
         cd \"$FLEET\"; {}; exit $code",
        COMPILE.replace(" --no-cache", "")
    );
    let Some(output) = in_own_mounts(&place, &script) else { return };
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    assert_eq!(look(&fleet_folder(&place)), states().new);
}

#[test]
fn a_cache_entry_that_is_found_damaged_late_ends_the_run() {
    let place = served(&small_world());
    place.file("requirements.in", "app\n");
    let _ = place.compile(&[]).expect_code(0);
    let lock = place.read("requirements.txt");
    let pages = place.sandbox.path().join("../cache/reana-lock/v2/pages");
    let entries: Vec<_> = std::fs::read_dir(&pages)
        .expect("the cache")
        .flat_map(|shelf| std::fs::read_dir(shelf.expect("a shelf").path()).expect("entries"))
        .map(|entry| entry.expect("an entry").path())
        .collect();
    assert!(entries.len() > 1, "{entries:?}");
    for entry in entries {
        let mut bytes = std::fs::read(&entry).expect("an entry");
        // the newest version's files, which are looked at, stand at the end
        let at = bytes.len() - 9;
        bytes[at] ^= 1;
        std::fs::write(&entry, bytes).expect("to write");
        let said = place.refuses(&["-U", "--offline"], 4);
        assert!(said.contains("was damaged") && said.contains("run it again"), "{said}");
        assert!(!entry.exists(), "{said}");
        let _ = place.compile(&["-U"]).expect_code(0);
        assert!(entry.exists());
        assert_eq!(place.read("requirements.txt"), lock);
    }
}

const OLDER: &str = "base==1.0\nlib==1.0\napp==1.0\n";

#[test]
fn runs_at_the_same_time() {
    let mut newest = states().new;
    newest.insert("older.txt".to_owned(), OLDER.to_owned());
    let older = {
        let place = fleet();
        place.file("fleet/older.txt", OLDER);
        let output = run(compile(&place, &["-U", "-c", "older.txt"]));
        assert!(output.status.success(), "{}", said(&output));
        look(&fleet_folder(&place))
    };
    for _ in 0..4 {
        let place = fleet();
        place.file("fleet/older.txt", OLDER);
        let start = |number: usize| {
            let args: &[&str] = if number.is_multiple_of(2) { &["-U"] } else { &["-U", "-c", "older.txt"] };
            let mut command = compile(&place, args);
            command.stderr(std::process::Stdio::piped()).stdout(std::process::Stdio::piped());
            command.spawn().expect("a run")
        };
        let runs: Vec<_> = (0..6).map(start).collect();
        for run in runs {
            let output = run.wait_with_output().expect("its end");
            assert!(output.status.success(), "{}", said(&output));
        }
        let found = look(&fleet_folder(&place));
        assert!(found == newest || found == older, "a mixture of two runs: {found:#?}");
    }
}
