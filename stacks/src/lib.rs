//! The stack of a thread that waits or ran, unwound, and the names of its functions.
//!
//! A thread is not stopped: the kernel reports where it sleeps (proc(5), `syscall`), and its memory is read. So an ordinary user can look at
//! the programs that he started. A thread that runs has the stack that its caller brings. The frame pointer, which the kernel does not tell, follows from a
//! function's prologue (`frame_pointer.rs`); where it does not, the stack ends early.
//!
//! This crate stops no thread, reads nothing but processes, program files and their debug files, and knows nothing of X11.

mod debug_files;
mod frame_pointer;
mod frames;
mod isolated;
mod memory;
mod names;
mod program;
mod symbols;
mod tables;
mod waiter;

pub use debug_files::are_named as debug_file_servers_are_named;
pub use frames::{Frame, Unwinder, Unwound};
pub use isolated::{IsolatedProcess, serve};
/// For the fuzz targets.
#[doc(hidden)]
pub mod fuzzing {
    pub use crate::frames::unwind;
}

pub use names::{Names, SYMBOL_READER, WITH_DEBUG_FILES};
pub use program::program;
pub use symbols::{Function, Functions, serve_symbols};
pub use waiter::{StackCopy, Waiter};
