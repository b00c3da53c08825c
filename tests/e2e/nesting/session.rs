//! A recording of test clients and third-party clients; xdotool sends input to the server, bypassing the recorder.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use serde_json::Value;
use x11rb::connection::Connection;
use x11rb::protocol::xproto::{AtomEnum, ConnectionExt};

use crate::harness::examples::example;
use crate::harness::{
    Disturbance, Finished, Place, Recording, Server, kept_waiting_ms, needs, until, wait,
};

/// A server, a recording of it, and its clients.
pub(crate) struct Session {
    recording: Recording,
    disturbance: Disturbance,
    /// Clients that use a processor all the time; no other client waits for them.
    busy: Vec<usize>,
    clients: Vec<Client>,
    server: Server,
    place: Place,
    // Timing test: hold an exclusive turn.
}

struct Client {
    child: Child,
    /// The standard output.
    lines: Option<BufReader<ChildStdout>>,
}

impl Session {
    pub(crate) fn new(more: &[&str]) -> Session {
        Session::with(more, |place, trace, display| {
            Recording::at(place, trace, &["--display", display])
        })
    }

    /// A session that an attached recorder records.
    pub(crate) fn attached() -> Session {
        Session::with(&[], Recording::attached)
    }

    fn with(more: &[&str], record: impl Fn(&Place, &Path, &str) -> Recording) -> Session {
        needs("xdotool", "xdotool");
        let server = Server::xvfb(more);
        let place = Place::new();
        let recording = record(&place, &place.path("trace.mcap"), &server.display);
        Session {
            disturbance: Disturbance::begin(&[recording.child.id(), server.pid()]),
            recording,
            busy: Vec::new(),
            clients: Vec::new(),
            server,
            place,
        }
    }

    /// A path in the session's folder.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.place.path(name)
    }

    /// Starts a client that reports its progress on standard output, and returns its number.
    pub(crate) fn start(&mut self, program: &str, words: &[&str]) -> usize {
        let mut command = self.recording.client(program);
        command.args(words);
        self.spawn(command)
    }

    /// Starts openbox and waits until it has started: windows that are mapped earlier get no focus.
    pub(crate) fn start_window_manager(&mut self) {
        let openbox = self.start("openbox", &["--startup", "echo started"]);
        self.said(openbox, "started");
    }

    /// Starts an example of the package.
    pub(crate) fn start_example(&mut self, name: &str, words: &[&str]) -> usize {
        let program = example(name);
        self.start(&program.to_string_lossy(), words)
    }

    /// Starts an example on the server's own display, so that it is not recorded. Returns its number.
    pub(crate) fn start_unrecorded(&mut self, name: &str, words: &[&str]) -> usize {
        let mut command = self.server.client(&example(name).to_string_lossy());
        command.args(words);
        self.spawn(command)
    }

    /// Starts a client, and returns its number.
    pub(crate) fn spawn(&mut self, mut command: Command) -> usize {
        command
            .env("HOME", self.path("."))
            .env("XDG_CONFIG_HOME", self.path("."))
            .env("XDG_RUNTIME_DIR", self.path("."))
            .env("NO_AT_BRIDGE", "1")
            .env_remove("DBUS_SESSION_BUS_ADDRESS")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        let mut child = command.spawn().expect("a client starts");
        let lines = child.stdout.take().map(BufReader::new);
        self.clients.push(Client { child, lines });
        self.clients.len() - 1
    }

    /// A command for a client of the recorded display.
    pub(crate) fn command(&self, program: &str) -> Command {
        self.recording.client(program)
    }

    /// Waits for a client's line that starts with `begins`, and returns the rest of that line.
    pub(crate) fn said(&mut self, client: usize, begins: &str) -> String {
        let lines = self
            .clients
            .get_mut(client)
            .and_then(|of| of.lines.as_mut());
        let lines = lines.expect("its standard output");
        loop {
            let mut line = String::new();
            let read = lines.read_line(&mut line).expect("a line of a client's");
            assert!(read > 0, "client {client} ended before it said {begins}");
            if let Some(rest) = line.trim().strip_prefix(begins) {
                return rest.trim().to_owned();
            }
        }
    }

    /// Runs xdotool on the server, bypassing the recorder.
    pub(crate) fn person(&self, words: &str) {
        let words: Vec<&str> = words.split_whitespace().collect();
        Finished::of(self.server.client("xdotool").args(words)).succeeded();
    }

    /// Waits until a window of this class is visible.
    pub(crate) fn until_seen(&self, class: &str) {
        self.person(&format!("search --sync --onlyvisible --class {class}"));
    }

    /// Waits until a client owns this selection, which compositors and clipboard managers acquire when they are
    /// ready.
    pub(crate) fn until_owned(&self, selection: &str) {
        let (connection, _) = x11rb::connect(Some(&self.server.display)).expect("the server");
        let atom = connection.intern_atom(false, selection.as_bytes());
        let atom = atom.expect("a request").reply().expect("an atom").atom;
        until(&format!("an owner of {selection}"), || {
            let owner = connection.get_selection_owner(atom).expect("a request");
            let owner = owner.reply().expect("an owner").owner;
            (owner != x11rb::NONE).then_some(())
        });
    }

    /// Waits until the window manager has set an active window.
    pub(crate) fn until_active(&self) {
        let (connection, screen) = x11rb::connect(Some(&self.server.display)).expect("the server");
        let root = connection.setup().roots[screen].root;
        let name = connection.intern_atom(false, b"_NET_ACTIVE_WINDOW");
        let atom = name.expect("a request").reply().expect("an atom").atom;
        until("an active window", || {
            let asked = connection.get_property(false, root, atom, AtomEnum::WINDOW, 0, 1);
            let value = asked.expect("a request").reply().expect("a property");
            let window = value.value32().and_then(|mut all| all.next());
            window.filter(|window| *window != x11rb::NONE).map(drop)
        });
    }

    /// Sends a signal to a client.
    pub(crate) fn signal(&self, client: usize, signal: Signal) {
        let client = self.clients.get(client).expect("a client");
        kill_process(Pid::from_child(&client.child), signal).expect("it runs");
    }

    /// Waits until a client has exited.
    pub(crate) fn ended(&mut self, client: usize) {
        let client = self.clients.get_mut(client).expect("a client");
        wait(&mut client.child, "a client");
    }

    /// Pins clients and the server to the first processor that the server may use.
    pub(crate) fn pin_with_server(&mut self, clients: &[usize]) {
        self.busy = clients.to_vec();
        let server = i32::try_from(self.server.pid()).ok();
        let server = server.and_then(Pid::from_raw);
        let may = sched_getaffinity(server).expect("the server's processors");
        let first = (0..CpuSet::MAX_CPU).find(|cpu| may.is_set(*cpu));
        let mut one = CpuSet::new();
        one.set(first.expect("a processor"));
        let clients = clients
            .iter()
            .filter_map(|client| self.clients.get(*client));
        let clients = clients.map(|client| Some(Pid::from_child(&client.child)));
        for pid in clients.chain([server]) {
            sched_setaffinity(pid, &one).expect("a processor of its own");
        }
    }

    /// Waits for the clients to act, plus the time that they spent on the run queue meanwhile.
    pub(crate) fn look(&mut self, ms: u64) {
        let pids = self.pids();
        let mut left_ms = ms as f64;
        // Bounded, because a client with several starved threads would extend the wait for ever.
        for _ in 0..10 {
            let before = kept_waiting_ms(&pids);
            std::thread::sleep(Duration::from_secs_f64(left_ms / 1e3));
            left_ms = left_ms.min(kept_waiting_ms(&pids) - before);
            if left_ms < 1.0 {
                break;
            }
        }
        self.disturbance.look(&pids);
    }

    /// The process ids of the recorder, the server and the clients that are not always busy.
    fn pids(&self) -> Vec<u32> {
        let clients = self.clients.iter().enumerate();
        let resting = clients.filter(|(index, _)| !self.busy.contains(index));
        let clients = resting.map(|(_, client)| client.child.id());
        let mut pids = vec![self.recording.child.id(), self.server.pid()];
        pids.extend(clients);
        pids
    }

    /// Stops the recording while the clients still run, then the clients. Returns the episodes.
    pub(crate) fn end(mut self) -> Report {
        self.disturbance.look(&self.pids());
        self.recording.signal(rustix::process::Signal::INT);
        for client in &mut self.clients {
            let _ = client.child.kill();
            wait(&mut client.child, "a client");
        }
        if let Some(folder) = std::env::var_os("X11PROF_NESTING_KEEP") {
            let _ = std::fs::copy(
                &self.recording.trace,
                PathBuf::from(folder).join("last.mcap"),
            );
        }
        let disturbed_ms = self.disturbance.end_ms(&[self.server.pid()]);
        println!("disturbed for {disturbed_ms:.1} ms");
        let trace = self.recording.trace.to_string_lossy().into_owned();
        let json = self.place.json(["episodes", "--format", "json", &trace]);
        Report {
            json,
            disturbed_ms,
            trace: self.recording.trace.clone(),
            place: self.place,
        }
    }
}

/// The episodes of a session.
pub(crate) struct Report {
    pub(crate) json: Value,
    /// The possible error of times because of other load on the machine, in milliseconds.
    pub(crate) disturbed_ms: f64,
    trace: PathBuf,
    place: Place,
}

impl Report {
    pub(crate) fn episodes(&self) -> Vec<&Value> {
        let list = self.json["episodes"].as_array().expect("a list");
        list.iter().collect()
    }

    /// The text of `episodes` with more arguments.
    pub(crate) fn with(&self, words: &[&str]) -> String {
        let trace = self.trace.to_string_lossy();
        self.place.ok(["episodes", &*trace].iter().chain(words))
    }
}

/// A number in a JSON object; NaN if it is missing.
pub(crate) fn number(of: &Value, field: &str) -> f64 {
    of[field].as_f64().unwrap_or(f64::NAN)
}

/// A text in a JSON object; empty if it is missing.
pub(crate) fn text<'a>(of: &'a Value, field: &str) -> &'a str {
    of[field].as_str().unwrap_or_default()
}

/// The children of other clients, including children nested in the client's own activities.
pub(crate) fn of_others(of: &Value) -> Vec<&Value> {
    let children = of["children"].as_array().into_iter().flatten();
    let other = |child: &&Value| child["client"].is_number();
    let below = |child| match other(&child) {
        true => vec![child],
        false => of_others(child),
    };
    children.flat_map(below).collect()
}
