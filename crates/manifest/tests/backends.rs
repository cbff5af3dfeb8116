//! Projects of other backends than setuptools, by their own tables.

use expect_test::{Expect, expect};
use reana_manifest::{Extras, MemoryFiles, read_project};
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
