//! What people here do more than once.
fn main() {}
