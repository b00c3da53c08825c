//! `diverge`: runs one program on two servers and reports the first message that differs.

use crate::harness::examples::example;
use crate::harness::{Place, needs};
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
fn identical_server_has_no_differences() {
    needs("xmessage", "x11-utils");
    let json = diverge("none", &XMESSAGE);
    assert_eq!(json["clients"], serde_json::json!([]), "{json}");
    assert!(json["equal_requests"].as_u64() > Some(20), "{json}");
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
fn missing_event_is_reported() {
    needs("xmessage", "x11-utils");
    let json = diverge("drop:12:1", &XMESSAGE);
    let client = &json["clients"][0];
    assert_eq!(client["received"][0]["message"], "Expose", "{json}");
    assert_eq!(client["received"][0]["other"], Value::Null);
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
        "q",
    ];
    let error = place.run(words).failed_with_one_line(125);
    assert!(error.contains("did not start"), "{error}");
}
