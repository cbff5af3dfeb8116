//! The resolver's worst cases, as made-up worlds in a folder that is an index.

use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};
use reana_model::Sha256;
use serde_json::json;

use super::measure::{Call, Environment, Took, measure, median};
use super::peers::Tools;

/// A world: packages with versions and what each requires, what is asked for, and whether there is a solution.
struct World {
    title: &'static str,
    releases: Vec<(String, u32, Vec<String>)>,
    wanted: Vec<String>,
    is_solvable: bool,
}

/// Runs all worlds and prints what each took.
pub(crate) fn bench(tools: &Tools, runs: usize) -> Result<()> {
    println!("| resolver's worst cases (whole command, no cache) | time | most memory |\n|---|---|---|");
    for world in [step_back(), contradiction(), wide_contradiction(), diamonds()] {
        let folder = tempfile::tempdir()?;
        world.write(folder.path())?;
        let mut took = Vec::new();
        for _ in 0..runs.max(1) {
            took.push(world.run(folder.path(), tools)?);
        }
        if let Some(median) = median(&took) {
            println!("| {} | {:.0} ms | {:.0} MiB |", world.title, median.wall * 1000.0, median.memory);
        }
    }
    Ok(())
}

/// A hundred packages with fifty versions each, of which only the oldest goes with what is pinned.
fn step_back() -> World {
    let mut releases = vec![("base".to_owned(), 1, Vec::new())];
    for package in 0..100 {
        for version in 1..=50 {
            let base = if version == 1 { "base<2" } else { "base>=2" };
            releases.push((format!("p{package}"), version, vec![base.to_owned()]));
        }
    }
    releases.push(("base".to_owned(), 2, Vec::new()));
    let wanted = (0..100).map(|package| format!("p{package}")).chain(["base<2".to_owned()]).collect();
    World {
        title: "a hundred packages that all step back fifty versions",
        releases,
        wanted,
        is_solvable: true,
    }
}

/// Two chains of ten packages that end in two halves of one package's versions; every link has thirty versions.
fn contradiction() -> World {
    let mut releases: Vec<_> = (1..=30).map(|version| ("end".to_owned(), version, Vec::new())).collect();
    for (chain, end) in [("a", "end<15"), ("b", "end>=15")] {
        for level in 0..10 {
            for version in 1..=30 {
                let next = if level == 9 { end.to_owned() } else { format!("{chain}{}", level + 1) };
                releases.push((format!("{chain}{level}"), version, vec![next]));
            }
        }
    }
    let wanted = vec!["a0".to_owned(), "b0".to_owned()];
    World { title: "a contradiction ten levels deep", releases, wanted, is_solvable: false }
}

/// A contradiction behind ten levels of which each requires three packages of the next.
fn wide_contradiction() -> World {
    let mut releases = Vec::new();
    for level in 0..10 {
        for package in 0..3 {
            for version in 1..=10 {
                let next = (0..3).map(|next| match level {
                    9 if next == 0 => format!("end=={}", 1 + (package + version) % 3),
                    9 => "end".to_owned(),
                    _ => format!("l{}p{next}>={version}", level + 1),
                });
                releases.push((format!("l{level}p{package}"), version, next.collect()));
            }
        }
    }
    releases.extend((1..=3).map(|version| ("end".to_owned(), version, Vec::new())));
    let wanted = vec!["l0p0".to_owned(), "l0p1".to_owned(), "l0p2".to_owned(), "end!=1,!=2,!=3".to_owned()];
    World {
        title: "a contradiction behind ten levels of three packages",
        releases,
        wanted,
        is_solvable: false,
    }
}

/// Sixty packages in a row of which each version admits only the same version or the one below of the next.
fn diamonds() -> World {
    let mut releases = Vec::new();
    for package in 0..60_u32 {
        for version in 1..=30_u32 {
            let next = format!("d{}>={},<={version}", package + 1, version.saturating_sub(1));
            releases.push((format!("d{package}"), version, vec![next]));
        }
    }
    releases.extend((0..=30).map(|version| ("d60".to_owned(), version, Vec::new())));
    let wanted = vec!["d0".to_owned(), "d60<2".to_owned()];
    World { title: "sixty packages that hold each other", releases, wanted, is_solvable: true }
}

impl World {
    fn write(&self, folder: &Path) -> Result<()> {
        let mut pages: std::collections::BTreeMap<&str, Vec<serde_json::Value>> = Default::default();
        let files = folder.join("files");
        std::fs::create_dir_all(&files)?;
        for (name, version, requires) in &self.releases {
            let file = format!("{name}-{version}-py3-none-any.whl");
            let mut text = format!("Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n");
            text.extend(requires.iter().map(|requirement| format!("Requires-Dist: {requirement}\n")));
            let hash = |bytes: &[u8]| json!({ "sha256": Sha256::of(bytes).to_string() });
            std::fs::write(files.join(format!("{file}.metadata")), &text)?;
            pages.entry(name).or_default().push(json!({
                "filename": file, "url": format!("../../files/{file}"), "hashes": hash(file.as_bytes()),
                "core-metadata": hash(text.as_bytes()),
            }));
        }
        for (name, files) in pages {
            let page = folder.join("simple").join(name);
            std::fs::create_dir_all(&page)?;
            let text = json!({ "meta": { "api-version": "1.1" }, "name": name, "files": files }).to_string();
            std::fs::write(page.join("index.json"), text)?;
        }
        std::fs::write(folder.join("requirements.in"), self.wanted.join("\n") + "\n")?;
        Ok(())
    }

    fn run(&self, folder: &Path, tools: &Tools) -> Result<Took> {
        let program = tools.reana_lock.display();
        // What fails is what is measured here: the exit code is turned round.
        let expected = if self.is_solvable { 0 } else { 3 };
        let line = format!(
            "'{program}' compile -q --no-cache --python-version=3.12 --index-url=simple -o - requirements.in; test $? = {expected}"
        );
        let argv = vec!["/bin/sh".to_owned(), "-c".to_owned(), line];
        let env = Environment::from([("PATH".to_owned(), "/usr/bin:/bin".to_owned())]);
        let calls = [Call { argv, cwd: PathBuf::from(folder) }];
        let took = measure(&tools.python(), &calls, &env)?;
        ensure!(took.wall < 600.0, "{}: no end", self.title);
        Ok(took)
    }
}
