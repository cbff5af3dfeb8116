//! ARCHITECTURE.md against the code: the code map's folders, and who may import whom.

use std::collections::BTreeSet;

use super::{Finding, Tree, check, holds};

const PAGE: &str = "ARCHITECTURE.md";

/// What the code map says of one crate.
struct Row {
    line: usize,
    folder: String,
    /// `None`: all.
    imports: Option<BTreeSet<String>>,
}

/// The rows of the code map: `| crate | level | holds | may import of ours |`.
fn rows(page: &str) -> Vec<Row> {
    let mut rows = Vec::new();
    let lines = page.lines().enumerate().skip_while(|(_, line)| line.trim() != "## Code map");
    for (at, line) in lines.skip(1).take_while(|(_, line)| !line.starts_with("## ")) {
        let cells: Vec<&str> = line.trim().trim_matches('|').split('|').map(str::trim).collect();
        if let [folder, _, _, imports] = cells[..]
            && let Some(folder) = folder.strip_prefix('`').and_then(|rest| rest.strip_suffix('`'))
        {
            let names = imports.split(',').map(|name| name.trim().to_owned()).filter(|name| name != "-");
            let imports = (imports != "all").then(|| names.collect());
            rows.push(Row { line: at + 1, folder: folder.to_owned(), imports });
        }
    }
    rows
}

/// Folders of the code map that aren't there, and crates that aren't in the code map.
fn code_map(tree: &Tree) -> Vec<Finding> {
    let rows = rows(tree.text(PAGE).unwrap_or_default());
    let finding = |line, what: String| Finding { path: PAGE.to_owned(), line, what };
    let mut findings = Vec::new();
    for row in &rows {
        if tree.text(&format!("{}/Cargo.toml", row.folder)).is_none() {
            findings.push(finding(
                row.line,
                format!("`{}` is no crate here: the map sends nobody astray", row.folder),
            ));
        }
    }
    let folders = tree.files.iter().filter_map(|file| file.path.strip_suffix("/Cargo.toml"));
    for folder in folders.filter(|folder| !folder.starts_with("fixtures/")) {
        if rows.iter().all(|row| row.folder != folder) {
            findings
                .push(finding(0, format!("`{folder}` is missing in the code map: newcomers start there")));
        }
    }
    findings
}

/// Dependencies among our crates that the code map doesn't allow. Tests may use the testkit besides.
fn imports(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for row in rows(tree.text(PAGE).unwrap_or_default()) {
        let path = format!("{}/Cargo.toml", row.folder);
        let Some(file) = tree.files.iter().find(|file| file.path == path) else { continue };
        let Ok(manifest) = file.text.parse::<toml::Table>() else {
            findings.push(file.finding(0, "is no TOML"));
            continue;
        };
        for section in ["dependencies", "dev-dependencies"] {
            let ours =
                manifest.get(section).and_then(toml::Value::as_table).into_iter().flat_map(toml::Table::keys);
            for name in ours.filter_map(|name| name.strip_prefix("reana-")) {
                let allowed = match name {
                    // What is made for tests must not be part of what is shipped.
                    "testkit" => section == "dev-dependencies" || row.folder == "xtask",
                    _ => row.imports.as_ref().is_none_or(|imports| imports.contains(name)),
                };
                if !allowed {
                    let what = format!(
                        "{section}: {PAGE} does not let it import `{name}`: a wrong edge makes a layer untestable alone"
                    );
                    findings.push(file.finding(0, what));
                }
            }
        }
    }
    findings
}

/// The exit codes as three places say them: users read one, newcomers another, scripts rely on the third.
fn exit_codes(tree: &Tree) -> Vec<Finding> {
    const CODE: &str = "crates/cli/src/exit.rs";
    let in_table = |path: &str| -> BTreeSet<String> {
        let rows = tree.text(path).unwrap_or_default().lines().filter_map(|line| line.strip_prefix("| "));
        let codes = rows.filter_map(|row| row.split_once(" |")).map(|(code, _)| code.to_owned());
        codes.filter(|code| code.parse::<u8>().is_ok()).collect()
    };
    let lines = tree.text(CODE).unwrap_or_default().lines();
    let variants = lines.filter_map(|line| line.trim().strip_suffix(',')?.split_once(" = "));
    let in_code: BTreeSet<String> = variants.map(|(_, code)| code.to_owned()).collect();
    let wrong = [PAGE, "README.md"].into_iter().filter(|path| in_table(path) != in_code);
    wrong
        .map(|path| Finding {
            path: path.to_owned(),
            line: 0,
            what: format!("its table of exit codes is not that of {CODE}: scripts rely on it"),
        })
        .collect()
}

#[test]
fn exit_codes_are_as_published() {
    holds(exit_codes);
}

#[test]
fn the_code_map_names_the_crates() {
    holds(code_map);
}

#[test]
fn crates_import_what_they_may() {
    holds(imports);
}

#[test]
fn the_rules_find_bad_samples() {
    let page = "# A\n\n## Code map\n\n| crate | level | holds | may import of ours |\n|---|---|---|---|\n\
                | `crates/model` | 0 | x | - |\n| `crates/lockfile` | 1 | x | model |\n| `crates/gone` | 1 | x | all |\n\n## Rest\n";
    let files = [
        (PAGE, page),
        ("crates/model/Cargo.toml", "[dependencies]\nreana-lockfile.workspace = true\n"),
        (
            "crates/lockfile/Cargo.toml",
            "[dependencies]\nreana-model.workspace = true\nreana-testkit.workspace = true\n",
        ),
        ("crates/new/Cargo.toml", ""),
    ];
    check(code_map, &files, &["ARCHITECTURE.md:9", "ARCHITECTURE.md"]);
    check(imports, &files, &["crates/model/Cargo.toml", "crates/lockfile/Cargo.toml"]);
    let tests = [
        (PAGE, page),
        ("crates/lockfile/Cargo.toml", "[dev-dependencies]\nreana-testkit.workspace = true\n"),
    ];
    check(imports, &tests, &[]);
    let table = "| exit code | meaning |\n|---|---|\n| 0 | done |\n| 1 | stale |\n";
    let code = ("crates/cli/src/exit.rs", "pub(crate) enum Exit {\n    Done = 0,\n    Stale = 1,\n}\n");
    check(exit_codes, &[code, (PAGE, table), ("README.md", "| 0 | done |\n")], &["README.md"]);
    check(exit_codes, &[code, (PAGE, table), ("README.md", table)], &[]);
}
