//! Private display servers: started for one recording or calibration, with a cookie of their
//! own, and stopped afterwards.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::process::{ChildStdout, Command, Stdio};
use std::time::Instant;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::Pid;
use rustix::thread::{CpuSet, sched_setaffinity};

use crate::authority::{self, Cookie};
use crate::child::{OwnChild, last_words, until};
use crate::compositor::Compositor;
use crate::display_name::DisplayName;
use crate::handler_times::HandlerTimes;
use crate::private_dir::PrivateDir;
use crate::server_error::{START_PATIENCE, ServerError};
use crate::server_kind::{HostKind, ServerKind};
use crate::viewer;

/// A running private server. Dropping the value stops the server; so does the kernel when the thread that started it
/// ends.
#[derive(Debug)]
pub struct PrivateServer {
    child: OwnChild,
    display: DisplayName,
    cookie: Cookie,
    authority_file: PathBuf,
    kind: ServerKind,
    /// The viewer's thread, if the server has a viewer.
    viewer: Option<Pid>,
    /// The server's directory, which is removed after the server has ended.
    dir: PrivateDir,
    /// The host of this server's window; it ends after the server.
    host: Option<Host>,
    /// The timer of the server's handlers, or the reason why there is none; `None` where none was asked for.
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

    /// Has `command` be its client.
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

    fn pid(&self) -> u32 {
        match self {
            Host::Server(server) => server.pid(),
            Host::Compositor(compositor) => compositor.pid(),
        }
    }
}

impl PrivateServer {
    /// Starts a server, waits until it takes connections, and starts the viewer of its kind, if any.
    ///
    /// # Errors
    /// Fails if the server's program is missing or does not become ready.
    pub fn start(kind: ServerKind) -> Result<PrivateServer, ServerError> {
        PrivateServer::launch(kind, false)?.shown()
    }

    /// Starts a server that times its handlers, where that can be had, as [`start`](PrivateServer::start) does.
    pub(crate) fn start_timed(kind: ServerKind) -> Result<PrivateServer, ServerError> {
        PrivateServer::launch(kind, true)?.shown()
    }

    fn shown(mut self) -> Result<PrivateServer, ServerError> {
        let program = self.kind.program();
        self.show()
            .map_err(|source| ServerError::Io { program, source })?;
        Ok(self)
    }

    /// Starts a server that nobody looks at yet.
    ///
    /// # Errors
    /// Fails if the server's program is missing or does not become ready.
    pub fn start_unseen(kind: ServerKind) -> Result<PrivateServer, ServerError> {
        PrivateServer::launch(kind, false)
    }

    fn launch(kind: ServerKind, timed: bool) -> Result<PrivateServer, ServerError> {
        let program = kind.program();
        let io = |source| ServerError::Io { program, source };
        let host = kind.host().map(Host::start).transpose()?;
        let dir = PrivateDir::new().map_err(io)?;
        let cookie = Cookie::random().map_err(io)?;
        let authority_file = dir.path().join("Xauthority");
        // The server chooses its number; it takes the cookie of any entry.
        authority::write(&authority_file, None, &cookie).map_err(io)?;
        let log = dir.path().join("log");
        let mut command = command(program, &authority_file, &log).map_err(io)?;
        command.args(kind.arguments(dir.path()).map_err(io)?);
        if let Some(host) = &host {
            host.shows(&mut command);
        }
        let timer = timed.then(|| HandlerTimes::prepare(&mut command, dir.path()));
        let mut child = OwnChild::spawn(&mut command).map_err(|source| match source.kind() {
            ErrorKind::NotFound => ServerError::Missing {
                program,
                package: kind.package(),
            },
            _ => io(source),
        })?;
        let number = ready(&mut child).map_err(|why| {
            let said = fs::read_to_string(&log).unwrap_or_default();
            ServerError::Failed {
                program,
                why: format!("{why}{}{}", last_words(&said), kind.advice()),
            }
        })?;
        Ok(PrivateServer {
            child,
            display: DisplayName::local(number),
            cookie,
            authority_file,
            kind,
            viewer: None,
            dir,
            host,
            timer,
        })
    }

    /// Starts the viewer of the server's kind, if it has one that is not running yet.
    ///
    /// # Errors
    /// Fails if the server refuses the viewer.
    pub fn show(&mut self) -> io::Result<()> {
        let socket = self.kind.viewers_socket(self.dir.path());
        if let Some(socket) = socket.filter(|_| self.kind.is_viewed() && self.viewer.is_none()) {
            self.viewer = Some(viewer::view(&socket)?);
        }
        Ok(())
    }

    /// Moves the server's helpers to processor `cpu`: the server or compositor of its window, and its viewer.
    ///
    /// # Errors
    /// Fails if the system does not allow the processor.
    pub fn put_aside(&self, cpu: usize) -> io::Result<()> {
        let host = self.host.as_ref().map(Host::pid);
        let host = host.and_then(|pid| Pid::from_raw(i32::try_from(pid).ok()?));
        if cpu >= CpuSet::MAX_CPU {
            return Err(io::Error::from(ErrorKind::InvalidInput));
        }
        let mut only = CpuSet::new();
        only.set(cpu);
        for thread in [host, self.viewer].into_iter().flatten() {
            sched_setaffinity(Some(thread), &only)?;
        }
        Ok(())
    }

    /// Begins to time the server's handlers, once the server has answered some requests. `None` where the server was
    /// not started for that, a reason for people where the handlers cannot be timed.
    pub(crate) fn time_handlers(&mut self) -> Option<Result<HandlerTimes, String>> {
        Some(self.timer.take()?.and_then(|mut timer| {
            timer.begin()?;
            Ok(timer)
        }))
    }

    /// Its display, `:N`.
    pub fn display(&self) -> &DisplayName {
        &self.display
    }

    /// A file with the server's cookie, for XAUTHORITY. It is removed with the server.
    pub fn authority_file(&self) -> &Path {
        &self.authority_file
    }

    /// Its cookie.
    pub fn cookie(&self) -> &Cookie {
        &self.cookie
    }

    /// Its process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }
}

fn command(program: &str, authority_file: &Path, log: &Path) -> io::Result<Command> {
    let mut command = Command::new(program);
    command
        // The server writes its number to this pipe, its standard output, once it is ready.
        .args(["-displayfd", "1", "-nolisten", "tcp", "-noreset", "-auth"])
        .arg(authority_file)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(File::create(log)?);
    Ok(command)
}

/// Waits for the display number, or tells why there will be none.
fn ready(child: &mut OwnChild) -> Result<u32, String> {
    let mut pipe = child.stdout().ok_or("it has no standard output")?;
    let deadline = Instant::now() + START_PATIENCE;
    let mut text = Vec::new();
    // The number ends with a line feed; ten digits are more than any number has.
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
    poll(&mut fds, Some(&until(deadline))).map(|n| n > 0)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;
    use crate::server_info;
    use crate::server_link::ServerLink;

    #[test]
    fn an_xvfb_starts_takes_its_cookie_only_and_stops() {
        let server = PrivateServer::start(ServerKind::Xvfb8).unwrap();
        let (dir, pid) = (
            server.authority_file().parent().unwrap().to_owned(),
            server.pid(),
        );
        let mode = fs::metadata(&dir).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700);
        let file = Some(server.authority_file().to_owned());
        let link = ServerLink::new(server.display().clone(), file);
        let (about, extensions) = server_info::ask(&link).unwrap();
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
        assert_eq!(crate::cpu_clock::read(pid), None);
        assert!(matches!(
            server_info::ask(&link),
            Err(server_info::DisplayError::Unreachable { .. })
        ));
    }

    #[test]
    fn every_kind_starts_as_what_it_is() {
        for (kind, executable) in [
            (ServerKind::Xvnc, "vnc"),
            (ServerKind::XvncViewed, "vnc"),
            (ServerKind::Xephyr, "Xephyr"),
            (ServerKind::XorgDummy, "Xorg"),
            (ServerKind::Xwayland, "Xwayland"),
        ] {
            let server = PrivateServer::start(kind).unwrap();
            let file = Some(server.authority_file().to_owned());
            let link = ServerLink::new(server.display().clone(), file);
            let (about, _) = server_info::ask(&link).unwrap();
            assert_eq!((about.depth, about.screen), (24, (1280, 1024)), "{kind}");
            assert!(about.executable.unwrap().contains(executable), "{kind}");
            let viewed = match kind {
                ServerKind::Xvnc => Some(false),
                ServerKind::XvncViewed => Some(true),
                _ => None,
            };
            assert_eq!(about.viewed, viewed, "{kind}");
        }
    }
}
