//! Why a private server, or the compositor of one, did not start.

use std::io;
use std::time::Duration;

use thiserror::Error;

/// How long a server may take to be ready.
pub(crate) const START_PATIENCE: Duration = Duration::from_secs(30);

/// Why a private server did not start.
#[derive(Debug, Error)]
pub enum ServerError {
    /// Its program is not installed.
    #[error("{program} is not installed; on Debian: apt install {package}")]
    Missing {
        /// The program.
        program: &'static str,
        /// Debian's package of it.
        package: &'static str,
    },
    /// It ended, or never became ready.
    #[error("{program} did not start: {why}")]
    Failed {
        /// The program.
        program: &'static str,
        /// What happened, with what the server said.
        why: String,
    },
    /// Something around it failed.
    #[error("cannot start {program}: {source}")]
    Io {
        /// The program.
        program: &'static str,
        /// What the system said.
        source: io::Error,
    },
}
