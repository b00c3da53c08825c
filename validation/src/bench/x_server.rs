//! A private Xvfb for a benchmark. It is stopped on drop.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

/// A running Xvfb with access control off, on Unix sockets only.
pub(crate) struct XServer {
    child: Child,
    number: u32,
}

impl XServer {
    /// Starts Xvfb on `cpu`, and waits until it is ready.
    pub(crate) fn start(cpu: &str) -> Result<XServer, String> {
        let mut child = Command::new("taskset")
            .args([
                "-c",
                cpu,
                "Xvfb",
                "-displayfd",
                "1",
                "-screen",
                "0",
                "1280x1024x24",
            ])
            .args(["-nolisten", "tcp", "-noreset", "-ac", "-maxclients", "512"])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| format!("cannot start Xvfb: {error}"))?;
        let stdout = child.stdout.take().ok_or("no pipe to Xvfb")?;
        let mut line = String::new();
        let read = BufReader::new(stdout).read_line(&mut line);
        match (read, line.trim().parse()) {
            (Ok(_), Ok(number)) => Ok(XServer { child, number }),
            _ => {
                // The server did not become ready, so end it.
                let _ = child.kill();
                let _ = child.wait();
                Err("Xvfb did not start".to_owned())
            }
        }
    }

    /// The display, such as `:3`.
    pub(crate) fn display(&self) -> String {
        format!(":{}", self.number)
    }

    /// The process id.
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// The path of its socket.
    pub(crate) fn socket(&self) -> String {
        format!("/tmp/.X11-unix/X{}", self.number)
    }
}

impl Drop for XServer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
