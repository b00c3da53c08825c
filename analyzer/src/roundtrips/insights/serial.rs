//! Round trips that could have been pipelined.
//!
//! A request depends on a reply if a number in the request first occurred in that reply: an atom, a window, an
//! extension's opcode. The longest chain of such dependencies is the number of round trips that a run needs. A client's
//! decisions based on a reply are not visible, so the saving is an upper bound.

use std::collections::{HashMap, HashSet};

use x11prof_protocol::{SequenceNumber, Symbol};
use x11prof_trace::{ConnectionId, Control};

use super::{Context, Finding, Groups, Insight, Names, Saving, remember};
use crate::pipeline::Observation;
use crate::round_trips::{CompletedRequest, ReplyKind};

/// A run of round trips ends if the client does other work for this long, in nanoseconds.
const PAUSE: u64 = 20_000_000;
/// The minimum number of round trips of a run.
const SHORTEST: u64 = 3;
/// Numbers up to this are not identifiers: flags, counts, predefined atoms (protocol, appendix "Predefined Atoms").
const SMALL: u32 = 68;
/// Maximum number of bytes of a reply that are searched for numbers, and of numbers stored for a run and for a client.
const LOOKED_AT: usize = 16 << 10;
const NUMBERS: usize = 1 << 13;
/// Maximum number of different requests of a run.
const QUESTIONS: usize = 1 << 14;

/// Requests whose replies change over time, so that a client must send them when it needs the reply.
const MOMENTARY: [&str; 8] = [
    "GetImage",
    "MIT-SHM:GetImage",
    "QueryPointer",
    "XInputExtension:XIQueryPointer",
    "TranslateCoordinates",
    "GrabPointer",
    "GrabKeyboard",
    "XInputExtension:XIGrabDevice",
];

/// Round trips without a pause.
#[derive(Debug, Default)]
struct Run {
    trips: u64,
    deepest: u64,
    waited: u64,
    longest: u64,
    last: u64,
    asked: Vec<SequenceNumber>,
    starting: bool,
    names: Names,
    different: HashSet<u64>,
    /// For each number (or opcode, next field), the depth of the reply that first contained it: the length of the chain
    /// of dependencies up to this reply.
    numbers: HashMap<u32, u64>,
    opcodes: HashMap<u8, u64>,
}

#[derive(Debug, Default)]
struct ClientRun {
    run: Run,
    /// Numbers that replies before the run contained.
    known: HashSet<u32>,
}

/// The runs of one client, by their most frequent request.
#[derive(Debug, Default)]
struct Runs {
    runs: u64,
    trips: u64,
    needed: u64,
    /// The time that pipelining saves, in nanoseconds: all waits of each run except the longest.
    saved: u64,
    waits: Vec<SequenceNumber>,
    starting: u64,
    names: Names,
}

/// Finds runs of consecutive round trips, for all clients.
#[derive(Debug, Default)]
pub(super) struct Serial {
    clients: HashMap<ConnectionId, ClientRun>,
    runs: Groups<Symbol, Runs>,
}

impl ClientRun {
    fn knows(&mut self, number: u32) {
        if number > SMALL && self.known.len() < NUMBERS {
            self.known.insert(number);
        }
    }

    fn answered(&mut self, answer: &CompletedRequest<'_>, starting: bool) {
        let question = &answer.question;
        let mut depth = 1;
        for at in (0..question.body.len()).step_by(4) {
            let Some(number) = question.u32(at) else {
                break;
            };
            match self.run.numbers.get(&number) {
                Some(reported) => depth = depth.max(reported + 1),
                None => self.knows(number),
            }
        }
        if let Some(reported) = self.run.opcodes.get(&question.major) {
            depth = depth.max(reported + 1);
        }
        let run = &mut self.run;
        if let Some(reply) = answer.reply {
            let bytes = reply.bytes.get(..LOOKED_AT).unwrap_or(reply.bytes);
            for at in (8..bytes.len()).step_by(4) {
                let Some(number) = reply.order.u32(bytes, at) else {
                    break;
                };
                if number > SMALL && !self.known.contains(&number) && run.numbers.len() < NUMBERS {
                    run.numbers.entry(number).or_insert(depth);
                }
            }
            if question.name.as_str() == "QueryExtension"
                && let Some(opcode) = reply.bytes.get(9)
            {
                run.opcodes.entry(*opcode).or_insert(depth);
            }
        }
        run.last = answer.time;
        let momentary = MOMENTARY.contains(&question.name.as_str());
        // Repeated requests are a separate insight.
        if answer.how == ReplyKind::Waited
            && !momentary
            && run.different.len() < QUESTIONS
            && run.different.insert(question.same)
        {
            run.trips += 1;
            run.asked.push(question.sequence);
            run.deepest = run.deepest.max(depth);
            run.waited = run.waited.saturating_add(answer.waited_locally());
            run.longest = run.longest.max(answer.waited_locally());
            run.starting |= starting;
            run.names.add(question.name);
        }
    }

    /// Ends the run, begins the next one, and returns the ended run.
    fn end_run(&mut self) -> Run {
        let run = std::mem::take(&mut self.run);
        for number in run.numbers.keys() {
            self.knows(*number);
        }
        run
    }
}

impl Runs {
    fn add(&mut self, run: &Run) {
        self.runs += 1;
        self.trips += run.trips;
        self.needed += run.deepest;
        let short = run.waited.saturating_sub(run.longest) as f64;
        let part = (run.trips - run.deepest) as f64 / (run.trips - 1).max(1) as f64;
        self.saved += (short * part) as u64;
        // The first requests, as many as needed, remain round trips.
        let saved = run.asked.iter().skip(run.deepest as usize).copied();
        remember(&mut self.waits, saved);
        self.starting += u64::from(run.starting);
        self.names.merge(&run.names);
    }
}

impl Serial {
    fn add(&mut self, client: ConnectionId, run: &Run) {
        if run.trips >= SHORTEST
            && run.deepest < run.trips
            && let Some((name, _)) = run.names.first()
            && let Some(runs) = self.runs.of(client, name)
        {
            runs.add(run);
        }
    }
}

impl Insight for Serial {
    fn observe(&mut self, observation: &Observation<'_>) {
        if let Observation::Control(_, Control::Closed { connection, .. }) = observation
            && let Some(mut client) = self.clients.remove(connection)
        {
            self.add(*connection, &client.end_run());
        }
    }

    fn answered(&mut self, answer: &CompletedRequest<'_>, context: &Context<'_>) {
        if self.clients.len() >= super::GROUPS && !self.clients.contains_key(&answer.client) {
            return;
        }
        let client = self.clients.entry(answer.client).or_default();
        let paused = answer.question.requested_at.saturating_sub(client.run.last) > PAUSE;
        let ended = (paused || answer.how == ReplyKind::Synchronised).then(|| client.end_run());
        client.answered(answer, context.starting);
        if let Some(run) = ended {
            self.add(answer.client, &run);
        }
    }

    fn findings(&self) -> Vec<Finding> {
        // Runs that continue at the end count up to there.
        let mut all = Serial::default();
        for (client, name, runs) in self.runs.all() {
            if let Some(to) = all.runs.of(client, name) {
                to.runs += runs.runs;
                to.trips += runs.trips;
                to.needed += runs.needed;
                to.saved += runs.saved;
                to.waits.clone_from(&runs.waits);
                to.starting += runs.starting;
                to.names.merge(&runs.names);
            }
        }
        for (id, client) in &self.clients {
            all.add(*id, &client.run);
        }
        let found = |(client, name, runs): (ConnectionId, Symbol, &Runs)| {
            let saved = runs.trips - runs.needed;
            Finding {
                kind: "serial",
                client,
                request: name,
                count: runs.trips,
                action: format!(
                    "Send {} {}, then read the replies: {} round trips become {}",
                    runs.names.list(),
                    ["together", "in batches"][usize::from(runs.needed > 1)],
                    runs.trips,
                    runs.needed
                ),
                why: format!(
                    "the client waited for each reply before it sent the next request{}{}",
                    sequences(runs.runs, runs.starting),
                    match runs.needed > runs.runs {
                        true => "; some requests need the reply to an earlier one",
                        false => "",
                    }
                ),
                saves: Saving {
                    round_trips: saved,
                    nanos: runs.saved,
                    waits: runs.waits.clone(),
                    ..Saving::default()
                },
            }
        };
        all.runs.all().map(found).collect()
    }
}

/// Returns a phrase with the number of separate sequences of requests (`all`), and how many of them were at start-up
/// (`starting`).
fn sequences(all: u64, starting: u64) -> String {
    match (all, starting) {
        (1, 0) => String::new(),
        (1, _) => ", at start-up".to_owned(),
        (_, 0) => format!(", in {all} separate sequences"),
        (_, starting) if starting == all => {
            format!(", in {all} separate sequences, all at start-up")
        }
        _ => format!(", in {all} separate sequences, {starting} of them at start-up"),
    }
}

#[cfg(test)]
mod tests {
    use super::Serial;
    use crate::roundtrips::insights::testing::findings;
    use crate::testing::*;

    fn reported(sequence: u16, number: u32) -> Vec<u8> {
        let mut bytes = reply(sequence);
        bytes[8..12].copy_from_slice(&number.to_le_bytes());
        bytes
    }

    fn get_atom_name(atom: u32) -> Vec<u8> {
        request(17, 0, &[atom])
    }

    #[test]
    fn independent_round_trips_can_be_pipelined() {
        let mut trace = Synthetic::new();
        for number in 1..=5 {
            trace
                .wait(10)
                .client_sends(&[get_atom_name(200 + u32::from(number))]);
            trace.wait(50).server_sends(&[reply(number)]);
        }
        let found = findings(&trace, Serial::default());
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].count, found[0].saves.round_trips), (5, 4));
        assert_eq!(found[0].saves.nanos, 200_000);
        assert!(
            found[0].action.contains("5 round trips become 1"),
            "{found:?}"
        );
    }

    #[test]
    fn dependent_round_trips_stay_serial() {
        let mut trace = Synthetic::new();
        for number in 1..=4 {
            let atom = 300 + u32::from(number);
            trace.wait(10).client_sends(&[get_atom_name(atom)]);
            trace.wait(50).server_sends(&[reported(number, atom + 1)]);
        }
        assert_eq!(findings(&trace, Serial::default()), []);
        // Another request that depends on none of them: two of five can be pipelined.
        trace.wait(10).client_sends(&[get_atom_name(1000)]);
        trace.wait(50).server_sends(&[reply(5)]);
        let found = findings(&trace, Serial::default());
        assert_eq!((found[0].count, found[0].saves.round_trips), (5, 1));
    }

    #[test]
    fn pause_ends_a_run_of_round_trips() {
        let mut trace = Synthetic::new();
        for number in 1..=4 {
            let atom = 300 + u32::from(number);
            trace.wait(30_000).client_sends(&[get_atom_name(atom)]);
            trace.wait(50).server_sends(&[reply(number)]);
        }
        assert_eq!(findings(&trace, Serial::default()), []);
    }
}
