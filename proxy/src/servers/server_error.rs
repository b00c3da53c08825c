//! The reasons why a private server, or its compositor, did not start.

use std::io;
use std::time::Duration;

use thiserror::Error;

/// The time limit within which a server must be ready.
pub(crate) const START_PATIENCE: Duration = Duration::from_secs(30);

/// The reasons why a private server did not start.
#[derive(Debug, Error)]
pub enum ServerError {
    /// The program of the server is not installed.
    #[error("{program} is not installed; on Debian: apt install {package}")]
    Missing {
        /// The name of the program.
        program: &'static str,
        /// The Debian package that contains the program.
        package: &'static str,
    },
    /// The server ended or did not become ready in time.
    #[error("{program} did not start: {why}")]
    Failed {
        /// The name of the program.
        program: &'static str,
        /// The reason as text, with the server's output.
        why: String,
    },
    /// A system call for the server failed, with this error.
    #[error("cannot start {program}: {source}")]
    Io {
        /// The name of the program.
        program: &'static str,
        /// The error that the system reported.
        source: io::Error,
    },
}
