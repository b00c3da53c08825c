//! Server time measured by the timer of the server's request handlers.

use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::process::Signal;
use serde_json::Value;

use crate::attach::{Attached, client};
use crate::harness::raw::{Client, Order};
use crate::harness::{Place, Recording, Server, needs};

/// NoOperation; a preloaded library makes its handler slow.
const SLOW: u8 = 127;
/// Number of concurrent clients, and of slow requests per client.
const CLIENTS: u8 = 50;
const EACH: u8 = 10;

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or(f64::NAN)
}

/// Builds a library that makes the handler of a NoOperation take N × 5 µs, where N comes from the request.
pub(crate) fn slow_handlers(place: &Place) -> PathBuf {
    needs("cc", "gcc");
    let library = place.path("spin.so");
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/e2e/timed/spin.c");
    let mut compiler = Command::new("cc");
    compiler
        .args(["-O2", "-shared", "-fPIC", "-o"])
        .arg(&library);
    assert!(compiler.arg(source).status().expect("cc").success());
    library
}

/// Clients of both byte orders.
fn clients(mut connect: impl FnMut(Order) -> Client) -> Vec<Client> {
    let orders = [Order::Little, Order::Big].into_iter().cycle();
    let all = orders.take(usize::from(CLIENTS));
    all.map(&mut connect).collect()
}

/// Sends requests whose handlers take 5 µs times the client's number.
fn spin(clients: &mut [Client]) {
    for _ in 0..EACH {
        for (n, client) in (1..).zip(&mut *clients) {
            client.request(SLOW, n, &[]);
        }
    }
    clients.iter_mut().for_each(Client::sync);
}

/// Asserts that each client's server time is the time of its handlers. Clients from before the recording have other
/// numbers.
fn holds(place: &Place, trace: &Path, how: &str, are_new: bool) {
    let trace = trace.to_string_lossy();
    let words = ["report", "--format", "json", "--by", "client"];
    let report = place.json(words.into_iter().chain([&*trace]));
    assert_eq!(
        report["server"]["time_source"], "timed",
        "{how}: {report:#}"
    );
    let lines = report["groups"]["lines"].as_array().expect("lines");
    // One more request makes a round trip at the end.
    let count = u64::from(EACH) + 1;
    let lines = lines.iter().filter(|line| line["count"] == count);
    let mut lines: Vec<&Value> = lines.collect();
    assert_eq!(lines.len(), usize::from(CLIENTS), "{how}: {report:#}");
    lines.sort_by(|a, b| number(&a["server_ms"]).total_cmp(&number(&b["server_ms"])));
    let mut more = Vec::new();
    for (n, nth) in (1..=CLIENTS).zip(&lines) {
        let name = format!("(client {n})");
        let of = |line: &&&Value| line["name"].as_str().is_some_and(|it| it.ends_with(&name));
        let line = match are_new {
            true => lines.iter().find(of).expect("a line"),
            false => nth,
        };
        let took = number(&line["server_ms"]);
        let spun = f64::from(n) * f64::from(EACH) * 5e-3;
        println!("{how} client {n}: {took:.3} ms of {spun:.3}");
        // The kernel counts a few more microseconds for each preemption.
        assert!(took > 0.9 * spun, "{how}, client {n}: {took} of {spun} ms");
        more.push(took / spun);
    }
    // On a busy machine most handlers are interrupted by work that the kernel counts for the server: 1.09 was
    // measured next to two busy loops and a compiler. `cargo xtask validate division` has the limit for an idle
    // machine.
    more.sort_by(f64::total_cmp);
    let middle = more[more.len() / 2];
    assert!(middle < 1.2, "{how}: {middle}");
    let total = &report["total"];
    let ratio = number(&total["server_ms"]) / number(&total["server_cpu_ms"]);
    assert!((0.97..1.03).contains(&ratio), "{how}: {ratio}");
}

#[test]
fn clients_have_the_handler_time_of_their_requests() {
    for (kind, program, package) in [
        ("xvfb", "Xvfb", "xvfb"),
        ("xvnc", "Xvnc", "tigervnc-standalone-server"),
        ("xephyr", "Xephyr", "xserver-xephyr"),
        ("xorg-dummy", "Xorg", "xserver-xorg-video-dummy"),
    ] {
        needs(program, package);
        let place = Place::new();
        let trace = place.path("trace.mcap");
        let mut record = place.x11prof(["record", "--server", kind, "-o"]);
        record.arg(&trace).env("LD_PRELOAD", slow_handlers(&place));
        let mut recording = Recording::of(&mut record, &trace);
        let mut clients = clients(|order| recording.raw(order));
        spin(&mut clients);
        assert!(recording.signal(Signal::INT).success());
        holds(&place, &trace, kind, true);
    }
}

/// `x11prof server`: handler times are available to each recorder in turn, including an attached one.
#[test]
fn user_started_server_is_timed_for_every_recorder() {
    needs("Xvfb", "xvfb");
    let place = Place::new();
    let server = Server::timed(&place, &slow_handlers(&place));
    let trace = place.path("trace.mcap");
    let record = |trace: &Path| {
        let mut record = place.x11prof(["record", "--display", &server.display, "-o"]);
        Recording::of(record.arg(trace), trace)
    };
    // A killed recorder does not affect the server, and the next recorder gets the times.
    let mut killed = record(&place.path("killed.mcap"));
    let mut cut_off = killed.raw(Order::Little);
    cut_off.request(SLOW, 200, &[]);
    cut_off.sync();
    killed.signal(Signal::KILL);
    let mut recording = record(&trace);
    let mut recorded = clients(|order| recording.raw(order));
    spin(&mut recorded);
    assert!(recording.signal(Signal::INT).success());
    holds(&place, &trace, "by proxy", true);
    let mut there = clients(|order| client(&server, order));
    let attached = Attached::start(&place, &server.display, None);
    spin(&mut there);
    holds(&place, &attached.end(), "attached", false);
    let top = place.json([
        "top",
        "--display",
        &server.display,
        "--json",
        "--seconds",
        "1",
    ]);
    assert_eq!(top["time_source"], "timed", "{top:#}");
    // Open files of the timer: the library, the times, and the times as opened by the library.
    let open = std::fs::read_dir(format!("/proc/{}/fd", server.pid())).expect("the server's files");
    let links = open
        .flatten()
        .filter_map(|file| std::fs::read_link(file.path()).ok());
    let ours = links.filter(|link| link.to_string_lossy().contains("x11prof"));
    assert!(ours.count() <= 3);
}

/// The shell that starts the server has other files open under the descriptor numbers that the server's library
/// expects.
#[test]
fn reused_descriptor_numbers_do_not_overwrite_user_files() {
    needs("Xvfb", "xvfb");
    let place = Place::new();
    let file = place.write("precious", b"precious");
    let script = "for n in 3 4 5 6 7 8 9 401; do eval \"exec $n<>precious\"; done; \
                  exec Xvfb :398 -ac -terminate";
    let mut server = place.x11prof(["server", "--", "bash", "-c", script]);
    let mut server = server.spawn().expect("x11prof starts");
    let socket = crate::harness::until("the server", || {
        std::os::unix::net::UnixStream::connect("/tmp/.X11-unix/X398").ok()
    });
    crate::harness::raw::Client::set_up(socket.into(), Order::Little, &[]).sync();
    // The server exits with its last client.
    crate::harness::wait(&mut server, "Xvfb");
    assert_eq!(std::fs::read(file).expect("the file"), b"precious");
}

#[test]
fn untimed_server_falls_back_to_attribution_with_a_reason() {
    needs("Xwayland", "xwayland");
    let place = Place::new();
    let words = ["record", "--server", "xwayland", "-o", "it.mcap", "--"];
    place.run(words.into_iter().chain(["xdpyinfo"]));
    let report = place.json(["report", "--format", "json", "it.mcap"]);
    assert_eq!(report["server"]["time_source"], "attributed", "{report:#}");
    // Costs only attribute the rest of the server time that the timer did not measure.
    assert!(
        place
            .run(["report", "it.mcap"])
            .stderr()
            .contains("cost table: ")
    );
    place.run([
        "record",
        "--server",
        "xvfb",
        "-o",
        "timed.mcap",
        "--",
        "xdpyinfo",
    ]);
    assert_eq!(place.run(["report", "timed.mcap"]).stderr(), "");
    let why = report["server"]["not_timed"].as_str().unwrap_or_default();
    assert!(why.contains("handlers"), "{why}");
    let text = place.run(["report", "it.mcap"]).stdout();
    assert!(text.contains("not timed"), "{text}");
}
