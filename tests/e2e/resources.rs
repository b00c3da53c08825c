//! A program's resources in the report equal the server's count by the X-Resource extension.

use std::collections::BTreeMap;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixStream};
use std::path::Path;
use std::process::{Child, Stdio};

use crate::harness::{Place, Recording, needs};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use x11rb::connection::Connection;
use x11rb::protocol::Event;
use x11rb::protocol::res::ConnectionExt as _;
use x11rb::protocol::xproto::{ChangeWindowAttributesAux, ConnectionExt as _, EventMask};
use x11rb::rust_connection::{DefaultStream, RustConnection};

/// The server's resource type names, and x11prof's names.
const KINDS: [(&str, &str); 12] = [
    ("WINDOW", "window"),
    ("PIXMAP", "pixmap"),
    ("GC", "gc"),
    ("FONT", "font"),
    ("CURSOR", "cursor"),
    ("COLORMAP", "colormap"),
    ("PICTURE", "picture"),
    ("GLYPHSET", "glyph set"),
    ("XFixesRegion", "region"),
    ("ShmSeg", "segment"),
    ("DamageExt", "damage"),
    ("SyncCounter", "counter"),
];

/// The server's count must repeat this often, so that the server has read all requests of the stopped program.
const SAME: usize = 100;

/// X-Resource splits a pixmap's bytes among its users (the client and windows with it as background) and rounds
/// down, so small tiles differ by a few bytes. This is the tolerance.
const TILES: u64 = 16;

#[test]
fn xterm_resources_match_x_resource() {
    same_totals("xterm", "xterm", &[]);
}

#[test]
fn xclock_resources_match_x_resource() {
    same_totals("xclock", "x11-apps", &["-update", "1"]);
}

#[test]
fn xcalc_resources_match_x_resource() {
    same_totals("xcalc", "x11-apps", &[]);
}

#[test]
fn xeyes_resources_match_x_resource() {
    same_totals("xeyes", "x11-apps", &[]);
}

#[test]
fn gtk3_widget_factory_resources_match_x_resource() {
    same_totals("gtk3-widget-factory", "gtk-3-examples", &[]);
}

/// Runs a program until its window exists, stops it, queries its resources from the server, and compares them with
/// the report.
fn same_totals(program: &str, package: &str, arguments: &[&str]) {
    needs("Xvfb", "xvfb");
    needs(program, package);
    let place = Place::new();
    let mut recording = Recording::start(&place, &[]);
    let server = connect(&recording.display, &recording.authority);
    let root = server.setup().roots[0].root;
    let mask = ChangeWindowAttributesAux::new().event_mask(EventMask::SUBSTRUCTURE_NOTIFY);
    server
        .change_window_attributes(root, &mask)
        .expect("a request is sent")
        .check()
        .expect("the root's events");
    let mut child = recording
        .client(program)
        .args(arguments)
        .env("NO_AT_BRIDGE", "1")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("the program starts");
    let window = loop {
        match server.wait_for_event().expect("the server's events") {
            Event::MapNotify(event) => break event.window,
            _ => continue,
        }
    };
    // First wait until the program has created its start-up resources, then stop it and wait until the server has
    // processed all its requests.
    let base = window & !server.setup().resource_id_mask;
    settled(&server, base);
    kill_process(Pid::from_child(&child), Signal::STOP).expect("a signal is sent");
    let reported = settled(&server, base);
    let pixmap_bytes = server
        .res_query_client_pixmap_bytes(base)
        .expect("a request is sent")
        .reply()
        .expect("X-Resource answers")
        .bytes;
    end(&mut child);
    drop(server);
    recording.signal(Signal::TERM);

    let trace = recording.trace.to_string_lossy().into_owned();
    let report = place.json(["report", "--params", "sun4-ipc", "--format", "json", &trace]);
    let seen = report["resources"]["clients"]
        .as_array()
        .expect("clients")
        .iter()
        .find(|client| client["id_base"].as_u64() == Some(u64::from(base)))
        .expect("the program is a client");
    for (theirs, ours) in KINDS {
        let counted = reported.get(theirs).copied().unwrap_or(0);
        assert_eq!(
            held(seen, ours),
            counted,
            "{ours} of {program}: {reported:?}\n{seen:#}"
        );
        if counted > 0 {
            println!("{program}: {ours}: {counted} by X-Resource, {counted} by the report");
        }
    }
    assert!(held(seen, "window") > 0, "{seen:#}");
    let ours = deep_pixmap_bytes(seen);
    println!("{program}: pixmap bytes: {pixmap_bytes} by X-Resource, {ours} by the report");
    assert!(
        u64::from(pixmap_bytes).abs_diff(ours) <= TILES,
        "{ours}: {pixmap_bytes}: {seen:#}"
    );
}

/// The bytes of pixmaps with at least 8 bits per pixel. X-Resource counts no bytes for smaller depths and no
/// padding.
fn deep_pixmap_bytes(client: &Value) -> u64 {
    let number = |of: &Value, field: &str| of[field].as_u64().expect("a number");
    let kinds = client["kinds"].as_array().expect("kinds");
    kinds
        .iter()
        .filter(|of| of["kind"] == "pixmap")
        .flat_map(|of| of["remained"].as_array().expect("what remained"))
        .filter(|group| number(group, "depth") >= 8)
        .map(|group| number(group, "bytes"))
        .sum()
}

/// The number of resources of `kind` that a client held when it ended.
fn held(client: &Value, kind: &str) -> u64 {
    client["kinds"]
        .as_array()
        .expect("kinds")
        .iter()
        .find(|of| of["kind"] == kind)
        .map_or(0, |of| of["held"].as_u64().expect("a count"))
}

fn end(child: &mut Child) {
    let _ = child.kill();
    let _ = child.wait();
}

/// The server's count for the client with this id base, once it is stable.
fn settled(server: &RustConnection, base: u32) -> BTreeMap<String, u64> {
    let mut same = 0;
    let mut last = BTreeMap::new();
    while same < SAME {
        let now = ask(server, base);
        same = if now == last { same + 1 } else { 0 };
        last = now;
    }
    last
}

fn ask(server: &RustConnection, base: u32) -> BTreeMap<String, u64> {
    let reply = server
        .res_query_client_resources(base)
        .expect("a request is sent")
        .reply()
        .expect("X-Resource answers");
    reply
        .types
        .iter()
        .map(|of| {
            let name = server
                .get_atom_name(of.resource_type)
                .expect("a request is sent")
                .reply()
                .expect("the type has a name")
                .name;
            (
                String::from_utf8_lossy(&name).into_owned(),
                u64::from(of.count),
            )
        })
        .collect()
}

/// A connection through the recorder, like any client's.
fn connect(display: &str, authority: &Path) -> RustConnection {
    let number = display
        .trim_start_matches(':')
        .split('.')
        .next()
        .expect("a number");
    let path = format!("/tmp/.X11-unix/X{number}");
    let socket = UnixStream::connect(&path).or_else(|_| {
        SocketAddr::from_abstract_name(path.as_bytes())
            .and_then(|address| UnixStream::connect_addr(&address))
    });
    let (stream, _) =
        DefaultStream::from_unix_stream(socket.expect("the display's socket")).expect("a stream");
    let bytes = std::fs::read(authority).expect("the authority file");
    RustConnection::connect_to_stream_with_auth_info(
        stream,
        0,
        b"MIT-MAGIC-COOKIE-1".to_vec(),
        cookie(&bytes).expect("a cookie").to_vec(),
    )
    .expect("the display accepts us")
}

/// The data of an authority file's first entry: after the family, the last of four counted
/// strings.
fn cookie(file: &[u8]) -> Option<&[u8]> {
    let mut at = 2;
    let mut string: &[u8] = &[];
    for _ in 0..4 {
        let len = usize::from(u16::from_be_bytes([*file.get(at)?, *file.get(at + 1)?]));
        string = file.get(at + 2..at + 2 + len)?;
        at += 2 + len;
    }
    Some(string)
}
