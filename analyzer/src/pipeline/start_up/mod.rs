//! The start-up of each client: from the start of its process, or of its connection if the process start is unknown, to
//! the end of the first frame drawn in its first mapped top-level window.
//!
//! The frame ends when the client is idle (all its threads wait, no reply is outstanding, and no request is sent in
//! part), when it has waited for its drawing with GetInputFocus or by reading its window back (GetImage), before it
//! puts a second picture over the whole window, or after a second of drawing without a pause, not counting the bytes'
//! time on the link. The server's work on the frame is included.

mod first_frame;
mod report;
mod role;

use rustc_hash::FxHashMap;
use x11prof_protocol::Message;
use x11prof_session::ClientId;
use x11prof_trace::{Block, ConnectionId, Control, Direction, EmulatedNetwork, Opened, Timestamp};

use crate::pipeline::message_context::MessageContext;
use crate::round_trips::{CompletedRequest, ReplyKind, RoundTripTracker};
use crate::threads::processes::Processes;
use first_frame::{Drawing, FirstFrame, Progress};
pub use report::{StartUpParts, StartUpReport};
pub use role::ClientRole;

/// Maximum number of reported start-ups; later start-ups are not reported.
const CLIENTS: usize = 4096;
/// Maximum number of starting clients in whose windows other clients may draw the first frame. Each request is compared
/// with the windows of all of them.
const MAPPED: usize = 64;
/// A first frame ends after this time at the latest, in nanoseconds: a program that is never idle has drawn many frames
/// by then.
const LONGEST_FRAME: u64 = 1_000_000_000;

/// A client that is starting.
#[derive(Debug, Default)]
struct StartingClient {
    opened: Timestamp,
    /// The time at which the client's process started, in nanoseconds; `None` if unknown.
    process: Option<u64>,
    pid: Option<u32>,
    name: Option<String>,
    role: ClientRole,
    manages_windows: bool,
    set_up: Option<u64>,
    frame: FirstFrame,
    progress: WriteProgress,
    /// The progress before the client's latest write.
    before: WriteProgress,
    /// The CPU time in nanoseconds that the process used before it connected, by the kernel's clock; `None` if unknown.
    ran_before: Option<u64>,
    /// The CPU time of the process in nanoseconds by its context switches, when it connected.
    ran_at_opening: u64,
    /// The time in nanoseconds in which the process had no processor before the start-up began, or up to the latest write
    /// or reply.
    ready_seen: u64,
    /// The time in nanoseconds in which the client was idle without a pending reply; `None` if the kernel did not
    /// report it.
    idle: Option<u64>,
    round_trips: u64,
    synchronisations: u64,
    waited: u64,
    /// The part of `waited` and of the setup in which bytes were on an emulated link, in nanoseconds. The next field is
    /// the part in which no processor was free for the server or the recorder.
    on_link: u64,
    unserved: u64,
    /// The time in nanoseconds that the client, without a pending reply, waited for an emulated link.
    held: u64,
    /// The time at which the client's setup arrived, in nanoseconds. The next field is the time that its last request
    /// was on an emulated link.
    arrived: u64,
    on_the_way: u64,
    received: u64,
    /// The nanoseconds for which the latest requests, and the first event after them, were on an emulated link; `None`
    /// if there is none.
    event_on_link: Option<u64>,
    /// The number of bytes already read of a request whose end has not been read.
    unfinished: u64,
    /// The time of the last press of a key or button while the client was idle, in nanoseconds. The next field is true if
    /// the client drew its first frame in response to it.
    pressed: Option<u64>,
    answers_press: bool,
    /// True if the recording lacks some of the client's messages.
    incomplete: bool,
    line: Line,
}

/// The progress of a start-up up to a client's write.
#[derive(Debug, Clone, Copy, Default)]
struct WriteProgress {
    /// The time of the write, in nanoseconds. The next field is the time of the latest write or received reply.
    wrote: u64,
    last: u64,
    requests: u64,
    bytes: u64,
    /// The CPU time of the process in nanoseconds by its context switches; `None` if unknown.
    ran: Option<u64>,
    /// The time in nanoseconds in which the process could run but had no processor, without waits for replies.
    ready: u64,
}

/// A client's bytes on an emulated line.
#[derive(Debug, Default)]
struct Line {
    free: u64,
    /// The time in nanoseconds until which the line holds up further writes of the client.
    held: u64,
    /// The time in nanoseconds for which the line transmitted bytes after the first drawing.
    took: u64,
}

impl Line {
    fn sends(&mut self, network: &EmulatedNetwork, block: &Block) {
        let occupies = network.occupies(block.wire_len as usize);
        self.took = self.took.saturating_add(occupies);
        self.free = self
            .free
            .max(block.time.as_nanos())
            .saturating_add(occupies);
        self.held = self
            .free
            .saturating_sub(network.buffered().unwrap_or(u64::MAX));
    }
}

/// The start-ups of all clients. Only the pipeline has an instance.
#[derive(Debug, Default)]
pub(crate) struct StartUps {
    starting: FxHashMap<ConnectionId, StartingClient>,
    /// The starting clients that have mapped a window and not drawn in it.
    mapped: Vec<ConnectionId>,
    /// The number of reports so far. The next field has the reports that have not been removed yet.
    reported: usize,
    done: Vec<StartUpReport>,
    first: Option<Timestamp>,
    /// The recorded command and its arguments.
    command: Vec<String>,
    network: EmulatedNetwork,
}

/// True if a starting client has mapped a window and not drawn in it.
fn has_mapped(starting: &FxHashMap<ConnectionId, StartingClient>, id: ConnectionId) -> bool {
    let client = starting.get(&id);
    client.is_some_and(|client| client.frame.progress() == Progress::Mapped)
}

impl StartUps {
    /// True if the client is starting up.
    pub(crate) fn is_starting(&self, client: ConnectionId) -> bool {
        let client = self.starting.get(&client);
        client.is_some_and(|client| client.frame.progress() != Progress::Over)
    }

    /// True if any client is starting up.
    pub(crate) fn is_any_starting(&self) -> bool {
        let mut clients = self.starting.values();
        clients.any(|client| client.frame.progress() != Progress::Over)
    }

    /// Notes that the bytes of `block` were read from a socket; the messages that end in them follow.
    pub(crate) fn block_begins(&mut self, block: &Block, round_trips: &RoundTripTracker) {
        let Some(client) = self.starting.get_mut(&block.connection) else {
            return;
        };
        let (asks, processes) = (round_trips.asks(block.connection), round_trips.processes());
        let now = block.time.as_nanos();
        if !asks && client.is_over(processes, now) {
            self.end(block.connection, processes);
        } else if block.direction == Direction::ToServer {
            client.writes(asks, processes, now);
            client.unfinished += u64::from(block.wire_len);
            client.line.sends(&self.network, block);
        }
    }

    /// Processes the next message of a pass.
    pub(crate) fn message(&mut self, seen: &MessageContext<'_>, processes: &Processes) {
        if self.starting.is_empty() {
            return;
        }
        let time = seen.time.as_nanos();
        if let Message::Request(request) = seen.message {
            let starting = &self.starting;
            self.mapped.retain(|id| has_mapped(starting, *id));
            let others = self.mapped.iter().filter(|id| **id != seen.connection);
            let mut others = others.peekable();
            let drawn_in = others.peek().map(|_| first_frame::drawn_in(seen, request));
            for id in others {
                if let Some(client) = self.starting.get_mut(id)
                    && client
                        .frame
                        .others_draw(drawn_in.as_deref().unwrap_or_default())
                {
                    (client.progress.wrote, client.progress.last) = (time, time);
                }
            }
        }
        self.of_client(seen, processes);
        let id = seen.connection;
        if self.mapped.len() < MAPPED
            && has_mapped(&self.starting, id)
            && !self.mapped.contains(&id)
        {
            self.mapped.push(id);
        }
    }

    /// Processes the next message of a pass for its own client.
    fn of_client(&mut self, seen: &MessageContext<'_>, processes: &Processes) {
        let time = seen.time.as_nanos();
        let Some(client) = self.starting.get_mut(&seen.connection) else {
            return;
        };
        if let Message::Request(request) = seen.message
            && request.name.as_str() == "ChangeWindowAttributes"
            && seen.session.window_manager() == Some(ClientId(seen.connection.0))
        {
            client.role = ClientRole::Helper;
            client.manages_windows = true;
        }
        if let Some(answer) = seen.answer
            && seen.starting
        {
            client.answered(answer, processes);
            let question = &answer.question;
            if question.name.as_str().ends_with("GetImage")
                && let Some(drawable) = question.u32(0)
            {
                client.frame.read_back(seen.session, drawable);
            }
        }
        let received = match &seen.message {
            Message::ServerSetup(setup) => setup.wire_len,
            Message::Reply(reply) => reply.wire_len,
            Message::Event(event) => event.wire_len,
            // The core protocol, section 1: errors are 32 bytes long.
            Message::Error(_) => 32,
            _ => 0,
        };
        client.received = client.received.saturating_add(received);
        match seen.message {
            Message::ServerSetup(_) => client.let_in(seen, processes),
            Message::ClientSetup(_) => {
                client.arrived = seen.at_server.as_nanos();
                client.unfinished = 0;
            }
            // Requests in the same write as a second picture belong to the next frame.
            Message::Request(_) if client.frame.progress() == Progress::Over => {}
            Message::Request(request) => {
                let arrived = seen.at_server.as_nanos();
                client.on_the_way = arrived.saturating_sub(seen.time.as_nanos());
                client.progress.requests += 1;
                client.progress.bytes = client.progress.bytes.saturating_add(request.wire_len);
                client.unfinished = client.unfinished.saturating_sub(request.wire_len);
                if client.frame.request(seen, request) == Drawing::NextFrame {
                    client.progress = client.before;
                }
                let mut pressed = client.pressed.into_iter();
                let responds = pressed.any(|at| !processes.has_rested(client.pid, at, time));
                if responds && client.frame.progress() == Progress::Drawn(time) {
                    client.answers_press = true;
                    self.end(seen.connection, processes);
                }
            }
            _ if client.frame.progress() == Progress::Over => self.end(seen.connection, processes),
            Message::Event(event) => {
                let is_press = event.name.as_str().ends_with("Press");
                if is_press && processes.has_rested(client.pid, client.progress.last, time) {
                    client.pressed = Some(time);
                }
                client.frame.event(seen, event);
                client.awaits_event(seen);
            }
            _ => {}
        }
    }

    /// Processes a control record at `time`.
    pub(crate) fn control(&mut self, time: Timestamp, control: &Control, processes: &Processes) {
        self.first.get_or_insert(time);
        match control {
            Control::Opened(opened) if self.starting.len() < CLIENTS && self.reported < CLIENTS => {
                let mut client = StartingClient::new(time, opened);
                client.role = ClientRole::new(opened, &self.command);
                let ran = processes.ran(opened.pid, time.as_nanos());
                client.ran_at_opening = ran.unwrap_or(0);
                // A process that had started before the recording, or long before it connected.
                if client.process.is_none() {
                    client.ready_seen = processes.ready(opened.pid, time.as_nanos());
                }
                self.starting.insert(opened.connection, client);
            }
            Control::Started(started) => self.command.clone_from(&started.command),
            Control::Network(network) => self.network.clone_from(network),
            Control::CpuTime(cpu) => {
                let clients = self.starting.values_mut();
                for client in clients.filter(|one| one.pid == Some(cpu.pid)) {
                    client.ran_before.get_or_insert(cpu.cpu_ns);
                }
            }
            Control::Joined(joined) if !joined.setup => {
                match self.starting.get_mut(&joined.connection) {
                    Some(client) if client.set_up.is_some() => {
                        client.incomplete = true;
                        self.end(joined.connection, processes);
                    }
                    // The connection began before the recording.
                    _ => drop(self.starting.remove(&joined.connection)),
                }
            }
            Control::Closed { connection, .. } => self.end(*connection, processes),
            _ => {}
        }
    }

    fn end(&mut self, id: ConnectionId, processes: &Processes) {
        if let Some(client) = self.starting.remove(&id) {
            let first = self.first.unwrap_or_default();
            let report = StartUpReport::of(id, &client, first, processes);
            self.reported += 1;
            self.done.push(report);
        }
    }

    /// Ends the trace, and with it all start-ups.
    pub(crate) fn finish(&mut self, processes: &Processes) {
        let left: Vec<ConnectionId> = self.starting.keys().copied().collect();
        left.into_iter().for_each(|id| self.end(id, processes));
    }

    /// Removes and returns the report of a finished start-up; `None` after the last.
    pub(crate) fn take_done(&mut self) -> Option<StartUpReport> {
        self.done.pop()
    }
}

impl StartingClient {
    fn new(time: Timestamp, opened: &Opened) -> StartingClient {
        let progress = WriteProgress {
            wrote: time.as_nanos(),
            last: time.as_nanos(),
            ..WriteProgress::default()
        };
        StartingClient {
            opened: time,
            process: opened
                .started_ns
                .filter(|started| *started <= time.as_nanos()),
            pid: opened.pid,
            name: opened.name.clone(),
            progress,
            before: progress,
            arrived: time.as_nanos(),
            ..StartingClient::default()
        }
    }

    /// Notes that the server has accepted the client.
    fn let_in(&mut self, seen: &MessageContext<'_>, processes: &Processes) {
        let (now, left) = (seen.time.as_nanos(), seen.at_server.as_nanos());
        self.set_up = Some(now);
        self.ready_seen = processes.ready(self.pid, now);
        if left != now {
            let server = left.saturating_sub(self.arrived);
            let took = now.saturating_sub(self.opened.as_nanos());
            self.on_link = took.saturating_sub(server);
        }
    }

    fn answered(&mut self, answer: &CompletedRequest<'_>, processes: &Processes) {
        self.progress.last = self.progress.last.max(answer.time);
        if answer.how.is_round_trip() {
            self.round_trips += 1;
            self.ready_seen = processes.ready(self.pid, answer.time);
            self.waited = self.waited.saturating_add(answer.waited());
            self.on_link = self.on_link.saturating_add(answer.on_link());
            self.unserved = self.unserved.saturating_add(answer.unserved);
        }
        if answer.how == ReplyKind::Synchronised {
            self.synchronisations += 1;
            self.frame.synchronised();
        }
    }

    /// Notes that an event arrives, for which the client may have waited since its latest request.
    fn awaits_event(&mut self, seen: &MessageContext<'_>) {
        let (now, sent) = (seen.time.as_nanos(), seen.at_server.as_nanos());
        let since = now.saturating_sub(self.progress.last);
        let there = if self.progress.wrote < self.progress.last {
            0
        } else {
            self.on_the_way
        };
        let on_link = there.saturating_add(now.saturating_sub(sent));
        self.event_on_link.get_or_insert(on_link.min(since));
    }

    /// Notes that the client writes at `now`; `asks` is true if a reply is pending.
    fn writes(&mut self, asks: bool, processes: &Processes, now: u64) {
        let ran = processes.ran(self.pid, now);
        if !asks {
            let rested = processes.rested(self.pid, self.progress.last, now);
            // A full line holds a client up that writes more. It may compute meanwhile.
            let computed = ran
                .unwrap_or(0)
                .saturating_sub(self.progress.ran.unwrap_or(u64::MAX));
            let full = self.line.held.min(now).saturating_sub(self.progress.last);
            let event = self.event_on_link.unwrap_or(0).min(rested.unwrap_or(0));
            let held = full.saturating_sub(computed).max(event);
            self.held = self.held.saturating_add(held);
            if let Some(rested) = rested {
                let idle = self.idle.get_or_insert(0);
                *idle = idle.saturating_add(rested.saturating_sub(held));
            }
        }
        self.event_on_link = None;
        self.before = self.progress;
        let ready = processes.ready(self.pid, now);
        let seen = std::mem::replace(&mut self.ready_seen, ready);
        self.progress = WriteProgress {
            wrote: now,
            last: now,
            ran,
            ready: self.before.ready + ready.saturating_sub(seen),
            ..self.before
        };
    }

    /// True if the first frame is complete at `now`.
    fn is_over(&mut self, processes: &Processes, now: u64) -> bool {
        let Progress::Drawn(since) = self.frame.progress() else {
            self.line.took = 0;
            return self.frame.progress() == Progress::Over;
        };
        let drawing = now.saturating_sub(since).saturating_sub(self.line.took);
        // A client that the link holds up, or that has sent a request in part, does not rest.
        let last = self.progress.last.max(self.line.held);
        let rests = self.unfinished == 0 && processes.has_rested(self.pid, last, now);
        if rests || drawing >= LONGEST_FRAME {
            self.frame.end();
        }
        self.frame.progress() == Progress::Over
    }
}

#[cfg(test)]
mod tests {
    use rustix::time::{ClockId, clock_gettime};
    use x11prof_trace::{ConnectionId, Control, ExtensionOpcodes, Joined, Opened, Record};

    use super::StartUpReport;
    use crate::pipeline::{Observation, Pipeline};
    use crate::testing::*;
    use crate::testing_display::Display;

    const WINDOW: u32 = BASE + 9;

    fn create_window() -> Vec<u8> {
        let words = [WINDOW, ROOT, 0, 100 | 100 << 16, 1 << 16, 0, 0];
        request(1, 8, &words)
    }

    fn fill() -> Vec<u8> {
        request(70, 0, &[WINDOW, BASE + 2, 0, 10 | 10 << 16])
    }

    fn start_ups(trace: &Synthetic) -> Vec<StartUpReport> {
        start_ups_in(&trace.records)
    }

    fn start_ups_in(records: &[Record]) -> Vec<StartUpReport> {
        let mut found = Vec::new();
        Pipeline::new().run_records(records.iter().cloned(), |observation| {
            if let Observation::Started(one) = observation {
                found.push((*one).clone());
            }
        });
        found.sort_by_key(|one: &StartUpReport| one.connection);
        found
    }

    #[test]
    fn start_up_spans_connection_to_first_frame() {
        let mut trace = Synthetic::new();
        trace.wait(1000).client_sends(&[query_font()]);
        trace.wait(200).server_sends(&[reply(1)]);
        trace
            .wait(300)
            .client_sends(&[create_window(), map_window(WINDOW)]);
        trace.wait(100).server_sends(&[expose(3)]);
        trace.wait(400).client_sends(&[fill()]);
        trace.wait(700).client_sends(&[fill()]);
        // A request after a rest does not belong to the start-up.
        trace.wait(90_000).client_sends(&[query_font()]);
        trace.wait(100).server_sends(&[reply(6)]);
        trace.end();
        let found = start_ups(&trace);
        let [one] = found.as_slice() else {
            panic!("{found:?}")
        };
        assert_eq!(one.since, "connection");
        assert_eq!((one.round_trips, one.requests), (1, 5));
        // The setup reply, a reply and an event.
        let received = (server_setup().len() + 32 + 32) as u64;
        assert_eq!(one.received_bytes, received);
        assert_eq!(one.latency_ms, Some(2.7));
        let parts = one.parts.as_ref().unwrap();
        assert_eq!((parts.waited_ms, parts.client_ms), (0.2, 2.5));
        assert_eq!((parts.server_ms, parts.before_connection_ms), (None, None));
    }

    #[test]
    fn background_pixmap_is_a_frame() {
        const BACKGROUND_PIXMAP: u32 = 1;
        let background = |pixmap| request(2, 0, &[WINDOW, BACKGROUND_PIXMAP, pixmap]);
        for (pixmap, latency) in [(BASE + 3, Some(0.1)), (1, None), (0, None)] {
            let mut trace = Synthetic::new();
            let set = [create_window(), background(pixmap)];
            trace.wait(100).client_sends(&set);
            trace.client_sends(&[map_window(WINDOW)]);
            trace.wait(90_000).client_sends(&[query_font()]);
            trace.wait(100).server_sends(&[reply(4)]).end();
            let found = start_ups(&trace);
            assert_eq!(found[0].latency_ms, latency, "{pixmap:#x}: {found:?}");
        }
    }

    #[test]
    fn window_manager_has_no_first_frame() {
        const EVENT_MASK: u32 = 1 << 11;
        const SUBSTRUCTURE_REDIRECT: u32 = 1 << 20;
        let mut trace = Synthetic::new();
        let redirect = request(2, 0, &[ROOT, EVENT_MASK, SUBSTRUCTURE_REDIRECT]);
        trace.wait(100).client_sends(&[redirect, create_window()]);
        trace.client_sends(&[map_window(WINDOW), fill()]);
        trace.wait(90_000).client_sends(&[query_font()]);
        trace.wait(100).server_sends(&[reply(5)]).end();
        let found = start_ups(&trace);
        let reason = found[0].why_none.as_deref();
        assert_eq!(
            (found[0].latency_ms, reason),
            (None, Some("it is a window manager"))
        );
    }

    #[test]
    fn another_client_can_draw_the_first_frame() {
        let mut display = Display::new();
        display.sends(1, 1.0, create_window());
        display.sends(1, 2.0, map_window(WINDOW));
        display.sends(2, 7.0, fill());
        display.sends(1, 90.0, query_font());
        let found = start_ups_in(&display.records);
        let latencies: Vec<_> = found.iter().map(|one| one.latency_ms).collect();
        assert_eq!(latencies, [Some(7.0), None, None]);
    }

    #[test]
    fn buffer_swap_or_video_image_is_a_frame() {
        // DBE's SwapBuffers: how many, the window, what becomes of its back buffer. Xv's ShmPutImage: port,
        // window.
        for (name, swap) in [
            ("DOUBLE-BUFFER", request(140, 3, &[1, WINDOW, 0])),
            ("XVideo", request(140, 19, &[9, WINDOW])),
        ] {
            let mut trace = Synthetic::new();
            let extension = ExtensionOpcodes {
                name: name.to_owned(),
                major: 140,
                first_event: 0,
                first_error: 0,
            };
            trace.control(Control::Extensions {
                extensions: vec![extension],
            });
            trace.client_sends(&[create_window(), map_window(WINDOW)]);
            trace.wait(700).client_sends(&[swap]);
            trace.wait(90_000).client_sends(&[query_font()]);
            trace.wait(100).server_sends(&[reply(4)]).end();
            assert_eq!(start_ups(&trace)[0].latency_ms, Some(0.7), "{name}");
        }
    }

    #[test]
    fn second_full_window_image_is_a_second_frame() {
        // PutImage of the whole window.
        let picture = || request(72, 2, &[WINDOW, BASE + 2, 100 | 100 << 16, 0, 8 << 8]);
        let mut trace = Synthetic::new();
        trace.client_sends(&[create_window(), map_window(WINDOW)]);
        for _ in 0..50 {
            let all = [no_operation(1), picture(), no_operation(1)];
            trace.wait(1000).client_sends(&all);
        }
        trace.end();
        let found = start_ups(&trace);
        // Two for the window, and three of the first picture.
        assert_eq!((found[0].latency_ms, found[0].requests), (Some(1.0), 5));
    }

    #[test]
    fn sync_after_drawing_ends_start_up() {
        let mut trace = Synthetic::new();
        trace.client_sends(&[create_window(), map_window(WINDOW), fill()]);
        trace.wait(100).client_sends(&[get_input_focus()]);
        trace.wait(300).server_sends(&[reply(4)]);
        trace.wait(100).client_sends(&[query_font()]);
        trace.wait(300).server_sends(&[reply(5)]);
        let found = start_ups(&trace);
        assert_eq!(found[0].latency_ms, Some(0.4));
        assert_eq!((found[0].round_trips, found[0].synchronisations), (1, 1));
    }

    /// x11perf measures round trips for seconds before its first drawing.
    #[test]
    fn window_readback_ends_start_up() {
        let get_image = || request(73, 2, &[WINDOW, 0, 1 | 1 << 16, !0]);
        let mut trace = Synthetic::new();
        trace.client_sends(&[create_window(), map_window(WINDOW)]);
        for number in 3..5003 {
            trace.wait(100).client_sends(&[get_image()]);
            trace.wait(300).server_sends(&[reply(number)]);
        }
        trace.client_sends(&[fill()]).end();
        let found = start_ups(&trace);
        assert_eq!((found[0].latency_ms, found[0].round_trips), (Some(0.4), 1));
    }

    #[test]
    fn start_up_with_missing_messages_has_a_reason() {
        let mut trace = Synthetic::new();
        trace.client_sends(&[query_font()]);
        trace.wait(100).server_sends(&[reply(1)]);
        trace.control(Control::Joined(Joined {
            connection: ConnectionId(1),
            last_request: 5,
            ..Joined::default()
        }));
        let found = start_ups(&trace);
        assert_eq!((found[0].latency_ms, found[0].round_trips), (None, 1));
        let why = found[0].why_none.as_deref();
        assert_eq!(why, Some("some of its messages are missing"));
    }

    #[test]
    fn first_drawing_that_responds_to_a_key_is_no_start_up() {
        let key = || {
            let mut press = reply(3);
            (press[0], press[1]) = (2, 38);
            press
        };
        let first = |trace: &Synthetic| start_ups(trace).remove(0);
        let mut trace = Synthetic::new();
        let window = [create_window(), map_window(WINDOW)];
        trace.wait(100).client_sends(&window);
        trace.wait(900_000).server_sends(&[key()]);
        trace.wait(200).client_sends(&[fill()]);
        trace.wait(90_000).client_sends(&[query_font()]);
        trace.end();
        let one = first(&trace);
        let reason = "it drew nothing before the user's first key or click";
        assert_eq!(
            (one.latency_ms, one.why_none.as_deref()),
            (None, Some(reason))
        );
        // The program was still loading when the user pressed the key.
        let mut trace = Synthetic::new();
        trace.wait(100).client_sends(&window);
        trace.wait(400_000).server_sends(&[key()]);
        trace.wait(500_000).client_sends(&[fill()]);
        trace.wait(90_000).client_sends(&[query_font()]);
        trace.end();
        assert_eq!(first(&trace).latency_ms, Some(900.1));
    }

    #[test]
    fn start_up_without_a_frame_has_a_reason() {
        let mut trace = Synthetic::new();
        trace.client_sends(&[query_font()]);
        trace.wait(100).server_sends(&[reply(1)]).end();
        let found = start_ups(&trace);
        assert_eq!((found[0].latency_ms, found[0].round_trips), (None, 1));
        assert_eq!(
            found[0].why_none.as_deref(),
            Some("it mapped no top-level window")
        );
    }

    /// The CPU time, in nanoseconds, of 40,000 requests of a client while this number of other clients start up.
    fn work_with_starting(clients: u32) -> i64 {
        let mut trace = Synthetic::new();
        for client in 2..2 + clients {
            trace.control(Control::Opened(Opened {
                connection: ConnectionId(client),
                transport: "unix".to_owned(),
                pid: None,
                name: None,
                command: Vec::new(),
                started_ns: None,
            }));
        }
        for _ in 0..20 {
            trace.client_sends(&vec![no_operation(1); 2000]);
        }
        let used = || {
            let time = clock_gettime(ClockId::ThreadCPUTime);
            time.tv_sec * 1_000_000_000 + time.tv_nsec
        };
        let before = used();
        Pipeline::new().run_records(trace.records.iter().cloned(), |_| ());
        used() - before
    }

    #[test]
    fn requests_are_not_compared_with_all_starting_clients() {
        let (few, many) = (work_with_starting(100), work_with_starting(4000));
        assert!(many < few * 5, "{few} ns, {many} ns");
    }
}
