//! The loads of extensions that draw, share memory, or depend on server properties. The loads of other extension
//! requests are in `table`.

mod composite;
mod edges;
mod gl;
mod glyphs;
mod memory;
mod render;
mod render_loads;

use std::collections::HashMap;

use super::RESOURCES;
use crate::error::MeasureError;
use crate::plan::Plan;
use crate::server::client::Client;
use crate::server::wire::Major;
use crate::workloads::loads::Loads;

/// Adds the loads of these extensions to `loads`, and the variables for the loads of the table to `known`.
pub(super) fn add(
    client: &mut Client,
    plan: &Plan,
    loads: &mut Loads,
    known: &mut HashMap<String, String>,
) -> Result<(), MeasureError> {
    memory::add(client, plan, loads)?;
    render_loads::add(client, plan, loads, known)?;
    if let Some(config) = gl::configuration(client)? {
        known.insert("fbconfig".to_owned(), config.to_string());
    }
    Ok(())
}

/// Returns the major opcode of an extension. If the server lacks the extension, notes the lack in `loads` and returns
/// `None`.
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

/// Adds a cycle of requests: each request is sent for all of `count` new ids before the next request.
fn cycle(
    client: &mut Client,
    loads: &mut Loads,
    count: usize,
    requests: &[&dyn Fn(u32) -> Vec<u8>],
) {
    let ids = client.ids(count);
    super::cycle(loads, &ids, requests);
}
