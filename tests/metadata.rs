//! `reana-lock metadata`: what was understood of a manifest, for people and for scripts.

use expect_test::{Expect, expect};
use reana_testkit::World;

use crate::harness::place;

const SETUP: &str = r#"import os
import re

from setuptools import find_packages, setup

readme = open("README.md").read()
extras_require = {
    "docs": ["Sphinx>=1.5", ],
    "tests:python_version<'3.8'": ["pytest-old"],
    "tests": ["pytest >= 3"],
}
extras_require["all"] = []
for key, reqs in extras_require.items():
    if ":" == key[0]:
        continue
    extras_require["all"].extend(reqs)

with open(os.path.join("web", "version.py"), "rt") as f:
    version = re.search('__version__ = "([^"]+)"', f.read()).group(1)

setup(
    name="Web_App",
    version=version,
    description=__doc__,
    long_description=readme,
    python_requires=">=3.8",
    install_requires=[
        "Flask>=2,<3",  # the web
        "SQLAlchemy "
        "[asyncio]>=1.4",
    ],
    extras_require=extras_require,
    packages=find_packages(),
)
"#;

fn check(files: &[(&str, &str)], args: &[&str], code: i32, expected: &Expect) {
    let place = place(&World::new());
    for (path, text) in files {
        place.file(path, text);
    }
    let output = place.run(&[&["metadata"], args].concat()).expect_code(code);
    expected.assert_eq(&output.to_string());
}

/// A project in REANA's shape.
const WEB: [(&str, &str); 3] =
    [("setup.py", SETUP), ("README.md", "# Web"), ("web/version.py", "__version__ = \"1.2.3\"\n")];

#[test]
fn of_a_setup_py() {
    check(
        &WEB,
        &[],
        0,
        &expect![[r#"
        exit 0
        --- stdout
        name: Web_App  (setup.py:22)
        version: 1.2.3  (web/version.py:1)
        python_requires: >=3.8  (setup.py:26)
        install_requires:
          Flask>=2,<3  (setup.py:28)
          SQLAlchemy [asyncio]>=1.4  (setup.py:29)
        extras_require[docs]:
          Sphinx>=1.5  (setup.py:8)
        extras_require[tests:python_version<'3.8']:
          pytest-old  (setup.py:9)
        extras_require[tests]:
          pytest >= 3  (setup.py:10)
        extras_require[all]:
          Sphinx>=1.5  (setup.py:8)
          pytest-old  (setup.py:9)
          pytest >= 3  (setup.py:10)
          Sphinx>=1.5  (setup.py:8)
          pytest-old  (setup.py:9)
          pytest >= 3  (setup.py:10)
        --- stderr
    "#]],
    );
}

#[test]
fn of_a_setup_py_for_scripts() {
    check(
        &WEB,
        &["setup.py", "--format", "json"],
        0,
        &expect![[r#"
        exit 0
        --- stdout
        {
          "name": "Web_App",
          "version": "1.2.3",
          "python_requires": ">=3.8",
          "install_requires": [
            "Flask>=2,<3",
            "SQLAlchemy [asyncio]>=1.4"
          ],
          "extras_require": {
            "docs": [
              "Sphinx>=1.5"
            ],
            "tests:python_version<'3.8'": [
              "pytest-old"
            ],
            "tests": [
              "pytest >= 3"
            ],
            "all": [
              "Sphinx>=1.5",
              "pytest-old",
              "pytest >= 3",
              "Sphinx>=1.5",
              "pytest-old",
              "pytest >= 3"
            ]
          },
          "origins": {
            "name": "setup.py:22",
            "version": "web/version.py:1",
            "python_requires": "setup.py:26",
            "install_requires": [
              "setup.py:28",
              "setup.py:29"
            ],
            "extras_require": {
              "docs": [
                "setup.py:8"
              ],
              "tests:python_version<'3.8'": [
                "setup.py:9"
              ],
              "tests": [
                "setup.py:10"
              ],
              "all": [
                "setup.py:8",
                "setup.py:9",
                "setup.py:10",
                "setup.py:8",
                "setup.py:9",
                "setup.py:10"
              ]
            }
          }
        }
        --- stderr
    "#]],
    );
}

#[test]
fn of_a_pyproject_toml() {
    let text = "[project]\nname = 'web'\nversion = '2'\nrequires-python = '>=3.9'\n\
        dependencies = ['Flask', 'tomli; python_version<\"3.11\"']\n\n\
        [project.optional-dependencies]\nDocs = ['sphinx']\n";
    check(
        &[("app/pyproject.toml", text)],
        &["app"],
        0,
        &expect![[r#"
        exit 0
        --- stdout
        name: web  (app/pyproject.toml:2)
        version: 2  (app/pyproject.toml:3)
        python_requires: >=3.9  (app/pyproject.toml:4)
        install_requires:
          Flask  (app/pyproject.toml:5)
          tomli; python_version<"3.11"  (app/pyproject.toml:5)
        extras_require[Docs]:
          sphinx  (app/pyproject.toml:8)
        --- stderr
    "#]],
    );
}

#[test]
fn for_another_python() {
    let setup = "import sys\nfrom setuptools import setup\nrequires = ['new']\nif sys.version_info < (3, 9):\n    requires = ['old']\nsetup(name='web', install_requires=requires)\n";
    check(
        &[("setup.py", setup)],
        &[],
        0,
        &expect![[r#"
        exit 0
        --- stdout
        name: web  (setup.py:6)
        version: -
        python_requires: -
        install_requires:
          new  (setup.py:3)
        --- stderr
    "#]],
    );
    check(
        &[("setup.py", setup)],
        &["--python-version", "3.8"],
        0,
        &expect![[r#"
        exit 0
        --- stdout
        name: web  (setup.py:6)
        version: -
        python_requires: -
        install_requires:
          old  (setup.py:5)
        --- stderr
    "#]],
    );
}

#[test]
fn refused() {
    let setup = "from setuptools import setup\nfrom web import requires\nsetup(name='web', install_requires=requires)\n";
    check(
        &[("setup.py", setup)],
        &[],
        2,
        &expect![[r#"
        exit 2
        --- stdout
        --- stderr
        error: setup.py:2: cannot evaluate `from web import requires`: the module `web` is not known

        hint: a setup.py is read, never run: write what it computes as plain values, or declare the project in pyproject.toml
    "#]],
    );
    check(
        &[("setup.py", setup)],
        &["--format", "json"],
        2,
        &expect![[r#"
        exit 2
        --- stdout
        --- stderr
        error: setup.py:2: cannot evaluate `from web import requires`: the module `web` is not known

        hint: a setup.py is read, never run: write what it computes as plain values, or declare the project in pyproject.toml
    "#]],
    );
    check(
        &[],
        &[],
        2,
        &expect![[r#"
        exit 2
        --- stdout
        --- stderr
        error: .: no setup.py, setup.cfg or pyproject.toml that declares a project
    "#]],
    );
    check(
        &[],
        &["nowhere"],
        2,
        &expect![[r#"
        exit 2
        --- stdout
        --- stderr
        error: nowhere: there is no such file or folder
    "#]],
    );
    check(
        &[("requirements.in", "app\n")],
        &["requirements.in"],
        2,
        &expect![[r#"
        exit 2
        --- stdout
        --- stderr
        error: requirements.in: not a setup.py, setup.cfg or pyproject.toml
    "#]],
    );
    check(
        &[("setup.py", SETUP)],
        &["--python-version", "x"],
        2,
        &expect![[r#"
            exit 2
            --- stdout
            --- stderr
            error: --python-version: `x` is not a Python version (`3.12` or `3.12.4`)
        "#]],
    );
    check(
        &[("setup.py", SETUP)],
        &["--format", "github"],
        2,
        &expect![[r#"
        exit 2
        --- stdout
        --- stderr
        error: --format github is for `compile --check`
    "#]],
    );
}
