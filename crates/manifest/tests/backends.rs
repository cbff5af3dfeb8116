//! Projects of other backends than setuptools, by their own tables.

use expect_test::{Expect, expect};
use reana_manifest::{Extras, Fact, MemoryFiles, Text, read_project};
use reana_model::{Platform, Target};

fn check(pyproject: &str, expected: &Expect) {
    let files = MemoryFiles::of([("pyproject.toml", pyproject)]);
    let target = Target { python: "3.12".parse().expect("a version"), platform: Platform::LinuxAmd64 };
    let declared = read_project(&files, "", &target).expect("a project");
    let mut lines =
        vec![format!("{:?}", declared.name.as_ref().map(|it| it.as_ref().map(|it| it.value.as_str())).ok())];
    match &declared.python_requires {
        Ok(python) => lines.extend(python.as_ref().map(|text| format!("python {}", text.value))),
        Err(unknown) => lines.push(unknown.to_string()),
    }
    match declared.requirements(&Extras::All) {
        Ok(all) => lines.extend(all.iter().map(|it| format!("{}: {}", it.origin, it.text))),
        Err(problems) => lines.extend(problems.iter().map(ToString::to_string)),
    }
    expected.assert_eq(&(lines.join("\n") + "\n"));
}

#[test]
fn poetry() {
    check(
        "[build-system]\nrequires = ['poetry-core']\nbuild-backend = 'poetry.core.masonry.api'\n\
         [tool.poetry]\nname = 'web'\nversion = '1.0'\n[tool.poetry.dependencies]\npython = '^3.8'\n\
         requests = '^2.25'\nclick = { version = '~8.1', extras = ['x', 'y'], python = '<3.13', platform = 'linux' }\n\
         psycopg2 = { version = '>=2.8', optional = true }\n\
         multi = [{ version = '<2', python = '<3.9' }, { version = '>=2', markers = \"python_version >= '3.9'\" }]\n\
         own = { git = 'https://h.example/own.git', tag = 'v1' }\n\
         [tool.poetry.extras]\npg = ['psycopg2']\n",
        &expect![[r#"
            Some(Some("web"))
            python >=3.8,<4.0
            pyproject.toml:9: requests>=2.25,<3.0
            pyproject.toml:10: click[x,y]>=8.1,<8.2; python_version < '3.13' and sys_platform == 'linux'
            pyproject.toml:12: multi<2; python_version < '3.9'
            pyproject.toml:12: multi>=2; (python_version >= '3.9')
            pyproject.toml:13: own @ git+https://h.example/own.git@v1
            pyproject.toml:11: psycopg2>=2.8
        "#]],
    );
    check(
        "[build-system]\nrequires = ['poetry-core']\nbuild-backend = 'poetry.core.masonry.api'\n\
         [tool.poetry]\nname = 'web'\nversion = '1.0'\n[tool.poetry.dependencies]\npython = '>=3.8 || <3'\nx = '^1 || ^3'\n",
        &expect![[r#"
            Some(Some("web"))
            pyproject.toml:8: cannot evaluate `python = ">=3.8 || <3"`: poetry's notation has no counterpart among version specifiers here
            pyproject.toml:9: cannot evaluate `x = ^1 || ^3`: poetry's notation has no counterpart among version specifiers here
        "#]],
    );
}

#[test]
fn flit() {
    check(
        "[build-system]\nrequires = ['flit']\nbuild-backend = 'flit.buildapi'\n\
         [tool.flit.metadata]\nmodule = 'web'\nauthor = 'x'\nrequires-python = '>=3.6'\n\
         requires = [\n  'requests >=2',\n  \"old; python_version<'3'\",\n]\n[tool.flit.metadata.requires-extra]\ntest = ['pytest']\n",
        &expect![[r#"
            Some(Some("web"))
            python >=3.6
            pyproject.toml:9: requests >=2
            pyproject.toml:10: old; python_version<'3'
            pyproject.toml:13: pytest
        "#]],
    );
}

#[test]
fn tables_of_tools_that_do_not_build() {
    check(
        "[build-system]\nrequires = ['x']\nbuild-backend = 'own'\n[tool.poetry]\nname = 'web'\n[tool.poetry.dependencies]\nx = '1'\n",
        &expect![[r#"
            Some(Some("web"))
            pyproject.toml:3: cannot evaluate `build-backend = "own"`: the build backend `own` decides it
            pyproject.toml:3: cannot evaluate `build-backend = "own"`: the build backend `own` decides it
        "#]],
    );
}

/// What is found of a dynamic version.
#[track_caller]
fn check_version(backend: &str, pyproject: &str, files: &[(&str, &str)], expected: &str) {
    let pyproject = format!(
        "[build-system]\nrequires = ['x']\nbuild-backend = '{backend}'\n[project]\nname = 'we-b'\ndynamic = ['version']\n{pyproject}"
    );
    let all = [("pyproject.toml", pyproject.as_str())];
    let files = MemoryFiles::of(files.iter().chain(&all).copied());
    let target = Target { python: "3.12".parse().expect("a version"), platform: Platform::LinuxAmd64 };
    let declared = read_project(&files, "", &target).expect("a project");
    let found = match declared.version {
        Ok(Some(version)) => format!("{} {}", version.origin, version.value),
        Ok(None) => "none".to_owned(),
        Err(unknown) => format!("{unknown}{}", if unknown.plug_in { " (plug-in)" } else { "" }),
    };
    assert_eq!(found, expected);
}

#[test]
fn versions_of_hatchling() {
    let check = |table: &str, text: &str, expected: &str| {
        check_version("hatchling.build", table, &[("w/v.py", text)], expected);
    };
    let path = "[tool.hatch.version]\npath = 'w/v.py'\n";
    check(path, "x = 1\r\n__version__ = 'v1.2'\r\n__version__ = '3'\r\n", "w/v.py:2 1.2");
    check(path, "# VERSION = '0'\nversion: str = \"1.2\" # x\n", "w/v.py:2 1.2");
    check(
        path,
        "__version__ = get()\n",
        "pyproject.toml:7: cannot evaluate `dynamic: version`: its pattern finds nothing in `w/v.py`",
    );
    let own = "[tool.hatch.version]\npath = 'w/v.py'\npattern = '^V = \\((?P<version>[0-9 ,]+)\\)$'\n";
    check(own, "V = (1, 2)\n", "w/v.py:1 1, 2");
    let nameless = "[tool.hatch.version]\npath = 'w/v.py'\npattern = 'V = (.*)'\n";
    check(
        nameless,
        "V = 1\n",
        "pyproject.toml:7: cannot evaluate `dynamic: version`: its pattern has no group `version`",
    );
    let slow = "[tool.hatch.version]\npath = 'w/v.py'\npattern = '(?P<version>(a+)+)(?=b)\\2$'\n";
    check(
        slow,
        &"a".repeat(5000),
        "pyproject.toml:7: cannot evaluate `dynamic: version`: its pattern tries too much",
    );
    check(
        "[tool.hatch.version]\npath = '../v.py'\n",
        "",
        "pyproject.toml:7: cannot evaluate `dynamic: version`: ../v.py: the path leads outside of the project",
    );
    check(
        "[tool.hatch.version]\nsource = 'vcs'\n",
        "",
        "pyproject.toml:7: cannot evaluate `tool.hatch.version`: a plug-in of hatchling, `vcs`, decides it (plug-in)",
    );
    check(
        "[tool.hatch.version]\nsource = 'code'\npath = 'w/v.py'\n",
        "__version__ = '1'",
        "pyproject.toml:7: cannot evaluate `tool.hatch.version`: hatchling runs a module for it (plug-in)",
    );
    check(
        "",
        "",
        "pyproject.toml:6: cannot evaluate `dynamic: version`: the build backend `hatchling.build` decides it (plug-in)",
    );
    let files =
        [("hatch.toml", "[version]\npath = 'v'\n"), ("v", "VERSION = '7'"), ("w/v.py", "VERSION='8'")];
    check_version("hatchling.build", path, &files, "v:1 7");
}

#[test]
fn versions_of_pdm() {
    let check = |table: &str, expected: &str| {
        let text = "VERSION = '0'\n__version__ = '1.2'  # it\n";
        check_version("pdm.backend", table, &[("w/v.py", text)], expected);
    };
    check("[tool.pdm.version]\nsource = 'file'\npath = 'w/v.py'\n", "w/v.py:2 1.2");
    check("[tool.pdm]\nversion = { source = 'file', path = 'w/v.py' }\n", "w/v.py:2 1.2");
    check(
        "[tool.pdm.version]\nsource = 'file'\npath = 'v.py'\n",
        "pyproject.toml:7: cannot evaluate `dynamic: version`: there is no file `v.py`",
    );
    check(
        "[tool.pdm.version]\nsource = 'scm'\n",
        "pyproject.toml:7: cannot evaluate `tool.pdm.version`: pdm-backend takes it from the repository's tags (plug-in)",
    );
    check(
        "[tool.pdm.version]\nsource = 'call'\ngetter = 'w.v:get'\n",
        "pyproject.toml:7: cannot evaluate `tool.pdm.version`: pdm-backend calls a function for it (plug-in)",
    );
}

#[test]
fn versions_of_flit() {
    let check = |table: &str, files: &[(&str, &str)], expected: &str| {
        check_version("flit_core.buildapi", table, files, expected);
    };
    let doc = "'''Doc.\n\n__version__ = 'no'\n'''\nimport os\nif os.x:\n    __version__ = 'no'\nname = __version__ = '1.' '2'\n";
    check("", &[("we_b/__init__.py", doc)], "we_b/__init__.py:8 1.2");
    check("", &[("src/we_b.py", "__version__ = \"2\"\n")], "src/we_b.py:1 2");
    let split = [
        ("we_b/__init__.py", "from ._version import __version__"),
        ("we_b/_version.py", "__version__ = '3'"),
    ];
    check("", &split, "we_b/_version.py:1 3");
    check("[tool.flit.module]\nname = 'ns.it'\n", &[("ns/it.py", "__version__ = '4'")], "ns/it.py:1 4");
    let computed = [("we_b.py", "__version__ = '.'.join(parts)")];
    check(
        "",
        &computed,
        "pyproject.toml:5: cannot evaluate `dynamic: version`: `we_b` assigns no plain string to `__version__`",
    );
    check("", &[], "pyproject.toml:5: cannot evaluate `dynamic: version`: there is no module `we_b`");
    let two = [("we_b.py", ""), ("src/we_b.py", "")];
    check(
        "",
        &two,
        "pyproject.toml:5: cannot evaluate `dynamic: version`: there is more than one module `we_b`",
    );
    let broken = [("we_b.py", "x = (\n")];
    check(
        "",
        &broken,
        "we_b.py:2: cannot evaluate `__version__`: syntax error: unexpected EOF while parsing",
    );
    let pyproject = "[build-system]\nrequires = ['flit']\nbuild-backend = 'flit.buildapi'\n[tool.flit.metadata]\nmodule = 'web'\ndist-name = 'we-b'\n";
    let files =
        MemoryFiles::of([("pyproject.toml", pyproject), ("web.py", "\"\"\"It.\"\"\"\n__version__ = '5'\n")]);
    let target = Target { python: "3.12".parse().expect("a version"), platform: Platform::LinuxAmd64 };
    let declared = read_project(&files, "", &target).expect("a project");
    let text = |fact: Fact<Option<Text>>| fact.ok().flatten().map(|text| text.value);
    assert_eq!((text(declared.name), text(declared.version)), (Some("we-b".into()), Some("5".into())));
}

#[test]
fn versions_of_poetry() {
    check_version("poetry.core.masonry.api", "[tool.poetry]\nversion = '6'\n", &[], "pyproject.toml:8 6");
    check_version(
        "own",
        "[tool.poetry]\nversion = '6'\n[tool.hatch.version]\npath = 'v'\n",
        &[("v", "VERSION = '1'")],
        "pyproject.toml:6: cannot evaluate `dynamic: version`: the build backend `own` decides it (plug-in)",
    );
}
