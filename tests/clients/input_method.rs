//! A small input method (X Input Method Protocol 1.0 over X, transport 0.0): it sleeps for each key that a client
//! forwards, and sends the key back.
//!
//!     input_method MS
//!
//! Clients use it with `XMODIFIERS=@im=x11prof`. It implements only what Xlib requests, for clients of its own byte
//! order.
#![allow(clippy::print_stdout, reason = "a program for tests")]

use std::collections::HashMap;
use std::error::Error;
use std::time::Duration;

use x11rb::connection::Connection;
use x11rb::protocol::Event;
use x11rb::protocol::xproto::{
    Atom, AtomEnum, ClientMessageData, ClientMessageEvent, ConnectionExt as _, CreateWindowAux,
    EventMask, PropMode, SELECTION_NOTIFY_EVENT, SelectionNotifyEvent, SelectionRequestEvent,
    Window, WindowClass,
};
use x11rb::rust_connection::RustConnection;
use x11rb::wrapper::ConnectionExt as _;

type Outcome<T> = Result<T, Box<dyn Error>>;

x11rb::atom_manager! {
    Atoms: AtomsCookie {
        XIM_SERVERS,
        SERVER: b"@server=x11prof",
        LOCALES,
        TRANSPORT,
        _XIM_XCONNECT,
        _XIM_PROTOCOL,
        BUFFER: b"_X11PROF_INPUT_METHOD",
    }
}

/// Attributes of an input context: number, type (CARD32, WINDOW), name.
const CONTEXT: [(u16, u16, &str); 4] = [
    (1, 3, "inputStyle"),
    (2, 5, "clientWindow"),
    (3, 5, "focusWindow"),
    (4, 3, "filterEvents"),
];
/// XIMPreeditNothing and XIMStatusNothing.
const STYLE: u32 = 0x408;

struct Method {
    x: RustConnection,
    atoms: Atoms,
    /// The clients' windows, by the corresponding window of the input method.
    clients: HashMap<Window, Window>,
    delay: Duration,
}

fn main() -> Outcome<()> {
    let ms = std::env::args().nth(1).ok_or("usage: input_method MS")?;
    let (x, number) = x11rb::connect(None)?;
    let root = x.setup().roots.get(number).ok_or("no such screen")?.root;
    let atoms = Atoms::new(&x)?.reply()?;
    let window = window(&x, root)?;
    x.set_selection_owner(window, atoms.SERVER, x11rb::CURRENT_TIME)?;
    let (mode, kind) = (PropMode::REPLACE, AtomEnum::ATOM);
    x.change_property32(mode, root, atoms.XIM_SERVERS, kind, &[atoms.SERVER])?;
    x.sync()?;
    println!("ready 0x{window:x}");
    let mut method = Method {
        x,
        atoms,
        clients: HashMap::new(),
        delay: Duration::from_millis(ms.parse()?),
    };
    loop {
        match method.x.wait_for_event()? {
            Event::SelectionRequest(asked) => method.describe(&asked)?,
            Event::ClientMessage(message) => method.message(root, &message)?,
            _ => {}
        }
    }
}

fn window(x: &RustConnection, root: Window) -> Outcome<Window> {
    let window = x.generate_id()?;
    let (class, wants) = (WindowClass::INPUT_ONLY, CreateWindowAux::new());
    x.create_window(0, window, root, 0, 0, 1, 1, 0, class, 0, &wants)?;
    Ok(window)
}

fn padded(mut bytes: Vec<u8>) -> Vec<u8> {
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    bytes
}

fn shorts(values: &[u16]) -> Vec<u8> {
    values
        .iter()
        .flat_map(|value| value.to_ne_bytes())
        .collect()
}

/// XIMATTR and XICATTR: number, type, length of the name, name.
fn attribute((number, kind, name): (u16, u16, &str)) -> Vec<u8> {
    let mut bytes = shorts(&[number, kind, name.len() as u16]);
    bytes.extend_from_slice(name.as_bytes());
    padded(bytes)
}

fn short(bytes: &[u8], at: usize) -> u16 {
    let two = bytes.get(at..at + 2).and_then(|two| two.try_into().ok());
    two.map_or(0, u16::from_ne_bytes)
}

impl Method {
    /// Replies with the supported locales and transports.
    fn describe(&self, asked: &SelectionRequestEvent) -> Outcome<()> {
        let text: &[u8] = match asked.target {
            target if target == self.atoms.LOCALES => b"@locale=C,POSIX,en_US.UTF-8,C.UTF-8",
            _ => b"@transport=X/",
        };
        let (mode, to) = (PropMode::REPLACE, asked.requestor);
        self.x
            .change_property8(mode, to, asked.property, asked.target, text)?;
        let notify = SelectionNotifyEvent {
            response_type: SELECTION_NOTIFY_EVENT,
            sequence: 0,
            time: asked.time,
            requestor: to,
            selection: asked.selection,
            target: asked.target,
            property: asked.property,
        };
        self.x.send_event(false, to, EventMask::NO_EVENT, notify)?;
        Ok(self.x.flush()?)
    }

    fn message(&mut self, root: Window, message: &ClientMessageEvent) -> Outcome<()> {
        if message.type_ == self.atoms._XIM_XCONNECT {
            let [client, ..] = message.data.as_data32();
            let own = window(&self.x, root)?;
            self.clients.insert(own, client);
            // Transport 0.0: longer packets than 20 bytes are properties.
            let answer = ClientMessageEvent::new(32, client, message.type_, [own, 0, 0, 20, 0]);
            self.x
                .send_event(false, client, EventMask::NO_EVENT, answer)?;
            return Ok(self.x.flush()?);
        }
        if message.type_ != self.atoms._XIM_PROTOCOL {
            return Ok(());
        }
        let Some(client) = self.clients.get(&message.window).copied() else {
            return Ok(());
        };
        let packet = if message.format == 8 {
            message.data.as_data8().to_vec()
        } else {
            let [length, property, ..] = message.data.as_data32();
            let (of, any) = (message.window, AtomEnum::ANY);
            let reply = self
                .x
                .get_property(true, of, property as Atom, any, 0, length)?;
            reply.reply()?.value
        };
        self.packet(client, &packet)
    }

    fn packet(&mut self, client: Window, packet: &[u8]) -> Outcome<()> {
        let (method, context) = (short(packet, 4), short(packet, 6));
        match packet.first() {
            // XIM_CONNECT: version 1.0.
            Some(1) => self.answer(client, 2, &shorts(&[1, 0])),
            // XIM_OPEN
            Some(30) => {
                let known = attribute((1, 10, "queryInputStyle"));
                let of_context: Vec<u8> = CONTEXT.into_iter().flat_map(attribute).collect();
                let mut body = shorts(&[1, known.len() as u16]);
                body.extend(known);
                body.extend(shorts(&[of_context.len() as u16, 0]));
                body.extend(of_context);
                self.answer(client, 31, &body)
            }
            // XIM_CLOSE
            Some(32) => self.answer(client, 33, &shorts(&[method, 0])),
            // XIM_ENCODING_NEGOTIATION: the first.
            Some(38) => self.answer(client, 39, &shorts(&[method, 0, 0, 0])),
            // XIM_QUERY_EXTENSION: none.
            Some(40) => self.answer(client, 41, &shorts(&[method, 0])),
            // XIM_GET_IM_VALUES: the styles.
            Some(44) => {
                let mut body = shorts(&[method, 12, 1, 8, 1, 0]);
                body.extend(STYLE.to_ne_bytes());
                self.answer(client, 45, &body)
            }
            // XIM_CREATE_IC, and XIM_SET_EVENT_MASK: forward key presses.
            Some(50) => {
                let mut mask = shorts(&[method, 1]);
                mask.extend(1_u32.to_ne_bytes());
                mask.extend(0_u32.to_ne_bytes());
                self.answer(client, 51, &shorts(&[method, 1]))?;
                self.answer(client, 37, &mask)
            }
            // XIM_DESTROY_IC, XIM_SET_IC_VALUES
            Some(52) => self.answer(client, 53, &shorts(&[method, context])),
            Some(54) => self.answer(client, 55, &shorts(&[method, context])),
            // XIM_GET_IC_VALUES: which events it filters.
            Some(56) => {
                let mut body = shorts(&[method, context, 8, 0, 4, 4]);
                body.extend(1_u32.to_ne_bytes());
                self.answer(client, 57, &body)
            }
            // XIM_FORWARD_EVENT: sleep and send the event back.
            Some(60) => {
                std::thread::sleep(self.delay);
                if short(packet, 8) & 1 != 0 {
                    self.answer(client, 62, &shorts(&[method, context]))?;
                }
                let mut body = shorts(&[method, context, 0]);
                body.extend_from_slice(packet.get(10..44).unwrap_or_default());
                self.answer(client, 60, &body)
            }
            // XIM_SYNC
            Some(61) => self.answer(client, 62, &shorts(&[method, context])),
            _ => Ok(()),
        }
    }

    /// Sends a packet in a message, or in a property if it is longer than a message.
    fn answer(&self, client: Window, opcode: u8, body: &[u8]) -> Outcome<()> {
        let mut packet = vec![opcode, 0];
        packet.extend(shorts(&[body.len().div_ceil(4) as u16]));
        packet.extend_from_slice(body);
        let packet = padded(packet);
        let (format, data) = match <[u8; 20]>::try_from(padded_to_message(&packet)) {
            Ok(bytes) => (8, ClientMessageData::from(bytes)),
            Err(_) => {
                let (mode, kind) = (PropMode::APPEND, AtomEnum::STRING);
                let property = self.atoms.BUFFER;
                self.x
                    .change_property8(mode, client, property, kind, &packet)?;
                let data = [packet.len() as u32, property, 0, 0, 0];
                (32, ClientMessageData::from(data))
            }
        };
        let message = ClientMessageEvent::new(format, client, self.atoms._XIM_PROTOCOL, data);
        self.x
            .send_event(false, client, EventMask::NO_EVENT, message)?;
        Ok(self.x.flush()?)
    }
}

/// Pads a short packet to the size of a message.
fn padded_to_message(packet: &[u8]) -> Vec<u8> {
    let mut bytes = packet.to_vec();
    bytes.resize(bytes.len().max(20), 0);
    bytes
}
