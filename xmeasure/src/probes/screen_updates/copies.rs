//! Equal copies to a visible and to an invisible drawable: the difference is the server's cost of showing them.

use std::io;
use std::time::Duration;

use x11rb_protocol::protocol::xproto::CopyAreaRequest;

use crate::sampling::batch::Batch;
use crate::sampling::executor::Executor;
use crate::sampling::statistics::{Estimate, estimate};
use crate::server::wire;

/// The sides of the changed squares.
pub(super) const SMALL: u16 = 16;
pub(super) const LARGE: u16 = 512;
/// The time for a server to show the changes: longer than the interval between two frames at 60 Hz. The frames of a
/// busy program are as far apart.
pub(super) const SHOWN: Duration = Duration::from_millis(20);
/// A difference below this share of the copy with its wakeup may be caused by the memory locations.
pub(super) const TELLS: f64 = 0.25;

/// Copies of one size to a visible and to an invisible drawable. Two pictures alternate, because an equal picture
/// is no change.
pub(super) struct Copies {
    pub(super) seen: [Batch; 2],
    pub(super) unseen: [Batch; 2],
}

/// The costs of copies of one size, in microseconds.
pub(super) struct CopyCosts {
    /// The cost of a visible copy beyond an invisible one.
    pub(super) beyond: Estimate,
    /// The cost of an invisible copy, with its wakeup.
    pub(super) unseen: f64,
}

/// A copy of a square of `side` pixels from a drawable, starting at column `src_x`.
pub(super) fn copy(side: u16, (src_drawable, src_x): (u32, i16), to: u32, gc: u32) -> Batch {
    let request = wire::core(CopyAreaRequest {
        src_drawable,
        dst_drawable: to,
        gc,
        src_x,
        src_y: 0,
        dst_x: 0,
        dst_y: 0,
        width: side,
        height: side,
    });
    Batch::single(request, false)
}

impl Copies {
    /// The costs of copies with this pause between them; `None` if the server's CPU time cannot be read.
    pub(super) fn beyond(
        &self,
        server: &mut dyn Executor,
        times: usize,
        apart: Duration,
    ) -> io::Result<Option<CopyCosts>> {
        let (mut beyond, mut unseen) = (Vec::new(), Vec::new());
        for _ in 0..times {
            for (one, other) in self.seen.iter().zip(&self.unseen) {
                let seen = server.with_what_follows(one, apart)?.cpu;
                let plain = server.with_what_follows(other, apart)?.cpu;
                if let (Some(seen), Some(plain)) = (seen, plain) {
                    beyond.push(seen - plain);
                    unseen.push(plain);
                }
            }
        }
        let unseen = estimate(&unseen).map(|unseen| unseen.centre);
        Ok(estimate(&beyond)
            .zip(unseen)
            .map(|(beyond, unseen)| CopyCosts { beyond, unseen }))
    }
}
