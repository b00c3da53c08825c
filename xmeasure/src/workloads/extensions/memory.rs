//! The loads of MIT-SHM: images in memory that is shared with the server by a segment's id or by file descriptor.

use std::os::fd::OwnedFd;
use std::sync::Arc;

use rustix::fs::{MemfdFlags, ftruncate, memfd_create};
use x11prof_proxy::SharedMemory;
use x11rb_protocol::protocol::shm::{
    AttachFdRequest, AttachRequest, CreatePixmapRequest, CreateSegmentRequest, DetachRequest,
    GetImageRequest, PutImageRequest, QueryVersionRequest,
};
use x11rb_protocol::protocol::xproto::{CreateGCAux, FreePixmapRequest, ImageFormat};

use super::super::images::Image;
use super::super::place;
use super::{RESOURCES, cycle, major};
use crate::error::MeasureError;
use crate::plan::Plan;
use crate::server::client::{Client, SIDE};
use crate::server::connection::CARRYING;
use crate::server::wire::{Major, core};
use crate::workloads::loads::Loads;
use crate::workloads::workload::{Phase, Sync, Workload};

/// The first version that shares memory by file descriptor.
const BY_DESCRIPTOR: (u16, u16) = (1, 2);
/// The initial sides of squares, in pixels.
const SIDES: [u16; 4] = [1, 10, 100, 500];

/// Adds the loads of MIT-SHM to `loads`.
pub(super) fn add(client: &mut Client, plan: &Plan, loads: &mut Loads) -> Result<(), MeasureError> {
    let Some(major) = major(client, loads, "MIT-SHM")? else {
        return Ok(());
    };
    let version = client.ask_extension(QueryVersionRequest, major)?;
    loads.plain(major.bytes(QueryVersionRequest));
    let depth = client.screen.root_depth;
    let Some(image) = Image::new(client, ImageFormat::Z_PIXMAP, depth) else {
        return Ok(());
    };
    let length = image.length(SIDE);
    attach(client, loads, major);
    let by_fd = version
        .is_some_and(|version| (version.major_version, version.minor_version) >= BY_DESCRIPTOR);
    if by_fd {
        descriptors(client, loads, major);
    } else {
        loads.lacks("MIT-SHM by descriptor");
    }
    let segment = match by_fd
        .then(|| by_descriptor(client, major, length))
        .transpose()?
    {
        Some(Some(segment)) => segment,
        _ => match by_id(client, major, length)? {
            Some(segment) => segment,
            None => {
                loads.lacks("memory that MIT-SHM could share");
                return Ok(());
            }
        },
    };
    let window = client.window;
    let gc = client.gc(window, CreateGCAux::new())?;
    let put = move |drawable: u32, side: u16| {
        Workload::varied(
            Sync::ReadBack,
            usize::from(side) * usize::from(side),
            |index| {
                let (dst_x, dst_y) = place(index, side, side);
                major.bytes(PutImageRequest {
                    drawable,
                    gc,
                    total_width: SIDE,
                    total_height: SIDE,
                    // The request shows a part of a picture of the whole window, as in programs that send only changes.
                    src_x: dst_x.cast_unsigned(),
                    src_y: dst_y.cast_unsigned(),
                    src_width: side,
                    src_height: side,
                    dst_x,
                    dst_y,
                    depth,
                    format: ImageFormat::Z_PIXMAP.into(),
                    send_event: false,
                    shmseg: segment,
                    offset: 0,
                })
            },
        )
    };
    let sides = || plan.sizes(&SIDES);
    loads.series(sides(), move |side| put(window, side));
    loads.push(put(client.unwatched, 1));
    let get = move |side: u16| {
        let work = usize::from(side) * usize::from(side) * 2;
        Workload::varied(Sync::RoundTrip, work, |_| {
            major.bytes(GetImageRequest {
                drawable: window,
                width: side,
                height: side,
                plane_mask: !0,
                format: ImageFormat::Z_PIXMAP.into(),
                shmseg: segment,
                ..GetImageRequest::default()
            })
        })
    };
    loads.series(sides(), get);
    if version.is_some_and(|version| version.shared_pixmaps) {
        let create = |pid| {
            major.bytes(CreatePixmapRequest {
                pid,
                drawable: window,
                width: 100,
                height: 100,
                depth,
                shmseg: segment,
                offset: 0,
            })
        };
        let free = |pixmap| core(FreePixmapRequest { pixmap });
        cycle(client, loads, RESOURCES, &[&create, &free]);
    }
    Ok(())
}

/// The usual size of a window's image, in bytes.
const SEGMENT: u32 = 1 << 20;

/// Adds a load that attaches segments by file descriptor, and a load that makes the server create segments and send
/// their descriptors. The segments are then detached. Received descriptors are closed when they are read.
fn descriptors(client: &mut Client, loads: &mut Loads, major: Major) {
    let Some(memory) = memory(SEGMENT as usize).map(Arc::new) else {
        return;
    };
    let ids = client.ids(CARRYING);
    let phase = |request: &dyn Fn(u32) -> Option<Vec<u8>>| {
        Phase::new(ids.iter().filter_map(|id| request(*id)), Sync::RoundTrip)
    };
    let detach = |shmseg| Some(major.bytes(DetachRequest { shmseg }));
    let attach = |shmseg| attach_fd(&memory, shmseg, major);
    let attached = phase(&attach).carrying(&memory);
    loads.push(Workload::cycle([attached, phase(&detach)]));
    let create = |shmseg| {
        let request = CreateSegmentRequest {
            shmseg,
            size: SEGMENT,
            read_only: false,
        };
        Some(major.bytes(request))
    };
    loads.push(Workload::cycle([phase(&create), phase(&detach)]));
}

/// Adds loads that attach segments by their ids and detach them. Each segment is new, because a server only increments
/// a counter for a segment that is already attached.
fn attach(client: &mut Client, loads: &mut Loads, major: Major) {
    let segments: Vec<SharedMemory> = (0..CARRYING)
        .map_while(|_| SharedMemory::new(SEGMENT as usize).ok())
        .collect();
    let ids = client.ids(segments.len());
    let each = || ids.iter().zip(&segments);
    let attached = each().map(|(&shmseg, segment)| attach_id(segment, shmseg, major));
    let detached = each().map(|(&shmseg, _)| major.bytes(DetachRequest { shmseg }));
    loads.push(Workload::cycle([
        Phase::new(attached, Sync::RoundTrip),
        Phase::new(detached, Sync::RoundTrip),
    ]));
    for segment in segments {
        client.keep(segment);
    }
}

fn attach_id(memory: &SharedMemory, shmseg: u32, major: Major) -> Vec<u8> {
    major.bytes(AttachRequest {
        shmseg,
        shmid: memory.id(),
        read_only: false,
    })
}

/// Attaches a segment by its id and returns the resource id; `None` if the segment cannot be created, or if the server
/// refuses it, such as a server on another machine.
fn by_id(client: &mut Client, major: Major, length: usize) -> Result<Option<u32>, MeasureError> {
    let Ok(memory) = SharedMemory::new(length) else {
        return Ok(None);
    };
    let shmseg = client.id();
    let request = attach_id(&memory, shmseg, major);
    let accepted = client.try_bytes(&request)?;
    client.keep(memory);
    Ok(accepted.then_some(shmseg))
}

/// Attaches a segment by a file descriptor and returns the resource id.
fn by_descriptor(
    client: &mut Client,
    major: Major,
    length: usize,
) -> Result<Option<u32>, MeasureError> {
    let Some(memory) = memory(length) else {
        return Ok(None);
    };
    let shmseg = client.id();
    let Some(bytes) = attach_fd(&memory, shmseg, major) else {
        return Ok(None);
    };
    let taken = client.try_with_fd(&bytes, &memory)?;
    Ok(taken.then_some(shmseg))
}

/// The bytes of AttachFd; the file descriptor is sent with them.
fn attach_fd(memory: &OwnedFd, shmseg: u32, major: Major) -> Option<Vec<u8>> {
    let request = AttachFdRequest {
        shmseg,
        shm_fd: memory.try_clone().ok()?,
        read_only: false,
    };
    Some(major.bytes(request))
}

fn memory(length: usize) -> Option<OwnedFd> {
    let fd = memfd_create("x11prof-image", MemfdFlags::CLOEXEC).ok()?;
    ftruncate(&fd, u64::try_from(length).ok()?).ok()?;
    Some(fd)
}
