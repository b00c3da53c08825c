//! The CPU time of clients by location in their programs: sums over the stacks that `record --stacks=cpu` sampled.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use x11prof_trace::{ConnectionId, Control, Timestamp};

use crate::callers::call_tree::{CallTree, OTHERS};
use crate::callers::code_stacks::StackNames;
use crate::clients::ClientChoice;
use crate::pipeline::Observation;
use crate::recording::trace_summary::TraceSummary;

/// Maximum number of samples; later samples are dropped. One sample every 2 ms of CPU time makes this half an hour of
/// one processor.
const SAMPLES: usize = 1_000_000;

/// A function is reported if it has at least 1/50 of the time of all samples.
const NAMED: u64 = 50;

/// A sample of a client's process.
#[derive(Debug, Clone, Copy)]
struct Sample {
    pid: u32,
    at: u64,
    stack: u32,
    nanos: u64,
}

/// Collects the CPU samples of a recording.
#[derive(Debug, Default)]
pub struct Running {
    /// The samples by time, then by arrival. Samples of different processors may arrive out of order.
    samples: BTreeMap<(u64, usize), Sample>,
    /// True once any sample has arrived, even outside the analysed time range.
    any: bool,
    /// True if samples include time in the kernel.
    kernel: bool,
    /// The process id of each connection.
    processes: FxHashMap<ConnectionId, u32>,
}

/// The CPU time that clients used at one location of a program.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RanIn {
    /// The name of a function, a source line or a stack.
    #[serde(rename = "location")]
    pub place: String,
    /// The CPU time in milliseconds, including all callees of a function. No time is counted in two locations.
    #[serde(rename = "cpu_ms")]
    pub ran_ms: f64,
}

/// Returns the main functions among a node's callees with their nanoseconds, each with at least `least` nanoseconds. A
/// function is replaced by its callees if they account for half of its time. Then it has the rest of its time, if that is
/// at least `least`; the last value is false for such a rest.
fn outstanding<'a>(tree: &CallTree<'a, u64>, node: usize, least: u64) -> Vec<(&'a str, u64, bool)> {
    let calls = tree.calls(node).map(|(name, of)| (name, of, tree.sums(of)));
    let of_call = |(name, of, all)| {
        let mut inner = outstanding(tree, of, least);
        let whole = inner.iter().filter(|(.., is_whole)| *is_whole);
        if 2 * whole.map(|(_, nanos, _)| nanos).sum::<u64>() < all {
            return vec![(name, all, true)];
        }
        let rest = all - inner.iter().map(|(_, nanos, _)| nanos).sum::<u64>();
        inner.extend((rest > 0 && rest >= least).then_some((name, rest, false)));
        inner
    };
    // Reports have a row of their own for the rest.
    let long = calls.filter(|(name, _, nanos)| *name != OTHERS && *nanos >= least);
    long.flat_map(of_call).collect()
}

/// The CPU time of a recording's clients, by location in their programs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunningReport {
    /// What distinguishes the locations: `function`, `line`, `library` or `stack`.
    pub by: String,
    /// The number of samples of running clients.
    pub samples: u64,
    /// The CPU time that the samples represent, in milliseconds.
    #[serde(rename = "cpu_ms")]
    pub ran_ms: f64,
    /// True if the samples include time in the kernel.
    pub kernel: bool,
    /// The locations with their CPU time, the most time first.
    #[serde(rename = "locations")]
    pub places: Vec<RanIn>,
}

/// A sample of a client's thread that ran.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClientSample {
    /// The first connection of the sampled process.
    pub client: ConnectionId,
    /// The time of the sample.
    pub at: Timestamp,
    /// The number of the sampled stack.
    pub stack: u32,
    /// The CPU time of the thread since its previous sample, in nanoseconds.
    pub nanos: u64,
}

/// The name of the leaf for a client's CPU time in a tree of functions.
pub const RUNS: &str = "(runs)";

/// The CPU time of a client on one stack.
#[derive(Debug, Clone, PartialEq)]
pub struct StackRun {
    /// The name and number of the first connection of the process.
    pub client: String,
    /// The functions of the program on the stack, the outermost first.
    pub place: Vec<String>,
    /// The CPU time in milliseconds.
    pub ran_ms: f64,
}

impl Running {
    /// Processes the next observation of a pass over the recording.
    pub fn observe(&mut self, observation: &Observation<'_>) {
        match observation {
            Observation::Control(_, control @ (Control::Opened(_) | Control::Moved { .. })) => {
                self.processes.extend(control.connected_process());
            }
            Observation::Control(
                _,
                Control::RunStack {
                    pid,
                    at_ns,
                    stack,
                    ran_ns,
                    kernel,
                },
            ) if self.samples.len() < SAMPLES => {
                self.kernel = *kernel;
                self.any = true;
                let sample = Sample {
                    pid: *pid,
                    at: *at_ns,
                    stack: *stack,
                    nanos: *ran_ns,
                };
                self.samples.insert((*at_ns, self.samples.len()), sample);
            }
            _ => {}
        }
    }

    /// Removes the samples of clients that the user did not select.
    pub fn limit_to(&mut self, choice: &ClientChoice) {
        let processes = &self.processes;
        self.samples.retain(|_, sample| {
            let mut clients = processes.iter();
            choice.is_all() || clients.any(|(id, pid)| *pid == sample.pid && choice.holds(*id))
        });
    }

    /// Drops the samples from before the reported part of the recording.
    pub fn start_afresh(&mut self) {
        self.samples.clear();
    }

    /// True if the reported part of the recording has no samples.
    pub fn is_empty(&self) -> bool {
        self.samples.is_empty()
    }

    /// True if any part of the recording has samples of running clients.
    pub fn has_sampled(&self) -> bool {
        self.any
    }

    /// The report on all samples. `by` is the key of the locations: `function`, `line`, `library` or `stack`. `names`
    /// has the functions of all stacks for the key `function`, otherwise one name for each stack. `None` without
    /// samples.
    pub fn report(&self, names: &StackNames, by: &str) -> Option<RunningReport> {
        self.sum(self.samples.values(), names, by)
    }

    /// The report on the samples of clients within spans of time (in nanoseconds of the trace, both ends included), as
    /// by `report`. A sample within several spans counts once.
    pub fn within(
        &self,
        spans: impl IntoIterator<Item = (ConnectionId, (u64, u64))>,
        names: &StackNames,
        by: &str,
    ) -> Option<RunningReport> {
        let mut within = BTreeMap::new();
        for (client, (from, to)) in spans {
            let process = self.processes.get(&client);
            let of_span = self.samples.range((from, 0)..=(to.max(from), usize::MAX));
            within.extend(of_span.filter(|(_, one)| Some(&one.pid) == process));
        }
        self.sum(within.values().copied(), names, by)
    }

    fn sum<'a>(
        &self,
        samples: impl Iterator<Item = &'a Sample> + Clone,
        names: &StackNames,
        by: &str,
    ) -> Option<RunningReport> {
        let nanos: u64 = samples.clone().map(|one| one.nanos).sum();
        let count = samples.clone().count() as u64;
        (count > 0).then(|| RunningReport {
            by: by.to_owned(),
            samples: count,
            ran_ms: nanos as f64 / 1e6,
            kernel: self.kernel,
            places: match by {
                "function" => functions(samples, names),
                _ => {
                    let name = |stack| names.of(stack).unwrap_or_default().join(" < ");
                    let stacks = sums(samples, names).into_iter();
                    most_first(stacks.map(|(stack, nanos)| (name(stack), nanos)))
                }
            },
        })
    }

    /// The functions in which a client's process ran between the times `from` and `to` of the trace, in nanoseconds;
    /// the most CPU time first.
    pub fn between(
        &self,
        client: ConnectionId,
        (from, to): (u64, u64),
        names: &StackNames,
    ) -> Vec<RanIn> {
        let Some(process) = self.processes.get(&client) else {
            return Vec::new();
        };
        let within = self.samples.range((from, 0)..).map(|(_, one)| one);
        let within = within.take_while(|one| one.at <= to);
        functions(within.filter(|one| one.pid == *process), names)
    }

    /// All samples, ordered by time.
    pub fn samples(&self) -> impl Iterator<Item = ClientSample> {
        let clients = first_connections(&self.processes);
        self.samples.values().filter_map(move |one| {
            Some(ClientSample {
                client: *clients.get(&one.pid)?,
                at: Timestamp::from_nanos(one.at),
                stack: one.stack,
                nanos: one.nanos,
            })
        })
    }

    /// The CPU time by process and stack. `names` has the functions of the stacks.
    pub fn stacks(&self, names: &StackNames, summary: &TraceSummary) -> Vec<StackRun> {
        let times = self.samples.values();
        let times = times.map(|one| (one.pid, one.stack, one.nanos));
        stack_runs(times, &self.processes, names, summary)
    }
}

/// Returns the first connection of each process.
fn first_connections(processes: &FxHashMap<ConnectionId, u32>) -> BTreeMap<u32, ConnectionId> {
    let mut first: BTreeMap<u32, ConnectionId> = BTreeMap::new();
    for (connection, pid) in processes {
        let known = first.entry(*pid).or_insert(*connection);
        *known = (*known).min(*connection);
    }
    first
}

/// Returns the sums of `times` (process, stack and nanoseconds) by process and stack.
pub(super) fn stack_runs(
    times: impl Iterator<Item = (u32, u32, u64)>,
    processes: &FxHashMap<ConnectionId, u32>,
    names: &StackNames,
    summary: &TraceSummary,
) -> Vec<StackRun> {
    let clients = first_connections(processes);
    let mut sums: BTreeMap<(u32, u32), u64> = BTreeMap::new();
    for (pid, stack, nanos) in times {
        let sum = sums.entry((pid, names.first_alike(stack))).or_default();
        *sum = sum.saturating_add(nanos);
    }
    let run = |((pid, stack), nanos): ((u32, u32), u64)| {
        Some(StackRun {
            client: summary.client_name(*clients.get(&pid)?),
            place: names.of(stack)?.iter().rev().cloned().collect(),
            ran_ms: nanos as f64 / 1e6,
        })
    };
    sums.into_iter().filter_map(run).collect()
}

/// Returns the functions in which processes used CPU time, with their callees, as [`outstanding`] finds them.
fn functions<'a>(samples: impl Iterator<Item = &'a Sample>, names: &StackNames) -> Vec<RanIn> {
    let mut tree = CallTree::default();
    for (stack, nanos) in sums(samples, names) {
        let functions = names.of(stack).unwrap_or_default().iter().rev();
        tree.add(functions.map(String::as_str), |sum| *sum += nanos);
    }
    let least = tree.sums(0) / NAMED;
    let mut by_name: BTreeMap<&str, u64> = BTreeMap::new();
    for (name, nanos, _) in outstanding(&tree, 0, least) {
        *by_name.entry(name).or_default() += nanos;
    }
    let named = by_name.into_iter();
    most_first(named.map(|(name, nanos)| (name.to_owned(), nanos)))
}

fn most_first(places: impl Iterator<Item = (String, u64)>) -> Vec<RanIn> {
    let mut places: Vec<RanIn> = places
        .map(|(place, nanos)| RanIn {
            place,
            ran_ms: nanos as f64 / 1e6,
        })
        .collect();
    places.sort_by(|a, b| b.ran_ms.total_cmp(&a.ran_ms));
    places
}

/// Returns the nanoseconds of the samples by the first stack with the same names.
fn sums<'a>(samples: impl Iterator<Item = &'a Sample>, names: &StackNames) -> BTreeMap<u32, u64> {
    let mut nanos: BTreeMap<u32, u64> = BTreeMap::new();
    for one in samples {
        *nanos.entry(names.first_alike(one.stack)).or_default() += one.nanos;
    }
    nanos
}

#[cfg(test)]
mod tests {
    use x11prof_trace::{Opened, StackFrame};

    use super::*;
    use crate::callers::code_stacks::CodeStacks;
    use crate::pipeline::Pipeline;
    use crate::testing::Synthetic;

    #[test]
    fn callees_below_threshold_merge_into_caller() {
        let mut tree = CallTree::default();
        for (path, nanos) in [
            (&["main", "draw", "fill"][..], 40),
            (&["main", "draw", "text"], 5),
            (&["main", "read", "a"], 9),
            (&["main", "read", "b"], 9),
            (&["main", "read", "c"], 9),
            (&["main", "rest"], 3),
            (&["main"], 7),
        ] {
            tree.add(path.iter().copied(), |sum| *sum += nanos);
        }
        let with_rest = [("fill", 40, true), ("read", 27, true), ("main", 15, false)];
        assert_eq!(outstanding(&tree, 0, 10), with_rest);
        assert_eq!(outstanding(&tree, 0, 16), with_rest[..2]);
        assert_eq!(outstanding(&tree, 0, 83), []);
    }

    #[test]
    fn samples_are_summed_per_call_site() {
        let mut trace = Synthetic::new();
        for (stack, address) in [(0, 5), (1, 5), (2, 9)] {
            let frame = StackFrame {
                file: "/bin/app".to_owned(),
                address,
                function: None,
            };
            trace.control(Control::Stack {
                stack,
                frames: vec![frame],
                whole: true,
            });
        }
        trace.control(Control::Opened(Opened {
            connection: ConnectionId(7),
            transport: "unix".to_owned(),
            pid: Some(50),
            name: Some("app".to_owned()),
            command: Vec::new(),
            started_ns: None,
        }));
        for (at, pid, stack) in [(10, 50, 0), (30, 50, 2), (20, 50, 1), (40, 51, 2)] {
            trace.control(Control::RunStack {
                pid,
                at_ns: at,
                stack,
                ran_ns: 2_000_000,
                kernel: true,
            });
        }
        trace.end();
        let (mut running, mut stacks) = (Running::default(), CodeStacks::default());
        Pipeline::new().run_records(trace.records.iter().cloned(), |observation| {
            running.observe(observation);
            stacks.observe(observation);
        });
        let names = stacks.named(|frames| {
            let inner = format!("f{}", frames[0].address);
            vec![inner, "main".to_owned()]
        });
        let shown = |places: Vec<RanIn>| -> Vec<(String, f64)> {
            places
                .into_iter()
                .map(|one| (one.place, one.ran_ms))
                .collect()
        };
        let report = running.report(&names, "function").unwrap();
        assert_eq!((report.samples, report.ran_ms), (4, 8.0));
        assert!(report.kernel);
        let of = |name: &str, ms: f64| (name.to_owned(), ms);
        assert_eq!(shown(report.places), [of("f5", 4.0), of("f9", 4.0)]);
        let part = running.between(ConnectionId(7), (20, 40), &names);
        assert_eq!(shown(part), [of("f5", 2.0), of("f9", 2.0)]);
        assert_eq!(running.between(ConnectionId(8), (0, 99), &names), []);
        let spans = [(7, (5, 20)), (7, (20, 25)), (8, (0, 99))];
        let spans = spans.map(|(client, span)| (ConnectionId(client), span));
        let within = running.within(spans, &names, "function").unwrap();
        assert_eq!((within.samples, within.ran_ms), (2, 4.0));
        assert_eq!(shown(within.places), [of("f5", 4.0)]);
        let none = [(ConnectionId(7), (31, 40))];
        assert_eq!(running.within(none, &names, "function"), None);
        let lines = running.report(&names, "line").unwrap().places;
        assert_eq!(lines[0].place, "f5 < main");
        running.start_afresh();
        assert_eq!(running.report(&names, "line"), None);
    }
}
