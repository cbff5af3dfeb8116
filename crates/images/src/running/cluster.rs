//! Pods and nodes, as far as images are concerned.

use std::collections::BTreeMap;
use std::fmt;

use super::image_id::ImageId;
use crate::{Digest, Reference};

/// What Kubernetes said of a cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cluster {
    /// The pods, as they came.
    pub pods: Vec<Pod>,
    /// The nodes, as they came.
    pub nodes: Vec<Node>,
    /// Objects that are neither, by kind: how many were passed over.
    pub passed_over: BTreeMap<String, usize>,
}

/// A pod.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pod {
    /// `metadata.namespace`.
    pub namespace: String,
    /// `metadata.name`.
    pub name: String,
    /// `metadata.labels`.
    pub labels: BTreeMap<String, String>,
    /// The Job that owns it (`metadata.ownerReferences`), if one does.
    pub owner_job: Option<String>,
    /// `spec.nodeName`; empty while it waits for one.
    pub node: Option<String>,
    /// `status.phase`: `Pending`, `Running`, `Succeeded`, `Failed`, `Unknown`.
    pub phase: Option<String>,
    /// Its containers: init and sidecar ones, then the main ones, then ephemeral ones.
    pub containers: Vec<Container>,
}

/// A container of a pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Container {
    /// Its name.
    pub name: String,
    /// What it is for.
    pub role: Role,
    /// What was asked for: `image` in the pod's spec.
    pub image: String,
    /// What the node reports.
    pub id: ImageId,
    /// The node's text for that.
    pub id_text: String,
    /// How it stands.
    pub state: State,
    /// The runtime that runs it, as its `containerID` says.
    pub runtime: Option<Runtime>,
}

/// What a container is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    /// One of `containers`.
    Main,
    /// One of `initContainers` that ends before the main ones start.
    Init,
    /// One of `initContainers` that runs on (`restartPolicy: Always`).
    Sidecar,
    /// One of `ephemeralContainers`, added to look at a pod.
    Ephemeral,
}

impl Role {
    /// The word for it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Main => "main",
            Self::Init => "init",
            Self::Sidecar => "sidecar",
            Self::Ephemeral => "ephemeral",
        }
    }
}

/// How a container stands, with Kubernetes' reason where it gives one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum State {
    /// Nothing is said of it.
    #[default]
    Unknown,
    /// It waits: `ErrImagePull`, `PodInitializing`.
    Waiting(Option<String>),
    /// It runs.
    Running,
    /// It ended: `Completed`, `Error`.
    Terminated(Option<String>),
}

impl State {
    /// The word for it.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self {
            Self::Unknown => "unknown",
            Self::Waiting(_) => "waiting",
            Self::Running => "running",
            Self::Terminated(_) => "terminated",
        }
    }

    /// Kubernetes' reason.
    #[must_use]
    pub fn reason(&self) -> Option<&str> {
        match self {
            Self::Waiting(reason) | Self::Terminated(reason) => reason.as_deref(),
            Self::Unknown | Self::Running => None,
        }
    }
}

/// A program that runs containers, as far as removing images goes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Runtime {
    /// `containerd://`, `cri-o://` and others that speak the Container Runtime Interface.
    Cri(String),
    /// `docker://`.
    Docker,
}

impl Runtime {
    /// Of `containerd://1.6.20`, or of the `containerID` of a container.
    #[must_use]
    pub fn read(text: &str) -> Option<Self> {
        let (name, _) = text.split_once("://")?;
        match name {
            "" => None,
            "docker" => Some(Self::Docker),
            name => Some(Self::Cri(name.to_owned())),
        }
    }

    /// The command that removes an image on a node. The name is whole: not all runtimes add the same registry.
    #[must_use]
    pub fn remove(&self, image: &Reference) -> String {
        let program = match self {
            Self::Cri(_) => "crictl",
            Self::Docker => "docker",
        };
        let tag = image.tag.as_ref().map(|tag| format!(":{tag}")).unwrap_or_default();
        format!("{program} rmi {}/{}{tag}", image.registry, image.repository)
    }
}

/// A node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Node {
    /// `metadata.name`.
    pub name: String,
    /// What it runs.
    pub platform: Option<Platform>,
    /// What runs its containers.
    pub runtime: Option<Runtime>,
    /// The images on it, at most 50 unless the kubelet was told otherwise.
    pub images: Vec<NodeImage>,
}

/// An operating system and an architecture: `linux/amd64`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Platform {
    /// `linux`.
    pub os: String,
    /// As Go names it: `amd64`, `arm64`.
    pub architecture: String,
}

impl fmt::Display for Platform {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.os, self.architecture)
    }
}

/// One content on a node, with all its names there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodeImage {
    /// Its tags.
    pub tags: Vec<Reference>,
    /// Its digests: of an index, of manifests.
    pub digests: Vec<Digest>,
}

/// What a pod does for REANA.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Work {
    /// Which kind of pod it is.
    pub kind: WorkKind,
    /// The workflow's ID, where it is part of one.
    pub workflow: Option<String>,
    /// The ID of the job in the compute backend, for jobs.
    pub job: Option<String>,
}

/// Kinds of pods in a REANA deployment, by the labels that reana-job-controller and reana-workflow-controller set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum WorkKind {
    /// A job of a workflow.
    Job,
    /// A workflow's engine, with its job controller.
    Batch,
    /// An interactive session.
    Session,
    /// A Dask cluster of a workflow.
    Dask,
    /// Anything else: REANA's own services, other people's pods.
    Other,
}

impl WorkKind {
    /// The word for it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Job => "job",
            Self::Batch => "batch",
            Self::Session => "session",
            Self::Dask => "dask",
            Self::Other => "pod",
        }
    }
}

/// The labels with a workflow's ID, and whose they are.
const WORKFLOW_LABELS: [(&str, WorkKind); 4] = [
    ("reana-run-job-workflow-uuid", WorkKind::Job),
    ("reana-run-batch-workflow-uuid", WorkKind::Batch),
    ("reana-run-session-workflow-uuid", WorkKind::Session),
    ("reana-run-dask-workflow-uuid", WorkKind::Dask),
];

/// The labels with a Job's name, which Kubernetes sets on a Job's pods: the newer one (since 1.27) first.
const JOB_LABELS: [&str; 2] = ["batch.kubernetes.io/job-name", "job-name"];

impl Pod {
    /// What the pod does for REANA.
    #[must_use]
    pub fn work(&self) -> Work {
        let found = WORKFLOW_LABELS.iter().find_map(|(label, kind)| Some((*kind, self.labels.get(*label)?)));
        let Some((kind, workflow)) = found else {
            return Work { kind: WorkKind::Other, workflow: None, job: None };
        };
        let labelled = || JOB_LABELS.iter().find_map(|label| self.labels.get(*label));
        let job = || labelled().or(self.owner_job.as_ref()).unwrap_or(&self.name).clone();
        Work { kind, workflow: Some(workflow.clone()), job: (kind == WorkKind::Job).then(job) }
    }
}

impl Container {
    /// What was asked for, as a reference; `latest` where it names neither tag nor digest, as Kubernetes has it.
    #[must_use]
    pub fn asked(&self) -> Option<Reference> {
        let mut reference: Reference = self.image.parse().ok()?;
        if reference.tag.is_none() && reference.digest.is_none() {
            reference.tag = "latest".parse().ok();
        }
        Some(reference)
    }
}

impl Node {
    /// The content with this digest.
    pub fn content(&self, digest: &Digest) -> Option<&NodeImage> {
        self.images.iter().find(|image| image.digests.contains(digest))
    }
}
