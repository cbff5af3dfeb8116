//! Pods and jobs with the digests that their nodes report, in the lines of REANA's job logs and as JSON.

use reana_images::running::{Cluster, Container, DigestKind, ImageId, Pod, Role, State, WorkKind};
use serde_json::{Value, json};

use super::trace::Traced;

/// What REANA calls Kubernetes among its compute backends.
const BACKEND: &str = "Kubernetes";

/// Blocks of lines, one for each pod.
pub(crate) fn text(cluster: &Cluster, shows_nodes: bool, traced: Option<&Traced>) -> String {
    let mut text = String::new();
    for pod in &cluster.pods {
        if !text.is_empty() {
            text.push('\n');
        }
        for (key, value) in lines(pod, shows_nodes, traced) {
            text.push_str(&format!("==> {key}: {}\n", harmless(&value)));
        }
    }
    text
}

fn lines(pod: &Pod, shows_nodes: bool, traced: Option<&Traced>) -> Vec<(&'static str, String)> {
    let work = pod.work();
    let mut lines = Vec::new();
    lines.extend(work.workflow.map(|workflow| ("Workflow ID", workflow)));
    match work.job {
        Some(job) => lines.extend([("Compute backend", BACKEND.to_owned()), ("Job ID", job)]),
        None => lines.push(("Pod", format!("{}/{}", pod.namespace, pod.name))),
    }
    lines.extend(pod.node.clone().filter(|_| shows_nodes).map(|node| ("Node", node)));
    for container in main_first(pod) {
        if pod.containers.len() > 1 {
            let role = match container.role {
                Role::Main => String::new(),
                role => format!(" ({})", role.word()),
            };
            lines.push(("Container", format!("{}{role}", container.name)));
        }
        lines.push(("Docker image", format!("{} ({})", container.image, digest_text(container))));
        lines.extend(traced.into_iter().flat_map(|traced| traced.lines(container)));
    }
    lines
}

/// The containers that do the pod's work, then the others: readers of logs look for the first image.
fn main_first(pod: &Pod) -> Vec<&Container> {
    let mut containers: Vec<&Container> = pod.containers.iter().collect();
    containers.sort_by_key(|container| container.role);
    if pod.work().kind == WorkKind::Job {
        // The job's own container has this name; others beside it hold credentials.
        containers.sort_by_key(|container| (container.role, container.name != "job"));
    }
    containers
}

/// Twelve digits, or why there are none.
fn digest_text(container: &Container) -> String {
    match (&container.id, container.state.reason()) {
        (ImageId::Named { digest, .. } | ImageId::Config(digest), _) => digest.short().to_owned(),
        (ImageId::Other(_), _) => "no digest that is known here".to_owned(),
        (ImageId::None, Some(reason)) => format!("no digest yet: {reason}"),
        (ImageId::None, None) => "no digest yet".to_owned(),
    }
}

/// For scripts. Node names only on request.
pub(crate) fn json(cluster: &Cluster, shows_nodes: bool, traced: Option<&Traced>) -> Value {
    let pod = |pod: &Pod| {
        let work = pod.work();
        let backend = work.job.as_ref().map(|_| BACKEND);
        let mut value = json!({
            "namespace": pod.namespace,
            "pod": pod.name,
            "kind": work.kind.word(),
            "workflow_id": work.workflow,
            "compute_backend": backend,
            "job_id": work.job,
            "phase": pod.phase,
            "containers": pod.containers.iter().map(|it| container_json(it, traced)).collect::<Vec<_>>(),
        });
        if shows_nodes && let Some(object) = value.as_object_mut() {
            object.insert("node".to_owned(), json!(pod.node));
        }
        value
    };
    json!({ "pods": cluster.pods.iter().map(pod).collect::<Vec<_>>() })
}

fn container_json(container: &Container, traced: Option<&Traced>) -> Value {
    let digest = container.id.digest();
    let kind = match &container.id {
        ImageId::Named { digest, .. } => {
            Some(traced.map_or(DigestKind::Unknown, |traced| traced.known.kind(digest)))
        }
        ImageId::Config(_) => Some(DigestKind::Config),
        ImageId::None | ImageId::Other(_) => None,
    };
    let (state, reason) = match &container.state {
        State::Unknown => (None, None),
        state => (Some(state.word()), state.reason()),
    };
    let mut value = json!({
        "name": container.name,
        "role": container.role.word(),
        "image": container.image,
        "digest": digest.map(ToString::to_string),
        "digest_kind": kind.map(DigestKind::word),
        "image_id": container.id_text,
        "state": state,
        "reason": reason,
    });
    if let (Some(traced), Some(object)) = (traced, value.as_object_mut()) {
        object.insert("built".to_owned(), traced.json(container));
    }
    value
}

/// Text of a cluster without control characters: it ends up on terminals and in logs, where a line is a fact.
pub(crate) fn harmless(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}
