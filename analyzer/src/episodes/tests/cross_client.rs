//! Episodes that caused each other, of clients without recorded switches: times come from the protocol stream.

use x11prof_protocol::{SequenceNumber, Symbol};
use x11prof_trace::{ConnectionId, SwitchKind};

use crate::episodes::client_state::Spans;
use crate::episodes::cross_client::blame::{Blame, BlameKind};
use crate::episodes::cross_client::causal_keys::{CausalKey, CausalRequest, EffectKind};
use crate::episodes::episode::Trigger;
use crate::episodes::episode_tracker::EpisodeTracker;
use crate::episodes::findings::Findings;
use crate::episodes::stimulus::{Detail, Shape, Stimulus};
use crate::episodes::timeline_event::{
    Arrival, Delivery, EpisodeLabel, SentRequests, TimelineEvent,
};
use crate::episodes::user::tag::Tags;
use crate::episodes::visible_clients::VisibleClients;
use crate::episodes::{Episode, EpisodeOptions, EpisodesReport, LatencyComponent, ServerCause};
use crate::recording::trace_summary::TraceSummary;
use crate::threads::thread_states::{State, Step};

const MS: u64 = 1_000_000;
const A: ConnectionId = ConnectionId(1);
const B: ConnectionId = ConnectionId(2);
const C: ConnectionId = ConnectionId(3);
const SERVER: u32 = 7;

fn causal_key(window: u32) -> CausalKey {
    CausalKey {
        kind: EffectKind::Map,
        window,
        detail: 0,
    }
}

/// A client sends a request, which other clients may get an event for.
fn sends(client: ConnectionId, number: u64, window: Option<u32>) -> TimelineEvent {
    let act = window.map(|window| CausalRequest {
        sequence: SequenceNumber(number),
        request: Symbol::new("MapWindow"),
        causal_key: causal_key(window),
    });
    let sent = SentRequests {
        requests: 1,
        first: Some(SequenceNumber(number)),
        causal_requests: act.into_iter().collect(),
        ..SentRequests::default()
    };
    TimelineEvent::Sent(client, sent)
}

/// A client receives an event about a window, after the request with this number.
fn gets(client: ConnectionId, number: u64, window: u32) -> TimelineEvent {
    let stimulus = Stimulus {
        trigger: Trigger::Output,
        name: Symbol::new("MapRequest"),
        shape: Shape::Other,
        detail: Detail::None,
        window: Some(window),
        server_time: None,
        sequence: Some(SequenceNumber(number)),
        held: 0,
        repeated: false,
        modifiers: 0,
        modifier: false,
    };
    let event = Arrival {
        answers: false,
        stimulus,
        about: EpisodeLabel::alone("MapRequest"),
        causal_keys: vec![causal_key(window)],
        tags: Tags::default(),
        millis: None,
    };
    let delivery = Delivery {
        events: vec![event],
        handled: Some(SequenceNumber(number)),
        ..Delivery::default()
    };
    TimelineEvent::Delivered(client, delivery)
}

/// Stops or continues the server's process.
fn server(millis: u64, kind: SwitchKind) -> (u64, TimelineEvent) {
    let time = millis * MS;
    let now = match kind {
        SwitchKind::In => State::Running {
            since: time,
            cpu: 0,
        },
        SwitchKind::Blocked | SwitchKind::Preempted => State::Waiting,
    };
    let step = Step {
        pid: SERVER,
        tid: SERVER,
        time,
        before: State::Unknown,
        now,
    };
    (millis, TimelineEvent::Step(step))
}

/// The episodes of these timeline events, at milliseconds, without start-up.
fn episodes(of: Vec<(u64, TimelineEvent)>) -> Vec<Episode> {
    let mut tracker = EpisodeTracker::new(Spans {
        frame: 16 * MS,
        silence: 50 * MS,
    });
    // The server runs on this machine.
    tracker.set_server(Some(SERVER));
    for client in [A, B, C] {
        let opened = TimelineEvent::Opened { client, pid: None };
        tracker.happened(0, &opened);
        tracker.happened(MS, &sends(client, 1, None));
    }
    for (time, timeline_event) in of {
        tracker.happened(time * MS, &timeline_event);
    }
    tracker.finish(10_000 * MS);
    let mut found = tracker.finished;
    found.retain(|one| one.settled && one.landmark.as_str() != "Start-up");
    found
}

fn of(all: &[Episode], client: ConnectionId) -> &Episode {
    all.iter().find(|one| one.client == client).unwrap()
}

/// A causes an episode of B, which causes one of C: a chain of 20, 100 and 30 ms.
fn chain() -> Vec<Episode> {
    episodes(vec![
        (100, gets(A, 1, 99)),
        (120, sends(A, 2, Some(5))),
        (121, gets(B, 1, 5)),
        (221, sends(B, 2, Some(6))),
        (222, gets(C, 1, 6)),
        (252, sends(C, 2, None)),
        (1000, sends(A, 3, None)),
    ])
}

#[test]
fn effects_of_an_action_count_once_in_every_view() {
    let report = |options: EpisodeOptions| {
        let mut findings = Findings::new(&options);
        chain().iter().for_each(|one| findings.add(one));
        EpisodesReport::new("trace.mcap", &TraceSummary::default(), &findings)
    };
    let all = report(EpisodeOptions::default());
    // 152 ms with B and C. A's later request took no time.
    assert_eq!((all.summary.count, all.summary.perceptible), (2, 1));
    let hundred = all.distribution.iter().find(|of| of.at_least_ms == 100.0);
    assert_eq!(hundred.map(|of| of.count), Some(1));
    let sums = [
        all.summary.latency_ms,
        all.landmarks.iter().map(|of| of.total_ms).sum(),
        all.groups.iter().map(|of| of.total_ms).sum(),
        all.patterns.iter().map(|of| of.total_ms).sum(),
        all.durations.iter().map(|of| of.total_ms).sum(),
    ];
    assert_eq!(sums, [152.0; 5]);
    assert_eq!(all.patterns[0].max_ms, 152.0);
    let own = all.episodes.iter().filter(|of| of.led_to_by.is_none());
    assert_eq!(own.count(), 2);
    for of in &all.episodes {
        let parts = &of.parts;
        let client = parts.waiting_ms + parts.client_ms + parts.off_cpu_ms + parts.server_ms;
        let sum = client + parts.network_ms + parts.other_clients_ms;
        assert!((sum - of.latency_ms).abs() < 1e-9, "{of:?}");
        assert_eq!(of.perceptible, of.client == A.0 && of.latency_ms > 100.0);
    }
    // With client B selected, B's episode is reported.
    let of_b = report(EpisodeOptions {
        client: Some(B.0.to_string()),
        ..EpisodeOptions::default()
    });
    assert_eq!((of_b.summary.count, of_b.summary.perceptible), (1, 1));
}

#[test]
fn caused_episodes_are_children_of_their_cause() {
    let all = chain();
    let root = of(&all, A);
    assert_eq!((root.of_client() / MS, root.latency() / MS), (20, 152));
    let [b] = root.children.as_slice() else {
        panic!("{:?}", root.children)
    };
    assert_eq!(
        (b.client, b.request),
        (Some(B), Some(Symbol::new("MapWindow")))
    );
    assert_eq!(
        (b.start.as_nanos() / MS, b.latency / MS, b.exclusive / MS),
        (121, 131, 100)
    );
    let [c] = b.children.as_slice() else {
        panic!("{b:?}")
    };
    assert_eq!(
        (c.client, c.latency / MS, c.children.len()),
        (Some(C), 30, 0)
    );
    // B and C also have their own episodes.
    assert_eq!(
        (of(&all, B).of_client() / MS, of(&all, C).of_client() / MS),
        (100, 30)
    );
}

#[test]
fn critical_path_sums_to_latency_and_longest_is_blamed() {
    let all = chain();
    let root = of(&all, A);
    let path: Vec<(u32, u64)> = root
        .path
        .iter()
        .map(|one| (one.client.0, one.nanos / MS))
        .collect();
    // Each delivery through the server takes a millisecond.
    assert_eq!(path, [(1, 20), (2, 1), (2, 100), (3, 1), (3, 30)]);
    let sum: u64 = root.path.iter().map(|one| one.nanos).sum();
    assert_eq!(sum, root.latency());
    let blame = Blame::most(root).unwrap();
    assert_eq!((blame.kind, blame.client), (BlameKind::OtherClient, B));
    assert_eq!(blame.request, Some(Symbol::new("MapWindow")));
}

#[test]
fn delayed_event_is_blamed_on_server_cpu_wait() {
    let all = episodes(vec![
        server(10, SwitchKind::Blocked),
        (100, gets(A, 1, 99)),
        (120, sends(A, 2, Some(5))),
        server(180, SwitchKind::In),
        (182, gets(B, 1, 5)),
        server(183, SwitchKind::Blocked),
        (192, sends(B, 2, None)),
        server(192, SwitchKind::In),
        server(193, SwitchKind::Blocked),
        (1000, sends(A, 3, None)),
    ]);
    let root = of(&all, A);
    let path: Vec<(LatencyComponent, u64)> = root
        .path
        .iter()
        .map(|one| (one.owner, one.nanos / MS))
        .collect();
    let server = LatencyComponent::Server;
    let expected = [
        (LatencyComponent::Client, 20),
        (server(ServerCause::Processor), 60),
        (server(ServerCause::Reply), 2),
        (LatencyComponent::Client, 10),
        (server(ServerCause::Drawing), 1),
    ];
    assert_eq!(path, expected);
    let blame = Blame::most(root).unwrap();
    assert_eq!((blame.kind, blame.client), (BlameKind::ServerProcessor, A));
}

/// The episodes of a key of A, whose request at 120 ms arrives while a client has grabbed the server.
fn drawn_during_a_grab(by: ConnectionId, until: Option<u64>, window: Option<u32>) -> Vec<Episode> {
    let mut all = vec![
        (100, gets(A, 1, 99)),
        (110, TimelineEvent::Grabbed(Some(by))),
        (120, sends(A, 2, window)),
    ];
    all.extend(until.map(|time| (time, TimelineEvent::Grabbed(None))));
    if window.is_some() {
        all.extend([(421, gets(B, 1, 5)), (431, sends(B, 2, None))]);
    }
    all.push((1000, sends(A, 3, None)));
    episodes(all)
}

#[test]
fn grab_holds_up_the_last_drawing() {
    let held = |by, until| {
        let all = drawn_during_a_grab(by, until, None);
        let root = of(&all, A);
        let grabbed = root
            .parts
            .of(LatencyComponent::Server(ServerCause::Grabbed));
        (root.latency() / MS, grabbed / MS)
    };
    assert_eq!(held(C, Some(420)), (320, 300));
    // A client's own grab does not hold up its requests, and an earlier grab is over.
    assert_eq!(held(A, Some(420)), (20, 0));
    assert_eq!(held(C, Some(119)), (20, 0));
    // The grab is active until the recording ends.
    assert_eq!(held(C, None), (9_900, 9_880));
}

#[test]
fn grab_is_blamed_for_late_effects_in_other_clients() {
    for window in [None, Some(5)] {
        let all = drawn_during_a_grab(C, Some(420), window);
        let root = of(&all, A);
        let path: Vec<(LatencyComponent, u64)> = root
            .path
            .iter()
            .map(|one| (one.owner, one.nanos / MS))
            .collect();
        let server = LatencyComponent::Server;
        let expected = [
            (LatencyComponent::Client, 20),
            (server(ServerCause::Grabbed), 300),
            (server(ServerCause::Reply), 1),
            (LatencyComponent::Client, 10),
        ];
        let length = if window.is_some() { 4 } else { 2 };
        assert_eq!(path, expected[..length]);
        let blame = Blame::most(root).unwrap();
        assert_eq!((blame.kind, blame.client), (BlameKind::Grab, C));
        assert_eq!((blame.request, blame.nanos), (None, 300 * MS));
    }
}

#[test]
fn unrelated_window_or_later_event_is_no_child() {
    let apart = |window, time| {
        let all = episodes(vec![
            (100, gets(A, 1, 99)),
            (120, sends(A, 2, Some(5))),
            // A reply or an event of a later request shows that the server had handled the request.
            (130, gets(A, 3, 98)),
            (time, gets(B, 1, window)),
            (time + 10, sends(B, 2, None)),
        ]);
        of(&all, A).children.is_empty()
    };
    assert_eq!(
        [apart(5, 125), apart(6, 125), apart(5, 400)],
        [false, true, true]
    );
}

#[test]
fn endless_exchange_of_three_clients_splits_into_many_trees() {
    let mut all = Vec::new();
    for n in 0..400_u32 {
        let (who, time) = ([A, B, C][n as usize % 3], 100 + 100 * u64::from(n));
        all.push((time, gets(who, u64::from(n) + 1, n)));
        all.push((time + 99, sends(who, u64::from(n) + 2, Some(n + 1))));
    }
    let all = episodes(all);
    let with: Vec<usize> = all
        .iter()
        .filter(|one| !one.is_led_to())
        .map(|one| one.children.len())
        .collect();
    assert!(all.len() > 300, "{}", all.len());
    assert!(with.len() > 4, "{with:?}");
}

#[test]
fn steps_of_an_endless_exchange_of_two_clients_are_no_episodes() {
    let mut all = Vec::new();
    for n in 0..400_u32 {
        let (who, time) = ([A, B][n as usize % 2], 100 + 100 * u64::from(n));
        all.push((time, gets(who, u64::from(n) + 1, n)));
        all.push((time + 99, sends(who, u64::from(n) + 2, Some(n + 1))));
    }
    let all = episodes(all);
    assert!(all.len() < 20, "{}", all.len());
}

/// A client draws, sends a request immediately, and receives the reply after `takes` milliseconds. Returns the request
/// that the server is blamed for.
fn drawing_before_a_question(takes: u64) -> Option<Symbol> {
    let number = SequenceNumber;
    let blocks = |draws: bool| SentRequests {
        requests: 2,
        first: Some(number(2)),
        questions: vec![(number(3), Symbol::new("GetProperty"))],
        drawing: draws.then(|| (number(2), number(2))),
        draws,
        ..SentRequests::default()
    };
    let answer = Delivery {
        answered: vec![number(3)],
        handled: Some(number(3)),
        ..Delivery::default()
    };
    let all = episodes(vec![
        (100, gets(A, 1, 99)),
        (100, TimelineEvent::Sent(A, blocks(true))),
        (100 + takes, TimelineEvent::Delivered(A, answer)),
        (100 + takes, sends(A, 4, None)),
    ]);
    let root = of(&all, A);
    let blame = Blame::most(root).unwrap();
    assert_eq!((blame.kind, blame.client), (BlameKind::Server, A));
    blame.request
}

#[test]
fn round_trip_excludes_earlier_drawing() {
    assert_eq!(drawing_before_a_question(40), None);
    // A delay that a round trip can have.
    assert_eq!(
        drawing_before_a_question(2),
        Some(Symbol::new("GetProperty"))
    );
}

#[test]
fn unsolicited_event_joins_the_awaited_event_after_it() {
    let asked = |first_sign: Option<u32>, drawn: bool| {
        let (_, TimelineEvent::Delivered(_, mut delivery)) = (121, gets(B, 1, 5)) else {
            unreachable!("it is delivered");
        };
        let mut first = delivery.events[0].clone();
        first.stimulus.trigger = Trigger::Asynchronous;
        first.stimulus.name = Symbol::new("MappingNotify");
        first.about = EpisodeLabel::alone("MappingNotify");
        first.causal_keys = first_sign.map(causal_key).into_iter().collect();
        delivery.events.insert(0, first);
        if drawn {
            let mut expose = delivery.events[1].clone();
            expose.stimulus.name = Symbol::new("Expose");
            (expose.about, expose.causal_keys) = (EpisodeLabel::alone("Expose"), Vec::new());
            delivery.events.insert(1, expose);
        }
        let all = episodes(vec![
            (100, gets(A, 1, 99)),
            (120, sends(A, 2, Some(5))),
            (121, TimelineEvent::Delivered(B, delivery)),
            (221, sends(B, 2, None)),
            (1000, sends(A, 3, None)),
        ]);
        let of_b = all.iter().filter(|one| one.client == B);
        let mut of_b: Vec<(String, u64)> = of_b
            .map(|one| (one.landmark.to_string(), one.events))
            .collect();
        of_b.sort_unstable();
        let brief = of_b.iter().map(|(name, events)| format!("{name} {events}"));
        brief.collect::<Vec<_>>().join(", ")
    };
    assert_eq!(asked(None, false), "MapRequest 2");
    // An event that requires drawing comes after MappingNotify.
    assert_eq!(asked(None, true), "Expose 1, MapRequest 2");
    // The MappingNotify was also caused by a request.
    assert_eq!(asked(Some(5), false), "MapRequest 1, MappingNotify 1");
}

#[test]
fn effects_of_an_invisible_client_are_root_episodes() {
    let mut audience = VisibleClients::default();
    for client in [B, C] {
        audience.happened(&TimelineEvent::Joined(client));
    }
    chain().into_iter().for_each(|one| audience.take(one));
    assert_eq!(audience.finish(), 2);
    let found = audience.ready.iter();
    let found: Vec<_> = found
        .map(|one| (one.client, one.is_led_to(), one.latency() / MS))
        .collect();
    assert_eq!(found, [(B, false, 131), (C, true, 30)]);
}

#[test]
fn caused_episodes_of_an_invisible_client_are_omitted() {
    let mut audience = VisibleClients::default();
    for client in [A, B] {
        audience.happened(&TimelineEvent::Joined(client));
    }
    let (all, of_c) = (chain(), |one: &&Episode| one.client == C);
    let left_out = all.iter().filter(of_c).count() as u64;
    all.into_iter().for_each(|one| audience.take(one));
    assert_eq!(audience.finish(), left_out);
    let found = audience.ready.iter();
    let found: Vec<_> = found.map(|one| (one.client, one.is_led_to())).collect();
    assert!(left_out > 0 && found.iter().all(|(client, _)| *client != C));
    assert!(found.contains(&(B, true)), "{found:?}");
}
