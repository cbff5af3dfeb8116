//! Arguments of the commands about what tags stand for.

use clap::Args;

use super::{InputsArgs, TagStyle};

/// Which images are meant, and what they would be called and built from.
#[derive(Clone, Debug, Args)]
pub(crate) struct ImageArgs {
    /// How to make the tag of what git says
    #[arg(long, value_enum, default_value_t)]
    pub(crate) style: TagStyle,
    /// The tag, whatever git says
    #[arg(long, value_name = "TAG", conflicts_with = "style")]
    pub(crate) tag: Option<String>,
    /// Which, and what goes into them; last, since it ends under a heading of its own
    #[command(flatten)]
    pub(crate) inputs: InputsArgs,
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
