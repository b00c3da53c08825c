//! The program of a session: started for it, or already running.

use std::ffi::OsString;

/// The program that is driven.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Subject {
    /// A program with its arguments. The driver starts and ends it.
    Command(Vec<OsString>),
    /// The program of an existing window. All actions apply to this window.
    Window(u32),
    /// The program of the window that the user clicks.
    Clicked,
}
