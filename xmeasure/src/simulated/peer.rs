//! The server's end of a connection in tests. It replies with the shortest replies that the protocol allows, has no
//! extensions and no fonts, and stores all bytes.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex};
use std::thread;

use x11rb_protocol::protocol::xproto::{Depth, Format, Screen, Setup, VisualClass, Visualtype};
use x11rb_protocol::x11_utils::Serialize;

use crate::server::client::Client;
use crate::server::connection::RawConnection;
use crate::server::tracker::Tracker;

/// Core requests that have a reply (protocol, Encoding).
const ANSWERED: [u8; 39] = [
    3, 14, 15, 16, 17, 20, 21, 23, 26, 31, 38, 39, 40, 43, 44, 47, 48, 49, 50, 52, 73, 83, 84, 85,
    86, 87, 91, 92, 97, 98, 99, 101, 103, 106, 108, 116, 117, 118, 119,
];
/// The atom for every name.
const ATOM: u8 = 100;

/// Bytes that were sent on a connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum LoggedMessage {
    /// Bytes that the client sent.
    Request(Vec<u8>),
    /// Bytes that the server sent.
    Reply(Vec<u8>),
}

type Log = Arc<Mutex<Vec<LoggedMessage>>>;

/// Connects a client to this server, and calls `prepare` to create resources. Returns the client, a second tracker of
/// the same session, and the result of `prepare`.
pub(crate) fn connected<T>(prepare: impl FnOnce(&mut Client) -> T) -> (Client, Tracker, T) {
    let (client, log, prepared) = connected_with(prepare);
    let mut tracker = Tracker::default();
    tracker.sent(&client.raw.setup_bytes.0);
    tracker.received(&client.raw.setup_bytes.1);
    for sent in &log {
        match sent {
            LoggedMessage::Request(bytes) => drop(tracker.sent(bytes)),
            LoggedMessage::Reply(bytes) => tracker.received(bytes),
        }
    }
    (client, tracker, prepared)
}

/// Connects a client to this server, and calls `prepare` to create resources. Returns the client, the connection's
/// bytes after its setup, and the result of `prepare`.
pub(crate) fn connected_with<T>(
    prepare: impl FnOnce(&mut Client) -> T,
) -> (Client, Vec<LoggedMessage>, T) {
    let (ours, theirs) = UnixStream::pair().unwrap();
    let log = Log::default();
    let kept = Arc::clone(&log);
    // The thread exits when the connection closes.
    thread::spawn(move || answer(theirs, &kept));
    let raw = RawConnection::over(ours.into(), None, &Arc::default()).unwrap();
    let mut client = Client::new(raw).unwrap();
    let prepared = prepare(&mut client);
    client.synchronise().unwrap();
    let sent = log.lock().unwrap().clone();
    (client, sent, prepared)
}

fn answer(mut stream: UnixStream, log: &Log) -> Option<()> {
    // The setup, without an authorization.
    stream.read_exact(&mut [0; 12]).ok()?;
    stream.write_all(&setup()).ok()?;
    let mut sequence = 0_u16;
    loop {
        let mut request = vec![0; 4];
        stream.read_exact(&mut request).ok()?;
        let words = u16::from_ne_bytes([request[2], request[3]]);
        request.resize(usize::from(words) * 4, 0);
        stream.read_exact(&mut request[4..]).ok()?;
        sequence = sequence.wrapping_add(1);
        let reply = ANSWERED.contains(&request[0]).then(|| {
            let mut reply = vec![0; 32];
            reply[0] = 1;
            reply[2..4].copy_from_slice(&sequence.to_ne_bytes());
            if request[0] == 16 {
                reply[8] = ATOM;
            }
            reply
        });
        let mut log = log.lock().ok()?;
        log.push(LoggedMessage::Request(request));
        if let Some(reply) = reply {
            log.push(LoggedMessage::Reply(reply.clone()));
            stream.write_all(&reply).ok()?;
        }
    }
}

fn setup() -> Vec<u8> {
    let visual = Visualtype {
        visual_id: 33,
        class: VisualClass::TRUE_COLOR,
        bits_per_rgb_value: 8,
        colormap_entries: 256,
        red_mask: 0xff_0000,
        green_mask: 0xff00,
        blue_mask: 0xff,
    };
    let screen = Screen {
        root: 1,
        default_colormap: 2,
        white_pixel: 0xff_ffff,
        width_in_pixels: 1280,
        height_in_pixels: 1024,
        width_in_millimeters: 338,
        height_in_millimeters: 270,
        root_visual: 33,
        root_depth: 24,
        allowed_depths: vec![Depth {
            depth: 24,
            visuals: vec![visual],
        }],
        ..Screen::default()
    };
    let mut setup = Setup {
        status: 1,
        protocol_major_version: 11,
        resource_id_base: 0x20_0000,
        resource_id_mask: 0x1f_ffff,
        maximum_request_length: u16::MAX,
        min_keycode: 8,
        max_keycode: 255,
        vendor: b"Test".to_vec(),
        pixmap_formats: vec![Format {
            depth: 24,
            bits_per_pixel: 32,
            scanline_pad: 32,
        }],
        roots: vec![screen],
        ..Setup::default()
    };
    setup.length = ((setup.serialize().len() - 8) / 4) as u16;
    setup.serialize()
}
