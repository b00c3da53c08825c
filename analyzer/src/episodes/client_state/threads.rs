//! Follows the threads of a client. The way in which a wait of the threads ends shows whether the client was quiet.

use super::ClientState;
use crate::episodes::cause::Cause;
use crate::episodes::client_threads::{CommonWait, Woken};
use crate::episodes::episode::Unsure;
use crate::episodes::open_episode::OpenEpisode;
use crate::episodes::thread::Thread;
use crate::episodes::timeline_event::{Place, Wait};
use crate::threads::delays::{BRIEF, HANDED_ON_WITHIN};
use crate::threads::thread_states::{State, Step};

/// The unit of poll's time limit, in nanoseconds: the limits of successive waits for one timer are each rounded up.
const LIMIT_UNIT: u64 = 1_000_000;

/// A wait of all threads that has ended.
struct Ended {
    since: u64,
    wait: Option<Wait>,
    /// True if the wait is only assumed to be for work.
    unsure: bool,
    /// The time at which the first bytes arrived during the wait, in nanoseconds; `None` if no bytes arrived.
    fed: Option<u64>,
    /// True if the wait ended because the socket accepts data again.
    relieved: bool,
    /// True if another thread ended the wait.
    handed: bool,
    /// The reason why the threads did not run after bytes had arrived.
    cause: Cause,
}

impl ClientState {
    /// Processes a change of state of a thread of the client's process.
    pub(crate) fn step(&mut self, step: &Step) {
        let woken = self.threads.step(step);
        if woken.is_some_and(|woken| woken.proved) {
            self.was_quiet(step.time);
        }
        self.follow(step.time, woken);
    }

    /// Updates the combined state of the client's threads. `woken` is the thread that runs now after a wait.
    pub(super) fn follow(&mut self, time: u64, woken: Option<Woken>) {
        if self.threads.is_gone() {
            return;
        }
        let before = self.thread;
        // On a busy machine, the thread that continues lacks a processor, too.
        let soon = self.open.as_ref().map_or(0, OpenEpisode::lacked_processor);
        match self.threads.together() {
            State::Unknown => {}
            together @ (State::Running { .. } | State::Ready) => {
                self.thread = if together.runs() {
                    Thread::Running
                } else {
                    Thread::Preempted
                };
                if let Thread::Blocked {
                    since,
                    wait,
                    unsure,
                    fed,
                    taken,
                    ..
                } = before
                {
                    // The wait's end shows that it was in the middle of a handling.
                    let busy = woken.and_then(|woken| woken.busy).filter(|_| unsure);
                    if busy.is_some()
                        && let Some(open) = &mut self.open
                    {
                        open.not_quiet_since(since);
                    }
                    let wait = busy.or(wait);
                    let ended = Ended {
                        since,
                        wait,
                        unsure,
                        fed,
                        // If nothing else woke the client, it waited until there was room to write.
                        relieved: fed.is_none()
                            && taken.is_some_and(|taken| time.saturating_sub(taken) < BRIEF),
                        // Another thread ran after this one fell asleep, and woke it before falling asleep itself.
                        handed: (fed.is_none()
                            || woken.is_some_and(|woken| woken.wait == Some(Wait::Lock)))
                            && time.saturating_sub(since) < BRIEF.max(soon)
                            && woken.is_some_and(|woken| woken.since < since),
                        // A thread in another call than poll is not woken by bytes.
                        cause: woken
                            .and_then(|woken| woken.wait?.ignores_events())
                            .unwrap_or([Cause::Processor, Cause::Elsewhere][usize::from(unsure)]),
                    };
                    self.woke(time, &ended);
                }
            }
            State::Waiting if matches!(before, Thread::Blocked { .. }) => {}
            State::Waiting => {
                let wait = self.joint_wait().wait;
                self.due = None;
                self.thread = Thread::Blocked {
                    since: time,
                    wait,
                    unsure: false,
                    fed: None,
                    answered: None,
                    taken: None,
                };
                if self.is_idle_at_server()
                    && wait.is_none_or(|wait| wait == Wait::Poll)
                    && let Some(open) = &mut self.open
                {
                    open.maybe_quiet(time);
                }
            }
        }
    }

    /// Returns the combined wait of the threads that ran during the open episode.
    pub(super) fn joint_wait(&self) -> CommonWait {
        let begun = self.open.as_ref().map_or(u64::MAX, |open| open.begun);
        let joint = self.threads.joint_wait(begun);
        let done = self.open.as_ref().is_some_and(OpenEpisode::is_done);
        match joint.wait {
            Some(Wait::Sleep | Wait::Lock | Wait::Stopped | Wait::Other) if done => CommonWait {
                wait: Some(Wait::Poll),
                unsure: false,
            },
            _ => joint,
        }
    }

    /// Stores the call `place` in which a thread has waited since `since` (nanoseconds).
    pub(crate) fn waits(&mut self, tid: u32, since: u64, place: Place) {
        let asks = self.asks() || self.writes;
        if self.threads.waited_before(tid, since) {
            self.follow(since, None);
        }
        self.threads.waits(tid, since, place, asks);
        let joint = self.joint_wait();
        let Thread::Blocked {
            since: blocked,
            wait: known,
            unsure,
            ..
        } = &mut self.thread
        else {
            return;
        };
        let blocked = *blocked;
        if blocked == since {
            self.due = place.due;
        }
        *unsure = joint.unsure;
        if *known == joint.wait {
            return;
        }
        *known = joint.wait;
        match joint.wait {
            None => {}
            // A client that waits for a reply leaves events unread.
            Some(Wait::Poll) if asks => {}
            // With data to read, the client would not have waited for long.
            Some(Wait::Poll) => self.has_read(blocked, 0),
            Some(Wait::File) => {
                if let Some(open) = &mut self.open {
                    open.not_quiet_since(blocked);
                }
            }
            Some(Wait::Sleep | Wait::Lock | Wait::Stopped | Wait::Other) => {
                if let Some(open) = &mut self.open {
                    open.pauses(blocked);
                }
            }
        }
    }

    /// Notes that a thread that seemed busy was waiting for work. The client begins to handle the arrived events at
    /// `time` (nanoseconds).
    fn was_quiet(&mut self, time: u64) {
        if std::mem::take(&mut self.mid_way) && !self.waiting.is_empty() {
            self.close_or_park();
            self.busy_from = None;
            self.begin(time);
        }
    }

    /// Adds the stimuli delivered `margin` before `time` to the open episode, which has read them.
    fn has_read(&mut self, time: u64, margin: u64) {
        let read = self.waiting.delivered_by(time.saturating_sub(margin));
        if let Some(open) = &mut self.open {
            open.events += read.events;
            open.tags.add(&read.tags);
            read.links.into_iter().for_each(|link| open.fed(link));
            for input in read.inputs {
                // The episode of a press has its tags.
                match !open.is_of(&input) && input.is_press() {
                    true => open.read_together(input, time),
                    false => open.tags.add(&input.tags),
                }
            }
        }
    }

    /// Returns true if the client that wakes at `time` (nanoseconds) would draw without the stimulus of `open`, too: at
    /// the next frame of an animation if the stimulus is the release of a key, or at a timer that the client had set
    /// before it read the stimulus. The next frame of an animation may show any other stimulus.
    fn draws_anyway(&self, open: &OpenEpisode, time: u64) -> bool {
        let is_soon = |last| open.begun.saturating_sub(last) <= 2 * self.spans.frame;
        if self.ticked_at.is_some_and(is_soon) {
            return open.requests == 0 && open.is_key_release();
        }
        let same = |(before, now): &(u64, u64)| before.abs_diff(*now) <= 2 * LIMIT_UNIT;
        let timer = open.timer.zip(self.due).filter(same);
        timer.is_some_and(|(_, due)| time.saturating_add(LIMIT_UNIT) >= due)
    }

    /// Notes that the threads run again after all of them waited.
    fn woke(&mut self, time: u64, ended: &Ended) {
        let Ended {
            since,
            wait,
            unsure,
            fed: fed_at,
            relieved,
            handed,
            cause,
        } = *ended;
        let fed = fed_at.is_some();
        if let Some(open) = &mut self.open {
            if relieved {
                open.writes_on();
            }
            open.resumes(time);
        }
        self.woke_unfed = (!fed).then_some(time);
        if !self.is_idle_at_server() {
            return;
        }
        self.still_waits(time);
        if self.awaits() {
            self.mid_way = false;
            return self.wakes_waiting(time, since, fed.then_some(cause));
        }
        if std::mem::take(&mut self.synchronises) && !self.waiting.is_empty() {
            // The response is complete, and the client reads the next event.
            self.close();
            self.busy_from = None;
            return self.begin(time);
        }
        // A client that handled nothing when it was stopped handles nothing now.
        let idle = self.open.as_ref().is_none_or(|open| !open.counts());
        let wait = wait.filter(|wait| !(idle && *wait == Wait::Stopped));
        self.mid_way = wait.is_some_and(|wait| wait != Wait::Poll);
        if self.mid_way {
            return;
        }
        // Sleeps that the recorder did not see are inferred from those that it saw.
        let turns = self.threads.sleep_between_turns();
        let wait = wait.or(Some(Wait::Poll).filter(|_| turns));
        let brief = wait.is_none() && !fed && time.saturating_sub(since) < BRIEF;
        if let Some(open) = &mut self.open {
            if relieved || handed {
                // The wait was for room to write, or for another thread.
                open.not_quiet_since(since);
                open.released.take_if(|released| *released >= since);
            } else if brief {
                // The wait was for a page, a lock, or a timer that is soon due.
                open.pauses_briefly(since, BRIEF);
                open.resumes(time);
            } else {
                // A client with something to read waits for a processor.
                let until = fed_at.unwrap_or(time);
                let from = since.max(self.answer_came.unwrap_or(0));
                open.rested(until.saturating_sub(from), fed);
            }
        }
        if !(brief || relieved || handed) {
            self.motion_is_handled();
        }
        // Events that arrive while the client waits for a reply are not read in the same turn.
        if !handed && self.answer_came.is_none_or(|came| came < since) {
            let known = wait == Some(Wait::Poll);
            self.has_read(since, if known { 0 } else { HANDED_ON_WITHIN });
        }
        let quiet = self.open.as_ref().and_then(OpenEpisode::quiet_since);
        if !self.waiting.is_empty() {
            // The client reads the waiting events now.
            if self.open.is_none() || quiet.is_some() {
                self.close();
                self.busy_from = None;
                self.begin(time);
                if let Some(open) = &mut self.open {
                    open.could_begin(since, cause);
                }
            }
            return;
        }
        let lingers = self
            .open
            .as_ref()
            .is_some_and(|open| self.lingers(open, time));
        let goes_on = match &self.open {
            // The client waits for a reply, or was not quiet at all.
            Some(_) if quiet.is_none() || brief || relieved || handed => true,
            // An episode without effect does not extend into the next one.
            Some(open) if !open.counts() && wait == Some(Wait::Poll) => false,
            // The effect of the client's own request, or its next frame.
            Some(open) => {
                let draws = open.may_draw(self.spans.tick()) && !self.draws_anyway(open, time);
                lingers && (fed || draws)
            }
            None => false,
        };
        if !goes_on {
            if unsure
                && !fed
                && let Some(open) = &mut self.open
            {
                open.unsure = Some(Unsure::WaitForThread);
            }
            self.close();
            self.busy_from = None;
            self.open = Some(OpenEpisode::new(None, self.names.timer.clone(), time, time));
        }
    }
}
