//! The arguments of `verify`.

use clap::Args;

use super::Format;

/// `reana-lock verify`
#[derive(Debug, Args)]
pub(crate) struct VerifyArgs {
    /// What `pip inspect` or `pip list --format json` printed in the image (`-` is stdin)
    #[arg(long, value_name = "FILE")]
    pub(crate) installed: String,
    /// The lock, or the folder or name of its component
    #[arg(value_name = "LOCK|FOLDER")]
    pub(crate) lock: Option<String>,
    /// The image's Python (`X.Y` or `X.Y.Z`), where neither pip nor the lock says it
    #[arg(long, value_name = "X.Y")]
    pub(crate) python_version: Option<String>,
    /// The image's platform, where pip doesn't say it
    #[arg(long, value_name = "PLATFORM")]
    pub(crate) platform: Option<String>,
    /// How to answer
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}
