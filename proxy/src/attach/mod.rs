//! Records clients that already run. The server's RECORD extension reports their messages to an ordinary user and
//! without a restart (docs/FORMAT.md, "Attached").

mod attachment;
mod clients;
mod context;
mod conversation;
mod cost;
mod elements;
mod existing;
mod flush_guard;
mod last_client;
mod others;
mod poke;
mod reader;
mod running;
mod server_clock;
mod watchdog;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use x11prof_protocol::Chord;
use x11prof_trace::{Control, Existing, Timestamp};

use crate::attach_cost::AttachCost;
use crate::capture::handler_times::HandlerTimes;
use crate::capture::scheduling::Scheduling;
use crate::capture::stack_numbers::StackNumbers;
use crate::capture::stack_unwinding::StackUnwinding;
use crate::clock;
use crate::display::server_info::{self, DisplayError};
use crate::marks::Marks;
use crate::notice::Notice;
use crate::private_dir::PrivateDir;
use crate::recorder::images::ImageRequests;
use crate::recorder::kept_bytes::KeptBytes;
use crate::recorder::record_filter::MakeFilter;
use crate::recorder::tap::{Tap, tap};
use crate::recorder::watch::Watch;
use crate::recording::record::{self, Recorded, RecorderConfig, TapCloser, Target};
use crate::recording::record_error::RecordError;
use attachment::{Attachment, Hole};
use clients::{Clients, Recording};
use cost::CostMeter;
use elements::{Category, HEADER};
use poke::Poke;
use reader::ReaderItem;
pub use running::running_clients;
pub use watchdog::{WATCHDOG, attach_watchdog};

/// The server must name a new client's process within this time. The client's messages wait in memory meanwhile.
const CLIENT_PATIENCE: Duration = Duration::from_millis(250);
/// The interval between two looks whether the recording is to end.
const BEAT: Duration = Duration::from_millis(50);
/// The server may be silent for this long before it confirms the end of its reports.
const END_PATIENCE: Duration = Duration::from_secs(1);
/// The server may send the rest of its reports for this long.
const END_LIMIT: Duration = Duration::from_secs(10);
/// Attachments in a row of which nothing is heard.
const DEAF: usize = 3;
/// The user reads this sentence if the server had more to report.
const UNFINISHED: &str = "the server did not tell in time what it still held for the recorder: the last messages are not in the trace";

/// The server to attach to, and the destination of the records.
#[derive(Debug, Clone, Default)]
pub struct AttachConfig {
    /// The display server.
    pub target: Target,
    /// The trace file; without one only `watch` has the records.
    pub output: Option<PathBuf>,
    /// The duration of the recording. With `None` it lasts until SIGINT, SIGTERM or `stop`.
    pub time: Option<Duration>,
    /// The recording ends once `stop` is true.
    pub stop: Arc<AtomicBool>,
    /// Keep the bodies of images.
    pub full: bool,
    /// The most bytes that may wait, both those read and those for the disk.
    pub queue_bytes: usize,
    /// The user's labels of this session, such as a version.
    pub labels: BTreeMap<String, String>,
    /// The recording program with its version, for the trace.
    pub recorder: String,
    /// A second consumer of the records.
    pub watch: Option<Watch>,
    /// A filter that changes the records before they are written.
    pub filter: Option<MakeFilter>,
    /// True if `x11prof mark` may find this recording. A recorder without a file takes no marks.
    pub takes_marks: bool,
    /// A key of the server's keyboard that puts a mark into the recording.
    pub mark_key: Option<Chord>,
    /// True if the stacks on which clients run are recorded.
    pub run_stacks: bool,
    /// True if the trace gets the names of the stacks' functions.
    pub keep_symbols: bool,
    /// The recording ends once the server spends more than this percentage of a processor on reports.
    pub max_cost: Option<f64>,
}

/// Records the clients of a display, present and future, as `config` says. The calling thread blocks, and calls `on`.
///
/// # Errors
/// Fails if nothing could be recorded, for example if the server has no RECORD extension. A recording that began and
/// then failed is `Ok`; [`Recorded::trouble`] says why.
pub fn attach(config: &AttachConfig, mut on: impl FnMut(Notice)) -> Result<Recorded, RecordError> {
    let (link, _server) = record::target(&config.target)?;
    let display = link.name().to_string();
    if last_client::would_end(link.name()) {
        return Err(RecordError::WouldEnd { display });
    }
    let (about, extensions) = server_info::ask(&link)?;
    if !extensions.iter().any(|one| one.name == context::NAME) {
        return Err(RecordError::NoRecord { display });
    }
    let failed = |reason: String| {
        RecordError::Display(DisplayError::NotAttached {
            display: display.clone(),
            reason,
        })
    };
    let dir = PrivateDir::new().map_err(|source| {
        let what = "a directory for marks";
        RecordError::System { what, source }
    })?;
    let begun = Attachment::begin(link.clone(), about.pid, &extensions, config.queue_bytes);
    let (mut attachment, there) = begun.map_err(failed)?;
    if config.max_cost.is_some() && attachment.prices.is_none() {
        return Err(failed(
            "the server's processor time is not known here, so its cost is not".to_owned(),
        ));
    }
    let mask = attachment.conversation.setup().resource_id_mask;

    let (tap, drain) = tap(config.queue_bytes, config.full);
    let beginning = RecorderConfig {
        output: config.output.as_deref(),
        recorder: &config.recorder,
        command: &[],
        full: config.full,
        watch: config.watch.clone(),
        filter: config.filter,
    };
    let (tell, trouble) = std::sync::mpsc::channel();
    let recorder = record::begin(&beginning, drain, move |what| {
        // Nobody listens any more while the recording is being closed.
        let _ = tell.send(what);
    })?;
    // The recorder's thread runs from here on, so the queue must be closed on every way out.
    let closing = TapCloser(tap.clone());
    let key = config.mark_key.as_ref().map(|key| (key, &link));
    let names = config.takes_marks.then(|| link.name());
    let marks = match Marks::start(dir.path(), names.as_slice(), key, &tap) {
        Ok(marks) => marks,
        Err(reason) => {
            drop(closing);
            recorder.join(|| false);
            return Err(RecordError::MarkKey { display, reason });
        }
    };
    if let Some(what) = &marks.trouble {
        on(Notice::Trouble(what.clone()));
    }
    let server_pid = about.pid;
    tap.control(clock::now(), Control::Server(about));
    tap.control(clock::now(), Control::Attached {});
    if !config.labels.is_empty() {
        let labels = config.labels.clone();
        tap.control(clock::now(), Control::Labels { labels });
    }
    let images = ImageRequests::of(&extensions);
    tap.control(clock::now(), Control::Extensions { extensions });
    let timer = server_pid.and_then(HandlerTimes::of_server);
    let timer = timer.and_then(|timer| record::told_timer(&tap, server_pid, timer));
    let numbers = Arc::new(StackNumbers::new(tap.clone()));
    let unwinding = config
        .run_stacks
        .then(|| StackUnwinding::start(Arc::clone(&numbers), tap.clone()));
    let unwinding = unwinding
        .transpose()
        .map_err(|source| RecordError::System {
            what: "a thread",
            source,
        })?;
    let samples = unwinding.as_ref().map(|unwinding| unwinding.queue.clone());
    let scheduling = Scheduling::start(tap.clone(), timer, samples);
    if let Some(pid) = server_pid {
        scheduling.watch_server(pid);
    }
    let kept = Mutex::new(KeptBytes::default());
    let recording = Recording {
        tap: &tap,
        kept: &kept,
        images,
        scheduling: &scheduling,
    };
    let mut clients = Clients::new(recording);
    let existing = clients.begin(there, mask);
    marks
        .connection()
        .into_iter()
        .for_each(|one| clients.leave_out(one));
    tell_existing(&mut clients, &tap, existing);
    // Who is told may end the recording at once.
    let ending = Ending::new(config);
    on(Notice::Attached {
        display: display.clone(),
        clients: clients.count,
    });

    let mut meter = attachment
        .prices
        .map(|prices| CostMeter::new(prices, clock::now()));
    let mut poke = Poke::new();
    tell_until(&tap, clock::now());
    let mut said_behind = false;
    let mut dear = None;
    let mut deaf = 0;
    let ended = loop {
        let behind = attachment.left_out() > 0;
        if behind && !std::mem::replace(&mut said_behind, true) {
            on(Notice::Trouble(fell_behind(attachment.left_out())));
        }
        trouble
            .try_iter()
            .for_each(|what| on(Notice::Trouble(what)));
        let goes_on = match attachment.next(BEAT) {
            ReaderItem::Heard(heard) => {
                deaf = 0;
                poke.heard();
                take(&heard, &mut clients, &mut attachment, &mut on)
            }
            ReaderItem::Nothing => {
                if let Some(until) = poke.quiet(&mut attachment.conversation) {
                    tell_until(&tap, until);
                }
                true
            }
            ReaderItem::End => false,
        };
        let meter = meter.as_mut();
        if let Some(mut cost) = meter.and_then(|meter| meter.look(clock::now(), clients.reported)) {
            cost.held = attachment.held();
            on(Notice::Cost(cost));
            dear = Some(cost).filter(|cost| cost.is_over(config.max_cost));
        }
        if ending.has_come() || dear.is_some() {
            break None;
        }
        if goes_on {
            continue;
        }
        deaf += 1;
        if deaf > DEAF {
            break Some(format!("display {display} told nothing that could be read"));
        }
        let (hole, there) = match attachment.again() {
            Ok(again) => again,
            Err(why) => break Some(format!("display {display} closed the connection ({why})")),
        };
        on(Notice::Trouble(tell_hole(&tap, &hole, clock::now())));
        let existing = clients.begin(there, mask);
        marks
            .connection()
            .into_iter()
            .for_each(|one| clients.leave_out(one));
        tell_existing(&mut clients, &tap, existing);
    };
    let unfinished = match ended {
        None => finish(&mut attachment, &mut clients, &mut on),
        Some(_) => None,
    };
    drop(marks);
    clients.end();
    if let Some(pid) = server_pid {
        scheduling.note_cpu_time(pid);
    }
    scheduling.end();
    if let Some(what) = unwinding.and_then(StackUnwinding::end) {
        on(Notice::Trouble(what));
    }
    if config.keep_symbols {
        numbers.keep_symbols(&mut on);
    }
    let garbled = Some(attachment.unmarked()).filter(|bytes| *bytes > 0);
    let behind = Some(attachment.left_out()).filter(|bytes| *bytes > 0);
    if let Some(meter) = &mut meter {
        let mut cost = meter.at(clock::now(), clients.reported);
        cost.held = attachment.held();
        on(Notice::Cost(cost));
    }
    let loss_summary = [
        ended,
        dear.map(too_dear),
        unfinished,
        garbled.map(lost_by_server),
        behind.map(fell_behind),
        tap.loss_summary(),
    ];
    let loss_summary: Vec<String> = loss_summary.into_iter().flatten().collect();
    for what in &loss_summary {
        tap.control(clock::now(), Control::Trouble { what: what.clone() });
    }
    tap.control(clock::now(), Control::Ended { exit_status: None });
    drop(closing);
    let written = recorder.join(|| false);
    Ok(Recorded {
        exit_status: None,
        records: written.records,
        bytes_relayed: clients.bytes,
        connections: clients.count,
        trace_bytes: written.file.len,
        left_alone: written.file.left_alone,
        tried: Vec::new(),
        trouble: [written.trouble, written.file.trouble]
            .into_iter()
            .flatten()
            .chain(loss_summary)
            .collect(),
    })
}

/// Writes the existing resources into the trace.
fn tell_existing(clients: &mut Clients<'_>, tap: &Tap, existing: Existing) {
    for part in existing.split() {
        tap.control(clock::now(), Control::Existing(part));
    }
    clients.passed(clock::now());
}

/// The server has told all that clients said until then.
fn tell_until(tap: &Tap, until: Timestamp) {
    let until_ns = until.as_nanos();
    tap.control(clock::now(), Control::Told { until_ns });
}

/// Marks the hole in the recording. Returns a sentence for the user.
fn tell_hole(tap: &Tap, hole: &Hole, until: Timestamp) -> String {
    let (since_ns, why) = (hole.since.as_nanos(), hole.why.to_owned());
    tap.control(until, Control::Hole { since_ns, why });
    format!(
        "{}: {:.1} s of what clients said are not in the recording",
        hole.why,
        until.since(hole.since).as_secs_f64()
    )
}

/// Takes the answers that were read. False if the server confirms the end of its reports.
fn take(
    heard: &reader::Heard,
    clients: &mut Clients<'_>,
    attachment: &mut Attachment,
    on: &mut impl FnMut(Notice),
) -> bool {
    if let Some(garbled) = heard.garbled {
        let hole = attachment.garbled(garbled);
        on(Notice::Trouble(tell_hole(clients.tap(), &hole, heard.time)));
    }
    let conversation = &mut attachment.conversation;
    let mut rest = &heard.answers[..];
    while let Some(len) = elements::length(rest) {
        let (Some(answer), Some(after)) = (rest.get(..len), rest.get(len..)) else {
            break;
        };
        rest = after;
        let Some(head) = elements::head(answer) else {
            continue;
        };
        if head.category == Category::Ends {
            return false;
        }
        let data = answer.get(HEADER..).unwrap_or_default();
        clients.told(heard.time, &head, data, |client| {
            conversation.set_patience(CLIENT_PATIENCE);
            // A server that is grabbed answers nobody else.
            existing::process(conversation, client).ok().flatten()
        });
    }
    true
}

/// Disables the context, and takes the reports that the server still sends. Returns a sentence if the server had more
/// to report.
fn finish(
    attachment: &mut Attachment,
    clients: &mut Clients<'_>,
    on: &mut impl FnMut(Notice),
) -> Option<String> {
    attachment.disable(END_PATIENCE);
    let until = Instant::now() + END_LIMIT;
    loop {
        if Instant::now() > until {
            // The answers that have been read are still taken.
            attachment.stop();
        }
        match attachment.next(END_PATIENCE) {
            ReaderItem::Heard(heard) => {
                if !take(&heard, clients, attachment, on) {
                    return None;
                }
            }
            ReaderItem::Nothing | ReaderItem::End => return Some(UNFINISHED.to_owned()),
        }
    }
}

fn too_dear(cost: AttachCost) -> String {
    format!(
        "the recording was ended by --max-overhead: it cost the server {:.1} % of a processor",
        cost.percent()[1]
    )
}

fn lost_by_server(bytes: u64) -> String {
    format!(
        "the server's RECORD lost a part of what it told, and {:.1} kB after it: some messages are not in the trace",
        bytes as f64 / 1e3
    )
}

fn fell_behind(bytes: u64) -> String {
    format!(
        "the recorder fell behind: {:.1} MB of what clients said are not in the trace",
        bytes as f64 / 1e6
    )
}

/// The end of a recording.
struct Ending {
    until: Option<Instant>,
    stop: Arc<AtomicBool>,
    signalled: Arc<AtomicBool>,
}

impl Ending {
    fn new(config: &AttachConfig) -> Ending {
        let signalled = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            // If this fails, the signal ends the process as usual, and the trace is whole up to its last flush.
            let _ = signal_hook::flag::register(signal, Arc::clone(&signalled));
        }
        Ending {
            until: config.time.map(|time| Instant::now() + time),
            stop: Arc::clone(&config.stop),
            signalled,
        }
    }

    fn has_come(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
            || self.signalled.load(Ordering::Relaxed)
            || self.until.is_some_and(|until| Instant::now() >= until)
    }
}
