//! Sends a batch: the recorded bytes, with the display's own ids in them.

use std::io::ErrorKind;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use x11prof_protocol::{ByteOrder, IdKind};

use super::performer::{Memory, Player};
use crate::ReplayError;
use crate::script::{Batch, Patch};

/// The display takes nothing for so long: the player looks whether it has something to say.
const LOOK_AGAIN: Duration = Duration::from_millis(1);
const NO_OPERATION: u8 = 127;

impl Player<'_> {
    /// Sends a batch whose replies have come.
    pub(super) fn send(&mut self, batch: &Batch) -> Result<(), ReplayError> {
        self.wait_for_events(batch)?;
        match batch.after_all {
            // Whoever is late would wait for the end of the grab.
            true => self.settle(None)?,
            false => self.settle(Some(&batch.uses))?,
        }
        let order = self.script.clients[batch.client].order;
        let mut bytes = batch.bytes.clone();
        let mut missing = Vec::new();
        for (at, patch) in &batch.patches {
            match patch {
                Patch::Major => match self.major_here(bytes[*at]) {
                    Some(major) => bytes[*at] = major,
                    None => missing.push(*at),
                },
                Patch::Segment(number) => {
                    if let Some(Memory::Segment(segment)) = self.memory.get(*number) {
                        put(&mut bytes, *at, order, segment.id());
                    }
                }
                Patch::Id(kind) => {
                    // Fonts among text come most significant byte first.
                    let order = match kind {
                        IdKind::FontItem => ByteOrder::Big,
                        _ => order,
                    };
                    if let Some(id) = order.u32(&bytes, *at) {
                        put(&mut bytes, *at, order, self.ids.here(id, *kind));
                    }
                }
                Patch::IdIfKnown => {
                    let known = order.u32(&bytes, *at).and_then(|id| self.ids.known(id));
                    if let Some(id) = known {
                        put(&mut bytes, *at, order, id);
                    }
                }
                Patch::AnyIfKnown => {
                    if let Some(number) = order.u32(&bytes, *at) {
                        let known = self.ids.same_time(number);
                        let known = known.or_else(|| self.ids.known(number));
                        let here = known.unwrap_or_else(|| self.ids.here(number, IdKind::Atom));
                        put(&mut bytes, *at, order, here);
                    }
                }
            }
        }
        for at in &missing {
            bytes[*at] = NO_OPERATION;
        }
        let mut written = 0;
        for request in &batch.requests {
            let is_missing = missing.contains(&request.bytes.start);
            if is_missing {
                let name = request.name.as_str().to_owned();
                *self.played.left_out.entry(name).or_default() += 1;
            }
            if let Some(connection) = &mut self.clients[batch.client] {
                let answered = request.answered && !is_missing;
                connection.note(answered.then_some(request.sequence));
                let number = connection.sent;
                self.names.insert((batch.client, number), request.name);
            }
            self.played.requests += 1;
            if let Some(number) = request.descriptor {
                // Its descriptor goes with the first byte.
                self.write(batch.client, &bytes[written..request.bytes.start], None)?;
                let end = request.bytes.end;
                self.write(batch.client, &bytes[request.bytes.start..end], Some(number))?;
                written = end;
            }
        }
        self.write(batch.client, &bytes[written..], None)
    }

    /// Writes bytes of a client, and reads meanwhile: a display that nobody hears stops listening.
    pub(super) fn write(
        &mut self,
        client: usize,
        bytes: &[u8],
        segment: Option<usize>,
    ) -> Result<(), ReplayError> {
        let mut descriptor = segment;
        let mut written = 0;
        while written < bytes.len() {
            let Some(connection) = self.clients[client].as_ref().filter(|one| !one.is_over) else {
                return Ok(());
            };
            let fd: Option<&OwnedFd> = match descriptor.and_then(|number| self.memory.get(number)) {
                Some(Memory::File(file)) => Some(file),
                _ => None,
            };
            match connection.write(&bytes[written..], fd) {
                Ok(some) => {
                    written += some;
                    descriptor = None;
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    self.pump(Instant::now() + LOOK_AGAIN)?;
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                // The display ended the connection: what it said is still to be read.
                Err(_) => {
                    self.pump(Instant::now())?;
                    return Ok(());
                }
            }
        }
        Ok(())
    }
}

fn put(bytes: &mut [u8], at: usize, order: ByteOrder, id: u32) {
    if let Some(place) = bytes.get_mut(at..at + 4) {
        place.copy_from_slice(&match order {
            ByteOrder::Little => id.to_le_bytes(),
            ByteOrder::Big => id.to_be_bytes(),
        });
    }
}
