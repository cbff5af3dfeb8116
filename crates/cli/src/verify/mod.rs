//! Whether what is installed in an image is what its lock says: reading what pip printed, and comparing.

pub(crate) mod compare;
pub(crate) mod installed;
