//! Errors that the program prints: cause, consequence, remedy.

use std::fmt::Display;
use std::path::Path;
use std::process::ExitCode;

use x11prof_views::plain;

/// The exit status of `git bisect run` for a commit that cannot be tested.
const SERVER_NOT_STARTED: u8 = 125;

/// The reason why a command failed.
#[derive(Debug)]
pub(crate) struct CommandError {
    message: String,
    status: u8,
}

impl CommandError {
    /// The operation failed: exit status 1.
    pub(crate) fn failed(message: impl Display) -> CommandError {
        CommandError {
            message: message.to_string(),
            status: 1,
        }
    }

    /// A usage error: exit status 2.
    pub(crate) fn usage(message: impl Display) -> CommandError {
        CommandError {
            message: message.to_string(),
            status: 2,
        }
    }

    /// Converts the error of a command whose exit status 1 is a finding: exit status 2.
    pub(crate) fn into_trouble(self) -> CommandError {
        match self.status {
            SERVER_NOT_STARTED => self,
            _ => CommandError { status: 2, ..self },
        }
    }

    /// The server of `--server-command` did not start: exit status 125, on which `git bisect run` skips a commit.
    pub(crate) fn server_not_started(message: impl Display) -> CommandError {
        CommandError {
            message: message.to_string(),
            status: SERVER_NOT_STARTED,
        }
    }

    /// A command cannot be run. The exit status is the shell's.
    pub(crate) fn not_run(message: impl Display, found: bool) -> CommandError {
        CommandError {
            message: message.to_string(),
            status: if found { 126 } else { 127 },
        }
    }

    /// An operation on a file failed.
    pub(crate) fn file(path: &Path, cause: impl Display) -> CommandError {
        CommandError::failed(format_args!("{}: {cause}", shown(path)))
    }

    /// The message, without the program's name.
    pub(crate) fn message(&self) -> &str {
        &self.message
    }

    /// The exit status.
    pub(crate) fn exit_code(&self) -> ExitCode {
        ExitCode::from(self.status)
    }
}

/// The name of a file for messages, without control characters.
pub(crate) fn shown(path: &Path) -> String {
    plain(&path.to_string_lossy()).into_owned()
}

/// The result of a command: its exit status.
pub(crate) type Outcome = Result<ExitCode, CommandError>;
