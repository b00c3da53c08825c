//! Input: a trace, usually with a valid container. Reads it, converts it to a replay script, and recovers it.
#![no_main]

use x11prof_replay::Script;
use x11prof_trace::{Reader, recover};

libfuzzer_sys::fuzz_mutator!(|data: &mut [u8], size: usize, most: usize, seed: u32| {
    x11prof_fuzz::mutate(data, size, most, seed)
});

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    if let Ok(mut reader) = Reader::new(bytes) {
        while let Ok(Some(_)) = reader.next() {}
    }
    if let Ok(mut reader) = Reader::new(bytes) {
        let _ = Script::read(&mut reader, true);
    }
    let mut whole = Vec::new();
    if let Ok(recovery) = recover(bytes, &mut whole) {
        let mut reader = Reader::new(&whole[..]).expect("what was recovered is a trace");
        while reader.next().expect("and whole").is_some() {}
        assert!(reader.is_complete());
        assert!(recovery.records > 0);
    }
});
