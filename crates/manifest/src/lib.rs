//! What a repository declares, read without running it. Pure.
