//! Loops: two clients that cause each other's messages, without a user or a timer (a program that sets its hints whenever
//! the window manager configures its window, and a window manager that configures the window whenever its hints change).
//! Each step is the effect of the step before. A loop has no end that anybody waits for: its steps are no episodes.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;
use x11prof_protocol::Symbol;
use x11prof_trace::ConnectionId;

use super::causal_edge::CausalEdge;
use crate::text::label::Label;

/// Steps after which an exchange is a loop: window managers and programs exchange fewer when a window is mapped.
const STEPS: u64 = 16;
/// A client that acts later than this after an event acts for another reason, in nanoseconds.
const AT_ONCE: u64 = 100_000_000;
/// Pairs of clients followed at most.
const MAX_PAIRS: usize = 1024;

/// An exchange of two clients.
#[derive(Debug, Clone)]
pub(crate) struct Loop {
    /// The two clients, each with the latest request that made the other one act, and with the event for which it acts.
    pub(crate) sides: [Side; 2],
    /// The beginning of the first step, and the end of the last one.
    pub(crate) first: u64,
    pub(crate) last: u64,
    /// Steps, and nanoseconds in which they followed each other.
    pub(crate) steps: u64,
    pub(crate) nanos: u64,
    /// The client that the last event was for.
    to: ConnectionId,
    /// Successive steps.
    run: u64,
}

/// A client of a loop.
#[derive(Debug, Clone)]
pub(crate) struct Side {
    pub(crate) client: ConnectionId,
    pub(crate) request: Option<Symbol>,
    pub(crate) event: Option<Label>,
}

/// The exchanges of all pairs of clients.
#[derive(Debug, Default)]
pub(crate) struct Loops {
    pairs: BTreeMap<[ConnectionId; 2], Loop>,
    /// The time of each client's last input.
    inputs: FxHashMap<ConnectionId, u64>,
}

impl Loops {
    /// The user acted in a client.
    pub(crate) fn input(&mut self, time: u64, client: ConnectionId) {
        if self.inputs.len() < MAX_PAIRS || self.inputs.contains_key(&client) {
            self.inputs.insert(client, time);
        }
    }

    /// Takes an event for the client `to` that `link` caused; true if it is a step of a loop.
    pub(crate) fn step(&mut self, link: &CausalEdge, to: ConnectionId, event: &Label) -> bool {
        let from = link.from.client;
        let pair = [from.min(to), from.max(to)];
        if self.pairs.len() >= MAX_PAIRS && !self.pairs.contains_key(&pair) {
            return false;
        }
        let side = |client| Side {
            client,
            request: None,
            event: None,
        };
        let known = self.pairs.entry(pair).or_insert_with(|| Loop {
            sides: pair.map(side),
            first: link.delivered,
            last: link.delivered,
            steps: 0,
            nanos: 0,
            to: from,
            run: 0,
        });
        for side in &mut known.sides {
            match side.client == from {
                true => side.request = Some(link.request),
                false => side.event = Some(event.clone()),
            }
        }
        let (before, at_once) = (known.last, known.last.saturating_add(AT_ONCE));
        let acted = self.inputs.get(&from).is_some_and(|at| *at >= before);
        if known.to == to && link.delivered <= at_once {
            // Another event for the same step.
            return known.run >= STEPS;
        }
        match (before..=at_once).contains(&link.sent) && !acted && known.to == from {
            true => known.run += 1,
            false => known.run = 1,
        }
        if known.run == STEPS {
            known.steps += STEPS;
        } else if known.run > STEPS {
            known.steps += 1;
            known.nanos = known.nanos.saturating_add(link.delivered - before);
        } else if known.steps == 0 && known.run == 1 {
            known.first = link.sent;
        }
        (known.to, known.last) = (to, link.delivered);
        known.run >= STEPS
    }

    /// The loops, the most steps first.
    pub(crate) fn list(&self) -> Vec<&Loop> {
        let mut all: Vec<&Loop> = self.pairs.values().filter(|one| one.steps > 0).collect();
        all.sort_by_key(|one| std::cmp::Reverse(one.steps));
        all
    }
}

#[cfg(test)]
mod tests {
    use super::{Loops, STEPS};
    use crate::episodes::across::causal_edge::{CausalEdge, EpisodeId};
    use crate::text::label::Label;
    use x11prof_protocol::Symbol;
    use x11prof_trace::ConnectionId;

    const MS: u64 = 1_000_000;

    /// Two clients answer each other each 2 ms, and after a step that `acted` numbers the user acts.
    fn steps(count: u64, apart: u64, acted: impl Fn(u64) -> bool) -> (Loops, Vec<bool>) {
        let mut loops = Loops::default();
        let clients = [1, 2].map(ConnectionId);
        let looped = (0..count).map(|n| {
            let side = usize::from(n % 2 == 1);
            let (from, to) = (clients[side], clients[1 - side]);
            let id = EpisodeId {
                client: from,
                number: n,
            };
            let edge = CausalEdge {
                from: id,
                root: id,
                depth: 1,
                request: Symbol::new("ChangeProperty"),
                sent: n * apart + apart / 2,
                delivered: (n + 1) * apart,
                unserved: 0,
                looped: false,
            };
            let looped = loops.step(&edge, to, &Label::new("PropertyNotify"));
            if acted(n) {
                loops.input((n + 1) * apart, to);
            }
            looped
        });
        let looped = looped.collect();
        (loops, looped)
    }

    #[test]
    fn clients_that_answer_each_other_again_and_again_are_a_loop() {
        let (loops, looped) = steps(100, 2 * MS, |_| false);
        let first = looped.iter().position(|is| *is);
        assert_eq!(first, Some(STEPS as usize - 1));
        let list = loops.list();
        assert_eq!((list.len(), list[0].steps), (1, 100));
        assert_eq!(list[0].nanos, (100 - STEPS) * 2 * MS);
    }

    #[test]
    fn exchanges_with_a_user_or_a_timer_are_none() {
        assert!(steps(100, 2 * MS, |n| n % 8 == 0).0.list().is_empty());
        assert!(steps(100, 500 * MS, |_| false).0.list().is_empty());
        assert!(steps(STEPS - 1, 2 * MS, |_| false).0.list().is_empty());
    }
}
