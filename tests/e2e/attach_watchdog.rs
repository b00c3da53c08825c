//! If an attached recorder is stopped or starved, the server stays responsive and the trace records a hole.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use x11prof_trace::{Control, Reader, Record};

use crate::harness::{Finished, Place, Server, needs, until, wait};

/// Maximum memory, in bytes, that a server may hold for the recorder (see validation/results).
const BOUND: u64 = 64 << 20;
/// How long to wait for an expected line of the recorder.
const PATIENCE: Duration = Duration::from_secs(60);

/// An attached recorder and the lines that it prints.
struct Recorder {
    child: Child,
    trace: PathBuf,
    lines: Receiver<String>,
}

impl Recorder {
    fn attach(place: &Place, server: &Server, name: &str) -> Recorder {
        let trace = place.path(name);
        let mut command = place.x11prof(["record", "--attach", "--display", &server.display, "-o"]);
        Recorder::of(command.arg(&trace), trace)
    }

    fn of(command: &mut Command, trace: PathBuf) -> Recorder {
        let command = command.stderr(Stdio::piped());
        let mut child = command.spawn().expect("x11prof starts");
        let lines = lines(child.stderr.take().expect("a pipe"));
        let recorder = Recorder {
            child,
            trace,
            lines,
        };
        recorder.says("recording the ");
        recorder
    }

    /// Waits until the recorder prints a line that contains `words`.
    fn says(&self, words: &str) {
        let line = loop {
            let line = self.lines.recv_timeout(PATIENCE);
            let line = line.unwrap_or_else(|_| panic!("it says {words:?}"));
            if line.contains(words) {
                break line;
            }
        };
        assert!(!line.is_empty());
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).expect("a signal is sent");
    }

    /// Stops the recorder and returns the records of its trace.
    fn end(mut self) -> Vec<Record> {
        self.signal(Signal::INT);
        assert!(wait(&mut self.child, "x11prof record --attach").success());
        let mut reader = Reader::new(File::open(&self.trace).expect("a trace")).expect("a trace");
        let mut records = Vec::new();
        while let Some(record) = reader.next().expect("records") {
            records.push(record);
        }
        records
    }
}

fn lines(from: ChildStderr) -> Receiver<String> {
    let (say, lines) = channel();
    std::thread::spawn(move || {
        for line in BufReader::new(from).lines().map_while(Result::ok) {
            if say.send(line).is_err() {
                return;
            }
        }
    });
    lines
}

/// The reasons of the holes in a recording, and how many connections were opened after the first hole.
fn holes(records: &[Record]) -> (Vec<&str>, usize) {
    let (mut why, mut opened) = (Vec::new(), 0);
    for record in records {
        match record {
            Record::Control(time, Control::Hole { since_ns, why: one }) => {
                assert!(*since_ns < time.as_nanos());
                why.push(one.as_str());
            }
            Record::Control(_, Control::Opened(_)) => opened += usize::from(!why.is_empty()),
            _ => {}
        }
    }
    (why, opened)
}

/// A process's memory, in bytes.
fn resident(pid: u32) -> u64 {
    let statm = std::fs::read_to_string(format!("/proc/{pid}/statm")).expect("a process");
    let pages = statm
        .split(' ')
        .nth(1)
        .and_then(|pages| pages.parse::<u64>().ok());
    pages.expect("a number") * rustix::param::page_size() as u64
}

fn asks(server: &Server) {
    let mut xset = Command::new("xset");
    Finished::of(xset.args(["q", "-display", &server.display])).succeeded();
}

#[test]
fn stopped_recorder_does_not_fill_xvfb_memory() {
    a_stopped_recorder_leaves_memory(&Server::xvfb(&[]), &Place::new());
}

#[test]
fn stopped_recorder_does_not_fill_xvnc_memory() {
    a_stopped_recorder_leaves_memory(&Server::xvnc(), &Place::new());
}

#[test]
fn stopped_recorder_does_not_fill_xorg_memory() {
    let place = Place::new();
    a_stopped_recorder_leaves_memory(&Server::xorg(&place), &place);
}

fn a_stopped_recorder_leaves_memory(server: &Server, place: &Place) {
    needs("x11perf", "x11-apps");
    let recorder = Recorder::attach(place, server, "stopped.mcap");
    recorder.signal(Signal::STOP);
    let before = resident(server.pid());
    let mut perf = Command::new("x11perf");
    perf.args(["-display", &server.display, "-repeat", "1", "-reps", "2000"]);
    let perf = perf
        .arg("-putimage500")
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let mut perf = perf.spawn().expect("x11perf starts");
    let mut most = 0;
    while perf.try_wait().expect("a process").is_none() {
        most = most.max(resident(server.pid()).saturating_sub(before));
        std::thread::yield_now();
    }
    // 2000 images of 1 MB were drawn.
    assert!(most < BOUND, "{} MB", most >> 20);
    recorder.signal(Signal::CONT);
    recorder.says("the recorder was stopped, or had no processor");
    asks(server);
    let records = recorder.end();
    let (why, opened) = holes(&records);
    assert_eq!(why, ["the recorder was stopped, or had no processor"]);
    assert!(opened >= 1);
    let report = place.ok(["report", "--all", "stopped.mcap"]);
    assert!(report.contains("the recorder was stopped"), "{report}");
    for page in ["episodes", "network", "stats", "dump"] {
        let said = place.run([page, "stopped.mcap"]);
        let said = said.stderr();
        assert!(
            said.contains("s are missing: the recorder was stopped"),
            "{page}: {said}"
        );
    }
}

/// Ctrl-Z signals only the recorder's process group; the watchdog runs in another group.
#[test]
fn suspended_recorder_is_disconnected_and_reattaches() {
    use std::os::unix::process::CommandExt;
    let (server, place) = (Server::xvfb(&[]), Place::new());
    let mut command = place.x11prof(["record", "--attach", "--display", &server.display, "-o"]);
    command.arg(place.path("stopped.mcap")).process_group(0);
    let recorder = Recorder::of(&mut command, place.path("stopped.mcap"));
    let group = Pid::from_child(&recorder.child);
    let state = format!("/proc/{}/stat", recorder.child.id());
    let is_stopped = || {
        let stat = std::fs::read_to_string(&state).ok()?;
        stat.contains(") T ").then_some(())
    };
    let mut client = crate::attach::client(&server, crate::harness::raw::Order::Little);
    let clients = server_clients(&server);
    kill_process_group(group, Signal::TSTP).expect("a signal is sent");
    until("the recorder stops", is_stopped);
    let before = resident(server.pid());
    until("the server closes the recorder's connection", || {
        (0..100).for_each(|_| client.request(127, 0, &[0; 1000]));
        client.sync();
        (server_clients(&server) < clients).then_some(())
    });
    let grown = resident(server.pid()).saturating_sub(before);
    assert!(grown < BOUND, "{} MB", grown >> 20);
    assert!(is_stopped().is_some(), "it was closed by the watchdog");
    kill_process_group(group, Signal::CONT).expect("a signal is sent");
    recorder.says("the recorder was stopped, or had no processor");
    asks(&server);
    let records = recorder.end();
    let (why, opened) = holes(&records);
    assert_eq!(why, ["the recorder was stopped, or had no processor"]);
    assert!(opened >= 1);
}

/// Number of open file descriptors of a server: one for each client, and a constant number of others.
fn server_clients(server: &Server) -> usize {
    let open = std::fs::read_dir(format!("/proc/{}/fd", server.pid()));
    open.expect("a process").count()
}

#[test]
fn stopped_watchdog_does_not_delay_the_end() {
    let (server, place) = (Server::xvfb(&[]), Place::new());
    let recorder = Recorder::attach(&place, &server, "watched.mcap");
    let pid = recorder.child.id();
    let children = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children"));
    let children = children.expect("the recorder's children");
    let watchdog = children.split(' ').find_map(|pid| {
        let words = std::fs::read_to_string(format!("/proc/{pid}/cmdline")).ok()?;
        let is_watchdog = words.contains(x11prof_proxy::WATCHDOG);
        Pid::from_raw(pid.parse().ok()?).filter(|_| is_watchdog)
    });
    kill_process(watchdog.expect("a watchdog"), Signal::STOP).expect("a signal is sent");
    asks(&server);
    assert!(!recorder.end().is_empty());
}

#[test]
fn undelivered_remaining_data_is_reported() {
    let (server, place) = (Server::xvfb(&[]), Place::new());
    let mut recorder = Recorder::attach(&place, &server, "unfinished.mcap");
    asks(&server);
    let pid = i32::try_from(server.pid()).ok().and_then(Pid::from_raw);
    let pid = pid.expect("a process");
    kill_process(pid, Signal::STOP).expect("a signal is sent");
    recorder.signal(Signal::INT);
    let status = wait(&mut recorder.child, "x11prof record --attach");
    kill_process(pid, Signal::CONT).expect("a signal is sent");
    assert_eq!(status.code(), Some(1));
    recorder.says("did not deliver its remaining data in time");
    let report = place.ok(["report", "unfinished.mcap"]);
    let words: Vec<&str> = report.split_whitespace().collect();
    assert!(
        words.join(" ").contains("the server did not deliver"),
        "{report}"
    );
}

#[test]
fn killed_recorders_do_not_block_the_next_one() {
    let (server, place) = (Server::xvfb(&[]), Place::new());
    let killed = ["one.mcap", "two.mcap"].map(|name| Recorder::attach(&place, &server, name));
    for mut recorder in killed {
        recorder.signal(Signal::KILL);
        recorder.child.wait().expect("it ran");
    }
    let next = Recorder::attach(&place, &server, "next.mcap");
    asks(&server);
    let requests = next
        .end()
        .into_iter()
        .filter(|record| matches!(record, Record::Block(_)));
    assert!(requests.count() > 0);
}

#[test]
fn recording_continues_after_another_client_disables_record() {
    let (server, place) = (Server::xvfb(&[]), Place::new());
    let recorder = Recorder::attach(&place, &server, "ended.mcap");
    let mut other = crate::attach::client(&server, crate::harness::raw::Order::Little);
    let record = other.extension("RECORD");
    // Send RECORD DisableContext for the first id of each client; the recorder's context is among these ids.
    let base = other.id(0);
    let step = base & base.wrapping_neg();
    for first in (step..=base).step_by(step as usize) {
        other.request(record, 6, &[first]);
    }
    recorder.says("another client ended RECORD's context");
    asks(&server);
    let records = recorder.end();
    let (why, opened) = holes(&records);
    assert_eq!(why, ["another client ended RECORD's context"]);
    assert!(opened >= 1);
}

#[test]
fn clients_with_ids_of_an_ended_recorder_are_recorded() {
    let (server, place) = (Server::xvfb(&[]), Place::new());
    let first = Recorder::attach(&place, &server, "first.mcap");
    let second = Recorder::attach(&place, &server, "second.mcap");
    first.end();
    let clients: Vec<_> = (0..6)
        .map(|_| {
            let mut client = crate::attach::client(&server, crate::harness::raw::Order::Little);
            client.sync();
            client
        })
        .collect();
    drop(clients);
    let opened = |path: &Path| {
        // The recorder creates the file when the first client sends a message.
        let reader = File::open(path)
            .ok()
            .and_then(|file| Reader::new(file).ok());
        let mut opened = 0;
        if let Some(mut reader) = reader {
            while let Ok(Some(record)) = reader.next() {
                opened += usize::from(matches!(record, Record::Control(_, Control::Opened(_))));
            }
        }
        opened
    };
    until("six clients are recorded", || {
        (opened(&second.trace) >= 6).then_some(())
    });
    second.end();
}
