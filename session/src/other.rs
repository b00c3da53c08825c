//! All other requests: most cost the same each time; a few grow with the bytes they carry.

use x11prof_protocol::Request;
use x11rb_protocol::protocol::xproto;

use crate::body::Body;
use crate::names::Names;
use crate::operation::{Effect, Operation};

/// The lowest major opcode of an extension.
const FIRST_EXTENSION: u8 = 128;

/// Fills in the operation of a request that does not draw with a GC.
pub(crate) fn operation(
    operation: &mut Operation,
    names: &Names,
    request: &Request<'_>,
    body: &Body<'_>,
) {
    let size = match request.major {
        xproto::CHANGE_PROPERTY_REQUEST => property_bytes(body),
        xproto::INTERN_ATOM_REQUEST => body.u16(0).map(f64::from),
        FIRST_EXTENSION.. if names.is_counted_in_bytes(request.name) => {
            Some(request.wire_len as f64)
        }
        _ => Some(0.0),
    };
    if size.is_none() {
        operation.effect = Effect::Unknown;
    }
    operation.op_size = size.unwrap_or(0.0);
    operation.items.push(operation.op_size);
}

/// The bytes that a ChangeProperty writes: as many values as it says, of 8, 16 or 32 bits.
fn property_bytes(body: &Body<'_>) -> Option<f64> {
    let (format, values) = (body.u8(12)?, body.u32(16)?);
    Some(f64::from(values) * f64::from(format / 8))
}
