//! Requests of extensions, as programs send them. Extensions that a server lacks are noted.

mod composite;
mod cursors;
mod edges;
mod gl;
mod glyphs;
mod input;
mod memory;
mod regions;
mod render;
mod render_loads;
mod screen;
mod shapes;
mod sync;
mod updates;

use super::RESOURCES;
use crate::error::MeasureError;
use crate::plan::Plan;
use crate::server::client::Client;
use crate::server::wire::Major;
use crate::workloads::loads::Loads;

/// Adds the loads of all extensions.
pub(super) fn add(client: &mut Client, plan: &Plan, loads: &mut Loads) -> Result<(), MeasureError> {
    memory::add(client, plan, loads)?;
    render_loads::add(client, plan, loads)?;
    regions::add(client, loads)?;
    shapes::add(client, loads)?;
    sync::add(client, loads)?;
    updates::add(client, plan, loads)?;
    screen::add(client, plan, loads)?;
    input::add(client, plan, loads)?;
    cursors::add(client, loads)?;
    gl::add(client, loads)
}

/// The major opcode of an extension; a missing extension is noted.
fn major(
    client: &mut Client,
    loads: &mut Loads,
    name: &'static str,
) -> Result<Option<Major>, MeasureError> {
    let major = client.extension(name)?;
    if major.is_none() {
        loads.lacks(name);
    }
    Ok(major)
}

/// A cycle of requests, each for N new ids before the next.
fn cycle(
    client: &mut Client,
    loads: &mut Loads,
    count: usize,
    requests: &[&dyn Fn(u32) -> Vec<u8>],
) {
    let ids = client.ids(count);
    super::cycle(loads, &ids, requests);
}
