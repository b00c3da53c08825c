//! The stack of each request (`record --stacks=requests`), joined with the requests.

use std::collections::VecDeque;

use rustc_hash::FxHashMap;
use x11prof_protocol::SequenceNumber;
use x11prof_trace::RequestRun;

/// Maximum number of runs of each connection that wait for their requests; the oldest are dropped.
const WAITING: usize = 1 << 16;
/// Maximum number of tracked connections. Requests of further connections have no stacks.
const CONNECTIONS: usize = 4096;

/// Runs of requests with one stack, which wait for their requests, by the connection's first resource id.
///
/// After a connection ends, another connection may get its id. The sequence numbers then start again.
#[derive(Debug, Default)]
pub(crate) struct RequestStacks {
    waiting: FxHashMap<u32, VecDeque<WaitingRun>>,
    any: bool,
}

/// A run, with the number of earlier connections that had the same id.
#[derive(Debug)]
struct WaitingRun {
    run: RequestRun,
    before: u32,
}

/// Returns the sequence number that follows the last request of a run.
fn after(run: &RequestRun) -> u32 {
    run.sequence.wrapping_add(run.count)
}

/// Returns true if `number` is equal to `other` or later. The numbers wrap around at 32 bits.
fn is_from(number: u32, other: u32) -> bool {
    number.wrapping_sub(other) <= u32::MAX / 2
}

impl RequestStacks {
    /// True if the trace has contained stacks so far.
    pub(crate) fn any(&self) -> bool {
        self.any
    }

    /// Adds runs of requests with their stacks, which arrive before the requests.
    pub(crate) fn take(&mut self, runs: &[RequestRun]) {
        self.any |= !runs.is_empty();
        for run in runs {
            if self.waiting.len() >= CONNECTIONS && !self.waiting.contains_key(&run.ids) {
                continue;
            }
            let waiting = self.waiting.entry(run.ids).or_default();
            let mut before = 0;
            if let Some(WaitingRun {
                run: last,
                before: connections,
            }) = waiting.back_mut()
            {
                let is_next = is_from(run.sequence, last.sequence);
                before = connections.wrapping_add(u32::from(!is_next));
                if is_next {
                    // Xlib discards a request that it did not need (UnGetReq); the next request gets the same number.
                    last.count = last.count.min(run.sequence.wrapping_sub(last.sequence));
                }
            }
            waiting.push_back(WaitingRun { run: *run, before });
            if waiting.len() > WAITING {
                waiting.pop_front();
            }
        }
    }

    /// The number of the stack that made a request. `ids` is the connection's first resource id. `None` if the stack is
    /// unknown.
    pub(crate) fn of(&mut self, ids: u32, sequence: SequenceNumber) -> Option<u32> {
        let waiting = self.waiting.get_mut(&ids)?;
        let sequence = sequence.0 as u32;
        let newest = waiting.back()?.before;
        while let Some(WaitingRun { run, before }) = waiting.front() {
            if sequence.wrapping_sub(run.sequence) < run.count {
                let stack = run.stack;
                // A later connection without reported stacks may get the ID.
                if after(run) == sequence.wrapping_add(1) {
                    waiting.pop_front();
                }
                return Some(stack);
            }
            // An earlier connection may have created requests that it never sent.
            let is_left = *before != newest;
            if !is_left && !is_from(sequence, after(run)) {
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
    fn stacks_match_requests_by_connection_and_number() {
        let mut stacks = stacks(&[[1, 1, 2, 7], [2, 1, 1, 9], [1, 4, 1, 8]]);
        assert!(stacks.any());
        let first: Vec<_> = (1..6).map(|n| of(&mut stacks, 1, n)).collect();
        assert_eq!(first, [Some(7), Some(7), None, Some(8), None]);
        assert_eq!(of(&mut stacks, 2, 1), Some(9));
        assert_eq!(of(&mut stacks, 3, 1), None);
    }

    #[test]
    fn withdrawn_request_gives_its_number_to_the_next() {
        let mut stacks = stacks(&[[1, 1, 3, 7], [1, 3, 2, 8], [1, 4, 1, 9]]);
        let found: Vec<_> = (1..6).map(|n| of(&mut stacks, 1, n)).collect();
        assert_eq!(found, [Some(7), Some(7), Some(8), Some(9), None]);
    }

    #[test]
    fn sequence_numbers_continue_beyond_32_bits() {
        let mut stacks = stacks(&[[1, u32::MAX, 2, 7], [1, 1, 1, 8]]);
        let last = u64::from(u32::MAX);
        let found: Vec<_> = (last..last + 3).map(|n| of(&mut stacks, 1, n)).collect();
        assert_eq!(found, [Some(7), Some(7), Some(8)]);
    }

    #[test]
    fn reused_connection_gets_no_stale_stacks() {
        let mut stacks = stacks(&[[1, 1, 2, 7]]);
        let found: Vec<_> = [1, 2, 1, 2].map(|n| of(&mut stacks, 1, n)).to_vec();
        assert_eq!(found, [Some(7), Some(7), None, None]);
    }

    #[test]
    fn closed_connection_leaves_no_stacks_for_the_next() {
        let mut stacks = stacks(&[[1, 5, 1, 7], [1, 6, 3, 7], [1, 1, 1, 8], [1, 2, 1, 9]]);
        assert_eq!(of(&mut stacks, 1, 5), Some(7));
        // The first connection's last requests were never sent.
        assert_eq!(of(&mut stacks, 1, 1), Some(8));
        assert_eq!(of(&mut stacks, 1, 2), Some(9));
    }
}
