//! The preamble of a segment: the records about the recording, the server, the open connections and the stack captures
//! with which each segment begins.

use std::collections::BTreeMap;

use x11prof_trace::{ConnectionId, Control, Started, Timestamp};

/// The maximum number of processes whose stack-capture records are kept.
const MAX_PROCESSES: usize = 10_000;

/// The records with which a new segment must begin.
#[derive(Debug, Default)]
pub(super) struct SegmentPreamble {
    started: Option<(Timestamp, Started)>,
    /// The records about the server and the kind of recording.
    of_all: Vec<Control>,
    opened: BTreeMap<ConnectionId, Control>,
    captures: BTreeMap<u32, Control>,
}

impl SegmentPreamble {
    /// Stores a control record that later segments need in their preamble.
    pub(super) fn note(&mut self, time: Timestamp, control: &Control) {
        match control {
            Control::Started(started) => self.started = Some((time, started.clone())),
            Control::Server(_)
            | Control::Attached {}
            | Control::Extensions { .. }
            | Control::Scrubbed {}
            | Control::Link(_)
            | Control::Network(_)
            | Control::Timing { .. }
            | Control::Tried { requests: None, .. } => self.of_all.push(control.clone()),
            Control::Opened(opened) => {
                self.opened.insert(opened.connection, control.clone());
            }
            Control::Moved { connection, pid } => {
                if let Some(Control::Opened(opened)) = self.opened.get_mut(connection) {
                    opened.pid = Some(*pid);
                }
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

    /// Returns the `started` record for a segment that begins at `time`; `None` if the recording's own `started` record
    /// has not arrived.
    pub(super) fn started(&self, time: Timestamp) -> Option<Started> {
        let (began, started) = self.started.as_ref()?;
        let since = time.since(*began).as_nanos();
        let since = u64::try_from(since).unwrap_or(u64::MAX);
        Some(Started {
            wall_clock_ns: started.wall_clock_ns.saturating_add(since),
            ..started.clone()
        })
    }

    /// Returns the records of the preamble after `started`.
    pub(super) fn rest(&self) -> impl Iterator<Item = &Control> {
        self.of_all
            .iter()
            .chain(self.opened.values())
            .chain(self.captures.values())
    }
}
