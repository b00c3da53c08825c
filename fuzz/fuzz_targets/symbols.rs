//! Input: a program file. Unwinds a stack with it, as a recorder does, and looks up functions in the symbol reader
//! process that all commands use. Whatever happens to that process, this one continues and gets a reply in time.
#![no_main]

use std::cell::RefCell;
use std::os::fd::AsRawFd;
use std::panic::catch_unwind;

use x11prof_stacks::fuzzing::unwind;
use x11prof_stacks::{Frame, Names, SYMBOL_READER, serve_symbols};

thread_local! {
    static NAMES: RefCell<Names> = RefCell::default();
}

libfuzzer_sys::fuzz_target!(
    init: {
        // This program also serves as the symbol reader process.
        if std::env::args().nth(1).is_some_and(|word| word == SYMBOL_READER) {
            let served = serve_symbols();
            std::process::exit(i32::from(served.is_err()));
        }
        std::panic::set_hook(Box::new(|_| {}));
    },
    |bytes: &[u8]| {
        let Ok(file) = rustix::fs::memfd_create("program", rustix::fs::MemfdFlags::empty()) else {
            return;
        };
        if rustix::io::write(&file, bytes) != Ok(bytes.len()) {
            return;
        }
        let path = format!("/proc/{}/fd/{}", std::process::id(), file.as_raw_fd());
        NAMES.with_borrow_mut(|names| {
            // Also use addresses from the file itself.
            let words = bytes.windows(8).step_by(61).filter_map(|word| word.first_chunk());
            let own = words.map(|word| u64::from_le_bytes(*word) & 0xffff);
            for address in [0, 0x1000, 0x1139, 0x112d, u64::MAX].into_iter().chain(own.take(8)) {
                let file = path.as_str().into();
                assert!(names.of(&Frame { file, address }).functions.len() < 1 << 20);
                // The product catches the unwinder's panics as well.
                let _ = catch_unwind(|| unwind(bytes, address));
            }
            // All inputs have the same file name, and after three crashes of the reader no more files are read, so
            // reset the names.
            *names = Names::default();
        });
    }
);
