use expect_test::{Expect, expect};
use proptest::prelude::*;
use reana_testkit::{sdist, tar_gz};

use super::*;

fn target(python: &str) -> Target {
    Target { python: python.parse().expect("a Python"), platform: reana_model::Platform::LinuxAmd64 }
}

fn show(answer: SdistAnswer) -> String {
    match answer {
        SdistAnswer::Invalid { reason } => format!("invalid: {reason}"),
        SdistAnswer::Unreadable { reason } => format!("unreadable: {reason}"),
        SdistAnswer::Known { metadata, consulted_python, consulted_platform, is_static } => {
            let mut lines = vec![format!("{:?}", metadata.grade)];
            lines.extend(metadata.requires_python.map(|python| format!("python {python}")));
            lines.extend(metadata.provides_extra.iter().map(|extra| format!("extra {extra}")));
            lines.extend(metadata.requires_dist.iter().map(|one| format!("{} ({})", one.text, one.origin)));
            let facts =
                [(consulted_python, "python"), (consulted_platform, "platform"), (is_static, "static")];
            lines.extend(facts.iter().filter(|(is, _)| *is).map(|(_, what)| format!("* {what}")));
            lines.join("\n")
        }
    }
}

/// Reads an sdist of `a` 1.0 with these files for Python 3.12.
fn check(files: &[(&str, &str)], expected: &Expect) {
    let (name, bytes) = sdist("a", "1.0", files);
    let package = PackageName::new("a".to_owned()).expect("a name");
    let version = "1.0".parse().expect("a version");
    expected.assert_eq(&show(read(&bytes, &name, &package, &version, &target("3.12"))));
}

const OLD: (&str, &str) = ("PKG-INFO", "Metadata-Version: 2.1\nName: a\nVersion: 1.0\n");

#[test]
fn pkg_info_that_vouches() {
    check(
        &[(
            "PKG-INFO",
            "Metadata-Version: 2.2\nName: A\nVersion: 1.0\nRequires-Python: >=3.8\nProvides-Extra: x\n\
             Requires-Dist: b>=1\nRequires-Dist: c; extra == 'x'\nDynamic: Summary\n",
        )],
        &expect![[r#"
            Static
            python >=3.8
            extra x
            b>=1 (a-1.0.tar.gz/PKG-INFO)
            c; extra == 'x' (a-1.0.tar.gz/PKG-INFO)
            * static"#]],
    );
}

#[test]
fn static_pyproject() {
    check(
        &[
            OLD,
            (
                "pyproject.toml",
                "[build-system]\nbuild-backend = 'any.thing'\n[project]\nname = 'a'\nversion = '1.0'\n\
            dependencies = ['b>=1']\nrequires-python = '>=3.8'\n[project.optional-dependencies]\nx = ['c']\n",
            ),
        ],
        &expect![[r#"
            Pyproject
            python >=3.8
            extra x
            b>=1 (a-1.0.tar.gz/pyproject.toml:6)
            c ; extra == 'x' (a-1.0.tar.gz/pyproject.toml:9)
            * static"#]],
    );
}

#[test]
fn backends_that_write_pkg_info() {
    let pyproject = ("pyproject.toml", "[build-system]\nbuild-backend = 'poetry.core.masonry.api'\n");
    check(
        &[
            ("PKG-INFO", "Metadata-Version: 2.1\nName: a\nVersion: 1.0\nRequires-Dist: b (>=1,<2)\n"),
            pyproject,
        ],
        &expect![[r#"
            EggInfo
            b (>=1,<2) (a-1.0.tar.gz/PKG-INFO)
            * static"#]],
    );
    check(
        &[OLD, pyproject],
        &expect![[r#"
        EggInfo
        * static"#]],
    );
    let other = ("pyproject.toml", "[build-system]\nbuild-backend = 'other'\n");
    check(&[OLD, other], &expect!["unreadable: its build backend `other` tells only when it builds"]);
}

#[test]
fn tables_of_backends() {
    let poetry = "[build-system]\nrequires = ['poetry-core']\nbuild-backend = 'poetry.core.masonry.api'\n[tool.poetry]\nname = 'foo'\n[tool.poetry.dependencies]\npython = '^3.8'\nbar = '^1.2'\n";
    check(
        &[("PKG-INFO", "?"), ("pyproject.toml", poetry)],
        &expect![[r#"
        Pyproject
        python >=3.8, <4.0
        bar>=1.2,<2.0 (a-1.0.tar.gz/pyproject.toml:8)"#]],
    );
    let flit = "[build-system]\nrequires = ['flit']\nbuild-backend = 'flit.buildapi'\n[tool.flit.metadata]\nmodule = 'foo'\nrequires = ['bar>=1']\n";
    check(
        &[("PKG-INFO", "?"), ("pyproject.toml", flit)],
        &expect![[r#"
        Pyproject
        bar>=1 (a-1.0.tar.gz/pyproject.toml:6)"#]],
    );
    let union = poetry.replace("'^1.2'", "'^1 || ^3'");
    check(
        &[("PKG-INFO", "?"), ("pyproject.toml", &union)],
        &expect!["unreadable: its build backend `poetry.core.masonry.api` tells only when it builds"],
    );
}

#[test]
fn not_of_this_package() {
    check(
        &[("PKG-INFO", "Metadata-Version: 2.2\nName: b\nVersion: 1.0\n")],
        &expect!["invalid: its PKG-INFO says that it is b, not a"],
    );
    check(
        &[OLD, ("pyproject.toml", "[")],
        &expect![
            "invalid: its pyproject.toml is no TOML: unquoted keys cannot be empty, expected letters, numbers, `-`, `_`"
        ],
    );
    let package = PackageName::new("a".to_owned()).expect("a name");
    let version = "1.0".parse().expect("a version");
    let read = |bytes: &[u8], name: &str| show(read(bytes, name, &package, &version, &target("3.12")));
    expect!["invalid: the archive is damaged: no tar archive, or empty"]
        .assert_eq(&read(b"", "a-1.0.tar.gz"));
    expect!["unreadable: the archive uses the format `xz`, which is not supported"]
        .assert_eq(&read(b"", "a-1.0.tar.xz"));
    expect!["invalid: it has neither setup.py nor pyproject.toml"]
        .assert_eq(&read(&tar_gz(&[("a-1.0/x", "")]), "a-1.0.tar.gz"));
}

#[test]
fn evaluated() {
    let setup = "from setuptools import setup\nsetup(name='a', version='1.0', python_requires='>=3.6',\n\
        install_requires=['b>=1', 'c;python_version<\"3\"'], extras_require={'x': ['d'], ':os_name==\"nt\"': ['e']})\n";
    let egg = ("a.egg-info/PKG-INFO", "Metadata-Version: 2.1\nName: a\nVersion: 1.0\n");
    check(
        &[OLD, ("setup.py", setup)],
        &expect![[r#"
            Evaluated
            python >=3.6
            extra x
            b>=1 (a-1.0.tar.gz/setup.py:3)
            c;python_version<"3" (a-1.0.tar.gz/setup.py:3)
            d ; extra == 'x' (a-1.0.tar.gz/setup.py:3)
            e ; os_name=="nt" (a-1.0.tar.gz/setup.py:3)"#]],
    );
    let requires = "b>=1.0\n\n[:os_name == \"nt\"]\ne\n\n[:python_version < \"3\"]\nc\n\n[x]\nd\n";
    check(
        &[OLD, ("setup.py", setup), egg, ("a.egg-info/requires.txt", requires)],
        &expect![[r#"
            Evaluated
            python >=3.6
            extra x
            b>=1 (a-1.0.tar.gz/setup.py:3)
            c;python_version<"3" (a-1.0.tar.gz/setup.py:3)
            d ; extra == 'x' (a-1.0.tar.gz/setup.py:3)
            e ; os_name=="nt" (a-1.0.tar.gz/setup.py:3)"#]],
    );
    check(
        &[OLD, ("setup.py", setup), egg, ("a.egg-info/requires.txt", "b>=2\n")],
        &expect![[r#"
            EvaluatedDisagrees
            python >=3.6
            extra x
            b>=1 (a-1.0.tar.gz/setup.py:3)
            c;python_version<"3" (a-1.0.tar.gz/setup.py:3)
            d ; extra == 'x' (a-1.0.tar.gz/setup.py:3)
            e ; os_name=="nt" (a-1.0.tar.gz/setup.py:3)"#]],
    );
    check(
        &[OLD, ("setup.py", setup), egg],
        &expect![[r#"
            EvaluatedDisagrees
            python >=3.6
            extra x
            b>=1 (a-1.0.tar.gz/setup.py:3)
            c;python_version<"3" (a-1.0.tar.gz/setup.py:3)
            d ; extra == 'x' (a-1.0.tar.gz/setup.py:3)
            e ; os_name=="nt" (a-1.0.tar.gz/setup.py:3)"#]],
    );
    // Of another package, among the tests.
    let other = ("a/z.egg-info/PKG-INFO", "Metadata-Version: 2.1\nName: z\nVersion: 1.0\n");
    check(
        &[OLD, ("setup.py", setup), other],
        &expect![[r#"
            Evaluated
            python >=3.6
            extra x
            b>=1 (a-1.0.tar.gz/setup.py:3)
            c;python_version<"3" (a-1.0.tar.gz/setup.py:3)
            d ; extra == 'x' (a-1.0.tar.gz/setup.py:3)
            e ; os_name=="nt" (a-1.0.tar.gz/setup.py:3)"#]],
    );
}

#[test]
fn plug_ins() {
    let setup = "from setuptools import setup\nsetup(setup_requires=['pbr'], pbr=True)\n";
    let egg = ("a.egg-info/PKG-INFO", "Metadata-Version: 2.1\nName: a\nVersion: 1.0\n");
    check(
        &[OLD, ("setup.py", setup)],
        &expect![
            "unreadable: a-1.0.tar.gz/setup.py:2: cannot evaluate `pbr=True`: pbr reads setup.cfg and requirements.txt"
        ],
    );
    check(
        &[OLD, ("setup.py", setup), egg, ("a.egg-info/requires.txt", "b>=2\n[x]\nc\n")],
        &expect![[r#"
            EggInfo
            extra x
            b>=2 (a-1.0.tar.gz/a.egg-info/requires.txt:1)
            c ; extra == 'x' (a-1.0.tar.gz/a.egg-info/requires.txt:3)
            * python
            * platform"#]],
    );
}

#[test]
fn what_is_not_known_is_not_guessed() {
    let setup = "from setuptools import setup\nimport os\nsetup(install_requires=os.listdir('/'))\n";
    let egg = ("a.egg-info/PKG-INFO", "Metadata-Version: 2.1\nName: a\nVersion: 1.0\n");
    check(
        &[OLD, ("setup.py", setup), egg, ("a.egg-info/requires.txt", "b>=2\n")],
        &expect![
            "unreadable: a-1.0.tar.gz/setup.py:3: cannot evaluate `os.listdir('/')`: `os.listdir` is not evaluated"
        ],
    );
}

#[test]
fn the_target_decides() {
    let setup = "from setuptools import setup\nimport sys\nrequires = ['b']\nif sys.version_info < (3, 9):\n    \
        requires.append('c')\nsetup(install_requires=requires)\n";
    let (name, bytes) = sdist("a", "1.0", &[OLD, ("setup.py", setup)]);
    let package = PackageName::new("a".to_owned()).expect("a name");
    let version = "1.0".parse().expect("a version");
    let read = |python: &str| show(read(&bytes, &name, &package, &version, &target(python)));
    expect![[r#"
        Evaluated
        b (a-1.0.tar.gz/setup.py:3)
        c (a-1.0.tar.gz/setup.py:5)
        * python"#]]
    .assert_eq(&read("3.8"));
    expect![[r#"
        Evaluated
        b (a-1.0.tar.gz/setup.py:3)
        * python"#]]
    .assert_eq(&read("3.12"));
}

#[test]
fn an_egg_info_that_is_not_understood() {
    let setup = "from setuptools import setup\nsetup(install_requires=['b'])\n";
    let egg = ("a.egg-info/PKG-INFO", "Metadata-Version: 1.1\nName: a\nVersion: 1.0\n");
    let requires = ("a.egg-info/requires.txt", "pytz>>1\n");
    check(
        &[OLD, ("setup.py", setup), egg, requires],
        &expect![[r#"
            Evaluated
            b (a-1.0.tar.gz/setup.py:2)"#]],
    );
    let setup = "from setuptools import setup\nsetup(setup_requires=['pbr'], pbr=True)\n";
    check(
        &[OLD, ("setup.py", setup), egg, requires],
        &expect![
            "unreadable: a-1.0.tar.gz/a.egg-info/requires.txt:1: `pytz>>1` is not a valid requirement (PEP 508): no such comparison operator \">>\", must be one of ~= == != <= >= < > ==="
        ],
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Whatever stands in the files, there is an answer.
    #[test]
    fn any_files(at in any::<prop::sample::Index>(), junk in "[ -~\n]{0,20}", pkg_info in "(Metadata-Version: 2.[0-3]\n)?(Name: [ab]\n)?[ -~\n]{0,40}", requires in "(\\[[ -~]{0,9}\\]\n)?[ -~\n]{0,40}") {
        let mut setup = "from setuptools import setup\nsetup(name='a', install_requires=['b'])\n".to_owned();
        setup.insert_str(at.index(setup.len()), &junk);
        let files: [(&str, &str); 5] = [
            ("PKG-INFO", &pkg_info),
            ("setup.py", &setup),
            ("setup.cfg", &junk),
            ("a.egg-info/PKG-INFO", &pkg_info),
            ("a.egg-info/requires.txt", &requires),
        ];
        let (name, bytes) = sdist("a", "1.0", &files);
        let package = PackageName::new("a".to_owned()).expect("a name");
        let version = "1.0".parse().expect("a version");
        let _ = read(&bytes, &name, &package, &version, &target("3.12"));
        let _ = requires_txt::parse(requires.as_bytes(), "requires.txt");
    }
}
