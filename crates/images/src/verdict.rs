//! The verdict on a build: whether the tag that it would have is free, or stands for these inputs already, or for
//! others (DESIGN decision 9).

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use reana_model::PackageName;

use crate::{Digest, Entry, LabelError, Record, SCHEME};

/// What a registry says of a tag.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Seen {
    /// It says that there is no such image.
    Absent,
    /// No answer was had, and why.
    NoAnswer(String),
    /// There is an image.
    There {
        /// What the tag leads to.
        digest: Digest,
        /// What its labels say of its build.
        record: Result<Record, LabelError>,
    },
}

/// The verdict on one image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The tag is free: build.
    New,
    /// The tag stands for these inputs: don't build, don't push.
    Same {
        /// The registry has another image than the ledger, built from the same inputs.
        rebuilt: Option<Digest>,
    },
    /// The tag stands for other inputs: refuse.
    Different(Different),
    /// It can't be said.
    Unknown(Unknown),
}

/// What is different.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Different {
    /// What the tag stands for was built from other inputs.
    Inputs(Change),
    /// Registry and ledger disagree about what the tag stands for, and so nobody can rely on it.
    Sources {
        /// What the registry has.
        registry: Digest,
        /// What the ledger has.
        ledger: Digest,
    },
}

/// Why it can't be said.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unknown {
    /// No answer of the registry.
    #[error("{0}")]
    NoAnswer(String),
    /// An image whose labels say nothing that can be compared.
    #[error("the tag stands for {digest}, but {error}")]
    Labels {
        /// What the tag leads to.
        digest: Digest,
        /// What is wrong with its labels.
        error: LabelError,
    },
    /// A ledger of another scheme.
    #[error("the ledger's inputs digest is of scheme {0}, and this reana-lock knows scheme {SCHEME} alone")]
    LedgerScheme(u32),
}

impl Unknown {
    /// Whether it may be taken for what would be built now (`--adopt`).
    #[must_use]
    pub fn can_be_adopted(&self) -> Option<&Digest> {
        match self {
            Self::Labels { digest, error: LabelError::None } => Some(digest),
            _ => None,
        }
    }
}

/// How a build's inputs differ from what a tag stands for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Change {
    /// Packages in other versions: name, before, now.
    pub packages: Vec<(String, String, String)>,
    /// Packages that are new.
    pub added: Vec<String>,
    /// Packages that are gone.
    pub removed: Vec<String>,
    /// Base images whose tags moved: name, before, now.
    pub moved_bases: Vec<(String, String, String)>,
    /// Other kinds of inputs that are different, in words.
    pub others: BTreeSet<&'static str>,
}

/// Judges a build by what the registry and the ledger know of its tag.
#[must_use]
pub fn judge(now: &Record, seen: &Seen, ledger: Option<&Entry>) -> Verdict {
    let recorded = ledger.filter(|entry| entry.scheme == SCHEME);
    let differs = |record: &Record| Verdict::Different(Different::Inputs(Change::of(record, now)));
    // What was recorded for other inputs is refused whatever else can be had.
    if let Some(entry) = recorded
        && entry.record.inputs != now.inputs
    {
        return differs(&entry.record);
    }
    let old_scheme = ledger.filter(|entry| entry.scheme != SCHEME).map(|entry| entry.scheme);
    match seen {
        Seen::NoAnswer(reason) => Verdict::Unknown(Unknown::NoAnswer(reason.clone())),
        Seen::Absent => match (recorded, old_scheme) {
            (Some(_), _) => Verdict::Same { rebuilt: None },
            (None, Some(scheme)) => Verdict::Unknown(Unknown::LedgerScheme(scheme)),
            (None, None) => Verdict::New,
        },
        Seen::There { digest, record: Ok(record) } => {
            if record.inputs == now.inputs {
                let other = recorded.filter(|entry| entry.digest != *digest);
                Verdict::Same { rebuilt: other.map(|_| digest.clone()) }
            } else if let Some(entry) = recorded {
                Verdict::Different(Different::Sources {
                    registry: digest.clone(),
                    ledger: entry.digest.clone(),
                })
            } else {
                differs(record)
            }
        }
        Seen::There { digest, record: Err(error) } => match (recorded, error) {
            (Some(entry), LabelError::None) if entry.digest == *digest => Verdict::Same { rebuilt: None },
            (Some(entry), LabelError::None) => Verdict::Different(Different::Sources {
                registry: digest.clone(),
                ledger: entry.digest.clone(),
            }),
            _ => {
                let (digest, error) = (digest.clone(), error.clone());
                Verdict::Unknown(Unknown::Labels { digest, error })
            }
        },
    }
}

impl Change {
    /// From one build's inputs to another's.
    #[must_use]
    pub fn of(before: &Record, now: &Record) -> Self {
        let mut change = Self::default();
        let (old, new) = (split(&before.packages), split(&now.packages));
        for (name, version) in &old {
            match new.get(name) {
                None => change.removed.push(format!("{name} {version}")),
                Some(other) if other != version => {
                    change.packages.push(((*name).to_owned(), version.clone(), other.clone()));
                }
                Some(_) => {}
            }
        }
        let added = new.iter().filter(|(name, _)| !old.contains_key(*name));
        change.added = added.map(|(name, version)| format!("{name} {version}")).collect();
        let base = |bases: &BTreeSet<String>| -> BTreeMap<String, String> {
            let pairs = bases.iter().filter_map(|base| base.split_once('@'));
            pairs.map(|(name, digest)| (name.to_owned(), digest.to_owned())).collect()
        };
        let (old, new) = (base(&before.bases), base(&now.bases));
        let moved = old.iter().filter_map(|(name, digest)| {
            let other = new.get(name).filter(|other| *other != digest)?;
            Some((name.clone(), digest.clone(), other.clone()))
        });
        change.moved_bases = moved.collect();
        let has_packages =
            !(change.packages.is_empty() && change.added.is_empty() && change.removed.is_empty());
        let kinds = before.parts.keys().chain(now.parts.keys());
        let others = kinds.filter(|kind| before.parts.get(*kind) != now.parts.get(*kind));
        change.others = others
            .filter_map(|kind| match kind.as_str() {
                "dockerfile" => Some("the Dockerfile"),
                "file" | "link" => Some("files of the build"),
                "submodule" => Some("submodules"),
                "arg" => Some("build arguments"),
                "platform" => Some("platforms"),
                "base" if change.moved_bases.is_empty() => Some("base images"),
                "package" if !has_packages => Some("the packages' files (hashes)"),
                _ => None,
            })
            .collect();
        change
    }

    /// Puts these packages before the others: those that the component itself requires say more than what they brought
    /// along, and of many only the first are named.
    pub fn put_first(&mut self, direct: &BTreeSet<PackageName>) {
        self.packages.sort_by_key(|(name, _, _)| !is_direct(name, direct));
    }

    /// Whether nothing is known of it but that the digests differ.
    #[must_use]
    pub fn is_unexplained(&self) -> bool {
        *self == Self::default()
    }
}

/// Packages by name, each with all its versions: a lock for several targets may pin one more than once.
fn split(packages: &BTreeSet<String>) -> BTreeMap<&str, String> {
    let mut found: BTreeMap<&str, String> = BTreeMap::new();
    for package in packages {
        let (name, version) = match (package.split_once("=="), package.split_once(" @ ")) {
            (Some((name, version)), _) if !name.contains(" @ ") => (name, version),
            (_, Some((name, address))) => (name, address),
            _ => (package.as_str(), ""),
        };
        let versions = found.entry(name).or_default();
        if !versions.is_empty() {
            versions.push_str(", ");
        }
        versions.push_str(version);
    }
    found
}

fn is_direct(name: &str, direct: &BTreeSet<PackageName>) -> bool {
    PackageName::new(name.to_owned()).is_ok_and(|name| direct.contains(&name))
}

/// The most packages that are named.
const MOST_NAMED: usize = 10;

impl fmt::Display for Change {
    /// The differences, with commas between: `reana-db 0.7.0 -> 0.7.1`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let short = |digest: &str| digest.trim_start_matches("sha256:").chars().take(12).collect::<String>();
        let mut words: Vec<String> = Vec::new();
        words.extend(self.packages.iter().map(|(name, before, now)| format!("{name} {before} -> {now}")));
        words.extend(self.added.iter().map(|package| format!("{package} is new")));
        words.extend(self.removed.iter().map(|package| format!("{package} is gone")));
        let more = words.len().saturating_sub(MOST_NAMED);
        words.truncate(MOST_NAMED);
        if more > 0 {
            words.push(format!("{more} more packages"));
        }
        words.extend(
            self.moved_bases
                .iter()
                .map(|(name, before, now)| format!("base image {name} {} -> {}", short(before), short(now))),
        );
        words.extend(self.others.iter().map(|&what| what.to_owned()));
        if words.is_empty() {
            words.push("other inputs".to_owned());
        }
        f.write_str(&words.join(", "))
    }
}

impl Change {
    /// The ways out of it. `direct`: the packages that the component itself requires, whose minimums can be raised.
    #[must_use]
    pub fn advice(&self, direct: &BTreeSet<PackageName>) -> Vec<String> {
        let mut advice = Vec::new();
        let names = self.packages.iter().map(|(name, _, _)| name.as_str());
        let direct: Vec<&str> =
            names.clone().filter(|name| is_direct(name, direct)).take(MOST_NAMED).collect();
        if !direct.is_empty() {
            advice.push(format!("raise the minimum (`reana-lock bump {}`) and commit", direct.join(" ")));
        } else if names.clone().next().is_some() || !(self.added.is_empty() && self.removed.is_empty()) {
            advice.push(
                "pin the packages (`reana-lock compile`, installed from by the Dockerfile) and commit"
                    .to_owned(),
            );
        }
        for (name, _, digest) in &self.moved_bases {
            advice.push(format!(
                "the base image moved: make a new commit, or pin it in the Dockerfile (`FROM {name}@{digest}`) and \
                 commit"
            ));
        }
        if advice.is_empty() {
            advice.push("commit what is different, so that the commit has a tag of its own".to_owned());
        }
        advice
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    /// A build of these packages on this base.
    fn build(packages: &str, base: &str, files: &str) -> Record {
        let all = format!("{packages}|{base}|{files}");
        let digit = |text: &str| Digest::of(text.as_bytes()).short().to_owned();
        Record {
            inputs: Digest::of(all.as_bytes()),
            parts: [("package", packages), ("base", base), ("file", files)]
                .map(|(kind, text)| (kind.to_owned(), digit(text)))
                .into(),
            bases: [format!("python:3.12@{}", Digest::of(base.as_bytes()))].into(),
            packages: packages.split_whitespace().map(str::to_owned).collect(),
            commit: None,
        }
    }

    fn now() -> Record {
        build("reana-db==2 click==1", "base", "files")
    }

    fn entry(digest: &str, record: Record) -> Entry {
        Entry::new(Digest::of(digest.as_bytes()), [], [], record)
    }

    fn there(digest: &str, record: Result<Record, LabelError>) -> Seen {
        Seen::There { digest: Digest::of(digest.as_bytes()), record }
    }

    fn shown(verdict: &Verdict) -> String {
        match verdict {
            Verdict::New => "new".to_owned(),
            Verdict::Same { rebuilt: None } => "same".to_owned(),
            Verdict::Same { rebuilt: Some(_) } => "same, rebuilt".to_owned(),
            Verdict::Different(Different::Inputs(change)) => format!("different: {change}"),
            Verdict::Different(Different::Sources { .. }) => "different: registry and ledger".to_owned(),
            Verdict::Unknown(unknown) => format!("unknown: {unknown}"),
        }
    }

    #[test]
    fn every_case() {
        let other = || build("reana-db==1 click==1", "base", "files");
        let none = || Err(LabelError::None);
        let scheme = || Err(LabelError::Scheme("2".to_owned()));
        let foreign = Entry { scheme: 2, ..entry("a", now()) };
        let differs = "different: reana-db 1 -> 2";
        let a = Digest::of(b"a");
        let unlabelled = format!("unknown: the tag stands for {a}, but it has no labels of reana-lock");
        let of_two = "its inputs digest is of scheme `2`, and this reana-lock knows scheme 1 alone";
        let of_two = format!("unknown: the tag stands for {a}, but {of_two}");
        let ledger_of_two =
            "unknown: the ledger's inputs digest is of scheme 2, and this reana-lock knows scheme 1 alone";
        let cases: Vec<(Seen, Option<Entry>, &str)> = vec![
            (Seen::Absent, None, "new"),
            (Seen::Absent, Some(entry("a", now())), "same"),
            (Seen::Absent, Some(entry("a", other())), differs),
            (Seen::Absent, Some(foreign.clone()), ledger_of_two),
            (Seen::NoAnswer("down".to_owned()), None, "unknown: down"),
            (Seen::NoAnswer("down".to_owned()), Some(entry("a", now())), "unknown: down"),
            (Seen::NoAnswer("down".to_owned()), Some(entry("a", other())), differs),
            (there("a", Ok(now())), None, "same"),
            (there("a", Ok(now())), Some(entry("a", now())), "same"),
            (there("a", Ok(now())), Some(entry("b", now())), "same, rebuilt"),
            (there("a", Ok(now())), Some(entry("a", other())), differs),
            (there("a", Ok(now())), Some(foreign.clone()), "same"),
            (there("a", Ok(other())), None, differs),
            (there("a", Ok(other())), Some(entry("a", now())), "different: registry and ledger"),
            (there("a", Ok(other())), Some(foreign), differs),
            (there("a", none()), None, &unlabelled),
            (there("a", none()), Some(entry("a", now())), "same"),
            (there("a", none()), Some(entry("b", now())), "different: registry and ledger"),
            (there("a", scheme()), None, &of_two),
            (there("a", scheme()), Some(entry("a", now())), &of_two),
        ];
        for (seen, ledger, expected) in cases {
            assert_eq!(shown(&judge(&now(), &seen, ledger.as_ref())), expected, "{seen:?} {ledger:?}");
        }
    }

    fn check_change(before: &Record, expected: &Expect) {
        let change = Change::of(before, &now());
        let direct = [PackageName::new("reana-db".to_owned()).expect("a name")].into();
        expected.assert_eq(&format!("{change}\n{}\n", change.advice(&direct).join("\n")));
    }

    #[test]
    fn changes_in_words() {
        check_change(
            &build("reana-db==1 click==0", "base", "files"),
            &expect![[r#"
            click 0 -> 1, reana-db 1 -> 2
            raise the minimum (`reana-lock bump reana-db`) and commit
        "#]],
        );
        check_change(
            &build("reana-db==2 click==0", "base", "files"),
            &expect![[r#"
            click 0 -> 1
            pin the packages (`reana-lock compile`, installed from by the Dockerfile) and commit
        "#]],
        );
        check_change(
            &build("reana-db==2 old==0", "base", "files"),
            &expect![[r#"
            click 1 is new, old 0 is gone
            pin the packages (`reana-lock compile`, installed from by the Dockerfile) and commit
        "#]],
        );
        check_change(
            &build("reana-db==2 click==1", "old base", "files"),
            &expect![[r#"
            base image python:3.12 dc5aba8ba581 -> cae662172fd4
            the base image moved: make a new commit, or pin it in the Dockerfile (`FROM python:3.12@sha256:cae662172fd450bb0cd710a769079c05bfc5d8e35efa6576edc7d0377afdd4a2`) and commit
        "#]],
        );
        check_change(
            &build("reana-db==1 click==1", "old base", "old files"),
            &expect![[r#"
            reana-db 1 -> 2, base image python:3.12 dc5aba8ba581 -> cae662172fd4, files of the build
            raise the minimum (`reana-lock bump reana-db`) and commit
            the base image moved: make a new commit, or pin it in the Dockerfile (`FROM python:3.12@sha256:cae662172fd450bb0cd710a769079c05bfc5d8e35efa6576edc7d0377afdd4a2`) and commit
        "#]],
        );
        check_change(
            &build("reana-db==2 click==1", "base", "old files"),
            &expect![[r#"
            files of the build
            commit what is different, so that the commit has a tag of its own
        "#]],
        );
        let unexplained = Record { inputs: Digest::of(b"x"), ..now() };
        check_change(
            &unexplained,
            &expect![[r#"
            other inputs
            commit what is different, so that the commit has a tag of its own
        "#]],
        );
    }
}
