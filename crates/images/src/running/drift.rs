//! Tags that stand for different content on different nodes, and which content the registry has now.

use std::collections::{BTreeMap, BTreeSet};

use super::cluster::Cluster;
use super::known::Known;
use super::sighting::{Content, Relation, Sighting, Source, sightings};
use crate::{Digest, Reference};

/// What a registry says that a tag stands for now.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Now {
    /// Nobody asked.
    #[default]
    NotAsked,
    /// This content.
    Digest(Digest),
    /// It doesn't have the tag.
    Absent,
    /// It gave no answer, and why: never the same as not having it.
    NoAnswer(String),
}

/// What is found of a tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum DriftVerdict {
    /// One content everywhere.
    Same,
    /// One index, and nodes of several platforms.
    Platforms,
    /// Contents that can't be compared.
    Unknown,
    /// One content everywhere, and the registry has another one.
    Moved,
    /// Different contents.
    Drift,
}

impl DriftVerdict {
    /// The word for it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Same => "same",
            Self::Platforms => "platforms",
            Self::Unknown => "unknown",
            Self::Moved => "moved",
            Self::Drift => "drift",
        }
    }
}

/// The sightings of one content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// Where it was seen.
    pub sightings: Vec<Sighting>,
    /// Whether it is what the registry has now; `None` where that can't be told.
    pub is_current: Option<bool>,
}

impl Group {
    /// All its digests, of indexes and manifests.
    #[must_use]
    pub fn digests(&self) -> BTreeSet<&Digest> {
        self.sightings.iter().flat_map(|sighting| &sighting.content.digests).collect()
    }

    /// Its configs, where nodes name nothing else.
    #[must_use]
    pub fn configs(&self) -> BTreeSet<&Digest> {
        self.sightings.iter().filter_map(|sighting| sighting.content.config.as_ref()).collect()
    }

    /// The nodes that it was seen on.
    #[must_use]
    pub fn nodes(&self) -> BTreeSet<&str> {
        self.sightings.iter().filter_map(|sighting| sighting.node.as_deref()).collect()
    }
}

/// What to do where a tag stands for an old content.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Remedy {
    /// Remove the image from the node, so that it is pulled anew.
    Remove {
        /// The node.
        node: String,
        /// The command, to be run on the node; `None` where the node's runtime is not known.
        command: Option<String>,
    },
    /// Start a pod anew: its node has other content under the tag already.
    Restart {
        /// The pod's namespace.
        namespace: String,
        /// Its name.
        name: String,
    },
}

/// What is found of one tag.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TagDrift {
    /// The tag.
    pub image: Reference,
    /// What is found.
    pub verdict: DriftVerdict,
    /// What the registry has.
    pub now: Now,
    /// Its contents, in the order of their digests.
    pub groups: Vec<Group>,
    /// What to do about stale content, in order of nodes and pods.
    pub remedies: Vec<Remedy>,
}

/// What is found of all tags, in their order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DriftReport {
    /// The tags.
    pub tags: Vec<TagDrift>,
}

impl DriftReport {
    /// The worst that was found.
    #[must_use]
    pub fn worst(&self) -> DriftVerdict {
        self.tags.iter().map(|tag| tag.verdict).max().unwrap_or(DriftVerdict::Same)
    }

    /// Why a registry gave no answer, for the tags where it did not.
    pub fn unanswered(&self) -> impl Iterator<Item = (&Reference, &str)> {
        self.tags.iter().filter_map(|tag| match &tag.now {
            Now::NoAnswer(why) => Some((&tag.image, why.as_str())),
            Now::NotAsked | Now::Digest(_) | Now::Absent => None,
        })
    }
}

/// A tag that a registry should be asked about, with the digests that are worth a look there: an index or a manifest
/// tells what belongs together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    /// The tag.
    pub image: Reference,
    /// The digests that nodes have under it.
    pub digests: Vec<Digest>,
}

/// The tags that a registry should be asked about, the most urgent first: those that nodes disagree about, then those
/// that a pod runs. What merely lies on nodes, the same everywhere, is nobody's question.
#[must_use]
pub fn questions(cluster: &Cluster) -> Vec<Question> {
    let nothing = Known::default();
    let mut questions: Vec<(bool, Question)> = Vec::new();
    for (image, seen) in sightings(cluster) {
        let is_run = seen.iter().any(|sighting| sighting.source != Source::NodeImages);
        let (groups, _) = groups(&seen, &nothing);
        let differs = groups.len() > 1;
        if is_run || differs {
            let digests: BTreeSet<&Digest> = groups.iter().flat_map(Group::digests).collect();
            questions.push((!differs, Question { image, digests: digests.into_iter().cloned().collect() }));
        }
    }
    questions.sort_by_key(|(is_calm, _)| *is_calm);
    questions.into_iter().map(|(_, question)| question).collect()
}

/// Judges all tags by what is known of digests, and by what registries have now.
#[must_use]
pub fn judge(cluster: &Cluster, known: &Known, now: &BTreeMap<Reference, Now>) -> DriftReport {
    let tags = sightings(cluster).into_iter().map(|(image, seen)| {
        let now = now.get(&image).cloned().unwrap_or_default();
        tag_drift(image, &seen, known, now)
    });
    DriftReport { tags: tags.collect() }
}

fn tag_drift(image: Reference, seen: &[Sighting], known: &Known, now: Now) -> TagDrift {
    let (mut groups, mut verdict) = groups(seen, known);
    if let Now::Digest(digest) = &now {
        for group in &mut groups {
            group.is_current = is_current(group, digest, known);
        }
    }
    if let [only] = groups.as_slice()
        && only.is_current == Some(false)
    {
        verdict = DriftVerdict::Moved;
    }
    let remedies = remedies(&image, &groups);
    TagDrift { image, verdict, now, groups, remedies }
}

/// What is alike for many sightings (a thousand jobs of one image), compared once.
struct Class {
    content: Content,
    nodes: BTreeSet<Option<String>>,
    sightings: Vec<Sighting>,
}

impl Class {
    fn relation(&self, other: &Self, known: &Known) -> Relation {
        let shares_node = self.nodes.iter().any(|node| node.is_some() && other.nodes.contains(node));
        self.content.relation(&other.content, shares_node, known)
    }
}

fn classes(seen: &[Sighting]) -> Vec<Class> {
    let mut classes: BTreeMap<(Content, Option<String>), Class> = BTreeMap::new();
    for sighting in seen {
        // Two images without a name, on two nodes, may be anything.
        let place = sighting.node.clone().filter(|_| sighting.content.is_nameless());
        let class = classes.entry((sighting.content.clone(), place)).or_insert_with(|| Class {
            content: sighting.content.clone(),
            nodes: BTreeSet::new(),
            sightings: Vec::new(),
        });
        class.nodes.insert(sighting.node.clone());
        class.sightings.push(sighting.clone());
    }
    classes.into_values().collect()
}

/// Sightings of one content together, and what that comes to. A content that is tied to several groups joins them,
/// so that the order of sightings decides nothing.
fn groups(seen: &[Sighting], known: &Known) -> (Vec<Group>, DriftVerdict) {
    let is_tied = |relation: Relation| matches!(relation, Relation::Same | Relation::Platforms);
    let mut groups: Vec<Vec<Class>> = Vec::new();
    let mut verdict = DriftVerdict::Same;
    for class in classes(seen) {
        let belongs = |group: &Vec<Class>| group.iter().any(|other| is_tied(class.relation(other, known)));
        let (joined, apart): (Vec<_>, Vec<_>) = groups.into_iter().partition(belongs);
        groups = apart;
        let mut group: Vec<Class> = joined.into_iter().flatten().collect();
        if group.iter().any(|other| class.relation(other, known) == Relation::Platforms) {
            verdict = DriftVerdict::Platforms;
        }
        group.push(class);
        groups.push(group);
    }
    for (at, group) in groups.iter().enumerate() {
        for other in groups.iter().skip(at + 1) {
            let is_different =
                |one: &Class| other.iter().any(|two| one.relation(two, known) == Relation::Different);
            let found =
                if group.iter().any(is_different) { DriftVerdict::Drift } else { DriftVerdict::Unknown };
            verdict = verdict.max(found);
        }
    }
    let mut groups: Vec<Group> = groups.into_iter().map(Group::of).collect();
    groups.sort_by(|one, other| {
        let digest = |group: &Group| group.digests().into_iter().next().cloned();
        (digest(one), &one.sightings).cmp(&(digest(other), &other.sightings))
    });
    (groups, verdict)
}

impl Group {
    fn of(classes: Vec<Class>) -> Self {
        let mut sightings: Vec<Sighting> = classes.into_iter().flat_map(|class| class.sightings).collect();
        sightings.sort();
        Self { sightings, is_current: None }
    }
}

/// Whether a group is what the registry has: it shares a digest, or a manifest ties them.
fn is_current(group: &Group, now: &Digest, known: &Known) -> Option<bool> {
    let mut answer = Some(false);
    for content in group.sightings.iter().map(|sighting| &sighting.content).collect::<BTreeSet<_>>() {
        // What the registry has is for the content's platform, whichever that is.
        let there = Content { digests: BTreeSet::from([now.clone()]), config: None, ..content.clone() };
        match content.relation(&there, false, known) {
            Relation::Same | Relation::Platforms => return Some(true),
            Relation::NotComparable => answer = None,
            Relation::Different => {}
        }
    }
    answer
}

/// What to do about groups that are not what the registry has.
fn remedies(image: &Reference, groups: &[Group]) -> Vec<Remedy> {
    let is_stale = |group: &&Group| group.is_current == Some(false);
    // Nodes that have something else under the tag by now, though a pod still runs the stale content.
    let moved_on: BTreeSet<&str> = groups
        .iter()
        .filter(|group| !is_stale(group))
        .flat_map(|group| &group.sightings)
        .filter(|sighting| sighting.source == Source::NodeImages)
        .filter_map(|sighting| sighting.node.as_deref())
        .collect();
    let mut remedies = BTreeSet::new();
    for sighting in groups.iter().filter(is_stale).flat_map(|group| &group.sightings) {
        let Some(node) = &sighting.node else { continue };
        match &sighting.source {
            Source::Pod { namespace, name, .. } if moved_on.contains(node.as_str()) => {
                remedies.insert(Remedy::Restart { namespace: namespace.clone(), name: name.clone() });
            }
            Source::Pod { .. } | Source::NodeImages => {
                let command = sighting.runtime.as_ref().map(|runtime| runtime.remove(image));
                remedies.insert(Remedy::Remove { node: node.clone(), command });
            }
        }
    }
    remedies.into_iter().collect()
}
