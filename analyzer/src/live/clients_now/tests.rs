//! Current activity of clients, over synthetic traces.

use x11prof_cost_model::{Network, Substitutions};
use x11prof_trace::{ConnectionId, Control, Record, SwitchKind};

use super::{ClientsNow, NowOptions};
use crate::live::clients_now::report::{ClientNow, NowReport};
use crate::pipeline::{Observation, Pipeline};
use crate::profile::Profile;
use crate::profile::report::ProfileReport;
use crate::recording::trace_summary::TraceSummary;
use crate::testing::*;
use crate::testing_display::{Display, costs};
use crate::{FRAME_MS, TimeSource, TimeSourceOption};

/// The last `seconds` of a display; with a filter, only rows with the text in a name.
fn report(display: &Display, seconds: f64, filter: Option<&str>) -> NowReport {
    let options = NowOptions {
        seconds,
        frame_ms: FRAME_MS,
        basis: TimeSourceOption::Measured,
    };
    let mut now = ClientsNow::new(&costs(), &Substitutions::default(), &options);
    now.begin();
    let mut pipeline = Pipeline::new();
    pipeline.run_records(display.records.iter().cloned(), |observation| {
        now.observe(observation)
    });
    now.end();
    now.report(filter)
}

fn of<'a>(report: &'a NowReport, name: &str) -> &'a ClientNow {
    let mut clients = report.clients.iter();
    clients.find(|one| one.name == name).unwrap()
}

/// One client polls 20 times per second. Another one draws 10 times per second and each time leaves a pixmap allocated.
fn busy(seconds: u16) -> Display {
    let mut display = Display::new();
    let pixmap = |n: u16| request(53, 8, &[BASE + 100 + u32::from(n), ROOT, 10 | 10 << 16]);
    for n in 0..seconds * 20 {
        let ms = f64::from(n) * 50.0;
        display.sends(3, ms, request(38, 0, &[ROOT]));
        display.gets(3, ms + 2.0, reply(n + 1));
        if n % 2 == 0 {
            display.sends(2, ms + 10.0, poly_fill_rectangle(1));
            display.sends(2, ms + 11.0, pixmap(n));
        }
    }
    display.sends(1, f64::from(seconds) * 1000.0, no_operation(1));
    display
}

#[test]
fn rates_cover_the_last_seconds() {
    let report = report(&busy(8), 4.0, None);
    assert!((report.seconds - 4.0).abs() < 0.51, "{}", report.seconds);
    assert_eq!(report.basis, TimeSource::Modelled);
    let (panel, editor) = (of(&report, "panel"), of(&report, "editor"));
    // The client with the most server time is first: 10 rectangles of 9 ms.
    assert_eq!(report.clients[0], *panel);
    assert!((panel.server_ms_per_s - 90.0).abs() < 3.0, "{panel:?}");
    assert!((panel.requests_per_s - 20.0).abs() < 0.7, "{panel:?}");
    let mostly = panel.mostly.as_ref().unwrap();
    assert_eq!(mostly.request, "PolyFillRectangle");
    assert_eq!((panel.round_trips_per_s, panel.polls.clone()), (0.0, None));
    let pixmaps = panel.held["pixmap"];
    assert!(pixmaps.grows && pixmaps.count == 80, "{pixmaps:?}");
    assert!((pixmaps.count_per_s - 10.0).abs() < 0.7, "{pixmaps:?}");

    assert!((editor.round_trips_per_s - 20.0).abs() < 0.7, "{editor:?}");
    assert!((editor.waited_ms_per_s - 40.0).abs() < 2.0, "{editor:?}");
    let polls = editor.polls.as_ref().unwrap();
    assert_eq!(polls.request, "QueryPointer");
    assert!((polls.per_s - 20.0).abs() < 0.7, "{polls:?}");
    // An idle client is listed as well.
    assert_eq!(report.clients.len(), 3);

    let rows: Vec<&str> = report
        .requests
        .iter()
        .map(|row| row.name.as_str())
        .collect();
    assert_eq!(rows[0], "PolyFillRectangle");
    assert!(
        rows.contains(&"CreatePixmap") && rows.contains(&"QueryPointer"),
        "{rows:?}"
    );
    let root = &report.windows[0];
    assert_eq!(
        (root.name.as_str(), root.client.as_str()),
        ("0x00000100 root window", "panel")
    );
}

#[test]
fn filter_matches_clients_and_requests() {
    let display = busy(2);
    let names = |filter| {
        let report = report(&display, 1.0, Some(filter));
        let requests = report.requests.into_iter().map(|row| row.name);
        (report.clients.len(), requests.collect::<Vec<String>>())
    };
    assert_eq!(names("EDIT"), (1, vec!["QueryPointer".to_owned()]));
    assert_eq!(names("createp"), (1, vec!["CreatePixmap".to_owned()]));
    assert_eq!(names("nobody"), (0, vec![]));
}

#[test]
fn grabs_and_waits_name_the_clients() {
    let mut display = Display::new();
    display.sends(2, 1000.0, request(36, 0, &[]));
    display.sends(3, 1100.0, get_input_focus());
    display.sends(2, 1400.0, request(37, 0, &[]));
    display.gets(3, 1401.0, reply(1));
    display.sends(2, 1500.0, request(36, 0, &[]));
    display.sends(1, 1600.0, no_operation(1));
    let report = report(&display, 5.0, None);
    let grabs = &of(&report, "panel").grabs;
    let held: Vec<(f64, bool)> = grabs.iter().map(|one| (one.held_ms, one.goes_on)).collect();
    assert_eq!(held, [(400.0, false), (100.0, true)]);
    assert_eq!(report.stalls.len(), 2);
    let (stall, editor) = (&report.stalls[0], of(&report, "editor"));
    let waits = stall.waited.iter();
    let waits: Vec<_> = waits
        .map(|one| (Some(one.connection), one.waited_ms))
        .collect();
    assert_eq!(stall.client, "panel (client 2)");
    assert_eq!(waits, [(editor.client, 300.0)]);
}

#[test]
fn idle_period_has_zero_rates() {
    let display = busy(2);
    let options = NowOptions {
        seconds: 1.0,
        frame_ms: FRAME_MS,
        basis: TimeSourceOption::Measured,
    };
    let mut now = ClientsNow::new(&costs(), &Substitutions::default(), &options);
    now.begin();
    let mut pipeline = Pipeline::new();
    pipeline.run_records(display.records.iter().cloned(), |observation| {
        now.observe(observation)
    });
    let later = |ms: u64| x11prof_trace::Timestamp::from_nanos(1_000_000_000 + ms * 1_000_000);
    (2..40).for_each(|n| now.until(later(n * 100)));
    let report = now.report(None);
    assert_eq!((report.requests_per_s, report.clients.len()), (0.0, 3));
    assert_eq!(of(&report, "panel").held["pixmap"].count, 20);
    assert!(report.requests.is_empty(), "{:?}", report.requests);
}

#[test]
fn round_trips_without_drawing_count_as_polling() {
    let mut display = Display::new();
    for n in 0..200 {
        let ms = f64::from(n) * 10.0;
        for client in [2, 3] {
            let sequence = if client == 3 { 2 * n + 2 } else { n + 1 };
            if client == 3 {
                display.sends(3, ms, poly_fill_rectangle(1));
            }
            display.sends(client, ms + 0.1, get_input_focus());
            display.gets(client, ms + 1.0, reply(sequence));
        }
    }
    display.sends(1, 2000.0, no_operation(1));
    let report = report(&display, 1.0, None);
    let polls = of(&report, "panel").polls.as_ref().unwrap();
    assert_eq!(polls.request, "GetInputFocus");
    assert!((polls.per_s - 100.0).abs() < 2.0, "{polls:?}");
    // After drawing, the client waits until the server has finished.
    assert!(of(&report, "editor").polls.is_none());
}

/// A toolkit reads the same properties several times before it draws a frame.
#[test]
fn round_trips_of_a_frame_are_no_polling() {
    let mut display = Display::new();
    for n in 0..40 {
        let ms = f64::from(n) * 50.0;
        for again in [0, 1] {
            let at = ms + f64::from(again) * 4.0;
            display.sends(3, at, get_input_focus());
            display.gets(3, at + 1.0, reply(3 * n + again + 1));
        }
        display.sends(3, ms + 30.0, poly_fill_rectangle(1));
    }
    display.sends(1, 2000.0, no_operation(1));
    let report = report(&display, 1.0, None);
    assert!(of(&report, "panel").polls.is_none());
}

#[test]
fn work_on_more_windows_than_kept_stays_its_clients() {
    // Each of 25,000 windows is drawn in the first and the third window of time, and 25,000 others between.
    let mut display = Display::new();
    let each = |n: u32| f64::from(n) * 0.16;
    for n in 0..75_000 {
        let window = BASE + 100 + n % 50_000;
        let draw = request(70, 0, &[window, BASE + 2, 0, 10 | 10 << 16]);
        display.sends(2, each(n), draw);
    }
    display.sends(1, each(75_000), no_operation(1));
    let report = report(&display, 4.0, None);
    let panel = of(&report, "panel");
    assert!((panel.requests_per_s - 6250.0).abs() < 10.0, "{panel:?}");
    let modelled = 9.0 * panel.requests_per_s;
    assert!(
        (panel.server_ms_per_s - modelled).abs() < 0.01 * modelled,
        "{panel:?}"
    );
    assert_eq!(report.own_ms_per_s, 0.0);
    let total = report.server_ms_per_s;
    assert!(
        (panel.server_ms_per_s - total).abs() < 1e-6 * total,
        "{total}"
    );
}

#[test]
fn ended_clients_of_one_name_share_a_row() {
    let mut display = Display::new();
    for client in [2, 3] {
        for record in &mut display.records {
            if let Record::Control(_, Control::Opened(opened)) = record
                && opened.connection == ConnectionId(client)
            {
                opened.name = Some("xdotool".to_owned());
            }
        }
        let ms = f64::from(client) * 100.0;
        display.sends(client, ms, request(38, 0, &[ROOT]));
        display.gets(client, ms + 2.0, reply(1));
        let closed = Control::Closed {
            connection: ConnectionId(client),
            by: "client".to_owned(),
            why: None,
        };
        display.control(ms + 10.0, closed);
    }
    display.sends(1, 1000.0, no_operation(1));
    let report = report(&display, 1.0, None);
    assert_eq!(report.clients.len(), 2);
    let row = of(&report, "xdotool");
    assert_eq!((row.connections, row.connected), (2, false));
    assert!((row.requests_per_s - 2.0).abs() < 0.1, "{row:?}");
    assert!((row.round_trips_per_s - 2.0).abs() < 0.1, "{row:?}");
}

#[test]
fn current_wait_for_another_client_or_the_screen_is_reported() {
    let mut display = Display::new();
    let press = |sequence| {
        let mut press = reply(sequence);
        (press[0], press[1]) = (2, 38);
        press
    };
    // ConvertSelection.
    display.gets(2, 1000.0, press(0));
    display.sends(2, 1001.0, request(24, 0, &[BASE + 5, 1, 31, 9, 0]));
    display.sends(1, 1900.0, no_operation(1));
    let waits = report(&display, 5.0, None).waits;
    let kinds: Vec<(&str, f64)> = waits.iter().map(|one| (one.kind, one.ms)).collect();
    assert_eq!(kinds, [("selection", 899.0)]);
    // A client that responds to another key has given up.
    display.gets(2, 2000.0, press(1));
    display.sends(2, 2001.0, poly_fill_rectangle(1));
    display.gets(2, 3000.0, press(1));
    display.sends(1, 3900.0, no_operation(1));
    assert_eq!(report(&display, 5.0, None).waits, []);
}

/// A display whose server needs more and more time for the same requests, so that later runs change the attribution of
/// earlier ones.
fn slower_and_slower() -> Display {
    let mut display = Display::new();
    display.runs(&[]);
    for n in 0..80 {
        let n = f64::from(n);
        let ms = 100.0 * n + 10.0;
        display.sends(2, ms, poly_fill_rectangle(1));
        if n % 3.0 == 0.0 {
            display.sends(3, ms, no_operation(1));
        }
        display.switch(ms + 0.1, SwitchKind::In);
        display.switch(ms + 1.0 + n % 7.0 + n / 10.0, SwitchKind::Blocked);
    }
    display.sends(1, 8005.0, no_operation(1));
    display
}

/// The server time of the part of a display from `from` (nanoseconds) on, as in `report --from`, in milliseconds.
fn server_ms_of_part(display: &Display, from: u64) -> f64 {
    let profile = Profile::new(&costs(), &Substitutions::default());
    let mut profile = profile.on(TimeSourceOption::Measured);
    let (mut summary, mut begun) = (TraceSummary::default(), false);
    Pipeline::new().run_records(display.records.iter().cloned(), |observation| {
        if let Observation::BlockStart(block) = observation
            && block.time.as_nanos() >= from
            && !std::mem::replace(&mut begun, true)
        {
            profile.start_afresh();
        }
        summary.observe(observation);
        profile.observe(observation);
    });
    profile.end();
    let report = ProfileReport::new("it", &summary, &profile, &Network::NONE);
    report.total.server_ms
}

#[test]
fn server_time_of_the_window_equals_that_of_the_part() {
    let display = slower_and_slower();
    for seconds in [0.5, 1.0, 3.0, 20.0] {
        let report = report(&display, seconds, None);
        assert_eq!(report.basis, TimeSource::Attributed);
        // The rounding of a float is below a microsecond.
        let from = 999_999_000 + ((8.005 - report.seconds) * 1e9) as u64;
        let part = server_ms_of_part(&display, from);
        let window = report.server_ms_per_s * report.seconds;
        assert!(part > 1.0, "{part}");
        assert!((window - part).abs() < 1e-6 * part, "{window} {part}");
        let clients = report.clients.iter().map(|one| one.server_ms_per_s);
        let rest = report.server_ms_per_s - clients.sum::<f64>();
        assert!((rest - report.own_ms_per_s).abs() < 1e-9, "{rest}");
        let mut rows = report.requests.iter();
        let empty = rows.find(|row| row.requests_per_s == 0.0 && !row.name.starts_with('('));
        assert!(empty.is_none(), "{empty:?}");
    }
}
