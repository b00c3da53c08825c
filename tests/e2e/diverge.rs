//! `diverge`: runs one program on two servers and reports the first message that differs. `replay --answers`: compares
//! the messages of a replay's server with the recorded ones.

use std::os::unix::process::ExitStatusExt;

use crate::harness::examples::example;
use crate::harness::{Place, needs, until};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

/// Runs the program on Xvfb and on a relay that makes one change, and returns the report. The status is 1 for a
/// difference and 0 without one.
fn diverge(change: &str, program: &[&str]) -> Value {
    needs("Xvfb", "xvfb");
    let place = Place::new();
    let relay = format!("{} {change}", example("altering_relay").display());
    let words = [
        "diverge",
        "--server",
        "xvfb",
        "--server-command",
        &relay,
        "--format",
        "json",
        "--",
    ];
    let done = place.run(words.iter().chain(program));
    let json: Value = serde_json::from_str(&done.stdout()).expect("JSON");
    let differs = json["clients"]
        .as_array()
        .expect("clients")
        .iter()
        .any(|_| true);
    assert_eq!(done.status(), Some(i32::from(differs)), "{}", done.stderr());
    json
}

/// A client without a timer; its messages include font metrics, window positions and events.
const XMESSAGE: [&str; 4] = ["xmessage", "-timeout", "1", "some text"];

#[test]
fn first_signal_ends_diverge() {
    needs("xmessage", "x11-utils");
    for signal in [Signal::INT, Signal::TERM, Signal::HUP] {
        let place = Place::new();
        let servers = ["diverge", "--server", "xvfb", "--server", "xvfb"];
        let words = servers.iter().chain(&["--", "xmessage", "some text"]);
        let mut child = place.x11prof(words).spawn().expect("x11prof starts");
        let trace = place.path("diverge-xvfb.mcap");
        until("the first recording", || trace.exists().then_some(()));
        kill_process(Pid::from_child(&child), signal).expect("a signal is sent");
        let status = crate::harness::wait(&mut child, "diverge");
        assert_eq!(status.signal(), Some(signal.as_raw()), "{status}");
        let left = std::fs::read_dir(place.path("")).expect("the folder");
        let left: Vec<_> = left.map(|one| one.expect("an entry").path()).collect();
        assert_eq!(left, [trace]);
    }
}

#[test]
fn identical_server_has_no_differences() {
    needs("xmessage", "x11-utils");
    let json = diverge("none", &XMESSAGE);
    assert_eq!(json["clients"], serde_json::json!([]), "{json}");
    assert!(json["equal_requests"].as_u64() > Some(20), "{json}");
    assert_eq!(json["format"], 1);
}

#[test]
fn program_output_is_not_mixed_with_the_report() {
    needs("xmessage", "x11-utils");
    let json = diverge("none", &["sh", "-c", "echo text; xmessage -timeout 1 text"]);
    assert_eq!(json["clients"], serde_json::json!([]), "{json}");
}

#[test]
fn changed_reply_field_is_reported_with_both_values() {
    needs("xmessage", "x11-utils");
    // QueryFont, the ascent of the font at byte 52.
    let json = diverge("reply:47:0:1:52", &XMESSAGE);
    let first = &json["clients"][0]["received"][0];
    assert_eq!(first["kind"], "reply", "{json}");
    assert_eq!(first["message"], "QueryFont");
    assert_eq!(first["field"], "font_ascent");
    assert_ne!(first["reference"], first["other"]);
}

#[test]
fn page_shows_both_streams_around_the_first_difference() {
    needs("Xvfb", "xvfb");
    needs("xmessage", "x11-utils");
    let place = Place::new();
    let relay = format!("{} reply:47:0:1:52", example("altering_relay").display());
    let words = ["diverge", "--server", "xvfb", "--server-command", &relay];
    let page = ["--format", "html", "-o", "page.html", "--"];
    let words = words.iter().chain(&page).chain(&XMESSAGE);
    assert_eq!(place.run(words).status(), Some(1));
    let page = std::fs::read_to_string(place.path("page.html")).expect("the page");
    let again = ["diverge", "diverge-xvfb.mcap", "diverge-command-1.mcap"];
    let json = place.run(again.iter().chain(&["--format", "json"]));
    let json: Value = serde_json::from_str(&json.stdout()).expect("JSON");
    let first = &json["clients"][0]["received"][0];
    let row = page.lines().find(|line| {
        line.starts_with("<tr class=\"differs\">") && line.contains("<b>QueryFont</b>")
    });
    let row = row.unwrap_or_else(|| panic!("{page}"));
    for side in ["reference", "other"] {
        let value = first[side].as_str().expect("a value");
        assert!(row.contains(&format!("font_ascent={value} ")), "{row}");
    }
    assert!(page.contains("<li>xmessage "), "{page}");
    assert!(page.lines().filter(|line| line.starts_with("<tr>")).count() > 10);
}

#[test]
fn difference_must_occur_again_on_the_other_server() {
    needs("Xvfb", "xvfb");
    needs("xmessage", "x11-utils");
    let place = Place::new();
    let relay = format!("{} reply:47:0:1:52", example("altering_relay").display());
    let words = [
        "diverge",
        "--server",
        "xvfb",
        "--server-command",
        &relay,
        "--",
    ];
    assert_eq!(place.run(words.iter().chain(&XMESSAGE)).status(), Some(1));
    let files = ["diverge", "diverge-xvfb.mcap", "diverge-command-1.mcap"];
    let with = |again: &str| {
        let reference = ["--again", "diverge-xvfb-again-3.mcap"];
        let other = ["--format", "json", "--other-again", again];
        let words = files.iter().chain(&reference).chain(&other);
        let json: Value = serde_json::from_str(&place.run(words).stdout()).expect("JSON");
        json
    };
    let again = with("diverge-command-1-again-2.mcap");
    assert_eq!(
        again["clients"][0]["received"][0]["field"], "font_ascent",
        "{again}"
    );
    let other = with("diverge-xvfb-again-2.mcap");
    assert_eq!(other["clients"], serde_json::json!([]), "{other}");
    assert!(other["varying"].as_u64() > Some(0), "{other}");
}

#[test]
fn client_that_sends_input_is_not_compared() {
    needs("xmessage", "x11-utils");
    needs("xdotool", "xdotool");
    let session = "xmessage -timeout 3 text & xdotool search --sync --onlyvisible --class xmessage; \
                   xdotool mousemove 20 20 click 1; wait";
    let json = diverge("none", &["sh", "-c", session]);
    assert_eq!(json["drivers"], serde_json::json!(["xdotool"]), "{json}");
    assert_eq!(json["only_reference"], serde_json::json!([]), "{json}");
}

#[test]
fn missing_event_is_reported() {
    needs("xmessage", "x11-utils");
    let json = diverge("drop:12:1", &XMESSAGE);
    let client = &json["clients"][0];
    assert_eq!(client["received"][0]["message"], "Expose", "{json}");
    assert_eq!(client["received"][0]["other"], Value::Null);
}

#[test]
fn events_in_another_order_are_reported_by_their_position() {
    needs("xmessage", "x11-utils");
    // The first PropertyNotify and the next event.
    let json = diverge("swap:28:1", &XMESSAGE);
    let received = &json["clients"][0]["received"];
    assert_eq!(received[0]["message"], "PropertyNotify", "{json}");
    assert_eq!(received[0]["field"], "message number", "{json}");
    assert_ne!(received[0]["reference"], received[0]["other"]);
    assert_eq!(received.as_array().map(Vec::len), Some(1), "{json}");
}

#[test]
fn refused_request_that_ends_the_client_is_named_first() {
    needs("xmessage", "x11-utils");
    // Xlib ends the program after the error, with requests whose replies are not read.
    let json = diverge("error:RENDER:0:1", &XMESSAGE);
    let client = &json["clients"][0];
    assert_eq!(
        client["received"][0]["message"], "RENDER:QueryVersion",
        "{json}"
    );
    assert_eq!(client["waits_for"], Value::Null, "{json}");
}

#[test]
fn reply_that_never_arrives_is_named() {
    needs("xmessage", "x11-utils");
    let program = [["timeout", "2"].as_slice(), &XMESSAGE].concat();
    let json = diverge("hang:47:0:1", &program);
    assert_eq!(
        json["clients"][0]["waits_for"]["request"], "QueryFont",
        "{json}"
    );
}

#[test]
fn server_that_dies_is_named() {
    needs("xmessage", "x11-utils");
    let json = diverge("die:47:0:1", &XMESSAGE);
    let closed = &json["clients"][0]["closed_by_server"];
    assert_eq!(closed["in_reference"], false, "{json}");
}

#[test]
fn missing_extension_explains_missing_requests() {
    needs("xclock", "x11-apps");
    let json = diverge("extension:RENDER", &["timeout", "1", "xclock"]);
    let client = &json["clients"][0];
    let cause = &client["received"][0];
    assert_eq!(cause["message"], "QueryExtension", "{json}");
    assert_eq!(
        (&cause["field"], &cause["other"]),
        (&"present".into(), &"false".into())
    );
    let request = client["first_request"]["reference"]["requests"][0].as_str();
    assert!(
        request.is_some_and(|request| request.starts_with("RENDER:")),
        "{json}"
    );
}

/// Records the program on Xvfb, replays it on a relay that makes one change, and returns the result: a report with its
/// status, 1 for a difference and 0 without one.
fn answers(change: &str, program: &[&str]) -> Value {
    needs("Xvfb", "xvfb");
    let place = Place::new();
    let record = ["record", "--server", "xvfb", "--keep-images", "--"];
    place.run(record.iter().chain(program)).succeeded();
    let relay = format!("{} {change}", example("altering_relay").display());
    let words = [
        "replay",
        "--answers",
        "--format",
        "json",
        "--server-command",
    ];
    let done = place.run(words.into_iter().chain([relay.as_str()]));
    let json: Value = serde_json::from_str(&done.stdout()).expect("JSON");
    let report = json[0].clone();
    let is_same = report["clients"] == serde_json::json!([]);
    assert_eq!(
        done.status(),
        Some(i32::from(!is_same)),
        "{}",
        done.stderr()
    );
    report
}

/// The numbers of equal, different and failed replies to this request.
fn counts(report: &Value, request: &str) -> [Option<u64>; 3] {
    let all = report["answers"].as_array().expect("answers");
    let one = all.iter().find(|one| one["request"] == request);
    let one = one.unwrap_or_else(|| panic!("{report}"));
    ["equal", "differ", "failed"].map(|name| one[name].as_u64())
}

#[test]
fn replay_on_an_identical_server_has_the_recorded_answers() {
    needs("xmessage", "x11-utils");
    let report = answers("none", &XMESSAGE);
    assert_eq!(report["clients"], serde_json::json!([]), "{report}");
    assert_eq!(report["equal_requests"], report["requests"]);
}

#[test]
fn replay_names_the_answers_that_differ_or_fail() {
    needs("xmessage", "x11-utils");
    let report = answers("reply:47:0:1:52", &XMESSAGE);
    assert_eq!(counts(&report, "QueryFont")[1..], [Some(1), Some(0)]);
    let received = &report["clients"][0]["received"];
    assert_eq!(received[0]["field"], "font_ascent", "{report}");
    assert_eq!(received.as_array().map(Vec::len), Some(1), "{report}");

    let report = answers("error:47:0:1", &XMESSAGE);
    assert_eq!(counts(&report, "QueryFont")[1..], [Some(0), Some(1)]);
    let received = &report["clients"][0]["received"];
    assert_eq!(received[0]["reference"], "reply", "{report}");
}

#[test]
fn replay_compares_the_answers_of_a_server_that_dies() {
    needs("xmessage", "x11-utils");
    let report = answers("die:47:0:1", &XMESSAGE);
    assert_eq!(counts(&report, "QueryFont")[..2], [Some(0), Some(1)]);
    let waits = &report["clients"][0]["waits_for"]["request"];
    assert_eq!(waits, "QueryFont", "{report}");
}

#[test]
fn replay_exits_with_status_125_if_the_server_does_not_start() {
    let place = Place::new();
    let trace = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/xset.mcap");
    let words = ["replay", trace, "--answers", "--server-command", "false"];
    let error = place.run(words).failed_with_one_line(125);
    assert!(error.contains("did not start"), "{error}");
}

#[test]
fn server_start_failure_exits_with_status_125() {
    let place = Place::new();
    needs("xset", "x11-xserver-utils");
    let words = [
        "diverge",
        "--server",
        "xvfb",
        "--server-command",
        "false",
        "--",
        "xset",
        "r",
        "on",
    ];
    let error = place.run(words).failed_with_one_line(125);
    assert!(error.contains("did not start"), "{error}");
}
