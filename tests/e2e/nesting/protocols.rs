//! Desktop protocols with known delays: the client that takes the time is a child and is blamed.

use serde_json::Value;

use super::session::{Report, Session, number, of_others, text};
use crate::harness::examples::example;

/// The work of the clients that the desk triggers, in milliseconds (tests/clients/protocols.rs).
const RESIZES: f64 = 180.0;
const THEMED: [f64; 2] = [160.0, 60.0];
const PIECE: f64 = 40.0;
const PIECES: f64 = 4.0;
/// The desk's work, in milliseconds: after a window is resized, and until its picture is shown (12 frames of
/// Present's clock).
const RESIZED: f64 = 30.0;
const SHOWN: f64 = 12.0 * 1000.0 / 60.0;

/// Tolerance in milliseconds if no other load uses the processors.
const OFF_MS: f64 = 60.0;

/// The desk's episode for a key code. No client of the recording requests the keymap, so keys are named by code.
fn key(report: &Report, code: u32) -> Result<&Value, String> {
    let landmark = format!("KeyPress keycode {code}");
    let mut all = report.episodes().into_iter();
    let found = all.find(|one| text(one, "landmark") == landmark);
    found.ok_or_else(|| format!("no {landmark}: {:#}", report.json["episodes"]))
}

/// Starts the clients with these arguments and waits for the ones with windows. Returns their numbers.
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
    // The first XTEST key changes the server's keyboard, which sends MappingNotify to all clients.
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

/// The children of other clients that a request triggered.
fn by<'a>(of: &'a Value, request: &str) -> Vec<&'a Value> {
    let mut children = of_others(of);
    children.retain(|child| text(child, "request") == request);
    children
}

/// Checks that another client, given by its connection, is blamed for this time in total.
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
fn clients_awaited_by_desktop_protocols_are_blamed() -> Result<(), String> {
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
    // The client may receive its message and its size separately.
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

/// Checks that all clients act when the settings change.
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

/// Checks that the episode ends when the picture is on the screen.
fn shown(report: &Report) -> Result<(), String> {
    let root = key(report, 54)?;
    let ms = number(root, "latency_ms");
    println!("shown: {ms:.1} ms, {}", root["parts"]);
    // The request was made in the middle of a frame.
    match (SHOWN - 20.0..SHOWN + OFF_MS + report.disturbed_ms).contains(&ms)
        && of_others(root).is_empty()
    {
        true => Ok(()),
        false => Err(format!("shown after {ms} ms: {root:#}")),
    }
}

/// Checks that each piece of a selection is requested and waited for.
fn pasted(report: &Report) -> Result<(), String> {
    let root = key(report, 40)?;
    let children = by(root, "ConvertSelection");
    let [child] = children.as_slice() else {
        return Err(format!("no owner of the selection: {root:#}"));
    };
    // Two further pieces: the announced size and the final empty piece.
    let all = PIECE * (PIECES + 2.0);
    near(report, "pasting", root, number(root, "latency_ms"), all)?;
    blamed(report, root, number(child, "client"), all)
}

/// Busy programs occupy the server's processor: the blame is the run queue, not the server.
#[test]
fn server_waiting_for_cpu_is_blamed_on_the_run_queue() -> Result<(), String> {
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
    // If other load occupies the other processor, the client may lack one for longer than the server.
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
