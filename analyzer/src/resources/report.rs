//! The resource profile as a document: the section `resources` of a report's JSON
//! (docs/REFERENCE.md).

use serde::{Deserialize, Serialize};
use x11prof_trace::Timestamp;

use crate::recording::trace_summary::TraceSummary;
use crate::resources::kind_use::{KindUse, LISTED_LIMIT, pixels_created};
use crate::resources::{ClientUse, Resources};
use crate::text::units::duration_ms;
use x11prof_session::ResourceKind;

/// Resources of the clients in the server. Times are milliseconds from the trace's first record.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ResourceReport {
    /// Sizes of pixels on the server.
    pub pixel_formats: Vec<PixelFormatReport>,
    /// The clients, in the order of their connections.
    pub clients: Vec<ClientResources>,
    /// The sum over ended clients without a separate entry, those with the fewest resources.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub others: Option<SummedClients>,
}

/// The size of pixels of one depth.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct PixelFormatReport {
    /// The depth.
    pub depth: u8,
    /// Bits for each pixel.
    pub bits_per_pixel: u8,
    /// Rows are padded to this many bits.
    pub scanline_pad: u8,
}

/// Resources of one client.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ClientResources {
    /// The number of its connection.
    pub client: u32,
    /// The name.
    pub name: String,
    /// The first resource ID, by which the X-Resource extension identifies the client.
    pub id_base: Option<u32>,
    /// The end of the connection; null if it was open at the end of the trace.
    pub closed_ms: Option<f64>,
    /// The kinds that the client ever held.
    pub kinds: Vec<KindResources>,
}

/// The resources of many clients, summed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SummedClients {
    /// The number of clients.
    pub count: u64,
    /// The kinds that one of the clients ever held.
    pub kinds: Vec<SummedKind>,
}

/// The resources of one kind of many clients, summed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SummedKind {
    /// The kind, as in [`KindResources`].
    pub kind: String,
    /// The number of resources held when the clients disconnected.
    pub held: u64,
    /// Bytes of the resources held.
    pub held_bytes: u64,
    /// The maximum that one client held at once.
    #[serde(rename = "peak")]
    pub most: u64,
    /// The maximum number of bytes that one client held at once.
    #[serde(rename = "peak_bytes")]
    pub most_bytes: u64,
    /// Resources created.
    pub created: u64,
    /// Resources freed before the connection ended.
    pub freed: u64,
    /// Resources freed in the same socket read as created.
    pub freed_at_once: u64,
}

/// Resources of one kind of a client.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct KindResources {
    /// `window`, `pixmap`, `gc`, …
    pub kind: String,
    /// Resources held at the end of the client's connection, or of the trace.
    pub held: u64,
    /// Bytes of the resources held: pixels of pixmaps, images of glyphs, shared memory of known size, and the stored
    /// pixels of windows.
    pub held_bytes: u64,
    /// The maximum held at once.
    #[serde(rename = "peak")]
    pub most: u64,
    /// The most bytes at once.
    #[serde(rename = "peak_bytes")]
    pub most_bytes: u64,
    /// The time at which the client first held the maximum.
    #[serde(rename = "peak_at_ms")]
    pub most_at_ms: f64,
    /// Resources created.
    pub created: u64,
    /// Resources freed before the client's connection ended.
    pub freed: u64,
    /// Resources freed in the same socket read as created.
    pub freed_at_once: u64,
    /// True if the client holds more in each quarter of its time than at any time in the previous quarter.
    pub grows: bool,
    /// The number held over time.
    pub over_time: Vec<HeldOverTime>,
    /// Resources by size, for windows and pixmaps.
    pub sizes: Vec<SizeReport>,
    /// Resources held at the end, by the request that created them.
    pub remained: Vec<RemainderReport>,
}

/// The number held during one interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct HeldOverTime {
    /// The beginning.
    pub from_ms: f64,
    /// The least.
    #[serde(rename = "min")]
    pub least: u64,
    /// The most.
    #[serde(rename = "max")]
    pub most: u64,
}

/// Windows or pixmaps of one size, as created.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SizeReport {
    /// Pixels across.
    pub width: u16,
    /// Pixels down.
    pub height: u16,
    /// Bits per pixel; 0 if unknown.
    pub depth: u8,
    /// Resources created.
    pub created: u64,
    /// Resources held at the end.
    pub held: u64,
}

/// Resources that were held at the end.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RemainderReport {
    /// The request that created them.
    pub request: String,
    /// The program's function that sent the request; null without stacks of requests.
    pub function: Option<String>,
    /// The width of the resources, if they have one.
    pub width: u16,
    /// The height of the resources, if they have one.
    pub height: u16,
    /// The depth of the resources, if they have one.
    pub depth: u8,
    /// The number.
    pub count: u64,
    /// Bytes of these resources.
    pub bytes: u64,
    /// The time at which the first was created.
    pub first_ms: f64,
    /// The time at which the last was created.
    pub last_ms: f64,
}

impl ResourceReport {
    /// The report of a pass over `resources` and `summary`.
    pub fn new(resources: &Resources, summary: &TraceSummary) -> ResourceReport {
        let start = resources.elapsed.start();
        let clients = resources
            .clients
            .iter()
            .map(|(id, of)| {
                let remained = resources.by_function(match of.closed {
                    Some(_) => of.remained.clone(),
                    None => resources.remaining(id),
                });
                let kinds =
                    of.kinds.iter().map(|(kind, used)| {
                        let remained = remained.iter().filter(|((of, ..), _)| of == kind).map(
                            |(key, group)| RemainderReport {
                                request: key.1.to_string(),
                                function: key.5.and_then(|stack| resources.function(stack)),
                                width: key.2,
                                height: key.3,
                                depth: key.4,
                                count: group.count,
                                bytes: group.bytes,
                                first_ms: duration_ms(group.first.since(start)),
                                last_ms: duration_ms(group.last.since(start)),
                            },
                        );
                        of_kind(
                            *kind,
                            used,
                            of,
                            resources.elapsed.now(),
                            start,
                            remained.collect(),
                        )
                    });
                ClientResources {
                    client: id.0,
                    name: summary.client_name(id),
                    id_base: of.id_base,
                    closed_ms: of.closed.map(|time| duration_ms(time.since(start))),
                    kinds: kinds.collect(),
                }
            })
            .collect();
        let pixel_formats = resources.formats.iter();
        let pixel_formats = pixel_formats.map(|format| PixelFormatReport {
            depth: format.depth,
            bits_per_pixel: format.bits,
            scanline_pad: format.pad,
        });
        ResourceReport {
            pixel_formats: pixel_formats.collect(),
            clients,
            others: others(resources),
        }
    }
}

fn others(resources: &Resources) -> Option<SummedClients> {
    let (count, kinds) = &resources.clients.others;
    let kinds = kinds.iter().map(|(kind, of)| SummedKind {
        kind: kind.name().to_owned(),
        held: of.held,
        held_bytes: of.held_bytes,
        most: of.most,
        most_bytes: of.most_bytes,
        created: of.created,
        freed: of.freed,
        freed_at_once: of.freed_at_once,
    });
    (*count > 0).then(|| SummedClients {
        count: *count,
        kinds: kinds.collect(),
    })
}

fn of_kind(
    kind: ResourceKind,
    used: &KindUse,
    of: &ClientUse,
    now: Timestamp,
    start: Timestamp,
    mut remained: Vec<RemainderReport>,
) -> KindResources {
    remained.sort_by_key(|group| std::cmp::Reverse((group.bytes, group.count)));
    remained.truncate(LISTED_LIMIT);
    let mut sizes: Vec<SizeReport> = used
        .sizes
        .iter()
        .filter(|((width, ..), _)| *width > 0)
        .map(|((width, height, depth), (created, held))| SizeReport {
            width: *width,
            height: *height,
            depth: *depth,
            created: *created,
            held: *held,
        })
        .collect();
    sizes.sort_by_key(|size| {
        let of = (size.width, size.height, size.depth);
        (std::cmp::Reverse(pixels_created(of, size.created)), of)
    });
    sizes.truncate(LISTED_LIMIT);
    let mut history = used.history.clone();
    history.until(of.closed.unwrap_or(now));
    KindResources {
        kind: kind.name().to_owned(),
        held: used.held,
        held_bytes: used.held_bytes,
        most: used.most,
        most_bytes: used.most_bytes,
        most_at_ms: duration_ms(used.most_at.since(start)),
        created: used.created,
        freed: used.freed,
        freed_at_once: used.freed_at_once,
        grows: history.grows(),
        over_time: history
            .slots()
            .map(|(from, slot)| HeldOverTime {
                from_ms: duration_ms(from.since(start)),
                least: slot.least,
                most: slot.most,
            })
            .collect(),
        sizes,
        remained,
    }
}
