//! From the versions decided to what a lock needs to know of each, and what the user should be told.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use pubgrub::Ranges;
use reana_model::{DistFile, ExtraName, Grade, MarkerTree, PackageName, Source, Version};

use crate::error::SolveError;
use crate::node::{Demand, Node};
use crate::provider::Provider;
use crate::ranges::{self, Point};
use crate::resolution::{Chosen, DirectChoice, Note, Reason, RequiredBy, Solved};
use crate::search;
use crate::solve::{Decided, Outcome, error};
use crate::world::{Facts, Halt};

/// What decided nodes require, by whom they require it.
type Incoming = BTreeMap<PackageName, Vec<(Node, Point, std::rc::Rc<Demand>)>>;

/// Reads one target's solution.
pub(crate) fn collect(outcome: &Outcome<'_, '_>, notes: &mut BTreeSet<Note>) -> Result<Solved, SolveError> {
    let provider = &outcome.provider;
    read(provider, &outcome.decided, notes).map_err(|halt| error(provider, halt))
}

fn read(provider: &Provider<'_, '_>, decided: &Decided, notes: &mut BTreeSet<Note>) -> Result<Solved, Halt> {
    let incoming = incoming(provider, decided)?;
    let mut packages = BTreeMap::new();
    for ((name, extras), at) in decided {
        if !extras.is_empty() {
            continue;
        }
        let asked: BTreeSet<ExtraName> = decided
            .range((name.clone(), Vec::new())..)
            .take_while(|((other, _), _)| other == name)
            .flat_map(|((_, extras), _)| extras.iter().cloned())
            .collect();
        let demands = incoming.get(name).map_or(&[][..], Vec::as_slice);
        let chosen = choose(provider, name, at, asked, demands)?;
        note(provider, name, &chosen, demands, notes)?;
        packages.insert(name.clone(), chosen);
    }
    Ok(Solved { target: provider.world.target, packages })
}

fn incoming(provider: &Provider<'_, '_>, decided: &Decided) -> Result<Incoming, Halt> {
    let mut incoming = Incoming::new();
    let root = (Node::Root, Provider::root_version());
    let nodes = decided.iter().map(|((name, extras), at)| (Node::of(name, extras), at.clone()));
    for (node, at) in std::iter::once(root).chain(nodes) {
        for demand in provider.demands(&node, &at)?.iter() {
            if let Some(name) = demand.node.name() {
                incoming.entry(name.clone()).or_default().push((node.clone(), at.clone(), demand.clone()));
            }
        }
    }
    Ok(incoming)
}

type Demands<'d> = &'d [(Node, Point, std::rc::Rc<Demand>)];

fn choose(
    provider: &Provider<'_, '_>,
    name: &PackageName,
    at: &Point,
    extras: BTreeSet<ExtraName>,
    demands: Demands<'_>,
) -> Result<Chosen, Halt> {
    let mut wanted_by: Vec<Reason> =
        demands.iter().filter_map(|(by, at, demand)| search::reason(by, at, demand)).collect();
    wanted_by.extend(provider.world.limits(name).iter().map(|limit| Reason {
        by: RequiredBy::Constraint(limit.requirement.origin.clone()),
        text: limit.requirement.text.clone(),
    }));
    wanted_by.sort();
    wanted_by.dedup();
    let mut chosen = Chosen {
        version: at.version().clone(),
        extras,
        direct: None,
        arbitrary: arbitrary(demands),
        file: None,
        usable: Vec::new(),
        files: Vec::new(),
        grade: Grade::Wheel,
        wanted_by,
        yanked: None,
        marker: marker(demands),
    };
    let place = provider.learned.borrow().places.get(name).cloned();
    if let Some(direct) = place {
        let answer = provider.world.direct(&direct, name)?;
        chosen.grade = answer.metadata.grade;
        chosen.direct = Some(DirectChoice { direct, sha256: answer.sha256 });
        return Ok(chosen);
    }
    choose_files(provider, name, &mut chosen)?;
    Ok(chosen)
}

fn choose_files(provider: &Provider<'_, '_>, name: &PackageName, chosen: &mut Chosen) -> Result<(), Halt> {
    let candidates = provider.world.candidates(name)?;
    let Some(position) = candidates.position(&chosen.version) else { return Ok(()) };
    let files = candidates.files(position);
    let usable = candidates.usable(position, name, &provider.world.rules());
    let usable_files = usable.map_or(&[][..], |usable| &usable.files);
    chosen.usable = usable_files.iter().filter_map(|&index| files.get(index).cloned()).collect();
    let all_yanked = files.iter().all(|file| file.yanked.is_yanked());
    let offered = |file: &&Arc<DistFile>| all_yanked || !file.yanked.is_yanked();
    chosen.files = files.iter().filter(offered).cloned().collect();
    if usable.is_some_and(|usable| usable.yanked) {
        // The files that are used are withdrawn, though others of the version are not.
        if !all_yanked {
            chosen.files = files.to_vec();
        }
        let reason = chosen.usable.first().and_then(|file| match &file.yanked {
            reana_model::Yanked::Yes(reason) => Some(reason.clone()),
            reana_model::Yanked::No => None,
        });
        chosen.yanked = Some(reason.unwrap_or_default());
    }
    if let Facts::Known { metadata, file } = provider.world.facts(name, &chosen.version)?.as_ref() {
        chosen.grade = metadata.grade;
        chosen.file = file.and_then(|index| files.get(index).cloned());
    }
    Ok(())
}

/// The text of `===`, where a direct requirement has it.
fn arbitrary(demands: Demands<'_>) -> Option<String> {
    let roots = demands.iter().filter(|(by, _, _)| *by == Node::Root);
    roots.filter_map(|(_, _, demand)| demand.requirement.as_ref()).find_map(|requirement| {
        let Source::Index(specifiers) = &requirement.source else { return None };
        let specifier = specifiers.iter().find(|specifier| ranges::is_arbitrary(specifier))?;
        Some(specifier.version().to_string())
    })
}

/// The markers of the user's own requirements, without extras; true where nothing of the user's names the
/// package. (What packages require was evaluated for the target; their markers are not kept.)
fn marker(demands: Demands<'_>) -> MarkerTree {
    let mut any = MarkerTree::FALSE;
    let mut is_root = false;
    for (by, _, demand) in demands {
        if let (Node::Root, Some(requirement)) = (by, &demand.requirement) {
            is_root = true;
            any.or(requirement.marker.clone().simplify_extras_with(|_| true));
        }
    }
    if is_root { any } else { MarkerTree::TRUE }
}

fn note(
    provider: &Provider<'_, '_>,
    name: &PackageName,
    chosen: &Chosen,
    demands: Demands<'_>,
    notes: &mut BTreeSet<Note>,
) -> Result<(), Halt> {
    let (name_of, version) = (|| name.clone(), &chosen.version);
    if let Some(reason) = &chosen.yanked {
        let note = Note::Yanked { name: name_of(), version: version.clone(), reason: reason.clone() };
        notes.insert(note);
    }
    note_extras(provider, name, chosen, notes)?;
    if let Some(choice) = &chosen.direct {
        for (by, at, demand) in demands {
            if let (Some(by), Some(_)) = (by.name(), demand.place()) {
                notes.insert(Note::UrlDependency {
                    name: name_of(),
                    url: choice.direct.url.clone(),
                    by: by.clone(),
                    version: at.version().clone(),
                });
            }
        }
        return Ok(());
    }
    let preferences = provider.world.preferences(name);
    let consents = demands.iter().any(|(_, _, demand)| demand.kinds.consents)
        || provider.world.limits(name).iter().any(|limit| limit.kinds.consents);
    if version.any_prerelease()
        && !consents
        && !provider.world.policy().prereleases
        && !preferences.contains(version)
    {
        notes.insert(Note::OnlyPrerelease { name: name_of(), version: version.clone() });
    }
    let own = provider.world.request.preferences.iter().filter(|preference| preference.name == *name);
    for preference in own.filter(|preference| preference.version != *version) {
        let why = why_dropped(provider, name, &preference.version, demands)?;
        notes.insert(Note::DroppedPreference { name: name_of(), old: preference.version.clone(), why });
    }
    if let Some(note) = passed_over(provider, name, chosen, demands)? {
        notes.insert(note);
    }
    Ok(())
}

fn note_extras(
    provider: &Provider<'_, '_>,
    name: &PackageName,
    chosen: &Chosen,
    notes: &mut BTreeSet<Note>,
) -> Result<(), Halt> {
    let place = provider.learned.borrow().places.get(name).cloned();
    let metadata = match place {
        Some(place) => Some(provider.world.direct(&place, name)?.metadata.clone()),
        None => match provider.world.facts(name, &chosen.version)?.as_ref() {
            Facts::Known { metadata, .. } => Some(metadata.clone()),
            Facts::Unavailable(_) | Facts::Unreadable { .. } => None,
        },
    };
    let Some(metadata) = metadata else { return Ok(()) };
    for extra in chosen.extras.iter().filter(|extra| !metadata.provides_extra.contains(extra)) {
        let (name, version, extra) = (name.clone(), chosen.version.clone(), extra.clone());
        notes.insert(Note::UnknownExtra { name, version, extra });
    }
    Ok(())
}

fn why_dropped(
    provider: &Provider<'_, '_>,
    name: &PackageName,
    old: &Version,
    demands: Demands<'_>,
) -> Result<String, Halt> {
    let candidates = provider.world.candidates(name)?;
    let Some(position) = candidates.position(old) else { return Ok("no index lists it".to_owned()) };
    let at = Point::on(old.clone());
    for limit in provider.world.limits(name) {
        if !limit.range.contains(&at) {
            return Ok(format!("{} allows only {}", limit.requirement.origin, limit.requirement.text));
        }
    }
    for (by, version, demand) in demands {
        if !demand.range.contains(&at)
            && let Some(reason) = search::reason(by, version, demand)
        {
            return Ok(format!("{} requires {}", reason.by, reason.text));
        }
    }
    let usable = candidates.usable(position, name, &provider.world.rules());
    if let Some(usable) = usable.filter(|usable| usable.files.is_empty()) {
        return Ok(format!("it {}", usable.lacks.words(&provider.world.target)));
    }
    Ok("what it requires can't be had beside the rest".to_owned())
}

/// The newest version that fits the requirements and is passed over for want of a file.
fn passed_over(
    provider: &Provider<'_, '_>,
    name: &PackageName,
    chosen: &Chosen,
    demands: Demands<'_>,
) -> Result<Option<Note>, Halt> {
    let all = demands
        .iter()
        .fold(Ranges::full(), |range: Ranges<Point>, (_, _, demand)| range.intersection(&demand.range));
    let range = provider.world.limited(name, &all);
    let candidates = provider.world.candidates(name)?;
    let rules = provider.world.rules();
    for (position, at) in candidates.points().iter().enumerate().rev() {
        if *at.version() <= chosen.version {
            break;
        }
        let hidden = at.version().any_prerelease() && !chosen.version.any_prerelease();
        if hidden || !range.contains(at) {
            continue;
        }
        let usable = candidates.usable(position, name, &rules);
        return Ok(usable.filter(|usable| usable.files.is_empty()).map(|usable| Note::NoUsableFile {
            name: name.clone(),
            version: at.version().clone(),
            target: provider.world.target,
            why: usable.lacks.words(&provider.world.target),
        }));
    }
    Ok(None)
}
