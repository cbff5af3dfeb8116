//! What is told about fleets: `fleet`, `bump`.

use serde_json::Value;

use super::locks::line;
use super::{flag, list, number, object, or_null, text, texts};

pub(super) fn fleet() -> Value {
    let git = object([
        ("branch", "Null where none is checked out", or_null(&text())),
        ("commit", "Null where there is none", or_null(&text())),
        ("dirty", "Whether anything is not committed", flag()),
        ("description", "As `git describe` says", or_null(&text())),
        ("shallow", "Whether the history is cut off", flag()),
    ]);
    let lock = object([
        ("path", "", text()),
        ("pins", "How many", number()),
        ("committed", "When it was committed last (RFC 3339); null where never", or_null(&text())),
        ("behind", "How many pins have a newer version; null where not known", or_null(&number())),
    ]);
    let requires = object([
        ("package", "", text()),
        ("extras", "", texts()),
        ("bounds", "Null for a URL", or_null(&text())),
        ("requirement", "As it is written", text()),
        ("for_extra", "The extra that it belongs to", or_null(&text())),
        ("file", "", text()),
        ("line", "", number()),
    ]);
    let repository = object([
        ("name", "", text()),
        ("folder", "", text()),
        ("package", "Its Python package", or_null(&text())),
        ("version", "Null where the manifest doesn't say it", or_null(&text())),
        ("shared", "Whether others require its package", flag()),
        ("locked", "", flag()),
        ("image", "Whether it has a Dockerfile", flag()),
        ("release_step", "Its place in the order of releases, from 1; 0 where it has none", number()),
        ("git", "Null where it is no git repository", or_null(&git)),
        ("lock", "", or_null(&lock)),
        ("requires", "What it requires of the fleet's packages", list(&requires)),
    ]);
    object([
        ("order", "The order of releases: steps of repositories", list(&texts())),
        ("cycles", "Repositories that require one another", list(&texts())),
        ("shared", "The shared packages", texts()),
        ("repositories", "", list(&repository)),
    ])
}

pub(super) fn bump() -> Value {
    let held = object([
        ("version", "", text()),
        ("repository", "The one that can't take it", text()),
        ("lines", "Those in the way", list(&line())),
        ("why", "The whole explanation", text()),
    ]);
    let package = object([
        ("package", "", text()),
        ("version", "Null where there is nothing newer that all can take", or_null(&text())),
        ("held_back", "Newer versions and who holds them back", list(&held)),
    ]);
    let raised = object([
        ("file", "", text()),
        ("line", "", number()),
        ("before", "The requirement", text()),
        ("after", "", text()),
    ]);
    let repository = object([
        ("name", "", text()),
        ("files", "What changes", texts()),
        ("raised", "", list(&raised)),
        ("lock_changes", "One line for each package; null where it has no lock", or_null(&texts())),
        ("new_in_lock", "Packages that the lock didn't have; null where it has no lock", or_null(&texts())),
        ("commit", "Null where none was made", or_null(&text())),
    ]);
    object([
        ("packages", "", list(&package)),
        ("repositories", "Those that change", list(&repository)),
        ("release_order", "In which order they are to be released, in steps", list(&texts())),
        ("written", "Whether files were changed", flag()),
    ])
}
