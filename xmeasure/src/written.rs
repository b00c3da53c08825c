//! What images cost that a client has just written: the pixels that it runs over take the server's
//! code and data out of the caches, more than as long a time of other work does.
//!
//! Client and server take turns, as those do that share a processor: the server sleeps no longer
//! than the client works. The memory is shared by MIT-SHM, and written as a program writes it that
//! has its picture elsewhere: it is copied there.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::time::{Duration, Instant};

use x11prof_cost_model::{
    AfterWriting, Lapse, Micros, ServerParameters, TransportCosts, TransportPrices,
};
use x11rb_protocol::protocol::shm::PutImageRequest;
use x11rb_protocol::protocol::xproto::{CreateGCAux, GetInputFocusRequest, ImageFormat};

use crate::error::MeasureError;
use crate::executor::LiveServer;
use crate::raw_connection::Load;
use crate::stage::Stage;
use crate::statistics::estimate;
use crate::transport::rounded;
use crate::wire;
use crate::workloads::{place, share};

/// Images that are put together: the side of each, in pixels, and how many.
const IMAGES: [(u16, usize); 6] = [(128, 1), (256, 1), (384, 1), (512, 1), (512, 4), (512, 8)];
/// To how many places they go in a pass, from as many parts of the memory.
const PLACES: usize = 4;
/// Turns in each place, and before them.
const WARM: u64 = 2;
const TURNS: u64 = 20;

/// Images of one side.
struct Images {
    pixels: f64,
    /// What is written of the memory before they are put.
    bytes: usize,
    /// From where in the memory, and the requests with a question behind them.
    places: Vec<(u64, Vec<u8>)>,
    count: u64,
}

/// The loads.
pub(crate) struct Written {
    memory: File,
    /// The client's own copy.
    picture: Vec<u8>,
    images: Vec<Images>,
}

/// What some images took in one pass, in microseconds of processor time.
#[derive(Default)]
pub(crate) struct Took {
    written: Vec<f64>,
    /// Where the client had done nothing.
    idle: Vec<f64>,
    /// How long writing took.
    lasted: Vec<f64>,
}

impl Took {
    /// At a pace at which all takes so many times as long for the server.
    pub(crate) fn times(&mut self, factor: f64) {
        let all = self.written.iter_mut().chain(&mut self.idle);
        all.for_each(|it| *it *= factor);
    }
}

impl Written {
    /// Prepares them on `stage`; `None` where the server shares no memory by descriptor.
    pub(crate) fn new(stage: &mut Stage) -> Result<Option<Written>, MeasureError> {
        let depth = stage.screen.root_depth;
        // Each number of pixels is a part of the largest.
        let all = IMAGES.map(|(side, count)| usize::from(side).pow(2) * count);
        let most = all.into_iter().max().unwrap_or_default();
        let Some(shared) = share(stage, depth, most)? else {
            return Ok(None);
        };
        // Nobody sees it: what a server shows later has prices of its own.
        let drawable = stage.like_the_screen()?;
        let gc = stage.gc(drawable, CreateGCAux::new())?;
        let question = wire::core(GetInputFocusRequest);
        let room = most * shared.pixel_bytes;
        let images = IMAGES.map(|(side, count)| {
            let each = usize::from(side).pow(2) * shared.pixel_bytes;
            let bytes = each * count;
            let turns = |at: usize| {
                let from = at * bytes % room;
                let (dst_x, dst_y) = place(at, side, side);
                let put = |at: usize| PutImageRequest {
                    drawable,
                    gc,
                    total_width: side,
                    total_height: side,
                    src_x: 0,
                    src_y: 0,
                    src_width: side,
                    src_height: side,
                    dst_x,
                    dst_y,
                    depth,
                    format: ImageFormat::Z_PIXMAP.into(),
                    send_event: false,
                    shmseg: shared.segment,
                    offset: (from + at * each) as u32,
                };
                let requests = (0..count).flat_map(|at| wire::extension(put(at), shared.major));
                (from as u64, requests.chain(question.clone()).collect())
            };
            Images {
                pixels: (usize::from(side).pow(2) * count) as f64,
                bytes,
                places: (0..PLACES).map(turns).collect(),
                count: count as u64 + 1,
            }
        });
        Ok(Some(Written {
            picture: vec![0; room],
            memory: shared.memory.into(),
            images: images.into(),
        }))
    }

    /// One pass over all, in turns of a client that writes the images before each or does not.
    pub(crate) fn pass(&mut self, server: &mut LiveServer) -> io::Result<Vec<Took>> {
        let Written {
            memory,
            picture,
            images,
        } = self;
        let mut all = Vec::new();
        for images in images {
            let mut took = Took::default();
            let picture = picture.get_mut(..images.bytes).unwrap_or_default();
            for (from, requests) in &images.places {
                let mut turns = |times, each: &mut dyn FnMut() -> io::Result<()>| {
                    let load = Load::once(requests, images.count);
                    let reading = server.turns(load, 1, times, each)?;
                    io::Result::Ok(reading.cpu.map(|time| time / times as f64))
                };
                let mut write = || {
                    let lasted = write(memory, picture, *from)?;
                    took.lasted.push(lasted.as_secs_f64() * 1e6);
                    Ok(())
                };
                // The first turns in a place find it cold.
                turns(WARM, &mut write)?;
                took.idle.extend(turns(TURNS, &mut || Ok(()))?);
                took.written.extend(turns(TURNS, &mut write)?);
            }
            all.push(took);
        }
        Ok(all)
    }

    /// What writing costs beyond what `transport` says of as long a time of other work, from all passes.
    pub(crate) fn points<'a>(
        &self,
        passes: impl Iterator<Item = &'a Vec<Took>> + Clone,
        transport: &TransportCosts,
    ) -> Vec<AfterWriting> {
        let work = worked(transport);
        let mut points = Vec::new();
        for (at, images) in self.images.iter().enumerate() {
            let more = passes.clone().filter_map(|pass| {
                let took = pass.get(at)?;
                let middle = |times: &[f64]| Some(estimate(times)?.centre);
                let work = work(Micros(middle(&took.lasted)?));
                Some(middle(&took.written)? - middle(&took.idle)? - work.0)
            });
            let Some(more) = estimate(&more.collect::<Vec<_>>()) else {
                continue;
            };
            points.push(AfterWriting {
                pixels: images.pixels,
                more_us: Micros(rounded(more.centre.max(0.0), 5)),
                spread: more.spread().map(|spread| rounded(spread, 2)),
            });
        }
        points
    }
}

/// Paints a picture and copies it to the server's memory; how long that took.
fn write(memory: &File, picture: &mut [u8], from: u64) -> io::Result<Duration> {
    let start = Instant::now();
    let colour = picture.first().copied().unwrap_or_default();
    picture.fill(colour.wrapping_add(1));
    memory.write_all_at(picture, from)?;
    Ok(start.elapsed())
}

/// What so long a time of work costs a wakeup in turns, as the model has it.
fn worked(transport: &TransportCosts) -> impl Fn(Micros) -> Micros + use<> {
    let prices = TransportPrices::new(&ServerParameters {
        transport: Some(transport.clone()),
        ..ServerParameters::default()
    });
    move |worked| {
        let slept = worked;
        let behind = prices.wakeup(Lapse { slept, worked }).time;
        behind - prices.wakeup(Lapse::default()).time
    }
}
