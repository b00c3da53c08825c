//! A connection from client to server: direct, or through a relay, which is ended on drop.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::x_server::XServer;
use xtask::run::target;

/// A connection from client to server.
pub(super) struct Way {
    pub(super) name: &'static str,
    pub(super) display: String,
    pub(super) authority: PathBuf,
    pub(super) relay: Option<Child>,
    /// True if the relay prints the messages.
    pub(super) is_printer: bool,
}

impl Drop for Way {
    fn drop(&mut self) {
        if let Some(relay) = &mut self.relay {
            // SIGTERM, so that a recorder can close its file and its sockets.
            let _ = Command::new("kill").arg(relay.id().to_string()).status();
            let _ = relay.wait();
        }
    }
}

/// x11prof recording to disk, as display `number`.
pub(super) fn x11prof(server: &XServer, folder: &Path, number: u32) -> Result<Way, String> {
    let log = folder.join("x11prof.log");
    let file = std::fs::File::create(&log).map_err(|error| error.to_string())?;
    let mut command = Command::new(target().join("release/x11prof"));
    command.args([
        "record",
        "--display",
        &server.display(),
        "--listen",
        &number.to_string(),
    ]);
    command
        .arg("-o")
        .arg(folder.join("bench.mcap"))
        .stderr(file);
    let mut way = relay("x11prof", number, PathBuf::new(), &mut command)?;
    let text = await_some("x11prof's XAUTHORITY", || {
        let text = std::fs::read_to_string(&log).ok()?;
        Some(
            text.split_once("XAUTHORITY=")?
                .1
                .split_whitespace()
                .next()?
                .to_owned(),
        )
    })?;
    way.authority = text.into();
    Ok(way)
}

/// Starts a relay and waits for its socket.
pub(super) fn relay(
    name: &'static str,
    number: u32,
    authority: PathBuf,
    command: &mut Command,
) -> Result<Way, String> {
    let child = command
        .stdin(Stdio::null())
        .spawn()
        .map_err(|error| format!("cannot start {name}: {error}"))?;
    let way = Way {
        name,
        display: format!(":{number}"),
        authority,
        relay: Some(child),
        is_printer: ["xtrace", "xscope"].contains(&name),
    };
    let path = format!("/tmp/.X11-unix/X{number}");
    await_some(name, || Path::new(&path).exists().then_some(()))?;
    Ok(way)
}

fn await_some<T>(what: &str, mut happened: impl FnMut() -> Option<T>) -> Result<T, String> {
    let start = Instant::now();
    loop {
        if let Some(value) = happened() {
            return Ok(value);
        }
        if start.elapsed() > Duration::from_secs(10) {
            return Err(format!("{what} did not come"));
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Sorts `rates` and returns their median.
pub(super) fn median(rates: &mut [f64]) -> f64 {
    rates.sort_by(f64::total_cmp);
    rates.get(rates.len() / 2).copied().unwrap_or(f64::NAN)
}
