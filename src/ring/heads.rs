//! What a part of a recording has to begin with: what it is of, whom it has, what is captured.

use std::collections::BTreeMap;

use x11prof_trace::{ConnectionId, Control, Started, Timestamp};

/// Processes whose capture is kept at most.
const MAX_PROCESSES: usize = 10_000;

/// The records that every part begins with, as far as the recording has come.
#[derive(Debug, Default)]
pub(super) struct Heads {
    started: Option<(Timestamp, Started)>,
    /// Of the server, and of how it is recorded.
    of_all: Vec<Control>,
    opened: BTreeMap<ConnectionId, Control>,
    captures: BTreeMap<u32, Control>,
}

impl Heads {
    /// Takes note of the next control record.
    pub(super) fn note(&mut self, time: Timestamp, control: &Control) {
        match control {
            Control::Started(started) => self.started = Some((time, started.clone())),
            Control::Server(_)
            | Control::Attached {}
            | Control::Extensions { .. }
            | Control::Scrubbed {}
            | Control::Link(_)
            | Control::Network(_)
            | Control::Tried { requests: None, .. } => self.of_all.push(control.clone()),
            Control::Opened(opened) => {
                self.opened.insert(opened.connection, control.clone());
            }
            Control::Closed { connection, .. } => {
                self.opened.remove(connection);
            }
            Control::Capture { pid, .. } if self.captures.len() < MAX_PROCESSES => {
                self.captures.insert(*pid, control.clone());
            }
            _ => {}
        }
    }

    /// The first record of a part that begins at `time`; `None` before the recording's own.
    pub(super) fn started(&self, time: Timestamp) -> Option<Started> {
        let (began, started) = self.started.as_ref()?;
        let since = time.since(*began).as_nanos();
        let since = u64::try_from(since).unwrap_or(u64::MAX);
        Some(Started {
            wall_clock_ns: started.wall_clock_ns.saturating_add(since),
            ..started.clone()
        })
    }

    /// The records after it.
    pub(super) fn rest(&self) -> impl Iterator<Item = &Control> {
        self.of_all
            .iter()
            .chain(self.opened.values())
            .chain(self.captures.values())
    }
}
