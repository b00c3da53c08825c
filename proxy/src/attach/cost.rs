//! The cost of an attached recorder to the server: the costs of RECORD's reports, as a probe of the same server
//! measured them.
//!
//! X.Org's server copies each message into a report, with a header, and writes reports at the end of a client's turn
//! (record.c). So reports, messages and bytes each have a cost. The probe sends requests on a separate connection of
//! the recorder, first without RECORD, then with a context for that connection alone, and reads the server's CPU clock.
//! The estimate never exceeds the CPU time that the server used in the same interval.

use std::collections::VecDeque;
use std::time::Duration;

use x11prof_trace::Timestamp;

use super::context;
use super::elements::{self, Category, HEADER};
use crate::attach_cost::{AttachCost, INTERVAL};
use crate::display::conversation::Conversation;
use crate::display::server_link::ServerLink;
use crate::processes::cpu_clock;
use crate::sockets::socket::{Socket, Wait};

/// The number of rounds of each load. The shortest round counts, because requests of other clients only lengthen
/// rounds.
const ROUNDS: usize = 5;
/// The pause before each reading of the CPU clock. The server sleeps by then. The kernel updates the CPU clock of a
/// running process only at timer ticks.
const ASLEEP: Duration = Duration::from_millis(1);
/// The number of requests of the first load. The recorder sends them one at a time, so that the server handles each
/// in a separate turn.
const QUESTIONS: usize = 40;
/// The other loads: the length of each NoOperation in units of 4 bytes, and the number of NoOperations. Short
/// requests measure the cost of a message, long requests the cost of a byte.
const NO_OPERATIONS: [(u16, u16); 2] = [(1, 4096), (4096, 4)];
const LOADS: usize = 1 + NO_OPERATIONS.len();
/// The number of iterations to solve for the costs of reports, messages and bytes. Each load depends mainly on one of them.
const ITERATIONS: usize = 20;
/// The interval between two readings of the cost.
const BEAT: Duration = Duration::from_secs(1);

/// The number of reports, messages and bytes that the server has reported.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Reported {
    pub(super) reports: u64,
    pub(super) messages: u64,
    pub(super) bytes: u64,
}

impl Reported {
    fn add(&mut self, other: Reported) {
        self.reports += other.reports;
        self.messages += other.messages;
        self.bytes += other.bytes;
    }

    fn parts(self) -> [f64; 3] {
        [self.reports, self.messages, self.bytes].map(|part| part as f64)
    }

    /// Counts the reports in `answers`, which holds only whole replies.
    fn of(mut answers: &[u8]) -> Reported {
        let mut all = Reported::default();
        while let Some(len) = elements::length(answers) {
            let (Some(answer), Some(rest)) = (answers.get(..len), answers.get(len..)) else {
                break;
            };
            answers = rest;
            let data = answer.get(HEADER..).unwrap_or_default();
            let messages = match elements::head(answer) {
                Some(head) if head.category == Category::FromClient => {
                    elements::requests(data, head.order).count()
                }
                Some(head) if head.category == Category::FromServer => {
                    elements::messages(data, head.order).count()
                }
                _ => continue,
            };
            all.add(Reported {
                reports: 1,
                messages: messages as u64,
                bytes: data.len() as u64,
            });
        }
        all
    }
}

/// The server's CPU time in nanoseconds for each report, for each message and for each byte.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct ReportCosts([f64; 3]);

impl ReportCosts {
    /// Measures the costs on the server with process id `server`; `None` if the kernel does not report the server's CPU
    /// time.
    pub(super) fn probe(
        conversation: &mut Conversation,
        link: &ServerLink,
        server: Option<u32>,
    ) -> Result<Option<ReportCosts>, String> {
        let Some(server) = server.filter(|pid| cpu_clock::read(*pid).is_some()) else {
            return Ok(None);
        };
        let mut nobody = |_: usize| Ok(());
        let without = rounds(conversation, server, &mut nobody)?;
        let context = conversation.setup().resource_id_base;
        let socket = context::enable_for_own(conversation, link, context)?;
        let mut reports: [Vec<u8>; LOADS] = Default::default();
        let mut read = |load: usize| match reports.get_mut(load) {
            Some(reports) => drain(&socket, reports),
            None => Ok(()),
        };
        let with = rounds(conversation, server, &mut read);
        context::disable(conversation, context)?;
        conversation.settle()?;
        let with = with?;
        let mut loads = [([0.0; 3], 0.0); LOADS];
        for (number, load) in loads.iter_mut().enumerate() {
            let reported = Reported::of(&reports[number]).parts();
            load.0 = reported.map(|part| part / ROUNDS as f64);
            load.1 = with[number] - without[number];
        }
        let costs = solved(loads);
        // Other clients' work may hide the difference. The costs are then unknown.
        let is_known = costs.iter().any(|cost| *cost > 0.0);
        Ok(is_known.then_some(ReportCosts(costs)))
    }

    fn cost(&self, reported: Reported) -> f64 {
        let parts = self.0.iter().zip(reported.parts());
        parts.map(|(cost, part)| cost * part).sum()
    }
}

/// The server's CPU time in nanoseconds for each load, in the shortest round. `read` is called after each load with the
/// load's number.
fn rounds(
    conversation: &mut Conversation,
    server: u32,
    read: &mut dyn FnMut(usize) -> Result<(), String>,
) -> Result<[f64; LOADS], String> {
    let mut took = [[0.0; ROUNDS]; LOADS];
    for round in 0..ROUNDS {
        for (load, took) in took.iter_mut().enumerate() {
            let clock = || {
                std::thread::sleep(ASLEEP);
                cpu_clock::read(server).map_or(0, |time| time.cpu_ns)
            };
            let before = clock();
            match NO_OPERATIONS.get(load.wrapping_sub(1)) {
                Some((units, number)) => {
                    let [low, high] = units.to_ne_bytes();
                    let mut one = vec![0; 4 * usize::from(*units)];
                    one[..4].copy_from_slice(&[NO_OPERATION, 0, low, high]);
                    conversation.send_bytes(&one.repeat((*number).into()), *number)?;
                    conversation.settle()?;
                }
                None => {
                    for _ in 0..QUESTIONS {
                        conversation.settle()?;
                    }
                }
            }
            took[round] = clock().saturating_sub(before) as f64;
            read(load)?;
        }
    }
    Ok(took.map(|took| took.into_iter().fold(f64::INFINITY, f64::min)))
}

/// The core request without effect (protocol, section "NoOperation").
const NO_OPERATION: u8 = 127;

/// Appends all bytes that are available now to `into`. Fails if the server has closed the connection.
fn drain(socket: &Socket, into: &mut Vec<u8>) -> Result<(), String> {
    let mut room = vec![0; 64 << 10];
    loop {
        match socket.receive(&mut room, Wait::No) {
            Ok((0, _)) => return Err("it closed the connection".to_owned()),
            Ok((read, _)) => into.extend_from_slice(room.get(..read).unwrap_or_default()),
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => return Ok(()),
            Err(error) => return Err(error.to_string()),
        }
    }
}

/// Solves for the costs of a report, a message and a byte from the loads' times (Gauss-Seidel iteration). No cost is
/// negative.
fn solved(loads: [([f64; 3], f64); LOADS]) -> [f64; 3] {
    let mut costs = [0.0; 3];
    for _ in 0..ITERATIONS {
        for (own, (parts, time)) in loads.iter().enumerate() {
            let all: f64 = parts
                .iter()
                .zip(costs)
                .map(|(part, cost)| part * cost)
                .sum();
            let others = all - parts[own] * costs[own];
            costs[own] = ((time - others) / parts[own].max(1.0)).max(0.0);
        }
    }
    costs
}

/// Estimates the cost of an attached recording while it continues.
#[derive(Debug)]
pub(super) struct CostMeter {
    costs: ReportCosts,
    since: Timestamp,
    /// The estimated server CPU time in nanoseconds at earlier times, the oldest first.
    earlier: VecDeque<(Timestamp, f64)>,
    /// The estimate and the server's CPU time at the last reading, both in nanoseconds.
    last: (f64, u64),
}

impl CostMeter {
    /// Creates a meter that starts at `now`, when the server's process has used `server_ns` of CPU time.
    pub(super) fn new(costs: ReportCosts, now: Timestamp, server_ns: u64) -> CostMeter {
        CostMeter {
            costs,
            since: now,
            earlier: VecDeque::from([(now, 0.0)]),
            last: (0.0, server_ns),
        }
    }

    /// Estimates the cost of all `reported` data at `now`; `None` if the last estimate is less than one second old.
    /// `server_ns` returns the CPU time of the server's process in nanoseconds.
    pub(super) fn look(
        &mut self,
        now: Timestamp,
        reported: Reported,
        server_ns: impl FnOnce() -> u64,
    ) -> Option<AttachCost> {
        let (last, _) = self.earlier.back()?;
        (now.since(*last) >= BEAT).then(|| self.at(now, reported, server_ns()))
    }

    /// Estimates the cost of all `reported` data at `now`. The server's process has used `server_ns` nanoseconds of CPU
    /// time.
    pub(super) fn at(&mut self, now: Timestamp, reported: Reported, server_ns: u64) -> AttachCost {
        let old = |(time, _): &(Timestamp, f64)| now.since(*time) >= INTERVAL;
        while self.earlier.get(1).is_some_and(old) {
            self.earlier.pop_front();
        }
        let before = self.earlier.front().filter(|first| old(first)).copied();
        let estimate = self.costs.cost(reported);
        let used = server_ns.saturating_sub(self.last.1) as f64;
        let total = self.earlier.back().map_or(0.0, |(_, server)| *server);
        let server = total + (estimate - self.last.0).clamp(0.0, used);
        self.last = (estimate, server_ns);
        self.earlier.push_back((now, server));
        let nanos = |nanos: f64| Duration::from_nanos(nanos as u64);
        AttachCost {
            server: nanos(server),
            of: now.since(self.since),
            recent: nanos(server - before.map_or(0.0, |(_, server)| server)),
            recent_of: now.since(before.map_or(self.since, |(time, _)| time)),
            report: nanos(self.costs.0[0] + self.costs.0[1]),
            held: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use x11prof_trace::Timestamp;

    use super::{CostMeter, ReportCosts, Reported, solved};

    #[test]
    fn cost_coefficients_are_solved_from_known_loads() {
        let cost = [800.0, 90.0, 0.25];
        let of = |parts: [f64; 3]| {
            let time = parts.iter().zip(cost).map(|(part, cost)| part * cost);
            (parts, time.sum())
        };
        let loads = [
            [80.0, 80.0, 3520.0],
            [49.0, 4097.0, 49_200.0],
            [6.0, 6.0, 65_700.0],
        ];
        let found = solved(loads.map(of));
        for (found, cost) in found.iter().zip(cost) {
            assert!((found / cost - 1.0).abs() < 1e-3, "{found} {cost}");
        }
        // Noise makes the first load cheaper than its messages alone.
        let [(first, _), ..] = loads.map(of);
        let cheap = [(first, 10.0), of(loads[1]), of(loads[2])];
        assert_eq!(solved(cheap)[0], 0.0);
    }

    #[test]
    fn recent_cost_covers_the_last_five_seconds() {
        let at = |seconds: u64| Timestamp::from_nanos(seconds * 1_000_000_000);
        let mut meter = CostMeter::new(ReportCosts([1e6, 0.0, 0.0]), at(0), 0);
        let reports = |reports| Reported {
            reports,
            ..Reported::default()
        };
        assert_eq!(
            meter.look(Timestamp::from_nanos(999_999_999), reports(100), || 0),
            None
        );
        let first = meter.look(at(1), reports(100), || 500_000_000).unwrap();
        assert_eq!(first.percent(), [10.0, 10.0]);
        assert!(!first.is_over(Some(5.0)));
        (2..=8).for_each(|second| _ = meter.look(at(second), reports(100), || 500_000_000));
        let cost = meter.look(at(10), reports(160), || 900_000_000).unwrap();
        assert_eq!(cost.server, Duration::from_millis(160));
        assert_eq!(
            (cost.recent, cost.recent_of),
            (Duration::from_millis(60), Duration::from_secs(5))
        );
        assert_eq!(cost.percent(), [1.6, 1.2]);
        assert!(cost.is_over(Some(1.0)) && !cost.is_over(Some(1.5)) && !cost.is_over(None));
        // The server ran for 30 ms since then, so reports took at most 30 ms.
        let cost = meter.at(at(11), reports(5160), 930_000_000);
        assert_eq!(cost.server, Duration::from_millis(190));
    }
}
