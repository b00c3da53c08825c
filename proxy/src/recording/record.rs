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
use x11prof_protocol::Chord;
use x11prof_trace::{Control, EmulatedNetwork, Started};

use crate::capture::handler_times::HandlerTimes;
use crate::capture::request_stacks::{self, RequestStacks};
use crate::capture::scheduling::Scheduling;
use crate::capture::stack_numbers::StackNumbers;
use crate::capture::stack_unwinding::StackUnwinding;
use crate::clock;
use crate::display::authority::{self, Cookie};
use crate::display::display_name::DisplayName;
use crate::display::link;
use crate::display::listener::{self, Claimed};
use crate::display::server_info;
use crate::display::server_link::ServerLink;
use crate::marks::Marks;
use crate::notice::Notice;
use crate::private_dir::PrivateDir;
use crate::processes::command::CommandLine;
use crate::processes::process_info;
use crate::recorder::Recorder;
use crate::recorder::images::ImageRequests;
use crate::recorder::record_filter::MakeFilter;
use crate::recorder::tap::{Tap, tap};
use crate::recorder::trace_file::TraceFile;
use crate::recorder::watch::Watch;
use crate::recording::record_error::RecordError;
use crate::recording::serve::{self, ServeOutcome};
use crate::relay::client::Display;
use crate::relay::connections::Connections;
use crate::relay::rewrites::{Opcodes, Rewrite, TriedRewrites};
use crate::relay::slow_link::Lines;
use crate::servers::private_server::PrivateServer;
use crate::servers::server_kind::ServerKind;
use crate::sockets::buffer::LargeBuffers;

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
    /// A private server, by a shell's command such as `build/Xvfb -screen 0 1280x1024x24`.
    Command(String),
}

/// The display or server to record, and the destination of the records.
#[derive(Debug, Clone, Default)]
pub struct RecordConfig {
    /// The trace file. A file of this name becomes `FILE.old` once a client has sent something. Without a trace file
    /// only `watch` gets the records.
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
    /// The duration of the recording. A command that still runs then is ended.
    pub time: Option<Duration>,
    /// Keep the bodies of images.
    pub full: bool,
    /// The most bytes that may wait for the disk before the relay waits too.
    pub queue_bytes: usize,
    /// The recording program with its version, for the trace.
    pub recorder: String,
    /// Measure the connection to the server first, and keep that in the trace.
    pub link: bool,
    /// The user's labels of the session, for the trace.
    pub labels: BTreeMap<String, String>,
    /// A network to put between the recorder and the server, which is then as one of another machine.
    pub network: Option<EmulatedNetwork>,
    /// The rewrites to try on the protocol.
    pub rewrites: Vec<Rewrite>,
    /// A second consumer of the records, before `filter`.
    pub watch: Option<Watch>,
    /// A filter that changes the records before they reach the file.
    pub filter: Option<MakeFilter>,
    /// A key of the server's keyboard that puts a mark into the recording.
    pub mark_key: Option<Chord>,
    /// A copy of the command's terminal output, which then goes to the recorder alone. The command's standard input is
    /// empty if it would be the terminal.
    pub collect: Option<Arc<File>>,
    /// The stacks to record.
    pub stacks: Vec<Stacks>,
    /// True if the trace gets the names of the stacks' functions.
    pub keep_symbols: bool,
}

/// Moments of a client at which its stack is recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stacks {
    /// The waits for replies.
    Waits,
    /// Each request. The command loads a library for that.
    Requests,
    /// Samples of where it runs, where the kernel permits them.
    Cpu,
}

/// The outcome of a recording.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recorded {
    /// The command's exit status (128 and the signal if a signal killed it). `None` without a command, and if the
    /// command was still running at the end.
    pub exit_status: Option<i32>,
    /// Records written to the trace.
    pub records: u64,
    /// Bytes relayed, both ways.
    pub bytes_relayed: u64,
    /// Connections accepted.
    pub connections: u32,
    /// Bytes of the trace file.
    pub trace_bytes: u64,
    /// True if no client sent anything. An older file of the name then stays as it was.
    pub left_alone: bool,
    /// The rewrites that were tried, each with the number of requests that it changed.
    pub tried: Vec<(Rewrite, u64)>,
    /// The data missing from the trace, with the reasons; empty for a good recording.
    pub trouble: Vec<String>,
}

/// Records as `config` says, and returns at the end of the recording. With a command, this is the end of the command
/// and of its connections; otherwise SIGINT or SIGTERM. The calling thread blocks, and calls `on`.
///
/// # Errors
/// Fails if nothing could be recorded. A recording that began and then failed is `Ok`; [`Recorded::trouble`] says why.
pub fn record(config: &RecordConfig, mut on: impl FnMut(Notice)) -> Result<Recorded, RecordError> {
    let system = |what| move |source| RecordError::System { what, source };
    // The server lives until the end of the recording.
    let (link, mut server) = target(&config.target)?;
    let (about, extensions) = server_info::ask(&link)?;
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
    let beginning = RecorderConfig {
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
    // The recorder's thread runs from here on, so the queue must be closed on every way out.
    let closing = TapCloser(tap.clone());
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

    let timer = match &mut server {
        Some(server) => server.time_handlers(),
        None => server_pid.and_then(HandlerTimes::of_server),
    };
    let timer = timer.and_then(|timer| told_timer(&tap, server_pid, timer));
    let wants = |of: Stacks| config.stacks.contains(&of);
    let numbers = Arc::new(StackNumbers::new(tap.clone()));
    let unwinding = (wants(Stacks::Waits) || wants(Stacks::Cpu))
        .then(|| StackUnwinding::start(Arc::clone(&numbers), tap.clone()));
    let unwinding = unwinding.transpose().map_err(system("a thread"))?;
    let copies = |of| {
        unwinding
            .as_ref()
            .filter(|_| wants(of))
            .map(|to| to.queue.clone())
    };
    let requests = wants(Stacks::Requests)
        .then(|| RequestStacks::start(dir.path(), Arc::clone(&numbers), tap.clone()));
    let requests = requests
        .transpose()
        .map_err(|why| system("stacks of requests")(std::io::Error::other(why)))?;
    let display = Arc::new(Display {
        link,
        cookie,
        any_user: config.any_user,
        turned_away: AtomicBool::new(false),
        disk: recorder.disk(),
        tap: tap.clone(),
        scheduling: Scheduling::start(tap.clone(), timer, copies(Stacks::Cpu)),
        buffers: LargeBuffers::default(),
        kept: Mutex::default(),
        images,
        lines: config.network.map(Lines::new),
        tried,
        notices,
        connections: Connections::default(),
        wait_stacks: copies(Stacks::Waits),
        no_stacks: AtomicBool::new(false),
    });
    if let Some(pid) = server_pid {
        display.scheduling.watch_server(pid);
    }
    let name = served_name(&claimed, display.link.name());
    let command = CommandLine {
        time: config.time,
        words: &config.command,
        environment: requests.as_ref().map_or(&[], RequestStacks::environment),
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
    // The capture hands over its last records before the queue closes.
    display.scheduling.end();
    if let Some(what) = unwinding.and_then(StackUnwinding::end) {
        on(Notice::Trouble(what));
    }
    let read = requests.map(|requests| request_stacks::tell(requests.end(), accepted));
    if let Some(what) = read.flatten() {
        on(Notice::Trouble(what));
    }
    if config.keep_symbols {
        numbers.keep_symbols(&mut on);
    }
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
        // If this fails, a second signal cannot end the wait for a disk that hangs.
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

/// Notes in the trace whether the server's handlers are timed, and returns the timer where they are.
pub(crate) fn told_timer(
    tap: &Tap,
    server: Option<u32>,
    timer: Result<HandlerTimes, String>,
) -> Option<HandlerTimes> {
    let why = timer.as_ref().err().cloned();
    let pid = server?;
    tap.control(clock::now(), Control::Timing { pid, why });
    timer.ok()
}

/// Notes the rewrites in the trace, each with the number of requests that it changed, if known.
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
pub(crate) struct TapCloser(pub(crate) Tap);

impl Drop for TapCloser {
    fn drop(&mut self) {
        self.0.close();
    }
}

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

/// The options of a recorder, and the parts of its first record.
pub(crate) struct RecorderConfig<'a> {
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
    beginning: &RecorderConfig<'_>,
    drain: crate::recorder::tap::Drain,
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
