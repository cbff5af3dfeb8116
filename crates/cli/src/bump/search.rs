//! The version of a package that all of the fleet can take together, found by solving.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use reana_fleet::{Fleet, Held};
use reana_manifest::edit::{Raise, raise_text};
use reana_model::{Listing, Origin, PackageName, Requirement, Source, Version};
use reana_resolver::{Reason, Request, RequiredBy, SolveError};

use super::wanted::{To, Wanted};
use crate::commands::compile::Job;
use crate::error::Failure;

/// What one package is raised to, and what is in the way of more.
#[derive(Clone, Debug)]
pub(crate) struct Found {
    /// The package.
    pub(crate) package: PackageName,
    /// The version; `None` where nothing newer can be taken by all.
    pub(crate) version: Option<Version>,
    /// Newer versions, newest first, and who holds them back.
    pub(crate) held: Vec<Held>,
}

/// How many versions are tried before it is said that none will do.
const MOST_TRIED: usize = 60;

/// What the versions are tried on: locked components as they are locked, other repositories by what they
/// require without extras.
pub(crate) struct Search<'s> {
    /// The fleet.
    pub(crate) fleet: &'s Fleet,
    /// All repositories that require any of the packages.
    pub(crate) jobs: &'s [Job],
}

impl Search<'_> {
    /// Decides all packages, one after the other: what is decided holds for those that come later.
    pub(crate) fn all(&self, wanted: &[Wanted]) -> Result<Vec<Found>, Failure> {
        let found = self.each(wanted);
        for job in self.jobs {
            job.catalog.client().sound().map_err(|error| Failure::from_index(&error))?;
        }
        found
    }

    fn each(&self, wanted: &[Wanted]) -> Result<Vec<Found>, Failure> {
        let mut decided: Vec<Raise> = Vec::new();
        let mut found = Vec::new();
        for wanted in wanted {
            let one = self.one(wanted, &decided)?;
            let version = one.version.clone();
            decided.extend(version.map(|to| Raise { package: wanted.package.clone(), to }));
            found.push(one);
        }
        Ok(found)
    }

    fn one(&self, wanted: &Wanted, decided: &[Raise]) -> Result<Found, Failure> {
        let package = &wanted.package;
        let Some(job) = self.jobs.first() else { return Err(Failure::internal("nothing to solve")) };
        let listing: Arc<dyn Listing> = match job.catalog.locals.listing(package) {
            Some(local) => local,
            None => job.catalog.client().listing(package).map_err(|error| Failure::from_index(&error))?,
        };
        let mut found = Found { package: package.clone(), version: None, held: Vec::new() };
        match &wanted.to {
            To::Newest => {}
            To::Given(version) => {
                is_offered(&*listing, package, version)?;
                found.version = Some(self.must_take(package, version, decided)?);
                return Ok(found);
            }
            To::Checkout(version) => {
                is_offered(&*listing, package, version)
                    .map_err(|failure| failure.hint(release_first(self.fleet, package, version)))?;
                found.version = Some(self.must_take(package, version, decided)?);
                return Ok(found);
            }
        }
        let with_prereleases = reana_fleet::names_prerelease(self.fleet, package);
        let mut first = 0;
        for version in reana_fleet::candidates(&*listing, with_prereleases).into_iter().take(MOST_TRIED) {
            if !self.changes_anything(package, &version) {
                break;
            }
            let raises = with(decided, package, &version);
            // Of the newest version all are told who can't take it; of those between, the first is enough.
            let is_newest = found.held.is_empty();
            let held = self.try_all(&raises, package, &mut first, is_newest)?;
            if held.is_empty() {
                found.version = Some(version);
                break;
            }
            found.held.extend(held);
        }
        Ok(found)
    }

    fn must_take(
        &self,
        package: &PackageName,
        version: &Version,
        decided: &[Raise],
    ) -> Result<Version, Failure> {
        let held = self.try_all(&with(decided, package, version), package, &mut 0, true)?;
        if held.is_empty() {
            return Ok(version.clone());
        }
        let whys: Vec<String> = held
            .iter()
            .map(|held| format!("{}: {package} {version} can't be taken: {}", held.repository, held.why))
            .collect();
        Err(Failure::no_solution(whys.join("\n"))
            .hint("without a version, the newest one that all can take is found"))
    }

    /// Whether any requirement of the fleet is raised by this version.
    fn changes_anything(&self, package: &PackageName, version: &Version) -> bool {
        let requirers = self.fleet.requirers(package);
        let mut requires = requirers.iter().flat_map(|(_, requires)| requires);
        // What can't be raised is told when the edits are made.
        requires.any(|it| !matches!(raise_text(&it.requirement.text, version), Ok(None)))
    }

    /// Solves everything with these minimums: who can't. Unless `everybody` is asked, the one at `first`, which
    /// could not the last time, is asked first, and one that can't ends it.
    fn try_all(
        &self,
        raises: &[Raise],
        package: &PackageName,
        first: &mut usize,
        everybody: bool,
    ) -> Result<Vec<Held>, Failure> {
        // Who doesn't require it is asked nothing new.
        let requires = |job: &&Job| job.prepared.request.roots.iter().any(|root| root.name == *package);
        let jobs: Vec<&Job> = self.jobs.iter().filter(requires).collect();
        if let Some(job) = jobs.get(*first).filter(|_| !everybody)
            && let Some(held) = try_one(job, raises, package)?
        {
            return Ok(vec![held]);
        }
        let next = AtomicUsize::new(0);
        let is_over = AtomicBool::new(false);
        let slots: Vec<Mutex<Option<Tried>>> = jobs.iter().map(|_| Mutex::new(None)).collect();
        let threads = std::thread::available_parallelism().map_or(2, std::num::NonZero::get).clamp(1, 8);
        std::thread::scope(|scope| {
            for _ in 0..threads.min(jobs.len()) {
                scope.spawn(|| {
                    while !is_over.load(Ordering::Relaxed) {
                        let at = next.fetch_add(1, Ordering::Relaxed);
                        let Some((job, slot)) = jobs.get(at).zip(slots.get(at)) else { return };
                        if at == *first && !everybody {
                            continue;
                        }
                        let tried = try_one(job, raises, package);
                        // Those before it are already being asked, so that the first one by name is told.
                        if !matches!(tried, Ok(None)) && !everybody || tried.is_err() {
                            is_over.store(true, Ordering::Relaxed);
                        }
                        *slot.lock().unwrap_or_else(PoisonError::into_inner) = Some(tried);
                    }
                });
            }
        });
        let mut all = Vec::new();
        for (at, slot) in slots.into_iter().enumerate() {
            let tried = slot.into_inner().unwrap_or_else(PoisonError::into_inner);
            if let Some(held) = tried.transpose()?.flatten() {
                if all.is_empty() {
                    *first = at;
                }
                all.push(held);
            }
        }
        if !everybody {
            all.truncate(1);
        }
        Ok(all)
    }
}

fn with(decided: &[Raise], package: &PackageName, version: &Version) -> Vec<Raise> {
    let mut raises = decided.to_vec();
    raises.push(Raise { package: package.clone(), to: version.clone() });
    raises
}

fn is_offered(listing: &dyn Listing, package: &PackageName, version: &Version) -> Result<(), Failure> {
    let files = listing.files_of(version);
    if files.is_empty() {
        return Err(Failure::input(format!("{package} {version} is not on the index")));
    }
    if files.iter().all(|file| file.yanked.is_yanked()) {
        return Err(Failure::input(format!("{package} {version} was yanked, and is nothing to raise to")));
    }
    Ok(())
}

fn release_first(fleet: &Fleet, package: &PackageName, version: &Version) -> String {
    let maker = fleet.maker(package).map_or("", |maker| maker.name.as_str());
    let order = fleet.release_order();
    let steps: Vec<String> = order.steps.iter().map(|step| step.join(", ")).collect();
    format!(
        "release {package} {version} from {maker} first; the order of releases is: {}",
        steps.join("; then ")
    )
}

/// Who can't, or nobody; or why that is not known.
type Tried = Result<Option<Held>, Failure>;

fn try_one(job: &Job, raises: &[Raise], package: &PackageName) -> Tried {
    let request = raised(&job.prepared.request, raises);
    let Err(error) = reana_resolver::solve(&*job.catalog, &request) else { return Ok(None) };
    let reasons: &[Reason] = match &error {
        SolveError::NoSolution(explanation) if explanation.bounds.is_empty() => &explanation.roots,
        SolveError::NoSolution(explanation) => &explanation.bounds,
        SolveError::UnknownPackage { .. } | SolveError::NoUsableFile { .. } | SolveError::Limit { .. } => &[],
        SolveError::Unreadable { .. } | SolveError::Catalog { .. } => {
            let mut failure = Failure::from_solve(&error);
            failure.message = format!("{}: {}", job.prepared.name, failure.message);
            return Err(failure);
        }
    };
    let version = raises.iter().find(|raise| raise.package == *package).map(|raise| raise.to.clone());
    Ok(version.map(|version| Held {
        package: package.clone(),
        version,
        repository: job.prepared.name.clone(),
        lines: lines(reasons, raises),
        why: error.to_string(),
    }))
}

/// The lines in the way: those of the manifests that are not about the raised packages themselves.
fn lines(reasons: &[Reason], raises: &[Raise]) -> Vec<(Origin, String)> {
    let line = |reason: &Reason| match &reason.by {
        RequiredBy::Root(origin) | RequiredBy::Constraint(origin) => {
            Some((origin.clone(), reason.text.clone()))
        }
        RequiredBy::Package(..) => None,
    };
    let is_other = |(origin, text): &(Origin, String)| {
        let read = Requirement::parse_mended(text, origin.clone());
        !read.is_ok_and(|read| raises.iter().any(|raise| raise.package == read.name))
    };
    reasons.iter().filter_map(line).filter(is_other).collect()
}

/// A request as it will be when the manifests are raised: these versions exactly, and nothing of the old lock
/// that speaks against them.
pub(crate) fn raised(request: &Request, raises: &[Raise]) -> Request {
    let mut request = request.clone();
    for raise in raises {
        let mut takes_it = true;
        let mut is_required = false;
        for root in request.roots.iter_mut().filter(|root| root.name == raise.package) {
            is_required = true;
            if let Ok(Some(text)) = raise_text(&root.text, &raise.to)
                && let Ok(new) = Requirement::parse_mended(&text, root.origin.clone())
            {
                root.source = new.source;
                root.text = text;
            }
            takes_it &= match &root.source {
                Source::Index(specifiers) => specifiers.contains(&raise.to),
                Source::Direct(_) => false,
            };
        }
        if !is_required {
            continue;
        }
        // One whose minimum is higher already goes its own way.
        if !takes_it {
            continue;
        }
        request.preferences.retain(|preference| preference.name != raise.package);
        let exact =
            Requirement::parse(&format!("{}=={}", raise.package, raise.to), Origin::whole("the bump"));
        request.constraints.extend(exact.ok());
    }
    request
}
