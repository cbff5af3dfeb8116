//! Dependency groups (PEP 735): named lists of requirements in pyproject.toml that no package has.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use reana_model::{Origin, Requirement};
use toml_edit::{Document, TableLike, Value};

use crate::reading::line_at;
use crate::{Problem, ProblemKind};

/// How deep groups may include one another.
const DEEPEST: usize = 64;

/// The groups of a pyproject.toml.
#[derive(Clone, Debug)]
pub struct Groups {
    file: Arc<str>,
    /// The project's name, where `[project]` gives one.
    pub project: Option<String>,
    groups: BTreeMap<String, Vec<Entry>>,
}

#[derive(Clone, Debug)]
struct Entry {
    line: u32,
    kind: EntryKind,
}

#[derive(Clone, Debug)]
enum EntryKind {
    Requirement(String),
    Include(String),
}

/// A group's name as PEP 503 has it: lower case, with `-` for every run of `-`, `_` and `.`.
pub fn group_name(name: &str) -> String {
    let mut normal = String::new();
    for c in name.trim().chars() {
        let is_separator = matches!(c, '-' | '_' | '.');
        if !is_separator {
            normal.extend(c.to_lowercase());
        } else if !normal.ends_with('-') {
            normal.push('-');
        }
    }
    normal
}

/// Reads the groups of a pyproject.toml, which messages call `file`.
///
/// # Errors
/// When it is not TOML, or a group is not what PEP 735 wants.
pub fn read_groups(text: &str, file: &str) -> Result<Groups, Problem> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let file: Arc<str> = file.into();
    let origin = |line: u32| Origin::new(file.clone(), line);
    let document = Document::parse(text).map_err(|error| {
        let line = error.span().map_or(0, |span| line_at(text, span.start));
        let reason = error.message().lines().next().unwrap_or_default().to_owned();
        Problem::new(origin(line), ProblemKind::Toml(reason))
    })?;
    let project = document.get("project").and_then(|item| item.as_table_like()?.get("name")?.as_str());
    let project = project.map(str::to_owned);
    let mut groups = BTreeMap::new();
    let Some(item) = document.get("dependency-groups") else { return Ok(Groups { file, project, groups }) };
    let wrong = |span: Option<std::ops::Range<usize>>, key: &str, expected: &'static str| {
        let line = span.map_or(0, |span| line_at(text, span.start));
        Problem::new(origin(line), ProblemKind::WrongType { key: key.to_owned(), expected })
    };
    let table = item.as_table_like().ok_or_else(|| wrong(item.span(), "dependency-groups", "a table"))?;
    for (name, item) in table.iter() {
        let key = format!("dependency-groups.{name}");
        let array = item.as_array().ok_or_else(|| wrong(item.span(), &key, "a list"))?;
        let entry = |value: &Value| {
            let line = value.span().map_or(0, |span| line_at(text, span.start));
            let kind = entry(value);
            kind.map(|kind| Entry { line, kind }).ok_or_else(|| {
                wrong(value.span(), &key, "a list of requirements and `{ include-group = \"NAME\" }`")
            })
        };
        let entries = array.iter().map(entry).collect::<Result<Vec<Entry>, Problem>>()?;
        let line = entries.first().map_or(0, |entry| entry.line);
        if groups.insert(group_name(name), entries).is_some() {
            return Err(Problem::new(origin(line), ProblemKind::GroupTwice(group_name(name))));
        }
    }
    Ok(Groups { file, project, groups })
}

fn entry(value: &Value) -> Option<EntryKind> {
    if let Some(text) = value.as_str() {
        return Some(EntryKind::Requirement(text.to_owned()));
    }
    let table = value.as_inline_table()?;
    let name = TableLike::get(table, "include-group")?.as_str()?;
    (TableLike::len(table) == 1).then(|| EntryKind::Include(name.to_owned()))
}

impl Groups {
    /// The groups' names, normalised and sorted.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.groups.keys().map(String::as_str)
    }

    /// What a group asks for, with what it includes: each requirement with its place, in the order written, what
    /// is included twice once.
    ///
    /// # Errors
    /// When there is no such group, or one that it includes; when groups include one another in a circle; or
    /// when a requirement is none (PEP 508).
    pub fn requirements(&self, name: &str) -> Result<Vec<Requirement>, Vec<Problem>> {
        let name = group_name(name);
        let Some(entries) = self.groups.get(&name) else {
            let kind = ProblemKind::UnknownGroup { name, known: self.names().map(str::to_owned).collect() };
            return Err(vec![Problem::new(Origin::whole(self.file.clone()), kind)]);
        };
        let mut walk = Walk {
            groups: self,
            path: Vec::new(),
            done: BTreeSet::new(),
            found: Vec::new(),
            problems: Vec::new(),
        };
        walk.group(&name, entries);
        if walk.problems.is_empty() { Ok(walk.found) } else { Err(walk.problems) }
    }
}

struct Walk<'g> {
    groups: &'g Groups,
    path: Vec<String>,
    done: BTreeSet<String>,
    found: Vec<Requirement>,
    problems: Vec<Problem>,
}

impl Walk<'_> {
    fn group(&mut self, name: &str, entries: &[Entry]) {
        self.path.push(name.to_owned());
        for entry in entries {
            let origin = Origin::new(self.groups.file.clone(), entry.line);
            match &entry.kind {
                EntryKind::Requirement(text) => match Requirement::parse(text, origin.clone()) {
                    Ok(requirement) => self.found.push(requirement),
                    Err(error) => self.problems.push(Problem::new(origin, ProblemKind::Requirement(error))),
                },
                EntryKind::Include(name) => self.include(&group_name(name), origin),
            }
        }
        self.path.pop();
        self.done.insert(name.to_owned());
    }

    fn include(&mut self, name: &str, origin: Origin) {
        let kind = if self.path.iter().any(|above| above == name) {
            let mut circle: Vec<&str> =
                self.path.iter().map(String::as_str).skip_while(|above| *above != name).collect();
            circle.push(name);
            ProblemKind::GroupCircle(circle.join(" -> "))
        } else if self.path.len() >= DEEPEST {
            ProblemKind::GroupsTooDeep
        } else if self.done.contains(name) {
            return;
        } else if let Some(entries) = self.groups.groups.get(name) {
            return self.group(name, entries);
        } else {
            let known = self.groups.names().map(str::to_owned).collect();
            ProblemKind::UnknownGroup { name: name.to_owned(), known }
        };
        self.problems.push(Problem::new(origin, kind));
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    fn check(text: &str, name: &str, expected: &Expect) {
        let lines = match read_groups(text, "pyproject.toml").map(|groups| groups.requirements(name)) {
            Ok(Ok(found)) => found.iter().map(|one| format!("{}: {}\n", one.origin, one.text)).collect(),
            Ok(Err(problems)) => problems.iter().map(|problem| format!("{problem}\n")).collect(),
            Err(problem) => format!("{problem}\n"),
        };
        expected.assert_eq(&lines);
    }

    const FILE: &str = r#"
[project]
name = "shop"
[dependency-groups]
Test_All = ["pytest>=7", {include-group = "cov.tools"}]
cov-tools = ["coverage[toml]; python_version >= '3.8'"]
dev = [
    { include-group = "test-all" },
    "ruff",
    { include-group = "cov-tools" },
]
empty = []
"#;

    #[test]
    fn groups_include_one_another() {
        check(
            FILE,
            "dev",
            &expect![[r#"
            pyproject.toml:5: pytest>=7
            pyproject.toml:6: coverage[toml]; python_version >= '3.8'
            pyproject.toml:9: ruff
        "#]],
        );
        check(
            FILE,
            "test.all",
            &expect![[r#"
            pyproject.toml:5: pytest>=7
            pyproject.toml:6: coverage[toml]; python_version >= '3.8'
        "#]],
        );
        check(FILE, "empty", &expect![[""]]);
        assert_eq!(read_groups(FILE, "x").expect("groups").project.as_deref(), Some("shop"));
    }

    #[test]
    fn what_is_wrong_is_told_with_its_line() {
        check(
            FILE,
            "docs",
            &expect![[r#"
            pyproject.toml: there is no dependency group `docs` (there are cov-tools, dev, empty, test-all)
        "#]],
        );
        check(
            "[dependency-groups]\na = [{include-group = \"b\"}]\nb = [{include-group = \"a\"}]\n",
            "a",
            &expect![[r#"
                pyproject.toml:3: dependency groups include one another: a -> b -> a
            "#]],
        );
        check(
            "[dependency-groups]\na = [{include-group = \"none\"}, \"x>\"]\n",
            "a",
            &expect![[r#"
            pyproject.toml:2: there is no dependency group `none` (there are a)
            pyproject.toml:2: `x>` is not a valid requirement (PEP 508): Unexpected end of version specifier, expected version
        "#]],
        );
        check(
            "[dependency-groups]\na = []\nA = []\n",
            "a",
            &expect![[r#"
            pyproject.toml: the dependency group `a` is there twice
        "#]],
        );
        check(
            "[dependency-groups]\na = [{other = \"b\"}]\n",
            "a",
            &expect![[r#"
            pyproject.toml:2: `dependency-groups.a` must be a list of requirements and `{ include-group = "NAME" }`
        "#]],
        );
        check(
            "[dependency-groups]\na = [{include-group = \"b\", x = 1}]\n",
            "a",
            &expect![[r#"
            pyproject.toml:2: `dependency-groups.a` must be a list of requirements and `{ include-group = "NAME" }`
        "#]],
        );
        check(
            "[dependency-groups]\na = 1\n",
            "a",
            &expect![[r#"
            pyproject.toml:2: `dependency-groups.a` must be a list
        "#]],
        );
        check(
            "dependency-groups = 1\n",
            "a",
            &expect![[r#"
            pyproject.toml:1: `dependency-groups` must be a table
        "#]],
        );
        check(
            "[",
            "a",
            &expect![[r#"
            pyproject.toml:1: not valid TOML: unquoted keys cannot be empty, expected letters, numbers, `-`, `_`
        "#]],
        );
        check(
            "",
            "a",
            &expect![[r#"
            pyproject.toml: there is no dependency group `a`
        "#]],
        );
    }

    #[test]
    fn long_chains_and_bushes_have_an_end() {
        let chain: String =
            (0..200).map(|at| format!("g{at} = [{{ include-group = \"g{}\" }}]\n", at + 1)).collect();
        check(
            &format!("[dependency-groups]\n{chain}g200 = []\n"),
            "g0",
            &expect![[r#"
            pyproject.toml:65: dependency groups include one another deeper than what is read
        "#]],
        );
        let bush: String = (0..40)
            .map(|at| {
                format!("g{at} = [{{ include-group = \"g{0}\" }}, {{ include-group = \"g{0}\" }}]\n", at + 1)
            })
            .collect();
        check(
            &format!("[dependency-groups]\n{bush}g40 = [\"a\"]\n"),
            "g0",
            &expect![[r#"
            pyproject.toml:42: a
        "#]],
        );
    }
}
