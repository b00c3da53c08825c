//! The kinds of display server that can be started, and how each is.

use std::ffi::OsString;
use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The kinds of display server that can be started. Their screens have 1280×1024 pixels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ServerKind {
    /// Xvfb with depth 24.
    Xvfb,
    /// Xvfb with depth 8.
    Xvfb8,
    /// Xvnc of TigerVNC, whose viewers come by a socket in its private folder.
    Xvnc,
    /// Xephyr, a server in a window of another: of an Xvfb of its own.
    Xephyr,
    /// Xorg with the dummy video driver.
    XorgDummy,
}

/// A screen in memory, no devices, nothing of this machine's own configuration.
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
    /// The kind of that name on the command line.
    pub fn from_name(name: &str) -> Option<ServerKind> {
        Some(match name {
            "xvfb" => ServerKind::Xvfb,
            "xvfb-8" => ServerKind::Xvfb8,
            "xvnc" => ServerKind::Xvnc,
            "xephyr" => ServerKind::Xephyr,
            "xorg-dummy" => ServerKind::XorgDummy,
            _ => return None,
        })
    }

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            ServerKind::Xvfb => "xvfb",
            ServerKind::Xvfb8 => "xvfb-8",
            ServerKind::Xvnc => "xvnc",
            ServerKind::Xephyr => "xephyr",
            ServerKind::XorgDummy => "xorg-dummy",
        }
    }

    pub(crate) fn program(self) -> &'static str {
        match self {
            ServerKind::Xvfb | ServerKind::Xvfb8 => "Xvfb",
            ServerKind::Xvnc => "Xvnc",
            ServerKind::Xephyr => "Xephyr",
            ServerKind::XorgDummy => "Xorg",
        }
    }

    /// Debian's packages of it.
    pub(crate) fn package(self) -> &'static str {
        match self {
            ServerKind::Xvfb | ServerKind::Xvfb8 => "xvfb",
            ServerKind::Xvnc => "tigervnc-standalone-server",
            ServerKind::Xephyr => "xserver-xephyr",
            ServerKind::XorgDummy => "xserver-xorg-core xserver-xorg-video-dummy",
        }
    }

    /// What to look at where it does not start.
    pub(crate) fn advice(self) -> &'static str {
        match self {
            ServerKind::XorgDummy => {
                " (is xserver-xorg-video-dummy installed, and may this user start Xorg?)"
            }
            _ => "",
        }
    }

    /// The server that it needs for itself.
    pub(crate) fn host(self) -> Option<ServerKind> {
        (self == ServerKind::Xephyr).then_some(ServerKind::Xvfb)
    }

    /// The socket at which it takes viewers, in the folder of its own.
    pub(crate) fn viewers_socket(self, dir: &Path) -> Option<PathBuf> {
        (self == ServerKind::Xvnc).then(|| dir.join("rfb"))
    }

    /// What its command line has beside what all have. `dir` is a folder of its own.
    pub(crate) fn arguments(self, dir: &Path) -> io::Result<Vec<OsString>> {
        let words = |words: &[&str]| words.iter().map(OsString::from).collect::<Vec<_>>();
        Ok(match self {
            ServerKind::Xvfb => words(&["-screen", "0", "1280x1024x24"]),
            ServerKind::Xvfb8 => words(&["-screen", "0", "1280x1024x8"]),
            ServerKind::Xephyr => words(&["-screen", "1280x1024x24"]),
            ServerKind::Xvnc => {
                // Its viewers' port is a socket in the private folder.
                let mut all = words(&["-geometry", "1280x1024", "-depth", "24"]);
                all.extend(words(&["-SecurityTypes", "None", "-rfbport", "-1"]));
                all.extend(words(&["-rfbunixmode", "0600", "-rfbunixpath"]));
                all.extend(self.viewers_socket(dir).map(OsString::from));
                all
            }
            ServerKind::XorgDummy => {
                let configuration = dir.join("xorg.conf");
                fs::write(&configuration, XORG_CONFIGURATION)?;
                let mut all = words(&["-novtswitch", "-sharevts", "-keeptty"]);
                all.push("-config".into());
                all.push(configuration.into());
                // Nothing of the machine's own snippets.
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
    fn kinds_and_their_names() {
        for name in ["xvfb", "xvfb-8", "xvnc", "xephyr", "xorg-dummy"] {
            assert_eq!(ServerKind::from_name(name).unwrap().name(), name);
        }
        assert_eq!(ServerKind::from_name("xfoo"), None);
    }
}
