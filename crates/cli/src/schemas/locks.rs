//! What is told about locks and manifests: `compile`, `diff`, `why`, `tree`, `metadata`.

use serde_json::{Value, json};

use super::{flag, list, map, number, object, or_null, text, texts, word};

pub(super) fn compile() -> Value {
    object([("locks", "In the order of their components", list(&lock()))])
}

/// Of `check`, and of `compile --check`.
pub(super) fn check() -> Value {
    let failure = object([
        ("exit", "The exit code that it is worth", number()),
        ("message", "What happened, where and why", text()),
        ("hints", "What to do about it", texts()),
    ]);
    object([
        ("exit", "The exit code", number()),
        ("findings", "In the order of components, files and lines", list(&finding())),
        ("failures", "Why something could not be checked", list(&failure)),
        ("locks", "What would be written now, where that is known", list(&lock())),
    ])
}

pub(super) fn refresh_hashes() -> Value {
    let pin = object([
        ("name", "The package", text()),
        ("version", "Its version", or_null(&text())),
        ("hashes", "The hashes that are added, `sha256:` and 64 hexadecimal digits", texts()),
    ]);
    let lock = object([
        ("name", "The component; empty for files", text()),
        ("lock", "The lock's path", text()),
        ("added", "By pin", list(&pin)),
    ]);
    object([
        ("written", "Whether files were changed", flag()),
        ("findings", "Why nothing is added, where something is wrong", list(&finding())),
        ("locks", "What is added", list(&lock)),
    ])
}

/// What a check found; docs/findings.md explains the codes.
fn finding() -> Value {
    object([
        ("code", "`L001`", text()),
        ("name", "The same in words", text()),
        ("grade", "", word(&["error", "warning", "note"])),
        ("file", "Where", text()),
        ("line", "From 1; null where it is about the whole file", or_null(&number())),
        ("message", "What was found", text()),
    ])
}

fn lock() -> Value {
    object([
        ("name", "The component; empty for files", text()),
        ("lock", "The lock's path; `-` is stdout", text()),
        ("targets", "What it is for, most important first", list(&target())),
        ("changed", "Whether it is other than what was there", flag()),
        ("stale", "Why what was there is not up to date; empty where it is", texts()),
        ("changes", "How its pins differ from those that were there", list(&change())),
        ("pins", "What it pins", list(&pin(true))),
        ("sdists", "What an installer would build", list(&sdist())),
        ("build_requirements", "The lock of what builds need, where one is asked for", or_null(&build())),
        ("explanations", "Answers to --explain, one for each target", list(&explanation())),
        ("notes", "What is worth knowing", texts()),
        ("warnings", "What pip will refuse", texts()),
    ])
}

fn target() -> Value {
    object([
        ("python", "Its full version: `3.12.11`", text()),
        ("platform", "", word(&["linux/amd64", "linux/arm64"])),
    ])
}

/// A change of one package.
fn change() -> Value {
    let kind = |kind: &str| ("kind", "", json!({ "const": kind }));
    let name = || ("name", "The package", text());
    let version = || ("version", "The version, or the URL that decides it", text());
    let moved = [("from", "Before", text()), ("to", "After", text())];
    let step = ("step", "How far apart they are", word(&["major", "minor", "patch", "other"]));
    let [from, to] = moved.clone();
    let [marker_from, marker_to] = moved;
    let hashes = [("added", "How many are new", number()), ("removed", "How many are gone", number())];
    let [added, removed] = hashes;
    json!({ "oneOf": [
        object([name(), kind("added"), version()]),
        object([name(), kind("removed"), version()]),
        object([name(), kind("moved"), from, to, step]),
        object([name(), kind("marker"), marker_from, marker_to]),
        object([
            name(),
            kind("extras"),
            ("added", "The extras that are new", texts()),
            ("removed", "The extras that are gone", texts()),
        ]),
        object([name(), kind("hashes"), added, removed]),
        object([name(), kind("annotation")]),
    ] })
}

/// A pin; `whole` where its extras and its grade are told.
fn pin(whole: bool) -> Value {
    let grades = [
        "wheel",
        "wheel-unchecked",
        "static",
        "pyproject",
        "evaluated",
        "evaluated-disagrees",
        "egg-info",
        "built",
    ];
    let mut fields = vec![("name", "The package", text()), ("version", "", text())];
    if whole {
        fields.push(("extras", "", texts()));
    }
    fields.push(("marker", "When it is installed; null where always", or_null(&text())));
    fields.push(("hashes", "The files that may be installed: `sha256:...`", texts()));
    if whole {
        fields.push(("grade", "How well its requirements are known", word(&grades)));
    }
    fields.push(("via", "Who wants it, as its annotation says", texts()));
    object(fields)
}

fn sdist() -> Value {
    object([
        ("name", "The package", text()),
        ("version", "", text()),
        ("file", "The archive or folder", text()),
        ("targets", "Where it would be built", texts()),
    ])
}

fn build() -> Value {
    object([
        ("file", "Its path", text()),
        ("changed", "Whether it is other than what was there", flag()),
        ("stale", "Why what was there is not up to date; empty where it is", texts()),
        ("changes", "", list(&change())),
        ("pins", "", list(&pin(false))),
        ("notes", "", texts()),
    ])
}

fn explanation() -> Value {
    let reason = object([("by", "Who", text()), ("requirement", "What is required", text())]);
    let newer = object([("version", "", text()), ("held_back_by", "Who doesn't admit it", text())]);
    object([
        ("name", "The package", text()),
        ("version", "The chosen one", text()),
        ("target", "", text()),
        ("required_by", "", list(&reason)),
        ("newer", "Newer versions, and why none of them", list(&newer)),
    ])
}

pub(super) fn diff() -> Value {
    let pair = object([
        ("component", "Empty where the locks were named as files", text()),
        ("old", "The lock before; null where there was none", or_null(&text())),
        ("new", "The lock after; null where there is none", or_null(&text())),
        ("different", "", flag()),
        ("changes", "", list(&change())),
    ]);
    object([("locks", "", list(&pair))])
}

/// A line of a manifest or lock.
pub(super) fn line() -> Value {
    object([
        ("file", "", text()),
        ("line", "Counted from 1; 0 where there are none", number()),
        ("requirement", "As it is written", text()),
    ])
}

fn graph_pin() -> Value {
    object([
        ("version", "The version, or the URL or path that decides it", text()),
        ("extras", "", texts()),
        ("marker", "When it is installed; null where always", or_null(&text())),
        ("line", "Its line in the lock", number()),
    ])
}

pub(super) fn why() -> Value {
    let from = object([("manifest", "As the lock names it", text()), ("lines", "", list(&line()))]);
    let chain = object([
        ("from", "Who wants the first package", list(&from)),
        ("packages", "The way, with the package itself at its end", texts()),
    ]);
    let limit = object([("constraints", "The file", text()), ("lines", "", list(&line()))]);
    let lock = object([
        ("component", "Empty where the lock was named as a file", text()),
        ("lock", "Its path", text()),
        ("pins", "", list(&graph_pin())),
        ("chains", "The shortest over each package that wants it", list(&chain)),
        ("dependents", "The packages that want it", texts()),
        ("circular", "Those of them that are there for it alone", texts()),
        ("limits", "Constraints files that name it", list(&limit)),
    ]);
    object([("name", "The package", text()), ("locks", "Those that have it", list(&lock))])
}

pub(super) fn tree() -> Value {
    let root = object([
        ("manifest", "Null where the lock doesn't say who wants these", or_null(&text())),
        ("packages", "", texts()),
    ]);
    let package = object([
        ("name", "", text()),
        ("pins", "None where the lock doesn't pin it", list(&graph_pin())),
        ("manifests", "Those that want it", texts()),
        ("dependencies", "The packages that it wants", texts()),
        ("dependents", "The packages that want it", texts()),
    ]);
    let lock = object([
        ("component", "Empty where the lock was named as a file", text()),
        ("lock", "Its path", text()),
        ("roots", "", list(&root)),
        ("packages", "", list(&package)),
    ]);
    object([("locks", "", list(&lock))])
}

pub(super) fn metadata() -> Value {
    let known = || or_null(&text());
    let places = object([
        ("name", "", known()),
        ("version", "", known()),
        ("python_requires", "", known()),
        ("install_requires", "", texts()),
        ("extras_require", "", map(&texts())),
    ]);
    object([
        ("name", "Null where it is not declared, as below", known()),
        ("version", "", known()),
        ("python_requires", "", known()),
        ("install_requires", "", texts()),
        ("extras_require", "The requirements of each extra", map(&texts())),
        ("origins", "Where each of these stands, as `file:line`", places),
    ])
}
