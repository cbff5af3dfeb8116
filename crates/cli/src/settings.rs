//! What the arguments, reana-lock.toml, the old lock's header and the defaults mean together, in this order of
//! weight (DESIGN decision 6).

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use reana_index::{CacheMode, IndexSource};
use reana_lockfile::{AnnotationStyle, EmittedOptions, Header, Newline, Style, UnsafePackages};
use reana_model::PackageName;
use reana_resolver::{NamePolicy, Policy, ResolutionMode};

use crate::args::{self, CompileArgs, Hashes, IndexArgs};
use crate::config::{Config, Location, Moment, Prereleases};
use crate::doors::clock;
use crate::doors::disk;
use crate::doors::env::Env;
use crate::error::Failure;
use crate::pip_config::{PipConfig, PipIndexes};

/// The index where none is named.
pub(crate) const DEFAULT_INDEX: &str = "https://pypi.org/simple/";

/// Options about indexes that requirements files give (`-i`, `--extra-index-url`, `-f`, `--no-index`), in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct FileIndexes {
    /// `-i`: replaces all indexes named before it.
    pub(crate) index: Option<Location>,
    /// `--extra-index-url`.
    pub(crate) extra: Vec<Location>,
    /// `-f`.
    pub(crate) find_links: Vec<Location>,
    /// `--no-index`.
    pub(crate) no_index: bool,
}

/// Where one run's packages come from. Runs of equal places share a catalog.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Places {
    /// In the order in which they are asked: extra indexes first.
    indexes: Vec<Location>,
    /// Whether the last of `indexes` is the main one (it is, unless no index is asked).
    has_main: bool,
    find_links: Vec<Location>,
    bindings: Vec<(PackageName, Location)>,
    /// Certificates that pip is told to trust, and where that is said.
    cert: Option<(PathBuf, String)>,
    /// What comes from pip's configuration, for the user to know.
    from_pip: Vec<String>,
}

impl Places {
    /// From the command line, then the requirements files, then reana-lock.toml, then pip's configuration, then the
    /// default. pip's indexes count only where nobody else says a word of indexes.
    pub(crate) fn of(
        args: &IndexArgs,
        files: &FileIndexes,
        config: &Config,
        pip: &PipConfig,
        cwd: &Path,
    ) -> Result<Self, Failure> {
        let typed = |given: &String| Location::new(given, cwd);
        let mut find_links: Vec<Location> = args.find_links.iter().map(typed).collect();
        find_links.extend(files.find_links.iter().cloned().chain(config.find_links()));
        let mut from_pip = Vec::new();
        if find_links.is_empty() {
            find_links = pip.find_links(&mut from_pip);
        }
        let cert = pip.cert.as_ref().map(|cert| (cwd.join(&cert.value), cert.place.clone()));
        let nobody_says = args.index_url.is_none()
            && args.extra_index_url.is_empty()
            && !args.no_index
            && *files == FileIndexes { find_links: files.find_links.clone(), ..FileIndexes::default() }
            && config.says_no_index();
        let pip_says = if nobody_says { pip.indexes(&mut from_pip) } else { PipIndexes::default() };
        if args.no_index || files.no_index || config.index.no_index || pip_says.no_index {
            let (indexes, bindings) = (Vec::new(), Vec::new());
            return Ok(Self { indexes, has_main: false, find_links, bindings, cert, from_pip });
        }
        let mut indexes: Vec<Location> = args.extra_index_url.iter().map(typed).collect();
        indexes.extend(files.extra.iter().cloned().chain(config.extra_indexes()).chain(pip_says.extra));
        let main =
            args.index_url.as_ref().map(typed).or_else(|| files.index.clone()).or_else(|| config.index_url());
        let main = main.or(pip_says.main);
        indexes.push(main.unwrap_or_else(|| Location::new(DEFAULT_INDEX, cwd)));
        let bound = |(name, place): (String, Location)| match PackageName::new(name) {
            Ok(name) => Ok((name, place)),
            Err(error) => Err(Failure::input(format!("{}: {error}", config.place_of("names")))),
        };
        let bindings = config.bound_names().into_iter().map(bound).collect::<Result<_, _>>()?;
        Ok(Self { indexes, has_main: true, find_links, bindings, cert, from_pip })
    }

    /// What comes from pip's configuration, for the user to know.
    pub(crate) fn pip_notes(&self) -> &[String] {
        &self.from_pip
    }

    /// The main index, for builds.
    pub(crate) fn main_index(&self) -> Option<&str> {
        self.indexes.last().filter(|_| self.has_main).map(|place| place.url.as_str())
    }

    /// Indexes and links whose answers anybody on the way could alter: plain HTTP, and not on this machine.
    pub(crate) fn unprotected(&self) -> Vec<String> {
        let places =
            self.indexes.iter().chain(&self.find_links).chain(self.bindings.iter().map(|(_, place)| place));
        let is_unprotected = |url: &url::Url| {
            let is_here = match url.host() {
                Some(url::Host::Domain(name)) => name == "localhost",
                Some(url::Host::Ipv4(address)) => address.is_loopback(),
                Some(url::Host::Ipv6(address)) => address.is_loopback(),
                None => true,
            };
            url.scheme() == "http" && !is_here
        };
        let urls = places.filter_map(|place| url::Url::parse(&place.url).ok()).filter(is_unprotected);
        urls.map(|url| reana_lockfile::without_credentials(url.as_str())).collect()
    }

    /// The index that all packages come from, where there is one alone and it has an address.
    pub(crate) fn only_index(&self) -> Option<String> {
        match &self.indexes[..] {
            [only] if self.find_links.is_empty() && self.bindings.is_empty() => {
                let is_remote = only.url.starts_with("https:") || only.url.starts_with("http:");
                is_remote.then(|| only.url.clone())
            }
            _ => None,
        }
    }

    /// Whether any of it is reached over the network.
    pub(crate) fn is_remote(&self) -> bool {
        let bound = self.bindings.iter().map(|(_, place)| place);
        self.indexes.iter().chain(&self.find_links).chain(bound).any(|place| !place.url.starts_with("file:"))
    }

    /// What is said with `-v`.
    pub(crate) fn describe(&self) -> String {
        let mut lines = String::new();
        if self.indexes.is_empty() {
            lines.push_str("Ignoring indexes.");
        } else {
            lines.push_str("Using indexes:");
        }
        for place in &self.indexes {
            lines.push_str(&format!("\n  {}", reana_lockfile::without_credentials(&place.url)));
        }
        if !self.find_links.is_empty() {
            lines.push_str("\nUsing links:");
        }
        for place in &self.find_links {
            lines.push_str(&format!("\n  {}", reana_lockfile::without_credentials(&place.url)));
        }
        lines
    }

    /// The settings of a client for these places.
    pub(crate) fn client(
        &self,
        args: &IndexArgs,
        config: &Config,
        env: &Env,
    ) -> Result<reana_index::Settings, Failure> {
        let mut settings = reana_index::Settings::new(clock::now);
        let source = |place: &Location| IndexSource { url: place.url.clone(), name: place.name.clone() };
        settings.indexes = self.indexes.iter().map(source).collect();
        settings.bindings = self.bindings.iter().map(|(name, place)| (name.clone(), source(place))).collect();
        settings.find_links = self.find_links.iter().map(|place| place.url.clone()).collect();
        settings.cache = cache(args, env);
        settings.offline = args.offline;
        settings.refresh = args.refresh;
        settings.exclude_newer = exclude_newer(args, config)?;
        settings.undated_allow = match args.undated {
            Some(undated) => undated == args::Undated::Allow,
            None => config.index.undated == args::Undated::Allow,
        };
        settings.verify_metadata = args.verify_metadata;
        if let Some(seconds) = args.timeout {
            settings.be_patient_for(Duration::from_secs(seconds));
        }
        settings.netrc = env.netrc_file().filter(|file| disk::entry(file) == disk::Entry::File);
        if let Some(file) = &env.ssl_cert_file {
            let read = disk::read(file);
            settings.extra_roots_pem =
                read.map_err(|error| Failure::input(format!("SSL_CERT_FILE: {error}")))?;
        } else if let Some((file, place)) = &self.cert {
            let read = disk::read(file);
            settings.extra_roots_pem = read.map_err(|error| Failure::input(format!("{place}: {error}")))?;
        }
        Ok(settings)
    }

    /// The options block of a lock that repeats its indexes; nothing unless the user wants it. Paths are
    /// written relative to the lock's folder, and credentials not at all.
    pub(crate) fn emitted(&self, lock_folder: &Path, is_wanted: bool) -> EmittedOptions {
        if !is_wanted {
            return EmittedOptions::default();
        }
        let written =
            |place: &Location| match url::Url::parse(&place.url).ok().and_then(|url| url.to_file_path().ok())
            {
                Some(path) => crate::paths::relative(&path, lock_folder),
                None => reana_lockfile::without_credentials(&place.url),
            };
        let (main, extra) = match self.indexes.split_last() {
            Some((main, extra)) if self.has_main => (Some(main), extra),
            _ => (None, &self.indexes[..]),
        };
        EmittedOptions {
            index_url: main.filter(|place| place.url != DEFAULT_INDEX).map(written),
            extra_index_urls: extra.iter().map(written).collect(),
            find_links: self.find_links.iter().map(written).collect(),
            ..EmittedOptions::default()
        }
    }
}

/// Where answers are kept. A folder that the user named must be usable; the usual one need not be (a container
/// without a home), and then this run remembers nothing.
fn cache(args: &IndexArgs, env: &Env) -> CacheMode {
    if args.no_cache {
        return CacheMode::Memory;
    }
    let named = args.cache_dir.as_ref().or(env.cache_dir.as_ref()).map(|folder| env.cwd.join(folder));
    let usual = || env.cache_folder().filter(|folder| disk::make_folder(folder).is_ok());
    named.or_else(usual).map_or(CacheMode::Memory, CacheMode::Folder)
}

/// The folder of the cache; `None` where this run remembers nothing.
pub(crate) fn cache_folder(args: &IndexArgs, env: &Env) -> Option<PathBuf> {
    match cache(args, env) {
        CacheMode::Folder(folder) => Some(folder),
        CacheMode::Memory => None,
    }
}

/// The moment after which uploads are not seen.
fn exclude_newer(args: &IndexArgs, config: &Config) -> Result<Option<jiff::Timestamp>, Failure> {
    let typed = args.exclude_newer.as_deref().map(str::parse::<Moment>).transpose();
    let typed = typed.map_err(|error| Failure::input(format!("--exclude-newer: {error}")))?;
    Ok(typed.or(config.index.exclude_newer).map(|moment| moment.0))
}

/// How a lock is written, decided from all sides.
pub(crate) fn style(
    args: &CompileArgs,
    config: &Config,
    header: Option<&Header>,
    newline: Newline,
) -> Result<Style, Failure> {
    let output = &args.output;
    let typed = output.annotation_style.or(config.lock.annotation_style).map(|style| match style {
        args::AnnotationStyle::Split => AnnotationStyle::Split,
        args::AnnotationStyle::Line => AnnotationStyle::Line,
    });
    let annotation = typed.or_else(|| header.and_then(|header| header.annotation_style)).unwrap_or_default();
    let typed_strip = flag(output.strip_extras, output.no_strip_extras);
    let strip =
        typed_strip.or(config.lock.strip_extras).or_else(|| header.and_then(|header| header.strip_extras));
    let allow_unsafe =
        flag(output.allow_unsafe, output.no_allow_unsafe).or(config.lock.allow_unsafe).unwrap_or(true);
    let mut style = Style {
        annotation: (!output.no_annotate).then_some(annotation),
        header: !output.no_header,
        strip_extras: strip.unwrap_or(false),
        newline,
        unsafe_handling: if allow_unsafe { UnsafePackages::Sorted } else { UnsafePackages::LeftOut },
        no_emit: names("--no-emit-package", &output.no_emit_package)?,
        ..Style::default()
    };
    if !output.unsafe_package.is_empty() {
        style.unsafe_packages = names("--unsafe-package", &output.unsafe_package)?;
    }
    Ok(style)
}

/// Which hashes are written.
pub(crate) fn hashes(args: &CompileArgs, config: &Config) -> Hashes {
    match flag(args.output.generate_hashes, args.output.no_generate_hashes) {
        Some(false) => Hashes::None,
        Some(true) => args.output.hashes.unwrap_or_default(),
        None => args.output.hashes.or(config.lock.hashes).unwrap_or_default(),
    }
}

/// The resolver's rules. `pre`: whether a requirements file says `--pre`.
pub(crate) fn policy(args: &CompileArgs, config: &Config, pre: bool) -> Result<Policy, Failure> {
    let resolve = &args.resolve;
    let resolution = match resolve.resolution.or(config.lock.resolution).unwrap_or_default() {
        args::Resolution::Highest => ResolutionMode::Highest,
        args::Resolution::Lowest => ResolutionMode::Lowest,
        args::Resolution::LowestDirect => ResolutionMode::LowestDirect,
    };
    Ok(Policy {
        prereleases: resolve.pre || pre || config.lock.prereleases == Some(Prereleases::Allow),
        resolution,
        no_binary: name_policy("--no-binary", &resolve.no_binary)?,
        only_binary: name_policy("--only-binary", &resolve.only_binary)?,
        skip_unreadable: name_policy("--skip-unreadable", &resolve.skip_unreadable)?,
        ..Policy::default()
    })
}

/// A list of names as pip reads them: commas between, `:all:` for all, `:none:` empties what came before.
pub(crate) fn name_policy(option: &str, given: &[String]) -> Result<NamePolicy, Failure> {
    let mut policy = NamePolicy::default();
    for word in given.iter().flat_map(|words| words.split(',')).map(str::trim).filter(|word| !word.is_empty())
    {
        match (word, &mut policy) {
            (":all:", policy) => *policy = NamePolicy::All,
            (":none:", policy) => *policy = NamePolicy::default(),
            (_, NamePolicy::All) => {}
            (name, NamePolicy::Names(names)) => {
                names.insert(package(option, name)?);
            }
        }
    }
    Ok(policy)
}

/// Names that an option gave.
pub(crate) fn names(option: &str, given: &[String]) -> Result<BTreeSet<PackageName>, Failure> {
    given.iter().map(|name| package(option, name)).collect()
}

/// A package's name that an option gave.
pub(crate) fn package(option: &str, name: &str) -> Result<PackageName, Failure> {
    PackageName::new(name.to_owned())
        .map_err(|_| Failure::input(format!("{option}: `{name}` is not a package's name")))
}

/// A pair of flags of which the later one counts; clap has cleared the earlier.
fn flag(yes: bool, no: bool) -> Option<bool> {
    match (yes, no) {
        (true, _) => Some(true),
        (false, true) => Some(false),
        (false, false) => None,
    }
}
