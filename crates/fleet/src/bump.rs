//! What a bump changes: which versions it may raise to, and the edits of all manifests.

use reana_manifest::Files;
use reana_manifest::edit::{FileChange, Raise, Refusal, raise_project};
use reana_model::{Listing, Origin, PackageName, Target, Version};

use crate::Fleet;

/// One repository's files, as the plan reads them.
pub struct RepositoryFiles<'f> {
    /// The repository's name.
    pub name: String,
    /// Its folder, as messages call it.
    pub shown: String,
    /// Its files.
    pub files: &'f dyn Files,
    /// The target that its manifests are read for.
    pub target: Target,
    /// Requirements files that are its manifests, besides requirements.in.
    pub sources: Vec<String>,
}

/// The manifests that change, by repository; those without a change are left out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BumpPlan {
    /// Repositories and their changed files, in the given order.
    pub repositories: Vec<(String, Vec<FileChange>)>,
}

/// A version that not all can take, and whose line is in the way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Held {
    /// The package.
    pub package: PackageName,
    /// The version.
    pub version: Version,
    /// The repository that can't take it.
    pub repository: String,
    /// The lines in the way, with what they say; empty where none is to blame alone.
    pub lines: Vec<(Origin, String)>,
    /// The whole explanation.
    pub why: String,
}

/// Raises packages in all repositories: every edit, or every reason why not.
///
/// # Errors
/// All bounds that can't be raised, of all repositories.
pub fn plan(repositories: &[RepositoryFiles<'_>], raises: &[Raise]) -> Result<BumpPlan, Vec<Refusal>> {
    let mut plan = BumpPlan::default();
    let mut refusals = Vec::new();
    for repository in repositories {
        let RepositoryFiles { name, shown, files, target, sources } = repository;
        match raise_project(*files, shown, target, sources, raises) {
            Ok(changes) if changes.is_empty() => {}
            Ok(changes) => plan.repositories.push((name.clone(), changes)),
            Err(more) => refusals.extend(more),
        }
    }
    if refusals.is_empty() { Ok(plan) } else { Err(refusals) }
}

/// Whether a present bound of a package names a pre-release, so that pre-releases are considered.
pub fn names_prerelease(fleet: &Fleet, package: &PackageName) -> bool {
    let requirers = fleet.requirers(package);
    let mut requires = requirers.iter().flat_map(|(_, requires)| requires);
    requires.any(|it| {
        let specifiers = it.requirement.specifiers();
        specifiers.is_some_and(|all| all.iter().any(|specifier| specifier.version().any_prerelease()))
    })
}

/// The versions that a bump may raise to, newest first: not withdrawn, and pre-releases only where they are
/// considered (or where there is nothing else).
pub fn candidates(listing: &dyn Listing, with_prereleases: bool) -> Vec<Version> {
    let is_offered = |index: &usize| {
        let files = listing.files(*index);
        !files.is_empty() && !files.iter().all(|file| file.yanked.is_yanked())
    };
    let count = listing.versions().len();
    let offered: Vec<Version> =
        (0..count).filter(is_offered).filter_map(|index| listing.versions().get(index).cloned()).collect();
    let finals = offered.iter().any(|version| !version.any_prerelease());
    let taken = offered
        .into_iter()
        .filter(|version| !version.is_local() && (with_prereleases || !finals || !version.any_prerelease()));
    taken.rev().collect()
}
