//! Judging a Dockerfile: does the image really hold what the lock says? Pure.

use std::collections::{BTreeMap, BTreeSet};

use reana_lockfile::Lock;
use reana_model::{Operator, Origin, Requirement, Version};

use super::finding::{Code, Finding};
use crate::dockerfile::{Dockerfile, Install, Named};

/// What a Dockerfile is held against.
pub(super) struct Image<'a> {
    /// The Dockerfile as the user sees it.
    pub(super) file: &'a str,
    /// The lock's file name.
    pub(super) lock_name: &'a str,
    /// The lock, if there is one.
    pub(super) lock: Option<&'a Lock>,
    /// Other files that are locks too (`--build-requirements`), by name.
    pub(super) others: &'a [String],
}

/// What is wrong with a Dockerfile, in its lines' order.
pub(super) fn judge(dockerfile: &Dockerfile, image: &Image<'_>) -> Vec<Finding> {
    let mut found = Vec::new();
    if dockerfile.installs_from(image.lock_name).is_none() {
        let message = format!("no command installs from {} with pip or uv", image.lock_name);
        found.push(image.finding(Code::NotFromLock, 0, message));
    }
    let mut projects: BTreeMap<u32, Vec<(u32, String, Vec<String>)>> = BTreeMap::new();
    let mut folders: BTreeMap<u32, Vec<(u32, String)>> = BTreeMap::new();
    for install in dockerfile.installs() {
        found.extend(image.files(&install));
        for (line, named) in &install.named {
            let is_limited = install.constraints.iter().any(|file| image.is_locked_file(file));
            match named {
                Named::Requirement(text) => found.extend(image.requirement(*line, text, is_limited)),
                Named::Url(url) => found.extend(image.url(*line, url)),
                Named::Project(..) | Named::Folder(_) if install.no_deps || is_limited => {}
                Named::Project(text, extras) => {
                    projects.entry(install.run).or_default().push((*line, text.clone(), extras.clone()));
                }
                Named::Folder(text) => folders.entry(install.run).or_default().push((*line, text.clone())),
            }
        }
    }
    found.extend(projects.into_values().filter_map(|installs| image.projects(&installs)));
    for installs in folders.into_values() {
        let Some((line, _)) = installs.first() else { continue };
        let names: BTreeSet<&str> = installs.iter().map(|(_, text)| text.as_str()).collect();
        let names: Vec<String> = names.into_iter().map(|name| format!("`{name}`")).collect();
        let message = format!("installs {} in place of what the lock pins", names.join(", "));
        found.push(image.finding(Code::LocalPackage, *line, message));
    }
    found.extend(image.python(dockerfile));
    found.sort_by_key(|finding| (finding.line, finding.code));
    found.dedup();
    found
}

impl Image<'_> {
    fn finding(&self, code: Code, line: u32, message: impl Into<String>) -> Finding {
        Finding::new(code, self.file, line, message)
    }

    /// Whether a path leads to the lock, or to another file that is one.
    fn is_locked_file(&self, path: &str) -> bool {
        let name = path.rsplit('/').next().unwrap_or(path);
        name == self.lock_name || self.others.iter().any(|other| other == name)
    }

    /// The requirements files of a command.
    fn files(&self, install: &Install) -> Vec<Finding> {
        let mut found = Vec::new();
        for (line, file) in &install.requirements {
            if self.is_locked_file(file) {
                if install.unverified {
                    let message = "--no-verify-hashes: the lock's hashes are not checked";
                    found.push(self.finding(Code::HashesIgnored, *line, message));
                }
            } else if !file.contains('$') {
                let message = format!("`{file}` is not the lock: what it names is not pinned by it");
                found.push(self.finding(Code::Unpinned, *line, message));
            }
        }
        found
    }

    fn requirement(&self, line: u32, text: &str, is_limited: bool) -> Option<Finding> {
        let requirement = Requirement::parse(text, Origin::new(self.file, line)).ok()?;
        let pinned = self.lock.and_then(|lock| lock.pins.iter().find(|pin| pin.name == requirement.name));
        let pinned = pinned.and_then(|pin| pin.version.as_ref());
        if is_limited && pinned.is_some() {
            return None;
        }
        match (exact(&requirement), pinned) {
            (Some(version), Some(pinned)) if version == *pinned => None,
            (Some(version), Some(pinned)) => {
                let message = format!("installs {} {version}, and the lock pins {pinned}", requirement.name);
                Some(self.finding(Code::BesideLock, line, message))
            }
            (Some(version), None) => {
                let message = format!("installs {} {version}, which the lock doesn't have", requirement.name);
                Some(self.finding(Code::BesideLock, line, message))
            }
            (None, pinned) => {
                let is_pip = requirement.name.as_ref() == "pip";
                let code = if is_pip { Code::PipUpgrade } else { Code::Unpinned };
                let but = pinned.map(|version| format!(" (the lock pins {version})")).unwrap_or_default();
                let message = format!("`{text}` is whatever version the index has on the day{but}");
                Some(self.finding(code, line, message))
            }
        }
    }

    fn url(&self, line: u32, url: &str) -> Option<Finding> {
        let has_hash = ["#sha256=", "&sha256="].iter().any(|key| url.contains(key));
        let is_commit = |part: &str| part.len() == 40 && part.bytes().all(|b| b.is_ascii_hexdigit());
        if has_hash || url.split(['@', '#', '&']).any(is_commit) {
            return None;
        }
        let shown = reana_lockfile::without_credentials(url);
        Some(self.finding(Code::Unpinned, line, format!("`{shown}` may be something else another day")))
    }

    /// The project itself, installed in one `RUN`; several commands there are branches of one.
    fn projects(&self, installs: &[(u32, String, Vec<String>)]) -> Option<Finding> {
        let (line, ..) = installs.first()?;
        let header = self.lock.and_then(|lock| lock.header.as_ref());
        let is_locked = |extra: &str| {
            header.is_some_and(|header| {
                header.all_extras || header.extras.iter().any(|locked| Ok(locked) == extra.parse().as_ref())
            })
        };
        let names: BTreeSet<&str> = installs.iter().map(|(_, text, _)| text.as_str()).collect();
        let names: Vec<String> = names.into_iter().map(|name| format!("`{name}`")).collect();
        let extras = installs.iter().flat_map(|(_, _, extras)| extras);
        let unlocked: BTreeSet<&str> = extras.map(String::as_str).filter(|extra| !is_locked(extra)).collect();
        let unlocked: Vec<&str> = unlocked.into_iter().collect();
        let more = if unlocked.is_empty() {
            String::new()
        } else {
            format!("; the lock has no extra {}", unlocked.join(", "))
        };
        let message =
            format!("installs {} without --no-deps, with whatever the lock lacks{more}", names.join(", "));
        Some(self.finding(Code::PullsInMore, *line, message))
    }

    fn python(&self, dockerfile: &Dockerfile) -> Option<Finding> {
        let header =
            self.lock.and_then(|lock| lock.header.as_ref()).filter(|header| !header.pythons.is_empty())?;
        let found = dockerfile.python()?;
        let short = |version: &str| version.splitn(3, '.').take(2).collect::<Vec<_>>().join(".");
        let image = short(&found.version);
        if header.pythons.iter().any(|python| short(&python.short()) == image) {
            return None;
        }
        let pythons: Vec<String> = header.pythons.iter().map(|python| python.short()).collect();
        let message = format!(
            "the image has Python {image} ({}), and the lock is for {}",
            found.what,
            pythons.join(", ")
        );
        Some(self.finding(Code::OtherPython, found.line, message))
    }
}

/// The one version that a requirement allows.
fn exact(requirement: &Requirement) -> Option<Version> {
    let mut specifiers = requirement.specifiers()?.iter();
    let exact = |operator: &Operator| matches!(operator, Operator::Equal | Operator::ExactEqual);
    specifiers.find(|one| exact(one.operator())).map(|one| one.version().clone())
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    #[track_caller]
    fn check(run: &str, expected: &Expect) {
        let lock = "# autogenerated by pip-compile with Python 3.12\n#    pip-compile --extra=ssh setup.py\nfoo==1.0\n";
        let lock = reana_lockfile::parse(lock, "requirements.txt");
        let text = format!("FROM python:3.12\nCOPY . /code\n{run}");
        let image = Image {
            file: "Dockerfile",
            lock_name: "requirements.txt",
            lock: Some(&lock),
            others: &["build.txt".to_owned()],
        };
        let found = judge(&Dockerfile::parse(&text), &image);
        let lines = found.iter().map(|it| format!("{} {} {}\n", it.line, it.code.entry().code, it.message));
        expected.assert_eq(&lines.collect::<String>());
    }

    #[test]
    fn as_it_should_be() {
        check("RUN pip install -r /code/requirements.txt && pip install --no-deps .\n", &expect![[""]]);
        check("RUN pip install -rrequirements.txt -c x.txt 2>/dev/null > log\n", &expect![[""]]);
        check(
            "RUN uv pip sync requirements.txt && uv pip install -c requirements.txt . foo\n",
            &expect![[""]],
        );
        check("RUN bash -c 'pip install -r requirements.txt'\n", &expect![[""]]);
        check(
            "RUN pip install -r build.txt -r requirements.txt $MORE *.whl ./x.whl foo==1.0\n",
            &expect![[""]],
        );
        check("RUN pip-sync requirements.txt; pip download x; pip list\n", &expect![[""]]);
        check(
            "RUN pip install -r requirements.txt git+https://h/x@0123456789012345678901234567890123456789\n",
            &expect![[""]],
        );
    }

    #[test]
    fn what_the_lock_does_not_cover() {
        check(
            "RUN pip install .\n",
            &expect![[r#"
            0 D001 no command installs from requirements.txt with pip or uv
            3 D002 installs `.` without --no-deps, with whatever the lock lacks
        "#]],
        );
        check(
            "RUN pip install --no-cache-dir --upgrade 'setuptools<81' && \\\n    pip install -r requirements.txt\n",
            &expect![[r#"
                3 D003 `setuptools<81` is whatever version the index has on the day
            "#]],
        );
        check(
            "RUN pip install -r requirements.txt\nRUN if x; then pip install -e '.[debug,ssh]'; \\\n else pip install /code/; fi\n",
            &expect![[r#"
                4 D002 installs `.[debug,ssh]`, `/code/` without --no-deps, with whatever the lock lacks; the lock has no extra debug
            "#]],
        );
        check(
            "RUN pip install -r requirements.txt\nRUN pip install 'modules/x[a]' --upgrade || pip install -e modules/x\n",
            &expect![[r#"
                4 D007 installs `modules/x`, `modules/x[a]` in place of what the lock pins
            "#]],
        );
        check(
            "RUN pip install -r requirements.txt -r dev.txt foo==2 bar==1 foo pip git+https://u:p@h/x@main\n",
            &expect![[r#"
                3 D003 `dev.txt` is not the lock: what it names is not pinned by it
                3 D003 `foo` is whatever version the index has on the day (the lock pins 1.0)
                3 D003 `git+https://h/x@main` may be something else another day
                3 D004 `pip` is whatever version the index has on the day
                3 D008 installs foo 2, and the lock pins 1.0
                3 D008 installs bar 1, which the lock doesn't have
            "#]],
        );
        check(
            "RUN uv pip install --no-verify-hashes -r requirements.txt\n",
            &expect![[r#"
            3 D005 --no-verify-hashes: the lock's hashes are not checked
        "#]],
        );
        check(
            "FROM python:3.9\nRUN sh -c 'pip install -r requirements.txt\npip install x'\n",
            &expect![[r#"
                3 D006 the image has Python 3.9 (FROM python:3.9), and the lock is for 3.12
            "#]],
        );
    }

    proptest::proptest! {
        #[test]
        fn no_text_is_too_much(text in "(FROM x\nRUN |pip install |-r |-e |bash -c |[ \\\\\n$\\{\\}:'\"<=&#a-z.\\[\\]/-]|\\PC){0,60}") {
            let image = Image { file: "Dockerfile", lock_name: "requirements.txt", lock: None, others: &[] };
            let _looked_at = judge(&Dockerfile::parse(&text), &image);
        }
    }
}
