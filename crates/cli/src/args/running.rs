//! `reana-lock running`: what the user typed.

use std::path::PathBuf;

use clap::Args;

use super::{Format, RegistryArgs};

/// `reana-lock running`
#[derive(Debug, Args)]
pub(crate) struct RunningArgs {
    /// Read what `kubectl get -o json` said from here instead of asking (`-` is stdin); repeat for pods and nodes
    #[arg(long, value_name = "FILE", conflicts_with_all = ["context", "kubeconfig"])]
    pub(crate) input: Vec<String>,
    /// Look into this namespace alone; without it, into all
    #[arg(short, long, value_name = "NAME")]
    pub(crate) namespace: Option<String>,
    /// Look at pods with these labels alone, as kubectl's --selector has them
    #[arg(short = 'l', long, value_name = "LABELS")]
    pub(crate) selector: Option<String>,
    /// kubectl's context
    #[arg(long, value_name = "NAME")]
    pub(crate) context: Option<String>,
    /// kubectl's configuration
    #[arg(long, value_name = "FILE")]
    pub(crate) kubeconfig: Option<PathBuf>,
    /// How many seconds kubectl may take for an answer
    #[arg(long, value_name = "SECONDS", default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..=3600))]
    pub(crate) timeout: u64,
    /// Show the names of nodes, which can be sensitive
    #[arg(long)]
    pub(crate) nodes: bool,
    /// Find tags that stand for different content on different nodes; exit 1 where there are any
    #[arg(long)]
    pub(crate) drift: bool,
    /// Tell what each image was built from: commit, inputs, packages of REANA, by its labels or the ledger
    #[arg(long, conflicts_with = "drift")]
    pub(crate) trace: bool,
    /// The ledger to look into; by default reana-images.toml in the current folder, if there is one
    #[arg(long, value_name = "FILE")]
    pub(crate) ledger: Option<PathBuf>,
    /// Ask no registry; without it, `--drift` asks which content the tags have there now
    #[arg(long)]
    pub(crate) offline: bool,
    /// How to answer
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
    /// How registries are asked
    #[command(flatten)]
    pub(crate) registry: RegistryArgs,
}
