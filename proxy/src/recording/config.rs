//! The configuration of a recording, and its outcome.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::File;
use std::path::PathBuf;
use std::process::ExitStatus;
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

/// The display server to record.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Target {
    /// The display that the environment variable DISPLAY names.
    #[default]
    Environment,
    /// The display with this name.
    Display(String),
    /// A private server of this kind, for this recording only.
    Private(ServerKind),
    /// A private server that is started by a shell command such as `build/Xvfb -screen 0 1280x1024x24`.
    Command(String),
}

/// The configuration of a recording: the display or server to record, and the destination of the records.
#[derive(Debug, Clone, Default)]
pub struct RecordConfig {
    /// The trace file. An existing file of this name is renamed to `FILE.old` once a client has sent something. Without
    /// a trace file only `watch` receives the records.
    pub output: Option<PathBuf>,
    /// The display server to record.
    pub target: Target,
    /// The number of the display for clients; any free number if `None`.
    pub listen: Option<u32>,
    /// The host name or address at which the display also listens by TCP, on port 6000 plus the display number; `None`
    /// for no TCP.
    pub tcp: Option<String>,
    /// True to accept also clients of other users, if they have the cookie.
    pub any_user: bool,
    /// The command to record: its program and arguments. If empty, all clients that connect until SIGINT or SIGTERM are
    /// recorded.
    pub command: Vec<OsString>,
    /// The program that the command drives, which the trace names as the recorded command. If empty, the trace names
    /// `command`.
    pub driven: Vec<OsString>,
    /// True to record until all clients have ended. Otherwise the recording ends when the command has ended and no
    /// client has a window.
    pub until_closed: bool,
    /// The options to record the clients that already run, through the server's RECORD extension. `None` serves a
    /// separate display to new clients. With it, the fields that describe the display and the command are ignored.
    pub attach: Option<AttachOptions>,
    /// The longest duration of the recording; `None` for no limit. A command that still runs at the end is terminated.
    pub time: Option<Duration>,
    /// True to keep the bodies of images in the trace.
    pub full: bool,
    /// The maximum number of bytes that may wait for the disk before the relay also waits.
    pub queue_bytes: usize,
    /// The name and version of the recording program, for the trace.
    pub recorder: String,
    /// True to measure the connection to the server first, and to record the result in the trace.
    pub link: bool,
    /// The user's labels of the session, by name, for the trace.
    pub labels: BTreeMap<String, String>,
    /// The network to emulate between the recorder and the server; `None` for none. The server then behaves like a
    /// server on another machine.
    pub network: Option<EmulatedNetwork>,
    /// The changes of requests to try (`record --try`).
    pub rewrites: Vec<Rewrite>,
    /// A second consumer of the records, which receives them before `filter` changes them; `None` for none.
    pub watch: Option<Watch>,
    /// A filter that changes the records before they reach the file; `None` leaves them unchanged.
    pub filter: Option<MakeFilter>,
    /// The key on the server's keyboard with which the user sets a mark in the recording; `None` for no key.
    pub mark_key: Option<Chord>,
    /// A file that receives the command's terminal output instead of the terminal; `None` leaves the output unchanged.
    /// The command's standard input is empty if it would be the terminal.
    pub collect: Option<Arc<File>>,
    /// True to send the command's standard output to standard error, because the caller prints its own result.
    pub prints_result: bool,
    /// The kinds of call stacks to record.
    pub stacks: Vec<Stacks>,
    /// True to record the names of the functions in stacks.
    pub keep_symbols: bool,
}

/// The options of a recording that attaches to running clients.
#[derive(Debug, Clone, Default)]
pub struct AttachOptions {
    /// A flag that ends the recording when it is set to true. The recording also ends at SIGINT and SIGTERM.
    pub stop: Arc<AtomicBool>,
    /// True if `x11prof mark` may find this recording. A recorder without a file accepts no marks.
    pub takes_marks: bool,
}

/// The events of a client at which its stack is recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stacks {
    /// Waits of the client for replies.
    Waits,
    /// Every request of the client. The command preloads a library that records the stacks.
    Requests,
    /// Samples of the client's CPU time, if the kernel permits them.
    Cpu,
}

/// The outcome of a recording.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recorded {
    /// The exit status of the command. `None` without a command, or if the command was still running at the end.
    pub exit_status: Option<ExitStatus>,
    /// The number of records written to the trace.
    pub records: u64,
    /// The number of bytes that were relayed in both directions.
    pub bytes_relayed: u64,
    /// The number of connections that the recorder accepted.
    pub connections: u32,
    /// The length of the trace file in bytes.
    pub trace_bytes: u64,
    /// True if no client sent anything, so that an older file of this name is unchanged.
    pub left_alone: bool,
    /// The changes of requests that were tried, each with the number of requests that it changed.
    pub tried: Vec<(Rewrite, u64)>,
    /// Sentences about the data that is missing from the trace, with the reasons; empty for a complete recording.
    pub trouble: Vec<String>,
}

/// Finds the server to record, or starts it. A private server runs until its value is dropped.
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
