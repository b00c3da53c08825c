//! Why a recording cannot be played.

use thiserror::Error;
use x11prof_trace::TraceError;

/// Why a recording cannot be played, or was not played to its end.
#[derive(Debug, Error)]
pub enum ReplayError {
    /// The trace cannot be read.
    #[error(transparent)]
    Trace(#[from] TraceError),
    /// Clients or resources are older than the recording.
    #[error(
        "it begins in the middle of a session (recorded with --attach or --ring); play a recording of the whole \
         program: x11prof record --keep-images -- COMMAND"
    )]
    Middle,
    /// The server accepted no client.
    #[error("there is no client in it to play")]
    NoClient,
    /// The requests are too long to hold in memory.
    #[error("its requests have over {limit} MiB, more than a replay holds")]
    TooLong {
        /// The most that is held, in MiB.
        limit: u64,
    },
    /// The display's root window has another depth.
    #[error(
        "it was recorded at depth {recorded}, the display has depth {here}; use a server of that depth{advice}"
    )]
    Depth {
        /// The depth of the recording.
        recorded: u8,
        /// The depth of the display.
        here: u8,
        /// Advice: the server to start in its place.
        advice: &'static str,
    },
    /// The display offers clients fewer ids.
    #[error("the display's clients have fewer ids than the recorded ones")]
    Ids,
    /// The display cannot be reached, or ended the connection.
    #[error("{what}: {why}")]
    Display {
        /// The step that failed.
        what: &'static str,
        /// The reason for the failure.
        why: String,
    },
    /// A reply did not come.
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
    /// A picture cannot be written.
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
