//! `top`: who polls, grabs, leaks and redraws, by name.
#![allow(
    clippy::expect_used,
    reason = "a test that cannot go on says why and fails"
)]

mod harness;

use harness::examples::example;
use harness::{Place, needs};
use serde_json::Value;

/// What the four programs do that trouble a display.
const TROUBLES: [&str; 4] = ["poll", "grab", "leak", "redraw"];

/// A recording of the four programs through the proxy, of more than five seconds.
fn recorded(place: &Place) -> Value {
    let program = example("troubles");
    let program = program.display();
    let script = format!(
        "for trouble in {}; do {program} $trouble & all=\"$all $!\"; done; sleep 5.5; kill $all",
        TROUBLES.join(" ")
    );
    place.write("all.sh", script.as_bytes());
    place.ok(["record", "--server", "xvfb", "--", "sh", "all.sh"]);
    place.json([
        "top",
        "x11prof.mcap",
        "--at",
        "5",
        "--json",
        "--seconds",
        "4",
    ])
}

/// The client that makes this trouble.
fn of<'a>(report: &'a Value, trouble: &str) -> &'a Value {
    let clients = report["clients"].as_array().expect("clients");
    let is = |client: &&Value| client["command"][1] == trouble;
    let found = clients.iter().find(is);
    found.unwrap_or_else(|| panic!("nobody is there to {trouble}: {report:#}"))
}

/// Each trouble is told of the program that makes it, and of no other.
fn names_each(report: &Value) {
    let [poll, grab, leak, redraw] = TROUBLES.map(|trouble| of(report, trouble));
    let only = |what: &str, of: &Value, has: &dyn Fn(&Value) -> bool| {
        for trouble in TROUBLES {
            let client = self::of(report, trouble);
            assert_eq!(has(client), client == of, "{what}: {trouble} in {report:#}");
        }
    };
    only("polls", poll, &|one| {
        one["polls"]["request"] == "QueryPointer"
    });
    only("grabs", grab, &|one| one["grabs"][0]["what"] == "server");
    only("grows", leak, &|one| one["held"]["pixmap"]["grows"] == true);
    only("costs most", redraw, &|one| *one == report["clients"][0]);
    assert_eq!(redraw["mostly"]["request"], "PutImage", "{report:#}");
    let per_s = poll["polls"]["per_s"].as_f64().expect("a rate");
    assert!((10.0..70.0).contains(&per_s), "{report:#}");
    assert!(leak["held"]["pixmap"]["bytes_per_s"].as_f64() > Some(100_000.0));
    for client in [poll, grab, leak, redraw] {
        assert_eq!(client["name"], "troubles");
        assert!(client["pid"].is_u64(), "{report:#}");
    }
}

#[test]
fn a_recording_names_who_polls_grabs_leaks_and_redraws() {
    needs("Xvfb", "xvfb");
    let place = Place::new();
    let report = recorded(&place);
    names_each(&report);
    // Who waited for whom.
    let grab = of(&report, "grab");
    let stalls = report["stalls"].as_array().expect("stalls");
    let by_grab = stalls
        .iter()
        .filter(|one| one["connection"] == grab["client"]);
    assert!(by_grab.count() >= 2, "{report:#}");
    let holder = format!("troubles (client {})", grab["client"]);
    for waiter in ["poll", "leak", "redraw"] {
        let waits = &of(&report, waiter)["waits_for"][0];
        assert_eq!(waits["client"], holder, "{report:#}");
    }
    let text = place.ok(["top", "x11prof.mcap", "--at", "5"]);
    for said in [
        " grabbed the server ",
        "; 3 clients waited ",
        "'s pixmaps grow by ",
        " polls: ",
        " QueryPointer a second",
        "pixmaps grow\n",
    ] {
        assert!(text.contains(said), "{said}:\n{text}");
    }
    assert!(
        text.lines().all(|line| line.chars().count() <= 80),
        "{text}"
    );
    let by_window = place.ok(["top", "x11prof.mcap", "--at", "5", "--by", "window"]);
    assert!(by_window.contains(" window 400x300"), "{by_window}");
    let by_request = place.ok(["top", "x11prof.mcap", "--at", "5", "--by", "request"]);
    assert!(by_request.contains("\nPutImage "), "{by_request}");
    // A report and the list of stalls tell of it as well.
    let report = place.ok(["report", "--all"]);
    assert!(
        report.contains(" held the server for over a frame "),
        "{report}"
    );
    assert!(
        report.contains(": grabbed by troubles (client "),
        "{report}"
    );
    let late = place.run(["top", "x11prof.mcap", "--at", "100"]);
    assert_eq!(late.status(), Some(2), "{late}");
    assert!(late.stderr().contains(" s after its start"), "{late}");
}
