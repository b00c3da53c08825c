//! Why a calibration could not be done, or not to its end.

use std::io;

use x11prof_cost_model::ServerParameters;

/// Why a calibration failed.
#[derive(Debug, thiserror::Error)]
pub enum MeasureError {
    /// The display's name is none.
    #[error("{display:?} is not the name of a display (expected :N or host:N)")]
    DisplayName {
        /// The name.
        display: String,
    },
    /// No connection to the display.
    #[error("cannot connect to display {display}: {source}; is a server running there?")]
    Connect {
        /// The display.
        display: String,
        /// What the system said.
        source: io::Error,
    },
    /// The server refused the connection.
    #[error(
        "display {display} refused the connection: {reason}; is the authority file right (XAUTHORITY)?"
    )]
    Refused {
        /// The display.
        display: String,
        /// The server's words.
        reason: String,
    },
    /// The server went away in the middle.
    #[error(
        "the display server went away during the measurement; {} requests had been measured",
        partial.requests.len()
    )]
    ServerGone {
        /// What had been measured.
        partial: Box<ServerParameters>,
    },
    /// The connection does not answer as the protocol says.
    #[error("the display server {what}")]
    Protocol {
        /// What it did.
        what: String,
    },
    /// The connection failed otherwise.
    #[error("the connection to the display server failed: {0}")]
    Io(#[from] io::Error),
    /// Nothing that was asked for can be measured.
    #[error("no request named {names} can be measured on this server")]
    Nothing {
        /// What was asked for.
        names: String,
    },
}
