//! Recording clients that already run: the server's RECORD extension tells what they and it say to each
//! other, as an ordinary user and without a restart (docs/FORMAT.md, "Attached").

mod attachment;
mod clients;
mod context;
mod conversation;
mod elements;
mod existing;
mod flush_guard;
mod last_client;
mod others;
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
use x11prof_trace::{Control, Existing, Timestamp};

use crate::clock;
use crate::images::ImageRequests;
use crate::kept_bytes::KeptBytes;
use crate::marks::{MarkKey, Marks};
use crate::notice::Notice;
use crate::private_dir::PrivateDir;
use crate::record::{self, Beginning, Closing, Recorded, Target};
use crate::record_error::RecordError;
use crate::record_filter::MakeFilter;
use crate::scheduling::Scheduling;
use crate::server_info::{self, DisplayError};
use crate::tap::{Tap, tap};
use crate::watch::Watch;
use attachment::{Attachment, Hole};
use clients::{Clients, Recording};
use conversation::Conversation;
use elements::{Category, HEADER};
use reader::Next;
pub use running::running_clients;
pub use watchdog::{WATCHDOG, attach_watchdog};

/// How long it may take to say whose a new client is. What clients say meanwhile waits in memory.
const CLIENT_PATIENCE: Duration = Duration::from_millis(250);
/// How often it is looked whether the recording is to end.
const BEAT: Duration = Duration::from_millis(50);
/// How long the server may be silent before it says that it tells no more.
const END_PATIENCE: Duration = Duration::from_secs(1);
/// How long it may tell what it had not told yet.
const END_LIMIT: Duration = Duration::from_secs(10);
/// Said where it had more to tell than that.
const UNFINISHED: &str = "the server did not tell in time what it still held for the recorder: the last messages are not in the trace";

/// What to attach to, and where what comes goes.
#[derive(Debug, Clone)]
pub struct AttachConfig {
    /// The display server.
    pub target: Target,
    /// The trace file; without one only `watch` has the records.
    pub output: Option<PathBuf>,
    /// How long to record; until SIGINT, SIGTERM or `stop` where `None`.
    pub time: Option<Duration>,
    /// Ends the recording once it is true.
    pub stop: Arc<AtomicBool>,
    /// Keep the bodies of images.
    pub full: bool,
    /// How many bytes may wait: those that were read, and those for the disk.
    pub queue_bytes: usize,
    /// What the user says of this session, such as its version.
    pub labels: BTreeMap<String, String>,
    /// The recording program with its version, for the trace.
    pub recorder: String,
    /// Who else is given the records.
    pub watch: Option<Watch>,
    /// What changes the records before they are written.
    pub filter: Option<MakeFilter>,
    /// `x11prof mark` finds this one. What records nothing takes no marks.
    pub takes_marks: bool,
    /// A key of the server's keyboard that puts a mark into the recording.
    pub mark_key: Option<MarkKey>,
}

/// Records the clients of a display that already run, and those that come, as `config` says. Blocks the
/// calling thread, on which `on` is called as well.
///
/// # Errors
/// Where nothing could be recorded, such as from a server without the RECORD extension. A recording that
/// began and then met with trouble is `Ok`, and says so in [`Recorded::trouble`].
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
        RecordError::Display(DisplayError::Failed {
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
    let mask = attachment.conversation.setup().resource_id_mask;

    let (tap, drain) = tap(config.queue_bytes, config.full);
    let beginning = Beginning {
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
    // From here on the recorder's thread runs, so that the queue must be closed on every way out.
    let closing = Closing(tap.clone());
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
    let scheduling = Scheduling::start(tap.clone());
    if let Some(pid) = server_pid {
        scheduling.watch(pid);
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
    on(Notice::Attached {
        display: display.clone(),
        clients: clients.count,
    });

    let ending = Ending::new(config);
    let mut said_behind = false;
    let ended = loop {
        let behind = attachment.left_out() > 0;
        if behind && !std::mem::replace(&mut said_behind, true) {
            on(Notice::Trouble(fell_behind(attachment.left_out())));
        }
        trouble
            .try_iter()
            .for_each(|what| on(Notice::Trouble(what)));
        let goes_on = match attachment.next(BEAT) {
            Next::Heard(heard) => take(&heard, &mut clients, &mut attachment.conversation),
            Next::Nothing => true,
            Next::End => false,
        };
        if ending.has_come() {
            break None;
        }
        if goes_on {
            continue;
        }
        let Ok((hole, there)) = attachment.again() else {
            break Some(format!("display {display} closed the connection"));
        };
        let (now, why) = (clock::now(), hole.why.to_owned());
        on(Notice::Trouble(hole_in_words(&hole, now)));
        let since_ns = hole.since.as_nanos();
        tap.control(now, Control::Hole { since_ns, why });
        let existing = clients.begin(there, mask);
        marks
            .connection()
            .into_iter()
            .for_each(|one| clients.leave_out(one));
        tell_existing(&mut clients, &tap, existing);
    };
    let unfinished = match ended {
        None => finish(&mut attachment, &mut clients),
        Some(_) => None,
    };
    drop(marks);
    clients.end();
    if let Some(pid) = server_pid {
        scheduling.note_cpu_time(pid);
    }
    scheduling.end();
    // That is the server's doing, and no failure of the recording.
    if attachment.garbled() > 0 {
        let what = lost_by_server(attachment.garbled());
        tap.control(clock::now(), Control::Trouble { what: what.clone() });
        on(Notice::Trouble(what));
    }
    let behind = Some(attachment.left_out()).filter(|bytes| *bytes > 0);
    let loss_summary = [
        ended,
        unfinished,
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

/// Writes down what exists.
fn tell_existing(clients: &mut Clients<'_>, tap: &Tap, existing: Existing) {
    for part in existing.split() {
        tap.control(clock::now(), Control::Existing(part));
    }
    clients.passed(clock::now());
}

/// The hole as the user is told of it.
fn hole_in_words(hole: &Hole, until: Timestamp) -> String {
    format!(
        "{}: {:.1} s of what clients said are not in the recording",
        hole.why,
        until.since(hole.since).as_secs_f64()
    )
}

/// Takes what was read. False where the server says that it tells no more.
fn take(heard: &reader::Heard, clients: &mut Clients<'_>, conversation: &mut Conversation) -> bool {
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

/// Has the server tell no more, and takes what it has told by then. Says what is missing, where the server had more
/// to tell.
fn finish(attachment: &mut Attachment, clients: &mut Clients<'_>) -> Option<String> {
    attachment.disable(END_PATIENCE);
    let until = Instant::now() + END_LIMIT;
    loop {
        if Instant::now() > until {
            // What has been read is still taken.
            attachment.stop();
        }
        match attachment.next(END_PATIENCE) {
            Next::Heard(heard) => {
                if !take(&heard, clients, &mut attachment.conversation) {
                    return None;
                }
            }
            Next::Nothing | Next::End => return Some(UNFINISHED.to_owned()),
        }
    }
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

/// When a recording ends.
struct Ending {
    until: Option<Instant>,
    stop: Arc<AtomicBool>,
    signalled: Arc<AtomicBool>,
}

impl Ending {
    fn new(config: &AttachConfig) -> Ending {
        let signalled = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            // Where that fails, the signal ends the process as always, and the trace is whole
            // up to its last flush.
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
