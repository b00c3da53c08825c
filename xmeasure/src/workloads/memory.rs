//! The loads that share memory with the server, by a segment's id or by file descriptor. The table has the loads of
//! MIT-SHM that use the memory.

use std::os::fd::OwnedFd;
use std::sync::Arc;

use rustix::fs::{MemfdFlags, ftruncate, memfd_create};
use x11prof_proxy::SharedMemory;
use x11rb_protocol::protocol::shm::{
    AttachFdRequest, AttachRequest, CreateSegmentRequest, DetachRequest, QueryVersionRequest,
};

use crate::error::MeasureError;
use crate::server::client::{Client, SIDE};
use crate::server::connection::CARRYING;
use crate::server::wire::Major;
use crate::workloads::loads::Loads;
use crate::workloads::workload::{Phase, Sync, Workload};

/// The first version that shares memory by file descriptor.
const BY_DESCRIPTOR: (u16, u16) = (1, 2);
/// The size of the shared memory, in bytes: the image of the whole window with at most 32 bits per pixel.
const WHOLE_WINDOW: usize = 4 * SIDE as usize * SIDE as usize;

/// Adds the loads that share memory to `loads`. Returns the id of a shared segment for the loads of the table; `None` if
/// no memory can be shared.
pub(super) fn add(client: &mut Client, loads: &mut Loads) -> Result<Option<u32>, MeasureError> {
    let Some(major) = client.extension("MIT-SHM")? else {
        return Ok(None);
    };
    let version = client.ask_extension(QueryVersionRequest, major)?;
    attach(client, loads, major);
    let by_fd = version
        .is_some_and(|version| (version.major_version, version.minor_version) >= BY_DESCRIPTOR);
    let mut segment = None;
    if by_fd {
        descriptors(client, loads, major);
        segment = by_descriptor(client, major)?;
    } else {
        loads.lacks("MIT-SHM by descriptor");
    }
    if segment.is_none() {
        segment = by_id(client, major)?;
    }
    if segment.is_none() {
        loads.lacks("memory that MIT-SHM could share");
    }
    Ok(segment)
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
fn by_id(client: &mut Client, major: Major) -> Result<Option<u32>, MeasureError> {
    let Ok(memory) = SharedMemory::new(WHOLE_WINDOW) else {
        return Ok(None);
    };
    let shmseg = client.id();
    let request = attach_id(&memory, shmseg, major);
    let accepted = client.try_bytes(&request)?;
    client.keep(memory);
    Ok(accepted.then_some(shmseg))
}

/// Attaches a segment by a file descriptor and returns the resource id.
fn by_descriptor(client: &mut Client, major: Major) -> Result<Option<u32>, MeasureError> {
    let Some(memory) = memory(WHOLE_WINDOW) else {
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
