//! End-to-end tests, through the binary.
