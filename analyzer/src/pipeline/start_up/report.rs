//! The report on the start-up of a client.

use serde::{Deserialize, Serialize};
use x11prof_trace::{ConnectionId, Timestamp};

use super::first_frame::Progress;
use super::{ClientRole, StartingClient};
use crate::text::label::{client_name, program_of};
use crate::text::units::nanos_ms as ms;
use crate::threads::processes::Processes;

/// The start-up of one client. Times are in milliseconds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StartUpReport {
    /// The client's name: its process and the number of its connection.
    pub client: String,
    /// The number of the client's connection.
    pub connection: u32,
    /// The role of the client: the recorded command, another program, or a helper such as a window manager.
    #[serde(default)]
    pub role: ClientRole,
    /// The beginning of the start-up: `process` (its start) or `connection`.
    pub since: String,
    /// The time of the beginning, in milliseconds since the trace's first record; negative if the client began earlier.
    pub start_ms: f64,
    /// The time from the beginning to the end of the first frame, in milliseconds; null if there is no first frame (see
    /// `reason`).
    pub latency_ms: Option<f64>,
    /// The reason why there is no latency; null if there is one.
    #[serde(rename = "reason")]
    pub why_none: Option<String>,
    /// The number of round trips, including synchronisations.
    pub round_trips: u64,
    /// The number of round trips that only waited for the server (GetInputFocus, as XSync sends it).
    pub synchronisations: u64,
    /// The time in which the client was blocked on replies, in milliseconds.
    pub waited_ms: f64,
    /// The number of requests that the client sent.
    pub requests: u64,
    /// The number of bytes of the requests that the client sent.
    pub bytes: u64,
    /// The number of bytes that the client received from the server: setup, replies, events and errors.
    pub received_bytes: u64,
    /// The part of the client's own time, in milliseconds, in which all its threads waited for something other than a
    /// reply: a user, a timer, a file, another program. Null without a latency or without context switches.
    pub idle_ms: Option<f64>,
    /// The client's CPU time during its own time and before it connected, in milliseconds. Null without a latency, or
    /// if the kernel did not report it.
    #[serde(rename = "cpu_ms")]
    pub ran_ms: Option<f64>,
    /// The part of the latency in milliseconds in which bytes were on the emulated link (`record --net`).
    pub network_ms: f64,
    /// The part of `network_ms` in which the client waited for no reply: an event was on the link, or the link accepted
    /// no more bytes.
    #[serde(default)]
    pub held_ms: f64,
    /// The part of the waits in milliseconds in which no processor was free for the server or the recorder, as far as
    /// the kernel reports it.
    #[serde(rename = "run_queue_ms")]
    pub processor_ms: f64,
    /// The part of the client's own time in milliseconds in which the client could run, but no processor was free for
    /// it, as far as the kernel reports it.
    #[serde(rename = "client_run_queue_ms", default)]
    pub own_processor_ms: f64,
    /// The components of the latency, which add up to it; null without a latency.
    pub parts: Option<StartUpParts>,
}

/// The components of a start-up's latency, in milliseconds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StartUpParts {
    /// The time in milliseconds from the process's start to its connection: loading, and the program's initialization.
    /// Null if the start is unknown.
    pub before_connection_ms: Option<f64>,
    /// The time in milliseconds from the connection until the server has accepted the client.
    pub setup_ms: f64,
    /// The time in which the client waited for replies, in milliseconds.
    pub waited_ms: f64,
    /// The time of the client itself in milliseconds: computing, files, other processes, waiting for events.
    pub client_ms: f64,
    /// The time from the client's last request until the server had completed it, in milliseconds; null if unknown.
    pub server_ms: Option<f64>,
}

impl StartUpReport {
    /// The end of the first frame, in milliseconds after the trace's first record; `None` without a first frame.
    pub(crate) fn end_ms(&self) -> Option<f64> {
        Some(self.start_ms + self.latency_ms?)
    }

    /// The start-up that a page shows first: of the recorded command, or else the slowest start-up of a program.
    pub fn first<'a>(
        all: impl IntoIterator<Item = &'a StartUpReport>,
    ) -> Option<&'a StartUpReport> {
        let timed = all
            .into_iter()
            .filter_map(|one| Some((one, one.latency_ms?)));
        let first = timed.max_by(|(a, took), (b, other)| {
            a.role.cmp(&b.role).then_with(|| took.total_cmp(other))
        });
        first.map(|(one, _)| one)
    }

    /// The round trips of the start-up on all connections of its program: the program may open another one meanwhile.
    pub fn round_trips_of_program(&self, all: &[StartUpReport]) -> u64 {
        let end = self.end_ms().unwrap_or(f64::INFINITY);
        let own = all.iter().filter(|one| {
            let is_meanwhile = one.start_ms >= self.start_ms && one.start_ms <= end;
            one.connection == self.connection
                || is_meanwhile && program_of(&one.client) == program_of(&self.client)
        });
        own.map(|one| one.round_trips).sum()
    }

    /// The components of the latency under the names that all pages use; empty without a latency. They add up to it.
    /// Off-CPU, the client slept, or waited for a file, another process or a processor. The server wait includes the time
    /// in which no processor was free for the server, as in an episode.
    pub fn components(&self) -> Vec<(&'static str, f64)> {
        let Some(parts) = &self.parts else {
            return Vec::new();
        };
        let own = parts.client_ms + parts.before_connection_ms.unwrap_or(0.0);
        let own = (own - self.held_ms).max(0.0);
        let (ran, off) = match self.ran_ms {
            // Several threads may run at once.
            Some(ran) => (("client CPU", ran.min(own)), (own - ran).max(0.0)),
            None => (("client", own), 0.0),
        };
        vec![
            ran,
            ("off-CPU", off),
            ("server wait", self.of_server_ms() + self.processor_ms),
            ("network", self.network_ms),
        ]
    }

    /// The part of a component, in milliseconds, in which no processor was free for the client or the server.
    pub fn no_free_cpu_ms(&self, component: &str) -> f64 {
        match component {
            "server wait" => self.processor_ms,
            "off-CPU" => self.own_processor_ms,
            _ => 0.0,
        }
    }

    /// The wait for the server and its work on the last request, without time on the link or waiting for a processor;
    /// zero without a latency.
    pub(crate) fn of_server_ms(&self) -> f64 {
        let parts = self.parts.as_ref();
        let all = parts.map_or(0.0, |parts| {
            parts.setup_ms + parts.waited_ms + parts.server_ms.unwrap_or(0.0)
        });
        (all - (self.network_ms - self.held_ms) - self.processor_ms).max(0.0)
    }

    pub(super) fn of(
        id: ConnectionId,
        client: &StartingClient,
        first: Timestamp,
        processes: &Processes,
    ) -> StartUpReport {
        let opened = client.opened.as_nanos();
        let start = client.process.unwrap_or(opened);
        let drawn = match client.frame.progress() {
            // Its first drawing would be the frame of a later program's window.
            _ if client.manages_windows => Err("it is a window manager"),
            _ if client.answers_press => {
                Err("it drew nothing before the user's first key or click")
            }
            progress if client.incomplete && progress != Progress::Over => {
                Err("some of its messages are missing")
            }
            Progress::Unmapped => Err("it mapped no top-level window"),
            Progress::Mapped => Err("it drew nothing in its top-level window"),
            Progress::Drawn(_) | Progress::Over => Ok(client.progress.last),
        };
        // If a reply came last, the server had completed the earlier requests.
        let asked = client.progress.last > client.progress.wrote;
        let on_the_way = if asked { 0 } else { client.on_the_way };
        let arrived = client.progress.wrote.saturating_add(on_the_way);
        let done = processes.server_done(arrived);
        let done = done.or((on_the_way > 0).then_some(arrived));
        let done = done.filter(|_| !asked);
        let end = drawn
            .ok()
            .map(|last| done.map_or(last, |done| done.max(last)));
        let set_up = client.set_up.unwrap_or(opened).saturating_sub(opened);
        let parts = end.map(|end| {
            let server = done.map(|_| end.saturating_sub(client.progress.last));
            let theirs = [set_up, client.waited, server.unwrap_or(0)];
            let own = theirs
                .into_iter()
                .fold(end.saturating_sub(opened), u64::saturating_sub);
            StartUpParts {
                before_connection_ms: client
                    .process
                    .map(|process| ms(opened.saturating_sub(process))),
                setup_ms: ms(set_up),
                waited_ms: ms(client.waited),
                client_ms: ms(own),
                server_ms: server.map(ms).or(asked.then_some(0.0)),
            }
        });
        let ran_ms = parts.as_ref().and_then(|parts| {
            let before = parts.before_connection_ms.zip(client.ran_before);
            // The CPU time of a process with several threads may exceed the elapsed time.
            let before = before.map_or(0.0, |(took, ran)| ms(ran).min(took));
            let since = ms(client.progress.ran?.saturating_sub(client.ran_at_opening));
            Some(before + since.min(parts.client_ms))
        });
        let off = parts.as_ref().map(|parts| {
            let own = parts.client_ms + parts.before_connection_ms.unwrap_or(0.0);
            own - ms(client.held) - ran_ms.unwrap_or(0.0)
        });
        StartUpReport {
            client: client_name(client.name.as_deref(), id),
            connection: id.0,
            role: client.role,
            since: match client.process {
                Some(_) => "process",
                None => "connection",
            }
            .to_owned(),
            start_ms: (start as f64 - first.as_nanos() as f64) / 1e6,
            latency_ms: end.map(|end| ms(end.saturating_sub(start))),
            why_none: drawn.err().map(str::to_owned),
            round_trips: client.round_trips,
            synchronisations: client.synchronisations,
            waited_ms: ms(client.waited),
            network_ms: ms(client
                .on_link
                .saturating_add(client.held)
                .saturating_add(on_the_way)),
            held_ms: ms(client.held),
            processor_ms: ms(client
                .unserved
                .min(client.waited.saturating_sub(client.on_link))),
            own_processor_ms: off.map_or(0.0, |off| ms(client.progress.ready).min(off.max(0.0))),
            requests: client.progress.requests,
            bytes: client.progress.bytes,
            received_bytes: client.received,
            ran_ms,
            idle_ms: parts.as_ref().and_then(|parts| {
                let idle = client.idle.map(ms)?;
                Some(idle.min(parts.client_ms))
            }),
            parts,
        }
    }
}
