//! `reana-lock.toml`: what a fleet says about itself. Every key has a default, and no file is needed.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use reana_model::{Origin, Platform, PythonVersion, Target};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::args::{AnnotationStyle, Hashes, Resolution, Undated};
use crate::doors::disk::{self, DiskError};

mod values;

#[cfg(test)]
mod tests;

pub(crate) use values::{Location, Moment, Prereleases};
use values::{PlatformText, PythonText};

/// The file's name.
pub(crate) const FILE: &str = "reana-lock.toml";

/// The settings of a fleet.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
#[schemars(title = "reana-lock.toml")]
pub(crate) struct Config {
    /// The Python that all components are locked for, `3.12` or `3.12.4`. Without it, each component's own
    /// lock, `.python-version` and Dockerfile are asked.
    python: Option<PythonText>,
    /// The targets that every lock must serve, in order of importance. Instead of `python`.
    targets: Vec<TargetEntry>,
    /// Folders that are components, besides those that are recognised by a lock or by a Dockerfile that
    /// installs from `requirements.txt`. Relative to this file.
    pub(crate) components: Vec<String>,
    /// Folders of shared packages: released to an index, and not locked themselves. Relative to this file.
    pub(crate) shared: Vec<String>,
    /// Where packages come from.
    pub(crate) index: IndexConfig,
    /// How locks are made and written.
    pub(crate) lock: LockConfig,
    /// How images are called, and how their registries are asked.
    pub(crate) images: ImagesConfig,
    /// What is special about single components, by name.
    pub(crate) component: BTreeMap<String, ComponentConfig>,
    /// Where the file is; `None` where there is none.
    #[serde(skip)]
    pub(crate) path: Option<PathBuf>,
    /// The file's text, to say in which line a key stands.
    #[serde(skip)]
    text: String,
}

/// A Python on a platform.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct TargetEntry {
    /// The Python, `3.12` or `3.12.4`.
    python: PythonText,
    /// The platform, `linux/amd64` (default) or `linux/arm64`.
    #[serde(default)]
    platform: PlatformText,
}

/// Where packages come from.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub(crate) struct IndexConfig {
    /// The index: an address, or a folder in the simple layout relative to this file.
    url: Option<String>,
    /// Further indexes, asked before `url`; the first that knows a name owns it.
    extra: Vec<String>,
    /// Pages or folders with links to files.
    find_links: Vec<String>,
    /// Whether no index is asked at all, only `find-links`.
    pub(crate) no_index: bool,
    /// Names that are looked up in one index alone.
    names: BTreeMap<String, String>,
    /// Leaves out what was uploaded later: `2026-11-30T12:00:00Z`, or a date, whose day is left out too.
    pub(crate) exclude_newer: Option<Moment>,
    /// Whether pip's own configuration on the machine (`pip.conf`, `PIP_INDEX_URL`) says where packages come from, where
    /// nothing else does. With `false` locks are the same on every machine. Default: `true`.
    pub(crate) pip_config: Option<bool>,
    /// What `exclude-newer` does with files whose index tells no time: `refuse` (default) or `allow`.
    pub(crate) undated: Undated,
}

/// How locks are made and written.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub(crate) struct LockConfig {
    /// Whether reasons stand in the pin's line (`line`) or below it (`split`). Default: as in the old lock,
    /// else `split`.
    pub(crate) annotation_style: Option<AnnotationStyle>,
    /// Which files' hashes are written: `all` (default), the targets' (`target`), or `none`.
    pub(crate) hashes: Option<Hashes>,
    /// Whether extras are left out of the pins.
    pub(crate) strip_extras: Option<bool>,
    /// Whether setuptools and pip are pinned like the rest. Default: yes.
    pub(crate) allow_unsafe: Option<bool>,
    /// Which versions are tried first. Default: `highest`.
    pub(crate) resolution: Option<Resolution>,
    /// Whether pre-releases are taken only where nothing else will do (`if-necessary`, default) or always
    /// considered (`allow`).
    pub(crate) prereleases: Option<Prereleases>,
    /// Files with constraints for every component. Relative to this file.
    constraints: Vec<String>,
    /// The lock's name in each component. Default: `requirements.txt`.
    pub(crate) output: Option<String>,
    /// Where what the sdists need to be built is locked (`--build-requirements`): a name, beside each lock.
    /// Default: nowhere.
    pub(crate) build_requirements: Option<String>,
    /// Extras that every component is locked with.
    pub(crate) extras: Vec<String>,
}

/// How images are called, and how their registries are asked.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub(crate) struct ImagesConfig {
    /// What stands before a component's name in its image's name. Default: `docker.io/reanahub/`.
    prefix: Option<String>,
    /// Registries that are asked without TLS, as `host:port`. One on this machine needs no leave.
    plain_http: Vec<String>,
    /// A file with certificates (PEM) that are trusted for registries besides the system's. Relative to this
    /// file.
    registry_ca: Option<String>,
}

/// What is special about one component. What is said here is used instead of what `lock` says;
/// constraints are used besides.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub(crate) struct ComponentConfig {
    /// Extras that it is locked with. Default: those in the old lock's header.
    pub(crate) extras: Option<Vec<String>>,
    /// Whether it is locked with all its extras.
    pub(crate) all_extras: Option<bool>,
    /// Files with constraints. Relative to this file.
    constraints: Vec<String>,
    /// The Python that it is locked for.
    python: Option<PythonText>,
    /// The targets that its lock must serve. Instead of `python`.
    targets: Vec<TargetEntry>,
    /// The lock's name. Relative to the component.
    pub(crate) output: Option<String>,
    /// The manifests that it is locked from. Relative to the component. Default: those in the old lock's
    /// header, else what is there.
    pub(crate) sources: Vec<String>,
}

/// What a fleet's file says about one component, its own table and the rest together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ComponentSettings {
    /// Extras, if any are named.
    pub(crate) extras: Option<Vec<String>>,
    /// Whether all extras.
    pub(crate) all_extras: Option<bool>,
    /// Files with constraints; absolute.
    pub(crate) constraints: Vec<PathBuf>,
    /// What Python it is locked for, where targets are not given, and where that is said.
    pub(crate) python: Option<(PythonVersion, Origin)>,
    /// The targets, if given; then `python` is `None`.
    pub(crate) targets: Vec<Target>,
    /// The lock's name.
    pub(crate) output: Option<String>,
    /// The manifests; empty where nothing is said.
    pub(crate) sources: Vec<String>,
}

/// What is wrong with a `reana-lock.toml`.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ConfigError {
    /// It can't be read.
    #[error(transparent)]
    Disk(#[from] DiskError),
    /// It is no TOML, or says what it may not say.
    #[error("{place}: {reason}")]
    Invalid {
        /// The line.
        place: Origin,
        /// What is wrong.
        reason: String,
    },
}

impl Config {
    /// Reads the file in this folder; without one, everything is at its default.
    pub(crate) fn of_folder(folder: &Path) -> Result<Self, ConfigError> {
        let path = folder.join(FILE);
        match disk::entry(&path) {
            disk::Entry::Absent => Ok(Self::default()),
            _ => Self::parse(&disk::read_text(&path)?, &path),
        }
    }

    /// Understands a file's text. Relative paths in it start where the file is.
    pub(crate) fn parse(text: &str, path: &Path) -> Result<Self, ConfigError> {
        let place = |line| Origin::new(path.to_string_lossy().into_owned(), line);
        let mut config: Self = toml::from_str(text).map_err(|error| ConfigError::Invalid {
            place: place(error.span().map_or(1, |span| line_at(text, span.start))),
            reason: error.message().to_owned(),
        })?;
        config.path = Some(path.to_owned());
        config.text = text.to_owned();
        config.check()?;
        Ok(config)
    }

    fn check(&self) -> Result<(), ConfigError> {
        let invalid = |key: &str, reason: &str| ConfigError::Invalid {
            place: self.place_of(key),
            reason: reason.to_owned(),
        };
        let both = "`python` and `targets` say the same thing: only one of them may be given";
        if self.python.is_some() && !self.targets.is_empty() {
            return Err(invalid("targets", both));
        }
        for (name, component) in &self.component {
            if component.python.is_some() && !component.targets.is_empty() {
                return Err(invalid(&format!("component.{name}.targets"), both));
            }
        }
        if let Some(both) = self.components.iter().find(|name| self.shared.contains(name)) {
            let reason = format!("`{both}` is listed as a component and as a shared package");
            return Err(invalid("shared", &reason));
        }
        Ok(())
    }

    /// The folder that relative paths start from.
    pub(crate) fn folder(&self) -> Option<&Path> {
        self.path.as_deref().and_then(Path::parent)
    }

    /// Where a key or a table stands, by its dotted name (`index.names`), a table by its last part alone too;
    /// the whole file where that can't be told.
    pub(crate) fn place_of(&self, name: &str) -> Origin {
        let file = self.path.as_deref().map_or(FILE.into(), Path::to_string_lossy);
        let (table, key) = name.rsplit_once('.').unwrap_or(("", name));
        let mut current = String::new();
        let mut lines = (1..).zip(self.text.lines().map(str::trim));
        let found = lines.find(|(_, line)| {
            if let Some(header) = line.strip_prefix('[') {
                let header = header.trim_start_matches('[').split(']').next().unwrap_or_default();
                current = header.replace([' ', '"', '\''], "");
                return current == name || table.is_empty() && current.rsplit('.').next() == Some(key);
            }
            current == table && line.split('=').next().is_some_and(|found| found.trim() == key)
        });
        Origin::new(file.into_owned(), found.map_or(0, |(line, _)| line))
    }

    /// The index, if one is named.
    pub(crate) fn index_url(&self) -> Option<Location> {
        self.index.url.as_deref().map(|given| self.location(given))
    }

    /// What stands before a component's name in its image's name.
    pub(crate) fn image_prefix(&self) -> String {
        let default = || format!("{}/{DEFAULT_ORGANISATION}/", reana_images::DEFAULT_REGISTRY);
        self.images.prefix.clone().unwrap_or_else(default)
    }

    /// Registries that are asked without TLS.
    pub(crate) fn plain_http(&self) -> &[String] {
        &self.images.plain_http
    }

    /// Certificates for registries, and where they are named.
    pub(crate) fn registry_ca(&self) -> Option<(PathBuf, Origin)> {
        let file = self.folder().unwrap_or(Path::new("")).join(self.images.registry_ca.as_deref()?);
        Some((file, self.place_of("images.registry-ca")))
    }

    /// Whether nothing is said of indexes.
    pub(crate) fn says_no_index(&self) -> bool {
        self.index.url.is_none() && self.index.extra.is_empty() && !self.index.no_index
    }

    /// Further indexes, in order.
    pub(crate) fn extra_indexes(&self) -> Vec<Location> {
        self.index.extra.iter().map(|given| self.location(given)).collect()
    }

    /// Pages and folders with links.
    pub(crate) fn find_links(&self) -> Vec<Location> {
        self.index.find_links.iter().map(|given| self.location(given)).collect()
    }

    /// The names that are bound to one index.
    pub(crate) fn bound_names(&self) -> Vec<(String, Location)> {
        self.index.names.iter().map(|(name, given)| (name.clone(), self.location(given))).collect()
    }

    fn location(&self, given: &str) -> Location {
        Location::new(given, self.folder().unwrap_or(Path::new("")))
    }

    /// What is said about the component of this name (its folder's name, or as it is listed).
    pub(crate) fn for_component(&self, name: &str) -> ComponentSettings {
        let folder_name = name.rsplit('/').next().unwrap_or(name);
        let own = self.component.get(name).or_else(|| self.component.get(folder_name));
        let own = own.cloned().unwrap_or_default();
        let folder = self.folder().unwrap_or(Path::new(""));
        let constraints = self.lock.constraints.iter().chain(&own.constraints);
        let own_says = own.python.is_some() || !own.targets.is_empty();
        let (key, python, targets) = if own_says {
            (format!("component.{name}.python"), own.python, own.targets)
        } else {
            ("python".to_owned(), self.python, self.targets.clone())
        };
        let lock_extras = (!self.lock.extras.is_empty()).then(|| self.lock.extras.clone());
        ComponentSettings {
            extras: own.extras.or(lock_extras),
            all_extras: own.all_extras,
            constraints: constraints.map(|file| folder.join(file)).collect(),
            python: python.map(|python| (python.0, self.place_of(&key))),
            targets: targets.iter().map(TargetEntry::target).collect(),
            output: own.output.or_else(|| self.lock.output.clone()),
            sources: own.sources,
        }
    }
}

impl TargetEntry {
    fn target(&self) -> Target {
        Target { python: self.python.0, platform: self.platform.0 }
    }
}

/// Whose images they are where nothing is said.
const DEFAULT_ORGANISATION: &str = "reanahub";

/// The platform where none is named.
pub(crate) const DEFAULT_PLATFORM: Platform = Platform::LinuxAmd64;

/// The line, counted from 1, that this byte is in.
fn line_at(text: &str, byte: usize) -> u32 {
    let before = text.bytes().take(byte).filter(|&byte| byte == b'\n').count();
    u32::try_from(before + 1).unwrap_or(u32::MAX)
}

/// The JSON schema of the file, for editors.
pub(crate) fn schema() -> serde_json::Value {
    schemars::schema_for!(Config).to_value()
}
