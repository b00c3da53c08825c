//! Loops: two clients that cause each other's messages, without a user or a timer. An example is a program that sets
//! its hints whenever the window manager configures its window, and a window manager that configures the window
//! whenever its hints change. Each step is the effect of the step before. No user waits for the end of a loop, so its
//! steps are no episodes.

use std::collections::{BTreeMap, VecDeque};

use rustc_hash::FxHashMap;
use x11prof_protocol::Symbol;
use x11prof_trace::ConnectionId;

use super::causal_edge::CausalEdge;
use crate::text::label::Label;

/// Number of steps from which on an exchange is a loop: window managers and programs exchange fewer when a window is
/// mapped.
const STEPS: u64 = 16;
/// A loop that lasts less than this, in nanoseconds, is not listed: programs exchange many messages when they start.
const LASTS: u64 = 1_000_000_000;
/// An event is not the cause of a request that the client sends later than this after the event, in nanoseconds, or in
/// an episode that a timer began after the event. Exception: the event began the episode in which the client sends the
/// request.
const AT_ONCE: u64 = 100_000_000;
/// Maximum number of events kept for a client; the latest are kept.
const MAX_EVENTS: usize = 16;
/// Maximum number of tracked pairs of clients. Loops of further pairs are not found.
const MAX_PAIRS: usize = 1024;

/// An exchange of messages between two clients.
#[derive(Debug, Clone)]
pub(crate) struct Loop {
    /// The two clients. Each side has the latest request with which it caused the other client to act, and the event
    /// that it responds to.
    pub(crate) sides: [Side; 2],
    /// The time at which the first step began, in nanoseconds; `last` is the time at which the last step ended.
    pub(crate) first: u64,
    pub(crate) last: u64,
    /// The number of steps; `nanos` is the time in nanoseconds in which they followed each other.
    pub(crate) steps: u64,
    pub(crate) nanos: u64,
    /// The number of successive steps without input of the user in between.
    run: u64,
}

/// One of the two clients of a loop.
#[derive(Debug, Clone)]
pub(crate) struct Side {
    pub(crate) client: ConnectionId,
    pub(crate) request: Option<Symbol>,
    pub(crate) event: Option<Label>,
    /// The times of the last events from the other client, in nanoseconds. The second field is true until the client
    /// has responded to the event. A client may send several requests before it reads the responses.
    delivered: VecDeque<(u64, bool)>,
}

impl Side {
    /// Notes that an event arrived at `time` (nanoseconds).
    fn comes(&mut self, time: u64) {
        if self.delivered.back().is_none_or(|(last, _)| *last < time) {
            if self.delivered.len() == MAX_EVENTS {
                self.delivered.pop_front();
            }
            self.delivered.push_back((time, true));
        }
    }

    /// Returns the time of the latest event that may have caused the request of `link`, and true if the request is the
    /// first response to that event. `None` if the client acted for another reason.
    fn cause_of(&mut self, link: &CausalEdge, other: ConnectionId) -> Option<(u64, bool)> {
        let sent = link.sent;
        let mut before = self.delivered.iter_mut().take_while(|(at, _)| *at <= sent);
        let mut cause = None;
        for (at, is_new) in &mut before {
            cause = Some((*at, std::mem::take(is_new)));
        }
        cause.filter(|(at, _)| match link.after {
            Some(after) if after.client == other => true,
            after => sent <= at.saturating_add(AT_ONCE) && (after.is_some() || link.begun <= *at),
        })
    }
}

/// The exchanges of messages between all pairs of clients.
#[derive(Debug, Default)]
pub(crate) struct Loops {
    pairs: BTreeMap<[ConnectionId; 2], Loop>,
    /// The time of the user's last input to each client, in nanoseconds.
    inputs: FxHashMap<ConnectionId, u64>,
}

impl Loops {
    /// Notes that the user acted in `client` at `time` (nanoseconds), which ends a loop's run of steps.
    pub(crate) fn input(&mut self, time: u64, client: ConnectionId) {
        if self.inputs.len() < MAX_PAIRS || self.inputs.contains_key(&client) {
            self.inputs.insert(client, time);
        }
    }

    /// Processes an event of client `to` that `link` caused. Returns true if the event is a step of a loop.
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
            delivered: VecDeque::new(),
        };
        let known = self.pairs.entry(pair).or_insert_with(|| Loop {
            sides: pair.map(side),
            first: link.delivered,
            last: link.delivered,
            steps: 0,
            nanos: 0,
            run: 0,
        });
        let mut cause = None;
        for side in &mut known.sides {
            if side.client == from {
                side.request = Some(link.request);
                cause = side.cause_of(link, to);
            } else {
                side.event = Some(event.clone());
                side.comes(link.delivered);
            }
        }
        let acted = |since| self.inputs.get(&from).is_some_and(|at| *at >= since);
        match cause {
            Some((since, _)) if acted(since) => known.run = 1,
            // The event belongs to the same step.
            Some((_, false)) => return known.run >= STEPS,
            Some((_, true)) => known.run += 1,
            None => known.run = 1,
        }
        if known.run == STEPS {
            known.steps += STEPS;
        } else if known.run > STEPS {
            known.steps += 1;
            let nanos = link.delivered.saturating_sub(known.last);
            known.nanos = known.nanos.saturating_add(nanos);
        } else if known.steps == 0 && known.run == 1 {
            known.first = link.sent;
        }
        known.last = known.last.max(link.delivered);
        known.run >= STEPS
    }

    /// The loops with the most steps first.
    pub(crate) fn list(&self) -> Vec<&Loop> {
        let mut all: Vec<&Loop> = self
            .pairs
            .values()
            .filter(|one| one.nanos >= LASTS)
            .collect();
        all.sort_by_key(|one| std::cmp::Reverse(one.steps));
        all
    }
}

#[cfg(test)]
mod tests {
    use super::{Loops, STEPS};
    use crate::episodes::cross_client::causal_edge::{CausalEdge, EpisodeId};
    use crate::text::label::Label;
    use x11prof_protocol::Symbol;
    use x11prof_trace::ConnectionId;

    const MS: u64 = 1_000_000;

    /// The edge of episode `number` of `from`.
    fn edge(from: ConnectionId, number: u64, sent: u64, delivered: u64) -> CausalEdge {
        let id = EpisodeId {
            client: from,
            number,
        };
        CausalEdge {
            from: id,
            root: id,
            depth: 1,
            after: None,
            begun: 0,
            request: Symbol::new("ChangeProperty"),
            sent,
            delivered,
            held: None,
            unserved: 0,
            looped: false,
        }
    }

    /// Two clients react to each other every 2 ms; the user acts after each step that `acted` selects.
    fn steps(count: u64, apart: u64, acted: impl Fn(u64) -> bool) -> (Loops, Vec<bool>) {
        let mut loops = Loops::default();
        let clients = [1, 2].map(ConnectionId);
        let looped = (0..count).map(|n| {
            let side = usize::from(n % 2 == 1);
            let (from, to) = (clients[side], clients[1 - side]);
            let edge = edge(from, n, n * apart + apart / 2, (n + 1) * apart);
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
    fn repeated_exchange_between_clients_is_a_loop() {
        let (loops, looped) = steps(1000, 2 * MS, |_| false);
        let first = looped.iter().position(|is| *is);
        assert_eq!(first, Some(STEPS as usize - 1));
        let list = loops.list();
        assert_eq!((list.len(), list[0].steps), (1, 1000));
        assert_eq!(list[0].nanos, (1000 - STEPS) * 2 * MS);
    }

    #[test]
    fn overlapping_exchanges_are_a_loop() {
        let mut loops = Loops::default();
        let clients = [1, 2].map(ConnectionId);
        // Two exchanges at once: each request is in flight for longer than the time between two requests.
        for n in 0..2000 {
            let side = usize::from(n % 4 >= 2);
            let edge = edge(clients[side], n, n * MS, n * MS + 3 * MS / 2);
            loops.step(&edge, clients[1 - side], &Label::new("PropertyNotify"));
        }
        let list = loops.list();
        assert_eq!(list.len(), 1);
        assert!(list[0].steps > 40, "{}", list[0].steps);
    }

    /// A window manager answers each frame of an animation, and the next frame would come without the answer.
    #[test]
    fn exchange_at_each_tick_of_a_timer_is_no_loop() {
        let mut loops = Loops::default();
        let clients = [1, 2].map(ConnectionId);
        for n in 0..200 {
            let frame = edge(clients[0], n, n * 16 * MS + MS, n * 16 * MS + 2 * MS);
            let tick = CausalEdge {
                begun: n * 16 * MS,
                ..frame
            };
            loops.step(&tick, clients[1], &Label::new("PropertyNotify"));
            let answer = CausalEdge {
                after: Some(frame.from),
                ..edge(clients[1], n, n * 16 * MS + 3 * MS, n * 16 * MS + 4 * MS)
            };
            loops.step(&answer, clients[0], &Label::new("PropertyNotify"));
        }
        assert!(loops.list().is_empty());
    }

    #[test]
    fn slow_exchange_that_causes_itself_is_a_loop() {
        let mut loops = Loops::default();
        let clients = [1, 2].map(ConnectionId);
        // The clients lack a processor: each step takes half a second.
        for n in 0..100_u64 {
            let side = usize::from(n % 2 == 1);
            let (from, to) = (clients[side], clients[1 - side]);
            let caused = CausalEdge {
                after: Some(EpisodeId {
                    client: to,
                    number: n.saturating_sub(1),
                }),
                ..edge(from, n, n * 500 * MS + 250 * MS, (n + 1) * 500 * MS)
            };
            loops.step(&caused, to, &Label::new("PropertyNotify"));
        }
        assert!(loops.list()[0].steps > 90);
    }

    #[test]
    fn user_driven_slow_or_short_exchange_is_no_loop() {
        assert!(steps(1000, 2 * MS, |n| n % 8 == 0).0.list().is_empty());
        assert!(steps(100, 500 * MS, |_| false).0.list().is_empty());
        assert!(steps(400, 2 * MS, |_| false).0.list().is_empty());
    }
}
