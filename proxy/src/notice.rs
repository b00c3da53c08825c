//! The notices that a running recording sends to its user.

use std::net::SocketAddr;
use std::path::PathBuf;

use x11prof_trace::ConnectionId;

/// A notice for the user of a running recording.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Notice {
    /// The display is ready for clients.
    Serving {
        /// The value of DISPLAY for clients.
        display: String,
        /// The value of XAUTHORITY for clients.
        authority: PathBuf,
        /// The TCP addresses of the display; empty without TCP.
        tcp: Vec<SocketAddr>,
    },
    /// The recorder has attached to the running clients.
    Attached {
        /// The name of the display.
        display: String,
        /// The number of clients that were running.
        clients: u32,
    },
    /// The command has ended, but clients are still connected.
    StillConnected {
        /// The process ids of the clients that are still connected, with the names of their processes.
        clients: Vec<(u32, String)>,
        /// True if no client has a window, so that the recording ends although clients are connected.
        over: bool,
    },
    /// A client connected to the display.
    Connected {
        /// The number of the connection.
        connection: ConnectionId,
        /// The id of the client's process, if the kernel reports it.
        pid: Option<u32>,
        /// The name of the client's process; `None` if unknown.
        name: Option<String>,
    },
    /// A client's connection ended.
    Disconnected {
        /// The number of the connection.
        connection: ConnectionId,
        /// The side that ended the connection: `client`, `server`, `refused` or `error`.
        by: String,
        /// The cause as text; `None` if there is nothing more to report.
        why: Option<String>,
    },
    /// The recording has ended, and debug files are being requested. Downloads may take minutes.
    DebugFiles,
    /// The server of this display has not replied yet.
    Silent(String),
    /// A problem of the recording itself. The recorded program continues.
    Trouble(String),
}
