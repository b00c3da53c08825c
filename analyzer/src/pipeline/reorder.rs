//! Sorts records by time, so that context switches and the waits of threads precede later messages.
//!
//! The recorder reads the kernel's switches every few milliseconds, so a trace contains them after the messages of that
//! time. Messages of different connections may be out of order by some microseconds; messages of one connection are in
//! order.

use std::collections::{BTreeMap, VecDeque};

use rustc_hash::FxHashMap;
use x11prof_trace::{
    ConnectionId, Control, Direction, HandlerTime, Record, Switch, Timestamp, Waiting,
};

use crate::pipeline::report_times::{HANDLED_WITHIN, ReportTimes, WAKES_WITHIN, set_time};

/// Maximum time in nanoseconds for which a record waits if no switches are recorded, or none has arrived yet.
const LATE: u64 = 50_000_000;
/// The maximum time in nanoseconds for which a record waits if switches are recorded. The recorder reads them every few
/// milliseconds; on a busy machine it waits for a processor itself, for 0.8 s with four times the work that the machine
/// can do. A record before its switches would be misread: a client that waits in poll would seem to wait for the
/// server.
const LATEST: u64 = 2_000_000_000;
/// After this many later batches, every switch up to the first batch's time has arrived. The recorder reads the rings
/// of the processors one after the other, and checks the system call of a thread at its next reading: two batches
/// later at most, and the result comes after a third one.
const BATCHES: usize = 4;
/// Maximum number of waiting bytes, records and switches.
const MAX_BYTES: usize = 4 << 20;
const MAX_RECORDS: usize = 1 << 14;
const MAX_SWITCHES: usize = 1 << 16;
/// A switch that would be inserted before more than this many later ones is a stray. The recorder reads the processors
/// one after the other, so the switches of some milliseconds are out of order.
const MOVED: usize = 1024;
/// The maximum number of wakes of a process in a millisecond that are compared with the earlier messages.
const MOST_WAKES: usize = 16;

/// A record that arrives after later messages.
#[derive(Debug)]
enum LateRecord {
    Switch(Switch),
    /// The call in which a thread waits; it follows the switch that began the wait.
    Waiting(Waiting),
    Handled(HandlerTime),
}

/// A record that waits for its turn.
#[derive(Debug)]
struct WaitingRecord {
    turn: u64,
    /// False for a message whose time depends on later switches.
    timed: bool,
    record: Record,
}

/// Records that wait until all earlier records are known.
#[derive(Debug, Default)]
pub(crate) struct ReorderBuffer {
    /// The records, sorted by turn (the time at which a record is due), then by arrival.
    records: VecDeque<WaitingRecord>,
    /// The number of records at the front that are known to be timed.
    timed: usize,
    times: ReportTimes,
    /// The last turn of each connection.
    connections: FxHashMap<ConnectionId, u64>,
    bytes: usize,
    /// Switches and waits, then handlers' times: by time, then by number, which is the order of arrival. Each kind
    /// nearly always arrives in order; the kinds mixed do not.
    reported: [VecDeque<(u64, u64, LateRecord)>; 2],
    /// The late records that arrived after very many later ones, by time and number.
    strays: BTreeMap<(u64, u64), LateRecord>,
    number: u64,
    /// The last switches of the latest batches, the oldest first.
    batches: VecDeque<u64>,
    /// The time up to which all switches have arrived, except late ones.
    until: u64,
    /// True if the switches of any process are recorded.
    captured: bool,
    /// The time up to which clients have reported the stacks of their requests, if they report stacks.
    stacks_until: Option<u64>,
    /// The time up to which the server has reported the messages of clients, if it reports late (`record --attach`).
    reports_until: Option<u64>,
    /// The latest time of a record.
    latest: u64,
}

impl ReorderBuffer {
    /// Adds the next record of the trace.
    pub(crate) fn put(&mut self, record: Record) {
        let time = match record {
            Record::Schedule(switches) => return self.switches(&switches),
            Record::HandlerTimes(times) => {
                for time in times {
                    self.tell(time.start.as_nanos(), LateRecord::Handled(time));
                }
                return;
            }
            Record::Control(_, Control::Waiting(waiting)) => {
                return self.tell(waiting.since_ns, LateRecord::Waiting(waiting));
            }
            Record::Control(time, ref control) => {
                self.times.control(time.as_nanos(), control);
                self.captured |=
                    matches!(control, Control::Capture { capture, .. } if capture == "switches");
                if let Control::RequestStacks { until_ns, .. } = control {
                    self.stacks_until = self.stacks_until.max(Some(*until_ns));
                }
                if let Control::Told { until_ns } = control {
                    self.reports_until = self.reports_until.max(Some(*until_ns));
                }
                time
            }
            Record::Block(ref block) => {
                // The server reports in the order of time.
                if let Some(reported) = &mut self.reports_until {
                    *reported = block.time.as_nanos().max(*reported);
                }
                block.time
            }
        };
        self.latest = self.latest.max(time.as_nanos());
        let turn = self.turn(time.as_nanos(), &record);
        self.bytes += size(&record);
        let reported = matches!(
            record,
            Record::Block(_) | Record::Control(_, Control::Joined(_))
        );
        let timed = !(reported && self.times.is_attached());
        self.insert(WaitingRecord {
            turn,
            timed,
            record,
        });
        let late = if self.captured { LATEST } else { LATE };
        self.known(time.as_nanos().saturating_sub(late));
    }

    fn insert(&mut self, one: WaitingRecord) {
        let place = place(&self.records, one.turn, |other| other.turn);
        match one.timed {
            true => self.timed += usize::from(place <= self.timed),
            false => self.timed = self.timed.min(place),
        }
        self.records.insert(place, one);
    }

    /// Sets the times of the messages whose switches have arrived by `until`. Returns the time up to which all messages
    /// are timed.
    fn time(&mut self, until: u64) -> u64 {
        while let Some(one) = self.records.get_mut(self.timed) {
            if !one.timed {
                let turn = one.turn;
                if turn.saturating_add(WAKES_WITHIN) > until {
                    return until.min(turn.saturating_sub(HANDLED_WITHIN));
                }
                let woke = self.arrived_by(self.timed);
                let Some(one) = self.records.get_mut(self.timed) else {
                    break;
                };
                one.timed = true;
                if let Some(woke) = woke {
                    set_time(&mut one.record, woke);
                }
                let time = self.times.time(&mut one.record).unwrap_or(turn);
                one.turn = time.max(turn);
                if time < turn {
                    let at = self.timed;
                    let is_earlier = !is_from_server(&one.record) || self.set_earlier(at, time);
                    if is_earlier && let Some(mut one) = self.records.remove(at) {
                        one.turn = time;
                        self.insert(one);
                        continue;
                    }
                    // Without its cause, the message cannot be earlier: its client wakes late. It keeps its place before
                    // the later messages of its connection.
                    if let Some(one) = self.records.get_mut(at) {
                        one.turn = self.times.set_back(&mut one.record, turn);
                    }
                }
            }
            self.timed += 1;
        }
        until
    }

    /// The time by which the message at this index had arrived, because its client woke then.
    fn arrived_by(&mut self, at: usize) -> Option<u64> {
        let wakes = self.times.wakes_for(&self.records.get(at)?.record);
        let mut wakes = wakes.into_iter().take(MOST_WAKES);
        wakes.find(|woke| self.set_earlier(at, *woke))
    }

    /// Sets the times of all earlier messages than the one at this index to at most `time`, in nanoseconds: the server
    /// handled them before. Returns false if one of them was sent after `time`.
    fn set_earlier(&mut self, at: usize, time: u64) -> bool {
        let first = self.after(at, time);
        let mut earlier = self.records.range(first..at);
        if !earlier.all(|one| self.times.may_precede(&one.record, time)) {
            return false;
        }
        let Some(earlier) = self.records.make_contiguous().get_mut(first..at) else {
            return true;
        };
        for one in earlier.iter_mut() {
            if self.times.set_earlier(&mut one.record, time) {
                one.turn = time;
            }
        }
        earlier.sort_by_key(|one| one.turn);
        true
    }

    /// Returns the index of the first record before `at` whose time is later than `time` (nanoseconds).
    fn after(&self, at: usize, time: u64) -> usize {
        self.records.partition_point(|one| one.turn <= time).min(at)
    }

    /// Returns the turn of a record: its time, or the turn of the connection's previous record if that is later. So the
    /// records of a connection keep their order.
    fn turn(&mut self, time: u64, record: &Record) -> u64 {
        let connection = match record {
            Record::Block(block) => block.connection,
            Record::Control(_, Control::Opened(opened)) => opened.connection,
            Record::Control(_, Control::Joined(joined)) => joined.connection,
            Record::Control(_, Control::Closed { connection, .. }) => {
                let last = self.connections.remove(connection);
                return last.map_or(time, |last| last.max(time));
            }
            _ => return time,
        };
        let last = self.connections.entry(connection).or_default();
        *last = time.max(*last);
        *last
    }

    fn switches(&mut self, switches: &[Switch]) {
        for switch in switches {
            self.times.switch(switch);
            self.tell(switch.time.as_nanos(), LateRecord::Switch(*switch));
        }
        let times = switches.iter().map(|switch| switch.time.as_nanos());
        if let Some(last) = times.max() {
            let last = last.max(self.batches.back().copied().unwrap_or_default());
            self.batches.push_back(last);
        }
        if self.batches.len() >= BATCHES
            && let Some(all_reported) = self.batches.pop_front()
        {
            self.known(all_reported);
        }
        self.captured = true;
    }

    fn tell(&mut self, time: u64, reported: LateRecord) {
        self.number += 1;
        let others = &mut self.reported[usize::from(matches!(reported, LateRecord::Handled(_)))];
        let place = place(others, time, |(other, ..)| *other);
        match others.len() - place > MOVED {
            true => _ = self.strays.insert((time, self.number), reported),
            false => others.insert(place, (time, self.number, reported)),
        }
    }

    fn known(&mut self, until: u64) {
        // A request waits for its stack, and later records wait for the request, unless the recorder had no processor
        // for very long.
        let least = self.latest.saturating_sub(LATEST);
        let reported = [self.stacks_until, self.reports_until];
        let until = reported
            .into_iter()
            .flatten()
            .fold(until, |until, reported| until.min(reported.max(least)));
        self.until = self.until.max(until);
    }

    /// Notes that the clock has reached `time` and no record has arrived since. Late records may still arrive on a busy
    /// machine.
    pub(crate) fn until(&mut self, time: Timestamp) {
        let before = |late| time.as_nanos().saturating_sub(late);
        self.known(before(LATEST));
        let reported = self.batches.back().copied().unwrap_or_default();
        match self.captured {
            true => self.known(reported.min(before(LATE))),
            false => self.known(before(LATE)),
        }
    }

    /// The time up to which all records have been returned.
    pub(crate) fn known_until(&self) -> Timestamp {
        Timestamp::from_nanos(self.until)
    }

    /// Ends the trace: all waiting records are due.
    pub(crate) fn end(&mut self) {
        self.until = u64::MAX;
    }

    /// Removes and returns the next record that is due; `None` if no record is due. Context switches are returned in
    /// batches up to the next record.
    pub(crate) fn next(&mut self) -> Option<Record> {
        let full = self.bytes > MAX_BYTES || self.records.len() > MAX_RECORDS;
        let until = match self.records.front() {
            Some(front) if full => {
                let until = self.until.max(front.turn);
                self.time(until.saturating_add(WAKES_WITHIN));
                until
            }
            _ => self.time(self.until),
        };
        let front = self.records.front().map(|one| one.turn);
        // A wake-up sorts after its cause; a thread has sent its data before it blocks.
        let before = front.map_or(until, |front| front.saturating_sub(1).min(until));
        if let Some(record) = self.next_reported(before) {
            return Some(record);
        }
        if front.is_some_and(|front| front <= until) {
            let one = self.records.pop_front()?;
            self.timed = self.timed.saturating_sub(1);
            self.bytes -= size(&one.record);
            if let Record::Control(_, Control::Closed { connection, .. }) = &one.record {
                self.times.closed(*connection);
            }
            return Some(one.record);
        }
        None
    }

    /// Removes and returns the next batch of switches, or the next other late record, up to `until` (nanoseconds).
    fn next_reported(&mut self, until: u64) -> Option<Record> {
        let (mut switches, mut times) = (Vec::new(), Vec::new());
        loop {
            let strays = self.strays.len();
            let full =
                self.reported.iter().map(VecDeque::len).sum::<usize>() + strays > MAX_SWITCHES;
            let is_due = |time: u64, reported: &LateRecord| {
                let alike = match reported {
                    LateRecord::Switch(_) => times.is_empty(),
                    LateRecord::Handled(_) => switches.is_empty(),
                    LateRecord::Waiting(_) => switches.is_empty() && times.is_empty(),
                };
                alike && (time <= until || full)
            };
            match self.pop_reported(is_due) {
                Some(LateRecord::Switch(switch)) => switches.push(switch),
                Some(LateRecord::Handled(time)) => times.push(time),
                Some(LateRecord::Waiting(waiting)) => {
                    let since = Timestamp::from_nanos(waiting.since_ns);
                    return Some(Record::Control(since, Control::Waiting(waiting)));
                }
                None => break,
            }
        }
        match switches.is_empty() {
            false => Some(Record::Schedule(switches)),
            true => (!times.is_empty()).then_some(Record::HandlerTimes(times)),
        }
    }

    /// Removes and returns the first late record, if `is_due` returns true for its time in nanoseconds and the record.
    fn pop_reported(
        &mut self,
        is_due: impl FnOnce(u64, &LateRecord) -> bool,
    ) -> Option<LateRecord> {
        let turn = |reported: &VecDeque<(u64, u64, LateRecord)>| {
            let front = reported.front();
            front.map_or((u64::MAX, u64::MAX), |(time, number, _)| (*time, *number))
        };
        let [switches, handled] = &mut self.reported;
        let first = match turn(switches) <= turn(handled) {
            true => switches,
            false => handled,
        };
        match self.strays.first_entry() {
            Some(stray) if *stray.key() < turn(first) => {
                is_due(stray.key().0, stray.get()).then(|| stray.remove())
            }
            _ => {
                let first = first.pop_front_if(|(time, _, record)| is_due(*time, record));
                first.map(|(.., record)| record)
            }
        }
    }
}

/// Returns the index at which a record of this time is inserted among `others`, which is nearly always the end.
fn place<T>(others: &VecDeque<T>, time: u64, of: impl Fn(&T) -> u64) -> usize {
    match others.back() {
        Some(last) if of(last) > time => others.partition_point(|other| of(other) <= time),
        _ => others.len(),
    }
}

fn is_from_server(record: &Record) -> bool {
    matches!(record, Record::Block(block) if block.direction == Direction::ToClient)
}

fn size(record: &Record) -> usize {
    match record {
        Record::Block(block) => block.bytes.len(),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use rustc_hash::FxHashMap;
    use x11prof_trace::{
        Block, ConnectionId, Control, Direction, HandlerTime, Joined, Opened, Record, Server,
        Switch, SwitchKind, Timestamp, Waiting,
    };

    use super::{BATCHES, LATE, LATEST, MAX_RECORDS, ReorderBuffer};
    use Direction::{ToClient, ToServer};
    use SwitchKind::{Blocked, In, Preempted};

    /// The server's process in [`attached`].
    const SERVER: u32 = 9;

    fn at(millis: u64) -> Record {
        let time = Timestamp::from_nanos(millis * 1_000_000);
        Record::Control(time, Control::Extensions { extensions: vec![] })
    }

    fn switches(times: &[u64]) -> Record {
        let switch = |millis: &u64| Switch {
            time: Timestamp::from_nanos(millis * 1_000_000),
            pid: 1,
            tid: 1,
            cpu: 0,
            kind: SwitchKind::In,
        };
        Record::Schedule(times.iter().map(switch).collect())
    }

    fn waiting(since: u64) -> Record {
        let time = Timestamp::from_nanos((since + 3) * 1_000_000);
        let waiting = Waiting {
            pid: 1,
            tid: 1,
            since_ns: since * 1_000_000,
            syscall: 0,
            wait_channel: None,
            arguments: vec![],
            peer: None,
        };
        Record::Control(time, Control::Waiting(waiting))
    }

    /// The order of records: `m`essages, `s`witches, `w`aits, with their times.
    fn order(records: Vec<Record>) -> String {
        let (mut buffer, mut order) = (ReorderBuffer::default(), Vec::new());
        for record in records {
            buffer.put(record);
            while let Some(record) = buffer.next() {
                order.extend(match record {
                    Record::Control(_, Control::Waiting(waiting)) => {
                        vec![format!("w{}", waiting.since_ns / 1_000_000)]
                    }
                    Record::Control(time, _) => vec![format!("m{}", time.as_nanos() / 1_000_000)],
                    Record::Schedule(switches) => {
                        let each = switches.iter();
                        each.map(|one| format!("s{}", one.time.as_nanos() / 1_000_000))
                            .collect()
                    }
                    Record::HandlerTimes(times) => {
                        let each = times.iter();
                        each.map(|one| format!("h{}", one.start.as_nanos() / 1_000_000))
                            .collect()
                    }
                    Record::Block(_) => vec![],
                });
            }
        }
        order.join(" ")
    }

    /// The batches after which everything earlier has arrived.
    fn later(from: u64) -> impl Iterator<Item = Record> {
        (0..BATCHES as u64 - 1).map(move |n| switches(&[from + n]))
    }

    #[test]
    fn switches_that_are_far_out_of_order_are_sorted() {
        let last = 2000;
        let backwards: Vec<u64> = (1..=last).rev().collect();
        let sorted: Vec<String> = (1..=last).map(|time| format!("s{time}")).collect();
        let mut records = vec![switches(&backwards)];
        records.extend((0..BATCHES as u64).map(|_| switches(&[last + 1])));
        let order = order(records);
        assert!(order.starts_with(&sorted.join(" ")), "{order}");
    }

    #[test]
    fn requests_are_held_until_their_stacks_arrive() {
        let stacks = |since: u64, until: u64| {
            let reported = Control::RequestStacks {
                until_ns: until * 1_000_000,
                runs: vec![],
                took_ns: 0,
            };
            Record::Control(Timestamp::from_nanos(since * 1_000_000), reported)
        };
        assert_eq!(order(vec![at(10), at(70)]), "m10");
        assert_eq!(order(vec![stacks(0, 5), at(10), at(70)]), "m0");
        let reported = vec![stacks(0, 5), at(10), at(70), stacks(5, 60), at(75)];
        assert_eq!(order(reported), "m0 m5 m10");
        // The recorder had no processor.
        assert_eq!(order(vec![stacks(0, 5), at(10), at(2100)]), "m0 m10");
    }

    /// The clients and times (microseconds) of an attached recording's messages, in their order. `steps` are context
    /// switches: client, time, kind. `messages` are as recorded: client, time, direction.
    fn attached(
        steps: &[(u32, u64, SwitchKind)],
        messages: &[(u32, u64, Direction)],
    ) -> Vec<(u32, u64)> {
        let nanos = |micros: u64| Timestamp::from_nanos(micros * 1000);
        let opened = |connection: u32| {
            Record::Control(
                nanos(0),
                Control::Opened(Opened {
                    connection: ConnectionId(connection),
                    transport: "unknown".to_owned(),
                    pid: Some(connection),
                    name: None,
                    command: Vec::new(),
                    started_ns: None,
                }),
            )
        };
        let switch = |&(pid, micros, kind): &(u32, u64, SwitchKind)| Switch {
            time: nanos(micros),
            pid,
            tid: pid,
            cpu: 0,
            kind,
        };
        let block = |(offset, &(connection, micros, direction)): (u64, &(u32, u64, Direction))| {
            Record::Block(Block {
                connection: ConnectionId(connection),
                direction,
                offset,
                time: nanos(micros),
                wire_len: 4,
                fds: 0,
                gaps: Vec::new(),
                bytes: vec![0; 4].into(),
            })
        };
        let mut buffer = ReorderBuffer::default();
        buffer.put(Record::Control(nanos(0), Control::Attached {}));
        let server = Server {
            pid: Some(SERVER),
            ..Server::default()
        };
        buffer.put(Record::Control(nanos(0), Control::Server(server)));
        buffer.put(opened(1));
        buffer.put(opened(2));
        buffer.put(Record::Schedule(steps.iter().map(switch).collect()));
        let blocks = (0..).zip(messages).map(block);
        blocks.for_each(|one| buffer.put(one));
        buffer.end();
        let (mut found, mut last) = (Vec::new(), FxHashMap::default());
        while let Some(record) = buffer.next() {
            if let Record::Block(block) = record {
                let before = last.insert(block.connection, block.offset);
                assert!(
                    before.is_none_or(|before| before < block.offset),
                    "{block:?} after {before:?}"
                );
                found.push((block.connection.0, block.time.as_nanos() / 1000));
            }
        }
        found
    }

    #[test]
    fn attached_message_arrives_before_its_client_wakes() {
        let steps = [
            (2, 9_000, Blocked),
            (1, 10_000, In),
            // Client 2 wakes for the event that a request of client 1 caused, and waits for a reply.
            (2, 10_100, In),
            (2, 10_200, Blocked),
            (1, 10_250, Blocked),
            (2, 10_320, In),
            (2, 10_400, Blocked),
            (2, 20_000, In),
        ];
        // RECORD's times are those of the read, because they are too close.
        let messages = [
            (1, 10_300, ToServer),
            (2, 10_300, ToClient),
            (2, 10_300, ToServer),
            (2, 10_300, ToClient),
        ];
        let found = attached(&steps, &messages);
        assert_eq!(found, [(1, 10_100), (2, 10_100), (2, 10_200), (2, 10_300)]);
    }

    #[test]
    fn attached_cause_precedes_the_sleep_after_its_effect() {
        let steps = [
            (1, 9_000, In),
            // Client 2 runs already, and sleeps after it has handled the event.
            (2, 9_900, In),
            (2, 10_400, Blocked),
            (1, 10_450, Blocked),
            // The reaction of client 2 wakes client 1.
            (1, 10_600, In),
            (2, 20_000, In),
        ];
        let messages = [
            (1, 10_999, ToServer),
            (2, 10_999, ToClient),
            (1, 10_999, ToClient),
        ];
        let found = attached(&steps, &messages);
        assert_eq!(found, [(1, 10_400), (2, 10_400), (1, 10_600)]);
    }

    #[test]
    fn attached_cause_is_found_among_any_number_of_records() {
        let steps = [
            (2, 9_900, In),
            (1, 9_950, In),
            // Client 1 sends, and the kernel stops it.
            (1, 10_300, Preempted),
            (2, 10_400, Blocked),
            (1, 10_600, In),
            (2, 20_000, In),
        ];
        for later in 0..9 {
            let mut messages = vec![(1, 10_999, ToServer), (2, 10_999, ToClient)];
            messages.extend(vec![(1, 15_999, ToServer); later]);
            let found = attached(&steps, &messages);
            assert_eq!(found[..2], [(1, 10_400), (2, 10_400)], "{later}");
        }
    }

    #[test]
    fn attached_cause_may_precede_a_sleep_if_the_server_ran_late() {
        let steps = [
            (SERVER, 9_000, Blocked),
            (2, 9_000, Blocked),
            // Client 1 sends, but the server runs in the next millisecond only.
            (1, 9_900, Blocked),
            (SERVER, 10_050, In),
            (2, 10_080, In),
            (2, 10_200, Blocked),
            (1, 10_220, In),
            (1, 10_300, Blocked),
            (1, 20_000, In),
            (2, 20_000, In),
        ];
        let messages = [
            (1, 10_999, ToServer),
            (2, 10_999, ToClient),
            (2, 10_999, ToServer),
            (1, 10_999, ToClient),
        ];
        let found = attached(&steps, &messages);
        assert_eq!(found, [(1, 10_080), (2, 10_080), (2, 10_200), (1, 10_220)]);
    }

    #[test]
    fn attached_message_without_its_cause_is_not_dated_earlier() {
        let steps = [
            (1, 9_500, Blocked),
            (2, 9_900, In),
            (2, 10_100, Blocked),
            (1, 10_800, In),
            (1, 10_900, Blocked),
            // Client 2 has no processor when the event of client 1 arrives.
            (2, 12_500, In),
            (2, 12_600, Blocked),
            (1, 20_000, In),
            (2, 20_000, In),
        ];
        let messages = [
            (1, 10_999, ToServer),
            (2, 10_999, ToClient),
            // The two events keep their order.
            (2, 10_999, ToClient),
            (2, 12_999, ToServer),
        ];
        let found = attached(&steps, &messages);
        assert_eq!(found, [(1, 10_900), (2, 10_999), (2, 10_999), (2, 12_600)]);
    }

    #[test]
    fn attached_recording_waits_for_the_watermark() {
        let reported = |until: u64| {
            let reported = Control::Told {
                until_ns: until * 1_000_000,
            };
            Record::Control(Timestamp::from_nanos(until * 1_000_000), reported)
        };
        let records = |last: Vec<Record>| {
            let first = [reported(0), at(10)].into_iter().chain(later(30));
            let first = first.chain([switches(&[60])]);
            order(first.chain(last).collect())
        };
        assert_eq!(records(vec![]), "m0");
        // The report of a client's last drawing arrives late.
        let reported = vec![at(11), reported(40), switches(&[61])];
        assert_eq!(records(reported), "m0 m10 m11 s30 s31");
    }

    #[test]
    fn handler_times_are_ordered_with_messages_and_switches() {
        let handled = |millis: u64| HandlerTime {
            start: Timestamp::from_nanos(millis * 1_000_000),
            took_ns: 1,
            client: 1,
            sequence: 1,
            count: 1,
        };
        let records = [
            at(1),
            at(4),
            Record::HandlerTimes(vec![handled(2), handled(5)]),
            switches(&[3]),
        ];
        let all = records.into_iter().chain(later(6)).chain([at(4000)]);
        let order = order(all.collect());
        assert!(order.starts_with("m1 h2 s3 m4 h5 "), "{order}");
    }

    #[test]
    fn switches_are_ordered_with_messages_by_time() {
        let mut records = vec![at(1), at(3), switches(&[4, 2]), at(5)];
        assert_eq!(order(records.clone()), "");
        records.extend(later(6));
        assert_eq!(order(records), "m1 s2 m3 s4");
    }

    #[test]
    fn wait_follows_its_context_switch() {
        let mut records = vec![at(1), switches(&[2]), at(3), switches(&[6]), waiting(2)];
        records.extend(later(7));
        assert_eq!(order(records), "m1 s2 w2 m3 s6");
    }

    #[test]
    fn switches_of_another_cpu_may_arrive_a_batch_later() {
        let mut records = vec![switches(&[5]), at(5), switches(&[3, 6])];
        records.extend(later(7));
        assert_eq!(order(records), "s3 m5 s5 s6");
    }

    #[test]
    fn without_switches_messages_are_held_briefly() {
        let late = LATE / 1_000_000;
        assert_eq!(order(vec![at(1), at(2), at(1 + late)]), "m1");
        let many = order(vec![at(1); MAX_RECORDS + 3]);
        assert_eq!(many, "m1 m1 m1");
    }

    #[test]
    fn messages_wait_for_recorded_switches() {
        let mut busy = vec![switches(&[1]), at(2), at(3), at(800)];
        assert_eq!(order(busy.clone()), "");
        busy.push(switches(&[2, 802]));
        busy.extend(later(803));
        assert_eq!(order(busy), "s1 m2 s2 m3 m800 s802");
        // An idle process may have no later switch.
        let latest = LATEST / 1_000_000;
        assert_eq!(order(vec![switches(&[1]), at(2), at(2 + latest)]), "s1 m2");
    }

    #[test]
    fn records_are_released_by_time_without_new_input() {
        let mut buffer = ReorderBuffer::default();
        for record in [at(1), at(3), switches(&[2]), at(4)] {
            buffer.put(record);
        }
        let mut turns = |millis: u64| {
            buffer.until(Timestamp::from_nanos(millis * 1_000_000));
            std::iter::from_fn(|| buffer.next()).count()
        };
        assert_eq!(turns(5), 0);
        assert_eq!(turns(2 + LATE / 1_000_000), 2);
        assert_eq!(turns(3 + LATEST / 1_000_000), 1);
        assert_eq!(turns(4 + LATEST / 1_000_000), 1);
    }

    #[test]
    fn messages_of_a_connection_keep_their_order() {
        let late = 4 + LATE / 1_000_000;
        assert_eq!(order(vec![at(2), at(1), at(4), at(late)]), "m1 m2 m4");
        let opened = |millis: u64, connection: u32| {
            let time = Timestamp::from_nanos(millis * 1_000_000);
            let joined = Joined {
                connection: ConnectionId(connection),
                ..Joined::default()
            };
            Record::Control(time, Control::Joined(joined))
        };
        let of_two = vec![opened(2, 1), opened(1, 1), opened(1, 2), at(late)];
        assert_eq!(order(of_two), "m1 m2 m1");
    }
}
