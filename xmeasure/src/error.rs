//! Errors of a calibration that failed or was not completed.

use std::io;

use x11prof_cost_model::ServerParameters;

/// The reason why a calibration failed.
#[derive(Debug, thiserror::Error)]
pub enum MeasureError {
    /// The server closed the connection during the measurement.
    #[error(
        "the display server went away during the measurement; {} requests had been measured",
        partial.requests.len()
    )]
    ServerGone {
        /// The results of the measurements before the failure.
        partial: Box<ServerParameters>,
    },
    /// The server violated the protocol.
    #[error("the display server {what}")]
    Protocol {
        /// A description of the violation.
        what: String,
    },
    /// The connection failed for another reason.
    #[error("the connection to the display server failed: {0}")]
    Io(#[from] io::Error),
    /// None of the selected requests can be measured.
    #[error("no request named {names} can be measured on this server")]
    Nothing {
        /// The names that were requested.
        names: String,
    },
}
