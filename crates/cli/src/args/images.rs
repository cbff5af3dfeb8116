//! Arguments of the commands about images.

use clap::{Args, ValueEnum};

use super::{Format, IndexArgs, RegistryArgs};

/// How a tag is made of what git says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum TagStyle {
    /// As `git describe --tags` says (`0.6.0-36-gb702986`)
    #[default]
    Describe,
    /// The nearest tag alone, as a semantic version (`0.95.0-alpha.6`)
    Release,
}

/// `reana-lock tag`
#[derive(Debug, Args)]
pub(crate) struct TagArgs {
    /// Folders or names of repositories, a fleet's folder, or `CLUSTER`; without any, the current folder
    #[arg(value_name = "WHAT")]
    pub(crate) what: Vec<String>,
    /// How to make the tag
    #[arg(long, value_enum, default_value_t)]
    pub(crate) style: TagStyle,
    /// How to answer
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}

/// `reana-lock inputs`
#[derive(Clone, Debug, Args)]
pub(crate) struct InputsArgs {
    /// Folders or names of images, a fleet's folder, or `CLUSTER`; without any, the current folder
    #[arg(value_name = "WHAT")]
    pub(crate) what: Vec<String>,
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

/// What a build is told, and what is resolved where no lock pins it.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Build")]
pub(crate) struct BuildArgs {
    /// An argument of the build, as the builder is given it
    #[arg(long, value_name = "NAME=VALUE")]
    pub(crate) build_arg: Vec<String>,
    /// A platform of the build, as the builder is given it; also what is resolved for (`linux/amd64`)
    #[arg(long, value_name = "PLATFORM", value_delimiter = ',')]
    pub(crate) platform: Vec<String>,
    /// The digest of a base image, instead of asking the registry
    #[arg(long, value_name = "IMAGE=DIGEST")]
    pub(crate) base: Vec<String>,
    /// The Python to resolve for where no lock says it (`X.Y` or `X.Y.Z`)
    #[arg(long, value_name = "X.Y")]
    pub(crate) python_version: Vec<String>,
    /// An extra that the image is built with, where no lock says it
    #[arg(long, value_name = "EXTRA", value_delimiter = ',')]
    pub(crate) extra: Vec<String>,
    /// Build this package (`:all:` for any) when its metadata can't be read otherwise: runs its code
    #[arg(long, value_name = "NAME")]
    pub(crate) allow_build: Vec<String>,
    /// Pass over versions of this package (`:all:` for any) whose metadata can't be read without a build
    #[arg(long, value_name = "NAME")]
    pub(crate) skip_unreadable: Vec<String>,
}
