//! Private display servers. Each is started for one recording or calibration, has its own cookie, and is stopped
//! afterwards.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::process::{ChildStdout, Command, Stdio};
use std::time::Instant;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::retry_on_intr;
use rustix::process::{Pid, Signal, kill_process};

use crate::capture::handler_times::HandlerTimes;
use crate::display::authority::{self, Cookie};
use crate::display::display_name::DisplayName;
use crate::display::listener::{connect_at_once, socket_path};
use crate::private_dir::PrivateDir;
use crate::processes::child::{OwnChild, last_words, until};
use crate::processes::peer::Peer;
use crate::servers::compositor::Compositor;
use crate::servers::server_error::{START_PATIENCE, ServerError};
use crate::servers::server_kind::{HostKind, ServerKind};

/// The name in errors of a server that the user's command starts.
const COMMAND: &str = "the server of --server-command";

/// A running private server. Dropping the value stops the server. The kernel also stops it when the thread that started
/// it ends.
#[derive(Debug)]
pub struct PrivateServer {
    child: OwnChild,
    display: DisplayName,
    cookie: Cookie,
    authority_file: PathBuf,
    /// The server's directory, which is removed after the server has ended.
    _dir: PrivateDir,
    /// The program that shows this server's window; `None` if none is needed. It ends after the server.
    host: Option<Host>,
    /// The timer of the server's handlers, or the reason why there is none; `None` if no timer was requested.
    timer: Option<Result<HandlerTimes, String>>,
}

/// The program that shows a server's window.
#[derive(Debug)]
enum Host {
    Server(Box<PrivateServer>),
    Compositor(Compositor),
}

impl Host {
    fn start(kind: HostKind) -> Result<Host, ServerError> {
        Ok(match kind {
            HostKind::Server(kind) => Host::Server(Box::new(PrivateServer::start(kind)?)),
            HostKind::Compositor => Host::Compositor(Compositor::start()?),
        })
    }

    /// Makes `command` a client of the host.
    fn shows(&self, command: &mut Command) {
        match self {
            Host::Server(server) => {
                command
                    .env("DISPLAY", server.display().to_string())
                    .env("XAUTHORITY", server.authority_file());
            }
            Host::Compositor(compositor) => compositor.shows(command),
        }
    }
}

impl PrivateServer {
    /// Starts a server, and waits until it accepts connections.
    ///
    /// # Errors
    /// Fails if the server's program is missing or does not become ready.
    pub fn start(kind: ServerKind) -> Result<PrivateServer, ServerError> {
        PrivateServer::launch_kind(kind, false)
    }

    /// Like [`start`](PrivateServer::start), but the server times its handlers if possible.
    ///
    /// # Errors
    /// Fails if the server's program is missing or does not become ready.
    pub fn start_timed(kind: ServerKind) -> Result<PrivateServer, ServerError> {
        PrivateServer::launch_kind(kind, true)
    }

    /// Starts a server with the shell command `line`, to which arguments for the display number and the cookie are
    /// appended. The server times its request handlers if possible.
    pub(crate) fn start_command(line: &str) -> Result<PrivateServer, ServerError> {
        let dir = PrivateDir::new().map_err(io(COMMAND))?;
        let mut command = Command::new("sh");
        command.args(["-c", &with_exec(line), "sh"]);
        PrivateServer::launch(COMMAND, command, dir, &[], true)
    }

    fn launch_kind(kind: ServerKind, timed: bool) -> Result<PrivateServer, ServerError> {
        let program = kind.program();
        let host = kind.host().map(Host::start).transpose()?;
        let dir = PrivateDir::new().map_err(io(program))?;
        let arguments = kind.arguments(dir.path()).map_err(io(program))?;
        let mut command = x11prof_stacks::program(program);
        if let Some(host) = &host {
            host.shows(&mut command);
        }
        let launched = PrivateServer::launch(program, command, dir, &arguments, timed);
        let mut server = launched.map_err(|error| match error {
            ServerError::Io { source, .. } if source.kind() == ErrorKind::NotFound => {
                ServerError::Missing {
                    program,
                    package: kind.package(),
                }
            }
            ServerError::Failed { why, .. } => ServerError::Failed {
                program,
                why: format!("{why}{}", kind.advice()),
            },
            other => other,
        })?;
        server.host = host;
        Ok(server)
    }

    /// Starts the server with the arguments common to all servers and the arguments `more`. Errors call it `program`.
    fn launch(
        program: &'static str,
        mut command: Command,
        dir: PrivateDir,
        more: &[OsString],
        timed: bool,
    ) -> Result<PrivateServer, ServerError> {
        let cookie = Cookie::random().map_err(io(program))?;
        let authority_file = dir.path().join("Xauthority");
        // The server chooses its display number, so the entry has no number. The server accepts the cookie of any entry.
        authority::write(&authority_file, None, &cookie, &[]).map_err(io(program))?;
        let log = dir.path().join("log");
        command
            // When the server is ready, it writes its number to this pipe, its standard output.
            .args(["-displayfd", "1", "-nolisten", "tcp", "-noreset", "-auth"])
            .arg(&authority_file)
            .args(more)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(File::create(&log).map_err(io(program))?);
        let timer = timed.then(|| HandlerTimes::prepare(&mut command, dir.path()));
        let mut child = OwnChild::spawn(&mut command).map_err(io(program))?;
        let number = ready(&mut child).map_err(|why| {
            let said = fs::read_to_string(&log).unwrap_or_default();
            let why = format!("{why}{}", last_words(&said));
            ServerError::Failed { program, why }
        })?;
        Ok(PrivateServer {
            child,
            display: DisplayName::local(number),
            cookie,
            authority_file,
            _dir: dir,
            host: None,
            timer,
        })
    }

    /// Begins to time the server's request handlers, after the server has replied to some requests. `None` if the
    /// server was not started for timing; an error with a reason in text form if the handlers cannot be timed.
    pub fn time_handlers(&mut self) -> Option<Result<HandlerTimes, String>> {
        Some(self.timer.take()?.and_then(|mut timer| {
            timer.begin()?;
            Ok(timer)
        }))
    }

    /// The name of the server's display, `:N`.
    pub fn display(&self) -> &DisplayName {
        &self.display
    }

    /// The path of a file with the server's cookie, for XAUTHORITY. The file is removed with the server.
    pub fn authority_file(&self) -> &Path {
        &self.authority_file
    }

    /// The cookie with which clients authenticate to the server.
    pub fn cookie(&self) -> &Cookie {
        &self.cookie
    }

    /// The id of the server's process.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for PrivateServer {
    /// Ends a server that has left the process group of the command that started it. Its arguments name our file.
    fn drop(&mut self) {
        let socket = connect_at_once(&socket_path(self.display.number()));
        let peer = socket.ok().and_then(Peer::of).and_then(|peer| peer.pid);
        let Some(server) = peer.filter(|pid| *pid != self.pid()) else {
            return;
        };
        let words = fs::read(format!("/proc/{server}/cmdline")).unwrap_or_default();
        let file = self.authority_file.as_os_str().as_encoded_bytes();
        if words.split(|byte| *byte == 0).any(|word| word == file) {
            let pid = i32::try_from(server).ok().and_then(Pid::from_raw);
            for signal in [Signal::TERM, Signal::CONT] {
                let _ = pid.map(|pid| kill_process(pid, signal));
            }
        }
    }
}

/// Returns a shell command in which the last command of `line` replaces the shell, so that the server is the child.
/// `env` also accepts a command that begins with assignments.
fn with_exec(line: &str) -> String {
    let ends = ["&&", ";"].map(|end| line.rfind(end).map_or(0, |at| at + end.len()));
    let (before, last) = line.split_at(ends[0].max(ends[1]));
    let is_quoted = ['\'', '"']
        .iter()
        .any(|quote| last.matches(*quote).count() % 2 == 1);
    match is_quoted {
        true => format!("exec env {line} \"$@\""),
        false => format!("{before} exec env {last} \"$@\""),
    }
}

fn io(program: &'static str) -> impl FnOnce(io::Error) -> ServerError {
    move |source| ServerError::Io { program, source }
}

/// Waits for the display number, and returns it. Fails with a reason if the server ends or is not ready in time.
fn ready(child: &mut OwnChild) -> Result<u32, String> {
    let mut pipe = child.stdout().ok_or("it has no standard output")?;
    let deadline = Instant::now() + START_PATIENCE;
    let mut text = Vec::new();
    // The number ends with a line feed. No number has more than ten digits.
    while !text.contains(&b'\n') {
        if !wait_readable(&pipe, deadline).map_err(|error| error.to_string())? {
            return Err(format!(
                "it was not ready after {} s",
                START_PATIENCE.as_secs()
            ));
        }
        let mut some = [0; 16];
        match pipe.read(&mut some).map_err(|error| error.to_string())? {
            0 => return Err("it ended".to_owned()),
            n => text.extend(some.get(..n).unwrap_or_default()),
        }
        if text.len() > 32 {
            break;
        }
    }
    let text = String::from_utf8_lossy(&text);
    text.trim()
        .parse()
        .map_err(|_| format!("it gave '{}' as its display number", text.trim()))
}

fn wait_readable(pipe: &ChildStdout, deadline: Instant) -> rustix::io::Result<bool> {
    let mut fds = [PollFd::new(pipe, PollFlags::IN)];
    retry_on_intr(|| poll(&mut fds, Some(&until(deadline)))).map(|n| n > 0)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;
    use crate::display::server_info;
    use crate::display::server_link::ServerLink;

    #[test]
    fn xvfb_starts_requires_its_cookie_and_stops() {
        let server = PrivateServer::start(ServerKind::Xvfb8).unwrap();
        let (dir, pid) = (
            server.authority_file().parent().unwrap().to_owned(),
            server.pid(),
        );
        let mode = fs::metadata(&dir).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700);
        let file = Some(server.authority_file().to_owned());
        let link = ServerLink::new(server.display().clone(), file);
        let found = server_info::ask(&link).unwrap();
        assert_eq!(found.link, None);
        let (about, extensions) = (found.server, found.extensions);
        assert_eq!((about.depth, about.screen), (8, (1280, 1024)));
        assert_eq!(about.pid, Some(pid));
        assert!(about.executable.unwrap().ends_with("Xvfb"));
        assert!(!about.arguments.iter().any(|a| a.contains("Xauthority")));
        assert!(
            extensions
                .iter()
                .any(|e| e.name == "RENDER" && e.major >= 128)
        );
        let none = ServerLink::new(server.display().clone(), Some("/dev/null".into()));
        assert!(matches!(
            server_info::ask(&none),
            Err(server_info::DisplayError::Refused { .. })
        ));
        drop(server);
        assert!(!dir.exists());
        assert_eq!(crate::processes::cpu_clock::read(pid), None);
        assert!(matches!(
            server_info::ask(&link),
            Err(server_info::DisplayError::Unreachable { .. })
        ));
    }

    #[test]
    fn server_command_is_a_shell_command() {
        for line in [
            "Xvfb",
            "LC_ALL=C Xvfb",
            "cd / && LC_ALL=C Xvfb",
            "cd /; Xvfb",
        ] {
            let server = PrivateServer::start_command(line).unwrap();
            let executable = fs::read_link(format!("/proc/{}/exe", server.pid())).unwrap();
            assert!(executable.ends_with("Xvfb"), "{line}: {executable:?}");
        }
        assert_eq!(
            with_exec("X -title 'a;b'"),
            "exec env X -title 'a;b' \"$@\""
        );
    }

    #[test]
    fn server_in_a_session_of_its_own_ends() {
        let server = PrivateServer::start_command("setsid -w Xvfb").unwrap();
        let file = Some(server.authority_file().to_owned());
        let link = ServerLink::new(server.display().clone(), file);
        let pid = server_info::ask(&link).unwrap().server.pid.unwrap();
        assert_ne!(pid, server.pid());
        drop(server);
        let until = Instant::now() + START_PATIENCE;
        while crate::processes::cpu_clock::read(pid).is_some() {
            assert!(Instant::now() < until, "the server still runs");
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
    }

    #[test]
    fn each_server_kind_starts_the_right_server() {
        for (kind, executable) in [
            (ServerKind::Xvnc, "vnc"),
            (ServerKind::Xephyr, "Xephyr"),
            (ServerKind::XorgDummy, "Xorg"),
            (ServerKind::Xwayland, "Xwayland"),
        ] {
            let server = PrivateServer::start(kind).unwrap();
            let file = Some(server.authority_file().to_owned());
            let link = ServerLink::new(server.display().clone(), file);
            let about = server_info::ask(&link).unwrap().server;
            assert_eq!((about.depth, about.screen), (24, (1280, 1024)), "{kind}");
            assert!(about.executable.unwrap().contains(executable), "{kind}");
        }
    }
}
