//! The program that a session drives: started by the driver, or already running.

use std::ffi::OsString;

/// The program to which a session's input is sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Subject {
    /// The program that this command (a program and its arguments) starts. The driver starts and ends it.
    Command(Vec<OsString>),
    /// The program that owns the existing window with this id. All actions apply to this window.
    Window(u32),
    /// The program that owns the window that the user clicks. All actions apply to this window.
    Clicked,
}
