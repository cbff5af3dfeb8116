//! What `pip list --format json` and `pip inspect` print (pip's own formats; the latter's is version 1, with the
//! `direct_url` of PEP 610 and the environment of PEP 508).

use std::collections::BTreeMap;

use reana_model::PackageName;
use serde::Deserialize;

/// What is installed in an image, as pip says it.
#[derive(Debug)]
pub(crate) struct Installed {
    /// Which of pip's commands said it.
    pub(crate) said_by: SaidBy,
    /// The packages, in pip's order.
    pub(crate) packages: Vec<Package>,
    /// The values of markers' variables, where pip says them.
    pub(crate) environment: Option<BTreeMap<String, String>>,
}

/// The command of pip that printed a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SaidBy {
    /// `pip list --format json`.
    List,
    /// `pip inspect`.
    Inspect,
}

/// One installed package.
#[derive(Clone, Debug)]
pub(crate) struct Package {
    /// Its name, normalised (PEP 503).
    pub(crate) name: PackageName,
    /// Its version as pip shows it.
    pub(crate) version: String,
    /// Where it was installed from, where that was no index.
    pub(crate) place: Option<Place>,
}

/// Where a package was installed from that came from no index (PEP 610).
#[derive(Clone, Debug)]
pub(crate) enum Place {
    /// A folder.
    Folder(String),
    /// An archive, with its sha256 in hexadecimal where it was recorded.
    Archive {
        /// Its address.
        url: String,
        /// Its sha256.
        sha256: Option<String>,
    },
    /// A repository.
    Repository(String),
}

impl Place {
    /// The address.
    pub(crate) fn url(&self) -> &str {
        match self {
            Self::Folder(url) | Self::Repository(url) | Self::Archive { url, .. } => url,
        }
    }
}

/// Why text is not what pip prints.
#[derive(Debug, thiserror::Error)]
pub(crate) enum InstalledError {
    /// It is no JSON.
    #[error("not JSON: {0}")]
    Json(serde_json::Error),
    /// It is JSON of another kind.
    #[error("neither a list of packages (`pip list --format json`) nor a report (`pip inspect`)")]
    Kind,
    /// It has not the shape that this command of pip's prints.
    #[error("not as {command} prints it: {source}")]
    Shape {
        /// The command.
        command: &'static str,
        /// What is wrong.
        source: serde_json::Error,
    },
    /// A version of the format that is not known here.
    #[error("a report of `pip inspect` in version {0} of its format; version 1 is known here")]
    Version(String),
    /// A name that no package can have.
    #[error("`{0}` is no package's name")]
    Name(String),
}

#[derive(Deserialize)]
struct Listed {
    name: String,
    version: String,
    editable_project_location: Option<String>,
}

#[derive(Deserialize)]
struct Report {
    version: String,
    installed: Vec<Inspected>,
    environment: Option<BTreeMap<String, String>>,
}

#[derive(Deserialize)]
struct Inspected {
    metadata: Described,
    direct_url: Option<DirectUrl>,
}

#[derive(Deserialize)]
struct Described {
    name: String,
    version: String,
}

#[derive(Deserialize)]
struct DirectUrl {
    url: String,
    dir_info: Option<serde::de::IgnoredAny>,
    vcs_info: Option<serde::de::IgnoredAny>,
    archive_info: Option<ArchiveInfo>,
}

#[derive(Deserialize)]
struct ArchiveInfo {
    hash: Option<String>,
    #[serde(default)]
    hashes: BTreeMap<String, String>,
}

/// Reads what pip printed; a byte order mark before it is passed over.
///
/// # Errors
/// Where it is not what either command prints: nothing of it is used then.
pub(crate) fn read(text: &str) -> Result<Installed, InstalledError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let value: serde_json::Value = serde_json::from_str(text).map_err(InstalledError::Json)?;
    if value.is_array() {
        let command = "`pip list --format json`";
        let listed: Vec<Listed> =
            serde_json::from_value(value).map_err(|source| InstalledError::Shape { command, source })?;
        let packages = listed.into_iter().map(|Listed { name, version, editable_project_location }| {
            let place = editable_project_location.map(Place::Folder);
            Ok(Package { name: named(name)?, version, place })
        });
        let packages = packages.collect::<Result<_, _>>()?;
        return Ok(Installed { said_by: SaidBy::List, packages, environment: None });
    }
    if value.get("installed").is_none() {
        return Err(InstalledError::Kind);
    }
    let command = "`pip inspect`";
    let report: Report =
        serde_json::from_value(value).map_err(|source| InstalledError::Shape { command, source })?;
    if report.version.split('.').next() != Some("1") {
        return Err(InstalledError::Version(report.version));
    }
    let packages = report.installed.into_iter().map(|Inspected { metadata, direct_url }| {
        Ok(Package {
            name: named(metadata.name)?,
            version: metadata.version,
            place: direct_url.map(DirectUrl::place),
        })
    });
    let packages = packages.collect::<Result<_, _>>()?;
    Ok(Installed { said_by: SaidBy::Inspect, packages, environment: report.environment })
}

fn named(name: String) -> Result<PackageName, InstalledError> {
    PackageName::new(name.clone()).map_err(|_| InstalledError::Name(name))
}

impl DirectUrl {
    fn place(self) -> Place {
        if self.vcs_info.is_some() {
            return Place::Repository(self.url);
        }
        if self.dir_info.is_some() {
            return Place::Folder(self.url);
        }
        let sha256 = self.archive_info.and_then(|ArchiveInfo { hash, mut hashes }| {
            let old = hash.and_then(|hash| hash.strip_prefix("sha256=").map(str::to_owned));
            hashes.remove("sha256").or(old)
        });
        Place::Archive { url: self.url, sha256 }
    }
}
