//! The resources that the loads need on the server: windows, GCs, fonts, properties. All of them are created by
//! requests over the raw connection, so that the tracker processes these requests. The server frees the resources when
//! the connection closes.

use std::os::fd::OwnedFd;

use x11prof_protocol::parse_reply;
use x11prof_proxy::SharedMemory;
use x11rb_protocol::protocol::bigreq::EnableRequest;
use x11rb_protocol::protocol::xproto::{
    self, CreateWindowRequest, EventMask, GetInputFocusRequest, MapWindowRequest,
    QueryExtensionRequest, Screen, Window, WindowClass,
};
use x11rb_protocol::x11_utils::{ReplyRequest, Request};

use crate::error::MeasureError;
use crate::server::connection::RawConnection;
use crate::server::tracker::Tracker;
use crate::server::wire::{self, Major};

/// The side of the window that is drawn on in pixels, as in x11perf.
pub(crate) const SIDE: u16 = 600;
/// The side in pixels of the window in which windows are created and destroyed. The rest of the screen is for other
/// windows.
pub(crate) const ARENA: u16 = 220;
/// The side of a small window in the window of side `ARENA`, and of a small pixmap, in pixels.
const SMALL: u16 = 30;
/// The side, in pixels, of a pixmap that is larger than every allocation of a load.
const LARGE: u16 = 2000;
/// The number of small pixmaps that corresponds to the most resources a load has at once.
const MANY: usize = 2048;

/// The connection, and the resources that were created over it.
pub(crate) struct Client {
    pub(crate) raw: RawConnection,
    pub(crate) tracker: Tracker,
    /// The mapped window for drawing.
    pub(crate) window: Window,
    /// A mapped sibling of `window`, in which windows are created and destroyed; children of `window` would clip its
    /// drawing.
    pub(crate) arena: Window,
    /// An unmapped window whose events no client selects.
    pub(crate) unwatched: Window,
    /// An unmapped window. This connection receives the events of its property changes.
    pub(crate) notified: Window,
    /// The default screen: its root window, depth, visual and colormap.
    pub(crate) screen: Screen,
    /// The maximum length of a request with BIG-REQUESTS, in words of 4 bytes; `None` if the server does not have the
    /// extension.
    pub(crate) longest_request: Option<u32>,
    next_id: u32,
    /// The memory that is shared with the server, which must exist until the client is dropped.
    pub(crate) segments: Vec<SharedMemory>,
}

impl Client {
    /// Creates the resources over a connection whose setup is complete.
    pub(crate) fn new(raw: RawConnection) -> Result<Client, MeasureError> {
        let mut tracker = Tracker::default();
        tracker.sent(&raw.setup_bytes.0);
        tracker.received(&raw.setup_bytes.1);
        let screen = raw
            .setup
            .roots
            .first()
            .cloned()
            .ok_or_else(|| MeasureError::Protocol {
                what: "has no screen".into(),
            })?;
        let (width, height) = (screen.width_in_pixels, screen.height_in_pixels);
        if width.min(height) < SIDE {
            return Err(MeasureError::Protocol {
                what: format!(
                    "has a screen of {width}×{height} pixels, which would clip the drawing; a calibration needs \
                     {SIDE}×{SIDE}"
                ),
            });
        }
        let mut client = Client {
            raw,
            tracker,
            window: 0,
            arena: 0,
            unwatched: 0,
            notified: 0,
            screen,
            longest_request: None,
            next_id: 1,
            segments: Vec::new(),
        };
        if let Some(major) = client.extension("BIG-REQUESTS")? {
            let reply = client.ask_extension(EnableRequest, major)?;
            client.longest_request = reply.map(|reply| reply.maximum_request_length);
        }
        let shown = EventMask::STRUCTURE_NOTIFY | EventMask::EXPOSURE;
        client.window = client.create_window(0, SIDE, shown)?;
        client.arena = client.create_window(SIDE.cast_signed(), ARENA + SMALL, shown)?;
        for window in [client.window, client.arena] {
            client.send(MapWindowRequest { window })?;
            client.synchronise()?;
            // From here on the events would disturb the measurement.
            client.select(window, EventMask::NO_EVENT)?;
        }
        client.warm_up()?;
        client.unwatched = client.create_window(0, 10, EventMask::NO_EVENT)?;
        client.notified = client.create_window(0, 10, EventMask::PROPERTY_CHANGE)?;
        client.synchronise()?;
        Ok(client)
    }

    fn create_window(
        &mut self,
        x: i16,
        side: u16,
        mask: EventMask,
    ) -> Result<Window, MeasureError> {
        let wid = self.id();
        self.send(CreateWindowRequest {
            wid,
            parent: self.screen.root,
            x,
            width: side,
            height: side,
            class: WindowClass::INPUT_OUTPUT,
            value_list: std::borrow::Cow::Owned(
                xproto::CreateWindowAux::new()
                    .background_pixel(self.screen.white_pixel)
                    .override_redirect(1)
                    .event_mask(mask),
            ),
            ..CreateWindowRequest::default()
        })?;
        Ok(wid)
    }

    /// Brings the server's heap into the state after some use by programs. glibc returns the top of its heap to the
    /// system when much is freed there, and gives large blocks their own pages until the first such block is freed
    /// (mallopt(3), M_MMAP_THRESHOLD). Before that, each allocation would include the cost of new pages.
    fn warm_up(&mut self) -> Result<(), MeasureError> {
        let large = self.pixmap(self.screen.root_depth, LARGE)?;
        self.send(xproto::FreePixmapRequest { pixmap: large })?;
        let mut many = Vec::new();
        for _ in 0..MANY {
            many.push(self.pixmap(self.screen.root_depth, SMALL)?);
        }
        for pixmap in many {
            self.send(xproto::FreePixmapRequest { pixmap })?;
        }
        self.synchronise()
    }

    fn select(&mut self, window: Window, mask: EventMask) -> Result<(), MeasureError> {
        self.send(xproto::ChangeWindowAttributesRequest {
            window,
            value_list: std::borrow::Cow::Owned(
                xproto::ChangeWindowAttributesAux::new().event_mask(mask),
            ),
        })
    }

    /// Returns a new resource id.
    pub(crate) fn id(&mut self) -> u32 {
        let mask = self.raw.setup.resource_id_mask;
        let id = self.raw.setup.resource_id_base
            | (self.next_id.wrapping_shl(mask.trailing_zeros()) & mask);
        self.next_id += 1;
        id
    }

    /// The difference of consecutive resource ids.
    pub(crate) fn id_step(&self) -> i64 {
        1 << self.raw.setup.resource_id_mask.trailing_zeros()
    }

    /// Returns `count` new resource ids.
    pub(crate) fn ids(&mut self, count: usize) -> Vec<u32> {
        (0..count).map(|_| self.id()).collect()
    }

    /// Sends a core request that has no reply.
    pub(crate) fn send(&mut self, request: impl Request) -> Result<(), MeasureError> {
        self.send_bytes(&wire::core(request))
    }

    /// Sends the bytes of a request that has no reply.
    pub(crate) fn send_bytes(&mut self, bytes: &[u8]) -> Result<(), MeasureError> {
        self.tracker.sent(bytes);
        self.raw.send_request(bytes)
    }

    /// Sends a core request and returns its reply; `None` if the server replied with an error.
    pub(crate) fn ask<R: ReplyRequest>(
        &mut self,
        request: R,
    ) -> Result<Option<R::Reply>, MeasureError> {
        self.ask_extension(request, Major::CORE)
    }

    /// Sends a request of the extension with this major opcode and returns its reply; `None` if the server replied
    /// with an error.
    pub(crate) fn ask_extension<R: ReplyRequest>(
        &mut self,
        request: R,
        major: Major,
    ) -> Result<Option<R::Reply>, MeasureError> {
        let request = major.bytes(request);
        let reply = self.ask_bytes(&request)?;
        Ok(reply.and_then(|reply| parse_reply::<R, _>(&request, &reply)))
    }

    /// Sends a request's bytes and returns the bytes of the reply; `None` if the server replied with an error.
    pub(crate) fn ask_bytes(&mut self, bytes: &[u8]) -> Result<Option<Vec<u8>>, MeasureError> {
        self.send_bytes(bytes)?;
        loop {
            let message = self.raw.next_message()?;
            self.tracker.received(&message);
            if self.raw.answers_last(&message) {
                return Ok((message.first() == Some(&1)).then_some(message));
            }
        }
    }

    /// Sends a request's bytes. Returns true if the server accepted it without an error.
    pub(crate) fn try_bytes(&mut self, bytes: &[u8]) -> Result<bool, MeasureError> {
        self.send_bytes(bytes)?;
        self.was_taken()
    }

    /// Sends a request's bytes with a file descriptor. Returns true if the server accepted it without an error.
    pub(crate) fn try_with_fd(&mut self, bytes: &[u8], fd: &OwnedFd) -> Result<bool, MeasureError> {
        self.tracker.sent(bytes);
        self.raw.send_with_fd(bytes, fd)?;
        self.was_taken()
    }

    /// Returns true if the server sends no error for the last request before the reply to a later request.
    fn was_taken(&mut self) -> Result<bool, MeasureError> {
        self.send_bytes(&wire::core(GetInputFocusRequest))?;
        let mut taken = true;
        loop {
            let message = self.raw.next_message()?;
            self.tracker.received(&message);
            if self.raw.answers_last(&message) {
                return Ok(taken);
            }
            taken &= message.first() != Some(&0);
        }
    }

    /// Keeps a shared memory segment until the client is dropped.
    pub(crate) fn keep(&mut self, segment: SharedMemory) {
        self.segments.push(segment);
    }

    /// The major opcode of an extension; `None` if the server does not have the extension.
    pub(crate) fn extension(&mut self, name: &str) -> Result<Option<Major>, MeasureError> {
        let request = QueryExtensionRequest {
            name: name.as_bytes().into(),
        };
        let reply = self.ask(request)?;
        Ok(reply
            .filter(|reply| reply.present)
            .map(|reply| Major(reply.major_opcode)))
    }

    /// Waits until the server has handled all requests up to now.
    pub(crate) fn synchronise(&mut self) -> Result<(), MeasureError> {
        self.ask(GetInputFocusRequest)?;
        Ok(())
    }

    /// Returns the atom of `name`, which is interned if necessary.
    pub(crate) fn atom(&mut self, name: &str) -> Result<u32, MeasureError> {
        let request = xproto::InternAtomRequest {
            only_if_exists: false,
            name: name.as_bytes().into(),
        };
        Ok(self.ask(request)?.map_or(0, |reply| reply.atom))
    }

    /// Creates a square pixmap of `side` pixels, and returns its id.
    pub(crate) fn pixmap(&mut self, depth: u8, side: u16) -> Result<u32, MeasureError> {
        self.pixmap_of(depth, side, side)
    }

    /// Creates a pixmap as high as the window, whose scanlines are as far apart as the screen's, and returns its id.
    pub(crate) fn like_the_screen(&mut self) -> Result<u32, MeasureError> {
        let (depth, width) = (self.screen.root_depth, self.screen.width_in_pixels);
        self.pixmap_of(depth, width, SIDE)
    }

    fn pixmap_of(&mut self, depth: u8, width: u16, height: u16) -> Result<u32, MeasureError> {
        let pid = self.id();
        let drawable = self.window;
        self.send(xproto::CreatePixmapRequest {
            depth,
            pid,
            drawable,
            width,
            height,
        })?;
        Ok(pid)
    }

    /// Creates a GC for `drawable`, and returns its id. Graphics exposures are off in the GC, because their events
    /// would count as transport.
    pub(crate) fn gc(
        &mut self,
        drawable: u32,
        values: xproto::CreateGCAux,
    ) -> Result<u32, MeasureError> {
        let cid = self.id();
        let values = values.graphics_exposures(0);
        self.send(xproto::CreateGCRequest {
            cid,
            drawable,
            value_list: std::borrow::Cow::Owned(values),
        })?;
        Ok(cid)
    }

    /// Opens a font, and returns its id; `None` if the server does not have the font.
    pub(crate) fn font(&mut self, name: &str) -> Result<Option<u32>, MeasureError> {
        let fid = self.id();
        self.send(xproto::OpenFontRequest {
            fid,
            name: name.as_bytes().into(),
        })?;
        Ok(self
            .ask(xproto::QueryFontRequest { font: fid })?
            .map(|_| fid))
    }
}
