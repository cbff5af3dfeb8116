//! Runs programs one after the other and says what they took. A small Python script does it, since only a parent
//! that has no other children can ask the system for their memory and processor time.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail};
use serde::{Deserialize, Serialize};

const SCRIPT: &str = r#"
import json, resource, subprocess, sys, tempfile, time
order = json.load(sys.stdin)
failed = None
with tempfile.TemporaryFile() as said:
    start = time.perf_counter()
    for call in order["calls"]:
        done = subprocess.run(call["argv"], cwd=call["cwd"], env=order["env"], stdin=subprocess.DEVNULL, stdout=said, stderr=said)
        if done.returncode:
            said.seek(0)
            failed = "%s: exit %d\n%s" % (call["argv"], done.returncode, said.read().decode(errors="replace")[-6000:])
            break
    wall = time.perf_counter() - start
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(json.dumps({"wall": wall, "user": used.ru_utime, "system": used.ru_stime, "memory": used.ru_maxrss / 1024, "failed": failed}))
"#;

/// One program to run.
#[derive(Serialize)]
pub(crate) struct Call {
    /// The program and its arguments.
    pub(crate) argv: Vec<String>,
    /// The folder it is run in.
    pub(crate) cwd: PathBuf,
}

/// The environment that programs are run in: all of it.
pub(crate) type Environment = std::collections::BTreeMap<String, String>;

/// What a run took.
#[derive(Clone, Deserialize, Serialize)]
pub(crate) struct Took {
    /// Seconds from start to end.
    pub(crate) wall: f64,
    /// Seconds of processor time.
    pub(crate) user: f64,
    /// Seconds in the system.
    pub(crate) system: f64,
    /// The most memory that a process had at once, in MiB.
    pub(crate) memory: f64,
    #[serde(skip_serializing)]
    failed: Option<String>,
}

#[derive(Serialize)]
struct Order<'a> {
    calls: &'a [Call],
    env: &'a Environment,
}

/// Runs calls one after the other, and measures them together. A failure is an error with what was said.
pub(crate) fn measure(python: &Path, calls: &[Call], env: &Environment) -> Result<Took> {
    let mut child = Command::new(python)
        .args(["-I", "-c", SCRIPT])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .with_context(|| format!("failed to start {}", python.display()))?;
    let order = serde_json::to_vec(&Order { calls, env })?;
    child.stdin.take().context("no stdin")?.write_all(&order)?;
    let output = child.wait_with_output()?;
    let took: Took = serde_json::from_slice(&output.stdout).context("the measuring script said nothing")?;
    match &took.failed {
        Some(failed) => bail!("{failed}"),
        None => Ok(took),
    }
}

/// The middle one by time.
pub(crate) fn median(runs: &[Took]) -> Option<&Took> {
    let mut sorted: Vec<&Took> = runs.iter().collect();
    sorted.sort_by(|one, other| one.wall.total_cmp(&other.wall));
    sorted.get(sorted.len().saturating_sub(1) / 2).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_in_the_middle() {
        let took = |wall| Took { wall, user: 0.0, system: 0.0, memory: 0.0, failed: None };
        let middle = |walls: &[f64]| {
            median(&walls.iter().copied().map(took).collect::<Vec<_>>()).map(|took| took.wall)
        };
        assert_eq!(middle(&[3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(middle(&[2.0, 1.0]), Some(1.0));
        assert_eq!(middle(&[]), None);
    }
}
