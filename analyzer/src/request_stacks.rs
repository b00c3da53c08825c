//! The stack on which each request was made (`record --stacks=requests`), joined with the requests.

use std::collections::VecDeque;

use rustc_hash::FxHashMap;
use x11prof_protocol::SequenceNumber;
use x11prof_trace::RequestRun;

/// Runs that wait for their requests, at most, of each connection: the oldest are forgotten.
const WAITING: usize = 1 << 16;
/// Connections followed at most.
const CONNECTIONS: usize = 4096;

/// Runs that wait for their requests, by the connection's first resource id.
///
/// A connection that ends leaves its id to another one, whose numbers begin anew.
#[derive(Debug, Default)]
pub(crate) struct RequestStacks {
    waiting: FxHashMap<u32, VecDeque<RequestRun>>,
    any: bool,
}

impl RequestStacks {
    /// True once the trace has told of stacks.
    pub(crate) fn any(&self) -> bool {
        self.any
    }

    /// Takes runs, which come before their requests.
    pub(crate) fn take(&mut self, runs: &[RequestRun]) {
        self.any = true;
        for run in runs {
            if self.waiting.len() >= CONNECTIONS && !self.waiting.contains_key(&run.ids) {
                continue;
            }
            let waiting = self.waiting.entry(run.ids).or_default();
            waiting.push_back(*run);
            if waiting.len() > WAITING {
                waiting.pop_front();
            }
        }
    }

    /// The stack of a request, whose connection has this first id.
    pub(crate) fn of(&mut self, ids: u32, sequence: SequenceNumber) -> Option<u32> {
        let waiting = self.waiting.get_mut(&ids)?;
        let sequence = sequence.0 as u32;
        let holds = |run: &RequestRun| sequence.wrapping_sub(run.sequence) < run.count;
        let is_over = |run: &RequestRun| {
            let beyond = sequence.wrapping_sub(run.sequence.wrapping_add(run.count));
            beyond < u32::MAX / 2
        };
        while let Some(run) = waiting.front() {
            if holds(run) {
                return Some(run.stack);
            }
            // What an earlier connection has left has higher numbers than what follows.
            let is_left = waiting.get(1).is_some_and(|next| {
                let after = run.sequence.wrapping_add(run.count);
                next.sequence.wrapping_sub(after) > u32::MAX / 2
            });
            if !is_over(run) && !is_left {
                return None;
            }
            waiting.pop_front();
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stacks(runs: &[[u32; 4]]) -> RequestStacks {
        let mut stacks = RequestStacks::default();
        let runs: Vec<RequestRun> = runs.iter().map(|run| RequestRun::from(*run)).collect();
        stacks.take(&runs);
        stacks
    }

    fn of(stacks: &mut RequestStacks, ids: u32, sequence: u64) -> Option<u32> {
        stacks.of(ids, SequenceNumber(sequence))
    }

    #[test]
    fn each_request_has_the_stack_of_its_connection_and_number() {
        let mut stacks = stacks(&[[1, 1, 2, 7], [2, 1, 1, 9], [1, 4, 1, 8]]);
        assert!(stacks.any());
        let first: Vec<_> = (1..6).map(|n| of(&mut stacks, 1, n)).collect();
        assert_eq!(first, [Some(7), Some(7), None, Some(8), None]);
        assert_eq!(of(&mut stacks, 2, 1), Some(9));
        assert_eq!(of(&mut stacks, 3, 1), None);
    }

    #[test]
    fn numbers_go_on_beyond_32_bits() {
        let mut stacks = stacks(&[[1, u32::MAX, 2, 7], [1, 1, 1, 8]]);
        let last = u64::from(u32::MAX);
        let found: Vec<_> = (last..last + 3).map(|n| of(&mut stacks, 1, n)).collect();
        assert_eq!(found, [Some(7), Some(7), Some(8)]);
    }

    #[test]
    fn a_connection_that_ended_leaves_nothing_to_the_next() {
        let mut stacks = stacks(&[[1, 5, 1, 7], [1, 6, 3, 7], [1, 1, 1, 8], [1, 2, 1, 9]]);
        assert_eq!(of(&mut stacks, 1, 5), Some(7));
        // The first connection's last requests were never sent.
        assert_eq!(of(&mut stacks, 1, 1), Some(8));
        assert_eq!(of(&mut stacks, 1, 2), Some(9));
    }
}
