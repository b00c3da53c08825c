//! Unwinds the stack of a waiting or running thread, and names its functions.
//!
//! The crate does not stop threads. The kernel reports where a thread sleeps (proc(5), `syscall`), and the crate reads
//! the memory of the process. An ordinary user may do this for the user's own programs. For a running thread, the
//! caller provides the stack. The kernel does not report the frame pointer of a sleeping thread, so `frame_pointer.rs`
//! computes it from the function's prologue. If this is not possible, the stack ends early.
//!
//! The crate reads only processes, program files and their debug files, and contains no X11 code.

mod build_id;
mod debug_files;
mod demangle;
mod frame_pointer;
mod frames;
mod isolated;
mod memory;
mod names;
mod perf_map;
mod program;
mod regular_file;
mod sandbox;
mod symbols;
mod tables;
mod waiter;

pub use build_id::build_id;
pub use debug_files::are_named as debug_file_servers_are_named;
pub use frames::{Frame, Unwinder, Unwound};
pub use isolated::{IsolatedProcess, READING, limit_memory, serve};
/// Functions that only the fuzz targets use.
#[doc(hidden)]
pub mod fuzzing {
    pub use crate::frames::unwind;
    pub use crate::perf_map::PerfMap;
}

pub use names::{Names, SYMBOL_READER};
pub use perf_map::is_perf_map;
pub use program::program;
pub use regular_file::{open_regular, read_proc};
pub use sandbox::allow_only_reading;
pub use symbols::{Function, Functions, serve_symbols};
pub use waiter::{StackCopy, Waiter};
