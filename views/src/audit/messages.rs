//! Sums over the lines of `dump`, which share no counter with the reports.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Value, json};

/// The maximum part of a context switch that the CPU clock of a process counts and its recorded runs do not, in
/// milliseconds.
const SWITCH_MS: f64 = 0.02;

/// The figures of a line. The fields of a message are most of the dump and are skipped.
#[derive(Deserialize)]
struct Line<'a> {
    #[serde(borrow)]
    kind: Cow<'a, str>,
    #[serde(default)]
    bytes: u64,
    #[serde(default)]
    control: Value,
}

/// The number and bytes of messages by kind, and the machine and network from control records, in the JSON `lines` of a
/// dump.
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
            // A process's CPU clock includes part of each context switch, which its runs do not include.
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
