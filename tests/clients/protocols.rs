//! Clients that trigger each other through desktop protocols, with known delays.
//!
//!     protocols desk              a window manager, a settings manager, one that presents, pastes and loads the server
//!     protocols resizes MS        works for MS at each new size (_NET_WM_SYNC_REQUEST)
//!     protocols themed MS         works for MS at each change of the settings (XSETTINGS)
//!     protocols pieces MS COUNT   owns a selection and sends it in COUNT pieces, each after MS (INCR)
//!     protocols busy SECONDS      computes
//!
//! The desk handles one of these for each key: a, b, c, d, and e (which makes the server work for `LOAD`).
#![allow(clippy::print_stdout, reason = "a program for tests")]

use std::error::Error;
use std::thread::sleep;
use std::time::{Duration, Instant};

use x11rb::connection::Connection;
use x11rb::protocol::Event;
use x11rb::protocol::present::{CompleteKind, ConnectionExt as _, EventMask as Present};
use x11rb::protocol::sync::{ConnectionExt as _, CreateAlarmAux, Int64, TESTTYPE, VALUETYPE};
use x11rb::protocol::xproto::{
    Atom, AtomEnum, ChangeWindowAttributesAux, ClientMessageEvent, ConfigureWindowAux,
    ConnectionExt as _, CreateGCAux, CreateWindowAux, EventMask, GX, PropMode, Property, Rectangle,
    SELECTION_NOTIFY_EVENT, SelectionNotifyEvent, SelectionRequestEvent, Window, WindowClass,
};
use x11rb::rust_connection::RustConnection;
use x11rb::wrapper::ConnectionExt as _;

type Outcome<T> = Result<T, Box<dyn Error>>;

x11rb::atom_manager! {
    Atoms: AtomsCookie {
        WM_PROTOCOLS,
        _NET_WM_SYNC_REQUEST,
        _NET_WM_SYNC_REQUEST_COUNTER,
        _XSETTINGS_S0,
        _XSETTINGS_SETTINGS,
        INCR,
        RESIZES: b"X11PROF_RESIZES",
        PIECES: b"X11PROF_PIECES",
        VALUE: b"X11PROF_VALUE",
    }
}

/// The desk's work after the window has been resized.
const RESIZED: Duration = Duration::from_millis(30);
/// Number of frames after which the desk's picture is shown.
const FRAMES: u64 = 12;
/// How long the desk keeps the server busy.
const LOAD: Duration = Duration::from_millis(400);
/// Bytes of a piece of a selection.
const PIECE: usize = 20_000;

struct Client {
    x: RustConnection,
    atoms: Atoms,
    root: Window,
    window: Window,
    gc: u32,
}

fn main() -> Outcome<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let ms = |text: &str| text.parse().map(Duration::from_millis);
    match words.as_slice() {
        ["desk"] => desk(&Client::new(0)?),
        ["resizes", time] => resizes(&Client::new(200)?, ms(time)?),
        ["themed", time] => themed(&Client::new(400)?, ms(time)?),
        ["pieces", time, count] => pieces(&Client::new(600)?, ms(time)?, count.parse()?),
        ["busy", seconds] => {
            let (begun, time) = (Instant::now(), Duration::from_secs(seconds.parse()?));
            while begun.elapsed() < time {}
            Ok(())
        }
        _ => Err(
            "usage: protocols desk | resizes MS | themed MS | pieces MS COUNT | busy SECONDS"
                .into(),
        ),
    }
}

impl Client {
    fn new(left: i16) -> Outcome<Client> {
        let (x, number) = x11rb::connect(None)?;
        let root = x.setup().roots.get(number).ok_or("no such screen")?.root;
        let atoms = Atoms::new(&x)?.reply()?;
        let (window, gc) = (x.generate_id()?, x.generate_id()?);
        let mask = EventMask::KEY_PRESS | EventMask::STRUCTURE_NOTIFY | EventMask::PROPERTY_CHANGE;
        let wants = CreateWindowAux::new()
            .background_pixel(0x30_60a0)
            .override_redirect(1)
            .event_mask(mask);
        let class = WindowClass::INPUT_OUTPUT;
        x.create_window(0, window, root, left, 0, 100, 100, 0, class, 0, &wants)?;
        let xor = CreateGCAux::new().foreground(0xe0_c040).function(GX::XOR);
        x.create_gc(gc, window, &xor)?;
        x.map_window(window)?;
        x.sync()?;
        Ok(Client {
            x,
            atoms,
            root,
            window,
            gc,
        })
    }

    fn draw(&self) -> Outcome<()> {
        self.x
            .poly_fill_rectangle(self.window, self.gc, &[square(50)])?;
        Ok(self.x.flush()?)
    }

    /// Waits until a window owns the selection, and returns the window.
    fn owner(&self, selection: Atom) -> Outcome<Window> {
        loop {
            match self.x.get_selection_owner(selection)?.reply()?.owner {
                x11rb::NONE => sleep(Duration::from_millis(20)),
                owner => return Ok(owner),
            }
        }
    }

    fn own(&self, selection: Atom) -> Outcome<()> {
        self.x
            .set_selection_owner(self.window, selection, x11rb::CURRENT_TIME)?;
        Ok(self.x.sync()?)
    }

    fn ready(&self) -> Outcome<()> {
        self.x.sync()?;
        println!("ready");
        Ok(())
    }
}

fn square(size: u16) -> Rectangle {
    Rectangle {
        x: 10,
        y: 10,
        width: size,
        height: size,
    }
}

fn value(number: u32) -> Int64 {
    Int64 { hi: 0, lo: number }
}

fn desk(of: &Client) -> Outcome<()> {
    let (x, atoms) = (&of.x, &of.atoms);
    of.own(atoms._XSETTINGS_S0)?;
    println!("window");
    let managed = of.owner(atoms.RESIZES)?;
    of.owner(atoms.PIECES)?;
    let (name, kind) = (atoms._NET_WM_SYNC_REQUEST_COUNTER, AtomEnum::CARDINAL);
    let counter = x.get_property(false, managed, name, kind, 0, 1)?.reply()?;
    let counter = counter.value32().and_then(|mut list| list.next());
    x.sync_initialize(3, 1)?.reply()?;
    let alarm = CreateAlarmAux::new()
        .counter(counter.ok_or("no counter")?)
        .value_type(VALUETYPE::ABSOLUTE)
        .value(value(1))
        .test_type(TESTTYPE::POSITIVE_COMPARISON)
        .delta(value(1))
        .events(1);
    x.sync_create_alarm(x.generate_id()?, &alarm)?;
    x.present_query_version(1, 0)?.reply()?;
    x.present_select_input(x.generate_id()?, of.window, Present::COMPLETE_NOTIFY)?;
    let (pixmap, depth) = (x.generate_id()?, x.setup().roots[0].root_depth);
    x.create_pixmap(depth, pixmap, of.root, 1000, 1000)?;
    of.ready()?;
    let mut count = 0;
    loop {
        match x.wait_for_event()? {
            Event::KeyPress(key) => {
                count += 1;
                match key.detail {
                    38 => ask_to_resize(of, managed, count)?,
                    56 => {
                        let (name, mode) = (atoms._XSETTINGS_SETTINGS, PropMode::REPLACE);
                        x.change_property8(mode, of.window, name, name, &count.to_le_bytes())?;
                    }
                    54 => {
                        x.poly_fill_rectangle(pixmap, of.gc, &[square(50)])?;
                        x.present_notify_msc(of.window, count, 0, 0, 0)?;
                    }
                    40 => {
                        let (selection, target) = (atoms.PIECES, AtomEnum::STRING);
                        x.convert_selection(
                            of.window,
                            selection,
                            target.into(),
                            atoms.VALUE,
                            key.time,
                        )?;
                    }
                    26 => load(of, pixmap)?,
                    _ => {}
                }
            }
            Event::SyncAlarmNotify(_) => {
                sleep(RESIZED);
                of.draw()?;
            }
            Event::PresentCompleteNotify(shown) if shown.kind == CompleteKind::NOTIFY_MSC => {
                let (msc, none) = (shown.msc + FRAMES, x11rb::NONE);
                x.present_pixmap(
                    of.window,
                    pixmap,
                    shown.serial,
                    none,
                    none,
                    0,
                    0,
                    none,
                    none,
                    none,
                    0,
                    msc,
                    0,
                    0,
                    &[],
                )?;
            }
            Event::PropertyNotify(changed)
                if changed.atom == atoms.VALUE && changed.state == Property::NEW_VALUE =>
            {
                paste(of)?;
            }
            _ => {}
        }
        x.flush()?;
    }
}

/// The protocol of the Extended Window Manager Hints, "_NET_WM_SYNC_REQUEST".
fn ask_to_resize(of: &Client, managed: Window, count: u32) -> Outcome<()> {
    let data = [
        of.atoms._NET_WM_SYNC_REQUEST,
        x11rb::CURRENT_TIME,
        count,
        0,
        0,
    ];
    let message = ClientMessageEvent::new(32, managed, of.atoms.WM_PROTOCOLS, data);
    of.x.send_event(false, managed, EventMask::NO_EVENT, message)?;
    let size = ConfigureWindowAux::new().width(100 + count);
    of.x.configure_window(managed, &size)?;
    Ok(())
}

/// Reads a piece; the last one is empty (ICCCM, section 2.7.2).
fn paste(of: &Client) -> Outcome<()> {
    let any = AtomEnum::ANY;
    let piece =
        of.x.get_property(true, of.window, of.atoms.VALUE, any, 0, 1 << 20)?;
    if piece.reply()?.value.is_empty() {
        of.draw()?;
    }
    Ok(())
}

fn load(of: &Client, pixmap: u32) -> Outcome<()> {
    let begun = Instant::now();
    while begun.elapsed() < LOAD {
        of.x.poly_fill_rectangle(pixmap, of.gc, &[square(900); 10])?;
        of.x.get_input_focus()?.reply()?;
    }
    of.draw()
}

fn resizes(of: &Client, time: Duration) -> Outcome<()> {
    let (x, atoms) = (&of.x, &of.atoms);
    x.sync_initialize(3, 1)?.reply()?;
    let counter = x.generate_id()?;
    x.sync_create_counter(counter, value(0))?;
    x.change_property32(
        PropMode::REPLACE,
        of.window,
        atoms._NET_WM_SYNC_REQUEST_COUNTER,
        AtomEnum::CARDINAL,
        &[counter],
    )?;
    of.own(atoms.RESIZES)?;
    of.ready()?;
    let mut wanted = None;
    loop {
        match x.wait_for_event()? {
            Event::ClientMessage(message) => wanted = Some(message.data.as_data32()[2]),
            Event::ConfigureNotify(_) => {
                if let Some(count) = wanted.take() {
                    sleep(time);
                    x.poly_fill_rectangle(of.window, of.gc, &[square(50)])?;
                    x.sync_set_counter(counter, value(count))?;
                }
            }
            _ => {}
        }
        x.flush()?;
    }
}

fn themed(of: &Client, time: Duration) -> Outcome<()> {
    let (x, name) = (&of.x, of.atoms._XSETTINGS_SETTINGS);
    let manager = of.owner(of.atoms._XSETTINGS_S0)?;
    let wants = ChangeWindowAttributesAux::new().event_mask(EventMask::PROPERTY_CHANGE);
    x.change_window_attributes(manager, &wants)?;
    of.ready()?;
    loop {
        if let Event::PropertyNotify(changed) = x.wait_for_event()?
            && changed.atom == name
        {
            x.get_property(false, manager, name, name, 0, 1000)?
                .reply()?;
            sleep(time);
            of.draw()?;
        }
    }
}

fn pieces(of: &Client, time: Duration, count: usize) -> Outcome<()> {
    let (x, atoms) = (&of.x, &of.atoms);
    of.own(atoms.PIECES)?;
    of.ready()?;
    // The pending transfer: its requestor and the number of remaining pieces.
    let mut left: Option<(SelectionRequestEvent, usize)> = None;
    loop {
        match x.wait_for_event()? {
            Event::SelectionRequest(asked) => {
                sleep(time);
                let wants = ChangeWindowAttributesAux::new().event_mask(EventMask::PROPERTY_CHANGE);
                x.change_window_attributes(asked.requestor, &wants)?;
                let size = u32::try_from(count * PIECE)?;
                let (mode, to, name) = (PropMode::REPLACE, asked.requestor, asked.property);
                x.change_property32(mode, to, name, atoms.INCR, &[size])?;
                let reported = SelectionNotifyEvent {
                    response_type: SELECTION_NOTIFY_EVENT,
                    sequence: 0,
                    time: asked.time,
                    requestor: asked.requestor,
                    selection: asked.selection,
                    target: asked.target,
                    property: asked.property,
                };
                x.send_event(false, asked.requestor, EventMask::NO_EVENT, reported)?;
                left = Some((asked, count));
            }
            Event::PropertyNotify(changed) if changed.state == Property::DELETE => {
                if let Some((asked, pieces)) = left.take_if(|(asked, _)| {
                    (asked.requestor, asked.property) == (changed.window, changed.atom)
                }) {
                    sleep(time);
                    let piece = vec![b'x'; if pieces > 0 { PIECE } else { 0 }];
                    let (mode, kind) = (PropMode::REPLACE, AtomEnum::STRING);
                    x.change_property8(mode, asked.requestor, asked.property, kind, &piece)?;
                    left = pieces.checked_sub(1).map(|pieces| (asked, pieces));
                }
            }
            _ => {}
        }
        x.flush()?;
    }
}
