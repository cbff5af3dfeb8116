//! The grammar of requirements files, by example.

use expect_test::{Expect, expect};
use proptest::prelude::*;
use reana_model::requirements_file::{ItemKind, RequirementForm, decode, parse};

fn shown(text: &str) -> String {
    let file = parse(text);
    let mut out = String::new();
    for item in &file.items {
        let what = match &item.kind {
            ItemKind::Comment => "comment".to_owned(),
            ItemKind::Option(option) => format!("{} {:?}", option.option, option.value),
            ItemKind::Requirement(line) => {
                let form = match &line.form {
                    RequirementForm::Named(text) => format!("named {text:?}"),
                    RequirementForm::Direct(direct) => format!(
                        "direct {:?} extras {:?} marker {:?} name {:?} editable {}",
                        direct.location,
                        direct.extras.iter().map(ToString::to_string).collect::<Vec<_>>(),
                        direct.marker.as_deref().unwrap_or_default(),
                        direct.name.as_deref().unwrap_or_default(),
                        direct.editable
                    ),
                };
                let hashes: Vec<String> =
                    line.hashes.iter().map(|hash| hash.to_string()[..4].to_owned()).collect();
                format!("{form} {hashes:?} {:?} {:?}", line.other_hashes, line.build_options)
            }
        };
        out += &format!("{}: {what} {}\n", item.line, item.comment.as_deref().unwrap_or_default());
    }
    for problem in &file.problems {
        out += &format!("problem {problem}\n");
    }
    out
}

fn check(text: &str, expected: &Expect) {
    expected.assert_eq(&shown(text));
}

const A: &str = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

#[test]
fn requirements_and_their_options() {
    let text = format!(
        "foo[b,a] >= 1 ; python_version < '3'  # why\nbar==1 \\\n    --hash=sha256:{A} \\\n    --hash sha256:{A}\n    # via\n    #   foo\nbaz==1 --hash=sha512:00 --config-settings=a=b\nx==1#no-comment\n"
    );
    check(
        &text,
        &expect![[r#"
            1: named "foo[b,a] >= 1 ; python_version < '3'" [] [] [] # why
            2: named "bar==1" ["e3b0", "e3b0"] [] [] 
            5: comment # via
            6: comment #   foo
            7: named "baz==1" [] ["sha512:00"] ["--config-settings=a=b"] 
            8: named "x==1#no-comment" [] [] [] 
        "#]],
    );
}

#[test]
fn paths_and_addresses() {
    check(
        "./a/b[test,x]; python_version > '3'\n-e .[dev]\n-e git+https://h/r@v1#egg=Some_Name[a]&subdirectory=x\n\
         --editable=../y ; python_version > '3'\nhttps://h/a;b.zip ; os_name == 'nt'\nfoo @ https://h/x.whl#sha256=1\n\
         a-1.0-py3-none-any.whl\nsub\\x\nfile:x.whl\n-e 'n @ git+https://h/r'\n",
        &expect![[r#"
            1: direct "./a/b" extras ["test", "x"] marker "python_version > '3'" name "" editable false [] [] [] 
            2: direct "." extras ["dev"] marker "" name "" editable true [] [] [] 
            3: direct "git+https://h/r@v1#egg=Some_Name[a]&subdirectory=x" extras ["a"] marker "" name "Some_Name" editable true [] [] [] 
            4: direct "../y" extras [] marker "" name "" editable true [] [] [] 
            5: direct "https://h/a;b.zip" extras [] marker "os_name == 'nt'" name "" editable false [] [] [] 
            6: named "foo @ https://h/x.whl#sha256=1" [] [] [] 
            7: direct "a-1.0-py3-none-any.whl" extras [] marker "" name "" editable false [] [] [] 
            8: direct "sub\\x" extras [] marker "" name "" editable false [] [] [] 
            9: direct "file:x.whl" extras [] marker "" name "" editable false [] [] [] 
            10: direct "git+https://h/r" extras [] marker "" name "n" editable true [] [] [] 
            problem 4: `;` belongs to no option and is not read
            problem 4: `python_version` belongs to no option and is not read
            problem 4: `>` belongs to no option and is not read
            problem 4: `3` belongs to no option and is not read
        "#]],
    );
}

#[test]
fn options_of_the_file() {
    check(
        "-r a.in\n-rb.in\n--requirement=c.in # nested\n-c d.txt\n-i https://h/simple --extra-index-url 'https://i/s'\n\
         --find \"./my wheels\"\n--no-index\n--trusted-host h\n--pre\n--no-binary :all:\n--only-binary=a,b\n\
         --prefer-binary\n--require-hashes\n",
        &expect![[r#"
            1: --requirement "a.in" 
            2: --requirement "b.in" 
            3: --requirement "c.in" # nested
            4: --constraint "d.txt" 
            5: --index-url "https://h/simple" 
            5: --extra-index-url "https://i/s" 
            6: --find-links "./my wheels" 
            7: --no-index "" 
            8: --trusted-host "h" 
            9: --pre "" 
            10: --no-binary ":all:" 
            11: --only-binary "a,b" 
            12: --prefer-binary "" 
            13: --require-hashes "" 
        "#]],
    );
}

#[test]
fn continuations_and_comments() {
    check(
        "foo\\\n>=1\r\nbar \\\n# a comment ends it\nbaz\n  # alone \\\nqux\rlast \\",
        &expect![[r##"
            1: named "foo>=1" [] [] [] 
            3: named "bar" [] [] [] # a comment ends it
            5: named "baz" [] [] [] 
            6: comment # alone \
            7: named "qux" [] [] [] 
            8: named "last" [] [] [] 
        "##]],
    );
}

#[test]
fn what_is_not_understood_has_a_line() {
    check(
        "\u{feff}<<<<<<< HEAD\nfoo==1 --hash=sha256:12\n=======\nbar --hash=md5:12\n>>>>>>> x\n--frob\n-r\nfoo -r x\n\
         --no-index=1\n-i 'x\n-r a b\n-i https://${TOKEN}@h/${x}\n./x[-]\n--hash=sha256:1\n--re=x\n",
        &expect![[r#"
            2: named "foo==1" [] [] [] 
            4: named "bar" [] [] [] 
            8: named "foo" [] [] [] 
            11: --requirement "a" 
            12: --index-url "https://${TOKEN}@h/${x}" 
            13: direct "./x" extras [] marker "" name "" editable false [] [] [] 
            problem 1: `<<<<<<< HEAD` is left over from a merge: resolve the conflict first
            problem 2: `sha256:12` is not a hash (`sha256:` and 64 hex digits)
            problem 3: `=======` is left over from a merge: resolve the conflict first
            problem 4: `md5:12` is not a hash (`sha256:` and 64 hex digits)
            problem 5: `>>>>>>> x` is left over from a merge: resolve the conflict first
            problem 6: `--frob` is not an option of requirements files
            problem 7: `-r` needs a value
            problem 8: `--requirement` can't stand behind a requirement; give it a line of its own
            problem 9: `--no-index` takes no value
            problem 10: a quote is not closed in `-i 'x`
            problem 11: `b` belongs to no option and is not read
            problem 12: the environment variable `${TOKEN}` is not put in
            problem 13: `-` is not the name of an extra
            problem 14: `--hash` belongs to no option and is not read
            problem 15: `--re` is not an option of requirements files
        "#]],
    );
}

#[test]
fn bytes_become_text() {
    let check = |bytes: &[u8], text: &str, problem: &str| {
        let (found, found_problem) = decode(bytes);
        assert_eq!((&*found, &*found_problem.map(|p| p.to_string()).unwrap_or_default()), (text, problem));
    };
    check(b"\xef\xbb\xbfa", "a", "");
    check(b"\xff\xfea\0\n\0", "a\n", "");
    check(b"\xfe\xff\0a", "a", "");
    check(b"\xff\xfea\0\n", "a", "1: the file is not valid UTF-16 text");
    check(b"# -*- coding: latin-1 -*-\n\xe9", "# -*- coding: latin-1 -*-\né", "");
    check(b"a\n\xe9", "a\n\u{fffd}", "2: the file is not valid UTF-8 text");
    check(
        b"# coding: cp1250\n\xe9",
        "# coding: cp1250\n\u{fffd}",
        "1: the file declares the encoding `cp1250`, which is not read; save it as UTF-8",
    );
}

#[test]
fn size_is_bounded() {
    let long = format!("a{}\nb\n", " ".repeat(20_000) + "x");
    check(
        &long,
        &expect![[r#"
            2: named "b" [] [] [] 
            problem 1: the requirement is longer than 16384 bytes
        "#]],
    );
    assert_eq!(shown(&"#".repeat((16 << 20) + 1)), "problem 1: the file is larger than 16777216 bytes\n");
}

proptest! {
    #[test]
    fn never_panics_and_keeps_lines_in_order(text in "([ -~]|\n|\r|\\\\|#|-|é|\t|\\[|\\$\\{A\\}){0,200}") {
        let file = parse(&text);
        let lines: Vec<u32> = file.items.iter().map(|item| item.line).collect();
        prop_assert!(lines.is_sorted());
        let count = text.split(['\n', '\r']).count();
        prop_assert!(lines.iter().all(|line| (*line as usize) <= count));
    }

    #[test]
    fn any_bytes_decode(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let (text, _) = decode(&bytes);
        parse(&text);
    }
}
