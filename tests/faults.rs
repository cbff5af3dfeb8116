//! Faults and hostility: whatever an index, an archive or a disk does, a run ends with the right code and message,
//! in bounded time and memory, the old locks are whole, and what the cache keeps is right.
//!
//! | module | what goes wrong |
//! |---|---|
//! | `index` | servers that fail, stall, lie, redirect or never end |
//! | `archives` | wheels and sdists that are bombs, or reach outside |
//! | `disk` | kills, full and read-only disks, two runs at once |
#![expect(clippy::disallowed_methods, reason = "tests run the command and look at its memory")]

mod archives;
mod disk;
mod index;

use std::process::{Child, Stdio};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use reana_testkit::{IndexServer, World};

use crate::harness::{Place, serve, served};

/// The most memory that a run may take, in KiB, in a build without optimization.
const MOST_MEMORY: u64 = 300 << 10;

/// After what time a run counts as hanging. The longest of these runs wait some 20 seconds, by their own time-outs.
const HANGS: Duration = Duration::from_secs(120);

/// How a watched run ended.
struct Ended {
    /// The exit code; none where a signal ended it.
    code: Option<i32>,
    stdout: String,
    stderr: String,
    /// The most memory that it had, in KiB.
    peak: u64,
}

fn collect(pipe: Option<impl std::io::Read + Send + 'static>) -> JoinHandle<String> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut pipe) = pipe {
            let _ = pipe.read_to_end(&mut bytes);
        }
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

/// The most memory that a process has had so far, in KiB.
fn peak_of(child: &Child) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().trim_end_matches("kB").trim().parse().ok()
}

/// Runs `compile` with the place's index, and looks at it until it ends.
fn watch(place: &Place, args: &[&str]) -> Ended {
    let mut command = place.command(args);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the command starts");
    let (stdout, stderr) = (collect(child.stdout.take()), collect(child.stderr.take()));
    let (mut peak, start) = (0, Instant::now());
    let status = loop {
        peak = peak.max(peak_of(&child).unwrap_or(0));
        if let Some(status) = child.try_wait().expect("the command's state") {
            break status;
        }
        if start.elapsed() > HANGS {
            child.kill().expect("to end what hangs");
            panic!("it hangs: {args:?}");
        }
        std::thread::sleep(Duration::from_millis(2));
    };
    let text = |pipe: JoinHandle<String>| place.shown(&pipe.join().unwrap_or_default());
    Ended { code: status.code(), stdout: text(stdout), stderr: text(stderr), peak }
}

impl Ended {
    /// Checks the code and the memory; gives what was said.
    #[track_caller]
    fn with_code(self, code: i32) -> String {
        assert_eq!(self.code, Some(code), "\n{}\n{}", self.stdout, self.stderr);
        assert!(!self.stderr.contains("panicked"), "{}", self.stderr);
        assert!(self.peak < MOST_MEMORY, "{} KiB of memory\n{}", self.peak, self.stderr);
        self.stderr
    }
}

const OLD: &str = "# the old lock\nold==1.0\n";

/// A served place, whose requirements.in asks for these, with an old lock.
fn ready(world: &World, requirements: &str) -> Place {
    let place = served(world);
    place.file("requirements.in", requirements).file("requirements.txt", OLD);
    place
}

/// The place's server.
fn server(place: &Place) -> &IndexServer {
    place.server.as_ref().expect("a server")
}

/// Compiles, which must fail with this code and leave the old lock whole; gives what was said.
#[track_caller]
fn refuses(place: &Place, args: &[&str], code: i32) -> String {
    let ended = watch(place, &[&["-U"], args].concat());
    assert_eq!(ended.stdout, "");
    let said = ended.with_code(code);
    assert_eq!(place.sandbox.read("requirements.txt"), OLD, "{said}");
    place.no_leftovers();
    said
}

/// Serves a world, whatever was served before, and compiles with what the cache has by now.
#[track_caller]
fn heals(place: &Place, world: &World, pins: &[&str]) {
    serve(server(place), "", world);
    watch(place, &["-U"]).with_code(0);
    assert_eq!(place.pins("requirements.txt"), pins);
    let own = place.sandbox.read("requirements.txt");
    // What the cache kept of it is right, too.
    watch(place, &["-U", "--offline"]).with_code(0);
    assert_eq!(place.sandbox.read("requirements.txt"), own);
    let fresh = crate::harness::served(world);
    fresh.file("requirements.in", place.sandbox.read("requirements.in"));
    watch(&fresh, &["-U"]).with_code(0);
    assert_eq!(fresh.sandbox.read("requirements.txt"), own, "the cache is not as good as none");
}

#[test]
fn memory_is_seen() {
    let place = ready(&crate::harness::small_world(), "app\n");
    let page = crate::harness::small_world().page("lib", "/files").unwrap_or_default().to_string();
    let late = reana_testkit::Reply::json(page).after(Duration::from_millis(500));
    server(&place).put("/simple/lib/", late);
    let ended = watch(&place, &["-U"]);
    assert!(ended.peak > 1 << 10, "{} KiB", ended.peak);
    ended.with_code(0);
}
