//! Where in the programs the waits for replies began: stacks that `record --stacks` copied, joined with the round trips.

mod report;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, VecDeque};

use rustc_hash::FxHashMap;
use x11prof_protocol::Symbol;
use x11prof_trace::{ConnectionId, Control, StackFrame};

use crate::pipeline::Observation;
pub use report::{CallerReport, CallersReport, FunctionReport, RequestCount};

/// Waits, and stacks, that have not met, at most: a stack comes soon before or after its reply.
const WAITING: usize = 4096;

/// A wait for a reply.
#[derive(Debug, Clone, Copy)]
struct Wait {
    /// The client, and the time at which the reply's first byte was read, in nanoseconds.
    of: (ConnectionId, u64),
    request: Symbol,
    nanos: u64,
}

/// A stack of the recording.
#[derive(Debug)]
struct CallStack {
    frames: Vec<StackFrame>,
    is_whole: bool,
    waits: u64,
    nanos: u64,
    requests: BTreeMap<Symbol, u64>,
}

/// Collects the stacks of a recording's waits.
#[derive(Debug, Default)]
pub struct Callers {
    stacks: FxHashMap<u32, CallStack>,
    /// Waits without their stack so far, and stacks without their wait: when, which, and the time of copying.
    waits: VecDeque<Wait>,
    unmet: VecDeque<((ConnectionId, u64), u32)>,
    /// All round trips.
    round_trips: u64,
    nanos: u64,
    /// Nanoseconds by which copying delayed replies.
    looking: u64,
}

impl Callers {
    /// Takes the next observation of a pass.
    pub fn observe(&mut self, observation: &Observation<'_>) {
        match observation {
            Observation::Message(seen) => {
                let answer = seen.answer.filter(|answer| answer.how.is_round_trip());
                if let Some(answer) = answer {
                    let nanos = answer.waited();
                    self.round_trips += 1;
                    self.nanos = self.nanos.saturating_add(nanos);
                    self.waited(Wait {
                        of: (answer.client, answer.began),
                        request: answer.question.name,
                        nanos,
                    });
                }
            }
            Observation::Control(_, control) => self.control(control),
            _ => {}
        }
    }

    fn control(&mut self, control: &Control) {
        match control {
            Control::Stack {
                stack,
                frames,
                whole,
            } => {
                let stands = CallStack {
                    frames: frames.clone(),
                    is_whole: *whole,
                    waits: 0,
                    nanos: 0,
                    requests: BTreeMap::new(),
                };
                self.stacks.insert(*stack, stands);
            }
            Control::WaitStack {
                connection,
                at_ns,
                stack,
                took_ns,
            } => {
                self.looking = self.looking.saturating_add(*took_ns);
                let of = (*connection, *at_ns);
                // Of several replies in one block the longest wait began on the stack.
                let met = self.waits.iter().filter(|wait| wait.of == of);
                match met.max_by_key(|wait| wait.nanos).copied() {
                    Some(wait) => self.met(*stack, &wait),
                    None => {
                        self.unmet.push_back((of, *stack));
                        limit(&mut self.unmet);
                    }
                }
            }
            _ => {}
        }
    }

    fn waited(&mut self, wait: Wait) {
        let place = self.unmet.iter().position(|(of, _)| *of == wait.of);
        if let Some((_, stack)) = place.and_then(|place| self.unmet.remove(place)) {
            return self.met(stack, &wait);
        }
        self.waits.push_back(wait);
        limit(&mut self.waits);
    }

    fn met(&mut self, stack: u32, wait: &Wait) {
        if let Some(stack) = self.stacks.get_mut(&stack) {
            stack.waits += 1;
            stack.nanos = stack.nanos.saturating_add(wait.nanos);
            *stack.requests.entry(wait.request).or_default() += 1;
        }
    }
}

/// Forgets the oldest entries beyond the limit.
fn limit<T>(queue: &mut VecDeque<T>) {
    while queue.len() > WAITING {
        queue.pop_front();
    }
}
