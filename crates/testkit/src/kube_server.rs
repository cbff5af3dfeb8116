//! A stand-in for Kubernetes' API on loopback: it serves recorded answers to kubectl, whole or cut down to a
//! namespace and to labels, in pages as kubectl asks for them. It changes nothing and watches nothing.
#![expect(clippy::disallowed_methods, reason = "tests read their fixtures")]

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Value, json};

use crate::index_server::{IndexServer, Reply};

/// The server. It ends when it is dropped.
pub struct KubeServer {
    /// What answers.
    pub server: IndexServer,
    state: Arc<Mutex<State>>,
}

struct State {
    /// Recorded answers, by path (`/api/v1/pods`).
    recorded: BTreeMap<String, Value>,
    /// What is answered to whoever asks for objects of a kind (`pods`), instead.
    instead: BTreeMap<String, Reply>,
}

impl KubeServer {
    /// Starts a server with the answers in a folder: `api_v1_pods.json` is `/api/v1/pods`; what ends in `.disc.json`
    /// tells clients which kinds there are.
    ///
    /// # Panics
    /// When the folder can't be read.
    pub fn new(folder: &Path) -> Self {
        let mut recorded = BTreeMap::new();
        for entry in fs::read_dir(folder).expect("the recorded answers") {
            let name = entry.expect("a file").file_name().to_string_lossy().into_owned();
            let text = fs::read(folder.join(&name)).expect("a recorded answer");
            let value = serde_json::from_slice(&text).unwrap_or_else(|error| panic!("{name}: {error}"));
            let path = name.trim_end_matches(".json").trim_end_matches(".disc").replace('_', "/");
            recorded.insert(format!("/{path}"), value);
        }
        let state = Arc::new(Mutex::new(State { recorded, instead: BTreeMap::new() }));
        let server = IndexServer::new();
        let shared = Arc::clone(&state);
        server.handle(move |path| Some(shared.lock().unwrap_or_else(PoisonError::into_inner).answer(path)));
        Self { server, state }
    }

    /// Answers this from now on to whoever asks for objects of a kind (`pods`).
    pub fn instead(&self, kind: &str, reply: Reply) {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).instead.insert(kind.to_owned(), reply);
    }

    /// Replaces the answer for a kind of the core API (`pods`) by this list.
    pub fn put(&self, kind: &str, list: Value) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.recorded.insert(format!("/api/v1/{kind}"), list);
    }

    /// A kubectl configuration that leads here.
    pub fn kubeconfig(&self) -> String {
        json!({
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{ "name": "test", "cluster": { "server": self.server.url("") } }],
            "users": [{ "name": "tester", "user": {} }],
            "contexts": [{ "name": "test", "context": { "cluster": "test", "user": "tester" } }],
            "current-context": "test",
        })
        .to_string()
    }
}

/// A failure, as Kubernetes words it.
pub fn failure(code: u16, reason: &str, message: &str) -> Reply {
    let status = json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "message": message, "reason": reason, "code": code,
    });
    Reply { status: code, ..Reply::ok("application/json", status.to_string()) }
}

impl State {
    fn answer(&self, path: &str) -> Reply {
        let (path, query) = path.split_once('?').unwrap_or((path, ""));
        let query: BTreeMap<String, String> = query
            .split('&')
            .filter_map(|pair| pair.split_once('='))
            .map(|(key, value)| (key.to_owned(), unescaped(value)))
            .collect();
        let (path, namespace) = match path.split_once("/namespaces/").and_then(|(api, rest)| {
            let (namespace, kind) = rest.split_once('/')?;
            Some((format!("{api}/{kind}"), namespace))
        }) {
            Some((path, namespace)) => (path, Some(namespace)),
            None => (path.to_owned(), None),
        };
        let kind = path.rsplit('/').next().unwrap_or_default();
        if let Some(reply) = self.instead.get(kind) {
            return reply.clone();
        }
        let Some(recorded) = self.recorded.get(&path) else {
            return failure(404, "NotFound", "the server could not find the requested resource");
        };
        let body = match recorded["items"].as_array() {
            Some(items) => page(recorded, items, namespace, &query),
            None => recorded.clone(),
        };
        Reply::ok("application/json", body.to_string())
    }
}

/// The part of a list that is asked for.
fn page(list: &Value, items: &[Value], namespace: Option<&str>, query: &BTreeMap<String, String>) -> Value {
    let selector = query.get("labelSelector").map(String::as_str).unwrap_or_default();
    let is_meant = |item: &&Value| {
        let labels = &item["metadata"]["labels"];
        let mut conditions = selector.split(',').filter(|condition| !condition.is_empty());
        namespace.is_none_or(|namespace| item["metadata"]["namespace"] == namespace)
            && conditions.all(|condition| {
                let (label, value) = condition.split_once('=').expect("label=value");
                labels[label] == value
            })
    };
    let meant: Vec<&Value> = items.iter().filter(is_meant).collect();
    let number = |key: &str| query.get(key).and_then(|text| text.parse::<usize>().ok());
    let start = number("continue").unwrap_or(0).min(meant.len());
    let end = number("limit")
        .filter(|limit| *limit > 0)
        .map_or(meant.len(), |limit| start + limit)
        .min(meant.len());
    let mut answer = list.clone();
    answer["items"] = meant[start..end].iter().map(|item| (*item).clone()).collect();
    if end < meant.len() {
        answer["metadata"]["continue"] = json!(end.to_string());
    }
    answer
}

/// Text of a query, `%3D` and the like read.
fn unescaped(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'%' => {
                let digits: Vec<u8> = rest.by_ref().take(2).collect();
                let digits = std::str::from_utf8(&digits).unwrap_or_default();
                u8::from_str_radix(digits, 16).unwrap_or(b'?')
            }
            b'+' => b' ',
            byte => byte,
        });
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
