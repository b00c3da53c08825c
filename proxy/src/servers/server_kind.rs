//! The kinds of display servers that can be started, and their properties.

use std::ffi::OsString;
use std::fmt;
use std::fs;
use std::io;
use std::path::Path;

/// The kind of a display server that can be started. The screens have 1280×1024 pixels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ServerKind {
    /// Xvfb with a screen of depth 24.
    Xvfb,
    /// Xvfb with a screen of depth 8.
    Xvfb8,
    /// TigerVNC's Xvnc. Viewers connect to a socket in its private folder.
    Xvnc,
    /// Xephyr, a server that shows its screen in a window of another server, here of a separate Xvfb.
    Xephyr,
    /// Xorg with the dummy video driver.
    XorgDummy,
    /// Xwayland with one window for its whole screen, in a weston without a screen.
    Xwayland,
}

/// The program in which a server shows its window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HostKind {
    /// A private X server of this kind shows the window.
    Server(ServerKind),
    /// A private Wayland compositor shows the window.
    Compositor,
}

/// The kinds, by their names on the command line.
const NAMED: [(&str, ServerKind); 6] = [
    ("xvfb", ServerKind::Xvfb),
    ("xvfb-8", ServerKind::Xvfb8),
    ("xvnc", ServerKind::Xvnc),
    ("xephyr", ServerKind::Xephyr),
    ("xorg-dummy", ServerKind::XorgDummy),
    ("xwayland", ServerKind::Xwayland),
];

/// The configuration of Xorg: a screen in memory and no devices. Xorg does not use the machine's configuration.
const XORG_CONFIGURATION: &str = r#"
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
Section "Monitor"
    Identifier "dummy"
    HorizSync 5.0-1000.0
    VertRefresh 5.0-200.0
    Modeline "1280x1024" 108.00 1280 1328 1440 1688 1024 1025 1028 1066
EndSection
Section "Screen"
    Identifier "dummy"
    Device "dummy"
    Monitor "dummy"
    DefaultDepth 24
    SubSection "Display"
        Depth 24
        Modes "1280x1024"
        Virtual 1280 1024
    EndSubSection
EndSection
"#;

impl ServerKind {
    /// The kind with this name on the command line; `None` if there is none.
    pub fn from_name(name: &str) -> Option<ServerKind> {
        let mut all = NAMED.iter();
        all.find(|(known, _)| *known == name).map(|(_, kind)| *kind)
    }

    /// The names of all kinds on the command line.
    pub fn names() -> impl Iterator<Item = &'static str> {
        NAMED.iter().map(|(name, _)| *name)
    }

    /// The name of the kind on the command line.
    pub fn name(self) -> &'static str {
        let mut all = NAMED.iter();
        all.find(|(_, kind)| *kind == self)
            .map_or("", |(name, _)| name)
    }

    pub(crate) fn program(self) -> &'static str {
        match self {
            ServerKind::Xvfb | ServerKind::Xvfb8 => "Xvfb",
            ServerKind::Xvnc => "Xvnc",
            ServerKind::Xephyr => "Xephyr",
            ServerKind::XorgDummy => "Xorg",
            ServerKind::Xwayland => "Xwayland",
        }
    }

    /// The names of the Debian packages with the server.
    pub(crate) fn package(self) -> &'static str {
        match self {
            ServerKind::Xvfb | ServerKind::Xvfb8 => "xvfb",
            ServerKind::Xvnc => "tigervnc-standalone-server",
            ServerKind::Xephyr => "xserver-xephyr",
            ServerKind::XorgDummy => "xserver-xorg-core xserver-xorg-video-dummy",
            ServerKind::Xwayland => "xwayland weston",
        }
    }

    /// Advice for the user if a server of this kind does not start.
    pub(crate) fn advice(self) -> &'static str {
        match self {
            ServerKind::XorgDummy => {
                " (is xserver-xorg-video-dummy installed, and may this user start Xorg?)"
            }
            _ => "",
        }
    }

    /// The program in which a server of this kind shows its window; `None` if it needs none.
    pub(crate) fn host(self) -> Option<HostKind> {
        match self {
            ServerKind::Xephyr => Some(HostKind::Server(ServerKind::Xvfb)),
            ServerKind::Xwayland => Some(HostKind::Compositor),
            _ => None,
        }
    }

    /// The arguments for servers of this kind, in addition to the arguments of all kinds. `dir` is the server's folder.
    pub(crate) fn arguments(self, dir: &Path) -> io::Result<Vec<OsString>> {
        let words = |words: &[&str]| words.iter().map(OsString::from).collect::<Vec<_>>();
        Ok(match self {
            ServerKind::Xvfb => words(&["-screen", "0", "1280x1024x24"]),
            ServerKind::Xvfb8 => words(&["-screen", "0", "1280x1024x8"]),
            ServerKind::Xephyr => words(&["-screen", "1280x1024x24"]),
            ServerKind::Xvnc => {
                // The viewers' port is a socket in the private folder.
                let mut all = words(&["-geometry", "1280x1024", "-depth", "24"]);
                all.extend(words(&["-SecurityTypes", "None", "-rfbport", "-1"]));
                all.extend(words(&["-rfbunixmode", "0600", "-rfbunixpath"]));
                all.push(dir.join("rfb").into());
                all
            }
            // Xwayland's window fills the compositor's screen.
            ServerKind::Xwayland => words(&["-shm"]),
            ServerKind::XorgDummy => {
                let configuration = dir.join("xorg.conf");
                fs::write(&configuration, XORG_CONFIGURATION)?;
                let mut all = words(&["-novtswitch", "-sharevts", "-keeptty"]);
                all.push("-config".into());
                all.push(configuration.into());
                // The machine's configuration snippets are not used.
                all.push("-configdir".into());
                all.push(dir.join("no-snippets").into());
                all.push("-logfile".into());
                all.push(dir.join("Xorg.log").into());
                all
            }
        })
    }
}

impl fmt::Display for ServerKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::ServerKind;

    #[test]
    fn server_kind_names_round_trip() {
        for name in ServerKind::names() {
            assert_eq!(ServerKind::from_name(name).unwrap().name(), name);
        }
        assert_eq!(ServerKind::from_name("xfoo"), None);
    }
}
