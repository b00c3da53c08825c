//! Programs with periodic timers: without input, or with ignored input, no episode is long.

use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};

use super::benchmark::{beginning_ns, ready, xdotool};
use super::figures::median;
use super::table::keep;
use super::toolkits::Toolkit;
use crate::harness::{Disturbance, Place, Recording, Server, quiet, wait};

/// Maximum start-up time of a program.
const START: Duration = Duration::from_secs(6);
/// Duration of the recording without input.
const IDLE: Duration = Duration::from_secs(60);
/// The period of the ticker clients, in milliseconds.
const TICK_MS: f64 = 15.0;

/// The latencies of key episodes in a ticking program, and their possible error, in milliseconds.
fn keys_ignored(server: &Server, toolkit: Toolkit) -> (Vec<f64>, f64) {
    let _quiet = quiet();
    let place = Place::new();
    let trace = place.path("trace.mcap");
    xdotool(server, &["mousemove", "90", "90"]);
    let mut recording = Recording::at(&place, &trace, &["--display", &server.display]);
    let mut ticker = toolkit.ticker(&recording, &place);
    let mut client = ticker.stdout(Stdio::piped()).spawn().expect("it starts");
    ready(&mut client);
    let ours = [recording.child.id(), server.pid(), client.id()];
    let disturbance = Disturbance::begin(&ours);
    for _ in 0..5 {
        xdotool(server, &["sleep", "0.4", "key", "a"]);
    }
    xdotool(server, &["sleep", "0.4"]);
    let disturbed_ms = disturbance.end_ms(&ours);
    end(&mut recording, &mut [client]);
    let report = place.json(["episodes", "--format", "json", &trace.to_string_lossy()]);
    let episodes = report["episodes"].as_array().expect("episodes").iter();
    let input: Vec<&Value> = episodes.filter(|one| one["trigger"] == "input").collect();
    let latency = |one: &Value| one["latency_ms"].as_f64().expect("a number");
    let sum: f64 = input.iter().map(|one| latency(one)).sum();
    let waited = report["think_and_wait"]["wait_ms"].as_f64();
    assert!(waited.expect("a number") <= sum + 1e-3, "{report:#}");
    let press = |one: &&&Value| {
        one["landmark"]
            .as_str()
            .is_some_and(|name| name.starts_with("KeyPress"))
    };
    let keys: Vec<f64> = input.iter().filter(press).map(|one| latency(one)).collect();
    // Repeated keys that queue behind each other may be coalesced.
    let fewest = if disturbed_ms < 100.0 { 5 } else { 1 };
    assert!(
        (fewest..=5).contains(&keys.len()),
        "{toolkit:?}: {report:#}"
    );
    (keys, disturbed_ms)
}

fn end(recording: &mut Recording, clients: &mut [Child]) {
    // Stop the recording first, so that the programs' exits are not recorded.
    recording.signal(rustix::process::Signal::INT);
    for client in clients {
        let _ = client.kill();
        wait(client, "a program that ticks");
    }
}

#[test]
fn ignored_key_episode_ends_before_the_next_tick() {
    let server = Server::xvfb(&[]);
    for toolkit in [Toolkit::None, Toolkit::Tk, Toolkit::Gtk, Toolkit::Swing] {
        let (keys, disturbed_ms) = keys_ignored(&server, toolkit);
        println!(
            "{}: {keys:.2?} ms, disturbed for {disturbed_ms:.1} ms",
            toolkit.name()
        );
        // The first key may load code, so the median is compared.
        assert!(median(&keys) < TICK_MS + disturbed_ms, "{toolkit:?}");
    }
}

/// A program in the recording: name, toolkit, command line.
type Program = (
    &'static str,
    &'static str,
    fn(&Recording, &Place) -> Command,
);

fn plain(recording: &Recording, words: &[&str]) -> Command {
    let mut command = recording.client(words[0]);
    command.args(&words[1..]);
    command
}

const LIGHT: &[Program] = &[
    ("xclock -update 1", "Xaw", |r, _| {
        plain(r, &["xclock", "-update", "1"])
    }),
    ("xload -update 1", "Xaw", |r, _| {
        plain(r, &["xload", "-update", "1"])
    }),
    ("xterm, blinking cursor", "Xt", |r, _| {
        plain(r, &["xterm", "-bc", "-e", "cat"])
    }),
    ("emacs", "GTK 3, X", |r, _| plain(r, &["emacs", "-Q"])),
    ("mousepad", "GTK 3", |r, _| {
        plain(r, &["mousepad", "--disable-server"])
    }),
    ("featherpad", "Qt 5", |r, _| {
        plain(r, &["featherpad", "--standalone"])
    }),
    ("15 ms ticker", "none (Rust)", |r, p| {
        Toolkit::None.ticker(r, p)
    }),
    ("15 ms ticker", "Tk", |r, p| Toolkit::Tk.ticker(r, p)),
    ("15 ms ticker", "GTK 3 (Python)", |r, p| {
        Toolkit::Gtk.ticker(r, p)
    }),
    ("15 ms ticker", "Swing", |r, p| Toolkit::Swing.ticker(r, p)),
];
const HEAVY: &[Program] = &[
    ("gtk3-widget-factory", "GTK 3", |r, _| {
        plain(r, &["gtk3-widget-factory"])
    }),
    ("gtk4-widget-factory", "GTK 4", |r, _| {
        let mut command = plain(r, &["gtk4-widget-factory"]);
        command.env("GSK_RENDERER", "cairo");
        command
    }),
];
const GAME: &[Program] = &[("glxgears", "GLX", |r, _| plain(r, &["glxgears"]))];

#[test]
#[ignore = "takes minutes; cargo xtask validate episodes"]
fn idle_ticking_programs_have_no_perceptible_episodes() {
    println!(
        "\n| program | toolkit | episodes in a minute | longest, ms | perceptible |\n|---|---|---:|---:|---:|"
    );
    let mut all = 0;
    for programs in [LIGHT, HEAVY, GAME] {
        all += idles(programs);
    }
    assert_eq!(all, 0, "perceptible episodes though nobody did anything");
}

/// Records these programs together for a minute without input and returns the number of perceptible episodes.
fn idles(programs: &[Program]) -> usize {
    let server = Server::xvfb(&[]);
    let place = Place::new();
    let trace = place.path("trace.mcap");
    let mut recording = Recording::at(&place, &trace, &["--display", &server.display]);
    let mut clients: Vec<Child> = Vec::new();
    for (_, _, command) in programs {
        let mut command = command(&recording, &place);
        command
            .env("HOME", place.path("."))
            .env("NO_AT_BRIDGE", "1")
            .env_remove("DBUS_SESSION_BUS_ADDRESS")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        clients.push(command.spawn().expect("it starts"));
        // Start the programs one at a time.
        std::thread::sleep(Duration::from_secs(1));
    }
    std::thread::sleep(START);
    let from = monotonic_ns();
    std::thread::sleep(IDLE);
    let until = monotonic_ns();
    let pids: Vec<u32> = clients.iter().map(Child::id).collect();
    end(&mut recording, &mut clients);
    let beginning = beginning_ns(&trace);
    let connections = connections(&trace);
    let report = place.json(["episodes", "--format", "json", &trace.to_string_lossy()]);
    let ms = |nanos: u64| (nanos - beginning) as f64 / 1e6;
    let of = |name: &str, episode: &Value| episode[name].as_f64().expect("a number");
    let mut perceptible_of_all = 0;
    for ((name, toolkit, _), pid) in programs.iter().zip(pids) {
        let episodes = report["episodes"].as_array().expect("episodes").iter();
        let these: Vec<&Value> = episodes
            .filter(|one| {
                let client = one["client"].as_u64().expect("a number");
                connections.contains(&(client, pid))
                    && (ms(from)..ms(until)).contains(&of("start_ms", one))
            })
            .collect();
        let longest = these.iter().map(|one| of("latency_ms", one));
        let longest = longest.fold(0.0, f64::max);
        let perceptible: Vec<&&Value> = these
            .iter()
            .filter(|one| one["perceptible"] == true && one["uncertain"].is_null())
            .collect();
        println!(
            "| {name} | {toolkit} | {} | {longest:.1} | {} |",
            these.len(),
            perceptible.len()
        );
        for one in &perceptible {
            println!("perceptible: {one:#}");
        }
        perceptible_of_all += perceptible.len();
        keep(
            "idle",
            &format!("{name} {toolkit}"),
            json!({ "episodes": these.len(), "longest_ms": longest, "perceptible": perceptible.len() }),
        );
    }
    perceptible_of_all
}

/// The connections of a trace and their process ids.
fn connections(trace: &std::path::Path) -> Vec<(u64, u32)> {
    use x11prof_trace::{Control, Reader, Record};
    let file = std::fs::File::open(trace).expect("a trace");
    let mut reader = Reader::new(std::io::BufReader::new(file)).expect("a trace");
    let mut all = Vec::new();
    while let Some(record) = reader.next().expect("a record") {
        if let Record::Control(_, Control::Opened(opened)) = record
            && let Some(pid) = opened.pid
        {
            all.push((u64::from(opened.connection.0), pid));
        }
    }
    all
}

pub(crate) fn monotonic_ns() -> u64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
