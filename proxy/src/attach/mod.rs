//! Records clients that already run. The server's RECORD extension reports their messages to an ordinary user and
//! without a restart (docs/FORMAT.md, "Attached").

mod attachment;
mod clients;
mod context;
mod elements;
mod existing;
mod flush_guard;
mod flush_probe;
mod last_client;
mod others;
mod reader;
mod running;
mod server_clock;
mod watchdog;

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use x11prof_trace::{Control, Existing, Timestamp};

use crate::capture::handler_times::HandlerTimes;
use crate::clock;
use crate::display::server_info::{self, DisplayError, DisplayInfo};
use crate::notice::Notice;
use crate::processes::signals::{note_handled_signals, received_signal};
use crate::recorder::images::ImageRequests;
use crate::recorder::kept_bytes::KeptBytes;
use crate::recorder::record_queue::RecordSender;
use crate::recording::config::{self, AttachOptions, RecordConfig, Recorded};
use crate::recording::record_error::RecordError;
use crate::recording::session::{RecordedServer, RecordingSession, SourceOutcome};
use attachment::{Attachment, Hole};
use clients::{Clients, Recording};
use elements::{Category, HEADER};
use flush_probe::FlushProbe;
use reader::ReaderItem;
pub use running::running_clients;
pub use watchdog::{WATCHDOG, attach_watchdog};

/// The time within which the server must report a new client's process. The client's messages wait in memory until
/// then.
const CLIENT_PATIENCE: Duration = Duration::from_millis(250);
/// The interval between two checks for the end of the recording.
const BEAT: Duration = Duration::from_millis(50);
/// The server may be silent for this long before it confirms the end of its reports.
const END_PATIENCE: Duration = Duration::from_secs(1);
/// The server may send the rest of its reports for this long.
const END_LIMIT: Duration = Duration::from_secs(10);
/// Number of consecutive attachments without a report, after which the recorder gives up.
const DEAF: usize = 3;
/// The warning if the server has not confirmed the end of its reports in time.
const UNFINISHED: &str = "the server did not deliver its remaining data in time: the last messages are missing from the trace";

/// Records the present and future clients of a display, and calls `on` for each notice.
pub(crate) fn record(
    config: &RecordConfig,
    options: &AttachOptions,
    mut on: impl FnMut(Notice),
) -> Result<Recorded, RecordError> {
    let (link, _server) = config::target(&config.target)?;
    let display = link.name().to_string();
    if last_client::would_end(link.name()) {
        return Err(RecordError::WouldEnd { display });
    }
    let DisplayInfo {
        server: about,
        extensions,
        link: measured,
    } = server_info::ask_within(&link, config.time, &mut on)?;
    let Some(record) = extensions.iter().find(|one| one.name == context::NAME) else {
        return Err(RecordError::NoRecord { display });
    };
    let record = record.major;
    let failed = |reason: String| {
        RecordError::Display(DisplayError::NotAttached {
            display: display.clone(),
            reason,
        })
    };
    let begun = Attachment::begin(link.clone(), about.pid, &extensions, config.queue_bytes);
    let (mut attachment, there) = begun.map_err(failed)?;
    let mask = attachment.conversation.setup().resource_id_mask;
    let images = ImageRequests::of(&extensions);
    let (tell, trouble) = std::sync::mpsc::channel();
    let tell = move |what| {
        // Nothing receives notices while the recording is being closed.
        let _ = tell.send(what);
    };
    let names = options.takes_marks.then(|| link.name());
    let server = RecordedServer {
        link: &link,
        timer: about.pid.and_then(HandlerTimes::of_server),
        about,
        extensions,
    };
    let mut first = vec![Control::Attached {}];
    first.extend(measured.map(Control::Link));
    let mut session =
        RecordingSession::start(config, server, names.as_slice(), first, tell, &mut on)?;
    let (sender, scheduling) = (session.sender.clone(), Arc::clone(&session.scheduling));
    let (kept, processes) = (
        RefCell::new(KeptBytes::default()),
        Arc::clone(&session.clients),
    );
    let recording = Recording {
        sender: &sender,
        kept: &kept,
        processes: &processes,
        images,
        scheduling: &scheduling,
        record,
    };
    let mut clients = Clients::new(recording);
    let existing = clients.begin(there, mask);
    session
        .mark_connection()
        .into_iter()
        .for_each(|one| clients.leave_out(one));
    write_existing(&mut clients, &sender, existing);
    // The caller may end the recording at this notice.
    let ending = Ending::new(config, options);
    on(Notice::Attached {
        display: display.clone(),
        clients: clients.count,
    });

    let mut probe = FlushProbe::new();
    note_complete_until(&sender, clock::now());
    let mut said_behind = false;
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
                probe.heard();
                let goes_on = take(&heard, &mut clients, &mut attachment, &mut on);
                // A grabbed server does not reply. The recorder then tries again at the next report.
                if clients.recorder_came
                    && let Ok(others) = attachment.exclude_recorders(CLIENT_PATIENCE)
                {
                    clients.exclude(others);
                    clients.recorder_came = false;
                }
                goes_on
            }
            ReaderItem::Nothing => {
                if let Some(until) = probe.quiet(&mut attachment.conversation) {
                    note_complete_until(&sender, until);
                }
                true
            }
            ReaderItem::End => false,
        };
        if ending.has_come() {
            break None;
        }
        if goes_on {
            continue;
        }
        deaf += 1;
        if deaf > DEAF {
            break Some(format!(
                "nothing that display {display} reported could be read"
            ));
        }
        let (hole, there) = match attachment.again() {
            Ok(again) => again,
            Err(why) => break Some(format!("display {display} closed the connection ({why})")),
        };
        on(Notice::Trouble(note_hole(&sender, &hole, clock::now())));
        let existing = clients.begin(there, mask);
        session
            .mark_connection()
            .into_iter()
            .for_each(|one| clients.leave_out(one));
        write_existing(&mut clients, &sender, existing);
    };
    let unfinished = match ended {
        None => finish(&mut attachment, &mut clients, &mut on),
        Some(_) => None,
    };
    clients.end();
    session.end_capture(&mut on);
    let garbled = Some(attachment.unmarked()).filter(|bytes| *bytes > 0);
    let behind = Some(attachment.left_out()).filter(|bytes| *bytes > 0);
    let trouble = [
        ended,
        unfinished,
        garbled.map(lost_by_server),
        behind.map(fell_behind),
    ];
    let outcome = SourceOutcome {
        bytes: clients.bytes,
        connections: clients.count,
        trouble: trouble.into_iter().flatten().collect(),
        ..SourceOutcome::default()
    };
    drop(clients);
    Ok(session.finish(outcome, &mut on))
}

/// Writes the existing resources to the trace.
fn write_existing(clients: &mut Clients<'_>, sender: &RecordSender, existing: Existing) {
    for part in existing.split() {
        sender.control(clock::now(), Control::Existing(part));
    }
    clients.passed(clock::now());
}

/// Writes a record to the trace: the server has reported all messages up to `until`.
fn note_complete_until(sender: &RecordSender, until: Timestamp) {
    let until_ns = until.as_nanos();
    sender.control(clock::now(), Control::Told { until_ns });
}

/// Writes a `hole` record: messages between the hole's start and `until` may be missing. Returns a sentence for the user.
fn note_hole(sender: &RecordSender, hole: &Hole, until: Timestamp) -> String {
    let (since_ns, why) = (hole.since.as_nanos(), hole.why.to_owned());
    sender.control(until, Control::Hole { since_ns, why });
    format!(
        "{}: the messages of {:.1} s are missing from the trace",
        hole.why,
        until.since(hole.since).as_secs_f64()
    )
}

/// Records the reports that were read. Returns false if the server confirms the end of its reports.
fn take(
    heard: &reader::Heard,
    clients: &mut Clients<'_>,
    attachment: &mut Attachment,
    on: &mut impl FnMut(Notice),
) -> bool {
    if let Some(garbled) = heard.garbled {
        let hole = attachment.garbled(garbled);
        on(Notice::Trouble(note_hole(
            clients.sender(),
            &hole,
            heard.time,
        )));
    }
    let display = attachment.link.name();
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
        clients.reported(heard.time, &head, data, |client| {
            conversation.set_patience(CLIENT_PATIENCE);
            // A grabbed server replies to no other client.
            let pid = existing::process(conversation, client).ok().flatten()?;
            let mut found = [existing::FoundClient {
                first: client,
                pid: Some(pid),
            }];
            existing::own_processes(display, &mut found);
            found[0].pid
        });
    }
    true
}

/// Disables the context, and records the reports that the server still sends. Returns a sentence if the server had more
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
            // Replies that the reader has already read are still recorded.
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

fn lost_by_server(bytes: u64) -> String {
    format!(
        "the server's RECORD extension lost a part of a report, and the recorder dropped {:.1} kB after it: some messages are missing from the trace",
        bytes as f64 / 1e3
    )
}

fn fell_behind(bytes: u64) -> String {
    format!(
        "the recorder fell behind: {:.1} MB of messages are missing from the trace",
        bytes as f64 / 1e6
    )
}

/// The conditions that end a recording.
struct Ending {
    until: Option<Instant>,
    stop: Arc<AtomicBool>,
}

impl Ending {
    fn new(config: &RecordConfig, options: &AttachOptions) -> Ending {
        note_handled_signals();
        Ending {
            until: config.time.map(|time| Instant::now() + time),
            stop: Arc::clone(&options.stop),
        }
    }

    fn has_come(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
            || received_signal().is_some()
            || self.until.is_some_and(|until| Instant::now() >= until)
    }
}
