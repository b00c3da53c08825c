//! Server time as the server's own handlers tell it.

use std::process::Command;

use rustix::process::Signal;
use serde_json::Value;

use crate::harness::raw::Order;
use crate::harness::{Place, Recording, needs};

/// NoOperation, whose handler a library of the test's own makes slow.
const SLOW: u8 = 127;
/// Clients at once, and slow requests of each.
const CLIENTS: u8 = 50;
const EACH: u8 = 10;

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or(f64::NAN)
}

/// Records clients of both byte orders at a server of `kind`. The handler of a client's requests takes as many times 5 µs
/// as the client has as its number.
fn recorded(place: &Place, kind: &str) -> Value {
    let library = place.path("spin.so");
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/e2e/timed/spin.c");
    let mut compiler = Command::new("cc");
    compiler
        .args(["-O2", "-shared", "-fPIC", "-o"])
        .arg(&library);
    assert!(compiler.arg(source).status().expect("cc").success());
    let trace = place.path("trace.mcap");
    let mut record = place.x11prof(["record", "--server", kind, "-o"]);
    record.arg(&trace).env("LD_PRELOAD", &library);
    let mut recording = Recording::of(&mut record, &trace);
    let mut clients: Vec<_> = (1..=CLIENTS)
        .map(|n| match n % 2 {
            0 => recording.raw(Order::Big),
            _ => recording.raw(Order::Little),
        })
        .collect();
    for _ in 0..EACH {
        for (n, client) in (1..).zip(&mut clients) {
            client.request(SLOW, n, &[]);
        }
    }
    clients.iter_mut().for_each(|client| client.sync());
    assert!(recording.signal(Signal::INT).success());
    let trace = trace.to_string_lossy();
    place.json([
        "report", "--format", "json", "--by", "client", "--basis", "timed", &trace,
    ])
}

#[test]
fn each_client_has_the_time_that_its_requests_took() {
    needs("cc", "gcc");
    for (kind, program, package) in [
        ("xvfb", "Xvfb", "xvfb"),
        ("xvnc", "Xvnc", "tigervnc-standalone-server"),
        ("xephyr", "Xephyr", "xserver-xephyr"),
        ("xorg-dummy", "Xorg", "xserver-xorg-video-dummy"),
    ] {
        needs(program, package);
        let report = recorded(&Place::new(), kind);
        let lines = report["groups"]["lines"].as_array().expect("lines");
        assert_eq!(lines.len(), usize::from(CLIENTS), "{kind}: {report:#}");
        let mut more = Vec::new();
        for n in 1..=CLIENTS {
            let name = format!("(client {n})");
            let of = |line: &&Value| line["name"].as_str().is_some_and(|it| it.ends_with(&name));
            let line = lines.iter().find(of).expect("a line");
            // One more request asks for an answer at the end.
            assert_eq!(line["count"], u64::from(EACH) + 1, "{kind}: {line}");
            let (took, spun) = (
                number(&line["server_ms"]),
                f64::from(n) * f64::from(EACH) * 5e-3,
            );
            println!("{kind} client {n}: {took:.3} ms of {spun:.3}");
            assert!(
                took > 0.95 * spun,
                "{kind}, client {n}: {took} ms of {spun}"
            );
            more.push(took / spun);
        }
        // On a busy machine some handlers are interrupted, by what the kernel counts for the server.
        more.sort_by(f64::total_cmp);
        let middle = more[more.len() / 2];
        assert!(middle < 1.05, "{kind}: {middle}");
        let total = &report["total"];
        let ratio = number(&total["server_ms"]) / number(&total["server_cpu_ms"]);
        assert!((0.97..1.03).contains(&ratio), "{kind}: {ratio}");
    }
}

#[test]
fn a_server_that_cannot_be_timed_is_measured_and_says_why() {
    needs("Xwayland", "xwayland");
    let place = Place::new();
    let words = ["record", "--server", "xwayland", "-o", "it.mcap", "--"];
    place.run(words.into_iter().chain(["xdpyinfo"]));
    let report = place.json(["report", "--format", "json", "it.mcap"]);
    assert_eq!(report["server"]["basis"], "measured", "{report:#}");
    let why = report["server"]["not_timed"].as_str().unwrap_or_default();
    assert!(why.contains("handlers"), "{why}");
    let text = place.run(["report", "it.mcap"]).stdout();
    assert!(text.contains("not timed"), "{text}");
}
