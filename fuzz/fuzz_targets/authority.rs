//! Input: an authority file.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| x11prof_proxy::fuzzing::authority(bytes));
