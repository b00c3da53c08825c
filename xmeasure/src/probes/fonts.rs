//! What reading a font's file costs: the first OpenFont of it, and each ListFontsWithInfo of one
//! that is not open. A file of some hundred characters is read in a moment, one of all Chinese
//! ones in many milliseconds; which is which only the server knows, so that each is read by name.

use std::io;
use std::time::{Duration, Instant};

use x11prof_cost_model::{Micros, Point, RequestCosts};
use x11prof_session::{Attribute, Operation, Value};
use x11rb_protocol::protocol::xproto::{
    CloseFontRequest, GetInputFocusRequest, ListFontsRequest, ListFontsWithInfoRequest,
    OpenFontRequest,
};

use crate::error::MeasureError;
use crate::fit;
use crate::plan::Plan;
use crate::probes::transport::rounded;
use crate::sampling::live::LiveServer;
use crate::sampling::statistics::{Estimate, estimate};
use crate::server::client::Stage;
use crate::server::tracker::Mirror;
use crate::server::wire;

/// Names asked for at most.
const MOST: u16 = 2000;
/// How long that may take.
const LASTS: Duration = Duration::from_secs(6);
/// How often each is read; the first time the file may come from the disk.
const TIMES: usize = 3;
/// A font has an entry of its own where it takes as many times what most take.
const DEAR: f64 = 3.0;

/// The two requests that read fonts.
const READERS: [&str; 2] = ["ListFontsWithInfo", "OpenFont"];

/// The fonts of a server, and the requests that read each.
pub(crate) struct Fonts {
    fonts: Vec<Font>,
    /// As many requests that do nothing, of the same transport.
    nothing: Vec<u8>,
}

struct Font {
    /// For each reader, with a question behind.
    bytes: [Vec<u8>; READERS.len()],
    /// What each reading took, with its transport, in microseconds.
    times: [Vec<f64>; READERS.len()],
}

impl Fonts {
    /// How long reading them may take.
    pub(crate) fn lasts(&self) -> Duration {
        if self.fonts.is_empty() {
            Duration::ZERO
        } else {
            LASTS
        }
    }

    /// Asks for the names: those that `plan` wants to know of, else all.
    pub(crate) fn new(stage: &mut Stage, plan: &Plan) -> Result<Fonts, MeasureError> {
        let wanted = plan.wanted.iter().filter_map(name_wanted);
        let mut names: Vec<Vec<u8>> = wanted.map(|name| name.as_bytes().to_vec()).collect();
        if plan.wanted.is_empty() && READERS.iter().any(|reader| plan.wants(reader)) {
            let list = stage.ask(ListFontsRequest {
                max_names: MOST,
                pattern: b"*".into(),
            })?;
            let list = list.map(|reply| reply.names).unwrap_or_default();
            names = list.into_iter().map(|name| name.name).collect();
        }
        let screen = &stage.screen;
        let dots = resolution(screen.width_in_pixels, screen.width_in_millimeters);
        let sized = |name: Vec<u8>| sized(&name, dots).unwrap_or(name);
        names = names.into_iter().map(sized).collect();
        names.sort();
        names.dedup();
        let question = wire::core(GetInputFocusRequest);
        let id = stage.id();
        let font = |name: Vec<u8>| {
            let list = wire::core(ListFontsWithInfoRequest {
                max_names: 1,
                pattern: name.as_slice().into(),
            });
            let open = wire::core(OpenFontRequest {
                fid: id,
                name: name.as_slice().into(),
            });
            let close = wire::core(CloseFontRequest { font: id });
            Font {
                bytes: [
                    [list, wire::no_operation(1), question.clone()].concat(),
                    [open, close, question.clone()].concat(),
                ],
                times: Default::default(),
            }
        };
        Ok(Fonts {
            fonts: names.into_iter().map(font).collect(),
            nothing: [
                wire::no_operation(1),
                wire::no_operation(1),
                question.clone(),
            ]
            .concat(),
        })
    }

    /// Reads them, each a few times, and gives an entry for most and one for each that is dear;
    /// none where the server's processor time cannot be read.
    pub(crate) fn measure(
        mut self,
        server: &mut LiveServer,
        mirror: &mut Mirror,
        plan: &Plan,
    ) -> io::Result<Vec<RequestCosts>> {
        let (start, mut nothing) = (Instant::now(), Vec::new());
        let times = if plan.quick { 1 } else { TIMES };
        'times: for _ in 0..times {
            for font in &mut self.fonts {
                for (bytes, times) in font.bytes.iter().zip(&mut font.times) {
                    if start.elapsed() > LASTS {
                        break 'times;
                    }
                    times.extend(server.behind(|| {}, bytes, 3, 1)?);
                }
                if nothing.len() < 100 {
                    nothing.extend(server.behind(|| {}, &self.nothing, 3, 1)?);
                }
            }
        }
        let Some(nothing) = estimate(&nothing) else {
            return Ok(Vec::new());
        };
        let mut entries = Vec::new();
        for (reader, name) in READERS.iter().enumerate() {
            let read = self.fonts.iter_mut().filter_map(|font| {
                let bytes = font.bytes.get(reader)?;
                let operation = mirror.client(bytes).into_iter().next()?;
                let is_read = operation.attributes.get(fontname()).is_some();
                let time = estimate(font.times.get(reader)?)?;
                let more = time.centre - nothing.centre;
                (is_read && more > 0.0).then(|| {
                    let half_width = time.half_width;
                    (
                        operation,
                        Estimate {
                            centre: more,
                            half_width,
                        },
                    )
                })
            });
            let read: Vec<(Operation, Estimate)> = read.collect();
            if plan.wants(name) {
                entries.extend(filed(&read, !plan.wanted.is_empty()));
            }
        }
        Ok(entries)
    }
}

/// One entry without a font's name, at what most cost, and one for each that costs much more; of
/// few that were asked for by name, each its own.
fn filed(read: &[(Operation, Estimate)], each: bool) -> Vec<RequestCosts> {
    let times: Vec<f64> = read.iter().map(|(_, time)| time.centre).collect();
    let Some(usual) = estimate(&times) else {
        return Vec::new();
    };
    let mut entries = Vec::new();
    if let (false, Some((operation, _))) = (each, read.first()) {
        let mut operation = operation.clone();
        operation.attributes.remove(fontname());
        // The fonts' own scatter is what is unsure of one that has no entry.
        let mut sorted = times.clone();
        sorted.sort_by(f64::total_cmp);
        let at = |share: usize| sorted.get(sorted.len() * share / 4).copied();
        let half_width = at(3).zip(at(1)).map(|(high, low)| (high - low) / 2.0);
        let usual = Estimate {
            half_width,
            ..usual
        };
        entries.push(entry(&operation, usual));
    }
    let dear = |time: &Estimate| each || time.centre > DEAR * usual.centre;
    let own = read.iter().filter(|(_, time)| dear(time));
    entries.extend(own.map(|(operation, time)| entry(operation, *time)));
    entries
}

fn entry(operation: &Operation, time: Estimate) -> RequestCosts {
    let point = Point {
        size: operation.op_size,
        cpu_us: Some(Micros(rounded(time.centre, 4))),
        spread: time.spread().map(|spread| rounded(spread, 2)),
        ..Point::default()
    };
    RequestCosts {
        name: operation.request.as_str().to_owned(),
        attributes: fit::attributes(operation),
        points: vec![point],
        ..RequestCosts::default()
    }
}

fn fontname() -> Attribute {
    "fontname".into()
}

/// The font whose reading is wanted by a recording.
fn name_wanted(wanted: &Operation) -> Option<&'static str> {
    let reads = READERS.contains(&wanted.request.as_str());
    match wanted.attributes.get(fontname()) {
        Some(Value::Name(name)) if reads => Some(name.as_str()),
        _ => None,
    }
}

/// The resolution, in dots an inch, at which X servers scale fonts for a client that names none, by the
/// screen's width (dix/dixfonts.c, GetClientResolutions).
fn resolution(pixels: u16, millimeters: u16) -> u32 {
    let dots = f64::from(pixels) * 25.4 / f64::from(millimeters);
    if dots < 88.0 { 75 } else { 100 }
}

/// Of the name of a scalable font the one of 12 points at so many dots an inch, as text often is (X
/// Logical Font Description Conventions, section 4); `None` of others. What scaling takes goes by the size.
fn sized(name: &[u8], dots: u32) -> Option<Vec<u8>> {
    /// Decipoints, and as many in an inch.
    const SIZE: u32 = 120;
    const INCH: f64 = 722.7;
    let name = str::from_utf8(name).ok()?;
    let mut fields: Vec<&str> = name.split('-').collect();
    let sizes = fields.get_mut(7..11)?;
    if sizes.first() != Some(&"0") {
        return None;
    }
    let pixels = (f64::from(SIZE * dots) / INCH).round() as u32;
    let all = [pixels, SIZE, dots, dots].map(|it| it.to_string());
    for (field, it) in sizes.iter_mut().zip(&all) {
        *field = it;
    }
    Some(fields.join("-").into_bytes())
}

#[cfg(test)]
mod tests {
    use x11prof_session::{Operation, Value};

    use super::{filed, resolution, sized};
    use crate::sampling::statistics::Estimate;

    #[test]
    fn a_scalable_name_is_given_a_size() {
        let scalable = b"-misc-fixed-medium-r-normal--0-0-75-75-c-0-iso8859-1";
        let sizes = [(1280, 325, "17-120-100-100"), (1280, 433, "12-120-75-75")];
        for (pixels, millimeters, sizes) in sizes {
            let expected = format!("-misc-fixed-medium-r-normal--{sizes}-c-0-iso8859-1");
            let dots = resolution(pixels, millimeters);
            assert_eq!(sized(scalable, dots), Some(expected.into_bytes()));
        }
        let name = b"-misc-fixed-medium-r-normal--13-120-75-75-c-70-iso8859-1";
        assert_eq!((sized(name, 75), sized(b"fixed", 75)), (None, None));
    }

    fn read(name: &str, time: f64) -> (Operation, Estimate) {
        let mut operation = Operation::new("OpenFont".into());
        operation
            .attributes
            .set("fontname".into(), Value::parse(name));
        operation
            .attributes
            .set("loaded".into(), Value::parse("no"));
        let half_width = Some(1.0);
        (
            operation,
            Estimate {
                centre: time,
                half_width,
            },
        )
    }

    #[test]
    fn most_share_an_entry_and_dear_ones_have_their_own() {
        let all = [
            read("a", 50.0),
            read("b", 60.0),
            read("c", 70.0),
            read("d", 9000.0),
        ];
        let entries = filed(&all, false);
        assert_eq!(entries.len(), 2);
        assert_eq!(entries[0].attributes.len(), 1);
        assert_eq!(entries[0].points[0].cpu_us.map(|it| it.0), Some(65.0));
        assert_eq!(entries[1].points[0].cpu_us.map(|it| it.0), Some(9000.0));
        assert_eq!(filed(&all, true).len(), 4);
        assert!(filed(&[], false).is_empty());
    }
}
