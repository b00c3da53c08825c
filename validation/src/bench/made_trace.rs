//! Synthetic traces of any length: clients that connect, draw, and make round trips.

use std::fs::File;
use std::io::BufWriter;
use std::path::Path;

use x11prof_trace::{
    Block, ConnectionId, Control, Direction, Opened, Record, Server, Started, Timestamp, Writer,
};

/// The root window, and the number of ids of each client.
const ROOT: u32 = 0x100;
const IDS: u32 = 1 << 18;
/// A block is written when it reaches this many bytes.
const BLOCK: usize = 16_000;

/// A client of the trace.
pub(super) struct Client {
    connection: ConnectionId,
    offsets: [u64; 2],
    sequence: u64,
    bytes: Vec<u8>,
}

/// A trace under construction.
pub(super) struct MadeTrace {
    writer: Writer<BufWriter<File>>,
    now: u64,
    clients: u32,
}

impl MadeTrace {
    /// Creates a trace at `path`. `number` distinguishes it from other traces.
    pub(super) fn create(path: &Path, number: u64) -> Result<MadeTrace, String> {
        let file = File::create(path).map_err(|error| error.to_string())?;
        let now = Timestamp::from_nanos(1_000_000_000);
        let started = Started {
            format: 1,
            recorder: "x11prof bench".to_owned(),
            wall_clock_ns: 1_700_000_000_000_000_000 + number * 1_000_000_000,
            command: vec!["made".to_owned()],
            cpu_model: String::new(),
            cpus: 1,
            kernel: String::new(),
            full: false,
        };
        let writer = Writer::new(BufWriter::new(file), started, now).map_err(text)?;
        let mut trace = MadeTrace {
            writer,
            now: now.as_nanos(),
            clients: 0,
        };
        trace.control(&Control::Server(Server {
            display: ":1".to_owned(),
            vendor: "Made".to_owned(),
            release: 1,
            depth: 24,
            screen: (1920, 1080),
            ..Server::default()
        }))?;
        Ok(trace)
    }

    /// Adds a new client, with a mapped window of 100×100 pixels and a graphics context.
    pub(super) fn connect(&mut self) -> Result<Client, String> {
        self.clients += 1;
        let connection = ConnectionId(self.clients);
        self.control(&Control::Opened(Opened {
            connection,
            transport: "unix".to_owned(),
            pid: Some(1000 + self.clients),
            name: Some("made".to_owned()),
            command: vec!["made".to_owned()],
            started_ns: None,
        }))?;
        let mut client = Client {
            connection,
            offsets: [0, 0],
            sequence: 0,
            bytes: vec![b'l', 0, 11, 0, 0, 0, 0, 0, 0, 0, 0, 0],
        };
        self.send(&mut client)?;
        let setup = setup(client.base());
        self.answer(&mut client, &setup)?;
        client.window(0);
        client.request(55, 0, &[client.base() + 1, client.base() + 2, 0]);
        self.send(&mut client)?;
        Ok(client)
    }

    /// Adds a GetInputFocus and its reply.
    pub(super) fn ask(&mut self, client: &mut Client) -> Result<(), String> {
        client.request(43, 0, &[]);
        self.send(client)?;
        let mut reply = [0; 32];
        reply[0] = 1;
        reply[2..4].copy_from_slice(&(client.sequence as u16).to_le_bytes());
        self.answer(client, &reply)
    }

    /// Adds a key press to which the client responds by drawing 200 ms later.
    pub(super) fn key_press(&mut self, client: &mut Client, keycode: u8) -> Result<(), String> {
        self.now += 2_000_000_000;
        let mut event = [0; 32];
        (event[0], event[1]) = (2, keycode);
        event[2..4].copy_from_slice(&(client.sequence as u16).to_le_bytes());
        event[8..12].copy_from_slice(&ROOT.to_le_bytes());
        event[12..16].copy_from_slice(&(client.base() + 2).to_le_bytes());
        self.answer(client, &event)?;
        self.now += 200_000_000;
        client.fill(0);
        self.send(client)
    }

    /// Writes the client's requests if they fill a block.
    pub(super) fn send_if_full(&mut self, client: &mut Client) -> Result<(), String> {
        match client.bytes.len() >= BLOCK {
            true => self.send(client),
            false => Ok(()),
        }
    }

    fn send(&mut self, client: &mut Client) -> Result<(), String> {
        let bytes = std::mem::take(&mut client.bytes);
        self.block(client, Direction::ToServer, bytes)
    }

    fn answer(&mut self, client: &mut Client, bytes: &[u8]) -> Result<(), String> {
        self.block(client, Direction::ToClient, bytes.to_vec())
    }

    fn block(
        &mut self,
        client: &mut Client,
        direction: Direction,
        bytes: Vec<u8>,
    ) -> Result<(), String> {
        self.now += 50_000;
        let offset = &mut client.offsets[usize::from(direction == Direction::ToClient)];
        let block = Block {
            time: Timestamp::from_nanos(self.now),
            connection: client.connection,
            direction,
            offset: *offset,
            wire_len: bytes.len() as u32,
            fds: 0,
            gaps: Vec::new(),
            bytes: bytes.into(),
        };
        *offset += u64::from(block.wire_len);
        self.writer.write(&Record::Block(block)).map_err(text)
    }

    /// Disconnects the client.
    pub(super) fn close(&mut self, mut client: Client) -> Result<(), String> {
        self.send(&mut client)?;
        self.control(&Control::Closed {
            connection: client.connection,
            by: "client".to_owned(),
            why: None,
        })
    }

    /// Ends the trace.
    pub(super) fn end(mut self) -> Result<(), String> {
        self.control(&Control::Ended {
            exit_status: Some(0),
        })?;
        self.writer.finish().map(drop).map_err(text)
    }

    fn control(&mut self, control: &Control) -> Result<(), String> {
        let now = Timestamp::from_nanos(self.now);
        self.writer.write_control(now, control).map_err(text)
    }
}

impl Client {
    fn base(&self) -> u32 {
        (1 + self.connection.0 % 1999) * IDS
    }

    fn request(&mut self, major: u8, data: u8, words: &[u32]) {
        self.sequence += 1;
        self.bytes.extend([major, data]);
        self.bytes.extend((words.len() as u16 + 1).to_le_bytes());
        for word in words {
            self.bytes.extend(word.to_le_bytes());
        }
    }

    /// Adds CreateWindow and MapWindow for the window with this number.
    pub(super) fn window(&mut self, number: u32) {
        let id = self.base() + 2 + number;
        self.request(1, 0, &[id, ROOT, 0, 100 | 100 << 16, 1 << 16, 0, 0]);
        self.request(8, 0, &[id]);
    }

    /// Adds DestroyWindow for the window with this number.
    pub(super) fn destroy(&mut self, number: u32) {
        self.request(4, 0, &[self.base() + 2 + number]);
    }

    /// Adds PolyFillRectangle with 10×10 pixels in the window with this number.
    pub(super) fn fill(&mut self, number: u32) {
        let base = self.base();
        self.request(70, 0, &[base + 2 + number, base + 1, 0, 10 | 10 << 16]);
    }

    /// Adds a NoOperation.
    pub(super) fn nothing(&mut self) {
        self.request(127, 0, &[]);
    }
}

fn text(error: impl ToString) -> String {
    error.to_string()
}

/// A setup reply with one screen of depth 24, and ids from `base` on.
fn setup(base: u32) -> Vec<u8> {
    let mut setup = vec![1, 0, 11, 0, 0, 0, 18, 0];
    let mut put = |words: &[u32]| {
        for word in words {
            setup.extend(word.to_le_bytes());
        }
    };
    put(&[1, base, IDS - 1, 256]);
    // No vendor, requests of up to 65535 units, one screen, no formats.
    put(&[0xFFFF << 16, 1, 32 | 32 << 8 | 8 << 16 | 255 << 24, 0]);
    put(&[
        ROOT,
        0x101,
        1,
        0,
        0,
        1920 | 1080 << 16,
        0,
        1 | 1 << 16,
        0x102,
    ]);
    setup.extend([0, 0, 24, 0]);
    setup
}
