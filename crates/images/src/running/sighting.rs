//! Where a tag was seen to stand for which content.

use std::collections::{BTreeMap, BTreeSet};

use super::cluster::{Cluster, Node, Platform, Runtime};
use super::image_id::ImageId;
use super::known::{Child, DigestKind, Known};
use crate::{Digest, Reference};

/// One place where a tag stands for a content.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Sighting {
    /// The node; `None` for a pod that is on none.
    pub node: Option<String>,
    /// What says so.
    pub source: Source,
    /// What the tag stands for there.
    pub content: Content,
    /// What runs the node's containers.
    pub runtime: Option<Runtime>,
}

/// A content, as a node tells of it. With neither digests nor config it was built on the node.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Content {
    /// All its digests that the node ties together: of indexes and manifests.
    pub digests: BTreeSet<Digest>,
    /// The image's configuration, where the node names nothing else.
    pub config: Option<Digest>,
    /// The node's platform.
    pub platform: Option<Platform>,
}

/// What says what a tag stands for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Source {
    /// The node's list of images: what the next container with this tag gets.
    NodeImages,
    /// A pod's container: what it got when it started.
    Pod {
        /// Its namespace.
        namespace: String,
        /// Its name.
        name: String,
        /// The container.
        container: String,
    },
}

/// How two sightings of one tag stand to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Relation {
    /// The same content.
    Same,
    /// Two platforms of one index.
    Platforms,
    /// Different contents.
    Different,
    /// Nobody can tell: a config beside a manifest whose config is not known, a digest of another platform's node.
    NotComparable,
}

/// All sightings, by tag. A reference with a digest says nothing of its tag, and is left out.
pub(super) fn sightings(cluster: &Cluster) -> BTreeMap<Reference, Vec<Sighting>> {
    let mut found: BTreeMap<Reference, Vec<Sighting>> = BTreeMap::new();
    let nodes: BTreeMap<&str, &Node> = cluster.nodes.iter().map(|node| (node.name.as_str(), node)).collect();
    for node in &cluster.nodes {
        for image in &node.images {
            for tag in image.tags.iter().filter(|tag| tag.digest.is_none()) {
                found.entry(tag.clone()).or_default().push(Sighting {
                    node: Some(node.name.clone()),
                    source: Source::NodeImages,
                    content: Content {
                        digests: image.digests.iter().cloned().collect(),
                        config: None,
                        platform: node.platform.clone(),
                    },
                    runtime: node.runtime.clone(),
                });
            }
        }
    }
    for pod in &cluster.pods {
        let node = pod.node.as_deref().and_then(|name| nodes.get(name).copied());
        for container in &pod.containers {
            let Some(asked) = container.asked().filter(|asked| asked.digest.is_none()) else { continue };
            let Some(digest) = container.id.digest() else { continue };
            let is_config = matches!(container.id, ImageId::Config(_));
            let tied = node.and_then(|node| node.content(digest)).map(|content| content.digests.clone());
            let own = (!is_config).then(|| digest.clone());
            found.entry(asked).or_default().push(Sighting {
                node: pod.node.clone(),
                source: Source::Pod {
                    namespace: pod.namespace.clone(),
                    name: pod.name.clone(),
                    container: container.name.clone(),
                },
                content: Content {
                    digests: own.into_iter().chain(tied.unwrap_or_default()).collect(),
                    config: is_config.then(|| digest.clone()),
                    platform: node.and_then(|node| node.platform.clone()),
                },
                runtime: node.and_then(|node| node.runtime.clone()).or_else(|| container.runtime.clone()),
            });
        }
    }
    for seen in found.values_mut() {
        seen.sort();
    }
    found
}

impl Content {
    /// Whether nothing is known of it: it was built on its node.
    pub(super) fn is_nameless(&self) -> bool {
        self.digests.is_empty() && self.config.is_none()
    }

    /// What the content is down to, on its platform: its config where that is known, else its manifest.
    fn exact(&self, known: &Known) -> Option<Digest> {
        if let Some(config) = &self.config {
            return Some(config.clone());
        }
        let own = self.digests.iter().filter(|digest| known.kind(digest) == DigestKind::Manifest);
        let fitting = self.digests.iter().flat_map(|index| {
            let children = known.children(index).unwrap_or_default().iter();
            children.filter(|child| self.platform.is_some() && child.platform == self.platform)
        });
        let manifest = own.chain(fitting.map(|child| &child.digest)).min()?;
        Some(known.config(manifest).unwrap_or(manifest).clone())
    }

    /// All digests of the same publication: with the indexes that its manifests are in, and what these hold.
    fn publication<'a>(&'a self, known: &'a Known) -> BTreeSet<&'a Digest> {
        let from_config = self.config.iter().flat_map(|config| known.manifests(config));
        let mut all: BTreeSet<&Digest> = self.digests.iter().chain(from_config).collect();
        let parents: Vec<&Digest> = all.iter().flat_map(|digest| known.parents(digest)).collect();
        all.extend(parents);
        let children = |index: &&'a Digest| known.children(index).unwrap_or_default();
        let inside: Vec<&Digest> = all.iter().flat_map(children).map(|child| &child.digest).collect();
        all.extend(inside);
        all
    }

    /// Whether somebody told what its digests are of.
    fn is_known(&self, known: &Known) -> bool {
        let is_known = |digest: &Digest| known.kind(digest) != DigestKind::Unknown;
        self.config.iter().chain(&self.digests).any(is_known)
    }

    /// The configs that it may have, on its platform if that is known; `None` where one of them isn't known.
    fn configs<'a>(&'a self, known: &'a Known) -> Option<BTreeSet<&'a Digest>> {
        let mut configs: BTreeSet<&Digest> = self.config.iter().collect();
        for digest in &self.digests {
            let Some(children) = known.children(digest) else {
                configs.insert(known.config(digest)?);
                continue;
            };
            let fits = |child: &&Child| {
                self.platform.is_none() || child.platform.is_none() || child.platform == self.platform
            };
            for child in children.iter().filter(fits) {
                configs.insert(known.config(&child.digest)?);
            }
        }
        Some(configs)
    }

    /// How two contents stand to each other. `shares_node`: whether both are on one node.
    pub(super) fn relation(&self, other: &Self, shares_node: bool, known: &Known) -> Relation {
        let is_other_platform = match (&self.platform, &other.platform) {
            (Some(one), Some(other)) => one != other,
            _ => false,
        };
        let tied = if is_other_platform { Relation::Platforms } else { Relation::Same };
        let shares_config = self.config.is_some() && self.config == other.config;
        if shares_config || !self.digests.is_disjoint(&other.digests) {
            return tied;
        }
        if self.is_nameless() || other.is_nameless() {
            // What else its node says of the tag is of the same image, as far as can be seen.
            return if shares_node { Relation::Same } else { Relation::NotComparable };
        }
        let is_one_publication = !self.publication(known).is_disjoint(&other.publication(known));
        match (self.exact(known), other.exact(known)) {
            (Some(one), Some(other)) if one == other => return Relation::Same,
            (Some(_), Some(_)) if is_one_publication => return Relation::Platforms,
            _ if is_one_publication => return tied,
            _ => {}
        }
        if self.config.is_some() != other.config.is_some() {
            return match (self.configs(known), other.configs(known)) {
                (Some(one), Some(other)) if one.is_disjoint(&other) => Relation::Different,
                (Some(_), Some(_)) => Relation::Same,
                _ => Relation::NotComparable,
            };
        }
        if is_other_platform && !(self.is_known(known) && other.is_known(known)) {
            return Relation::NotComparable;
        }
        Relation::Different
    }
}
