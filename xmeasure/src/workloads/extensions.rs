//! Requests of extensions, as programs send them; what a server lacks is noted.

mod composite;
mod cursors;
mod edges;
mod gl;
mod glyphs;
mod input;
pub(super) mod made_to_order;
mod memory;
mod regions;
mod render;
mod screen;
mod shapes;
mod sync;
mod updates;

use x11rb_protocol::x11_utils::Request;

pub(crate) use self::input::{MOTION, POINTER, fake_input, same_locks};
pub(crate) use self::memory::share;
pub(crate) use self::render::{TRANSLUCENT, root_format};

use super::RESOURCES;
use crate::error::MeasureError;
use crate::plan::Plan;
use crate::server::client::Stage;
use crate::server::wire::extension;
use crate::workloads::loads::Loads;
use crate::workloads::workload::{Sync, Workload};

/// Adds the loads of all extensions.
pub(super) fn add(stage: &mut Stage, plan: &Plan, loads: &mut Loads) -> Result<(), MeasureError> {
    memory::add(stage, plan, loads)?;
    render::add(stage, plan, loads)?;
    regions::add(stage, loads)?;
    shapes::add(stage, loads)?;
    sync::add(stage, loads)?;
    updates::add(stage, plan, loads)?;
    screen::add(stage, plan, loads)?;
    input::add(stage, plan, loads)?;
    cursors::add(stage, loads)?;
    gl::add(stage, loads)
}

/// The major opcode of an extension; where the server lacks it, that is noted.
fn major(
    stage: &mut Stage,
    loads: &mut Loads,
    name: &'static str,
) -> Result<Option<u8>, MeasureError> {
    let major = stage.extension(name)?;
    if major.is_none() {
        loads.lacks(name);
    }
    Ok(major)
}

/// A request that draws nothing, again and again.
fn plain(loads: &mut Loads, request: impl Request, major: u8) {
    let bytes = extension(request, major);
    loads.push(Workload::repeated(&bytes, Sync::RoundTrip));
}

/// The same for one that takes the server long.
fn costly(loads: &mut Loads, request: impl Request, major: u8) {
    loads.push(Workload::costly(&extension(request, major)));
}

/// A cycle of requests, each for so many new ids before the next.
fn cycle(stage: &mut Stage, loads: &mut Loads, count: usize, requests: &[&dyn Fn(u32) -> Vec<u8>]) {
    let ids = stage.ids(count);
    super::cycle(loads, &ids, requests);
}

/// Two requests in turn, the second of which undoes the first: what is
/// measured is their mean, for one cannot be told from the other when they follow each other.
fn pair(loads: &mut Loads, there: Vec<u8>, back: Vec<u8>) {
    loads.push(Workload::alternating(&there, &back));
}
