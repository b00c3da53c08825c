//! Two clients. The party replies to the asker's request after a known time:
//!
//!     waits party KIND MS,MS,…    replies to the n-th request after the n-th time; `never` means no reply
//!     waits asker KIND [LIMIT]    at each key sends a request, waits for the reply or LIMIT ms, draws, prints the wait
//!
//!     waits asker clock MS,MS,…   at the n-th key waits until the screen's clock is n-th MS ahead (Present, no party)
//!
//! `KIND` is `selection`, `piece` (of a selection), `drag`, `drop`, `method` (an input method), `resize` (the asker is the
//! window manager), `map`, `configure`, `extents` (the party is the window manager), `grab`, `taken` (the party has to take
//! a piece of the asker's selection) or `ping` (the asker is the window manager). Both print `ready`.
#![allow(clippy::print_stdout, reason = "a program for tests")]

use std::collections::VecDeque;
use std::error::Error;
use std::time::{Duration, Instant};

use x11rb::connection::Connection;
use x11rb::protocol::Event;
use x11rb::protocol::present::{ConnectionExt as _, EventMask as PresentMask};
use x11rb::protocol::sync::{ConnectionExt as _, CreateAlarmAux, Int64, TESTTYPE, VALUETYPE};
use x11rb::protocol::xproto::{
    Atom, AtomEnum, ChangeWindowAttributesAux, ClientMessageData, ClientMessageEvent,
    ConfigureWindowAux, ConnectionExt as _, CreateGCAux, CreateWindowAux, EventMask, GrabMode,
    GrabStatus, PropMode, Property, Rectangle, SELECTION_NOTIFY_EVENT, SelectionNotifyEvent,
    SelectionRequestEvent, Window, WindowClass,
};
use x11rb::rust_connection::RustConnection;
use x11rb::wrapper::ConnectionExt as _;

type Outcome<T> = Result<T, Box<dyn Error>>;

/// XIM_FORWARD_EVENT.
const FORWARD: u8 = 60;
/// The selection that identifies the party's window.
const MEET: &str = "X11PROF_PARTY";
/// The message that makes the party grab the pointer again.
const AGAIN: &str = "X11PROF_AGAIN";
/// The property of the party's window with the counter that it sets when it has drawn a new size.
const COUNTER: &str = "_NET_WM_SYNC_REQUEST_COUNTER";

fn main() -> Outcome<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["party", kind, delays] => party(&Client::new()?, kind, delays),
        ["asker", kind] => Asker::new(kind, None)?.run(),
        ["asker", "clock", delays] => {
            let mut asker = Asker::new("clock", None)?;
            let delays = delays.split(',').map(str::parse);
            asker.delays = delays.collect::<Result<_, _>>()?;
            asker.run()
        }
        ["asker", kind, limit] => Asker::new(kind, Some(limit.parse()?))?.run(),
        _ => Err("usage: waits party KIND MS,… | waits asker KIND [LIMIT]".into()),
    }
}

/// A connection with a window.
struct Client {
    x: RustConnection,
    root: Window,
    window: Window,
}

impl Client {
    fn new() -> Outcome<Client> {
        let (x, number) = x11rb::connect(None)?;
        let root = x.setup().roots.get(number).ok_or("no such screen")?.root;
        let window = x.generate_id()?;
        let client = Client { x, root, window };
        client.create(window, 0, true)?;
        Ok(client)
    }

    fn create(&self, window: Window, left: i16, unmanaged: bool) -> Outcome<()> {
        let wants = EventMask::KEY_PRESS | EventMask::STRUCTURE_NOTIFY | EventMask::PROPERTY_CHANGE;
        let values = CreateWindowAux::new()
            .background_pixel(0x30_60a0)
            .override_redirect(u32::from(unmanaged))
            .event_mask(wants);
        let class = WindowClass::INPUT_OUTPUT;
        let root = self.root;
        self.x
            .create_window(0, window, root, left, 0, 100, 100, 0, class, 0, &values)?;
        Ok(())
    }

    fn atom(&self, name: &str) -> Outcome<Atom> {
        Ok(self.x.intern_atom(false, name.as_bytes())?.reply()?.atom)
    }

    fn send(&self, to: Window, message: ClientMessageEvent) -> Outcome<()> {
        let mask = match to == self.root {
            true => EventMask::SUBSTRUCTURE_REDIRECT | EventMask::SUBSTRUCTURE_NOTIFY,
            false => EventMask::NO_EVENT,
        };
        self.x.send_event(false, to, mask, message)?;
        Ok(self.x.flush()?)
    }

    /// Replies to a request for a selection; `begins` means that the selection comes in pieces.
    fn reply(&self, asked: &SelectionRequestEvent, begins: bool) -> Outcome<()> {
        let mut property = x11rb::NONE;
        if begins {
            property = asked.property;
            let wants = ChangeWindowAttributesAux::new().event_mask(EventMask::PROPERTY_CHANGE);
            self.x.change_window_attributes(asked.requestor, &wants)?;
            let (mode, kind) = (PropMode::REPLACE, self.atom("INCR")?);
            self.x
                .change_property32(mode, asked.requestor, property, kind, &[1])?;
        }
        let notify = SelectionNotifyEvent {
            response_type: SELECTION_NOTIFY_EVENT,
            sequence: 0,
            time: asked.time,
            requestor: asked.requestor,
            selection: asked.selection,
            target: asked.target,
            property,
        };
        self.x
            .send_event(false, asked.requestor, EventMask::NO_EVENT, notify)?;
        Ok(self.x.flush()?)
    }

    /// Writes a piece of a selection. A piece without bytes is the last one.
    fn piece(&self, window: Window, property: Atom, bytes: &[u8]) -> Outcome<()> {
        let (mode, kind) = (PropMode::REPLACE, AtomEnum::STRING);
        self.x
            .change_property8(mode, window, property, kind, bytes)?;
        Ok(self.x.flush()?)
    }
}

/// True if another client has deleted a property (`DELETE`) or has set it (`NEW_VALUE`).
fn is_property(event: &Event, window: Window, state: Property) -> bool {
    matches!(event, Event::PropertyNotify(one) if (one.window, one.state) == (window, state))
}

fn sleep(ms: &str) -> Outcome<()> {
    std::thread::sleep(Duration::from_millis(ms.parse()?));
    Ok(())
}

/// Sends a selection in pieces, the first one after a delay.
fn send_pieces<'a>(client: &Client, delays: impl Iterator<Item = &'a str>) -> Outcome<()> {
    for delay in delays {
        let asked = loop {
            if let Event::SelectionRequest(asked) = client.x.wait_for_event()? {
                break asked;
            }
        };
        client.reply(&asked, true)?;
        let deleted = |event: &Event| is_property(event, asked.requestor, Property::DELETE);
        while !deleted(&client.x.wait_for_event()?) {}
        sleep(delay)?;
        client.piece(asked.requestor, asked.property, b"a")?;
        while !deleted(&client.x.wait_for_event()?) {}
        client.piece(asked.requestor, asked.property, b"")?;
    }
    std::thread::park();
    Ok(())
}

/// Handles the asker's requests.
fn party(client: &Client, kind: &str, delays: &str) -> Outcome<()> {
    let Client { x, root, window } = client;
    let now = x11rb::CURRENT_TIME;
    let mut delays = delays.split(',');
    x.set_selection_owner(*window, client.atom(MEET)?, now)?;
    let clipboard = client.atom("CLIPBOARD")?;
    x.set_selection_owner(*window, clipboard, now)?;
    if matches!(kind, "map" | "configure" | "extents") {
        let wants = ChangeWindowAttributesAux::new().event_mask(EventMask::SUBSTRUCTURE_REDIRECT);
        x.change_window_attributes(*root, &wants)?.check()?;
    }
    let grab = || -> Outcome<()> {
        let none = x11rb::NONE;
        let mode = GrabMode::ASYNC;
        let mask = EventMask::BUTTON_PRESS;
        x.grab_pointer(false, *root, mask, mode, mode, none, none, now)?
            .reply()?;
        Ok(())
    };
    if kind == "grab" {
        grab()?;
    }
    let extents = client.atom("_NET_FRAME_EXTENTS")?;
    let status = if kind == "drop" {
        "XdndFinished"
    } else {
        "XdndStatus"
    };
    let (status, method) = (client.atom(status)?, client.atom("_XIM_PROTOCOL")?);
    let counter = x.generate_id()?;
    if kind == "resize" {
        x.sync_initialize(3, 1)?.reply()?;
        x.sync_create_counter(counter, Int64 { hi: 0, lo: 0 })?;
        let (mode, property) = (PropMode::REPLACE, client.atom(COUNTER)?);
        x.change_property32(mode, *window, property, AtomEnum::CARDINAL, &[counter])?;
    }
    let connect = client.atom("_XIM_XCONNECT")?;
    let again = client.atom(AGAIN)?;
    x.sync()?;
    println!("ready");
    if kind == "piece" {
        return send_pieces(client, delays);
    }
    // The first map of a window is not the reaction to a key.
    let mut managed = false;
    loop {
        let event = x.wait_for_event()?;
        let is_connect = matches!(&event, Event::ClientMessage(one) if one.type_ == connect);
        let is_again = matches!(&event, Event::ClientMessage(one) if one.type_ == again);
        let first = matches!(
            (&event, kind),
            (Event::MapRequest(_), "configure" | "extents")
        );
        let asks = match &event {
            Event::SelectionRequest(_) => true,
            Event::MapRequest(_) => !first && std::mem::replace(&mut managed, true),
            Event::ConfigureRequest(_) => kind == "configure",
            Event::ClientMessage(_) => !is_connect && !is_again && kind != "taken",
            Event::SelectionNotify(_) => true,
            _ => continue,
        };
        if asks {
            match delays.next() {
                Some("never") | None => continue,
                Some(ms) => sleep(ms)?,
            }
        }
        match event {
            Event::SelectionRequest(asked) => client.reply(&asked, false)?,
            Event::MapRequest(asked) => drop(x.map_window(asked.window)?),
            Event::ConfigureRequest(asked) => {
                let to = ConfigureWindowAux::from_configure_request(&asked);
                x.configure_window(asked.window, &to)?;
            }
            Event::ClientMessage(asked) => {
                let data = asked.data.as_data32();
                let to = data.first().copied().unwrap_or(0);
                match kind {
                    "ping" => {
                        let window = *root;
                        client.send(*root, ClientMessageEvent { window, ..asked })?;
                    }
                    "taken" => {
                        // All requests come before the first key, so that no key causes one.
                        for at in 0..delays.clone().count() {
                            let of = client.atom(&format!("X11PROF_PIECE_{at}"))?;
                            x.convert_selection(*window, clipboard, of, of, now)?;
                        }
                    }
                    "drag" | "drop" => {
                        let data = [*window, 1, 0, 0, 0];
                        client.send(to, ClientMessageEvent::new(32, to, status, data))?;
                    }
                    "method" if is_connect => {
                        let data = [*window, 0, 0, 0, 0];
                        client.send(to, ClientMessageEvent::new(32, to, connect, data))?;
                    }
                    "method" => {
                        let to = u32::from_ne_bytes(asked.data.as_data8()[4..8].try_into()?);
                        let mut data = [0; 20];
                        data[0] = FORWARD;
                        let data = ClientMessageData::from(data);
                        client.send(to, ClientMessageEvent::new(8, to, method, data))?;
                    }
                    "extents" => {
                        let (mode, cardinal) = (PropMode::REPLACE, AtomEnum::CARDINAL);
                        x.change_property32(mode, asked.window, extents, cardinal, &[1, 1, 20, 1])?;
                    }
                    "resize" => drop(x.sync_set_counter(counter, Int64 { hi: 0, lo: data[2] })?),
                    _ if is_again => grab()?,
                    _ => drop(x.ungrab_pointer(now)?),
                }
            }
            Event::SelectionNotify(of) => drop(x.delete_property(*window, of.property)?),
            _ => {}
        }
        x.flush()?;
    }
}

/// Sends a request at each key.
struct Asker {
    client: Client,
    kind: String,
    limit: Duration,
    party: Window,
    /// A window that a window manager manages.
    managed: Window,
    gc: u32,
    asked: u32,
    /// The party's requests for the asker's selection.
    requested: VecDeque<SelectionRequestEvent>,
    /// How far ahead the awaited frames of the screen's clock are, in milliseconds.
    delays: Vec<u64>,
}

impl Asker {
    fn new(kind: &str, limit_ms: Option<u64>) -> Outcome<Asker> {
        let client = Client::new()?;
        let (gc, managed) = (client.x.generate_id()?, client.x.generate_id()?);
        client
            .x
            .create_gc(gc, client.window, &CreateGCAux::new().foreground(0xe0_c040))?;
        let meet = client.atom(MEET)?;
        let party = client.x.get_selection_owner(meet)?.reply()?.owner;
        let asker = Asker {
            kind: kind.to_owned(),
            limit: Duration::from_millis(limit_ms.unwrap_or(u64::MAX / 2)),
            party,
            managed,
            gc,
            asked: 0,
            requested: VecDeque::new(),
            delays: Vec::new(),
            client,
        };
        let Client { x, window, .. } = &asker.client;
        x.map_window(*window)?;
        match kind {
            "map" | "configure" | "extents" => {
                asker.client.create(managed, 300, false)?;
                x.map_window(managed)?;
                asker.until(
                    |event| matches!(event, Event::MapNotify(one) if one.window == managed),
                )?;
            }
            "taken" => {
                let clipboard = asker.client.atom("CLIPBOARD")?;
                x.set_selection_owner(*window, clipboard, x11rb::CURRENT_TIME)?;
                let kind = asker.client.atom(MEET)?;
                let message = ClientMessageEvent::new(32, party, kind, [0; 5]);
                asker.client.send(party, message)?;
            }
            "ping" => {
                let wants = EventMask::SUBSTRUCTURE_NOTIFY;
                let wants = ChangeWindowAttributesAux::new().event_mask(wants);
                x.change_window_attributes(asker.client.root, &wants)?;
            }
            "method" => {
                let connect = asker.client.atom("_XIM_XCONNECT")?;
                let data = [*window, 0, 0, 0, 0];
                let message = ClientMessageEvent::new(32, party, connect, data);
                asker.client.send(party, message)?;
                asker.until(|event| matches!(event, Event::ClientMessage(_)))?;
            }
            "resize" => {
                x.sync_initialize(3, 1)?.reply()?;
                let (of, any) = (asker.client.atom(COUNTER)?, AtomEnum::ANY);
                let counter = x.get_property(false, party, of, any, 0, 1)?.reply()?;
                let counter = counter.value32().and_then(|mut all| all.next());
                let values = CreateAlarmAux::new()
                    .counter(counter)
                    .value_type(VALUETYPE::ABSOLUTE)
                    .value(Int64 { hi: 0, lo: 1 })
                    .test_type(TESTTYPE::POSITIVE_COMPARISON)
                    .delta(Int64 { hi: 0, lo: 1 })
                    .events(1);
                x.sync_create_alarm(x.generate_id()?, &values)?.check()?;
            }
            "clock" => {
                x.present_query_version(1, 2)?.reply()?;
                let id = x.generate_id()?;
                x.present_select_input(id, *window, PresentMask::COMPLETE_NOTIFY)?;
            }
            _ => {}
        }
        x.sync()?;
        println!("ready");
        Ok(asker)
    }

    fn run(mut self) -> Outcome<()> {
        loop {
            let event = self.client.x.wait_for_event()?;
            if let Event::SelectionRequest(requested) = event {
                self.requested.push_back(requested);
            } else if let Event::KeyPress(_) = event {
                let begun = Instant::now();
                self.ask()?;
                println!("waited {:.3}", begun.elapsed().as_secs_f64() * 1e3);
                let item = Rectangle {
                    x: 10,
                    y: 10,
                    width: 50,
                    height: 50,
                };
                let (window, gc) = (self.client.window, self.gc);
                self.client.x.poly_fill_rectangle(window, gc, &[item])?;
                self.client.x.flush()?;
            }
        }
    }

    /// Reads events until `is_answer` accepts one, or until the limit.
    fn until(&self, is_answer: impl Fn(&Event) -> bool) -> Outcome<()> {
        let begun = Instant::now();
        let x = &self.client.x;
        x.flush()?;
        loop {
            while let Some(event) = x.poll_for_event()? {
                if is_answer(&event) {
                    return Ok(());
                }
            }
            let left = self.limit.saturating_sub(begun.elapsed());
            if left.is_zero() {
                return Ok(());
            }
            let timeout = rustix::event::Timespec {
                tv_sec: i64::try_from(left.as_secs())?,
                tv_nsec: i64::from(left.subsec_nanos()),
            };
            let flags = rustix::event::PollFlags::IN;
            let mut polled = [rustix::event::PollFd::new(x.stream(), flags)];
            rustix::event::poll(&mut polled, Some(&timeout))?;
        }
    }

    fn ask(&mut self) -> Outcome<()> {
        self.asked += 1;
        let (x, window, now) = (&self.client.x, self.client.window, x11rb::CURRENT_TIME);
        let send = |kind: &str, to, about, data: [u32; 5]| -> Outcome<()> {
            let kind = self.client.atom(kind)?;
            self.client
                .send(to, ClientMessageEvent::new(32, about, kind, data))
        };
        let is_message = |event: &Event| matches!(event, Event::ClientMessage(_));
        match self.kind.as_str() {
            "selection" => {
                let (of, target) = (self.client.atom("CLIPBOARD")?, AtomEnum::STRING.into());
                x.convert_selection(window, of, target, of, now)?;
                self.until(|event| matches!(event, Event::SelectionNotify(_)))
            }
            "piece" => {
                let (of, target) = (self.client.atom("CLIPBOARD")?, AtomEnum::STRING.into());
                x.convert_selection(window, of, target, of, now)?;
                self.until(|event| matches!(event, Event::SelectionNotify(_)))?;
                for _ in 0..2 {
                    x.delete_property(window, of)?;
                    self.until(|event| is_property(event, window, Property::NEW_VALUE))?;
                }
                x.delete_property(window, of)?;
                Ok(())
            }
            "drag" | "drop" => {
                let name = ["XdndPosition", "XdndDrop"][usize::from(self.kind == "drop")];
                send(name, self.party, self.party, [window, 0, 0, 0, 0])?;
                self.until(is_message)
            }
            "resize" => {
                let resize = self.client.atom("_NET_WM_SYNC_REQUEST")?;
                let data = [resize, 0, self.asked, 0, 0];
                send("WM_PROTOCOLS", self.party, self.party, data)?;
                self.until(|event| matches!(event, Event::SyncAlarmNotify(_)))
            }
            "taken" => {
                let asked = self.requested.pop_front().ok_or("no request")?;
                self.client.reply(&asked, true)?;
                self.until(|event| is_property(event, asked.requestor, Property::DELETE))?;
                self.client.piece(asked.requestor, asked.property, b"")
            }
            "ping" => {
                let ping = self.client.atom("_NET_WM_PING")?;
                let data = [ping, self.asked, self.party, 0, 0];
                send("WM_PROTOCOLS", self.party, self.party, data)?;
                self.until(is_message)
            }
            "method" => {
                let mut data = [0; 20];
                data[0] = FORWARD;
                data[4..8].copy_from_slice(&window.to_ne_bytes());
                let kind = self.client.atom("_XIM_PROTOCOL")?;
                let data = ClientMessageData::from(data);
                let message = ClientMessageEvent::new(8, self.party, kind, data);
                self.client.send(self.party, message)?;
                self.until(is_message)
            }
            "map" => {
                x.unmap_window(self.managed)?;
                x.map_window(self.managed)?;
                self.until(|event| matches!(event, Event::MapNotify(_)))
            }
            "configure" => {
                let to = ConfigureWindowAux::new().width(100 + self.asked);
                x.configure_window(self.managed, &to)?;
                self.until(|event| matches!(event, Event::ConfigureNotify(_)))
            }
            "extents" => {
                send(
                    "_NET_REQUEST_FRAME_EXTENTS",
                    self.client.root,
                    self.managed,
                    [0; 5],
                )?;
                self.until(|event| matches!(event, Event::PropertyNotify(_)))
            }
            "grab" => {
                send(MEET, self.party, self.party, [0; 5])?;
                let (mode, none) = (GrabMode::ASYNC, x11rb::NONE);
                let mask = EventMask::BUTTON_PRESS;
                loop {
                    let asked = x.grab_pointer(false, window, mask, mode, mode, none, none, now)?;
                    if asked.reply()?.status == GrabStatus::SUCCESS {
                        break;
                    }
                    std::thread::sleep(Duration::from_millis(2));
                }
                x.ungrab_pointer(now)?.ignore_error();
                send(AGAIN, self.party, self.party, [0; 5])
            }
            "clock" => {
                let frame = |serial, frame| -> Outcome<u64> {
                    x.present_notify_msc(window, serial, frame, 0, 0)?;
                    x.flush()?;
                    loop {
                        if let Event::PresentCompleteNotify(of) = x.wait_for_event()? {
                            return Ok(of.msc);
                        }
                    }
                };
                let delay = self.delays.get(self.asked as usize - 1).ok_or("no delay")?;
                let now = frame(2 * self.asked, 0)?;
                frame(2 * self.asked + 1, now + delay * 60 / 1000)?;
                Ok(())
            }
            kind => Err(format!("unknown kind {kind}").into()),
        }
    }
}
