//! The package index: wire formats, HTTP, cache, sdists.

pub mod archive;
pub mod sdist;
