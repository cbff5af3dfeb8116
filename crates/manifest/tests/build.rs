//! What a build needs.

use expect_test::{Expect, expect};
use reana_manifest::{MemoryFiles, read_build};
use reana_model::{Platform, Target};

fn check(files: &[(&str, &str)], expected: &Expect) {
    let files = MemoryFiles::of(files.iter().copied());
    let target = Target { python: "3.12".parse().expect("a version"), platform: Platform::LinuxAmd64 };
    let found = match read_build(&files, "foo-1.0.tar.gz", &target) {
        Ok(needs) => {
            let mut lines = vec![needs.backend];
            lines.extend(needs.requires.iter().map(|text| format!("{}: {}", text.origin, text.value)));
            lines.extend(needs.open.iter().map(|unknown| format!("open: {unknown}")));
            lines.join("\n") + "\n"
        }
        Err(problem) => format!("{problem}\n"),
    };
    expected.assert_eq(&found);
}

#[test]
fn the_default_where_nothing_is_said() {
    check(
        &[("setup.py", "from setuptools import setup\nsetup()\n")],
        &expect![[r#"
        setuptools.build_meta:__legacy__
        foo-1.0.tar.gz/setup.py: setuptools>=40.8.0
        foo-1.0.tar.gz/setup.py: wheel
    "#]],
    );
    check(
        &[("pyproject.toml", "[tool.black]\n"), ("setup.py", "")],
        &expect![[r#"
        setuptools.build_meta:__legacy__
        foo-1.0.tar.gz/setup.py: setuptools>=40.8.0
        foo-1.0.tar.gz/setup.py: wheel
    "#]],
    );
}

#[test]
fn build_system() {
    let text = "[build-system]\nrequires = [\n  'setuptools>=61',\n  \"setuptools_scm[toml]>=6; python_version>'3'\",\n]\nbuild-backend = 'setuptools.build_meta'\n";
    check(
        &[("pyproject.toml", text)],
        &expect![[r#"
        setuptools.build_meta
        foo-1.0.tar.gz/pyproject.toml:3: setuptools>=61
        foo-1.0.tar.gz/pyproject.toml:4: setuptools_scm[toml]>=6; python_version>'3'
    "#]],
    );
    check(
        &[("pyproject.toml", "\n[build-system]\nbuild-backend = 'x'\n")],
        &expect![[r#"
        foo-1.0.tar.gz/pyproject.toml:2: `build-system.requires` must be given
    "#]],
    );
    check(
        &[("pyproject.toml", "[build-system]\nrequires = 'x'\n")],
        &expect![[r#"
        foo-1.0.tar.gz/pyproject.toml:2: `build-system.requires` must be a list of strings
    "#]],
    );
}

#[test]
fn setup_requires() {
    let setup = "import sys\nfrom setuptools import setup\nneeds = ['pytest-runner>=2']\nif sys.version_info < (3,):\n    needs.append('old')\nsetup(setup_requires=needs)\n";
    check(
        &[("setup.py", setup)],
        &expect![[r#"
        setuptools.build_meta:__legacy__
        foo-1.0.tar.gz/setup.py: setuptools>=40.8.0
        foo-1.0.tar.gz/setup.py: wheel
        foo-1.0.tar.gz/setup.py:3: pytest-runner>=2
    "#]],
    );
    let cfg = "[options]\nsetup_requires =\n  cffi>=1\n  pbr\n";
    check(
        &[("setup.py", "from setuptools import setup\nsetup()\n"), ("setup.cfg", cfg)],
        &expect![[r#"
        setuptools.build_meta:__legacy__
        foo-1.0.tar.gz/setup.py: setuptools>=40.8.0
        foo-1.0.tar.gz/setup.py: wheel
        foo-1.0.tar.gz/setup.cfg:3: cffi>=1
        foo-1.0.tar.gz/setup.cfg:4: pbr
    "#]],
    );
    let unknown = "import os\nfrom setuptools import setup\nsetup(setup_requires=os.environ['X'].split())\n";
    check(
        &[("setup.py", unknown)],
        &expect![[r#"
        setuptools.build_meta:__legacy__
        foo-1.0.tar.gz/setup.py: setuptools>=40.8.0
        foo-1.0.tar.gz/setup.py: wheel
        open: foo-1.0.tar.gz/setup.py:3: cannot evaluate `os.environ['X']`: the environment is not known
    "#]],
    );
}

#[test]
fn other_backends() {
    let text = "[build-system]\nrequires = ['flit_core>=3,<4']\nbuild-backend = 'flit_core.buildapi'\n";
    check(
        &[("pyproject.toml", text)],
        &expect![[r#"
        flit_core.buildapi
        foo-1.0.tar.gz/pyproject.toml:2: flit_core>=3,<4
    "#]],
    );
    let text = "[build-system]\nrequires = ['hatchling']\nbuild-backend = 'hatchling.build'\n[tool.hatch.build.hooks.vcs]\nversion-file = 'x'\n[tool.hatch.build.targets.wheel.hooks.custom]\ndependencies = ['cython']\n[tool.hatch.build.hooks.jupyter]\ndependencies = ['hatch-jupyter-builder>=0.5']\n";
    check(
        &[("pyproject.toml", text)],
        &expect![[r#"
        hatchling.build
        foo-1.0.tar.gz/pyproject.toml:2: hatchling
        foo-1.0.tar.gz/pyproject.toml:9: hatch-jupyter-builder>=0.5
        foo-1.0.tar.gz/pyproject.toml:7: cython
    "#]],
    );
    let text = "[build-system]\nrequires = ['meson-python']\nbuild-backend = 'mesonpy'\n";
    check(
        &[("pyproject.toml", text)],
        &expect![[r#"
            mesonpy
            foo-1.0.tar.gz/pyproject.toml:2: meson-python
            open: foo-1.0.tar.gz/pyproject.toml: cannot evaluate `build-backend = "mesonpy"`: `mesonpy` may ask for more when it builds
        "#]],
    );
    let text = "[build-system]\nrequires = ['setuptools']\nbuild-backend = 'own'\nbackend-path = ['.']\n";
    check(
        &[("pyproject.toml", text)],
        &expect![[r#"
            own
            foo-1.0.tar.gz/pyproject.toml:2: setuptools
            open: foo-1.0.tar.gz/pyproject.toml:4: cannot evaluate `build-backend = "own"`: `own` may ask for more when it builds
        "#]],
    );
}
