//! The connection, windows and drawing.

use std::error::Error;
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use x11rb::connection::Connection;
use x11rb::protocol::Event;
use x11rb::protocol::xproto::{
    ConnectionExt as _, CreateGCAux, CreateWindowAux, EventMask, ImageFormat, Rectangle, Window,
    WindowClass,
};
use x11rb::rust_connection::RustConnection;

/// The position and size of a window.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    pub(crate) x: i16,
    pub(crate) y: i16,
    pub(crate) width: u16,
    pub(crate) height: u16,
}

/// The main window, a second one next to it (frame or dialog), and a popup within the first.
pub(crate) const FRAME: Place = Place::at(0, 0, 400, 300);
pub(crate) const SECOND: Place = Place::at(450, 0, 300, 200);
pub(crate) const MENU: Place = Place::at(0, 24, 120, 100);
pub(crate) const LIST: Place = Place::at(150, 124, 150, 100);

impl Place {
    const fn at(x: i16, y: i16, width: u16, height: u16) -> Place {
        Place {
            x,
            y,
            width,
            height,
        }
    }
}

/// Number of rectangles in each request that loads the server.
const FILL: usize = 20;

/// A connection and the resources for drawing.
pub(crate) struct Screen {
    pub(crate) x: RustConnection,
    root: Window,
    gcs: [u32; 2],
    drawn: std::cell::Cell<usize>,
}

impl Screen {
    /// Connects to the display in DISPLAY.
    pub(crate) fn connect() -> Result<Screen, Box<dyn Error>> {
        let (x, number) = x11rb::connect(None)?;
        let screen = x.setup().roots.get(number).ok_or("no such screen")?;
        let root = screen.root;
        let gcs = [x.generate_id()?, x.generate_id()?];
        for (gc, colour) in gcs.iter().zip([0x0030_60a0, 0x00e0_c040]) {
            x.create_gc(*gc, root, &CreateGCAux::new().foreground(colour))?;
        }
        Ok(Screen {
            x,
            root,
            gcs,
            drawn: std::cell::Cell::new(0),
        })
    }

    /// Creates and maps a window; a `popup` is override-redirect.
    pub(crate) fn window(
        &self,
        parent: Option<Window>,
        place: Place,
        popup: bool,
        mask: EventMask,
    ) -> Result<Window, Box<dyn Error>> {
        let window = self.x.generate_id()?;
        let attributes = CreateWindowAux::new()
            .background_pixel(0x00ff_ffff)
            .override_redirect(u32::from(popup))
            .event_mask(mask);
        self.x.create_window(
            x11rb::COPY_DEPTH_FROM_PARENT,
            window,
            parent.unwrap_or(self.root),
            place.x,
            place.y,
            place.width,
            place.height,
            0,
            WindowClass::INPUT_OUTPUT,
            x11rb::COPY_FROM_PARENT,
            &attributes,
        )?;
        self.x.map_window(window)?;
        Ok(window)
    }

    /// The next event; `None` if there is none within `patience`.
    pub(crate) fn next(&self, patience: Option<Duration>) -> Result<Option<Event>, Box<dyn Error>> {
        let end = patience.map(|patience| Instant::now() + patience);
        loop {
            if let Some(event) = self.x.poll_for_event()? {
                return Ok(Some(event));
            }
            self.x.flush()?;
            let left = end.map(|end| end.saturating_duration_since(Instant::now()));
            let timeout = left.map(Timespec::try_from).transpose()?;
            let mut fds = [PollFd::from_borrowed_fd(
                self.x.stream().as_fd(),
                PollFlags::IN,
            )];
            match poll(&mut fds, timeout.as_ref()) {
                Ok(0) => return Ok(None),
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Draws an item: a small rectangle whose change is visible.
    pub(crate) fn item(&self, window: Window, number: i16) -> Result<(), Box<dyn Error>> {
        self.drawn.set(self.drawn.get() + 1);
        let rectangle = Rectangle {
            x: 10,
            y: 20 * number + 4,
            width: 80,
            height: 12,
        };
        self.x
            .poly_fill_rectangle(window, self.gc(), &[rectangle])?;
        Ok(())
    }

    /// Sends `requests` of large rectangles.
    pub(crate) fn fill(&self, window: Window, requests: u64) -> Result<(), Box<dyn Error>> {
        let large = Rectangle {
            x: 150,
            y: 30,
            width: 200,
            height: 150,
        };
        let rectangles = [large; FILL];
        for _ in 0..requests {
            self.drawn.set(self.drawn.get() + 1);
            self.x.poly_fill_rectangle(window, self.gc(), &rectangles)?;
        }
        self.x.flush()?;
        Ok(())
    }

    /// Waits until the server has drawn all requests.
    pub(crate) fn read_back(&self, window: Window) -> Result<(), Box<dyn Error>> {
        self.x
            .get_image(ImageFormat::Z_PIXMAP, window, 0, 0, 1, 1, !0)?
            .reply()?;
        Ok(())
    }

    fn gc(&self) -> u32 {
        self.gcs[self.drawn.get() % 2]
    }
}
