//! A simulated server with a fixed response to each request.

use x11prof_protocol::ByteOrder;

/// A request, chosen by the server's response.
#[derive(Debug, Clone, Copy)]
pub(super) enum ScriptedRequest {
    /// InternAtom of the name with this number; true for only-if-exists.
    Atom(u8, bool),
    /// QueryExtension for the extension with this number.
    Extension(u8),
    /// ChangeWindowAttributes with N units of 4 bytes after the header. The request causes no reply and no error.
    Void(u8),
    /// A ChangeWindowAttributes request that causes an error.
    Fails,
    NoOperation(u8),
    /// GetInputFocus.
    Sync,
    /// GetImage, whose reply has N units of 4 bytes more than 32 bytes.
    Long(u8),
    /// ListFontsWithInfo, which has N + 1 replies.
    Fonts(u8),
    /// PutImage with a 32-bit length (BIG-REQUESTS) of N units of 4 bytes.
    Big(u8),
    /// RANDR GetScreenResources.
    Screen,
}

/// A byte order, in which messages are encoded.
#[derive(Clone, Copy)]
pub(super) struct Order(pub(super) ByteOrder);

impl Order {
    pub(super) fn u16(self, n: u16) -> [u8; 2] {
        match self.0 {
            ByteOrder::Little => n.to_le_bytes(),
            ByteOrder::Big => n.to_be_bytes(),
        }
    }

    pub(super) fn u32(self, n: u32) -> [u8; 4] {
        match self.0 {
            ByteOrder::Little => n.to_le_bytes(),
            ByteOrder::Big => n.to_be_bytes(),
        }
    }

    pub(super) fn request(self, major: u8, data: u8, body: &[u8]) -> Vec<u8> {
        let mut bytes = vec![major, data];
        bytes.extend(self.u16(1 + (body.len() / 4) as u16));
        bytes.extend(body);
        bytes
    }

    fn named(self, major: u8, data: u8, name: u8) -> Vec<u8> {
        let name = vec![b'a' + name; usize::from(name) + 1];
        let mut body = self.u16(name.len() as u16).to_vec();
        body.extend([7, 9]);
        body.extend(&name);
        body.resize(body.len().next_multiple_of(4), 5);
        self.request(major, data, &body)
    }

    pub(super) fn bytes(self, asked: ScriptedRequest) -> Vec<u8> {
        match asked {
            ScriptedRequest::Atom(name, only) => self.named(16, u8::from(only), name),
            ScriptedRequest::Extension(name) => self.named(98, 0, name),
            ScriptedRequest::Void(units) => self.request(2, 1, &vec![1; 4 * usize::from(units)]),
            ScriptedRequest::Fails => self.request(2, 0, &[0; 8]),
            ScriptedRequest::NoOperation(units) => {
                self.request(127, 0, &vec![2; 4 * usize::from(units)])
            }
            ScriptedRequest::Sync => self.request(43, 0, &[]),
            ScriptedRequest::Long(units) => self.request(73, units, &[3; 16]),
            ScriptedRequest::Fonts(replies) => self.request(50, replies, &[4; 4]),
            ScriptedRequest::Big(units) => {
                let mut bytes = vec![72, 0, 0, 0];
                bytes.extend(self.u32(u32::from(units)));
                bytes.resize(4 * usize::from(units), 16);
                bytes
            }
            ScriptedRequest::Screen => self.request(140, 8, &[6; 4]),
        }
    }
}

/// A simulated server. Atoms with odd numbers exist from the beginning.
pub(super) struct Server {
    pub(super) order: Order,
    pub(super) number: u64,
    pub(super) atoms: Vec<u8>,
    pub(super) come: Vec<u8>,
    pub(super) said: Vec<u8>,
    /// The requests in the order of arrival.
    pub(super) got: Vec<Vec<u8>>,
}

impl Server {
    /// A server that has handled `number` requests.
    pub(super) fn after(order: Order, number: u64) -> Server {
        let mut said = vec![1, 0];
        said.extend(order.u16(11));
        said.extend(order.u16(0));
        said.extend(order.u16(5));
        said.extend([1; 20]);
        Server {
            order,
            number,
            atoms: vec![1, 3, 5],
            come: Vec::new(),
            said,
            got: Vec::new(),
        }
    }

    fn message(&mut self, code: u8, data: u8, word: u32, more: usize) {
        let more_units = (more / 4) as u32;
        let mut bytes = vec![code, data];
        bytes.extend(self.order.u16(self.number as u16));
        bytes.extend(self.order.u32(more_units));
        bytes.extend(self.order.u32(word));
        bytes.resize(32 + more, 0x40 + data);
        self.said.extend(bytes);
    }

    /// Sends an event that no request caused.
    pub(super) fn event(&mut self, generic: bool) {
        match generic {
            true => self.message(35, 130, 8, 12),
            false => self.message(12, 0, 77, 0),
        }
    }

    /// Handles one request, if all its bytes have arrived. Returns false otherwise.
    pub(super) fn step(&mut self) -> bool {
        let order = self.order;
        let Some(units) = order.0.u16(&self.come, 2) else {
            return false;
        };
        let len = match units {
            0 => order.0.u32(&self.come, 4).map(|units| 4 * units as usize),
            units => Some(4 * usize::from(units)),
        };
        let Some(len) = len.filter(|len| *len <= self.come.len()) else {
            return false;
        };
        let rest = self.come.split_off(len);
        let request = std::mem::replace(&mut self.come, rest);
        self.number += 1;
        let name = request.get(8).map_or(0, |first| first.wrapping_sub(b'a'));
        match (request[0], request[1]) {
            (16, only) => {
                if only == 0 && !self.atoms.contains(&name) {
                    self.atoms.push(name);
                }
                let known = self.atoms.contains(&name);
                let atom = if known { 100 + u32::from(name) } else { 0 };
                self.message(1, 0, atom, 0);
            }
            (98, _) => self.message(1, 0, u32::from(name) << 8, 0),
            (2, 0) => self.message(0, 3, 0xBAD, 0),
            (43, _) => self.message(1, 1, 2, 0),
            (73, units) => self.message(1, 24, 3, 4 * usize::from(units)),
            (50, replies) => (0..=replies).for_each(|_| self.message(1, 5, 6, 28)),
            (140, 8 | 25) => self.message(1, 0, 1280, 8),
            (2 | 72 | 127, _) => {}
            other => panic!("{other:?}"),
        }
        self.got.push(request);
        true
    }
}
