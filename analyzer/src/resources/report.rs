//! The resource profile as a document: the section `resources` of a report's JSON
//! (docs/REFERENCE.md).

use serde::{Deserialize, Serialize};
use x11prof_trace::Timestamp;

use crate::recording::trace_summary::TraceSummary;
use crate::resources::counts::ResourceCounts;
use crate::resources::kind_use::{KindUse, LISTED_LIMIT, pixels_created};
use crate::resources::{ClientUse, Resources};
use crate::text::units::duration_ms;
use x11prof_session::ResourceKind;

/// The resources that clients hold in the server. Times are milliseconds from the trace's first record.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ResourceReport {
    /// The memory layout of pixels on the server, for each depth.
    pub pixel_formats: Vec<PixelFormatReport>,
    /// The clients with a separate entry, in the order of their connections.
    pub clients: Vec<ClientResources>,
    /// The sum over the disconnected clients without a separate entry, which held the fewest resources.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub others: Option<SummedClients>,
}

/// The memory layout of pixels of one depth.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct PixelFormatReport {
    /// The depth of pixels with this layout, in bits.
    pub depth: u8,
    /// The number of bits that each pixel occupies.
    pub bits_per_pixel: u8,
    /// The multiple of bits to which each row of pixels is padded.
    pub scanline_pad: u8,
}

/// The resources of one client.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ClientResources {
    /// The number of the client's connection.
    pub client: u32,
    /// The name of the client that created the resources.
    pub name: String,
    /// The first resource id of the client, by which the X-Resource extension identifies it; null if unknown.
    pub id_base: Option<u32>,
    /// The time at which the connection ended, in milliseconds since the trace's first record; null if it was open at
    /// the end of the trace.
    pub closed_ms: Option<f64>,
    /// The kinds of resources that the client ever held.
    pub kinds: Vec<KindResources>,
}

/// The sums over the resources of many clients.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SummedClients {
    /// The number of clients whose resources are summed.
    pub count: u64,
    /// The kinds of resources that one of the clients ever held.
    pub kinds: Vec<SummedKind>,
}

/// The sums over the resources of one kind, of many clients.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SummedKind {
    /// The kind of resource, as in [`KindResources`].
    pub kind: String,
    /// The sums of the counts; the largest numbers are of one client.
    #[serde(flatten)]
    pub counts: ResourceCounts,
}

/// A client's resources of one kind.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct KindResources {
    /// The kind of resource: `window`, `pixmap`, `gc`, …
    pub kind: String,
    /// The number and size of the resources.
    #[serde(flatten)]
    pub counts: ResourceCounts,
    /// The time at which the client first held the largest number of resources, in milliseconds since the trace's first
    /// record.
    #[serde(rename = "peak_at_ms")]
    pub most_at_ms: f64,
    /// True if the minimum in each quarter of the time is larger than in the previous quarter, and smaller than at the
    /// end.
    pub grows: bool,
    /// The number of held resources over time.
    pub over_time: Vec<HeldOverTime>,
    /// The number of windows or pixmaps by size; empty for other kinds.
    pub sizes: Vec<SizeReport>,
    /// The resources held at the end, in groups by the request that created them.
    pub remained: Vec<RemainderReport>,
}

/// The number of held resources during one interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct HeldOverTime {
    /// The beginning of the interval, in milliseconds since the trace's first record.
    pub from_ms: f64,
    /// The smallest number of held resources in the interval.
    #[serde(rename = "min")]
    pub least: u64,
    /// The largest number of held resources in the interval.
    #[serde(rename = "max")]
    pub most: u64,
}

/// The windows or pixmaps of one size, as they were created.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SizeReport {
    /// The width of the windows or pixmaps in pixels.
    pub width: u16,
    /// The height of the windows or pixmaps in pixels.
    pub height: u16,
    /// The depth in bits; 0 if unknown.
    pub depth: u8,
    /// The number of resources created with this size.
    pub created: u64,
    /// The number of resources of this size held at the end.
    pub held: u64,
}

/// A group of resources that were held at the end.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RemainderReport {
    /// The name of the request that created the resources.
    pub request: String,
    /// The function of the program that sent the request; null without stacks of requests.
    pub function: Option<String>,
    /// The width of the resources in pixels; 0 if they have none.
    pub width: u16,
    /// The height of the resources in pixels; 0 if they have none.
    pub height: u16,
    /// The depth of the resources in bits; 0 if they have none.
    pub depth: u8,
    /// The number of resources in the group.
    pub count: u64,
    /// The number of bytes of the resources in the group.
    pub bytes: u64,
    /// The time at which the first of the group's resources was created, in milliseconds since the trace's first
    /// record.
    pub first_ms: f64,
    /// The time at which the last of the group's resources was created, in milliseconds since the trace's first record.
    pub last_ms: f64,
}

impl ResourceReport {
    /// Creates the report on `resources`; `summary` is of the same trace.
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
        counts: *of,
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
        counts: used.counts,
        most_at_ms: duration_ms(used.most_at.since(start)),
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
