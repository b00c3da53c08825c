//! Errors of a calibration that failed or was not completed.

use std::io;

use x11prof_cost_model::ServerParameters;

/// Why a calibration failed.
#[derive(Debug, thiserror::Error)]
pub enum MeasureError {
    /// The server closed the connection during the measurement.
    #[error(
        "the display server went away during the measurement; {} requests had been measured",
        partial.requests.len()
    )]
    ServerGone {
        /// The measurements before the failure.
        partial: Box<ServerParameters>,
    },
    /// The server violated the protocol.
    #[error("the display server {what}")]
    Protocol {
        /// The server's fault.
        what: String,
    },
    /// The connection failed otherwise.
    #[error("the connection to the display server failed: {0}")]
    Io(#[from] io::Error),
    /// The selected requests cannot be measured.
    #[error("no request named {names} can be measured on this server")]
    Nothing {
        /// The names requested.
        names: String,
    },
}
