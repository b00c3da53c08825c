//! A wait for another client: the episode reports its kind, the other client and the time that the waiting client
//! measures (`tests/clients/waits.rs`).

use serde_json::Value;

use super::session::{Report, Session, number, text};

/// Maximum error of a wait in milliseconds, besides the time for which other load used the processors.
const OFF_MS: f64 = 2.0;
/// The same for an attached recorder.
const ATTACHED_OFF_MS: f64 = 5.0;

/// Runs the asker and a party with these delays. Returns the report and the waits that the asker measured, in
/// milliseconds.
fn run(mut session: Session, kind: &str, delays: &str, limit: Option<&str>) -> (Report, Vec<f64>) {
    if kind != "clock" {
        let party = session.start_example("waits", &["party", kind, delays]);
        session.said(party, "ready");
    }
    let limit = if kind == "clock" { Some(delays) } else { limit };
    let words: Vec<&str> = ["asker", kind].into_iter().chain(limit).collect();
    let asker = session.start_example("waits", &words);
    session.said(asker, "ready");
    // The first XTEST key changes the server's keyboard, which sends MappingNotify to all clients.
    session.person("key Shift_L");
    session.person("mousemove 50 50");
    session.look(300);
    let measured = delays.split(',').map(|_| {
        session.person("key a");
        let waited = session.said(asker, "waited").parse();
        session.look(200);
        waited.expect("milliseconds")
    });
    let measured = measured.collect();
    (session.end(), measured)
}

fn keys(report: &Report) -> Vec<&Value> {
    let all = report.episodes().into_iter();
    let names = ["KeyPress keycode 38", "KeyPress a"];
    let is_key = |one: &&Value| {
        let landmark = text(one, "landmark");
        names.iter().any(|name| landmark.starts_with(name))
    };
    all.filter(is_key).collect()
}

/// Checks the waits of all keys: kind, party, time and outcome.
fn check(kind: &str, name: &str, delays: &str, limit: Option<&str>) {
    compare(Session::new(&[]), (kind, name), delays, limit, OFF_MS);
}

fn compare(
    session: Session,
    (kind, name): (&str, &str),
    delays: &str,
    limit: Option<&str>,
    off_ms: f64,
) {
    let (report, measured) = run(session, kind, delays, limit);
    let keys = keys(&report);
    assert_eq!(
        keys.len(),
        measured.len(),
        "{kind}: {:#?}",
        report.json["episodes"]
    );
    for ((key, measured), delay) in keys.iter().zip(measured).zip(delays.split(',')) {
        let wait = &key["awaited"][0];
        println!("{kind}: {measured:.1} ms: {}", text(wait, "sentence"));
        assert_eq!(text(wait, "kind"), name, "{key:#}");
        let outcome = if delay == "never" {
            "gave_up"
        } else {
            "answered"
        };
        assert_eq!(text(wait, "outcome"), outcome, "{key:#}");
        if kind != "clock" {
            // The party connects first.
            assert_eq!(number(wait, "connection"), 1.0, "{key:#}");
        }
        let off = off_ms + report.disturbed_ms;
        for waited in [number(wait, "ms"), number(key, "latency_ms")] {
            assert!((waited - measured).abs() <= off, "{measured} ms: {key:#}");
        }
        assert!(
            number(&key["causes"], "awaited_ms") > measured * 0.8 - off,
            "{key:#}"
        );
    }
}

#[test]
fn selection_timeout_names_the_owner_and_the_wait() {
    check("selection", "selection", "50,never", Some("400"));
}

#[test]
fn map_wait_names_the_window_manager() {
    check("map", "map", "150", None);
}

#[test]
fn grab_wait_names_the_grab_holder() {
    check("grab", "grab", "150", None);
}

#[test]
fn screen_clock_wait_is_recognised() {
    check("clock", "screen_clock", "500", None);
}

/// The kinds of open requests, with their names in JSON.
const KINDS: [(&str, &str); 13] = [
    ("selection", "selection"),
    ("piece", "selection_piece"),
    ("drag", "drag_position"),
    ("drop", "drop"),
    ("method", "input_method"),
    ("resize", "resize"),
    ("map", "map"),
    ("configure", "configure"),
    ("extents", "frame_extents"),
    ("clock", "screen_clock"),
    ("grab", "grab"),
    ("taken", "piece_taken"),
    ("ping", "ping"),
];

#[test]
#[ignore = "takes a minute; cargo xtask validate nesting"]
fn each_kind_of_wait_has_its_duration_and_cause() {
    for (kind, name) in KINDS {
        check(kind, name, "50,500,2000", None);
    }
}

#[test]
#[ignore = "takes a minute; cargo xtask validate nesting"]
fn each_kind_of_attached_wait_has_its_duration_and_cause() {
    for kind in KINDS {
        let session = Session::attached();
        compare(session, kind, "50,500,2000", None, ATTACHED_OFF_MS);
    }
}
