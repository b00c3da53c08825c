//! Waits for open requests. A client with an open request to another client is not quiet until the reply has arrived or
//! the client gives up.
//!
//! A program that blocks until the reply arrives handles nothing else. A program with an event loop handles other
//! events before the reply arrives: its episode is parked, that is, set apart and continued when the reply arrives. If
//! a program waits again without having responded to the events that it has read, it was blocked.

use super::ClientState;
use crate::episodes::awaited::AwaitedOutcome;
use crate::episodes::cause::Cause;
use crate::episodes::open_episode::OpenEpisode;
use crate::episodes::thread::Thread;
use crate::pipeline::open_requests::{OpenRequest, OpenRequestChange, OpenStep};

/// Maximum number of parked episodes of a client. Beyond it, the oldest one ends.
const MAX_PARKED: usize = 16;
/// Maximum number of drawings without a stimulus that are kept.
const MAX_DRAWINGS: usize = 8;
/// If a program drew without a stimulus in this time before its open request, it draws periodically, such as a blinking
/// cursor. In nanoseconds.
const PERIOD: u64 = 2_000_000_000;

impl ClientState {
    /// True while the open episode waits for a reply to an open request.
    pub(super) fn awaits(&self) -> bool {
        self.open.as_ref().is_some_and(|open| open.awaits.is_open())
    }

    /// The open requests whose replies the client waits for, without those that it no longer needs to continue.
    pub(crate) fn current_waits(&self) -> impl Iterator<Item = &OpenRequest> {
        let parked = self.parked.iter().map(|(_, open)| open);
        let all = self.open.iter().chain(parked);
        let waiting = all.filter(|open| open.is_held_up());
        waiting.flat_map(|open| &open.awaits.open)
    }

    /// Notes that an episode of the client has sent an open request.
    pub(super) fn asks_for(&mut self, request: &OpenRequest) {
        if let Some(open) = &mut self.open
            && open.takes_open(request)
        {
            open.awaits.opens(*request);
            open.possible_ends.clear();
        }
    }

    /// Processes a change of one of the client's open requests at `time` (nanoseconds). No message of the client is the
    /// cause.
    pub(crate) fn open_request(&mut self, time: u64, change: &OpenRequestChange) {
        let request = &change.request;
        match change.step {
            OpenStep::Opened => {
                self.asks_for(request);
                if let Some(open) = self.open.as_mut().filter(|open| open.awaits.is_open()) {
                    open.not_quiet_since(0);
                }
            }
            OpenStep::Reached => {
                let parked = self.parked.iter_mut().map(|(_, open)| open);
                for open in self.open.iter_mut().chain(parked) {
                    open.awaits.reached(request.number, request.party);
                }
            }
            OpenStep::Answered => self.no_longer_waits(time, request, AwaitedOutcome::Answered),
            OpenStep::Abandoned => self.no_longer_waits(time, request, AwaitedOutcome::GaveUp),
        }
        if let (Thread::Blocked { fed: None, .. }, false) = (self.thread, self.awaits())
            && change.step != OpenStep::Reached
            && self.outstanding.is_empty()
            && let Some(open) = &mut self.open
        {
            open.maybe_quiet(time);
        }
    }

    /// Ends the wait for the reply to `request`, and continues the episode that waited.
    pub(super) fn no_longer_waits(
        &mut self,
        time: u64,
        request: &OpenRequest,
        outcome: AwaitedOutcome,
    ) {
        let number = request.number;
        if let Some(open) = &mut self.open
            && open.awaits.ends(number, time, outcome)
        {
            self.answer_came = Some(time);
        }
        let mut parked = self.parked.iter_mut();
        let Some(at) = parked.position(|(_, open)| open.awaits.ends(number, time, outcome)) else {
            return;
        };
        let (_, parked) = &self.parked[at];
        let answered = outcome == AwaitedOutcome::Answered;
        // A request that no event caused is the next attempt of the same response.
        let timer = self
            .open
            .as_ref()
            .is_none_or(|open| open.stimulus.is_none());
        let retries = timer && parked.is_input() && !parked.goes_on_meanwhile;
        if !parked.awaits.is_open() && (answered || retries) {
            if answered {
                self.answer_came = Some(time);
            }
            self.unpark(time, at);
        } else if !parked.awaits.is_open() && !parked.possible_ends.is_empty() {
            self.end_parked(at);
        }
    }

    /// Parks the open episode: the client does something else while the episode waits for a reply.
    pub(super) fn park(&mut self) {
        if let Some(open) = self.open.take() {
            if self.parked.len() == MAX_PARKED {
                self.parked[0].1.goes_on_meanwhile = true;
                self.end_parked(0);
            }
            self.parked.push((self.number, open));
            self.number = self.take_number();
        }
    }

    /// Continues the parked episode at index `at`. If the client has sent nothing for the open episode, its stimulus
    /// waits again; otherwise the open episode ends.
    fn unpark(&mut self, time: u64, at: usize) {
        match self.open.take() {
            Some(open) if open.requests > 0 => {
                self.open = Some(open);
                self.close();
            }
            Some(open) => {
                if let Some(stimulus) = open.into_waiting() {
                    self.waiting.put_back(stimulus);
                }
            }
            None => {}
        }
        let (number, mut open) = self.parked.remove(at);
        open.awaited_until(time);
        (self.number, self.open) = (number, Some(open));
    }

    /// Continues the last parked episode if the client has sent nothing in response to the events that it has read
    /// since the episode was parked. Called when the client wakes or disconnects.
    pub(super) fn still_waits(&mut self, time: u64) {
        let idle = self.open.as_ref().is_none_or(|open| open.requests == 0);
        let last = self.parked.last();
        if idle && last.is_some_and(|(_, last)| last.is_held_up()) {
            self.unpark(time, self.parked.len() - 1);
        }
    }

    /// Parks the episode that waits for a reply if the client begins something else. The client waited from `since` to
    /// `time` (nanoseconds). If bytes have arrived, `late` is the reason why the client did not read them at once.
    pub(super) fn wakes_waiting(&mut self, time: u64, since: u64, late: Option<Cause>) {
        let blocked = |open: &OpenEpisode| open.awaits.blocks() && open.possible_ends.is_empty();
        let blocks = self.open.as_ref().is_some_and(blocked);
        if let Some(late) = late.filter(|_| !self.waiting.is_empty()) {
            self.park();
            self.begin(time);
            if let Some(open) = &mut self.open {
                open.could_begin(since, late);
            }
        } else if late.is_none() && (!blocks || self.ticks()) {
            self.park();
            self.open = Some(OpenEpisode::new(None, self.names.timer.clone(), time, time));
        }
    }

    /// Returns true if the client drew without a stimulus within [`PERIOD`] before its open request.
    fn ticks(&self) -> bool {
        let asked = self.open.as_ref().and_then(|open| open.awaits.current());
        let asked = asked.map_or(0, |request| request.since.as_nanos());
        let last = self.ticked_at;
        last.is_some_and(|last| last.saturating_add(PERIOD) >= asked)
    }

    /// Notes that the client draws, or replies to another client, before the reply to its own open request arrived. If
    /// the client has waited since its request and no message woke it, it may have given up, or it handles a press that
    /// it has read before.
    pub(crate) fn goes_on_unanswered(&mut self, time: u64) {
        let current = self.open.as_ref().and_then(|open| open.awaits.current());
        let Some(asked) = current.map(|request| request.since.as_nanos()) else {
            return;
        };
        let unfed = match self.thread {
            Thread::Unknown => self.fed_at < asked,
            _ => self.woke_unfed.is_some_and(|woke| woke > asked),
        };
        let Some(open) = self.open.as_mut().filter(|_| unfed) else {
            return;
        };
        if let Some(read) = open.together.pop() {
            self.waiting.put_back(read.press);
        }
        if self.waiting.has_press() {
            self.park();
            self.begin(time);
        } else if open.possible_ends.is_empty() {
            open.possible_ends.push((None, time));
        }
    }

    /// Processes the client's response `ended` while other episodes wait. If the client responds to other input, the
    /// parked episodes do not block it; without a reply, each ends when the user goes on. If it draws by a timer, but
    /// not what it drew before its request, it may have given up.
    pub(super) fn responds_meanwhile(&mut self, ended: &OpenEpisode) {
        let all = self.parked.iter_mut().map(|(_, open)| open);
        let mut waiting = all.filter(|open| open.awaits.blocks() && !open.goes_on_meanwhile);
        if ended.stimulus.is_some() && ended.requests > 0 && !ended.is_key_release() {
            waiting
                .filter(|open| ended.is_input() && open.possible_ends.is_empty())
                .for_each(|open| open.possible_ends.push((None, ended.start)));
            let all = self.parked.iter_mut();
            all.for_each(|(_, open)| open.goes_on_meanwhile = true);
        } else if ended.stimulus.is_none() && ended.draws {
            let drawing = (ended.requests, ended.bytes);
            let is_new = !self.drawings.contains(&drawing);
            if let (Some(open), Some(sent), true) = (waiting.next_back(), ended.last_sent, is_new) {
                let ends = &mut open.possible_ends;
                let before = ends.len();
                ends.retain(|(known, _)| *known != Some(drawing));
                // A repeated drawing is periodic.
                if ends.len() == before {
                    ends.truncate(MAX_DRAWINGS);
                    return ends.push((Some(drawing), sent));
                }
            }
            if is_new {
                self.drawings.truncate(MAX_DRAWINGS - 1);
                self.drawings.push_front(drawing);
            }
        }
    }

    /// Ends the open episode, or parks it while it waits for a reply.
    pub(super) fn close_or_park(&mut self) {
        match self.awaits() {
            true => self.park(),
            false => self.close(),
        }
    }

    fn end_parked(&mut self, at: usize) {
        let (number, open) = self.parked.remove(at);
        let current = (self.number, self.open.take());
        (self.number, self.open) = (number, Some(open));
        self.close();
        (self.number, self.open) = current;
    }

    /// Ends all episodes at `time` (nanoseconds), because the connection or the trace has ended.
    pub(crate) fn close_all(&mut self, time: u64) {
        self.still_waits(time);
        if !self.awaits() {
            self.close();
        }
        while let Some((_, open)) = self.parked.first_mut() {
            // The user still waits for the response.
            match open.is_input() && !open.goes_on_meanwhile {
                true => open.awaited_until(time),
                false => open.goes_on_meanwhile = true,
            }
            self.end_parked(0);
        }
        self.close();
        self.motion_is_handled();
    }
}
