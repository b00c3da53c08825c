//! A recorded session as a list of steps: the requests of each client, and the messages that the client received before.

mod batch;
mod events;
mod noise;
mod reader;
mod requests;
mod segments;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::io::Read;
use std::time::Duration;

use x11prof_protocol::{ByteOrder, Extensions, Symbol};
use x11prof_session::Input;
use x11prof_trace::{Reader, Timestamp};
use x11rb_protocol::protocol::randr::ModeInfo;
use x11rb_protocol::protocol::render::Pictforminfo;
use x11rb_protocol::protocol::xproto::Setup;

use crate::ReplayError;
pub(crate) use batch::{Batch, Passed, Patch, RepliedRequest};
pub(crate) use events::{AwaitedEvent, EventKey, event_code, key, time};
pub(crate) use noise::Noise;
pub(crate) use segments::SharedSegment;

/// A recorded session, ready to be replayed.
#[derive(Debug)]
pub struct Script {
    pub(crate) clients: Vec<ScriptClient>,
    /// The recorded server's reply to the first client's connection setup.
    pub(crate) setup: Setup,
    pub(crate) extensions: Extensions,
    /// The names of atoms, by atom in the recording.
    pub(crate) atoms: BTreeMap<u32, Vec<u8>>,
    /// The recorded server's RENDER picture formats; empty if no client requested them.
    pub(crate) formats: Vec<Pictforminfo>,
    /// The recorded server's CRTCs, outputs and modes; empty if no client requested them.
    pub(crate) outputs: Outputs,
    /// The recorded symbols of keycodes that clients requested, by keycode.
    pub(crate) keys: BTreeMap<u8, Vec<u32>>,
    /// The shared memory segments that clients attached, in the order of attachment.
    pub(crate) segments: Vec<SharedSegment>,
    pub(crate) steps: Vec<Step>,
    /// The number of requests that cannot be replayed, by name. The player sends NoOperation instead.
    pub(crate) left_out: BTreeMap<Symbol, u64>,
    /// The number of request bytes that are missing from the recording.
    pub(crate) filled_bytes: u64,
    /// True if other programs use the display on which the script is to be replayed.
    pub(crate) is_shared: bool,
    /// The number of errors in the recording, by name of the failed request.
    pub(crate) errors: BTreeMap<Symbol, u64>,
}

/// The CRTCs, outputs and modes that RANDR reports.
#[derive(Debug, Default)]
pub(crate) struct Outputs {
    pub(crate) crtcs: Vec<u32>,
    pub(crate) outputs: Vec<u32>,
    pub(crate) modes: Vec<ModeInfo>,
}

/// A client of the recording.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ScriptClient {
    /// The number of the client's connection in the recording.
    pub(crate) connection: u32,
    pub(crate) order: ByteOrder,
    /// The base and the mask of the client's resource ids in the recording.
    pub(crate) ids: (u32, u32),
}

/// An action of the session with the time at which the recorder read it.
#[derive(Debug)]
pub(crate) struct Step {
    pub(crate) time: Timestamp,
    pub(crate) action: Action,
}

/// An action of the session. A client is identified by its index, in the order of the connection setups.
#[derive(Debug)]
pub(crate) enum Action {
    Open(usize),
    Send(Box<Batch>),
    Input(Input),
    /// A mark of the user with this text, at which a screenshot is taken.
    Mark(String),
    Close(usize),
}

/// Removes trailing NoSymbol (0) entries from the symbols of a key.
pub(crate) fn trimmed(mut symbols: Vec<u32>) -> Vec<u32> {
    while symbols.last() == Some(&0) {
        symbols.pop();
    }
    symbols
}

impl Script {
    /// Reads a recording. `is_shared` means that other programs use the display too. Requests that would change their
    /// state, or whose effects outlive the client, are then left out.
    ///
    /// # Errors
    /// Fails if the trace cannot be read, begins in the middle of a session, has no client, or is too long for memory.
    pub fn read<R: Read>(trace: &mut Reader<R>, is_shared: bool) -> Result<Script, ReplayError> {
        reader::read(trace, is_shared)
    }

    /// The duration of the recorded session, from its first step to the latest step.
    pub fn lasts(&self) -> Duration {
        let first = self.steps.first().map(|step| step.time);
        let times = self.steps.iter().map(|step| step.time);
        let since = first.and_then(|first| times.map(|time| time.since(first)).max());
        since.unwrap_or_default()
    }

    /// The names of requests that cannot be replayed, each with the number of such requests.
    pub fn left_out(&self) -> impl Iterator<Item = (&'static str, u64)> {
        self.left_out
            .iter()
            .map(|(name, count)| (name.as_str(), *count))
    }
}
