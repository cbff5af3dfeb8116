//! What a repository declares, read without running it. Pure.

pub mod files;

pub use files::{FileError, Files, MemoryFiles, normal_path};
