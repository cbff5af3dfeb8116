//! `cargo xtask kube`: `reana-lock running` over a real Kubernetes API that is built, started and stopped here. What is
//! recorded in fixtures/kube is put into it; the answers must be those that the recording itself gives.

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use crate::project::{build, output, root, run};

/// What `cargo xtask kube` may be told.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Where the API's program is kept; it is built there if it is missing
    #[arg(long, default_value = "kube-cache")]
    cache: PathBuf,
}

/// Starts the API, fills it, and checks what the command says of it.
pub(crate) fn kube(options: &Options) -> Result<()> {
    let command = build()?;
    let cache = root().join(&options.cache);
    let apiserver = cache.join("bin/kube-apiserver");
    if !apiserver.exists() {
        println!("builds kube-apiserver, which takes minutes");
        run(Command::new(script("build.sh")).arg(&cache))?;
    }
    let cluster = Cluster::start(&apiserver)?;
    cluster.fill()?;
    same_as_recorded(&cluster, &command)?;
    rights(&cluster, &command)?;
    println!(
        "\nok: a real API is read as the recording is, with all rights, with those to see pods alone, and with none"
    );
    Ok(())
}

fn script(name: &str) -> PathBuf {
    root().join("xtask/kube").join(name)
}

fn recorded(what: &str) -> PathBuf {
    root().join(format!("fixtures/kube/api_v1_{what}.json"))
}

/// A running API; it ends with this.
struct Cluster {
    folder: tempfile::TempDir,
    port: u16,
}

impl Drop for Cluster {
    fn drop(&mut self) {
        if let Err(error) = run(Command::new(script("down.sh")).arg(self.folder.path())) {
            println!("the API could not be stopped: {error:#}");
        }
    }
}

impl Cluster {
    fn start(apiserver: &Path) -> Result<Self> {
        let free = || -> Result<TcpListener> { Ok(TcpListener::bind(("127.0.0.1", 0))?) };
        let listeners = [free()?, free()?, free()?];
        let mut ports = Vec::new();
        for listener in &listeners {
            ports.push(listener.local_addr()?.port());
        }
        drop(listeners);
        let port = *ports.last().context("a port")?;
        let cluster = Self { folder: tempfile::tempdir()?, port };
        let mut up = Command::new(script("up.sh"));
        up.arg(apiserver).arg(cluster.folder.path()).args(ports.iter().map(ToString::to_string));
        run(&mut up)?;
        Ok(cluster)
    }

    fn kubeconfig(&self, user: &str) -> PathBuf {
        self.folder.path().join(format!("{user}.kubeconfig"))
    }

    /// Sends something to the API as its administrator.
    fn send(&self, method: &str, path: &str, body: &Value) -> Result<()> {
        let file = self.folder.path().join("body.json");
        std::fs::write(&file, body.to_string())?;
        let pki = self.folder.path().join("pki");
        let kind = if method == "PATCH" { "application/merge-patch+json" } else { "application/json" };
        let mut curl = Command::new("curl");
        curl.args(["--silent", "--show-error", "--fail-with-body", "--request", method, "--output"]);
        curl.arg(self.folder.path().join("answer.json")).arg("--cacert").arg(pki.join("ca.crt"));
        curl.arg("--cert").arg(pki.join("admin.crt")).arg("--key").arg(pki.join("admin.key"));
        curl.arg("--header").arg(format!("Content-Type: {kind}"));
        curl.arg("--data-binary").arg(format!("@{}", file.display()));
        curl.arg(format!("https://127.0.0.1:{}{path}", self.port));
        let sent = output(&mut curl).with_context(|| format!("{method} {path}"));
        if sent.is_err() {
            println!(
                "{}",
                std::fs::read_to_string(self.folder.path().join("answer.json")).unwrap_or_default()
            );
        }
        sent.map(drop)
    }

    /// Puts in what was recorded.
    fn fill(&self) -> Result<()> {
        self.send("POST", "/api/v1/namespaces", &json!({ "metadata": { "name": "reana" } }))?;
        for node in items("nodes")? {
            let name = text(&node, "/metadata/name")?;
            let labels = &node["metadata"]["labels"];
            self.send("POST", "/api/v1/nodes", &json!({ "metadata": { "name": name, "labels": labels } }))?;
            let status =
                json!({ "images": node["status"]["images"], "nodeInfo": node["status"]["nodeInfo"] });
            self.send("PATCH", &format!("/api/v1/nodes/{name}/status"), &json!({ "status": status }))?;
        }
        for pod in items("pods")? {
            let name = text(&pod, "/metadata/name")?;
            let mut metadata = json!({ "name": name });
            for key in ["labels", "annotations"] {
                if let Some(value) = pod["metadata"].get(key) {
                    metadata[key] = value.clone();
                }
            }
            let pods = "/api/v1/namespaces/reana/pods";
            self.send("POST", pods, &json!({ "metadata": metadata, "spec": pod["spec"] }))?;
            self.send("PATCH", &format!("{pods}/{name}/status"), &json!({ "status": pod["status"] }))?;
        }
        Ok(())
    }

    /// Lets the reader list things of this kind.
    fn allow(&self, what: &str) -> Result<()> {
        let rbac = "/apis/rbac.authorization.k8s.io/v1";
        let rules = json!([{ "apiGroups": [""], "resources": [what], "verbs": ["get", "list"] }]);
        let role = json!({ "metadata": { "name": what }, "rules": rules });
        self.send("POST", &format!("{rbac}/clusterroles"), &role)?;
        let group = "rbac.authorization.k8s.io";
        let binding = json!({
            "metadata": { "name": what },
            "roleRef": { "apiGroup": group, "kind": "ClusterRole", "name": what },
            "subjects": [{ "apiGroup": group, "kind": "User", "name": "reader" }],
        });
        self.send("POST", &format!("{rbac}/clusterrolebindings"), &binding)
    }
}

/// What is recorded of this kind.
fn items(what: &str) -> Result<Vec<Value>> {
    let path = recorded(what);
    let text = std::fs::read_to_string(&path).with_context(|| path.display().to_string())?;
    let list: Value = serde_json::from_str(&text)?;
    list["items"].as_array().cloned().context("no list")
}

fn text<'v>(value: &'v Value, pointer: &str) -> Result<&'v str> {
    value.pointer(pointer).and_then(Value::as_str).with_context(|| format!("no text at {pointer}"))
}

/// What the command says, with its exit code.
fn running(command: &Path, arguments: &[&str], more: &[&str]) -> Result<Output> {
    let all = [&["running", "--offline"], arguments, more].concat();
    println!("\n$ reana-lock {}", all.join(" "));
    Ok(Command::new(command).args(&all).output()?)
}

/// Asked over kubectl, the command says what it says of the recording.
fn same_as_recorded(cluster: &Cluster, command: &Path) -> Result<()> {
    let kubeconfig = format!("--kubeconfig={}", cluster.kubeconfig("admin").display());
    let [pods, nodes] = ["pods", "nodes"].map(|what| format!("--input={}", recorded(what).display()));
    for more in [&["--nodes", "--format=json"][..], &["--drift", "--nodes"], &["--nodes"]] {
        let asked = running(command, &[&kubeconfig], more)?;
        let read = running(command, &[&pods, &nodes], more)?;
        let (asked_text, read_text) =
            (String::from_utf8_lossy(&asked.stdout), String::from_utf8_lossy(&read.stdout));
        ensure!(!read_text.is_empty(), "nothing is told: {}", String::from_utf8_lossy(&read.stderr));
        ensure!(
            asked_text == read_text && asked.status == read.status,
            "{more:?}: the API is read otherwise than the recording ({} and {}):\n{asked_text}\n--- recorded\n{read_text}\n{}",
            asked.status,
            read.status,
            String::from_utf8_lossy(&asked.stderr),
        );
    }
    Ok(())
}

/// Without rights there is no answer; with those to see pods alone, the command goes on without nodes.
fn rights(cluster: &Cluster, command: &Path) -> Result<()> {
    let kubeconfig = format!("--kubeconfig={}", cluster.kubeconfig("reader").display());
    let ask = |more: &[&str], code: i32| -> Result<String> {
        let output = running(command, &[&kubeconfig], more)?;
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        ensure!(output.status.code() == Some(code), "{} instead of {code}: {told}", output.status);
        Ok(told)
    };
    let told = ask(&[], 4)?;
    ensure!(told.contains("forbidden"), "the refusal is not told: {told}");
    cluster.allow("pods")?;
    ask(&[], 0)?;
    let told = ask(&["--drift"], 1)?;
    ensure!(told.contains("nodes"), "it isn't told that nodes are left out: {told}");
    cluster.allow("nodes")?;
    ask(&["--drift"], 1)?;
    Ok(())
}
