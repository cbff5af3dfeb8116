//! Arguments about registries of images.

use std::path::PathBuf;

use clap::Args;

/// How registries are asked.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Registry")]
pub(crate) struct RegistryArgs {
    /// Ask this registry without TLS (`host:port`); one on this machine needs no leave
    #[arg(long, value_name = "HOST")]
    pub(crate) plain_http: Vec<String>,
    /// Trust the certificates in this file (PEM) for registries, besides the system's and SSL_CERT_FILE's
    #[arg(long, value_name = "FILE")]
    pub(crate) registry_ca: Option<PathBuf>,
}
