//! Gives `reana_fuzz::page_json` whatever libFuzzer comes up with.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| reana_fuzz::page_json(bytes));
