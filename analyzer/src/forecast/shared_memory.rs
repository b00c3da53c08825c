//! The bytes of images in shared memory, which a program sends by PutImage and reads by GetImage over a link.

use rustc_hash::FxHashSet;
use x11prof_protocol::{Body, Request};

use crate::pipeline::Seen;

/// Pixmaps in shared memory remembered at most.
const PIXMAPS: usize = 1 << 16;

/// Finds the images that requests pass in shared memory.
#[derive(Debug, Default)]
pub(super) struct SharedImages {
    /// Pixmaps whose pixels are in memory of the client.
    pixmaps: FxHashSet<u32>,
}

/// The bytes of an image of this size and depth in Z format, with rows of whole words (protocol, "Image format").
fn image(width: u16, height: u16, depth: u8) -> u64 {
    let bits = match depth {
        0..=1 => 1,
        2..=8 => 8,
        9..=16 => 16,
        _ => 32,
    };
    let row = (u64::from(width) * bits).div_ceil(32) * 4;
    row * u64::from(height)
}

impl SharedImages {
    /// The bytes that a request sends to the server, and those of its reply, if the image cannot be shared.
    pub(super) fn bytes(&mut self, seen: &Seen<'_>, request: &Request<'_>) -> [u64; 2] {
        let body = Body::of(request);
        let size = |at| Some((body.u16(at)?, body.u16(at + 2)?));
        let depth_of = |at| {
            let drawable = seen.session.drawable(body.u32(at)?)?;
            drawable.depth
        };
        let bytes = |size: Option<(u16, u16)>, depth: Option<u8>| {
            size.map_or(0, |(width, height)| {
                image(width, height, depth.unwrap_or(24))
            })
        };
        match request.name.as_str() {
            // MIT-SHM, "ShmPutImage": the part that is put, then its depth.
            "MIT-SHM:PutImage" => [bytes(size(16), request_u8(request, 24)), 0],
            "MIT-SHM:GetImage" => [0, bytes(size(8), depth_of(0))],
            "MIT-SHM:CreatePixmap" | "DRI3:PixmapFromBuffer" | "DRI3:PixmapFromBuffers" => {
                if self.pixmaps.len() < PIXMAPS {
                    self.pixmaps.extend(body.u32(0));
                }
                [0, 0]
            }
            "FreePixmap" => {
                body.u32(0).map(|pixmap| self.pixmaps.remove(&pixmap));
                [0, 0]
            }
            "CopyArea" if self.holds(body.u32(0)) => [bytes(size(20), depth_of(4)), 0],
            // Present, "PresentPixmap": the window, then the pixmap.
            "Present:Pixmap" if self.holds(body.u32(4)) => {
                let pixmap = body.u32(4).and_then(|pixmap| seen.session.drawable(pixmap));
                let size = pixmap.map(|one| (one.geometry.width, one.geometry.height));
                [bytes(size, pixmap.and_then(|one| one.depth)), 0]
            }
            _ => [0, 0],
        }
    }

    fn holds(&self, pixmap: Option<u32>) -> bool {
        pixmap.is_some_and(|pixmap| self.pixmaps.contains(&pixmap))
    }
}

/// A byte by its offset after the header.
fn request_u8(request: &Request<'_>, at: usize) -> Option<u8> {
    request.bytes.get(request.header_len + at).copied()
}

#[cfg(test)]
mod tests {
    use super::image;

    #[test]
    fn rows_of_an_image_are_whole_words() {
        assert_eq!(image(10, 3, 24), 120);
        assert_eq!(image(3, 2, 16), 16);
        assert_eq!(image(33, 2, 1), 16);
        assert_eq!(image(5, 1, 8), 8);
    }
}
