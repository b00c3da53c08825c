//! The role of a client in a recording. Reports show the recorded command first, and helpers last.

use serde::{Deserialize, Serialize};
use x11prof_trace::Opened;

/// Session daemons and input injectors that recordings commonly contain in addition to the program.
const HELPERS: [&str; 11] = [
    "xdotool",
    "xte",
    "x11prof",
    "dbus-launch",
    "at-spi-bus-laun",
    "at-spi2-registr",
    "gvfsd",
    "xsettingsd",
    "ibus-x11",
    "fcitx",
    "xwininfo",
];

/// The role of a client. The order is from the least to the most important role.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ClientRole {
    /// The client is a window manager, a session daemon or an input injector.
    Helper,
    /// A program that is not the recorded command and no helper.
    #[default]
    Program,
    /// The client is the recorded command.
    Command,
}

impl ClientRole {
    /// The role of a client that connects while `command` is recorded.
    pub(super) fn new(opened: &Opened, command: &[String]) -> ClientRole {
        let program = |words: &[String]| {
            let word = words.first()?;
            word.rsplit('/').next().map(str::to_owned)
        };
        let name = opened.name.as_deref().unwrap_or_default();
        match (program(command), program(&opened.command)) {
            (Some(recorded), Some(client)) if recorded == client => ClientRole::Command,
            _ if HELPERS.contains(&name) => ClientRole::Helper,
            _ => ClientRole::Program,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::ClientRole;
    use x11prof_trace::{ConnectionId, Opened};

    #[test]
    fn recorded_command_is_recognised_by_its_program() {
        let client = |name: &str, command: &[&str]| Opened {
            connection: ConnectionId(1),
            transport: "unix".to_owned(),
            pid: None,
            name: Some(name.to_owned()),
            command: command.iter().map(|word| (*word).to_owned()).collect(),
            started_ns: None,
        };
        let command = ["/usr/bin/xterm".to_owned()];
        let role = |opened| ClientRole::new(&opened, &command);
        assert_eq!(
            role(client("xterm", &["xterm", "-e", "sh"])),
            ClientRole::Command
        );
        assert_eq!(
            role(client("xdotool", &["xdotool", "key", "a"])),
            ClientRole::Helper
        );
        assert_eq!(role(client("xclock", &["xclock"])), ClientRole::Program);
    }
}
