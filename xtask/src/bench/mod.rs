//! `cargo xtask bench`: reana-lock beside uv and pip-compile, in one run, over one local index.
//!
//! The index is nginx on loopback, with TLS, HTTP/2 and the public index's headers. What it serves is recorded from
//! the default index when a tool first asks for it, into the ignored folder bench-cache; a run in which something
//! had to be recorded is not counted, and done again. Everything is run one after the other.

mod fleets;
mod inputs;
mod measure;
mod peers;
mod recorder;
mod report;
mod server;
mod worlds;

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail, ensure};

use crate::project::{default_index, root};
use inputs::Inputs;
use measure::{Call, Environment, Took, measure};
use peers::{Tool, Tools};
use recorder::Recorder;
use report::{Case, Cell, Report, Scope};
use server::{Server, Traffic};

/// How often a run may be done again because something had to be recorded.
const MOST_RECORDINGS: usize = 12;

/// What `cargo xtask bench` may be told.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// What to measure instead of the comparison with others
    #[arg(value_enum)]
    what: Option<What>,
    /// Only reana-server, or only the fleet
    #[arg(long, value_enum)]
    only: Option<Scope>,
    /// Leave pip-compile out, which takes minutes
    #[arg(long)]
    no_pip_compile: bool,
    /// As many runs of pip-compile as of the others, instead of one
    #[arg(long, conflicts_with = "no_pip_compile")]
    full: bool,
    /// Runs with a warm cache, of which the median counts
    #[arg(long, default_value_t = 5)]
    warm: usize,
    /// Runs with an empty cache
    #[arg(long, default_value_t = 3)]
    cold: usize,
    /// Write all figures here as JSON
    #[arg(long)]
    json: Option<PathBuf>,
    /// The reana-lock to run, instead of a release build
    #[arg(long)]
    bin: Option<PathBuf>,
    /// Only the resolver's worst cases, on made-up worlds
    #[arg(long)]
    solver: bool,
    /// Keep the local index up until Enter is pressed, after the runs: for a profiler
    #[arg(long)]
    hold: bool,
}

/// What is measured over made-up indexes, without other tools.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum What {
    /// Fleets of 30, 100 and 300 components
    Fleet,
}

/// One bench.
struct Bench<'o> {
    options: &'o Options,
    inputs: Inputs,
    tools: Tools,
    server: Server,
    environment: Environment,
    work: PathBuf,
}

/// Runs the bench and prints its table.
pub(crate) fn bench(options: &Options) -> Result<()> {
    if options.what == Some(What::Fleet) {
        return fleets::bench(&peers::reana_lock(options.bin.as_deref())?, options.cold);
    }
    let folder = root().join("bench-cache");
    let inputs: Inputs = crate::job::read("bench/components.json")?;
    std::fs::create_dir_all(&folder)?;
    let tools = Tools::prepare(&folder, options.bin.as_deref(), &inputs.python)?;
    if options.solver {
        return worlds::bench(&tools, options.warm);
    }
    let site = folder.join("site");
    let recorder = Recorder::start(&default_index()?, &site, inputs.exclude_newer)?;
    let server = Server::start(&site, &folder.join("server"), recorder.address)?;
    let work = folder.join("work");
    clear(&work)?;
    let environment = tools.environment(&work, &server);
    let versions = tools.versions()?;
    println!("{}", versions.join(", "));
    let mut bench = Bench { options, inputs, tools, server, environment, work };
    let mut report = Report::new(versions);
    for scope in [Scope::Server, Scope::Fleet] {
        if options.only.is_none_or(|only| only == scope) {
            bench.scope(scope, &mut report)?;
        }
    }
    println!("\n{}", report.table());
    if let Some(file) = &options.json {
        std::fs::write(file, serde_json::to_vec_pretty(&report)?)?;
    }
    if options.hold {
        println!(
            "The index is at {}; its certificate in {}. Enter ends it.",
            bench.server.index,
            bench.server.certificates.display()
        );
        std::io::stdin().read_line(&mut String::new())?;
    }
    Ok(())
}

impl Bench<'_> {
    /// All tools in all cases for reana-server, or the fleet.
    fn scope(&mut self, scope: Scope, report: &mut Report) -> Result<()> {
        let mut pages = Traffic::default();
        let mut locks = Vec::new();
        for tool in [Tool::ReanaLock, Tool::Uv, Tool::PipCompile] {
            if tool == Tool::PipCompile && self.options.no_pip_compile {
                continue;
            }
            let folders = self.folders(scope, tool)?;
            let cache = self.work.join(format!("cache-{tool:?}"));
            let calls = self.tools.calls(tool, &folders, &cache, &self.server.index);
            for case in Case::ALL {
                let runs = self.runs(tool, case);
                let mut took = Vec::new();
                for number in 0..=runs {
                    let (run, traffic) = self.counted(&calls, || prepare(case, &folders, &cache))?;
                    // The first one warms the machine up; where one run takes minutes, that is not worth it.
                    let is_counted = number > 0 || self.is_single(tool);
                    println!("{}", report::line(scope, tool, case, is_counted, &run, &traffic));
                    if is_counted {
                        took.push(run);
                    }
                    if tool == Tool::ReanaLock && case == Case::Cold {
                        pages = traffic;
                    }
                    if took.len() == runs {
                        break;
                    }
                }
                report.cells.push(Cell { scope, tool: tool.name(), case, runs: took });
            }
            locks.push((tool, folders));
        }
        self.curl(scope, &pages, report)?;
        self.compare(scope, &locks, report)
    }

    fn is_single(&self, tool: Tool) -> bool {
        tool == Tool::PipCompile && !self.options.full
    }

    fn runs(&self, tool: Tool, case: Case) -> usize {
        match case {
            _ if self.is_single(tool) => 1,
            Case::Cold => self.options.cold.max(1),
            Case::Warm | Case::Unchanged => self.options.warm.max(1),
        }
    }

    /// The folders of a scope's components, with what is to be locked.
    fn folders(&self, scope: Scope, tool: Tool) -> Result<Vec<PathBuf>> {
        let folder = self.work.join(format!("{scope:?}-{tool:?}"));
        let mut folders = Vec::new();
        for component in &self.inputs.components {
            if scope == Scope::Server && component.name != "reana-server" {
                continue;
            }
            component.write(&folder.join(&component.name))?;
            folders.push(folder.join(&component.name));
        }
        ensure!(!folders.is_empty(), "fixtures/bench: there is no reana-server");
        Ok(folders)
    }

    /// A run in which nothing had to be recorded.
    fn counted(&mut self, calls: &[Call], prepare: impl Fn() -> Result<()>) -> Result<(Took, Traffic)> {
        for _ in 0..MOST_RECORDINGS {
            prepare()?;
            let run = measure(&self.tools.python(), calls, &self.environment);
            let traffic = self.server.traffic()?;
            if traffic.recorded == 0 {
                return run.map(|run| (run, traffic));
            }
            let outcome = if run.is_ok() { "done" } else { "failed" };
            println!(
                "  {} of {} answers were recorded ({outcome}); again",
                traffic.recorded, traffic.requests
            );
        }
        bail!("each run asks for something new")
    }

    /// How long the same requests take without anything being done with the answers.
    fn curl(&mut self, scope: Scope, pages: &Traffic, report: &mut Report) -> Result<()> {
        let origin = self.server.index.strip_suffix("/simple/").context("an index without /simple/")?;
        let mut config = String::new();
        for (at, (path, accept)) in pages.asked.iter().enumerate() {
            let next = if at > 0 { "next\n" } else { "" };
            config += &format!(
                "{next}url = \"{origin}{path}\"\nheader = \"accept: {accept}\"\noutput = \"/dev/null\"\nhttp2\ncompressed\ncacert = \"{}\"\n",
                self.server.certificates.display()
            );
        }
        let file = self.work.join("curl.conf");
        std::fs::write(&file, config)?;
        let line = format!("curl --silent --parallel --parallel-max 50 --config {}", file.display());
        let argv = line.split(' ').map(str::to_owned).collect();
        let calls = [Call { argv, cwd: self.work.clone() }];
        let mut took = Vec::new();
        for _ in 0..self.options.cold.max(1) {
            let (run, traffic) = self.counted(&calls, || Ok(()))?;
            println!("{}", report::curl_line(scope, &run, &traffic));
            took.push(run);
        }
        report.cells.push(Cell { scope, tool: "curl", case: Case::Cold, runs: took });
        Ok(())
    }

    /// Whether the tools agree; where they don't, the figures are not of the same work.
    fn compare(&self, scope: Scope, locks: &[(Tool, Vec<PathBuf>)], report: &mut Report) -> Result<()> {
        let Some(((_, own), others)) = locks.split_first() else { return Ok(()) };
        for (tool, folders) in others {
            for (ours, theirs) in own.iter().zip(folders) {
                let read = |folder: &Path| std::fs::read_to_string(folder.join("requirements.txt"));
                let (ours_pins, their_pins) =
                    (crate::job::pins(&read(ours)?), crate::job::pins(&read(theirs)?));
                let name = ours.file_name().unwrap_or_default().to_string_lossy().into_owned();
                let line = report::agreement(&name, *tool, &ours_pins, &their_pins);
                println!("{scope:?}: {line}");
                report.agreement.push(line);
            }
        }
        Ok(())
    }
}

/// Brings the disk into the state that a case begins with.
fn prepare(case: Case, folders: &[PathBuf], cache: &Path) -> Result<()> {
    if case == Case::Cold {
        clear(cache)?;
    }
    if case != Case::Unchanged {
        for folder in folders {
            let lock = folder.join("requirements.txt");
            if lock.exists() {
                std::fs::remove_file(lock)?;
            }
        }
    }
    Ok(())
}

fn clear(folder: &Path) -> Result<()> {
    if folder.exists() {
        std::fs::remove_dir_all(folder).with_context(|| folder.display().to_string())?;
    }
    std::fs::create_dir_all(folder).with_context(|| folder.display().to_string())
}
