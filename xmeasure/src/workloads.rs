//! The loads of a calibration. Most of them are templates in the files of `table`.

pub(crate) mod loads;
pub(crate) mod operations;
pub(crate) mod transport;
pub(crate) mod workload;

mod memory;
mod table;

use crate::error::MeasureError;
use crate::plan::Plan;
use crate::server::client::Client;
use crate::workloads::loads::Loads;

/// Creates all loads that this server supports, with their resources.
pub(crate) fn all(client: &mut Client, plan: &Plan) -> Result<Loads, MeasureError> {
    let mut loads = Loads::default();
    let mut known = table::variables(client, plan);
    if let Some(segment) = memory::add(client, &mut loads)? {
        known.insert("segment".to_owned(), segment.to_string());
    }
    table::add(client, plan, &mut loads, known)?;
    Ok(loads)
}
