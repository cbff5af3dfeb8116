//! Reads what `kubectl get -o json` prints: lists of pods, of nodes, of both, or single ones; several documents one
//! after the other, too. What is not about images is not looked at.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::cluster::{Cluster, Container, Node, NodeImage, Platform, Pod, Role, Runtime, State};
use super::image_id::ImageId;
use crate::{Digest, Reference};

/// Lists in lists are followed so deep.
const DEPTH: usize = 4;

/// Why a text says nothing of a cluster.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReadError {
    /// It is no JSON, or a pod or a node in it is not as Kubernetes has them.
    #[error("line {line}, column {column}: {what}")]
    Json {
        /// From 1; of the whole text, or of the object that `what` names.
        line: usize,
        /// From 1.
        column: usize,
        /// What is wrong.
        what: String,
    },
    /// Nothing is in it.
    #[error("it is empty")]
    Empty,
    /// It is a failure that Kubernetes reports.
    #[error("Kubernetes says: {0}")]
    Failure(String),
    /// It is JSON, and no object or list of Kubernetes.
    #[error("it has no `kind`: no answer of Kubernetes")]
    Kind,
    /// It is a table, as `kubectl get` shows it to people.
    #[error("it is a table, without what is needed")]
    Table,
    /// Lists are in lists, again and again.
    #[error("its lists are nested too deep")]
    Depth,
}

#[derive(Deserialize)]
#[serde(expecting = "an object of Kubernetes")]
struct Head<'a> {
    kind: Option<String>,
    #[serde(borrow)]
    items: Option<Vec<&'a RawValue>>,
    message: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Metadata {
    name: Option<String>,
    namespace: Option<String>,
    labels: Option<BTreeMap<String, Option<String>>>,
    owner_references: Option<Vec<Owner>>,
}

#[derive(Deserialize)]
struct Owner {
    kind: Option<String>,
    name: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct PodObject {
    metadata: Option<Metadata>,
    spec: Option<PodSpec>,
    status: Option<PodStatus>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct PodSpec {
    node_name: Option<String>,
    containers: Option<Vec<ContainerSpec>>,
    init_containers: Option<Vec<ContainerSpec>>,
    ephemeral_containers: Option<Vec<ContainerSpec>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ContainerSpec {
    name: Option<String>,
    image: Option<String>,
    restart_policy: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct PodStatus {
    phase: Option<String>,
    container_statuses: Option<Vec<ContainerStatus>>,
    init_container_statuses: Option<Vec<ContainerStatus>>,
    ephemeral_container_statuses: Option<Vec<ContainerStatus>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ContainerStatus {
    name: Option<String>,
    image: Option<String>,
    #[serde(rename = "imageID")]
    image_id: Option<String>,
    #[serde(rename = "containerID")]
    container_id: Option<String>,
    state: Option<ContainerState>,
}

#[derive(Deserialize)]
struct ContainerState {
    running: Option<serde::de::IgnoredAny>,
    waiting: Option<Reason>,
    terminated: Option<Reason>,
}

#[derive(Deserialize)]
struct Reason {
    reason: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct NodeObject {
    metadata: Option<Metadata>,
    status: Option<NodeStatus>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct NodeStatus {
    images: Option<Vec<ImageNames>>,
    node_info: Option<NodeInfo>,
}

#[derive(Deserialize)]
struct ImageNames {
    names: Option<Vec<String>>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct NodeInfo {
    container_runtime_version: Option<String>,
    operating_system: Option<String>,
    architecture: Option<String>,
}

impl Cluster {
    /// Adds what a text says.
    ///
    /// # Errors
    /// When it is no answer of Kubernetes, or a pod or a node in it is none.
    pub fn read(&mut self, text: &[u8]) -> Result<(), ReadError> {
        let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
        let mut is_empty = true;
        for document in serde_json::Deserializer::from_slice(text).into_iter::<&RawValue>() {
            is_empty = false;
            self.add(document.map_err(|error| json_error(&error, None))?, None, DEPTH)?;
        }
        if is_empty { Err(ReadError::Empty) } else { Ok(()) }
    }

    /// Adds an object, which is of this kind where it doesn't say its own (items of a `PodList` don't).
    fn add(&mut self, object: &RawValue, kind: Option<&str>, depth: usize) -> Result<(), ReadError> {
        let head: Head<'_> = serde_json::from_str(object.get()).map_err(|error| json_error(&error, kind))?;
        let own = head.kind.or_else(|| kind.map(str::to_owned)).ok_or(ReadError::Kind)?;
        match (own.as_str(), head.items) {
            ("Pod", _) => self.pods.push(parse::<PodObject>(object, &own)?.into()),
            ("Node", _) => self.nodes.push(parse::<NodeObject>(object, &own)?.into()),
            ("Status", _) => return Err(ReadError::Failure(head.message.unwrap_or_default())),
            ("Table", _) => return Err(ReadError::Table),
            (list, Some(items)) if list.ends_with("List") => {
                let depth = depth.checked_sub(1).ok_or(ReadError::Depth)?;
                let kind = list.strip_suffix("List").filter(|kind| !kind.is_empty());
                items.into_iter().try_for_each(|item| self.add(item, kind, depth))?;
            }
            // An empty list of Go is `null`.
            (list, None) if list.ends_with("List") => {}
            _ => *self.passed_over.entry(own).or_default() += 1,
        }
        Ok(())
    }
}

fn parse<'a, T: Deserialize<'a>>(object: &'a RawValue, kind: &str) -> Result<T, ReadError> {
    serde_json::from_str(object.get()).map_err(|error| json_error(&error, Some(kind)))
}

fn json_error(error: &serde_json::Error, kind: Option<&str>) -> ReadError {
    let text = error.to_string();
    let what = text.split(" at line ").next().unwrap_or(&text);
    let what = kind.map_or_else(|| what.to_owned(), |kind| format!("of a {kind}: {what}"));
    ReadError::Json { line: error.line(), column: error.column(), what }
}

impl From<PodObject> for Pod {
    fn from(object: PodObject) -> Self {
        let metadata = object.metadata.unwrap_or_default();
        let spec = object.spec.unwrap_or_default();
        let status = object.status.unwrap_or_default();
        let labels = metadata.labels.unwrap_or_default().into_iter();
        let owners = metadata.owner_references.unwrap_or_default();
        let job = owners.into_iter().find(|owner| owner.kind.as_deref() == Some("Job"));
        let mut containers = Vec::new();
        let init = |spec: &ContainerSpec| match spec.restart_policy.as_deref() {
            Some("Always") => Role::Sidecar,
            _ => Role::Init,
        };
        join(&mut containers, spec.init_containers, status.init_container_statuses, init);
        join(&mut containers, spec.containers, status.container_statuses, |_| Role::Main);
        join(&mut containers, spec.ephemeral_containers, status.ephemeral_container_statuses, |_| {
            Role::Ephemeral
        });
        Self {
            namespace: metadata.namespace.unwrap_or_default(),
            name: metadata.name.unwrap_or_default(),
            labels: labels.map(|(name, value)| (name, value.unwrap_or_default())).collect(),
            owner_job: job.and_then(|owner| owner.name),
            node: spec.node_name.filter(|name| !name.is_empty()),
            phase: status.phase,
            containers,
        }
    }
}

/// Containers of the spec with their statuses, by name. A status without a spec is passed over: what it was asked
/// for is not known.
fn join(
    containers: &mut Vec<Container>,
    specs: Option<Vec<ContainerSpec>>,
    statuses: Option<Vec<ContainerStatus>>,
    role: impl Fn(&ContainerSpec) -> Role,
) {
    let mut statuses: BTreeMap<String, ContainerStatus> = statuses
        .unwrap_or_default()
        .into_iter()
        .filter_map(|status| Some((status.name.clone()?, status)))
        .collect();
    for spec in specs.unwrap_or_default() {
        let role = role(&spec);
        let name = spec.name.unwrap_or_default();
        let status = statuses.remove(&name);
        let (image_id, container_id, shown, state) = match status {
            Some(status) => (status.image_id, status.container_id, status.image, status.state),
            None => (None, None, None, None),
        };
        let id_text = image_id.unwrap_or_default();
        containers.push(Container {
            name,
            role,
            // Kubernetes lets an image be left out where something fills it in later; then the node's word is all.
            image: spec.image.filter(|image| !image.is_empty()).or(shown).unwrap_or_default(),
            id: ImageId::read(&id_text),
            id_text,
            state: state.map_or(State::Unknown, State::from),
            runtime: container_id.as_deref().and_then(Runtime::read),
        });
    }
}

impl From<ContainerState> for State {
    fn from(state: ContainerState) -> Self {
        match state {
            ContainerState { running: Some(_), .. } => Self::Running,
            ContainerState { terminated: Some(Reason { reason }), .. } => Self::Terminated(reason),
            ContainerState { waiting: Some(Reason { reason }), .. } => Self::Waiting(reason),
            _ => Self::Unknown,
        }
    }
}

impl From<NodeObject> for Node {
    fn from(object: NodeObject) -> Self {
        let metadata = object.metadata.unwrap_or_default();
        let status = object.status.unwrap_or_default();
        let info = status.node_info.unwrap_or_default();
        let labels = metadata.labels.unwrap_or_default();
        let fact = |said: Option<String>, label: &str| {
            let labelled = || labels.get(label).cloned().flatten();
            said.filter(|text| !text.is_empty()).or_else(labelled)
        };
        let platform =
            (fact(info.operating_system, "kubernetes.io/os"), fact(info.architecture, "kubernetes.io/arch"));
        let platform = match platform {
            (Some(os), Some(architecture)) => Some(Platform { os, architecture }),
            _ => None,
        };
        let images = status.images.unwrap_or_default().into_iter();
        Self {
            name: metadata.name.unwrap_or_default(),
            platform,
            runtime: info.container_runtime_version.as_deref().and_then(Runtime::read),
            images: images.map(|image| image.names.unwrap_or_default().into()).collect(),
        }
    }
}

impl From<Vec<String>> for NodeImage {
    /// Names that are none (`<none>@<none>`) are passed over.
    fn from(names: Vec<String>) -> Self {
        let mut image = Self::default();
        for name in names {
            let digest = name.rsplit_once('@').and_then(|(_, digest)| digest.parse::<Digest>().ok());
            match (digest, name.parse::<Reference>()) {
                (Some(digest), _) => image.digests.push(digest),
                (None, Ok(tag)) if tag.tag.is_some() => image.tags.push(tag),
                _ => {}
            }
        }
        image
    }
}
