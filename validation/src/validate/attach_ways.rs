//! `cargo xtask validate attach ways`: the minimum server CPU overhead of several ways to attach through RECORD, with
//! fewer requested messages or another way of reading, without any other part of x11prof.

use std::io::Read;
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::thread::JoinHandle;
use std::time::Duration;

use x11rb::connection::Connection;
use x11rb::protocol::record::{
    CS, ConnectionExt as _, ExtRange, HType, Range, Range8, Range16, enable_context,
};
use x11rb::rust_connection::{DefaultStream, RustConnection};

use super::attach::{Attached, LOADS, Load, PAIRS, Recorder, once};
use super::{quantile, reported};
use xtask::packages::{DEMO, TEST, ensure};
use xtask::run::{cargo, run, target};

/// The pause between two reads, as in x11prof's recorder.
const REST: Duration = Duration::from_millis(1);

/// A way to attach.
#[derive(Clone, Copy)]
struct Way {
    name: &'static str,
    range: fn() -> Range,
    /// The pause after each read. With `None` the reader reads as soon as bytes arrive.
    rest: Option<Duration>,
}

const WAYS: [Way; 5] = [
    Way {
        name: "clients that come and go",
        range: comings,
        rest: Some(REST),
    },
    Way {
        name: "device events",
        range: device_events,
        rest: Some(REST),
    },
    Way {
        name: "requests",
        range: requests,
        rest: Some(REST),
    },
    Way {
        name: "everything",
        range: everything,
        rest: Some(REST),
    },
    Way {
        name: "everything, read at once",
        range: everything,
        rest: None,
    },
];

/// Measures all ways in alternation, for typical programs.
pub(super) fn validate() -> Result<(), String> {
    ensure(&[DEMO, TEST])?;
    run(cargo().args(["build", "--release", "--locked", "--bin", "x11prof"]))?;
    let folder = target().join("validate/attach");
    std::fs::create_dir_all(&folder).map_err(reported)?;
    let trace = folder.join("trace.mcap");
    println!("| load | way | more, median (quarters of {PAIRS} rounds) |");
    println!("|---|---|---:|");
    for load in LOADS.iter().filter(|load| load.usual) {
        // The first run fills caches.
        plain(load)?;
        let mut more = vec![Vec::new(); WAYS.len() + 1];
        for _ in 0..PAIRS {
            let without = plain(load)?;
            for (way, more) in WAYS.iter().zip(&mut more) {
                let took = once(load, |display| Context::enable(display, *way).map(Some))?;
                more.push(took.load / without - 1.0);
            }
            let took = once(load, |display| Recorder::attach(display, &trace).map(Some))?;
            more[WAYS.len()].push(took.load / without - 1.0);
        }
        let names = WAYS
            .iter()
            .map(|way| way.name)
            .chain(["x11prof record --attach"]);
        for (name, more) in names.zip(&more) {
            let [low, middle, high] = [0.25, 0.5, 0.75].map(|part| quantile(more, part) * 100.0);
            println!(
                "| {} | {name} | {middle:.1} % ({low:.1} to {high:.1}) |",
                load.name
            );
        }
    }
    Ok(())
}

/// The server's CPU time in milliseconds without a recorder.
fn plain(load: &Load) -> Result<f64, String> {
    Ok(once::<Context>(load, |_| Ok(None))?.load)
}

/// An enabled context.
struct Context {
    /// The connection that created the context. The context exists as long as the connection.
    _control: RustConnection,
    data: UnixStream,
    reads: JoinHandle<()>,
}

impl Context {
    fn enable(display: &str, way: Way) -> Result<Context, String> {
        let (control, _) = RustConnection::connect(Some(display)).map_err(reported)?;
        let id = control.generate_id().map_err(reported)?;
        let header =
            HType::FROM_SERVER_TIME | HType::FROM_CLIENT_TIME | HType::FROM_CLIENT_SEQUENCE;
        let (all, range) = ([CS::ALL_CLIENTS.into()], [(way.range)()]);
        let made = control.record_create_context(id, header.into(), &all, &range);
        made.map_err(reported)?.check().map_err(reported)?;
        let number = display.trim_start_matches(':');
        let socket = format!("/tmp/.X11-unix/X{number}");
        let stream = UnixStream::connect(socket).map_err(reported)?;
        let mut data = stream.try_clone().map_err(reported)?;
        let (stream, _) = DefaultStream::from_unix_stream(stream).map_err(reported)?;
        let connection = RustConnection::connect_to_stream(stream, 0).map_err(reported)?;
        // The connection is dropped with the thread. Data is read directly from its socket.
        let asked = enable_context(&connection, id).map(|cookie| cookie.sequence_number());
        asked.map_err(reported)?;
        connection.flush().map_err(reported)?;
        let mut reader = data.try_clone().map_err(reported)?;
        reader.set_nonblocking(false).map_err(reported)?;
        let mut first = [0; 32];
        data.read_exact(&mut first).map_err(reported)?;
        let reads = std::thread::spawn(move || {
            let _connection = connection;
            let mut room = vec![0; 1 << 20];
            while reader.read(&mut room).is_ok_and(|len| len > 0) {
                if let Some(rest) = way.rest {
                    std::thread::sleep(rest);
                }
            }
        });
        Ok(Context {
            _control: control,
            data,
            reads,
        })
    }
}

impl Attached for Context {
    fn end(self) -> Result<Option<f64>, String> {
        self.data.shutdown(Shutdown::Both).map_err(reported)?;
        let read = self.reads.join();
        read.map(|_| None)
            .map_err(|_| "a reader broke off".to_owned())
    }
}

fn comings() -> Range {
    Range {
        client_started: true,
        client_died: true,
        ..Range::default()
    }
}

fn device_events() -> Range {
    Range {
        // KeyPress to MotionNotify.
        device_events: Range8 { first: 2, last: 6 },
        ..comings()
    }
}

fn requests() -> Range {
    Range {
        core_requests: Range8 {
            first: 0,
            last: 127,
        },
        ext_requests: extensions(),
        ..comings()
    }
}

/// The range of x11prof's context (proxy/src/attach/context.rs).
fn everything() -> Range {
    Range {
        core_replies: Range8 {
            first: 0,
            last: 127,
        },
        ext_replies: extensions(),
        delivered_events: Range8 {
            first: 2,
            last: 127,
        },
        errors: Range8 {
            first: 0,
            last: 255,
        },
        ..requests()
    }
}

fn extensions() -> ExtRange {
    ExtRange {
        major: Range8 {
            first: 128,
            last: 255,
        },
        minor: Range16 {
            first: 0,
            last: u16::MAX,
        },
    }
}
