//! What a bump changes: the manifests of all repositories that require the packages, and the locks of those
//! that are locked.

use std::path::PathBuf;

use reana_fleet::{BumpPlan, Fleet, RepositoryFiles};
use reana_manifest::edit::{Change, Raise};

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
    /// Its lock, if it is locked, with what it was prepared from.
    pub(crate) lock: Option<(usize, Locked)>,
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
pub(crate) fn edits(census: &Census, fleet: &Fleet, raises: &[Raise]) -> Result<BumpPlan, Failure> {
    let requirers = |member: &&Member| {
        raises
            .iter()
            .any(|raise| fleet.requirers(&raise.package).iter().any(|(it, _)| it.name == member.name))
    };
    let mut opened: Vec<(&Member, Project)> = Vec::new();
    // All that have a manifest are looked through: what can't be evaluated may be about the package too.
    for member in census.members.iter().filter(|member| member.has_manifest || requirers(member)) {
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
    plan: BumpPlan,
    jobs: &mut [Job],
    raises: &[Raise],
) -> Result<Vec<Changed<'c>>, Failure> {
    let mut all = Vec::new();
    for (name, changed) in plan.repositories {
        let Some(member) = census.members.iter().find(|member| member.name == name) else { continue };
        let mut change = Changed { member, files: Vec::new(), raised: Vec::new(), lock: None };
        for file in changed {
            change.files.push(ChangedFile {
                path: member.folder.join(&file.path),
                shown: member.path_shown(&file.path),
                before: Some(file.before),
                after: file.after,
                is_manifest: true,
            });
            change.raised.extend(file.changes);
        }
        let job = jobs.iter_mut().enumerate().find(|(_, job)| job.prepared.name == name);
        if let Some((at, job)) = job.filter(|_| member.is_locked()) {
            job.prepared.request = raised(&job.prepared.request, raises);
            job.prepared.moved.extend(raises.iter().map(|raise| raise.package.clone()));
            let locked = solve::lock(&job.prepared, &job.catalog, &[])?;
            if let Some(path) = &job.prepared.lock
                && job.prepared.old_text.as_deref() != Some(locked.text.as_str())
            {
                if change.files.iter().any(|file| file.path == *path) {
                    return Err(Failure::input(format!(
                        "{}: it is read by a manifest, and can't be edited and locked at once",
                        job.prepared.lock_shown
                    )));
                }
                change.files.push(ChangedFile {
                    path: path.clone(),
                    shown: job.prepared.lock_shown.clone(),
                    before: job.prepared.old_text.clone(),
                    after: locked.text.clone(),
                    is_manifest: false,
                });
            }
            change.lock = Some((at, locked));
        }
        all.push(change);
    }
    Ok(all)
}
