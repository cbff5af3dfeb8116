//! `reana-lock running`: on recorded answers of a real cluster, from files and through kubectl.
#![expect(
    clippy::disallowed_methods,
    clippy::print_stderr,
    reason = "tests look for kubectl, and say where there is none"
)]

use std::path::{Path, PathBuf};

use expect_test::{Expect, expect};
use reana_testkit::kube_server::failure;
use reana_testkit::{IndexServer, KubeServer, Output, Reply, Sandbox};
use serde_json::{Value, json};

use crate::harness::{PROGRAM, sha256};
use crate::images::{absent, ledger, manifest};

/// A job of a workflow, as REANA makes it, with a sidecar for its credentials.
const JOB: &str = r#"{"kind": "Pod", "apiVersion": "v1", "metadata": {"name": "reana-run-job-4b7e-x2x9z", "namespace": "default",
    "labels": {"job-name": "reana-run-job-4b7e", "reana-run-job-workflow-uuid": "8e1a2c"}},
  "spec": {"nodeName": "worker", "initContainers": [{"name": "voms", "image": "voms:1"}],
    "containers": [{"name": "proxy", "image": "proxy:2"}, {"name": "job", "image": "myenvironment:latest"}]},
  "status": {"phase": "Running", "containerStatuses": [
    {"name": "job", "image": "sha256:1", "imageID": "docker.io/library/myenvironment@sha256:9259e42215ab25d1d1e6b5b6ba3cb5a6d03d8d8fd0a6d9ae9c3f1e6bbbb3f7aa"},
    {"name": "proxy", "image": "proxy:2", "imageID": "sha256:0259e42215ab25d1d1e6b5b6ba3cb5a6d03d8d8fd0a6d9ae9c3f1e6bbbb3f7aa"}]}}"#;

fn recorded(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/kube").join(name)
}

/// A recorded answer.
pub(crate) fn said_once(name: &str) -> Vec<u8> {
    std::fs::read(recorded(name)).expect("a recorded answer")
}

/// A sandbox with the recorded answers in it.
fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new(Path::new(PROGRAM));
    for (file, name) in [("pods.json", "api_v1_pods.json"), ("nodes.json", "api_v1_nodes.json")] {
        sandbox.file(file, std::fs::read(recorded(name)).expect("a recorded answer"));
    }
    sandbox
}

fn parsed(output: &Output) -> Value {
    serde_json::from_str(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output}"))
}

#[test]
fn a_job_has_the_lines_of_its_log() {
    let sandbox = sandbox();
    sandbox.file("job.json", JOB);
    let output = sandbox.run(&["running", "--input", "job.json"]).expect_code(0);
    expect![[r#"
        ==> Workflow ID: 8e1a2c
        ==> Compute backend: Kubernetes
        ==> Job ID: reana-run-job-4b7e
        ==> Container: job
        ==> Docker image: myenvironment:latest (9259e42215ab)
        ==> Container: proxy
        ==> Docker image: proxy:2 (0259e42215ab)
        ==> Container: voms (init)
        ==> Docker image: voms:1 (no digest yet)
    "#]]
    .assert_eq(&output.stdout);
    let output = sandbox.run(&["running", "--input", "job.json", "--format", "json"]).expect_code(0);
    assert!(!output.stdout.contains("worker"), "node names only on request: {}", output.stdout);
    let json = parsed(&output);
    let pod = &json["pods"][0];
    assert_eq!(pod["job_id"], "reana-run-job-4b7e");
    assert_eq!(pod["compute_backend"], "Kubernetes");
    assert_eq!(pod["containers"][2]["digest_kind"], "unknown");
    assert_eq!(pod["containers"][1]["digest_kind"], "config");
    assert_eq!(pod["containers"][0]["digest"], Value::Null);
    let output = sandbox.run(&["running", "--input", "job.json", "--nodes"]).expect_code(0);
    assert!(output.stdout.contains("==> Node: worker\n"), "{output}");
}

/// What every recorded pod asked for, and the digest that its node reports.
#[test]
fn recorded_pods_are_read_from_a_file() {
    let output = sandbox().run(&["running", "--input", "pods.json", "--format", "json"]).expect_code(0);
    let json = parsed(&output);
    let pods = json["pods"].as_array().expect("pods");
    assert_eq!(pods.len(), 23);
    let mut shown = String::new();
    for pod in pods {
        for container in pod["containers"].as_array().expect("containers") {
            let text = |key: &str| container[key].as_str().unwrap_or("-").to_owned();
            let short: String = text("digest").trim_start_matches("sha256:").chars().take(12).collect();
            let name = pod["pod"].as_str().unwrap_or_default();
            let image = text("image").replace("127.0.0.1:5000/reana/", "");
            let image: String =
                image.split("@sha256:").map(|part| &part[..part.len().min(16)]).collect::<Vec<_>>().join("@");
            shown.push_str(&format!("{name} {} {image} {short} {}\n", text("role"), text("digest_kind")));
        }
    }
    expect![[r#"
        d1 main bb2:5.0.0 50d14f7328b1 unknown
        d2 main bb2@936ee7383ebcd32d 50d14f7328b1 unknown
        d3 main bb:2.0.0 0bc8c7ceb12f unknown
        d4 main dk:9 995ae1f83df9 unknown
        d5 main neverpushed:1 f591bdb8d74f config
        d6 main localonly:1 50d14f7328b1 unknown
        p1 main bb:1.0.0 102299ab9d73 unknown
        p2 main bb:2.0.0 0bc8c7ceb12f unknown
        p3 main bb:2.0.0-v2s2 0bc8c7ceb12f unknown
        p4 main bb@53f3d23b9fb0e736 102299ab9d73 unknown
        p5 main bb@102299ab9d739549 102299ab9d73 unknown
        p6 main bb:1.0.0@102299ab9d739549 102299ab9d73 unknown
        p7 main bb:nope - -
        q1 main bb:3.0.0 afdcc1579a0b unknown
        q2 main bb@1dd5a2f4d85d007d 1dd5a2f4d85d unknown
        q3 main bb:3.0.0 1dd5a2f4d85d unknown
        q4 main bb:3.0.0 50d14f7328b1 unknown
        q5 main bb:latest 50d14f7328b1 unknown
        q6 main 127.0.0.1:5000/o 50d14f7328b1 unknown
        q7 main bb:3.0.0 50d14f7328b1 unknown
        reana-server-7c898557f4-fqvt9 init bb:1.0.0 53f3d23b9fb0 unknown
        reana-server-7c898557f4-fqvt9 main bb:1.0.0 53f3d23b9fb0 unknown
        reana-server-7c898557f4-fqvt9 main bb2:5.0.0 50d14f7328b1 unknown
        reana-server-7c898557f4-vw7b5 init bb:1.0.0 53f3d23b9fb0 unknown
        reana-server-7c898557f4-vw7b5 main bb:1.0.0 53f3d23b9fb0 unknown
        reana-server-7c898557f4-vw7b5 main bb2:5.0.0 50d14f7328b1 unknown
        reana-server-abc init um:3.0.0 - -
        reana-server-abc main app:2.0.0 605c81b117fb unknown
        reana-server-abc main app:2.0.0 - -
    "#]]
    .assert_eq(&shown);
}

#[track_caller]
fn check_drift(output: Output, code: i32, expected: &Expect) {
    expected.assert_eq(&output.expect_code(code).to_string());
}

#[test]
fn recorded_drift_is_found() {
    let sandbox = sandbox();
    let both = ["running", "--input", "pods.json", "--input", "nodes.json", "--drift", "--offline"];
    check_drift(
        sandbox.run(&both),
        1,
        &expect![[r#"
        exit 1
        --- stdout
        127.0.0.1:5000/reana/bb:3.0.0 stands for different content
          1dd5a2f4d85d = afdcc1579a0b
            node 2 (linux/amd64): runs it in reana/q1, reana/q3
          50d14f7328b1
            node 2 (linux/amd64): has it, and runs it in reana/q4, reana/q7
        --- stderr
        13 tags: 1 different content on nodes, 12 the same everywhere
    "#]],
    );
    let named = sandbox.run(&[&both[..], &["--nodes"]].concat()).expect_code(1);
    assert!(named.stdout.contains("node1 (linux/amd64): has it"), "{named}");
    let json = parsed(&sandbox.run(&[&both[..], &["--format", "json"]].concat()).expect_code(1));
    assert_eq!(json["verdict"], "drift");
    assert!(!json.to_string().contains("\"node1\""), "node names only on request");
    // One repository's pods alone: nothing differs there.
    let calm =
        sandbox.run(&[&both[..], &["-l", "app=reana-server", "-n", "nowhere"]].concat()).expect_code(0);
    assert_eq!(calm.stdout, "");
}

#[test]
fn stdin_and_odd_files() {
    let sandbox = sandbox();
    check_drift(
        sandbox.run(&["running", "--input", "-"]),
        2,
        &expect![[r#"
        exit 2
        --- stdout
        --- stderr
        error: stdin: it is empty

        hint: what is wanted is the answer of `kubectl get pods --all-namespaces -o json`, of `kubectl get nodes -o json`, or both
    "#]],
    );
    check_drift(
        sandbox.run(&["running", "--input", "absent.json"]),
        2,
        &expect![[r#"
        exit 2
        --- stdout
        --- stderr
        error: absent.json: can't read: No such file or directory (os error 2)
    "#]],
    );
    sandbox.file("pods.yaml", "kind: PodList\nitems: []\n");
    check_drift(
        sandbox.run(&["running", "--input", "pods.yaml"]),
        2,
        &expect![[r#"
        exit 2
        --- stdout
        --- stderr
        error: pods.yaml: line 1, column 1: expected value

        hint: what is wanted is the answer of `kubectl get pods --all-namespaces -o json`, of `kubectl get nodes -o json`, or both
    "#]],
    );
    sandbox.file("empty.json", r#"{"kind": "List", "items": [{"kind": "Secret"}]}"#);
    check_drift(
        sandbox.run(&["running", "--input", "empty.json"]),
        0,
        &expect![[r#"
        exit 0
        --- stdout
        --- stderr
        note: passed over, as neither pods nor nodes: 1 of kind Secret
        note: no pod was found
    "#]],
    );
    check_drift(
        sandbox.run(&["running", "--input", "pods.json", "-l", "a b"]),
        2,
        &expect![[r#"
        exit 2
        --- stdout
        --- stderr
        error: --selector: `a b` is no label selector: `label=value`, `label!=value`, `label`, `!label`, `label in (a,b)` are
    "#]],
    );
    check_drift(
        sandbox.run(&["running", "--input", "pods.json", "--format", "github"]),
        2,
        &expect![[r#"
        exit 2
        --- stdout
        --- stderr
        error: --format github is for what is found in files
    "#]],
    );
    sandbox.file("evil.json", r#"{"kind": "Pod", "metadata": {"name": "a\u001b[31m\n==> Job ID: b"}}"#);
    check_drift(
        sandbox.run(&["running", "--input", "evil.json"]),
        0,
        &expect![[r#"
        exit 0
        --- stdout
        ==> Pod: /a�[31m�==> Job ID: b
        --- stderr
    "#]],
    );
}

/// kubectl's place, or `None` where there is none; CI must have one.
fn kubectl() -> Option<()> {
    let is_there = ["/usr/local/bin", "/usr/bin", "/bin"]
        .iter()
        .any(|folder| Path::new(folder).join("kubectl").exists());
    if !is_there {
        assert!(std::env::var_os("CI").is_none(), "CI has kubectl");
        eprintln!("SKIPPED: kubectl is not installed here (Debian: kubernetes-client)");
    }
    is_there.then_some(())
}

/// A stand-in for the API with the recorded answers, and a sandbox whose kubectl asks it.
fn cluster() -> Option<(KubeServer, Sandbox)> {
    kubectl()?;
    let server = KubeServer::new(&recorded(""));
    let sandbox = Sandbox::new(Path::new(PROGRAM));
    sandbox.file("kubeconfig", server.kubeconfig());
    Some((server, sandbox))
}

#[test]
fn kubectl_is_asked() {
    let Some((server, sandbox)) = cluster() else { return };
    let all = sandbox.run(&["running", "--kubeconfig", "kubeconfig"]).expect_code(0);
    sandbox.file("pods.json", said_once("api_v1_pods.json"));
    let from_file = sandbox.run(&["running", "--input", "pods.json"]).expect_code(0);
    assert_eq!(all.stdout, from_file.stdout);
    let words = [
        "running",
        "--kubeconfig",
        "kubeconfig",
        "--context",
        "test",
        "-n",
        "reana",
        "-l",
        "app=reana-server",
    ];
    let some = sandbox.run(&words).expect_code(0);
    assert_eq!(some.stdout.matches("==> Pod: ").count(), 3, "{some}");
    assert!(
        server.server.seen().iter().all(|seen| !seen.path.contains("/nodes")),
        "nodes are not needed for that"
    );
    let drift =
        sandbox.run(&["running", "--kubeconfig", "kubeconfig", "--drift", "--offline"]).expect_code(1);
    sandbox.file("nodes.json", std::fs::read(recorded("api_v1_nodes.json")).expect("a recorded answer"));
    let words = ["running", "--input", "pods.json", "--input", "nodes.json", "--drift", "--offline"];
    assert_eq!(drift.stdout, sandbox.run(&words).expect_code(1).stdout);
}

#[test]
fn who_may_not_see_nodes_goes_on_without() {
    let Some((server, sandbox)) = cluster() else { return };
    let refusal = r#"nodes is forbidden: User "tester" cannot list resource "nodes" in API group "" at the cluster scope"#;
    server.instead("nodes", failure(403, "Forbidden", refusal));
    let words = ["running", "--kubeconfig", "kubeconfig", "--drift", "--offline"];
    check_drift(
        sandbox.run(&words),
        1,
        &expect![[r#"
        exit 1
        --- stdout
        127.0.0.1:5000/reana/bb:1.0.0 stands for different content
          102299ab9d73
            node 2: runs it in reana/p1
          53f3d23b9fb0
            node 3: runs it in reana/reana-server-7c898557f4-fqvt9, reana/reana-server-7c898557f4-vw7b5

        127.0.0.1:5000/reana/bb:3.0.0 stands for different content
          1dd5a2f4d85d
            node 2: runs it in reana/q3
          50d14f7328b1
            node 2: runs it in reana/q4, reana/q7
          afdcc1579a0b
            node 2: runs it in reana/q1
        --- stderr
        warning: nodes can't be seen, so that only what pods run is compared, and only by the digest that each reports: Error from server (Forbidden): nodes is forbidden: User "tester" cannot list resource "nodes" in API group "" at the cluster scope
        11 tags: 2 different content on nodes, 9 the same everywhere
    "#]],
    );
    let refusal = r#"pods is forbidden: User "tester" cannot list resource "pods" in API group "" at the cluster scope"#;
    server.instead("pods", failure(403, "Forbidden", refusal));
    check_drift(
        sandbox.run(&words),
        4,
        &expect![[r#"
        exit 4
        --- stdout
        --- stderr
        error: kubectl get pods is refused:
        Error from server (Forbidden): pods is forbidden: User "tester" cannot list resource "pods" in API group "" at the cluster scope

        hint: name a namespace that you may look into: `--namespace NAME`
    "#]],
    );
}

#[test]
fn a_cluster_without_an_answer() {
    let Some((server, sandbox)) = cluster() else { return };
    let words = ["running", "--kubeconfig", "kubeconfig"];
    server.instead("pods", failure(401, "Unauthorized", "Unauthorized"));
    let output = sandbox.run(&words).expect_code(4);
    assert!(output.stderr.contains("You must be logged in to the server"), "{output}");
    server.instead("pods", Reply::ok("application/json", "{\"kind\": \"PodList\", \"items\""));
    let output = sandbox.run(&words).expect_code(4);
    assert!(output.stderr.starts_with("error: kubectl get pods failed:"), "{output}");
    server.put("pods", json!({ "kind": "PodList", "apiVersion": "v1", "metadata": {}, "items": [] }));
    server.instead("pods", Reply::status(500));
    let output = sandbox.run(&words).expect_code(4);
    assert_eq!(output.stdout, "");
    sandbox.file("kubeconfig", server.kubeconfig().replace(&server.server.host(), "127.0.0.1:1"));
    let output = sandbox.run(&words).expect_code(4);
    assert!(output.stderr.contains("127.0.0.1:1 was refused"), "{output}");
}

#[test]
fn without_kubectl() {
    let sandbox = Sandbox::new(Path::new(PROGRAM)).env("PATH", "/nowhere");
    check_drift(
        sandbox.run(&["running"]),
        4,
        &expect![[r#"
        exit 4
        --- stdout
        --- stderr
        error: there is no kubectl on PATH

        hint: install kubectl, or give `--input FILE` what `kubectl get pods -o json` said elsewhere
    "#]],
    );
}

/// A kubectl that never ends is ended; what it says beside is no harm.
#[test]
fn a_kubectl_that_hangs_is_ended() {
    let sandbox = Sandbox::new(Path::new(PROGRAM));
    let folder = sandbox.path().join("bin");
    let script = "#!/bin/sh\necho waiting >&2\nexec sleep 1000\n";
    sandbox.file("bin/kubectl", script);
    let mut rights = std::fs::metadata(folder.join("kubectl")).expect("the script").permissions();
    std::os::unix::fs::PermissionsExt::set_mode(&mut rights, 0o755);
    std::fs::set_permissions(folder.join("kubectl"), rights).expect("rights");
    let sandbox = sandbox.env("PATH", &format!("{}:/usr/bin:/bin", folder.display()));
    check_drift(
        sandbox.run(&["running", "--timeout", "1"]),
        4,
        &expect![[r#"
        exit 4
        --- stdout
        --- stderr
        error: kubectl gave no answer within 1 seconds

        hint: does `kubectl get pods` answer? `--timeout SECONDS` gives it longer
    "#]],
    );
}

/// A node that has this digest under the tag.
fn node(node: &str, runtime: &str, name: &str, digest: &str) -> Value {
    json!({ "kind": "Node", "metadata": { "name": node }, "status": {
        "nodeInfo": { "containerRuntimeVersion": runtime, "operatingSystem": "linux", "architecture": "amd64" },
        "images": [{ "names": [format!("{name}@{digest}"), format!("{name}:1.0")] }] } })
}

/// A pod that runs this digest under the tag.
fn pod(pod: &str, node: &str, name: &str, digest: &str) -> Value {
    json!({ "kind": "Pod", "metadata": { "name": pod, "namespace": "default" },
        "spec": { "nodeName": node, "containers": [{ "name": "c", "image": format!("{name}:1.0") }] },
        "status": { "containerStatuses": [{ "name": "c", "imageID": format!("{name}@{digest}") }] } })
}

/// Three nodes and three pods, some with the current digest, some with the old one.
fn stale_cluster(name: &str, digest: &str, old: &str) -> String {
    let items = [
        node("worker1", "containerd://1.7", name, old),
        node("worker2", "containerd://1.7", name, digest),
        node("worker3", "docker://20.10", name, old),
        pod("app-1", "worker1", name, old),
        pod("app-2", "worker2", name, digest),
        pod("left-behind", "worker2", name, old),
    ];
    json!({ "kind": "List", "items": items }).to_string()
}

#[test]
fn the_registry_says_which_content_is_stale() {
    let sandbox = Sandbox::new(Path::new(PROGRAM));
    let server = IndexServer::new();
    let config = r#"{"architecture":"amd64","os":"linux","config":{"Labels":{"org.opencontainers.image.revision":"0a1b2c3"}}}"#;
    let manifest = manifest(config);
    server.handle(|_| Some(absent()));
    let digest = format!("sha256:{}", sha256(manifest.as_bytes()));
    let reply = Reply::ok("application/vnd.oci.image.manifest.v1+json", manifest);
    server.put("/v2/reana/app/manifests/1.0", reply.clone());
    server.put(&format!("/v2/reana/app/manifests/{digest}"), reply);
    server.put(&format!("/v2/reana/app/blobs/sha256:{}", sha256(config.as_bytes())), Reply::file(config));
    let host = &*server.host();
    let name = format!("{host}/reana/app");
    let old = format!("sha256:{}", "0".repeat(64));
    sandbox.file("cluster.json", stale_cluster(&name, &digest, &old));
    let shown = |output: Output| {
        let text = output.to_string().replace(&digest, "DIGEST").replace(&digest[7..19], "CURRENT");
        text.replace(&name, "NAME").replace(&server.host(), "HOST")
    };
    let words = ["running", "--input", "cluster.json", "--plain-http", host, "--drift", "--nodes"];
    expect![[r#"
        exit 1
        --- stdout
        NAME:1.0 stands for different content
          000000000000 (stale)
            worker1 (linux/amd64): has it, and runs it in default/app-1
            worker2 (linux/amd64): runs it in default/left-behind
            worker3 (linux/amd64): has it
          CURRENT (what the registry has)
            worker2 (linux/amd64): has it, and runs it in default/app-2
          on worker1: crictl rmi NAME:1.0
          on worker3: docker rmi NAME:1.0
          kubectl --namespace=default delete pod left-behind (its node has other content by now)
        --- stderr
        1 tag: 1 different content on nodes
    "#]]
    .assert_eq(&shown(sandbox.run(&words).expect_code(1)));
    expect![[r#"
        exit 1
        --- stdout
        NAME:1.0 stands for different content
          000000000000
            worker1 (linux/amd64): has it, and runs it in default/app-1
            worker2 (linux/amd64): runs it in default/left-behind
            worker3 (linux/amd64): has it
          CURRENT
            worker2 (linux/amd64): has it, and runs it in default/app-2
        --- stderr
        1 tag: 1 different content on nodes
    "#]]
    .assert_eq(&shown(sandbox.run(&[&words[..], &["--offline"]].concat()).expect_code(1)));
    let words = ["running", "--input", "cluster.json", "--plain-http", host, "--trace"];
    expect![[r#"
        exit 0
        --- stdout
        ==> Pod: default/app-1
        ==> Docker image: NAME:1.0 (000000000000)
        ==> Built from: not known

        ==> Pod: default/app-2
        ==> Docker image: NAME:1.0 (CURRENT)
        ==> Built from: 0a1b2c3, by the labels

        ==> Pod: default/left-behind
        ==> Docker image: NAME:1.0 (000000000000)
        ==> Built from: not known
        --- stderr
    "#]]
    .assert_eq(&shown(sandbox.run(&words).expect_code(0)));
    let json = parsed(&sandbox.run(&[&words[..], &["--format", "json"]].concat()).expect_code(0));
    assert_eq!(json["pods"][1]["containers"][0]["digest_kind"], "manifest");
    assert_eq!(json["pods"][1]["containers"][0]["built"]["commit"], "0a1b2c3");
    // Without an answer nothing is stale, and nothing is well.
    server.put("/v2/reana/app/manifests/1.0", Reply::status(403));
    sandbox.file(
        "cluster.json",
        json!({ "kind": "List", "items": [pod("app-2", "worker2", &name, &digest)] }).to_string(),
    );
    let output =
        sandbox.run(&["running", "--input", "cluster.json", "--plain-http", host, "--drift"]).expect_code(4);
    assert!(output.stderr.contains("warning: "), "{output}");
}

#[test]
fn the_ledger_says_what_was_built_from_what() {
    let sandbox = Sandbox::new(Path::new(PROGRAM));
    let digest = |digit: &str| format!("sha256:{}", digit.repeat(64));
    let pod = json!({ "kind": "Pod", "metadata": { "name": "p", "namespace": "default" },
        "spec": { "containers": [{ "name": "c", "image": "reanahub/reana-server:0.95.0" }] },
        "status": { "containerStatuses": [{ "name": "c", "imageID": format!("reanahub/reana-server@{}", digest("b")) }] } });
    sandbox.file("pod.json", pod.to_string());
    sandbox.file("reana-images.toml", ledger(&digest("a"), &digest("b"), "reana-db==0.7.0.dev20200427"));
    check_drift(
        sandbox.run(&["running", "--input", "pod.json", "--trace"]),
        0,
        &expect![[r#"
            exit 0
            --- stdout
            ==> Pod: default/p
            ==> Docker image: reanahub/reana-server:0.95.0 (bbbbbbbbbbbb)
            ==> Built from: b702986 (0.95.0), by the ledger
            ==> Inputs: eeeeeeeeeeee
            ==> Packages: reana-db==0.7.0.dev20200427
            --- stderr
        "#]],
    );
    let words = ["running", "--input", "pod.json", "--trace", "--offline", "--ledger", "other.toml"];
    sandbox.file("other.toml", "");
    check_drift(
        sandbox.run(&words),
        0,
        &expect![[r#"
        exit 0
        --- stdout
        ==> Pod: default/p
        ==> Docker image: reanahub/reana-server:0.95.0 (bbbbbbbbbbbb)
        ==> Built from: not known
        --- stderr
    "#]],
    );
    sandbox.file("other.toml", "[[x]]\n");
    check_drift(
        sandbox.run(&words),
        2,
        &expect![[r#"
        exit 2
        --- stdout
        --- stderr
        error: other.toml:1: invalid type: map, expected a string
    "#]],
    );
}
