//! Private display servers: started for one recording or calibration, with a cookie of their
//! own, and stopped afterwards.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Read};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{
    Pid, PidfdFlags, Signal, kill_process, pidfd_open, set_parent_process_death_signal,
};
use rustix::time::Timespec;
use thiserror::Error;

use crate::authority::{self, Cookie};
use crate::display_name::DisplayName;
use crate::private_dir::PrivateDir;
use crate::server_kind::ServerKind;

/// How long a server may take to be ready.
const START_PATIENCE: Duration = Duration::from_secs(30);
/// How long it may take to end before it is killed.
const STOP_PATIENCE: Duration = Duration::from_secs(5);

/// Why a private server did not start.
#[derive(Debug, Error)]
pub enum ServerError {
    /// Its program is not installed.
    #[error("{program} is not installed; on Debian: apt install {package}")]
    Missing {
        /// The program.
        program: &'static str,
        /// Debian's package of it.
        package: &'static str,
    },
    /// It ended, or never became ready.
    #[error("{program} did not start: {why}")]
    Failed {
        /// The program.
        program: &'static str,
        /// What happened, with what the server said.
        why: String,
    },
    /// Something around it failed.
    #[error("cannot start {program}: {source}")]
    Io {
        /// The program.
        program: &'static str,
        /// What the system said.
        source: io::Error,
    },
}

/// A running private server. It is stopped on drop, and by the kernel when the thread that
/// started it ends.
#[derive(Debug)]
pub struct PrivateServer {
    child: Child,
    display: DisplayName,
    cookie: Cookie,
    authority_file: PathBuf,
    kind: ServerKind,
    dir: PrivateDir,
    /// The server that this one has its window at; it ends after this one.
    _host: Option<Box<PrivateServer>>,
}

impl PrivateServer {
    /// Starts a server and waits until it takes connections.
    ///
    /// # Errors
    /// Where its program is missing or does not become ready.
    pub fn start(kind: ServerKind) -> Result<PrivateServer, ServerError> {
        let program = kind.program();
        let io = |source| ServerError::Io { program, source };
        let host = match kind.host() {
            Some(host) => Some(Box::new(PrivateServer::start(host)?)),
            None => None,
        };
        let dir = PrivateDir::new().map_err(io)?;
        let cookie = Cookie::random().map_err(io)?;
        let authority_file = dir.path().join("Xauthority");
        // The number is the server's choice; it takes the cookie of any entry.
        authority::write(&authority_file, None, &cookie).map_err(io)?;
        let log = dir.path().join("log");
        let mut command = command(program, &authority_file, &log).map_err(io)?;
        command.args(kind.arguments(dir.path()).map_err(io)?);
        if let Some(host) = &host {
            command
                .env("DISPLAY", host.display().to_string())
                .env("XAUTHORITY", host.authority_file());
        }
        let mut child = command.spawn().map_err(|source| match source.kind() {
            ErrorKind::NotFound => ServerError::Missing {
                program,
                package: kind.package(),
            },
            _ => io(source),
        })?;
        match ready(&mut child) {
            Ok(number) => Ok(PrivateServer {
                child,
                display: DisplayName::local(number),
                cookie,
                authority_file,
                kind,
                dir,
                _host: host,
            }),
            Err(why) => {
                stop(&mut child);
                let said = fs::read_to_string(&log).unwrap_or_default();
                Err(ServerError::Failed {
                    program,
                    why: format!("{why}{}{}", last_words(&said), kind.advice()),
                })
            }
        }
    }

    /// Its display, `:N`.
    pub fn display(&self) -> &DisplayName {
        &self.display
    }

    /// A file with its cookie, for XAUTHORITY. It goes away with the server.
    pub fn authority_file(&self) -> &Path {
        &self.authority_file
    }

    /// Its cookie.
    pub fn cookie(&self) -> &Cookie {
        &self.cookie
    }

    /// The socket at which it takes viewers, where its kind does.
    pub fn viewers_socket(&self) -> Option<PathBuf> {
        self.kind.viewers_socket(self.dir.path())
    }

    /// Its process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for PrivateServer {
    fn drop(&mut self) {
        stop(&mut self.child);
    }
}

/// The end of what a server said; they say much, and the cause comes last.
fn last_words(said: &str) -> String {
    let lines: Vec<&str> = said
        .lines()
        .map(str::trim)
        .filter(|l| !l.is_empty())
        .collect();
    let last = lines
        .get(lines.len().saturating_sub(4)..)
        .unwrap_or_default();
    match last.is_empty() {
        true => String::new(),
        false => format!("; it said: {}", last.join(" / ")),
    }
}

fn command(program: &str, authority_file: &Path, log: &Path) -> io::Result<Command> {
    let mut command = Command::new(program);
    command
        // Its standard output is the pipe that tells the number once it is ready.
        .args(["-displayfd", "1", "-nolisten", "tcp", "-noreset", "-auth"])
        .arg(authority_file)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(File::create(log)?)
        // The terminal's Ctrl-C is for the client; the server goes after it.
        .process_group(0);
    let parent = rustix::process::getpid();
    let with_us = move || {
        // A recorder that is killed must not leave a server behind.
        set_parent_process_death_signal(Some(Signal::TERM))?;
        match rustix::process::getppid() == Some(parent) {
            true => Ok(()),
            false => Err(io::Error::from(ErrorKind::BrokenPipe)),
        }
    };
    // SAFETY: between fork and exec it makes two system calls and allocates nothing.
    #[expect(
        unsafe_code,
        reason = "only the child itself can ask for its parent's death signal"
    )]
    unsafe {
        command.pre_exec(with_us);
    }
    Ok(command)
}

/// Waits for the display number, or tells why there will be none.
fn ready(child: &mut Child) -> Result<u32, String> {
    let mut pipe = child.stdout.take().ok_or("it has no standard output")?;
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

fn until(deadline: Instant) -> Timespec {
    let left = deadline.saturating_duration_since(Instant::now());
    Timespec {
        tv_sec: i64::try_from(left.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: i64::from(left.subsec_nanos()),
    }
}

/// Ends a child of ours: asked first, killed if it does not go.
fn stop(child: &mut Child) {
    // Not yet waited for, so the number is still this child's.
    if let Ok(Some(_)) = child.try_wait() {
        return;
    }
    if let Some(pid) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
        let _ = kill_process(pid, Signal::TERM);
        if let Ok(ended) = pidfd_open(pid, PidfdFlags::empty()) {
            let mut fds = [PollFd::new(&ended, PollFlags::IN)];
            let _ = poll(&mut fds, Some(&until(Instant::now() + STOP_PATIENCE)));
        }
    }
    if !matches!(child.try_wait(), Ok(Some(_))) {
        let _ = child.kill();
        let _ = child.wait();
    }
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
            (ServerKind::Xephyr, "Xephyr"),
            (ServerKind::XorgDummy, "Xorg"),
        ] {
            let server = PrivateServer::start(kind).unwrap();
            let file = Some(server.authority_file().to_owned());
            let link = ServerLink::new(server.display().clone(), file);
            let (about, _) = server_info::ask(&link).unwrap();
            assert_eq!((about.depth, about.screen), (24, (1280, 1024)), "{kind}");
            assert!(about.executable.unwrap().contains(executable), "{kind}");
        }
    }
}
