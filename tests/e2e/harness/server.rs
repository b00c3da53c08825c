//! X servers that a test starts.

use std::ffi::OsStr;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use x11rb::protocol::xproto::ConnectionExt as _;
use x11rb::rust_connection::RustConnection;

use super::place::Place;
use super::programs::needs;
use super::turns::{Turn, side_by_side};

/// Xorg configuration with the dummy driver and no input devices.
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

/// An X server of the test without access control; stopped on drop.
pub(crate) struct Server {
    child: Child,
    pub(crate) display: String,
    _turn: Turn,
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

    /// Xvfb that requires a cookie of that authority file.
    pub(crate) fn xvfb_guarded(authority: &Path) -> Server {
        let arguments = [OsStr::new("-auth"), authority.as_os_str()];
        Server::start("Xvfb", "xvfb", &arguments)
    }

    /// Xvfb started by `x11prof server`, with an additional preloaded library of the test.
    pub(crate) fn timed(place: &Place, library: &Path) -> Server {
        let mut command = place.x11prof(["server", "--", "Xvfb"]);
        command.env("LD_PRELOAD", library);
        Server::run(&mut command, &[OsStr::new("-ac")])
    }

    fn start(program: &str, package: &str, arguments: &[&OsStr]) -> Server {
        needs(program, package);
        Server::run(&mut Command::new(program), arguments)
    }

    fn run(command: &mut Command, arguments: &[&OsStr]) -> Server {
        let turn = side_by_side();
        let mut child = command
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
            _turn: turn,
        }
    }

    /// The process id.
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// A command for a client of this server.
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

/// True if a key of the server's keyboard is pressed.
pub(crate) fn is_key_down(x: &RustConnection) -> bool {
    let keys = x.query_keymap().expect("a request").reply();
    keys.expect("the keys").keys.iter().any(|byte| *byte != 0)
}
