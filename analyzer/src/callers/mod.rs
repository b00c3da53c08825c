//! The call sites of waits for replies: stacks from `record --stacks`, or the stacks of requests, joined with the round
//! trips.

pub(crate) mod blocked;
pub(crate) mod call_tree;
pub(crate) mod code_stacks;
mod report;
pub(crate) mod running;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, VecDeque};

use rustc_hash::FxHashMap;
use x11prof_protocol::{Message, SequenceNumber, Symbol};
use x11prof_trace::{ConnectionId, Control};

use crate::callers::code_stacks::STACKS;
use crate::pipeline::{MessageContext, Observation};
pub use report::{
    CallerReport, CallersReport, FunctionReport, RequestCount, StackWaits, interpreted, place_of,
    program_functions,
};

/// Maximum number of waits without a stack yet, and of stacks without a wait yet. Beyond it, the oldest is dropped. A
/// stack arrives shortly before or after its reply.
const WAITING: usize = 4096;

/// Maximum number of pending requests whose stacks are kept. Waits for replies to further requests have no stack.
const ASKED: usize = 100_000;

/// The maximum number of waits with stacks that are kept individually, for episodes and suggestions.
const MET: usize = 200_000;

/// The client of a wait, and the time at which the reply's first byte was read, in nanoseconds.
type WaitId = (ConnectionId, u64);

/// A wait for a reply.
#[derive(Debug, Clone, Copy)]
struct Wait {
    request: Symbol,
    sequence: SequenceNumber,
    nanos: u64,
}

/// Waits without a stack yet, or stacks without a wait yet, by age. Beyond [`WAITING`], the oldest item is dropped.
#[derive(Debug)]
struct Partners<T> {
    waiting: FxHashMap<WaitId, T>,
    order: VecDeque<WaitId>,
}

impl<T> Default for Partners<T> {
    fn default() -> Partners<T> {
        Partners {
            waiting: FxHashMap::default(),
            order: VecDeque::new(),
        }
    }
}

impl<T> Partners<T> {
    fn add(&mut self, id: WaitId, of: T) {
        if self.waiting.insert(id, of).is_none() {
            self.order.push_back(id);
        }
        if self.order.len() > WAITING
            && let Some(oldest) = self.order.pop_front()
        {
            self.waiting.remove(&oldest);
        }
    }
}

/// The sums of the waits that have one stack in common.
#[derive(Debug, Default)]
struct Waits {
    waits: u64,
    nanos: u64,
    requests: BTreeMap<Symbol, u64>,
}

impl Waits {
    fn add(&mut self, wait: Wait) {
        self.waits += 1;
        self.nanos = self.nanos.saturating_add(wait.nanos);
        *self.requests.entry(wait.request).or_default() += 1;
    }
}

/// A wait whose stack is known.
#[derive(Debug)]
struct Met {
    id: WaitId,
    stack: u32,
    wait: Wait,
}

/// The number of a copied stack, and the time in nanoseconds that x11prof took to copy it.
type Copied = (u32, u64);

/// Collects a recording's waits for replies by their stacks.
#[derive(Debug, Default)]
pub struct Callers {
    by_stack: BTreeMap<u32, Waits>,
    /// Waits whose stack has not arrived yet, and stacks whose wait has not arrived yet.
    waits: Partners<Wait>,
    unmet: Partners<Copied>,
    /// The stacks of pending requests, if known.
    asked: FxHashMap<(ConnectionId, SequenceNumber), u32>,
    /// The first [`MET`] waits whose stacks are known.
    met: BTreeMap<(WaitId, usize), Met>,
    /// The number of all round trips.
    round_trips: u64,
    nanos: u64,
    /// The time by which copying stacks delayed replies, in nanoseconds.
    looking: u64,
}

impl Callers {
    /// Processes the next observation of a trace pass. `counts` selects the messages whose round trips count.
    pub fn observe(
        &mut self,
        observation: &Observation<'_>,
        counts: impl Fn(&MessageContext<'_>) -> bool,
    ) {
        match observation {
            Observation::Message(seen) => {
                if let (Message::Request(request), Some(stack)) = (seen.message, seen.stack)
                    && request.has_reply
                    && self.asked.len() < ASKED
                {
                    let question = (seen.connection, request.sequence);
                    self.asked.insert(question, stack);
                }
                let Some(answer) = seen.answer else { return };
                let asked = (answer.client, answer.question.sequence);
                let stack = self.asked.remove(&asked);
                if answer.how.is_round_trip() && counts(seen) {
                    let nanos = answer.waited();
                    self.round_trips += 1;
                    self.nanos = self.nanos.saturating_add(nanos);
                    let wait = Wait {
                        request: answer.question.name,
                        sequence: answer.question.sequence,
                        nanos,
                    };
                    let id = (answer.client, answer.began);
                    match stack {
                        Some(stack) => self.meet(stack, id, wait),
                        None => self.waited(id, wait),
                    }
                }
            }
            Observation::Control(
                _,
                Control::WaitStack {
                    connection,
                    at_ns,
                    stack,
                    took_ns,
                },
            ) => {
                let id = (*connection, *at_ns);
                let copied = (*stack, *took_ns);
                match self.waits.waiting.get(&id).copied() {
                    Some(wait) => self.looked(copied, id, wait),
                    None => self.unmet.add(id, copied),
                }
            }
            _ => {}
        }
    }

    fn waited(&mut self, id: WaitId, wait: Wait) {
        if let Some(copied) = self.unmet.waiting.remove(&id) {
            return self.looked(copied, id, wait);
        }
        // If one block contains several replies, the longest wait began on this stack.
        let known = self.waits.waiting.get(&id);
        if known.is_none_or(|known| known.nanos < wait.nanos) {
            self.waits.add(id, wait);
        }
    }

    fn looked(&mut self, (stack, took): Copied, id: WaitId, wait: Wait) {
        self.looking = self.looking.saturating_add(took);
        self.meet(stack, id, wait);
    }

    fn meet(&mut self, stack: u32, id: WaitId, wait: Wait) {
        if self.by_stack.len() < STACKS || self.by_stack.contains_key(&stack) {
            self.by_stack.entry(stack).or_default().add(wait);
        }
        if self.met.len() < MET {
            self.met
                .insert((id, self.met.len()), Met { id, stack, wait });
        }
    }
}
