//! A display with several clients, for tests.

use x11prof_cost_model::ServerParameters;
use x11prof_trace::{
    Block, ConnectionId, Control, Direction, HandlerTime, Opened, Record, Switch, SwitchKind,
    Timestamp,
};

use crate::testing::{BASE, SERVER_PID, Synthetic};

/// The record of a second in the trace's time.
const START: u64 = 1_000_000_000;

/// A trace of several clients, to which methods add records at times in milliseconds after its start.
pub(crate) struct Display {
    pub(crate) records: Vec<Record>,
    offsets: [[u64; 2]; 4],
}

impl Display {
    /// Creates a display to which the clients 1, 2 and 3 are connected.
    pub(crate) fn new() -> Display {
        let mut display = Display {
            records: Synthetic::new().records,
            offsets: [[0; 2]; 4],
        };
        let setups: Vec<(Direction, Vec<u8>)> = display
            .records
            .iter()
            .filter_map(|record| match record {
                Record::Block(block) => Some((block.direction, block.bytes.to_vec())),
                _ => None,
            })
            .collect();
        for (direction, bytes) in &setups {
            display.offsets[1][way(*direction)] = bytes.len() as u64;
        }
        for (client, name) in [(2, "panel"), (3, "editor")] {
            display.control(
                0.0,
                Control::Opened(Opened {
                    connection: ConnectionId(client),
                    transport: "unix".to_owned(),
                    pid: None,
                    name: Some(name.to_owned()),
                    command: Vec::new(),
                    started_ns: None,
                }),
            );
            for (direction, bytes) in &setups {
                display.block(client, 0.0, *direction, bytes);
            }
        }
        display
    }

    /// Creates a display whose server reports handler times. Each client has its own range of resource ids.
    pub(crate) fn timed() -> Display {
        let mut display = Display::new();
        for record in &mut display.records {
            if let Record::Block(block) = record
                && block.direction == Direction::ToClient
            {
                let mut bytes = block.bytes.to_vec();
                let base = block.connection.0 * BASE;
                bytes[12..16].copy_from_slice(&base.to_le_bytes());
                block.bytes = bytes.into();
            }
        }
        let timing = Record::Control(
            at(0.0),
            Control::Timing {
                pid: SERVER_PID,
                why: None,
            },
        );
        // After the server, before the clients.
        display.records.insert(2, timing);
        display
    }

    /// Adds the time of the server's handler for a request of `client` at `ms` (milliseconds): it took `nanos`
    /// nanoseconds.
    pub(crate) fn handled(&mut self, client: u32, ms: f64, sequence: u16, nanos: u64) {
        self.records.push(Record::HandlerTimes(vec![HandlerTime {
            start: at(ms),
            took_ns: nanos,
            client: client as u16,
            sequence,
            count: 1,
        }]));
    }

    pub(crate) fn control(&mut self, ms: f64, control: Control) {
        self.records.push(Record::Control(at(ms), control));
    }

    fn block(&mut self, client: u32, ms: f64, direction: Direction, bytes: &[u8]) {
        let offset = &mut self.offsets[client as usize][way(direction)];
        self.records.push(Record::Block(Block {
            time: at(ms),
            connection: ConnectionId(client),
            direction,
            offset: *offset,
            wire_len: bytes.len() as u32,
            fds: 0,
            gaps: Vec::new(),
            bytes: bytes.to_vec().into(),
        }));
        *offset += bytes.len() as u64;
    }

    pub(crate) fn sends(&mut self, client: u32, ms: f64, message: Vec<u8>) {
        self.block(client, ms, Direction::ToServer, &message);
    }

    pub(crate) fn gets(&mut self, client: u32, ms: f64, message: Vec<u8>) {
        self.block(client, ms, Direction::ToClient, &message);
    }

    /// Adds context switches of the server, which runs in each of these intervals (in milliseconds).
    pub(crate) fn runs(&mut self, runs: &[(f64, f64)]) {
        self.control(
            0.0,
            Control::Capture {
                pid: SERVER_PID,
                capture: "switches".to_owned(),
                why: None,
            },
        );
        for (from, to) in runs {
            self.switch(*from, SwitchKind::In);
            self.switch(*to, SwitchKind::Blocked);
        }
    }

    pub(crate) fn switch(&mut self, ms: f64, kind: SwitchKind) {
        self.records.push(Record::Schedule(vec![Switch {
            time: at(ms),
            pid: SERVER_PID,
            tid: SERVER_PID,
            cpu: 0,
            kind,
        }]));
    }
}

/// A cost table in which ten rectangles of 10×10 take 90 ms, and other requests have no cost.
pub(crate) fn costs() -> ServerParameters {
    ServerParameters::from_toml(
        "format = 1\n[server]\nname = \"it\"\n[[request]]\nname = \"PolyFillRectangle\"\n\
         points = [{ size = 100.0, cpu_us = 9000.0 }]\n",
    )
    .unwrap()
}

fn way(direction: Direction) -> usize {
    usize::from(direction == Direction::ToClient)
}

fn at(ms: f64) -> Timestamp {
    Timestamp::from_nanos(START + (ms * 1e6) as u64)
}
