//! MIT-SHM: images from memory that is shared with the server, by shm id and by descriptor; and
//! BIG-REQUESTS.

use std::os::fd::OwnedFd;

use rustix::fs::{MemfdFlags, ftruncate, memfd_create};
use x11rb_protocol::protocol::bigreq;
use x11rb_protocol::protocol::shm::{
    AttachFdRequest, AttachRequest, CreatePixmapRequest, DetachRequest, GetImageRequest,
    PutImageRequest, QueryVersionRequest,
};
use x11rb_protocol::protocol::xproto::{CreateGCAux, FreePixmapRequest, ImageFormat};

use super::super::images::Image;
use super::super::place;
use super::{RESOURCES, cycle, major, plain};
use crate::error::MeasureError;
use crate::loads::{Loads, Series};
use crate::plan::Plan;
use crate::shared_memory::Segment;
use crate::stage::{SIDE, Stage};
use crate::wire::{core, extension};
use crate::workload::{Sync, Workload};

/// Sides of squares to start from, in pixels.
const SIDES: [u16; 4] = [1, 10, 100, 500];

/// Adds the loads.
pub(super) fn add(stage: &mut Stage, plan: &Plan, loads: &mut Loads) -> Result<(), MeasureError> {
    if let Some(major) = major(stage, loads, "BIG-REQUESTS")? {
        plain(loads, bigreq::EnableRequest, major);
    }
    let Some(major) = major(stage, loads, "MIT-SHM")? else {
        return Ok(());
    };
    let version = stage.ask_extension(QueryVersionRequest, major)?;
    plain(loads, QueryVersionRequest, major);
    let depth = stage.screen.root_depth;
    let Some(image) = Image::new(stage, ImageFormat::Z_PIXMAP, depth) else {
        return Ok(());
    };
    let length = image.length(SIDE);
    attach(stage, loads, major);
    // By descriptor from version 1.2 on.
    let by_fd = version.is_some_and(|it| (it.major_version, it.minor_version) >= (1, 2));
    let segment = match by_fd
        .then(|| by_descriptor(stage, major, length))
        .transpose()?
    {
        Some(Some(segment)) => segment,
        _ => match by_id(stage, major, length)? {
            Some(segment) => segment,
            None => {
                loads.lacks("memory that MIT-SHM could share");
                return Ok(());
            }
        },
    };
    let window = stage.window;
    let gc = stage.gc(window, CreateGCAux::new())?;
    let put = move |drawable: u32, side: u16| {
        Workload::varied(
            Sync::ReadBack,
            usize::from(side) * usize::from(side),
            |index| {
                let (dst_x, dst_y) = place(index, side, side);
                let request = PutImageRequest {
                    drawable,
                    gc,
                    total_width: SIDE,
                    total_height: SIDE,
                    src_x: 0,
                    src_y: 0,
                    src_width: side,
                    src_height: side,
                    dst_x,
                    dst_y,
                    depth,
                    format: ImageFormat::Z_PIXMAP.into(),
                    send_event: false,
                    shmseg: segment,
                    offset: 0,
                };
                extension(request, major)
            },
        )
    };
    let sides = || plan.sizes(&SIDES).copied();
    loads
        .series
        .push(Series::new(sides(), move |side| put(window, side)));
    loads.push(put(stage.silent, 1));
    let get = move |side: u16| {
        let work = usize::from(side) * usize::from(side) * 2;
        Workload::varied(Sync::RoundTrip, work, |_| {
            let request = GetImageRequest {
                drawable: window,
                x: 0,
                y: 0,
                width: side,
                height: side,
                plane_mask: !0,
                format: ImageFormat::Z_PIXMAP.into(),
                shmseg: segment,
                offset: 0,
            };
            extension(request, major)
        })
    };
    loads.series.push(Series::new(sides(), get));
    if version.is_some_and(|version| version.shared_pixmaps) {
        let create = |pid| {
            let request = CreatePixmapRequest {
                pid,
                drawable: window,
                width: 100,
                height: 100,
                depth,
                shmseg: segment,
                offset: 0,
            };
            extension(request, major)
        };
        let free = |pixmap| core(FreePixmapRequest { pixmap });
        cycle(stage, loads, RESOURCES, &[&create, &free]);
    }
    Ok(())
}

/// Attaching a segment of the usual size of a window's image, and letting it go.
fn attach(stage: &mut Stage, loads: &mut Loads, major: u8) {
    let Some(segment) = Segment::new(1 << 20) else {
        return;
    };
    let shmid = segment.id();
    let attach = move |shmseg| {
        let read_only = false;
        extension(
            AttachRequest {
                shmseg,
                shmid,
                read_only,
            },
            major,
        )
    };
    let detach = move |shmseg| extension(DetachRequest { shmseg }, major);
    cycle(stage, loads, RESOURCES / 8, &[&attach, &detach]);
    stage.keep(segment);
}

/// A segment attached by its id; `None` where the server cannot, being on another machine.
fn by_id(stage: &mut Stage, major: u8, length: usize) -> Result<Option<u32>, MeasureError> {
    let Some(memory) = Segment::new(length) else {
        return Ok(None);
    };
    let shmseg = stage.id();
    let shmid = memory.id();
    let read_only = false;
    let request = extension(
        AttachRequest {
            shmseg,
            shmid,
            read_only,
        },
        major,
    );
    let accepted = stage.try_bytes(&request)?;
    stage.keep(memory);
    Ok(accepted.then_some(shmseg))
}

/// A segment attached by a descriptor that is sent along.
fn by_descriptor(stage: &mut Stage, major: u8, length: usize) -> Result<Option<u32>, MeasureError> {
    let Some(memory) = memory(length) else {
        return Ok(None);
    };
    let shmseg = stage.id();
    let bytes = {
        // The descriptor goes by its own way; here only the request's bytes are wanted.
        let Ok(copy) = memory.try_clone() else {
            return Ok(None);
        };
        let request = AttachFdRequest {
            shmseg,
            shm_fd: copy,
            read_only: false,
        };
        extension(request, major)
    };
    Ok(stage.try_with_fd(&bytes, &memory)?.then_some(shmseg))
}

fn memory(length: usize) -> Option<OwnedFd> {
    let fd = memfd_create("x11prof-image", MemfdFlags::CLOEXEC).ok()?;
    ftruncate(&fd, u64::try_from(length).ok()?).ok()?;
    Some(fd)
}
