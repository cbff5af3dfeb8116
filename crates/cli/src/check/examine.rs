//! Examining locks: each is solved anew without being written, its pins are looked up on the index, its Dockerfile is
//! read; what is found is data. Writes nothing and says nothing.

use std::collections::{BTreeMap, BTreeSet};

use reana_lockfile::{Change, ChangeKind, LockedPin, MoreHashes};
use reana_model::{PackageName, PinSource, PythonVersion, Sha256, Version};
use reana_resolver::{MergedPin, RequiredBy};

use super::finding::{Code, Finding, Grade};
use super::image::{self, Image};
use super::lock::{self, New, Old};
use super::offered::{self, Offered};
use crate::args::{CompileArgs, Hashes};
use crate::commands::compile::{self, Job};
use crate::dockerfile::Dockerfile;
use crate::doors::disk;
use crate::doors::env::Env;
use crate::error::Failure;
use crate::exit::Exit;
use crate::fleet::{Plan, Unit, UnitKind};
use crate::journal;
use crate::lock::build_requirements;
use crate::lock::prepare::{self, Prepared};
use crate::lock::solve::Locked;
use crate::ui::Ui;

/// More packages than this without an answer are told by their number.
const MOST_NAMES: usize = 5;

/// One lock, with what was found.
pub(crate) struct Checked {
    /// The lock as it is (`job.prepared.old`: its pins, its preview mark), and what it is made from.
    pub(crate) job: Job,
    /// What would be written now, or why that is not known.
    pub(crate) made: Result<Locked, Failure>,
    /// What was found, by file and line. Those of grade error make the lock, or its image, not what it says.
    pub(crate) findings: Vec<Finding>,
    /// The hashes of files that were added to locked versions.
    pub(crate) fresh: MoreHashes,
    /// Whether something about the index could not be had.
    pub(crate) is_open: bool,
}

/// All that was examined.
pub(crate) struct Examined {
    /// In the plan's order, those that can't be prepared left out.
    pub(crate) checked: Vec<Checked>,
    /// Findings that are about no single lock.
    pub(crate) findings: Vec<Finding>,
    /// Why some can't be prepared.
    pub(crate) failures: Vec<Failure>,
}

impl Examined {
    /// All findings, in the plan's order.
    pub(crate) fn all(&self) -> impl Iterator<Item = &Finding> {
        self.findings.iter().chain(self.checked.iter().flat_map(|checked| &checked.findings))
    }

    /// Errors are told before what could not be had: whoever mends them is further, whatever the network does.
    pub(crate) fn exit(&self) -> Exit {
        let made = self.checked.iter().filter_map(|checked| checked.made.as_ref().err());
        let failed = self.failures.iter().chain(made).map(|failure| failure.exit).max();
        let is_wanting = self.all().any(|finding| finding.grade() == Grade::Error);
        match failed {
            Some(Exit::Internal) => Exit::Internal,
            _ if is_wanting => Exit::Wanting,
            Some(exit) => exit,
            None if self.checked.iter().any(|checked| checked.is_open) => Exit::NoAnswer,
            None => Exit::Done,
        }
    }
}

/// Examines all locks of a plan. `ui` shows how far it is and what the indexes are, at its own level.
///
/// # Errors
/// Where no lock can be examined at all: settings or credentials that are no good.
pub(crate) fn examine(plan: &Plan, args: &CompileArgs, ui: &Ui, env: &Env) -> Result<Examined, Failure> {
    let (mut units, mut prepared, mut failures) = (Vec::new(), Vec::new(), Vec::new());
    for (unit, result) in plan.units.iter().zip(prepare::each(plan, args, env)?) {
        match result {
            Ok(ready) => {
                units.push(unit);
                prepared.push(ready);
            }
            Err(failure) => failures.push(failure),
        }
    }
    let jobs = compile::jobs(prepared, args, plan, env, ui)?;
    ui.start_progress();
    let made = compile::solve_all(&jobs, &[], ui);
    ui.end_progress();
    let each = units.into_iter().zip(jobs.into_iter().zip(made));
    let checked = each.map(|(unit, (job, made))| one(unit, job, made, args.index.offline)).collect();
    let journal = plan.journal_folder();
    let findings = if journal::is_left(&journal) {
        let file = crate::paths::relative(&journal.join(journal::FILE), &env.cwd);
        vec![Finding::new(
            Code::Unfinished,
            &file,
            0,
            "a killed run left it: the locks may be half old, half new",
        )]
    } else {
        Vec::new()
    };
    Ok(Examined { checked, findings, failures })
}

fn one(unit: &Unit, job: Job, made: Result<Locked, Failure>, is_offline: bool) -> Checked {
    let prepared = &job.prepared;
    let file = prepared.lock_shown.as_str();
    let mut findings = Vec::new();
    let mut looked = Looked::default();
    if let (Some(text), Some(old)) = (&prepared.old_text, &prepared.old) {
        let old = Old { file, text, lock: old };
        findings = lock::alone(&old, &pythons(prepared), prepared.style.header);
        findings.extend(hashed(&old, prepared));
        match &made {
            Ok(made) => {
                let reasons = reasons(made);
                let new = New { text: &made.text, changes: &made.changes, reasons };
                findings.extend(lock::against(&old, &new, &findings));
            }
            Err(failure) if failure.exit == Exit::NoAnswer => {
                let message =
                    "whether the pins are what `compile` would give is not checked: no answer of the index";
                findings.push(Finding::new(Code::NotChecked, file, 0, message));
                findings.extend(lock::unsatisfied(&old, &prepared.request.roots, &prepared.request.targets));
            }
            Err(_) => {}
        }
        looked = look(&job, made.as_ref().ok(), is_offline);
        findings.append(&mut looked.findings);
    } else {
        findings.push(Finding::new(Code::Missing, file, 0, "there is no lock"));
    }
    if let Ok(Locked { build: Some(build), .. }) = &made {
        let code = if build.file.old_text.is_none() { Code::Missing } else { Code::Stale };
        let stale = build_requirements::stale(build).into_iter();
        findings.extend(stale.map(|message| Finding::new(code, &build.file.shown, 0, message)));
    }
    findings.extend(dockerfile(unit, prepared));
    findings
        .sort_by(|one, other| (&one.file, one.line, one.code).cmp(&(&other.file, other.line, other.code)));
    Checked { made, findings, fresh: looked.fresh, is_open: looked.is_open, job }
}

fn pythons(prepared: &Prepared) -> Vec<PythonVersion> {
    prepared.header.pythons.clone()
}

/// Pins without hashes: of a whole lock, told once.
fn hashed(old: &Old<'_>, prepared: &Prepared) -> Vec<Finding> {
    let lock = old.lock;
    if prepared.hashes == Hashes::None || lock.pins.is_empty() {
        return Vec::new();
    }
    let bare = lock.pins.iter().filter(|pin| pin.hashes.is_empty());
    if lock.pins.iter().all(|pin| pin.hashes.is_empty()) {
        return vec![Finding::new(Code::NoHashes, old.file, 0, "no pin has a hash, so pip checks none")];
    }
    bare.map(|pin| {
        Finding::new(Code::Unhashed, old.file, pin.line, format!("{} has no hash: pip refuses it", pin.name))
    })
    .collect()
}

/// Why pins are not kept, and who wants those that are new.
fn reasons(made: &Locked) -> BTreeMap<String, String> {
    let mut reasons = made.dropped.clone();
    for Change { name, kind } in &made.changes {
        let ChangeKind::Added { .. } = kind else { continue };
        let is_it = |pin: &&MergedPin| pin.name.as_ref() == name.as_str();
        let wanted = made.merged.iter().find(is_it).and_then(|pin| {
            pin.wanted_by.iter().find(|reason| !matches!(reason.by, RequiredBy::Constraint(_)))
        });
        if let Some(reason) = wanted {
            reasons.insert(name.clone(), format!("{} requires {}", reason.by, reason.text));
        }
    }
    reasons
}

/// What the index says of the pins.
#[derive(Default)]
struct Looked {
    findings: Vec<Finding>,
    fresh: MoreHashes,
    is_open: bool,
}

fn look(job: &Job, made: Option<&Locked>, is_offline: bool) -> Looked {
    let prepared = &job.prepared;
    let file = prepared.lock_shown.as_str();
    let mut looked = Looked::default();
    let mut unanswered: BTreeSet<&PackageName> = BTreeSet::new();
    let request = &prepared.request;
    let asked = || request.roots.iter().chain(&request.constraints).chain(&request.overrides);
    let pins = prepared.old.iter().flat_map(|old| &old.pins);
    for pin in pins.filter(|pin| matches!(pin.source, PinSource::Index | PinSource::Arbitrary(_))) {
        let Some(version) = &pin.version else { continue };
        let Some(offered) = offered_of(job, pin, version, made) else {
            unanswered.insert(&pin.name);
            continue;
        };
        let consent = lock::consent(asked(), &pin.name, version);
        let judged = offered::judge(pin, version, &offered, consent);
        let each = judged.found.into_iter();
        looked.findings.extend(each.map(|(code, message)| Finding::new(code, file, pin.line, message)));
        if !judged.fresh.is_empty() {
            looked.fresh.insert(pin.line, judged.fresh);
        }
    }
    if !unanswered.is_empty() {
        looked.is_open = true;
        let names: Vec<&str> = unanswered.iter().take(MOST_NAMES).map(AsRef::as_ref).collect();
        let more = unanswered.len().saturating_sub(MOST_NAMES);
        let more = if more == 0 { String::new() } else { format!(" and {more} more") };
        let message = format!("hashes and yanks are not checked: no answer about {}{more}", names.join(", "));
        looked.findings.push(Finding::new(Code::NotChecked, file, 0, message));
    }
    if is_offline && prepared.places.is_remote() && unanswered.is_empty() {
        let message = "offline: hashes and yanks are judged by what the cache last saw of the index";
        looked.findings.push(Finding::new(Code::NotChecked, file, 0, message));
    }
    looked
}

/// What the index has of a pin's version; `None` where there is no answer.
fn offered_of(job: &Job, pin: &LockedPin, version: &Version, made: Option<&Locked>) -> Option<Offered> {
    let client = job.catalog.client();
    let listing = client.listing(&pin.name).ok()?;
    let listed = listing.files_of(version);
    client.sound().ok()?;
    let mut offered = Offered::default();
    let are_all_yanked = !listed.is_empty() && listed.iter().all(|file| file.yanked.is_yanked());
    if are_all_yanked {
        let reasons = listed.iter().filter_map(|file| match &file.yanked {
            reana_model::Yanked::Yes(reason) => Some(reason.replace(char::is_control, " ")),
            reana_model::Yanked::No => None,
        });
        offered.yanked = reasons.max();
    }
    let mut current: BTreeSet<Sha256> = BTreeSet::new();
    for file in listed {
        // without hashes in the lock nothing is compared, and a file may be large
        let hash = match file.sha256 {
            None if pin.hashes.is_empty() => Sha256::of(file.name.file().as_bytes()),
            _ => client.sha256(&pin.name, file).ok()?,
        };
        offered.files.insert(hash, file.name.file().to_owned());
        if are_all_yanked || !file.yanked.is_yanked() {
            current.insert(hash);
        }
    }
    let prepared = &job.prepared;
    let same = made.and_then(|made| {
        made.pins
            .iter()
            .find(|new| new.name == pin.name && new.version == *version && new.marker == pin.marker)
    });
    offered.wanted = match (same, prepared.hashes) {
        (Some(new), _) => new.hashes.clone(),
        (None, Hashes::All) => current,
        (None, Hashes::Target | Hashes::None) => BTreeSet::new(),
    };
    if let Some(allowed) = prepared.allowed.get(&pin.name) {
        offered.wanted.retain(|hash| allowed.contains(hash));
    }
    Some(offered)
}

/// What is found in a component's Dockerfile, if it has one.
fn dockerfile(unit: &Unit, prepared: &Prepared) -> Vec<Finding> {
    let Some(path) = &prepared.lock else { return Vec::new() };
    let name = |path: &std::path::Path| path.file_name().map(|name| name.to_string_lossy().into_owned());
    let (Some(lock_name), UnitKind::Component) = (name(path), &unit.kind) else { return Vec::new() };
    let Ok(text) = disk::read_text(&unit.folder.join("Dockerfile")) else { return Vec::new() };
    let file =
        if unit.shown.is_empty() { "Dockerfile".to_owned() } else { format!("{}/Dockerfile", unit.shown) };
    let others: Vec<String> = prepared.build.iter().filter_map(|build| name(&build.path)).collect();
    let image = Image { file: &file, lock_name: &lock_name, lock: prepared.old.as_ref(), others: &others };
    image::judge(&Dockerfile::parse(&text), &image)
}
