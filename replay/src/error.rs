//! The reasons why a recording cannot be replayed.

use thiserror::Error;
use x11prof_trace::TraceError;

/// The reasons why a recording cannot be replayed, or was not replayed to its end.
#[derive(Debug, Error)]
pub enum ReplayError {
    /// The trace file cannot be read.
    #[error(transparent)]
    Trace(#[from] TraceError),
    /// Clients or resources existed before the recording began.
    #[error(
        "it begins in the middle of a session (recorded with --attach or --ring); play a recording of the whole \
         program: x11prof record --keep-images -- COMMAND"
    )]
    Middle,
    /// The recording contains no client that the server accepted.
    #[error("there is no client in it to play")]
    NoClient,
    /// The recorded requests do not fit in memory.
    #[error("its requests have over {limit} MiB, more than a replay holds")]
    TooLong {
        /// The maximum size of the recorded requests in MiB.
        limit: u64,
    },
    /// The root window of the display has another depth than the recorded root window.
    #[error(
        "it was recorded at depth {recorded}, the display has depth {here}; use a server of that depth{advice}"
    )]
    Depth {
        /// The depth of the recorded root window, in bits.
        recorded: u8,
        /// The depth of the display's root window, in bits.
        here: u8,
        /// The advice appended to the message: the option that starts a suitable server. Empty if there is no such option.
        advice: &'static str,
    },
    /// The display assigns fewer resource ids to each client than the recorded server did.
    #[error("the display's clients have fewer ids than the recorded ones")]
    Ids,
    /// The display cannot be reached, or has closed the connection.
    #[error("{what}: {why}")]
    Display {
        /// The step or the connection that failed, as text.
        what: &'static str,
        /// The reason for the failure, as text.
        why: String,
    },
    /// The player waited too long for the display to handle requests or to close connections.
    #[error(
        "the server kept the clients waiting for {seconds} s, the last one on connection {connection}"
    )]
    Silent {
        /// The number of the connection in the recording.
        connection: u32,
        /// The limit in seconds for the sum of all clients' waits without a reply.
        seconds: u64,
    },
    /// The settings' `stop` became true.
    #[error("interrupted")]
    Stopped,
    /// A screenshot file cannot be written.
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
