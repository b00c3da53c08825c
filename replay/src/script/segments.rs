//! The sizes of the recorded clients' shared memory, computed from their requests.

use rustc_hash::FxHashMap;
use x11prof_protocol::Request;
use x11rb_protocol::protocol::xproto::Setup;

/// Minor opcodes of MIT-SHM requests. `ATTACH` attaches a segment by its System V identifier.
pub(super) const ATTACH: u8 = 1;
const PUT_IMAGE: u8 = 3;
const GET_IMAGE: u8 = 4;
const CREATE_PIXMAP: u8 = 5;
pub(super) const ATTACH_FD: u8 = 6;
/// The minimum size of a segment in bytes: one page.
const SMALLEST: usize = 4096;
/// Maximum size in bytes of all segments together. The display returns errors for accesses beyond it.
const LARGEST: usize = 1 << 29;

/// A shared memory segment that a recorded client attached.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SharedSegment {
    /// The segment's size in bytes, large enough for all recorded accesses.
    pub(crate) len: usize,
    /// True if the client passed a file descriptor instead of a System V identifier.
    pub(crate) by_descriptor: bool,
}

/// The recorded shared memory segments, with their numbers by resource id.
#[derive(Debug, Default)]
pub(super) struct Segments {
    all: Vec<SharedSegment>,
    /// The size of all segments together in bytes, without the first page of each.
    used: usize,
    attached: FxHashMap<u32, u32>,
}

impl Segments {
    /// Processes an MIT-SHM request. Returns the index of the segment that it attaches; `None` if it attaches none.
    pub(super) fn observe(&mut self, request: &Request<'_>, setup: &Setup) -> Option<u32> {
        let (bytes, order) = (request.bytes, request.order);
        let u16 = |at| order.u16(bytes, at).map(usize::from);
        let u32 = |at| order.u32(bytes, at);
        match request.minor {
            ATTACH | ATTACH_FD => {
                self.all.push(SharedSegment {
                    len: SMALLEST,
                    by_descriptor: request.minor == ATTACH_FD,
                });
                let number = (self.all.len() - 1) as u32;
                self.attached.insert(u32(4)?, number);
                return Some(number);
            }
            PUT_IMAGE => {
                let size = row(setup, *bytes.get(28)?, u16(12)?) * u16(14)?;
                self.needs(u32(32)?, u32(36)?, size);
            }
            // The request does not contain the drawable's depth. At most 4 bytes per pixel are needed.
            GET_IMAGE => self.needs(u32(24)?, u32(28)?, 4 * u16(12)? * u16(14)?),
            CREATE_PIXMAP => {
                let size = row(setup, *bytes.get(16)?, u16(12)?) * u16(14)?;
                self.needs(u32(20)?, u32(24)?, size);
            }
            _ => {}
        }
        None
    }

    fn needs(&mut self, segment: u32, offset: u32, size: usize) {
        if let Some(number) = self.attached.get(&segment) {
            let len = &mut self.all[*number as usize].len;
            let more = size.saturating_add(offset as usize).saturating_sub(*len);
            if more <= LARGEST - self.used {
                self.used += more;
                *len += more;
            }
        }
    }

    pub(super) fn finish(self) -> Vec<SharedSegment> {
        self.all
    }
}

/// The length of a row of pixels in bytes; 4 bytes per pixel if the depth is unknown.
fn row(setup: &Setup, depth: u8, width: usize) -> usize {
    let mut formats = setup.pixmap_formats.iter();
    let format = formats.find(|format| format.depth == depth);
    let (bits, pad) = format.map_or((32, 32), |one| {
        (
            usize::from(one.bits_per_pixel),
            usize::from(one.scanline_pad),
        )
    });
    (width * bits).next_multiple_of(pad.max(8)) / 8
}
