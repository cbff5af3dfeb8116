//! Which file of a project wins, and what is left unknown.

use expect_test::{Expect, expect};
use reana_manifest::{Extras, MemoryFiles, read_project};
use reana_model::{Platform, PythonVersion, Target};

fn target() -> Target {
    Target { python: PythonVersion::newest(3, 12), platform: Platform::LinuxAmd64 }
}

fn check(files: &[(&str, &str)], expected: &Expect) {
    let files = MemoryFiles::of(files.iter().map(|(path, text)| (*path, *text)));
    let mut out = String::new();
    match read_project(&files, "", &target()) {
        Err(problem) => out += &format!("error {problem}\n"),
        Ok(declared) => {
            let text = |fact: &reana_manifest::Fact<Option<reana_manifest::Text>>| match fact {
                Ok(Some(text)) => format!("{} @ {}", text.value, text.origin),
                Ok(None) => "-".to_owned(),
                Err(unknown) => {
                    format!("unknown {unknown}{}", if unknown.plug_in { " (plug-in)" } else { "" })
                }
            };
            out += &format!("name {}\n", text(&declared.name));
            out += &format!("version {}\n", text(&declared.version));
            out += &format!("python {}\n", text(&declared.python_requires));
            match &declared.install_requires {
                Ok(list) => list.iter().for_each(|text| out += &format!("{}: {}\n", text.origin, text.value)),
                Err(unknown) => out += &format!("unknown {unknown}\n"),
            }
            match &declared.extras_require {
                Ok(extras) => {
                    for (key, list) in extras {
                        out += &format!("[{key}]\n");
                        list.iter().for_each(|text| out += &format!("  {}: {}\n", text.origin, text.value));
                    }
                }
                Err(unknown) => out += &format!("extras unknown {unknown}\n"),
            }
            out += &format!("files {:?} read {:?}\n", declared.files, declared.read);
        }
    }
    expected.assert_eq(&out);
}

#[test]
fn a_project_table() {
    check(
        &[(
            "pyproject.toml",
            "[build-system]\nbuild-backend = \"hatchling.build\"\n[project]\nname = \"Me\"\nversion = \"1.0\"\n\
             requires-python = \">=3.8\"\ndependencies = [\n  \"a>=1\",\n  \"b; python_version < '3'\",\n]\n\
             [project.optional-dependencies]\ntest = [\"pytest\"]\nall = [\"me[test]\", \"c\"]\n",
        )],
        &expect![[r#"
            name Me @ pyproject.toml:4
            version 1.0 @ pyproject.toml:5
            python >=3.8 @ pyproject.toml:6
            pyproject.toml:8: a>=1
            pyproject.toml:9: b; python_version < '3'
            [test]
              pyproject.toml:12: pytest
            [all]
              pyproject.toml:13: me[test]
              pyproject.toml:13: c
            files ["pyproject.toml"] read ["pyproject.toml"]
        "#]],
    );
}

#[test]
fn dynamic_fields_from_files_and_modules() {
    check(
        &[
            (
                "pyproject.toml",
                "[project]\nname = \"me\"\ndynamic = [\"version\", \"dependencies\", \"optional-dependencies\"]\n\
                 [tool.setuptools.dynamic]\nversion = {attr = \"me.__version__\"}\n\
                 dependencies = {file = [\"requirements.txt\", \"more.txt\"]}\n\
                 [tool.setuptools.dynamic.optional-dependencies]\ntest = {file = \"test.txt\"}\n",
            ),
            ("me/__init__.py", "__version__ = \"2.1\"\n"),
            ("requirements.txt", "# comment\na>=1  # why\n\nb \\\n  >=2\n"),
            ("more.txt", "c"),
            ("test.txt", "pytest\n"),
        ],
        &expect![[r#"
            name me @ pyproject.toml:2
            version 2.1 @ me/__init__.py:1
            python -
            requirements.txt:2: a>=1
            requirements.txt:4: b >=2
            more.txt:1: c
            [test]
              test.txt:1: pytest
            files ["pyproject.toml"] read ["pyproject.toml", "me/__init__.py", "requirements.txt", "more.txt", "test.txt"]
        "#]],
    );
}

#[test]
fn what_a_plug_in_or_another_backend_decides_is_unknown() {
    check(
        &[("pyproject.toml", "[project]\nname = \"me\"\ndynamic = [\"version\", \"dependencies\"]\n")],
        &expect![[r#"
            name me @ pyproject.toml:2
            version unknown pyproject.toml:3: cannot evaluate `dynamic: version`: no file of the project sets it; a plug-in of the build may (plug-in)
            python -
            unknown pyproject.toml:3: cannot evaluate `dynamic: dependencies`: no file of the project sets it; a plug-in of the build may
            files ["pyproject.toml"] read ["pyproject.toml"]
        "#]],
    );
    check(
        &[(
            "pyproject.toml",
            "[build-system]\nbuild-backend = \"poetry.core.masonry.api\"\n[tool.poetry]\nname = \"me\"\nversion = \"1\"\n\
             [tool.poetry.dependencies]\na = \"^1\"\n",
        )],
        &expect![[r#"
            name me @ pyproject.toml:4
            version 1 @ pyproject.toml:5
            python -
            pyproject.toml:7: a>=1,<2
            files ["pyproject.toml"] read ["pyproject.toml"]
        "#]],
    );
    check(
        &[(
            "pyproject.toml",
            "[build-system]\nbuild-backend = \"hatchling.build\"\n[project]\nname = \"me\"\ndynamic = [\"version\"]\ndependencies = [\"a\"]\n",
        )],
        &expect![[r#"
            name me @ pyproject.toml:4
            version unknown pyproject.toml:5: cannot evaluate `dynamic: version`: the build backend `hatchling.build` decides it (plug-in)
            python -
            pyproject.toml:6: a
            files ["pyproject.toml"] read ["pyproject.toml"]
        "#]],
    );
    check(
        &[(
            "pyproject.toml",
            "[project]\nname = \"me\"\nversion = \"1\"\ndynamic = [\"dependencies\"]\n[tool.setuptools.dynamic]\ndependencies = {file = \"none.txt\"}\n",
        )],
        &expect![[r#"
            name me @ pyproject.toml:2
            version 1 @ pyproject.toml:3
            python -
            unknown pyproject.toml:6: cannot evaluate `file: none.txt`: there is no such file
            files ["pyproject.toml"] read ["pyproject.toml"]
        "#]],
    );
}

#[test]
fn setup_cfg() {
    check(
        &[
            (
                "setup.cfg",
                "[metadata]\nname = me\nversion = attr: me.__version__\n[options]\npackage_dir =\n    = src\n\
                 python-requires = >=3.6\ninstall_requires =\n    a>=1\n    # not this\n    b; python_version < \"3\"\n\
                 [options.extras_require]\ntest = pytest; mock\ndocs = file: docs.txt\n",
            ),
            ("src/me/__init__.py", "__version__ = '3'\n"),
            ("docs.txt", "sphinx; python_version > \"3\"\n"),
        ],
        &expect![[r#"
            name me @ setup.cfg:2
            version 3 @ src/me/__init__.py:1
            python >=3.6 @ setup.cfg:7
            setup.cfg:9: a>=1
            setup.cfg:11: b; python_version < "3"
            [test]
              setup.cfg:13: pytest
              setup.cfg:13: mock
            [docs]
              docs.txt:1: sphinx; python_version > "3"
            files ["setup.cfg"] read ["setup.cfg", "docs.txt", "src/me/__init__.py"]
        "#]],
    );
    check(
        &[("setup.cfg", "[metadata]\nname = me\nversion = file: VERSION\n"), ("VERSION", "\n1.5\n")],
        &expect![[r#"
            name me @ setup.cfg:2
            version 1.5 @ VERSION:1
            python -
            files ["setup.cfg"] read ["setup.cfg", "VERSION"]
        "#]],
    );
}

#[test]
fn malformed_files_have_a_place() {
    check(
        &[("pyproject.toml", "[project]\nname = \n")],
        &expect![[r#"
        error pyproject.toml:2: not valid TOML: string values must be quoted, expected literal string
    "#]],
    );
    check(
        &[("pyproject.toml", "[project]\nname = \"me\"\ndependencies = \"a\"\n")],
        &expect![[r#"
        error pyproject.toml:3: `project.dependencies` must be a list of strings
    "#]],
    );
    check(
        &[("setup.cfg", "[metadata]\nname\n")],
        &expect![[r#"
        error setup.cfg:2: not a valid configuration file: `name` is neither a section nor `key = value`
    "#]],
    );
    check(
        &[("README.md", "")],
        &expect![[r#"
            error .: no setup.py, setup.cfg or pyproject.toml that declares a project
        "#]],
    );
    check(
        &[("pyproject.toml", "[tool.black]\n")],
        &expect![[r#"
            error .: no setup.py, setup.cfg or pyproject.toml that declares a project
        "#]],
    );
    check(
        &[("pyproject.toml", "[tool.poetry]\nname = 'x'\nversion = '1'\n")],
        &expect![[r#"
            error .: no setup.py, setup.cfg or pyproject.toml that declares a project; poetry's or flit's own table counts where `build-backend` in `[build-system]` is theirs
        "#]],
    );
}

fn requirements(pyproject: &str, extras: &Extras, expected: &Expect) {
    let files = MemoryFiles::of([("pyproject.toml", pyproject)]);
    let declared = read_project(&files, "sub/me", &target()).expect("a project");
    let found = declared.unfold(extras);
    let mut out = String::new();
    for requirement in &found.requirements {
        let marker = requirement.marker.try_to_string().unwrap_or_default();
        out += &format!("{}: {} ; {marker}\n", requirement.origin, requirement.name);
    }
    found.problems.iter().for_each(|problem| out += &format!("problem {problem}\n"));
    found.notes.iter().for_each(|note| out += &format!("note {note}\n"));
    assert_eq!(declared.requirements(extras).is_err(), !found.problems.is_empty());
    expected.assert_eq(&out);
}

fn named(names: &[&str]) -> Extras {
    Extras::Named(names.iter().map(|name| name.parse().expect("an extra")).collect())
}

#[test]
fn extras_unfold() {
    let project = "[project]\nname = \"My.Me\"\nversion = \"1\"\ndependencies = [\"a\"]\n[project.optional-dependencies]\n\
                   \"\" = [\"never-so\"]\n\":python_version < '3'\" = [\"old\"]\n\"Test_X:os_name == 'nt'\" = [\"win\"]\n\
                   test-x = [\"pytest\"]\nall = [\"my-me[test.x]; python_version < '4'\", \"my_me[all]\", \"c\", \"my-me[gone]\"]\n";
    requirements(
        project,
        &Extras::None,
        &expect![[r#"
            sub/me/pyproject.toml:4: a ; 
            sub/me/pyproject.toml:6: never-so ; 
            sub/me/pyproject.toml:7: old ; python_full_version < '3'
        "#]],
    );
    requirements(
        project,
        &named(&["test-x"]),
        &expect![[r#"
            sub/me/pyproject.toml:4: a ; 
            sub/me/pyproject.toml:6: never-so ; 
            sub/me/pyproject.toml:7: old ; python_full_version < '3'
            sub/me/pyproject.toml:8: win ; os_name == 'nt'
            sub/me/pyproject.toml:9: pytest ; 
        "#]],
    );
    requirements(
        project,
        &named(&["ALL", "none"]),
        &expect![[r#"
            sub/me/pyproject.toml:4: a ; 
            sub/me/pyproject.toml:6: never-so ; 
            sub/me/pyproject.toml:7: old ; python_full_version < '3'
            sub/me/pyproject.toml:10: c ; 
            sub/me/pyproject.toml:8: win ; python_full_version < '4' and os_name == 'nt'
            sub/me/pyproject.toml:9: pytest ; python_full_version < '4'
            note sub/me/pyproject.toml: there is no extra `none`
            note sub/me/pyproject.toml:10: there is no extra `gone`
        "#]],
    );
    requirements(
        project,
        &Extras::All,
        &expect![[r#"
            sub/me/pyproject.toml:4: a ; 
            sub/me/pyproject.toml:6: never-so ; 
            sub/me/pyproject.toml:7: old ; python_full_version < '3'
            sub/me/pyproject.toml:8: win ; os_name == 'nt'
            sub/me/pyproject.toml:9: pytest ; 
            sub/me/pyproject.toml:10: c ; 
            sub/me/pyproject.toml:8: win ; python_full_version < '4' and os_name == 'nt'
            sub/me/pyproject.toml:9: pytest ; python_full_version < '4'
            note sub/me/pyproject.toml:10: there is no extra `gone`
        "#]],
    );
}

#[test]
fn what_is_no_requirement_has_a_place() {
    requirements(
        "[project]\nname = \"me\"\nversion = \"1\"\ndependencies = [\n\"a>=1.*\",\n\"b (>=1 <2)\",\n\"-c\",\n]\n\
         [project.optional-dependencies]\n\"x:nonsense\" = [\"d\"]\n\"-\" = [\"e\"]\n",
        &Extras::All,
        &expect![[r#"
            sub/me/pyproject.toml:5: a ; 
            sub/me/pyproject.toml:6: b ; 
            problem sub/me/pyproject.toml:10: `nonsense` is not a marker (PEP 508)
            problem sub/me/pyproject.toml:11: `-` is not the name of an extra
            problem sub/me/pyproject.toml:7: `-c` is not a valid requirement (PEP 508): Expected package name starting with an alphanumeric character, found `-`
            note sub/me/pyproject.toml:5: `a>=1.*` is read as `a >=1`: it is not a valid requirement (PEP 508)
            note sub/me/pyproject.toml:6: `b (>=1 <2)` is read as `b >=1,<2`: it is not a valid requirement (PEP 508)
        "#]],
    );
}

#[test]
fn extras_that_include_one_another_are_bounded() {
    let extras: String = (0..14)
        .map(|n| {
            let others: Vec<String> =
                (0..14).map(|m| format!("\"me[e{m}]; '{n}-{m}' != platform_version\"")).collect();
            format!("e{n} = [{}]\n", others.join(", "))
        })
        .collect();
    let project =
        format!("[project]\nname = \"me\"\nversion = \"1\"\n[project.optional-dependencies]\n{extras}");
    let files = MemoryFiles::of([("pyproject.toml", project)]);
    let declared = read_project(&files, "", &target()).expect("a project");
    let problems = declared.requirements(&Extras::All).expect_err("too many");
    expect!["pyproject.toml:5: the extras of the project include one another too often"]
        .assert_eq(&problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"));
}

#[test]
fn setup_py_wins_over_setup_cfg_where_it_says_something() {
    let cfg = "[metadata]\nname = cfg\nversion = 2\n[options]\ninstall_requires =\n    from-cfg\n\
               python_requires = >=3.8\n[options.extras_require]\nx = from-cfg\n";
    check(
        &[
            (
                "setup.py",
                "from setuptools import setup\nsetup(\n    name='me',\n    install_requires=[\n        'a>=1',\n        'b',\n    ],\n    extras_require={},\n)\n",
            ),
            ("setup.cfg", cfg),
        ],
        &expect![[r#"
            name me @ setup.py:3
            version 2 @ setup.cfg:3
            python >=3.8 @ setup.cfg:7
            setup.py:5: a>=1
            setup.py:6: b
            [x]
              setup.cfg:9: from-cfg
            files ["setup.py", "setup.cfg"] read ["setup.py", "setup.cfg"]
        "#]],
    );
    check(
        &[
            (
                "setup.py",
                "import os\nfrom setuptools import setup\nsetup(install_requires=os.environ['X'].split())\n",
            ),
            ("setup.cfg", cfg),
        ],
        &expect![[r#"
            name cfg @ setup.cfg:2
            version 2 @ setup.cfg:3
            python >=3.8 @ setup.cfg:7
            unknown setup.py:3: cannot evaluate `os.environ['X']`: the environment is not known
            [x]
              setup.cfg:9: from-cfg
            files ["setup.py", "setup.cfg"] read ["setup.py", "setup.cfg"]
        "#]],
    );
}

#[test]
fn a_project_table_wins_over_setup_py() {
    let setup = (
        "setup.py",
        "from setuptools import setup\nsetup(name='x', version='3', install_requires=['a'], extras_require={'t': ['b']})\n",
    );
    check(
        &[("pyproject.toml", "[project]\nname = \"me\"\ndynamic = [\"version\", \"dependencies\"]\n"), setup],
        &expect![[r#"
            name me @ pyproject.toml:2
            version 3 @ setup.py:2
            python -
            setup.py:2: a
            files ["pyproject.toml", "setup.py"] read ["setup.py", "pyproject.toml"]
        "#]],
    );
    check(
        &[("pyproject.toml", "[project]\nname = \"me\"\nversion = \"1\"\n"), setup],
        &expect![[r#"
        name me @ pyproject.toml:2
        version 1 @ pyproject.toml:3
        python -
        files ["pyproject.toml"] read ["pyproject.toml"]
    "#]],
    );
    check(
        &[("pyproject.toml", "[build-system]\nrequires = [\"setuptools\"]\n"), setup],
        &expect![[r#"
        name x @ setup.py:2
        version 3 @ setup.py:2
        python -
        setup.py:2: a
        [t]
          setup.py:2: b
        files ["setup.py"] read ["setup.py", "pyproject.toml"]
    "#]],
    );
}

#[test]
fn a_plug_in_of_setup_py_leaves_requirements_unknown() {
    check(
        &[
            ("setup.py", "import setuptools\nsetuptools.setup(setup_requires=['pbr'], pbr=True)\n"),
            ("setup.cfg", "[metadata]\nname = me\nrequires-dist =\n    a\n"),
            ("requirements.txt", "a\n"),
        ],
        &expect![[r#"
            name unknown setup.py:2: cannot evaluate `pbr=True`: pbr reads setup.cfg and requirements.txt (plug-in)
            version unknown setup.py:2: cannot evaluate `pbr=True`: pbr reads setup.cfg and requirements.txt (plug-in)
            python unknown setup.py:2: cannot evaluate `pbr=True`: pbr reads setup.cfg and requirements.txt (plug-in)
            unknown setup.py:2: cannot evaluate `pbr=True`: pbr reads setup.cfg and requirements.txt
            extras unknown setup.py:2: cannot evaluate `pbr=True`: pbr reads setup.cfg and requirements.txt
            files ["setup.py", "setup.cfg"] read ["setup.py", "setup.cfg"]
        "#]],
    );
}

#[test]
fn windows_line_ends_change_nothing() {
    check(
        &[
            (
                "setup.cfg",
                "[metadata]\r\nname = me\r\nversion = file: V\r\n[options]\r\ninstall_requires =\r\n  a\r\n  b\r\n",
            ),
            ("V", "1.0\r\n"),
        ],
        &expect![[r#"
            name me @ setup.cfg:2
            version 1.0 @ V:1
            python -
            setup.cfg:6: a
            setup.cfg:7: b
            files ["setup.cfg"] read ["setup.cfg", "V"]
        "#]],
    );
}
