//! The project's folder, its command, and how programs are run here.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail, ensure};

/// The folder that the workspace is in.
pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap_or(Path::new("."))
}

/// A cargo call in the project's folder, by the same cargo that runs this.
pub(crate) fn cargo<const N: usize>(arguments: [&str; N]) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root()).args(arguments);
    command
}

/// Runs a program to its end, saying what is run; anything but exit 0 is an error.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    println!("\n$ {}", shown(command));
    let status = command.status().with_context(|| format!("failed to start {}", shown(command)))?;
    ensure!(status.success(), "`{}` ended with {status}", shown(command));
    Ok(())
}

/// Runs a program to its end and gives what it wrote to stdout; anything but exit 0 is an error.
pub(crate) fn output(command: &mut Command) -> Result<String> {
    let output = command
        .stderr(Stdio::inherit())
        .output()
        .with_context(|| format!("failed to start {}", shown(command)))?;
    ensure!(output.status.success(), "`{}` ended with {}", shown(command), output.status);
    String::from_utf8(output.stdout).with_context(|| format!("`{}` did not write UTF-8", shown(command)))
}

/// Builds `reana-lock` and gives the executable's path.
pub(crate) fn build() -> Result<PathBuf> {
    let messages = output(&mut cargo(["build", "--quiet", "--package=reana-lock", "--message-format=json"]))?;
    for line in messages.lines() {
        let message: serde_json::Value = serde_json::from_str(line)?;
        if let Some(path) = message["executable"].as_str() {
            return Ok(PathBuf::from(path));
        }
    }
    bail!("cargo built no executable of reana-lock")
}

/// The address of the index that is asked by default. It stands in one place, the command's settings.
pub(crate) fn default_index() -> Result<String> {
    let path = root().join("crates/cli/src/settings.rs");
    let settings =
        std::fs::read_to_string(&path).with_context(|| format!("failed to read {}", path.display()))?;
    find_default_index(&settings).context("crates/cli/src/settings.rs has no `const DEFAULT_INDEX`")
}

fn find_default_index(settings: &str) -> Option<String> {
    let (_, rest) = settings.split_once("const DEFAULT_INDEX")?;
    Some(rest.split('"').nth(1)?.to_owned())
}

fn shown(command: &Command) -> String {
    let program = Path::new(command.get_program()).file_name().unwrap_or(command.get_program());
    let words = std::iter::once(program).chain(command.get_args());
    words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_index_is_read_from_the_settings() {
        let settings =
            "/// Doc.\npub(crate) const DEFAULT_INDEX: &str =\n    \"https://index.test/simple/\";\n";
        assert_eq!(find_default_index(settings).as_deref(), Some("https://index.test/simple/"));
        assert_eq!(find_default_index("pub const OTHER: &str = \"x\";"), None);
    }

    #[test]
    fn a_failing_program_is_an_error_that_names_it() {
        for program in ["false", "no-such-program"] {
            let error = run(&mut Command::new(program)).expect_err("it fails");
            assert!(error.to_string().contains(program), "{error}");
        }
    }
}
