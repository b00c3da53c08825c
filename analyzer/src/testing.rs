//! Synthetic traces for tests, built from raw bytes.

use x11prof_trace::{
    Block, ConnectionId, Control, CpuTime, Direction, Joined, Opened, Record, Server, Started,
    Timestamp, Writer,
};

use crate::pipeline::Pipeline;
use crate::profile::Profile;
use crate::recording::trace_summary::TraceSummary;

/// The id of the root window of the synthetic server.
pub const ROOT: u32 = 0x100;
/// The first resource id of the synthetic client.
pub const BASE: u32 = 0x20_0000;
/// The process id of the synthetic server.
pub const SERVER_PID: u32 = 10;
pub const CLIENT_PID: u32 = 20;

/// A trace with one little-endian client, to which methods add records.
pub struct Synthetic {
    pub records: Vec<Record>,
    offsets: [u64; 2],
    now: u64,
}

impl Default for Synthetic {
    fn default() -> Synthetic {
        Synthetic::new()
    }
}

impl Synthetic {
    /// Creates a trace of a client that connected before the recording, and draws after six seconds.
    pub fn joined() -> Synthetic {
        let mut trace = Synthetic::connected_before();
        trace
            .wait(6_000_000)
            .client_sends(&[poly_fill_rectangle(3)]);
        trace.end();
        trace
    }

    /// Creates a trace of a client that connected before the recording.
    pub fn connected_before() -> Synthetic {
        let mut trace = Synthetic::new();
        trace
            .records
            .retain(|record| matches!(record, Record::Control(..)));
        trace.control(Control::Joined(Joined {
            connection: ConnectionId(1),
            ..Joined::default()
        }));
        trace
    }

    /// Creates a trace up to the end of the client's connection setup, which took no time.
    pub fn new() -> Synthetic {
        let mut trace = Synthetic {
            records: Vec::new(),
            offsets: [0, 0],
            now: 1_000_000_000,
        };
        trace.control(Control::Started(Started {
            format: 1,
            recorder: "x11prof test".to_owned(),
            wall_clock_ns: 0,
            command: vec!["xtex".to_owned()],
            cpu_model: String::new(),
            cpus: 1,
            kernel: String::new(),
            full: false,
        }));
        trace.control(Control::Server(Server {
            display: ":1".to_owned(),
            vendor: "Test".to_owned(),
            release: 1,
            depth: 8,
            screen: (640, 480),
            pid: Some(SERVER_PID),
            ..Server::default()
        }));
        trace.control(Control::Opened(Opened {
            connection: ConnectionId(1),
            transport: "unix".to_owned(),
            pid: Some(CLIENT_PID),
            name: Some("xtex".to_owned()),
            command: vec!["xtex".to_owned(), "paper.dvi".to_owned()],
            started_ns: None,
        }));
        trace.client_sends(&[client_setup()]);
        trace.server_sends(&[server_setup()]);
        trace
    }

    /// Advances the time of the trace by this number of microseconds.
    pub fn wait(&mut self, micros: u64) -> &mut Synthetic {
        self.now += micros * 1000;
        self
    }

    /// Adds these messages of the client, in one write.
    pub fn client_sends(&mut self, messages: &[Vec<u8>]) -> &mut Synthetic {
        self.block(Direction::ToServer, &messages.concat())
    }

    /// Adds these messages of the server, in one write.
    pub fn server_sends(&mut self, messages: &[Vec<u8>]) -> &mut Synthetic {
        self.block(Direction::ToClient, &messages.concat())
    }

    pub fn block(&mut self, direction: Direction, bytes: &[u8]) -> &mut Synthetic {
        let offset = &mut self.offsets[usize::from(direction == Direction::ToClient)];
        self.records.push(Record::Block(Block {
            time: Timestamp::from_nanos(self.now),
            connection: ConnectionId(1),
            direction,
            offset: *offset,
            wire_len: bytes.len() as u32,
            fds: 0,
            gaps: Vec::new(),
            bytes: bytes.to_vec().into(),
        }));
        *offset += bytes.len() as u64;
        self
    }

    pub fn control(&mut self, control: Control) -> &mut Synthetic {
        self.records
            .push(Record::Control(Timestamp::from_nanos(self.now), control));
        self
    }

    pub fn cpu_time(&mut self, pid: u32, micros: u64) -> &mut Synthetic {
        self.control(Control::CpuTime(CpuTime {
            pid,
            cpu_ns: micros * 1000,
            voluntary_switches: None,
            involuntary_switches: None,
        }))
    }

    /// Ends the connection and then the recording.
    pub fn end(&mut self) -> &mut Synthetic {
        let connection = ConnectionId(1);
        self.control(Control::Closed {
            connection,
            by: "client".to_owned(),
            why: None,
        });
        self.control(Control::Ended {
            exit_status: Some(0),
        })
    }

    /// The bytes of the trace as a file.
    pub fn file(&self) -> Vec<u8> {
        let (first, rest) = self.records.split_first().unwrap();
        let Record::Control(time, Control::Started(started)) = first else {
            panic!("{first:?}")
        };
        let mut writer = Writer::new(Vec::new(), started.clone(), *time).unwrap();
        for record in rest {
            writer.write(record).unwrap();
        }
        writer.finish().unwrap()
    }

    /// Runs `profile` over the trace, and returns the trace's summary.
    pub fn run(&self, profile: &mut Profile) -> TraceSummary {
        let mut summary = TraceSummary::default();
        let mut pipeline = Pipeline::new();
        pipeline.run_records(self.records.iter().cloned(), |observation| {
            summary.observe(observation);
            profile.observe(observation);
        });
        summary
    }
}

pub fn client_setup() -> Vec<u8> {
    vec![b'l', 0, 11, 0, 0, 0, 0, 0, 0, 0, 0, 0]
}

/// The bytes of a setup with one screen of 640×480 at depth 8.
pub fn server_setup() -> Vec<u8> {
    let mut setup = vec![1, 0, 11, 0, 0, 0, 18, 0];
    for word in [1, BASE, 0x1F_FFFF, 256] {
        put(&mut setup, word);
    }
    // An empty vendor name, requests of up to 65535 units, one screen, no formats.
    setup.extend([0, 0, 0xFF, 0xFF, 1, 0, 0, 0, 32, 32, 8, 255, 0, 0, 0, 0]);
    for word in [ROOT, 0x101, 1, 0, 0, 640 | 480 << 16, 0, 1 | 1 << 16, 0x102] {
        put(&mut setup, word);
    }
    setup.extend([0, 0, 8, 0]);
    setup
}

fn put(bytes: &mut Vec<u8>, word: u32) {
    bytes.extend(word.to_le_bytes());
}

/// The bytes of a request: its major opcode, its second byte, and the words after the header.
pub fn request(major: u8, data: u8, words: &[u32]) -> Vec<u8> {
    let units = (words.len() + 1) as u16;
    let mut bytes = vec![major, data];
    bytes.extend(units.to_le_bytes());
    for word in words {
        put(&mut bytes, *word);
    }
    bytes
}

/// The bytes of a NoOperation request of `units` times 4 bytes.
pub fn no_operation(units: usize) -> Vec<u8> {
    request(127, 0, &vec![0; units - 1])
}

pub fn get_input_focus() -> Vec<u8> {
    request(43, 0, &[])
}

pub fn query_font() -> Vec<u8> {
    request(47, 0, &[BASE + 1])
}

pub fn map_window(window: u32) -> Vec<u8> {
    request(8, 0, &[window])
}

/// The bytes of a PolyFillRectangle request with `count` rectangles of 10×10 on the root window: 12 + 8·count bytes.
pub fn poly_fill_rectangle(count: usize) -> Vec<u8> {
    let mut words = vec![ROOT, BASE + 2];
    for _ in 0..count {
        words.extend([0, 10 | 10 << 16]);
    }
    request(70, 0, &words)
}

/// The bytes of a reply of 32 bytes to the request with this sequence number.
pub fn reply(sequence: u16) -> Vec<u8> {
    let mut bytes = vec![0; 32];
    bytes[0] = 1;
    bytes[2..4].copy_from_slice(&sequence.to_le_bytes());
    bytes
}

/// The bytes of an Expose event after the request with this sequence number.
pub fn expose(sequence: u16) -> Vec<u8> {
    let mut bytes = reply(sequence);
    bytes[0] = 12;
    bytes
}

/// The bytes of a BadWindow error for the request with this sequence number and major opcode.
pub fn bad_window(sequence: u16, major: u8) -> Vec<u8> {
    let mut bytes = reply(sequence);
    (bytes[0], bytes[1], bytes[10]) = (0, 3, major);
    bytes
}
