//! Runs of a few microseconds with exact shares.

use std::collections::BTreeMap;

use x11prof_cost_model::Micros;
use x11prof_protocol::SequenceNumber;
use x11prof_trace::{ConnectionId, HandlerTime, Timestamp};

use super::{Attribution, AttributionKey, Evidence, Source, Work};
use crate::server_time::share::Share;
use crate::threads::thread_states::Step;

const SERVER: u32 = 7;
const WAKEUP: char = 'w';

impl AttributionKey for char {
    /// Every key has the same kind, so that only costs determine the attribution.
    fn kind(self) -> char {
        'k'
    }
}

/// An attribution of runs between these microseconds. A wait precedes the first run.
fn with(runs: &[(u64, u64)]) -> Attribution<char> {
    let mut attribution = Attribution::of(SERVER);
    attribution.captured(true);
    for &(from, to) in runs {
        attribution.steps(&Step::run(SERVER, from * 1000, to * 1000));
    }
    attribution
}

impl Attribution<char> {
    fn request(&mut self, micros: u64, key: char, cost: f64) {
        self.one(micros, Evidence::In, Some(key), Some(Micros(cost)));
    }

    fn one(&mut self, micros: u64, came: Evidence, key: Option<char>, cost: Option<Micros>) {
        let work = Work {
            at: micros * 1000,
            came,
            key,
            cost,
            question: None,
        };
        self.work(work, 1);
    }

    /// The handler of client 1's request used this many microseconds of CPU.
    fn joined(&mut self, sequence: u64, micros: u64, took: u64) {
        let request = (ConnectionId(1), SequenceNumber(sequence));
        let start = Timestamp::from_nanos(micros * 1000);
        self.handled_request(request, 1, (start, took as f64 * 1000.0));
    }

    /// A request that has a reply, or its reply.
    fn question(&mut self, micros: u64, came: Evidence, key: char) {
        let work = Work {
            at: micros * 1000,
            came,
            key: Some(key),
            cost: Some(Micros(5.0)),
            question: Some((ConnectionId(1), SequenceNumber(1))),
        };
        self.work(work, 1);
    }

    /// Microseconds of each key by `now`; a wake-up costs 5.
    fn settled(&mut self, micros: u64) -> BTreeMap<char, f64> {
        let mut all = BTreeMap::new();
        let wakeup = |_| Micros(5.0);
        self.settle(
            micros * 1000,
            wakeup,
            |_| WAKEUP,
            |key, share: Share| {
                *all.entry(key).or_default() += share.time.0;
            },
        );
        self.finish(|key, share: Share| {
            *all.entry(key).or_default() += share.time.0;
        });
        all
    }
}

#[test]
fn run_is_attributed_in_proportion_to_costs() {
    let mut attribution = with(&[(100, 140), (10_000, 10_030)]);
    attribution.request(90, 'a', 10.0);
    attribution.request(95, 'b', 5.0);
    assert_eq!(
        attribution.settled(1000),
        BTreeMap::from([('a', 20.0), ('b', 10.0), (WAKEUP, 10.0)])
    );
    attribution.request(9_990, 'b', 5.0);
    assert_eq!(
        attribution.settled(20_000),
        BTreeMap::from([('b', 15.0), (WAKEUP, 15.0)])
    );
}

#[test]
fn keys_of_one_run_are_bounded() {
    let mut attribution = with(&[(100, 140)]);
    for key in (0..100_000).filter_map(char::from_u32) {
        attribution.request(90, key, 10.0);
    }
    let shares = attribution.settled(1000);
    assert!((60_000..70_000).contains(&shares.len()), "{}", shares.len());
    assert!((shares.values().sum::<f64>() - 40.0).abs() < 1e-6);
    assert!(shares[&'k'] > 10.0);
}

#[test]
fn timed_request_uses_handler_time_and_costs_split_the_rest() {
    let mut attribution = with(&[(100, 140), (160, 200)]);
    attribution.time_handlers();
    let handled = |sequence, micros: u64, took: u64| HandlerTime {
        start: Timestamp::from_nanos(micros * 1000),
        took_ns: took * 1000,
        client: 2,
        sequence,
        count: 1,
    };
    for (sequence, key) in [(1, 'a'), (2, 'b'), (3, 'c')] {
        let work = Work {
            at: 90_000,
            came: Evidence::In,
            key: Some(key),
            cost: Some(Micros(1.0)),
            question: None,
        };
        attribution.timed_request(work, (ConnectionId(1), SequenceNumber(sequence)), 1);
    }
    attribution.one(90, Evidence::In, Some('r'), Some(Micros(5.0)));
    // The second waits for a disk from 140 to 160. The third was not timed. Another client is not recorded.
    let other = HandlerTime {
        client: 3,
        ..handled(9, 195, 1)
    };
    attribution.handled(&[handled(1, 105, 10), handled(2, 120, 70), other]);
    attribution.joined(1, 105, 10);
    attribution.joined(2, 120, 50);
    attribution.handled_unrecorded(other.start, 1000.0);
    let all = attribution.settled(20_000);
    assert_eq!(
        all,
        BTreeMap::from([('a', 10.0), ('b', 50.0), ('r', 5.0), (WAKEUP, 5.0)])
    );
    // The other client's handler, and the rest of a run that no message explains.
    assert_eq!(attribution.unattributed().share.time, Micros(1.0 + 9.0));
}

#[test]
fn handler_spanning_a_reset_counts_from_the_reset() {
    let mut attribution = with(&[(100, 140)]);
    attribution.time_handlers();
    attribution.start_afresh();
    attribution.steps(&Step::run(SERVER, 160_000, 200_000));
    let took = |start: u64, took: u64| HandlerTime {
        start: Timestamp::from_nanos(start * 1000),
        took_ns: took * 1000,
        client: 1,
        sequence: 1,
        count: 1,
    };
    // The second handler is reported when it ends; 20 µs of it were before the part.
    attribution.handled(&[took(110, 5), took(120, 70)]);
    for (start, nanos) in [(110_000, 5000.0), (120_000, 50_000.0)] {
        attribution.handled_unrecorded(Timestamp::from_nanos(start), nanos);
    }
    attribution.settled(20_000);
    // 30 µs of a client that is not recorded, and 10 µs that no message explains.
    assert_eq!(attribution.unattributed().share.time, Micros(30.0 + 10.0));
    assert_eq!(attribution.overdrawn, Micros::ZERO);
}

#[test]
fn handlers_after_the_last_switch_belong_to_the_next_part() {
    let mut attribution = with(&[(100, 140)]);
    attribution.time_handlers();
    let took = |start: u64, took: u64| HandlerTime {
        start: Timestamp::from_nanos(start * 1000),
        took_ns: took * 1000,
        client: 3,
        sequence: 1,
        count: 1,
    };
    // The server's run continues after the end of the part and belongs to the next part.
    attribution.handled(&[took(110, 5), took(150, 10)]);
    attribution.handled_unrecorded(Timestamp::from_nanos(110_000), 5000.0);
    attribution.end();
    attribution.handled_unrecorded(Timestamp::from_nanos(150_000), 10_000.0);
    attribution.settled(20_000);
    assert_eq!(attribution.unattributed().share.time, Micros(40.0));
}

#[test]
fn handlers_are_limited_to_the_last_run_of_a_part() {
    let mut attribution = with(&[(100, 140)]);
    attribution.time_handlers();
    let took = |sequence, start: u64, took: u64| HandlerTime {
        start: Timestamp::from_nanos(start * 1000),
        took_ns: took * 1000,
        client: 1,
        sequence,
        count: 1,
    };
    let request = |attribution: &mut Attribution<char>, sequence, key| {
        let work = Work {
            at: 90_000,
            came: Evidence::In,
            key: Some(key),
            cost: None,
            question: None,
        };
        attribution.timed_request(work, (ConnectionId(1), SequenceNumber(sequence)), 1);
    };
    request(&mut attribution, 1, 'a');
    request(&mut attribution, 2, 'b');
    // Handlers up to 20 µs are not checked against the switches.
    attribution.handled(&[took(1, 105, 20), took(2, 110, 30)]);
    attribution.joined(1, 105, 20);
    attribution.joined(2, 110, 30);
    attribution.end();
    let all = attribution.settled(20_000);
    assert!(all.values().sum::<f64>() <= 40.0 + 1e-9, "{all:?}");
}

#[test]
fn later_runs_compensate_for_a_late_handler_report() {
    let mut attribution = with(&[(100, 140), (160, 200), (20_000, 20_050)]);
    attribution.time_handlers();
    attribution.one(90, Evidence::In, Some('r'), Some(Micros(5.0)));
    let first = attribution.settled(19_000);
    let took = HandlerTime {
        start: Timestamp::from_nanos(110_000),
        took_ns: 80_000,
        client: 1,
        sequence: 1,
        count: 1,
    };
    attribution.handled(&[took]);
    attribution.handled_unrecorded(took.start, 60_000.0);
    attribution.one(19_990, Evidence::In, Some('r'), Some(Micros(5.0)));
    let rest = attribution.settled(30_000);
    // The handler ran for 60 µs, of which the third run's 50 µs can compensate.
    let all: f64 = first.values().chain(rest.values()).sum();
    let ran = 40.0 + 40.0 + 50.0;
    assert_eq!(attribution.overdrawn, Micros(10.0));
    let credited = all + attribution.unattributed().share.time.0;
    assert_eq!(credited, ran + 10.0);
    // No run follows: the times of all requests add up to the runs'.
    attribution.end();
    let credited = Share {
        time: Micros(credited),
        stretches: 3.0,
    };
    let rate = attribution.rate(credited).unwrap();
    assert!((rate.time(credited).0 - ran).abs() < 1e-9, "{rate:?}");
}

#[test]
fn equal_simultaneous_work_is_coalesced_and_counted() {
    let mut attribution = with(&[(100, 140)]);
    for _ in 0..10 {
        attribution.request(90, 'a', 1.0);
        attribution.request(90, 'b', 0.5);
    }
    attribution.request(91, 'b', 20.0);
    let waiting = attribution.waiting.iter().map(|(_, times)| *times);
    assert_eq!(waiting.collect::<Vec<_>>(), [10, 10, 1]);
    assert_eq!(
        attribution.settled(1000),
        BTreeMap::from([('a', 10.0), ('b', 25.0), (WAKEUP, 5.0)])
    );
    assert!(attribution.waiting.is_empty());
}

#[test]
fn unexplained_run_is_unattributed() {
    let mut attribution = with(&[(100, 140), (10_000, 10_030), (10_040, 10_050)]);
    attribution.request(90, 'a', 15.0);
    // The first run wrote it, but it was read late.
    attribution.one(
        150,
        Evidence::CompletedRequest,
        Some('r'),
        Some(Micros(20.0)),
    );
    // The request arrived during the second run; the third run, which no other work explains, handles it.
    attribution.request(9_990, 'a', 5.0);
    attribution.request(10_025, 'b', 5.0);
    let settled = attribution.settled(20_000);
    assert_eq!(settled[&'r'], 20.0);
    assert_eq!(settled[&'b'], 5.0);
    assert_eq!(attribution.unattributed().runs, 0);

    let mut attribution = with(&[(100, 140), (10_000, 10_030)]);
    attribution.request(90, 'a', 15.0);
    attribution.settled(20_000);
    let own = attribution.unattributed();
    assert_eq!((own.runs, own.share.time), (1, Micros(30.0)));
}

#[test]
fn late_request_stays_in_its_run_if_the_next_is_explained() {
    let mut attribution = with(&[(100, 400), (410, 420)]);
    attribution.request(90, 'a', 5.0);
    attribution.request(390, 'b', 5.0);
    attribution.request(405, 'c', 5.0);
    let settled = attribution.settled(1000);
    assert_eq!((settled[&'b'], settled[&'c']), (100.0, 5.0));
}

#[test]
fn start_of_a_long_request_is_attributed_at_its_end() {
    let mut attribution = with(&[(100, 140), (1_000, 1_010)]);
    attribution.one(90, Evidence::In, None, None);
    attribution.request(990, 'a', 5.0);
    let settled = attribution.settled(2_000);
    assert_eq!(settled[&'a'] + settled[&WAKEUP], 50.0);
}

#[test]
fn runs_before_the_reply_belong_to_the_request() {
    // The server waits for a disk twice before it replies.
    let mut attribution = with(&[(100, 110), (1_000, 1_040), (2_000, 2_010), (9_000, 9_030)]);
    attribution.question(90, Evidence::In, 'a');
    attribution.question(2_005, Evidence::CompletedRequest, 'r');
    let settled = attribution.settled(20_000);
    assert_eq!(settled[&'a'], 5.0 + 40.0 + 5.0);
    assert_eq!((settled[&'r'], settled[&WAKEUP]), (5.0, 5.0));
    let own = attribution.unattributed();
    assert_eq!((own.runs, own.share.time), (1, Micros(30.0)));
}

#[test]
fn work_without_cost_data_gets_the_mean_weight() {
    let mut attribution = with(&[(100, 150)]);
    attribution.request(80, 'a', 2.0);
    attribution.request(81, 'a', 8.0);
    attribution.one(82, Evidence::In, Some('u'), None);
    let settled = attribution.settled(1000);
    assert_eq!((settled[&'a'], settled[&'u']), (25.0, 12.5));
}

#[test]
fn cpu_clock_alone_is_attributed_as_one_run() {
    let mut attribution: Attribution<char> = Attribution::of(SERVER);
    attribution.captured(false);
    assert_eq!(attribution.source(), Source::Clock);
    attribution.clock(0, 1_000_000);
    attribution.request(90, 'a', 10.0);
    attribution.request(91, 'b', 30.0);
    let settled = attribution.settled(1000);
    attribution.clock(2_000_000, 1_080_000);
    let credited = Share {
        time: Micros(settled.values().sum()),
        stretches: 0.0,
    };
    let rate = attribution.rate(credited).unwrap();
    let b = Share {
        time: Micros(settled[&'b']),
        ..credited
    };
    assert_eq!(rate.time(b), Micros(60.0));
}

#[test]
fn attached_work_belongs_to_the_run_that_reports_it() {
    let mut attribution = with(&[(100, 400), (2000, 2300)]);
    attribution.reported_by_server();
    // The server reported one request as the run ended, and the recorder read the report of the other late.
    attribution.request(395, 'a', 5.0);
    attribution.request(1900, 'b', 5.0);
    let settled = attribution.settled(10_000);
    assert_eq!((settled[&'a'], settled[&'b']), (100.0, 100.0));
    assert_eq!(attribution.unattributed().runs, 1);
}
