//! The cost of reading a font file: at the font's first OpenFont, and at each ListFontsWithInfo if the font is not
//! open. A file of some hundred characters takes microseconds, a file of all Chinese characters many milliseconds.
//! Only the server has the files, so each font is measured by name.

use std::io;
use std::time::Duration;

use x11prof_cost_model::{Micros, Point, RequestCosts, ServerParameters};
use x11prof_session::{Attribute, Operation};
use x11rb_protocol::protocol::xproto::{
    CloseFontRequest, GetInputFocusRequest, ListFontsRequest, ListFontsWithInfoRequest,
    OpenFontRequest,
};

use super::{Probe, ProbeDuration, Run};
use crate::error::MeasureError;
use crate::fit::entries;
use crate::plan::Plan;
use crate::sampling::batch::Batch;
use crate::sampling::rounding::rounded;
use crate::sampling::statistics::{Estimate, estimate};
use crate::server::client::Client;
use crate::server::tracker::Tracker;
use crate::server::wire;

/// Maximum number of font names to request.
const NAMES: u16 = 2000;
/// Time limit of the probe.
const LASTS: Duration = Duration::from_secs(6);
const QUICK_LASTS: Duration = Duration::from_secs(2);
/// The number of reads of each font; the first read may come from the disk.
const TIMES: usize = 3;
/// A font has a separate entry if the time to read its file differs from that of the median font by this factor.
const DISTANT: f64 = 3.0;
/// The number of groups into which the sorted names are dealt like cards. The fonts of a family are neighbours, so if
/// time runs out, the measured fonts are still a sample of all families.
const GROUPS: usize = 16;

/// The number of reads of empty requests.
const NOTHING: usize = 100;

/// The two requests that read fonts.
const READERS: [&str; 2] = ["ListFontsWithInfo", "OpenFont"];

/// The fonts of a server, and the requests that read their files.
pub(crate) struct FontFilesProbe {
    fonts: Vec<Font>,
    /// A batch of the same number of requests with the same transport, which do no work.
    nothing: Batch,
    nothing_times: Vec<f64>,
    /// The number of reads of each font.
    times: usize,
    /// The time limit for all reads.
    limit: Duration,
}

struct Font {
    readers: [Reader; READERS.len()],
}

/// The requests that read one font with one kind of request, and the measured times.
struct Reader {
    /// The request, the request that undoes it, and a round trip.
    batch: Batch,
    /// The CPU time of each read, including transport, in microseconds.
    times: Vec<f64>,
}

impl FontFilesProbe {
    /// Creates the probe of the fonts `names`.
    fn new(client: &mut Client, plan: &Plan, names: Vec<Vec<u8>>) -> FontFilesProbe {
        let question = wire::core(GetInputFocusRequest);
        let id = client.id();
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
                readers: [
                    Reader {
                        batch: with_question([list, wire::no_operation(1), question.clone()]),
                        times: Vec::new(),
                    },
                    Reader {
                        batch: with_question([open, close, question.clone()]),
                        times: Vec::new(),
                    },
                ],
            }
        };
        let nothing = [
            wire::no_operation(1),
            wire::no_operation(1),
            question.clone(),
        ];
        FontFilesProbe {
            fonts: names.into_iter().map(font).collect(),
            nothing: with_question(nothing),
            nothing_times: Vec::new(),
            times: if plan.quick { 1 } else { TIMES },
            limit: if plan.quick { QUICK_LASTS } else { LASTS },
        }
    }
}

impl Probe for FontFilesProbe {
    /// Requests the names of all fonts.
    fn prepare(client: &mut Client, plan: &Plan) -> Result<FontFilesProbe, MeasureError> {
        let mut names: Vec<Vec<u8>> = Vec::new();
        if READERS.iter().any(|reader| plan.wants(reader)) {
            let list = client.ask(ListFontsRequest {
                max_names: NAMES,
                pattern: b"*".into(),
            })?;
            let list = list.map(|reply| reply.names).unwrap_or_default();
            names = list.into_iter().map(|name| name.name).collect();
        }
        let screen = &client.screen;
        let dots = resolution(screen.width_in_pixels, screen.width_in_millimeters);
        let sized = |name: Vec<u8>| sized(&name, dots).unwrap_or(name);
        names = names.into_iter().map(sized).collect();
        names.sort();
        names.dedup();
        Ok(FontFilesProbe::new(client, plan, dealt(&names)))
    }

    fn name(&self) -> &'static str {
        "fonts"
    }

    fn lasts(&self) -> ProbeDuration {
        match self.fonts.is_empty() {
            true => ProbeDuration::default(),
            false => ProbeDuration::once(self.limit),
        }
    }

    /// Reads each font a few times, within the time limit.
    fn measure(&mut self, run: &mut Run<'_>) -> io::Result<()> {
        let start = run.server.elapsed();
        for _ in 0..self.times {
            for font in &mut self.fonts {
                for reader in &mut font.readers {
                    if run.server.elapsed().saturating_sub(start) > self.limit {
                        return Ok(());
                    }
                    reader.times.extend(run.server.after(&[], &reader.batch)?);
                }
                if self.nothing_times.len() < NOTHING {
                    let nothing = run.server.after(&[], &self.nothing)?;
                    self.nothing_times.extend(nothing);
                }
            }
        }
        Ok(())
    }

    /// Writes one entry for most fonts and one for each font of a distant cost; none if the server's CPU time cannot be
    /// read.
    fn fit(&self, plan: &Plan, tracker: &mut Tracker, parameters: &mut ServerParameters) {
        let Some(nothing) = estimate(&self.nothing_times) else {
            return;
        };
        for (at, name) in READERS.iter().enumerate() {
            let read = self.fonts.iter().filter_map(|font| {
                let reader = font.readers.get(at)?;
                let operation = tracker.sent(&reader.batch.bytes).into_iter().next()?;
                let is_read = operation.attributes.get(fontname()).is_some();
                let Estimate { centre, half_width } = estimate(&reader.times)?;
                let centre = centre - nothing.centre;
                let more = Estimate { centre, half_width };
                (is_read && centre > 0.0).then_some((operation, more))
            });
            let read: Vec<(Operation, Estimate)> = read.collect();
            let mut readers = self.fonts.iter().filter_map(|font| font.readers.get(at));
            let are_all_read = readers.all(|reader| !reader.times.is_empty());
            if plan.wants(name) {
                parameters.requests.extend(filed(&read, are_all_read));
            }
        }
    }
}

/// Creates a batch of two requests and a third request that has a reply.
fn with_question(requests: [Vec<u8>; 3]) -> Batch {
    Batch::new(requests.concat(), 3, 1)
}

/// Deals the sorted `names` into groups, and returns the groups one after the other.
fn dealt(names: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let group = |first| names.iter().skip(first).step_by(GROUPS).cloned();
    (0..GROUPS).flat_map(group).collect()
}

/// Computes the entries of the parameter file: one entry without a font name for most fonts, and one entry for each
/// font of a distant cost. `read` contains the operation and the time of each measured font. The bounds of the first
/// entry contain the cost of all fonts without an own entry: of all measured fonts unless `are_all_read`.
fn filed(read: &[(Operation, Estimate)], are_all_read: bool) -> Vec<RequestCosts> {
    let mut times: Vec<f64> = read.iter().map(|(_, time)| time.centre).collect();
    times.sort_by(f64::total_cmp);
    let (Some((operation, _)), Some(&usual)) = (read.first(), times.get(times.len() / 2)) else {
        return Vec::new();
    };
    let is_distant = |time: f64| time > DISTANT * usual || time < usual / DISTANT;
    let covered = times
        .iter()
        .filter(|time| !are_all_read || !is_distant(**time));
    let centre = Estimate {
        centre: usual,
        half_width: covered
            .map(|time| (time - usual).abs())
            .max_by(f64::total_cmp),
    };
    let mut operation = operation.clone();
    operation.attributes.remove(fontname());
    let own = read.iter().filter(|(_, time)| is_distant(time.centre));
    let own = own.map(|(operation, time)| entry(operation, *time));
    std::iter::once(entry(&operation, centre))
        .chain(own)
        .collect()
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
        attributes: entries::attributes(operation),
        points: vec![point],
        ..RequestCosts::default()
    }
}

fn fontname() -> Attribute {
    "fontname".into()
}

/// The resolution in dots per inch at which X servers scale fonts for a client that specifies none, depending on
/// the screen's width (dix/dixfonts.c, GetClientResolutions).
fn resolution(pixels: u16, millimeters: u16) -> u32 {
    let dots = f64::from(pixels) * 25.4 / f64::from(millimeters);
    if dots < 88.0 { 75 } else { 100 }
}

/// The name of a scalable font at 12 points and `dots` dots per inch, a common text size (X Logical Font
/// Description Conventions, section 4); `None` for other fonts. The cost of scaling depends on the size.
fn sized(name: &[u8], dots: u32) -> Option<Vec<u8>> {
    /// 12 points in decipoints, and the decipoints in an inch.
    const SIZE: u32 = 120;
    const INCH: f64 = 722.7;
    let name = str::from_utf8(name).ok()?;
    let mut fields: Vec<&str> = name.split('-').collect();
    let sizes = fields.get_mut(7..11)?;
    if sizes.first() != Some(&"0") {
        return None;
    }
    let pixels = (f64::from(SIZE * dots) / INCH).round() as u32;
    let all = [pixels, SIZE, dots, dots].map(|size| size.to_string());
    for (field, size) in sizes.iter_mut().zip(&all) {
        *field = size;
    }
    Some(fields.join("-").into_bytes())
}

#[cfg(test)]
mod tests {
    use x11prof_session::{Operation, Value};

    use super::{FontFilesProbe, dealt, filed, resolution, sized};
    use crate::plan::Plan;
    use crate::probes::Probe;
    use crate::sampling::statistics::{Estimate, estimate};
    use crate::simulated::{truth, with_server};

    #[test]
    fn font_reading_costs_are_recovered() {
        let names = ["cheap", "large"].map(|name| name.as_bytes().to_vec());
        let prepare =
            |client: &mut _| Ok(FontFilesProbe::new(client, &Plan::default(), names.into()));
        let read = with_server(&truth(), &Plan::default(), prepare, |mut probe, run| {
            probe.measure(run)?;
            let nothing = estimate(&probe.nothing_times).unwrap().centre;
            let opened = probe.fonts.iter().map(|font| &font.readers[1].times);
            Ok(opened.map(|times| times[0] - nothing).collect::<Vec<f64>>())
        });
        let times = read.unwrap();
        // Includes the bytes of the name; CloseFont costs nothing here.
        assert!((times[0] - 50.0).abs() < 0.1, "{times:?}");
        assert!((times[1] - 9000.0).abs() < 1.0, "{times:?}");
    }

    #[test]
    fn scalable_font_name_receives_a_size() {
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
    fn typical_fonts_share_an_entry_and_distant_ones_do_not() {
        let all = [
            read("a", 50.0),
            read("b", 60.0),
            read("c", 70.0),
            read("d", 9000.0),
            read("e", 1.0),
        ];
        let entries = filed(&all, true);
        let times: Vec<_> = entries.iter().map(|entry| &entry.points[0]).collect();
        let cpu: Vec<f64> = times.iter().map(|point| point.cpu_us.unwrap().0).collect();
        assert_eq!(cpu, [60.0, 9000.0, 1.0]);
        assert_eq!(entries[0].attributes.len(), 1);
        // Of 10 µs of 60 µs.
        assert_eq!(times[0].spread, Some(0.17));
        // If fonts were left out, they may cost as much as any other font.
        let partly = filed(&all, false);
        assert_eq!(partly[0].points[0].spread, Some(150.0));
        assert!(filed(&[], true).is_empty());
    }

    #[test]
    fn each_family_is_sampled_early() {
        let names: Vec<Vec<u8>> = (0..40).map(|name| vec![name]).collect();
        let order: Vec<u8> = dealt(&names).concat();
        assert_eq!(order[..4], [0, 16, 32, 1]);
        assert_eq!(order.len(), 40);
    }
}
