//! A private display for pictures.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// Processes that are killed on drop.
pub(super) struct Processes(pub(super) Vec<Child>);

impl Drop for Processes {
    fn drop(&mut self) {
        for child in self.0.iter_mut().rev() {
            // The server may have ended already.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Starts Xvfb with `x11prof server` on a free display, and returns the display's name.
pub(super) fn xvfb(x11prof: &Path) -> Result<(Processes, String), String> {
    let mut server = Command::new(x11prof)
        .args([
            "server",
            "--",
            "Xvfb",
            "-displayfd",
            "1",
            "-ac",
            "-nolisten",
            "tcp",
            "-noreset",
        ])
        .args(["-screen", "0", "1280x1024x24"])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| format!("cannot run Xvfb: {error}"))?;
    let mut number = String::new();
    if let Some(stdout) = server.stdout.take() {
        // Without a number there is no display, and the programs fail with an error.
        let _ = BufReader::new(stdout).read_line(&mut number);
    }
    Ok((Processes(vec![server]), format!(":{}", number.trim())))
}
