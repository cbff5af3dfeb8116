//! How each kind of bound is raised to a version.
//!
//! | present, new version V | becomes |
//! |---|---|
//! | `>=A`, `>A` | `>=V` |
//! | `~=A` | `~=V` at A's number of places |
//! | `==A`, `===A` | `==V`, `===V` |
//! | `==A.*` | V at A's places, `.*` |
//! | `<B` that admits V | unchanged |
//! | `<B` else | V cut at B's last place that isn't zero, plus one there, then zeros to B's length |
//! | `<=B`, V above B | `<=V` |
//! | `!=V` | refused |
//! | no lower bound | `>=V` put first |
//! | poetry's `^A` | `^V` |
//! | poetry's `~A` | `~V` |
//! | poetry's `A`, `=A`, `A.*` | as `==` |
//! | already at or above V | unchanged: nothing is ever lowered |

use std::ops::Range;
use std::str::FromStr as _;

use reana_model::{Version, VersionSpecifier};

use super::RefusalKind;
use super::lex::{Bound, Parts};

/// A change of some bytes of a requirement's text.
pub(super) type Piece = (Range<usize>, String);

/// What is to be changed in a requirement's text so that its minimum is the version, in the text's order.
pub(super) fn raise(text: &str, parts: &Parts, to: &Version) -> Result<Vec<Piece>, RefusalKind> {
    if parts.is_direct {
        return Err(RefusalKind::Direct);
    }
    let mut pieces: Vec<Piece> = Vec::new();
    let mut is_bounded_below = false;
    for bound in &parts.bounds {
        let part = |range: &Range<usize>| text.get(range.clone()).unwrap_or_default();
        let (operator, version) = (part(&bound.operator), part(&bound.version));
        is_bounded_below |= !matches!(operator, "<" | "<=" | "!=");
        pieces.extend(one(bound, operator, version, to)?);
    }
    if !is_bounded_below {
        pieces.insert(0, first(text, parts, to));
    }
    Ok(pieces)
}

/// `>=V` where there was no lower bound, with a comma in the style of those that are there.
fn first(text: &str, parts: &Parts, to: &Version) -> Piece {
    let Some(bound) = parts.bounds.first() else { return (parts.head..parts.head, format!(">={to}")) };
    let at = bound.operator.start;
    let next = parts.bounds.get(1).map_or(bound.version.end, |next| next.operator.start);
    let between = text.get(bound.version.end..next).unwrap_or_default();
    let comma = if between.ends_with(' ') { ", " } else { "," };
    (at..at, format!(">={to}{comma}"))
}

fn one(bound: &Bound, operator: &str, version: &str, to: &Version) -> Result<Vec<Piece>, RefusalKind> {
    let refused = || RefusalKind::NotUnderstood(format!("{operator}{version}"));
    let set = |new: String| vec![(bound.version.clone(), new)];
    let nothing = Ok(Vec::new());
    let star = version.strip_suffix(".*");
    let old = Version::from_str(star.unwrap_or(version)).map_err(|_| refused())?;
    Ok(match (operator, star) {
        (">=" | "===", _) | ("==" | "=" | "" | "^", None) if old >= *to => return nothing,
        (">=" | "===", _) | ("==" | "=" | "" | "^", None) => set(to.to_string()),
        // `~1` is all of 1, and `~1.2` all of 1.2: with other places it would mean something else.
        ("~", None) if old.release().len() < 2 => return Err(refused()),
        ("~", None) if old >= *to => return nothing,
        ("~", None) => set(at_places(to, to.release().len().max(2)).to_string()),
        (">", _) if old >= *to => return nothing,
        (">", _) => vec![(bound.operator.clone(), ">=".to_owned()), (bound.version.clone(), to.to_string())],
        ("~=", _) => {
            let places = old.release().len();
            let new = at_places(to, places);
            if places < 2 {
                return Err(refused());
            }
            if new <= old {
                return nothing;
            }
            set(new.to_string())
        }
        ("==" | "=" | "", Some(_)) => {
            let new = Version::new(release(to, old.release().len())).with_epoch(to.epoch());
            if new <= old {
                return nothing;
            }
            set(format!("{new}.*"))
        }
        ("<", _) if admits("<", &old, to) => return nothing,
        ("<", _) => set(above(&old, to).ok_or_else(refused)?.to_string()),
        ("<=", _) if old >= *to => return nothing,
        ("<=", _) => set(to.to_string()),
        ("!=", _) => {
            let excluded = VersionSpecifier::from_str(&format!("!={version}")).map_err(|_| refused())?;
            if excluded.contains(to) {
                return nothing;
            }
            return Err(RefusalKind::Excluded(format!("!={version}")));
        }
        _ => return Err(refused()),
    })
}

/// Whether the bound admits a version, by PEP 440: `<1.0` admits no pre-release of 1.0.
fn admits(operator: &str, bound: &Version, version: &Version) -> bool {
    VersionSpecifier::from_str(&format!("{operator}{bound}"))
        .is_ok_and(|specifier| specifier.contains(version))
}

/// The first so many places of a version, zeros where it has fewer.
fn release(version: &Version, places: usize) -> Vec<u64> {
    version.release().iter().copied().chain(std::iter::repeat(0)).take(places).collect()
}

/// A version at so many places: what is cut off takes the suffix (`a1`, `.post1`) with it.
fn at_places(version: &Version, places: usize) -> Version {
    if version.release().len() > places {
        return Version::new(release(version, places)).with_epoch(version.epoch());
    }
    version.clone().with_release(release(version, places))
}

/// The upper bound like `old` that admits `to`; none where no number is large enough.
fn above(old: &Version, to: &Version) -> Option<Version> {
    let places = old.release().len();
    let last = old.release().iter().rposition(|place| *place != 0).unwrap_or(0);
    let mut new = release(to, last + 1);
    let place = new.last_mut()?;
    *place = place.checked_add(1)?;
    new.resize(places.max(last + 1), 0);
    Some(Version::new(new).with_epoch(to.epoch()))
}
