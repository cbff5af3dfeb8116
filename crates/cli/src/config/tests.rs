//! Tests of `reana-lock.toml`.

use expect_test::{Expect, expect};

use super::*;

fn parse(text: &str) -> Result<Config, ConfigError> {
    Config::parse(text, Path::new("/fleet/reana-lock.toml"))
}

fn config(text: &str) -> Config {
    parse(text).expect("a valid file")
}

fn check_refused(text: &str, expected: &Expect) {
    expected.assert_eq(&parse(text).expect_err("an invalid file").to_string());
}

#[test]
fn what_is_not_known_is_refused_with_its_line() {
    check_refused(
        "python = '3.12'\ncomponent = ['a']\n",
        &expect!["/fleet/reana-lock.toml:2: invalid type: sequence, expected a map"],
    );
    check_refused(
        "\n[index]\nurls = 'x'\n",
        &expect![
            "/fleet/reana-lock.toml:3: unknown field `urls`, expected one of `url`, `extra`, `find-links`, `no-index`, `names`, `exclude-newer`, `pip-config`, `undated`"
        ],
    );
    check_refused(
        "\n\npython = 'x.y'\n",
        &expect!["/fleet/reana-lock.toml:3: `x.y` is not a Python version (`3.12` or `3.12.4`)"],
    );
    check_refused(
        "targets = [\n  {python='3.12'},\n  {python='3.12', platform='windows'},\n]",
        &expect![
            "/fleet/reana-lock.toml:3: `windows` is not a platform that can be locked for (`linux/amd64`, `linux/arm64`)"
        ],
    );
    check_refused(
        "[lock]\nhashes = 'some'\n",
        &expect!["/fleet/reana-lock.toml:2: unknown variant `some`, expected one of `all`, `target`, `none`"],
    );
    check_refused(
        "[index]\nexclude-newer = 'soon'\n",
        &expect!["/fleet/reana-lock.toml:2: `soon` is not a moment (`2026-11-30T12:00:00Z` or `2026-11-30`)"],
    );
    check_refused(
        "python = '3.12'\ntargets = [{python='3.11'}]\n",
        &expect![
            "/fleet/reana-lock.toml:2: `python` and `targets` say the same thing: only one of them may be given"
        ],
    );
    check_refused(
        "components = ['a']\nshared = ['a']\n",
        &expect!["/fleet/reana-lock.toml:2: `a` is listed as a component and as a shared package"],
    );
    check_refused(
        "a = \n",
        &expect!["/fleet/reana-lock.toml:1: string values must be quoted, expected literal string"],
    );
}

#[test]
fn an_empty_file_is_all_defaults() {
    let empty = config("");
    assert_eq!(empty.for_component("any"), ComponentSettings::default());
    assert_eq!((empty.index_url(), empty.find_links()), (None, Vec::new()));
    assert_eq!(empty.index.undated, Undated::Refuse);
}

#[test]
fn paths_start_at_the_file() {
    let check = |given: &str, expected: &str| {
        let found = config(&format!("[index]\nurl = '{given}'\n")).index_url().expect("an index");
        assert_eq!((found.given.as_str(), found.url.as_str()), (given, expected));
    };
    check("../index/simple", "file:///index/simple");
    check("./in dex", "file:///fleet/in%20dex");
    check("file:wheels", "file:///fleet/wheels");
    check("file:///abs/wheels", "file:///abs/wheels");
    check("/abs/wheels", "file:///abs/wheels");
    check("https://index.example/simple/", "https://index.example/simple/");
}

#[test]
fn a_component_s_table_goes_first() {
    let fleet = config(concat!(
        "python = '3.11'\n[lock]\nextras = ['all']\nconstraints = ['c.txt']\noutput = 'lock.txt'\n",
        "[component.reana-server]\nextras = ['ssh']\nconstraints = ['own.txt']\ntargets = [{python='3.12.1'}]\n",
    ));
    let other = fleet.for_component("other");
    assert_eq!(other.extras.as_deref(), Some(&["all".to_owned()][..]));
    assert_eq!(other.constraints, [Path::new("/fleet/c.txt")]);
    assert_eq!(
        other.python.map(|(python, place)| (python.short(), place.line)),
        Some(("3.11".to_owned(), 1))
    );
    let own = fleet.for_component("reana-server");
    assert_eq!(own.extras.as_deref(), Some(&["ssh".to_owned()][..]));
    assert_eq!(own.constraints, [Path::new("/fleet/c.txt"), Path::new("/fleet/own.txt")]);
    assert_eq!(own.python, None);
    assert_eq!(
        own.targets.iter().map(ToString::to_string).collect::<Vec<_>>(),
        ["Python 3.12 on linux/amd64"]
    );
    assert_eq!(own.output.as_deref(), Some("lock.txt"));
}

#[test]
fn a_date_is_its_first_moment() {
    let check = |text: &str, expected: &str| {
        let found = config(&format!("[index]\nexclude-newer = '{text}'\n")).index.exclude_newer;
        assert_eq!(found.map(|moment| moment.0.to_string()).as_deref(), Some(expected));
    };
    check("2026-11-30", "2026-11-30T00:00:00Z");
    check("2026-11-30T12:00:00+01:00", "2026-11-30T11:00:00Z");
}

#[test]
fn the_schema_knows_every_key() {
    let schema = schema();
    let keys = |pointer: &str| -> Vec<String> {
        let table = schema.pointer(pointer).and_then(serde_json::Value::as_object).expect("a table");
        table.keys().cloned().collect()
    };
    assert_eq!(
        keys("/properties"),
        ["python", "targets", "components", "shared", "index", "lock", "images", "component"]
    );
    assert!(keys("/$defs/IndexConfig/properties").contains(&"find-links".to_owned()));
    assert_eq!(schema.pointer("/additionalProperties"), Some(&serde_json::Value::Bool(false)));
}
