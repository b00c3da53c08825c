//! A recording from its beginning to its end.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use tokio::sync::mpsc;
use tokio::task::LocalSet;
use x11prof_trace::{Control, EmulatedNetwork, Started};

use crate::authority::{self, Cookie};
use crate::buffer::LargeBuffers;
use crate::client::Display;
use crate::command::CommandLine;
use crate::connections::Connections;
use crate::display_name::DisplayName;
use crate::images::ImageRequests;
use crate::listener::{self, Claimed};
use crate::marks::{MarkKey, Marks};
use crate::notice::Notice;
use crate::private_dir::PrivateDir;
use crate::private_server::PrivateServer;
use crate::record_error::RecordError;
use crate::record_filter::MakeFilter;
use crate::recorder::Recorder;
use crate::rewrites::{Opcodes, Rewrite, TriedRewrites};
use crate::scheduling::Scheduling;
use crate::serve::{self, ServeOutcome};
use crate::server_info;
use crate::server_kind::ServerKind;
use crate::server_link::ServerLink;
use crate::slow_link::Lines;
use crate::tap::{Tap, tap};
use crate::trace_file::TraceFile;
use crate::watch::Watch;
use crate::{clock, link, process_info};

/// The display server that is recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// The one that DISPLAY names.
    Environment,
    /// The one of this display name.
    Display(String),
    /// One of our own, for this recording.
    Private(ServerKind),
}

/// What to record, and where to.
#[derive(Debug, Clone)]
pub struct RecordConfig {
    /// The trace file. What is there is kept as `FILE.old` once a client has said something. Without one
    /// only `watch` has the records.
    pub output: Option<PathBuf>,
    /// The display server.
    pub target: Target,
    /// The display number to serve; any free one where `None`.
    pub listen: Option<u32>,
    /// The host name or address to listen at by TCP as well, on port 6000 and the display number.
    pub tcp: Option<String>,
    /// Take the clients of other users as well, where they have the cookie.
    pub any_user: bool,
    /// The command to record, its program first; where empty, whoever connects is recorded
    /// until SIGINT or SIGTERM.
    pub command: Vec<OsString>,
    /// How long to record; the command that still runs then is ended.
    pub time: Option<Duration>,
    /// Keep the bodies of images.
    pub full: bool,
    /// How many bytes may wait for the disk before the relay waits too.
    pub queue_bytes: usize,
    /// The recording program with its version, for the trace.
    pub recorder: String,
    /// Measure the connection to the server first, and keep that in the trace.
    pub link: bool,
    /// What the user says of the session, for the trace.
    pub labels: BTreeMap<String, String>,
    /// A network to put between the recorder and the server, which is then as one of another machine.
    pub network: Option<EmulatedNetwork>,
    /// Changes to be tried: what they do to the protocol.
    pub rewrites: Vec<Rewrite>,
    /// Who else is given the records, as they are before `filter`.
    pub watch: Option<Watch>,
    /// What changes the records before they reach the file.
    pub filter: Option<MakeFilter>,
    /// A key of the server's keyboard that puts a mark into the recording.
    pub mark_key: Option<MarkKey>,
    /// Takes what the command writes to a terminal, which the recorder has for itself then; the command's standard
    /// input is empty where it would be the terminal.
    pub collect: Option<Arc<File>>,
}

/// What was recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recorded {
    /// The command's exit status (128 and the signal where it was killed); `None` without a
    /// command, and where it was still running at the end.
    pub exit_status: Option<i32>,
    /// Records written to the trace.
    pub records: u64,
    /// Bytes relayed, both ways.
    pub bytes_relayed: u64,
    /// Connections accepted.
    pub connections: u32,
    /// Bytes of the trace file.
    pub trace_bytes: u64,
    /// No client said anything, so that the file that was there before was left as it is.
    pub left_alone: bool,
    /// What was tried, and how many requests it changed.
    pub tried: Vec<(Rewrite, u64)>,
    /// What is missing from the trace and why; empty for a good recording.
    pub trouble: Vec<String>,
}

/// Records as `config` says, and returns when the recording has ended: with a command, when it
/// and its connections have ended, else by SIGINT or SIGTERM. Blocks the calling thread, on
/// which `on` is called as well.
///
/// # Errors
/// Where nothing could be recorded. A recording that began and then met with trouble is `Ok`,
/// and says so in [`Recorded::trouble`].
pub fn record(config: &RecordConfig, mut on: impl FnMut(Notice)) -> Result<Recorded, RecordError> {
    let system = |what| move |source| RecordError::System { what, source };
    // It lives until the end of the recording.
    let (link, _server) = target(&config.target)?;
    let (mut about, extensions) = server_info::ask(&link)?;
    if config.rewrites.contains(&Rewrite::CurrentResources)
        && !server_info::has_current_resources(&link, &extensions)?
    {
        let display = link.name().to_string();
        return Err(RecordError::NoFix { display });
    }
    let measured = config.link.then(|| link::measure(&link)).transpose()?;
    let claimed = listener::claim(config.listen, config.tcp.as_deref())?;
    let dir = PrivateDir::new().map_err(system("a directory for the authority file"))?;
    let cookie = Cookie::random().map_err(system("a random cookie"))?;
    let authority = dir.path().join("Xauthority");
    authority::write(&authority, Some(claimed.number()), &cookie)
        .map_err(system("an authority file"))?;

    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(system("an event loop"))?;
    let (notices, heard) = mpsc::unbounded_channel();
    let (tap, drain) = tap(config.queue_bytes, config.full);
    let beginning = Beginning {
        output: config.output.as_deref(),
        recorder: &config.recorder,
        command: &config.command,
        full: config.full,
        watch: config.watch.clone(),
        filter: config.filter,
    };
    let told = notices.clone();
    let recorder = begin(&beginning, drain, move |what| {
        // Nobody listens any more while the recording is being closed.
        let _ = told.send(Notice::Trouble(what));
    })?;
    // From here on the recorder's thread runs, so that the queue must be closed on every way out.
    let closing = Closing(tap.clone());
    let marks = Marks::start(
        dir.path(),
        &[&DisplayName::local(claimed.number()), link.name()],
        config.mark_key.as_ref().map(|key| (key, &link)),
        &tap,
    );
    let marks = match marks {
        Ok(marks) => marks,
        Err(reason) => {
            drop(closing);
            recorder.join(|| false);
            let display = link.name().to_string();
            return Err(RecordError::MarkKey { display, reason });
        }
    };
    if let Some(what) = &marks.trouble {
        on(Notice::Trouble(what.clone()));
    }
    // Over a network there is no telling when the server ran for whom.
    about.pid = about.pid.filter(|_| config.network.is_none());
    let server_pid = about.pid;
    tap.control(clock::now(), Control::Server(about));
    if let Some(network) = config.network {
        tap.control(clock::now(), Control::Network(network));
    }
    if !config.labels.is_empty() {
        let labels = config.labels.clone();
        tap.control(clock::now(), Control::Labels { labels });
    }
    let images = ImageRequests::of(&extensions);
    if let Some(measured) = measured {
        tap.control(clock::now(), Control::Link(measured));
    }
    let tried = TriedRewrites::new(&config.rewrites, Opcodes::of(&extensions));
    note_tried(&tap, &tried, |_| None);
    tap.control(clock::now(), Control::Extensions { extensions });

    let display = Arc::new(Display {
        link,
        cookie,
        any_user: config.any_user,
        turned_away: AtomicBool::new(false),
        disk: recorder.disk(),
        tap: tap.clone(),
        scheduling: Scheduling::start(tap.clone()),
        buffers: LargeBuffers::default(),
        kept: Mutex::default(),
        images,
        lines: config.network.map(Lines::new),
        tried,
        notices,
        connections: Connections::default(),
    });
    if let Some(pid) = server_pid {
        display.scheduling.watch(pid);
    }
    let name = served_name(&claimed, display.link.name());
    let command = CommandLine {
        time: config.time,
        words: &config.command,
        collect: config.collect.as_deref(),
    };
    let listening = LocalSet::new();
    let served = listening.block_on(
        &runtime,
        serve::serve(
            &display, &claimed, &command, &name, &authority, heard, &mut on,
        ),
    );
    // Nobody is accepted any more.
    drop(listening);
    drop(marks);
    display.end();
    if let Some(pid) = server_pid {
        display.scheduling.note_cpu_time(pid);
    }
    let accepted = display.connections.accepted();
    let relayed = display.connections.bytes.load(Ordering::Relaxed);
    // It has more to say until then.
    display.scheduling.end();
    let ServeOutcome { exit_status } = match served {
        Ok(served) => served,
        Err(error) => {
            drop(closing);
            recorder.join(|| false);
            return Err(error);
        }
    };
    let loss_summary = tap.loss_summary();
    if let Some(what) = loss_summary.clone() {
        on(Notice::Trouble(what.clone()));
        tap.control(clock::now(), Control::Trouble { what });
    }
    note_tried(&tap, &display.tried, Some);
    let tried = display.tried.counts();
    tap.control(clock::now(), Control::Ended { exit_status });
    drop(closing);
    let impatient = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        // Where that fails, only a disk that hangs is not waited for.
        let _ = signal_hook::flag::register(signal, Arc::clone(&impatient));
    }
    let written = recorder.join(|| impatient.load(Ordering::Relaxed));
    Ok(Recorded {
        exit_status,
        records: written.records,
        bytes_relayed: relayed,
        connections: accepted,
        trace_bytes: written.file.len,
        left_alone: written.file.left_alone,
        tried,
        trouble: [written.trouble, loss_summary, written.file.trouble]
            .into_iter()
            .flatten()
            .collect(),
    })
}

/// Notes in the trace what is tried, with how many requests it changed where that is known.
fn note_tried(tap: &Tap, tried: &TriedRewrites, requests: impl Fn(u64) -> Option<u64>) {
    for (rewrite, count) in tried.counts() {
        let tried = Control::Tried {
            fix: rewrite.name().to_owned(),
            requests: requests(count),
        };
        tap.control(clock::now(), tried);
    }
}

/// Closes the queue on drop, without which the recorder's thread would wait for ever.
pub(crate) struct Closing(pub(crate) Tap);

impl Drop for Closing {
    fn drop(&mut self) {
        self.0.close();
    }
}

pub(crate) fn target(target: &Target) -> Result<(ServerLink, Option<PrivateServer>), RecordError> {
    let name = match target {
        Target::Private(kind) => {
            let server = PrivateServer::start(*kind)?;
            let authority = Some(server.authority_file().to_owned());
            let link = ServerLink::new(server.display().clone(), authority);
            return Ok((link, Some(server)));
        }
        Target::Display(name) => name.clone(),
        Target::Environment => std::env::var("DISPLAY")
            .ok()
            .filter(|name| !name.is_empty())
            .ok_or(RecordError::NoDisplay)?,
    };
    Ok((ServerLink::new(DisplayName::parse(&name)?, None), None))
}

/// What a recorder is to begin with.
pub(crate) struct Beginning<'a> {
    /// The trace file; without one only the watch has the records.
    pub(crate) output: Option<&'a Path>,
    pub(crate) recorder: &'a str,
    pub(crate) command: &'a [OsString],
    pub(crate) full: bool,
    pub(crate) watch: Option<Watch>,
    pub(crate) filter: Option<MakeFilter>,
}

/// Opens the trace and starts its thread.
pub(crate) fn begin(
    beginning: &Beginning<'_>,
    drain: crate::tap::Drain,
    tell: impl Fn(String) + Send + 'static,
) -> Result<Recorder, RecordError> {
    let path = beginning.output.map_or_else(PathBuf::new, Path::to_owned);
    let file = beginning.output.map(TraceFile::open).transpose();
    let file = file.map_err(|source| RecordError::Output {
        path: path.clone(),
        source,
    })?;
    let started = Started {
        format: x11prof_trace::FORMAT,
        recorder: beginning.recorder.to_owned(),
        wall_clock_ns: clock::wall_clock_ns(),
        command: beginning
            .command
            .iter()
            .map(|word| word.to_string_lossy().into_owned())
            .collect(),
        cpu_model: process_info::cpu_model(),
        cpus: process_info::cpus(),
        kernel: process_info::kernel(),
        full: beginning.full,
    };
    let watch = beginning.watch.clone();
    let filter = beginning.filter.map(|make| make());
    Recorder::start(file, path.clone(), started, drain, watch, filter, tell)
        .map_err(|source| RecordError::Trace { path, source })
}

/// The display's name for clients, with the screen that the real one's name has.
fn served_name(claimed: &Claimed, real: &DisplayName) -> String {
    match real.screen() {
        0 => format!(":{}", claimed.number()),
        screen => format!(":{}.{screen}", claimed.number()),
    }
}
