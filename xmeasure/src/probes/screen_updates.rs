//! What a server does later, once for all that has changed on its screen: Xvnc encodes it for its
//! viewer, Xephyr copies it to its host. The same copies go to a window and to a pixmap, which
//! nobody sees: the difference is what is done for being seen.

pub(crate) mod nested;
pub(crate) mod regions;

use std::io;
use std::thread;
use std::time::{Duration, Instant};

use x11prof_cost_model::{Deferred, Micros};
use x11rb_protocol::protocol::damage;
use x11rb_protocol::protocol::xproto::{
    CopyAreaRequest, CreateGCAux, PolyFillRectangleRequest, PolyText8Request, Rectangle,
};

use crate::error::MeasureError;
use crate::plan::Plan;
use crate::probes::screen_updates::nested::Hosted;
use crate::probes::screen_updates::regions::Boxes;
use crate::probes::transport::rounded;
use crate::sampling::live::LiveServer;
use crate::sampling::sampler::{Executor, Place};
use crate::sampling::statistics::{Estimate, estimate};
use crate::server::client::{SIDE, Stage};
use crate::server::target::Target;
use crate::server::wire;

/// The sides of what changes.
pub(crate) const SMALL: u16 = 16;
pub(crate) const LARGE: u16 = 512;
/// How long a server is given to do what it does later: longer than the pause between two pictures
/// at 60 a second. So far apart are the pictures of a program that is at work, too.
pub(crate) const LATER: Duration = Duration::from_millis(20);
/// How often each is measured.
const TIMES: usize = 30;
const QUICK_TIMES: usize = 8;
/// Greys beside the strokes of smooth letters, and how far to the right they lie.
const EDGES: [(u32, i16); 2] = [(0xd0d0d0, -1), (0x808080, 1)];
/// Small changes that follow each other soon, and how soon, to see how often the server does it.
const MANY: usize = 250;
const SOON: Duration = Duration::from_millis(2);
/// A change is followed by an update where it costs more than unseen ones by this part of what the dearest do:
/// an update may fall into two steps, or into one together with the viewer's asking for the next.
const GREAT: f64 = 0.2;
/// A difference that is less than this part of the copy with its wakeup, and one by the pixel that is less
/// than twice the copy of a pixel itself, may be for where the two lie in memory: on an Xvnc that
/// nobody looks at, a pixel differed by more than its copy takes, on an Xvfb of depth 8 by twice as much.
pub(crate) const TELLS: f64 = 0.25;
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
    /// Large ones that change nothing, and others of smooth text.
    same: Copies,
    smooth: Copies,
    hosted: Hosted,
    boxes: Boxes,
    /// Copies within the window beside copies to it.
    within: Boxes,
    /// The same as `boxes` on what nobody sees, but whose changes are kept.
    watched: Option<Boxes>,
}

impl Pictures {
    /// About how long measuring them takes.
    pub(crate) const LASTS: Duration = Duration::from_secs(18);

    /// Prepares them on `stage`.
    pub(crate) fn new(stage: &mut Stage) -> Result<Pictures, MeasureError> {
        let (window, depth) = (stage.window, stage.screen.root_depth);
        let pixmap = stage.pixmap(depth, SIDE)?;
        let gc = stage.gc(window, CreateGCAux::new().graphics_exposures(0))?;
        let black_on_white = picture(stage, depth, [0, u32::MAX])?;
        let white_on_black = picture(stage, depth, [u32::MAX, 0])?;
        let smooth = smooth(stage, depth)?;
        let two = [(black_on_white, 0), (white_on_black, 0)];
        // `many` times as many places in rows and in columns.
        let all = |side: u16, many: u16, from: &dyn Fn(i16, i16) -> (u32, i16, i16), to: u32| {
            let place = |at: u16| (2 * at * side).cast_signed();
            let places = (0..many).flat_map(|row| (0..many).map(move |column| (row, column)));
            let copies = places.map(|(row, column)| {
                let (dst_x, dst_y) = (place(column), place(row));
                let (src_drawable, src_x, src_y) = from(dst_x, dst_y);
                wire::core(CopyAreaRequest {
                    src_drawable,
                    dst_drawable: to,
                    gc,
                    src_x,
                    src_y,
                    dst_x,
                    dst_y,
                    width: side,
                    height: side,
                })
            });
            copies.flatten().collect::<Vec<u8>>()
        };
        let copies_to = |seen: u32, side: u16, many: u16, from: [(u32, i16); 2]| {
            let to = |to| from.map(|(from, x)| all(side, many, &|_, _| (from, x, 0), to));
            Copies {
                seen: to(seen),
                unseen: to(pixmap),
            }
        };
        // Copies of what the window shows two places further in the row, and the same of a pixmap.
        let within = |side: u16, many: u16| {
            let width = (2 * side * many).cast_signed();
            let further = |x: i16| (x + 4 * side.cast_signed()) % width.max(8 * side.cast_signed());
            let seen = all(side, many, &|x, y| (window, further(x), y), window);
            let unseen = all(side, many, &|_, _| (white_on_black, 0, 0), window);
            Copies {
                seen: [seen.clone(), seen],
                unseen: [unseen.clone(), unseen],
            }
        };
        let copies = |side, many, from| copies_to(window, side, many, from);
        let watched = watched(stage, depth)?;
        Ok(Pictures {
            small: copies(SMALL, 1, two),
            large: copies(LARGE, 1, two),
            same: copies(LARGE, 1, [(white_on_black, 0); 2]),
            // A column further the letters are elsewhere.
            smooth: copies(LARGE, 1, [(smooth, 0), (smooth, 1)]),
            hosted: Hosted::new(&|side, many| copies(side, many, two)),
            boxes: Boxes::new(&|side, many| copies(side, many, two)),
            within: Boxes::new(&within),
            watched: watched.map(|to| Boxes::new(&|side, many| copies_to(to, side, many, two))),
        })
    }

    /// Measures them; `None` where the server does nothing later that can be told, or its processor
    /// time cannot be read.
    pub(crate) fn measure(
        &self,
        server: &mut LiveServer,
        target: &Target,
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
        let by_the_pixel = |large: &Seen| {
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
            let pixel = copies.beyond(server, times, LATER)?;
            let pixel = pixel.as_ref().map(by_the_pixel);
            Ok(pixel.map(|pixel| Micros(rounded(pixel, 5))))
        };
        let (same, smooth) = (of(&self.same)?, of(&self.smooth)?);
        let at_once = self.is_at_once(server, times, small.unseen + small.beyond.centre / 2.0)?;
        let interval = self.interval(server, GREAT * small.beyond.centre)?;
        let deferred = Deferred {
            interval_us: Micros(rounded(interval.as_secs_f64() * 1e6, 3)),
            same_us: same,
            smooth_us: smooth,
            first_us: at_once.then_some(Micros::ZERO),
            update_us: Micros(rounded(update, 5)),
            pixel_us: Micros(rounded(pixel, 5)),
            spread: large.beyond.spread().map(|spread| rounded(spread, 2)),
            ..Deferred::default()
        };
        match interval.is_zero() {
            true => {
                let deferred = self.hosted.measure(server, target, times, deferred)?;
                // Updates in a stream would hide what keeping account of the changes takes.
                match (&self.watched, deferred.box_us) {
                    (Some(watched), Some(_)) => watched.joins(server, deferred).map(Some),
                    _ => Ok(Some(deferred)),
                }
            }
            false => {
                let deferred = self.boxes.joins(server, deferred)?;
                let deferred = self.within.copied(server, deferred)?;
                (self.boxes.measure(server, times, deferred)).map(Some)
            }
        }
    }

    /// Whether the first change after a pause is dealt with at once: most of such changes cost more than
    /// `half` of it soon.
    fn is_at_once(&self, server: &mut LiveServer, times: usize, half: f64) -> io::Result<bool> {
        let mut soon = 0;
        for picture in self.small.seen.iter().cycle().take(times) {
            // All that the one before has led to is over.
            thread::sleep(LATER * 2);
            let time = server.with_what_follows(picture, 1, SOON)?;
            soon += usize::from(time.is_some_and(|time| time > half));
        }
        Ok(2 * soon > times)
    }

    /// How often the server does it while changes go on: how far those are from each other that cost more than
    /// one that is not seen; none where most do, by what is `more` than that.
    fn interval(&self, server: &mut LiveServer, more: f64) -> io::Result<Duration> {
        let mut steps = |pictures: &[Vec<u8>; 2]| -> io::Result<(Vec<f64>, Duration)> {
            let (start, mut all) = (Instant::now(), Vec::new());
            for picture in pictures.iter().cycle().take(MANY) {
                all.extend(server.with_what_follows(picture, 1, SOON)?);
            }
            let step = start.elapsed().div_f64(MANY as f64);
            thread::sleep(LATER);
            Ok((all, step))
        };
        let (mut unseen, _) = steps(&self.small.unseen)?;
        let (seen, step) = steps(&self.small.seen)?;
        unseen.sort_by(f64::total_cmp);
        let mut dearest = seen.clone();
        dearest.sort_by(f64::total_cmp);
        let (Some(usual), Some(middle), Some(dear)) = (
            unseen.get(unseen.len() / 2),
            dearest.get(dearest.len() / 2),
            dearest.get(dearest.len() * 19 / 20),
        ) else {
            return Ok(Duration::ZERO);
        };
        // Others on the processor's core make single ones much dearer than an update does.
        if middle - usual > more {
            return Ok(Duration::ZERO);
        }
        let steps = apart(&seen, usual + (dear - usual) * GREAT);
        Ok(steps.map_or(Duration::ZERO, |steps| step.mul_f64(steps)))
    }
}

/// How many steps lie between those that are greater than `least`, on the mean. One that falls into two
/// steps counts once. `None` where there are no two, or there is one in most steps.
fn apart(steps: &[f64], least: f64) -> Option<f64> {
    let great = |at: usize| steps.get(at).is_some_and(|step| *step > least);
    let all = (0..steps.len()).filter(|&at| great(at));
    if 2 * all.clone().count() > steps.len() {
        return None;
    }
    let begin: Vec<usize> = all.filter(|&at| at == 0 || !great(at - 1)).collect();
    let (first, last) = (begin.first()?, begin.last()?);
    (begin.len() > 1).then(|| (last - first) as f64 / (begin.len() - 1) as f64)
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
                let seen = server.with_what_follows(one, wire::count(one), apart)?;
                let plain = server.with_what_follows(other, wire::count(other), apart)?;
                if let (Some(seen), Some(plain)) = (seen, plain) {
                    beyond.push(seen - plain);
                    unseen.push(plain);
                }
            }
        }
        let unseen = estimate(&unseen).map(|it| it.centre);
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
    letters(stage, pixmap, colours[0], 0)?;
    Ok(pixmap)
}

/// A pixmap of which DAMAGE keeps what has changed; `None` where the server has not got it.
fn watched(stage: &mut Stage, depth: u8) -> Result<Option<u32>, MeasureError> {
    let Some(major) = stage.extension("DAMAGE")? else {
        return Ok(None);
    };
    let version = damage::QueryVersionRequest {
        client_major_version: 1,
        client_minor_version: 1,
    };
    stage.ask_extension(version, major)?;
    let drawable = stage.pixmap(depth, SIDE)?;
    let create = damage::CreateRequest {
        damage: stage.id(),
        drawable,
        // One event, at the first change.
        level: damage::ReportLevel::NON_EMPTY,
    };
    stage.send_bytes(&wire::extension(create, major))?;
    Ok(Some(drawable))
}

/// The same in black on white with edges in greys, as toolkits draw letters.
fn smooth(stage: &mut Stage, depth: u8) -> Result<u32, MeasureError> {
    let pixmap = picture(stage, depth, [u32::MAX, u32::MAX])?;
    for (colour, shift) in EDGES {
        letters(stage, pixmap, colour, shift)?;
    }
    letters(stage, pixmap, 0, 0)?;
    Ok(pixmap)
}

/// Lines of letters all over a drawable, so far to the right.
fn letters(stage: &mut Stage, pixmap: u32, colour: u32, right: i16) -> Result<(), MeasureError> {
    let Some(font) = stage.font("fixed")? else {
        return Ok(());
    };
    let ink = CreateGCAux::new().foreground(colour).font(font);
    let ink = stage.gc(pixmap, ink)?;
    // A text item: its length, no shift, its characters (protocol, PolyText8).
    let item: Vec<u8> = [TEXT.len() as u8, 0].iter().chain(TEXT).copied().collect();
    for y in (13..SIDE.cast_signed()).step_by(13) {
        for x in [-y, 6 * TEXT.len() as i16 - y] {
            stage.send(PolyText8Request {
                drawable: pixmap,
                gc: ink,
                x: x + right,
                y,
                items: item.as_slice().into(),
            })?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::apart;

    #[test]
    fn the_beat_is_how_far_the_dear_steps_are_apart() {
        let mut steps = [1.0; 40];
        for at in [3, 11, 12, 19, 27] {
            steps[at] = 9.0;
        }
        // That of 11 and 12 fell into both.
        assert_eq!(apart(&steps, 5.0), Some(8.0));
        assert_eq!(apart(&[9.0; 40], 5.0), None);
        assert_eq!(apart(&[1.0, 9.0, 1.0], 5.0), None);
    }
}
