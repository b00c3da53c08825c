//! The notices of a running recording for its user.

use std::net::SocketAddr;
use std::path::PathBuf;

use x11prof_trace::ConnectionId;

use crate::attach_cost::AttachCost;

/// A notice for the user of a running recording.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Notice {
    /// The display is ready for clients.
    Serving {
        /// The clients' value of DISPLAY.
        display: String,
        /// The clients' value of XAUTHORITY.
        authority: PathBuf,
        /// The TCP addresses of the display, if any.
        tcp: Vec<SocketAddr>,
    },
    /// The recorder has attached to the running clients.
    Attached {
        /// The display.
        display: String,
        /// The number of clients.
        clients: u32,
    },
    /// The command has ended, and clients are still connected.
    StillConnected {
        /// The clients' processes with their names.
        clients: Vec<(u32, String)>,
        /// True if no client has a window any more, and the recording ends while they are connected.
        over: bool,
    },
    /// A client connected.
    Connected {
        /// The connection's number.
        connection: ConnectionId,
        /// The client's process, if the kernel reports it.
        pid: Option<u32>,
        /// The process's name.
        name: Option<String>,
    },
    /// A connection ended.
    Disconnected {
        /// The connection's number.
        connection: ConnectionId,
        /// `client`, `server`, `refused` or `error`.
        by: String,
        /// The cause as text, if there is more to report.
        why: Option<String>,
    },
    /// The cost of an attached recorder to the server, once a second.
    Cost(AttachCost),
    /// The recording has ended, and debug files are being requested. Downloads may take minutes.
    DebugFiles,
    /// A problem of the recording itself. The recorded program continues.
    Trouble(String),
}
