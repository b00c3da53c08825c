//! Think time and wait time by the state machine of the latency-benchmark paper (its Figure 2):
//! the client busy or idle, events waiting or not, a synchronous request outstanding or not.

/// Waits kept one by one at most: the longest.
const MOST_KEPT: usize = 1000;

/// The state of one client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct State {
    /// It handles something.
    pub(crate) busy: bool,
    /// What it handles, the user began.
    pub(crate) for_user: bool,
    /// Events have come that it has not begun with.
    pub(crate) events: bool,
    /// It waits for a reply.
    pub(crate) outstanding: bool,
}

impl State {
    /// Whether the user waits: what a client does that nobody asked for is done in the background.
    pub(crate) fn waits(self) -> bool {
        self.for_user || self.events
    }

    fn index(self) -> usize {
        usize::from(self.busy) | usize::from(self.events) << 1 | usize::from(self.outstanding) << 2
    }
}

/// A stretch of time in which the user waited, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Wait {
    pub(crate) length: u64,
    pub(crate) start: u64,
}

/// The time of all clients by state, and the user's by think and wait.
#[derive(Debug, Default)]
pub(crate) struct States {
    times: [u64; 8],
    waiting_clients: u64,
    since: Option<u64>,
    pub(crate) waited: u64,
    pub(crate) waits: Vec<Wait>,
}

impl States {
    /// A client was in `state` for so many nanoseconds.
    pub(crate) fn spent(&mut self, state: State, nanos: u64) {
        let time = &mut self.times[state.index()];
        *time = time.saturating_add(nanos);
    }

    /// A client went from one state into another at `time`.
    pub(crate) fn changed(&mut self, time: u64, from: State, to: State) {
        match (from.waits(), to.waits()) {
            (false, true) => {
                self.waiting_clients += 1;
                self.since.get_or_insert(time);
            }
            (true, false) => {
                self.waiting_clients = self.waiting_clients.saturating_sub(1);
                if self.waiting_clients == 0
                    && let Some(since) = self.since.take()
                {
                    self.waited(since, time);
                }
            }
            _ => {}
        }
    }

    fn waited(&mut self, start: u64, end: u64) {
        let length = end.saturating_sub(start);
        self.waited = self.waited.saturating_add(length);
        self.waits.push(Wait { length, start });
        if self.waits.len() > 2 * MOST_KEPT {
            self.waits.sort_unstable_by(|a, b| b.cmp(a));
            self.waits.truncate(MOST_KEPT);
        }
    }

    /// The waits that were kept, in the order of time.
    pub(crate) fn timeline(&self) -> Vec<Wait> {
        let mut waits = self.waits.clone();
        waits.sort_unstable_by(|a, b| b.cmp(a));
        waits.truncate(MOST_KEPT);
        waits.sort_unstable_by_key(|wait| wait.start);
        waits
    }

    /// Every state (busy, events waiting, a reply outstanding) with its nanoseconds.
    pub(crate) fn times(&self) -> impl Iterator<Item = ([bool; 3], u64)> {
        let all = self.times.iter().enumerate();
        all.map(|(n, time)| ([n & 1 != 0, n & 2 != 0, n & 4 != 0], *time))
    }
}

#[cfg(test)]
mod tests {
    use super::{State, States};

    #[test]
    fn the_user_waits_while_any_client_does() {
        let idle = State::default();
        let waits = State {
            events: true,
            ..idle
        };
        let background = State { busy: true, ..idle };
        let mut states = States::default();
        states.changed(10, idle, waits);
        states.changed(15, idle, waits);
        states.changed(20, waits, idle);
        states.changed(30, waits, background);
        states.changed(40, background, idle);
        states.changed(50, idle, waits);
        states.changed(51, waits, idle);
        assert_eq!(states.waited, 21);
        let timeline: Vec<_> = states
            .timeline()
            .iter()
            .map(|w| (w.start, w.length))
            .collect();
        assert_eq!(timeline, [(10, 20), (50, 1)]);
    }
}
