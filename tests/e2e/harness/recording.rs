//! `x11prof record` without a command, for clients that the test starts.

use std::io::{BufRead, BufReader};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use super::place::Place;
use super::programs::wait;
use super::raw;

/// A running `x11prof record` without a command.
pub(crate) struct Recording {
    pub(crate) child: Child,
    pub(crate) display: String,
    pub(crate) authority: PathBuf,
    pub(crate) trace: PathBuf,
    said: Arc<Mutex<String>>,
    reader: Option<JoinHandle<()>>,
}

impl Recording {
    /// Starts a recording with a private Xvfb, and waits until it announces its display.
    pub(crate) fn start(place: &Place, more: &[&str]) -> Recording {
        let words: Vec<&str> = ["--server", "xvfb"].iter().chain(more).copied().collect();
        Recording::at(place, &place.path("trace.mcap"), &words)
    }

    /// The recorder's peak memory so far, in kB.
    pub(crate) fn peak_kb(&self) -> u64 {
        let path = format!("/proc/{}/status", self.child.id());
        let status = std::fs::read_to_string(path).expect("the recorder's status");
        let peak = status
            .lines()
            .find_map(|line| line.strip_prefix("VmHWM:"))
            .expect("VmHWM");
        let peak = peak.trim().trim_end_matches(" kB");
        peak.parse().expect("a number")
    }

    /// Starts a recording with these arguments into `trace`, and waits for the announcement.
    pub(crate) fn at(place: &Place, trace: &Path, words: &[&str]) -> Recording {
        Recording::of(
            place.x11prof(["record"]).args(words).arg("-o").arg(trace),
            trace,
        )
    }

    /// Attaches a recorder to a display without a cookie, and waits until it records.
    pub(crate) fn attached(place: &Place, trace: &Path, display: &str) -> Recording {
        let mut command = place.x11prof(["record", "--attach", "--display", display, "-o"]);
        let known = (Some(display.to_owned()), Some(PathBuf::from("/dev/null")));
        Recording::announced(command.arg(trace), trace, known)
    }

    /// Starts a recording with this command, and waits for the announcement.
    pub(crate) fn of(command: &mut Command, trace: &Path) -> Recording {
        Recording::announced(command, trace, (None, None))
    }

    /// Starts a recording. Waits until the recorder announces the display and the authority that are not known, and for its
    /// first line.
    fn announced(
        command: &mut Command,
        trace: &Path,
        (mut display, mut authority): (Option<String>, Option<PathBuf>),
    ) -> Recording {
        command.stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("x11prof starts");
        let mut lines = BufReader::new(child.stderr.take().expect("a pipe")).lines();
        let mut seen = String::new();
        while display.is_none() || authority.is_none() || seen.is_empty() {
            let line = match lines.next() {
                Some(line) => line.expect("a line"),
                None => panic!("x11prof ended before it announced a display:\n{seen}"),
            };
            for word in line.split_whitespace() {
                if let Some(value) = word.strip_prefix("DISPLAY=") {
                    display = Some(value.to_owned());
                }
                if let Some(value) = word.strip_prefix("XAUTHORITY=") {
                    authority = Some(PathBuf::from(value));
                }
            }
            seen.push_str(&line);
            seen.push('\n');
        }
        // Read the rest as well, so that the recorder never blocks on a full pipe.
        let said = Arc::new(Mutex::new(seen));
        let rest = Arc::clone(&said);
        let reader = std::thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                let mut said = rest.lock().expect("no panic there");
                said.push_str(&line);
                said.push('\n');
            }
        });
        Recording {
            child,
            display: display.expect("announced"),
            authority: authority.expect("announced"),
            trace: trace.to_owned(),
            said,
            reader: Some(reader),
        }
    }

    /// A command for a client of this display.
    pub(crate) fn client(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command
            .env("DISPLAY", &self.display)
            .env("XAUTHORITY", &self.authority);
        command
    }

    /// The recorder's standard error; waits until the recorder has exited.
    pub(crate) fn said(&mut self) -> String {
        if let Some(reader) = self.reader.take() {
            reader.join().expect("reading a pipe");
        }
        self.said.lock().expect("no panic there").clone()
    }

    /// The display's socket.
    pub(crate) fn socket(&self) -> PathBuf {
        let number = self.display.trim_start_matches(':');
        PathBuf::from(format!("/tmp/.X11-unix/X{number}"))
    }

    /// Connects a raw protocol client.
    pub(crate) fn raw(&self, order: raw::Order) -> raw::Client {
        let cookie = raw::cookie(&self.authority);
        let socket = UnixStream::connect(self.socket()).expect("the display is there");
        raw::Client::set_up(socket.into(), order, &cookie)
    }

    /// Sends a signal to the recorder and waits until it exits.
    pub(crate) fn signal(&mut self, signal: rustix::process::Signal) -> std::process::ExitStatus {
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, signal).expect("a signal is sent");
        wait(&mut self.child, "x11prof record")
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        if matches!(self.child.try_wait(), Ok(None)) {
            let _ = self.signal(rustix::process::Signal::TERM);
        }
    }
}
