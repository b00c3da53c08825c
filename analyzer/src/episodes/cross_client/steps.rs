//! The time of an episode as a sequence of steps with owners.

use x11prof_protocol::Symbol;
use x11prof_trace::ConnectionId;

use super::coalesce::{TimedStep, coalesce};
use crate::episodes::cause::ServerCause;
use crate::episodes::latency_component::{LatencyBreakdown, LatencyComponent};

/// Maximum number of steps of an episode. Beyond it, short steps are merged.
const MAX_STEPS: usize = 128;

/// A stretch of an episode with one owner. Times are in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Step {
    pub(crate) start: u64,
    pub(crate) end: u64,
    pub(crate) owner: LatencyComponent,
    /// The request whose reply the client waited for; `None` without one.
    pub(crate) request: Option<Symbol>,
    /// The client that had grabbed the server or had to reply; `None` if there is none.
    pub(crate) by: Option<ConnectionId>,
}

impl Step {
    pub(crate) fn length(&self) -> u64 {
        self.end.saturating_sub(self.start)
    }
}

impl TimedStep for Step {
    fn is_like(&self, other: &Step) -> bool {
        (self.owner, self.request, self.by) == (other.owner, other.request, other.by)
    }

    fn is_akin(&self, other: &Step) -> bool {
        self.owner == other.owner
    }

    fn start(&self) -> u64 {
        self.start
    }

    fn nanos(&self) -> u64 {
        self.length()
    }

    fn lies(&mut self, start: u64, nanos: u64) {
        (self.start, self.end) = (start, start.saturating_add(nanos));
    }
}

/// The new cause of steps whose owner is changed: the request that the client waited for, or the client that had
/// grabbed the server.
#[derive(Debug, Clone, Copy)]
pub(crate) enum StepCause {
    Request(Option<Symbol>),
    Client(Option<ConnectionId>),
}

/// The steps of an episode in time order.
#[derive(Debug, Clone, Default)]
pub(crate) struct Steps(Vec<Step>);

impl Steps {
    pub(crate) fn list(&self) -> &[Step] {
        &self.0
    }

    /// The time of the steps by owner.
    pub(crate) fn parts(&self) -> LatencyBreakdown {
        let mut parts = LatencyBreakdown::default();
        let all = self.0.iter();
        all.for_each(|step| parts.add(step.owner, step.length()));
        parts
    }

    /// The steps from `since`, after a wait of the stimulus since `start` (nanoseconds). Drops the steps from `self`.
    pub(crate) fn after_wait(&mut self, start: u64, since: u64) -> Steps {
        let mut steps = Steps::default();
        steps.add(start, since, LatencyComponent::Waiting, None);
        let after = self.split_off(since).0.into_iter();
        after.for_each(|step| steps.push(step));
        steps
    }

    /// Adds a step from `start` to `end` (nanoseconds) with this owner; `request` is the request whose reply is
    /// pending.
    pub(crate) fn add(
        &mut self,
        start: u64,
        end: u64,
        owner: LatencyComponent,
        request: Option<Symbol>,
    ) {
        let request = request.filter(|_| owner == LatencyComponent::Server(ServerCause::Reply));
        self.push(Step {
            start,
            end,
            owner,
            request,
            by: None,
        });
    }

    /// Adds a wait from `start` to `end` (nanoseconds) for the reply of client `by` to `request`.
    pub(crate) fn awaited(
        &mut self,
        start: u64,
        end: u64,
        request: Symbol,
        by: Option<ConnectionId>,
    ) {
        self.push(Step {
            start,
            end,
            owner: LatencyComponent::Awaited,
            request: Some(request),
            by,
        });
    }

    pub(crate) fn push(&mut self, step: Step) {
        if step.length() == 0 {
            return;
        }
        match self.0.last_mut() {
            Some(last) if last.is_like(&step) && last.end == step.start => last.end = step.end,
            _ => self.0.push(step),
        }
        if self.0.len() > MAX_STEPS {
            self.0 = coalesce(std::mem::take(&mut self.0), MAX_STEPS * 3 / 4);
        }
    }

    /// Changes the owner of the last `nanos` nanoseconds to `to`, except in steps whose owner is not in `from`. `of` is
    /// the new cause of the changed steps.
    pub(crate) fn change_last(
        &mut self,
        nanos: u64,
        from: &[LatencyComponent],
        to: LatencyComponent,
        of: StepCause,
    ) {
        let Some(end) = self.0.last().map(|last| last.end) else {
            return;
        };
        let since = end.saturating_sub(nanos);
        let mut changed = Vec::new();
        while let Some(last) = self.0.pop_if(|last| last.end > since) {
            let of_these = from.contains(&last.owner);
            if last.start < since {
                self.0.push(Step { end: since, ..last });
            }
            let start = last.start.max(since);
            let mut step = Step { start, ..last };
            if of_these {
                step.owner = to;
                match of {
                    StepCause::Request(request) => step.request = request,
                    StepCause::Client(by) => step.by = by,
                }
            }
            changed.push(step);
        }
        changed.into_iter().rev().for_each(|step| self.push(step));
    }

    /// Removes all time after `end` (nanoseconds).
    pub(crate) fn cut(&mut self, end: u64) {
        while self.0.pop_if(|last| last.start >= end).is_some() {}
        if let Some(last) = self.0.last_mut() {
            last.end = last.end.min(end);
        }
    }

    /// Removes and returns the time after `start` (nanoseconds).
    pub(crate) fn split_off(&mut self, start: u64) -> Steps {
        let after = self.0.iter().filter(|step| step.end > start);
        let after = after.map(|step| Step {
            start: step.start.max(start),
            ..*step
        });
        let after = Steps(after.collect());
        self.cut(start);
        after
    }
}

#[cfg(test)]
mod tests {
    use super::{MAX_STEPS, StepCause, Steps};
    use crate::episodes::cause::{Cause, ServerCause};
    use crate::episodes::latency_component::LatencyComponent;

    const POLL: LatencyComponent = LatencyComponent::OffCpu(Cause::Poll);
    const REPLY: LatencyComponent = LatencyComponent::Server(ServerCause::Reply);
    const GRABBED: LatencyComponent = LatencyComponent::Server(ServerCause::Grabbed);

    fn of(steps: &Steps) -> Vec<(u64, u64, LatencyComponent)> {
        let list = steps.list().iter();
        list.map(|one| (one.start, one.end, one.owner)).collect()
    }

    #[test]
    fn steps_can_be_changed_split_and_cut() {
        let mut steps = Steps::default();
        steps.add(10, 20, LatencyComponent::Client, None);
        steps.add(20, 25, LatencyComponent::Client, None);
        steps.add(25, 60, REPLY, None);
        steps.add(60, 60, POLL, None);
        steps.add(60, 70, POLL, None);
        steps.change_last(30, &[REPLY], GRABBED, StepCause::Client(None));
        let expected = [
            (10, 25, LatencyComponent::Client),
            (25, 40, REPLY),
            (40, 60, GRABBED),
            (60, 70, POLL),
        ];
        assert_eq!(of(&steps), expected);
        assert_eq!(
            of(&steps.split_off(50)),
            [(50, 60, GRABBED), (60, 70, POLL)]
        );
        steps.cut(30);
        assert_eq!(
            of(&steps),
            [(10, 25, LatencyComponent::Client), (25, 30, REPLY)]
        );
    }

    #[test]
    fn step_count_is_bounded_and_end_kept() {
        let mut steps = Steps::default();
        for n in 0..10_000_u64 {
            let owner = if n % 2 == 0 {
                LatencyComponent::Client
            } else {
                POLL
            };
            let length = if n == 5000 { 50 } else { 1 };
            let start = 100 * n;
            steps.add(start, start + length, owner, None);
            steps.add(start + length, start + 100, REPLY, None);
        }
        assert!(steps.list().len() <= MAX_STEPS);
        let pairs = steps.list().windows(2);
        assert!(
            pairs
                .into_iter()
                .all(|pair| pair[0].end <= pair[1].start + 100)
        );
        assert_eq!(steps.list().last().unwrap().end, 1_000_000);
    }
}
