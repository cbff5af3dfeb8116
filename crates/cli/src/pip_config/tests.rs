//! What counts of pip's configuration.
#![expect(clippy::disallowed_methods, reason = "tests write files")]

use std::ffi::OsString;

use super::*;

/// What these files (below a home) and variables make; `~` is the home.
fn check(files: &[(&str, &str)], variables: &[(&str, &str)], expected: &str) {
    let home = tempfile::tempdir().expect("a folder");
    for (path, text) in files {
        let path = home.path().join(path);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        std::fs::write(path, text).expect("a file");
    }
    let shown = home.path().to_string_lossy().into_owned();
    let env = Env::from_variables(home.path().to_owned(), |name| {
        let found = variables.iter().find(|(variable, _)| *variable == name);
        let found = found.map(|(_, value)| OsString::from(value.replace('~', &shown)));
        found.or_else(|| (name == "HOME").then(|| OsString::from(&shown)))
    });
    // The machine's own files are not these tests' business.
    let mut config = PipConfig { folder: env.cwd.clone(), ..PipConfig::default() };
    let mut own = super::files(&env).into_iter().filter(|file| file.starts_with(home.path()));
    let result = own.try_for_each(|file| config.file(&file));
    for (name, value) in &env.pip.0 {
        config.set(&name.replace("PIP_", ""), Said { value: value.clone(), place: name.clone() });
    }
    let mut told = Vec::new();
    let indexes = config.indexes(&mut told);
    let links = config.find_links(&mut told);
    told.extend(config.cert.map(|cert| format!("cert {} ({})", cert.value, cert.place)));
    told.extend(result.err().map(|failure| failure.message));
    assert_eq!(told.join("\n").replace(&shown, "~"), expected);
    assert!(links.len() + indexes.extra.len() <= told.len());
}

#[test]
fn the_later_file_and_the_variables_count() {
    check(&[], &[], "");
    let user = "[global]\nindex-url = https://a.example/simple/\ncert = ca.pem\n";
    check(
        &[(".pip/pip.conf", user), (".config/pip/pip.conf", "[install]\nindex_url=https://b.example/\n")],
        &[],
        "the index comes from pip's configuration: https://b.example/ (~/.config/pip/pip.conf:2)\ncert ca.pem (~/.pip/pip.conf:3)",
    );
    check(
        &[(".pip/pip.conf", user)],
        &[("PIP_INDEX_URL", "https://me:secret@c.example/simple/")],
        "the index comes from pip's configuration: https://c.example/simple/ (PIP_INDEX_URL)\ncert ca.pem (~/.pip/pip.conf:3)",
    );
    // [install] over [global], as pip has it; sections of other commands say nothing
    check(
        &[(
            ".pip/pip.conf",
            "[install]\nindex-url = https://i.example/\n[global]\nindex-url = https://g.example/\n[download]\nno-index = true\n",
        )],
        &[],
        "the index comes from pip's configuration: https://i.example/ (~/.pip/pip.conf:2)",
    );
}

#[test]
fn a_named_file_takes_the_place_of_the_users() {
    let files = [
        (".pip/pip.conf", "[global]\nindex-url = https://a.example/\n"),
        ("own.conf", "[global]\nno-index = yes\n"),
        (
            "venv/pip.conf",
            "[global]\nno-index = no\nextra-index-url =\n  https://x.example/\n  https://y.example/\n",
        ),
    ];
    check(
        &files,
        &[("PIP_CONFIG_FILE", "~/own.conf")],
        "no index is asked: pip is configured so (~/own.conf:2)",
    );
    check(&files, &[("PIP_CONFIG_FILE", "/dev/null"), ("VIRTUAL_ENV", "~/venv")], "");
    check(
        &files,
        &[("VIRTUAL_ENV", "~/venv")],
        "a further index comes from pip's configuration: https://x.example/ (~/venv/pip.conf:3)\n\
         a further index comes from pip's configuration: https://y.example/ (~/venv/pip.conf:3)\n\
         the index comes from pip's configuration: https://a.example/ (~/.pip/pip.conf:2)",
    );
}

#[test]
fn links_that_are_not_there_are_passed_over() {
    check(
        &[("wheels/x", "")],
        &[("PIP_FIND_LINKS", "~/wheels ~/absent https://l.example/")],
        "a place with files comes from pip's configuration: file://~/wheels (PIP_FIND_LINKS)\n\
         a place with files comes from pip's configuration: https://l.example/ (PIP_FIND_LINKS)",
    );
}

#[test]
fn a_file_that_is_none() {
    check(
        &[(".pip/pip.conf", "index-url = x\n")],
        &[],
        "~/.pip/pip.conf:1: not a configuration file of pip: `index-url = x` stands before any section",
    );
}
