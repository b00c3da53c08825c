//! Two clients. The party replies to the asker's request after a known time:
//!
//!     waits party KIND MS,MS,…    replies to the n-th request after the n-th time; `never` means no reply
//!     waits asker KIND [LIMIT]    at each key sends a request, waits for the reply or LIMIT ms, draws, prints the wait
//!
//! `KIND` is `selection`, `drag`, `method` (an input method), `map`, `configure`, `extents`, `grab`, or `clock` (Present's
//! clock, which has no party). Both print `ready`.
#![allow(clippy::print_stdout, reason = "a program for tests")]

use std::error::Error;
use std::time::{Duration, Instant};

use x11rb::connection::Connection;
use x11rb::protocol::Event;
use x11rb::protocol::present::{ConnectionExt as _, EventMask as PresentMask};
use x11rb::protocol::xproto::{
    Atom, AtomEnum, ChangeWindowAttributesAux, ClientMessageData, ClientMessageEvent,
    ConfigureWindowAux, ConnectionExt as _, CreateGCAux, CreateWindowAux, EventMask, GrabMode,
    GrabStatus, PropMode, Rectangle, SELECTION_NOTIFY_EVENT, SelectionNotifyEvent, Window,
    WindowClass,
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

fn main() -> Outcome<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["party", kind, delays] => party(&Client::new()?, kind, delays),
        ["asker", kind] => Asker::new(kind, None)?.run(),
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
}

/// Handles the asker's requests.
fn party(client: &Client, kind: &str, delays: &str) -> Outcome<()> {
    let Client { x, root, window } = client;
    let now = x11rb::CURRENT_TIME;
    let mut delays = delays.split(',');
    x.set_selection_owner(*window, client.atom(MEET)?, now)?;
    x.set_selection_owner(*window, client.atom("CLIPBOARD")?, now)?;
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
    let (status, method) = (client.atom("XdndStatus")?, client.atom("_XIM_PROTOCOL")?);
    let connect = client.atom("_XIM_XCONNECT")?;
    let again = client.atom(AGAIN)?;
    x.sync()?;
    println!("ready");
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
            Event::ClientMessage(_) => !is_connect && !is_again,
            _ => continue,
        };
        if asks {
            match delays.next() {
                Some("never") | None => continue,
                Some(ms) => std::thread::sleep(Duration::from_millis(ms.parse()?)),
            }
        }
        match event {
            Event::SelectionRequest(asked) => {
                let notify = SelectionNotifyEvent {
                    response_type: SELECTION_NOTIFY_EVENT,
                    sequence: 0,
                    time: asked.time,
                    requestor: asked.requestor,
                    selection: asked.selection,
                    target: asked.target,
                    property: x11rb::NONE,
                };
                x.send_event(false, asked.requestor, EventMask::NO_EVENT, notify)?;
            }
            Event::MapRequest(asked) => drop(x.map_window(asked.window)?),
            Event::ConfigureRequest(asked) => {
                let to = ConfigureWindowAux::from_configure_request(&asked);
                x.configure_window(asked.window, &to)?;
            }
            Event::ClientMessage(asked) => {
                let data = asked.data.as_data32();
                let to = data.first().copied().unwrap_or(0);
                match kind {
                    "drag" => {
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
                    _ if is_again => grab()?,
                    _ => drop(x.ungrab_pointer(now)?),
                }
            }
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
            "method" => {
                let connect = asker.client.atom("_XIM_XCONNECT")?;
                let data = [*window, 0, 0, 0, 0];
                let message = ClientMessageEvent::new(32, party, connect, data);
                asker.client.send(party, message)?;
                asker.until(|event| matches!(event, Event::ClientMessage(_)))?;
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
            if let Event::KeyPress(_) = self.client.x.wait_for_event()? {
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
            "drag" => {
                send("XdndPosition", self.party, self.party, [window, 0, 0, 0, 0])?;
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
                x.present_notify_msc(window, self.asked, 0, 60, 0)?;
                self.until(|event| matches!(event, Event::PresentCompleteNotify(_)))
            }
            kind => Err(format!("unknown kind {kind}").into()),
        }
    }
}
