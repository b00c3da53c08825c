//! The program of a session: started for it, or already running.

use std::ffi::OsString;

/// The program that is driven.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Subject {
    /// A program, with its arguments, that is started and ended.
    Command(Vec<OsString>),
    /// The program of a window that is there: all actions are for the window.
    Window(u32),
    /// The program of the window that the user clicks.
    Clicked,
}
