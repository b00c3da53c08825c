//! A trace with a record of every kind, and ways to read one.

use x11prof_trace::{
    Block, ConnectionId, Control, CpuTime, Direction, ExtensionOpcodes, FORMAT, Gap, HandlerTime,
    Opened, Reader, Record, Server, Started, Switch, SwitchKind, Timestamp, TraceError, WaitPeer,
    Waiting, Writer,
};

pub(crate) fn at(nanos: u64) -> Timestamp {
    Timestamp::from_nanos(nanos)
}

pub(crate) fn started() -> Started {
    Started {
        format: FORMAT,
        recorder: "x11prof 0.0".to_owned(),
        wall_clock_ns: 1_700_000_000_000_000_000,
        command: vec!["xterm".to_owned(), "-e".to_owned(), "ls".to_owned()],
        cpu_model: "a processor".to_owned(),
        cpus: 2,
        kernel: "Linux 6.1".to_owned(),
        full: false,
    }
}

/// One record of every kind, after `started`.
pub(crate) fn records() -> Vec<Record> {
    let controls = [
        Control::Server(Server {
            display: ":7".to_owned(),
            vendor: "The X.Org Foundation".to_owned(),
            release: 12_101_007,
            depth: 24,
            screen: (1280, 1024),
            executable: Some("/usr/bin/Xvfb".to_owned()),
            arguments: vec![":7".to_owned(), "-auth".to_owned(), String::new()],
            pid: Some(41),
        }),
        Control::Extensions {
            extensions: vec![ExtensionOpcodes {
                name: "RENDER".to_owned(),
                major: 139,
                first_event: 0,
                first_error: 142,
            }],
        },
        Control::Opened(Opened {
            connection: ConnectionId(1),
            transport: "unix".to_owned(),
            pid: Some(42),
            name: Some("xterm".to_owned()),
            command: vec!["xterm".to_owned()],
            started_ns: None,
        }),
        Control::Moved {
            connection: ConnectionId(1),
            pid: 43,
        },
        Control::CpuTime(CpuTime {
            pid: 41,
            cpu_ns: 123_456_789,
            voluntary_switches: Some(611),
            involuntary_switches: None,
        }),
        Control::Waiting(Waiting {
            pid: 42,
            tid: 43,
            since_ns: 99,
            syscall: -1,
            wait_channel: None,
            arguments: vec![0x7f00, 0x189],
            peer: Some(WaitPeer {
                pid: 50,
                name: "daemon".to_owned(),
                stopped: true,
            }),
        }),
        Control::Stalled {
            connection: ConnectionId(1),
            since_ns: 98,
            cause: "peer".to_owned(),
        },
        Control::Capture {
            pid: 41,
            capture: "none".to_owned(),
            why: Some("not permitted".to_owned()),
        },
        Control::Timing {
            pid: 41,
            why: Some("not exported".to_owned()),
        },
        Control::Mark {
            text: "\"now\"\n".to_owned(),
        },
        Control::Trouble {
            what: "none really".to_owned(),
        },
        Control::Closed {
            connection: ConnectionId(1),
            by: "client".to_owned(),
            why: None,
        },
        Control::Ended {
            exit_status: Some(0),
        },
    ];
    let mut records: Vec<Record> = controls
        .into_iter()
        .zip(10..)
        .map(|(control, time)| Record::Control(at(time), control))
        .collect();
    records.insert(3, Record::Block(block(Direction::ToServer, 0)));
    records.insert(4, Record::Block(block(Direction::ToClient, 1 << 62)));
    records.insert(
        5,
        Record::Schedule(vec![
            switch(7, SwitchKind::In),
            switch(8, SwitchKind::Blocked),
            switch(6, SwitchKind::Preempted),
        ]),
    );
    records.insert(
        6,
        Record::HandlerTimes(vec![HandlerTime {
            start: at(9),
            took_ns: 1234,
            client: 3,
            sequence: 0xFFFF,
            count: 2,
        }]),
    );
    records
}

pub(crate) fn block(direction: Direction, offset: u64) -> Block {
    Block {
        time: at(12),
        connection: ConnectionId(1),
        direction,
        offset,
        wire_len: 10_006,
        fds: 2,
        gaps: vec![
            Gap { at: 3, len: 5000 },
            Gap {
                at: 5006,
                len: 5000,
            },
        ],
        bytes: b"abcdef".as_slice().into(),
    }
}

fn switch(time: u64, kind: SwitchKind) -> Switch {
    Switch {
        time: at(time),
        pid: 42,
        tid: 43,
        cpu: 1,
        kind,
    }
}

/// A trace of `records`, with a flush after every fourth record.
pub(crate) fn trace(records: &[Record]) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new(), started(), at(5)).unwrap();
    for (record, n) in records.iter().zip(1..) {
        writer.write(record).unwrap();
        if n % 4 == 0 {
            writer.flush().unwrap();
        }
    }
    writer.finish().unwrap()
}

/// All records, `started` first, and how the reading ended: complete or not, or the error.
pub(crate) fn read(file: &[u8]) -> (Vec<Record>, Result<bool, TraceError>) {
    let mut records = Vec::new();
    let mut reader = match Reader::new(file) {
        Ok(reader) => reader,
        Err(error) => return (records, Err(error)),
    };
    let end = loop {
        match reader.next() {
            Ok(Some(record)) => records.push(record),
            Ok(None) => break Ok(reader.is_complete()),
            Err(error) => {
                assert!(matches!(reader.next(), Ok(None)), "an error is the end");
                break Err(error);
            }
        }
    };
    (records, end)
}

/// The result of [`read`] for a whole trace of `records`.
pub(crate) fn with_started(records: &[Record]) -> Vec<Record> {
    let mut all = vec![Record::Control(at(5), Control::Started(started()))];
    all.extend_from_slice(records);
    all
}
