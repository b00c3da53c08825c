//! A Wayland compositor without a screen, for a server that shows its window in a compositor.

use std::fs::{self, File};
use std::io::ErrorKind;
use std::os::unix::net::UnixStream;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use x11prof_stacks::program;

use crate::private_dir::PrivateDir;
use crate::processes::child::{OwnChild, last_words};
use crate::servers::server_error::{START_PATIENCE, ServerError};

const PROGRAM: &str = "weston";
const PACKAGE: &str = "weston";
/// The socket's name in the runtime directory.
const SOCKET: &str = "wayland-x11prof";
/// The interval between two checks for the socket.
const LOOK: Duration = Duration::from_millis(10);

/// The configuration for one window only: no panel, no on-screen keyboard, no animation, no lock.
const CONFIGURATION: &str = "\
[core]
idle-time=0
[shell]
locking=false
panel-position=none
startup-animation=none
animation=none
close-animation=none
focus-animation=none
[input-method]
path=
";

/// A running weston that renders into memory. Dropping the value stops weston.
#[derive(Debug)]
pub(crate) struct Compositor {
    child: OwnChild,
    dir: PrivateDir,
}

impl Compositor {
    /// Starts a compositor with a screen of 1280×1024 pixels, and waits until it accepts clients.
    pub(crate) fn start() -> Result<Compositor, ServerError> {
        let io = |source| ServerError::Io {
            program: PROGRAM,
            source,
        };
        let dir = PrivateDir::new().map_err(io)?;
        let configuration = dir.path().join("weston.ini");
        fs::write(&configuration, CONFIGURATION).map_err(io)?;
        let log = dir.path().join("log");
        let mut command = program(PROGRAM);
        command
            .args(["--backend=headless-backend.so", "--use-pixman"])
            .args(["--width=1280", "--height=1024", "--socket", SOCKET])
            .arg(format!("--config={}", configuration.display()))
            .env("XDG_RUNTIME_DIR", dir.path())
            .env_remove("WAYLAND_DISPLAY")
            .stdin(Stdio::null())
            .stdout(File::create(&log).map_err(io)?)
            .stderr(Stdio::null());
        let child = OwnChild::spawn(&mut command).map_err(|source| match source.kind() {
            ErrorKind::NotFound => ServerError::Missing {
                program: PROGRAM,
                package: PACKAGE,
            },
            _ => io(source),
        })?;
        let mut compositor = Compositor { child, dir };
        match compositor.ready() {
            Ok(()) => Ok(compositor),
            Err(why) => {
                let said = fs::read_to_string(&log).unwrap_or_default();
                Err(ServerError::Failed {
                    program: PROGRAM,
                    why: format!("{why}{}", last_words(&said)),
                })
            }
        }
    }

    fn ready(&mut self) -> Result<(), String> {
        let start = Instant::now();
        while start.elapsed() < START_PATIENCE {
            if self.child.has_ended() {
                return Err("it ended".to_owned());
            }
            if UnixStream::connect(self.dir.path().join(SOCKET)).is_ok() {
                return Ok(());
            }
            thread::sleep(LOOK);
        }
        let patience = START_PATIENCE.as_secs();
        Err(format!("it was not ready after {patience} s"))
    }

    /// Sets the environment of `command` so that it becomes a client of the compositor.
    pub(crate) fn shows(&self, command: &mut Command) {
        command
            .env("XDG_RUNTIME_DIR", self.dir.path())
            .env("WAYLAND_DISPLAY", SOCKET);
    }
}
