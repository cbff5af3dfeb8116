//! What is told about what runs, and about references in files: `running`, `images lint`, `images diff`.

use serde_json::{Value, json};

use super::{list, number, object, or_null, text, texts, word};

/// Pods with their containers, or with `--drift` the tags that stand for several contents.
pub(super) fn running() -> Value {
    json!({ "oneOf": [
        object([("pods", "By namespace and name", list(&pod()))]),
        object([
            ("verdict", "The worst of all tags", verdict()),
            ("tags", "By name", list(&tag())),
        ]),
    ] })
}

/// An object of which some fields may be missing.
fn with_optional<'f>(fields: impl IntoIterator<Item = super::Field<'f>>, optional: &[&str]) -> Value {
    let mut schema = object(fields);
    if let Some(required) = schema.get_mut("required").and_then(Value::as_array_mut) {
        required.retain(|name| !optional.iter().any(|optional| name == optional));
    }
    schema
}

fn pod() -> Value {
    with_optional(
        [
            ("namespace", "", text()),
            ("pod", "Its name", text()),
            ("kind", "What it is to REANA", word(&["job", "batch", "session", "dask", "pod"])),
            ("workflow_id", "", or_null(&text())),
            ("compute_backend", "Of a job", or_null(&text())),
            ("job_id", "", or_null(&text())),
            ("phase", "As Kubernetes says", or_null(&text())),
            ("containers", "Those that prepare it first", list(&container())),
            ("node", "With --nodes alone", or_null(&text())),
        ],
        &["node"],
    )
}

fn container() -> Value {
    let kinds = json!({ "enum": ["index", "manifest", "config", "unknown", null] });
    let states = json!({ "enum": ["waiting", "running", "terminated", null] });
    with_optional(
        [
            ("name", "", text()),
            ("role", "", word(&["main", "init", "sidecar", "ephemeral"])),
            ("image", "What was asked for", text()),
            ("digest", "The whole digest that the node reports", or_null(&text())),
            ("digest_kind", "What it is of", kinds),
            ("image_id", "As the node spells it", text()),
            ("state", "", states),
            ("reason", "Of that state", or_null(&text())),
            ("built", "With --trace alone: what it was built from", built()),
        ],
        &["built"],
    )
}

fn built() -> Value {
    or_null(&object([
        ("told_by", "", word(&["ledger", "labels"])),
        ("commit", "", or_null(&text())),
        ("version", "", or_null(&text())),
        ("source", "The repository", or_null(&text())),
        ("inputs", "The inputs digest", or_null(&text())),
        ("packages", "REANA's shared packages, `reana-db==0.7.0`", texts()),
    ]))
}

fn verdict() -> Value {
    word(&["same", "platforms", "unknown", "moved", "drift"])
}

fn tag() -> Value {
    let registry = object([
        ("answer", "", word(&["not asked", "digest", "absent", "no answer"])),
        ("digest", "What the registry has under the tag now", or_null(&text())),
        ("why", "Why there is no answer", or_null(&text())),
    ]);
    let pod = object([("namespace", "", text()), ("pod", "", text()), ("container", "", text())]);
    let seen = object([
        ("node", "Its name with --nodes, else a number for it", or_null(&text())),
        ("platform", "The node's", or_null(&text())),
        ("pod", "Null where the node's own list of images says so", or_null(&pod)),
    ]);
    let content = object([
        ("digests", "The digests that are the same content", texts()),
        ("configs", "And the digests of its configuration", texts()),
        ("current", "Whether the registry has it now", json!({ "type": ["boolean", "null"] })),
        ("seen", "Where", list(&seen)),
    ]);
    let remedy = json!({ "oneOf": [
        object([("node", "Where", text()), ("command", "What removes the image there", or_null(&text()))]),
        object([("namespace", "", text()), ("restart", "The pod to delete", text())]),
    ] });
    object([
        ("image", "The reference with its registry", text()),
        ("verdict", "", verdict()),
        ("registry", "", registry),
        ("contents", "What the tag stands for", list(&content)),
        ("remedies", "", list(&remedy)),
    ])
}

/// Of `images lint`.
pub(super) fn images_lint() -> Value {
    let place =
        || [("file", "", text()), ("line", "", number()), ("column", "", number()), ("path", "", text())];
    let finding = object(place().into_iter().chain([
        ("level", "", word(&["error", "warning"])),
        ("image", "The reference", text()),
        ("rule", "", word(&["no-tag", "word"])),
        ("pull_policy", "", json!({ "enum": ["Always", "IfNotPresent", null] })),
        ("message", "", text()),
    ]));
    let skipped = object(place().into_iter().chain([("text", "What is computed, and not judged", text())]));
    object([
        ("references", "How many were judged", number()),
        ("findings", "Those that move", list(&finding)),
        ("skipped", "", list(&skipped)),
    ])
}

/// Of `images diff`.
pub(super) fn images_diff() -> Value {
    let different = object([
        ("image", "The tag", text()),
        ("old", "Its digests in the one file", texts()),
        ("new", "Its digests in the other", texts()),
    ]);
    object([
        ("compared", "How many tags have digests in both files", number()),
        ("without_digest", "How many have none in one", number()),
        ("different", "", list(&different)),
    ])
}
