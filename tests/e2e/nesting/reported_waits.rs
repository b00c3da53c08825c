//! Waits of public bug reports: the first screen of `episodes` names the cause, and each latency is the one that the
//! client measures (`tests/clients/reported_waits.rs`).

use rustix::process::Signal;
use serde_json::Value;

use super::session::{Report, Session, number, text};
use crate::harness::needs;

const CLIENTS: &str = "reported_waits";
/// Maximum error of a latency in milliseconds, besides the time for which other load used the processors.
const OFF_MS: f64 = 3.0;

/// Starts clients one after the other. Returns their numbers.
fn start<const N: usize>(session: &mut Session, all: [(&str, &[&str]); N]) -> [usize; N] {
    let clients = all.map(|(program, words)| {
        let client = session.start_example(program, words);
        session.said(client, "ready");
        client
    });
    // The first XTEST key changes the server's keyboard, which sends MappingNotify to all clients.
    session.person("key Shift_L");
    session.person("mousemove 50 50");
    session.look(300);
    clients
}

/// The first screen of `episodes`, without line breaks.
fn screen(report: &Report) -> String {
    page(report, &[])
}

fn page(report: &Report, options: &[&str]) -> String {
    let text = report.with(options);
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn keys(report: &Report) -> Vec<&Value> {
    let all = report.episodes().into_iter();
    all.filter(|one| text(one, "landmark").starts_with("KeyPress keycode 38"))
        .collect()
}

/// Checks that the latency of the only key is what its client measured.
fn assert_latency(report: &Report, measured: f64) {
    let keys = keys(report);
    assert_eq!(keys.len(), 1, "{:#}", report.json["episodes"]);
    let off = (number(keys[0], "latency_ms") - measured).abs();
    assert!(
        off <= OFF_MS + report.disturbed_ms,
        "{measured}: {:#}",
        keys[0]
    );
}

#[test]
fn kept_incr_property_delays_the_paste_of_another_client() {
    let mut session = Session::new(&[]);
    let limit = ["asker", "selection", "600"];
    let clients = [
        (CLIENTS, &["owner", "incr"][..]),
        (CLIENTS, &["keeper"]),
        ("waits", &limit),
    ];
    let [.., paster] = start(&mut session, clients);
    session.person("key a");
    let measured = session.said(paster, "waited").parse().expect("a time");
    // The owner never answers: its time after the paste does not count.
    session.look(600);
    let report = session.end();
    let screen = screen(&report);
    for part in [
        "to send the selection CLIPBOARD, and gave up;",
        "to delete the property with a piece of the selection CLIPBOARD",
    ] {
        assert!(screen.contains(part), "{part}: {screen}");
    }
    assert_latency(&report, measured);
}

#[test]
fn stopped_selection_owner_is_reported_as_stopped() {
    let mut session = Session::new(&[]);
    let limit = ["asker", "selection", "600"];
    let clients = [(CLIENTS, &["owner", "0"][..]), ("waits", &limit)];
    let [owner, paster] = start(&mut session, clients);
    session.signal(owner, Signal::STOP);
    session.look(50);
    session.person("key a");
    let measured = session.said(paster, "waited").parse().expect("a time");
    session.signal(owner, Signal::CONT);
    session.look(200);
    let report = session.end();
    let screen = screen(&report);
    let stopped = "reported_waits was stopped (by a signal or a debugger)";
    assert!(screen.contains(stopped), "{screen}");
    assert_latency(&report, measured);
}

/// Starts a Tk program with an entry field that pastes when the user types an a, after it has run the command `begin`;
/// and a selection owner. Returns the owner's number.
fn start_tk(session: &mut Session, begin: &str) -> usize {
    needs("wish", "tk");
    let owner = session.start_example(CLIENTS, &["owner", "0"]);
    session.said(owner, "ready");
    let script = session.path("paste.tcl");
    let lines = format!(
        "pack [entry .e]; pack [label .l]
        bind .e <Key-a> {{{begin}; catch {{selection get -selection CLIPBOARD}}; set done 1}}
        tkwait visibility .e; focus -force .e; update; puts ready; flush stdout"
    );
    std::fs::write(&script, lines).expect("a file");
    let wish = session.start("wish", &[&script.to_string_lossy()]);
    session.said(wish, "ready");
    // The first XTEST key sends MappingNotify to all clients.
    session.person("key Shift_L");
    session.look(300);
    owner
}

/// Tk handles timers and other input while it waits for a selection: its cursor blinks.
#[test]
fn unanswered_paste_lasts_while_the_cursor_blinks() {
    let mut session = Session::new(&[]);
    let owner = start_tk(&mut session, "");
    // The cursor blinks first after 0.6 s.
    session.look(900);
    session.signal(owner, Signal::STOP);
    session.person("key a");
    session.look(1500);
    let report = session.end();
    let screen = screen(&report);
    let found = "to send the selection CLIPBOARD; no reply arrived; reported_waits was stopped";
    assert!(screen.contains(found), "{screen}");
    let all = report.episodes().into_iter();
    let slow = all.filter(|one| number(one, "latency_ms") >= 1400.0);
    let slow: Vec<&str> = slow.map(|one| text(one, "trigger")).collect();
    assert_eq!(slow, ["input"], "{screen}");
}

#[test]
fn paste_lasts_to_the_reply_while_its_program_shows_progress() {
    let mut session = Session::new(&[]);
    let progress = "proc spin {} {if {![info exists ::done]} {.l configure -text [clock milliseconds]; after 100 spin}}
        after 100 spin";
    let owner = start_tk(&mut session, progress);
    session.signal(owner, Signal::STOP);
    session.person("key a");
    session.look(700);
    session.signal(owner, Signal::CONT);
    session.look(300);
    let report = session.end();
    let all = report.episodes().into_iter();
    let input = all.filter(|one| text(one, "trigger") == "input");
    let longest = input
        .map(|one| number(one, "latency_ms"))
        .fold(0.0, f64::max);
    assert!(longest >= 700.0, "{}", screen(&report));
}

#[test]
fn wait_for_a_process_outside_of_x_names_the_process() {
    let mut session = Session::new(&[]);
    let socket = session.path("socket").to_string_lossy().into_owned();
    let clients = [
        (CLIENTS, &["echo", &socket][..]),
        (CLIENTS, &["caller", &socket]),
    ];
    let [daemon, asker] = start(&mut session, clients);
    session.person("key a");
    session.said(asker, "waited");
    session.signal(daemon, Signal::STOP);
    session.person("key a");
    session.look(400);
    session.signal(daemon, Signal::CONT);
    let measured: f64 = session.said(asker, "waited").parse().expect("a time");
    session.look(200);
    let report = session.end();
    let screen = screen(&report);
    let named = ["for process reported_waits (", "), which was stopped"];
    assert!(named.iter().all(|part| screen.contains(part)), "{screen}");
    let keys = keys(&report);
    let longest = keys.iter().map(|one| number(one, "latency_ms"));
    let longest = longest.fold(0.0, f64::max);
    let off = (longest - measured).abs();
    assert!(off <= OFF_MS + report.disturbed_ms, "{measured}: {keys:#?}");
}

/// A key whose client draws without waiting for a reply, while another client, which `start_grabber` starts, has grabbed
/// the server. Checks that the grab is blamed for the latency.
fn key_in_a_grab(start_grabber: impl FnOnce(&mut Session) -> usize) -> Report {
    let mut session = Session::new(&[]);
    start(&mut session, [(CLIENTS, &["owner", "0"][..])]);
    let grabber = start_grabber(&mut session);
    let measured = session.said(grabber, "held").parse().expect("a time");
    session.look(200);
    let report = session.end();
    assert_latency(&report, measured);
    let key = keys(&report)[0];
    assert_eq!(text(&key["blame"], "kind"), "grab", "{key:#}");
    let grabbed = number(&key["causes"], "grab_ms");
    assert!(grabbed > 0.9 * measured - report.disturbed_ms, "{key:#}");
    report
}

#[test]
fn grab_holds_up_the_drawing_of_a_key() {
    let report = key_in_a_grab(|session| session.start_example(CLIENTS, &["grabber", "300"]));
    let screen = screen(&report);
    let named = "waiting for reported_waits";
    assert!(screen.contains(named), "{screen}");
}

#[test]
fn grab_of_an_unrecorded_client_is_no_lack_of_processors() {
    let report = key_in_a_grab(|session| session.start_unrecorded(CLIENTS, &["grabber", "400"]));
    let key = keys(&report)[0];
    assert_eq!(text(&key["blame"], "client"), "an unknown client");
    let page = page(&report, &["--worst", "1"]);
    let sentence = "a client that is not in the recording had grabbed it";
    assert!(page.contains(sentence), "{page}");
}

#[test]
fn each_key_behind_a_clipboard_poller_is_an_episode() {
    let mut session = Session::new(&[]);
    let clients = [
        (CLIENTS, &["owner", "150"][..]),
        (CLIENTS, &["poller", "300"]),
    ];
    start(&mut session, clients);
    for _ in 0..6 {
        session.person("key a");
        session.look(230);
    }
    session.look(300);
    let report = session.end();
    let keys = keys(&report);
    assert_eq!(keys.len(), 6, "{:#}", report.json["episodes"]);
    for key in keys {
        // A key waits for one request at most, and the drawing takes no time.
        let latency = number(key, "latency_ms");
        assert!(latency <= 160.0 + report.disturbed_ms, "{key:#}");
    }
}

/// Runs two clients that answer each other, one after `ms` milliseconds, and checks their loop.
fn check_loop(ms: &str) {
    let mut session = Session::new(&[]);
    start(
        &mut session,
        [(CLIENTS, &["manager"][..]), (CLIENTS, &["hints", ms])],
    );
    session.look(1500);
    let report = session.end();
    let screen = screen(&report);
    assert!(screen.contains("cause each other's messages"), "{screen}");
    let lasted = number(&report.json["loops"][0], "duration_ms");
    assert!(lasted >= 1000.0, "{:#}", report.json["loops"]);
    let episodes = report.episodes().into_iter();
    let of_loop = episodes.filter(|one| !text(one, "landmark").starts_with("Start-up"));
    for one in of_loop {
        let latency = number(one, "latency_ms");
        assert!(latency <= 100.0 + report.disturbed_ms, "{one:#}");
    }
}

#[test]
fn clients_that_answer_each_other_are_a_loop_without_episodes() {
    // The loop of the report ran 160 to 430 times a second.
    check_loop("3");
}

#[test]
fn loop_at_full_speed_has_its_whole_duration() {
    check_loop("0");
}

#[test]
fn motion_backlog_has_the_age_that_the_client_measures() {
    let mut session = Session::new(&[]);
    let [slow] = start(&mut session, [(CLIENTS, &["slow", "8"][..])]);
    let mover = session.start_example(CLIENTS, &["mover", "300", "500"]);
    session.said(mover, "moved");
    session.person("key a");
    let age: f64 = session.said(slow, "age").parse().expect("a time");
    session.look(200);
    let report = session.end();
    let screen = screen(&report);
    assert!(screen.contains("falls behind"), "{screen}");
    let episodes = report.episodes().into_iter();
    let moved = episodes.filter(|one| text(one, "landmark").starts_with("MotionNotify"));
    let longest = moved
        .map(|one| number(one, "latency_ms"))
        .fold(0.0, f64::max);
    let off = (longest - age).abs();
    assert!(
        off <= age * 0.05 + report.disturbed_ms,
        "{age} ms by the client, {longest} ms: {screen}"
    );
}

#[test]
fn drag_waits_for_the_data_that_its_source_withholds() {
    let mut session = Session::new(&[]);
    let clients = [(CLIENTS, &["target", "500"][..]), (CLIENTS, &["source"])];
    let [target, _source] = start(&mut session, clients);
    session.person("click 1");
    let measured: f64 = session.said(target, "waited").parse().expect("a time");
    session.look(200);
    let report = session.end();
    let screen = screen(&report);
    assert!(screen.contains("to react to the drag"), "{screen}");
    let episodes = report.episodes().into_iter();
    let mut clicks =
        episodes.filter(|one| one["trigger"] == "input" && one["awaited"][0].is_object());
    let click = clicks.next().expect("a click");
    let off = (number(click, "latency_ms") - measured).abs();
    assert!(off <= OFF_MS + report.disturbed_ms, "{measured}: {click:#}");
}
