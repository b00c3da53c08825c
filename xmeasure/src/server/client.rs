//! The resources that the loads need on the server: a window, GCs, fonts, properties. All are created by requests
//! over the raw connection, so that the tracker sees them, and are freed with the connection.

use std::os::fd::OwnedFd;

use x11prof_protocol::parse_reply;
use x11rb_protocol::protocol::bigreq::EnableRequest;
use x11rb_protocol::protocol::xproto::{
    self, CreateWindowRequest, EventMask, GetInputFocusRequest, MapWindowRequest,
    QueryExtensionRequest, Screen, Window, WindowClass,
};
use x11rb_protocol::x11_utils::{ReplyRequest, Request};

use crate::error::MeasureError;
use crate::server::connection::RawConnection;
use crate::server::shared_memory::Segment;
use crate::server::tracker::Tracker;
use crate::server::wire::{self, Major};

/// Side of the window that is drawn on, in pixels: x11perf's.
pub(crate) const SIDE: u16 = 600;
/// The side of the area for windows that are created and destroyed; the rest is space for others.
pub(crate) const ARENA: u16 = 220;
/// Side of a small window there, and of a small pixmap.
const SMALL: u16 = 30;
/// Side of a pixmap that is larger than any allocation of a load, in pixels.
const LARGE: u16 = 2000;
/// The number of small pixmaps that corresponds to the most resources a load has at once.
const MANY: usize = 2048;

/// The connection and the resources made over it.
pub(crate) struct Client {
    pub(crate) raw: RawConnection,
    pub(crate) tracker: Tracker,
    /// The window for drawing; it is mapped.
    pub(crate) window: Window,
    /// A mapped sibling window in which windows are created and destroyed; children of `window` would clip its
    /// drawing.
    pub(crate) arena: Window,
    /// An unmapped window whose events no client selects.
    pub(crate) unwatched: Window,
    /// An unmapped window; this connection gets the events of its properties' changes.
    pub(crate) notified: Window,
    /// The screen's root, depth, visual and colormap.
    pub(crate) screen: Screen,
    /// The longest request in words with BIG-REQUESTS, if the server has it.
    pub(crate) longest_request: Option<u32>,
    next_id: u32,
    /// Memory shared with the server, kept until the end.
    pub(crate) segments: Vec<Segment>,
}

impl Client {
    /// Creates the resources on a connection that is set up.
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

    /// A new resource id.
    pub(crate) fn id(&mut self) -> u32 {
        let mask = self.raw.setup.resource_id_mask;
        let id = self.raw.setup.resource_id_base
            | (self.next_id.wrapping_shl(mask.trailing_zeros()) & mask);
        self.next_id += 1;
        id
    }

    /// `count` new resource ids.
    pub(crate) fn ids(&mut self, count: usize) -> Vec<u32> {
        (0..count).map(|_| self.id()).collect()
    }

    /// Sends a core request that has no reply.
    pub(crate) fn send(&mut self, request: impl Request) -> Result<(), MeasureError> {
        self.send_bytes(&wire::core(request))
    }

    /// Sends a request's bytes.
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

    /// Sends a request's bytes; true if the server accepted it without an error.
    pub(crate) fn try_bytes(&mut self, bytes: &[u8]) -> Result<bool, MeasureError> {
        self.send_bytes(bytes)?;
        self.was_taken()
    }

    /// Sends a request's bytes with a file descriptor; true if the server accepted it without an error.
    pub(crate) fn try_with_fd(&mut self, bytes: &[u8], fd: &OwnedFd) -> Result<bool, MeasureError> {
        self.tracker.sent(bytes);
        self.raw.send_with_fd(bytes, fd)?;
        self.was_taken()
    }

    /// True if no error to the last request arrives before the reply to another one.
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

    /// Keeps shared memory until the client is dropped.
    pub(crate) fn keep(&mut self, segment: Segment) {
        self.segments.push(segment);
    }

    /// The major opcode of an extension; `None` if the server lacks it.
    pub(crate) fn extension(&mut self, name: &'static str) -> Result<Option<Major>, MeasureError> {
        let request = QueryExtensionRequest {
            name: name.as_bytes().into(),
        };
        let reply = self.ask(request)?;
        Ok(reply
            .filter(|reply| reply.present)
            .map(|reply| Major(reply.major_opcode)))
    }

    /// Waits until the server has handled all requests.
    pub(crate) fn synchronise(&mut self) -> Result<(), MeasureError> {
        self.ask(GetInputFocusRequest)?;
        Ok(())
    }

    /// The atom of `name`.
    pub(crate) fn atom(&mut self, name: &str) -> Result<u32, MeasureError> {
        let request = xproto::InternAtomRequest {
            only_if_exists: false,
            name: name.as_bytes().into(),
        };
        Ok(self.ask(request)?.map_or(0, |reply| reply.atom))
    }

    /// A new square pixmap.
    pub(crate) fn pixmap(&mut self, depth: u8, side: u16) -> Result<u32, MeasureError> {
        self.pixmap_of(depth, side, side)
    }

    /// A new pixmap as high as the window, whose scanlines are as far apart as the screen's.
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

    /// A new GC for `drawable`, without graphics exposures: their events would be transport.
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

    /// A font of this name; `None` if the server lacks it.
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
