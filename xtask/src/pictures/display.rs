//! A private display for pictures.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

/// Processes that end with this.
pub(super) struct Processes(pub(super) Vec<Child>);

impl Drop for Processes {
    fn drop(&mut self) {
        for child in self.0.iter_mut().rev() {
            // One that has ended needs nothing.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Starts Xvfb on a free display; gives the display's name.
pub(super) fn xvfb() -> Result<(Processes, String), String> {
    let mut server = Command::new("Xvfb")
        .args(["-displayfd", "1", "-ac", "-nolisten", "tcp", "-noreset"])
        .args(["-screen", "0", "1280x1024x24"])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| format!("cannot run Xvfb: {error}"))?;
    let mut number = String::new();
    if let Some(stdout) = server.stdout.take() {
        // Without a number there is no display, which is said by the programs.
        let _ = BufReader::new(stdout).read_line(&mut number);
    }
    Ok((Processes(vec![server]), format!(":{}", number.trim())))
}
