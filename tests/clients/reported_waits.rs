//! Clients with the faults of public bug reports about waits:
//!
//!     reported_waits owner incr        owns CLIPBOARD, sends it in pieces to one client at a time (astrand/xclip#34)
//!     reported_waits owner MS          owns CLIPBOARD, takes MS ms for each request (erebe/greenclip#71)
//!     reported_waits keeper            requests CLIPBOARD, and never deletes the property (astrand/xclip#34)
//!     reported_waits poller MS         requests CLIPBOARD every MS ms (erebe/greenclip#71)
//!     reported_waits hints MS          sets its hints MS ms after each change of its frame (herbstluftwm#1235)
//!     reported_waits manager           a window manager that changes the frame whenever the hints change
//!     reported_waits slow MS           takes MS ms for each motion (bspwm#24), and prints the age of the last one
//!     reported_waits mover N RATE      moves the pointer N times, RATE times a second
//!     reported_waits source            drags, and sends its data only after the drop (Eliav2/tkinterdnd2#20)
//!     reported_waits target MS         requests the data at each position, and waits for MS ms
//!     reported_waits grabber MS        grabs the server for MS ms, in which a key is pressed
//!     reported_waits caller PATH       waits for a process at the other end of a socket at each key
//!     reported_waits echo PATH         that process, which is no client
//!
//! A client with a window draws at each key. All print `ready`.
#![allow(clippy::print_stdout, reason = "a program for tests")]

use std::error::Error;
use std::io::{Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};
use x11rb::connection::Connection;
use x11rb::protocol::Event;
use x11rb::protocol::xproto::{
    Atom, AtomEnum, ChangeWindowAttributesAux, ClientMessageEvent, ConnectionExt as _, CreateGCAux,
    CreateWindowAux, EventMask, KEY_PRESS_EVENT, KEY_RELEASE_EVENT, MOTION_NOTIFY_EVENT, PropMode,
    Property, Rectangle, SELECTION_NOTIFY_EVENT, SelectionNotifyEvent, SelectionRequestEvent,
    Window, WindowClass,
};
use x11rb::protocol::xtest::ConnectionExt as _;
use x11rb::rust_connection::RustConnection;
use x11rb::wrapper::ConnectionExt as _;

type Outcome<T> = Result<T, Box<dyn Error>>;

/// The bytes of a piece of a selection.
const PIECE: usize = 1 << 16;
/// The target's window has this selection.
const MEET: &str = "X11PROF_TARGET";

fn main() -> Outcome<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    if let ["echo", path] = words.as_slice() {
        return echo(&UnixListener::bind(path)?);
    }
    let client = Client::new()?;
    match words.as_slice() {
        ["owner", "incr"] => client.owner(None),
        ["owner", ms] => client.owner(Some(millis(ms)?)),
        ["keeper"] => client.keeper(),
        ["poller", ms] => client.poller(millis(ms)?),
        ["hints", ms] => client.hints(millis(ms)?),
        ["manager"] => client.manager(),
        ["slow", ms] => client.slow(millis(ms)?),
        ["mover", count, rate] => client.mover(count.parse()?, rate.parse()?),
        ["source"] => client.source(),
        ["target", ms] => client.target(millis(ms)?),
        ["grabber", ms] => client.grabber(millis(ms)?),
        ["caller", path] => client.caller(UnixStream::connect(path)?),
        _ => Err("usage: see the source".into()),
    }
}

fn millis(text: &str) -> Outcome<Duration> {
    Ok(Duration::from_millis(text.parse()?))
}

fn echo(listener: &UnixListener) -> Outcome<()> {
    println!("ready");
    let (mut stream, _) = listener.accept()?;
    loop {
        let mut byte = [0];
        stream.read_exact(&mut byte)?;
        stream.write_all(&byte)?;
    }
}

fn compute(time: Duration) {
    let begun = Instant::now();
    while begun.elapsed() < time {}
}

struct Client {
    x: RustConnection,
    root: Window,
    window: Window,
    gc: u32,
}

impl Client {
    fn new() -> Outcome<Client> {
        let (x, number) = x11rb::connect(None)?;
        let root = x.setup().roots.get(number).ok_or("no such screen")?.root;
        let (window, gc) = (x.generate_id()?, x.generate_id()?);
        let wants = EventMask::KEY_PRESS
            | EventMask::STRUCTURE_NOTIFY
            | EventMask::PROPERTY_CHANGE
            | EventMask::BUTTON_PRESS
            | EventMask::BUTTON_RELEASE
            | EventMask::POINTER_MOTION;
        let values = CreateWindowAux::new()
            .background_pixel(0x30_60a0)
            .event_mask(wants);
        let class = WindowClass::INPUT_OUTPUT;
        x.create_window(0, window, root, 0, 0, 200, 200, 0, class, 0, &values)?;
        x.create_gc(gc, window, &CreateGCAux::new().foreground(0xe0_c040))?;
        Ok(Client {
            x,
            root,
            window,
            gc,
        })
    }

    fn atom(&self, name: &str) -> Outcome<Atom> {
        Ok(self.x.intern_atom(false, name.as_bytes())?.reply()?.atom)
    }

    fn ready(&self, is_shown: bool) -> Outcome<()> {
        if is_shown {
            self.x.map_window(self.window)?;
        }
        self.x.sync()?;
        println!("ready");
        Ok(())
    }

    fn draw(&self) -> Outcome<()> {
        let item = Rectangle {
            x: 10,
            y: 10,
            width: 50,
            height: 50,
        };
        self.x.poly_fill_rectangle(self.window, self.gc, &[item])?;
        Ok(self.x.flush()?)
    }

    fn answer(&self, asked: &SelectionRequestEvent, property: Atom) -> Outcome<()> {
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

    fn owner(&self, takes: Option<Duration>) -> Outcome<()> {
        let now = x11rb::CURRENT_TIME;
        self.x
            .set_selection_owner(self.window, self.atom("CLIPBOARD")?, now)?;
        let (incr, mut left) = (self.atom("INCR")?, 0);
        self.ready(true)?;
        loop {
            match self.x.wait_for_event()? {
                Event::KeyPress(_) => self.draw()?,
                Event::SelectionRequest(asked) if takes.is_some() => {
                    compute(takes.unwrap_or_default());
                    self.answer(&asked, x11rb::NONE)?;
                }
                // Another transfer goes on.
                Event::SelectionRequest(_) if left > 0 => {}
                Event::SelectionRequest(asked) => {
                    left = 3;
                    let wants = ChangeWindowAttributesAux::new();
                    let wants = wants.event_mask(EventMask::PROPERTY_CHANGE);
                    self.x.change_window_attributes(asked.requestor, &wants)?;
                    let (mode, size) = (PropMode::REPLACE, [PIECE as u32 * 3]);
                    self.x
                        .change_property32(mode, asked.requestor, asked.property, incr, &size)?;
                    self.answer(&asked, asked.property)?;
                }
                Event::PropertyNotify(of) if of.state == Property::DELETE && left > 0 => {
                    left -= 1;
                    let (mode, kind) = (PropMode::REPLACE, AtomEnum::STRING);
                    let piece = if left == 0 {
                        Vec::new()
                    } else {
                        vec![b'a'; PIECE]
                    };
                    self.x
                        .change_property8(mode, of.window, of.atom, kind, &piece)?;
                    self.x.flush()?;
                }
                _ => {}
            }
        }
    }

    fn request(&self, selection: Atom) -> Outcome<()> {
        let (property, now) = (self.atom("WATCH")?, x11rb::CURRENT_TIME);
        let target = AtomEnum::STRING.into();
        self.x
            .convert_selection(self.window, selection, target, property, now)?;
        Ok(self.x.flush()?)
    }

    fn keeper(&self) -> Outcome<()> {
        self.request(self.atom("CLIPBOARD")?)?;
        loop {
            if let Event::SelectionNotify(_) = self.x.wait_for_event()? {
                let (property, any) = (self.atom("WATCH")?, AtomEnum::ANY);
                self.x
                    .get_property(false, self.window, property, any, 0, 1)?
                    .reply()?;
                self.ready(false)?;
            }
        }
    }

    fn poller(&self, every: Duration) -> Outcome<()> {
        let clipboard = self.atom("CLIPBOARD")?;
        self.ready(false)?;
        loop {
            self.request(clipboard)?;
            while !matches!(self.x.wait_for_event()?, Event::SelectionNotify(_)) {}
            std::thread::sleep(every);
        }
    }

    fn grabber(&self, hold: Duration) -> Outcome<()> {
        self.x.xtest_get_version(2, 2)?.reply()?;
        self.x.grab_server()?;
        self.x.sync()?;
        let begun = Instant::now();
        for kind in [KEY_PRESS_EVENT, KEY_RELEASE_EVENT] {
            self.x.xtest_fake_input(kind, 38, 0, self.root, 0, 0, 0)?;
        }
        self.x.sync()?;
        std::thread::sleep(hold);
        self.x.ungrab_server()?;
        self.x.sync()?;
        println!("held {}", begun.elapsed().as_secs_f64() * 1e3);
        loop {
            self.x.wait_for_event()?;
        }
    }

    fn hints(&self, after: Duration) -> Outcome<()> {
        let frame = self.atom("_NET_FRAME_EXTENTS")?;
        self.ready(true)?;
        loop {
            let is_changed = match self.x.wait_for_event()? {
                Event::ConfigureNotify(_) => true,
                Event::PropertyNotify(of) => of.atom == frame,
                _ => false,
            };
            if is_changed {
                compute(after);
                let (mode, hints) = (PropMode::REPLACE, AtomEnum::WM_NORMAL_HINTS);
                let kind = AtomEnum::WM_SIZE_HINTS;
                self.x
                    .change_property32(mode, self.window, hints, kind, &[0; 18])?;
                self.x.flush()?;
            }
        }
    }

    fn manager(&self) -> Outcome<()> {
        let frame = self.atom("_NET_FRAME_EXTENTS")?;
        let wants = ChangeWindowAttributesAux::new().event_mask(EventMask::SUBSTRUCTURE_REDIRECT);
        self.x
            .change_window_attributes(self.root, &wants)?
            .check()?;
        self.ready(false)?;
        let set_frame = |window| -> Outcome<()> {
            let (mode, cardinal) = (PropMode::REPLACE, AtomEnum::CARDINAL);
            self.x
                .change_property32(mode, window, frame, cardinal, &[1, 1, 20, 1])?;
            // A window manager reads the hints, which is a round trip.
            self.x.get_input_focus()?.reply()?;
            Ok(())
        };
        loop {
            match self.x.wait_for_event()? {
                Event::MapRequest(asked) => {
                    let wants = ChangeWindowAttributesAux::new();
                    let wants = wants.event_mask(EventMask::PROPERTY_CHANGE);
                    self.x.change_window_attributes(asked.window, &wants)?;
                    self.x.map_window(asked.window)?;
                    set_frame(asked.window)?;
                }
                Event::PropertyNotify(of) if of.atom == u32::from(AtomEnum::WM_NORMAL_HINTS) => {
                    set_frame(of.window)?;
                }
                _ => {}
            }
        }
    }

    fn slow(&self, takes: Duration) -> Outcome<()> {
        self.ready(true)?;
        let mut age_ms = 0;
        loop {
            match self.x.wait_for_event()? {
                Event::MotionNotify(moved) => {
                    compute(takes);
                    self.draw()?;
                    // The server's clock is this one.
                    let now = clock_gettime(ClockId::Monotonic);
                    let now = now.tv_sec * 1000 + now.tv_nsec / 1_000_000;
                    age_ms = (now as u32).wrapping_sub(moved.time);
                }
                Event::KeyPress(_) => println!("age {age_ms}"),
                _ => {}
            }
        }
    }

    fn mover(&self, count: u32, rate: f64) -> Outcome<()> {
        self.x.xtest_get_version(2, 2)?.reply()?;
        let begun = Instant::now();
        for n in 0..count {
            let (x, y) = ((20 + n % 150) as i16, (20 + n % 2) as i16);
            self.x
                .xtest_fake_input(MOTION_NOTIFY_EVENT, 0, 0, self.root, x, y, 0)?;
            self.x.flush()?;
            let next = Duration::from_secs_f64(f64::from(n + 1) / rate);
            std::thread::sleep(next.saturating_sub(begun.elapsed()));
        }
        self.x.sync()?;
        println!("moved");
        Ok(())
    }

    /// Sends positions to the target; owns the data, and never sends it.
    fn source(&self) -> Outcome<()> {
        let (meet, now) = (self.atom(MEET)?, x11rb::CURRENT_TIME);
        let target = self.x.get_selection_owner(meet)?.reply()?.owner;
        let (position, status) = (self.atom("XdndPosition")?, self.atom("XdndStatus")?);
        self.x
            .set_selection_owner(self.window, self.atom("XdndSelection")?, now)?;
        self.ready(true)?;
        loop {
            match self.x.wait_for_event()? {
                Event::ButtonPress(_) => {
                    let data = [self.window, 0, 0, now, 0];
                    let message = ClientMessageEvent::new(32, target, position, data);
                    self.x
                        .send_event(false, target, EventMask::NO_EVENT, message)?;
                    self.x.flush()?;
                }
                Event::ClientMessage(one) if one.type_ == status => self.draw()?,
                _ => {}
            }
        }
    }

    fn target(&self, limit: Duration) -> Outcome<()> {
        let (meet, now) = (self.atom(MEET)?, x11rb::CURRENT_TIME);
        self.x.set_selection_owner(self.window, meet, now)?;
        let (selection, status) = (self.atom("XdndSelection")?, self.atom("XdndStatus")?);
        self.ready(false)?;
        loop {
            let Event::ClientMessage(asked) = self.x.wait_for_event()? else {
                continue;
            };
            let begun = Instant::now();
            self.request(selection)?;
            while begun.elapsed() < limit {
                if let Some(Event::SelectionNotify(_)) = self.x.poll_for_event()? {
                    break;
                }
                std::thread::sleep(Duration::from_millis(10));
            }
            let source = asked.data.as_data32()[0];
            let data = [self.window, 1, 0, 0, 0];
            let message = ClientMessageEvent::new(32, source, status, data);
            self.x
                .send_event(false, source, EventMask::NO_EVENT, message)?;
            self.x.flush()?;
            println!("waited {:.3}", begun.elapsed().as_secs_f64() * 1e3);
        }
    }

    fn caller(&self, mut daemon: UnixStream) -> Outcome<()> {
        self.ready(true)?;
        loop {
            if let Event::KeyPress(_) = self.x.wait_for_event()? {
                let begun = Instant::now();
                daemon.write_all(b"k")?;
                let flags = rustix::event::PollFlags::IN;
                let mut polled = [rustix::event::PollFd::new(&daemon, flags)];
                rustix::event::poll(&mut polled, None)?;
                daemon.read_exact(&mut [0])?;
                println!("waited {:.3}", begun.elapsed().as_secs_f64() * 1e3);
                self.draw()?;
            }
        }
    }
}
