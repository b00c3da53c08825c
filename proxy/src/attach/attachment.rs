//! The recorder's connections to the server that it attaches to. If the server stops reporting, the recorder enables
//! RECORD again.

use std::time::Duration;

use x11prof_trace::{Existing, ExtensionOpcodes, Timestamp};

use super::context;
use super::existing::{self, FoundClient};
use super::flush_guard::{self, FlushGuard};
use super::others;
use super::reader::{Garbled, Reader, ReaderItem};
use super::watchdog::{Reason, Watchdog};
use crate::clock;
use crate::display::conversation::Conversation;
use crate::display::server_link::ServerLink;
use crate::sockets::socket::Socket;

/// The time within which the server must reply to all requests at the start of the recording.
const PATIENCE: Duration = Duration::from_secs(20);
/// The minimum interval between two attachments, so that the recorder does not repeatedly request all windows from an
/// overloaded server.
const REST: Duration = Duration::from_secs(1);

/// The recorder's connections to the server that it attaches to.
pub(super) struct Attachment {
    pub(super) link: ServerLink,
    server: Option<u32>,
    queue_bytes: usize,
    pub(super) conversation: Conversation,
    guards: Vec<FlushGuard>,
    /// The first resource id of the connection on which the server reports.
    recording: u32,
    reader: Reader,
    watchdog: Option<Watchdog>,
    since: Timestamp,
    last_heard: Timestamp,
    /// The number of bytes of replies that earlier readers dropped because the recorder fell behind.
    left_out: u64,
    garbled: u64,
    /// The number of garbled bytes for which the trace already contains a `hole` record.
    marked: u64,
}

/// The clients and resources that existed when the server began to report.
pub(super) struct ReportStart {
    /// The first resource ids of the recorder's own connections, which are not recorded.
    pub(super) ours: Vec<u32>,
    /// The first resource ids of the connections of other recorders.
    pub(super) others: Vec<u32>,
    pub(super) found: Vec<FoundClient>,
    pub(super) resources: Existing,
}

/// An interval of the recording in which messages from `since` on may be missing, and the reason.
pub(super) struct Hole {
    pub(super) since: Timestamp,
    pub(super) why: &'static str,
}

impl Attachment {
    /// Connects to the server and enables RECORD. `server` is the server's process id, if known; `queue_bytes` limits
    /// the bytes of reports that wait for the recorder.
    pub(super) fn begin(
        link: ServerLink,
        server: Option<u32>,
        extensions: &[ExtensionOpcodes],
        queue_bytes: usize,
    ) -> Result<(Attachment, ReportStart), String> {
        let begin = || Conversation::begin(&link, PATIENCE, extensions.to_vec());
        let begin_outside_recorders = || -> Result<Conversation, String> {
            let mut conversation = begin()?;
            let ours = conversation.setup().resource_id_base;
            others::leave(&mut conversation, ours, &[ours])?;
            Ok(conversation)
        };
        let mut conversation = begin_outside_recorders()?;
        let guards = match flush_guard::stand(begin, &mut conversation) {
            Ok(guards) => guards,
            // A single-threaded relay blocks until the guard reads. The recorder then continues without guards.
            Err(_) => {
                conversation = begin_outside_recorders()?;
                Vec::new()
            }
        };
        let ours = ours(&conversation, &guards);
        let context = conversation.setup().resource_id_base;
        let (socket, apart) = context::enable(&mut conversation, &link, context, &ours)?;
        // The server reports from here on. Resources are requested afterwards, so that none is missed.
        let (reader, watchdog) = listen(socket, queue_bytes, server)?;
        let now = clock::now();
        let mut attachment = Attachment {
            link,
            server,
            queue_bytes,
            conversation,
            guards,
            recording: apart.last().copied().unwrap_or_default(),
            reader,
            watchdog,
            since: now,
            last_heard: now,
            left_out: 0,
            garbled: 0,
            marked: 0,
        };
        let beginning = attachment.look(ours, apart)?;
        Ok((attachment, beginning))
    }

    /// Enables RECORD again after the server has stopped reporting. Returns the interval in which messages may be
    /// missing, and the clients and resources that exist now.
    pub(super) fn again(&mut self) -> Result<(Hole, ReportStart), String> {
        let verdict = self.watchdog.as_mut().and_then(Watchdog::verdict);
        let otherwise = match self.reader.gave_up() {
            true => "no report of the server's RECORD extension could be read",
            false => "another client ended RECORD's context",
        };
        let hole = Hole {
            since: verdict.map_or(self.last_heard, |(since, _)| since),
            why: verdict.map_or(otherwise, |(_, why)| Reason::text(why)),
        };
        std::thread::sleep(REST.saturating_sub(clock::now().since(self.since)));
        self.left_out += self.reader.left_out();
        self.garbled += self.reader.garbled();
        // These bytes lie in the hole.
        self.marked = self.garbled;
        self.conversation.set_patience(PATIENCE);
        let context = self.conversation.setup().resource_id_base;
        let ours = ours(&self.conversation, &self.guards);
        // Another client may have ended the context.
        context::disable(&mut self.conversation, context)?;
        self.conversation.settle()?;
        let enabled = context::enable(&mut self.conversation, &self.link, context, &ours);
        let (socket, apart) = enabled?;
        self.recording = apart.last().copied().unwrap_or_default();
        (self.reader, self.watchdog) = listen(socket, self.queue_bytes, self.server)?;
        self.since = clock::now();
        let beginning = self.look(ours, apart)?;
        Ok((hole, beginning))
    }

    fn look(&mut self, ours: Vec<u32>, apart: Vec<u32>) -> Result<ReportStart, String> {
        let mut found = existing::clients(&mut self.conversation)?;
        let resources = existing::resources(&mut self.conversation, &found)?;
        existing::own_processes(self.link.name(), &mut found);
        let is_other = |client: &u32| !ours.contains(client);
        let others = apart.into_iter().filter(is_other).collect();
        Ok(ReportStart {
            ours,
            others,
            found,
            resources,
        })
    }

    /// Removes the connections of other recorders from this recorder's context, and this recorder's connections from
    /// other contexts. Returns the first resource ids of the other recorders' connections that were removed.
    pub(super) fn exclude_recorders(&mut self, patience: Duration) -> Result<Vec<u32>, String> {
        self.conversation.set_patience(patience);
        let context = self.conversation.setup().resource_id_base;
        let ours = ours(&self.conversation, &self.guards);
        let apart =
            others::exclude_recorders(&mut self.conversation, context, &ours, self.recording)?;
        let is_other = |client: &u32| !ours.contains(client) && *client != self.recording;
        Ok(apart.into_iter().filter(is_other).collect())
    }

    /// Returns the next reports, and waits at most `patience` for them.
    pub(super) fn next(&mut self, patience: Duration) -> ReaderItem {
        let next = self.reader.next(patience);
        if let ReaderItem::Heard(heard) = &next {
            self.last_heard = heard.time;
        }
        next
    }

    /// Disables RECORD, and waits at most `patience` for the server's confirmation. Reports that the server has already
    /// sent remain readable.
    pub(super) fn disable(&mut self, patience: Duration) {
        self.conversation.set_patience(patience);
        let context = self.conversation.setup().resource_id_base;
        // If this request fails, the server ends the context when the recorder's connections close.
        let _ = context::disable(&mut self.conversation, context);
    }

    /// Ends the connection on which the server reports.
    pub(super) fn stop(&self) {
        self.reader.stop();
    }

    /// The number of bytes of replies that the reader dropped because the recorder fell behind.
    pub(super) fn left_out(&self) -> u64 {
        self.left_out + self.reader.left_out()
    }

    /// Returns the interval in which messages may be missing because of garbled bytes.
    pub(super) fn garbled(&mut self, garbled: Garbled) -> Hole {
        self.marked += garbled.bytes;
        Hole {
            since: garbled.since,
            why: "the server's RECORD extension lost a part of a report",
        }
    }

    /// The number of garbled bytes for which the recording contains no note of missing messages.
    pub(super) fn unmarked(&self) -> u64 {
        (self.garbled + self.reader.garbled()).saturating_sub(self.marked)
    }
}

/// The first resource ids of the recorder's connections, except the connection on which the server reports.
fn ours(conversation: &Conversation, guards: &[FlushGuard]) -> Vec<u32> {
    let first = conversation.setup().resource_id_base;
    std::iter::once(first)
        .chain(guards.iter().map(FlushGuard::first))
        .collect()
}

/// Starts to read the server's reports, under a watchdog if one can be started.
fn listen(
    socket: Socket,
    queue_bytes: usize,
    server: Option<u32>,
) -> Result<(Reader, Option<Watchdog>), String> {
    let (watchdog, pulse) = Watchdog::start(&socket, server).ok().unzip();
    let reader = Reader::start(socket, queue_bytes, pulse);
    let reader = reader.map_err(|error| format!("a thread: {error}"))?;
    Ok((reader, watchdog))
}
