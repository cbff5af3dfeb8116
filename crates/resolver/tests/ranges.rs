//! Specifiers as ranges: membership is what PEP 440 says, as Python's packaging reads it, for every version.

use std::str::FromStr;

use proptest::prelude::*;
use reana_model::{Version, VersionSpecifier, VersionSpecifiers};
use reana_resolver::ranges::{Point, bounds_above, consents, of, of_all, pins};

/// PEP 440's words, one operator after the other, without any interval: the oracle.
fn accepts(specifier: &str, version: &Version) -> bool {
    let at = specifier.find(|c: char| !"<>=!~".contains(c)).expect("a version");
    let (operator, text) = specifier.split_at(at);
    let wildcard = text.strip_suffix(".*");
    let wanted = Version::from_str(wildcard.unwrap_or(text)).expect("a valid version");
    let public = version.clone().without_local();
    let base = |version: &Version| version.only_release().with_epoch(version.epoch());
    let same_base = base(version) == base(&wanted);
    let in_prefix = |length: usize| {
        let at = |release: &[u64], index: usize| release.get(index).copied().unwrap_or(0);
        version.epoch() == wanted.epoch()
            && (0..length).all(|index| at(version.release(), index) == at(wanted.release(), index))
    };
    match operator {
        "==" if wildcard.is_some() => in_prefix(wanted.release().len()),
        "!=" if wildcard.is_some() => !in_prefix(wanted.release().len()),
        "==" if wanted.is_local() => *version == wanted,
        "!=" if wanted.is_local() => *version != wanted,
        "==" => public == wanted,
        "!=" => public != wanted,
        ">=" => *version >= wanted,
        "<=" => public <= wanted,
        "~=" => *version >= wanted && in_prefix(wanted.release().len() - 1),
        "<" => {
            let of_base = !wanted.any_prerelease() && version.any_prerelease() && same_base;
            *version < wanted && !of_base
        }
        ">" => {
            let own_post = !wanted.is_post() && version.is_post() && same_base;
            *version > wanted && !own_post && !(version.is_local() && same_base)
        }
        other => panic!("{other}"),
    }
}

/// What no finite set of intervals can tell apart: post-releases and local builds of pre-releases and local
/// builds of post-releases, under `>`. Nobody makes them.
fn is_odd(specifier: &str, version: &Version) -> bool {
    let is_greater = specifier.starts_with('>') && !specifier.starts_with(">=");
    let odd_post = version.is_post() && version.pre().is_some();
    let odd_local = version.is_local() && (version.any_prerelease() || version.is_post());
    is_greater && (odd_post || odd_local)
}

fn version() -> impl Strategy<Value = String> {
    let release = prop::collection::vec(0_u64..3, 1..4)
        .prop_map(|parts| parts.iter().map(ToString::to_string).collect::<Vec<_>>().join("."));
    let epoch = prop_oneof![4 => Just(""), 1 => Just("1!")];
    let pre = prop_oneof![3 => Just(""), 1 => Just("a1"), 1 => Just("b0"), 1 => Just("rc2")];
    let post = prop_oneof![3 => Just(""), 1 => Just(".post0"), 1 => Just(".post2")];
    let dev = prop_oneof![3 => Just(""), 1 => Just(".dev0"), 1 => Just(".dev3")];
    (epoch, release, pre, post, dev)
        .prop_map(|(epoch, release, pre, post, dev)| format!("{epoch}{release}{pre}{post}{dev}"))
}

fn candidate() -> impl Strategy<Value = Version> {
    let local = prop_oneof![2 => Just(""), 1 => Just("+cpu"), 1 => Just("+1.x")];
    (version(), local).prop_map(|(version, local)| {
        Version::from_str(&format!("{version}{local}")).expect("a valid version")
    })
}

fn specifier() -> impl Strategy<Value = String> {
    let ordered = (prop::sample::select(vec!["==", "!=", ">=", "<=", ">", "<"]), version())
        .prop_map(|(operator, version)| format!("{operator}{version}"));
    let local = (prop::sample::select(vec!["==", "!="]), version())
        .prop_map(|(operator, version)| format!("{operator}{version}+cpu"));
    let wildcard = (prop::sample::select(vec!["==", "!="]), prop::collection::vec(0_u64..3, 1..4)).prop_map(
        |(operator, parts)| {
            let parts: Vec<String> = parts.iter().map(ToString::to_string).collect();
            format!("{operator}{}.*", parts.join("."))
        },
    );
    let compatible = version()
        .prop_filter("`~=` needs two numbers", |version| {
            Version::from_str(version).is_ok_and(|version| version.release().len() > 1)
        })
        .prop_map(|version| format!("~={version}"));
    prop_oneof![4 => ordered, 1 => local, 1 => wildcard, 1 => compatible]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn membership_is_the_specifiers(specifier in specifier(), version in candidate()) {
        prop_assume!(!is_odd(&specifier, &version));
        let parsed = VersionSpecifier::from_str(&specifier).expect("a valid specifier");
        prop_assert_eq!(of(&parsed).contains(&Point::on(version.clone())), accepts(&specifier, &version));
    }

    #[test]
    fn several_specifiers_are_all_held(
        specifiers in prop::collection::vec(specifier(), 0..4),
        version in candidate(),
    ) {
        prop_assume!(!specifiers.iter().any(|specifier| is_odd(specifier, &version)));
        let parsed = VersionSpecifiers::from_str(&specifiers.join(",")).expect("valid specifiers");
        let expected = specifiers.iter().all(|specifier| accepts(specifier, &version));
        prop_assert_eq!(of_all(&parsed).contains(&Point::on(version)), expected);
    }

    #[test]
    fn points_are_totally_ordered(a in candidate(), b in candidate(), c in specifier()) {
        let c = of(&VersionSpecifier::from_str(&c).expect("a valid specifier"));
        let edges = c.iter().flat_map(|(low, high)| [low.clone(), high.clone()]);
        for edge in edges {
            let (std::ops::Bound::Included(edge) | std::ops::Bound::Excluded(edge)) = edge else { continue };
            let (a, b) = (Point::on(a.clone()), Point::on(b.clone()));
            prop_assert_eq!(a.cmp(&edge), edge.cmp(&a).reverse());
            if a <= edge && edge <= b {
                prop_assert!(a <= b);
            }
        }
    }
}

fn check(specifier: &str, inside: &[&str], outside: &[&str]) {
    let ranges = of_all(&VersionSpecifiers::from_str(specifier).expect("valid specifiers"));
    for (versions, expected) in [(inside, true), (outside, false)] {
        for version in versions {
            let point = Point::on(Version::from_str(version).expect("a valid version"));
            assert_eq!(ranges.contains(&point), expected, "{version} in {specifier}");
        }
    }
}

#[test]
fn corners() {
    check("==1.0", &["1.0", "1.0.0", "1.0+cpu"], &["1.0.post1", "1.0rc1", "1!1.0"]);
    check("===1.0", &["1.0"], &["1.0+cpu", "1.0.post1"]);
    check("!=1.0", &["1.0.post1"], &["1.0", "1.0+cpu"]);
    check("<=1.0", &["1.0+cpu", "1.0a1"], &["1.0.post1"]);
    check("<1.0", &["0.9", "0.9.post3"], &["1.0a1", "1.0.dev1", "1.0"]);
    check("<1.0a5", &["1.0a1", "1.0.dev1"], &["1.0a5", "1.0"]);
    check("<1.0.post1", &["1.0", "1.0+cpu", "1.0.post0"], &["1.0.post1", "1.0a1", "1.0.post0.dev1"]);
    check("<1.0.post20240101", &["1.0.post20231231", "1.0.post64"], &["1.0.post64.dev1", "1.0rc1"]);
    check(">1.0a1", &["1.0a2", "1.0", "1.1"], &["1.0a1.post1", "1.0.post1", "1.0+cpu"]);
    check(">1.0", &["1.0.1"], &["1.0", "1.0+cpu", "1.0.post1"]);
    check(">1.0.post1", &["1.0.post2"], &["1.0.post1", "1.0.post1+cpu"]);
    check("~=2.2.post3", &["2.2.post3", "2.9"], &["2.2", "3.0a1", "3.0"]);
    check("==1.0.1.*", &["1.0.1", "1.0.1.dev1", "1.0.1.5"], &["1", "1.0", "1.0.2"]);
    check(">=0.95.0a21,<0.96.0", &["0.95.0a21", "0.95.0"], &["0.95.0a20", "0.96.0a1", "0.96.0"]);
    check("==18446744073709551615.*", &["18446744073709551615.1"], &["1.0"]);
}

#[test]
fn kinds() {
    let read = |text: &str| VersionSpecifiers::from_str(text).expect("valid specifiers");
    assert!(consents(&read(">=1.0a1")) && consents(&read("<2.0.dev1")) && !consents(&read("!=1.0a1,>1")));
    assert!(pins(&read("==1.0")) && pins(&read("===1.0")) && !pins(&read("==1.*")) && !pins(&read("<=1.0")));
    assert!(bounds_above(&read("==1.*")) && bounds_above(&read("~=1.0")) && !bounds_above(&read(">1,==2")));
}

/// `fixtures/specifiers.txt` holds what Python's packaging answers.
#[test]
fn membership_is_what_packaging_says() {
    let table = include_str!("../../../fixtures/specifiers.txt");
    let mut lines = table.lines().filter(|line| !line.starts_with('#'));
    let versions = lines.next().expect("a line of versions").split(' ');
    let versions: Vec<Version> =
        versions.map(|text| Version::from_str(text).expect("a valid version")).collect();
    let mut wrong = Vec::new();
    let mut count = 0;
    for line in lines {
        let (text, taken) = line.split_once(' ').expect("a specifier and its answers");
        let specifier = VersionSpecifier::from_str(text).expect("a valid specifier");
        assert_eq!(taken.len(), versions.len(), "{text}");
        for (version, answer) in versions.iter().zip(taken.chars()) {
            count += 1;
            if is_odd(text, version) {
                continue;
            }
            if of(&specifier).contains(&Point::on(version.clone())) != (answer == '1') {
                wrong.push(format!("{text} {version}: packaging says {answer}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {count}:\n{}", wrong.len(), wrong.join("\n"));
    assert!(count > 10_000, "{count}");
}
