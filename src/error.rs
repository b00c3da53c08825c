//! Errors as the user sees them: one sentence, and what to do.

use std::fmt::Display;
use std::path::Path;
use std::process::ExitCode;

/// Why a command failed.
#[derive(Debug)]
pub(crate) struct CommandError {
    message: String,
    status: u8,
}

impl CommandError {
    /// The work failed: exit status 1.
    pub(crate) fn failed(message: impl Display) -> CommandError {
        CommandError {
            message: message.to_string(),
            status: 1,
        }
    }

    /// It was asked for wrongly: exit status 2.
    pub(crate) fn usage(message: impl Display) -> CommandError {
        CommandError {
            message: message.to_string(),
            status: 2,
        }
    }

    /// The work on a file failed.
    pub(crate) fn file(path: &Path, cause: impl Display) -> CommandError {
        CommandError::failed(format_args!("{}: {cause}", path.display()))
    }

    /// The message, without the program's name.
    pub(crate) fn message(&self) -> &str {
        &self.message
    }

    /// The status to exit with.
    pub(crate) fn exit_code(&self) -> ExitCode {
        ExitCode::from(self.status)
    }
}

/// What a command gives back: the status to exit with.
pub(crate) type Outcome = Result<ExitCode, CommandError>;
