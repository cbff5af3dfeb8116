//! Files in `fixtures/setup_py`: each one is right, or refused. `UPDATE_EXPECT=1` writes what is expected anew;
//! whoever does so reads the difference.
#![expect(clippy::disallowed_methods, reason = "tests read fixtures from the disk")]

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use proptest::prelude::{Just, ProptestConfig, Strategy as _, any, prop, proptest};
use reana_manifest::setup_py::{SetupCall, evaluate};
use reana_manifest::{Fact, MemoryFiles, Text, Unknown};
use reana_model::Target;
use reana_model::target::Platform;
use serde_json::{Map, Value, json};

fn folder(kind: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/setup_py").join(kind)
}

/// The Python files of a folder, sorted.
fn scripts(kind: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder(kind)).expect("the fixtures' folder");
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "py"));
    paths.sort();
    paths
}

/// The project of a fixture: the script as setup.py, and the files beside it.
fn project(script: &Path) -> (MemoryFiles, Target) {
    let text = std::fs::read_to_string(script).expect("a script");
    let mut files = MemoryFiles::default();
    add_folder(&script.with_extension("files"), "", &mut files);
    let target = match text.lines().next().and_then(|line| line.strip_prefix("# target: ")) {
        Some(target) => {
            let (python, platform) = target.split_once(' ').expect("a Python and a platform");
            Target {
                python: python.parse().expect("a Python"),
                platform: platform.parse().expect("a platform"),
            }
        }
        None => Target { python: "3.12.10".parse().expect("a Python"), platform: Platform::LinuxAmd64 },
    };
    files.0.insert("setup.py".to_owned(), text.into_bytes());
    (files, target)
}

fn add_folder(folder: &Path, prefix: &str, files: &mut MemoryFiles) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for entry in entries {
        let path = entry.expect("an entry").path();
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        if path.is_dir() {
            add_folder(&path, &format!("{prefix}{name}/"), files);
        } else {
            files.0.insert(format!("{prefix}{name}"), std::fs::read(&path).expect("a file"));
        }
    }
}

fn read(script: &Path) -> Result<SetupCall, Unknown> {
    let (files, target) = project(script);
    evaluate(&files, "setup.py", "thing/setup.py", &target)
}

fn shown<T>(fact: &Fact<Option<T>>, show: impl Fn(&T) -> Value) -> Value {
    match fact {
        Ok(None) => Value::Null,
        Ok(Some(value)) => show(value),
        Err(unknown) => json!({ "unknown": unknown.to_string(), "plug_in": unknown.plug_in }),
    }
}

fn snapshot(call: &SetupCall) -> String {
    let text = |text: &Text| json!(format!("{}  # {}", text.value, text.origin));
    let texts = |texts: &Vec<Text>| Value::Array(texts.iter().map(text).collect());
    let mut all = Map::new();
    all.insert("name".to_owned(), shown(&call.name, text));
    all.insert("version".to_owned(), shown(&call.version, text));
    all.insert("python_requires".to_owned(), shown(&call.python_requires, text));
    all.insert("install_requires".to_owned(), shown(&call.install_requires, texts));
    let extras = shown(&call.extras_require, |extras| {
        Value::Object(extras.iter().map(|(key, requirements)| (key.clone(), texts(requirements))).collect())
    });
    all.insert("extras_require".to_owned(), extras);
    all.insert("setup_requires".to_owned(), shown(&call.setup_requires, texts));
    let consulted = json!({ "python": call.consulted.python, "platform": call.consulted.platform });
    all.insert("consulted".to_owned(), consulted);
    serde_json::to_string_pretty(&Value::Object(all)).expect("JSON") + "\n"
}

/// Compares with the file of that name, or writes it.
fn check_file(path: &Path, found: &str, failures: &mut String) {
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        std::fs::write(path, found).expect("a file that can be written");
        return;
    }
    let expected = std::fs::read_to_string(path).unwrap_or_default();
    if expected != found {
        writeln!(failures, "{}\n--- expected\n{expected}\n+++ found\n{found}", path.display())
            .expect("a text");
    }
}

#[test]
fn right_ones() {
    let mut failures = String::new();
    for script in scripts("ok") {
        match read(&script) {
            Ok(call) => check_file(&script.with_extension("json"), &snapshot(&call), &mut failures),
            Err(unknown) => writeln!(failures, "{}: {unknown}", script.display()).expect("a text"),
        }
    }
    assert!(failures.is_empty(), "{failures}");
}

/// What is refused: the whole file, or a fact that is asked for.
#[test]
fn refused_ones() {
    let mut failures = String::new();
    for script in scripts("refused") {
        let reasons: Vec<String> = match read(&script) {
            Err(unknown) => vec![unknown.to_string()],
            Ok(call) => {
                [call.name.err(), call.version.err(), call.install_requires.err(), call.extras_require.err()]
                    .into_iter()
                    .flatten()
                    .map(|unknown| unknown.to_string())
                    .collect()
            }
        };
        if reasons.is_empty() {
            writeln!(failures, "{} is not refused", script.display()).expect("a text");
        }
        check_file(&script.with_extension("txt"), &(reasons.join("\n") + "\n"), &mut failures);
    }
    assert!(failures.is_empty(), "{failures}");
}

/// A change of a source: some bytes replaced by what Python gives a meaning.
fn mutate(text: &str, changes: &[(usize, usize, usize)]) -> String {
    const PIECES: [&str; 24] = [
        "",
        " ",
        "\n",
        "    ",
        "(",
        ")",
        "[",
        "]",
        "{",
        "}",
        ":",
        ",",
        "=",
        "+=",
        "\"",
        "'",
        "for x in y:",
        "if z:",
        "lambda: ",
        "not ",
        "**",
        "*",
        "setup",
        "\\",
    ];
    let mut chars: Vec<char> = text.chars().collect();
    for (at, length, piece) in changes {
        if chars.is_empty() {
            break;
        }
        let start = at % chars.len();
        let end = (start + length % 8).min(chars.len());
        let piece = PIECES[piece % PIECES.len()];
        chars.splice(start..end, piece.chars());
    }
    chars.into_iter().collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_change_makes_it_panic(
        script in Just(scripts("ok")).prop_flat_map(prop::sample::select),
        changes in prop::collection::vec((any::<usize>(), any::<usize>(), any::<usize>()), 1..6),
    ) {
        let (mut files, target) = project(&script);
        let text = String::from_utf8(files.0["setup.py"].clone()).expect("text");
        files.0.insert("setup.py".to_owned(), mutate(&text, &changes).into_bytes());
        if let Err(unknown) = evaluate(&files, "setup.py", "setup.py", &target) {
            assert!(unknown.reason != "the evaluator failed", "{unknown}");
        }
    }
}
