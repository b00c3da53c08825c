//! The loads of a calibration, in one file for each family of requests.

pub(crate) mod loads;
pub(crate) mod operations;
pub(crate) mod transport;
pub(crate) mod workload;

mod areas;
mod drawing;
mod images;
mod memory;
mod shapes;
mod styles;
mod table;
mod text;

use crate::error::MeasureError;
use crate::plan::Plan;
use crate::server::client::{Client, SIDE};
use crate::workloads::loads::Loads;

/// Creates all loads that this server supports, with their resources.
pub(crate) fn all(client: &mut Client, plan: &Plan) -> Result<Loads, MeasureError> {
    let mut loads = Loads::default();
    drawing::add(client, plan, &mut loads)?;
    areas::add(client, plan, &mut loads)?;
    text::add(client, plan, &mut loads)?;
    images::add(client, plan, &mut loads)?;
    let mut known = table::variables(client, plan);
    if let Some(segment) = memory::add(client, &mut loads)? {
        known.insert("segment".to_owned(), segment.to_string());
    }
    table::add(client, plan, &mut loads, known)?;
    Ok(loads)
}

/// The position at which the item number `index` of this size is drawn. The positions are spread over the window, as in
/// a program's drawing, and items are never clipped.
pub(crate) fn place(index: usize, width: u16, height: u16) -> (i16, i16) {
    let columns = usize::from(SIDE / width.max(1)).max(1);
    let rows = usize::from(SIDE / height.max(1)).max(1);
    let x = index % columns * usize::from(width);
    let y = index / columns % rows * usize::from(height);
    (i16::try_from(x).unwrap_or(0), i16::try_from(y).unwrap_or(0))
}

/// Returns pseudo-random bits for the number `at`, which are equal in each run (SplitMix64: Steele, Lea & Flood 2014).
fn scattered(at: usize) -> u64 {
    let mut bits = (at as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    bits = (bits ^ bits >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    (bits ^ bits >> 27).wrapping_mul(0x94D0_49BB_1331_11EB)
}

#[cfg(test)]
mod tests {
    use super::place;
    use crate::server::client::SIDE;

    #[test]
    fn positions_stay_inside_the_window() {
        let side = i32::from(SIDE);
        for (width, height) in [(1, 1), (7, 13), (500, 500), (600, 1)] {
            for index in 0..2000 {
                let (x, y) = place(index, width, height);
                assert!(x >= 0 && i32::from(x) + i32::from(width) <= side);
                assert!(y >= 0 && i32::from(y) + i32::from(height) <= side);
            }
        }
    }
}
