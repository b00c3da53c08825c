//! CPU time of a client's threads, summed directly from a trace's context switches.

use std::collections::HashMap;
use std::io::BufReader;
use std::path::Path;

use x11prof_trace::{Control, Reader, Record, SwitchKind};

use super::benchmark::Episode;

/// The intervals in which each client's threads ran, in milliseconds since the start of the trace.
#[derive(Debug, Default)]
pub(crate) struct Kernel {
    pids: HashMap<u64, u32>,
    ran: HashMap<u32, Vec<(f64, f64)>>,
}

impl Kernel {
    /// Reads a trace.
    pub(crate) fn of(trace: &Path) -> Kernel {
        let file = std::fs::File::open(trace).expect("a trace");
        let mut reader = Reader::new(BufReader::new(file)).expect("a trace");
        let (mut kernel, mut beginning) = (Kernel::default(), None);
        let (mut attached, mut since) = (HashMap::new(), HashMap::new());
        let mut switches = Vec::new();
        while let Some(record) = reader.next().expect("a record") {
            match record {
                Record::Control(time, control) => {
                    beginning.get_or_insert(time.as_nanos());
                    match control {
                        Control::Opened(opened) => {
                            if let Some(pid) = opened.pid {
                                kernel.pids.insert(u64::from(opened.connection.0), pid);
                            }
                        }
                        Control::Capture { pid, .. } => {
                            attached.entry(pid).or_insert(time.as_nanos());
                        }
                        _ => {}
                    }
                }
                Record::Schedule(more) => switches.extend(more),
                Record::Block(_) | Record::HandlerTimes(_) => {}
            }
        }
        switches.sort_by_key(|switch| switch.time);
        let beginning = beginning.unwrap_or_default();
        let ms = |nanos: u64| nanos.saturating_sub(beginning) as f64 / 1e6;
        for switch in switches {
            let time = switch.time.as_nanos();
            if switch.kind == SwitchKind::In {
                since.insert(switch.tid, time);
                continue;
            }
            // If a thread's first switch is off the CPU, the thread has run since the recorder attached to it.
            let attached = attached.get(&switch.pid).copied().unwrap_or(beginning);
            let from = since.insert(switch.tid, u64::MAX).unwrap_or(attached);
            if from < time {
                let ran = kernel.ran.entry(switch.pid).or_default();
                ran.push((ms(from), ms(time)));
            }
        }
        kernel
    }

    /// Asserts that no episode has more client CPU time than the kernel counted for all its threads in that
    /// interval, and that the parts add up to the latency.
    pub(crate) fn is_not_exceeded(&self, episodes: &[Episode]) {
        for episode in episodes {
            let parts = (episode.parts_ms() - episode.latency_ms).abs();
            assert!(parts < 0.001, "{episode:?}");
            let Some(ran) = self
                .pids
                .get(&episode.client)
                .and_then(|pid| self.ran.get(pid))
            else {
                continue;
            };
            let (from, to) = (episode.start_ms, episode.end_ms());
            let within = ran.iter().map(|(a, b)| (b.min(to) - a.max(from)).max(0.0));
            let counted: f64 = within.sum();
            // The connection is accepted before the recorder traces the client's switches.
            let start_up = episode.landmark == "Start-up";
            assert!(
                start_up || episode.client_ms <= counted + 0.01,
                "the kernel counted {counted} ms: {episode:?}"
            );
        }
    }
}
