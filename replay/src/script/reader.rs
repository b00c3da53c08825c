//! Converts a recording to a script, in one pass over its records.

use std::collections::BTreeMap;
use std::io::Read;
use std::ops::Range;

use rustc_hash::FxHashMap;
use x11prof_protocol::{
    Connection, Event, Extension, Extensions, IdKind, Input as Bytes, Message, Reply, Request,
    ServerSetup, Side, Symbol,
};
use x11prof_session::Inputs;
use x11prof_trace::{Block, ConnectionId, Control, Direction, Part, Reader, Record, Timestamp};
use x11rb_protocol::protocol::Reply as Fields;
use x11rb_protocol::protocol::render::Pictforminfo;
use x11rb_protocol::protocol::xproto::Setup;

use super::requests::{self, NO_OPERATION, Playable, changes_display};
use super::segments::{self, Segments};
use super::{
    Action, AwaitedEvent, Batch, Outputs, Passed, Patch, RepliedRequest, Script, ScriptClient,
    Step, key, time, trimmed,
};
use crate::ReplayError;

/// Maximum size of all requests of a script in bytes.
const MOST_BYTES: u64 = 2 << 30;
/// Estimated memory for the properties of a request, in bytes.
const BESIDE: u64 = 32;
/// The longest request that X.Org's servers accept, in bytes (4 Mi units of 4 bytes with BIG-REQUESTS).
const LONGEST: usize = 16 << 20;
/// The maximum number of requests in a batch, because the player copies a batch to send it.
const MOST_AT_ONCE: u64 = 1 << 16;
const GRAB_SERVER: u8 = 36;
const UNGRAB_SERVER: u8 = 37;
const INTERN_ATOM: u8 = 16;
const GET_ATOM_NAME: u8 = 17;
const GET_KEYBOARD_MAPPING: u8 = 101;
const QUERY_PICT_FORMATS: (&str, u8) = ("RENDER", 1);
/// RANDR's GetScreenResources and GetScreenResourcesCurrent.
const SCREEN_RESOURCES: [(&str, u8); 2] = [("RANDR", 8), ("RANDR", 25)];
const XTEST_FAKE_INPUT: (&str, u8) = ("XTEST", 2);

/// A connection of the recording.
struct Recorded {
    framer: Connection,
    /// The client's index in the script; `None` until the server has accepted the client.
    client: Option<usize>,
    batch: Batch,
    /// The names in InternAtom requests and the atoms in GetAtomName requests without a reply yet, by sequence number.
    names: FxHashMap<u64, Vec<u8>>,
    atoms: FxHashMap<u64, u32>,
    /// The first keycodes in GetKeyboardMapping requests without a reply yet, by sequence number.
    keycodes: FxHashMap<u64, u8>,
}

/// A script under construction.
#[derive(Default)]
struct Reading {
    clients: Vec<ScriptClient>,
    setup: Option<Setup>,
    /// True if other programs use the display on which the script is to be replayed.
    is_shared: bool,
    atoms: BTreeMap<u32, Vec<u8>>,
    formats: Vec<Pictforminfo>,
    outputs: Outputs,
    keys: BTreeMap<u8, Vec<u32>>,
    segments: Segments,
    steps: Vec<Step>,
    left_out: BTreeMap<Symbol, u64>,
    errors: BTreeMap<Symbol, u64>,
    filled_bytes: u64,
    bytes: u64,
    is_too_long: bool,
    inputs: Inputs,
    /// True if a recorded client sent input through XTEST.
    has_driver: bool,
    /// The extension that had a major opcode at its first use. A trace that renames the extension later is malicious,
    /// because the name decides which requests are replayed. Such requests are left out.
    majors: FxHashMap<u8, Extension>,
    by_base: FxHashMap<u32, usize>,
}

pub(super) fn read<R: Read>(trace: &mut Reader<R>, is_shared: bool) -> Result<Script, ReplayError> {
    let mut reading = Reading {
        is_shared,
        ..Reading::default()
    };
    let mut extensions = Extensions::new();
    let mut connections: FxHashMap<ConnectionId, Recorded> = FxHashMap::default();
    while let Some(record) = trace.next()? {
        match record {
            Record::Block(block) => {
                let recorded = connections
                    .entry(block.connection)
                    .or_insert_with(Recorded::new);
                reading.block(recorded, &block, &mut extensions);
                if reading.is_too_long {
                    let limit = MOST_BYTES >> 20;
                    return Err(ReplayError::TooLong { limit });
                }
            }
            Record::Control(_, Control::Extensions { extensions: known }) => {
                known.iter().for_each(|one| {
                    extensions.insert(Extension {
                        name: Symbol::new(&one.name),
                        major: one.major,
                        first_event: one.first_event,
                        first_error: one.first_error,
                    });
                });
            }
            Record::Control(
                _,
                Control::Joined(_) | Control::Existing(_) | Control::Attached {},
            ) => return Err(ReplayError::Middle),
            Record::Control(time, Control::Mark { text }) => {
                reading.step(time, Action::Mark(text));
            }
            Record::Control(time, Control::Closed { connection, .. }) => {
                let client = connections.remove(&connection).and_then(|one| one.client);
                if let Some(client) = client {
                    reading.step(time, Action::Close(client));
                }
            }
            _ => {}
        }
    }
    reading.finish(extensions)
}

impl Recorded {
    fn new() -> Recorded {
        let mut framer = Connection::new();
        framer.keep_requests(LONGEST);
        Recorded {
            framer,
            client: None,
            batch: Batch::default(),
            names: FxHashMap::default(),
            atoms: FxHashMap::default(),
            keycodes: FxHashMap::default(),
        }
    }
}

impl Reading {
    fn step(&mut self, time: Timestamp, action: Action) {
        self.steps.push(Step { time, action });
    }

    fn block(&mut self, recorded: &mut Recorded, block: &Block, extensions: &mut Extensions) {
        let side = match block.direction {
            Direction::ToServer => Side::Client,
            Direction::ToClient => Side::Server,
        };
        let Recorded {
            framer,
            client,
            batch,
            names,
            atoms,
            keycodes,
        } = recorded;
        for part in block.parts() {
            let input = match part {
                Part::Kept(bytes) => Bytes::Bytes(bytes),
                Part::Left(len) => Bytes::Omitted(len),
            };
            framer.feed(
                side,
                input,
                extensions,
                |message, extensions| match message {
                    Message::ServerSetup(setup) => {
                        *client = self.accepted(&setup, block);
                        batch.client = client.unwrap_or_default();
                    }
                    Message::Request(request) if client.is_some() => {
                        if request.major == INTERN_ATOM {
                            let name = request.bytes.get(8..).unwrap_or_default();
                            let len = request.order.u16(request.bytes, 4).unwrap_or(0);
                            let name = name.get(..len.into()).unwrap_or_default();
                            names.insert(request.sequence.0, name.to_vec());
                        } else if request.major == GET_ATOM_NAME
                            && let Some(atom) = request.order.u32(request.bytes, 4)
                        {
                            atoms.insert(request.sequence.0, atom);
                        } else if request.major == GET_KEYBOARD_MAPPING
                            && let Some(first) = request.bytes.get(4)
                        {
                            keycodes.insert(request.sequence.0, *first);
                        }
                        self.request(&request, batch, extensions);
                        if batch.requests == MOST_AT_ONCE {
                            self.send(batch, block.time);
                        }
                    }
                    Message::Reply(reply) => {
                        batch.after_reply = batch.after_reply.max(reply.sequence.0);
                        let asked = reply.sequence.0;
                        if let Some(first) = keycodes.remove(&asked) {
                            self.keyboard(&reply, first);
                        }
                        self.reply(
                            &reply,
                            names.remove(&asked),
                            atoms.remove(&asked),
                            extensions,
                        );
                    }
                    Message::Error(error) => {
                        batch.after_reply = batch.after_reply.max(error.sequence.0);
                        *self.errors.entry(error.request).or_default() += 1;
                    }
                    Message::Event(event) => self.event(&event, batch, block.time, extensions),
                    _ => {}
                },
            );
        }
        if side == Side::Client && batch.requests > 0 {
            self.send(batch, block.time);
        }
    }

    /// Adds the batch to the script, and begins the client's next one.
    fn send(&mut self, batch: &mut Batch, time: Timestamp) {
        let next = Batch {
            client: batch.client,
            after_reply: batch.after_reply,
            enable: batch.enable,
            ..Batch::default()
        };
        let sent = Box::new(std::mem::replace(batch, next));
        self.step(time, Action::Send(sent));
    }

    /// Adds a client that the server has accepted. Returns its index; `None` if the server's reply cannot be decoded.
    fn accepted(&mut self, setup: &ServerSetup<'_>, block: &Block) -> Option<usize> {
        let decoded = setup.decode().ok()?;
        let ids = (decoded.resource_id_base, decoded.resource_id_mask);
        self.setup.get_or_insert(decoded);
        let number = self.clients.len();
        self.by_base.insert(ids.0, number);
        self.clients.push(ScriptClient {
            connection: block.connection.0,
            order: setup.order,
            ids,
        });
        self.step(block.time, Action::Open(number));
        Some(number)
    }

    fn request(&mut self, request: &Request<'_>, batch: &mut Batch, extensions: &Extensions) {
        let held = request.bytes.len() as u64 + BESIDE;
        self.bytes = self.bytes.saturating_add(held);
        self.is_too_long |= self.bytes > MOST_BYTES || request.wire_len > LONGEST as u64;
        if self.is_too_long {
            return;
        }
        let begin = batch.bytes.len();
        let mut omitted = (request.wire_len as usize).saturating_sub(request.bytes.len());
        let extension = requests::extension(request, extensions);
        let is_input = (extension, request.minor) == XTEST_FAKE_INPUT;
        // On a shared display, the player itself sends the input that the recorded clients received, unless another
        // program would get it.
        self.has_driver |= is_input && !self.is_shared;
        batch.after_all |= is_input || request.major == GRAB_SERVER;
        if matches!(request.major, GRAB_SERVER | UNGRAB_SERVER) && !self.is_shared {
            batch.grabs = Some(request.major == GRAB_SERVER);
        }
        if batch.requests == 0 {
            batch.first = request.sequence.0;
        }
        batch.requests += 1;
        batch.bytes.extend_from_slice(request.bytes);
        let roots = self.setup.iter().flat_map(|setup| &setup.roots);
        let is_root = |window| roots.clone().any(|screen| screen.root == window);
        let now = extensions.by_major(request.major);
        let first = now.map(|now| *self.majors.entry(request.major).or_insert(*now));
        let is_renamed = first.is_some_and(|first| first.name.as_str() != extension);
        // Without BIG-REQUESTS, the display would read the body of a long request as further requests.
        let is_long = request.header_len > 4;
        let is_big = batch.enable.is_some_and(|at| at <= batch.after_reply) || !is_long;
        let changes = || changes_display(request, extensions, extension, is_root);
        let playable = match is_renamed || !is_big || self.is_shared && (is_input || changes()) {
            true => Playable::No,
            false => requests::playable(request, extension),
        };
        match playable {
            Playable::Yes => {
                self.filled_bytes += omitted as u64;
                self.patch(request, batch, begin, extensions);
                self.share(request, batch, begin..batch.bytes.len(), extension);
                batch.is_long |= is_long;
                if (extension, request.wire_len) == ("BIG-REQUESTS", 4) && request.minor == 0 {
                    batch.enable.get_or_insert(request.sequence.0);
                }
                if request.has_reply {
                    batch.asked.push(RepliedRequest {
                        before: (batch.requests - 1) as u32,
                        at: begin as u32,
                    });
                }
            }
            Playable::No => {
                *self.left_out.entry(request.name).or_default() += 1;
                batch.bytes[begin] = NO_OPERATION;
                // The recording of the replay would contain what this one lacks.
                if !is_big || omitted > 0 {
                    omitted = 0;
                    batch.bytes.truncate(begin + 4);
                    batch.bytes[begin + 2..].copy_from_slice(&request.order.u16_bytes(1));
                }
            }
        }
        if omitted > 0 {
            batch.omitted.push((batch.bytes.len(), omitted));
        }
    }

    /// Adds the shared memory segment of an MIT-SHM request to the script, if the request attaches one.
    fn share(
        &mut self,
        request: &Request<'_>,
        batch: &mut Batch,
        bytes: Range<usize>,
        extension: &str,
    ) {
        let setup = self.setup.as_ref().filter(|_| extension == "MIT-SHM");
        let segment = setup.and_then(|setup| self.segments.observe(request, setup));
        let Some(segment) = segment else {
            return;
        };
        match request.minor {
            segments::ATTACH => {
                let at = (bytes.start + request.header_len) as u32 + 4;
                batch.patches.push((at, Patch::Segment(segment)));
            }
            _ => batch.passed.push(Passed { bytes, segment }),
        }
    }

    fn patch(
        &self,
        request: &Request<'_>,
        batch: &mut Batch,
        begin: usize,
        extensions: &Extensions,
    ) {
        let mask = self.clients[batch.client].ids.1;
        let is_atom_pair = |kind| {
            let name = self.atoms.get(&kind);
            name.is_some_and(|name| name == b"ATOM_PAIR")
        };
        let Batch {
            client,
            patches,
            uses,
            ..
        } = batch;
        requests::patches(request, extensions, is_atom_pair, |at, patch| {
            patches.push(((begin + at) as u32, patch));
            if patch == Patch::Id(IdKind::Resource)
                && let Some(id) = request.order.u32(request.bytes, at)
                && let Some(owner) = self.by_base.get(&(id & !mask))
                && owner != client
                && !uses.contains(owner)
            {
                uses.push(*owner);
            }
        });
    }

    fn reply(
        &mut self,
        reply: &Reply<'_>,
        name: Option<Vec<u8>>,
        atom: Option<u32>,
        extensions: &Extensions,
    ) {
        let number = |at| reply.order.u32(reply.bytes, at);
        if let Some(name) = name.filter(|name| !name.is_empty())
            && let Some(atom) = number(8).filter(|atom| *atom != 0)
        {
            self.atoms.insert(atom, name);
        } else if let Some(atom) = atom {
            let len = reply.order.u16(reply.bytes, 8).unwrap_or(0);
            if let Some(name) = reply.bytes.get(32..32 + usize::from(len)) {
                self.atoms.insert(atom, name.to_vec());
            }
        } else if let Some((major, minor)) = reply.opcode
            && let Some(of) = extensions.by_major(major)
            && let of = (of.name.as_str(), minor)
            && (of == QUERY_PICT_FORMATS || SCREEN_RESOURCES.contains(&of))
            && let Ok(decoded) = reply.decode(extensions)
        {
            let (crtcs, outputs, modes) = match decoded {
                Fields::RenderQueryPictFormats(formats) => return self.formats = formats.formats,
                Fields::RandrGetScreenResources(all) => (all.crtcs, all.outputs, all.modes),
                Fields::RandrGetScreenResourcesCurrent(all) => (all.crtcs, all.outputs, all.modes),
                _ => return,
            };
            self.outputs = Outputs {
                crtcs,
                outputs,
                modes,
            };
        }
    }

    /// Stores the symbols in a GetKeyboardMapping reply; `first` is the first keycode.
    fn keyboard(&mut self, reply: &Reply<'_>, first: u8) {
        let per_key = reply.bytes.get(1).map_or(0, |count| usize::from(*count));
        let symbols = reply.bytes.get(32..).unwrap_or_default();
        let keys = symbols.chunks_exact((4 * per_key).max(4));
        for (keycode, symbols) in (first..=u8::MAX).zip(keys) {
            let symbols = (0..per_key).filter_map(|at| reply.order.u32(symbols, 4 * at));
            self.keys
                .entry(keycode)
                .or_insert_with(|| trimmed(symbols.collect()));
        }
    }

    fn event(
        &mut self,
        event: &Event<'_>,
        batch: &mut Batch,
        at: Timestamp,
        extensions: &Extensions,
    ) {
        let xinput = extensions.by_name("XInputExtension").map(|one| one.major);
        if let Some(input) = self.inputs.of(event, xinput) {
            self.step(at, Action::Input(input));
        }
        if let Some(key) = key(event.bytes, event.order, extensions) {
            let time = time(event.bytes, event.order);
            batch.after_events.push(AwaitedEvent {
                name: event.name,
                key,
                time,
            });
        }
    }

    fn finish(mut self, mut extensions: Extensions) -> Result<Script, ReplayError> {
        for first in self.majors.into_values() {
            extensions.insert(first);
        }
        if self.has_driver {
            // The replay includes the client that sent the input, so the player must not send it again.
            self.steps
                .retain(|step| !matches!(step.action, Action::Input(_)));
        }
        Ok(Script {
            setup: self.setup.ok_or(ReplayError::NoClient)?,
            clients: self.clients,
            extensions,
            atoms: self.atoms,
            formats: self.formats,
            outputs: self.outputs,
            keys: self.keys,
            segments: self.segments.finish(),
            steps: self.steps,
            left_out: self.left_out,
            is_shared: self.is_shared,
            filled_bytes: self.filled_bytes,
            errors: self.errors,
        })
    }
}
