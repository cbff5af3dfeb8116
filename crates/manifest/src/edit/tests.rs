//! The table of rules, and what must stay around a bound.

use proptest::prelude::*;
use reana_model::{Platform, PythonVersion, Target, VersionSpecifiers};

use super::*;
use crate::MemoryFiles;

fn version(text: &str) -> Version {
    text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn check(requirement: &str, to: &str, expected: &str) {
    let found = match raise_text(requirement, &version(to)) {
        Ok(None) => requirement.to_owned(),
        Ok(Some(new)) => {
            assert_eq!(raise_text(&new, &version(to)), Ok(None), "{new} again");
            new
        }
        Err(kind) => format!("refused: {kind}"),
    };
    assert_eq!(found, expected, "{requirement} to {to}");
}

#[test]
fn lower_bounds() {
    check("a>=1.0", "1.2", "a>=1.2");
    check("a>=0.95.0a21,<0.96.0", "0.95.0a25", "a>=0.95.0a25,<0.96.0");
    check("a>1.0", "1.2", "a>=1.2");
    check("a > 1.0", "1.2", "a >= 1.2");
    check("a>1.2", "1.2", "a>1.2");
    check("a>=1.2.0", "1.2", "a>=1.2.0");
    check("a>=2", "1.2", "a>=2");
    check("a>=1.*", "1.2", "a>=1.2");
}

#[test]
fn compatible_releases_keep_their_places() {
    check("a~=1.0", "1.2.3", "a~=1.2");
    check("a~=1.2", "1.2.3", "a~=1.2");
    check("a~=1.0.0", "1.2", "a~=1.2.0");
    check("a~=0.95.0a1", "0.95.0a25", "a~=0.95.0a25");
    check("a~=1.2.post1", "1.2.3", "a~=1.2.post1");
    check("a~=2.0", "1.2", "a~=2.0");
    check("a~=1", "1.2", "refused: `~=1` is not understood as a bound (PEP 440)");
}

#[test]
fn exact_versions() {
    check("a==1.0", "1.2", "a==1.2");
    check("a===1.0", "1.2", "a===1.2");
    check("a==1.0.*", "1.2.3", "a==1.2.*");
    check("a==1.*", "2.3.4", "a==2.*");
    check("a==1.2.0.*", "1.3", "a==1.3.0.*");
    check("a==1.2.*", "1.2.3", "a==1.2.*");
    check("a==2", "1.2", "a==2");
    check("a==3.*", "1.2", "a==3.*");
}

#[test]
fn upper_bounds() {
    check("a>=1,<2", "1.2", "a>=1.2,<2");
    check("a>=0.95,<0.96.0", "0.96.1", "a>=0.96.1,<0.97.0");
    check("a>=1,<2", "2.3", "a>=2.3,<3");
    check("a>=1,<2.0.0", "2.3", "a>=2.3,<3.0.0");
    check("a>=0.1,<0.9", "1.0", "a>=1.0,<1.1");
    check("a>=0.1,<0.9.0", "1", "a>=1,<1.1.0");
    check("a>=1,<2", "2", "a>=2,<3");
    check("a>=0.95,<0.96.0", "0.96.0a1", "a>=0.96.0a1,<0.97.0");
    check("a>=0.95,<0.96.0a1", "0.96.0a3", "a>=0.96.0a3,<0.97.0");
    check("a>=0,<0.0", "0.5", "a>=0.5,<1.0");
    check("a>=1,<=2", "1.5", "a>=1.5,<=2");
    check("a>=1,<=2", "2", "a>=2,<=2");
    check("a>=1,<=2", "2.1", "a>=2.1,<=2.1");
    check("a>=1,<2", "1!0.1", "a>=1!0.1,<1!1");
    check(
        "a<18446744073709551615",
        "18446744073709551615",
        "refused: `<18446744073709551615` is not understood as a bound (PEP 440)",
    );
}

#[test]
fn exclusions() {
    check("a>=1,!=1.1", "1.2", "a>=1.2,!=1.1");
    check("a>=1,!=1.2.0", "1.2", "refused: `!=1.2.0` excludes the version that is wanted");
    check("a>=1,!=1.2.*", "1.2.4", "refused: `!=1.2.*` excludes the version that is wanted");
    check(
        "a @ https://h/a.whl",
        "1",
        "refused: it names a place, not versions, so there is no bound to raise",
    );
    check("a>=1", "1.2+cpu", "refused: 1.2+cpu is a local version, which no bound may name");
}

#[test]
fn no_lower_bound() {
    check("a", "1.2", "a>=1.2");
    check("a[x, y]", "1.2", "a[x, y]>=1.2");
    check("a ; os_name == 'b'", "1.2", "a>=1.2 ; os_name == 'b'");
    check("a;os_name == 'b'", "1.2", "a>=1.2;os_name == 'b'");
    check("a<2", "1.2", "a>=1.2,<2");
    check("a <2", "1.2", "a >=1.2,<2");
    check("a <2, !=1.0", "2.2", "a >=2.2, <3, !=1.0");
    check("a (<2)", "1.2", "a (>=1.2,<2)");
    check("a!=1.0", "1.2", "a>=1.2,!=1.0");
}

#[test]
fn the_rest_of_a_requirement_stays() {
    check(
        "A_b.C[x,Y] >= 1.0 , < 2 ; python_version>'3' ",
        "1.2",
        "A_b.C[x,Y] >= 1.2 , < 2 ; python_version>'3' ",
    );
    check("a (>=1.0 <2)", "2", "a (>=2 <3)");
}

/// Raises `reana-db` to 2.5 in one file of this name.
fn edited(path: &str, before: &str) -> String {
    let files = MemoryFiles::of([(path, before), ("README.md", "x")]);
    let raise = Raise { package: "reana-db".parse().expect("a name"), to: version("2.5") };
    let target = Target { python: PythonVersion::newest(3, 12), platform: Platform::LinuxAmd64 };
    match raise_project(&files, "", &target, &[], &[raise]) {
        Ok(found) => found.into_iter().next().map_or_else(|| before.to_owned(), |change| change.after),
        Err(refusals) => refusals.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"),
    }
}

fn check_file(path: &str, before: &str, expected: &str) {
    assert_eq!(edited(path, before), expected, "{before}");
    if !expected.starts_with(&format!("{path}:")) {
        assert_eq!(edited(path, expected), expected, "again");
    }
}

fn check_setup(before: &str, expected: &str) {
    let whole = |text: &str| {
        format!("from setuptools import setup\n{text}\nsetup(name='reana-db-user', install_requires=I)\n")
    };
    check_file(
        "setup.py",
        &whole(before),
        &if expected.starts_with("setup.py") { expected.to_owned() } else { whole(expected) },
    );
}

#[test]
fn setup_py_literals() {
    check_setup("I = ['reana-db>=1']", "I = ['reana-db>=2.5']");
    check_setup(
        "I = [\"reana-db[x] >=1,<2\", # reana-db>=1\n]",
        "I = [\"reana-db[x] >=2.5,<3\", # reana-db>=1\n]",
    );
    check_setup("I = ['reana-db' '>=1' ',<2']", "I = ['reana-db' '>=2.5' ',<3']");
    check_setup("I = [('reana-db'\n  '>=1')]", "I = [('reana-db'\n  '>=2.5')]");
    check_setup("I = [r'reana-db>=1', u'Reana_DB']", "I = [r'reana-db>=2.5', u'Reana_DB>=2.5']");
    check_setup(
        "I = ['reana-db>=1; python_version < \\'4\\'']",
        "I = ['reana-db>=2.5; python_version < \\'4\\'']",
    );
    check_setup("I = '''\\\na\nreana-db>=1  # x\n'''", "I = '''\\\na\nreana-db>=2.5  # x\n'''");
    check_setup("I = 'a\\nreana-db>=1'", "I = 'a\\nreana-db>=2.5'");
    check_setup("I = ['reana-db-extra>=1', 'reana-dbx', 'a']", "I = ['reana-db-extra>=1', 'reana-dbx', 'a']");
    check_setup(
        "I = []\nx = 'reana_db'\ny = 'reana-db=reana_db:main'",
        "I = []\nx = 'reana_db'\ny = 'reana-db=reana_db:main'",
    );
    check_setup("I = []\nT = ['reana-db>=1']", "I = []\nT = ['reana-db>=2.5']");
    check_setup("R = 'reana-db'\nI = [R]", "R = 'reana-db>=2.5'\nI = [R]");
}

#[test]
fn setup_py_line_ends_and_marks() {
    let text = "\u{feff}from setuptools import setup\r\nsetup(install_requires=[\r\n  'reana-db>=1',\r\n'''\r\nreana-db\r\n'''])\r\n";
    check_file("setup.py", text, &text.replace(">=1", ">=2.5").replace("reana-db\r", "reana-db>=2.5\r"));
}

#[test]
fn setup_py_refusals() {
    check_setup(
        "V = '1'\nI = ['reana-db>=' + V]",
        "setup.py:3: `reana-db>=1` is built by code, and can't be edited safely",
    );
    check_setup(
        "I = [f'reana-db>={1}']",
        "setup.py:2: `reana-db>=1` is built by code, and can't be edited safely",
    );
    check_setup(
        "I = ['reana-db>={}'.format(1)]",
        "setup.py:2: `reana-db>=1` is built by code, and can't be edited safely",
    );
    check_setup(
        "I = ['reana-%s>=1' % 'db']",
        "setup.py:2: `reana-db>=1` is built by code, and can't be edited safely",
    );
    check_setup(
        "I = ['reana-db>=\\x31']",
        "setup.py:2: `reana-db>=1` is written with escapes or in parts inside of its bound, and can't be edited safely",
    );
    check_setup(
        "I = ['reana-db>=1' '.0']",
        "setup.py:2: `reana-db>=1.0` is written with escapes or in parts inside of its bound, and can't be edited safely",
    );
    check_setup(
        "import os\nI = os.environ['X'] # reana-db",
        "setup.py:3: `os.environ['X']` is built by code, and can't be edited safely",
    );
    check_setup("I = ['reana-db!=2.5']", "setup.py:2: `!=2.5` excludes the version that is wanted");
}

#[test]
fn names_that_are_no_requirements() {
    let text = "from setuptools import setup\nsetup(\n    packages=['reana_db'],\n    install_requires=['reana_db'],\n)\n";
    check_file("setup.py", text, &text.replace("requires=['reana_db'", "requires=['reana_db>=2.5'"));
    check_setup(
        "I, P = ['reana-db'], ['reana-db']",
        "setup.py:2: `reana-db` stands more than once in this line, and may not be a requirement everywhere",
    );
}

#[test]
fn setup_cfg_lists() {
    let text = "[metadata]\nname = x\n[options]\ninstall_requires =\n    # reana-db>=1\n    Reana-DB [a] >=1 ; python_version<'4'\n    reana-db-extra>=1\n[options.extras_require]\ntest = reana-db<2;a\n";
    check_file(
        "setup.cfg",
        text,
        &text.replace("[a] >=1", "[a] >=2.5").replace("reana-db<2", "reana-db>=2.5,<3"),
    );
    check_file(
        "setup.cfg",
        &text.replace('\n', "\r\n"),
        &text.replace("[a] >=1", "[a] >=2.5").replace("reana-db<2", "reana-db>=2.5,<3").replace('\n', "\r\n"),
    );
    check_file(
        "setup.cfg",
        "[x]\nv=1\n[options]\nv=1\ninstall_requires = reana-db>=%(v)s\n",
        "setup.cfg:5: `reana-db>=1` is built by code, and can't be edited safely",
    );
}

#[test]
fn pyproject_lists() {
    let text = "[build-system]\nrequires = [\"setuptools\"]\n[project]\nname = 'x'\nversion = '1'\ndependencies = [ \"reana-db>=1\" , # reana-db>=1\n 'reana-db [a]<2', \"reana-db-extra>=1\"]\n[project.optional-dependencies]\nt = [\"\"\"reana-db==1\"\"\"]\n[dependency-groups]\ng = [{include-group = 't'}, \"reana-db\"]\n[tool.x]\ny = 'reana-db>=1'\n";
    let expected = text
        .replace("[ \"reana-db>=1\"", "[ \"reana-db>=2.5\"")
        .replace("[a]<2", "[a]>=2.5,<3")
        .replace("reana-db==1", "reana-db==2.5")
        .replace("\"reana-db\"", "\"reana-db>=2.5\"");
    check_file("pyproject.toml", text, &expected);
    check_file(
        "pyproject.toml",
        "[project]\nname='x'\nversion='1'\ndependencies=[\"reana-db>=\\u0031\"]\n",
        "pyproject.toml:4: `reana-db>=1` is written with escapes or in parts inside of its bound, and can't be edited safely",
    );
}

#[test]
fn poetry_tables() {
    let text = "[build-system]\nbuild-backend = 'poetry.core.masonry.api'\n[project]\nname = 'x'\nversion = '1'\n[tool.poetry.dependencies]\nreana-db = {version = \">=1,<2\", extras = ['a']}\nother = '^1'\n[tool.poetry.group.dev.dependencies]\nReana_DB = '>=1'\n";
    check_file("pyproject.toml", text, &text.replace(">=1,<2", ">=2.5,<3").replace("'>=1'", "'>=2.5'"));
    check_file(
        "pyproject.toml",
        &text.replace("'>=1'", "'^1 || ^2'"),
        "pyproject.toml:10: `Reana_DB ^1 || ^2` can't be raised as it is: write it with `^`, `>=` or one exact version",
    );
}

/// What a dependency of poetry's becomes where `reana-db` is raised to 2.5.
fn check_poetry(before: &str, expected: &str) {
    let whole = |value: &str| {
        format!(
            "[tool.poetry]\r\nname = \"x\"\r\nversion = \"1\"\r\n\r\n[tool.poetry.dependencies]\r\npython = \"^3.9\" # ^1.2\r\n\"Reana_DB\"  = {value}  # ^1.2\r\nreana-db-extra = \"^1.2\"\r\n[build-system]\r\nbuild-backend = \"poetry.core.masonry.api\"\r\n"
        )
    };
    let expected = if expected.starts_with("pyproject.toml") { expected.to_owned() } else { whole(expected) };
    check_file("pyproject.toml", &whole(before), &expected);
}

#[test]
fn poetry_bounds() {
    check_poetry("\"^1.2\"", "\"^2.5\"");
    check_poetry("'^ 1.2.3'", "'^ 2.5'");
    check_poetry("\"^2.6\"", "\"^2.6\"");
    check_poetry("\"^3\"", "\"^3\"");
    check_poetry("\"1.2\"", "\"2.5\"");
    check_poetry("\"=1.2\"", "\"=2.5\"");
    check_poetry("\"==1.2\"", "\"==2.5\"");
    check_poetry("\"2.6\"", "\"2.6\"");
    check_poetry("\"1.*\"", "\"2.*\"");
    check_poetry("\"~1.2\"", "\"~2.5\"");
    check_poetry("\"~=1.2\"", "\"~=2.5\"");
    check_poetry("\">=1.2 <2\"", "\">=2.5 <3\"");
    check_poetry("\">=1.2, <2\"", "\">=2.5, <3\"");
    check_poetry("\"<2\"", "\">=2.5,<3\"");
    check_poetry("\"^1.2,!=1.3\"", "\"^2.5,!=1.3\"");
    check_poetry(
        "{ version = \"^1.2\", extras = [\"a\"], markers = \"os_name == 'b'\" }",
        "{ version = \"^2.5\", extras = [\"a\"], markers = \"os_name == 'b'\" }",
    );
    check_poetry(
        "[\r\n  {version = \"^1.2\", python = \"<3.11\"},\r\n  {version = \"1.3\", python = \">=3.11\"},\r\n]",
        "[\r\n  {version = \"^2.5\", python = \"<3.11\"},\r\n  {version = \"2.5\", python = \">=3.11\"},\r\n]",
    );
}

#[test]
fn poetry_bounds_that_can_not_be_raised() {
    let any =
        "pyproject.toml:7: `Reana_DB *` takes any version, so there is no bound to raise: write `>=2.5`";
    check_poetry("\"*\"", any);
    check_poetry("{ version = '*', extras = ['a'] }", any);
    check_poetry("{ extras = ['a'] }", any);
    let refused = |text: &str| {
        format!(
            "pyproject.toml:7: `Reana_DB {text}` can't be raised as it is: write it with `^`, `>=` or one exact version"
        )
    };
    check_poetry("\"^1 || ^3\"", &refused("^1 || ^3"));
    check_poetry("\"~1\"", &refused("~1"));
    check_poetry("\"^1.*\"", &refused("^1.*"));
    check_poetry("\"^\"", &refused("^"));
    check_poetry("\"x\"", &refused("x"));
    check_poetry("\"!=2.5\"", "pyproject.toml:7: `!=2.5` excludes the version that is wanted");
    let place = "pyproject.toml:7: it names a place, not versions, so there is no bound to raise";
    check_poetry("{ git = 'https://h/x.git' }", place);
    check_poetry("{ path = '../x' }", place);
    let other = "'^1'\r\nother = '^1 || ^2'";
    check_poetry(other, &other.replace("'^1'", "'^2.5'"));
}

#[test]
fn requirements_files() {
    let text = "# reana-db>=1\n-r other.in\r\nreana-db>=1 # x\r\nreana-db [a] \\\r\n   <2 --hash=sha256:00\nreana-db-extra>=1\n./reana-db\n";
    check_file(
        "requirements.in",
        &text.replace("-r other.in\r\n", "").replace(" --hash=sha256:00", ""),
        &text
            .replace("-r other.in\r\n", "")
            .replace(" --hash=sha256:00", "")
            .replace("db>=1 #", "db>=2.5 #")
            .replace("   <2", "   >=2.5,<3"),
    );
}

#[test]
fn included_files_are_edited_and_constraints_are_not() {
    let files = MemoryFiles::of([
        ("requirements.in", "-r more.in\n-c limits.txt\na\n"),
        ("more.in", "reana-db\n"),
        ("limits.txt", "reana-db<9\n"),
    ]);
    let raise = Raise { package: "reana-db".parse().expect("a name"), to: version("2.5") };
    let target = Target { python: PythonVersion::newest(3, 12), platform: Platform::LinuxAmd64 };
    let found = raise_project(&files, "c", &target, &[], &[raise]).expect("changes");
    let all: Vec<(&str, &str)> = found.iter().map(|it| (it.path.as_str(), it.after.as_str())).collect();
    assert_eq!(all, [("more.in", "reana-db>=2.5\n")]);
    assert_eq!(found[0].changes[0].origin.to_string(), "c/more.in:1");
}

prop_compose! {
    fn some_version()(release in prop::collection::vec(0_u64..30, 1..4), pre in prop::option::of(1_u64..20)) -> String {
        let release: Vec<String> = release.iter().map(ToString::to_string).collect();
        let pre = pre.map(|pre| format!("a{pre}")).unwrap_or_default();
        format!("{}{pre}", release.join("."))
    }
}

proptest! {
    #[test]
    fn nothing_is_lowered_and_the_version_is_admitted(
        operators in prop::collection::vec(prop::sample::select(vec![">=", ">", "<", "<=", "==", "~="]), 1..4),
        versions in prop::collection::vec(some_version(), 4),
        to in some_version(),
    ) {
        let bounds: Vec<String> = operators.iter().zip(&versions).map(|(operator, version)| format!("{operator}{version}")).collect();
        let before = format!("a[x] {} ; os_name == 'b'", bounds.join(", "));
        let to = version(&to);
        if let Ok(Some(after)) = raise_text(&before, &to) {
            prop_assert_eq!(raise_text(&after, &to), Ok(None));
            prop_assert!(after.starts_with("a[x] ") && after.ends_with(" ; os_name == 'b'"));
            let read = |text: &str| -> VersionSpecifiers {
                Requirement::parse(text, Origin::whole("x")).expect("a requirement").specifiers().cloned().expect("bounds")
            };
            let (old, new) = (read(&before), read(&after));
            let versions = |all: &VersionSpecifiers| all.iter().map(|it| it.version().clone()).max();
            prop_assert!(versions(&new) >= versions(&old), "{} {}", before, after);
            // Each bound alone admits the version, or was above it before.
            for specifier in new.iter() {
                let was_there = old.iter().any(|old| old == specifier);
                prop_assert!(specifier.contains(&to) || was_there, "{} -> {} for {}", before, after, to);
            }
        }
    }

    #[test]
    fn nothing_panics(
        pieces in prop::collection::vec(prop_oneof![
            any::<String>(),
            prop::sample::select(vec!["reana-db>=1", "'", "\"", "\"\"\"", "\\", "\n", "\r\n", "[options]\ninstall_requires=", "[", "f'", "{", "#", " "]).prop_map(str::to_owned),
        ], 0..12),
    ) {
        let text = pieces.concat();
        let raise = Raise { package: "reana-db".parse().expect("a name"), to: version("2.5") };
        for format in [Format::Lines, Format::Python, Format::Cfg, Format::Toml] {
            if let Ok(changes) = raise_file(format, &text, "x", &[], &raise) {
                let _ = apply(&text, &changes);
            }
        }
        let _ = raise_text(&text, &raise.to);
    }

    #[test]
    fn what_is_read_again_is_what_was_there_with_the_new_bounds(
        items in prop::collection::vec((
            prop::sample::select(vec!["reana-db", "Reana_DB[x]", "reana-db-extra", "other"]),
            prop::sample::select(vec!["", ">=1", ">1.0 , <2", "~=1.0", "==1.*", "<=1.5,!=1.1", " >=3"]),
            prop::sample::select(vec!["", "; python_version>'3'", " ;os_name=='x'"]),
            0_usize..6,
        ), 1..6),
    ) {
        let mut text = "from setuptools import setup\nI = [\n".to_owned();
        let mut expected = Vec::new();
        let to = version("2.5");
        for (name, bounds, marker, style) in &items {
            let requirement = format!("{name}{bounds}{marker}");
            let escaped = requirement.replace('\'', "\\'");
            let (head, tail) = requirement.split_at(name.len());
            text += &match style {
                0 => format!("  \"{requirement}\",  # reana-db>=1\n"),
                1 => format!("  '{escaped}',\n"),
                2 => format!("  r\"{requirement}\"\n  ,\n"),
                3 => format!("  \"\"\"{requirement}\"\"\",\n"),
                4 => format!("  ( \"{head}\" \"{tail}\" ),\n"),
                _ => format!("  \"{requirement}\", 'x-{style}',\n"),
            };
            let is_it = matches!(*name, "reana-db" | "Reana_DB[x]");
            let raised = raise_text(&requirement, &to).expect("a bound").filter(|_| is_it);
            expected.push(raised.unwrap_or(requirement));
            if *style > 4 {
                expected.push(format!("x-{style}"));
            }
        }
        text += "]\nsetup(name='me', install_requires=I)\n";
        let read = |text: &str| -> Vec<String> {
            let files = MemoryFiles::of([("setup.py", text)]);
            let target = Target { python: PythonVersion::newest(3, 12), platform: Platform::LinuxAmd64 };
            let declared = crate::read_project(&files, "", &target).expect("a project");
            declared.install_requires.expect("a list").into_iter().map(|text| text.value).collect()
        };
        prop_assert_eq!(read(&edited("setup.py", &text)), expected, "{}", text);
    }

    #[test]
    fn only_the_bound_changes(
        before in "[ a-z#,'\"\\[\\]\r\n]{0,40}", after in "[ a-z#,'\"\\[\\]\r\n;=]{0,40}",
    ) {
        let text = format!("{before}\nreana-db>=1.0\n{after}");
        let raise = Raise { package: "reana-db".parse().expect("a name"), to: version("2.5") };
        for format in [Format::Lines, Format::Python, Format::Cfg, Format::Toml] {
            if let Ok(changes) = raise_file(format, &text, "x", &[], &raise) {
                let new = apply(&text, &changes);
                prop_assert_eq!(new.replace(">=2.5", ">=1.0"), text.clone());
            }
        }
    }
}
