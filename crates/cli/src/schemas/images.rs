//! What is told about images: `tag`, `inputs`, `guard`, `labels`, `record`.

use serde_json::{Value, json};

use super::{flag, list, map, number, object, or_null, text, texts, word};

/// Why one component has no answer.
fn error() -> Value {
    or_null(&object([
        ("message", "", text()),
        ("hints", "What to do about it", texts()),
        ("exit", "The exit code that it stands for", number()),
    ]))
}

pub(super) fn tag() -> Value {
    let component = object([
        ("component", "", text()),
        ("style", "", word(&["describe", "release"])),
        ("tag", "Null where there is an error", or_null(&text())),
        ("git_tag", "The nearest one; null where git doesn't say it, as below", or_null(&text())),
        ("distance", "How many commits after it", or_null(&number())),
        ("exact", "Whether the commit is the tag's own", or_null(&flag())),
        ("dirty", "", or_null(&flag())),
        ("untracked", "How many files git doesn't know", or_null(&number())),
        ("modules", "What is in modules/: packages that are built here", or_null(&texts())),
        ("shallow", "Whether the history is cut off", flag()),
        ("description", "As git says it", or_null(&text())),
        ("commit", "Its whole name", or_null(&text())),
        ("error", "", error()),
    ]);
    object([("components", "", list(&component))])
}

pub(super) fn inputs() -> Value {
    let base = object([
        ("image", "As the Dockerfile names it", text()),
        ("line", "", number()),
        ("digest", "Null where it could not be had", or_null(&text())),
    ]);
    let unpinned = object([("line", "In the Dockerfile", number()), ("what", "", text())]);
    let known = object([
        ("component", "", text()),
        ("digest", "Null where there is an error", or_null(&text())),
        ("lines", "What the digest is taken over", texts()),
        ("bases", "The images that the build starts from", list(&base)),
        ("packages_from", "Null where none are installed", or_null(&word(&["lock", "resolve"]))),
        ("packages", "Pins", texts()),
        ("modules", "What is in modules/: packages that are built here", texts()),
        ("ignored", "Files that git ignores, and the build sees", texts()),
        ("untracked", "Files that git doesn't know, and the build sees", texts()),
        ("unpinned", "What the Dockerfile installs in no certain version", list(&unpinned)),
        ("notes", "", texts()),
        ("error", "", error()),
    ]);
    let unknown = object([
        ("component", "", text()),
        ("digest", "", json!({ "type": "null" })),
        ("error", "", error()),
    ]);
    let component = json!({ "anyOf": [known, unknown] });
    object([
        ("scheme", "Which way of making the digest this is", number()),
        ("components", "", list(&component)),
    ])
}

pub(super) fn guard() -> Value {
    let verdict = || word(&["same", "new", "unknown", "refused", "different"]);
    let moved = object([("name", "", text()), ("old", "", text()), ("new", "", text())]);
    let change = object([
        ("packages", "In other versions", list(&moved)),
        ("added", "", texts()),
        ("removed", "", texts()),
        ("bases", "Base images whose tags moved", list(&moved)),
        ("others", "Other kinds of inputs, in words", texts()),
    ]);
    let image = object([
        ("component", "", text()),
        ("image", "Its name with its tag; null where it has none", or_null(&text())),
        ("tag", "", or_null(&text())),
        ("inputs", "The inputs digest", or_null(&text())),
        ("verdict", "", verdict()),
        ("build", "Whether to build and push it", flag()),
        ("exit", "The exit code that the verdict stands for", number()),
        ("reasons", "", texts()),
        ("advice", "The ways out", texts()),
        ("change", "What is different, where that is known", or_null(&change)),
        ("warnings", "", texts()),
    ]);
    object([
        ("verdict", "The worst of the images'", verdict()),
        ("build", "Whether any image is to be built, and none stands against it", flag()),
        ("images", "", list(&image)),
    ])
}

pub(super) fn labels() -> Value {
    let image = object([
        ("component", "", text()),
        ("image", "", text()),
        ("labels", "By their names", map(&text())),
    ]);
    object([("images", "Those that have an answer", list(&image))])
}

pub(super) fn record() -> Value {
    let image = object([
        ("component", "", text()),
        ("image", "", text()),
        ("tag", "", text()),
        ("digest", "What the tag leads to", text()),
        ("children", "The images of an index", texts()),
        ("configs", "The images' configurations", texts()),
        ("scheme", "Which way of making the inputs digest this is", number()),
        ("inputs", "The inputs digest", text()),
        ("commit", "", or_null(&text())),
    ]);
    object([("images", "Those that were recorded", list(&image))])
}
