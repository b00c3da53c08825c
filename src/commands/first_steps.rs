//! `x11prof` without arguments on a terminal: prints the purpose of the program, and three commands to try next.

use std::path::Path;
use std::sync::mpsc;
use std::time::Duration;

use x11prof_proxy::{Target, running_clients};
use x11prof_views::plain;
use x11prof_views::units::{bytes, counted};

use crate::args::DEFAULT_TRACE;
use crate::error::Outcome;
use crate::output::emit_text;

/// The longest time to wait for a reply of the display.
const PATIENCE: Duration = Duration::from_secs(2);
/// The number of suggested commands.
const COMMANDS: usize = 3;

const PURPOSE: &str = concat!(
    "x11prof ",
    env!("CARGO_PKG_VERSION"),
    ": perf for X11. It shows where the time of an X11 program goes:
in the client, in the X server, or on the network.

A recording contains all messages between a program and its X server, and when
each of them ran. You do not need to rebuild the program. Commands show
  - which requests use server time, and which replies the program waits for
  - which user actions were slow, and why
  - the same on another server or over another network
You can also watch a running display, without a recording.
"
);

/// The recording and the display that were found, from which the suggestions follow.
struct Found {
    /// The name of the display and the number of its clients, or the reason why there is no display.
    display: Result<(String, usize), String>,
    /// The size of the default recording in the current folder, in bytes; `None` if there is no such file.
    recording: Option<u64>,
}

/// Prints the purpose and the next commands.
pub(crate) fn run() -> Outcome {
    emit_text(None, &text(&found()))
}

fn found() -> Found {
    let file = std::fs::metadata(Path::new(DEFAULT_TRACE));
    Found {
        display: display(),
        recording: file
            .ok()
            .filter(|file| file.is_file())
            .map(|file| file.len()),
    }
}

/// Returns the name of the display and the number of its clients, or the reason why there is no display. A reply later
/// than `PATIENCE` counts as a failure.
fn display() -> Result<(String, usize), String> {
    let name = std::env::var("DISPLAY").unwrap_or_default();
    if name.is_empty() {
        return Err("DISPLAY is not set".to_owned());
    }
    let (tell, reported) = mpsc::channel();
    // If the thread cannot be started, the sender is dropped and `recv_timeout` fails.
    let _ =
        std::thread::Builder::new().spawn(move || tell.send(running_clients(&Target::Environment)));
    match reported.recv_timeout(PATIENCE) {
        Ok(Ok(clients)) => Ok((name, clients)),
        Ok(Err(error)) => Err(plain(&error.to_string()).into_owned()),
        Err(_) => Err(format!(
            "{name} did not reply within {} s",
            PATIENCE.as_secs()
        )),
    }
}

fn text(found: &Found) -> String {
    let display = match &found.display {
        Ok((name, 0)) => format!("display {name}"),
        Ok((name, clients)) => {
            format!("display {name} with {}", counted(*clients as u64, "client"))
        }
        Err(why) => format!("no display: {why}"),
    };
    let recording = match found.recording {
        Some(length) => format!("a recording, {DEFAULT_TRACE} ({})", bytes(length)),
        None => format!("no recording {DEFAULT_TRACE} in this folder"),
    };
    let mut text = format!("{PURPOSE}\nFound: {display}\n       {recording}\n\nNext:\n");
    let commands = commands(found);
    let widest = commands
        .iter()
        .map(|(command, _)| command.len())
        .max()
        .unwrap_or(0);
    for (command, shows) in commands {
        text.push_str(&format!("  {command:widest$}   {shows}\n"));
    }
    text.push_str("\nAll commands: x11prof help. One command: x11prof help record\n");
    text
}

/// Returns suitable commands with their descriptions, the most useful first.
fn commands(found: &Found) -> Vec<(&'static str, &'static str)> {
    let has_clients = matches!(found.display, Ok((_, 1..)));
    let report = ("x11prof report", "where the time went");
    let all = [
        found.recording.map(|_| report),
        has_clients.then_some(("x11prof top", "which client uses the server now")),
        Some(match found.display {
            Ok(_) => ("x11prof record -- my-program", "record a program"),
            Err(_) => (
                "x11prof record --server xvfb -- my-program",
                "record without a display",
            ),
        }),
        found.recording.is_none().then_some(report),
        Some(("x11prof network", "what a slow network makes slow")),
    ];
    all.into_iter().flatten().take(COMMANDS).collect()
}

#[cfg(test)]
mod tests {
    use super::{COMMANDS, Found, PURPOSE, commands, text};

    fn found(clients: Option<usize>, recording: Option<u64>) -> Found {
        let none = || "DISPLAY is not set".to_owned();
        Found {
            display: clients
                .map(|clients| (":0".to_owned(), clients))
                .ok_or_else(none),
            recording,
        }
    }

    fn named(found: &Found) -> Vec<&'static str> {
        let words = |(command, _): (&'static str, _)| command.trim_start_matches("x11prof ");
        commands(found).into_iter().map(words).collect()
    }

    #[test]
    fn commands_depend_on_clients_and_recordings() {
        let record = "record -- my-program";
        let private = "record --server xvfb -- my-program";
        assert_eq!(named(&found(None, None)), [private, "report", "network"]);
        assert_eq!(named(&found(None, Some(1))), ["report", private, "network"]);
        assert_eq!(named(&found(Some(0), None)), [record, "report", "network"]);
        assert_eq!(
            named(&found(Some(0), Some(1))),
            ["report", record, "network"]
        );
        assert_eq!(named(&found(Some(3), None)), ["top", record, "report"]);
        assert_eq!(named(&found(Some(3), Some(1))), ["report", "top", record]);
    }

    #[test]
    fn first_steps_fit_a_terminal() {
        assert_eq!(PURPOSE.lines().count(), 9);
        for found in [found(None, None), found(Some(12), Some(1_250_000))] {
            let text = text(&found);
            assert!(
                text.lines().all(|line| line.chars().count() <= 80),
                "{text}"
            );
            assert!(text.lines().count() < 24, "{text}");
            assert_eq!(text.matches("\n  x11prof ").count(), COMMANDS);
        }
    }
}
