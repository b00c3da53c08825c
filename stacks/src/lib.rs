//! Unwinds the stack of a waiting or running thread, and names its functions.
//!
//! Threads are not stopped: the kernel reports where a thread sleeps (proc(5), `syscall`), and x11prof reads its
//! memory. An ordinary user can do this for the user's own programs. For a running thread, the caller provides the
//! stack. The kernel does not report the frame pointer; it follows from the prologue of the function
//! (`frame_pointer.rs`), otherwise the stack ends early.
//!
//! This crate stops no thread, reads only processes, program files and their debug files, and has no X11 code.

mod build_id;
mod debug_files;
mod frame_pointer;
mod frames;
mod isolated;
mod memory;
mod names;
mod program;
mod regular_file;
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
}

pub use names::{Names, SYMBOL_READER, WITH_DEBUG_FILES};
pub use program::program;
pub use regular_file::open_regular;
pub use symbols::{Function, Functions, serve_symbols};
pub use waiter::{StackCopy, Waiter};
