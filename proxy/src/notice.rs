//! The messages of a running recording to its user.

use std::net::SocketAddr;
use std::path::PathBuf;

use x11prof_trace::ConnectionId;

use crate::attach_cost::AttachCost;

/// Something that the user of a running recording may want to know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Notice {
    /// Clients are served from now on.
    Serving {
        /// The clients' value of DISPLAY.
        display: String,
        /// The clients' value of XAUTHORITY.
        authority: PathBuf,
        /// The TCP addresses of the display, if any.
        tcp: Vec<SocketAddr>,
    },
    /// The clients that already run are recorded from now on.
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
        /// True if no client has a window any more, and the recording ends without them.
        over: bool,
    },
    /// A client connected.
    Connected {
        /// The connection's number.
        connection: ConnectionId,
        /// The client's process, where the kernel reports.
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
        /// The cause as text where there is more to say.
        why: Option<String>,
    },
    /// The cost of an attached recorder to the server, once a second.
    Cost(AttachCost),
    /// The recording is over, and debug files are requested, which may be loaded for minutes.
    DebugFiles,
    /// Something went wrong with the recording itself; the program being recorded continues.
    Trouble(String),
}
