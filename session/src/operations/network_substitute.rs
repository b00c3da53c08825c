//! Substitutes for requests that cannot be used over a network: images in memory shared with the server (MIT-SHM), and
//! buffers of the graphics card (DRI3). Over a network a program sends each image with PutImage, and reads it with
//! GetImage.

use x11prof_protocol::{Body, Request};
use x11rb_protocol::protocol::{present, render, shm, xproto};

use crate::extension_kind::ExtensionKind;
use crate::geometry::target::Effect;
use crate::operations::operation::Operation;
use crate::request_table::sources;
use crate::setup::PixmapFormat;
use crate::state::State;

/// Length of a PutImage before its pixels (protocol, encoding of PutImage).
const PUT_IMAGE: u64 = 24;
/// The protocol's number of the image format ZPixmap.
const Z_PIXMAP: u8 = 2;

/// The requests that replace a request which shares an image with the server. Over a network, the image is sent as
/// bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NetworkSubstitute {
    /// The number of bytes of the PutImage or GetImage request.
    pub bytes: u64,
    /// The number of bytes of the image in the reply, without the reply's header.
    pub reply_bytes: u64,
    /// True if the substitute replaces the request. Otherwise the request is also sent, after the image that it copies.
    pub instead: bool,
}

/// The state of the session in which a request was made.
pub(crate) struct Sharing<'a> {
    pub(crate) state: &'a State,
}

impl Sharing<'_> {
    /// Returns the substitute for `request` over a network. `request` must be the last request that the session
    /// observed, and `operation` its operation. `None` if the request can be sent unchanged, or if its image is
    /// unknown.
    pub(crate) fn across(
        &self,
        extension: impl Fn() -> Option<ExtensionKind>,
        request: &Request<'_>,
        operation: &Operation,
    ) -> Option<NetworkSubstitute> {
        let body = Body::of(request);
        match request.major {
            xproto::COPY_AREA_REQUEST | xproto::COPY_PLANE_REQUEST => {
                self.copied(request, operation, false)
            }
            0..128 => None,
            _ => match (extension()?, request.minor) {
                (ExtensionKind::Shm, shm::PUT_IMAGE_REQUEST) => {
                    let (width, height) = (body.u16(16)?, body.u16(18)?);
                    let (depth, format) = (body.u8(24)?, body.u8(25)?);
                    let bytes = self.image_bytes(format, depth, width, height)?;
                    Some(NetworkSubstitute {
                        bytes: PUT_IMAGE + bytes,
                        reply_bytes: 0,
                        instead: true,
                    })
                }
                (ExtensionKind::Shm, shm::GET_IMAGE_REQUEST) => {
                    let (width, height) = (body.u16(8)?, body.u16(10)?);
                    let depth = self.state.drawables.get(body.u32(0)?)?.depth?;
                    Some(NetworkSubstitute {
                        bytes: 20,
                        reply_bytes: self.image_bytes(body.u8(16)?, depth, width, height)?,
                        instead: true,
                    })
                }
                (ExtensionKind::Present, present::PIXMAP_REQUEST) => {
                    self.copied(request, operation, true)
                }
                (ExtensionKind::Render, render::COMPOSITE_REQUEST) => {
                    self.copied(request, operation, false)
                }
                _ => None,
            },
        }
    }

    /// Returns the PutImage that sends the pixels over a network if `request` copies from a shared pixmap. `None` if
    /// the pixmap is not shared, or if its depth is unknown. `instead` is true if the PutImage replaces the request.
    fn copied(
        &self,
        request: &Request<'_>,
        operation: &Operation,
        instead: bool,
    ) -> Option<NetworkSubstitute> {
        let source = sources(request, &self.state.render.pictures).next()?;
        let pixmap = self.state.drawables.shared_pixmap(source.drawable()?)?;
        let depth = pixmap.depth?;
        let format = self.pixmap_format(depth)?;
        let pixels = match operation.effect {
            Effect::Unknown => f64::from(pixmap.width) * f64::from(pixmap.height),
            _ => operation.op_size,
        };
        Some(NetworkSubstitute {
            bytes: PUT_IMAGE + (pixels * f64::from(format.bits) / 8.0).ceil() as u64,
            reply_bytes: 0,
            instead,
        })
    }

    /// The size of an image in bytes, with padded rows (protocol, section "Images").
    fn image_bytes(&self, format: u8, depth: u8, width: u16, height: u16) -> Option<u64> {
        let (planes, bits, pad) = match format {
            Z_PIXMAP => {
                let format = self.pixmap_format(depth)?;
                (1, format.bits, format.pad)
            }
            // Most servers pad rows of bitmaps to 32 bits.
            _ => (u64::from(depth), 1, 32),
        };
        let row = (u64::from(width) * u64::from(bits)).next_multiple_of(u64::from(pad.max(8))) / 8;
        Some(planes * row * u64::from(height))
    }

    /// Returns the format of pixmaps with this depth in the server's setup. If the setup is unknown, returns the format
    /// that nearly all servers use.
    fn pixmap_format(&self, depth: u8) -> Option<PixmapFormat> {
        let known = self.state.pixmap_formats.iter();
        let usual = || PixmapFormat {
            depth,
            bits: match depth {
                1 => 1,
                2..=8 => 8,
                9..=16 => 16,
                _ => 32,
            },
            pad: 32,
        };
        let found = known.copied().find(|format| format.depth == depth);
        (depth > 0).then(|| found.unwrap_or_else(usual))
    }
}
