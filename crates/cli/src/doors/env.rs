//! The door to the environment: read once, when the run starts, into one value.
#![expect(clippy::disallowed_methods, reason = "this is the door to the environment")]

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;
use std::io::IsTerminal as _;
use std::path::PathBuf;

/// What the run knows of its environment. A variable that is set to nothing counts as not set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Env {
    /// The folder that the run stands in; absolute.
    pub(crate) cwd: PathBuf,
    /// `HOME`.
    pub(crate) home: Option<PathBuf>,
    /// `XDG_CACHE_HOME`, if absolute (the XDG base directory specification ignores it else).
    pub(crate) xdg_cache_home: Option<PathBuf>,
    /// `REANA_LOCK_CACHE_DIR`.
    pub(crate) cache_dir: Option<PathBuf>,
    /// `SSL_CERT_FILE`: further roots to trust.
    pub(crate) ssl_cert_file: Option<PathBuf>,
    /// `DOCKER_CONFIG`: the folder of docker's config.json, if not `~/.docker`.
    pub(crate) docker_config: Option<PathBuf>,
    /// `NETRC`: where the credentials are, if not in `~/.netrc`.
    pub(crate) netrc: Option<PathBuf>,
    /// `PATH`, to find a Python in when something may be built.
    pub(crate) path: Option<OsString>,
    /// `CUSTOM_COMPILE_COMMAND`: what a lock's header shows for the command.
    pub(crate) custom_compile_command: Option<String>,
    /// `XDG_CONFIG_HOME`, if absolute.
    pub(crate) xdg_config_home: Option<PathBuf>,
    /// `VIRTUAL_ENV`.
    pub(crate) virtual_env: Option<PathBuf>,
    /// `PIP_CONFIG_FILE`.
    pub(crate) pip_config_file: Option<PathBuf>,
    /// pip's own variables, as far as they say where packages come from (`PIP_INDEX_URL`).
    pub(crate) pip: Secrets,
    /// `REANA_LOCK_INDEX_<NAME>_USERNAME` and `_PASSWORD`.
    pub(crate) index_credentials: Secrets,
    /// `NO_COLOR`.
    pub(crate) no_color: bool,
    /// `CI`, unless it says `false` or `0`.
    pub(crate) is_ci: bool,
    /// `COLUMNS`.
    pub(crate) columns: Option<u16>,
    /// Whether stdout is a terminal.
    pub(crate) stdout_is_terminal: bool,
    /// Whether stderr is a terminal.
    pub(crate) stderr_is_terminal: bool,
}

/// Variables by their names, whose values may be secret: they are not shown.
#[derive(Clone, Default, PartialEq, Eq)]
pub(crate) struct Secrets(pub(crate) BTreeMap<String, String>);

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

impl Secrets {
    /// The value of a variable.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }
}

/// What variables with credentials of indexes start with.
pub(crate) const CREDENTIALS: &str = "REANA_LOCK_INDEX_";

/// The variables of pip that are heeded. What else pip may be told changes nothing here.
pub(crate) const PIP: [&str; 5] =
    ["PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "PIP_FIND_LINKS", "PIP_NO_INDEX", "PIP_CERT"];

impl Env {
    /// Reads the process's environment. Where the current folder is gone, `.` stands for it, and what is
    /// looked for in it is not found.
    pub(crate) fn read() -> Self {
        let cwd = std::env::current_dir().unwrap_or_else(|_| PathBuf::from("."));
        let mut env = Self::from_variables(cwd, |name| std::env::var_os(name));
        env.stdout_is_terminal = std::io::stdout().is_terminal();
        env.stderr_is_terminal = std::io::stderr().is_terminal();
        let named = std::env::vars_os().filter_map(|(name, value)| {
            Some((name.into_string().ok()?, value.into_string().ok().filter(|value| !value.is_empty())?))
        });
        env.index_credentials = Secrets(named.filter(|(name, _)| name.starts_with(CREDENTIALS)).collect());
        env
    }

    /// The environment that these variables make; no terminal.
    pub(crate) fn from_variables(cwd: PathBuf, variable: impl Fn(&str) -> Option<OsString>) -> Self {
        let set = |name: &str| variable(name).filter(|value| !value.is_empty());
        let path = |name: &str| set(name).map(PathBuf::from);
        let text = |name: &str| set(name).and_then(|value| value.into_string().ok());
        Self {
            cwd,
            home: path("HOME"),
            xdg_cache_home: path("XDG_CACHE_HOME").filter(|path| path.is_absolute()),
            cache_dir: path("REANA_LOCK_CACHE_DIR"),
            ssl_cert_file: path("SSL_CERT_FILE"),
            docker_config: path("DOCKER_CONFIG"),
            netrc: path("NETRC"),
            path: set("PATH"),
            custom_compile_command: text("CUSTOM_COMPILE_COMMAND"),
            xdg_config_home: path("XDG_CONFIG_HOME").filter(|path| path.is_absolute()),
            virtual_env: path("VIRTUAL_ENV"),
            pip_config_file: path("PIP_CONFIG_FILE"),
            pip: Secrets(PIP.iter().filter_map(|&name| Some((name.to_owned(), text(name)?))).collect()),
            index_credentials: Secrets::default(),
            no_color: set("NO_COLOR").is_some(),
            is_ci: set("CI").is_some_and(|value| value != "false" && value != "0"),
            columns: text("COLUMNS").and_then(|columns| columns.parse().ok()).filter(|columns| *columns > 0),
            stdout_is_terminal: false,
            stderr_is_terminal: false,
        }
    }

    /// The folder of the cache: `REANA_LOCK_CACHE_DIR`, else `reana-lock` in the user's cache folder.
    /// `None` where there is neither this nor a home.
    pub(crate) fn cache_folder(&self) -> Option<PathBuf> {
        if let Some(folder) = &self.cache_dir {
            return Some(self.cwd.join(folder));
        }
        let caches =
            self.xdg_cache_home.clone().or_else(|| self.home.as_ref().map(|home| home.join(".cache")));
        caches.map(|caches| self.cwd.join(caches).join("reana-lock"))
    }

    /// The file with credentials: `NETRC`, else `.netrc` in the home folder. It need not exist.
    pub(crate) fn netrc_file(&self) -> Option<PathBuf> {
        let netrc = self.netrc.clone().or_else(|| self.home.as_ref().map(|home| home.join(".netrc")));
        netrc.map(|netrc| self.cwd.join(netrc))
    }
}

/// A variable that the user named (`--build-arg NAME`), whose value is taken as it is.
pub(crate) fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn env(variables: &[(&str, &str)]) -> Env {
        Env::from_variables(PathBuf::from("/here"), |name| {
            let found = variables.iter().find(|(variable, _)| *variable == name);
            found.map(|(_, value)| OsString::from(value))
        })
    }

    fn check_cache(variables: &[(&str, &str)], expected: Option<&str>) {
        assert_eq!(env(variables).cache_folder(), expected.map(PathBuf::from), "{variables:?}");
    }

    #[test]
    fn the_cache_folder() {
        check_cache(&[], None);
        check_cache(&[("HOME", "/home/me")], Some("/home/me/.cache/reana-lock"));
        check_cache(&[("HOME", "/home/me"), ("XDG_CACHE_HOME", "/c")], Some("/c/reana-lock"));
        check_cache(&[("HOME", "/home/me"), ("XDG_CACHE_HOME", "c")], Some("/home/me/.cache/reana-lock"));
        check_cache(&[("HOME", "/home/me"), ("REANA_LOCK_CACHE_DIR", "own")], Some("/here/own"));
        check_cache(&[("HOME", ""), ("REANA_LOCK_CACHE_DIR", "")], None);
    }

    #[test]
    fn switches() {
        let quiet = env(&[("NO_COLOR", "1"), ("CI", "true"), ("COLUMNS", "100")]);
        assert_eq!((quiet.no_color, quiet.is_ci, quiet.columns), (true, true, Some(100)));
        let other = env(&[("NO_COLOR", ""), ("CI", "false"), ("COLUMNS", "wide")]);
        assert_eq!((other.no_color, other.is_ci, other.columns), (false, false, None));
    }
}
