//! Scenarios: small worlds of packages in TOML, with what is asked of the solver and what must come out.
//!
//! ```toml
//! title = "The newest version that fits is taken"
//! reason = "pip tries candidates from new to old."
//! roots = ["a<2"]                       # setup.py:1, setup.py:2, ...
//!
//! [world.a]
//! "1.0" = { requires = ["b>=1"] }       # one wheel for any platform, unless `files` says otherwise
//! "2.0" = {}
//!
//! [expect]                              # the last table of the file: blessing rewrites from here on
//! pins = ["a==1.0"]
//! ```

use std::collections::BTreeMap;
use std::str::FromStr;

use reana_model::requirement::parse_specifiers_mended;
use reana_model::{
    DistFile, DistName, ExtraName, Grade, Metadata, Origin, PackageName, Platform, Requirement, Sha256,
    Target, Version, Yanked,
};
use serde::Deserialize;

/// A scenario as it is written.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// What is shown, in a sentence.
    pub title: String,
    /// Why this must come out.
    pub reason: String,
    /// Requirements of `setup.py`, one a line from line 1.
    #[serde(default)]
    pub roots: Vec<String>,
    /// Lines of `constraints.txt`.
    #[serde(default)]
    pub constraints: Vec<String>,
    /// Lines of `overrides.txt`.
    #[serde(default)]
    pub overrides: Vec<String>,
    /// Pins of the old lock, `name==version`.
    #[serde(default)]
    pub preferences: Vec<String>,
    /// `PYTHON PLATFORM`; `3.12 linux/amd64` if none is given.
    #[serde(default)]
    pub targets: Vec<String>,
    /// The policy.
    #[serde(default)]
    pub options: Options,
    /// Packages, their versions, and what is known of each.
    #[serde(default)]
    pub world: BTreeMap<String, BTreeMap<String, Release>>,
    /// What stands at an address.
    #[serde(default)]
    pub direct: BTreeMap<String, Place>,
    /// What must come out.
    pub expect: Expect,
}

/// The policy of a scenario.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Options {
    /// `--pre`.
    #[serde(default)]
    pub prereleases: bool,
    /// `highest`, `lowest` or `lowest-direct`.
    #[serde(default)]
    pub resolution: String,
    /// Names, or `:all:`.
    #[serde(default)]
    pub no_binary: Vec<String>,
    /// Names, or `:all:`.
    #[serde(default)]
    pub only_binary: Vec<String>,
    /// Names, or `:all:`.
    #[serde(default)]
    pub skip_unreadable: Vec<String>,
    /// The bound on decisions.
    #[serde(default)]
    pub max_decisions: Option<u64>,
}

/// One version of a package.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Release {
    /// What it requires.
    #[serde(default)]
    pub requires: Vec<String>,
    /// The extras it offers.
    #[serde(default)]
    pub extras: Vec<String>,
    /// `Requires-Python` as the index gives it for each file.
    pub python: Option<String>,
    /// `Requires-Python` in the metadata alone.
    pub metadata_python: Option<String>,
    /// The reason it was yanked for; may be empty.
    pub yanked: Option<String>,
    /// When its files were uploaded (RFC 3339).
    pub uploaded: Option<String>,
    /// Why its metadata can't be read without a build.
    pub unreadable: Option<String>,
    /// Why its metadata are nonsense.
    pub invalid: Option<String>,
    /// Its files, where they are not one wheel for all.
    #[serde(default)]
    pub files: Vec<File>,
}

/// One file of a version. What is not said is as the release has it.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct File {
    /// `sdist`, or the tags of a wheel: `cp312-cp312-manylinux_2_28_x86_64`, `1-py3-none-any`.
    pub tags: String,
    /// What it requires.
    pub requires: Option<Vec<String>>,
    /// Its `Requires-Python`.
    pub python: Option<String>,
    /// The reason it was yanked for; may be empty.
    pub yanked: Option<String>,
    /// Why its metadata can't be read without a build.
    pub unreadable: Option<String>,
    /// Why its metadata are nonsense.
    pub invalid: Option<String>,
}

/// What stands at an address.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Place {
    /// The package's name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// What it requires.
    #[serde(default)]
    pub requires: Vec<String>,
    /// The extras it offers.
    #[serde(default)]
    pub extras: Vec<String>,
}

/// What must come out of a scenario.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expect {
    /// The lock's lines.
    #[serde(default)]
    pub pins: Vec<String>,
    /// The file an installer takes, by package.
    #[serde(default)]
    pub files: BTreeMap<String, String>,
    /// The notes, sorted.
    #[serde(default)]
    pub notes: Vec<String>,
    /// The package to be explained.
    pub explain: Option<String>,
    /// Its explanation.
    pub why: Option<String>,
    /// The failure's text.
    pub error: Option<String>,
}

/// A file of the world, and what a catalog is to answer about it.
#[derive(Clone, Debug)]
pub struct WorldFile {
    /// The file as the index lists it.
    pub file: DistFile,
    /// What it requires.
    pub metadata: Metadata,
    /// Why that can't be read without a build.
    pub unreadable: Option<String>,
    /// Why that is nonsense.
    pub invalid: Option<String>,
}

/// What is wrong with a scenario's text.
#[derive(Clone, Debug, thiserror::Error)]
#[error("not a scenario: {0}")]
pub struct ScenarioError(String);

fn wrong(error: impl std::fmt::Display) -> ScenarioError {
    ScenarioError(error.to_string())
}

impl Scenario {
    /// Reads a scenario.
    pub fn parse(text: &str) -> Result<Self, ScenarioError> {
        toml::from_str(text).map_err(wrong)
    }

    /// Its targets.
    pub fn targets(&self) -> Result<Vec<Target>, ScenarioError> {
        if self.targets.is_empty() {
            return Ok(vec![Target {
                python: "3.12".parse().map_err(wrong)?,
                platform: Platform::LinuxAmd64,
            }]);
        }
        let read = |text: &String| {
            let (python, platform) = text.split_once(' ').ok_or_else(|| wrong(text))?;
            Ok(Target { python: python.parse().map_err(wrong)?, platform: platform.parse().map_err(wrong)? })
        };
        self.targets.iter().map(read).collect()
    }

    /// The files of each package, in the order of versions as text and then as they are written.
    pub fn files(&self) -> Result<Vec<(PackageName, Vec<WorldFile>)>, ScenarioError> {
        let mut packages = Vec::new();
        for (name, releases) in &self.world {
            let package = PackageName::new(name.clone()).map_err(wrong)?;
            let mut files = Vec::new();
            for (version, release) in releases {
                release.read_files(&package, version, &mut files)?;
            }
            packages.push((package, files));
        }
        Ok(packages)
    }
}

/// Requirements written one a line into a file.
pub fn requirements(lines: &[String], file: &str) -> Result<Vec<Requirement>, ScenarioError> {
    let numbered = (1..).zip(lines);
    numbered.map(|(line, text)| Requirement::parse(text, Origin::new(file, line)).map_err(wrong)).collect()
}

impl Release {
    fn read_files(
        &self,
        package: &PackageName,
        version: &str,
        files: &mut Vec<WorldFile>,
    ) -> Result<(), ScenarioError> {
        let usual = [File { tags: "py3-none-any".to_owned(), ..File::default() }];
        for file in if self.files.is_empty() { &usual[..] } else { &self.files } {
            files.push(self.read_file(package, version, file)?);
        }
        Ok(())
    }

    fn read_file(
        &self,
        package: &PackageName,
        version: &str,
        file: &File,
    ) -> Result<WorldFile, ScenarioError> {
        let stem = package.as_ref().replace('-', "_");
        let text = match file.tags.as_str() {
            "sdist" => format!("{stem}-{version}.tar.gz"),
            tags => format!("{stem}-{version}-{tags}.whl"),
        };
        let name = DistName::parse(&text, package).map_err(wrong)?;
        let python = file.python.as_ref().or(self.python.as_ref());
        let requires_python = python.map(|text| parse_specifiers_mended(text).map_err(wrong)).transpose()?;
        let metadata_python = self.metadata_python.as_deref();
        let metadata_python = metadata_python.map(|text| parse_specifiers_mended(text).map_err(wrong));
        let requires = file.requires.as_ref().unwrap_or(&self.requires);
        let grade = if name.wheel().is_some() { Grade::Wheel } else { Grade::Evaluated };
        let metadata = Metadata {
            name: package.clone(),
            version: name.version().clone(),
            requires_dist: requirements(requires, "METADATA")?,
            requires_python: metadata_python.transpose()?.or_else(|| requires_python.clone()),
            provides_extra: read_extras(&self.extras)?,
            grade,
        };
        let yanked = file.yanked.clone().or_else(|| self.yanked.clone());
        let listed = DistFile {
            name,
            url: format!("https://index.example/{text}"),
            sha256: Some(Sha256::of(text.as_bytes())),
            size: None,
            requires_python,
            yanked: yanked.map_or(Yanked::No, Yanked::Yes),
            uploaded: self.uploaded.as_ref().map(|time| time.parse().map_err(wrong)).transpose()?,
            core_metadata: reana_model::file::CoreMetadata::Absent,
        };
        let unreadable = file.unreadable.clone().or_else(|| self.unreadable.clone());
        let invalid = file.invalid.clone().or_else(|| self.invalid.clone());
        Ok(WorldFile { file: listed, metadata, unreadable, invalid })
    }
}

impl Place {
    /// What it says of itself.
    pub fn metadata(&self) -> Result<Metadata, ScenarioError> {
        Ok(Metadata {
            name: PackageName::new(self.name.clone()).map_err(wrong)?,
            version: Version::from_str(&self.version).map_err(wrong)?,
            requires_dist: requirements(&self.requires, "METADATA")?,
            requires_python: None,
            provides_extra: read_extras(&self.extras)?,
            grade: Grade::Wheel,
        })
    }
}

fn read_extras(extras: &[String]) -> Result<Vec<ExtraName>, ScenarioError> {
    extras.iter().map(|extra| ExtraName::new(extra.clone()).map_err(wrong)).collect()
}
