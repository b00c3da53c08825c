//! Finds where threads of clients were blocked: the stacks of threads off the processor that `record --stacks` copied,
//! joined with the context switches that ended their waits.

use std::collections::{BTreeMap, HashSet};

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use x11prof_trace::{BlockedOn, ConnectionId, Control};

use crate::callers::code_stacks::StackNames;
use crate::callers::running::{StackRun, stack_runs};
use crate::clients::ClientChoice;
use crate::pipeline::Observation;
use crate::recording::trace_summary::TraceSummary;
use crate::threads::thread_states::State;

/// Maximum number of waits that are kept; later waits are not reported.
const WAITS: usize = 200_000;
/// The minimum length of a wait with a stack, in nanoseconds.
const SHORTEST: u64 = 1_000_000;
/// A wait is reported if it takes at least 1/50 of a span.
const REPORTED: u64 = 50;

/// The identity of a wait: the thread's id, and the start in nanoseconds.
type WaitId = (u32, u64);

/// A captured stack of a thread that was blocked.
#[derive(Debug)]
struct BlockedStack {
    pid: u32,
    wait: WaitId,
    stack: u32,
    object: BlockedOn,
    name: Option<String>,
}

/// Collects the stacks of a recording's blocked threads, with the length of each wait.
#[derive(Debug, Default)]
pub struct Blocked {
    /// The threads that are blocked now, each with the start of its wait in nanoseconds.
    waiting: FxHashMap<u32, u64>,
    /// The end of each finished wait, in nanoseconds.
    ended: FxHashMap<WaitId, u64>,
    /// The captured stacks by process, then by the start of the wait in nanoseconds, then by arrival.
    stacks: BTreeMap<(u32, u64, usize), BlockedStack>,
    /// The process id of each connection.
    processes: FxHashMap<ConnectionId, u32>,
}

/// The time in which a client's threads were blocked at one location of the program, for one object.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BlockedIn {
    /// The names of the functions of the stack, the innermost first, joined by ` < `.
    pub location: String,
    /// The kind of object that the thread waited for: `sleep`, `lock`, `thread`, `child`, `pipe`, `socket`, `file`,
    /// `events`, `other`.
    pub object: BlockedOn,
    /// The name of the object that the threads waited for: a file, the thread that held a lock, a child, or the process
    /// at the other end of a pipe; null if unknown.
    pub name: Option<String>,
    /// The number of waits at this location for this object.
    pub waits: u64,
    /// The total time of the waits, in milliseconds.
    #[serde(rename = "off_cpu_ms")]
    pub ms: f64,
}

impl Blocked {
    /// Processes the next observation of a pass over the recording.
    pub fn observe(&mut self, observation: &Observation<'_>) {
        match observation {
            Observation::Switches(steps) => {
                for step in *steps {
                    if step.now == State::Waiting {
                        self.waiting.insert(step.tid, step.time);
                    } else if let Some(since) = self.waiting.remove(&step.tid)
                        && step.time.saturating_sub(since) >= SHORTEST
                        && self.ended.len() < WAITS
                    {
                        self.ended.insert((step.tid, since), step.time);
                    }
                }
            }
            Observation::Control(_, control @ (Control::Opened(_) | Control::Moved { .. })) => {
                self.processes.extend(control.connected_process());
            }
            Observation::Control(
                _,
                Control::BlockedStack {
                    pid,
                    tid,
                    since_ns,
                    stack,
                    object,
                    name,
                },
            ) if self.stacks.len() < WAITS => {
                let blocked = BlockedStack {
                    pid: *pid,
                    wait: (*tid, *since_ns),
                    stack: *stack,
                    object: *object,
                    name: name.clone(),
                };
                self.stacks
                    .insert((*pid, *since_ns, self.stacks.len()), blocked);
            }
            _ => {}
        }
    }

    /// Drops the waits from before the reported part of the recording.
    pub fn start_afresh(&mut self) {
        self.stacks.clear();
    }

    /// Returns the locations in which threads of the chosen clients were blocked in the middle of work, the longest
    /// time first. Waits for events, sockets and other threads are left out: a client without work has these too.
    pub fn locations(&self, choice: &ClientChoice, names: &StackNames) -> Vec<BlockedIn> {
        let chosen = self.processes.iter();
        let chosen = chosen.filter(|(id, _)| choice.is_all() || choice.holds(**id));
        let chosen: HashSet<u32> = chosen.map(|(_, pid)| *pid).collect();
        let waits = self.in_work();
        locations(waits.filter(|(one, _)| chosen.contains(&one.pid)), names)
    }

    /// The waits in the middle of work that have ended, with their nanoseconds.
    fn in_work(&self) -> impl Iterator<Item = (&BlockedStack, u64)> {
        let waits = self.stacks.values().filter(|one| one.object.is_in_work());
        waits.filter_map(|one| {
            let until = self.ended.get(&one.wait)?;
            Some((one, until - one.wait.1))
        })
    }

    /// The time in which threads were blocked in the middle of work, by process and stack.
    pub fn stacks(&self, names: &StackNames, summary: &TraceSummary) -> Vec<StackRun> {
        let times = self.in_work();
        let times = times.map(|(one, nanos)| (one.pid, one.stack, nanos));
        stack_runs(times, &self.processes, names, summary)
    }

    /// Returns the location in which a client was blocked longest in the middle of work within `span` (start and end in
    /// nanoseconds), and the milliseconds of that wait.
    pub fn longest(
        &self,
        client: ConnectionId,
        span: (u64, u64),
        names: &StackNames,
    ) -> Option<(String, f64)> {
        let mut locations = self.within(client, &[span], names).into_iter();
        let longest = locations.find(|one| one.object.is_in_work())?;
        Some((longest.location, longest.ms))
    }

    /// True if the recording has no stacks of blocked threads.
    pub fn is_empty(&self) -> bool {
        self.stacks.is_empty()
    }

    /// The locations in which a client's threads were blocked within `spans` (start and end times of the trace, in
    /// nanoseconds), the longest time first. Waits from before the first span are left out: these threads had nothing
    /// to do.
    pub fn within(
        &self,
        client: ConnectionId,
        spans: &[(u64, u64)],
        names: &StackNames,
    ) -> Vec<BlockedIn> {
        let (Some(process), Some((first, _))) = (self.processes.get(&client), spans.first()) else {
            return Vec::new();
        };
        let first = first.saturating_sub(SHORTEST);
        let last = spans.iter().map(|(_, to)| *to).fold(first, u64::max);
        let whole: u64 = spans
            .iter()
            .map(|(from, to)| to.saturating_sub(*from))
            .sum();
        let begun = (*process, first, 0)..=(*process, last, usize::MAX);
        let waits = self.stacks.range(begun).map(|(_, one)| {
            let since = one.wait.1;
            let until = self.ended.get(&one.wait).copied().unwrap_or(u64::MAX);
            let part = |(from, to): &(u64, u64)| until.min(*to).saturating_sub(since.max(*from));
            (one, spans.iter().map(part).sum())
        });
        let mut locations = locations(waits, names);
        locations.retain(|one| one.ms * 1e6 >= (whole / REPORTED) as f64);
        locations
    }
}

fn locations<'a>(
    waits: impl Iterator<Item = (&'a BlockedStack, u64)>,
    names: &StackNames,
) -> Vec<BlockedIn> {
    let mut sums: BTreeMap<(u32, BlockedOn, Option<&str>), (u64, u64)> = BTreeMap::new();
    for (one, nanos) in waits.filter(|(_, nanos)| *nanos > 0) {
        let key = (
            names.first_alike(one.stack),
            one.object,
            one.name.as_deref(),
        );
        let (count, sum) = sums.entry(key).or_default();
        *count += 1;
        *sum = sum.saturating_add(nanos);
    }
    let named = sums
        .into_iter()
        .map(|((stack, object, name), (waits, nanos))| BlockedIn {
            location: names.of(stack).unwrap_or_default().join(" < "),
            object,
            name: name.map(str::to_owned),
            waits,
            ms: nanos as f64 / 1e6,
        });
    let mut named: Vec<BlockedIn> = named.collect();
    named.sort_by(|a, b| b.ms.total_cmp(&a.ms));
    named
}

#[cfg(test)]
mod tests {
    use x11prof_trace::{Opened, StackFrame, Switch, SwitchKind, Timestamp};

    use super::*;
    use crate::callers::code_stacks::CodeStacks;
    use crate::pipeline::Pipeline;
    use crate::testing::Synthetic;

    const MS: u64 = 1_000_000;

    #[test]
    fn waits_count_in_the_spans_that_they_began_in() {
        let mut trace = Synthetic::new();
        trace.control(Control::Opened(Opened {
            connection: ConnectionId(7),
            transport: "unix".to_owned(),
            pid: Some(50),
            name: Some("app".to_owned()),
            command: Vec::new(),
            started_ns: None,
        }));
        let frame = StackFrame {
            file: "/bin/app".to_owned(),
            address: 5,
            function: None,
        };
        trace.control(Control::Stack {
            stack: 0,
            frames: vec![frame],
            whole: true,
        });
        let switch = |tid, at: u64, kind| Switch {
            time: Timestamp::from_nanos(at * MS),
            pid: 50,
            tid,
            cpu: 0,
            kind,
        };
        let switches = [
            switch(51, 1, SwitchKind::Blocked),
            switch(50, 10, SwitchKind::Blocked),
            switch(50, 40, SwitchKind::In),
            switch(50, 50, SwitchKind::Blocked),
            switch(50, 90, SwitchKind::In),
        ];
        trace
            .records
            .push(x11prof_trace::Record::Schedule(switches.to_vec()));
        for (tid, since, object) in [
            (51, 1, BlockedOn::Thread),
            (50, 10, BlockedOn::Sleep),
            (50, 50, BlockedOn::Child),
        ] {
            trace.control(Control::BlockedStack {
                pid: 50,
                tid,
                since_ns: since * MS,
                stack: 0,
                object,
                name: None,
            });
        }
        trace.end();
        let (mut blocked, mut stacks) = (Blocked::default(), CodeStacks::default());
        Pipeline::new().run_records(trace.records.iter().cloned(), |observation| {
            blocked.observe(observation);
            stacks.observe(observation);
        });
        let names = stacks.named(|_| vec!["load".to_owned()]);
        let spans = [(10 * MS, 40 * MS), (50 * MS, 70 * MS)];
        let within = blocked.within(ConnectionId(7), &spans, &names);
        let shown: Vec<_> = within.iter().map(|one| (one.object, one.ms)).collect();
        assert_eq!(shown, [(BlockedOn::Sleep, 30.0), (BlockedOn::Child, 20.0)]);
        assert_eq!(within[0].location, "load");
        assert_eq!(blocked.within(ConnectionId(8), &spans, &names), []);
    }
}
