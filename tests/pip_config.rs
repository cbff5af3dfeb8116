//! pip's configuration as the least of all defaults.

use expect_test::expect;
use reana_testkit::{Output, Sandbox, World};

use crate::harness::{PROGRAM, pins, small_world};

/// A sandbox with two indexes in it, `one` and `two`, and these variables.
fn sandbox(variables: &[(&str, &str)]) -> Sandbox {
    let mut sandbox = Sandbox::new(std::path::Path::new(PROGRAM));
    for (name, value) in variables {
        sandbox = sandbox.env(name, value);
    }
    sandbox.world("one", &small_world()).world("two", &World::new().with("app", "9.0", &[]));
    sandbox.file(".python-version", "3.12\n").file("requirements.in", "app\n");
    sandbox
}

fn compile(sandbox: &Sandbox, args: &[&str]) -> Output {
    sandbox.run(&[&["compile"], args].concat())
}

#[test]
fn the_index_comes_from_pips_file() {
    let sandbox = sandbox(&[("PIP_CONFIG_FILE", "pip.conf")]);
    sandbox.file("pip.conf", "[global]\nindex-url = one/simple\nextra-index-url =\n    two/simple\n");
    let output = compile(&sandbox, &[]).expect_code(0);
    expect![[r#"
        note: a further index comes from pip's configuration: file://[ROOT]/two/simple ([ROOT]/pip.conf:3)
        note: the index comes from pip's configuration: file://[ROOT]/one/simple ([ROOT]/pip.conf:2)
        requirements.txt: 1 pin for Python 3.12 on linux/amd64; new
    "#]]
    .assert_eq(&output.stderr);
    assert_eq!(pins(&sandbox.read("requirements.txt")), ["app==9.0"]);
    assert!(!sandbox.read("requirements.txt").contains("simple"));
}

#[test]
fn whoever_names_an_index_is_not_given_pips() {
    let sandbox = sandbox(&[("PIP_EXTRA_INDEX_URL", "two/simple"), ("PIP_NO_INDEX", "1")]);
    let output = compile(&sandbox, &["--index-url", "one/simple"]).expect_code(0);
    assert!(!output.stderr.contains("pip"), "{output}");
    assert_eq!(pins(&sandbox.read("requirements.txt")), ["app==2.0", "base==1.1", "lib==2.0"]);
    sandbox.file("reana-lock.toml", "[index]\nurl = 'one/simple'\n");
    let output = compile(&sandbox, &["requirements.in"]).expect_code(0);
    assert!(!output.stderr.contains("pip"), "{output}");
    sandbox.file("reana-lock.toml", "").file("requirements.in", "-i one/simple\napp\n");
    let output = compile(&sandbox, &["requirements.in", "-U"]).expect_code(0);
    assert!(!output.stderr.contains("pip"), "{output}");
}

/// A fleet that is to be locked alike everywhere.
#[test]
fn a_fleet_may_want_none_of_it() {
    let sandbox = sandbox(&[("PIP_CONFIG_FILE", "pip.conf"), ("PIP_FIND_LINKS", "two/files")]);
    sandbox.file("pip.conf", "not a configuration file").file("requirements.in", "app\n");
    sandbox.file("reana-lock.toml", "[index]\nurl = 'one/simple'\n");
    let refused = compile(&sandbox, &["requirements.in"]).expect_code(2);
    assert!(refused.stderr.contains("pip.conf"), "{refused}");
    sandbox.file("pip.conf", "[global]\n");
    let _with = compile(&sandbox, &["requirements.in"]).expect_code(0);
    assert_eq!(pins(&sandbox.read("requirements.txt")), ["app==9.0"]);
    sandbox.file("pip.conf", "not a configuration file");
    sandbox.file("reana-lock.toml", "[index]\nurl = 'one/simple'\npip-config = false\n");
    let output = compile(&sandbox, &["requirements.in", "-U"]).expect_code(0);
    assert!(!output.stderr.contains("pip"), "{output}");
    assert_eq!(pins(&sandbox.read("requirements.txt")), ["app==2.0", "base==1.1", "lib==2.0"]);
}

#[test]
fn no_index_and_links() {
    let sandbox = sandbox(&[("PIP_NO_INDEX", "true"), ("PIP_FIND_LINKS", "two/files absent")]);
    let output = compile(&sandbox, &[]).expect_code(0);
    expect![[r#"
        note: a place with files comes from pip's configuration: file://[ROOT]/two/files (PIP_FIND_LINKS)
        note: no index is asked: pip is configured so (PIP_NO_INDEX)
        requirements.txt: 1 pin for Python 3.12 on linux/amd64; new
    "#]]
    .assert_eq(&output.stderr);
    assert_eq!(pins(&sandbox.read("requirements.txt")), ["app==9.0"]);
}

#[test]
fn certificates() {
    let sandbox = sandbox(&[("PIP_CERT", "absent.pem")]);
    let output = compile(&sandbox, &["--index-url", "one/simple"]).expect_code(2);
    expect![[r#"
        error: PIP_CERT: [ROOT]/absent.pem: there is no such file or folder
    "#]]
    .assert_eq(&output.stderr);
}
