//! Command lines of `compile` that make no sense.

use expect_test::{Expect, expect};

use crate::harness::{place, small_world};

fn check(args: &[&str], expected: &Expect) {
    let place = place(&small_world());
    place.file("requirements.in", "app\n");
    let output = place.compile(args).expect_code(2);
    assert_eq!(output.stdout, "");
    expected.assert_eq(&output.stderr);
    assert!(!place.sandbox.exists("requirements.txt"));
}

#[test]
fn what_makes_no_sense_is_refused() {
    check(
        &["requirements.in", "-o", "requirements.in"],
        &expect![[r#"
        error: input and output filenames must not be matched: requirements.in
    "#]],
    );
    check(
        &["--format", "github"],
        &expect![[r#"
        error: --format github is for --check
    "#]],
    );
    check(
        &["--check", "-n"],
        &expect![[r#"
        error: the argument '--check' cannot be used with '--dry-run'

        Usage: reana-lock compile --index-url <URL> --check [WHAT]...

        For more information, try '--help'.
    "#]],
    );
    check(
        &["--extra", "x", "--all-extras"],
        &expect![[r#"
        error: the argument '--extra <EXTRA>' cannot be used with '--all-extras'

        Usage: reana-lock compile --index-url <URL> --extra <EXTRA> [WHAT]...

        For more information, try '--help'.
    "#]],
    );
    check(
        &["--unsafe-package", "a b"],
        &expect![[r#"
        error: --unsafe-package: `a b` is not a package's name
    "#]],
    );
}

#[test]
fn the_last_of_an_option_counts() {
    let place = place(&small_world());
    place.file("requirements.in", "app\n");
    let twice = ["-U", "-U", "--no-header", "--no-header", "--hashes=none", "--hashes", "all"];
    let _ = place
        .compile(&[&twice[..], &["--hashes=none", "-c", "a.txt", "-c", "b.txt"]].concat())
        .expect_code(2);
    let _ = place.compile(&[&twice[..], &["--hashes=none"]].concat()).expect_code(0);
    assert_eq!(place.lock().lines().next(), Some("app==2.0"));
}

#[test]
fn values_that_are_none() {
    check(
        &["--exclude-newer", "yesterday"],
        &expect![[r#"
        error: --exclude-newer: `yesterday` is not a moment (`2026-11-30T12:00:00Z` or `2026-11-30`)
    "#]],
    );
    check(
        &["--platform", "windows"],
        &expect![[r#"
            error: --platform: `windows` is not a platform that can be locked for (`linux/amd64`, `linux/arm64`)
        "#]],
    );
    check(
        &["--annotation-style", "lines"],
        &expect![[r#"
        error: invalid value 'lines' for '--annotation-style <ANNOTATION_STYLE>'
          [possible values: split, line]

          tip: a similar value exists: 'line'

        For more information, try '--help'.
    "#]],
    );
    check(
        &["-P", "foo bar"],
        &expect![[r#"
        error: --upgrade-package: `foo bar` is not a valid requirement (PEP 508): Expected one of `@`, `(`, `<`, `=`, `>`, `~`, `!`, `;`, found `b`
    "#]],
    );
    check(
        &["nowhere/requirements.in"],
        &expect![[r#"
        error: `nowhere/requirements.in`: there is no such file or folder
    "#]],
    );
    check(
        &["--no-such-option"],
        &expect![[r#"
        error: unexpected argument '--no-such-option' found

          tip: to pass '--no-such-option' as a value, use '-- --no-such-option'

        Usage: reana-lock compile --index-url <URL> [WHAT]...

        For more information, try '--help'.
    "#]],
    );
}
