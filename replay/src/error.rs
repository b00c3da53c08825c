//! The reasons why a recording cannot be replayed.

use thiserror::Error;
use x11prof_trace::TraceError;

/// The reason why a recording cannot be replayed, or was not replayed to its end.
#[derive(Debug, Error)]
pub enum ReplayError {
    /// The trace cannot be read.
    #[error(transparent)]
    Trace(#[from] TraceError),
    /// Clients or resources existed before the recording.
    #[error(
        "it begins in the middle of a session (recorded with --attach or --ring); play a recording of the whole \
         program: x11prof record --keep-images -- COMMAND"
    )]
    Middle,
    /// The server accepted no client.
    #[error("there is no client in it to play")]
    NoClient,
    /// The requests do not fit in memory.
    #[error("its requests have over {limit} MiB, more than a replay holds")]
    TooLong {
        /// The maximum size in MiB.
        limit: u64,
    },
    /// The display's root window has a different depth.
    #[error(
        "it was recorded at depth {recorded}, the display has depth {here}; use a server of that depth{advice}"
    )]
    Depth {
        /// The depth of the recording.
        recorded: u8,
        /// The depth of the display.
        here: u8,
        /// Advice: the server to start instead.
        advice: &'static str,
    },
    /// The display assigns fewer ids to each client.
    #[error("the display's clients have fewer ids than the recorded ones")]
    Ids,
    /// The display cannot be reached, or has closed the connection.
    #[error("{what}: {why}")]
    Display {
        /// The step that failed.
        what: &'static str,
        /// The reason for the failure.
        why: String,
    },
    /// A reply did not arrive.
    #[error(
        "the server did not answer request {request} of connection {connection} within {seconds} s"
    )]
    Silent {
        /// The recorded connection's number.
        connection: u32,
        /// The recorded request's number.
        request: u64,
        /// The seconds that the player waited.
        seconds: u64,
    },
    /// A screenshot cannot be written.
    #[error("cannot write a picture: {0}")]
    Picture(std::io::Error),
}

impl ReplayError {
    pub(crate) fn display(
        what: &'static str,
    ) -> impl FnOnce(&dyn std::fmt::Display) -> ReplayError {
        move |why| ReplayError::Display {
            what,
            why: why.to_string(),
        }
    }
}
