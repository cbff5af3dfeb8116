//! From requirements and a catalog to pins. Pure.
