//! How the scanlines of drawables lie in the server's memory: a pixmap's one behind the other, a
//! window's among the screen's.
//!
//! Processors read ahead of what is read or written line by line of the cache, and over a small gap. So
//! an area that is nearly as wide as its drawable comes in from memory faster than one whose rows lie
//! far apart.

use x11prof_cost_model::FastMap;
use x11prof_protocol::{Request, ServerSetup};

use crate::body::Body;

/// Pixmaps known at most; beyond that all are forgotten.
const MOST: usize = 1 << 14;
/// Over a gap of so many bytes a row is read ahead of behind the one before: five or six lines of the cache, by
/// measurement (docs/METHOD.md, "Cold pixels").
const GAP: u32 = 384;

/// The scanlines of one drawable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Layout {
    width: u16,
    height: u16,
    depth: u8,
}

impl Layout {
    fn pixels(self) -> f64 {
        f64::from(self.width) * f64::from(self.height)
    }

    /// Bytes from the end of a row so wide to the beginning of the next.
    fn gap(self, width: u16) -> u32 {
        // X.Org's servers keep pixels in 1, 8, 16 or 32 bits (fb, BitsPerPixel).
        let bits = match self.depth {
            0..=1 => 1,
            2..=8 => 8,
            9..=16 => 16,
            _ => 32,
        };
        u32::from(self.width.saturating_sub(width)) * bits / 8
    }
}

/// The drawables of a recording.
#[derive(Debug, Default)]
pub(super) struct Scanlines {
    screen: Option<Layout>,
    pixmaps: FastMap<u32, Layout>,
}

impl Scanlines {
    /// The server tells of its screen.
    pub(super) fn setup(&mut self, setup: &ServerSetup<'_>) {
        if self.screen.is_none() {
            let setup = setup.decode().ok();
            self.screen = setup
                .and_then(|it| it.roots.into_iter().next())
                .map(|it| Layout {
                    width: it.width_in_pixels,
                    height: it.height_in_pixels,
                    depth: it.root_depth,
                });
        }
    }

    /// A request that may make a pixmap, or free it.
    pub(super) fn request(&mut self, request: &Request<'_>) {
        let body = Body::of(request);
        match request.name.as_str() {
            "CreatePixmap" => {
                let made = || {
                    let layout = Layout {
                        width: body.u16(8)?,
                        height: body.u16(10)?,
                        depth: request.bytes.get(1).copied()?,
                    };
                    Some((body.u32(0)?, layout))
                };
                if let Some((pixmap, layout)) = made() {
                    if self.pixmaps.len() >= MOST {
                        self.pixmaps.clear();
                    }
                    self.pixmaps.insert(pixmap, layout);
                }
            }
            "FreePixmap" => {
                if let Some(pixmap) = body.u32(0) {
                    self.pixmaps.remove(&pixmap);
                }
            }
            _ => {}
        }
    }

    /// How many pixels a pixmap has; `None` for windows and those that are not known.
    pub(super) fn pixels(&self, drawable: u32) -> Option<f64> {
        self.pixmaps.get(&drawable).map(|it| it.pixels())
    }

    /// Whether rows so wide follow each other closely in that drawable. What is no pixmap that is known
    /// is taken for a window; where the screen is not known, no.
    pub(super) fn close(&self, drawable: u32, width: u16) -> bool {
        let layout = self.pixmaps.get(&drawable).copied().or(self.screen);
        layout.is_some_and(|it| it.gap(width) <= GAP)
    }
}

#[cfg(test)]
mod tests {
    use x11prof_protocol::{ByteOrder, Request, SequenceNumber};

    use super::{Layout, Scanlines};

    fn pixmap(scanlines: &mut Scanlines, name: &'static str, depth: u8) {
        let mut bytes = vec![53, depth, 4, 0];
        bytes.extend(7u32.to_le_bytes());
        bytes.extend(1u32.to_le_bytes());
        for side in [500u16, 10] {
            bytes.extend(side.to_le_bytes());
        }
        scanlines.request(&Request {
            sequence: SequenceNumber(1),
            name: name.into(),
            major: 53,
            minor: 0,
            order: ByteOrder::Little,
            bytes: &bytes,
            wire_len: 16,
            header_len: 4,
            has_reply: false,
        });
    }

    #[test]
    fn rows_that_fill_their_drawable_are_close() {
        let mut scanlines = Scanlines::default();
        // Neither drawable nor screen are known.
        assert!(!scanlines.close(7, 500));
        scanlines.screen = Some(Layout {
            width: 1280,
            height: 1024,
            depth: 24,
        });
        assert!(!scanlines.close(7, 500));
        assert!(scanlines.close(7, 1200));
        assert_eq!(scanlines.pixels(7), None);
        pixmap(&mut scanlines, "CreatePixmap", 24);
        assert!(scanlines.close(7, 500));
        assert!(!scanlines.close(7, 300));
        assert_eq!(scanlines.pixels(7), Some(5000.0));
        // A byte each.
        pixmap(&mut scanlines, "CreatePixmap", 8);
        assert!(scanlines.close(7, 300));
        pixmap(&mut scanlines, "FreePixmap", 8);
        assert!(!scanlines.close(7, 500));
    }
}
