//! End-to-end tests, through the binary in a sealed sandbox. One file for each command or area:
//!
//! | file | what it holds |
//! |---|---|
//! | `addresses` | requirements that name archives and folders |
//! | `bad_input` | manifests, locks and settings that can't be used |
//! | `bad_index` | indexes that don't answer, or answer nonsense |
//! | `build_requirements` | `--build-requirements` |
//! | `bump`, `bump_stopped`, `fleet` | what is about all repositories of a fleet; `checkouts` makes them |
//! | `builds` | `--allow-build` |
//! | `check`, `check_image` | `check`: locks, and Dockerfiles; each code once at least |
//! | `compile_basic` | what a plain run writes and says, for each kind of manifest |
//! | `compile_check` | `--check` |
//! | `compile_fleet` | several components in one run |
//! | `compile_index` | options about where packages come from |
//! | `compile_options` | options about what comes out |
//! | `compile_resolving` | options about what is resolved |
//! | `compile_usage` | command lines that make no sense |
//! | `credentials` | passwords of indexes: where they come from, and that they never show |
//! | `determinism` | the same bytes in any order, from anywhere, with any cache |
//! | `faults` | servers, archives and disks that fail or attack |
//! | `fuzz_corpora` | what fuzzers are fed, fed once |
//! | `generate` | completions, the manual page, help |
//! | `git_requirements` | requirements that name repositories |
//! | `guard`, `incident` | `reana-lock guard`, `labels` and `record`; the incident |
//! | `groups` | `--group`, the status of projects, `--trace` |
//! | `inputs`, `tag` | what goes into an image, and what it is called |
//! | `images` | `reana-lock images`: references in files |
//! | `interrupted` | runs that were killed while they wrote |
//! | `lock_header` | what is read back from the header of an old lock |
//! | `metadata` | `reana-lock metadata` |
//! | `odd_worlds` | odd places, files and streams |
//! | `pip_config` | pip's configuration as defaults |
//! | `pylock` | locks in the form of PEP 751 |
//! | `refresh_hashes` | `refresh-hashes` |
//! | `registry` | registries of images, real and scripted, by `reana-lock inputs` |
//! | `running` | `reana-lock running`, with recorded answers of a cluster |
//! | `schemas` | JSON answers beside their schemas |
//! | `verify` | a lock beside what pip says is installed |
//! | `with_local` | `--with-local` |
//! | `why`, `tree`, `diff` | what locks tell without the index |
//!
//! `harness` makes the sandbox and its index.

mod addresses;
mod bad_index;
mod bad_input;
mod build_requirements;
mod builds;
mod bump;
mod bump_stopped;
mod check;
mod check_image;
mod checkouts;
mod compile_basic;
mod compile_check;
mod compile_fleet;
mod compile_index;
mod compile_options;
mod compile_resolving;
mod compile_usage;
mod credentials;
mod determinism;
mod diff;
mod faults;
mod fleet;
mod fuzz_corpora;
mod generate;
mod git_requirements;
mod groups;
mod guard;
mod harness;
mod images;
mod incident;
mod inputs;
mod interrupted;
mod lock_header;
mod metadata;
mod odd_worlds;
mod pip_config;
mod pylock;
mod refresh_hashes;
mod registry;
mod running;
mod schemas;
mod tag;
mod tree;
mod verify;
mod why;
mod with_local;
