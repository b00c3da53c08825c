//! What a server does later, once for all that has changed on its screen: Xvnc encodes it for its
//! viewer, Xephyr copies it to its host. The same copies go to a window and to a pixmap, which
//! nobody sees: the difference is what is done for being seen.

use std::io;
use std::thread;
use std::time::{Duration, Instant};

use x11prof_cost_model::{Deferred, Micros};
use x11rb_protocol::protocol::xproto::{
    CopyAreaRequest, CreateGCAux, ImageText8Request, PolyFillRectangleRequest, Rectangle,
};

use crate::error::MeasureError;
use crate::executor::LiveServer;
use crate::hosted::Hosted;
use crate::plan::Plan;
use crate::sampler::{Executor, Place};
use crate::stage::{SIDE, Stage};
use crate::statistics::{Estimate, estimate};
use crate::transport::rounded;
use crate::wire;

/// The sides of what changes.
pub(crate) const SMALL: u16 = 16;
const LARGE: u16 = 512;
/// How long a server is given to do what it does later: longer than the pause between two pictures
/// at 60 a second. So far apart are the pictures of a program that is at work, too.
pub(crate) const LATER: Duration = Duration::from_millis(20);
/// How often each is measured.
const TIMES: usize = 30;
const QUICK_TIMES: usize = 8;
/// Small changes that follow each other soon, and how soon, to see how often the server does it.
const MANY: usize = 250;
const SOON: Duration = Duration::from_millis(2);
/// A small difference that is less than this part of the small copy with its wakeup, and one by the
/// pixel that is less than twice the copy of a pixel itself, may be for where the two lie in memory:
/// on an Xvnc that nobody looks at, a pixel differed by more than its copy takes.
const TELLS: f64 = 0.25;
const TWICE: f64 = 2.0;

/// Lines of words: what programs show most.
const TEXT: &[u8] = b"The quick brown fox jumps over the lazy dog; 0123456789. \
    Pack my box with five dozen liquor jugs! ";

/// Copies of one size to a window and to a pixmap, of two pictures in turn: what is the same as
/// before is no change.
pub(crate) struct Copies {
    pub(crate) seen: [Vec<u8>; 2],
    pub(crate) unseen: [Vec<u8>; 2],
}

/// The loads.
pub(crate) struct Pictures {
    small: Copies,
    large: Copies,
    hosted: Hosted,
}

impl Pictures {
    /// About how long measuring them takes.
    pub(crate) const LASTS: Duration = Duration::from_secs(9);

    /// Prepares them on `stage`.
    pub(crate) fn new(stage: &mut Stage) -> Result<Pictures, MeasureError> {
        let (window, depth) = (stage.window, stage.screen.root_depth);
        let pixmap = stage.pixmap(depth, SIDE)?;
        let gc = stage.gc(window, CreateGCAux::new().graphics_exposures(0))?;
        let black_on_white = picture(stage, depth, [0, u32::MAX])?;
        let white_on_black = picture(stage, depth, [u32::MAX, 0])?;
        // `many` times as many places in rows and in columns.
        let copies = |side: u16, many: u16| {
            let copy = |from, to| -> Vec<u8> {
                let place = |at: u16| (2 * at * side).cast_signed();
                let places = (0..many).flat_map(|row| (0..many).map(move |column| (row, column)));
                let copies = places.map(|(row, column)| {
                    wire::core(CopyAreaRequest {
                        src_drawable: from,
                        dst_drawable: to,
                        gc,
                        src_x: 0,
                        src_y: 0,
                        dst_x: place(column),
                        dst_y: place(row),
                        width: side,
                        height: side,
                    })
                });
                copies.flatten().collect()
            };
            let to = |to| [copy(black_on_white, to), copy(white_on_black, to)];
            Copies {
                seen: to(window),
                unseen: to(pixmap),
            }
        };
        Ok(Pictures {
            small: copies(SMALL, 1),
            large: copies(LARGE, 1),
            hosted: Hosted::new(&copies),
        })
    }

    /// Measures them; `None` where the server does nothing later that can be told, or its processor
    /// time cannot be read.
    pub(crate) fn measure(
        &self,
        server: &mut LiveServer,
        plan: &Plan,
    ) -> io::Result<Option<Deferred>> {
        let times = if plan.quick { QUICK_TIMES } else { TIMES };
        server.place(Place::Usual)?;
        thread::sleep(LATER);
        let (Some(small), Some(large)) = (
            self.small.beyond(server, times, LATER)?,
            self.large.beyond(server, times, LATER)?,
        ) else {
            return Ok(None);
        };
        let area = |side: u16| f64::from(side) * f64::from(side);
        let by_the_pixel = large.beyond.median - small.beyond.median;
        let pixel = match by_the_pixel > TWICE * (large.unseen - small.unseen) {
            true => by_the_pixel / (area(LARGE) - area(SMALL)),
            false => 0.0,
        };
        let update = (small.beyond.median - pixel * area(SMALL)).max(0.0);
        if pixel == 0.0 && update < TELLS * small.unseen {
            return Ok(None);
        }
        let interval = self.interval(server)?;
        let deferred = Deferred {
            interval_us: Micros(rounded(interval.as_secs_f64() * 1e6, 3)),
            update_us: Micros(rounded(update, 5)),
            pixel_us: Micros(rounded(pixel, 5)),
            spread: large.beyond.spread().map(|spread| rounded(spread, 2)),
            ..Deferred::default()
        };
        match interval.is_zero() {
            true => Ok(Some(self.hosted.measure(server, times, deferred)?)),
            false => Ok(Some(deferred)),
        }
    }

    /// How often the server does it while changes go on, by how many of them cost more than nearly
    /// all that are not seen; none where it is about as often as they come.
    fn interval(&self, server: &mut LiveServer) -> io::Result<Duration> {
        let mut steps = |pictures: &[Vec<u8>; 2]| -> io::Result<(Vec<f64>, Duration)> {
            let (start, mut all) = (Instant::now(), Vec::new());
            for picture in pictures.iter().cycle().take(MANY) {
                all.extend(server.with_what_follows(picture, 1, SOON)?);
            }
            let lasted = start.elapsed();
            thread::sleep(LATER);
            all.sort_by(f64::total_cmp);
            Ok((all, lasted))
        };
        let (unseen, _) = steps(&self.small.unseen)?;
        let (seen, lasted) = steps(&self.small.seen)?;
        let Some(usual) = unseen.get(unseen.len() * 9 / 10) else {
            return Ok(Duration::ZERO);
        };
        let more = seen.iter().filter(|time| *time > usual).count() as f64;
        // A tenth is more without any of it.
        let times = (more - MANY as f64 / 10.0) / 0.9;
        Ok(match times {
            times if times > MANY as f64 / 2.0 => Duration::ZERO,
            times => lasted.div_f64(times.max(1.0)),
        })
    }
}

/// What copies of one size cost, in microseconds.
pub(crate) struct Seen {
    /// What one that is seen costs beyond one that is not.
    pub(crate) beyond: Estimate,
    /// One that is not, with its wakeup.
    unseen: f64,
}

impl Copies {
    /// What they cost, so far apart.
    pub(crate) fn beyond(
        &self,
        server: &mut LiveServer,
        times: usize,
        apart: Duration,
    ) -> io::Result<Option<Seen>> {
        let (mut beyond, mut unseen) = (Vec::new(), Vec::new());
        for _ in 0..times {
            for (one, other) in self.seen.iter().zip(&self.unseen) {
                let seen = server.with_what_follows(one, 1, apart)?;
                let plain = server.with_what_follows(other, 1, apart)?;
                if let (Some(seen), Some(plain)) = (seen, plain) {
                    beyond.push(seen - plain);
                    unseen.push(plain);
                }
            }
        }
        let unseen = estimate(&unseen).map(|it| it.median);
        Ok(estimate(&beyond)
            .zip(unseen)
            .map(|(beyond, unseen)| Seen { beyond, unseen }))
    }
}

/// A pixmap full of text in such a foreground and background.
fn picture(stage: &mut Stage, depth: u8, colours: [u32; 2]) -> Result<u32, MeasureError> {
    let pixmap = stage.pixmap(depth, SIDE)?;
    let ground = CreateGCAux::new().foreground(colours[1]);
    let ground = stage.gc(pixmap, ground)?;
    let all = Rectangle {
        x: 0,
        y: 0,
        width: SIDE,
        height: SIDE,
    };
    stage.send(PolyFillRectangleRequest {
        drawable: pixmap,
        gc: ground,
        rectangles: [all].as_slice().into(),
    })?;
    if let Some(font) = stage.font("fixed")? {
        let ink = CreateGCAux::new()
            .foreground(colours[0])
            .background(colours[1])
            .font(font);
        let ink = stage.gc(pixmap, ink)?;
        for y in (13..SIDE.cast_signed()).step_by(13) {
            stage.send(ImageText8Request {
                drawable: pixmap,
                gc: ink,
                x: -y,
                y,
                string: TEXT.into(),
            })?;
            stage.send(ImageText8Request {
                drawable: pixmap,
                gc: ink,
                x: 6 * TEXT.len() as i16 - y,
                y,
                string: TEXT.into(),
            })?;
        }
    }
    Ok(pixmap)
}
