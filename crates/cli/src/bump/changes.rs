//! What a bump changes: the manifests of all repositories that require the packages, and the locks of those
//! that are locked.

use std::path::PathBuf;

use reana_fleet::{BumpPlan, RepositoryFiles};
use reana_manifest::edit::{Change, Raise};
use reana_resolver::Request;

use super::search::raised;
use crate::commands::compile::Job;
use crate::doors::disk::Project;
use crate::error::Failure;
use crate::fleet::census::{Census, Member};
use crate::fleet::repositories;
use crate::lock::solve::{self, Locked};

/// What changes in one repository.
pub(crate) struct Changed<'c> {
    /// The repository.
    pub(crate) member: &'c Member,
    /// Its files that change: manifests first.
    pub(crate) files: Vec<ChangedFile>,
    /// The requirements that are raised.
    pub(crate) raised: Vec<Change>,
    /// Its lock, if it is made anew.
    pub(crate) lock: Option<Locked>,
}

/// A file that changes.
pub(crate) struct ChangedFile {
    /// Its path; absolute.
    pub(crate) path: PathBuf,
    /// The file as the user sees it.
    pub(crate) shown: String,
    /// What was there; `None` for a new file.
    pub(crate) before: Option<String>,
    /// What is to be there.
    pub(crate) after: String,
    /// It is a manifest, and no lock.
    pub(crate) is_manifest: bool,
}

/// The edits of all manifests, or every bound that can't be raised.
pub(crate) fn edits(census: &Census, raises: &[Raise]) -> Result<BumpPlan, Failure> {
    let mut opened: Vec<(&Member, Project)> = Vec::new();
    // All that have a manifest are looked through: what can't be evaluated may be about the package too.
    for member in census.members.iter().filter(|member| member.has_manifest) {
        let project = Project::open(&member.folder).map_err(|error| Failure::from_disk(&error))?;
        opened.push((member, project));
    }
    let files = opened.iter().map(|(member, project)| RepositoryFiles {
        name: member.name.clone(),
        shown: member.shown.clone(),
        files: project,
        target: member.target(&census.config),
        sources: repositories::sources(census, member, project),
    });
    let files: Vec<RepositoryFiles<'_>> = files.collect();
    reana_fleet::plan(&files, raises).map_err(|refusals| {
        let lines: Vec<String> = refusals.iter().map(ToString::to_string).collect();
        Failure::input(lines.join("\n"))
            .hint("nothing was written anywhere; raise these by hand, or write them as plain text")
    })
}

/// What changes in each repository, locks included, by name.
pub(crate) fn changes<'c>(
    census: &'c Census,
    mut plan: BumpPlan,
    jobs: &mut [Job],
    raises: &[Raise],
) -> Result<Vec<Changed<'c>>, Failure> {
    let mut all = Vec::new();
    for member in &census.members {
        let at = plan.repositories.iter().position(|(name, _)| *name == member.name);
        let edited = at.map(|at| plan.repositories.swap_remove(at).1).unwrap_or_default();
        let mut changed = Changed { member, files: Vec::new(), raised: Vec::new(), lock: None };
        for file in edited {
            changed.files.push(ChangedFile {
                path: member.folder.join(&file.path),
                shown: member.path_shown(&file.path),
                before: Some(file.before),
                after: file.after,
                is_manifest: true,
            });
            changed.raised.extend(file.changes);
        }
        let job = jobs.iter_mut().find(|job| job.prepared.name == member.name);
        if let Some(job) = job.filter(|_| member.is_locked()) {
            let new = raised(&job.prepared.request, raises);
            if !changed.files.is_empty() || is_behind(job, &new, raises) {
                job.prepared.request = new;
                relock(&mut changed, job, raises)?;
            }
        }
        if !changed.files.is_empty() {
            all.push(changed);
        }
    }
    Ok(all)
}

/// Whether the old lock has another version of a package whose minimum is there already.
fn is_behind(job: &Job, new: &Request, raises: &[Raise]) -> bool {
    let is_taken = |raise: &&Raise| {
        let exact = new.constraints.iter().skip(job.prepared.request.constraints.len());
        exact.into_iter().any(|constraint| constraint.name == raise.package)
    };
    let pins = || job.prepared.old.iter().flat_map(|old| &old.pins);
    let is_at = |raise: &Raise| {
        pins().any(|pin| pin.name == raise.package && pin.version.as_ref() == Some(&raise.to))
    };
    raises.iter().filter(is_taken).any(|raise| !is_at(raise))
}

fn relock(changed: &mut Changed<'_>, job: &mut Job, raises: &[Raise]) -> Result<(), Failure> {
    let prepared = &mut job.prepared;
    prepared.moved.extend(raises.iter().map(|raise| raise.package.clone()));
    let locked = solve::lock(prepared, &job.catalog, &[], &mut String::new())?;
    if let Some(path) = &prepared.lock
        && prepared.old_text.as_deref() != Some(locked.text.as_str())
    {
        if changed.files.iter().any(|file| file.path == *path) {
            return Err(Failure::input(format!(
                "{}: a manifest reads it, and it can't be edited and locked at once",
                prepared.lock_shown
            )));
        }
        changed.files.push(ChangedFile {
            path: path.clone(),
            shown: prepared.lock_shown.clone(),
            before: prepared.old_text.clone(),
            after: locked.text.clone(),
            is_manifest: false,
        });
    }
    if let Some(build) = &locked.build
        && build.file.old_text.as_deref() != Some(build.text.as_str())
    {
        changed.files.push(ChangedFile {
            path: build.file.path.clone(),
            shown: build.file.shown.clone(),
            before: build.file.old_text.clone(),
            after: build.text.clone(),
            is_manifest: false,
        });
    }
    changed.lock = Some(locked);
    Ok(())
}
