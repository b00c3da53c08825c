//! Stalls over synthetic traces of several clients.

use x11prof_cost_model::Substitutions;
use x11prof_trace::{Control, SwitchKind};

use crate::pipeline::Pipeline;
use crate::recording::trace_summary::TraceSummary;
use crate::stalls::report::StallsReport;
use crate::stalls::{FRAME_MS, Stalls};
use crate::testing::*;
use crate::testing_display::{Display, costs};

fn stalls(display: &Display) -> StallsReport {
    let rules = Substitutions::default();
    let mut stalls = Stalls::new(&costs(), &rules, FRAME_MS);
    let (mut summary, mut pipeline) = (TraceSummary::default(), Pipeline::new());
    pipeline.run_records(display.records.iter().cloned(), |observation| {
        summary.observe(observation);
        stalls.observe(observation);
    });
    StallsReport::new(&stalls, &summary)
}

/// A stall: the client, its request, the beginning, the length, and each waiting client with its wait.
type Line<'a> = (&'a str, &'a str, f64, f64, Vec<(&'a str, f64)>);

fn lines(report: &StallsReport) -> Vec<Line<'_>> {
    let line = |one| {
        let one: &crate::StallLine = one;
        let waited = one.waited.iter();
        (
            one.client.as_str(),
            one.request.as_deref().unwrap_or(""),
            one.since_ms,
            one.held_ms,
            waited
                .map(|of| (of.client.as_str(), of.waited_ms))
                .collect(),
        )
    };
    report.stalls.iter().map(line).collect()
}

#[test]
fn slow_round_trip_stalls_other_clients() {
    let mut display = Display::new();
    display.sends(2, 10.0, query_font());
    display.sends(3, 30.0, get_input_focus());
    display.sends(1, 100.0, no_operation(1));
    display.gets(2, 150.0, reply(1));
    display.gets(3, 150.5, reply(1));
    // Afterwards each request gets its reply immediately.
    for n in 2..9 {
        let ms = f64::from(n) * 100.0;
        display.sends(3, ms, get_input_focus());
        display.gets(3, ms + 1.0, reply(n));
    }
    let report = stalls(&display);
    let expected = (
        "panel (client 2)",
        "QueryFont",
        10.0,
        140.0,
        vec![("editor (client 3)", 120.0)],
    );
    assert_eq!(lines(&report), [expected]);
    let by = &report.clients[0];
    assert_eq!((by.count, by.waiters, by.waited_ms), (1, 1, 120.0));
    assert_eq!(report.stalls[0].ran_ms, None);
}

#[test]
fn heavy_drawing_stalls_a_waiting_client() {
    let mut display = Display::new();
    display.runs(&[(10.0, 60.0), (99.0, 99.5)]);
    display.sends(2, 9.9, poly_fill_rectangle(5));
    display.sends(3, 20.0, get_input_focus());
    display.gets(3, 59.9, reply(1));
    display.sends(3, 99.0, get_input_focus());
    display.gets(3, 99.4, reply(2));
    let report = stalls(&display);
    let expected = (
        "panel (client 2)",
        "PolyFillRectangle",
        10.0,
        49.9,
        vec![("editor (client 3)", 39.9)],
    );
    assert_eq!(lines(&report), [expected]);
    assert_eq!(report.stalls[0].ran_ms, Some(49.9));
}

#[test]
fn alternating_server_causes_no_stall() {
    let mut display = Display::new();
    display.runs(&[(10.0, 481.0)]);
    display.sends(2, 9.9, poly_fill_rectangle(50));
    for n in 1..40 {
        let ms = f64::from(n) * 12.0;
        display.sends(3, ms, get_input_focus());
        display.gets(3, ms + 8.0, reply(n));
        display.sends(2, ms + 8.5, poly_fill_rectangle(50));
    }
    display.sends(3, 600.0, get_input_focus());
    assert_eq!(lines(&stalls(&display)), []);
}

#[test]
fn long_run_without_waiters_is_a_stall() {
    let mut display = Display::new();
    display.runs(&[(10.0, 60.0), (100.0, 101.0)]);
    display.sends(2, 9.9, poly_fill_rectangle(5));
    display.sends(3, 99.9, no_operation(1));
    display.sends(3, 200.0, no_operation(1));
    let report = stalls(&display);
    let expected = ("panel (client 2)", "PolyFillRectangle", 10.0, 50.0, vec![]);
    assert_eq!(lines(&report), [expected]);
}

#[test]
fn wait_for_vblank_is_no_stall() {
    let mut display = Display::new();
    display.control(
        0.0,
        Control::Extensions {
            extensions: vec![x11prof_trace::ExtensionOpcodes {
                name: "DRI2".to_owned(),
                major: 140,
                first_event: 100,
                first_error: 200,
            }],
        },
    );
    display.runs(&[(10.0, 10.2), (30.0, 30.2), (50.0, 50.2)]);
    // DRI2:WaitMSC, for a frame of the screen.
    display.sends(2, 9.9, request(140, 10, &[ROOT, 0, 0, 0, 0, 0, 0]));
    display.sends(3, 29.9, get_input_focus());
    display.gets(3, 30.1, reply(1));
    display.gets(2, 50.1, reply(1));
    display.sends(3, 90.0, no_operation(1));
    assert_eq!(lines(&stalls(&display)), []);
}

#[test]
fn server_grab_is_a_stall() {
    let mut display = Display::new();
    display.sends(2, 10.0, request(36, 0, &[]));
    display.sends(3, 15.0, get_input_focus());
    display.sends(2, 60.0, request(37, 0, &[]));
    display.gets(3, 60.2, reply(1));
    let report = stalls(&display);
    let waited = vec![("editor (client 3)", 45.0)];
    let expected = ("panel (client 2)", "GrabServer", 10.0, 50.0, waited);
    assert_eq!(lines(&report), [expected]);
    assert_eq!(report.stalls[0].how, "grabbed");
    // An active grab counts up to the last known time.
    display.sends(1, 70.0, request(36, 0, &[]));
    display.sends(3, 80.0, get_input_focus());
    display.sends(2, 100.0, get_input_focus());
    let report = stalls(&display);
    assert_eq!((report.count, report.stalls[1].held_ms), (2, 30.0));
    assert_eq!(report.stalls[1].waited.len(), 2);
}

#[test]
fn attached_server_runs_identify_the_busy_client() {
    let mut display = Display::new();
    display.control(0.0, Control::Attached {});
    display.runs(&[(10.0, 60.0), (100.0, 150.0), (200.0, 201.0)]);
    // The server reports work when the work begins.
    display.sends(2, 10.0, poly_fill_rectangle(5));
    display.sends(3, 100.0, get_input_focus());
    display.gets(3, 120.0, reply(1));
    display.sends(2, 120.0, poly_fill_rectangle(3));
    display.sends(3, 200.1, no_operation(1));
    let of = |from, held| ("panel (client 2)", "PolyFillRectangle", from, held, vec![]);
    let editor = ("editor (client 3)", "GetInputFocus", 100.0, 20.0, vec![]);
    let expected = [of(10.0, 50.0), editor, of(120.0, 30.0)];
    assert_eq!(lines(&stalls(&display)), expected);
}

#[test]
fn attached_later_runs_are_not_blamed_on_last_request() {
    let mut display = Display::new();
    display.control(0.0, Control::Attached {});
    let later = (1..30).map(|n| (f64::from(n) * 100.0, f64::from(n) * 100.0 + 9.0));
    let runs: Vec<_> = [(10.0, 12.0)].into_iter().chain(later).collect();
    display.runs(&runs);
    display.sends(2, 10.0, poly_fill_rectangle(5));
    // The server worked for a client that is not recorded.
    display.sends(3, 3000.0, no_operation(1));
    assert_eq!(lines(&stalls(&display)), []);
}

#[test]
fn server_sleeping_before_a_reply_counts_as_busy() {
    let mut display = Display::new();
    // For example a server that reads a monitor's data over a slow line.
    display.runs(&[(10.0, 12.0), (110.0, 111.0)]);
    display.sends(2, 9.9, query_font());
    display.sends(3, 30.0, get_input_focus());
    display.gets(2, 110.5, reply(1));
    display.gets(3, 110.6, reply(1));
    let waited = vec![("editor (client 3)", 80.5)];
    let expected = ("panel (client 2)", "QueryFont", 10.0, 100.5, waited);
    assert_eq!(lines(&stalls(&display)), [expected]);
}

#[test]
fn server_without_cpu_causes_no_stall() {
    let mut display = Display::new();
    display.runs(&[(10.0, 11.0), (60.0, 61.0)]);
    display.sends(3, 20.0, get_input_focus());
    display.sends(2, 25.0, query_font());
    display.gets(3, 60.5, reply(1));
    display.gets(2, 60.6, reply(1));
    assert_eq!(lines(&stalls(&display)), []);
}

#[test]
fn preempted_server_time_is_no_stall() {
    use SwitchKind::{Blocked, In, Preempted};
    let held = |back| {
        let mut display = Display::new();
        display.runs(&[]);
        for (ms, kind) in [(10.0, In), (11.0, Preempted), (back, In), (61.0, Blocked)] {
            display.switch(ms, kind);
        }
        display.sends(2, 9.9, query_font());
        display.sends(3, 9.9, get_input_focus());
        display.gets(2, 60.5, reply(1));
        display.gets(3, 60.6, reply(1));
        lines(&stalls(&display)).len()
    };
    assert_eq!((held(60.0), held(40.0)), (0, 1));
}

#[test]
fn sleeping_request_causes_at_most_one_stall() {
    let mut display = Display::new();
    let seconds = 1..40_u16;
    let ms = |n: u16| f64::from(n) * 50.0;
    let runs: Vec<(f64, f64)> = seconds.clone().map(|n| (ms(n), ms(n) + 1.0)).collect();
    display.runs(&runs);
    // The client waits, for example for a fence, and its next request waits as well.
    display.sends(2, 9.9, query_font());
    for n in seconds {
        display.sends(3, ms(n) - 0.1, get_input_focus());
        display.gets(3, ms(n) + 0.9, reply(n));
    }
    let found = stalls(&display);
    assert!(found.count <= 1, "{:?}", lines(&found));
}

#[test]
fn client_waiting_for_its_slow_work_still_stalls_others() {
    let mut display = Display::new();
    display.runs(&[(10.0, 70.0)]);
    let slow = [poly_fill_rectangle(5), get_input_focus()].concat();
    display.sends(2, 9.9, slow);
    display.sends(3, 20.0, get_input_focus());
    // The server turns to the next client before it replies.
    display.gets(3, 60.0, reply(1));
    display.gets(2, 60.1, reply(2));
    let waited = vec![("editor (client 3)", 40.0)];
    let expected = ("panel (client 2)", "PolyFillRectangle", 10.0, 50.0, waited);
    assert_eq!(lines(&stalls(&display)), [expected]);
}

#[test]
fn handler_times_identify_the_stalling_client() {
    let mut display = Display::timed();
    display.runs(&[(10.0, 60.0), (99.0, 99.5)]);
    // By the cost table, the rectangles of client 1 would take 450 ms.
    display.sends(1, 9.8, poly_fill_rectangle(50));
    display.sends(2, 9.9, no_operation(1));
    display.sends(2, 9.9, no_operation(1));
    display.sends(3, 20.0, get_input_focus());
    for (client, ms, sequence, nanos) in [
        (1, 10.0, 1, 2_000_001),
        (2, 12.1, 1, 20_000_003),
        (2, 32.2, 2, 20_000_004),
        (3, 59.0, 1, 5),
    ] {
        display.handled(client, ms, sequence, nanos);
    }
    display.gets(3, 59.9, reply(1));
    display.sends(3, 99.0, get_input_focus());
    display.gets(3, 99.4, reply(2));
    let report = stalls(&display);
    let expected = (
        "panel (client 2)",
        "NoOperation",
        10.0,
        49.9,
        vec![("editor (client 3)", 39.9)],
    );
    assert_eq!(lines(&report), [expected]);
    assert_eq!(report.stalls[0].handlers_ms, Some(40.000_007));
}
