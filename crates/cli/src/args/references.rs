//! `reana-lock images`: what the user typed.

use clap::{Args, Subcommand};

use super::{Format, RegistryArgs};

/// `reana-lock images`
#[derive(Debug, Subcommand)]
pub(crate) enum ImagesCommand {
    /// Find references that move (no tag, `latest`, `master`, other words); exit 1 where there are any
    ///
    /// Helm values, Kubernetes objects, reana.yaml and Dockerfiles are read. What moves and is kept by nodes
    /// (imagePullPolicy IfNotPresent, or none) is an error, the rest a warning. Templates (`{{ }}`) are passed over.
    Lint(ReferencesArgs),
    /// Add the digest that each tag stands for now (`name:tag@sha256:...`); without --write, show what would change
    ///
    /// All other bytes stay as they are. Where a chart has repository and tag apart, an empty `digest` key is
    /// filled, else the digest goes behind the tag: right for charts that write `repository:tag`, wrong for those
    /// that make a label of the tag.
    Pin(PinArgs),
    /// Compare two files, Helm values or ledgers: one tag with different digests; exit 1 where there are any
    Diff(ReferencesDiffArgs),
}

/// `reana-lock images lint`
#[derive(Debug, Args)]
pub(crate) struct ReferencesArgs {
    /// The files
    #[arg(value_name = "FILE", required = true)]
    pub(crate) files: Vec<String>,
    /// How to answer
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}

/// `reana-lock images pin`
#[derive(Debug, Args)]
pub(crate) struct PinArgs {
    /// The files
    #[arg(value_name = "FILE", required = true)]
    pub(crate) files: Vec<String>,
    /// Write the files
    #[arg(long)]
    pub(crate) write: bool,
    /// How registries are asked
    #[command(flatten)]
    pub(crate) registry: RegistryArgs,
}

/// `reana-lock images diff`
#[derive(Debug, Args)]
pub(crate) struct ReferencesDiffArgs {
    /// The file before, or of one deployment
    pub(crate) old: String,
    /// The file after, or of the other deployment
    pub(crate) new: String,
    /// How to answer
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}
