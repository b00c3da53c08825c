//! `record --live`: the paper's two signals without a terminal, and the view with its keys in a terminal.

use std::io::{BufRead, BufReader, Lines};
use std::process::{ChildStderr, Stdio};

use crate::harness::terminal::Terminal;
use crate::harness::{Place, needs};
use rustix::process::{Pid, Signal, kill_process};

/// The recorder's next line on standard error that `wanted` accepts.
fn line(lines: &mut Lines<BufReader<ChildStderr>>, mut wanted: impl FnMut(&str) -> bool) -> String {
    let mut seen = String::new();
    for line in lines {
        let line = line.expect("a line");
        if wanted(&line) {
            return line;
        }
        seen.push_str(&line);
        seen.push('\n');
    }
    panic!("x11prof ended before it said that:\n{seen}");
}

/// The number of requests in a report's first line.
fn requests(line: &str) -> u64 {
    let words: Vec<&str> = line.split_whitespace().collect();
    let at = words.iter().position(|word| word.starts_with("request"));
    let count = at
        .and_then(|at| words.get(at - 1))
        .expect("a number of requests");
    count.parse().expect("a number")
}

#[test]
fn signals_print_and_reset_the_profile() {
    needs("Xvfb", "xvfb");
    needs("xterm", "xterm");
    let place = Place::new();
    // A custom parameter file, to check that it is read again.
    let costs = |name: &str| format!("format = 1\n[server]\nname = \"{name}\"\n");
    let file = place.write("mine.toml", costs("before").as_bytes());
    let mut recorder = place
        .x11prof([
            "record",
            "--live",
            "--server",
            "xvfb",
            "--params",
            "mine.toml",
        ])
        .stderr(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .expect("x11prof starts");
    let pid = Pid::from_child(&recorder);
    let mut lines = BufReader::new(recorder.stderr.take().expect("a pipe")).lines();
    let export = line(&mut lines, |line| line.contains("export DISPLAY="));
    let value = |name: &str| {
        let mut words = export.split_whitespace();
        let word = words.find_map(|word| word.strip_prefix(name));
        word.expect("announced").to_owned()
    };
    // After the client has disconnected, the printed report includes all its requests.
    let mut client = std::process::Command::new("xset");
    client
        .arg("q")
        .env("DISPLAY", value("DISPLAY="))
        .env("XAUTHORITY", value("XAUTHORITY="));
    let mut print = || {
        kill_process(pid, Signal::USR1).expect("a signal is sent");
        let head = line(&mut lines, |line| {
            // The report may have a single request.
            line.contains(" requests on ") || line.contains(" request on ")
        });
        let server = line(&mut lines, |line| line.starts_with("Server time: "));
        let mut gone = 0;
        // The cost table has no transport costs; the warning follows the resources.
        line(&mut lines, |line| {
            gone += usize::from(line.contains("disconnected at"));
            line.starts_with("? the cost table has no transport costs")
        });
        Printed {
            requests: requests(&head),
            server,
            gone,
        }
    };
    crate::harness::Finished::of(&mut client).succeeded();
    let first = until_gone(&mut print, 1);
    assert!(
        first.requests > 10 && first.server.contains("before"),
        "{first:?}"
    );

    std::fs::write(&file, costs("after")).expect("a scratch file");
    kill_process(pid, Signal::USR2).expect("a signal is sent");
    let afresh = crate::harness::until("the fresh start", || {
        Some(print()).filter(|printed| printed.server.contains("after"))
    });
    // After the reset no requests are counted, and a disconnected client holds no resources.
    assert_eq!((afresh.requests, afresh.gone), (0, 0));
    crate::harness::Finished::of(&mut client).succeeded();
    let again = until_gone(&mut print, 1);
    assert_eq!(again.requests, first.requests);

    kill_process(pid, Signal::TERM).expect("a signal is sent");
    let rest = std::thread::spawn(move || lines.for_each(drop));
    assert!(crate::harness::wait(&mut recorder, "x11prof record --live").success());
    rest.join().expect("its last words");
}

/// The output after a signal.
#[derive(Debug)]
struct Printed {
    requests: u64,
    server: String,
    /// Number of clients that are reported as disconnected.
    gone: usize,
}

/// Prints until the view, which receives records with a delay, reports this many disconnected clients.
fn until_gone(print: &mut impl FnMut() -> Printed, clients: usize) -> Printed {
    crate::harness::until("the client's end", || {
        Some(print()).filter(|printed| printed.gone == clients)
    })
}

#[test]
fn live_view_has_rates_and_keys_and_defers_program_output() {
    needs("Xvfb", "xvfb");
    needs("xset", "x11-xserver-utils");
    needs("tmux", "tmux");
    let place = Place::new();
    let script = "echo said-at-first; echo to-stderr >&2; while :; do xset q >was; sleep 0.1; done";
    place.write("busy.sh", script.as_bytes());
    let terminal = Terminal::start(&place);
    terminal.types(&format!(
        "cd {} && {} record --live --server xvfb --params sun4-ipc -- sh busy.sh\n",
        place.path(".").display(),
        env!("CARGO_BIN_EXE_x11prof"),
    ));
    // The program's output is on a separate line.
    let screen = terminal.shows("rates, and what the program wrote", |screen| {
        screen.contains("▾ms/s")
            && screen.contains(" requests a second, server ")
            && screen.contains("Output: to-stderr")
            && screen.contains("q quits")
    });
    assert!(!screen.contains("\nsaid-at-first"), "{screen}");
    terminal.types("r");
    terminal.shows("requests", |screen| screen.contains("GetKeyboardControl"));
    for (key, order) in [
        ("n", "▾Req/s"),
        ("b", "▾Bytes/s"),
        ("a", "▾Request"),
        ("o", "▾Trips/s"),
        ("t", "▾ms/s"),
    ] {
        terminal.types(key);
        terminal.shows(order, |screen| screen.contains(order));
    }
    terminal.types("/keyboard\r");
    terminal.shows("the filter", |screen| {
        screen.contains("Only what has \"keyboard\"") && !screen.contains("ListExtensions")
    });
    terminal.types("q");
    let left = terminal.shows("the recording alone", |screen| {
        screen.contains("the recording continues")
    });
    assert!(
        !left.contains("Req/s") && !left.contains("connections, "),
        "{left}"
    );
    terminal.types("\u{3}");
    let after = terminal.shows("the end", |screen| screen.contains("connections, "));
    let said = ["said-at-first\n", "\nto-stderr\n", "connections, "];
    assert!(said.iter().all(|said| after.contains(said)), "{after}");
    assert!(!after.contains("Req/s"), "{after}");
    // The terminal echoes input again after the view has ended.
    terminal.types("echo typ\"\"ed\n");
    terminal.shows("what is typed", |screen| {
        screen.contains("echo typ\"\"ed") && screen.contains("typed")
    });
    assert!(place.path("x11prof.mcap").exists());
}

#[test]
fn stopped_terminal_does_not_keep_the_view_from_ending() {
    needs("Xvfb", "xvfb");
    needs("tmux", "tmux");
    let place = Place::new();
    place.write("wait.sh", b"until [ -e go ]; do sleep 0.1; done");
    let terminal = Terminal::start(&place);
    terminal.types(&format!(
        "cd {} && {} record --live --server xvfb --params sun4-ipc -- sh wait.sh; echo > over\n",
        place.path(".").display(),
        env!("CARGO_BIN_EXE_x11prof"),
    ));
    terminal.shows("the view", |screen| screen.contains("q quits"));
    // Ctrl-S.
    terminal.types("\u{13}");
    place.write("go", b"");
    crate::harness::until("the recorder's end", || {
        place.path("over").exists().then_some(())
    });
}
