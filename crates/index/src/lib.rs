//! The package index: wire formats, HTTP, cache, and reading wheels and sdists.
//!
//! [`Client`] is what the rest sees. It is synchronous and may be asked by many threads at once: each
//! page and each metadata file is fetched and read once in a run. What is likely to be needed is asked
//! for ahead with [`Client::expect`] and [`Client::expect_metadata`].
//!
//! `wire` is pure: bytes in, values out. `http` speaks to servers; `cache` and `local` open files.

pub mod archive;
mod auth;
mod cache;
mod client;
mod direct;
mod engine;
mod error;
mod http;
mod listing;
mod local;
mod metadata;
pub mod sdist;
mod settings;
mod stored;
pub mod wire;

pub use auth::masked_text as mask_credentials;
pub use client::Client;
pub use direct::{Direct, subdirectory};
pub use engine::{Progress, Skipped};
pub use error::{Error, FetchError};
pub use metadata::MetadataAnswer;
pub use sdist::{BuildAnswer, BuildRequirements};
pub use settings::{CacheMode, IndexSource, Limits, Settings, Timeouts};
