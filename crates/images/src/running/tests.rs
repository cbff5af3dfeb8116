use std::collections::BTreeMap;
use std::fmt::Write as _;

use expect_test::{Expect, expect};

use super::sighting::Content;
use super::*;
use crate::{Digest, Reference};

fn digest(name: &str) -> Digest {
    Digest::of(name.as_bytes())
}

fn amd64() -> Option<Platform> {
    Some(Platform { os: "linux".to_owned(), architecture: "amd64".to_owned() })
}

fn arm64() -> Option<Platform> {
    Some(Platform { os: "linux".to_owned(), architecture: "arm64".to_owned() })
}

#[track_caller]
fn check_id(text: &str, expected: &str) {
    let text = text.replace("HEX", digest("x").hex());
    let found = match ImageId::read(&text) {
        ImageId::None => "none".to_owned(),
        ImageId::Named { repository, digest } => format!("{repository} {}", digest.short()),
        ImageId::Config(digest) => format!("config {}", digest.short()),
        ImageId::Other(text) => format!("other {text}"),
    };
    let expected = expected.replace("SHORT", digest("x").short());
    assert_eq!(found, expected, "{text}");
}

#[test]
fn all_spellings_of_an_image_id() {
    check_id("", "none");
    check_id("docker://", "none");
    check_id("docker-pullable://127.0.0.1:5000/a/b@sha256:HEX", "127.0.0.1:5000/a/b SHORT");
    check_id("docker.io/library/python@sha256:HEX", "docker.io/library/python SHORT");
    check_id("docker://sha256:HEX", "config SHORT");
    check_id("sha256:HEX", "config SHORT");
    check_id("HEX", "config SHORT");
    check_id("cri-o://quay.io/a/b@sha256:HEX", "quay.io/a/b SHORT");
    check_id(
        "docker-pullable://a/b@sha512:HEX",
        "other docker-pullable://a/b@sha512:HEX".replace("HEX", digest("x").hex()).as_str(),
    );
    check_id("docker://a/b:1", "other docker://a/b:1");
    check_id("@sha256:HEX", &format!("other @sha256:{}", digest("x").hex()));
}

#[track_caller]
fn check_read(text: &str, expected: &Expect) {
    let mut cluster = Cluster::default();
    let mut shown = String::new();
    if let Err(error) = cluster.read(text.as_bytes()) {
        let _ = writeln!(shown, "{error}");
    }
    for pod in &cluster.pods {
        let work = pod.work();
        let _ = writeln!(
            shown,
            "{}/{} {} {} {} on {}",
            pod.namespace,
            pod.name,
            work.kind.word(),
            work.workflow.as_deref().unwrap_or("-"),
            work.job.as_deref().unwrap_or("-"),
            pod.node.as_deref().unwrap_or("-"),
        );
        for container in &pod.containers {
            let (role, state) = (container.role.word(), &container.state);
            let _ = writeln!(
                shown,
                "  {} {role} {} {:?} {state:?}",
                container.name, container.image, container.id
            );
        }
    }
    for node in &cluster.nodes {
        let platform = node.platform.as_ref().map_or("-".to_owned(), ToString::to_string);
        let _ = writeln!(shown, "{} {platform} {:?} {} images", node.name, node.runtime, node.images.len());
    }
    for (kind, count) in &cluster.passed_over {
        let _ = writeln!(shown, "{kind}: {count}");
    }
    expected.assert_eq(&shown);
}

const JOB: &str = r#"{"kind": "Pod", "metadata": {"name": "reana-run-job-1-abcde", "namespace": "default",
    "labels": {"job-name": "reana-run-job-1", "reana-run-job-workflow-uuid": "w-1"}},
  "spec": {"nodeName": "n1", "initContainers": [{"name": "krb5", "image": "krb"},
    {"name": "proxy", "image": "voms", "restartPolicy": "Always"}],
    "containers": [{"name": "job", "image": "env:1"}], "ephemeralContainers": [{"name": "look", "image": "busybox"}]},
  "status": {"containerStatuses": [{"name": "job", "image": "env:2", "imageID": "", "state": {"waiting": {"reason": "ErrImagePull"}}},
    {"name": "nobody", "image": "x", "imageID": "x"}], "initContainerStatuses": null,
    "ephemeralContainerStatuses": [{"name": "look", "state": {"running": {}}}]}}"#;

#[test]
fn pods_are_read_alone_and_in_lists() {
    check_read(
        JOB,
        &expect![[r#"
            default/reana-run-job-1-abcde job w-1 reana-run-job-1 on n1
              krb5 init krb None Unknown
              proxy sidecar voms None Unknown
              job main env:1 None Waiting(Some("ErrImagePull"))
              look ephemeral busybox None Running
        "#]],
    );
    let pod = r#"{"metadata": {"name": "p", "namespace": "n"}}"#;
    let node = r#"{"metadata": {"name": "k", "labels": {"kubernetes.io/os": "linux", "kubernetes.io/arch": "arm64"}},
        "status": {"nodeInfo": {"containerRuntimeVersion": "cri-o://1.30.1", "architecture": ""}, "images": [{"names": ["<none>@<none>", "a:1"]}, {"names": null}]}}"#;
    let typed = |kind: &str, object: &str| object.replacen('{', &format!(r#"{{"kind": "{kind}", "#), 1);
    let mixed = format!(
        "\u{feff}{{\"kind\": \"List\", \"items\": [{}, {}, {{\"kind\": \"Service\", \"spec\": 1}}]}}",
        typed("Pod", pod),
        typed("Node", node)
    );
    check_read(
        &mixed,
        &expect![[r#"
            n/p pod - - on -
            k linux/arm64 Some(Cri("cri-o")) 2 images
            Service: 1
        "#]],
    );
    let lists = format!(
        r#"{{"kind": "PodList", "items": [{pod}]}} {{"kind": "NodeList", "items": [{node}]}} {{"kind": "PodList", "items": null}}"#
    );
    check_read(
        &lists,
        &expect![[r#"
            n/p pod - - on -
            k linux/arm64 Some(Cri("cri-o")) 2 images
        "#]],
    );
}

#[test]
fn what_is_no_answer_is_refused() {
    check_read("", &expect!["it is empty\n"]);
    check_read("pods:\n", &expect!["line 1, column 1: expected value\n"]);
    check_read(
        r#"{"kind": "PodList", "items": [{"metadata": {"name": 1}}]}"#,
        &expect!["line 1, column 23: of a Pod: invalid type: integer `1`, expected a string\n"],
    );
    check_read(r#"{"kind": "Pod""#, &expect!["line 1, column 14: EOF while parsing an object\n"]);
    check_read("{}", &expect!["it has no `kind`: no answer of Kubernetes\n"]);
    check_read(r#"{"kind": "Table", "rows": []}"#, &expect!["it is a table, without what is needed\n"]);
    check_read(
        r#"{"kind": "Status", "message": "pods is forbidden"}"#,
        &expect!["Kubernetes says: pods is forbidden\n"],
    );
    let deep = (0..6).fold(JOB.to_owned(), |inner, _| format!(r#"{{"kind": "List", "items": [{inner}]}}"#));
    check_read(&deep, &expect!["its lists are nested too deep\n"]);
    let nested = "[".repeat(100_000);
    check_read(
        &format!(r#"{{"kind": "Pod", "spec": {nested}"#),
        &expect![[r#"
            line 1, column 100024: EOF while parsing a list
        "#]],
    );
}

#[test]
fn selectors() {
    let labels = BTreeMap::from([("app", "a"), ("tier", "web")].map(|(k, v)| (k.to_owned(), v.to_owned())));
    let takes = |text: &str| text.parse::<Selector>().map(|selector| selector.takes(&labels));
    for text in [
        "app=a",
        "app==a,tier=web",
        "app!=b",
        "other!=b",
        "app",
        "!other",
        "app in (b, a)",
        "other notin (a)",
    ] {
        assert_eq!(takes(text), Ok(true), "{text}");
    }
    for text in ["app=b", "app!=a", "other", "!app", "app in (b)", "app notin (a,b)", "app=a,tier=db"] {
        assert_eq!(takes(text), Ok(false), "{text}");
    }
    for text in ["", "a b", "app in a", "app between (a)", "a=b,,c=d", "=a", "a&b=c"] {
        assert!(takes(text).is_err(), "{text}");
    }
}

fn content(digests: &[&str], config: Option<&str>, platform: Option<Platform>) -> Content {
    Content {
        digests: digests.iter().map(|name| digest(name)).collect(),
        config: config.map(digest),
        platform,
    }
}

/// An index of two platforms, with their manifests and configs, and a manifest beside.
fn known() -> Known {
    let mut known = Known::default();
    let child = |name: &str, platform| Child { digest: digest(name), platform };
    known.add_index(digest("index"), vec![child("amd", amd64()), child("arm", arm64())]);
    known.add_manifest(digest("amd"), Some(digest("amd-config")));
    known.add_manifest(digest("amd-v2s2"), Some(digest("amd-config")));
    known.add_manifest(digest("arm"), Some(digest("arm-config")));
    known.add_manifest(digest("other"), Some(digest("other-config")));
    known
}

#[track_caller]
fn check_relation(one: &Content, other: &Content, known: &Known, expected: &str) {
    for (one, other) in [(one, other), (other, one)] {
        let found = format!("{:?}", one.relation(other, false, known));
        assert_eq!(found, expected, "{one:?} and {other:?}");
    }
}

#[test]
fn contents_are_compared_by_what_is_known_of_them() {
    let (none, known) = (Known::default(), known());
    let of = |names: &[&str]| content(names, None, amd64());
    let config = |name: &str| content(&[], Some(name), amd64());
    check_relation(&of(&["index"]), &of(&["index", "amd"]), &none, "Same");
    check_relation(&of(&["index"]), &of(&["amd"]), &none, "Different");
    check_relation(&of(&["index"]), &of(&["amd"]), &known, "Same");
    check_relation(&of(&["index"]), &of(&["amd-v2s2"]), &known, "Same");
    check_relation(&of(&["index"]), &of(&["other"]), &known, "Different");
    check_relation(&of(&["index"]), &of(&["nobody-knows"]), &known, "Different");
    check_relation(&of(&["index"]), &content(&["index"], None, arm64()), &none, "Platforms");
    check_relation(&of(&["amd"]), &content(&["arm"], None, arm64()), &known, "Platforms");
    check_relation(&of(&["amd"]), &content(&["arm"], None, arm64()), &none, "NotComparable");
    // An arm64 image on an amd64 node is another content there, of the same publication.
    check_relation(&of(&["amd"]), &of(&["arm"]), &known, "Platforms");
    check_relation(&config("amd-config"), &of(&["index"]), &known, "Same");
    check_relation(&config("amd-config"), &of(&["other"]), &known, "Different");
    check_relation(&config("amd-config"), &of(&["other"]), &none, "NotComparable");
    check_relation(&config("amd-config"), &config("amd-config"), &none, "Same");
    check_relation(&config("amd-config"), &config("other-config"), &none, "Different");
    check_relation(&content(&["index"], None, None), &content(&["amd"], None, None), &known, "Same");
    check_relation(&of(&[]), &of(&["index"]), &known, "NotComparable");
    assert_eq!(format!("{:?}", of(&[]).relation(&config("x"), true, &none)), "Same");
}

fn node(name: &str, runtime: &str, images: &[(&str, &[&str])]) -> Node {
    let image = |(tag, digests): &(&str, &[&str])| NodeImage {
        tags: tag.parse().into_iter().collect(),
        digests: digests.iter().map(|name| digest(name)).collect(),
    };
    Node {
        name: name.to_owned(),
        platform: amd64(),
        runtime: Runtime::read(runtime),
        images: images.iter().map(image).collect(),
    }
}

fn pod(name: &str, node: &str, image: &str, id: ImageId) -> Pod {
    let container = Container {
        name: "c".to_owned(),
        role: Role::Main,
        image: image.to_owned(),
        id,
        id_text: String::new(),
        state: State::Running,
        runtime: Some(Runtime::Docker),
    };
    Pod {
        namespace: "d".to_owned(),
        name: name.to_owned(),
        node: Some(node.to_owned()),
        containers: vec![container],
        ..Pod::default()
    }
}

fn named(name: &str) -> ImageId {
    ImageId::Named { repository: "r/a".to_owned(), digest: digest(name) }
}

#[track_caller]
fn check_drift(cluster: &Cluster, known: &Known, now: Now, expected: &Expect) {
    let image: Reference = "r/a:1".parse().expect("a reference");
    let report = judge(cluster, known, &BTreeMap::from([(image, now)]));
    let mut shown = String::new();
    for tag in &report.tags {
        let _ = writeln!(shown, "{} {}", tag.image, tag.verdict.word());
        for group in &tag.groups {
            let _ = writeln!(
                shown,
                "  {} current={:?} nodes={:?}",
                group.sightings.len(),
                group.is_current,
                group.nodes()
            );
        }
        for remedy in &tag.remedies {
            let _ = writeln!(shown, "  {remedy:?}");
        }
    }
    expected.assert_eq(&shown);
}

#[test]
fn two_nodes_with_two_contents() {
    let nodes = vec![
        node("a", "containerd://1", &[("r/a:1", &["april"])]),
        node("b", "docker://1", &[("r/a:1", &["may", "may-other"])]),
    ];
    let cluster = Cluster { nodes, pods: vec![pod("p", "a", "r/a:1", named("april"))], ..Cluster::default() };
    check_drift(
        &cluster,
        &Known::default(),
        Now::NotAsked,
        &expect![[r#"
            r/a:1 drift
              1 current=None nodes={"b"}
              2 current=None nodes={"a"}
        "#]],
    );
    check_drift(
        &cluster,
        &Known::default(),
        Now::Digest(digest("may")),
        &expect![[r#"
            r/a:1 drift
              1 current=Some(true) nodes={"b"}
              2 current=Some(false) nodes={"a"}
              Remove { node: "a", command: Some("crictl rmi docker.io/r/a:1") }
        "#]],
    );
}

#[test]
fn a_pod_that_was_left_behind_is_started_anew() {
    let nodes = vec![node("a", "containerd://1", &[("r/a:1", &["may"])])];
    let pods = vec![pod("old", "a", "r/a:1", named("april")), pod("new", "a", "r/a:1", named("may"))];
    check_drift(
        &Cluster { nodes, pods, ..Cluster::default() },
        &Known::default(),
        Now::Digest(digest("may")),
        &expect![[r#"
            r/a:1 drift
              1 current=Some(false) nodes={"a"}
              2 current=Some(true) nodes={"a"}
              Restart { namespace: "d", name: "old" }
        "#]],
    );
}

#[test]
fn one_content_that_the_registry_no_longer_has() {
    let nodes = vec![node("a", "docker://1", &[("r/a:1", &["april"])])];
    let cluster = Cluster { nodes, ..Cluster::default() };
    check_drift(
        &cluster,
        &Known::default(),
        Now::Digest(digest("may")),
        &expect![[r#"
            r/a:1 moved
              1 current=Some(false) nodes={"a"}
              Remove { node: "a", command: Some("docker rmi docker.io/r/a:1") }
        "#]],
    );
    check_drift(
        &cluster,
        &Known::default(),
        Now::Absent,
        &expect![[r#"
        r/a:1 same
          1 current=None nodes={"a"}
    "#]],
    );
}

#[test]
fn platforms_of_one_index_are_no_drift() {
    let mut arm = node("b", "containerd://1", &[("r/a:1", &["arm"])]);
    arm.platform = arm64();
    let nodes = vec![node("a", "containerd://1", &[("r/a:1", &["amd"])]), arm];
    let cluster = Cluster { nodes, ..Cluster::default() };
    check_drift(
        &cluster,
        &known(),
        Now::Digest(digest("index")),
        &expect![[r#"
        r/a:1 platforms
          2 current=Some(true) nodes={"a", "b"}
    "#]],
    );
    check_drift(
        &cluster,
        &Known::default(),
        Now::NotAsked,
        &expect![[r#"
        r/a:1 unknown
          1 current=None nodes={"a"}
          1 current=None nodes={"b"}
    "#]],
    );
}

#[test]
fn images_built_on_nodes() {
    let nodes = vec![node("a", "docker://1", &[("r/a:1", &[])])];
    let pods = vec![pod("p", "a", "r/a:1", ImageId::Config(digest("built")))];
    let mut cluster = Cluster { nodes, pods, ..Cluster::default() };
    check_drift(
        &cluster,
        &Known::default(),
        Now::NotAsked,
        &expect![[r#"
        r/a:1 same
          2 current=None nodes={"a"}
    "#]],
    );
    cluster.nodes.push(node("b", "docker://1", &[("r/a:1", &[])]));
    check_drift(
        &cluster,
        &Known::default(),
        Now::NotAsked,
        &expect![[r#"
            r/a:1 unknown
              2 current=None nodes={"a"}
              1 current=None nodes={"b"}
        "#]],
    );
    cluster.pods.push(pod("q", "b", "r/a:1", ImageId::Config(digest("built otherwise"))));
    check_drift(
        &cluster,
        &Known::default(),
        Now::NotAsked,
        &expect![[r#"
        r/a:1 drift
          2 current=None nodes={"a"}
          2 current=None nodes={"b"}
    "#]],
    );
}

#[test]
fn without_nodes_pods_alone_are_compared() {
    let pods = vec![
        pod("p", "a", "r/a:1", named("april")),
        pod("q", "b", "r/a:1", named("may")),
        pod("pinned", "b", &format!("r/a:1@{}", digest("april")), named("april")),
        pod("waiting", "b", "r/a:1", ImageId::None),
    ];
    check_drift(
        &Cluster { pods, ..Cluster::default() },
        &Known::default(),
        Now::Digest(digest("may")),
        &expect![[r#"
            r/a:1 drift
              1 current=Some(false) nodes={"a"}
              1 current=Some(true) nodes={"b"}
              Remove { node: "a", command: Some("docker rmi docker.io/r/a:1") }
        "#]],
    );
}

#[test]
fn registries_are_asked_about_what_differs_first() {
    let nodes = vec![
        node("a", "docker://1", &[("r/z:1", &["one"]), ("r/idle:1", &["idle"]), ("r/b:1", &["b"])]),
        node("b", "docker://1", &[("r/z:1", &["two"]), ("r/idle:1", &["idle"])]),
    ];
    let pods = vec![pod("p", "a", "r/b:1", named("b"))];
    let asked = questions(&Cluster { nodes, pods, ..Cluster::default() });
    let shown: Vec<String> =
        asked.iter().map(|question| format!("{} {}", question.image, question.digests.len())).collect();
    assert_eq!(shown, ["r/z:1 2", "r/b:1 1"]);
}
