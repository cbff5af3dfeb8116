//! For tests: scenario worlds, a sealed sandbox, an index on loopback.
