//! Manifests, locks and settings that can't be used: each run says what and where, ends with the right code, prints
//! nothing on stdout and leaves the old lock as it was.

use expect_test::{Expect, expect};
use reana_testkit::{Release, World};

use crate::harness::{place, small_world};

/// Runs with these files, which are refused with this code and message.
fn check(code: i32, files: &[(&str, &[u8])], expected: &Expect) {
    let place = place(&small_world());
    for (path, bytes) in files {
        place.file(path, bytes);
    }
    expected.assert_eq(&place.refuses(&[], code));
}

#[test]
fn setup_py_that_cannot_be_known() {
    let setup = b"import subprocess\nfrom setuptools import setup\n\n\
        extra = subprocess.check_output(['cat', 'x']).decode().split()\n\
        setup(name='web', install_requires=['app'] + extra)\n";
    check(
        2,
        &[("setup.py", setup)],
        &expect![[r#"
        error: setup.py:4: cannot evaluate `subprocess.check_output(['cat', 'x'])`: `subprocess.check_output` is not evaluated

        hint: a setup.py is read, never run: write what it computes as plain values, or declare the project in pyproject.toml
    "#]],
    );
    let env = b"import os\nfrom setuptools import setup\nsetup(name='web', install_requires=[os.environ['DEPS']])\n";
    check(
        2,
        &[("setup.py", env)],
        &expect![[r#"
        error: setup.py:3: cannot evaluate `os.environ['DEPS']`: the environment is not known

        hint: a setup.py is read, never run: write what it computes as plain values, or declare the project in pyproject.toml
    "#]],
    );
    let pbr = b"from setuptools import setup\nsetup(setup_requires=['pbr'], pbr=True)\n";
    check(
        2,
        &[("setup.py", pbr)],
        &expect![[r#"
        error: setup.py:2: cannot evaluate `pbr=True`: pbr reads setup.cfg and requirements.txt

        hint: a setup.py is read, never run: write what it computes as plain values, or declare the project in pyproject.toml
    "#]],
    );
}

#[test]
fn setup_py_that_never_ends() {
    let hostile = b"from setuptools import setup\nx = 'a'\nwhile True:\n    x = x + x\nsetup(name='web', install_requires=[x])\n";
    check(
        2,
        &[("setup.py", hostile)],
        &expect![[r#"
        error: setup.py:4: cannot evaluate `x + x`: a text grows too long

        hint: a setup.py is read, never run: write what it computes as plain values, or declare the project in pyproject.toml
    "#]],
    );
}

#[test]
fn setup_py_that_is_no_python() {
    check(
        2,
        &[("setup.py", b"from setuptools import setup\nsetup(name='web',\n")],
        &expect![[r#"
            error: setup.py:3: cannot evaluate the end of the file: syntax error: unexpected EOF while parsing

            hint: a setup.py is read, never run: write what it computes as plain values, or declare the project in pyproject.toml
        "#]],
    );
    check(
        2,
        &[("setup.py", b"\xff\xfe\x00nonsense")],
        &expect![[r#"
            error: setup.py:1: cannot evaluate `���nonsense`: syntax error: Got unexpected token �

            hint: a setup.py is read, never run: write what it computes as plain values, or declare the project in pyproject.toml
        "#]],
    );
    check(
        2,
        &[("setup.py/inside", b"")],
        &expect![[r#"
        error: [ROOT]: nothing to lock: no manifest (setup.py, pyproject.toml, setup.cfg, requirements.in), and no folder with a locked component
    "#]],
    );
}

#[test]
fn requirements_that_are_none() {
    check(
        2,
        &[(
            "setup.py",
            b"from setuptools import setup\nsetup(name='web',\n    install_requires=['app', 'lib >= = 1'])\n",
        )],
        &expect![[r#"
        error: setup.py:3: `lib >= = 1` is not a valid requirement (PEP 508): expected version to start with a number, but no leading ASCII digits were found
    "#]],
    );
    check(
        2,
        &[("requirements.in", b"app\n???\nlib>=x\n")],
        &expect![[r#"
        error: requirements.in:2: `???` is not a valid requirement (PEP 508): Expected package name starting with an alphanumeric character, found `?`
        requirements.in:3: `lib>=x` is not a valid requirement (PEP 508): expected version to start with a number, but no leading ASCII digits were found
    "#]],
    );
    check(
        2,
        &[("requirements.in", b"app\n-r absent.in\n")],
        &expect![[r#"
        error: requirements.in:2: `absent.in` is not included: there is no such file
    "#]],
    );
    check(
        2,
        &[("requirements.in", b"app\n--no-such-option\n")],
        &expect![[r#"
        error: requirements.in:2: `--no-such-option` is not an option of requirements files
    "#]],
    );
    check(
        2,
        &[("requirements.in", b"-r requirements.in\napp\n")],
        &expect![[r#"
        error: requirements.in:1: `requirements.in` includes itself
    "#]],
    );
    check(
        2,
        &[("requirements.in", b"-r http://127.0.0.1:9/x.in\n")],
        &expect![[r#"
        error: requirements.in:1: `http://127.0.0.1:9/x.in` is an address; only files are included
    "#]],
    );
    check(
        2,
        &[("requirements.in", b"app\n\xff\xfe\xfd\n")],
        &expect![[r#"
        error: requirements.in:2: the file is not valid UTF-8 text
        requirements.in:2: `���` is not a valid requirement (PEP 508): Expected package name starting with an alphanumeric character, found `�`
    "#]],
    );
    check(
        2,
        &[("requirements.in", b"app\0==1\n")],
        &expect![[r#"
            error: requirements.in:1: `app�==1` is not a valid requirement (PEP 508): Expected one of `@`, `(`, `<`, `=`, `>`, `~`, `!`, `;`, found `�`
        "#]],
    );
}

#[test]
fn malformed_manifests() {
    check(
        2,
        &[("pyproject.toml", b"[project]\nname = 'web'\ndependencies = [\n")],
        &expect![[r#"
        error: pyproject.toml:3: not valid TOML: unclosed array, expected `]`
    "#]],
    );
    check(
        2,
        &[("pyproject.toml", b"[project]\nname = 'web'\ndependencies = 'app'\n")],
        &expect![[r#"
        error: pyproject.toml:3: `project.dependencies` must be a list of strings
    "#]],
    );
    check(
        2,
        &[("setup.cfg", b"[metadata]\nname = web\n[options\ninstall_requires = app\n")],
        &expect![[r#"
        error: setup.cfg:3: not a valid configuration file: `[options` is neither a section nor `key = value`
    "#]],
    );
    check(
        2,
        &[("setup.cfg", b"[metadata]\nname = web\n[options]\ninstall_requires = file: ../../etc/passwd\n")],
        &expect![[r#"
            error: setup.cfg:4: cannot evaluate `file: ../../etc/passwd`: ../../etc/passwd: the path leads outside of the project
        "#]],
    );
}

#[test]
fn malformed_settings() {
    let with = |text: &'static [u8], expected: Expect| {
        check(2, &[("requirements.in", b"app\n"), ("reana-lock.toml", text)], &expected);
    };
    with(
        b"python = '3.12'\npyhton = '3.12'\n",
        expect![[r#"
            error: [ROOT]/reana-lock.toml:2: unknown field `pyhton`, expected one of `python`, `targets`, `components`, `shared`, `index`, `lock`, `images`, `component`
        "#]],
    );
    with(
        b"python = \n",
        expect![[r#"
        error: [ROOT]/reana-lock.toml:1: string values must be quoted, expected literal string
    "#]],
    );
    with(
        b"\npython = 'three'\n",
        expect![[r#"
        error: [ROOT]/reana-lock.toml:2: `three` is not a Python version (`3.12` or `3.12.4`)
    "#]],
    );
    with(
        b"[index]\nurl = 3\n",
        expect![[r#"
        error: [ROOT]/reana-lock.toml:2: invalid type: integer `3`, expected a string
    "#]],
    );
    with(
        b"[index.names]\n'a b' = 'x'\n",
        expect![[r#"
        error: [ROOT]/reana-lock.toml:1: Not a valid package or extra name: "a b". Names must start and end with a letter or digit and may only contain -, _, ., and alphanumeric characters.
    "#]],
    );
    with(
        b"\xff\xfe",
        expect![[r#"
        error: [ROOT]/reana-lock.toml: not UTF-8 text
    "#]],
    );
}

#[test]
fn an_impossible_set_names_both_sides() {
    let place = place(&small_world());
    place.file("requirements.in", "app==2.0\n-r more.in\n").file("more.in", "# why\nlib<2\n");
    expect![[r#"
        error: work: no version of lib satisfies everything that is required of it:
          more.in:2 requires lib<2
          requirements.in:1 requires app==2.0
          app 2.0 requires lib>=2
        To go on, loosen one of `lib<2` (more.in:2), `app==2.0` (requirements.in:1).
    "#]]
    .assert_eq(&place.refuses(&[], 3));
    place.file("requirements.in", "app==2.0\n").file("limits.txt", "lib==1.0\n");
    expect![[r#"
        error: work: no version of lib satisfies everything that is required of it:
          requirements.in:1 requires app==2.0
          app 2.0 requires lib>=2
          limits.txt:1 allows only lib==1.0
        To go on, loosen one of `app==2.0` (requirements.in:1), `lib==1.0` (limits.txt:1).
    "#]]
    .assert_eq(&place.refuses(&["-c", "limits.txt"], 3));
    place.file("requirements.in", "app==2.0\napp==1.0\n");
    expect![[r#"
        error: work: no version of app satisfies everything that is required of it:
          requirements.in:1 requires app==2.0
          requirements.in:2 requires app==1.0
        To go on, loosen one of `app==2.0` (requirements.in:1), `app==1.0` (requirements.in:2).
    "#]]
    .assert_eq(&place.refuses(&[], 3));
    place.file("requirements.in", "app>3\n");
    expect![[r#"
        error: work: no version of app satisfies everything that is required of it:
          requirements.in:1 requires app>3
          the index has app 1.0 and 2.0
        To go on, loosen `app>3` (requirements.in:1).
    "#]]
    .assert_eq(&place.refuses(&[], 3));
}

#[test]
fn an_impossible_set_of_a_setup_py() {
    let place = place(&small_world());
    place.file("setup.py", "from setuptools import setup\nsetup(name='web', install_requires=[\n    'app>=2',\n    'lib<2',\n])\n");
    expect![[r#"
        error: work: no version of lib satisfies everything that is required of it:
          setup.py:3 requires app>=2
          setup.py:4 requires lib<2
          app 2.0 requires lib>=2
        To go on, loosen one of `app>=2` (setup.py:3), `lib<2` (setup.py:4).
    "#]]
    .assert_eq(&place.refuses(&[], 3));
}

#[test]
fn an_unknown_package() {
    let place = place(&small_world().with("needy", "1.0", &["nowhere>=1"]));
    place.file("requirements.in", "app\n\nabsent>=1\n");
    expect![[r#"
        error: work: no index knows absent
          requirements.in:3 requires absent>=1

        hint: is the name spelled right, and is `--index-url` or `--extra-index-url` the index that has it?
    "#]]
    .assert_eq(&place.refuses(&[], 3));
    place.file("requirements.in", "needy\n");
    expect![[r#"
        error: work: no index knows nowhere
          requirements.in:1 requires needy
          needy 1.0 requires nowhere>=1

        hint: is the name spelled right, and is `--index-url` or `--extra-index-url` the index that has it?
    "#]]
    .assert_eq(&place.refuses(&[], 3));
}

#[test]
fn a_package_without_a_usable_file() {
    let world = World::new()
        .release(
            "app",
            Release::new("1.0", &[]).wheel("cp312-cp312-win_amd64").wheel("cp39-cp39-manylinux1_x86_64"),
        )
        .empty_package("void");
    let place = place(&world);
    place.file("requirements.in", "app\n");
    expect![[r#"
        error: work: no allowed version of app has a file for Python 3.12 on linux/amd64: 1.0 has wheels for Python 3.9 alone, and no sdist
          requirements.in:1 requires app
        No version of app has one at all.

        hint: choose another target (`--python-version`, `--platform`), or loosen the bounds
    "#]].assert_eq(&place.refuses(&[], 3));
    place.file("requirements.in", "void\n");
    expect![[r#"
        error: work: no version of void satisfies everything that is required of it:
          requirements.in:1 requires void
          the index has no version of void
    "#]]
    .assert_eq(&place.refuses(&[], 3));
}

#[test]
fn an_sdist_that_cannot_be_read() {
    let setup =
        "import numpy\nfrom setuptools import setup\nsetup(name='app', install_requires=[numpy.dep()])\n";
    let world = World::new()
        .release("app", Release::new("1.0", &[]))
        .release("app", Release::new("2.0", &[]).sdist(&[("setup.py", setup)]));
    let place = place(&world);
    place.file("requirements.in", "app\n");
    expect![[r#"
        error: work: the requirements of app 2.0 can't be read from app-2.0.tar.gz: app-2.0.tar.gz/setup.py:1: cannot evaluate `import numpy`: the module `numpy` is not known
          requirements.in:1 requires app

        hint: `--allow-build app` builds it, which runs its code; `--skip-unreadable app` passes over such versions
    "#]].assert_eq(&place.refuses(&[], 4));
    let output = place.compile(&["--skip-unreadable", "app"]).expect_code(0);
    expect![[r#"
        note: app 2.0 was passed over: the requirements of app-2.0.tar.gz can't be read: app-2.0.tar.gz/setup.py:1: cannot evaluate `import numpy`: the module `numpy` is not known
        requirements.txt: 1 pin for Python 3.12 on linux/amd64; 1 added, 1 removed
    "#]].assert_eq(&output.stderr);
    assert_eq!(place.pins("requirements.txt"), ["app==1.0"]);
    expect!["#    reana-lock compile --output-file=requirements.txt --skip-unreadable=app requirements.in"]
        .assert_eq(place.lock().lines().nth(4).unwrap_or_default());
    // nobody is stopped by a version that is not wanted
    place.file("requirements.in", "app<2\n");
    let _ = place.compile(&[]).expect_code(0);
}

#[test]
fn locks_that_are_none() {
    let place = place(&small_world());
    place.file("requirements.in", "app\n").file("requirements.txt/inside", "");
    let output = place.compile(&[]).expect_code(2);
    assert_eq!(output.stdout, "");
    expect![[r#"
        error: [ROOT]/requirements.txt: not a regular file
    "#]]
    .assert_eq(&output.stderr);
    place.file("out.bin", b"\xff\xfe\x00\x01");
    let output = place.compile(&["requirements.in", "-o", "out.bin"]).expect_code(2);
    expect![[r#"
        error: [ROOT]/out.bin: the old lock is not UTF-8 text; nothing is written over it
    "#]]
    .assert_eq(&output.stderr);
    let output = place.compile(&["requirements.in", "-o", "absent/out.txt"]).expect_code(2);
    expect![[r#"
        error: the locks could not be written: [ROOT]/absent: there is no such file or folder

        hint: nothing was changed
    "#]]
    .assert_eq(&output.stderr);
}

#[test]
fn a_damaged_lock_is_made_anew() {
    let place = place(&small_world());
    place.file("requirements.in", "app\n");
    place.file("requirements.txt", "<<<<<<< ours\napp==1.0\n=======\napp==2.0\n>>>>>>> theirs\n???\n");
    let output = place.compile(&[]).expect_code(0);
    expect![[r#"
        note: requirements.txt:1: `<<<<<<< ours` is left over from a merge: resolve the conflict first; that line is not kept
        note: requirements.txt:3: `=======` is left over from a merge: resolve the conflict first; that line is not kept
        note: requirements.txt:4: app is pinned already in line 2; that line is not kept
        note: requirements.txt:5: `>>>>>>> theirs` is left over from a merge: resolve the conflict first; that line is not kept
        note: requirements.txt:6: `???` is not a valid requirement (PEP 508): Expected package name starting with an alphanumeric character, found `?`; that line is not kept
        requirements.txt: 3 pins for Python 3.12 on linux/amd64; 2 added, 1 with other hashes
    "#]].assert_eq(&output.stderr);
    assert_eq!(place.pins("requirements.txt"), ["app==1.0", "base==1.1", "lib==2.0"]);
}

#[test]
fn nothing_to_lock() {
    let place = place(&small_world());
    let output = place.compile(&[]).expect_code(2);
    expect![[r#"
        error: [ROOT]: nothing to lock: no manifest (setup.py, pyproject.toml, setup.cfg, requirements.in), and no folder with a locked component
    "#]].assert_eq(&output.stderr);
    place.file("web/setup.py", "");
    let output = place.compile(&[]).expect_code(2);
    expect![[r#"
        error: [ROOT]: nothing to lock: no manifest (setup.py, pyproject.toml, setup.cfg, requirements.in), and no folder with a locked component (a manifest alone, without a lock or a Dockerfile that installs from one: web)

        hint: name the folder itself to lock it, or list it under `components` in reana-lock.toml
    "#]].assert_eq(&output.stderr);
}
