//! Fetching ahead: what a requirement will likely lead to is asked for before the solver gets there. A guess that
//! is wrong costs a request and nothing else; the solver never waits for a scout.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};

use reana_index::{Client, MetadataAnswer};
use reana_model::{
    DistFile, ExtraName, Listing, PackageName, Requirement, Tags, Target, Version, VersionSpecifiers,
};

/// The most requirements that are followed in one run.
const MOST_FOLLOWED: usize = 20_000;

/// Scouts over a client.
pub(crate) struct Scouts {
    ground: Arc<Ground>,
}

/// The versions that old locks pin: they will likely be kept.
pub(crate) type Kept = BTreeMap<PackageName, BTreeSet<Version>>;

/// What scouts share.
struct Ground {
    client: Arc<Client>,
    kept: Kept,
    seen: Mutex<HashSet<Order>>,
    tags: Mutex<Vec<(Target, Arc<Tags>)>>,
}

impl Ground {
    /// A target's wheel tags, made once.
    fn tags(&self, target: &Target) -> Arc<Tags> {
        let mut known = self.tags.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, tags)) = known.iter().find(|(of, _)| of == target) {
            return Arc::clone(tags);
        }
        let tags = Arc::new(target.tags());
        known.push((*target, Arc::clone(&tags)));
        tags
    }
}

/// One requirement to follow.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Order {
    name: PackageName,
    extras: Vec<ExtraName>,
    specifiers: VersionSpecifiers,
    target: Target,
}

impl Scouts {
    /// Scouts over a client; they end with it.
    pub(crate) fn new(client: Arc<Client>, kept: Kept) -> Self {
        Self { ground: Arc::new(Ground { client, kept, seen: Mutex::default(), tags: Mutex::default() }) }
    }

    /// Follows a requirement; returns at once.
    pub(crate) fn follow(&self, requirement: &Requirement, target: &Target) {
        order(requirement, target, &self.ground);
    }
}

fn order(requirement: &Requirement, target: &Target, ground: &Arc<Ground>) {
    let Some(specifiers) = requirement.specifiers() else { return };
    let order = Order {
        name: requirement.name.clone(),
        extras: requirement.extras.clone(),
        specifiers: specifiers.clone(),
        target: *target,
    };
    let is_new = {
        let mut seen = ground.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.len() < MOST_FOLLOWED && seen.insert(order.clone())
    };
    if is_new {
        ground.client.beside(follow(order, Arc::clone(ground)));
    }
}

/// Follows an order, and orders what comes of it.
fn follow(next: Order, ground: Arc<Ground>) -> Pin<Box<dyn Future<Output = ()> + Send>> {
    Box::pin(async move {
        for requirement in needs(&next, &ground).await.unwrap_or_default() {
            order(&requirement, &next.target, &ground);
        }
    })
}

/// What the likely version of an order's package requires. Failures are for the solver to meet, if it ever gets there.
async fn needs(order: &Order, ground: &Ground) -> Option<Vec<Requirement>> {
    let listing = ground.client.listing_later(&order.name).await.ok()?;
    let kept = ground.kept.get(&order.name);
    let tags = ground.tags(&order.target);
    let file = likely(listing.as_ref(), kept, &order.specifiers, (&tags, &order.target))?;
    let answer = ground.client.metadata_later(&order.name, file, &order.target).await.ok()?;
    let MetadataAnswer::Known(metadata) = answer else { return None };
    let environment = order.target.marker_environment();
    let applies = |requirement: &&Requirement| requirement.marker.evaluate(&environment, &order.extras);
    Some(metadata.requires_dist.iter().filter(applies).cloned().collect())
}

/// The file that a solver would likely take: of the version that is kept, else of the newest one that is accepted
/// and has one.
fn likely<'l>(
    listing: &'l dyn Listing,
    kept: Option<&BTreeSet<Version>>,
    specifiers: &VersionSpecifiers,
    (tags, target): (&Tags, &Target),
) -> Option<&'l DistFile> {
    let python = target.python.version();
    let names_prerelease = specifiers.iter().any(|specifier| specifier.version().any_prerelease());
    let find = |is_wanted: &dyn Fn(&Version) -> bool| {
        let versions = listing.versions().iter().enumerate().rev();
        let mut wanted = versions.filter(|(_, version)| is_wanted(version) && specifiers.contains(version));
        wanted.find_map(|(index, _)| best(listing.files(index), tags, &python))
    };
    if let Some(file) = kept.and_then(|kept| find(&|version| kept.contains(version))) {
        return Some(file);
    }
    if names_prerelease {
        return find(&|_| true);
    }
    find(&|version| !version.any_prerelease()).or_else(|| find(&Version::any_prerelease))
}

fn best<'f>(files: &'f [Arc<DistFile>], tags: &Tags, python: &Version) -> Option<&'f DistFile> {
    let usable = files.iter().filter(|file| {
        !file.yanked.is_yanked()
            && file.requires_python.as_ref().is_none_or(|requires| requires.contains(python))
    });
    let ranked = usable.filter_map(|file| match file.name.wheel() {
        Some(wheel) => tags.rank(wheel).map(|rank| (rank, file)),
        None => Some((u32::MAX, file)),
    });
    ranked.min_by_key(|(rank, _)| *rank).map(|(_, file)| file.as_ref())
}
