//! Deferred work of a server, done at an interval for all changes of its screen: Xvnc encodes the changes for its
//! viewer. Equal copies go to a window and to an invisible pixmap; the difference is the cost of showing them.

mod copies;
mod interval;
mod text;

use std::io;
use std::time::Duration;

use x11prof_cost_model::{Deferred, Micros, ServerParameters};
use x11rb_protocol::protocol::xproto::CreateGCAux;

use self::copies::{Copies, CopyCosts, LARGE, SHOWN, SMALL, TELLS, copy};
use self::interval::{interval, is_at_once};
use super::{Probe, ProbeDuration, Run, late_work};
use crate::error::MeasureError;
use crate::plan::Plan;
use crate::sampling::batch::Batch;
use crate::sampling::executor::{Executor, Pause};
use crate::sampling::rounding::{micros, rounded};
use crate::server::client::{Client, SIDE};
use crate::server::tracker::Tracker;

/// The number of measurements of each load.
const TIMES: usize = 30;
const QUICK_TIMES: usize = 8;
/// A difference per pixel below twice the copy of a pixel may be caused by the memory locations: it exceeded the
/// copy's time on an unviewed Xvnc, and was twice that on an Xvfb of depth 8.
const TWICE: f64 = 2.0;

/// The loads, and their results.
pub(crate) struct ScreenUpdates {
    small: Copies,
    large: Copies,
    /// Large copies that change no pixel, and large copies of smooth text.
    same: Copies,
    smooth: Copies,
    times: usize,
    drawing: Batch,
    found: Option<Deferred>,
}

impl ScreenUpdates {
    /// `None` if the server has no measurable deferred work, or its CPU time cannot be read.
    fn find(&self, server: &mut dyn Executor) -> io::Result<Option<Deferred>> {
        let times = self.times;
        server.pause(&[Pause::Sleep(SHOWN)]);
        let (Some(small), Some(large)) = (
            self.small.beyond(server, times, SHOWN)?,
            self.large.beyond(server, times, SHOWN)?,
        ) else {
            return Ok(None);
        };
        let area = |side: u16| f64::from(side) * f64::from(side);
        let by_the_pixel = |large: &CopyCosts| {
            let more = large.beyond.centre - small.beyond.centre;
            match more > TWICE * (large.unseen - small.unseen) {
                true => more / (area(LARGE) - area(SMALL)),
                false => 0.0,
            }
        };
        let pixel = by_the_pixel(&large);
        let update = (small.beyond.centre - pixel * area(SMALL)).max(0.0);
        let large_tells = pixel > 0.0 && large.beyond.centre > TELLS * large.unseen;
        if !large_tells && update < TELLS * small.unseen {
            return Ok(None);
        }
        let mut of = |copies: &Copies| -> io::Result<Option<Micros>> {
            let pixel = copies.beyond(server, times, SHOWN)?;
            let pixel = pixel.as_ref().map(by_the_pixel);
            Ok(pixel.map(|pixel| micros(pixel, 5)))
        };
        let (same, smooth) = (of(&self.same)?, of(&self.smooth)?);
        let half = small.unseen + small.beyond.centre / 2.0;
        let at_once = is_at_once(&self.small, server, times, half)?;
        let interval = interval(&self.small, server, small.beyond.centre)?;
        // If the server updates whenever it is idle, its updates do not improve estimates (validation/results).
        if interval.is_zero() {
            return Ok(None);
        }
        Ok(Some(Deferred {
            interval_us: micros(interval.as_secs_f64() * 1e6, 3),
            same_us: same,
            smooth_us: smooth,
            first_us: at_once.then_some(Micros::ZERO),
            update_us: micros(update, 5),
            pixel_us: micros(pixel, 5),
            spread: large.beyond.spread().map(|spread| rounded(spread, 2)),
        }))
    }
}

impl Probe for ScreenUpdates {
    fn is_wanted(plan: &Plan) -> bool {
        !plan.entries_only
    }

    fn prepare(client: &mut Client, plan: &Plan) -> Result<ScreenUpdates, MeasureError> {
        let (window, depth) = (client.window, client.screen.root_depth);
        let pixmap = client.pixmap(depth, SIDE)?;
        let gc = client.gc(window, CreateGCAux::new().graphics_exposures(0))?;
        let black_on_white = text::picture(client, depth, [0, u32::MAX])?;
        let white_on_black = text::picture(client, depth, [u32::MAX, 0])?;
        let smooth = text::smooth(client, depth)?;
        let two = [(black_on_white, 0), (white_on_black, 0)];
        let to_window = |side: u16, from: [(u32, i16); 2]| {
            let to = |to| from.map(|from| copy(side, from, to, gc));
            Copies {
                seen: to(window),
                unseen: to(pixmap),
            }
        };
        Ok(ScreenUpdates {
            small: to_window(SMALL, two),
            large: to_window(LARGE, two),
            same: to_window(LARGE, [(white_on_black, 0); 2]),
            // Shifted by one column, the letters are at other positions.
            smooth: to_window(LARGE, [(smooth, 0), (smooth, 1)]),
            times: if plan.quick { QUICK_TIMES } else { TIMES },
            drawing: late_work::drawing(client)?,
            found: None,
        })
    }

    fn name(&self) -> &'static str {
        "updates of the screen"
    }

    fn lasts(&self) -> ProbeDuration {
        ProbeDuration::once(Duration::from_secs(18))
    }

    fn measure(&mut self, run: &mut Run<'_>) -> io::Result<()> {
        (run.show)()?;
        // A server without work after its replies updates no viewer later.
        if run.server.find_late_work(&self.drawing)?.is_zero() {
            return Ok(());
        }
        self.found = self.find(run.server)?;
        Ok(())
    }

    fn fit(&self, _: &Plan, _: &mut Tracker, parameters: &mut ServerParameters) {
        if let Some(transport) = &mut parameters.transport {
            transport.deferred = self.found;
        }
    }
}

#[cfg(test)]
mod tests;
