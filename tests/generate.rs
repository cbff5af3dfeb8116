//! What is made from the command's own definitions: completions, the manual page, help.

use reana_testkit::World;

use crate::harness::place;

#[test]
fn completions_for_each_shell() {
    let place = place(&World::new());
    for (shell, sign) in [
        ("bash", "complete -F"),
        ("zsh", "#compdef reana-lock"),
        ("fish", "complete -c reana-lock"),
        ("elvish", "edit:completion"),
    ] {
        let output = place.run(&["completions", shell]).expect_code(0);
        assert!(output.stdout.contains(sign) && output.stdout.contains("skip-unreadable"), "{shell}");
        assert_eq!(output.stderr, "");
    }
    let output = place.run(&["completions", "cmd"]).expect_code(2);
    assert_eq!(output.stdout, "");
}

#[test]
fn the_manual_page() {
    let output = place(&World::new()).run(&["man"]).expect_code(0);
    assert!(output.stdout.contains(".TH reana-lock 1"), "{}", output.stdout);
    for option in ["upgrade\\-package", "exclude\\-newer", "annotation\\-style"] {
        assert!(output.stdout.contains(option), "{option}");
    }
}

#[test]
fn help_and_version() {
    let place = place(&World::new());
    let help = place.run(&["--help"]).expect_code(0);
    assert!(help.stdout.contains("compile") && help.stdout.contains("metadata"), "{}", help.stdout);
    let short = place.run(&["compile", "-h"]).expect_code(0);
    let long = place.run(&["compile", "--help"]).expect_code(0);
    for text in [&short.stdout, &long.stdout] {
        assert!(text.contains("--upgrade-package") && text.contains("--python-version"), "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
    }
    let version = place.run(&["--version"]).expect_code(0);
    assert_eq!(version.stdout, concat!("reana-lock ", env!("CARGO_PKG_VERSION"), "\n"));
    let nothing = place.run(&[]).expect_code(2);
    assert_eq!(nothing.stdout, "");
}
