//! What pip is configured with, as far as it says where packages come from. It counts least, and the user is told:
//! a lock must not depend on a file that nobody thinks of.

use std::path::{Path, PathBuf};

use reana_manifest::ini::Ini;

use crate::config::Location;
use crate::doors::disk::{self, Entry};
use crate::doors::env::Env;
use crate::error::Failure;

#[cfg(test)]
mod tests;

/// The sections that are read; pip's commands for other things have their own. What the later one says counts.
const SECTIONS: [&str; 2] = ["global", "install"];

/// A value, and where it stands.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Said {
    /// The value, which may hold a password.
    pub(crate) value: String,
    /// The variable, or the file and the line.
    pub(crate) place: String,
}

/// pip's configuration.
#[derive(Clone, Default, PartialEq, Eq)]
pub(crate) struct PipConfig {
    index_url: Option<Said>,
    extra_index_url: Option<Said>,
    find_links: Option<Said>,
    no_index: Option<Said>,
    /// A file of certificates.
    pub(crate) cert: Option<Said>,
    folder: PathBuf,
}

/// The indexes that pip would ask.
#[derive(Default)]
pub(crate) struct PipIndexes {
    /// The main one.
    pub(crate) main: Option<Location>,
    /// The others.
    pub(crate) extra: Vec<Location>,
    /// Whether it would ask none.
    pub(crate) no_index: bool,
}

impl PipConfig {
    /// Reads pip's files in pip's order, the machine's, the user's, the virtual environment's and the one that
    /// `PIP_CONFIG_FILE` names, and then its variables.
    ///
    /// # Errors
    /// Where a file can't be read, or is no configuration file.
    pub(crate) fn read(env: &Env) -> Result<Self, Failure> {
        let mut config = Self { folder: env.cwd.clone(), ..Self::default() };
        for file in files(env) {
            config.file(&file)?;
        }
        for (name, value) in &env.pip.0 {
            let key = name.strip_prefix("PIP_").unwrap_or(name).to_lowercase();
            config.set(&key, Said { value: value.clone(), place: name.clone() });
        }
        Ok(config)
    }

    fn file(&mut self, file: &Path) -> Result<(), Failure> {
        // A file that may not be looked at is not there, as pip has it.
        if disk::entry(file) != Entry::File {
            return Ok(());
        }
        let text = disk::read_text(file).map_err(|error| Failure::from_disk(&error))?;
        let ini = Ini::parse(&text).map_err(|error| {
            let place = format!("{}:{}", file.display(), error.line);
            Failure::input(format!("{place}: not a configuration file of pip: {}", error.reason))
                .hint("`PIP_CONFIG_FILE=/dev/null` goes on without pip's files")
        })?;
        for (key, value) in SECTIONS.iter().filter_map(|name| ini.section(name)).flatten() {
            let place = format!("{}:{}", file.display(), value.line);
            self.set(key, Said { value: value.text().trim().to_owned(), place });
        }
        Ok(())
    }

    fn set(&mut self, key: &str, said: Said) {
        let key = key.to_lowercase().replace('_', "-");
        let place = match key.trim_start_matches("--") {
            "index-url" => &mut self.index_url,
            "extra-index-url" => &mut self.extra_index_url,
            "find-links" => &mut self.find_links,
            "no-index" => &mut self.no_index,
            "cert" => &mut self.cert,
            _ => return,
        };
        *place = Some(said).filter(|said| !said.value.is_empty());
    }

    /// The indexes; what comes from where is added to `told`.
    pub(crate) fn indexes(&self, told: &mut Vec<String>) -> PipIndexes {
        if let Some(said) = self.no_index.as_ref().filter(|said| is_true(&said.value)) {
            told.push(format!("no index is asked: pip is configured so ({})", said.place));
            return PipIndexes { no_index: true, ..PipIndexes::default() };
        }
        let mut found = PipIndexes::default();
        if let Some(said) = &self.extra_index_url {
            found.extra = self.locations(said);
            tell("a further index comes", &found.extra, said, told);
        }
        if let Some(said) = &self.index_url {
            found.main = Some(Location::new(&said.value, &self.folder));
            tell("the index comes", found.main.as_slice(), said, told);
        }
        found
    }

    /// The folders and pages with files. A folder that is not there is passed over, as pip has it.
    pub(crate) fn find_links(&self, told: &mut Vec<String>) -> Vec<Location> {
        let Some(said) = &self.find_links else { return Vec::new() };
        let mut found = self.locations(said);
        found.retain(|place| {
            let path = url::Url::parse(&place.url).ok().filter(|url| url.scheme() == "file");
            let path = path.and_then(|url| url.to_file_path().ok());
            path.is_none_or(|path| disk::entry(&path) != Entry::Absent)
        });
        tell("a place with files comes", &found, said, told);
        found
    }

    fn locations(&self, said: &Said) -> Vec<Location> {
        said.value.split_whitespace().map(|given| Location::new(given, &self.folder)).collect()
    }
}

fn tell(what: &str, places: &[Location], said: &Said, told: &mut Vec<String>) {
    let line = |place: &Location| {
        let url = reana_lockfile::without_credentials(&place.url);
        format!("{what} from pip's configuration: {url} ({})", said.place)
    };
    told.extend(places.iter().map(line));
}

/// As pip reads switches.
fn is_true(text: &str) -> bool {
    matches!(text.to_lowercase().as_str(), "y" | "yes" | "t" | "true" | "on" | "1")
}

/// pip's files, those that count least first.
fn files(env: &Env) -> Vec<PathBuf> {
    let named = env.pip_config_file.as_ref().map(|file| env.cwd.join(file));
    if named.as_deref() == Some(Path::new("/dev/null")) {
        return Vec::new();
    }
    let mut files = vec![PathBuf::from("/etc/xdg/pip/pip.conf"), PathBuf::from("/etc/pip.conf")];
    let is_named_there = named.as_ref().is_some_and(|file| disk::entry(file) == Entry::File);
    if !is_named_there {
        files.extend(env.home.iter().map(|home| home.join(".pip/pip.conf")));
        let config = env.xdg_config_home.clone();
        let config = config.or_else(|| env.home.as_ref().map(|home| home.join(".config")));
        files.extend(config.map(|folder| folder.join("pip/pip.conf")));
    }
    files.extend(env.virtual_env.iter().map(|folder| folder.join("pip.conf")));
    files.extend(named);
    files.into_iter().map(|file| env.cwd.join(file)).collect()
}
