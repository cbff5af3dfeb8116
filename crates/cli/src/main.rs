//! reana-lock.
fn main() {}
