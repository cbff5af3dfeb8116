//! Arguments of the commands about what tags stand for.

use clap::Args;

use super::{BuildArgs, Format, IndexArgs, RegistryArgs, TagStyle};

/// Which images are meant, and what they would be called and built from.
#[derive(Clone, Debug, Args)]
pub(crate) struct ImageArgs {
    /// Folders or names of images, a fleet's folder, or `CLUSTER`; without any, the current folder
    #[arg(value_name = "WHAT")]
    pub(crate) what: Vec<String>,
    /// How to make the tag of what git says
    #[arg(long, value_enum, default_value_t)]
    pub(crate) style: TagStyle,
    /// The tag, whatever git says
    #[arg(long, value_name = "TAG", conflicts_with = "style")]
    pub(crate) tag: Option<String>,
    /// How to answer
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
    /// What the build is told
    #[command(flatten)]
    pub(crate) build: BuildArgs,
    /// How registries are asked
    #[command(flatten)]
    pub(crate) registry: RegistryArgs,
    /// Where packages come from
    #[command(flatten)]
    pub(crate) index: IndexArgs,
}

/// `reana-lock guard`
#[derive(Debug, Args)]
pub(crate) struct GuardArgs {
    /// Record an image that has no labels of ours as built from what is here now
    #[arg(long)]
    pub(crate) adopt: bool,
    /// Let an image be built again from the same inputs
    #[arg(long)]
    pub(crate) allow_rebuild: bool,
    /// The images
    #[command(flatten)]
    pub(crate) image: ImageArgs,
}

/// `reana-lock labels`
#[derive(Debug, Args)]
pub(crate) struct LabelsArgs {
    /// The images
    #[command(flatten)]
    pub(crate) image: ImageArgs,
}

/// `reana-lock record`
#[derive(Debug, Args)]
pub(crate) struct RecordArgs {
    /// The images
    #[command(flatten)]
    pub(crate) image: ImageArgs,
}
