//! Runs x11prof and real clients; every wait is for a thing, with a limit.
#![allow(dead_code, reason = "each test binary uses a part of the harness")]
#![allow(
    clippy::expect_used,
    reason = "a test that cannot go on says why and fails"
)]

pub(crate) mod browser;
pub(crate) mod examples;
pub(crate) mod raw;
pub(crate) mod slow_relay;
pub(crate) mod terminal;

use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::{Arc, Mutex, OnceLock};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// The longest that anything in a test may take.
const LIMIT: Duration = Duration::from_secs(120);

/// A scratch folder with commands run in it.
pub(crate) struct Place {
    folder: tempfile::TempDir,
}

impl Place {
    pub(crate) fn new() -> Place {
        Place {
            folder: tempfile::tempdir().expect("a scratch folder"),
        }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.path(name);
        std::fs::write(&path, bytes).expect("a scratch file");
        path
    }

    /// x11prof with arguments, in this folder, with no display and no cookies of the user's.
    pub(crate) fn x11prof<S: AsRef<OsStr>>(
        &self,
        arguments: impl IntoIterator<Item = S>,
    ) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_x11prof"));
        command
            .args(arguments)
            .current_dir(self.folder.path())
            .env_remove("DISPLAY")
            .env_remove("XAUTHORITY")
            .env("HOME", self.folder.path())
            // A probe of this machine serves all tests.
            .env(
                "XDG_DATA_HOME",
                concat!(env!("CARGO_TARGET_TMPDIR"), "/data"),
            )
            // What a killed x11prof leaves behind goes with the folder.
            .env("XDG_RUNTIME_DIR", self.folder.path())
            .stdin(Stdio::null());
        command
    }

    /// Runs x11prof to its end.
    pub(crate) fn run<S: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = S>) -> Ran {
        Ran::of(&mut self.x11prof(arguments))
    }

    /// Runs x11prof, which must succeed; gives its standard output.
    pub(crate) fn ok<S: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = S>) -> String {
        self.run(arguments).succeeded()
    }

    /// The JSON that x11prof prints.
    pub(crate) fn json<S: AsRef<OsStr>>(
        &self,
        arguments: impl IntoIterator<Item = S>,
    ) -> serde_json::Value {
        let text = self.ok(arguments);
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("not JSON ({error}):\n{text}"))
    }
}

/// What a program did.
pub(crate) struct Ran {
    pub(crate) shown: String,
    pub(crate) output: Output,
}

impl Ran {
    /// Runs `command` to its end, and ends it when it takes too long.
    pub(crate) fn of(command: &mut Command) -> Ran {
        let shown = format!("{command:?}");
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap_or_else(|error| panic!("cannot run {shown}: {error}"));
        let read = |pipe: Option<Box<dyn Read + Send>>| {
            std::thread::spawn(move || {
                let mut bytes = Vec::new();
                pipe.expect("a pipe")
                    .read_to_end(&mut bytes)
                    .expect("reading a pipe");
                bytes
            })
        };
        let stdout = read(child.stdout.take().map(|pipe| Box::new(pipe) as _));
        let stderr = read(child.stderr.take().map(|pipe| Box::new(pipe) as _));
        let status = wait(&mut child, &shown);
        let (stdout, stderr) = (
            stdout.join().expect("stdout"),
            stderr.join().expect("stderr"),
        );
        Ran {
            shown,
            output: Output {
                status,
                stdout,
                stderr,
            },
        }
    }

    pub(crate) fn stdout(&self) -> String {
        String::from_utf8_lossy(&self.output.stdout).into_owned()
    }

    pub(crate) fn stderr(&self) -> String {
        String::from_utf8_lossy(&self.output.stderr).into_owned()
    }

    pub(crate) fn status(&self) -> Option<i32> {
        self.output.status.code()
    }

    /// Its standard output, if it succeeded.
    pub(crate) fn succeeded(&self) -> String {
        assert!(self.output.status.success(), "{self}");
        self.stdout()
    }

    /// One line on standard error that begins with the program's name, and the exit status.
    pub(crate) fn failed_with_one_line(&self, status: i32) -> String {
        let stderr = self.stderr();
        assert_eq!(self.status(), Some(status), "{self}");
        assert_eq!(stderr.trim_end().lines().count(), 1, "{self}");
        assert!(stderr.starts_with("x11prof: "), "{self}");
        stderr.trim_end().to_owned()
    }
}

impl std::fmt::Display for Ran {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        writeln!(f, "{} ended with {}", self.shown, self.output.status)?;
        writeln!(f, "-- standard output\n{}", self.stdout())?;
        writeln!(f, "-- standard error\n{}", self.stderr())
    }
}

/// Waits for `child` to end, within the limit.
pub(crate) fn wait(child: &mut Child, shown: &str) -> std::process::ExitStatus {
    let start = Instant::now();
    loop {
        if let Some(status) = child.try_wait().expect("waiting for a child") {
            return status;
        }
        if start.elapsed() > LIMIT {
            child.kill().expect("ending a child");
            panic!("{shown} took longer than {LIMIT:?}");
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Waits until `happened` gives something, within the limit.
pub(crate) fn until<T>(what: &str, mut happened: impl FnMut() -> Option<T>) -> T {
    let start = Instant::now();
    loop {
        if let Some(value) = happened() {
            return value;
        }
        assert!(
            start.elapsed() < LIMIT,
            "{what} did not happen within {LIMIT:?}"
        );
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// A screen in memory and no devices.
const XORG: &str = r#"
Section "ServerFlags"
    Option "AutoAddDevices" "false"
    Option "AutoEnableDevices" "false"
    Option "AutoAddGPU" "false"
EndSection
Section "Device"
    Identifier "dummy"
    Driver "dummy"
    VideoRam 65536
EndSection
Section "Screen"
    Identifier "dummy"
    Device "dummy"
    DefaultDepth 24
EndSection
"#;

/// An X server of the test's own, without access control, stopped when it is dropped.
pub(crate) struct Server {
    child: Child,
    pub(crate) display: String,
}

impl Server {
    /// Xvfb on a free display, ready.
    pub(crate) fn xvfb(more: &[&str]) -> Server {
        let arguments: Vec<&OsStr> = ["-ac"].iter().chain(more).map(OsStr::new).collect();
        Server::start("Xvfb", "xvfb", &arguments)
    }

    /// Xvnc on a free display.
    pub(crate) fn xvnc() -> Server {
        let arguments = ["-SecurityTypes", "None", "-ac", "-rfbport", "-1"].map(OsStr::new);
        Server::start("Xvnc", "tigervnc-standalone-server", &arguments)
    }

    /// Xorg with the dummy driver on a free display; its files are in `place`.
    pub(crate) fn xorg(place: &Place) -> Server {
        let configuration = place.write("xorg.conf", XORG.as_bytes());
        let log = place.path("Xorg.log");
        let snippets = place.path("no-snippets");
        let mut arguments = ["-ac", "-novtswitch", "-sharevts", "-keeptty"]
            .map(OsStr::new)
            .to_vec();
        for (option, file) in [
            ("-config", &configuration),
            ("-configdir", &snippets),
            ("-logfile", &log),
        ] {
            arguments.extend([OsStr::new(option), file.as_os_str()]);
        }
        Server::start("Xorg", "xserver-xorg-core", &arguments)
    }

    /// Xvfb that lets in only who has a cookie of that authority file.
    pub(crate) fn xvfb_guarded(authority: &Path) -> Server {
        let arguments = [OsStr::new("-auth"), authority.as_os_str()];
        Server::start("Xvfb", "xvfb", &arguments)
    }

    fn start(program: &str, package: &str, arguments: &[&OsStr]) -> Server {
        needs(program, package);
        let mut child = Command::new(program)
            .args(["-displayfd", "1", "-nolisten", "tcp", "-noreset"])
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the server starts");
        let mut number = String::new();
        let stdout = child.stdout.take().expect("a pipe");
        BufReader::new(stdout)
            .read_line(&mut number)
            .expect("the server tells its display");
        Server {
            child,
            display: format!(":{}", number.trim()),
        }
    }

    /// Its process.
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// A client of this server.
    pub(crate) fn client(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command
            .env("DISPLAY", &self.display)
            .env_remove("XAUTHORITY");
        command
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// `x11prof record` without a command, serving.
pub(crate) struct Recording {
    pub(crate) child: Child,
    pub(crate) display: String,
    pub(crate) authority: PathBuf,
    pub(crate) trace: PathBuf,
    said: Arc<Mutex<String>>,
    reader: Option<JoinHandle<()>>,
}

impl Recording {
    /// Starts a recording at a private Xvfb, and waits for the display to be announced.
    pub(crate) fn start(place: &Place, more: &[&str]) -> Recording {
        let words: Vec<&str> = ["--server", "xvfb"].iter().chain(more).copied().collect();
        Recording::at(place, &place.path("trace.mcap"), &words)
    }

    /// The most memory that the recorder has had so far, in kB.
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

    /// Starts a recording at what the words say, into `trace`, and waits for the announcement.
    pub(crate) fn at(place: &Place, trace: &Path, words: &[&str]) -> Recording {
        Recording::of(
            place.x11prof(["record"]).args(words).arg("-o").arg(trace),
            trace,
        )
    }

    /// Starts a recording with a whole command of its own, and waits for the announcement.
    pub(crate) fn of(command: &mut Command, trace: &Path) -> Recording {
        command.stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("x11prof starts");
        let mut lines = BufReader::new(child.stderr.take().expect("a pipe")).lines();
        let (mut display, mut authority, mut seen) = (None, None, String::new());
        while display.is_none() || authority.is_none() {
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
        // The rest is read too, so that the recorder never waits for us.
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

    /// A client of this display.
    pub(crate) fn client(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command
            .env("DISPLAY", &self.display)
            .env("XAUTHORITY", &self.authority);
        command
    }

    /// All that it has said on standard error, once it has ended.
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

    /// A client of ours.
    pub(crate) fn raw(&self, order: raw::Order) -> raw::Client {
        let cookie = raw::cookie(&self.authority);
        let socket = UnixStream::connect(self.socket()).expect("the display is there");
        raw::Client::set_up(socket.into(), order, &cookie)
    }

    /// Sends a signal to the recorder and waits for its end.
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

/// A program that the tests need; names the package when it is missing.
pub(crate) fn needs(program: &str, package: &str) {
    let found = std::env::var_os("PATH")
        .is_some_and(|path| std::env::split_paths(&path).any(|dir| dir.join(program).is_file()));
    assert!(
        found,
        "{program} is not installed; install Debian's package {package} (cargo xtask test does)"
    );
}

/// A recording of xterm listing a tree, made once for all tests of a binary.
pub(crate) fn xterm_trace() -> &'static Path {
    static TRACE: OnceLock<PathBuf> = OnceLock::new();
    TRACE.get_or_init(|| {
        needs("Xvfb", "xvfb");
        needs("xterm", "xterm");
        let place = Place::new();
        let trace = place.path("xterm.mcap");
        let mut command = place.x11prof(["record", "--server", "xvfb", "-o"]);
        command
            .arg(&trace)
            .args(["--", "xterm", "-e", "ls -laR /usr/share/doc"]);
        Ran::of(&mut command).succeeded();
        keep(place, trace)
    })
}

/// Parameters of this machine's Xvfb, measured quickly, once for all tests of a binary.
pub(crate) fn xvfb_parameters() -> &'static Path {
    static PARAMETERS: OnceLock<PathBuf> = OnceLock::new();
    PARAMETERS.get_or_init(|| {
        needs("Xvfb", "xvfb");
        let place = Place::new();
        let file = place.path("xvfb.toml");
        let mut command = place.x11prof(["measure", "--quick", "--server", "xvfb", "-o"]);
        Ran::of(command.arg(&file)).succeeded();
        keep(place, file)
    })
}

/// Lets the folder outlive its owner, for the files that all tests of a binary share.
pub(crate) fn keep(place: Place, file: PathBuf) -> PathBuf {
    let _ = place.folder.keep();
    file
}
