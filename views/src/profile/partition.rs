//! The partition of time between clients and server, as in Table 8 of the paper.

use std::fmt::{self, Write};

use x11prof_analyzer::PartitionReport;

/// The partition as a line of Table 8, with figures to judge the estimate. `is_part` is true for a part of a recording.
pub(super) fn partition(of: &PartitionReport, is_part: bool) -> String {
    let mut text = String::new();
    // Writing to a String cannot fail.
    let _ = write_partition(&mut text, of, is_part);
    text
}

fn write_partition(f: &mut String, of: &PartitionReport, is_part: bool) -> fmt::Result {
    // The kernel's clocks are read at the ends of a recording.
    let unknown = match is_part {
        true => "known for the whole recording only",
        false => "not in the trace",
    };
    let ms =
        |value: Option<f64>| value.map_or_else(|| unknown.to_owned(), |ms| format!("{ms:.3} ms"));
    writeln!(f, "Client time (kernel): {}", ms(of.client_ms))?;
    writeln!(
        f,
        "Server time: {:.3} ms; requests {:.3} ms, events {:.3} ms",
        of.server_ms, of.requests_ms, of.events_ms
    )?;
    if let (Some(sum), Some(overlap), Some(idle)) = (of.sum_ms, of.overlap_ms, of.idle_ms) {
        let run_queue = match of.run_queue_ms {
            Some(ms) if ms > 0.0 => format!(", run queue {ms:.3} ms"),
            _ => String::new(),
        };
        writeln!(
            f,
            "Total profile: {sum:.3} ms; overlap at least {overlap:.3} ms{run_queue}, idle at least \
             {idle:.3} ms"
        )?;
    }
    if let (Some(both), Some(wakeups), Some(events)) =
        (of.measured_overlap_ms, of.event_wakeups, of.event_client_ms)
    {
        writeln!(
            f,
            "By context switches: both at once {both:.3} ms; clients woken by events alone \
             {wakeups} times, and ran {events:.3} ms"
        )?;
    }
    let part = of
        .percent_of_wall
        .map_or_else(String::new, |part| match part > 100.0 {
            true => format!("; profile/actual {part:.1} %, for some ran at once"),
            false => format!("; profile/actual {part:.1} %"),
        });
    writeln!(f, "Actual time (wall clock): {:.3} ms{part}", of.wall_ms)?;
    let ratio = of
        .estimate_ratio
        .map_or_else(String::new, |ratio| format!("; reported/kernel {ratio:.2}"));
    writeln!(f, "Server time (kernel): {}{ratio}", ms(of.server_cpu_ms))
}
