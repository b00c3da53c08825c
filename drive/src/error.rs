//! Errors, as reported to users.

use thiserror::Error;

/// A line of a session that cannot be parsed.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("line {line}: {why}")]
pub struct SessionError {
    /// The line's number, from 1.
    pub line: usize,
    /// The reason.
    pub why: String,
}

/// The reason why a session was not completed.
#[derive(Debug, Error)]
pub enum DriveError {
    /// The program cannot be started.
    #[error("{program}: {why}")]
    Program {
        /// The program's name.
        program: String,
        /// The reason.
        why: std::io::Error,
    },
    /// The display lacks a feature or has closed the connection.
    #[error("the display {0}")]
    Display(String),
    /// The session stopped at an action.
    #[error("stopped before action {number} ({action}): {why}")]
    Stopped {
        /// The number of the action, from 1.
        number: usize,
        /// The action.
        action: String,
        /// The reason.
        why: String,
    },
}
