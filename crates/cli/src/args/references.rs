//! `reana-lock images`: what the user typed.

use clap::{Args, Subcommand};

use super::Format;

/// `reana-lock images`
#[derive(Debug, Subcommand)]
pub(crate) enum ImagesCommand {
    /// Find references that move (no tag, `latest`, `master`, other words); exit 1 where there are any
    ///
    /// Helm values, Kubernetes objects, reana.yaml and Dockerfiles are read. What moves and is kept by nodes
    /// (imagePullPolicy IfNotPresent, or none) is an error, the rest a warning. Templates (`{{ }}`) are passed over.
    Lint(ReferencesArgs),
    /// Compare two files: one tag with different digests; exit 1 where there are any
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
