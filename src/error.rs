//! Errors that the program prints: cause, consequence, remedy.

use std::fmt::Display;
use std::path::Path;
use std::process::ExitCode;

use rustix::process::{DumpableBehavior, set_dumpable_behavior};
use signal_hook::low_level::emulate_default_handler;
use x11prof_proxy::received_signal;
use x11prof_views::plain;

/// The exit status with which `git bisect run` skips a commit that cannot be tested.
const SERVER_NOT_STARTED: u8 = 125;

/// The error of a command: a message and an exit status.
#[derive(Debug)]
pub(crate) struct CommandError {
    message: String,
    status: u8,
    /// The signal that interrupted the command; the process ends by it.
    signal: Option<i32>,
}

impl CommandError {
    fn new(message: impl Display, status: u8) -> CommandError {
        CommandError {
            message: message.to_string(),
            status,
            signal: None,
        }
    }

    /// Creates the error of an operation that failed: exit status 1.
    pub(crate) fn failed(message: impl Display) -> CommandError {
        CommandError::new(message, 1)
    }

    /// Creates a usage error: exit status 2.
    pub(crate) fn usage(message: impl Display) -> CommandError {
        CommandError::new(message, 2)
    }

    /// Changes the exit status to 2, for commands whose exit status 1 means that differences were found. The exit
    /// status 125 stays.
    pub(crate) fn into_trouble(self) -> CommandError {
        match self.status {
            SERVER_NOT_STARTED => self,
            _ => CommandError { status: 2, ..self },
        }
    }

    /// Creates the error for a server of `--server-command` that did not start: exit status 125, for which `git bisect
    /// run` skips a commit.
    pub(crate) fn server_not_started(message: impl Display) -> CommandError {
        CommandError::new(message, SERVER_NOT_STARTED)
    }

    /// True if a server of `--server-command` did not start.
    pub(crate) fn is_server_not_started(&self) -> bool {
        self.status == SERVER_NOT_STARTED
    }

    /// Creates the error for a command that cannot be run. The exit status is the shell's: 126, or 127 if the command
    /// was not `found`.
    pub(crate) fn not_run(message: impl Display, found: bool) -> CommandError {
        CommandError::new(message, if found { 126 } else { 127 })
    }

    /// Creates the error of a command that did not reach its end. If a signal interrupted it, the process ends by this
    /// signal.
    pub(crate) fn interrupted(message: impl Display) -> CommandError {
        CommandError {
            signal: received_signal(),
            ..CommandError::failed(message)
        }
    }

    /// Fails if a signal to end came after a recording or a calibration began to handle the signals.
    pub(crate) fn check_signals() -> Result<(), CommandError> {
        match received_signal() {
            Some(_) => Err(CommandError::interrupted("interrupted")),
            None => Ok(()),
        }
    }

    /// Creates the error of a failed operation on the file at `path`.
    pub(crate) fn file(path: &Path, cause: impl Display) -> CommandError {
        CommandError::failed(format_args!("{}: {cause}", shown(path)))
    }

    /// Returns the message, without the program's name.
    pub(crate) fn message(&self) -> &str {
        &self.message
    }

    /// Ends the process if a signal interrupted the command, or else returns the exit status.
    pub(crate) fn exit_code(&self) -> ExitCode {
        self.signal
            .map_or(ExitCode::from(self.status), end_by_signal)
    }
}

/// Ends this process by the signal `number`, so that its parent process sees the same end as of an interrupted program.
/// Returns a shell's status for it if that fails.
pub(crate) fn end_by_signal(number: i32) -> ExitCode {
    // A recorded command may have left a core file. x11prof leaves none.
    if set_dumpable_behavior(DumpableBehavior::NotDumpable).is_ok() {
        let _ = emulate_default_handler(number);
    }
    u8::try_from(128 + number).map_or(ExitCode::FAILURE, ExitCode::from)
}

/// Returns the file name for messages, without control characters.
pub(crate) fn shown(path: &Path) -> String {
    plain(&path.to_string_lossy()).into_owned()
}

/// The result of a command: the exit status, or the error.
pub(crate) type Outcome = Result<ExitCode, CommandError>;
