//! Episodes of synthetic traces, with exactly known times.

mod cross_client;
mod devices;
mod kernel;
mod open_requests;
mod processors;
mod quiet;
mod server_time;
mod starting;
mod sums;
mod threads;
mod views;
mod visible_clients;

use std::sync::Arc;

use x11prof_cost_model::Network;
use x11prof_protocol::{SequenceNumber, Symbol};
use x11prof_trace::{ConnectionId, Control, Record, Switch, SwitchKind, Timestamp, Waiting};

use super::client_state::Spans;
use super::episode_tracker::EpisodeTracker;
use super::timeline_event::{Delivery, SentRequests, TimelineEvent};
use super::{Cause, EpisodeOptions, Episodes, Findings, LatencyComponent, ServerCause, Trigger};
use crate::forecast::{ForecastTimes, Forecasts};
use crate::pipeline::Pipeline;
use crate::testing::*;

const MS: u64 = 1000;
/// The system calls poll and nanosleep (x86-64).
const POLL: i64 = 7;
const NANOSLEEP: i64 = 35;

fn findings(trace: &Synthetic, options: &EpisodeOptions) -> Findings {
    let (mut episodes, mut pipeline) = (Episodes::new(options), Pipeline::new());
    pipeline.run_records(trace.records.iter().cloned(), |observation| {
        episodes.observe(observation)
    });
    episodes.finish()
}

fn found(trace: &Synthetic) -> Vec<super::Episode> {
    let findings = findings(trace, &EpisodeOptions::default());
    findings.episodes().into_iter().cloned().collect()
}

/// A key press at the server's time `millis`, after the request with this number.
fn key_press(sequence: u16, millis: u32) -> Vec<u8> {
    let mut bytes = reply(sequence);
    (bytes[0], bytes[1]) = (2, 38);
    bytes[4..8].copy_from_slice(&millis.to_le_bytes());
    bytes
}

/// A trace whose switches are recorded: the client is quiet from 1 ms on.
struct Scheduled {
    trace: Synthetic,
    now: u64,
}

impl Scheduled {
    fn new() -> Scheduled {
        let mut trace = Synthetic::new();
        trace.control(Control::Capture {
            pid: CLIENT_PID,
            capture: "switches".to_owned(),
            why: None,
        });
        let mut scheduled = Scheduled { trace, now: 0 };
        scheduled.client(0, SwitchKind::In);
        scheduled.at(500).client_sends(&[no_operation(1)]);
        scheduled.client(MS, SwitchKind::Blocked);
        scheduled.waits(MS, POLL);
        scheduled
    }

    /// The trace at N microseconds from its beginning.
    fn at(&mut self, micros: u64) -> &mut Synthetic {
        let wait = micros.saturating_sub(self.now);
        self.now = micros;
        self.trace.wait(wait)
    }

    fn switch(&mut self, pid: u32, micros: u64, kind: SwitchKind) {
        self.trace.records.push(Record::Schedule(vec![Switch {
            time: Timestamp::from_nanos(1_000_000_000 + micros * 1000),
            pid,
            tid: pid,
            cpu: u16::from(pid == CLIENT_PID),
            kind,
        }]));
    }

    fn client(&mut self, micros: u64, kind: SwitchKind) {
        self.switch(CLIENT_PID, micros, kind);
    }

    fn server(&mut self, from: u64, to: u64) {
        self.switch(SERVER_PID, from, SwitchKind::In);
        self.switch(SERVER_PID, to, SwitchKind::Blocked);
    }

    fn waits(&mut self, since: u64, syscall: i64) {
        self.waits_with(since, syscall, Vec::new());
    }

    /// Waits in poll for at most `millis`.
    fn polls_for(&mut self, since: u64, millis: u64) {
        self.waits_with(since, POLL, vec![0x7f00, 1, millis]);
    }

    fn waits_with(&mut self, since: u64, syscall: i64, arguments: Vec<u64>) {
        self.trace.control(Control::Waiting(Waiting {
            pid: CLIENT_PID,
            tid: CLIENT_PID,
            since_ns: 1_000_000_000 + since * 1000,
            syscall,
            wait_channel: None,
            arguments,
            peer: None,
        }));
    }
}

#[test]
fn latency_components_of_a_key_press_add_up() {
    use SwitchKind::{Blocked, In, Preempted};
    let mut all = Scheduled::new();
    // The event happened in millisecond 1100 of the server's clock, which is also the trace's clock.
    all.at(101 * MS).server_sends(&[key_press(1, 1100)]);
    all.client(102 * MS, In);
    all.client(110 * MS, Blocked);
    all.waits(110 * MS, NANOSLEEP);
    all.client(160 * MS, In);
    all.client(165 * MS, Preempted);
    all.client(167 * MS, In);
    all.at(170 * MS).client_sends(&[get_input_focus()]);
    all.client(170 * MS + 10, Blocked);
    all.at(180 * MS).server_sends(&[reply(2)]);
    all.client(181 * MS, In);
    all.at(185 * MS).client_sends(&[poly_fill_rectangle(3)]);
    all.client(185 * MS + 20, Blocked);
    all.waits(185 * MS + 20, POLL);
    all.server(185 * MS + 50, 205 * MS);
    all.at(900 * MS).end();

    let episodes = found(&all.trace);
    let key = episodes.iter().find(|one| one.trigger == Trigger::Input);
    let key = key.unwrap();
    let micros = |owner| key.parts.of(owner) / 1000;
    assert_eq!(key.start, Timestamp::from_nanos(1_100_500_000));
    assert_eq!(micros(LatencyComponent::Waiting), 1500);
    assert_eq!(
        micros(LatencyComponent::Client),
        8000 + 5000 + 3000 + 10 + 4000
    );
    assert_eq!(micros(LatencyComponent::OffCpu(Cause::Sleeping)), 50_000);
    assert_eq!(micros(LatencyComponent::OffCpu(Cause::Processor)), 2000);
    assert_eq!(key.parts.server() / 1000, 10_990 + 20_000);
    assert_eq!(key.latency(), (205 * MS - 100_500) * 1000);
    assert_eq!(key.blocked() / 1000, 10_990);
    assert_eq!(key.round_trips, 1);
    assert_eq!((key.requests, key.parts.culprit()), (2, "off_cpu"));
    assert_eq!(key.landmark.as_str(), "KeyPress keycode 38");
}

#[test]
fn idle_wait_ends_episode_and_think_time_is_excluded() {
    use SwitchKind::{Blocked, In};
    let mut all = Scheduled::new();
    for press in [100, 1100] {
        all.at(press * MS)
            .server_sends(&[key_press(1, 1000 + press as u32)]);
        all.client(press * MS + 100, In);
        all.at((press + 4) * MS).client_sends(&[no_operation(1)]);
        all.client((press + 5) * MS, Blocked);
        all.waits((press + 5) * MS, POLL);
    }
    all.at(2000 * MS).end();
    let episodes = found(&all.trace);
    let keys = episodes.iter().filter(|one| one.trigger == Trigger::Input);
    let latencies: Vec<u64> = keys.map(|one| one.latency() / 1000).collect();
    assert_eq!(latencies, [4000, 4000]);
}

#[test]
fn key_behind_another_counts_its_queueing_time() {
    use SwitchKind::{Blocked, In};
    let mut all = Scheduled::new();
    all.at(100 * MS).server_sends(&[key_press(1, 1099)]);
    all.client(100 * MS, In);
    let mut other = key_press(1, 1149);
    other[1] = 39;
    all.at(150 * MS).server_sends(&[other]);
    all.at(200 * MS).client_sends(&[no_operation(1)]);
    all.at(230 * MS).client_sends(&[no_operation(1)]);
    all.client(231 * MS, Blocked);
    all.waits(231 * MS, POLL);
    all.at(900 * MS).end();
    let episodes = found(&all.trace);
    let keys: Vec<_> = episodes
        .iter()
        .filter(|one| one.trigger == Trigger::Input)
        .map(|one| {
            (
                one.latency() / 1000,
                one.parts.of(LatencyComponent::Waiting) / 1000,
            )
        })
        .collect();
    assert_eq!(keys, [(100_500, 500), (80_500, 50_500)]);
}

#[test]
fn motion_events_coalesce_into_one_episode() {
    use SwitchKind::{Blocked, In};
    let mut all = Scheduled::new();
    for n in 0..10 {
        let mut motion = key_press(1, 1100 + n);
        motion[0] = 6;
        all.at(100 * MS + u64::from(n)).server_sends(&[motion]);
    }
    all.client(110 * MS, In);
    all.at(112 * MS).client_sends(&[no_operation(1)]);
    all.client(113 * MS, Blocked);
    all.waits(113 * MS, POLL);
    all.at(900 * MS).end();
    let episodes = found(&all.trace);
    let input: Vec<_> = episodes
        .iter()
        .filter(|one| one.trigger == Trigger::Input)
        .map(|one| (one.events, one.landmark.as_str()))
        .collect();
    assert_eq!(input, [(10, "MotionNotify")]);
}

#[test]
fn without_context_switches_silence_ends_an_episode() {
    let mut trace = Synthetic::new();
    trace.wait(500).client_sends(&[no_operation(1)]);
    trace.wait(100 * MS).server_sends(&[expose(1)]);
    trace.wait(7 * MS).client_sends(&[poly_fill_rectangle(1)]);
    trace.wait(300 * MS).client_sends(&[no_operation(1)]);
    trace.end();
    let episodes = found(&trace);
    let reported: Vec<_> = episodes
        .iter()
        .map(|one| (one.trigger, one.latency() / 1000, one.scheduled))
        .collect();
    assert_eq!(
        reported,
        [
            (Trigger::Asynchronous, 500, false),
            (Trigger::Output, 7000, false),
            (Trigger::Asynchronous, 0, false),
        ]
    );
}

/// A redraw waits in a busy client's queue. No client waits for a copy-complete event.
#[test]
fn copy_completion_starts_no_episode() {
    let redraws = |code: u8| {
        let mut trace = Synthetic::new();
        let mut event = expose(1);
        event[0] = code;
        trace.wait(500).client_sends(&[no_operation(1)]);
        trace.wait(100 * MS).server_sends(&[event]);
        trace.wait(7 * MS).client_sends(&[poly_fill_rectangle(1)]);
        trace.end();
        let mut all = found(&trace).into_iter();
        all.any(|one| one.trigger == Trigger::Output)
    };
    assert_eq!([12, 14].map(redraws), [true, false]);
}

#[test]
fn worst_episodes_are_kept_and_all_counted() {
    let mut trace = Synthetic::new();
    for n in 1..20 {
        trace.wait(200 * MS).server_sends(&[expose(0)]);
        trace.wait(n * MS).client_sends(&[poly_fill_rectangle(1)]);
    }
    trace.end();
    let options = EpisodeOptions {
        worst: Some(2),
        landmark: Some("Expose".to_owned()),
        ..EpisodeOptions::default()
    };
    let findings = findings(&trace, &options);
    let kept: Vec<u64> = findings
        .episodes()
        .iter()
        .map(|one| one.latency() / 1_000_000)
        .collect();
    assert_eq!((kept, findings.count()), (vec![19, 18], 19));
}

#[test]
fn release_during_sleeping_press_handler_joins_the_press() {
    use SwitchKind::{Blocked, In};
    let mut all = Scheduled::new();
    let button = |kind: u8, millis: u32| {
        let mut bytes = key_press(1, millis);
        (bytes[0], bytes[1]) = (kind, 1);
        bytes
    };
    all.at(100 * MS).server_sends(&[button(4, 1099)]);
    all.client(100 * MS + 100, In);
    all.client(100 * MS + 300, Blocked);
    all.waits(100 * MS + 300, NANOSLEEP);
    all.at(112 * MS).server_sends(&[button(5, 1111)]);
    all.client(130 * MS, In);
    all.at(131 * MS).client_sends(&[poly_fill_rectangle(1)]);
    all.client(131 * MS + 50, Blocked);
    all.waits(131 * MS + 50, POLL);
    all.at(900 * MS).end();
    let episodes = found(&all.trace);
    let input: Vec<_> = episodes
        .iter()
        .filter(|one| one.trigger == Trigger::Input)
        .map(|one| (one.latency() / 1000, one.events, one.landmark.as_str()))
        .collect();
    assert_eq!(input, [(31_500, 2, "ButtonPress button 1")]);
}

/// The trace's times over a network.
fn over(trace: &Synthetic, net: &str) -> Option<Arc<ForecastTimes>> {
    let mut forecasts = Forecasts::default();
    let records = trace.records.iter().cloned();
    Pipeline::new().run_records(records, |observation| forecasts.observe(observation));
    Some(Arc::new(forecasts.times(&Network::parse(net).unwrap())))
}

#[test]
fn frame_written_while_the_server_draws_is_not_part_of_the_forecast() {
    use SwitchKind::{Blocked, In};
    let mut all = Scheduled::new();
    all.at(101 * MS).server_sends(&[key_press(1, 1101)]);
    all.client(101 * MS + 50, In);
    all.at(102 * MS).client_sends(&[poly_fill_rectangle(1)]);
    all.client(102 * MS + 20, Blocked);
    all.waits(102 * MS + 20, POLL);
    all.server(102 * MS + 50, 142 * MS);
    all.client(130 * MS, In);
    all.at(131 * MS)
        .client_sends(&[request(127, 0, &[0; 25_000])]);
    all.client(132 * MS, Blocked);
    all.waits(132 * MS, POLL);
    all.at(900 * MS).end();
    let options = EpisodeOptions {
        link: over(&all.trace, "100KB/s,0ms"),
        ..EpisodeOptions::default()
    };
    let findings = findings(&all.trace, &options);
    let mut episodes = findings.episodes().into_iter();
    let key = episodes.find(|one| one.trigger == Trigger::Input).unwrap();
    assert!(key.latency() < 100_000_000, "{}", key.latency());
}

#[test]
fn reply_read_while_the_server_draws_is_not_part_of_the_forecast() {
    use SwitchKind::{Blocked, In};
    let mut all = Scheduled::new();
    all.at(101 * MS).server_sends(&[key_press(1, 1101)]);
    all.client(101 * MS + 50, In);
    // GTK asks for a property with each frame.
    let frame = [poly_fill_rectangle(1), get_input_focus()];
    all.at(102 * MS).client_sends(&frame);
    all.client(102 * MS + 20, Blocked);
    all.waits(102 * MS + 20, POLL);
    all.server(102 * MS + 50, 103 * MS);
    all.at(103 * MS - 10).server_sends(&[reply(2)]);
    all.client(103 * MS + 10, In);
    all.client(103 * MS + 20, Blocked);
    all.waits(103 * MS + 20, POLL);
    all.at(900 * MS).end();
    let options = EpisodeOptions {
        link: over(&all.trace, "100MB/s,20ms"),
        ..EpisodeOptions::default()
    };
    let findings = findings(&all.trace, &options);
    let mut episodes = findings.episodes().into_iter();
    let key = episodes.find(|one| one.trigger == Trigger::Input).unwrap();
    // Half of a round trip for the key, and half for the drawing.
    assert!(key.latency() < 25_000_000, "{}", key.latency());
}

#[test]
fn network_link_adds_transfer_and_round_trip_time() {
    let mut trace = Synthetic::new();
    trace.wait(100 * MS).server_sends(&[expose(0)]);
    trace.wait(MS).client_sends(&[get_input_focus()]);
    trace.wait(MS).server_sends(&[reply(1)]);
    trace.wait(MS).client_sends(&[no_operation(24)]);
    trace.end();
    let options = EpisodeOptions {
        link: over(&trace, "100KB/s,10ms"),
        ..EpisodeOptions::default()
    };
    let findings = findings(&trace, &options);
    let output = |one: &&super::Episode| one.trigger == Trigger::Output;
    let episodes = findings.episodes();
    let of: Vec<_> = episodes.into_iter().filter(output).collect();
    let network = of.iter().map(|one| one.parts.of(LatencyComponent::Network));
    // Four times half a round trip: the event, the request, the reply, the last request. 84, 56, 84 and 148 bytes with
    // their headers, at 10 µs each.
    assert_eq!(network.sum::<u64>(), 23_720_000);
    assert_eq!(of.iter().map(|one| one.round_trips).sum::<u64>(), 1);
}

#[test]
fn reply_delayed_by_grab_counts_as_grab_wait() {
    let other = ConnectionId(2);
    let at = |time: u64, timeline_event| (1_000_000_000 + time * 1_000_000, timeline_event);
    let mut tracker = EpisodeTracker::new(Spans {
        frame: 16_000_000,
        silence: 50_000_000,
    });
    let sent = |question: Option<u64>| SentRequests {
        requests: 1,
        questions: question
            .map(|number| (SequenceNumber(number), Symbol::new("GetInputFocus")))
            .into_iter()
            .collect(),
        ..SentRequests::default()
    };
    let one = ConnectionId(1);
    for (time, timeline_event) in [
        at(
            0,
            TimelineEvent::Opened {
                client: one,
                pid: None,
            },
        ),
        at(
            0,
            TimelineEvent::Opened {
                client: other,
                pid: None,
            },
        ),
        // The server accepts both clients.
        at(0, TimelineEvent::Delivered(one, Delivery::default())),
        at(0, TimelineEvent::Delivered(other, Delivery::default())),
        at(5, TimelineEvent::Grabbed(Some(other))),
        at(5, TimelineEvent::Sent(other, sent(None))),
        at(10, TimelineEvent::Sent(one, sent(Some(1)))),
        at(30, TimelineEvent::Grabbed(None)),
        at(30, TimelineEvent::Sent(other, sent(None))),
        at(
            34,
            TimelineEvent::Delivered(
                one,
                Delivery {
                    answered: vec![SequenceNumber(1)],
                    ..Delivery::default()
                },
            ),
        ),
        at(35, TimelineEvent::Sent(one, sent(None))),
    ] {
        tracker.happened(time, &timeline_event);
    }
    tracker.finish(2_000_000_000);
    let of: Vec<_> = tracker
        .finished
        .iter()
        .filter(|episode| episode.settled && episode.client == one)
        .collect();
    let sum = |asked| -> u64 {
        let parts = of
            .iter()
            .map(|episode| episode.parts.of(LatencyComponent::Server(asked)));
        parts.sum::<u64>() / 1_000_000
    };
    assert_eq!(
        (sum(ServerCause::Grabbed), sum(ServerCause::Reply)),
        (20, 4)
    );
}
