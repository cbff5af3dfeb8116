//! File names of distributions: wheels (PEP 427, 491) and sdists (PEP 625 and before).

use std::borrow::Cow;
use std::str::FromStr;

use crate::{PackageName, Version};

/// The name of a distribution file, taken apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DistName {
    /// `name-version(-build)?-python-abi-platform.whl`
    Wheel(WheelName),
    /// `name-version.tar.gz`, `.zip`, `.tar.bz2`, `.tgz`
    Sdist {
        /// The whole file name.
        file: String,
        /// The version in it.
        version: Version,
    },
}

/// The name of a wheel, taken apart (PEP 427).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WheelName {
    /// The whole file name.
    pub file: String,
    /// The version in it.
    pub version: Version,
    /// The build tag: a number and what follows it. A higher one is preferred.
    pub build: Option<(u64, String)>,
    /// The wheel tags, in lower case: `py2.py3-none-any`.
    tags: String,
}

/// Why a file name is none that an installer could use. Such files are skipped and counted, never fatal.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FileNameError {
    /// Neither `.whl` nor an sdist's ending (`.egg`, `.exe`, `.rpm`, signatures).
    #[error("`{0}` is neither a wheel nor an sdist")]
    Kind(String),
    /// The parts do not add up.
    #[error("`{0}` is not named after a package and a version")]
    Shape(String),
    /// The version is not one of PEP 440.
    #[error("`{file}` has no valid version (PEP 440): `{version}`")]
    Version {
        /// The whole file name.
        file: String,
        /// What stands for a version in it.
        version: String,
    },
    /// The file belongs to another package.
    #[error("`{file}` is not a file of {package}")]
    Foreign {
        /// The whole file name.
        file: String,
        /// The package whose page lists it.
        package: PackageName,
    },
}

/// Endings of sdists that can be read, longest first.
const SDIST_ENDINGS: [&str; 6] = [".tar.bz2", ".tar.gz", ".tar.xz", ".tgz", ".zip", ".tar"];

impl DistName {
    /// Takes the name of a file of `package` apart. The package decides where the name ends in an
    /// sdist's (`foo-bar-1.0.tar.gz`), and a file of another package is refused.
    pub fn parse(file: &str, package: &PackageName) -> Result<Self, FileNameError> {
        if let Some(stem) = file.strip_suffix(".whl") {
            return WheelName::parse_stem(file, stem, package).map(Self::Wheel);
        }
        let Some(stem) = SDIST_ENDINGS.iter().find_map(|ending| file.strip_suffix(ending)) else {
            return Err(FileNameError::Kind(file.to_owned()));
        };
        let shape = || FileNameError::Shape(file.to_owned());
        // Every `-` may end the name; the right one leaves the package's name before it.
        let dashes: Vec<usize> = stem.match_indices('-').map(|(at, _)| at).collect();
        if dashes.is_empty() {
            return Err(shape());
        }
        let Some(cut) = dashes.into_iter().rev().find(|&at| is_package(&stem[..at], package)) else {
            return Err(FileNameError::Foreign { file: file.to_owned(), package: package.clone() });
        };
        let version = parse_version(file, &stem[cut + 1..])?;
        Ok(Self::Sdist { file: file.to_owned(), version })
    }

    /// The whole file name.
    pub fn file(&self) -> &str {
        match self {
            Self::Wheel(wheel) => &wheel.file,
            Self::Sdist { file, .. } => file,
        }
    }

    /// The version that the file is of.
    pub fn version(&self) -> &Version {
        match self {
            Self::Wheel(wheel) => &wheel.version,
            Self::Sdist { version, .. } => version,
        }
    }

    /// The wheel's name, if it is one.
    pub fn wheel(&self) -> Option<&WheelName> {
        match self {
            Self::Wheel(wheel) => Some(wheel),
            Self::Sdist { .. } => None,
        }
    }
}

impl WheelName {
    fn parse_stem(file: &str, stem: &str, package: &PackageName) -> Result<Self, FileNameError> {
        let parts: Vec<&str> = stem.split('-').collect();
        let (name, version, build, [python, abi, platform]) = match parts[..] {
            [name, version, python, abi, platform] => (name, version, None, [python, abi, platform]),
            [name, version, build, python, abi, platform] => {
                (name, version, Some(build), [python, abi, platform])
            }
            _ => return Err(FileNameError::Shape(file.to_owned())),
        };
        if !is_package(name, package) {
            return Err(FileNameError::Foreign { file: file.to_owned(), package: package.clone() });
        }
        // Escaped by old tools: `-` and `+` in a version became `_`.
        let dashed =
            if version.contains('_') { version.replace('_', "-").into() } else { Cow::Borrowed(version) };
        let version = parse_version(file, &dashed)
            .or_else(|error| Version::from_str(&version.replacen('_', "+", 1)).map_err(|_| error))?;
        let build = match build {
            None => None,
            Some(build) => {
                let end = build.find(|c: char| !c.is_ascii_digit()).unwrap_or(build.len());
                let number = build[..end].parse().map_err(|_| FileNameError::Shape(file.to_owned()))?;
                Some((number, build[end..].to_owned()))
            }
        };
        let mut tags = [python, "-", abi, "-", platform].concat();
        if !tags.is_ascii() || tags.bytes().any(|byte| byte.is_ascii_uppercase()) {
            tags = tags.to_lowercase();
        }
        Ok(Self { file: file.to_owned(), version, build, tags })
    }

    /// Python tags: `py2.py3` is two of them.
    pub fn python(&self) -> impl Iterator<Item = &str> + Clone {
        self.tags_at(0)
    }

    /// ABI tags.
    pub fn abi(&self) -> impl Iterator<Item = &str> + Clone {
        self.tags_at(1)
    }

    /// Platform tags.
    pub fn platform(&self) -> impl Iterator<Item = &str> + Clone {
        self.tags_at(2)
    }

    fn tags_at(&self, index: usize) -> impl Iterator<Item = &str> + Clone {
        self.tags.split('-').nth(index).unwrap_or_default().split('.')
    }
}

fn is_package(text: &str, package: &PackageName) -> bool {
    text == package.as_ref() || PackageName::new(text.to_owned()).is_ok_and(|name| name == *package)
}

fn parse_version(file: &str, text: &str) -> Result<Version, FileNameError> {
    Version::from_str(text)
        .map_err(|_| FileNameError::Version { file: file.to_owned(), version: text.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(package: &str, file: &str, expected: Result<&str, &str>) {
        let package = PackageName::new(package.to_owned()).expect("a package name");
        let found = DistName::parse(file, &package);
        let found = found.map(|name| name.version().to_string()).map_err(|error| error.to_string());
        assert_eq!(found.as_deref().map_err(String::as_str), expected, "{file}");
    }

    #[test]
    fn sdists() {
        check("foo-bar", "foo-bar-1.0.tar.gz", Ok("1.0"));
        check("foo-bar", "Foo_Bar-1.0rc1.zip", Ok("1.0rc1"));
        check("foo", "foo-1.0-beta.tar.gz", Ok("1.0b0"));
        check("foo", "foo-2-3.tar.gz", Ok("2.post3"));
        check(
            "p",
            "p-0.0.0-develop.tar.gz",
            Err("`p-0.0.0-develop.tar.gz` has no valid version (PEP 440): `0.0.0-develop`"),
        );
        check("foo", "bar-1.0.tar.gz", Err("`bar-1.0.tar.gz` is not a file of foo"));
        check("foo", "foo.tar.gz", Err("`foo.tar.gz` is not named after a package and a version"));
        check("foo", "foo-1.0.egg", Err("`foo-1.0.egg` is neither a wheel nor an sdist"));
    }

    #[test]
    fn wheels() {
        check("foo-bar", "foo_bar-1.0-py3-none-any.whl", Ok("1.0"));
        check("foo", "foo-1.0+cpu-1a-cp312-cp312-linux_x86_64.whl", Ok("1.0+cpu"));
        check("foo", "foo-1.0_cpu-cp312-cp312-linux_x86_64.whl", Ok("1.0+cpu"));
        check(
            "foo",
            "foo-1.0-x-cp312-cp312-any.whl",
            Err("`foo-1.0-x-cp312-cp312-any.whl` is not named after a package and a version"),
        );
        check("foo", "foo-1.0.whl", Err("`foo-1.0.whl` is not named after a package and a version"));
    }
}
