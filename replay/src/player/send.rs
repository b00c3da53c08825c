//! Sends a batch of requests: the recorded bytes, with the recorded ids replaced by the display's.

use std::io::ErrorKind;
use std::ops::Range;
use std::os::fd::OwnedFd;
use std::time::Instant;

use x11prof_protocol::{ByteOrder, IdKind};

use super::patience::{LOOK_AGAIN, PATIENCE};
use super::performer::{Memory, Player};
use crate::ReplayError;
use crate::script::{Batch, Passed, Patch, event_code};

const NO_OPERATION: u8 = 127;
/// Noise for omitted bytes is written in parts of about this many bytes, to limit the memory for large images.
const AT_ONCE: usize = 1 << 20;

impl Player<'_> {
    /// Sends a batch after the recorded replies have arrived. Waits first for its events, and until the display has
    /// handled the other clients' earlier requests.
    pub(super) fn send(&mut self, batch: &Batch) -> Result<(), ReplayError> {
        if batch.is_long && self.extensions.by_name("BIG-REQUESTS").is_none() {
            let lacks = ReplayError::display("the display");
            return Err(lacks(&"it lacks the extension BIG-REQUESTS"));
        }
        self.wait_for_events(batch)?;
        match batch.after_all {
            // The display handles no other client's requests during a grab, so it must handle all earlier requests first.
            true => self.settle(None)?,
            false => self.settle(Some(&batch.uses))?,
        }
        let order = self.script.clients[batch.client].order;
        let mut bytes = batch.bytes.clone();
        let mut missing = Vec::new();
        for (place, patch) in &batch.patches {
            let at = &(*place as usize);
            match patch {
                Patch::Major => match self.major_here(bytes[*at]) {
                    Some(major) => bytes[*at] = major,
                    None => missing.push(*place),
                },
                Patch::EventCode => {
                    let here = event_code(bytes[*at], &self.script.extensions, &self.extensions);
                    bytes[*at] = here.unwrap_or(bytes[*at]);
                }
                Patch::Segment(number) => {
                    let memory = self.memory.get(*number as usize);
                    if let Some(Memory::Segment(segment)) = memory {
                        order.put_u32(&mut bytes, *at, segment.id());
                    }
                }
                Patch::Id(kind) => {
                    // Font ids in the text items of PolyText requests are always big-endian.
                    let order = match kind {
                        IdKind::FontItem => ByteOrder::Big,
                        _ => order,
                    };
                    if let Some(id) = order.u32(&bytes, *at) {
                        order.put_u32(&mut bytes, *at, self.ids.here(id, *kind));
                    }
                }
                Patch::IdIfKnown => {
                    let known = order.u32(&bytes, *at).and_then(|id| self.ids.known(id));
                    if let Some(id) = known {
                        order.put_u32(&mut bytes, *at, id);
                    }
                }
                Patch::AnyIfKnown => {
                    if let Some(number) = order.u32(&bytes, *at) {
                        let known = self.ids.same_time(number);
                        let known = known.or_else(|| self.ids.known(number));
                        let here = known.unwrap_or_else(|| self.ids.here(number, IdKind::Atom));
                        order.put_u32(&mut bytes, *at, here);
                    }
                }
            }
        }
        for at in &missing {
            let major = &mut bytes[*at as usize];
            let name = self.script.extensions.by_major(*major);
            let name = name.map_or("unknown", |extension| extension.name.as_str());
            let left_out = self.played.left_out.entry(format!("{name} requests"));
            *left_out.or_default() += 1;
            *major = NO_OPERATION;
        }
        if let Some(connection) = &mut self.clients[batch.client] {
            let asked = batch.asked.iter();
            let asked = asked.filter(|one| missing.binary_search(&one.at).is_err());
            let asked = asked.map(|one| one.before.into());
            connection.note(batch.first, batch.requests, asked);
        }
        match batch.grabs {
            Some(true) => self.grabbed = Some(batch.client),
            Some(false) => drop(self.grabbed.take_if(|by| *by == batch.client)),
            None => {}
        }
        self.played.requests += batch.requests;
        let mut written = 0;
        for Passed {
            bytes: range,
            segment,
        } in &batch.passed
        {
            // The descriptor must be sent together with the request's first byte.
            self.write_filled(batch, &bytes, written..range.start)?;
            self.write(batch.client, &bytes[range.clone()], Some(*segment))?;
            written = range.end;
        }
        self.write_filled(batch, &bytes, written..bytes.len())
    }

    /// Writes a range of a batch's bytes, with noise in place of bytes that are missing from the recording.
    fn write_filled(
        &mut self,
        batch: &Batch,
        bytes: &[u8],
        range: Range<usize>,
    ) -> Result<(), ReplayError> {
        let mut from = range.start;
        let mut filled = Vec::new();
        let inside = |at: usize| at > range.start && at <= range.end;
        for (at, len) in batch.omitted.iter().filter(|(at, _)| inside(*at)) {
            filled.extend_from_slice(&bytes[from..*at]);
            from = *at;
            let len = filled.len() + len;
            self.noise.fill(&mut filled, len);
            if len > AT_ONCE {
                self.write(batch.client, &filled, None)?;
                filled.clear();
            }
        }
        filled.extend_from_slice(&bytes[from..range.end]);
        self.write(batch.client, &filled, None)
    }

    /// Writes bytes on the connection of a client (by index), and passes the memory file of `segment` if there is
    /// one. Also reads messages, because a display stops reading from a client that does not read.
    pub(super) fn write(
        &mut self,
        client: usize,
        bytes: &[u8],
        segment: Option<u32>,
    ) -> Result<(), ReplayError> {
        let mut descriptor = segment;
        let mut until = Instant::now() + PATIENCE;
        let mut written = 0;
        while written < bytes.len() {
            let Some(connection) = self.clients[client].as_ref().filter(|one| !one.is_over) else {
                return Ok(());
            };
            let memory = descriptor.and_then(|number| self.memory.get(number as usize));
            let fd: Option<&OwnedFd> = match memory {
                Some(Memory::File(file)) => Some(file),
                _ => None,
            };
            match connection.write(&bytes[written..], fd) {
                Ok(some) => {
                    written += some;
                    descriptor = None;
                    until = Instant::now() + PATIENCE;
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    if Instant::now() >= until {
                        let why = format!("it took nothing for {} s", PATIENCE.as_secs());
                        let what = "the display";
                        return Err(ReplayError::Display { what, why });
                    }
                    self.pump(Instant::now() + LOOK_AGAIN);
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                // The display closed the connection. Its last messages may still be unread.
                Err(_) => {
                    self.pump(Instant::now());
                    return Ok(());
                }
            }
        }
        Ok(())
    }
}
