//! The package index: wire formats, HTTP, cache, sdists.
