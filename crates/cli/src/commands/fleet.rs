//! `reana-lock fleet`: the repositories of a fleet, who requires whom, and how each one stands.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use reana_fleet::{Edge, Fleet, ReleaseOrder, Repository, Requires};
use reana_index::Client;
use reana_model::{Origin, PackageName, Version};
use serde_json::{Value, json};

use crate::args::{CompileArgs, FleetArgs, Format};
use crate::doors::clock;
use crate::doors::disk::{self, DiskError, Entry};
use crate::doors::env::Env;
use crate::doors::git::{Git, State};
use crate::error::Failure;
use crate::exit::Exit;
use crate::fleet::Plan;
use crate::fleet::census::{self, Census, Member};
use crate::fleet::repositories;
use crate::lock::prepare;
use crate::settings::Places;
use crate::ui::Ui;

/// Shows the fleet that the arguments name.
pub(crate) fn run(args: &FleetArgs, ui: &Ui, env: &Env) -> Result<Exit, Failure> {
    if args.format == Format::Github {
        return Err(Failure::input("--format github is for `compile --check`"));
    }
    let (census, words) = find(&args.what, env)?;
    for note in &census.notes {
        note.tell(ui);
    }
    let wanted = census.named(&words).map_err(|error| Failure::from_fleet(&error))?;
    let (fleet, notes) = repositories::graph(&census);
    notes.iter().for_each(|note| ui.warn(note));
    let order = fleet.release_order();
    let mut standings = standings(&census, &wanted);
    let mut unread: Vec<&String> = standings.iter().flat_map(|standing| &standing.unread).collect();
    unread.dedup();
    unread.into_iter().for_each(|why| ui.warn(why));
    if !args.index.offline {
        count_behind(args, &census, &mut standings, env, ui)?;
    }
    let table = Table {
        fleet: &fleet,
        order: &order,
        standings: &standings,
        shared: fleet.shared().into_iter().collect(),
        edges: fleet.edges(),
    };
    if args.format == Format::Json {
        ui.data(&format!("{:#}\n", table.json()));
    } else {
        ui.data(&table.text());
    }
    for cycle in &order.cycles {
        ui.warn(&format!(
            "{} require one another: no order of releases satisfies them all",
            cycle.join(", ")
        ));
    }
    Ok(Exit::Done)
}

/// The fleet, and the words that name single repositories of it. One word may be the fleet's folder.
fn find(what: &[String], env: &Env) -> Result<(Census, Vec<String>), Failure> {
    let fail = |error| Failure::from_fleet(&error);
    if let [only] = what
        && disk::entry(&env.cwd.join(only)) == Entry::Folder
    {
        let folder = disk::canonical(&env.cwd.join(only)).map_err(|error| Failure::from_disk(&error))?;
        if crate::fleet::sources(&folder, &[], &[]).map_err(fail)?.is_empty() {
            return Ok((census::census(Some(only.as_ref()), &env.cwd).map_err(fail)?, Vec::new()));
        }
        // A component: it is shown in its fleet.
        let census = census::census(folder.parent(), &env.cwd).map_err(fail)?;
        let name = folder.file_name().map(|name| name.to_string_lossy().into_owned());
        return Ok((census, name.into_iter().collect()));
    }
    let words = what.iter().filter(|word| *word != crate::fleet::CLUSTER).cloned().collect();
    Ok((census::census(None, &env.cwd).map_err(fail)?, words))
}

/// How one repository stands.
struct Standing {
    name: String,
    folder: String,
    git: Option<GitStanding>,
    lock: Option<LockStanding>,
    /// What could not be read of it.
    unread: Vec<String>,
}

struct GitStanding {
    state: State,
    description: Option<String>,
    is_shallow: bool,
}

struct LockStanding {
    shown: String,
    pins: Vec<(PackageName, Version)>,
    /// When it was committed, in seconds since 1970; `None` where it never was.
    committed: Option<i64>,
    /// How many pins have a newer version; `None` where that is not known.
    behind: Option<usize>,
}

/// Asks git about all repositories, a few at a time.
fn standings(census: &Census, wanted: &[&Member]) -> Vec<Standing> {
    let next = AtomicUsize::new(0);
    let slots: Vec<Mutex<Option<Standing>>> = wanted.iter().map(|_| Mutex::new(None)).collect();
    std::thread::scope(|scope| {
        for _ in 0..wanted.len().min(4) {
            scope.spawn(|| {
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    let Some((member, slot)) = wanted.get(at).zip(slots.get(at)) else { return };
                    *slot.lock().unwrap_or_else(PoisonError::into_inner) = Some(standing(census, member));
                }
            });
        }
    });
    slots.into_iter().filter_map(|slot| slot.into_inner().unwrap_or_else(PoisonError::into_inner)).collect()
}

fn standing(census: &Census, member: &Member) -> Standing {
    let mut unread = Vec::new();
    let git = Git::of(&member.folder).unwrap_or_else(|error| {
        unread.push(error.to_string());
        None
    });
    let path = member.lock(&census.config);
    let read = if member.is_locked() { disk::read_if_there(&path) } else { Ok(None) };
    let text = read.and_then(|bytes| match bytes.map(String::from_utf8) {
        Some(Err(_)) => Err(DiskError::NotText { path: path.clone() }),
        text => Ok(text.and_then(Result::ok)),
    });
    let text = text.unwrap_or_else(|error| {
        unread.push(error.to_string());
        None
    });
    let lock = text.map(|text| {
        let shown = member.path_shown(&crate::paths::relative(&path, &member.folder));
        let lock = reana_lockfile::parse(&text, shown.as_str());
        let pins = lock.pins.into_iter().filter_map(|pin| Some((pin.name, pin.version?))).collect();
        let committed = git.as_ref().and_then(|git| git.committed(&path));
        LockStanding { shown, pins, committed, behind: None }
    });
    let git = git.and_then(|git| match git.state(&member.folder) {
        Ok(state) => Some(GitStanding { description: git.description(), is_shallow: git.is_shallow, state }),
        Err(error) => {
            unread.push(error.to_string());
            None
        }
    });
    let folder = if member.shown.is_empty() { ".".to_owned() } else { member.shown.clone() };
    Standing { name: member.name.clone(), folder, git, lock, unread }
}

/// Asks the indexes of each lock how many of its pins have a newer version. Where there is no answer, that stays
/// unknown.
fn count_behind(
    args: &FleetArgs,
    census: &Census,
    standings: &mut [Standing],
    env: &Env,
    ui: &Ui,
) -> Result<(), Failure> {
    let compile = CompileArgs { index: args.index.clone(), ..CompileArgs::default() };
    let mut clients: Vec<(Places, Client)> = Vec::new();
    for standing in standings {
        let member = census.members.iter().find(|member| member.name == standing.name);
        let (Some(member), Some(lock)) = (member, &mut standing.lock) else { continue };
        let unknown = |why: String| format!("{}: how many pins are behind is not known: {why}", member.name);
        let units = vec![member.unit(&census.config)];
        let root = Some(census.root.clone());
        let plan = Plan { fleet_root: root, config: census.config.clone(), units, ..Plan::default() };
        let places = match prepare::all(&plan, &compile, env) {
            Ok(prepared) => prepared.into_iter().next().map(|prepared| prepared.places),
            Err(failure) => {
                ui.warn(&unknown(failure.message));
                continue;
            }
        };
        let Some(places) = places else { continue };
        let at = match clients.iter().position(|(known, _)| *known == places) {
            Some(at) => at,
            None => {
                let settings = places.client(&args.index, &census.config, env)?;
                let client = Client::new(settings).map_err(|error| Failure::from_index(&error))?;
                clients.push((places, client));
                clients.len() - 1
            }
        };
        let Some((_, client)) = clients.get(at) else { continue };
        match behind(&lock.pins, client) {
            Ok(behind) => lock.behind = Some(behind),
            Err(error) => {
                ui.warn(&unknown(error.to_string()));
                // One answer that can't be had is enough to know that the others take as long.
                return Ok(());
            }
        }
    }
    Ok(())
}

/// How many pins have a newer version: a final one, or for a pre-release any.
fn behind(pins: &[(PackageName, Version)], client: &Client) -> Result<usize, Arc<reana_index::Error>> {
    let names: Vec<PackageName> = pins.iter().map(|(name, _)| name.clone()).collect();
    client.expect(&names);
    let mut count = 0;
    for (name, pinned) in pins {
        let listing = client.listing(name)?;
        let newest = reana_fleet::candidates(&*listing, pinned.any_prerelease()).into_iter().next();
        count += usize::from(newest.is_some_and(|newest| newest > *pinned));
    }
    Ok(count)
}

struct Table<'t> {
    fleet: &'t Fleet,
    order: &'t ReleaseOrder,
    standings: &'t [Standing],
    shared: BTreeSet<&'t PackageName>,
    edges: Vec<Edge<'t>>,
}

impl Table<'_> {
    /// The repositories that are shown, by their step in the order of releases.
    fn rows(&self) -> Vec<(usize, &Repository, &Standing)> {
        let step = |name: &str| self.order.steps.iter().position(|step| step.iter().any(|it| it == name));
        let mut rows: Vec<(usize, &Repository, &Standing)> = Vec::new();
        for standing in self.standings {
            let known = self.fleet.repositories().iter().find(|it| it.name == standing.name);
            rows.extend(known.map(|it| (step(&it.name).map_or(0, |step| step + 1), it, standing)));
        }
        rows.sort_by(|a, b| (a.0, &a.1.name).cmp(&(b.0, &b.1.name)));
        rows
    }

    fn is_shared(&self, repository: &Repository) -> bool {
        repository.package.as_ref().is_some_and(|package| self.shared.contains(package))
    }

    /// What a repository requires of the fleet's other packages.
    fn requires(&self, repository: &Repository) -> Vec<&Requires> {
        let edges = self.edges.iter().filter(|edge| edge.from.name == repository.name);
        edges.map(|edge| edge.requires).collect()
    }

    fn text(&self) -> String {
        let rows = self.rows();
        let width = rows.iter().map(|(_, it, _)| it.name.chars().count()).max().unwrap_or(0);
        let mut lines: Vec<String> = Vec::new();
        for (step, repository, standing) in rows {
            let mut facts = vec![self.kind(repository)];
            facts.extend(repository.version.as_ref().map(ToString::to_string));
            facts.push(git_words(standing.git.as_ref()));
            facts.extend(standing.lock.as_ref().map(lock_words));
            lines.push(format!("{step:<3} {:width$}  {}", repository.name, facts.join("; ")));
            for requires in self.requires(repository) {
                let Requires { requirement, extra } = requires;
                let extra = extra.as_ref().map(|extra| format!(", for [{extra}]")).unwrap_or_default();
                lines.push(format!("      {} ({}{extra})", requirement.text, requirement.origin));
            }
        }
        lines.push(String::new());
        lines.join("\n")
    }

    fn kind(&self, repository: &Repository) -> String {
        let kinds = [
            (self.is_shared(repository), "shared package"),
            (repository.is_locked, "locked"),
            (repository.is_image, "image"),
        ];
        let kinds: Vec<&str> = kinds.iter().filter(|(is, _)| *is).map(|(_, kind)| *kind).collect();
        if kinds.is_empty() { "not locked".to_owned() } else { kinds.join(", ") }
    }

    fn json(&self) -> Value {
        let rows = self.rows().into_iter().map(|(step, repository, standing)| {
            let requires = self.requires(repository).into_iter().map(requires_json);
            json!({
                "name": repository.name,
                "folder": standing.folder,
                "package": repository.package.as_ref().map(ToString::to_string),
                "version": repository.version.as_ref().map(ToString::to_string),
                "shared": self.is_shared(repository),
                "locked": repository.is_locked,
                "image": repository.is_image,
                "release_step": step,
                "git": standing.git.as_ref().map(git_json),
                "lock": standing.lock.as_ref().map(lock_json),
                "requires": requires.collect::<Vec<_>>(),
            })
        });
        json!({
            "order": self.order.steps,
            "cycles": self.order.cycles,
            "shared": self.shared.iter().map(ToString::to_string).collect::<Vec<_>>(),
            "repositories": rows.collect::<Vec<_>>(),
        })
    }
}

fn requires_json(requires: &Requires) -> Value {
    let Requires { requirement, extra } = requires;
    let Origin { file, line } = &requirement.origin;
    json!({
        "package": requirement.name.to_string(),
        "extras": requirement.extras.iter().map(ToString::to_string).collect::<Vec<_>>(),
        "bounds": requirement.specifiers().map(ToString::to_string),
        "requirement": requirement.text,
        "for_extra": extra.as_ref().map(ToString::to_string),
        "file": file,
        "line": line,
    })
}

fn git_json(git: &GitStanding) -> Value {
    json!({
        "branch": git.state.branch,
        "commit": git.state.head,
        "dirty": git.state.is_dirty,
        "description": git.description,
        "shallow": git.is_shallow,
    })
}

fn lock_json(lock: &LockStanding) -> Value {
    json!({
        "path": lock.shown,
        "pins": lock.pins.len(),
        "committed": lock.committed.and_then(|at| jiff::Timestamp::from_second(at).ok()).map(|at| at.to_string()),
        "behind": lock.behind,
    })
}

fn git_words(git: Option<&GitStanding>) -> String {
    let Some(git) = git else { return "no git repository".to_owned() };
    let branch = git.state.branch.as_deref().unwrap_or("no branch");
    let dirty = if git.state.is_dirty { "dirty" } else { "clean" };
    let shallow = if git.is_shallow { ", shallow" } else { "" };
    match &git.description {
        Some(description) => format!("{branch}, {dirty}, {description}{shallow}"),
        None => format!("{branch}, {dirty}, no commit{shallow}"),
    }
}

fn lock_words(lock: &LockStanding) -> String {
    let age = match lock.committed {
        None => "lock never committed".to_owned(),
        Some(at) => match (clock::now().as_second() - at).max(0) / 86_400 {
            0 => "lock of today".to_owned(),
            1 => "lock of yesterday".to_owned(),
            days => format!("lock {days} days old"),
        },
    };
    let pins = lock.pins.len();
    match lock.behind {
        Some(behind) => format!("{age}, {behind} of {pins} pins behind"),
        None => format!("{age}, not known how many of {pins} pins are behind"),
    }
}
