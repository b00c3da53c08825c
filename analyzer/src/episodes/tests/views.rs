//! The views of one session must agree with each other for all options.

use x11prof_trace::{Block, ConnectionId, Direction, Opened};

use super::*;
use crate::episodes::EpisodesReport;
use crate::recording::trace_summary::TraceSummary;

/// Clients besides the first one, which have no process.
const OTHERS: u32 = 4;

fn report(trace: &Synthetic, options: &EpisodeOptions) -> EpisodesReport {
    let (mut episodes, mut pipeline) = (Episodes::new(options), Pipeline::new());
    let mut summary = TraceSummary::default();
    pipeline.run_records(trace.records.iter().cloned(), |observation| {
        summary.observe(observation);
        episodes.observe(observation);
    });
    EpisodesReport::new("trace.mcap", &summary, &episodes.finish())
}

/// One client with a full trace and four clients that respond seconds later at the same time, each to one key press.
fn session() -> Synthetic {
    let mut trace = Synthetic::new();
    let connecting: Vec<Record> = trace.records.clone();
    for client in 2..2 + OTHERS {
        trace
            .records
            .extend(connecting.iter().filter_map(|record| of(record, client)));
    }
    for client in 2..2 + OTHERS {
        let offset = 80;
        other(
            &mut trace,
            client,
            100,
            Direction::ToClient,
            offset,
            &key_press(0, 0),
        );
        other(
            &mut trace,
            client,
            1100 + 10 * u64::from(client),
            Direction::ToServer,
            12,
            &poly_fill_rectangle(1),
        );
    }
    trace.wait(1300 * MS).server_sends(&[key_press(0, 0)]);
    trace.wait(30 * MS).client_sends(&[get_input_focus()]);
    trace.wait(20 * MS).server_sends(&[reply(1)]);
    trace.wait(10 * MS).client_sends(&[poly_fill_rectangle(1)]);
    trace.wait(200 * MS).server_sends(&[expose(2)]);
    trace.wait(5 * MS).client_sends(&[poly_fill_rectangle(1)]);
    trace.wait(200 * MS).end();
    trace
}

fn of(record: &Record, client: u32) -> Option<Record> {
    match record.clone() {
        Record::Block(block) => Some(Record::Block(Block {
            connection: ConnectionId(client),
            ..block
        })),
        Record::Control(time, Control::Opened(opened)) => {
            let opened = Opened {
                connection: ConnectionId(client),
                pid: None,
                ..opened
            };
            Some(Record::Control(time, Control::Opened(opened)))
        }
        _ => None,
    }
}

fn other(
    trace: &mut Synthetic,
    client: u32,
    millis: u64,
    direction: Direction,
    offset: u64,
    bytes: &[u8],
) {
    trace.records.push(Record::Block(Block {
        time: Timestamp::from_nanos(1_000_000_000 + millis * 1_000_000),
        connection: ConnectionId(client),
        direction,
        offset,
        wire_len: bytes.len() as u32,
        fds: 0,
        gaps: Vec::new(),
        bytes: bytes.to_vec().into(),
    }));
}

/// Checks the rules for every report.
fn consistent(report: &EpisodesReport) {
    let near = |a: f64, b: f64| (a - b).abs() < 1e-3;
    let (summary, think) = (&report.summary, &report.think_and_wait);
    assert!(summary.in_episode_percent <= 100.0, "{summary:?}");
    assert!(
        summary.in_episode_ms <= summary.end_to_end_ms + 1e-6,
        "{summary:?}"
    );
    assert!(
        summary.in_episode_ms <= summary.latency_ms + 1e-6,
        "{summary:?}"
    );
    assert!(
        think.wait_ms <= summary.in_episode_ms + 1e-6,
        "{think:?} {summary:?}"
    );
    assert!(
        near(think.wait_ms + think.think_ms, summary.end_to_end_ms),
        "{think:?}"
    );
    // The user's wait is between the longest episode and the sum of all episodes.
    let input = report.episodes.iter().filter(|one| one.trigger == "input");
    let (most, sum) = input.fold((0.0_f64, 0.0), |(most, sum), one| {
        (most.max(one.latency_ms), sum + one.latency_ms)
    });
    assert!(
        think.wait_ms >= most - 1e-6 && think.wait_ms <= sum + 1e-6,
        "{think:?}"
    );
    // A client is busy exactly during its episodes.
    let busy = think.states.iter().filter(|state| state.busy);
    let busy: f64 = busy.map(|state| state.time_ms).sum();
    let handled = report.episodes.iter().map(|one| {
        let phases = &one.phases;
        one.latency_ms - phases.input_delay_ms - phases.presentation_delay_ms
    });
    let network: f64 = report.episodes.iter().map(|one| one.parts.network_ms).sum();
    assert!(near(busy, handled.sum::<f64>() - network), "{think:?}");
    let landmarks: f64 = report.landmarks.iter().map(|one| one.total_ms).sum();
    assert!(near(landmarks, summary.latency_ms), "{summary:?}");
    // Each episode belongs to one pattern, and each instant of it to one location.
    let patterns = &report.patterns;
    assert_eq!(
        patterns.iter().map(|of| of.count).sum::<u64>(),
        summary.count
    );
    let perceptible = patterns.iter().map(|of| of.perceptible).sum::<u64>();
    assert_eq!(perceptible, summary.perceptible);
    let total: f64 = patterns.iter().map(|of| of.total_ms).sum();
    assert!(near(total, summary.latency_ms), "{patterns:?}");
    for of in patterns {
        let places: f64 = of.locations.iter().map(|one| one.ms).sum();
        assert!(near(places, of.total_ms), "{of:?}");
        let these = report
            .episodes
            .iter()
            .filter(|one| one.pattern == of.pattern);
        assert_eq!(these.count() as u64, of.count);
        assert!(
            of.min_ms <= of.median_ms && of.median_ms <= of.max_ms,
            "{of:?}"
        );
        assert!(of.exclusive_ms <= of.total_ms, "{of:?}");
    }
    // The time series shows the same session; added network time is not part of it.
    let series = &report.series;
    assert_eq!(series.episodes.iter().sum::<u64>(), summary.count);
    let longest = series.longest_ms.iter().copied().fold(0.0, f64::max);
    let most = report.episodes.iter().map(|one| one.latency_ms);
    assert!(near(longest, most.fold(0.0, f64::max)), "{longest}");
    let waited: f64 = series.waiting_percent.iter().sum::<f64>() / 100.0 * series.step_ms;
    assert!(waited <= think.wait_ms + 1e-3, "{waited} {think:?}");
    if network == 0.0 {
        assert!(near(waited, think.wait_ms), "{waited} {think:?}");
    }
    assert!(summary.long_per_minute.is_none_or(|per_minute| {
        near(
            per_minute * summary.in_episode_ms / 60_000.0,
            summary.from_100_ms as f64,
        )
    }));
}

#[test]
fn all_views_are_consistent_under_filters() {
    let trace = session();
    let all = EpisodeOptions::default();
    let whole = report(&trace, &all);
    consistent(&whole);
    // Five clients wait at the same time, a second each, in a session of less than two seconds.
    assert!(whole.summary.latency_ms > 4000.0, "{:?}", whole.summary);
    assert!(whole.summary.in_episode_ms < 1300.0, "{:?}", whole.summary);
    for options in [
        EpisodeOptions {
            landmark: Some("Expose".to_owned()),
            ..all.clone()
        },
        EpisodeOptions {
            landmark: Some("KeyPress".to_owned()),
            ..all.clone()
        },
        EpisodeOptions {
            client: Some("3".to_owned()),
            ..all.clone()
        },
        EpisodeOptions {
            link: over(&trace, "100KB/s,500ms"),
            ..all.clone()
        },
    ] {
        consistent(&report(&trace, &options));
    }
}

#[test]
fn think_and_wait_follow_the_landmark_filter() {
    let trace = session();
    let of = |landmark: Option<&str>| {
        let options = EpisodeOptions {
            landmark: landmark.map(str::to_owned),
            ..EpisodeOptions::default()
        };
        report(&trace, &options).think_and_wait
    };
    let expose = of(Some("Expose"));
    assert_eq!(expose.wait_ms, 0.0);
    let busy: Vec<f64> = expose
        .states
        .iter()
        .filter(|state| state.busy)
        .map(|state| state.time_ms)
        .collect();
    assert_eq!(busy, [5.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]);
    assert_eq!(of(Some("KeyPress")).wait_ms, of(None).wait_ms);
}

#[test]
fn slow_key_forms_a_separate_pattern() {
    let mut trace = Synthetic::new();
    let mut sent = 0;
    let mut typed = |code: u8, asks: bool, after_ms: u64| {
        let mut press = key_press(sent, 0);
        press[1] = code;
        trace.wait(1000 * MS).server_sends(&[press]);
        trace.wait(after_ms * MS);
        if asks {
            sent += 1;
            trace.client_sends(&[get_input_focus()]);
            trace.wait(MS).server_sends(&[reply(sent)]);
        }
        sent += 1;
        trace.client_sends(&[poly_fill_rectangle(1)]);
    };
    const F: u8 = 41;
    const C: u8 = 54;
    // Key f draws, or requests and then draws, as key c does. c is slow both times, f once.
    for (code, asks, after_ms) in [
        (F, false, 5),
        (F, true, 5),
        (C, false, 300),
        (F, false, 200),
        (C, true, 400),
        (F, true, 5),
        (F, false, 5),
    ] {
        typed(code, asks, after_ms);
    }
    trace.wait(1000 * MS).end();
    let report = report(&trace, &EpisodeOptions::default());
    let of = |pattern: &crate::PatternReport| (pattern.count, pattern.perceptible, pattern.slow);
    // The last is the start of the program.
    let found: Vec<_> = report.patterns.iter().take(3).map(of).collect();
    assert_eq!(found, [(2, 2, "always"), (3, 1, "once"), (2, 0, "never")]);
    let slow = &report.patterns[0];
    assert_eq!(slow.landmark.as_deref(), Some("KeyPress keycode 54"));
    assert!(slow.shape.starts_with("KeyPress keycode 54 (drawing"));
    let other = report.patterns[1].landmark.as_deref();
    assert_eq!(other, Some("KeyPress keycode 41"));
    consistent(&report);
}

#[test]
fn in_episode_time_is_within_the_selected_range() {
    let trace = session();
    let of = report(
        &trace,
        &EpisodeOptions {
            to_s: Some(0.5),
            ..EpisodeOptions::default()
        },
    );
    assert!(of.summary.count > 0, "{:?}", of.summary);
    assert!(of.summary.in_episode_ms <= 500.0, "{:?}", of.summary);
}

#[test]
fn outliers_are_reported_and_queued_keys_blame_the_queue() {
    let mut trace = Synthetic::new();
    for key in 1..=40 {
        trace.wait(1000 * MS).server_sends(&[key_press(key - 1, 0)]);
        let slow = key % 10 == 0;
        if slow {
            // The next key press arrives meanwhile.
            trace.wait(20 * MS).server_sends(&[key_press(key - 1, 0)]);
            trace.wait(80 * MS).client_sends(&[poly_fill_rectangle(1)]);
        }
        trace.wait(MS).client_sends(&[poly_fill_rectangle(1)]);
    }
    trace.wait(1000 * MS).end();
    let of = |threshold: f64| {
        let options = EpisodeOptions {
            thresholds: crate::Thresholds::parse(&threshold.to_string()).unwrap(),
            ..EpisodeOptions::default()
        };
        report(&trace, &options)
    };
    let found = of(150.0);
    assert_eq!(found.summary.perceptible, 0);
    let far = &found.outliers[0];
    assert_eq!(
        (far.group.as_str(), far.count, far.actions),
        ("Typing", 4, 44)
    );
    // Two actions of each tenth.
    assert_eq!(far.every, Some(11));
    assert_eq!((far.min_ms, far.max_ms, far.usual_ms), (100.0, 100.0, 1.0));
    let slow = of(50.0).episodes;
    let blamed = slow.iter().filter_map(|one| {
        let (from, to) = one.handled;
        Some((one.blame.as_ref()?.kind, (to - from) / 1_000_000))
    });
    let blamed: Vec<_> = blamed.collect();
    assert_eq!(blamed, [("client", 100), ("queue", 1)].repeat(4));
}

#[test]
fn burst_frames_fit_in_the_burst_on_any_network() {
    let mut all = Scheduled::new();
    for frame in 0..40 {
        let begins = (100 + 20 * frame) * MS;
        all.at(begins)
            .server_sends(&[key_press(1 + frame as u16, 0)]);
        all.client(begins, SwitchKind::In);
        all.at(begins + 4 * MS)
            .client_sends(&[poly_fill_rectangle(1)]);
        all.client(begins + 5 * MS, SwitchKind::Blocked);
        all.waits(begins + 5 * MS, POLL);
    }
    let trace = all.trace;
    for link in [None, over(&trace, "100KB/s,200ms")] {
        let options = EpisodeOptions {
            link,
            ..EpisodeOptions::default()
        };
        let bursts = report(&trace, &options).bursts;
        assert!(!bursts.is_empty());
        for of in bursts {
            let frames = of.frames as f64 * of.mean_ms;
            assert!(frames <= of.duration_ms + 1e-6, "{of:?}");
        }
    }
}
