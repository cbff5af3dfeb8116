//! Requirements files with what they include.

use expect_test::{Expect, expect};
use reana_manifest::{
    Entry, Listed, MemoryFiles, RequirementsIn, Viewpoint, read_constraints, read_requirements,
};

fn shown(found: &RequirementsIn) -> String {
    let listed = |listed: &Listed| {
        let hashes = listed.hashes.len();
        match &listed.entry {
            Entry::Named(named) => format!(
                "{}: {} extras {:?} {} hashes {hashes} {}",
                named.origin,
                named.name,
                named.extras.iter().map(ToString::to_string).collect::<Vec<_>>(),
                named.direct().map_or_else(
                    || named.specifiers().map(ToString::to_string).unwrap_or_default(),
                    |direct| format!("{} given {} editable {}", direct.url, direct.given, direct.editable)
                ),
                named.marker.try_to_string().unwrap_or_default()
            ),
            Entry::Unnamed(unnamed) => format!(
                "{}: {} given {} editable {} hashes {hashes} extras {:?} {}",
                unnamed.origin,
                unnamed.direct.url,
                unnamed.direct.given,
                unnamed.direct.editable,
                unnamed.extras.iter().map(ToString::to_string).collect::<Vec<_>>(),
                unnamed.marker.try_to_string().unwrap_or_default()
            ),
        }
    };
    let mut out = String::new();
    found.requirements.iter().for_each(|one| out += &format!("{}\n", listed(one)));
    found.constraints.iter().for_each(|one| out += &format!("limit {}\n", listed(one)));
    found.options.iter().for_each(|one| out += &format!("{}: {} {}\n", one.origin, one.option, one.value));
    found.problems.iter().for_each(|one| out += &format!("problem {one}\n"));
    found.notes.iter().for_each(|one| out += &format!("note {one}\n"));
    out + &format!("files {:?}\n", found.files)
}

fn check(files: &[(&str, &str)], folder: &str, path: &str, expected: &Expect) {
    let files = MemoryFiles::of(files.iter().map(|(path, text)| (*path, *text)));
    let viewpoint = Viewpoint { files: &files, root: "/work dir", folder, shown: &|path| path.to_owned() };
    expected.assert_eq(&shown(&read_requirements(&viewpoint, path)));
}

#[test]
fn files_include_others_relative_to_themselves() {
    check(
        &[
            (
                "requirements.in",
                "a[y,x]>=1 --hash=sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855\n-r sub/more.in\n-c limits.txt\n-f ./wheels\n--pre\n",
            ),
            (
                "sub/more.in",
                "b ; python_version < '3'\n-r ../third.in\n--find-links wheels\n-f https://h/links\n-c ./own.txt\n",
            ),
            ("sub/own.txt", "d==1\n"),
            ("third.in", "c\n"),
            ("limits.txt", "b<2\ne[x]<3\n"),
        ],
        "",
        "./requirements.in",
        &expect![[r#"
            requirements.in:1: a extras ["x", "y"] >=1 hashes 1 
            sub/more.in:1: b extras []  hashes 0 python_full_version < '3'
            third.in:1: c extras []  hashes 0 
            limit sub/own.txt:1: d extras [] ==1 hashes 0 
            limit limits.txt:1: b extras [] <2 hashes 0 
            limit limits.txt:2: e extras [] <3 hashes 0 
            sub/more.in:3: --find-links ./sub/wheels
            sub/more.in:4: --find-links https://h/links
            requirements.in:4: --find-links ./wheels
            requirements.in:5: --pre 
            note limits.txt:2: the extras of the constraint `e[x]<3` are not looked at
            files ["requirements.in", "sub/more.in", "third.in", "sub/own.txt", "limits.txt"]
        "#]],
    );
}

#[test]
fn paths_start_where_the_user_stands() {
    check(
        &[(
            "sub/r.in",
            "./pkg[dev]; os_name == 'nt'\n-e .\n../up\nfile:x.whl\nn @ file:y.whl\nfile:///abs/z.whl\n/abs/q\n\
             -e git+https://h/r@v1#egg=Some_Name[a]&subdirectory=s\nhttps://h/m.zip#egg=m\n-f wheels\n",
        )],
        "other",
        "sub/r.in",
        &expect![[r#"
            sub/r.in:1: file:///work%20dir/other/pkg given ./pkg editable false hashes 0 extras ["dev"] os_name == 'nt'
            sub/r.in:2: file:///work%20dir/other given . editable true hashes 0 extras [] 
            sub/r.in:3: file:///work%20dir/up given ../up editable false hashes 0 extras [] 
            sub/r.in:4: file:///work%20dir/other/x.whl given file:x.whl editable false hashes 0 extras [] 
            sub/r.in:5: n extras [] file:///work%20dir/other/y.whl given file:y.whl editable false hashes 0 
            sub/r.in:6: file:///abs/z.whl given file:///abs/z.whl editable false hashes 0 extras [] 
            sub/r.in:7: file:///abs/q given /abs/q editable false hashes 0 extras [] 
            sub/r.in:8: some-name extras ["a"] git+https://h/r@v1#egg=Some_Name[a]&subdirectory=s given git+https://h/r@v1#egg=Some_Name[a]&subdirectory=s editable true hashes 0 
            sub/r.in:9: m extras [] https://h/m.zip#egg=m given https://h/m.zip#egg=m editable false hashes 0 
            sub/r.in:10: --find-links ../sub/wheels
            files ["sub/r.in"]
        "#]],
    );
}

#[test]
fn what_is_wrong_has_a_place() {
    check(
        &[
            (
                "a.in",
                "-r b.in\n-r none.in\n-r https://h/x.in\n-r ../outside.in\nfoo>=1.*\n-bar\n./x; nonsense\n-c c.txt\n-i https://${TOKEN}@h/s\n",
            ),
            ("b.in", "-r a.in\n"),
            ("c.txt", "./path\n-e git+https://h/r#egg=n\n"),
        ],
        "",
        "a.in",
        &expect![[r#"
            a.in:5: foo extras [] >=1 hashes 0 
            a.in:9: --index-url https://${TOKEN}@h/s
            problem a.in:6: `-b` is not an option of requirements files
            problem b.in:1: `a.in` includes itself
            problem a.in:2: `none.in` is not included: there is no such file
            problem a.in:3: `https://h/x.in` is an address; only files are included
            problem a.in:4: `../outside.in` is not included: the path leads outside of the project
            problem a.in:7: `nonsense` is not a marker (PEP 508)
            problem c.txt:1: `./path` can't be a constraint, which needs a name
            problem c.txt:2: `-e git+https://h/r#egg=n` can't be a constraint, which needs a name
            note a.in:9: the environment variable `${TOKEN}` is not put in
            note a.in:5: `foo>=1.*` is read as `foo >=1`: it is not a valid requirement (PEP 508)
            files ["a.in", "b.in", "c.txt"]
        "#]],
    );
    check(
        &[],
        "",
        "requirements.in",
        &expect![[r#"
        problem requirements.in: there is no such file
        files []
    "#]],
    );
}

#[test]
fn constraints_ask_for_nothing_but_what_they_include_does() {
    let files = MemoryFiles::of([("c.txt", "a==1\n-r r.in\n"), ("r.in", "b\n")]);
    let viewpoint = Viewpoint { files: &files, root: "/", folder: "", shown: &|path| format!("./{path}") };
    expect![[r#"
        ./r.in:1: b extras []  hashes 0 
        limit ./c.txt:1: a extras [] ==1 hashes 0 
        files ["./c.txt", "./r.in"]
    "#]]
    .assert_eq(&shown(&read_constraints(&viewpoint, "c.txt")));
}

#[test]
fn includes_are_bounded() {
    let files = (0..40).map(|n| (format!("{n}.in"), format!("-r {}.in\n", n + 1)));
    let files = MemoryFiles::of(files);
    let viewpoint = Viewpoint { files: &files, root: "/", folder: "", shown: &|path| path.to_owned() };
    let found = read_requirements(&viewpoint, "0.in");
    expect!["31.in:1: too many requirements files include one another"]
        .assert_eq(&found.problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"));
}
