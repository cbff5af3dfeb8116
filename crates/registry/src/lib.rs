//! The image registry: what a tag stands for, which images are behind it and which labels they have, by the OCI
//! distribution specification.
//!
//! A registry that says that there is no such image is an answer. Everything else that is no image (no connection, no
//! permission, too many requests, bytes that are not what their digest says) is an [`Error`]: no answer was had, and
//! nothing may be concluded from that. What a digest names is checked against it and kept for good.
//!
//! Why not an existing client: `oci-client` 0.17 reads bodies without a limit, knows neither `Retry-After` nor
//! docker's credential helpers, and takes any 404 for an answer.

mod auth;
mod client;
mod docker_config;
mod error;
mod http;
mod settings;
mod store;
mod wire;

pub use client::{Child, ChildState, Client, Image, Manifest, Scope};
pub use docker_config::{DockerConfig, DockerConfigError, Source};
pub use error::{Error, NoAnswer, SetupError};
pub use settings::{Credentials, LookUp, Settings};
pub use wire::{Descriptor, ManifestKind};
