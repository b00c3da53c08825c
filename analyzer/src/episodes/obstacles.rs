//! Obstacles that keep a client from working and that no message shows: the client's process waits for another process,
//! or a signal or a debugger has stopped it.

use rustc_hash::FxHashMap;
use x11prof_trace::{ConnectionId, Waiting};

use crate::text::label::Label;

/// Maximum number of obstacles; the longest ones are kept.
const MAX_OBSTACLES: usize = 10_000;

/// The kind of an obstacle.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Obstacle {
    /// A signal or a debugger had stopped the process.
    Stopped,
    /// A thread waited for this process, by its socket or pipe.
    Peer {
        /// The process's name and number.
        process: Label,
        /// True if that process was stopped.
        stopped: bool,
    },
}

impl Obstacle {
    /// The obstacle of a blocked thread; `None` if the record shows none.
    pub(crate) fn of(waiting: &Waiting) -> Option<Obstacle> {
        if waiting.is_stopped() {
            return Some(Obstacle::Stopped);
        }
        let peer = waiting.peer.as_ref()?;
        Some(Obstacle::Peer {
            process: Label::new(&format!("{} ({})", peer.name, peer.pid)),
            stopped: peer.stopped,
        })
    }
}

#[derive(Debug)]
struct Wait {
    client: ConnectionId,
    since: u64,
    until: u64,
    obstacle: Obstacle,
}

/// The obstacles of all clients.
#[derive(Debug, Default)]
pub(crate) struct Obstacles {
    /// The waits that have not ended, by thread.
    open: FxHashMap<u32, Vec<Wait>>,
    over: Vec<Wait>,
}

impl Obstacles {
    /// Notes that a thread has waited since `since` (nanoseconds). `clients` are the connections of its process.
    pub(crate) fn waits(
        &mut self,
        tid: u32,
        since: u64,
        obstacle: &Obstacle,
        clients: &[ConnectionId],
    ) {
        if self.open.len() < MAX_OBSTACLES {
            let waits = clients.iter().map(|client| Wait {
                client: *client,
                since,
                until: u64::MAX,
                obstacle: obstacle.clone(),
            });
            self.open.insert(tid, waits.collect());
        }
    }

    /// Notes that the thread runs again at `time` (nanoseconds).
    pub(crate) fn runs(&mut self, tid: u32, time: u64) {
        for mut wait in self.open.remove(&tid).into_iter().flatten() {
            wait.until = time;
            self.over.push(wait);
        }
        if self.over.len() >= MAX_OBSTACLES {
            let length = |wait: &Wait| std::cmp::Reverse(wait.until.saturating_sub(wait.since));
            self.over.sort_by_key(length);
            self.over.truncate(MAX_OBSTACLES / 2);
        }
    }

    /// Returns the obstacle that hindered a client longest between `from` and `to`, and for how many nanoseconds.
    pub(crate) fn of(&self, client: ConnectionId, from: u64, to: u64) -> Option<(&Obstacle, u64)> {
        let mut sums: Vec<(&Obstacle, u64)> = Vec::new();
        let all = self.open.values().flatten().chain(&self.over);
        for wait in all.filter(|wait| wait.client == client) {
            let nanos = wait.until.min(to).saturating_sub(wait.since.max(from));
            match sums.iter_mut().find(|(known, _)| **known == wait.obstacle) {
                // Threads of a stopped process are stopped at the same time.
                Some((_, sum)) => *sum = sum.saturating_add(nanos).min(to.saturating_sub(from)),
                None => sums.push((&wait.obstacle, nanos)),
            }
        }
        let most = sums.into_iter().max_by_key(|(_, nanos)| *nanos);
        most.filter(|(_, nanos)| *nanos > 0)
    }
}

#[cfg(test)]
mod tests {
    use x11prof_trace::{ConnectionId, WaitPeer, Waiting};

    use super::{Obstacle, Obstacles};

    const A: ConnectionId = ConnectionId(1);

    fn waiting(channel: &str, peer: Option<&str>) -> Waiting {
        Waiting {
            pid: 7,
            tid: 8,
            since_ns: 100,
            syscall: 7,
            wait_channel: Some(channel.to_owned()),
            arguments: Vec::new(),
            peer: peer.map(|name| WaitPeer {
                pid: 9,
                name: name.to_owned(),
                stopped: true,
            }),
        }
    }

    #[test]
    fn longest_obstacle_within_a_time_is_found() {
        assert_eq!(Obstacle::of(&waiting("do_poll", None)), None);
        let peer = Obstacle::of(&waiting("do_poll", Some("daemon"))).unwrap();
        let stopped = Obstacle::of(&waiting("do_signal_stop", Some("daemon"))).unwrap();
        assert_eq!(stopped, Obstacle::Stopped);
        let mut obstacles = Obstacles::default();
        obstacles.waits(8, 100, &peer, &[A]);
        obstacles.runs(8, 150);
        obstacles.waits(8, 200, &stopped, &[A]);
        assert_eq!(obstacles.of(A, 0, 1000), Some((&stopped, 800)));
        obstacles.runs(8, 230);
        assert_eq!(obstacles.of(A, 0, 1000), Some((&peer, 50)));
        assert_eq!(obstacles.of(A, 140, 205), Some((&peer, 10)));
        assert_eq!(obstacles.of(A, 150, 200), None);
        assert_eq!(obstacles.of(ConnectionId(2), 0, 1000), None);
    }
}
