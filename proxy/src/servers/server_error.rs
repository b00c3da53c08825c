//! The reasons why a private server, or the compositor of one, did not start.

use std::io;
use std::time::Duration;

use thiserror::Error;

/// A server must be ready within this time.
pub(crate) const START_PATIENCE: Duration = Duration::from_secs(30);

/// The reason why a private server did not start.
#[derive(Debug, Error)]
pub enum ServerError {
    /// The server's program is not installed.
    #[error("{program} is not installed; on Debian: apt install {package}")]
    Missing {
        /// The program.
        program: &'static str,
        /// The Debian package with the program.
        package: &'static str,
    },
    /// The server ended, or never became ready.
    #[error("{program} did not start: {why}")]
    Failed {
        /// The program.
        program: &'static str,
        /// The reason, with the server's output.
        why: String,
    },
    /// A system call for the server failed.
    #[error("cannot start {program}: {source}")]
    Io {
        /// The program.
        program: &'static str,
        /// The system's error.
        source: io::Error,
    },
}
