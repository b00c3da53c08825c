//! Sums of `dump`'s lines: they share no counter with the reports.

use std::collections::BTreeMap;

use serde_json::{Value, json};

/// The maximum part of a context switch that a process's CPU clock counts and its runs do not, in milliseconds.
const SWITCH_MS: f64 = 0.02;

/// Messages by kind, and the machine and network from control records.
pub(super) fn added_up(lines: &str) -> Value {
    let mut sums = json!({ "emulated": 0 });
    for kind in ["request", "reply", "event", "error"] {
        sums[kind] = json!({ "count": 0, "bytes": 0 });
    }
    let mut switches = BTreeMap::new();
    for line in lines.lines() {
        let Ok(line) = serde_json::from_str::<Value>(line) else {
            continue;
        };
        let control = &line["control"];
        match (line["kind"].as_str(), control["kind"].as_str()) {
            (Some("control"), Some("started")) => sums["processors"] = control["cpus"].clone(),
            // A process's CPU clock includes part of each context switch, which its runs do not include.
            (Some("control"), Some("cpu-time")) => {
                let of = |name: &str| control[name].as_f64().unwrap_or_default();
                let count = of("voluntary_switches") + of("involuntary_switches");
                switches.insert(control["pid"].as_u64(), count * SWITCH_MS);
            }
            (Some("control"), Some("network")) => {
                let round_trip = control["round_trip_ns"].as_f64().unwrap_or_default();
                sums["round_trip_ms"] = json!(round_trip / 1e6);
                sums["emulated"] = json!(1);
            }
            (Some(kind), None) if sums[kind].is_object() => {
                let sum = &mut sums[kind];
                sum["count"] = json!(sum["count"].as_u64().unwrap_or_default() + 1);
                let bytes = line["bytes"].as_u64().unwrap_or_default();
                sum["bytes"] = json!(sum["bytes"].as_u64().unwrap_or_default() + bytes);
            }
            _ => {}
        }
    }
    sums["switching_ms"] = json!(switches.values().sum::<f64>());
    sums
}
