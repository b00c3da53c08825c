//! The configuration of a recording, and its outcome.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::File;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use x11prof_protocol::Chord;
use x11prof_trace::EmulatedNetwork;

use crate::display::display_name::DisplayName;
use crate::display::server_link::ServerLink;
use crate::recorder::record_filter::MakeFilter;
use crate::recorder::watch::Watch;
use crate::recording::record_error::RecordError;
use crate::relay::rewrites::Rewrite;
use crate::servers::private_server::PrivateServer;
use crate::servers::server_kind::ServerKind;

/// The display server that is recorded.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Target {
    /// The display that DISPLAY names.
    #[default]
    Environment,
    /// The display with this name.
    Display(String),
    /// A private server, for this recording.
    Private(ServerKind),
    /// A private server, started by a shell command such as `build/Xvfb -screen 0 1280x1024x24`.
    Command(String),
}

/// The display or server to record, and the destination of the records.
#[derive(Debug, Clone, Default)]
pub struct RecordConfig {
    /// The trace file. An existing file of this name is renamed to `FILE.old` once a client has sent something. Without
    /// a trace file only `watch` receives the records.
    pub output: Option<PathBuf>,
    /// The display server.
    pub target: Target,
    /// The display number to serve; any free number if `None`.
    pub listen: Option<u32>,
    /// The host name or address at which to also listen by TCP, on port 6000 plus the display number.
    pub tcp: Option<String>,
    /// Also accept clients of other users, if they have the cookie.
    pub any_user: bool,
    /// The command to record, with its program first. If empty, all clients that connect until SIGINT or SIGTERM are
    /// recorded.
    pub command: Vec<OsString>,
    /// The program that the command drives, which the trace names as the recorded command. If empty, the trace names
    /// `command`.
    pub driven: Vec<OsString>,
    /// Record until all clients have ended. Otherwise the recording ends when the command has ended and no client has a
    /// window.
    pub until_closed: bool,
    /// Record the clients that already run, through the server's RECORD extension. `None` serves a separate display to
    /// new clients. With it, the fields that describe the display and the command are ignored.
    pub attach: Option<AttachOptions>,
    /// The duration of the recording. A command that still runs at the end is terminated.
    pub time: Option<Duration>,
    /// Keep the bodies of images.
    pub full: bool,
    /// The maximum number of bytes that may wait for the disk before the relay also waits.
    pub queue_bytes: usize,
    /// The recording program with its version, for the trace.
    pub recorder: String,
    /// Measure the connection to the server first, and record the result in the trace.
    pub link: bool,
    /// The user's labels of the session, for the trace.
    pub labels: BTreeMap<String, String>,
    /// A network to emulate between the recorder and the server, so that the server behaves like one on another
    /// machine.
    pub network: Option<EmulatedNetwork>,
    /// The rewrites to try on the protocol.
    pub rewrites: Vec<Rewrite>,
    /// A second consumer of the records, upstream of `filter`.
    pub watch: Option<Watch>,
    /// A filter that changes the records before they reach the file.
    pub filter: Option<MakeFilter>,
    /// A key on the server's keyboard that sets a mark in the recording.
    pub mark_key: Option<Chord>,
    /// A file that receives the command's terminal output. The output then goes only to the recorder. The command's
    /// standard input is empty if it would be the terminal.
    pub collect: Option<Arc<File>>,
    /// The stacks to record.
    pub stacks: Vec<Stacks>,
    /// Record the names of the functions in stacks.
    pub keep_symbols: bool,
}

/// The options of a recording that attaches to running clients.
#[derive(Debug, Clone, Default)]
pub struct AttachOptions {
    /// The recording ends when `stop` is true. It also ends at SIGINT and SIGTERM.
    pub stop: Arc<AtomicBool>,
    /// True if `x11prof mark` may find this recording. A recorder without a file takes no marks.
    pub takes_marks: bool,
    /// The recording ends when the server spends more than this percentage of a processor on reports.
    pub max_overhead: Option<f64>,
}

/// The events of a client at which its stack is recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stacks {
    /// Waits for replies.
    Waits,
    /// Every request. The command preloads a library for this.
    Requests,
    /// CPU samples, if the kernel permits them.
    Cpu,
}

/// The outcome of a recording.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recorded {
    /// The command's exit status (128 plus the signal if a signal killed it). `None` without a command, or if the
    /// command was still running at the end.
    pub exit_status: Option<i32>,
    /// The number of records written to the trace.
    pub records: u64,
    /// The number of bytes relayed in both directions.
    pub bytes_relayed: u64,
    /// The number of connections accepted.
    pub connections: u32,
    /// The length of the trace file in bytes.
    pub trace_bytes: u64,
    /// True if no client sent anything. An older file of this name is then unchanged.
    pub left_alone: bool,
    /// The rewrites that were tried, each with the number of requests that it changed.
    pub tried: Vec<(Rewrite, u64)>,
    /// The data that is missing from the trace, with the reasons; empty for a complete recording.
    pub trouble: Vec<String>,
}

/// Finds or starts the server to record. A private server runs until its value is dropped.
pub(crate) fn target(target: &Target) -> Result<(ServerLink, Option<PrivateServer>), RecordError> {
    let name = match target {
        Target::Private(kind) => {
            return Ok(own(PrivateServer::start_timed(*kind)?));
        }
        Target::Command(line) => return Ok(own(PrivateServer::start_command(line)?)),
        Target::Display(name) => name.clone(),
        Target::Environment => std::env::var("DISPLAY")
            .ok()
            .filter(|name| !name.is_empty())
            .ok_or(RecordError::NoDisplay)?,
    };
    Ok((ServerLink::new(DisplayName::parse(&name)?, None), None))
}

fn own(server: PrivateServer) -> (ServerLink, Option<PrivateServer>) {
    let authority = Some(server.authority_file().to_owned());
    let link = ServerLink::new(server.display().clone(), authority);
    (link, Some(server))
}
