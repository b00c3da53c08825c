//! Clients that trigger each other with known delays: each client works for its time, draws, and triggers the next
//! client.
//!
//!     chain INDEX KINDS ROUNDS
//!
//! `KINDS` lists how each client is triggered, separated by commas: `key` (the first client), `message`
//! (ClientMessage), `property` (a property of the previous client), `selection`, `map` (the client is the window
//! manager). `ROUNDS` are milliseconds of work for each client in each round: `10:300:20,50:10:80`. The client
//! alternates between computing and sleeping, prints `window` when its window exists and `ready` when it listens to
//! the previous client, and runs until it is killed.
#![allow(clippy::print_stdout, reason = "a program for tests")]

use std::error::Error;
use std::time::{Duration, Instant};

use x11rb::connection::Connection;
use x11rb::protocol::Event;
use x11rb::protocol::xproto::{
    Atom, AtomEnum, ChangeWindowAttributesAux, ClientMessageEvent, ConnectionExt as _, CreateGCAux,
    CreateWindowAux, EventMask, PropMode, Rectangle, SELECTION_NOTIFY_EVENT, SelectionNotifyEvent,
    SelectionRequestEvent, Window, WindowClass,
};
use x11rb::rust_connection::RustConnection;
use x11rb::wrapper::ConnectionExt as _;

type Outcome<T> = Result<T, Box<dyn Error>>;

struct Chain {
    x: RustConnection,
    index: usize,
    kinds: Vec<String>,
    rounds: Vec<Vec<u64>>,
    root: Window,
    window: Window,
    gc: u32,
    atom: Atom,
    /// The window to map if the next client is the window manager.
    frame: Window,
    round: usize,
}

fn main() -> Outcome<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [index, kinds, rounds] = arguments.as_slice() else {
        return Err("usage: chain INDEX KINDS ROUNDS".into());
    };
    let of_round = |round: &str| round.split(':').map(str::parse).collect();
    let rounds: Result<Vec<Vec<u64>>, _> = rounds.split(',').map(of_round).collect();
    let kinds = kinds.split(',').map(str::to_owned).collect();
    let mut chain = Chain::new(index.parse()?, kinds, rounds?)?;
    chain.meet()?;
    println!("ready 0x{:x}", chain.window);
    loop {
        chain.handle(&chain.x.wait_for_event()?)?;
    }
}

impl Chain {
    fn new(index: usize, kinds: Vec<String>, rounds: Vec<Vec<u64>>) -> Outcome<Chain> {
        let (x, number) = x11rb::connect(None)?;
        let root = x.setup().roots.get(number).ok_or("no such screen")?.root;
        let (window, frame, gc) = (x.generate_id()?, x.generate_id()?, x.generate_id()?);
        let wants = CreateWindowAux::new()
            .background_pixel(0x30_60a0)
            .override_redirect(1)
            .event_mask(EventMask::KEY_PRESS);
        let class = WindowClass::INPUT_OUTPUT;
        let left = 120 * i16::try_from(index)?;
        x.create_window(0, window, root, left, 0, 100, 100, 0, class, 0, &wants)?;
        x.create_window(
            0,
            frame,
            root,
            left,
            200,
            100,
            100,
            0,
            class,
            0,
            &Default::default(),
        )?;
        x.create_gc(gc, window, &CreateGCAux::new().foreground(0xe0_c040))?;
        x.map_window(window)?;
        let atom = x.intern_atom(false, b"X11PROF_CHAIN")?.reply()?.atom;
        let chain = Chain {
            x,
            index,
            kinds,
            rounds,
            root,
            window,
            gc,
            atom,
            frame,
            round: 0,
        };
        let own = chain.selection(index)?;
        chain
            .x
            .set_selection_owner(window, own, x11rb::CURRENT_TIME)?;
        chain.x.sync()?;
        println!("window 0x{window:x}");
        Ok(chain)
    }

    /// The selection that identifies a client's window.
    fn selection(&self, index: usize) -> Outcome<Atom> {
        let name = format!("X11PROF_CHAIN_{index}");
        Ok(self.x.intern_atom(false, name.as_bytes())?.reply()?.atom)
    }

    /// The window of a client that has printed `window`. This function does not wait for the window: the analysis
    /// cannot distinguish a program that polls with sleeps from sleeps in its handlers.
    fn window_of(&self, index: usize) -> Outcome<Window> {
        let selection = self.selection(index)?;
        match self.x.get_selection_owner(selection)?.reply()?.owner {
            x11rb::NONE => Err(format!("client {index} is not there").into()),
            owner => Ok(owner),
        }
    }

    /// Selects the events of the previous client.
    fn meet(&self) -> Outcome<()> {
        let (listened, mask) = match self.asked_by() {
            "property" => (self.window_of(self.index - 1)?, EventMask::PROPERTY_CHANGE),
            "map" => (self.root, EventMask::SUBSTRUCTURE_REDIRECT),
            _ => (self.window, EventMask::KEY_PRESS),
        };
        let wants = ChangeWindowAttributesAux::new().event_mask(mask);
        self.x.change_window_attributes(listened, &wants)?;
        Ok(self.x.sync()?)
    }

    fn asked_by(&self) -> &str {
        self.kinds.get(self.index).map_or("key", String::as_str)
    }

    fn handle(&mut self, event: &Event) -> Outcome<()> {
        match (event, self.asked_by()) {
            (Event::KeyPress(_), "key")
            | (Event::ClientMessage(_), "message")
            | (Event::PropertyNotify(_), "property") => self.act(),
            (Event::SelectionRequest(asked), "selection") => {
                self.act()?;
                self.answer(asked)
            }
            (Event::MapRequest(asked), "map") => {
                self.act()?;
                self.x.map_window(asked.window)?;
                Ok(self.x.flush()?)
            }
            _ => Ok(()),
        }
    }

    /// Works for its time, draws, and triggers the next client.
    fn act(&mut self) -> Outcome<()> {
        let round = self.rounds.get(self.round);
        let ms = round.and_then(|round| round.get(self.index)).copied();
        let time = Duration::from_millis(ms.unwrap_or(0));
        let begun = Instant::now();
        match (self.round + self.index).is_multiple_of(2) {
            true => while begun.elapsed() < time {},
            false => std::thread::sleep(time),
        }
        self.round += 1;
        let item = Rectangle {
            x: 10,
            y: 10,
            width: 50,
            height: 50,
        };
        self.x.poly_fill_rectangle(self.window, self.gc, &[item])?;
        let next = self.index + 1;
        match self.kinds.get(next).map(String::as_str) {
            Some("message") => {
                let to = self.window_of(next)?;
                let message = ClientMessageEvent::new(32, to, self.atom, [0; 5]);
                self.x.send_event(false, to, EventMask::NO_EVENT, message)?;
            }
            Some("property") => {
                let value = [u8::try_from(self.round % 200)?];
                let (mode, kind) = (PropMode::REPLACE, AtomEnum::STRING);
                self.x
                    .change_property8(mode, self.window, self.atom, kind, &value)?;
            }
            Some("selection") => {
                let selection = self.selection(next)?;
                let target = AtomEnum::STRING.into();
                let now = x11rb::CURRENT_TIME;
                self.x
                    .convert_selection(self.window, selection, target, self.atom, now)?;
            }
            Some("map") => {
                self.x.unmap_window(self.frame)?;
                self.x.map_window(self.frame)?;
            }
            _ => {}
        }
        Ok(self.x.flush()?)
    }

    fn answer(&self, asked: &SelectionRequestEvent) -> Outcome<()> {
        let notify = SelectionNotifyEvent {
            response_type: SELECTION_NOTIFY_EVENT,
            sequence: 0,
            time: asked.time,
            requestor: asked.requestor,
            selection: asked.selection,
            target: asked.target,
            property: x11rb::NONE,
        };
        self.x
            .send_event(false, asked.requestor, EventMask::NO_EVENT, notify)?;
        Ok(self.x.flush()?)
    }
}
