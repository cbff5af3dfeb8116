//! What an index says of whole projects (PEP 792), as notes on the packages of a lock.

use std::collections::{BTreeMap, BTreeSet};

use reana_index::wire::ProjectStatus;
use reana_model::{PackageName, Pin, PinSource};

/// A note for each package that is no longer looked after, or that the index warns of.
pub(crate) fn notes(pins: &[Pin], statuses: &BTreeMap<PackageName, ProjectStatus>) -> Vec<String> {
    let of_index = |pin: &&Pin| matches!(pin.source, PinSource::Index | PinSource::Arbitrary(_));
    let names: BTreeSet<&PackageName> = pins.iter().filter(of_index).map(|pin| &pin.name).collect();
    names.into_iter().filter_map(|name| note(name, statuses.get(name)?)).collect()
}

fn note(name: &PackageName, status: &ProjectStatus) -> Option<String> {
    let means = match status.status.as_str() {
        "active" => return None,
        "archived" => "is archived: no further versions are to be expected".to_owned(),
        "quarantined" => "is quarantined by the index: it may do harm".to_owned(),
        "deprecated" => "is deprecated: its maintainers advise against it".to_owned(),
        other => format!("has the status `{other}`"),
    };
    let reason = status.reason.trim().replace(char::is_control, " ");
    Some(if reason.is_empty() { format!("{name} {means}") } else { format!("{name} {means} ({reason})") })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statuses_in_words() {
        let check = |status: &str, reason: &str, expected: Option<&str>| {
            let status = ProjectStatus { status: status.to_owned(), reason: reason.to_owned() };
            let name = "a".parse().expect("a name");
            assert_eq!(note(&name, &status).as_deref(), expected);
        };
        check("active", "", None);
        check("archived", "use\nb", Some("a is archived: no further versions are to be expected (use b)"));
        check("quarantined", "", Some("a is quarantined by the index: it may do harm"));
        check("deprecated", "", Some("a is deprecated: its maintainers advise against it"));
        check("odd", "", Some("a has the status `odd`"));
    }
}
