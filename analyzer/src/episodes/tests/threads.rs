//! Clients with several threads, as created by toolkits.

use super::super::episode::Unsure;
use super::devices::button;
use super::*;
use SwitchKind::{Blocked, In};

const FUTEX: i64 = 202;
const PSELECT: i64 = 270;
/// The first thread. It reads and writes in Tk; in Swing another thread reads.
const MAIN: u32 = CLIENT_PID;
/// The thread that waits for the connection, and reads from the connection in Swing.
const READER: u32 = CLIENT_PID + 1;
/// The address where the main thread waits for work, and the address of another condition.
const WORK: u64 = 0x7f00_0028;
const ELSEWHERE: u64 = 0x7f00_1028;

/// A client in which `READER` polls, and `MAIN` waits at `WORK`.
struct Threads(Scheduled);

impl Threads {
    /// A program whose start-up ends at 33 ms.
    fn new() -> Threads {
        let mut all = Threads(Scheduled::new());
        all.run(MAIN, 10 * MS, 20 * MS, FUTEX, WORK);
        all.run(READER, 20 * MS - 100, 20 * MS - 50, PSELECT, 5);
        // The program shows its window.
        all.0.at(30 * MS).server_sends(&[expose(1)]);
        all.run(READER, 30 * MS + 30, 30 * MS + 90, PSELECT, 5);
        all.switch(MAIN, 30 * MS + 80, In);
        all.draws(32 * MS);
        all.switch(MAIN, 33 * MS, Blocked);
        all.waits(MAIN, 33 * MS, FUTEX, WORK);
        all
    }

    /// A thread runs from one time to another and then waits for long.
    fn run(&mut self, tid: u32, from: u64, to: u64, syscall: i64, argument: u64) {
        self.switch(tid, from, In);
        self.switch(tid, to, Blocked);
        self.waits(tid, to, syscall, argument);
    }

    fn switch(&mut self, tid: u32, micros: u64, kind: SwitchKind) {
        self.0.trace.records.push(Record::Schedule(vec![Switch {
            time: Timestamp::from_nanos(1_000_000_000 + micros * 1000),
            pid: CLIENT_PID,
            tid,
            cpu: (1 + tid - CLIENT_PID) as u16,
            kind,
        }]));
    }

    fn waits(&mut self, tid: u32, since: u64, syscall: i64, argument: u64) {
        self.waits_for(tid, since, syscall, vec![argument, 0x189, 0, 0]);
    }

    /// Waits for a condition, with a time limit.
    fn waits_for_time(&mut self, tid: u32, since: u64, argument: u64) {
        self.waits_for(tid, since, FUTEX, vec![argument, 0x89, 0, 0x7f00]);
    }

    fn waits_for(&mut self, tid: u32, since: u64, syscall: i64, arguments: Vec<u64>) {
        self.0.trace.control(Control::Waiting(Waiting {
            pid: CLIENT_PID,
            tid,
            since_ns: 1_000_000_000 + since * 1000,
            syscall,
            wait_channel: None,
            arguments,
            peer: None,
        }));
    }

    /// A key press arrives; it wakes the reader, which wakes the main thread.
    fn key(&mut self, millis: u64) {
        self.0.at(millis * MS).server_sends(&[key_press(1, 0)]);
        self.run(READER, millis * MS + 30, millis * MS + 90, PSELECT, 5);
        self.switch(MAIN, millis * MS + 80, In);
    }

    fn draws(&mut self, micros: u64) {
        self.0.at(micros).client_sends(&[poly_fill_rectangle(1)]);
    }

    fn end(mut self) -> Vec<super::super::Episode> {
        self.0.at(3000 * MS).end();
        found(&self.0.trace)
    }
}

fn keys(episodes: &[super::super::Episode]) -> Vec<(u64, u64, u64)> {
    let keys = episodes.iter().filter(|one| one.trigger == Trigger::Input);
    keys.map(|one| {
        let parts = &one.parts;
        let each = [
            one.latency(),
            parts.of(LatencyComponent::Client),
            parts.off_cpu(),
        ];
        let [latency, client, off] = each.map(|nanos| nanos / 1000);
        (latency, client, off)
    })
    .collect()
}

/// The recorder reads the drawing after all threads have fallen asleep.
#[test]
fn blinking_cursor_ends_before_the_sleep_until_its_next_turn() {
    let mut all = Threads::new();
    for millis in [500, 1100, 1700] {
        all.run(MAIN, millis * MS, (millis + 1) * MS, FUTEX, ELSEWHERE);
        all.run(READER, (millis + 1) * MS, (millis + 1) * MS + 2, PSELECT, 5);
        all.draws((millis + 1) * MS + 30);
    }
    let episodes = all.end();
    let latencies = episodes.iter().map(|one| one.latency() / 1000);
    let blinks: Vec<u64> = latencies.rev().take(3).collect();
    assert_eq!(blinks, [1030; 3], "{episodes:#?}");
}

#[test]
fn reader_thread_and_worker_thread_form_one_episode() {
    let mut all = Threads::new();
    for millis in [100, 1100] {
        all.key(millis);
        all.draws((millis + 8) * MS);
        all.switch(MAIN, (millis + 9) * MS, Blocked);
        all.waits(MAIN, (millis + 9) * MS, FUTEX, WORK + 4);
    }
    let episodes = all.end();
    assert_eq!(keys(&episodes), [(8000, 7970, 0); 2]);
    assert!(
        episodes.iter().all(|one| one.unsure.is_none()),
        "{episodes:?}"
    );
}

/// On a busy machine, the thread that wakes the main thread waits for a processor, too.
#[test]
fn reader_thread_without_a_processor_ends_no_episode() {
    let mut all = Threads::new();
    all.key(100);
    all.switch(MAIN, 150 * MS, SwitchKind::Preempted);
    all.switch(MAIN, 300 * MS, In);
    // Tk updates: the main thread waits until the reader has looked at the connection.
    all.switch(MAIN, 310 * MS, Blocked);
    all.waits(MAIN, 310 * MS, FUTEX, WORK);
    all.run(READER, 400 * MS, 400 * MS + 90, PSELECT, 5);
    all.switch(MAIN, 400 * MS + 80, In);
    all.draws(402 * MS);
    all.switch(MAIN, 403 * MS, Blocked);
    all.waits(MAIN, 403 * MS, FUTEX, WORK);
    let latencies: Vec<u64> = keys(&all.end()).iter().map(|key| key.0).collect();
    assert_eq!(latencies, [302_000]);
}

/// Tk waits for its reader thread in the middle of a timer's work, and reads the key that arrives meanwhile.
#[test]
fn key_during_a_silent_timer_begins_with_its_press() {
    let mut all = Threads::new();
    all.switch(MAIN, 95 * MS, In);
    all.switch(MAIN, 95 * MS + 300, Blocked);
    all.waits(MAIN, 95 * MS + 300, FUTEX, ELSEWHERE);
    all.run(READER, 95 * MS + 310, 95 * MS + 320, PSELECT, 5);
    all.0.at(100 * MS).server_sends(&[key_press(1, 0)]);
    all.run(READER, 108 * MS, 108 * MS + 40, PSELECT, 5);
    all.switch(MAIN, 108 * MS + 42, In);
    all.switch(MAIN, 109 * MS, Blocked);
    all.0.at(109 * MS + 100).client_sends(&[get_input_focus()]);
    all.0.at(109 * MS + 200).server_sends(&[reply(3)]);
    all.switch(MAIN, 110 * MS, In);
    all.draws(112 * MS);
    all.switch(MAIN, 113 * MS, Blocked);
    all.waits(MAIN, 113 * MS, FUTEX, WORK);
    let latencies: Vec<u64> = keys(&all.end()).iter().map(|key| key.0).collect();
    assert_eq!(latencies, [12_000]);
}

/// The main thread sends a request in the middle of its work and polls for the reply. This is not a wait for work.
#[test]
fn late_recorder_read_of_round_trip_is_not_client_time() {
    let mut all = Threads::new();
    all.key(100);
    all.draws(108 * MS);
    all.switch(MAIN, 109 * MS, Blocked);
    all.waits(MAIN, 109 * MS, FUTEX, WORK);
    all.0.server(1099 * MS, 1099 * MS + 900);
    all.key(1100);
    all.switch(MAIN, 1108 * MS, Blocked);
    all.waits(MAIN, 1108 * MS, POLL, 0);
    all.0.at(1158 * MS).client_sends(&[get_input_focus()]);
    all.0.server(1158 * MS + 100, 1158 * MS + 200);
    all.0.at(1158 * MS + 300).server_sends(&[reply(4)]);
    all.switch(MAIN, 1158 * MS + 400, In);
    all.draws(1160 * MS);
    all.switch(MAIN, 1161 * MS, Blocked);
    all.waits(MAIN, 1161 * MS, FUTEX, WORK);
    let episodes = all.end();
    assert_eq!(keys(&episodes)[1].2, 0, "{episodes:?}");
    let key = episodes.iter().rfind(|one| one.trigger == Trigger::Input);
    let none = LatencyComponent::Server(ServerCause::Processor);
    assert_eq!(key.map(|key| key.parts.of(none) / 1000), Some(50_000));
}

#[test]
fn release_before_worker_thread_runs_ends_nothing() {
    let mut all = Threads::new();
    all.0.at(100 * MS).server_sends(&[button(4, 1, 0)]);
    all.run(READER, 100 * MS + 30, 100 * MS + 70, PSELECT, 5);
    all.0.at(100 * MS + 80).server_sends(&[button(5, 1, 0)]);
    all.switch(MAIN, 100 * MS + 90, In);
    all.0.at(105 * MS).client_sends(&[get_input_focus()]);
    all.switch(MAIN, 105 * MS + 10, Blocked);
    all.0.at(145 * MS).server_sends(&[reply(3)]);
    all.switch(MAIN, 145 * MS + 50, In);
    all.draws(160 * MS);
    all.switch(MAIN, 161 * MS, Blocked);
    all.waits(MAIN, 161 * MS, FUTEX, WORK);
    assert_eq!(keys(&all.end()), [(60_000, 19_910, 20)]);
}

#[test]
fn handler_continues_across_waits_other_than_for_work() {
    let mut all = Threads::new();
    for (millis, syscall, argument) in [
        (100, FUTEX, ELSEWHERE),
        (1100, NANOSLEEP, 0),
        // select without descriptors.
        (2100, PSELECT, 0),
    ] {
        all.key(millis);
        all.switch(MAIN, (millis + 2) * MS, Blocked);
        all.waits(MAIN, (millis + 2) * MS, syscall, argument);
        all.switch(MAIN, (millis + 52) * MS, In);
        all.draws((millis + 53) * MS);
        all.switch(MAIN, (millis + 54) * MS, Blocked);
        all.waits(MAIN, (millis + 54) * MS, FUTEX, WORK);
    }
    assert_eq!(keys(&all.end()), [(53_000, 2970, 50_000); 3]);
}

#[test]
fn ticks_of_threaded_client_do_not_extend_an_episode() {
    let mut all = Threads::new();
    for millis in [100, 1100] {
        // The key is ignored.
        all.key(millis);
        all.switch(MAIN, millis * MS + 400, Blocked);
        all.waits(MAIN, millis * MS + 400, FUTEX, WORK);
        for tick in (millis + 15..millis + 900).step_by(15) {
            all.switch(MAIN, tick * MS, In);
            all.switch(READER, tick * MS + 40, In);
            all.switch(MAIN, tick * MS + 50, Blocked);
            all.switch(READER, tick * MS + 60, Blocked);
            all.waits(MAIN, tick * MS + 50, FUTEX, WORK);
            all.waits(READER, tick * MS + 60, PSELECT, 5);
        }
    }
    let latencies: Vec<u64> = keys(&all.end()).into_iter().map(|one| one.0).collect();
    assert_eq!(latencies, [400, 400]);
}

#[test]
fn unrelated_thread_time_is_excluded() {
    const COMPILER: u32 = CLIENT_PID + 2;
    let mut all = Threads::new();
    for millis in [100, 1100] {
        all.key(millis);
        all.switch(COMPILER, millis * MS + 2000, In);
        all.draws((millis + 8) * MS);
        all.switch(MAIN, (millis + 9) * MS, Blocked);
        all.waits(MAIN, (millis + 9) * MS, FUTEX, WORK);
        all.switch(COMPILER, (millis + 400) * MS, Blocked);
        all.waits(COMPILER, (millis + 400) * MS, FUTEX, ELSEWHERE);
    }
    assert_eq!(keys(&all.end()), [(8000, 7970, 0); 2]);
}

#[test]
fn sleeping_timer_handler_is_one_episode_without_events() {
    let mut all = Threads::new();
    for millis in (100..2100).step_by(200) {
        all.switch(MAIN, millis * MS, In);
        all.switch(MAIN, (millis + 1) * MS, Blocked);
        all.waits(MAIN, (millis + 1) * MS, PSELECT, 0);
        all.switch(MAIN, (millis + 41) * MS, In);
        all.draws((millis + 42) * MS);
        all.switch(MAIN, (millis + 43) * MS, Blocked);
        all.waits(MAIN, (millis + 43) * MS, FUTEX, WORK);
    }
    let episodes = all.end();
    let timers = episodes
        .iter()
        .filter(|one| one.landmark.as_str() == "Timer or file");
    let latencies: Vec<u64> = timers.map(|one| one.latency() / 1000).collect();
    assert_eq!(latencies, [42_000; 10]);
}

/// A sleep in Java is a wait for a condition that no thread signals.
#[test]
fn timed_condition_wait_in_a_handler_is_a_sleep() {
    let mut all = Threads::new();
    for millis in (100..2100).step_by(200) {
        all.switch(MAIN, millis * MS, In);
        all.switch(MAIN, (millis + 1) * MS, Blocked);
        all.waits_for_time(MAIN, (millis + 1) * MS, ELSEWHERE);
        all.switch(MAIN, (millis + 41) * MS, In);
        all.draws((millis + 42) * MS);
        all.switch(MAIN, (millis + 43) * MS, Blocked);
        all.waits(MAIN, (millis + 43) * MS, FUTEX, WORK);
    }
    let episodes = all.end();
    let timers = episodes
        .iter()
        .filter(|one| one.landmark.as_str() == "Timer or file");
    let latencies: Vec<u64> = timers.map(|one| one.latency() / 1000).collect();
    assert_eq!(latencies, [42_000; 10]);
}

#[test]
fn busy_loop_has_frames_and_unsure_key_episodes() {
    let mut all = Threads::new();
    all.switch(MAIN, 100 * MS, In);
    for millis in (110..1000).step_by(10) {
        // ClearArea.
        all.0
            .at(millis * MS)
            .client_sends(&[request(61, 0, &[ROOT, 0, 0])]);
        if millis == 500 {
            all.0.at(501 * MS).server_sends(&[key_press(1, 0)]);
        }
    }
    let episodes = all.end();
    let (keys, others): (Vec<_>, Vec<_>) = episodes
        .iter()
        .partition(|one| one.trigger == Trigger::Input);
    let unsure: Vec<_> = keys.iter().map(|one| one.unsure).collect();
    assert_eq!(unsure, [Some(Unsure::NeverWaits)]);
    let ticks = others.iter().filter(|one| one.trigger == Trigger::Output);
    assert!(ticks.clone().all(|one| one.latency() <= 20_000_000));
}

#[test]
fn client_with_another_writing_process_is_unsure() {
    let mut all = Threads::new();
    // The process that connected waits for its child, which has the connection and is not recorded.
    for millis in (100..2900).step_by(50) {
        all.0.at(millis * MS).server_sends(&[key_press(1, 0)]);
        all.draws((millis + 40) * MS);
    }
    let episodes = all.end();
    let last = episodes.last().expect("episodes");
    assert!(last.unsure.is_some(), "{last:?}");
    let client: u64 = episodes
        .iter()
        .skip(1)
        .map(|one| one.parts.of(LatencyComponent::Client))
        .sum();
    // The kernel counted 2 ms of CPU time until the window was shown.
    assert!(client <= 3_000_000, "{episodes:?}");
}

#[test]
fn episode_ended_by_an_unclassified_wait_is_unsure() {
    let mut all = Threads::new();
    // No event has arrived yet: the program draws after a wait that may have been for work or in the middle of work.
    all.switch(MAIN, 70 * MS, In);
    all.draws(71 * MS);
    all.switch(MAIN, 72 * MS, Blocked);
    all.waits(MAIN, 72 * MS, FUTEX, WORK);
    all.key(500);
    all.draws(510 * MS);
    all.switch(MAIN, 511 * MS, Blocked);
    all.waits(MAIN, 511 * MS, FUTEX, WORK);
    let episodes = all.end();
    let after = episodes.iter().filter(|one| one.trigger != Trigger::Output);
    let unsure: Vec<_> = after
        .map(|one| (one.landmark.as_str(), one.unsure.is_some()))
        .collect();
    assert_eq!(
        unsure,
        [
            ("Connected, nothing shown", true),
            ("Timer or file", false),
            ("KeyPress keycode 38", false)
        ]
    );
}

/// A program that continues in the background: its child has the connection.
#[test]
fn child_activity_after_parent_exit_is_not_start_up() {
    let mut all = Threads::new();
    all.switch(MAIN, 100 * MS, In);
    all.draws(102 * MS);
    all.switch(MAIN, 102 * MS + 10, Blocked);
    for millis in [1000, 2000] {
        all.0.at(millis * MS).server_sends(&[key_press(1, 0)]);
        all.draws((millis + 40) * MS);
    }
    let episodes = all.end();
    let start = episodes.first().expect("its start");
    assert!(start.latency() <= 102_000_000, "{start:?}");
    let keys: Vec<_> = episodes
        .iter()
        .filter(|one| one.trigger == Trigger::Input)
        .map(|one| {
            (
                one.latency() / 1000,
                one.parts.of(LatencyComponent::Client),
                one.unsure,
            )
        })
        .collect();
    let another = Some(Unsure::AnotherProcess);
    assert_eq!(keys, [(40_000, 0, another), (40_000, 0, another)]);
}

/// Qt 5: the main thread waits on a condition until the reader has read the reply.
#[test]
fn reply_that_nobody_reads_waits_for_a_processor() {
    const WORKER: u32 = CLIENT_PID + 2;
    for busy in [false, true] {
        let mut all = Threads::new();
        all.key(500);
        all.0.at(501 * MS).client_sends(&[get_input_focus()]);
        all.switch(MAIN, 501 * MS + 100, Blocked);
        all.waits(MAIN, 501 * MS + 100, FUTEX, ELSEWHERE);
        all.0.at(502 * MS).server_sends(&[reply(3)]);
        // Another thread of the program holds the lock.
        if busy {
            all.run(WORKER, 502 * MS + 10, 602 * MS, FUTEX, WORK);
        }
        all.run(READER, 602 * MS, 602 * MS + 50, PSELECT, 5);
        all.switch(MAIN, 602 * MS + 40, In);
        all.draws(603 * MS);
        all.switch(MAIN, 604 * MS, Blocked);
        all.waits(MAIN, 604 * MS, FUTEX, WORK);
        let episodes = all.end();
        let mut keys = episodes.iter();
        let key = keys.find(|one| one.trigger == Trigger::Input).unwrap();
        let of = |cause| key.parts.of(LatencyComponent::OffCpu(cause)) / 1_000_000;
        let waits = [Cause::Processor, Cause::Synchronisation].map(of);
        let expected = if busy { [0, 99] } else { [100, 0] };
        assert_eq!(waits, expected, "{busy}");
    }
}
