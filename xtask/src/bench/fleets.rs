//! `cargo xtask bench fleet`: made-up fleets of 30, 100 and 300 components over a made-up index on loopback. All
//! require some of 40 shared packages, which are released often; the time must grow no faster than the fleet.

use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};
use reana_testkit::{IndexServer, Reply, World};

use super::measure::{Call, Environment, Took, measure, median};

/// How many components a fleet has.
const SIZES: [usize; 3] = [30, 100, 300];
/// How many packages they share.
const SHARED: usize = 40;
/// How many others there are.
const OTHERS: usize = 160;
/// The largest may take so many times what the smallest takes.
const MOST_TIMES: f64 = 15.0;
/// No run may take more memory, in MiB.
const MOST_MEMORY: f64 = 500.0;

/// Locks each fleet, from an empty cache and without locks, and prints what it took.
pub(crate) fn bench(program: &Path, runs: usize) -> Result<()> {
    let world = world();
    let server = IndexServer::new();
    serve(&server, &world);
    println!(
        "| fleet, {SHARED} shared packages (empty cache, no locks) | time | for each component | most memory |\n|---|---|---|---|"
    );
    let mut taken: Vec<Took> = Vec::new();
    for size in SIZES {
        let folder = tempfile::tempdir()?;
        let mut took = Vec::new();
        for run in 0..runs.max(1) {
            let fleet = folder.path().join(format!("fleet-{run}"));
            write(&fleet, size)?;
            took.push(lock(program, folder.path(), &fleet, &server.url("/simple/"), size)?);
        }
        let Some(median) = median(&took) else { continue };
        println!(
            "| {size} components | {:.2} s | {:.0} ms | {:.0} MiB |",
            median.wall,
            median.wall * 1000.0 / size as f64,
            median.memory
        );
        taken.push(median.clone());
    }
    let (Some(smallest), Some(largest)) = (taken.first(), taken.last()) else { return Ok(()) };
    let times = largest.wall / smallest.wall;
    println!("\n300 take {times:.1} times what 30 take (at most {MOST_TIMES}).");
    ensure!(times <= MOST_TIMES, "300 components take {times:.1} times what 30 take");
    let memory = taken.iter().map(|took| took.memory).fold(0.0, f64::max);
    ensure!(memory <= MOST_MEMORY, "{memory:.0} MiB, where at most {MOST_MEMORY} are allowed");
    Ok(())
}

/// Shared packages require earlier ones and some of the others, each in a range that moves with the version.
fn world() -> World {
    let mut world = World::new();
    for package in 0..OTHERS {
        for version in 1..=15 {
            let next = format!("other{}>=1.{}", package + 7, version.min(10));
            let requires = if package + 7 < OTHERS { vec![next.as_str()] } else { Vec::new() };
            world = world.with(&format!("other{package}"), &format!("1.{version}"), &requires);
        }
    }
    for package in 0..SHARED {
        for version in 1..=20 {
            let mut requires = vec![format!("other{}>=1.{}", package * 3, version.min(12))];
            requires.push(format!("other{}>=1,<2", package + 50));
            requires.extend((package > 0).then(|| format!("shared{}>=0.95.{version},<0.96", package / 2)));
            let requires: Vec<&str> = requires.iter().map(String::as_str).collect();
            world = world.with(&format!("shared{package}"), &format!("0.95.{version}"), &requires);
        }
    }
    world
}

fn serve(server: &IndexServer, world: &World) {
    for name in world.names() {
        let page = world.page(&name, "/files").unwrap_or_default();
        server.put(&format!("/simple/{name}/"), Reply::json(page.to_string()).with_etag());
        for file in world.files(&name) {
            if let Some(metadata) = file.metadata {
                server.put(&format!("/files/{}.metadata", file.name), Reply::ok("text/plain", metadata));
            }
            server.put(&format!("/files/{}", file.name), Reply::file(file.bytes));
        }
    }
}

/// Components that each require eight shared packages and five others, in a manifest of their own.
fn write(fleet: &Path, size: usize) -> Result<()> {
    for component in 0..size {
        let folder = fleet.join(format!("component{component}"));
        std::fs::create_dir_all(&folder)?;
        let shared =
            (0..8).map(|at| format!("    'shared{}>=0.95.{}',", (component * 3 + at * 5) % SHARED, 1 + at));
        let others = (0..5).map(|at| format!("    'other{}>=1.2',", (component * 11 + at * 29) % OTHERS));
        let requires: Vec<String> = shared.chain(others).collect();
        let setup = format!(
            "from setuptools import setup\n\nsetup(\n  name='component{component}',\n  install_requires=[\n{}\n  ],\n)\n",
            requires.join("\n")
        );
        std::fs::write(folder.join("setup.py"), setup)?;
        std::fs::write(
            folder.join("Dockerfile"),
            "FROM python:3.12\nCOPY . /code\nRUN pip install -r requirements.txt\n",
        )?;
    }
    Ok(())
}

fn lock(program: &Path, home: &Path, fleet: &Path, index: &str, size: usize) -> Result<Took> {
    let words = ["compile", "-q", "--index-url", index, "."];
    let argv = std::iter::once(program.display().to_string()).chain(words.map(str::to_owned)).collect();
    let home = home.join(format!("home-{}", fleet.file_name().unwrap_or_default().to_string_lossy()));
    let env = Environment::from([
        ("PATH".to_owned(), "/usr/bin:/bin".to_owned()),
        ("HOME".to_owned(), home.display().to_string()),
    ]);
    let took = measure(&PathBuf::from("python3"), &[Call { argv, cwd: fleet.to_owned() }], &env)?;
    for component in 0..size {
        let lock = fleet.join(format!("component{component}/requirements.txt"));
        let text = std::fs::read_to_string(&lock)?;
        let pins = crate::job::pins(&text);
        ensure!(pins.len() >= 13, "{}: {} pins", lock.display(), pins.len());
    }
    Ok(took)
}
