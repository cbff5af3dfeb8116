//! Why the files of a version can't be used, in words.

use std::collections::BTreeSet;

use reana_model::{Target, WheelName};

/// Why the files of a version can't be used.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Lacks {
    /// They are for other Pythons (the first file's words).
    pub(crate) python: Option<String>,
    /// Wheels for other Pythons or platforms.
    pub(crate) wheels: Vec<WheelName>,
    /// There is an sdist, but only wheels may be used.
    pub(crate) only_binary: bool,
    /// There is a wheel, but wheels may not be used.
    pub(crate) no_binary: bool,
}

impl Lacks {
    /// In words that follow the version's name: `is for Python >=3.13`.
    pub(crate) fn words(&self, target: &Target) -> String {
        if let Some(python) = &self.python {
            return format!("is for Python {python}");
        }
        match (self.wheels.is_empty(), self.only_binary, self.no_binary) {
            (false, true, _) => {
                format!("has wheels for {} alone, and sdists may not be used", self.served(target))
            }
            (false, false, _) => format!("has wheels for {} alone, and no sdist", self.served(target)),
            (true, true, _) => "has no wheel, and sdists may not be used".to_owned(),
            (true, false, true) => "has no sdist, and wheels may not be used".to_owned(),
            (true, false, false) => "has no files".to_owned(),
        }
    }

    /// What the wheels serve: their Pythons, where some are for the target's platform; else their platforms.
    fn served(&self, target: &Target) -> String {
        let own = target.platform.to_string();
        let is_here = |wheel: &&WheelName| wheel.platform().map(platform).any(|it| it == own || it == ANY);
        let here: Vec<&WheelName> = self.wheels.iter().filter(is_here).collect();
        if here.is_empty() {
            let platforms = self.wheels.iter().flat_map(|wheel| wheel.platform().map(platform));
            return listed(&platforms.collect());
        }
        let mut minors: BTreeSet<(u8, u8)> = BTreeSet::new();
        let mut words: BTreeSet<String> = BTreeSet::new();
        for wheel in here {
            for tag in wheel.python() {
                match cpython(tag) {
                    Some(minor) if wheel.abi().any(|abi| abi.ends_with('t')) => {
                        words.insert(format!("free-threaded Python {}.{}", minor.0, minor.1));
                    }
                    Some(minor) => {
                        minors.insert(minor);
                    }
                    None if tag.starts_with("pp") => {
                        words.insert("PyPy".to_owned());
                    }
                    None => {
                        words.insert(match tag {
                            "py2" => "Python 2".to_owned(),
                            "py3" => "Python 3".to_owned(),
                            other => format!("`{other}`"),
                        });
                    }
                }
            }
        }
        let short = |(major, minor): (u8, u8)| format!("{major}.{minor}");
        let first = minors.first().copied().map(short);
        let last = minors.last().copied().map(short);
        if let (Some(first), Some(last)) = (first, last) {
            let span = if first == last { first } else { format!("{first} to {last}") };
            words.insert(format!("Python {span}"));
        }
        listed(&words)
    }
}

const ANY: &str = "any platform";

/// `cp312`: Python 3.12; `py2` and `py27` are told like it.
fn cpython(tag: &str) -> Option<(u8, u8)> {
    let digits = tag.strip_prefix("cp").or_else(|| tag.strip_prefix("py"))?;
    let (major, minor) = digits.split_at_checked(1)?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

/// A platform tag (PEP 425, 600, 656) in words.
fn platform(tag: &str) -> String {
    let glibc = tag.strip_prefix("manylinux_2_").and_then(|rest| rest.split_once('_'));
    let is_new = glibc.and_then(|(minor, _)| minor.parse::<u32>().ok()).is_some_and(|minor| minor > 28);
    let machine = if tag.ends_with("x86_64") {
        "linux/amd64"
    } else if tag.ends_with("aarch64") {
        "linux/arm64"
    } else {
        "other machines"
    };
    match tag {
        "any" => ANY.to_owned(),
        _ if tag.starts_with("macosx") => "macOS".to_owned(),
        _ if tag.starts_with("win") => "Windows".to_owned(),
        _ if tag.starts_with("musllinux") => "Alpine Linux (musl)".to_owned(),
        _ if is_new => format!("{machine} with a newer C library (`{tag}`)"),
        _ if tag.contains("linux") => machine.to_owned(),
        _ => format!("`{tag}`"),
    }
}

/// `a`, `a and b`, `a, b and c`.
fn listed(words: &BTreeSet<String>) -> String {
    let mut words: Vec<&str> = words.iter().map(String::as_str).collect();
    let last = words.pop().unwrap_or_default();
    if words.is_empty() { last.to_owned() } else { format!("{} and {last}", words.join(", ")) }
}
