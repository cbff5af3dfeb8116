//! Which kind of file a lock is: by `--output-format`, else by its name.

use std::path::{Path, PathBuf};

use reana_lockfile::pylock;

use crate::args::{CompileArgs, OutputFormat};
use crate::error::Failure;
use crate::fleet::Unit;

/// The kind of a lock with this path; `None` is stdout.
pub(crate) fn of(args: &CompileArgs, lock: Option<&Path>) -> Result<OutputFormat, Failure> {
    let name = lock.and_then(Path::file_name).map(|name| name.to_string_lossy().into_owned());
    let is_pylock = name.as_deref().map(pylock::is_file_name);
    match (args.output.output_format, is_pylock) {
        (Some(OutputFormat::Pylock), Some(false)) => {
            let name = name.unwrap_or_default();
            Err(Failure::input(format!("`{name}`: a pylock is called `pylock.toml` or `pylock.NAME.toml`")))
        }
        (Some(OutputFormat::Requirements), Some(true)) => {
            let name = name.unwrap_or_default();
            Err(Failure::input(format!("`{name}` is the name of a pylock, not of a requirements file")))
        }
        (Some(format), _) => Ok(format),
        (None, Some(true)) => Ok(OutputFormat::Pylock),
        (None, _) => Ok(OutputFormat::Requirements),
    }
}

/// Where a unit's lock goes where `--output-file` doesn't say: with `--output-format pylock`, a pylock beside
/// where the requirements file would be, `pylock.NAME.toml` for `NAME.txt`.
pub(crate) fn default_lock(unit: &Unit, args: &CompileArgs) -> Option<PathBuf> {
    let lock = unit.lock.clone()?;
    if args.output.output_format != Some(OutputFormat::Pylock) {
        return Some(lock);
    }
    let name = lock.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    if pylock::is_file_name(&name) {
        return Some(lock);
    }
    let stem = name.rsplit_once('.').map_or(name.as_str(), |(stem, _)| stem).replace('.', "-");
    let name = if stem == "requirements" { "pylock.toml".to_owned() } else { format!("pylock.{stem}.toml") };
    Some(lock.with_file_name(name))
}
