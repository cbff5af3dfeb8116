//! `cargo xtask test`: everything that must hold and needs no network. A warning is an error.

use std::process::{Command, Stdio};

use anyhow::Result;

use crate::generate::generate;
use crate::project::{cargo, root, run};

/// What cargo-deny is asked for. Its advisories need a database from the network, so they are left out.
const DENY: [&str; 5] = ["deny", "check", "bans", "licenses", "sources"];

/// Runs all checks, the cheap ones first; the first that fails ends the run.
pub(crate) fn test() -> Result<()> {
    run(&mut cargo(["fmt", "--all", "--check"]))?;
    run(&mut cargo(["clippy", "--workspace", "--all-targets", "--quiet", "--", "--deny=warnings"]))?;
    run(&mut cargo(["test", "--workspace", "--quiet"]))?;
    generate(true)?;
    if has_deny() {
        run(&mut cargo(DENY))?;
    } else {
        println!("\nSKIPPED: licences and sources of dependencies: cargo-deny is not installed here.");
    }
    println!("\nAll checks passed.");
    Ok(())
}

/// Runs the house rules alone.
pub(crate) fn tidy() -> Result<()> {
    run(&mut cargo(["test", "--package=xtask", "--quiet", "tidy"]))
}

fn has_deny() -> bool {
    let mut command = Command::new("cargo-deny");
    command.arg("--version").current_dir(root()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}
