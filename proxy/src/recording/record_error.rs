//! The reasons why a recording could not start.

use std::io;
use std::path::PathBuf;

use thiserror::Error;
use x11prof_trace::TraceError;

use crate::display::display_name::DisplayNameError;
use crate::display::listen_error::ListenError;
use crate::display::server_info::DisplayError;
use crate::relay::rewrites::Rewrite;
use crate::servers::server_error::ServerError;

/// The reasons why a recording could not start.
#[derive(Debug, Error)]
pub enum RecordError {
    /// The key for marks cannot be grabbed.
    #[error("cannot mark by that key on display {display}: {reason}")]
    MarkKey {
        /// The name of the display.
        display: String,
        /// The reason why the key cannot be grabbed, as text.
        reason: String,
    },
    /// The user gave no display, and `DISPLAY` is not set.
    #[error(
        "DISPLAY is not set: name a display with --display, or start a private one: x11prof record --server xvfb -- COMMAND"
    )]
    NoDisplay,
    /// The text is not a valid display name.
    #[error(transparent)]
    DisplayName(#[from] DisplayNameError),
    /// The private server did not start.
    #[error(transparent)]
    Server(#[from] ServerError),
    /// The display server cannot be used.
    #[error(transparent)]
    Display(#[from] DisplayError),
    /// The recorder could not claim a display number.
    #[error(transparent)]
    Listen(#[from] ListenError),
    /// The trace file cannot be created.
    #[error("cannot write the trace {}: {source}", path.display())]
    Output {
        /// The path of the file.
        path: PathBuf,
        /// The error that the system reported.
        source: io::Error,
    },
    /// The trace could not be started.
    #[error("{}: {source}", path.display())]
    Trace {
        /// The path of the file.
        path: PathBuf,
        /// The error of the trace writer.
        source: TraceError,
    },
    /// The command cannot be started.
    #[error("cannot run {command}: {source}")]
    Command {
        /// The program of the command.
        command: String,
        /// The error that the system reported.
        source: io::Error,
    },
    /// The server cannot report its clients' messages, because it has no RECORD extension.
    #[error(
        "display {display} has no RECORD extension, so that clients that already run cannot be recorded; \
         start the program through x11prof instead: x11prof record --display {display} -- COMMAND"
    )]
    NoRecord {
        /// The name of the display.
        display: String,
    },
    /// Attaching to the server and detaching would end the server.
    #[error(
        "display {display} ends with its last client (-terminate) and has none: start a client first, or start the \
         program through x11prof: x11prof record --display {display} -- COMMAND"
    )]
    WouldEnd {
        /// The name of the display.
        display: String,
    },
    /// The server does not support a change of requests that is to be tried.
    #[error("display {display} is too old for --try {}: it has no RANDR 1.3", Rewrite::CurrentResources.name())]
    NoFix {
        /// The name of the display.
        display: String,
    },
    /// The system refuses another operation that is required.
    #[error("cannot record: {what}: {source}")]
    System {
        /// The action that failed, as a part of a sentence.
        what: &'static str,
        /// The error that the system reported.
        source: io::Error,
    },
}
