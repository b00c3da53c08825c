//! The server's runs on a processor, and the server time after a client's last request.

use std::collections::{BTreeMap, HashMap, VecDeque};

use x11prof_trace::ConnectionId;

use super::cause::ServerCause;
use super::cross_client::causal_edge::EpisodeId;
use super::cross_client::steps::Step as PathTime;
use super::episode::{Episode, LatencyComponent};
use super::timeline_event::Shown;
use crate::pipeline::grab_history::GrabHistory;
use crate::server_time::server_runs::Runs;
use crate::threads::delays::{HANDED_ON_WITHIN, SERVER_WAKES_WITHIN, WOKEN_WITHIN};
use crate::threads::server_ready::ServerReady;
use crate::threads::thread_states::Step;

/// Maximum number of runs, and of pictures of a client, that are kept; the latest are kept.
const REMEMBERED: usize = 256;
/// Maximum number of ended episodes that wait for the server to complete their last drawing.
const MAX_WAITING: usize = 4096;
/// A server that is ready for longer than this, in nanoseconds, counts as ended or stopped.
const READY_FOR: u64 = 1_000_000_000;
/// If no completion event arrives within this time after a client showed a picture with Present, in nanoseconds, none
/// is expected.
const LANDS_WITHIN: u64 = 1_000_000_000;
/// Maximum number of clients that receive Present completion events.
const MAX_PRESENTING: usize = 4096;

/// An episode that its client has ended.
#[derive(Debug)]
struct Ended {
    episode: Episode,
    /// The time at which the client ended the episode, in nanoseconds.
    at: u64,
    /// The picture that has to appear on the screen before the episode is complete. The next field is the time at which
    /// it appeared.
    shown: Option<Shown>,
    landed: Option<u64>,
    /// The client whose grab of the server held up the last request.
    held_by: Option<ConnectionId>,
}

/// The pictures of a client that receives Present completion events.
#[derive(Debug, Default)]
struct Presenting {
    /// The latest pictures, each with the time at which the client sent it, in nanoseconds.
    sent: VecDeque<(u64, Shown)>,
    /// The latest pictures that appeared on the screen, each with its time in nanoseconds, the latest last.
    landed: VecDeque<(u64, Shown)>,
}

/// The server's runs, and the episodes whose last drawing the server may not have completed.
#[derive(Debug, Default)]
pub(crate) struct ServerActivity {
    /// Converts the server's context switches to runs, and contains the current run.
    runs: Option<Runs>,
    /// The last finished runs, each with the times at which the server woke and waited again, in nanoseconds.
    ended_runs: VecDeque<(u64, u64)>,
    /// The intervals in which the server was ready, but had no processor.
    pub(crate) ready: ServerReady,
    /// The time at which the current run could have begun, because the server was ready, in nanoseconds.
    called: Option<u64>,
    /// The number of episodes so far that their clients have ended.
    ended: u64,
    /// The ended episodes whose last request the server could read, by the time in nanoseconds from which it could, and
    /// by their numbers. The server completes them in this order.
    waiting: BTreeMap<(u64, u64), Ended>,
    /// The other ended episodes, by the time in nanoseconds until which they cannot be complete, which is the greatest
    /// time during a grab, and by their numbers.
    asleep: BTreeMap<(u64, u64), Ended>,
    /// The grab at the last call of [`ServerActivity::settle`], and its beginning in nanoseconds.
    grab: (Option<ConnectionId>, u64),
    presenting: HashMap<ConnectionId, Presenting>,
    switches: bool,
}

impl ServerActivity {
    /// Sets the id of the server's process; `None` if unknown.
    pub(crate) fn set_pid(&mut self, pid: Option<u32>) {
        if pid != self.pid() {
            self.runs = pid.map(Runs::of);
            self.ready.server(pid);
        }
    }

    pub(crate) fn pid(&self) -> Option<u32> {
        self.runs.as_ref().map(Runs::server)
    }

    /// Processes a thread's change of state. Returns true if the server now waits for work.
    pub(crate) fn step(&mut self, step: &Step) -> bool {
        self.switches = true;
        let Some(runs) = &mut self.runs else {
            return false;
        };
        if runs.front().is_none() {
            let ignores = self.ready.ignores_since();
            self.called = self.ready.since(step.time).or(ignores);
        }
        self.ready.step(step);
        runs.step(step);
        let mut rests = false;
        while let Some((from, to)) = runs.front().and_then(|(run, _)| Some((run.from, run.to?))) {
            runs.pop();
            if self.ended_runs.len() == REMEMBERED {
                self.ended_runs.pop_front();
            }
            self.ended_runs
                .push_back((self.called.take().unwrap_or(from), to));
            rests = true;
        }
        rests
    }

    /// The nanoseconds in which the server did not run between `from` and `to`, and did not ignore requests, if they
    /// exceed [`WOKEN_WITHIN`]; otherwise 0. Also 0 without the server's context switches, and for an attached server,
    /// whose requests may have waited for a grab.
    pub(crate) fn rested(&self, from: u64, to: u64) -> u64 {
        if self.ready.is_attached() {
            return 0;
        }
        let runs = self.runs.as_ref().filter(|_| self.switches);
        let ran = runs.map_or(u64::MAX, |runs| runs.ran_between(from, to));
        let rested = to.saturating_sub(from).saturating_sub(ran);
        let rested = rested.saturating_sub(self.ready.ignored(from, to));
        if rested > WOKEN_WITHIN { rested } else { 0 }
    }

    /// Adds an episode that its client ended at `end` (nanoseconds), and that waits for its last drawing.
    pub(crate) fn finish(&mut self, episode: Episode, end: u64) {
        if self.waiting.len() + self.asleep.len() == MAX_WAITING {
            let oldest = self.waiting.pop_first();
            oldest.or_else(|| self.asleep.pop_first());
        }
        // The last picture that the episode sent.
        let since = episode.start.as_nanos();
        let presenting = self.presenting.get(&episode.client);
        let sent = presenting
            .map(|of| of.sent.iter().rev())
            .into_iter()
            .flatten();
        let mut sent = sent.filter(|(sent, _)| (since..=end).contains(sent));
        let shown = sent.next().map(|(_, shown)| *shown);
        let of = presenting.map(|of| of.landed.iter()).into_iter().flatten();
        let mut landed = of.filter(|(_, one)| Some(*one) == shown);
        let landed = landed.next().map(|(time, _)| *time);
        let ended = Ended {
            episode,
            at: end,
            shown,
            landed,
            held_by: None,
        };
        self.ended += 1;
        self.asleep.insert((0, self.ended), ended);
    }

    /// Notes that a client shows a picture with Present. `is_reported` is true if the client receives a completion event.
    pub(crate) fn shows(
        &mut self,
        time: u64,
        client: ConnectionId,
        shown: Option<Shown>,
        is_reported: bool,
    ) {
        if is_reported && self.presenting.len() < MAX_PRESENTING {
            self.presenting.entry(client).or_default();
        }
        if let Some(shown) = shown
            && let Some(of) = self.presenting.get_mut(&client)
        {
            of.sent.push_back((time, shown));
            if of.sent.len() > REMEMBERED {
                of.sent.pop_front();
            }
        }
    }

    /// Notes that a client received the completion events of these pictures at `time` (nanoseconds).
    pub(crate) fn landed(&mut self, time: u64, client: ConnectionId, pictures: &[Shown]) {
        let Some(of) = self.presenting.get_mut(&client) else {
            return;
        };
        of.landed
            .extend(pictures.iter().map(|shown| (time, *shown)));
        let dropped = of.landed.len().saturating_sub(REMEMBERED);
        of.landed.drain(..dropped);
        for shown in pictures {
            let mut waiting = self.asleep.iter_mut().chain(&mut self.waiting);
            let waits = waiting.find(|(_, one)| {
                one.episode.client == client && one.shown == Some(*shown) && one.landed.is_none()
            });
            if let Some((&key, waits)) = waits {
                waits.landed = Some(time);
                self.wake(key);
            }
        }
    }

    /// Makes the next call of [`ServerActivity::settle`] look at an episode.
    fn wake(&mut self, key: (u64, u64)) {
        if let Some(ended) = self.asleep.remove(&key) {
            self.asleep.insert((0, key.1), ended);
        }
    }

    /// Drops the pictures of a disconnected client.
    pub(crate) fn closed(&mut self, client: ConnectionId) {
        if self.presenting.remove(&client).is_none() {
            return;
        }
        let all = self.asleep.iter_mut();
        let of = all.filter(|(_, one)| one.episode.client == client);
        let of = of.map(|(key, one)| {
            one.shown = None;
            *key
        });
        let of: Vec<_> = of.collect();
        of.into_iter().for_each(|key| self.wake(key));
    }

    /// Returns the first episodes of the trees that contain the episodes waiting for their last drawing.
    pub(crate) fn roots(&self) -> impl Iterator<Item = EpisodeId> {
        let all = self.asleep.values().chain(self.waiting.values());
        let all = all.map(|one| &one.episode);
        all.map(|episode| episode.link.as_ref().map_or(episode.id, |link| link.root))
    }

    /// Removes and returns the episodes whose last drawing the server has completed at `now` (nanoseconds).
    pub(crate) fn settle(&mut self, now: u64, grabs: &GrabHistory) -> Vec<Episode> {
        let mut awake = Vec::new();
        while let Some(first) = self.asleep.first_entry().filter(|one| one.key().0 <= now) {
            awake.push(first.remove_entry());
        }
        let grab = (grabs.by, grabs.since);
        if std::mem::replace(&mut self.grab, grab) != grab {
            awake.extend(self.asleep.split_off(&(u64::MAX, 0)));
        }
        for ((_, number), ended) in awake {
            self.queue(number, ended, now, grabs);
        }
        let mut settled = Vec::new();
        while let Some((&(served, number), _)) = self.waiting.first_key_value()
            && let Some(tail) = self.tail(served, now)
            && let Some((_, ended)) = self.waiting.pop_first()
        {
            settled.push((number, self.complete(ended, served, tail)));
        }
        settled.sort_by_key(|(number, _)| *number);
        settled.into_iter().map(|(_, episode)| episode).collect()
    }

    /// Adds an ended episode to those that wait for the server, or to those that cannot be complete at `now`
    /// (nanoseconds).
    fn queue(&mut self, number: u64, mut ended: Ended, now: u64, grabs: &GrabHistory) {
        let lands = ended.at.saturating_add(LANDS_WITHIN);
        // On an emulated link, the last request was still in flight to the server.
        let arrived = ended.at.saturating_add(ended.episode.presentation);
        let held = grabs.hold(ended.episode.client, arrived);
        let held = held.filter(|_| ended.episode.requests > 0);
        ended.held_by = held.map(|hold| hold.by);
        let until = held.map_or(Some(arrived), |hold| hold.until);
        if ended.shown.is_some() && ended.landed.is_none() && now < lands {
            self.asleep.insert((lands, number), ended);
        } else if self.switches && now < arrived {
            self.asleep.insert((arrived, number), ended);
        } else if let Some(served) = until {
            self.waiting.insert((served, number), ended);
        } else {
            self.asleep.insert((u64::MAX, number), ended);
        }
    }

    /// Returns an episode whose last request the server could read from `served` on, and for which it took `tail` (both
    /// in nanoseconds).
    fn complete(&self, ended: Ended, served: u64, tail: u64) -> Episode {
        let mut episode = ended.episode;
        let arrived = ended.at.saturating_add(episode.presentation);
        let landed = ended.landed.map_or(0, |time| time.saturating_sub(served));
        let unserved = self.rested(served, served.saturating_add(tail));
        let ignored = self.ready.ignored(served, served.saturating_add(tail));
        let tail = tail.max(landed);
        if ended.held_by.is_some() {
            let owner = LatencyComponent::Server(ServerCause::Grabbed);
            episode.parts.add(owner, served - arrived);
            episode.steps.push(PathTime {
                start: arrived,
                end: served,
                owner,
                request: None,
                by: ended.held_by,
            });
            episode.presentation += served - arrived;
        }
        if episode.requests > 0 {
            let mut since = served;
            for (cause, nanos) in [
                (ServerCause::Processor, unserved),
                (ServerCause::Grabbed, ignored),
                (
                    ServerCause::Drawing,
                    tail.saturating_sub(unserved + ignored),
                ),
            ] {
                let owner = LatencyComponent::Server(cause);
                episode.parts.add(owner, nanos);
                episode.steps.add(since, since + nanos, owner, None);
                since += nanos;
            }
            episode.presentation += tail;
        }
        episode
    }

    /// Returns the nanoseconds that the server took for a request sent at `sent`; `None` if the server may still work
    /// on it at `now`. All times are in nanoseconds.
    fn tail(&self, sent: u64, now: u64) -> Option<u64> {
        if !self.switches {
            return Some(0);
        }
        let ready = self.ready.since(now);
        let ready = ready.filter(|since| now.saturating_sub(*since) < READY_FOR);
        let ready = ready.or(self.ready.ignores_since());
        let open = self.runs.as_ref().and_then(Runs::front);
        let open = open.map(|(run, _)| self.called.unwrap_or(run.from));
        let open = open.or(ready).map(|since| (since, u64::MAX));
        // Runs that ended up to this time before the request count in attached recordings.
        let first = self
            .ended_runs
            .partition_point(|(_, end)| end.saturating_add(WOKEN_WITHIN) < sent);
        let all = self.ended_runs.range(first..).copied().chain(open);
        if self.ready.is_attached() {
            // The server had received the request by then, or shortly after.
            let mut near = all;
            return match near.next() {
                Some((since, _)) if since > sent.saturating_add(WOKEN_WITHIN) => Some(0),
                Some((_, u64::MAX)) => (now == u64::MAX).then_some(0),
                Some((_, end)) => Some(end.saturating_sub(sent)),
                None if now < sent.saturating_add(WOKEN_WITHIN) => None,
                None => Some(0),
            };
        }
        let mut after = all.filter(|(_, end)| *end >= sent);
        let run = match after.next() {
            Some((since, end)) if since <= sent && end - sent < HANDED_ON_WITHIN => {
                match after.next() {
                    Some(next) if next.0.saturating_sub(sent) < WOKEN_WITHIN => Some(next),
                    _ if now.saturating_sub(sent) < WOKEN_WITHIN => return None,
                    _ => Some((since, end)),
                }
            }
            other => other,
        };
        match run {
            Some((since, _)) if since > sent.saturating_add(SERVER_WAKES_WITHIN) => Some(0),
            Some((_, u64::MAX)) => (now == u64::MAX).then_some(0),
            Some((_, end)) => Some(end - sent),
            None if now < sent.saturating_add(SERVER_WAKES_WITHIN) => None,
            None => Some(0),
        }
    }
}
