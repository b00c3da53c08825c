//! Computes sums over the lines of `dump`. The reports compute their figures with other code.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Value, json};

/// The maximum time of a context switch, in milliseconds, that the kernel includes in a process's CPU time, but that
/// lies outside of the recorded running times of the threads.
const SWITCH_MS: f64 = 0.02;

/// The figures of a line of the dump. The message's fields, which are most of the text, are skipped.
#[derive(Deserialize)]
struct Line<'a> {
    #[serde(borrow)]
    kind: Cow<'a, str>,
    #[serde(default)]
    bytes: u64,
    #[serde(default)]
    control: Value,
}

/// Returns the number and the bytes of messages by kind, and the machine and the network from control records. `lines`
/// are the lines of a dump in JSON.
pub(super) fn added_up(lines: &str) -> Value {
    let mut sums = json!({});
    let mut messages = ["request", "reply", "event", "error"].map(|kind| (kind, 0_u64, 0_u64));
    let mut switches = BTreeMap::new();
    for line in lines.lines() {
        let Ok(line) = serde_json::from_str::<Line<'_>>(line) else {
            continue;
        };
        let control = &line.control;
        match control["kind"].as_str() {
            Some("started") => sums["processors"] = control["cpus"].clone(),
            // A process's CPU clock includes a part of each context switch, which the recorded running times do not
            // include.
            Some("cpu-time") => {
                let of = |name: &str| control[name].as_f64().unwrap_or_default();
                let count = of("voluntary_switches") + of("involuntary_switches");
                switches.insert(control["pid"].as_u64(), count * SWITCH_MS);
            }
            Some("network") => {
                let round_trip = control["round_trip_ns"].as_f64().unwrap_or_default();
                sums["round_trip_ms"] = json!(round_trip / 1e6);
            }
            Some(_) => {}
            None => {
                let of_kind = messages.iter_mut().filter(|(kind, ..)| *kind == line.kind);
                for (_, count, bytes) in of_kind {
                    *count += 1;
                    *bytes += line.bytes;
                }
            }
        }
    }
    for (kind, count, bytes) in messages {
        sums[kind] = json!({ "count": count, "bytes": bytes });
    }
    sums["switching_ms"] = json!(switches.values().sum::<f64>());
    sums
}
