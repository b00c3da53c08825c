//! The protocols of desktops with known delays: who is asked, and takes so long, is a child and blamed.

use serde_json::Value;

use super::session::{Report, Session, number, of_others, text};
use crate::harness::examples::example;

/// The work of the clients that the desk asks, in milliseconds (tests/clients/protocols.rs).
const RESIZES: f64 = 180.0;
const THEMED: [f64; 2] = [160.0, 60.0];
const PIECE: f64 = 40.0;
const PIECES: f64 = 4.0;
/// The desk's work for a window that has its size; for one whose picture is shown: 12 frames of Present's
/// clock.
const RESIZED: f64 = 30.0;
const SHOWN: f64 = 12.0 * 1000.0 / 60.0;

/// Time that all may take beyond that if no other client uses the processors.
const OFF_MS: f64 = 60.0;

/// The episode of the desk that a key began. No client of the recording asks what is on the keys.
fn key(report: &Report, code: u32) -> Result<&Value, String> {
    let landmark = format!("KeyPress keycode {code}");
    let mut all = report.episodes().into_iter();
    let found = all.find(|one| text(one, "landmark") == landmark);
    found.ok_or_else(|| format!("no {landmark}: {:#}", report.json["episodes"]))
}

/// Starts the clients of these words; their numbers, once those with windows are ready.
fn start(session: &mut Session, all: &[&str]) -> Vec<usize> {
    let program = example("protocols");
    let mut clients = Vec::new();
    for words in all {
        let words: Vec<&str> = words.split(' ').collect();
        clients.push(session.start(&program.to_string_lossy(), &words));
        if clients.len() == 1 {
            // The first connection.
            session.said(clients[0], "window");
        }
    }
    for (client, words) in clients.iter().zip(all) {
        if !words.starts_with("busy") {
            session.said(*client, "ready");
        }
    }
    // The first key of XTEST changes the server's keyboard, of which all clients are told.
    session.person("key Shift_L");
    session.person("mousemove 50 50");
    session.look(300);
    clients
}

fn near(report: &Report, what: &str, of: &Value, ms: f64, expected: f64) -> Result<(), String> {
    println!("{what}: {ms:.1} ms, expected {expected:.1}");
    match (expected - 1.0..expected + OFF_MS + report.disturbed_ms).contains(&ms) {
        true => Ok(()),
        false => Err(format!("{what}: {ms} ms, expected {expected}: {of:#}")),
    }
}

/// The children of other clients that a request made act.
fn by<'a>(of: &'a Value, request: &str) -> Vec<&'a Value> {
    let mut children = of_others(of);
    children.retain(|child| text(child, "request") == request);
    children
}

/// Succeeds where another client is blamed, by its connection, for so long together.
fn blamed(report: &Report, of: &Value, connection: f64, ms: f64) -> Result<(), String> {
    let blame = &of["blame"];
    println!("{}", text(blame, "sentence"));
    if text(blame, "kind") != "other_client" || number(blame, "connection") != connection {
        return Err(format!("blames {blame:#}"));
    }
    let path = blame["path"].as_array().into_iter().flatten();
    let own = path.filter(|link| number(link, "connection") == connection);
    let own = own.filter(|link| text(link, "kind") == "other_client");
    let sum: f64 = own.map(|link| number(link, "ms")).sum();
    near(report, "blamed for", of, sum, ms)
}

#[test]
fn clients_that_desktop_protocols_wait_for_are_children_and_blamed() -> Result<(), String> {
    let mut session = Session::new(&[]);
    start(
        &mut session,
        &[
            "desk",
            "resizes 180",
            "themed 160",
            "themed 60",
            "pieces 40 4",
        ],
    );
    for (key, ms) in [("a", 550), ("b", 500), ("c", 500), ("d", 650)] {
        session.person(&format!("key {key}"));
        session.look(ms);
    }
    let report = session.end();
    resized(&report)?;
    themed(&report)?;
    shown(&report)?;
    pasted(&report)
}

/// The window manager's action continues when the client has set its counter.
fn resized(report: &Report) -> Result<(), String> {
    let root = key(report, 38)?;
    // Its message and its size may come one after the other.
    let mut children = of_others(root);
    children.sort_by(|a, b| number(b, "latency_ms").total_cmp(&number(a, "latency_ms")));
    let child = children
        .first()
        .ok_or_else(|| format!("no child: {root:#}"))?;
    let own = number(child, "exclusive_ms");
    near(report, "the client for its size", root, own, RESIZES)?;
    near(
        report,
        "resizing",
        root,
        number(root, "latency_ms"),
        RESIZES + RESIZED,
    )?;
    blamed(report, root, number(child, "client"), RESIZES)
}

/// Succeeds where all clients act when the settings change.
fn themed(report: &Report) -> Result<(), String> {
    let root = key(report, 56)?;
    let mut children = by(root, "ChangeProperty");
    children.sort_by(|a, b| number(b, "latency_ms").total_cmp(&number(a, "latency_ms")));
    if children.len() != THEMED.len() || of_others(root).len() != THEMED.len() {
        return Err(format!("not two children: {root:#}"));
    }
    for (child, ms) in children.iter().zip(THEMED) {
        near(
            report,
            "a client for the settings",
            root,
            number(child, "latency_ms"),
            ms,
        )?;
    }
    near(
        report,
        "settings",
        root,
        number(root, "latency_ms"),
        THEMED[0],
    )?;
    blamed(report, root, number(children[0], "client"), THEMED[0])
}

/// The episode is over when the picture is on the screen.
fn shown(report: &Report) -> Result<(), String> {
    let root = key(report, 54)?;
    let ms = number(root, "latency_ms");
    println!("shown: {ms:.1} ms, {}", root["parts"]);
    // It was requested in the middle of a frame.
    match (SHOWN - 20.0..SHOWN + OFF_MS + report.disturbed_ms).contains(&ms)
        && of_others(root).is_empty()
    {
        true => Ok(()),
        false => Err(format!("shown after {ms} ms: {root:#}")),
    }
}

/// Succeeds where each piece of a selection is requested, and waited for.
fn pasted(report: &Report) -> Result<(), String> {
    let root = key(report, 40)?;
    let children = by(root, "ConvertSelection");
    let [child] = children.as_slice() else {
        return Err(format!("no owner of the selection: {root:#}"));
    };
    // One for the size, and one for the end.
    let all = PIECE * (PIECES + 2.0);
    near(report, "pasting", root, number(root, "latency_ms"), all)?;
    blamed(report, root, number(child, "client"), all)
}

/// Busy programs have the processor that the server runs on: it is not the server that is slow.
#[test]
fn a_server_without_a_free_processor_is_not_slow() -> Result<(), String> {
    let mut session = Session::new(&[]);
    let clients = start(
        &mut session,
        &[
            "desk",
            "resizes 0",
            "pieces 0 0",
            "busy 20",
            "busy 20",
            "busy 20",
        ],
    );
    session.pin_with_server(&clients[3..]);
    session.person("key e");
    session.look(900);
    let report = session.end();
    let root = key(&report, 26)?;
    let (blame, causes) = (&root["blame"], &root["causes"]);
    println!("{}\n{causes}", text(blame, "sentence"));
    let unserved = number(causes, "server_processor_ms");
    // Where others have the other processor, the client may lack one for longer than the server.
    let lacked = number(causes, "processor_ms");
    let kind = match lacked > unserved && lacked <= report.disturbed_ms {
        true => "processor",
        false => "server_processor",
    };
    let right = text(blame, "kind") == kind
        && text(blame, "sentence").contains("no processor was free")
        && unserved + report.disturbed_ms > number(causes, "reply_ms");
    match right {
        true => Ok(()),
        false => Err(format!("{root:#}")),
    }
}
