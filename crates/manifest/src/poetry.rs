//! `[tool.poetry]`: dependencies in poetry's own notation, as poetry writes them into METADATA.

use std::str::FromStr as _;

use indexmap::IndexMap;
use pep440_rs::Version;
use reana_model::Origin;
use toml_edit::{Item, TableLike};

use crate::{Fact, Text, Unknown};

/// Why a dependency can't be said as PEP 508 has it.
pub(crate) const NO_COUNTERPART: &str = "poetry's notation has no counterpart among version specifiers here";

/// What the table declares.
#[derive(Clone, Debug)]
pub(crate) struct Poetry {
    pub(crate) python: Fact<Option<Text>>,
    pub(crate) requires: Fact<Vec<Text>>,
    pub(crate) extras: Fact<IndexMap<String, Vec<Text>>>,
}

/// One dependency, as PEP 508 has it, and whether it is for extras alone.
struct Dependency {
    name: String,
    text: Text,
    is_optional: bool,
}

/// Reads the table. `place` tells where an item stands.
pub(crate) fn read(table: &dyn TableLike, place: &dyn Fn(&Item) -> Origin) -> Poetry {
    let Some(listed) = table.get("dependencies").and_then(Item::as_table_like) else {
        return Poetry { python: Ok(None), requires: Ok(Vec::new()), extras: Ok(IndexMap::new()) };
    };
    let python = listed.get("python").map(|item| {
        let origin = place(item);
        let value = item.as_str().and_then(specifiers);
        let value = value.ok_or_else(|| unknown(&origin, "python", item.to_string().trim()))?;
        Ok(Text { value, origin })
    });
    let mut found: Fact<Vec<Dependency>> = Ok(Vec::new());
    for (name, item) in listed.iter().filter(|(name, _)| *name != "python") {
        let read = dependency(name, item, &place(item));
        found = found.and_then(|mut all| {
            all.extend(read?);
            Ok(all)
        });
    }
    let requires = found.as_ref().map_err(Clone::clone).map(|all| {
        let always = all.iter().filter(|dependency| !dependency.is_optional);
        always.map(|dependency| dependency.text.clone()).collect()
    });
    let extras = found.map(|all| extras(table, &all));
    Poetry { python: python.transpose(), requires, extras }
}

fn extras(table: &dyn TableLike, all: &[Dependency]) -> IndexMap<String, Vec<Text>> {
    let listed = table.get("extras").and_then(Item::as_table_like);
    let canonical = |name: &str| name.to_lowercase().replace(['_', '.'], "-");
    let group = |item: &Item| {
        let names = item.as_array().into_iter().flatten().filter_map(|name| name.as_str()).map(canonical);
        let names: Vec<String> = names.collect();
        let inside = all.iter().filter(|dependency| names.contains(&canonical(&dependency.name)));
        inside.map(|dependency| dependency.text.clone()).collect()
    };
    listed
        .into_iter()
        .flat_map(|listed| {
            listed.iter().map(|(name, item)| (name.to_owned(), group(item))).collect::<Vec<_>>()
        })
        .collect()
}

/// What a dependency declares, as PEP 508 has it; nothing where it has no counterpart there.
pub(crate) fn texts(name: &str, item: &Item) -> Vec<String> {
    let read = dependency(name, item, &Origin::whole("")).unwrap_or_default();
    read.into_iter().map(|dependency| dependency.text.value).collect()
}

/// A dependency; several where it is a list, each for other environments.
fn dependency(name: &str, item: &Item, origin: &Origin) -> Fact<Vec<Dependency>> {
    if let Some(text) = item.as_str() {
        let value = specifiers(text).ok_or_else(|| unknown(origin, name, text))?;
        let text = Text { value: format!("{name}{value}"), origin: origin.clone() };
        return Ok(vec![Dependency { name: name.to_owned(), text, is_optional: false }]);
    }
    if let Some(table) = item.as_table_like() {
        return one(name, table, origin).map(|found| vec![found]);
    }
    let array = item.as_array().into_iter().flatten().map(|value| Item::Value(value.clone()));
    let tables = item.as_array_of_tables().into_iter().flatten().map(|table| Item::Table(table.clone()));
    let each: Vec<Item> = array.chain(tables).collect();
    let nested = |item: &Item| item.as_array().is_some();
    if each.is_empty() || each.iter().any(nested) {
        return Err(unknown(origin, name, &item.to_string()));
    }
    let read = each.iter().map(|item| dependency(name, item, origin));
    Ok(read.collect::<Fact<Vec<_>>>()?.into_iter().flatten().collect())
}

fn one(name: &str, table: &dyn TableLike, origin: &Origin) -> Fact<Dependency> {
    let text = |key: &str| table.get(key).and_then(Item::as_str);
    let extras = table.get("extras").and_then(Item::as_array).into_iter().flatten();
    let extras: Vec<&str> = extras.filter_map(|extra| extra.as_str()).collect();
    let extras = if extras.is_empty() { String::new() } else { format!("[{}]", extras.join(",")) };
    let from = match (text("url"), text("git")) {
        (Some(url), _) => format!(" @ {url} "),
        (None, Some(git)) => {
            let rev = text("rev").or_else(|| text("tag")).or_else(|| text("branch"));
            format!(" @ git+{git}{} ", rev.map(|rev| format!("@{rev}")).unwrap_or_default())
        }
        (None, None) if table.contains_key("path") => {
            return Err(unknown(origin, name, &format!("path = {:?}", text("path").unwrap_or_default())));
        }
        (None, None) => {
            let given = text("version").unwrap_or("*");
            specifiers(given).ok_or_else(|| unknown(origin, name, given))?
        }
    };
    let mut markers = Vec::new();
    if let Some(python) = text("python").filter(|python| python.trim() != "*") {
        markers.push(python_marker(python).ok_or_else(|| unknown(origin, name, python))?);
    }
    if let Some(platform) = text("platform") {
        markers.push(format!("sys_platform == '{platform}'"));
    }
    markers.extend(text("markers").map(|marker| format!("({marker})")));
    let marker = if markers.is_empty() { String::new() } else { format!("; {}", markers.join(" and ")) };
    let is_optional = table.get("optional").and_then(Item::as_bool).unwrap_or(false);
    let text = Text { value: format!("{name}{extras}{from}{marker}"), origin: origin.clone() };
    Ok(Dependency { name: name.to_owned(), text, is_optional })
}

fn unknown(origin: &Origin, name: &str, text: &str) -> Unknown {
    Unknown {
        origin: origin.clone(),
        expression: format!("{name} = {text}"),
        reason: NO_COUNTERPART.to_owned(),
        plug_in: true,
    }
}

/// A constraint of poetry as PEP 440 has it; none where it can't be said so (`||`).
pub(crate) fn specifiers(text: &str) -> Option<String> {
    Some(
        clauses(text)?
            .iter()
            .map(|(operator, version)| format!("{operator}{version}"))
            .collect::<Vec<_>>()
            .join(","),
    )
}

fn python_marker(text: &str) -> Option<String> {
    let any: Option<Vec<String>> = text.split("||").map(one_python).collect();
    let any = any?;
    Some(match any.as_slice() {
        [only] => only.clone(),
        several => format!("({})", several.join(" or ")),
    })
}

fn one_python(text: &str) -> Option<String> {
    let clause = |(operator, version): &(String, String)| {
        let is_full = version.trim_end_matches(".*").matches('.').count() > 1;
        let key = if is_full { "python_full_version" } else { "python_version" };
        // `3` says as much as `3.0` to an installer that compares `3.12` with it
        let version = if version.contains('.') { version.clone() } else { format!("{version}.0") };
        format!("{key} {operator} '{version}'")
    };
    Some(clauses(text)?.iter().map(clause).collect::<Vec<_>>().join(" and "))
}

/// Operators with their versions, all of which must hold.
fn clauses(text: &str) -> Option<Vec<(String, String)>> {
    let mut found = Vec::new();
    if text.contains('|') {
        return None;
    }
    for part in text.split(',') {
        // `>=1.0 <2.0`: a space is as good as a comma, unless it stands behind an operator
        let mut words = part.split_whitespace().peekable();
        while let Some(word) = words.next() {
            let is_operator = word.chars().all(|c| "<>=!~^".contains(c));
            let word = if is_operator { format!("{word}{}", words.next()?) } else { word.to_owned() };
            found.extend(clause(&word)?);
        }
    }
    Some(found)
}

fn clause(word: &str) -> Option<Vec<(String, String)>> {
    let end = word.find(|c| !"<>=!~^".contains(c)).unwrap_or(word.len());
    let (operator, given) = word.split_at_checked(end)?;
    let given = given.trim_start_matches('v');
    let pair = |operator: &str, version: String| (operator.to_owned(), version);
    if given == "*" && matches!(operator, "" | "==" | ">=") {
        return Some(Vec::new());
    }
    if matches!(operator, "" | "=" | "==" | "!=") && given.ends_with(".*") {
        Version::from_str(given.trim_end_matches(".*")).ok()?;
        return Some(vec![pair(if operator == "!=" { "!=" } else { "==" }, given.to_owned())]);
    }
    let version = Version::from_str(given).ok()?;
    let release: Vec<u64> = version.release().to_vec();
    let below = |at: usize| -> Option<String> {
        let mut next: Vec<u64> = release.iter().take(at + 1).copied().collect();
        *next.last_mut()? = next.last()?.checked_add(1)?;
        next.resize(release.len().max(at + 1), 0);
        Some(next.iter().map(u64::to_string).collect::<Vec<_>>().join("."))
    };
    Some(match operator {
        "^" => {
            let first = release.iter().position(|part| *part != 0).unwrap_or(release.len().saturating_sub(1));
            vec![pair(">=", given.to_owned()), pair("<", below(first)?)]
        }
        "~" => vec![pair(">=", given.to_owned()), pair("<", below(usize::from(release.len() > 1))?)],
        "" | "=" => vec![pair("==", given.to_owned())],
        "==" | "!=" | ">=" | "<=" | ">" | "<" | "~=" | "===" => vec![pair(operator, given.to_owned())],
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: Option<&str>) {
        assert_eq!(specifiers(text).as_deref(), expected, "{text}");
    }

    #[test]
    fn constraints() {
        check("^1.2.3", Some(">=1.2.3,<2.0.0"));
        check("^1.2", Some(">=1.2,<2.0"));
        check("^1", Some(">=1,<2"));
        check("^0.2.3", Some(">=0.2.3,<0.3.0"));
        check("^0.0.3", Some(">=0.0.3,<0.0.4"));
        check("^0.0", Some(">=0.0,<0.1"));
        check("^0", Some(">=0,<1"));
        check("^1.0.0a1", Some(">=1.0.0a1,<2.0.0"));
        check("~1.2.3", Some(">=1.2.3,<1.3.0"));
        check("~1.2", Some(">=1.2,<1.3"));
        check("~1", Some(">=1,<2"));
        check("1.2.*", Some("==1.2.*"));
        check("*", Some(""));
        check("1.2.3", Some("==1.2.3"));
        check(">= 1.2, < 1.5", Some(">=1.2,<1.5"));
        check(">=1.2 <1.5", Some(">=1.2,<1.5"));
        check("~=1.4", Some("~=1.4"));
        check("!=1.3.*", Some("!=1.3.*"));
        check("^1 || ^3", None);
        check("^x", None);
        check("^", None);
        check("><1", None);
    }

    #[test]
    fn pythons() {
        let check = |text: &str, expected: &str| assert_eq!(python_marker(text).as_deref(), Some(expected));
        check("^3.7", "python_version >= '3.7' and python_version < '4.0'");
        check("<3.8", "python_version < '3.8'");
        check(">=3.6.1", "python_full_version >= '3.6.1'");
        check(
            "~2.7 || ^3.5",
            "(python_version >= '2.7' and python_version < '2.8' or python_version >= '3.5' and python_version < '4.0')",
        );
    }
}
