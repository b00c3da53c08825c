//! The server's time for the user's own events.

use super::*;
use crate::episodes::report::EpisodesReport;
use crate::episodes::{EventDefinitions, EventTypeReport};
use crate::recording::trace_summary::TraceSummary;

const KEYS: &str =
    "format = 1\n[[event]]\nname = \"Key\"\ntype = \"input\"\nstart = { event = \"KeyPress\" }\n";

fn keys(trace: &Synthetic) -> EventTypeReport {
    let options = EpisodeOptions {
        events: EventDefinitions::parse(KEYS).unwrap(),
        ..EpisodeOptions::default()
    };
    let findings = findings(trace, &options);
    let report = EpisodesReport::new("", &TraceSummary::default(), &findings);
    report.events.into_iter().next().expect("a type")
}

/// Two keys, after each of which the client draws and waits for nothing.
fn typed(switches: bool) -> Scheduled {
    use SwitchKind::{Blocked, In};
    let mut all = Scheduled::new();
    if switches {
        all.trace.control(Control::Capture {
            pid: SERVER_PID,
            capture: "switches".to_owned(),
            why: None,
        });
        all.switch(SERVER_PID, 2 * MS, Blocked);
    }
    for (press, runs) in [(100, 3), (300, 5)] {
        all.at(press * MS)
            .server_sends(&[key_press(1, 999 + press as u32)]);
        all.client(press * MS + 100, In);
        all.at((press + 4) * MS)
            .client_sends(&[poly_fill_rectangle(3)]);
        all.client((press + 4) * MS + 20, Blocked);
        all.waits((press + 4) * MS + 20, POLL);
        if switches {
            all.server((press + 4) * MS + 50, (press + 4 + runs) * MS + 50);
        }
    }
    if switches {
        // For nobody.
        all.server(600 * MS, 640 * MS);
    }
    all.at(900 * MS).end();
    all
}

#[test]
fn the_servers_runs_are_those_of_who_sent_something_for_them() {
    let server = keys(&typed(true).trace).server_ms.expect("it is known");
    assert_eq!((server.total, server.mean), (8.0, Some(4.0)));
}

#[test]
fn without_the_servers_switches_nothing_is_known() {
    let keys = keys(&typed(false).trace);
    assert_eq!((keys.count, keys.server_ms), (2, None));
}
