//! The errors of a session, as reported to users.

use thiserror::Error;

/// The error for a line of a session's text that cannot be parsed.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("line {line}: {why}")]
pub struct SessionError {
    /// The number of the line in the text, from 1.
    pub line: usize,
    /// The reason why the line cannot be parsed.
    pub why: String,
}

/// The reasons why a session was not completed.
#[derive(Debug, Error)]
pub enum DriveError {
    /// The program cannot be started.
    #[error("{program}: {why}")]
    Program {
        /// The name of the program that cannot be started.
        program: String,
        /// The reason why the program cannot be started.
        why: std::io::Error,
    },
    /// The display lacks a feature or has closed the connection. The text completes "the display …".
    #[error("the display {0}")]
    Display(String),
    /// The session stopped before an action.
    #[error("stopped before action {number} ({action}): {why}")]
    Stopped {
        /// The number of the action among the inputs, from 1.
        number: usize,
        /// The action as a line of a session's text.
        action: String,
        /// The reason why the session stopped.
        why: String,
    },
}
