//! Input: a client's connection setup.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| x11prof_proxy::fuzzing::setup(bytes));
