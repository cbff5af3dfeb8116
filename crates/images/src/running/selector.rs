//! Label selectors, as kubectl takes them: `a=b,c!=d,e,!f,g in (h,i),j notin (k)`.

use std::collections::BTreeMap;
use std::str::FromStr;

/// Which pods are meant; all conditions must hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selector(Vec<Condition>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Condition {
    label: String,
    /// One of these; any where it is `None`.
    values: Option<Vec<String>>,
    is_not: bool,
}

/// Why a text is no selector.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no label selector: `label=value`, `label!=value`, `label`, `!label`, `label in (a,b)` are")]
pub struct SelectorError(pub String);

impl Selector {
    /// Whether the labels fulfil all conditions. As in Kubernetes, what must not have a value may lack the label.
    #[must_use]
    pub fn takes(&self, labels: &BTreeMap<String, String>) -> bool {
        self.0.iter().all(|condition| {
            let holds = match (&condition.values, labels.get(&condition.label)) {
                (None, found) => found.is_some(),
                (Some(values), Some(found)) => values.contains(found),
                (Some(_), None) => false,
            };
            holds != condition.is_not
        })
    }
}

impl FromStr for Selector {
    type Err = SelectorError;

    fn from_str(text: &str) -> Result<Self, SelectorError> {
        let conditions = parts(text).into_iter().map(|part| condition(&part));
        conditions.collect::<Option<Vec<_>>>().map(Self).ok_or_else(|| SelectorError(text.to_owned()))
    }
}

/// Parts between commas that are in no brackets.
fn parts(text: &str) -> Vec<String> {
    let (mut parts, mut part, mut is_inside) = (Vec::new(), String::new(), false);
    for c in text.chars() {
        is_inside = (is_inside || c == '(') && c != ')';
        if c == ',' && !is_inside {
            parts.push(std::mem::take(&mut part));
        } else {
            part.push(c);
        }
    }
    parts.push(part);
    parts
}

fn condition(part: &str) -> Option<Condition> {
    let part = part.trim();
    let one = |label: &str, value: &str, is_not: bool| {
        let values = Some(vec![value.trim().to_owned()]);
        Some(Condition { label: label_of(label)?, values, is_not })
    };
    if let Some((label, list)) = part.strip_suffix(')').and_then(|part| part.split_once('(')) {
        let values = Some(list.split(',').map(|value| value.trim().to_owned()).collect());
        let mut words = label.split_whitespace();
        return match (words.next(), words.next(), words.next()) {
            (Some(label), Some("in"), None) => {
                Some(Condition { label: label_of(label)?, values, is_not: false })
            }
            (Some(label), Some("notin"), None) => {
                Some(Condition { label: label_of(label)?, values, is_not: true })
            }
            _ => None,
        };
    }
    match (part.split_once("!="), part.split_once('=')) {
        (Some((label, value)), _) => one(label, value, true),
        (None, Some((label, value))) => one(label, value.strip_prefix('=').unwrap_or(value), false),
        (None, None) => {
            let (label, is_not) = part.strip_prefix('!').map_or((part, false), |label| (label, true));
            Some(Condition { label: label_of(label)?, values: None, is_not })
        }
    }
}

fn label_of(text: &str) -> Option<String> {
    let text = text.trim();
    let is_label = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'/');
    (!text.is_empty() && text.bytes().all(is_label)).then(|| text.to_owned())
}
