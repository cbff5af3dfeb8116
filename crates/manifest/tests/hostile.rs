//! Whatever stands in a manifest, reading it ends, and does not panic.

use proptest::prelude::*;
use reana_manifest::{Extras, MemoryFiles, Viewpoint, read_project, read_requirements};
use reana_model::{Platform, PythonVersion, Target};

fn read(path: &str, text: &str) {
    let target = Target { python: PythonVersion::newest(3, 12), platform: Platform::LinuxAmd64 };
    let files = MemoryFiles::of([(path, text)]);
    if let Ok(declared) = read_project(&files, "", &target) {
        let found = declared.unfold(&Extras::All);
        assert_eq!(found.problems.is_empty(), declared.requirements(&Extras::All).is_ok());
    }
    let viewpoint = Viewpoint { files: &files, root: "/", folder: "", shown: &|path| path.to_owned() };
    read_requirements(&viewpoint, path);
}

#[test]
fn deep_nesting_ends() {
    const DEEP: usize = 50_000;
    for text in [
        format!("a = {}", "[".repeat(DEEP)),
        format!("a = {}{}", "[".repeat(DEEP), "]".repeat(DEEP)),
        format!("a = {}", "{a=".repeat(DEEP)),
        format!("{}a = 1", "a.".repeat(DEEP)),
        format!("[{}a]\nb = 1", "a.".repeat(DEEP)),
        format!("[project]\nname = \"me\"\ndependencies = [\"a; {}os_name == 'a'\"]", "(".repeat(DEEP)),
    ] {
        read("pyproject.toml", &text);
    }
    read("setup.cfg", &format!("[options]\ninstall_requires = {}\n", "%(install_requires)s".repeat(DEEP)));
    read("setup.cfg", &"[".repeat(DEEP));
}

#[test]
fn empty_values_do_not_grow_without_bound() {
    let mut text = "[metadata]\nv0 =\n".to_owned();
    for level in 1..10 {
        text += &format!("v{level} = {}\n", format!("%(v{})s", level - 1).repeat(50));
    }
    read("setup.cfg", &format!("{text}name = %(v9)s\n"));
}

proptest! {
    #[test]
    fn any_configuration_file(text in "(\\[(metadata|options|options.extras_require|DEFAULT)\\]|(name|version|install_requires|x) ?[=:] ?|%|\\(x\\)s|file: ?|attr: ?|[ -~]|\n|\n  |é){0,60}") {
        read("setup.cfg", &text);
    }

    #[test]
    fn any_project_table(
        name in "[ -~é]{0,8}",
        requirements in proptest::collection::vec("(me|[a-z]{1,3}|[ -~]|\\[a\\]|;|==|é|python_version|'3'|<){0,12}", 0..5),
        key in "[ -~é]{0,12}",
    ) {
        let text = format!(
            "[project]\nname = {name:?}\nversion = \"1\"\ndependencies = {requirements:?}\n[project.optional-dependencies]\n{key:?} = {requirements:?}\n"
        );
        read("pyproject.toml", &text);
    }

    #[test]
    fn any_requirements_file(text in "(-r |-c |-e |-f |r.in|\\./|[ -~]|\n|\\\\\n|==|#| ;|é|file:){0,60}") {
        read("r.in", &text);
    }
}
