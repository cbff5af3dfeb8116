//! Gives `reana_fuzz::setup_cfg` whatever libFuzzer comes up with.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| reana_fuzz::setup_cfg(bytes));
